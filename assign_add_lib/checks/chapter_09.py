"""The checks of chapter 9, Causes."""

import math
import random
from collections.abc import Callable

import torch
from torch import Tensor

from ..analysis.causal import counterfactual, pairs
from ..analysis.interventions import changed_problems, full_problems
from ..model import Weights, run, trace
from ..task import STUDY, Split
from .common import Wrong, as_tensor, exercise, expect, random_problem


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


def _after_exchange(weights: Weights, seen, brought: Tensor) -> Tensor:
    """The answers where layer 1 brings `brought` (batch, d_model) to `=`, and what it brings elsewhere stays."""
    stream = seen.resid_pre + seen.attn_out[:, 0]
    stream = torch.cat([stream[:, :-1], (seen.resid_pre[:, -1] + brought)[:, None]], 1)
    scores = torch.einsum("bd,bkd->bk", stream[:, -1] @ weights.W_Q[1], stream @ weights.W_K[1]) / math.sqrt(
        weights.W_Q.shape[-1]
    )
    read = torch.einsum("bk,bkd->bd", scores.softmax(1), stream @ weights.W_V[1]) @ weights.W_O[1]
    return _answers_from(weights, stream[:, -1], read)


@exercise
def needed(answer: Callable) -> None:
    """Exercise 9.1: `answer(w, clean, changed, name, position)` is which clean answers noising keeps and denoising returns."""
    task, generator = STUDY, torch.Generator().manual_seed(random.randrange(2**31))
    name, position = "blocks.0.hook_attn_out", task.last
    for _ in range(50):  # until a network is found for which the exchange matters
        weights = _sharp_network()
        weights = weights.replace(W_V=weights.W_V * torch.tensor([3.0, 1.0])[:, None, None])
        clean = full_problems(80, generator, task)
        changed = changed_problems(clean, generator, task)["names"]
        seen = [trace(weights, tokens) for tokens in (clean, changed)]

        own = [each.logits[:, -1].argmax(1) for each in seen]
        noised, denoised = (_after_exchange(weights, one, other.attn_out[:, 0, position]) for one, other in (seen, seen[::-1]))
        shares = [(one == other).double().mean() for one in (noised, denoised) for other in own]
        if min(shares) > 0.1 and max(shares) < 0.9 and (noised == own[0]).ne(denoised == own[0]).double().mean() > 0.1:
            break
    # the network is random: what it answers on the clean problem is called right
    given = answer(weights, clean, changed, name, position, own[0])
    expect(given is not None, "your function returns nothing yet")
    expect(len(given) == 2, "return two tensors: what noising keeps, and what denoising returns")
    kept, returned = (as_tensor(each, (80,), "each of the two").double() for each in given)

    def like(one, other):
        return (one - other.double()).abs().mean() < 0.03

    truth = noised == own[0], denoised == own[0]
    if like(kept, truth[0]) and like(returned, truth[1]):
        return
    unchanged = own[0] == own[0], own[1] == own[0]
    expect(not (like(kept, unchanged[0]) and like(returned, unchanged[1])), "these are the answers without any exchange")
    expect(not (like(kept, truth[1]) and like(returned, truth[0])), "these are the right two in the wrong order")
    theirs = denoised == own[1]
    expect(not like(returned, theirs), "count the clean answer in both; denoising asks whether it comes back")
    expect(not like(kept, noised == own[1]), "count the clean answer in both; noising asks whether it stays")
    expect(not like(kept, truth[0]), "the first is right; denoising reads the changed problem and gets the clean activation")
    expect(not like(returned, truth[1]), "the second is right; noising reads the clean problem and gets the changed activation")
    raise Wrong("these are not the answers with this one activation exchanged at this one position")


@exercise
def instead(answer: Callable) -> None:
    """Exercise 9.2: `answer(values, by, generator)` is what stands in the place of values (n, d): zero, mean or resample."""
    values = torch.randn(200, 6)
    zero, mean = (answer(values, by, torch.Generator().manual_seed(1)) for by in ("zero", "mean"))
    zero, mean = (as_tensor(each, (200, 6), "what is returned") for each in (zero, mean))
    expect(zero.abs().max() < 1e-9, "by zero, every entry is 0")
    across = values.mean(1, keepdim=True).expand(200, 6)
    expect(not torch.allclose(mean, across, atol=1e-5), "the mean is over the rows, not over the entries of one")
    expect(torch.allclose(mean, values.mean(0).expand(200, 6), atol=1e-5), "by mean, every row is the mean of all rows")
    drawn, again, other = (
        as_tensor(answer(values, "resample", torch.Generator().manual_seed(k)), (200, 6), "what is returned") for k in (1, 1, 2)
    )
    expect(not torch.equal(drawn, values), "resampled, each row is a random one, and not its own")
    distance, place = (drawn[:, None] - values).abs().amax(2).min(1)
    words = "a row of the resampled ones is no row of values: draw whole rows, so that each is one that some problem has"
    expect((distance < 1e-4).all(), words)
    expect(len(place.unique()) > 20, "all get the row of the same few problems; draw one for each")
    expect((place == torch.arange(200)).double().mean() < 0.2, "resampled, most rows are still their own")
    expect(torch.equal(drawn, again) and not torch.equal(drawn, other), "draw with the generator that is given")


