"""The checks of chapter 9, Causes."""

import math
import random
from collections.abc import Callable

import torch
from torch import Tensor

from ..analysis.causal import counterfactual, pairs
from ..model import Weights, trace
from ..task import STUDY, Split
from .common import Wrong, as_tensor, exercise, expect, random_problem


@exercise
def paired(answer: Callable) -> None:
    """Exercise 9.1: `answer(first, second)` is the two-sided exact p of a split of the problems on which the two differ."""
    for one, other, both, none in ((9, 3, 20, 4), (0, 6, 50, 1), (4, 4, 3, 3), (0, 0, 9, 2), (1, 0, 3, 3), (17, 30, 300, 5)):
        codes = torch.tensor([2] * one + [1] * other + [3] * both + [0] * none)
        codes = codes[torch.randperm(len(codes))]
        first, second = codes >= 2, codes % 2 == 1
        given = answer(first, second)
        expect(given is not None, "your function returns nothing yet")
        given, n = float(given), one + other
        tail = sum(math.comb(n, k) for k in range(min(one, other) + 1)) / 2**n
        truth = min(1.0, 2 * tail)
        where = f"where {one} problems fall to the first and {other} to the second alone"
        if n and abs(given - truth) > 1e-6:
            expect(abs(given - tail) > 1e-6, f"{where}, that is one side; as uneven a split the other way counts too")
            total, right = len(codes), min(one, other) + both
            pooled = sum(math.comb(total, k) for k in range(right + 1)) / 2**total
            words = "the problems on which both are right, or both wrong, tell nothing apart; leave them out"
            expect(min(abs(given - pooled), abs(given - min(1.0, 2 * pooled))) > 1e-6, words)
            exactly = 2 * math.comb(n, one) / 2**n
            expect(abs(given - exactly) > 1e-6, f"{where}, that counts this very split alone; more uneven ones belong to it")
        expect(given <= 1 + 1e-9, f"{where}, {given:.3f} is no probability")
        expect(abs(given - truth) < 1e-6, f"{where}, p is {truth:.4f}, not {given:.4f}")


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
    """Exercise 9.2: `answer(lens, tokens)` is what the network answers when layer 2's `=` reads the left number alone."""
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
    """Exercise 9.3: `answer(lens, tokens, first, second)` answers with layer 2's values exchanged at two positions."""
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


@exercise
def closed(answer: Callable) -> None:
    """Exercise 9.4: `answer(w, tokens)` is hooks that take what layer 1 moved from 13 to 14 out of layer 2's key at 14."""
    weights = _sharp_network()
    lens, tokens = weights.to_transformer_lens(), torch.stack([random_problem().tokens(seed=index) for index in range(60)])
    seen, row = trace(weights, tokens), torch.arange(60)
    stream = seen.resid_pre + seen.attn_out[:, 0]
    moved = seen.pattern[:, 0, 14, 13, None] * (seen.resid_pre[:, 13] @ weights.W_V[0] @ weights.W_O[0])

    def logits(in_key, in_value, place=14):
        keys, values = stream.clone(), stream.clone()
        keys[row, place] -= in_key
        values[row, place] -= in_value
        scores = torch.einsum("bd,bkd->bk", stream[:, -1] @ weights.W_Q[1], keys @ weights.W_K[1]) / math.sqrt(128)
        read = torch.einsum("bk,bkd->bd", scores.softmax(1), values @ weights.W_V[1]) @ weights.W_O[1]
        resid = stream[:, -1] + read
        return (resid + (resid @ weights.W_in).relu() @ weights.W_out) @ weights.W_U

    hooks = answer(weights, tokens)
    expect(hooks is not None, "your function returns nothing yet")
    with torch.no_grad():
        given = lens.run_with_hooks(tokens, fwd_hooks=list(hooks))[:, -1]

    def like(truth):
        return torch.allclose(given, truth, atol=1e-3 * float(truth.abs().max()))

    nothing = torch.zeros_like(moved)
    if like(logits(moved, nothing)):
        return
    expect(not like(logits(nothing, nothing)), "these are the logits of the unchanged network")
    expect(not like(logits(moved, moved)), "the value at 14 changes as well; only the key should")
    all_of_it = seen.attn_out[:, 0, 14]
    words = "that takes away all that layer 1 brought to 14; take only what came from 13"
    expect(not like(logits(all_of_it, nothing)) and not like(logits(all_of_it, all_of_it)), words)
    whole = seen.resid_pre[:, 13] @ weights.W_V[0] @ weights.W_O[0]
    expect(not like(logits(whole, nothing)), "14 reads 13 with a weight below 1; what it moves is that weight times OV1's image")
    expect(not like(logits(-moved, nothing)), "that adds what was moved a second time")
    raise Wrong("these are not the logits with what layer 1 moved from 13 taken out of layer 2's key at 14, and nothing else")


@exercise
def rival(answer: Callable) -> None:
    """Exercise 9.5: `answer(base, source)` is another program's answers; that it is one is all that can be checked."""
    base, source = pairs(Split.draw(seed=1), 100, torch.Generator().manual_seed(random.randrange(2**31)))
    given = as_tensor(answer(base, source), (100,), "the answer")
    expect(((given >= 0) & (given < STUDY.n_numbers)).all(), "some of the answers are not numbers from 0 to 58")
    expect((given == given.round()).all(), "some of the answers are not whole numbers")
    own = as_tensor(answer(base, base), (100,), "the answer")
    words = "where base and source are the same problem, nothing is exchanged, and the answer is the base's own"
    expect((own == STUDY.right_answers(base)).all(), words)
    same = (given == counterfactual(base, source, "asked", STUDY)).double().mean()
    expect(same < 0.9, "that is our own program with another variable asked; a rival must answer otherwise in many pairs")
    kept = (given == STUDY.right_answers(base)).double().mean()
    expect(kept < 0.9, "that is the program in which the site holds nothing; the column `nothing` has tried it already")
