"""Each measure against a slow count, on random networks and on networks made so that the answer is known."""

import math

import pytest
import torch
from small import SIZES, problems, random_weights, read

from assign_add_lib import Problem, Split, Task, Weights, forward
from assign_add_lib import measures as m
from assign_add_lib.model import Activations, trace
from assign_add_lib.sampling import Batch, diagnostic_batch, evaluation_sets


def blank(task: Task, d_model: int = 32, d_mlp: int = 8) -> dict:
    """All weights zero, to be filled by hand."""
    return {name: torch.zeros_like(tensor) for name, tensor in Weights.init(task, 0, d_model, d_mlp).tensors().items()}


def with_pattern(pattern: torch.Tensor, **others: torch.Tensor) -> Activations:
    """Activations of which only the attention (batch, layer, query, key) is known."""
    return Activations(**dict.fromkeys(Activations._fields, None) | {"pattern": pattern} | others)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_accuracies_are_the_slow_count(sizes):
    """Problem by problem with the plain forward, over sets larger than a chunk."""
    task, weights = sizes[0], random_weights(*sizes)
    sets = {name: batch for name, batch in evaluation_sets(Split.draw(task), size=300).items() if "train" in name}
    shares = m.accuracies(weights, sets)
    assert set(shares) == set(sets)
    for name, batch in sets.items():
        right = 0
        for ids, logits in zip(batch.tokens, forward(weights, batch.tokens)[:, -1].tolist()):
            right += logits.index(max(logits)) == Problem.from_tokens(ids, task).answer
        assert shares[name] == pytest.approx(right / 300, abs=1e-6)


def test_predictions_do_not_depend_on_the_chunks():
    weights, tokens = random_weights(*SIZES[1]), problems(SIZES[1][0], 100).tokens
    whole = m.predictions(weights, tokens)
    assert whole.tolist() == [int(m.predictions(weights, each[None])) for each in tokens]
    assert torch.equal(whole, m.predictions(weights, tokens, chunk=7))


def test_accuracy_of_a_network_that_always_says_three():
    """Its only voice is the embedding of `=`, written straight to the answer 3."""
    task = Task(5, 3, 9)
    made = blank(task)
    made["W_E"][task.equal, 0] = 1
    made["W_U"][0, 3] = 1
    batch = Batch(*problems(task, 400))
    assert m.accuracy(Weights(**made), batch) == pytest.approx(batch.answers.tolist().count(3) / 400)


@pytest.mark.parametrize("sizes", SIZES[1:], ids=str)
def test_ov2_mlp2_accuracy_is_the_slow_count(sizes):
    task, w = sizes[0], random_weights(*sizes)
    right = 0
    for x in range(task.n_numbers):
        for y in range(task.n_numbers):
            neurons = (w.W_E[x] @ w.W_V[1] @ w.W_O[1] + w.W_E[y] @ w.W_V[1] @ w.W_O[1]) @ w.W_in
            logits = neurons.clamp(min=0) @ w.W_out @ w.W_U
            right += int(logits.argmax()) == (x + y) % task.n_numbers
    assert m.ov2_mlp2_accuracy(w) == pytest.approx(right / task.n_numbers**2, abs=1e-6)


def adder(task: Task) -> Weights:
    """A network whose bare circuit adds: embeddings hold x, neurons find the sum by tents between whole numbers."""
    N = task.n_numbers
    made = blank(task, d_model=2 * N + 1, d_mlp=2 * N + 1)
    made["W_E"][:N, 0] = torch.arange(N) + 0.0
    made["W_E"][:N, 1] = 0.5  # two operands carry a constant 1
    made["W_V"][1], made["W_O"][1] = torch.eye(2 * N + 1), torch.eye(2 * N + 1)
    made["W_in"][0] = 1
    made["W_in"][1] = -torch.arange(-1.0, 2 * N)  # neuron k is relu(x + y - k + 1)
    for total in range(2 * N - 1):  # a tent of three neurons, 1 at `total` and 0 at every other whole number
        for neuron, slope in ((total, 1.0), (total + 1, -2.0), (total + 2, 1.0)):
            made["W_out"][neuron, total % N] += slope
    made["W_U"][:N] = torch.eye(N)
    return Weights(**made)


@pytest.mark.parametrize("wrong", [0, 1, 4])
def test_ov2_mlp2_accuracy_of_a_circuit_that_adds(wrong):
    """A hand-made adder is right on every pair; each answer that is taken from it costs its N pairs."""
    task = Task(11, 4, 10)
    weights = adder(task)
    W_U = weights.W_U.clone()
    W_U[:, :wrong] = -1
    assert m.ov2_mlp2_accuracy(weights.replace(W_U=W_U)) == pytest.approx(1 - wrong / 11)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_qk1_num_to_prev_var_is_the_slow_count(sizes):
    task, w = sizes[0], random_weights(*sizes)
    right = 0
    for i in range(1, task.room):
        score = {j: float((w.W_pos[i] @ w.W_Q[0]) @ (w.W_pos[j] @ w.W_K[0])) for j in range(i) if j != i - 2}
        right += max(score, key=score.get) == i - 1
    assert m.qk1_num_to_prev_var(w) == pytest.approx(right / (task.room - 1), abs=1e-6)


