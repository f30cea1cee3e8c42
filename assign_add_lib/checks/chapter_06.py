"""The checks of chapter 6, The addition module."""

import random
from collections.abc import Callable

import torch

from ..model import Weights
from ..task import STUDY, Split
from .common import Wrong, as_tensor, exercise, expect


@exercise
def matched_and_shuffled(answer: Callable) -> None:
    """Exercise 6.1: `answer(a, b, order)` is the mean cosine of matched rows, and of rows matched wrongly."""
    for _ in range(5):
        a = torch.randn(30, 8, dtype=torch.float64) * torch.rand(30, 1, dtype=torch.float64)
        b, order = a + torch.randn(30, 8, dtype=torch.float64) / 3, torch.randperm(30)
        given = answer(a, b, order)
        expect(given is not None, "your function returns nothing yet")
        expect(isinstance(given, tuple) and len(given) == 2, "it should return two things: the matched and the shuffled mean")
        matched, shuffled = (as_tensor(each, (), "each mean").item() for each in given)

        def mean(rows, a=a, b=b):
            pairs = [(a[i], b[j]) for i, j in enumerate(rows)]
            return sum(float(u @ v / (u.norm() * v.norm())) for u, v in pairs) / len(pairs)

        dots = float((a * b).sum(1).mean())
        expect(abs(matched - dots) > 1e-9, "the matched mean is that of the dot products; divide by both lengths")
        words = f"the matched mean is {matched:.4f}; from the definition, row by row, it is {mean(range(30)):.4f}"
        expect(abs(matched - mean(range(30))) < 1e-9, words)
        words = f"the shuffled mean is {shuffled:.4f}; with row i of a against row order[i] of b it is {mean(order):.4f}"
        expect(abs(shuffled - mean(order)) < 1e-9, words)


@exercise
def truly_new(answer: Callable) -> None:
    """Exercise 6.2: `answer(train_pairs)` marks the pairs that training adds in neither order."""
    for _ in range(5):
        train = Split.draw(seed=random.randrange(2**31)).train_pairs
        given = as_tensor(answer(train.clone()), tuple(train.shape), "the answer").bool()
        diagonal = torch.eye(len(train), dtype=torch.bool)
        for mistakes, words in (
            (given & train, "({0}, {1}) is a training pair, so it is not new"),
            (given & ~train & train.T, "({0}, {1}) is held out, but training adds ({1}, {0}), which has the same sum"),
            (~given & ~train & diagonal, "({0}, {1}) is held out and is its own twin, so it is new"),
            (~given & ~train & ~train.T, "({0}, {1}) and ({1}, {0}) are both held out, so ({0}, {1}) is new"),
        ):
            for x, y in mistakes.nonzero()[:1].tolist():
                raise Wrong(words.format(x, y))


@exercise
def margin(answer: Callable) -> None:
    """Exercise 6.3: `answer(logits, answers)` is how far the right logit lies above the best wrong one."""
    for _ in range(5):
        logits = 10 * torch.randn(40, STUDY.n_numbers) - 20
        answers = torch.randint(STUDY.n_numbers, (40,))
        answers[:10] = logits[:10].argmax(1)  # some are right
        before = logits.clone()
        given = as_tensor(answer(logits, answers), (40,), "the answer")
        expect(torch.equal(logits, before), "it writes into the logits that it was given; work on a copy")
        for row, right, ours in zip(logits.tolist(), answers.tolist(), given.tolist()):
            wrong = max(logit for q, logit in enumerate(row) if q != right)
            words = "a margin is negative where the network is wrong, and positive where it is right; "
            words += f"one of yours is {ours:.3f}, and it should be {row[right] - wrong:.3f}"
            expect(abs(ours - (row[right] - wrong)) < 1e-4, words)


@exercise
def attribution(answer: Callable) -> None:
    """Exercise 6.4: `answer(weights, x, y)` is what each neuron of the bare circuit adds to the right logit, (d_mlp,)."""
    for _ in range(5):
        weights = Weights.init(STUDY, seed=random.randrange(2**31), d_model=24, d_mlp=30).to(torch.float64)
        x, y = random.randrange(30, STUDY.n_numbers), random.randrange(30, STUDY.n_numbers)
        given = as_tensor(answer(weights, x, y), (30,), "the answer")
        stream = (weights.W_E[x] + weights.W_E[y]) @ weights.W_V[1] @ weights.W_O[1]
        truth, row = [], (x + y) % STUDY.n_numbers
        for neuron in range(30):
            activation = max(float(stream @ weights.W_in[:, neuron]), 0.0)
            logits = activation * (weights.W_out[neuron] @ weights.W_U)
            truth.append(float(logits[row] - logits.mean()))
        truth = torch.tensor(truth, dtype=torch.float64)
        plain = truth + torch.tensor(
            [max(float(stream @ weights.W_in[:, n]), 0.0) * float((weights.W_out[n] @ weights.W_U).mean()) for n in range(30)]
        )
        expect(not torch.allclose(given.double(), plain, atol=1e-6), "subtract each neuron's mean over all 59 logits")
        wrong = "each neuron's activation, times what its row of W_out adds to the right logit above the mean of all 59"
        expect(torch.allclose(given.double(), truth, atol=1e-9), f"the numbers differ from the definition: {wrong}")
