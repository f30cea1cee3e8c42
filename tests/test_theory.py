"""The gradient theorem: formulas against autograd over every sequence, bounds, slopes, scores, the trained network."""

import math
from collections import Counter
from functools import partial
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
import torch
from recipes import beside, starts
from worlds import rng

from assign_add_lib import Task, last_logits, load_run, theory
from assign_add_lib.circuits import OV, QK
from assign_add_lib.model import run, trace
from assign_add_lib.sampling import evaluation_populations
from assign_add_lib.theory import Setting, coordinates, dimensions, sweeps
from assign_add_lib.views import figures

SMALL = [  # N, V, T, K, rho, lam
    (5, 3, 8, 1, 1.0, 0.5),
    (5, 3, 8, 1, 0.5, 2.0),
    (7, 3, 8, 1, 0.0, 4.0),
    (7, 4, 10, 1, 0.3, 3.0),
    (5, 3, 8, 2, 0.5, 1.0),
    (5, 4, 8, 2, 1.0, 2.0),
    (7, 3, 10, 2, 0.0, 3.0),
    (5, 3, 10, 3, 0.5, 1.5),
]


def small(N, V, T, K, rho, lam, gamma):
    return Setting(Task(N, V, T), lam, gamma, K, rho)


def random_matrix(task, seed):
    """A matrix of scores without symmetries."""
    return torch.randn(2 * [dimensions(task)], generator=rng(seed), dtype=torch.float64)


def even(n):
    return torch.full((n,), 1 / n, dtype=torch.float64)


def close(found, expected, atol=1e-12):
    torch.testing.assert_close(found, expected, rtol=0, atol=atol)


def descent(setting, W=None, of=theory.every_sequence):
    """-gradient over all sequences, by autograd."""
    return -theory.gradient(setting, setting.initial() if W is None else W, *of(setting))


@pytest.mark.parametrize("sizes", SMALL)
def test_first_order_is_the_limit_of_autograd(sizes):
    setting = small(*sizes, 1e-13)
    U = theory.first_order(setting)
    close(descent(setting) / setting.gamma, U, 1e-13)
    assert U.abs().max() > 1e-3 * setting.epsilon


@pytest.mark.parametrize(("sizes", "gamma"), [(sizes, gamma) for sizes in SMALL if sizes[3] == 1 for gamma in (1e-6, 0.1, 5)])
def test_exact_gradient_for_one_assignment_at_any_gamma(sizes, gamma):
    setting = small(*sizes, gamma)
    found = descent(setting)
    close(found, theory.exact(setting), 1e-13 * max(1, gamma))
    assert found.abs().max() > 1e-3 * gamma * setting.epsilon
    close(sum(theory.terms(setting).values()), setting.step_size * found, 1e-11)