@pytest.mark.parametrize(
    "looks, right",
    [
        ({1: 1.0}, 11),
        ({1: 1.0, 2: 2.0}, 11),  # two back does not count
        ({1: 1.0, 0: 2.0, -1: 2.0}, 11),  # nor does the place itself, nor the future
        ({1: 1.0, 3: 2.0}, 2),  # positions 1 and 2 have no place three back
        ({1: 1.0, 7: 2.0}, 6),
    ],
)
def test_qk1_num_to_prev_var_of_a_head_that_looks_back(looks, right):
    """Position i scores position i - offset by a given number, and every other by 0."""
    made = blank(Task())
    made["W_pos"] = torch.eye(16, 32)
    made["W_K"][0] = torch.eye(32)
    for i in range(12):
        for offset, score in looks.items():
            if 0 <= i - offset < 12:
                made["W_Q"][0][i, i - offset] = score
    assert m.qk1_num_to_prev_var(Weights(**made)) == pytest.approx(right / 11)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_qk2_ov1_var_identity_is_the_slow_count(sizes):
    task, w = sizes[0], random_weights(*sizes)
    moved = [w.W_E[task.first_variable + v] @ w.W_V[0] @ w.W_O[0] for v in range(task.n_variables)]
    right = 0
    for v in range(task.n_variables):
        scores = [float((moved[v] @ w.W_Q[1]) @ (other @ w.W_K[1])) for other in moved]
        right += scores.index(max(scores)) == v
    assert m.qk2_ov1_var_identity(w) == pytest.approx(right / task.n_variables, abs=1e-6)


@pytest.mark.parametrize("mistaken", [0, 1, 5, 12])
def test_qk2_ov1_var_identity_of_a_memory_with_known_mistakes(mistaken):
    """Variables look for themselves, except the first few, which look for the next one."""
    made = blank(Task())
    made["W_E"][62:74, :12] = torch.eye(12)
    made["W_V"][0], made["W_O"][0], made["W_K"][1] = torch.eye(32), torch.eye(32), torch.eye(32)
    for v in range(12):
        made["W_Q"][1][v, (v + 1) % 12 if v < mistaken else v] = 1
    assert m.qk2_ov1_var_identity(Weights(**made)) == pytest.approx(1 - mistaken / 12)


@pytest.fixture(params=SIZES, ids=str)
def attended(request):
    """A task, problems, and the activations of a random network on them."""
    task = request.param[0]
    tokens = problems(task, 200).tokens
    return task, tokens, trace(random_weights(*request.param, scale=0.2), tokens)


def two_largest(row: list[float]) -> set[int]:
    return set(sorted(range(len(row)), key=row.__getitem__)[-2:])


def test_attn_l1_equal_to_operands_is_the_slow_count(attended):
    task, tokens, activations = attended
    T = task.length
    right = sum(two_largest(row) == {T - 3, T - 2} for row in activations.pattern[:, 0, T - 1].tolist())
    assert m.attn_l1_equal_to_operands(activations, tokens, task) == pytest.approx(right / len(tokens), abs=1e-6)


def test_attn_l1_num_to_prev_is_the_slow_count(attended):
    task, tokens, activations = attended
    right = []
    for ids, rows in zip(tokens.tolist(), activations.pattern[:, 0].tolist()):
        for place in range(1, task.length - 4):
            if ids[place] < task.n_numbers:
                right.append(max(range(task.length), key=rows[place].__getitem__) == place - 1)
    assert 0 < sum(right) < len(right)
    assert m.attn_l1_num_to_prev(activations, tokens, task) == pytest.approx(sum(right) / len(right), abs=1e-6)


def values_by_parser(ids: list[int], task: Task) -> set[int]:
    """Where the two numbers to add stand, by the slow parser."""
    each, places = read(ids, task.n_numbers, task.n_variables, task.length), set()
    for variable, own in ((each.u, task.length - 3), (each.w, task.length - 2)):
        places.add(own if variable is None else ids.index(task.n_numbers + 3 + variable) + 1)
    return places


def test_attn_l2_equal_to_values_is_the_slow_count(attended):
    task, tokens, activations = attended
    rows = activations.pattern[:, 1, task.length - 1].tolist()
    right = sum(two_largest(row) == values_by_parser(ids, task) for ids, row in zip(tokens.tolist(), rows))
    assert m.attn_l2_equal_to_values(activations, tokens, task) == pytest.approx(right / len(tokens), abs=1e-6)


