"""The checks of chapter 2, The model."""

import copy
import math
import random

import torch
from torch import Tensor

from ..model import Weights, forward, run
from ..task import Task
from .common import as_tensor, close, expect, expect_close, expect_number, foretold, random_problems


def _rms(x: Tensor) -> Tensor:
    return x.square().mean(1, keepdim=True).sqrt()


def normalised_scores(answer) -> None:
    """Exercise 2.1: `answer(C, QK1, tokens)` gives layer-1 scores (query, key) of vectors divided by their root mean square."""
    for _ in range(10):
        d_vocab, length, d = random.randint(5, 12), random.randint(2, 6), random.randint(3, 9)
        C, QK1 = torch.randn(d_vocab + length, d, dtype=torch.float64), torch.randn(d, d, dtype=torch.float64)
        tokens = torch.randint(d_vocab, (length,))
        given = as_tensor(answer(C, QK1, tokens), (length, length))
        e, p = C[tokens], C[d_vocab:]
        one, several, rows = e + p, (_rms(e) ** 2 + _rms(p) ** 2).sqrt(), e / _rms(e) + p / _rms(p)
        truth, whole, apart, of_rows = (x @ QK1 @ x.T for x in (one / _rms(one), one, one / several, rows))
        wrong = {
            "these are the scores without normalisation": whole,
            "you divide by the length of a vector; its root mean square is smaller": truth / d,
            "the size of a sum is not that of its parts: the product of token and position counts too": apart,
            "you normalise each row of C; normalise the sum of a token's row and a position's": of_rows,
            "the query is the row, the key the column": truth.T,
        }
        words = f"the scores are off by up to {(given - truth).abs().max():.2g} from those of normalised vectors"
        expect_close(given, truth, words, 1e-6, wrong)


@foretold("the typical score of our network", lambda answer: answer(128, 128, 128**-0.5 / 1.25))
def typical_score(answer) -> None:
    """Exercise 2.2: `answer(d_model, d_head, s)` is the standard deviation of an untrained layer-1 score; held against draws."""
    for _ in range(4):
        d, d_head, s = random.randint(16, 40), random.randint(4, 40), random.uniform(0.05, 0.4)
        x = s * (torch.randn(3000, 2, 1, d) + torch.randn(3000, 2, 1, d))  # (draw, position, 1, d)
        W_Q, W_K = (s * torch.randn(3000, d, d_head) for _ in range(2))
        drawn = ((x[:, 0] @ W_Q) @ (x[:, 1] @ W_K).mT / math.sqrt(d_head)).std().item()
        wrong = {
            "scores are divided by the square root of d_head": drawn * math.sqrt(d_head),
            "a vector is a token's embedding plus a position's": drawn / 2,
            "that is the variance": drawn**2,
        }
        expect_number(answer(d, d_head, s), drawn, f"d_model = {d}, {d_head = }, {s = :.3f}", "3000 draws give", 0, wrong, 0.1)


def turned(answer) -> None:
    """Exercise 2.3: `answer(weights, layer, M)` has W_Q M in a layer, and the logits of before."""
    task = Task(7, 3, 10)
    tokens = torch.randint(task.d_vocab, (20, task.length))
    for layer in (1, 2):
        weights = Weights.init(task, random.randrange(2**31), d_model=12, d_mlp=20).to(torch.float64)
        weights = weights.replace(W_Q=4 * weights.W_Q, W_K=4 * weights.W_K)
        M = torch.eye(12, dtype=torch.float64) + torch.randn(12, 12) / 6
        lent = copy.deepcopy(weights)
        given = answer.lent(lent, layer, M.clone())
        expect(isinstance(given, Weights), f"it returns a {type(given).__name__}; it should return Weights")
        same = all(map(torch.equal, weights.tensors().values(), lent.tensors().values()))
        expect(same, "it writes into the weights that it was given; copy a tensor with clone() before you change it")
        here, other = layer - 1, 2 - layer
        untouched = torch.equal(given.W_Q[other], weights.W_Q[other]) and torch.equal(given.W_K[other], weights.W_K[other])
        expect(untouched, f"asked to turn layer {layer}, it changes layer {3 - layer}; layer 1 is at index 0")
        expect(close(given.W_Q[here], weights.W_Q[here] @ M, rtol=1e-5), f"W_Q of layer {layer} should become W_Q M")
        gap = (forward(given, tokens) - forward(weights, tokens)).abs().max().item()
        expect(gap < 1e-8, f"turning layer {layer} changes the logits, by up to {gap:.2g}; is W_K right?")


@foretold("the share of 0-var train that is still right with W_U put back in seed 42", 0.88)
def put_back(answer) -> None:
    """Exercise 2.4: `answer(trained, start, name, tokens)` gives the answers of `trained` with one tensor of `start`."""
    _, tokens = random_problems(40)
    drawn = (Weights.init(seed=random.randrange(2**31)) for _ in range(2))
    trained, start = (Weights(**{name: 3.5 * tensor for name, tensor in each.tensors().items()}) for each in drawn)
    for name in trained.tensors():
        mixed = (one.replace(**{name: other.tensors()[name]}) for one, other in ((trained, start), (start, trained)))
        truth, opposite = (run(each, tokens).answers for each in mixed)
        given = as_tensor(answer(trained, start, name, tokens), truth)
        wrong = {
            "the answers are those of the trained network, so nothing was put back": run(trained, tokens).answers,
            "the answers are those of the untrained network, so all was put back": run(start, tokens).answers,
            "put this one tensor back and keep the other eight": opposite,
        }
        expect_close(given, truth, f"with {name} put back, {int((given != truth).sum())} of 40 answers are others", wrong=wrong)
