"""Readings overruled: the written-out forward against the network's, and the shares that each arm gives."""

import torch
from small import problems, random_weights

from assign_add_lib import Task, forward
from assign_add_lib.analysis import uneven

TASK = Task(7, 4, 12)


def test_its_own_reading_is_the_network():
    weights, batch = random_weights(TASK, 10, 6, 9, seed=3), problems(TASK, 20, seed=2)
    logits, pattern = uneven.overruled(weights, batch.tokens, uneven.own)
    assert torch.allclose(logits, forward(weights, batch.tokens)[:, -1])
    assert torch.allclose(pattern.sum(1), torch.ones(20, dtype=pattern.dtype))


def test_arms_on_one_row():
    pattern, two = torch.tensor([[0.1, 0.6, 0.2, 0.1]]), torch.tensor([[1, 2]])
    expected = {"own": pattern[0], "equalised": [0.1, 0.4, 0.4, 0.1]}
    expected |= {"without rest": [0, 0.75, 0.25, 0], "half and half": [0, 0.5, 0.5, 0], "clean, uneven": [0, 0.75, 0.25, 0]}
    for name, row in expected.items():
        assert torch.allclose(uneven.ARMS[name](pattern, two)[0], torch.as_tensor(row)), name


def test_no_gradient_reaches_the_attention_of_two_arms():
    pattern, two = torch.tensor([[0.1, 0.6, 0.2, 0.1]], requires_grad=True), torch.tensor([[1, 2]])
    trained = {name for name, read in uneven.ARMS.items() if read(pattern, two).requires_grad}
    assert trained == {"own", "equalised", "without rest"}