@pytest.mark.parametrize("good", [0, 1, 63, 200])
def test_attention_measures_of_made_patterns(good):
    """The first `good` problems attend as the study describes, the rest one place beside it."""
    task = Task()
    tokens = diagnostic_batch(Split.draw(task), size=200).tokens
    pattern = torch.full((200, 2, 16, 16), 1e-3)
    numbers = total = 0
    for number, ids in enumerate(tokens.tolist()):
        aside = 0 if number < good else 1
        for share, place in ((0.4, 13), (0.5, 14 - 2 * aside)):
            pattern[number, 0, 15, place] = share
        for share, place in zip((0.5, 0.3), sorted(values_by_parser(ids, task))):
            pattern[number, 1, 15, (place - aside) % 15] = share
        for place in range(1, 12):
            pattern[number, 0, place, place - 1 + aside] = 0.9
            total += ids[place] < 59
            numbers += ids[place] < 59 and number < good
    activations = with_pattern(pattern)
    assert m.attn_l1_equal_to_operands(activations, tokens, task) == pytest.approx(good / 200)
    assert m.attn_l2_equal_to_values(activations, tokens, task) == pytest.approx(good / 200)
    assert m.attn_l1_num_to_prev(activations, tokens, task) == pytest.approx(numbers / total)


def streams(tokens: torch.Tensor, written: torch.Tensor) -> Activations:
    """Activations whose residual stream after layer-1 attention is split between its two terms."""
    attn_out = torch.stack([written / 3, torch.full_like(written, math.nan)], 1)
    return Activations(**dict.fromkeys(Activations._fields, None) | {"resid_pre": written * 2 / 3, "attn_out": attn_out})


def test_the_probe_reads_a_variable_that_is_there():
    """One direction for the variable of the token before, beside noise."""
    tokens = diagnostic_batch(Split.draw()).tokens
    noise = torch.randn(512, 16, 40, generator=torch.Generator().manual_seed(0)) / 10
    names = torch.nn.functional.one_hot(tokens.roll(1, 1), 75)[..., 62:74].float()
    assert m.probe_l1_mid_var_from_num(streams(tokens, noise), tokens, Task()) < 0.25
    noise[..., 5:17] += names
    assert m.probe_l1_mid_var_from_num(streams(tokens, noise), tokens, Task()) == 1.0


def test_the_probe_is_tested_on_problems_it_has_not_seen():
    """As many free directions as numbers: it can learn any labels by heart, and that must not help."""
    tokens = diagnostic_batch(Split.draw()).tokens
    noise = torch.randn(512, 16, 1500, generator=torch.Generator().manual_seed(1))
    assert m.probe_l1_mid_var_from_num(streams(tokens, noise), tokens, Task()) < 0.2


def test_the_probe_is_a_ridge_classifier():
    """Its accuracy from the closed solution of the regression on plus and minus one."""
    task = Task(5, 3, 9)
    tokens = diagnostic_batch(Split.draw(task), size=240).tokens
    activations = trace(random_weights(task, 8, 8, 8), tokens)
    stream = (activations.resid_pre + activations.attn_out[:, 0]).double()
    halves = ([], [])
    for number, ids in enumerate(tokens.tolist()):
        for place in range(1, task.room):
            if ids[place] < task.n_numbers:
                halves[number % 2].append((stream[number, place], ids[place - 1] - task.first_variable))
    (X, y), (X_test, y_test) = ((torch.stack([x for x, _ in half]), torch.tensor([v for _, v in half])) for half in halves)
    targets = 2.0 * torch.nn.functional.one_hot(y, 3).double() - 1
    centre, mean = X.mean(0), targets.mean(0)
    solution = torch.linalg.solve((X - centre).T @ (X - centre) + torch.eye(8).double(), (X - centre).T @ (targets - mean))
    expected = (((X_test - centre) @ solution + mean).argmax(1) == y_test).double().mean().item()
    assert 0.3 < expected < 1
    assert m.probe_l1_mid_var_from_num(activations, tokens, task) == pytest.approx(expected, abs=1e-9)


def test_the_seven_measures_come_by_name():
    weights, batch = Weights.init(seed=2), diagnostic_batch(Split.draw())
    values = m.progress_measures(weights, batch)
    assert list(values) == [
        "ov2_mlp2_accuracy",
        "qk1_num_to_prev_var",
        "qk2_ov1_var_identity",
        "attn_l1_equal_to_operands",
        "attn_l1_num_to_prev",
        "attn_l2_equal_to_values",
        "probe_l1_mid_var_from_num",
    ]
    activations = trace(weights, batch.tokens)
    for name, value in values.items():
        arguments = (weights,) if name[:3] in ("ov2", "qk1", "qk2") else (activations, batch.tokens, Task())
        assert value == getattr(m, name)(*arguments) and 0 <= value <= 1
