"""Every public function on a task that is not the study's: the right answer for its sizes, or an error.

Each function of circuits, measures, handmade, analysis and views has an entry in CALLS, which asks it about a network, or about
tables, of Task(7, 4, 12); a function without an entry fails.  What is asked of the plain forward is trusted here; it has its
own truths in test_model.
"""

import base64
import importlib
import inspect
import math
import pkgutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from safetensors.torch import load
from small import held, line, problems, random_weights

import assign_add_lib
from assign_add_lib import Problem, Split, Task, circuits, forward, handmade, last_logits, measures
from assign_add_lib.analysis import (
    causal,
    controls,
    cost,
    fourier,
    history,
    lookup,
    mistakes,
    paths,
    phases,
    probes,
    reading,
    shortcuts,
    statistics,
    waits,
)
from assign_add_lib.analysis import interventions as iv
from assign_add_lib.companions.rules.training import RuleConfig, RuleLearner
from assign_add_lib.model import trace
from assign_add_lib.sampling import Batch, evaluation_sets
from assign_add_lib.theory import coordinates
from assign_add_lib.training import StudyLearner, TrainConfig
from assign_add_lib.views import attention, explorer, figures, page, playground, slider, worlds
from assign_add_lib.views.figures import style

TASK = Task(7, 4, 12)
N, V, T, ROOM, D = 7, 4, 12, 8, 14  # numbers, variables, positions, those before +, token ids
SPLIT = Split.draw(TASK, 2)
WEIGHTS = random_weights(TASK, 10, 6, 9, seed=3)
NUMBERS, VARIABLES = WEIGHTS.W_E[:N], WEIGHTS.W_E[10:]
BATCH = problems(TASK, 60, seed=2)
TOKENS, ANSWERS = BATCH
SEEN = trace(WEIGHTS, TOKENS)
OTHERS = {task: problems(task, 20) for task in (Task(5, 6, 12), Task(8, 3, 12), Task(7, 4, 10), Task())}
CALLS = {}


