"""The checks of chapter 9, Causes."""

import math
import random
from collections.abc import Callable

import torch
from torch import Tensor

from ..model import Weights, trace
from ..task import STUDY
from .common import Wrong, as_tensor, exercise, expect, random_problem


@exercise
def interval(answer: Callable) -> None:
    """Exercise 9.1: `answer(n_right, n)` is Wilson's 95% interval of a share, (low, high)."""
    for n_right, n in ((0, 20), (20, 20), *((random.randint(1, n - 1), n) for n in random.choices(range(5, 900), k=8))):
        given = answer(n_right, n)
        expect(given is not None, "your function returns nothing yet")
        expect(len(given) == 2, "it should return two numbers, the lower end and the upper end")
        low, high = map(float, given)
        share = n_right / n
        if 0 < n_right < n and abs(high - share - 1.96 * math.sqrt(share * (1 - share) / n)) < 1e-9:
            raise Wrong("that is the plain interval, with the measured share under the root; the unknown share belongs there")
        expect(low < high, f"for {n_right} right of {n} the ends {low:.4f}, {high:.4f} leave no room or are in the wrong order")
        for end, name in ((low, "lower"), (high, "upper")):
            gap = (share - end) ** 2 - 1.96**2 * end * (1 - end) / n
            words = f"for {n_right} right of {n} the {name} end {end:.4f} does not solve (share - p)^2 = 1.96^2 p (1 - p) / n"
            expect(abs(gap) < 1e-7, words)


@exercise
def without_term(answer: Callable) -> None:
    """Exercise 9.2: `answer(pattern, term)` is the pattern after a term is taken out of the scores."""
    for size in (2, 5, 9):
        future = torch.ones(size, size, dtype=torch.bool).triu(1)
        scores, term = torch.randn(2, 3, 1, size, size, dtype=torch.float64)
        pattern = scores.masked_fill(future, -torch.inf).softmax(-1)
        truth, wrong_way = ((scores + sign * term).masked_fill(future, -torch.inf).softmax(-1) for sign in (-1, 1))
        before = pattern.clone()
        given = as_tensor(answer(pattern, term), tuple(pattern.shape), "the pattern")
        expect(torch.equal(pattern, before), "it writes into the pattern that it was given")
        expect(not given.isnan().any(), "some entries are not numbers")
        expect(not given[..., future].any(), "a query gives weight to a key that comes after it")
        sums = given.sum(-1)
        expect(torch.allclose(sums, torch.ones_like(sums)), "the rows of your pattern do not all sum to 1")
        expect(not torch.allclose(given, wrong_way), "that adds the term to the scores; it should be taken out")
        expect(torch.allclose(given, truth), "the rows sum to 1, but they are not the softmax of the scores less the term")


def _sharp_network() -> Weights:
    """A random network whose layer 2 reads unevenly, but more than one position, so that answers depend on what is read."""
    weights = Weights(**{name: 3 * tensor for name, tensor in Weights.init(seed=random.randrange(2**31)).tensors().items()})
    scores = trace(weights, torch.stack([random_problem().tokens() for _ in range(20)])).scores[:, 1, -1]
    W_Q, W_V = weights.W_Q.clone(), weights.W_V.clone()
    W_Q[1] *= 3 / scores.std()
    W_V[1] *= 5  # what layer 2 reads outweighs the rest of the stream
    return weights.replace(W_Q=W_Q, W_V=W_V)


def _answers_from(weights: Weights, resid: Tensor, added: Tensor) -> Tensor:
    """What the network answers where layer 2's attention adds `added` to the stream `resid` at `=`."""
    stream = resid + added
    return ((stream + (stream @ weights.W_in).relu() @ weights.W_out) @ weights.W_U).argmax(1)


@exercise
def doubled(answer: Callable) -> None:
    """Exercise 9.3: `answer(lens, tokens)` is what the network answers when layer 2's `=` reads the left number alone."""
    weights = _sharp_network()
    lens = weights.to_transformer_lens()
    tokens = torch.stack([random_problem().tokens(seed=index) for index in range(60)])
    activations = trace(weights, tokens)
    row, places = torch.arange(len(tokens)), STUDY.value_positions(tokens)
    resid = activations.resid_pre + activations.attn_out[:, 0]

    def reading(place):
        return _answers_from(weights, resid[:, -1], resid[row, place] @ weights.W_V[1] @ weights.W_O[1])

    given = as_tensor(answer(lens, tokens), (len(tokens),), "the answer")

    def like(truth):
        return (given == truth).float().mean() > 0.97

    if like(reading(places[:, 0])):
        return
    expect(not like(activations.logits[:, -1].argmax(1)), "these are the answers of the unchanged network")
    expect(not like(reading(places[:, 1])), "these are the answers when = reads the right number")
    words = "where the left operand is a variable, it reads the variable in the question; the number stands elsewhere"
    expect(not like(reading(torch.full_like(row, STUDY.left))), words)
    raise Wrong("these are not the answers when layer 2's = reads the left number and nothing else")


@exercise
def swapped(answer: Callable) -> None:
    """Exercise 9.4: `answer(lens, tokens, first, second)` answers with layer 2's values exchanged at two positions."""
    tokens = torch.stack([random_problem().tokens(seed=index) for index in range(60)])
    row = torch.arange(60)

    def answers(left, right):
        v = resid @ weights.W_V[1]
        v[row, first], v[row, second] = v[row, left], v[row, right]
        mixed = torch.einsum("bk,bkd->bd", activations.pattern[:, 1, -1], v)
        return _answers_from(weights, resid[:, -1], mixed @ weights.W_O[1])

    for _ in range(50):  # until a network is found whose answers the exchange changes often
        weights = _sharp_network()
        activations = trace(weights, tokens)
        resid = activations.resid_pre + activations.attn_out[:, 0]
        first, second = activations.pattern[:, 1, -1].topk(2).indices.unbind(1)
        if (answers(first, second) != answers(second, first)).float().mean() > 0.3:
            break
    lens = weights.to_transformer_lens()
    given = as_tensor(answer(lens, tokens, first, second), (60,), "the answer")

    def like(truth):
        return (given == truth).float().mean() > 0.97

    if like(answers(second, first)):
        return
    expect(not like(answers(first, second)), "these are the answers of the unchanged network")
    words = "both positions hold the same value afterwards; keep a copy before you write"
    expect(not like(answers(second, second)) and not like(answers(first, first)), words)
    raise Wrong("these are not the answers with the values of layer 2 exchanged, and nothing else")
