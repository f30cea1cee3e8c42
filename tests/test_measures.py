"""Each measure against a slow count, on random networks and on shipped ones in which it is on its way."""

import pytest
import torch
from small import SIZES, problems, random_weights, read

from assign_add_lib import Problem, Split, Task, Weights, forward, load_run
from assign_add_lib import measures as m
from assign_add_lib.model import trace
from assign_add_lib.sampling import diagnostic_batch, evaluation_sets

SHIPPED = (400, 2300)  # steps of the study's run; between them every measure rises


@pytest.fixture(scope="module", params=[*SIZES, *SHIPPED], ids=str)
def network(request):
    """A task and a network of it, in double precision."""
    if request.param in SHIPPED:
        return Task(), load_run("seed-42").weights(request.param).to(torch.float64)
    return request.param[0], random_weights(*request.param, scale=0.2)


@pytest.fixture(scope="module")
def attended(network):
    """A task, problems, and the activations of a network on them."""
    task, weights = network
    tokens = diagnostic_batch(Split.draw(task), size=200).tokens
    return task, tokens, trace(weights, tokens)


def is_share(found, right):
    """A measure is the share of what is right."""
    assert found == pytest.approx(sum(right) / len(right), abs=1e-6)


def test_accuracies_are_the_slow_count(network):
    """Problem by problem with the plain forward."""
    task, weights = network
    sets = {name: batch for name, batch in evaluation_sets(Split.draw(task), size=300).items() if "train" in name}
    shares = m.accuracies(weights, sets)
    assert set(shares) == set(sets)
    for name, batch in sets.items():
        said = [logits.index(max(logits)) for logits in forward(weights, batch.tokens)[:, -1].tolist()]
        is_share(shares[name], [each == Problem.from_tokens(ids, task).answer for each, ids in zip(said, batch.tokens)])


def test_predictions_do_not_depend_on_the_chunks():
    weights, tokens = random_weights(*SIZES[1]), problems(SIZES[1][0], 100).tokens
    whole = m.predictions(weights, tokens)
    assert whole.tolist() == [int(m.predictions(weights, each[None])) for each in tokens]
    assert torch.equal(whole, m.predictions(weights, tokens, chunk=7))


def test_ov2_mlp2_accuracy_is_the_slow_count(network):
    task, w = network
    right = []
    for x in range(task.n_numbers):
        for y in range(task.n_numbers):
            neurons = (w.W_E[x] @ w.W_V[1] @ w.W_O[1] + w.W_E[y] @ w.W_V[1] @ w.W_O[1]) @ w.W_in
            right.append(int((neurons.clamp(min=0) @ w.W_out @ w.W_U).argmax()) == (x + y) % task.n_numbers)
    is_share(m.ov2_mlp2_accuracy(w), right)


def test_qk1_num_to_prev_var_is_the_slow_count(network):
    task, w = network
    right = []
    for i in range(1, task.room):
        score = {j: float((w.W_pos[i] @ w.W_Q[0]) @ (w.W_pos[j] @ w.W_K[0])) for j in range(i) if j != i - 2}
        right.append(max(score, key=score.get) == i - 1)
    is_share(m.qk1_num_to_prev_var(w), right)


def test_qk2_ov1_var_identity_is_the_slow_count(network):
    task, w = network
    moved = [w.W_E[task.first_variable + v] @ w.W_V[0] @ w.W_O[0] for v in range(task.n_variables)]
    right = []
    for v in range(task.n_variables):
        scores = [float((moved[v] @ w.W_Q[1]) @ (other @ w.W_K[1])) for other in moved]
        right.append(scores.index(max(scores)) == v)
    is_share(m.qk2_ov1_var_identity(w), right)


def two_largest(row: list[float]) -> set[int]:
    return set(sorted(range(len(row)), key=row.__getitem__)[-2:])


def test_attn_l1_equal_to_operands_is_the_slow_count(attended):
    task, tokens, activations = attended
    T = task.length
    right = [two_largest(row) == {T - 3, T - 2} for row in activations.pattern[:, 0, T - 1].tolist()]
    is_share(m.attn_l1_equal_to_operands(activations, tokens, task), right)


def test_attn_l1_num_to_prev_is_the_slow_count(attended):
    task, tokens, activations = attended
    right = []
    for ids, rows in zip(tokens.tolist(), activations.pattern[:, 0].tolist()):
        for place in range(1, task.length - 4):
            if ids[place] < task.n_numbers:
                right.append(max(range(task.length), key=rows[place].__getitem__) == place - 1)
    is_share(m.attn_l1_num_to_prev(activations, tokens, task), right)


def test_attn_l2_equal_to_values_is_the_slow_count(attended):
    task, tokens, activations = attended
    right = []
    for ids, row in zip(tokens.tolist(), activations.pattern[:, 1, task.length - 1].tolist()):
        each, places = read(ids, task.n_numbers, task.n_variables, task.length), set()
        for variable, own in ((each.u, task.length - 3), (each.w, task.length - 2)):
            places.add(own if variable is None else ids.index(task.n_numbers + 3 + variable) + 1)
        right.append(two_largest(row) == places)
    is_share(m.attn_l2_equal_to_values(activations, tokens, task), right)


def test_the_probe_is_a_ridge_classifier(attended):
    """Its accuracy on every other problem from the closed solution, on the rest, of the regression on plus and minus one."""
    task, tokens, activations = attended
    stream = activations.resid_pre + activations.attn_out[:, 0]
    halves = ([], [])
    for number, ids in enumerate(tokens.tolist()):
        for place in range(1, task.room):
            if ids[place] < task.n_numbers:
                halves[number % 2].append((stream[number, place], ids[place - 1] - task.first_variable))
    (X, y), (X_test, y_test) = ((torch.stack([x for x, _ in half]), torch.tensor([v for _, v in half])) for half in halves)
    targets = 2.0 * torch.nn.functional.one_hot(y, task.n_variables).double() - 1
    centre, mean = X.mean(0), targets.mean(0)
    gram = (X - centre).T @ (X - centre) + torch.eye(X.shape[1]).double()
    found = (X_test - centre) @ torch.linalg.solve(gram, (X - centre).T @ (targets - mean)) + mean
    right = (found.argmax(1) == y_test).tolist() if task.n_variables > 2 else ((found[:, 1] > found[:, 0]) == y_test).tolist()
    is_share(m.probe_l1_mid_var_from_num(activations, tokens, task), right)


def test_the_seven_measures_come_by_name():
    weights, batch = Weights.init(seed=2), diagnostic_batch(Split.draw())
    values = m.progress_measures(weights, batch)
    assert tuple(values) == m.PROGRESS_MEASURES and len(values) == 7
    activations = trace(weights, batch.tokens)
    for name, value in values.items():
        arguments = (weights,) if name[:3] in ("ov2", "qk1", "qk2") else (activations, batch.tokens, Task())
        assert value == getattr(m, name)(*arguments) and 0 <= value <= 1