def slow_sequences(setting, asked):
    """The probability of every sequence with one or with two variables as operands, the slow way."""
    task, K, found = setting.task, setting.assignments, Counter()
    for names, slots in product(permutations(range(task.n_variables), K), permutations(range(task.room // 2), K)):
        for *numbers, y in product(range(task.n_numbers), repeat=K + 2 - asked):
            row = [task.pad] * task.length
            numbers = [*numbers, y][:K]
            for name, slot, number in zip(names, slots, numbers):
                row[2 * slot], row[2 * slot + 1] = task.first_variable + name, number
            first, second = task.first_variable + names[0], task.first_variable + names[1] if asked == 2 else y
            row[task.room], row[task.last] = task.plus, task.equal
            for operands, p in (((first, second), setting.rho), ((second, first), 1 - setting.rho)):
                row[task.left], row[task.right] = operands
                found[tuple(row)] += p
    return {row: p / found.total() for row, p in found.items() if p}


def test_every_sequence_is_there_and_as_likely_as_it_should_be():
    setting = Setting(Task(5, 3, 8), assignments=2, rho=0.25)
    tokens, weight = theory.every_sequence(setting)
    assert dict(zip(map(tuple, tokens.tolist()), weight.tolist())) == pytest.approx(slow_sequences(setting, 1))


@pytest.mark.parametrize("sizes", SMALL)
def test_representatives_stand_for_every_sequence(sizes):
    """Also away from the start, at a W with the same symmetries."""
    setting = small(*sizes, 2.0)
    noise = 0.3 * random_matrix(setting.task, sum(sizes[:4]))
    W = setting.initial() + theory.symmetrised(setting.task, noise)
    assert len(theory.representatives(setting)[0]) < len(theory.every_sequence(setting)[0])
    short = theory.symmetrised(setting.task, descent(setting, W, theory.representatives))
    close(short, descent(setting, W), 1e-14)
    assert short.abs().max() > 1e-4
    lopsided = descent(setting, W + noise)
    assert (lopsided - theory.symmetrised(setting.task, lopsided)).abs().max() > 1e-5


def dense_scores(r, W):
    """The scores (batch, pos) of vectors (batch, pos, d) for the last of them; W is (d, d), keys on the left."""
    return torch.einsum("btk,kq,bq->bt", r, W, r[:, -1])


def dense_logits(setting, W, tokens, basis):
    """The same logits with embeddings that are rows of `basis` (D, d), and layer 1 as a matrix; W is (d, d), keys on the left.

    The map of layer 1 takes each embedding to its moved one.
    """
    task, at = setting.task, coordinates(setting.task)
    moved = basis[at["moved variable"]].T @ basis[at["variable"]] + basis[at["moved number"]].T @ basis[at["number"]]
    x = basis[tokens] + basis[at["position"]]  # (batch, pos, d)
    before = torch.zeros_like(x)
    before[:, 1:] = basis[tokens[:, :-1]] * task.assigned_numbers(tokens)[:, 1:, None]
    before[:, -1] = basis[tokens[:, task.left]] + basis[tokens[:, task.right]]
    x = x + before @ moved.T
    mixed = (dense_scores(x, W).softmax(1)[:, :, None] * x).sum(1)  # (batch, d)
    return setting.gamma * theory.convolve(mixed @ basis[at["number"]].T)


def test_index_form_is_the_network_with_vectors():
    setting = Setting(Task(7, 4, 10), gamma=3.0, assignments=2, rho=0.5)
    W, generator = random_matrix(setting.task, 2), rng(1)
    basis = torch.linalg.qr(torch.randn(60, 60, generator=generator, dtype=torch.float64))[0][: len(W)]
    for asked in (0, 1, 2):
        tokens = theory.draw(setting, asked, 50, generator)
        close(dense_logits(setting, basis.T @ W @ basis, tokens, basis), theory.logits(setting, W, tokens))


def test_mlp_is_the_cyclic_self_convolution():
    N = 7
    c = torch.rand(20, N, dtype=torch.float64)
    n = torch.arange(N)
    close(theory.convolve(c), torch.stack([(c * c[:, (q - n) % N]).sum(1) for q in range(N)], 1), 1e-14)


@pytest.mark.parametrize("sizes", [(5, 3, 8), (7, 4, 10), (31, 5, 20), (59, 12, 16)])
def test_no_bound_is_violated_and_some_are_reached(sizes):
    reached, moved = {}, coordinates(Task(*sizes))["moved variable"]
    for lam, gamma, rho, K in product((0.5, 2.0, 6.0, 12.0), (1e-6, 0.1, 4.0), (0.0, 0.5, 1.0), (1, 2)):
        setting = Setting(Task(*sizes), lam, gamma, K, rho)
        terms, bounds = theory.terms(setting), theory.bounds(setting)
        if K == 1:
            terms["softmax in the signal"] = terms["softmax"][moved, moved]
        for name in bounds.keys() & terms.keys():
            share = (terms[name].abs().max() / bounds[name]).item()
            assert share <= 1 + 1e-8, (name, lam, gamma, rho, K)
            reached[name] = max(share, reached.get(name, 0))
    assert reached["1/N"] == pytest.approx(1)
    assert reached["leakage"] > 0.9 and reached["softmax"] > 0.3 and reached["softmax in the signal"] > 0.3


@pytest.mark.parametrize("K", [2, 3])
def test_softmax_bound_holds_with_distractors(K):
    setting = small(5, 3, 10, K, 0.5, 3.0, 0.5)
    error = setting.step_size * (descent(setting) - setting.gamma * theory.first_order(setting))
    moved = coordinates(setting.task)["moved variable"]
    bounds = theory.bounds(setting)
    assert 0 < error.abs().max() < bounds["softmax"]
    assert 0 < error[moved, moved].abs().max() < bounds["softmax in the signal"]


def kinds_of_keys(task, row):
    """What `theory.scores` calls each position of a sequence."""
    operands, names = row[task.left : task.right + 1], {task.equal: "=", task.plus: "+"}
    for t, token in enumerate(row):
        kind = "variable" if token >= task.first_variable else "number"
        asked = "asked" if (token if kind == "variable" else row[t - 1]) in operands else "other"
        if t in (task.left, task.right):
            yield f"{kind} operand, {'left' if t == task.left else 'right'}"
        elif token == task.pad:
            yield f"PAD in a {'number' if t % 2 else 'name'}'s place"
        else:
            yield names.get(token, f"{asked} {'name' if kind == 'variable' else 'number'}")


@pytest.mark.parametrize(("rho", "h"), list(product((0.0, 0.5, 1.0), (0.7, 2.0))))
def test_score_table_is_exact(rho, h):
    setting, checked = Setting(lam=8.0, rho=rho, assignments=4), set()
    task, terms = setting.task, theory.terms(setting)
    W = setting.initial() + h * (terms["operands"] + terms["signal"] + terms["spurious"])
    for asked in (0, 1, 2):
        tokens, table = theory.draw(setting, asked, 40, rng(0)), theory.scores(setting, h, asked)
        for row, seen in zip(tokens.tolist(), dense_scores(theory.vectors(task, tokens), W).tolist()):
            kinds = list(kinds_of_keys(task, row))
            assert seen == pytest.approx([table[kind] for kind in kinds], abs=1e-12), kinds
            checked |= set(kinds)
    assert checked == set(table)


@pytest.mark.parametrize("rho", [1.0, 0.0, 0.5])
def test_balance_makes_scores_equal(rho):
    setting = Setting(lam=11.0, rho=rho)
    table = theory.scores(setting, theory.balance(setting), 1)
    side = "right" if rho == 1 else "left"
    assert table["asked number"] == pytest.approx(table[f"number operand, {side}"])


@pytest.mark.parametrize(
    "words, asked",
    [
        ("odd modulus", lambda: Setting(Task(10))),
        ("whole number of slots", lambda: Setting(Task(59, 12, 15))),
        ("1 to 6", lambda: Setting(assignments=0)),
        ("1 to 6", lambda: Setting(assignments=7)),
        ("probability", lambda: Setting(rho=1.5)),
        ("above 0", lambda: Setting(gamma=0.0)),
        ("one assignment", lambda: theory.exact(Setting(assignments=2))),
        *(("one or two", partial(theory.representatives, Setting(assignments=K), n)) for K, n in ((1, 0), (1, 2), (3, 3))),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(words, asked):
    with pytest.raises(ValueError, match=words):
        asked()


@pytest.fixture(scope="module")
def trained():
    study = load_run("seed-42")
    problems = evaluation_populations(study.split)["1-var train"].sample(300, rng(0))
    return study, study.weights(2200).to(torch.float64), problems


def test_gradient_of_the_trained_network(trained):
    """Against autograd through the whole forward, with QK2 as the query matrix and the identity as the key matrix."""
    _, w, problems = trained
    found, _ = theory.look_up_gradient(w, problems, batch=128)
    root = math.sqrt(w.W_Q.shape[-1])
    M = (QK(w, 2) * root).requires_grad_()
    merged = w.replace(W_Q=torch.stack([w.W_Q[0], M]), W_K=torch.stack([w.W_K[0], torch.eye(128, dtype=torch.float64)]))
    loss = torch.nn.functional.cross_entropy(last_logits(merged, problems.tokens), problems.answers)
    close(found, -torch.autograd.grad(loss, M)[0] * root)
    assert not torch.allclose(found, found.T, atol=1e-3)  # so that it matters which side the queries are on


def test_coefficients_are_the_pull_on_the_block(trained):
    """Against autograd with respect to a 12 by 12 block that is added to the scores of the names."""
    _, w, problems = trained
    _, found = theory.look_up_gradient(w, problems)
    tokens, seen = problems.tokens, trace(w, problems.tokens)
    A, stream = seen.pattern[:, 0], seen.resid_pre + seen.attn_out[:, 0]
    block = torch.zeros(12, 12, dtype=torch.float64, requires_grad=True)
    asks, holds = (torch.zeros(len(tokens), 16, 12, dtype=torch.float64) for _ in range(2))
    for b, row in enumerate(tokens.tolist()):
        for t, token in enumerate(row):
            if token >= 62 and t in (13, 14):
                asks[b, :, token - 62] = A[b, 15, t]
            if t > 0 and row[t - 1] >= 62:
                holds[b, t, row[t - 1] - 62] = A[b, t, t - 1]
    scores = seen.scores[:, 1, 15] + torch.einsum("btu,uv,btv->bt", asks, block, holds)
    x = stream[:, 15] + torch.einsum("bt,btd->bd", scores.softmax(1), stream @ OV(w, 2))
    logits = (x + (x @ w.W_in).relu() @ w.W_out) @ w.W_U
    loss = torch.nn.functional.cross_entropy(logits, problems.answers)
    close(found, -torch.autograd.grad(loss, block)[0])
    assert (found.diag() >= 0).all() and found.diag().sum() > 2 * found[~torch.eye(12, dtype=torch.bool)].abs().sum() / 11


def test_delivery_is_the_attention_of_layer_1(trained):
    _, w, problems = trained
    tokens = problems.tokens[:60]
    pattern = trace(w, tokens).pattern[:, 0]
    for row, A, found in zip(tokens.tolist(), pattern, theory.delivery(w, tokens)):
        operand = 13 if row[13] >= 62 else 14
        name = row.index(row[operand])
        close(found, torch.stack([A[15, operand], A[name + 1, name]]))


@pytest.mark.parametrize("K", [2, 3])
def test_representatives_stand_for_every_two_variable_sequence(K):
    setting = Setting(Task(5, 3, 10), 1.5, 2.0, K)
    W = setting.initial() + theory.symmetrised(setting.task, 0.3 * random_matrix(setting.task, K))
    rows, weight = zip(*slow_sequences(setting, 2).items())
    whole = -theory.gradient(setting, W, torch.tensor(rows), torch.tensor(weight, dtype=torch.float64))
    close(theory.descent(setting, W, asked=2), whole, 1e-14)
    assert whole.abs().max() > 1e-4


def test_silenced_distractors_are_seen_but_not_read():
    setting = Setting(Task(7, 4, 10), gamma=2.0, assignments=3)
    task, tokens = setting.task, theory.draw(setting, 1, 50, rng(3))
    W = random_matrix(task, 4)
    content = torch.zeros(50, 7, dtype=torch.float64)
    for b, (row, seen) in enumerate(zip(tokens.tolist(), theory.attention(task, W, tokens))):
        for t, token in enumerate(row):
            if token < 7 and (t > task.room or row[t - 1] in row[task.left : task.right + 1]):
                content[b, token] += seen[t]
    found = theory.logits(setting, W, tokens, theory.silenced(task, tokens))
    close(found, 2.0 * theory.convolve(content))
    setting = small(5, 3, 10, 2, 0.5, 1.0, 1.0)
    everything, weight = theory.every_sequence(setting)
    read = theory.silenced(setting.task, everything)
    whole = -theory.gradient(setting, setting.initial(), everything, weight, read=read)
    close(theory.descent(setting, setting.initial(), silent=True), whole, 1e-14)


@pytest.mark.parametrize("gamma", [1e-3, 3.0])
def test_votes_add_up_to_the_gradient(gamma):
    """Formula eq-pairs against autograd, at a W without symmetries."""
    setting = Setting(Task(7, 4, 10), gamma=gamma, assignments=3)
    task, tokens = setting.task, theory.draw(setting, 1, 60, rng(5))
    W = random_matrix(task, 6)
    found = theory.descent_of(task, theory.votes(setting, W, tokens), theory.attention(task, W, tokens), tokens, batch=25)
    close(found, -theory.gradient(setting, W, tokens, even(60)) / gamma)


def test_one_assignment_never_tells_the_asked_name_from_any():
    """At every step, of any length and at any gamma, the columns of a name and of q0 agree in the row of that name."""
    for gamma, size in ((1e-6, 0.1), (20.0, 0.7)):
        for W in theory.follow([(Setting(lam=5.0, gamma=gamma), 12)], size):
            row = theory.named_entries(Setting().task, W)
            assert row["signal"] == pytest.approx(row["all assigned numbers"], abs=1e-12)
    told = theory.named_entries(Setting().task, theory.follow([(Setting(lam=5.0, assignments=2), 40)])[-1])
    assert told["signal"] > 2 * told["all assigned numbers"]


@pytest.mark.parametrize("scale", [1, 300])
@pytest.mark.parametrize("asked", [1, 2])
def test_ranks_first_by_the_scores(asked, scale):
    """Also where scores differ by so much that attention underflows."""
    setting = Setting(assignments=4)
    task, W = setting.task, scale * random_matrix(setting.task, 7)
    tokens = theory.draw(setting, asked, 100, rng(asked))
    scores = dense_scores(theory.vectors(task, tokens), W)
    wanted = torch.zeros_like(tokens, dtype=torch.bool).scatter(1, task.value_positions(tokens), True)[:, : task.room]
    numbers = task.assigned_numbers(tokens)[:, : task.room]
    expected = [row[one].min() > row[other].max() for row, one, other in zip(scores[:, : task.room], wanted, numbers & ~wanted)]
    assert theory.ranks_first(task, W, tokens).tolist() == expected and 0 < sum(expected) < 100


def test_step_with_random_embeddings_is_that_of_vectors():
    """Against a network with vectors: scores by dense W, its gradient by autograd, the embeddings' own inner products."""
    setting, generator, width = small(7, 4, 10, 2, 0.5, 1.0, 2.0), rng(8), 20
    task = setting.task
    rows = torch.randn(dimensions(task), width, generator=generator, dtype=torch.float64) / width**0.5
    tokens = theory.draw(setting, 1, 40, generator)
    W = (rows.T @ setting.initial() @ rows).requires_grad_()
    r = theory.vectors(task, tokens) @ rows
    a = dense_scores(r, W).softmax(1)
    logits = setting.gamma * theory.convolve(theory.content(task, a, tokens))
    loss = torch.nn.functional.cross_entropy(logits, task.right_answers(tokens))
    stepped = W - setting.step_size * torch.autograd.grad(loss, W)[0]
    truth = rows @ stepped.detach() @ rows.T
    found = theory.step_with(setting, rows @ rows.T, tokens, even(40))
    torch.testing.assert_close(found, truth, rtol=1e-9, atol=1e-9)


def test_steps_with_embeddings_that_are_orthonormal_are_plain_steps():
    setting, generator = small(7, 4, 10, 2, 0.5, 1.0, 2.0), rng(2)
    eye, W = torch.eye(dimensions(setting.task), dtype=torch.float64), setting.initial()
    for _ in range(3):
        G = theory.gradient(setting, W, theory.draw(setting, 1, 30, generator), even(30))
        W = W - 0.1 * G / G.abs().max()
    close(theory.follow_with(setting, eye, 3, rng(2), batch=30), W)


def test_gram_of_random_embeddings():
    found = theory.gram(Task(), 512, rng(0))
    close(found.diag(), torch.ones(161, dtype=torch.float64), 1e-8)
    assert found[~torch.eye(161, dtype=torch.bool)].std() == pytest.approx(512**-0.5, rel=0.1)
    assert torch.linalg.matrix_rank(theory.gram(Task(), 100, rng(0))) == 100


@pytest.fixture(autouse=True)
def closed():
    """Figures are closed after each test."""
    yield


def test_drawn_votes_are_the_tables():
    grid = torch.full((3, 3), -1 / 3, dtype=torch.float64).fill_diagonal_(2 / 3)
    figure = figures.vote_grids({"one": grid, "two": torch.full((3, 3), 2 / 3)}, ["a", "b"])
    assert [text.get_text() for text in figure.axes[0].texts[:2]] == ["+2/3", "−1/3"]
    assert [axes.get_xlabel().splitlines()[1] for axes in figure.axes] == ["in all 0", "in all 6"]


def test_drawn_blocks_are_the_matrix():
    values = torch.arange(20.0).view(4, 5)
    rows, columns = [("low", [3, 1], 1.0), ("high", [0], 2.0)], [("left", range(2), 0.5), ("right", [4], 1.0)]
    axes = figures.block_matrix(values, rows, columns, {"S": ("high", "left")}).axes[0]
    assert np.array_equal(axes.collections[0].get_array(), values[[3, 1, 0]][:, [0, 1, 4]])
    (frame,) = axes.patches
    assert frame.get_bbox().extents.tolist() == [0, 2, 1, 4]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["low", "high"]


def test_drawn_positions_hold_their_parts():
    names, shares = ["a", "7", "PAD", "PAD", "="], ([0.0, 0.1, 0.25, 0.25, 0.4], [0.0, 0.5, 0.0, 0.0, 0.5])
    top, axes = figures.held(names, {1: ["a"], 4: ["a", "7"]}, *shares).axes
    assert [bar.get_height() for bar in top.patches] == [0.0, 0.1, 0.5, 0.4, 0.0, 0.5, 0.0, 0.5]
    assert len(axes.patches) == 2 * 4 + 3
    words = [text.get_text() for text in axes.texts]
    assert words == ["0", "a", "1", "7", "a", "2–3", "PAD", "4", "=", "a", "7"]


@pytest.mark.parametrize("rho", [1.0, 0.3])
def test_step_on_pairs_is_that_of_all_their_sequences(rho):
    setting = small(7, 3, 8, 1, rho, 2.0, 0.5)
    kept = torch.rand(7, 7, generator=rng(3)) < 0.7
    tokens, weight = theory.every_sequence(setting)
    left, right = tokens.gather(1, setting.task.value_positions(tokens)).T
    chosen = kept[left, right]
    weight = weight[chosen] / weight[chosen].sum()
    whole = -setting.step_size * theory.gradient(setting, setting.initial(), tokens[chosen], weight)
    close(theory.step_on_pairs(setting, kept), whole, 1e-13)


def test_step_on_a_batch_is_that_of_autograd_also_without_the_operands_own_votes():
    setting = Setting(lam=3.0, gamma=0.5)
    task, W, tokens = setting.task, setting.initial(), theory.draw(setting, 1, 50, rng(3))
    whole = -setting.step_size * theory.gradient(setting, W, tokens, even(50))
    close(theory.step_on_batch(setting, tokens), whole, 1e-9)
    votes = theory.votes(setting, W, tokens)
    for row, each in zip(tokens.tolist(), votes):
        y = task.left if row[task.left] < task.n_numbers else task.right
        each[y, y] = 0
    struck = setting.step_size * setting.gamma * theory.descent_of(task, votes, theory.attention(task, W, tokens), tokens)
    close(theory.step_on_batch(setting, tokens, struck=True), struck, 1e-9)
    assert (struck - whole).abs().max() > 0.1


def test_steps_can_be_continued():
    setting = small(7, 4, 10, 2, 0.5, 1.0, 2.0)
    half = theory.follow([(setting, 3)])[-1]
    assert torch.equal(theory.follow([(setting, 3)], start=half)[-1], theory.follow([(setting, 6)])[-1])


def test_tables_of_votes_are_those_counted_by_hand():
    found = theory.vote_tables(Setting(Task(3, 2, 8), lam=2.0, gamma=1e-13, rho=1.0))
    own = torch.full((3, 3), -1 / 3, dtype=torch.float64).fill_diagonal_(2 / 3)
    assert list(found) == ["(y, y)", "(x, x)", "(x, y)", "(y, x)"]
    for name, table in found.items():
        expected = own if name in ("(y, y)", "(x, x)") else torch.full_like(own, 2 / 3)
        close(table, expected)


def test_exchange_of_the_look_up_score(trained):
    study, late, problems = trained
    early, tokens = study.weights(1500).to(torch.float64), problems.tokens[:30]

    def slow(delivering, naming, scoring):
        moved, total = [naming.W_E[62 + v] @ OV(naming, 1) for v in range(12)], 0.0
        for row, attentions in zip(tokens.tolist(), theory.delivery(delivering, tokens)):
            z = max(row[13], row[14]) - 62
            each = [(moved[z] @ QK(scoring, 2) @ moved[v]).item() for v in range(12)]
            total += attentions.prod().item() * (each[z] - sum(each[:z] + each[z + 1 :]) / 11)
        return total / len(tokens)

    found = theory.exchange_look_up(early, late, tokens)
    start, end = slow(early, early, early), slow(late, late, late)
    expected = {"before": start, "after": end}
    for place, name in enumerate(("delivery", "names", "QK2")):
        first, last = [early] * 3, [late] * 3
        first[place], last[place] = late, early
        expected |= {f"{name} first": slow(*first) - start, f"{name} last": end - slow(*last)}
    assert found == pytest.approx(expected, abs=1e-9)


def test_shipped_tables_are_what_their_functions_give():
    problems = sweeps.fresh_problems(500)
    batches, steps = theory.load_table("batches"), theory.load_table("steps")
    shipped = batches[(batches.lam == 4) & (batches["size"] < 200) & (batches.draw == 1)].iloc[0]
    mine = sweeps.batch_row(4.0, int(shipped["size"]), 1, problems)
    assert mine["ranked"] == pytest.approx(shipped.ranked, abs=0.005)
    assert mine["S"] == pytest.approx(shipped.S, rel=1e-3)
    steps = steps[(steps.lam == 6) & (steps["size"] == 0.2) & (steps.assignments == 1)]
    (row,) = steps[steps.start == "none"].to_dict("records")
    W = theory.follow([(Setting(lam=6.0, gamma=1e-6), 70)], 0.2, every=1000)[-1]
    assert sweeps.end_state(W, problems) == pytest.approx({key: row[key] for key in sweeps.end_state(W, problems)}, abs=0.01)
    assert set(theory.load_table("embeddings").width) == {0, 128, 512, 4096}


@torch.no_grad()
def test_a_start_is_measured_again():
    study = load_run("seed-42")
    assert starts.chosen_steps(study) == {"addition learned": 400, "end of phase 1": 2200}
    shipped = theory.load_table("starts").set_index(["seed", "step"])
    assert len(shipped) == 20 and shipped.index.is_unique
    w, laws, draw = study.weights(2200), evaluation_populations(study.split), rng(13)
    found, _, other = (laws["1-var train"].sample(size, draw) for size in (8000, 4000, 4000))
    row = starts.seen(w, other.tokens, laws["0-var train"].sample(2000, draw).tokens)
    row |= {f"before: {key}": value for key, value in starts.state(w, other).items()}
    assert row == pytest.approx(shipped.loc[(42, 2200), list(row)].to_dict(), abs=1e-3)

    tokens = found.tokens[Task().assigned_numbers(found.tokens).sum(1) == 3]
    W, three = starts.with_attention(w, tokens), theory.draw(Setting(assignments=3), 1, 500, rng(0))
    given, measured = theory.attention(Task(), W, three), run(w, tokens).attention(2)[:, -1]
    for kind in ("number operand", "variable operand", "variables", "+", "="):
        mine, theirs = ((a * starts.kinds(t)[kind]).sum(1).mean().item() for a, t in ((given, three), (measured, tokens)))
        assert mine == pytest.approx(theirs, abs=0.01), kind
    pattern = run(w, three, starts.imposed(three)).attention(1)
    assert pattern[:, -1, 13:15].eq(0.5).all() and (pattern[:, -1].sum(1) == 1).all()
    assert pattern.diagonal(-1, 1, 2)[Task().assigned_numbers(three)[:, 1:]].eq(1).all()
    rest = starts.trained(w, laws["1-var train"], "rest", steps=1)
    alone = starts.trained(w, laws["1-var train"], "QK2", steps=1)
    assert torch.equal(rest.W_Q[1], w.W_Q[1]) and not torch.equal(rest.W_Q[0], w.W_Q[0])
    assert torch.equal(alone.W_E, w.W_E) and not torch.equal(alone.W_K[1], w.W_K[1])

    sides = theory.load_table("beside").set_index(["run", "step"]).loc[("seed-42", 2200)]
    by_side = beside.by_side(w, other.tokens)
    assert by_side == pytest.approx(sides[list(by_side)].to_dict(), abs=1e-3)
    choice = other.tokens[Task().assigned_numbers(other.tokens).sum(1) >= 2]
    stream = run(w, choice)["blocks.1.hook_resid_pre"]
    assert beside.first(beside.scored(stream, QK(w, 2)), choice) == pytest.approx(row["before: ranked"], abs=1e-3)
    m, won = theory.moved_names(w), beside.most_won(w, stream[:2000], choice[:2000])
    assert won(m.T @ m) == pytest.approx(sides["step S: most won"], abs=1e-3)


def test_drawn_curves_are_the_tables():
    results = [({"0-var": 0.1, "1-var": 0.2, "2-var": 0.3}, {"0-var": 0.4, "1-var": 0.5, "2-var": 0.6})] * 2
    axes = figures.outcomes_by_step([0, 1], {"one": results, "two": results}).axes
    assert [line.get_ydata()[0] for line in axes[2].lines] == [0.4, 0.5, 0.6]
    W = Setting().initial()
    table = pd.DataFrame([sweeps.end_state(W, sweeps.fresh_problems(20))] * 3)
    axes = figures.entries_by_step({"a": table, "b": table}, {"b": 1}).axes
    assert [len(each.lines) for each in axes] == [3, 4, 4, 5]
    assert len(figures.update_blocks(Task(), W).axes[0].patches) == 7


def test_accuracy_along_the_step_is_that_of_each_length():
    setting, problems = Setting(lam=24.0, gamma=1e-11), {"1-var": sweeps.fresh_problems(200)["1-var"]}
    lengths = [0.0, 1.0, 1.18, 1.22, 1.26, 1.5]
    slowly = [sweeps.outcomes(setting, h, problems)[0]["1-var"] for h in lengths]
    assert sweeps.along(setting, lengths, problems["1-var"]) == slowly and max(slowly) > 0.9 > 0.1 > min(slowly)