@exercise
def swapped(answer: Callable) -> None:
    """Exercise 9.3: `answer(w, tokens, first, second)` answers with layer 2's values exchanged at two positions."""
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
    given = as_tensor(answer(weights, tokens, first, second), (60,), "the answer")

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
    """Exercise 9.4: `answer(w, tokens)` is an alteration: layer 2's key at 14 loses what layer 1 moved there from 13."""
    weights = _sharp_network()
    tokens = torch.stack([random_problem().tokens(seed=index) for index in range(60)])
    seen, row = trace(weights, tokens), torch.arange(60)
    stream = seen.resid_pre + seen.attn_out[:, 0]
    moved = seen.pattern[:, 0, 14, 13, None] * (seen.resid_pre[:, 13] @ weights.W_V[0] @ weights.W_O[0])

    def logits(in_key, in_value, place=14, W_K=weights.W_K[1]):
        keys, values = stream @ weights.W_K[1], stream.clone()
        keys[row, place] -= in_key @ W_K
        values[row, place] -= in_value
        scores = torch.einsum("bd,bkd->bk", stream[:, -1] @ weights.W_Q[1], keys) / math.sqrt(128)
        read = torch.einsum("bk,bkd->bd", scores.softmax(1), values @ weights.W_V[1]) @ weights.W_O[1]
        resid = stream[:, -1] + read
        return (resid + (resid @ weights.W_in).relu() @ weights.W_out) @ weights.W_U

    alter = answer(weights, tokens)
    expect(alter is not None, "your function returns nothing yet")
    with torch.no_grad():
        given = run(weights, tokens, dict(alter)).logits

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
    expect(not like(logits(moved, nothing, W_K=weights.W_K[0])), "W_K[0] makes layer 1's keys; the key here is layer 2's")
    by_layer_2 = seen.pattern[:, 0, 14, 13, None] * (seen.resid_pre[:, 13] @ weights.W_V[1] @ weights.W_O[1])
    expect(not like(logits(by_layer_2, nothing)), "OV(w, 2) is what layer 2 moves; from 13 to 14 layer 1 moves it")
    read_by_2 = seen.pattern[:, 1, 14, 13, None] * (seen.resid_pre[:, 13] @ weights.W_V[0] @ weights.W_O[0])
    expect(not like(logits(read_by_2, nothing)), "that weight is layer 2's; from 13 to 14 layer 1 moves it")
    expect(not like(logits(-moved, nothing)), "that adds what was moved a second time")
    raise Wrong("these are not the logits with what layer 1 moved from 13 taken out of layer 2's key at 14, and nothing else")


@exercise
def rival(answer: Callable) -> None:
    """Exercise 9.5: `answer(base, source)` is another program's answers; that it is one is all that can be checked.

    The pairs are always the same, so that a program near a limit is not told one thing now and another later.
    """
    base, source = pairs(Split.draw(seed=1), 100, torch.Generator().manual_seed(9))
    given = as_tensor(answer(base, source), (100,), "the answer")
    expect(((given >= 0) & (given < STUDY.n_numbers)).all(), "some of the answers are not numbers from 0 to 58")
    expect((given == given.round()).all(), "some of the answers are not whole numbers")
    own = as_tensor(answer(base, base), (100,), "the answer")
    words = "where base and source are the same problem, nothing is exchanged, and the answer is the base's own"
    expect((own == STUDY.right_answers(base)).all(), words)
    ours = given == counterfactual(base, source, "asked", STUDY)
    expect(ours.double().mean() < 0.9, "that is our own program with another variable asked; a rival must answer otherwise")
    kept = given == STUDY.right_answers(base)
    words = "that is the program in which the site holds nothing; the column `nothing` has tried it already"
    expect(kept.double().mean() < 0.9, words)
    for name in ("left number", "right number", "sum"):
        words = f"that is the program in which the site holds `{name}`; its column in the table has tried it already"
        told = counterfactual(base, source, name, STUDY)
        expect((given == told).double().mean() < 0.9, words)
    differences = ((given - STUDY.right_answers(base)) % STUDY.n_numbers).unique()
    words = "your answers differ from the base's own by the same few numbers; they must come from what the source holds"
    expect(len(differences) > 10 or kept.double().mean() > 0.5, words)
    apart = (~ours & ~kept).double().mean().item()
    words = "so the two are hard to tell apart; it should differ from both in at least half"
    expect(apart >= 0.5, f"in only {apart:.0%} of the pairs your rival gives neither our answer nor the base's own, {words}")