def functions():
    """The public functions of the rooms under test, by name."""
    rooms = ["circuits", "measures", "handmade"]
    for room in ("analysis", "views"):
        package = importlib.import_module(f"assign_add_lib.{room}")
        rooms += [
            each.name.removeprefix("assign_add_lib.")
            for each in pkgutil.walk_packages(package.__path__, f"assign_add_lib.{room}.")
        ]
    for room in rooms:
        module = importlib.import_module(f"assign_add_lib.{room}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                yield f"{room}.{name}"


def calls(*names):
    """Say that a check asks these functions."""

    def listed(check):
        once = cache(check)
        for name in names:
            assert name not in CALLS, f"{name} has two entries"
            CALLS[name] = once
        return check

    return listed


def same(found, expected):
    found, expected = (torch.as_tensor(each, dtype=torch.float64) for each in (found, expected))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", list(functions()))
def test_another_size_is_asked_and_answered(name):
    assert name in CALLS, f"{name} needs an entry in CALLS"
    with torch.no_grad():
        CALLS[name]()
    plt.close("all")


def test_no_entry_is_left_of_a_function_that_is_gone():
    assert set(CALLS) == set(functions())


# circuits


@calls("circuits.embedding_table", "circuits.QK", "circuits.OV", "circuits.qk_table", "circuits.ov_table")
def tables_have_a_row_for_every_token_and_position():
    C = circuits.embedding_table(WEIGHTS)
    assert C.shape == (D + T, 10) and torch.equal(C[:D], WEIGHTS.W_E) and torch.equal(C[D:], WEIGHTS.W_pos)
    same(circuits.qk_table(WEIGHTS), C @ WEIGHTS.W_Q[0] @ (C @ WEIGHTS.W_K[0]).T / math.sqrt(6))
    same(circuits.ov_table(WEIGHTS), C @ WEIGHTS.W_V[0] @ WEIGHTS.W_O[0])
    same(circuits.QK(WEIGHTS, 2), WEIGHTS.W_Q[1] @ WEIGHTS.W_K[1].T / math.sqrt(6))
    same(circuits.OV(WEIGHTS, 2), WEIGHTS.W_V[1] @ WEIGHTS.W_O[1])
    for of in (circuits.QK, circuits.OV):
        with pytest.raises(ValueError, match="the layers are 1 to 2"):
            of(WEIGHTS, 0)


@calls("circuits.position_scores", "circuits.variable_identity", "circuits.bare_addition")
def blocks_are_those_of_this_task():
    P = WEIGHTS.W_pos[:ROOM]
    same(circuits.position_scores(WEIGHTS), P @ circuits.QK(WEIGHTS, 1) @ P.T)
    moved = VARIABLES @ circuits.OV(WEIGHTS, 1)
    same(circuits.variable_identity(WEIGHTS), moved @ circuits.QK(WEIGHTS, 2) @ moved.T)
    logits = circuits.bare_addition(WEIGHTS)
    for x in range(N):
        for y in range(N):
            both = (NUMBERS[x] + NUMBERS[y]) @ circuits.OV(WEIGHTS, 2) @ WEIGHTS.W_in
            same(logits[x, y], both.relu() @ WEIGHTS.W_out @ WEIGHTS.W_U)


@calls("circuits.last_logits", "circuits.last_reading", "circuits.first_layer")
@calls("circuits.layer_1_terms", "circuits.layer_2_terms", "circuits.mlp_input_sources")
def terms_sum_to_what_the_network_computes():
    same(last_logits(WEIGHTS, TOKENS), SEEN.logits[:, -1])
    same(circuits.last_reading(WEIGHTS, TOKENS)[1], SEEN.pattern[:, 1, -1])
    past = torch.ones(T, T).tril().bool()
    same(circuits.layer_1_terms(WEIGHTS, TOKENS).sum(1)[:, past], SEEN.scores[:, 0][:, past])
    same(circuits.layer_2_terms(WEIGHTS, TOKENS).sum((1, 2)), SEEN.scores[:, 1, -1])
    parts = circuits.mlp_input_sources(WEIGHTS, SEEN, TOKENS)
    same(sum(parts.values()), SEEN.mlp_in[:, -1])
    places = [values_of(ids) for ids in TOKENS.tolist()]
    read = [sum(SEEN.pattern[b, 1, -1, p] * WEIGHTS.W_E[TOKENS[b, p]] for p in set(two)) for b, two in enumerate(places)]
    same(parts["numbers to add"], torch.stack(read) @ circuits.OV(WEIGHTS, 2))


# measures


def values_of(ids):
    """Where the numbers to add stand, by a slow reading."""
    return [ids.index(ids[at]) + 1 if ids[at] >= 10 else at for at in (T - 3, T - 2)]


def share(right):
    right = list(map(float, right))
    return pytest.approx(sum(right) / len(right), abs=1e-6)


@calls("measures.predictions", "measures.accuracy", "measures.accuracies")
def accuracy_is_counted():
    likely = SEEN.logits[:, -1].argmax(1)
    assert torch.equal(measures.predictions(WEIGHTS, TOKENS, chunk=7), likely)
    assert measures.accuracy(WEIGHTS, BATCH) == share(likely == ANSWERS)
    sets = evaluation_sets(SPLIT, size=30)
    found = measures.accuracies(WEIGHTS, sets)
    assert {name: share(forward(WEIGHTS, b.tokens)[:, -1].argmax(1) == b.answers) for name, b in sets.items()} == found


@calls("measures.added_right", "measures.ov2_mlp2_accuracy", "measures.qk1_num_to_prev_var", "measures.qk2_ov1_var_identity")
def weights_are_measured():
    best = circuits.bare_addition(WEIGHTS).argmax(2).tolist()
    right = [[best[x][y] == (x + y) % N for y in range(N)] for x in range(N)]
    assert measures.added_right(WEIGHTS).tolist() == right
    assert measures.ov2_mlp2_accuracy(WEIGHTS) == share(sum(right, []))
    S, looks = circuits.position_scores(WEIGHTS), []
    for i in range(1, ROOM):
        allowed = [j for j in range(i) if j != i - 2]
        looks.append(max(allowed, key=lambda j: S[i, j]) == i - 1)
    assert measures.qk1_num_to_prev_var(WEIGHTS) == share(looks)
    block = circuits.variable_identity(WEIGHTS)
    assert measures.qk2_ov1_var_identity(WEIGHTS) == share(int(row.argmax()) == v for v, row in enumerate(block))


@calls(
    "measures.attn_l1_equal_to_operands",
    "measures.attn_l1_num_to_prev",
    "measures.attn_l2_equal_to_values",
    "measures.probe_l1_mid_var_from_num",
    "measures.progress_measures",
)
def attention_is_measured():
    def most(layer, b, query, count):
        row = SEEN.pattern[b, layer, query].tolist()
        return set(sorted(range(T), key=row.__getitem__)[-count:])

    ids = TOKENS.tolist()
    assigned = [(b, p) for b, row in enumerate(ids) for p in range(ROOM) if row[p] < N]
    found = measures.progress_measures(WEIGHTS, BATCH)
    assert found["attn_l1_equal_to_operands"] == share(most(0, b, -1, 2) == {9, 10} for b in range(60))
    assert found["attn_l1_num_to_prev"] == share(most(0, b, p, 1) == {p - 1} for b, p in assigned)
    assert found["attn_l2_equal_to_values"] == share(most(1, b, -1, 2) == set(values_of(ids[b])) for b in range(60))
    named = SEEN._replace(resid_pre=torch.nn.functional.one_hot(TOKENS, D).roll(1, 1).double(), attn_out=torch.zeros(60, 2, T, D))
    assert measures.probe_l1_mid_var_from_num(named, TOKENS, TASK) == 1
    for measure in measures.ATTENTION_MEASURES:
        assert found[measure.__name__] == measure(SEEN, TOKENS, TASK)
        for task, others in OTHERS.items():  # another task is refused, whichever of the three is of it
            with pytest.raises((ValueError, IndexError)):
                measure(SEEN, others.tokens, TASK)
            with pytest.raises((ValueError, IndexError)):
                measure(SEEN, TOKENS, task)


# handmade


@calls("handmade.weights", "handmade.residual_blocks", "handmade.fourier_features", "handmade.margin", "handmade.blocks")
def a_network_is_written_by_hand():
    weights = handmade.weights((1, 2), TASK)
    assert weights.task == TASK and measures.accuracy(weights, BATCH) == 1
    same(
        handmade.fourier_features((2,), TASK), [[math.cos(4 * math.pi * n / 7), math.sin(4 * math.pi * n / 7)] for n in range(7)]
    )
    at = handmade.residual_blocks((1, 2), TASK)
    assert {name: part.stop - part.start for name, part in at.items()} == {
        "number": 4, "is number": 1, "variable": V, "position": T, "moved": V, "operands": 4, "answer": 4,
    }  # fmt: skip
    assert list(handmade.blocks({"a": 2, "b": 3}).values()) == [slice(0, 2), slice(2, 5)]
    leads = [
        sum(abs(math.cos(math.pi * k * apart / 7)) * (1 - math.cos(2 * math.pi * k * d / 7)) for k in (1, 2))
        for apart in range(7)
        for d in range(1, 7)
    ]
    assert handmade.margin((1, 2), 7) == pytest.approx(min(leads))
    assert measures.accuracy(handmade.weights(task=TASK), BATCH) == 1  # the study's frequencies are taken modulo 7


# analysis: Fourier


def waves(table):
    """Amplitude times e^(i phase) of each frequency 0..3 and column, by numpy."""
    found = np.fft.rfft(np.asarray(table), axis=0) / N
    return np.concatenate([found[:1], 2 * found[1:]])


TABLE = torch.randn(N, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
LOGITS = torch.randn(N, N, N, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
SUMS = [[(x + y) % N for y in range(N)] for x in range(N)]


@calls(
    "analysis.fourier.basis",
    "analysis.fourier.frequencies",
    "analysis.fourier.spectrum",
    "analysis.fourier.logarithms",
    "analysis.fourier.key_frequencies",
    "analysis.fourier.keep",
    "analysis.fourier.remove",
    "analysis.fourier.amplitudes_and_phases",
)
def waves_of_seven_numbers():
    F = fourier.basis(N)
    same(F.T @ F, torch.eye(N))
    assert fourier.frequencies(N).tolist() == [0, 1, 1, 2, 2, 3, 3]
    energy = (np.abs(np.fft.fft(TABLE.numpy(), axis=0)) ** 2).sum(1)
    shares = np.array([energy[0], energy[1] + energy[6], energy[2] + energy[5], energy[3] + energy[4]]) / energy.sum()
    same(fourier.spectrum(TABLE), shares)
    assert fourier.logarithms(7).tolist() == [-1, 0, 2, 1, 4, 5, 3]
    assert fourier.key_frequencies(TABLE, 0.2) == [k for k in (1, 2, 3) if shares[k] > 0.2]
    kept = np.fft.rfft(TABLE.numpy(), axis=0) * np.array([1, 0, 1, 0])[:, None]
    same(fourier.keep(TABLE, [0, 2]), np.fft.irfft(kept, n=N, axis=0))
    same(fourier.remove(TABLE, [0, 2]), TABLE.numpy() - np.fft.irfft(kept, n=N, axis=0))
    amplitude, phase = (each.numpy() for each in fourier.amplitudes_and_phases(TABLE))
    np.testing.assert_allclose(amplitude * np.exp(1j * phase), waves(TABLE), atol=1e-12)
    with pytest.raises(ValueError, match="odd N"):
        fourier.amplitudes_and_phases(TABLE[:6])


@calls("analysis.fourier.fit_neurons", "analysis.fourier.analytic_mlp", "analysis.fourier.pair_logits")
def neurons_over_all_pairs():
    x, y = torch.meshgrid(torch.arange(N), torch.arange(N), indexing="ij")
    pre = 2 * (2 * math.pi * 3 * x / N + 0.4).cos() + (2 * math.pi * 3 * y / N - 1).cos() + 5
    fits = fourier.fit_neurons(pre[..., None].double())
    assert [each[3, 0].item() for each in fits] == pytest.approx([1, 2, 0.4, 1, -1], abs=1e-5) and len(fits.share) == 4
    ks = torch.tensor([1, 2, 3]).repeat_interleave(300)
    alpha, beta = 2 * math.pi * torch.rand(2, 900, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    left, right, out = fourier.analytic_mlp(N, ks, alpha, beta)
    logits = fourier.pair_logits(left, right, out, torch.square)
    assert logits.argmax(2).tolist() == SUMS
    same(logits[2, 6], (left[2] + right[6]).square() @ out)


@calls(
    "analysis.fourier.right_logits",
    "analysis.fourier.pair_accuracy",
    "analysis.fourier.answer_part",
    "analysis.fourier.distance_irrelevance",
    "analysis.fourier.distance_spread",
    "analysis.fourier.circular_error",
)
def logits_of_all_pairs():
    L = np.array([[LOGITS[x, y, SUMS[x][y]] for y in range(N)] for x in range(N)])
    same(fourier.right_logits(LOGITS), L)
    assert fourier.pair_accuracy(LOGITS) == share(LOGITS[x, y].argmax() == SUMS[x][y] for x in range(N) for y in range(N))
    same(sum(fourier.answer_part(LOGITS, k) for k in range(4)), L)
    within = [np.std([L[x, (x + d) % N] for x in range(N)]) for d in range(N)]
    assert fourier.distance_irrelevance(LOGITS) == pytest.approx(np.mean(within) / L.std())
    means = [np.mean([L[x, (x + d) % N] for x in range(N)]) for d in range(N)]
    assert fourier.distance_spread(LOGITS) == pytest.approx((np.std(means), np.mean(np.square(within)) ** 0.5))
    same(fourier.circular_error(torch.tensor(6.0), torch.tensor(0.5)), 5.5 - 2 * math.pi)


@calls("analysis.fourier.number_table")
def numbers_passed_on():
    same(fourier.number_table(WEIGHTS), NUMBERS @ WEIGHTS.W_V[1] @ WEIGHTS.W_O[1])


@calls(
    "analysis.fourier.sum_waves",
    "analysis.fourier.sum_share",
    "analysis.fourier.restricted",
    "analysis.fourier.excluded",
    "analysis.fourier.pair_spectrum",
    "analysis.fourier.pair_margins",
    "analysis.fourier.plain_logits",
)
def waves_of_the_sum_of_two_numbers():
    angle = 2 * math.pi * np.array(SUMS) * 2 / N
    waves = np.stack([np.cos(angle), np.sin(angle)], 2) * math.sqrt(2) / N
    same(fourier.sum_waves(N, [2]), waves.reshape(N * N, 2))
    rows = LOGITS.double().numpy()
    onto = np.einsum("xyi,abi,abq->xyq", waves, waves, rows)
    same(fourier.restricted(LOGITS, [2]), rows.mean((0, 1)) + onto)
    same(fourier.excluded(LOGITS, [2]), rows - onto)
    varies = rows - rows.mean((0, 1))
    assert fourier.sum_share(LOGITS, [2]) == pytest.approx((onto**2).sum() / (varies**2).sum())
    spectrum = np.abs(np.fft.fft2(rows, axes=(0, 1))) ** 2
    spectrum[0, 0] = 0
    share = [[sum(spectrum[a, b].sum() for a in {j, -j % N} for b in {k, -k % N}) for k in range(4)] for j in range(4)]
    same(fourier.pair_spectrum(LOGITS), np.array(share) / spectrum.sum())
    right = [[rows[x, y, SUMS[x][y]] - max(np.delete(rows[x, y], SUMS[x][y])) for y in range(N)] for x in range(N)]
    same(fourier.pair_margins(LOGITS), right)
    tokens = torch.stack([Problem((), x, y, TASK).tokens() for x in range(N) for y in range(N)])
    same(fourier.plain_logits(WEIGHTS).flatten(0, 1), forward(WEIGHTS, tokens)[:, -1])


@calls("analysis.fourier.single_waves", "analysis.fourier.even_phases", "analysis.fourier.analytic_diagnosis")
def neurons_of_one_wave():
    turns = 2 * math.pi * torch.arange(N, dtype=torch.float64) / N
    one = torch.stack([3 * (2 * turns + 1).cos(), (turns - 1).cos()], 1)  # frequencies 2 and 1
    out = torch.stack([(2 * turns).cos(), (turns + 2).cos()])
    left, kept = fourier.single_waves(one + 0.3 * (3 * turns).cos()[:, None] + 5, out + 0.1)
    same(left, one)
    same(kept, out)
    even = fourier.even_phases(torch.tensor([2, 1, 2, 2]))
    torch.testing.assert_close(even, torch.tensor([0, 0, 2 * math.pi / 3, 4 * math.pi / 3]))
    irrelevance, right = fourier.analytic_diagnosis(N, torch.tensor([1, 2, 3]).repeat(9), True, True, torch.square)
    assert irrelevance == pytest.approx(0, abs=1e-5) and right == 1


READINGS = ("own", "equalised", "without_rest", "half_half", "clean_uneven", "logits_at_equal", "larger_share", "tally",
            "trained_on", "between", "drawn_from", "with_stranger", "favouring", "module_trained_on")


@calls(*(f"analysis.reading.{name}" for name in READINGS))
def readings_overruled():
    logits, pattern = reading.overruled(WEIGHTS, TOKENS, reading.own)
    same(logits, forward(WEIGHTS, TOKENS)[:, -1])
    two = TASK.value_positions(TOKENS)
    read = pattern.gather(1, two)
    same(reading.larger_share(WEIGHTS, TOKENS), read.max(1).values / read.sum(1))
    same(reading.own(pattern, two), pattern)
    even = reading.equalised(pattern, two)
    same(even.sum(1), pattern.sum(1))
    same(even.gather(1, two), read.mean(1, keepdim=True).expand(-1, 2))
    alone = reading.without_rest(pattern, two)
    same(alone.sum(1), torch.ones(len(alone)))
    same(alone.gather(1, two)[:, 0] * read.sum(1), read[:, 0])
    same(reading.clean_uneven(pattern, two), alone)
    assert set(reading.half_half(pattern, two).flatten().tolist()) == {0, 0.5}
    pairs, draw = torch.tensor([[0, 1], [1, 2], [2, 2]]), torch.Generator().manual_seed(0)
    chosen = torch.arange(N) == 1
    same(reading.favouring(chosen, 0.8, 0.8)(pairs, draw), [[0.2, 0.8, 0], [0.8, 0.2, 0], [0.5, 0.5, 0]])
    same(reading.drawn_from(torch.tensor([0.3]))(pairs, draw), [[0.3, 0.7, 0]] * 3)
    for given in (reading.between(0.2, 0.4)(pairs, draw), reading.with_stranger(pairs, draw)):
        same(given.sum(1), torch.ones(3))
    run, half = SimpleNamespace(weights=lambda step: WEIGHTS, split=SPLIT), reading.between(0.5, 0.5)
    h = fourier.number_table(WEIGHTS) @ WEIGHTS.W_in
    kept, trained = (reading.module_trained_on(run, 0, half, steps=steps) for steps in (0, 100))
    same(kept, fourier.pair_logits(h, h, WEIGHTS.W_out @ WEIGHTS.W_U))
    found = reading.tally(kept, SPLIT)
    assert sum(each for name, each in found.items() if "wrong" in name) == (kept.argmax(2) != torch.tensor(SUMS)).sum()
    assert reading.tally(trained, SPLIT)["margin, trained doubles"] > found["margin, trained doubles"]
    first, last = reading.trained_on(run, 0, reading.own, 2, every=2, batch=8)
    assert (first["step"], last["step"]) == (0, 2) and first["network: wrong"] <= (~SPLIT.train_pairs.diagonal()).sum()


# analysis: histories and phases


@cache
def problems_of_each_variable():
    return history.variable_problems(SPLIT, size=20)


@calls("analysis.history.variable_problems", "analysis.history.variable_accuracy")
def each_variable_on_each_side():
    batch = problems_of_each_variable()
    assert batch.tokens.shape == (V * 2 * 20, T)
    sides = batch.tokens[:, [T - 3, T - 2]].view(V, 2, 20, 2)
    for v in range(V):
        assert (sides[v, 0, :, 0] == 10 + v).all() and (sides[v, 1, :, 1] == 10 + v).all()
        assert (sides[v, 0, :, 1] < N).all() and (sides[v, 1, :, 0] < N).all()
    right = forward(WEIGHTS, batch.tokens)[:, -1].argmax(1) == batch.answers
    same(history.variable_accuracy(WEIGHTS, batch), right.double().view(V, 2, 20).mean(2))


@calls(
    "analysis.history.losses_and_gradients",
    "analysis.history.norms_by_circuit",
    "analysis.history.equal_scores",
    "analysis.history.identity_lead",
    "analysis.history.history_row",
)
def a_row_of_a_history():
    losses, gradients = history.losses_and_gradients(WEIGHTS, BATCH)
    each = -forward(WEIGHTS, TOKENS)[:, -1].log_softmax(1).gather(1, ANSWERS[:, None])[:, 0]
    kinds = [Problem.from_tokens(ids, TASK).kind for ids in TOKENS]
    for kind, loss in losses.items():
        assert loss == pytest.approx(each[[k == kind for k in kinds]].mean().item())
    norms = history.norms_by_circuit(WEIGHTS.tensors())
    assert sum(n**2 for n in norms.values()) == pytest.approx(sum(w.square().sum().item() for w in WEIGHTS.tensors().values()))
    assert gradients.keys() == norms.keys() and all(0 < n < math.inf for n in gradients.values())
    scores, S = history.equal_scores(WEIGHTS), circuits.qk_table(WEIGHTS)
    assert list(scores) == ["a", "b", "c", "d", "position 9", "position 10", "numbers"] or set(scores) == {
        "a", "b", "c", "d", "position 9", "position 10", "numbers",
    }  # fmt: skip
    assert scores["b"] == pytest.approx((S[8, 11] + S[D + 11, 11]).item())
    assert scores["position 10"] == pytest.approx((S[8, D + 10] + S[D + 11, D + 10]).item())
    block = circuits.variable_identity(WEIGHTS).tolist()
    same(history.identity_lead(WEIGHTS), [row[v] - max(row[:v] + row[v + 1 :]) for v, row in enumerate(block)])
    row = history.history_row(WEIGHTS, history.HistoryProblems(problems_of_each_variable(), BATCH))
    assert len(row) == V * 2 + 4 + 7 + 7 + (V + 3) + V and all(map(math.isfinite, row.values()))


@calls("analysis.history.history", "analysis.history.history_text", "analysis.history.load_history")
def a_whole_history():
    run = SimpleNamespace(split=SPLIT, config=SimpleNamespace(r=0.5), steps=[0, 20], weights=lambda step: WEIGHTS)
    table = history.history(run)
    assert list(table.index) == [0, 20] and set(table["lead"]) == set("abcd") and len(table["accuracy"].columns) == 2 * V
    assert history.history_text(table).splitlines()[0].split(",")[:3] == ["step", "accuracy a left", "accuracy a right"]
    with pytest.raises(FileNotFoundError):
        history.load_history("a-run-of-another-task")


@calls(
    "analysis.phases.arrival",
    "analysis.phases.way_up",
    "analysis.phases.spike",
    "analysis.phases.shortcut_level",
    "analysis.phases.phase_spans",
)
def phases_by_the_shortcut_of_this_task():
    level = sum(1 / n + (1 - 1 / n) / N for n in (1, 2, 3, 4)) / 4
    assert phases.shortcut_level(TASK) == pytest.approx(level)
    assert phases.way_up(0.5, level) == pytest.approx((1 + level) / 2)
    low, high = (1 + level) / 2 - 0.01, (1 + level) / 2 + 0.01
    rising = pd.Series([0, low, low, high, 1, 1], index=range(0, 60, 10))
    assert phases.arrival(rising, phases.way_up(0.5, level)) == 30
    assert phases.spike(rising, level) == (0, 40)
    table = pd.DataFrame({"1-var train": rising, "1-var var-restricted": rising.shift(1, fill_value=0)})
    assert phases.phase_spans(table, TASK) == [("1", 0, 30), ("2", 30, 40), ("3", 40, 50)]


# analysis: mistakes, probes, shortcuts, statistics


@calls("analysis.mistakes.mark")
def every_problem_is_marked():
    table = mistakes.mark(WEIGHTS, BATCH, SPLIT)
    said = forward(WEIGHTS, TOKENS)[:, -1].softmax(1).max(1)
    for ids, row, likely in zip(TOKENS, table.itertuples(), said.indices.tolist()):
        problem = Problem.from_tokens(ids, TASK)
        assert (row.x, row.y, row.answer, row.said) == (*problem.values, problem.answer, likely)
        assert (row.left, row.right) == tuple(
            side if isinstance(side, str) else "number" for side in (problem.left, problem.right)
        )
        assert row.out_of_place == (problem.left == "d") + (problem.right == "a")
        assert row.assignments == len(problem.assignments)
        assert row.held_out == (not SPLIT.train_pairs[row.x, row.y]) and row.twin == bool(SPLIT.train_pairs[row.y, row.x])
    for task, others in OTHERS.items():
        with pytest.raises(ValueError):
            mistakes.mark(WEIGHTS, others, SPLIT)
        with pytest.raises(ValueError):
            mistakes.mark(WEIGHTS, others, Split.draw(task))


@calls(
    "analysis.probes.unordered_split",
    "analysis.probes.fit_probe",
    "analysis.probes.score_probe",
    "analysis.probes.probe_accuracy",
    "analysis.probes.both_numbers_accuracy",
)
def probes_of_all_pairs():
    pairs, learn = torch.cartesian_prod(torch.arange(N), torch.arange(N)), probes.unordered_split(N)
    assert learn.shape == (49,) and torch.equal(learn.view(N, N), learn.view(N, N).T) and 0 < learn.sum() < 49
    sums = torch.tensor(SUMS).flatten()
    known, present = torch.eye(N)[sums], torch.eye(N)[pairs].sum(1)
    assert probes.probe_accuracy(known, sums, learn) == (1, 1)
    assert probes.score_probe(probes.fit_probe(known, sums), known, (sums + (sums == 2)) % N) == share(sums != 2)
    assert probes.both_numbers_accuracy(present, pairs, learn) == 1


@calls(
    "analysis.shortcuts.chance",
    "analysis.shortcuts.ignore_variables",
    "analysis.shortcuts.random_assigned_number",
    "analysis.shortcuts.last_assigned_number",
    "analysis.shortcuts.expected_accuracy",
)
def shortcuts_answer_with_seven_numbers():
    batch = Batch(*(torch.cat(column) for column in zip(*evaluation_sets(SPLIT, size=30).values())))
    for solver in shortcuts.SHORTCUTS.values():
        found = solver(batch.tokens, TASK)
        assert found.shape == (len(batch.tokens), N)
        torch.testing.assert_close(found.sum(1), torch.ones(len(found)))
        right = found[torch.arange(len(found)), batch.answers].mean().item()
        assert shortcuts.expected_accuracy(solver, batch, TASK) == pytest.approx(right)


@calls("analysis.statistics.wilson", "analysis.statistics.bootstrap", "analysis.statistics.sign_test")
def intervals_of_any_number_of_problems():
    share, low, high = statistics.wilson(torch.arange(60) < 45)
    assert low < share == 0.75 < high
    assert statistics.sign_test(torch.arange(6) < 5, torch.arange(6) > 4) == (5, 1, 14 / 64)
    low, high = statistics.bootstrap(SEEN.logits[:, -1])
    assert (
        low.shape == high.shape == (N,) and (low < SEEN.logits[:, -1].mean(0)).all() and (SEEN.logits[:, -1].mean(0) < high).all()
    )


# analysis: interventions


@cache
def lens():
    return WEIGHTS.to_transformer_lens()


def close(found, expected):
    """The bridge takes its softmax in single precision."""
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


@calls(
    "analysis.interventions.lens_task",
    "analysis.interventions.hooked_logits",
    "analysis.interventions.answers",
    "analysis.interventions.accuracy_table",
    "analysis.interventions.shares",
    "analysis.interventions.side_by_side",
)
def the_bridge_is_of_this_task():
    assert iv.lens_task(lens()) == TASK
    close(iv.hooked_logits(lens(), TOKENS), SEEN.logits[:, -1])
    assert torch.equal(iv.answers(lens(), TOKENS), SEEN.logits[:, -1].argmax(1))
    table = iv.accuracy_table(lens(), {"all": BATCH})
    assert table.loc["all", "share"] == share(SEEN.logits[:, -1].argmax(1) == ANSWERS)
    assert iv.side_by_side({"found": iv.shares({"x": (0.5, 0.25, 0.75)})}).loc["x", "found"] == "50.0 (25.0 to 75.0)"
    for others in OTHERS.values():
        with pytest.raises(ValueError):
            iv.hooked_logits(lens(), others.tokens)


@calls(
    "analysis.interventions.pattern_hook",
    "analysis.interventions.attention_hook",
    "analysis.interventions.at",
    "analysis.interventions.put",
    "analysis.interventions.make_uniform",
    "analysis.interventions.add_to_scores",
    "analysis.interventions.for_equal",
    "analysis.interventions.read_values",
)
def steps_of_the_network_are_changed():
    """Each at `=` of layer 2, whose output alone then differs from what the network computes."""

    def finished(attn_out):
        resid = (SEEN.resid_pre + SEEN.attn_out[:, 0])[:, -1] + attn_out
        return (resid + (resid @ WEIGHTS.W_in).relu() @ WEIGHTS.W_out) @ WEIGHTS.W_U

    stream, A = SEEN.resid_pre + SEEN.attn_out[:, 0], SEEN.pattern[:, 1, -1]

    def read(attention):
        return finished(torch.einsum("bk,bkd->bd", attention, stream) @ circuits.OV(WEIGHTS, 2))

    def hooked(hook):
        return iv.hooked_logits(lens(), TOKENS, [hook])

    assert (iv.pattern_hook(2), iv.attention_hook(2)) == ("blocks.1.attn.hook_pattern", "blocks.1.hook_attn_out")
    last = iv.at(TOKENS, T - 1)
    assert last.shape == (60, T) and last[:, -1].all() and last.sum() == 60
    close(hooked(iv.make_uniform(2, last)), read(torch.full((60, T), 1 / T, dtype=torch.float64)))
    change = torch.randn(60, T, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    close(hooked(iv.add_to_scores(2, iv.for_equal(change, TASK))), read((A.log() + change).softmax(1)))
    places = torch.tensor([values_of(ids) for ids in TOKENS.tolist()])
    close(
        hooked(iv.read_values(TOKENS, TASK)),
        read(torch.zeros(60, T).double().scatter_add(1, places, torch.full((60, 2), 0.5).double())),
    )
    content = torch.randn(1, 1, 10, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    close(hooked(iv.put(iv.attention_hook(2), last, content)), finished(content[:, 0]))
    with pytest.raises(ValueError, match="of 16 positions"):
        iv.for_equal(torch.zeros(3, 16), TASK)


@calls(
    "analysis.interventions.position_term",
    "analysis.interventions.variables_read",
    "analysis.interventions.identity_term",
)
def shares_of_the_scores():
    same(iv.position_term(WEIGHTS), circuits.qk_table(WEIGHTS)[D:, D:])
    A, names = SEEN.pattern[:, 0], torch.nn.functional.one_hot(TOKENS, D)[..., 10:].double()
    same(iv.variables_read(A, TOKENS, TASK), torch.einsum("bqk,bkv->bqv", A, names))
    read, block = A @ names, circuits.variable_identity(WEIGHTS)
    same(iv.identity_term(WEIGHTS, TOKENS), torch.stack([read[b] @ block.T @ read[b, -1] for b in range(60)]))


@calls(
    "analysis.interventions.full_problems",
    "analysis.interventions.change_value",
    "analysis.interventions.changed_problems",
    "analysis.interventions.patched",
    "analysis.interventions.seen_at",
    "analysis.interventions.put_back",
    "analysis.interventions.attributed",
    "analysis.interventions.path_patched",
)
def problems_are_patched():
    generator = torch.Generator().manual_seed(1)
    clean = iv.full_problems(20, generator, TASK)
    changed = iv.change_value(clean, 2, generator, TASK)
    for one, other in zip(clean, changed):
        problem = Problem.from_tokens(one, TASK)
        assert len(problem.assignments) == 4 and problem.left == problem.assignments[2][0]
        assert (one != other).nonzero().flatten().tolist() == [5] and Problem.from_tokens(other, TASK).answer != problem.answer
    found = iv.patched(lens(), clean, changed, {"embedding": "blocks.0.hook_resid_pre"})
    assert found.shape == (20, 1, T)
    assert found[:, 0, 5].mean().item() == pytest.approx(1, abs=1e-4)  # the one token that differs, put back
    close(found[:, 0, [p for p in range(T) if p != 5]], torch.zeros(20, T - 1, dtype=torch.float64))
    for other in iv.changed_problems(clean, generator, TASK).values():
        assert (TASK.right_answers(other) != TASK.right_answers(clean)).all()
    site = {"value": "blocks.1.attn.hook_v"}
    held = iv.seen_at(lens(), clean, site.values())["blocks.1.attn.hook_v"]
    stream, nothing = trace(WEIGHTS, clean), torch.zeros_like(held)
    name, act = iv.put_back(site["value"], nothing, 5)
    assert name == site["value"] and act(held + 1, None)[:, 5].eq(0).all() and torch.equal(act(held, None)[:, 6:], held[:, 6:])
    close(held[:, :, 0], (stream.resid_pre + stream.attn_out[:, 0]) @ WEIGHTS.W_V[1])
    for found in (iv.attributed(lens(), clean, changed, site), iv.path_patched(lens(), WEIGHTS, clean, changed)[:, 2:]):
        assert found.shape == (20, 1, T) and found[:, 0, :5].abs().max() < 1e-6  # nothing differs before position 5
    for task in (Task(3, 2, 8), Task(4, 4, 12)):
        with pytest.raises(ValueError, match="full problems need"):
            iv.full_problems(5, generator, task)


@calls("analysis.interventions.cleanly_read")
def the_two_numbers_are_read_equally():
    """With attention over layer 2 that is even, what should be read can be written down."""
    w = WEIGHTS.replace(W_Q=WEIGHTS.W_Q * torch.tensor([1.0, 0.0])[:, None, None])
    seen = trace(w, TOKENS)
    clean = torch.zeros(60, T, dtype=torch.float64)
    for b, ids in enumerate(TOKENS.tolist()):
        numbers = {p for p in range(ROOM) if ids[p] < N} | set(values_of(ids))
        for p in range(T):
            clean[b, p] = 0 if p in numbers else 1 / T
        for p in set(values_of(ids)):
            clean[b, p] = len(numbers) / T / len(set(values_of(ids)))
    x = seen.resid_pre + seen.attn_out[:, 0]
    read = x[:, -1] + torch.einsum("bk,bkd->bd", clean, x) @ circuits.OV(w, 2)
    logits = (read + (read @ w.W_in).relu() @ w.W_out) @ w.W_U
    assert torch.equal(iv.cleanly_read(w, TOKENS), logits.argmax(1))


# waits


@calls("analysis.waits.nudged", "analysis.waits.slopes", "analysis.waits.pull_and_push", "analysis.waits.nudged_losses")
def nudges_of_this_task():
    w = WEIGHTS.to(torch.float64)
    same(waits.nudged(w, TOKENS), forward(w, TOKENS)[:, -1])
    one = torch.eye(V, dtype=torch.float64)[1]
    slope = waits.slopes(w, Batch(TOKENS, ANSWERS))
    for name in waits.NUDGES:  # the derivative, by a small difference
        losses = [
            torch.nn.functional.cross_entropy(waits.nudged(w, TOKENS, **{name: h * one}), ANSWERS, reduction="none")
            for h in (1e-5, -1e-5)
        ]
        torch.testing.assert_close(slope[name][:, 1].double(), (losses[0] - losses[1]) / 2e-5, rtol=0, atol=1e-5)
    pull, push = waits.pull_and_push(slope["read"], TOKENS, w)
    same(pull + push, -slope["read"].mean(0))
    asked = (TOKENS[:, -3:-1] == 11).any(1)
    same(pull[1], -slope["read"][asked, 1].sum() / len(TOKENS))
    table = waits.nudged_losses(w, TOKENS, 1, "read", torch.tensor([0.0, 2.0]))
    same(table["right"][0.0], (SEEN.logits[:, -1].argmax(1) == ANSWERS).float().mean())
    with pytest.raises(ValueError):
        waits.nudged(w, OTHERS[Task()][0])


@calls("analysis.waits.lever_vectors", "analysis.waits.smallest_change")
def levers_of_this_task():
    one = TOKENS[(TOKENS[:, -3] >= 10) & (TOKENS[:, -2] < N)]
    read, own, itself = waits.lever_vectors(WEIGHTS, one)
    at = WEIGHTS.W_E[8] + WEIGHTS.W_pos[-1]
    same(read @ WEIGHTS.W_E[12], circuits.qk_table(WEIGHTS)[[8, D + T - 1], 12].sum())
    same(own @ WEIGHTS.W_E[12], at @ circuits.QK(WEIGHTS, 2) @ circuits.OV(WEIGHTS, 1).T @ WEIGHTS.W_E[12])
    seen = trace(WEIGHTS, one)
    average = (seen.resid_pre + seen.attn_out[:, 0])[:, -1].mean(0)
    same(itself, average @ circuits.QK(WEIGHTS, 2))
    vectors, change = torch.stack([read, own]).double(), torch.tensor([1.0, -2.0], dtype=torch.float64)
    same(waits.smallest_change(vectors, change), torch.linalg.pinv(vectors) @ change)


@calls(
    "analysis.waits.changed_embeddings",
    "analysis.waits.release_row",
    "analysis.waits.take",
    "analysis.waits.followed",
    "analysis.waits.branched",
    "analysis.waits.released",
    "analysis.waits.load_waits",
    "analysis.waits.load_aside",
    "analysis.waits.load_other_waits",
    "analysis.waits.load_release",
    "analysis.waits.load_self_reading",
    "analysis.waits.self_reading",
)
def branches_are_of_the_study_alone(tmp_path=None):
    branch = waits.BRANCHES["read"]
    with pytest.raises(ValueError, match="no variable of this task"):  # no variables k and l here
        waits.changed_embeddings(WEIGHTS, branch, SPLIT)
    with pytest.raises(ValueError, match="no variable of this task"):
        waits.release_row(WEIGHTS, Batch(TOKENS, ANSWERS), TOKENS.expand(V, 2, *TOKENS.shape))
    learner = StudyLearner(TrainConfig(task=TASK, d_model=10, d_mlp=9))
    with pytest.raises(ValueError, match="no variable of this task"):
        waits.take(learner, branch)
    with pytest.raises(ValueError, match="no variable of this task"):
        next(waits.followed(learner, 1))
    with pytest.raises(FileNotFoundError):
        waits.branched(Path("nowhere"), branch)
    rows = waits.load_waits()
    assert set(rows["branch"]) == set(waits.BRANCHES) and set(waits.PLACES) <= set(rows.columns)
    assert set(zip(waits.load_aside()["draw"], waits.load_aside()["share"])) == set(waits.ASIDE)
    assert set(waits.load_other_waits()["seed"]) == set(waits.OTHER_STARTS) and waits.load_release().index.is_monotonic_increasing
    assert waits.load_self_reading().shape == (10, 12)
    found = waits.self_reading(WEIGHTS, TOKENS.expand(V, 2, *TOKENS.shape))
    assert list(found) == list(TASK.variable_names)
    same(list(found.values()), [SEEN.pattern[:, 1, -1, -2].mean()] * V)
    arrive = waits.released(rows, 0.7)
    part = rows[(rows["branch"] == "read") & (rows["batches"] == 0)]
    both = part[(part["k right"] > 0.7) & (part["l right"] > 0.7)]
    assert arrive["read", 0] == both["step"].min() - waits.START


# the causal model


@calls(
    "analysis.causal.assigned_positions",
    "analysis.causal.story",
    "analysis.causal.counterfactual",
    "analysis.causal.pairs",
    "analysis.causal.interchanged",
    "analysis.causal.interchange_table",
)
def the_causal_model_is_of_this_task():
    told = causal.story(TOKENS, TASK)
    assert torch.equal(told.sum, ANSWERS) and told.names.shape == (60, 4)
    assert torch.equal(told.places, torch.tensor([values_of(ids) for ids in TOKENS.tolist()]))
    held = causal.assigned_positions(TOKENS, TASK)
    for ids, places in zip(TOKENS.tolist(), held.tolist()):
        numbers = [p for p in range(ROOM) if ids[p] < N]
        assert places[: len(numbers)] == numbers
    base, source = causal.pairs(SPLIT, 10, torch.Generator().manual_seed(0))
    assert torch.equal(causal.counterfactual(base, source, "sum", TASK), TASK.right_answers(source))
    table = causal.interchange_table(lens(), WEIGHTS, base, source, ["the MLP's output at ="])
    given = causal.interchanged(lens(), WEIGHTS, base, source, "the MLP's output at =")
    same(table["sum"].item(), (given == TASK.right_answers(source)).double().mean())


@calls(
    "analysis.causal.ablated",
    "analysis.causal.kinds_of_answer",
    "analysis.causal.scrubbed",
    "analysis.causal.typed_number_unnamed",
)
def parts_of_the_story_are_taken_away():
    g, one = torch.Generator(), TOKENS[(TOKENS[:, -3:-1] >= 10).sum(1) == 1]
    hooks = causal.ablated(WEIGHTS, one, TOKENS, causal.PARTS[2], "zero", g)
    stream = trace(WEIGHTS, one).resid_pre
    held = iv.seen_at(lens(), one, ["blocks.0.hook_attn_out"])["blocks.0.hook_attn_out"]
    close(hooks[0][1](held, None)[:, -1], 0 * stream[:, -1])
    found = causal.kinds_of_answer(one, TASK.right_answers(one), TASK)
    assert found == dict(zip(causal.KINDS_OF_ANSWER, (1.0, 0.0, 0.0, 0.0)))
    found = causal.typed_number_unnamed(lens(), WEIGHTS, TOKENS)
    stream, place = SEEN.resid_pre + SEEN.attn_out[:, 0], T - 2
    scores = SEEN.scores[:, 1, -1].clone()
    scores[:, place] -= iv.identity_term(WEIGHTS, TOKENS)[:, place]
    keys = stream @ WEIGHTS.W_K[1]
    keys[:, place] = keys[:, place].mean(0)
    meant = torch.einsum("bd,bkd->bk", stream[:, -1] @ WEIGHTS.W_Q[1], keys) / math.sqrt(6)
    for hooks, truth in zip(found.values(), (scores, meant)):
        read = torch.einsum("bk,bkd->bd", truth.softmax(1), stream) @ circuits.OV(WEIGHTS, 2)
        resid = stream[:, -1] + read
        close(iv.hooked_logits(lens(), TOKENS, hooks), (resid + (resid @ WEIGHTS.W_in).relu() @ WEIGHTS.W_out) @ WEIGHTS.W_U)
    given = causal.scrubbed(WEIGHTS, TOKENS[:1], TOKENS[:1].repeat(3, 1), g)
    assert given.item() == SEEN.logits[0, -1].argmax()


@calls(
    "analysis.controls.controls",
    "analysis.controls.mixed_pool",
    "analysis.controls.shares_of_variance",
    "analysis.controls.terms_at_right",
    "analysis.controls.road_closed",
    "analysis.controls.key_at_right",
    "analysis.controls.problems_with_number_right",
)
def controls_are_counted():
    run = SimpleNamespace(weights=lambda: WEIGHTS, task=TASK, split=SPLIT)
    found = controls.controls(run, size=60).set_index(["experiment", "row", "column"]).value
    assert found.index.is_unique and found.between(0, 1).all()
    pool = controls.mixed_pool(run, "0-var train", 40, torch.Generator().manual_seed(0))
    assert pool.shape == (40, T) and (pool[-10:, [TASK.left, TASK.right]] < N).all()

    left = TOKENS[TASK.kind_of(TOKENS) == 1]
    terms, block = controls.terms_at_right(WEIGHTS, left), circuits.variable_identity(WEIGHTS)
    A = trace(WEIGHTS, left).pattern[:, 0]
    held = WEIGHTS.to_transformer_lens()
    run = SimpleNamespace(weights=lambda: WEIGHTS, task=TASK, split=SPLIT)
    drawn, right = controls.problems_with_number_right(run, 60, torch.Generator().manual_seed(0))
    assert (TASK.kind_of(drawn) == 1).all() and torch.equal(right, TASK.right_answers(drawn))
    fits = controls.key_at_right(held, WEIGHTS, drawn, right, torch.Generator().manual_seed(0))
    own = forward(WEIGHTS, drawn)[:, -1].argmax(1)
    assert torch.equal(fits["the network"], own == right)
    ((name, act),) = controls.road_closed(WEIGHTS, left)
    stream = trace(WEIGHTS, left).resid_pre
    key = act(stream.new_zeros(len(left), T, 1, WEIGHTS.W_K.shape[-1]), None)
    for b in range(len(left)):
        image = stream[b, TASK.left] @ WEIGHTS.W_V[0] @ WEIGHTS.W_O[0] @ WEIGHTS.W_K[1]
        close(key[b, TASK.right, 0], -A[b, TASK.right, TASK.left] * image)
    assert name == "blocks.1.attn.hook_k" and not key[:, : TASK.right].any() and not key[:, TASK.right + 1 :].any()
    for b, ids in enumerate(left.tolist()):
        pairs = [(i, j) for i in range(T) for j in range(T - 1) if ids[i] >= 10 and ids[j] >= 10]
        each = {(i, j): A[b, -1, i] * A[b, T - 2, j] * block[ids[i] - 10, ids[j] - 10] for i, j in pairs}
        close(terms["all"][b], sum(each.values()))
        close(terms["through the left operand's position"][b], sum(v for (_, j), v in each.items() if j == TASK.left))
        close(terms["other names"][b], sum((v for (_, j), v in each.items() if ids[j] != ids[TASK.left]), block.new_zeros(())))

    image = NUMBERS @ circuits.OV(WEIGHTS, 2)
    outs = {(x, y): (0.5 * (image[x] + image[y]) @ WEIGHTS.W_in).relu() @ WEIGHTS.W_out for x in range(N) for y in range(N)}
    mean = sum(outs.values()) / N**2
    by_sum = {s: sum(v for (x, y), v in outs.items() if (x + y) % N == s) / N for s in range(N)}
    whole = sum((v - mean).square().sum() for v in outs.values())
    explained = sum(N * (v - mean).square().sum() for v in by_sum.values())
    same(controls.shares_of_variance(WEIGHTS)["the sum"], explained / whole)


@calls("analysis.cost.cost", "analysis.cost.in_coordinates", "analysis.cost.balanced")
def a_cheaper_way_to_write_it_answers_alike():
    w = WEIGHTS.to(torch.float64)
    before = last_logits(w, TOKENS)
    M = torch.eye(10, dtype=torch.float64) + torch.full((10, 10), 0.05, dtype=torch.float64)
    same(last_logits(cost.in_coordinates(w, M), TOKENS), before)
    assert cost.cost(w) < sum(each.square().sum() for each in w.tensors().values())
    found = cost.balanced(w)
    same(last_logits(found, TOKENS), before)
    assert cost.cost(found) < cost.cost(w)
    assert cost.cost(cost.balanced(found, mixing=True)) <= cost.cost(found)


@calls("analysis.causal.causes", "analysis.causal.load_causes")
def causes_are_counted():
    run = SimpleNamespace(weights=lambda: WEIGHTS, task=TASK, split=SPLIT)
    found = causal.causes(run, size=40).set_index(["experiment", "row", "column"]).value
    assert found.index.is_unique and found.notna().all()
    shipped = causal.load_causes()
    assert shipped.shape[1] == 10 and not shipped.isna().any(axis=None)
    assert set(found.loc["interchange"].index) == set(shipped.loc["interchange"].index)
    tokens, right = evaluation_sets(SPLIT, size=40)["1-var train"]
    given = forward(WEIGHTS, tokens)[:, -1].argmax(1)
    same(found["scrubbing", "1-var train", "the network"], (given == right).double().mean())
    kinds = found.loc["ablation"].groupby("row").sum()
    assert len(kinds) == 11 and kinds.sub(1).abs().max() < 1e-9


@calls(
    *(
        f"analysis.lookup.{name}"
        for name in ("read_with", "layer_1_changes", "shares_read", "typed_number_changes", "with_block")
    )
)
def scores_are_changed():
    plain = lookup.read_with(WEIGHTS, TOKENS)
    assert torch.equal(plain.answers, SEEN.logits[:, -1].argmax(1))
    same(plain.layer_1, SEEN.pattern[:, 0])
    same(plain.layer_2, SEEN.pattern[:, 1, -1])
    for change in lookup.layer_1_changes(WEIGHTS, TOKENS).values():
        assert change.shape == (60, T, T)
        assert not change[:, ROOM:].any()
    for change in lookup.typed_number_changes(WEIGHTS, TOKENS).values():
        assert change.shape == (60, T)
    assert not lookup.with_block(WEIGHTS, TOKENS, circuits.variable_identity(WEIGHTS)).any()
    even = torch.full((T, T), 1 / T, dtype=torch.float64)
    found = lookup.shares_read(plain._replace(layer_1=even.expand(60, T, T)), TOKENS, TASK)
    places = [p for ids in TOKENS.tolist() for p in range(ROOM) if ids[p] < N]  # of all keys alike, the first is the best
    assert found == pytest.approx({"place before": places.count(1) / len(places), "itself": 0, "weight": 1 / T})


@calls(
    *(
        f"analysis.lookup.{name}"
        for name in (
            "number_table", "place_and_distance", "prices", "gapped", "lead", "headed", "flattened", "at_level",
            "leads_of_asked", "preferences_of_equal",
        )  # fmt: skip
    )
)
def tables_of_an_assigned_number():
    token, position = lookup.number_table(WEIGHTS)
    S = circuits.qk_table(WEIGHTS)
    same(token, S[:N, :D].mean(0) + S[D : D + ROOM, :D])
    same(position, S[:N, D : D + ROOM].mean(0) + S[D : D + ROOM, D : D + ROOM])
    place, distance = lookup.place_and_distance(position)
    assert place.shape == distance.shape == (ROOM,) and place[0] == 0
    same(lookup.prices(WEIGHTS).number, (token[1:, :N].mean(1) - token[1:, 9]).mean())
    tokens = lookup.gapped(TASK, 6, 2, "number", 1)
    assert tokens.shape == (N, T) and TASK.check(tokens) is tokens
    assert TASK.names(tokens[1]) == ["PAD"] * 4 + ["b", "4", "1", "PAD", "+", "b", "3", "="]
    assert lookup.headed(TASK, ["PAD", "variable"], 3)[:, 3].tolist() == list(range(N))
    target, rivals = torch.zeros(60, dtype=torch.long), torch.zeros(60, T).bool()
    rivals[:, 1:3] = True
    terms = circuits.layer_2_terms(WEIGHTS, TOKENS)
    same(lookup.lead(terms, target, rivals), terms[..., 0] - terms[..., 1:3].mean(-1))
    scores = terms[:, 0, 0]
    same((scores + lookup.flattened(scores, rivals))[:, 1:3].mean(1), scores[:, 1:3].mean(1))
    same((scores + lookup.at_level(scores, rivals, torch.full((60,), 0.3))).softmax(1)[:, 1:3].sum(1), torch.full((60,), 0.3))
    asked = ((TOKENS[:, TASK.left] >= 9).sum() + (TOKENS[:, TASK.right] >= 9).sum()).item()
    assert 0 < len(lookup.leads_of_asked(WEIGHTS, TOKENS)) <= asked
    typed = f"key at {TASK.left}, {TASK.right}"
    own = WEIGHTS.W_E[TASK.equal] + WEIGHTS.W_pos[TASK.last]
    found = lookup.preferences_of_equal(WEIGHTS, TOKENS)
    same(torch.as_tensor(found[typed]), (WEIGHTS.W_pos[[TASK.left, TASK.right]] @ (own @ circuits.QK(WEIGHTS, 2))).mean())


# problems of another task, to all that reads them


READERS = {
    "predictions": lambda t: measures.predictions(WEIGHTS, t),
    "accuracy": lambda t: measures.accuracy(WEIGHTS, Batch(t, t[:, 0])),
    "progress_measures": lambda t: measures.progress_measures(WEIGHTS, Batch(t, t[:, 0])),
    "layer_1_terms": lambda t: circuits.layer_1_terms(WEIGHTS, t),
    "layer_2_terms": lambda t: circuits.layer_2_terms(WEIGHTS, t),
    "mlp_input_sources": lambda t: circuits.mlp_input_sources(WEIGHTS, SEEN, t),
    "variable_accuracy": lambda t: history.variable_accuracy(WEIGHTS, Batch(t, t[:, 0])),
    "losses_and_gradients": lambda t: history.losses_and_gradients(WEIGHTS, Batch(t, t[:, 0])),
    "variables_read": lambda t: iv.variables_read(SEEN.pattern[:, 0], t, TASK),
    "identity_term": lambda t: iv.identity_term(WEIGHTS, t),
    "read_values": lambda t: iv.read_values(t, TASK),
    "change_value": lambda t: iv.change_value(t, 0, torch.Generator(), TASK),
    "cleanly_read": lambda t: iv.cleanly_read(WEIGHTS, t),
    "answers": lambda t: iv.answers(lens(), t),
    "read_with": lambda t: lookup.read_with(WEIGHTS, t),
    "layer_1_changes": lambda t: lookup.layer_1_changes(WEIGHTS, t),
    "typed_number_changes": lambda t: lookup.typed_number_changes(WEIGHTS, t),
    "with_block": lambda t: lookup.with_block(WEIGHTS, t, circuits.variable_identity(WEIGHTS)),
    "patched": lambda t: iv.patched(lens(), t, t, {}),
    "story": lambda t: causal.story(t, TASK),
    "kinds_of_answer": lambda t: causal.kinds_of_answer(t, t[:, 0], TASK),
    "scrubbed": lambda t: causal.scrubbed(WEIGHTS, t, t, torch.Generator()),
    "shortcuts": lambda t: [solver(t, TASK) for name, solver in shortcuts.SHORTCUTS.items() if name != "chance"],
}


@pytest.mark.parametrize("other", OTHERS, ids=str)
@pytest.mark.parametrize("reader", READERS)
def test_problems_of_another_task_are_refused(reader, other):
    """The first two have the same number of token ids and positions, so that nothing but the check can tell."""
    with pytest.raises((ValueError, IndexError, RuntimeError)):
        READERS[reader](OTHERS[other].tokens)


# views


@calls(
    "views.attention.attention",
    "views.attention.attention_figure",
    "views.attention.attention_in_words",
    "views.attention.attention_view",
    "views.attention.attention_slider",
    "views.attention.circuitsvis_script",
)
def attention_of_this_task():
    patterns, names = attention.attention(WEIGHTS, "a=1, c=6, c+a")
    expected = trace(WEIGHTS, Problem.parse("a=1, c=6, c+a", TASK).tokens()[None]).pattern[0]
    assert torch.equal(patterns, expected) and names == "a 1 c 6 PAD PAD PAD PAD + c a =".split()
    left, right = attention.attention_figure(patterns, names).axes
    assert [tick.get_text() for tick in left.get_xticklabels()] == names and len(right.images[0].get_array()) == T
    assert attention.attention_in_words(patterns, names).startswith(
        "Attention of both layers to a 1 c 6 PAD PAD PAD PAD + c a =:"
    )
    data = held(attention.attention_view(WEIGHTS, "a=1, a+6").data)
    assert len(data["tokens"]) == T and np.shape(data["attention"]) == (2, T, T)
    for wrong, said in (("a=7, a+6", "out of range"), ("e=1, e+6", "neither"), (Problem.parse("a=1, a+6"), "different tasks")):
        with pytest.raises(ValueError, match=said):
            attention.attention(WEIGHTS, wrong)
    with pytest.raises(ValueError, match="single step"):
        attention.attention_slider(WEIGHTS, "a=1, a+6", [0, 10])
    assert "CircuitsVis" in attention.circuitsvis_script()


@calls(
    "views.explorer.explorer",
    "views.explorer.live",
    "views.explorer.live_script",
    "views.explorer.packed",
    "views.explorer.saying",
    "views.explorer.sentence",
)
def the_live_network_answers_in_the_study_s_task_alone():
    for networks in ([WEIGHTS], ["seed-42", WEIGHTS]):
        with pytest.raises(ValueError, match="the study's task only"):
            explorer.explorer("a=1, a+6", *networks)
    assert 'customElements.define("assign-add"' in explorer.live_script() in explorer.live(explorer.MODULES)
    said = explorer.sentence(Problem.parse("a=1, a+6", TASK), WEIGHTS)
    assert said.startswith("On a=1, a+6=? the network says <strong>") and "with probability" in said
    words = "the network says <strong>1</strong>, with probability 0.70; right is 2 (probability below 0.01)."
    assert explorer.saying(torch.tensor([0.298, 0.7, 0.002]), 2) == words
    unpacked = load(base64.b64decode(explorer.packed(WEIGHTS.tensors())))
    assert all(torch.equal(unpacked[name], each) for name, each in WEIGHTS.tensors().items())


@calls("views.playground.playground")
def live_rules_count_as_far_as_their_networks():
    learner = RuleLearner(RuleConfig(p=11, depth=1, d_model=16, heads=2))
    data = held(playground.playground((10, 3), [(1, 10), (0, 0)], {"eleven": learner}).data)
    assert data["p"] == 11 and max(data["networks"][0]["shown"]) > 100


@calls(
    "views.page.is_static",
    "views.page.picture_of",
    "views.page.img_element",
    "views.page.figure_element",
    "views.page.light",
    "views.page.range_control",
    "views.slider.step_slider",
)
def pages_show_any_figure():
    picture = page.picture_of(line(3), "a line")
    assert page.img_element(picture) in page.figure_element("view", picture, "", "caption", list(range(N)))
    assert page.light(Image.new("L", (7, 4), 200)).convert("RGB").getcolors() == [(28, (200, 200, 200))]
    assert 'max="6" value="2" aria-valuetext="5"' in page.range_control("step", [1, 3, 5, 7, 9, 11, 13], 5)
    output = slider.step_slider(line, range(0, 3), "caption", "a line")
    assert len(held(output.data) if page.is_static() else output.children) == 3


@calls("views.slider.phase_and_accuracy")
def steps_are_told_by_the_phases_of_this_task():
    accuracies = pd.DataFrame({"1-var train": [0.2, 0.75, 1], "1-var var-restricted": [0.1, 0.3, 1]}, index=[0, 10, 20])
    says = {task: slider.phase_and_accuracy(SimpleNamespace(metrics=accuracies, task=task)) for task in (TASK, Task())}
    assert [told(10).split(",")[0] for told in says.values()] == [f"phase {n}; accuracy: 1-var train 0.75" for n in "12"]


def ticks(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


@calls("views.figures.elsewhere.share_panels")
def shares_of_any_number():
    values = pd.Series(np.linspace(0, 1, N), range(N))
    figure = figures.share_panels({f"{n}": [(f"{n}", values / (n + 1), {})] for n in range(V)}, "number", rows=2)
    assert len(figure.axes) == V and figure.axes[1].lines[0].get_ydata()[-1] == 0.5


@calls("views.figures.elsewhere.computation_graph", "views.figures.elsewhere.one_round")
def figures_of_part_four():
    drawn = figures.one_round(["1", "=", "x2:1", "x2", "=", "x3"], [(3, 2)], [(5, 3)], [], {3: "x2:1"}, "1").axes[0]
    assert len(drawn.patches) == 12
    for operands in ([[]], [[], [0], [1], [0, 2], []]):
        drawn = figures.computation_graph([f"x{i}" for i in range(len(operands))], operands).axes[0]
        assert [text.get_text() for text in drawn.texts if text.get_text()] == [f"x{i}" for i in range(len(operands))]


@calls("views.figures.build.token_row", "views.figures.build.pair_map", "views.figures.build.form_grid")
def figures_of_the_task():
    names = TASK.names(Problem.parse("a=1, a+6", TASK).tokens())
    words = [text.get_text() for text in figures.token_row(names, "0").axes[0].texts]
    assert words[: 2 * T] == [word for place, name in enumerate(names) for word in (name, str(place))]
    axes = figures.pair_map(SPLIT.train_pairs).axes[0]
    assert np.array_equal(axes.images[0].get_array(), ~SPLIT.train_pairs.numpy())
    axes = figures.form_grid(torch.ones(V + 1, V + 1, dtype=torch.bool), TASK.variable_names).axes[0]
    assert ticks(axes.xaxis) == ticks(axes.yaxis) == ["a", "b", "c", "d", "number"]
    assert not any(digit in axes.get_xlabel() + axes.get_ylabel() for digit in "0123456789")  # positions are of a task


@calls(
    "views.figures.build.accuracy_curves",
    "views.figures.build.curves",
    "views.figures.read.seed_curves",
    "views.figures.read.accuracy_intervals",
)
def figures_of_metrics():
    sets = list(evaluation_sets(SPLIT, size=1))
    metrics = pd.DataFrame({name: [0.0, 0.5, k / 10] for k, name in enumerate(sets)}, index=[0, 10, 20])
    drawn = [line for axes in figures.accuracy_curves(metrics).axes for line in axes.lines]
    assert [list(line.get_ydata()) for line in drawn] == [list(metrics[name]) for name in sets]
    assert [list(line.get_ydata()) for line in figures.curves(metrics).axes[0].lines] == [list(metrics[name]) for name in sets]
    assert len(figures.seed_curves([metrics, metrics], [[name] for name in sets]).axes) == 9
    table = iv.shares({name: (0.5, 0.4, 0.6) for name in sets})
    assert [len(axes.lines) for axes in figures.accuracy_intervals({"all": table}).axes] == [2, 3, 4]


@calls("views.worlds.follow", "views.worlds.draw")
def a_world_of_this_size_is_followed():
    settings = {"n_numbers": N, "n_variables": V, "length": T, "d_model": 6, "d_mlp": 9, "steps": 2, "log_every": 1}
    world = "".join(f"{name} = {value}\n" for name, value in (settings | {"checkpoint_every": 2}).items())
    texts = "".join(f'{each} = "x"\n' for each in ("name", "statement", "because", "rival", "control", "chance"))
    rule = 'measure = "right"\nof = "2-var train"\nat_most = 1\n'
    with TemporaryDirectory() as place, torch.enable_grad():
        file = Path(place, "tiny.toml")
        file.write_text(f'title = "T"\nquestion = "Q"\n[world]\n{world}[[prediction]]\n{texts}{rule}')
        told = list(worlds.follow([str(file)], Path(place, "lab"), [0, 1, 2], jobs=1, device="cpu", progress=False))
        assert told == ["held, 3 of 3 seeds: tiny, x", f"written: {Path(place, 'lab', 'tiny')}.md"]
        assert f"| n_numbers | {N} | 59 |" in Path(place, "lab", "tiny.md").read_text()
        assert Image.open(Path(place, "lab", "tiny.png")).width == style.WIDTH * 180


@calls("views.figures.read.score_table", "views.figures.read.score_block", "views.figures.read.patch_maps")
def figures_of_scores():
    S = circuits.qk_table(WEIGHTS)
    axes = figures.score_table(S, {"A": (slice(0, N), slice(10, 14))}, TASK).axes[0]
    np.testing.assert_array_equal(axes.collections[0].get_array(), S)
    places = ["positions 0–7", "position 8", "position 9", "position 10", "position 11"]
    assert ticks(axes.xaxis) == ["numbers 0–6", "+", "=", "PAD", "variables a–d", *places]
    for scores, task in ((S, Task()), (torch.zeros(90, 90), TASK), (S[:-1], TASK)):
        with pytest.raises(ValueError, match="are a square of"):
            figures.score_table(scores, {}, task)
    with pytest.raises(ValueError, match="are a square of 90, not"):
        figures.score_table(S, {})
    axes = figures.score_block(circuits.variable_identity(WEIGHTS), TASK.variable_names, 5).axes[0]
    assert ticks(axes.yaxis) == list("abcd") and len(axes.texts) == V * V
    axes = figures.patch_maps({"x": torch.ones(2, T)}, ["one", "two"], range(T)).axes[0]
    assert len(axes.texts) == 2 * T and ticks(axes.yaxis) == ["one", "two"]


@calls("analysis.paths.second_layer", "analysis.paths.operand_keys", "analysis.paths.lens_and_attribution")
def single_paths():
    keys = paths.operand_keys(WEIGHTS, TOKENS, strip=True)
    assert keys.shape == SEEN.resid_pre.shape
    given, row = paths.second_layer(WEIGHTS, TOKENS)
    assert torch.equal(given, SEEN.logits[:, -1].argmax(1)) and row.shape == (len(TOKENS), T)
    assert torch.allclose(row, SEEN.pattern[:, 1, -1], atol=1e-5)
    assert len(paths.lens_and_attribution(WEIGHTS, TOKENS, ANSWERS)) == 8


@calls(
    "views.figures.read.algorithm",
    "views.figures.read.spectra",
    "views.figures.read.neuron_grid",
    "views.figures.read.interference",
)
def figures_of_addition():
    names = TASK.names(Problem.parse("a=1, a+6", TASK).tokens())
    words = [text.get_text() for text in figures.algorithm(names, [(1, 0)], [(11, 1)], {1: "of a"}, "1 + 6", "0").axes[0].texts]
    assert {"of a", "1 + 6", "11"} <= set(words) and "12" not in words
    shares = fourier.spectrum(TABLE).tolist()
    bars = figures.spectra({"E": shares}, [2]).axes[0].patches
    assert [bar.get_height() for bar in bars] == shares and len(bars) == 4
    panels = figures.neuron_grid([("n", LOGITS[0], LOGITS[1])]).axes
    assert [axes.images[0].get_array().shape for axes in panels] == [(N, N)] * 2
    top, bottom = figures.interference({1: LOGITS[0, 0], 3: LOGITS[0, 1]}, LOGITS[0, 2], 5).axes
    assert [bar.get_height() for bar in bottom.patches] == LOGITS[0, 2].tolist() and len(top.texts) == 2


@calls("views.figures.learn.held", "views.figures.learn.block_matrix")
def figures_of_the_theorem():
    top, axes = figures.held(TASK.names(TOKENS[0]), {1: ["a"]}, [1 / T] * T).axes
    assert len(top.patches) == T and len(axes.patches) == 2 * T + 1
    S, groups = circuits.qk_table(WEIGHTS), [("tokens", range(D), 1.0), ("positions", range(D, D + T), 1.0)]
    axes = figures.block_matrix(S, groups, groups, {}).axes[0]
    np.testing.assert_array_equal(axes.collections[0].get_array(), S)


@calls("views.figures.theorem.peaks", "views.figures.theorem.update_blocks")
def figures_of_a_step():
    content = torch.arange(N) / N
    left, right = figures.peaks([content], [content.flip(0)], [2], right=3).axes
    np.testing.assert_allclose([bar.get_height() for bar in left.patches], content)
    np.testing.assert_allclose([bar.get_height() for bar in right.patches], content.flip(0))
    size = max(block.stop for block in coordinates(TASK).values())
    update = torch.arange(size**2).view(size, size).double()
    image = figures.update_blocks(TASK, update).axes[0].collections[0].get_array()
    assert set(np.unique(image).tolist()) <= set(update.flatten().tolist()) and image.size > size


@calls("views.figures.theorem.outcomes_by_step", "views.figures.theorem.entries_by_step", "views.figures.theorem.cosines")
def figures_of_many_steps():
    kinds = {"0-var": 1.0, "1-var": 0.5, "2-var": 0.25}
    panels = figures.outcomes_by_step([0, 1], {"here": [(kinds, kinds)] * 2}).axes
    assert [list(line.get_ydata()) for line in panels[0].lines] == [[1, 1], [0.5, 0.5], [0.25, 0.25]]
    entries = ("signal", "all assigned numbers", "variables", "left operand")
    readings = pd.DataFrame({name: [0.0, 1.0] for name in (*kinds, *entries)}, [0, 10])
    top, bottom = figures.entries_by_step({"here": readings}, {"here": 5}).axes
    assert len(top.lines) == 4 and len(bottom.lines) == 5  # three kinds, four entries, and the change
    nulls = [f"{kind}, {what}" for kind in ("mixtures", "matchings") for what in ("mean", "sd")]
    along = pd.DataFrame({name: [0.1, 0.2] for name in (*nulls, "cosine", "by names")}, [100, 200])
    axes = figures.cosines({7: along}, {7: (100, 200)}).axes[0]
    assert list(axes.lines[0].get_ydata()) == [0.1, 0.2]


@calls(
    "views.figures.learn.vote_grids",
    "views.figures.phases.place_maps",
    "views.figures.phases.loss_by_lever",
    "views.figures.phases.release_panels",
)
def figures_of_the_phases():
    grid = torch.tensor([[2 / 3, -1 / 3]])
    words = [text.get_text() for text in figures.vote_grids({"a, b": grid, "b, a": grid}, ["1", "1"]).axes[0].texts]
    assert words == ["+2/3", "−1/3"]
    steps = pd.DataFrame({"one": [0.0, 0.6, 1.0]}, [0, 100, 200])
    image = figures.place_maps(steps, [(0, 100), (100, 200)], [], [100], steps).axes[2].images[0]
    assert image.get_array().tolist() == [[0.0, 0.6]]
    curve = pd.Series([3.0, 2.0], [0, 1])
    axes = figures.loss_by_lever({"read": {"a": curve}, "own": {"a": curve}}, {"read": 0, "own": 1}).axes[0]
    assert list(axes.lines[0].get_ydata()) == [3.0, 2.0]
    rows = pd.DataFrame({f"{what} a": [0.1, 0.2, 0.4] for what in ("own", "pull", "push", "number")}, [0, 100, 200])
    assert len(figures.release_panels(rows, "a", (0, 100)).axes) == 4


@calls("views.figures.style.legible", "views.figures.style.role", "views.figures.style.spread", "views.figures.style.use_style")
def the_style_knows_every_token():
    assert style.legible("#222222") == (0x22 / 255,) * 3  # dark enough already
    assert style.legible("#ffffff") == pytest.approx((0x76 / 255,) * 3, abs=0.01)  # the lightest grey that WCAG allows
    assert style.legible(style.ORANGE)[0] > style.legible(style.ORANGE)[1] > style.legible(style.ORANGE)[2]  # its hue stays
    roles = [style.role(name) for name in TASK.token_names]
    assert roles == ["number"] * N + ["+", "=", "PAD"] + ["variable"] * V
    assert style.spread([0.5, 0.5], 0.1) == [0.5, 0.6]
    with plt.rc_context():
        style.use_style()
        assert plt.rcParams["lines.linewidth"] == style.STYLE["lines.linewidth"]


def test_the_package_gives_a_network_its_task():
    assert WEIGHTS.task == TASK and assign_add_lib.Weights.init(TASK).task == TASK
