"""Training: the optimiser's arithmetic, against the plain forward and AdamW written out."""

from dataclasses import replace

import pytest
import torch
from small import CONFIG
from torch.nn.functional import cross_entropy

from assign_add_lib import Split, forward
from assign_add_lib.sampling import training_population
from assign_add_lib.training import StudyLearner


def plain(weights, tokens):
    return forward(weights, tokens)[:, -1]


def test_200_steps_of_the_factored_forward_are_those_of_the_plain_one(double):
    """In double precision: in single, a neuron at its kink may round to either side, and the runs part from there."""
    config = replace(CONFIG, d_model=32, d_mlp=64, batch_size=256)
    factored, slow = StudyLearner(config), StudyLearner(config)
    slow.logits = plain
    losses = [(factored.advance(), slow.advance()) for _ in range(200)]
    assert max(abs(one - other) for one, other in losses) < 1e-4
    assert losses[-1][0] < losses[0][0] - 0.3


def test_steps_are_those_of_adamw_written_out():
    """Decoupled weight decay and bias-corrected moments, on the plain forward, in double precision."""
    config = replace(CONFIG, lr=3e-3, weight_decay=0.1, beta1=0.8, beta2=0.95)
    learner = StudyLearner(config)
    weights = learner.weights.to(torch.float64).trainable().tensors()
    first = {name: torch.zeros_like(w) for name, w in weights.items()}
    second = {name: torch.zeros_like(w) for name, w in weights.items()}
    population = training_population(Split.draw(config.task, config.seed))
    generator = torch.Generator()
    generator.set_state(learner.generator.get_state())
    for step in range(1, 26):
        batch = population.sample(config.batch_size, generator)
        loss = cross_entropy(plain(type(learner.weights)(**weights), batch.tokens), batch.answers)
        gradients = dict(zip(weights, torch.autograd.grad(loss, list(weights.values()))))
        assert learner.advance() == pytest.approx(loss.item(), abs=1e-4)
        for name, g in gradients.items():
            first[name] = 0.8 * first[name] + 0.2 * g
            second[name] = 0.95 * second[name] + 0.05 * g**2
            change = (first[name] / (1 - 0.8**step)) / ((second[name] / (1 - 0.95**step)).sqrt() + 1e-8)
            weights[name] = ((1 - 3e-3 * 0.1) * weights[name] - 3e-3 * change).detach().requires_grad_()
    for name, w in weights.items():
        torch.testing.assert_close(learner.weights.tensors()[name].detach().double(), w.detach(), rtol=0, atol=1e-4)
