"""Controls of chapter 9 on one run: each separates a sentence of the chapter from a rival.  Layers are counted from 1."""

import pandas as pd
import torch
from torch import Tensor

from ..circuits import OV, variable_identity
from ..model import Alter, Weights, run, trace
from ..sampling import evaluation_populations, evaluation_sets, training_population
from ..training import Run
from . import interventions as iv
from .causal import (
    FORGET,
    SIDE_ROAD,
    counterfactual,
    interchanged,
    kinds_of_answer,
    pairs,
    problems_with_number_right,
    scrubbed,
    share_true,
    story,
    typed_number_unnamed,
)
from .fourier import number_table
from .probes import both_numbers_accuracy, unordered_split
from .statistics import sign_test

Row = tuple[str, str, str, float]
KINDS = {1: "b + 19", 2: "19 + b", 3: "a + b"}
BEARS_ASKED = ("layer 1's output at =", "layer 1's output at 13, 14 and =", "layer 2's query at =")


def terms_at_right(weights: Weights, tokens: Tensor) -> dict[str, Tensor]:
    """Parts (batch,) of the block's term in the score of the right operand's position, for problems such as b+19.

    `all` of it; what comes `through the left operand's position`; and what passes through the `other names` than the asked one.
    """
    task, pattern = weights.task, trace(weights, tokens).pattern[:, 0]
    read, row = iv.variables_read(pattern, tokens, task), torch.arange(len(tokens), device=tokens.device)
    looked_for = read[:, task.last] @ variable_identity(weights)  # (batch, V)
    here, asked = read[:, task.right], tokens[:, task.left] - task.first_variable
    whole = (looked_for * here).sum(1)
    return {
        "all": whole,
        "through the left operand's position": looked_for[row, asked] * pattern[:, task.right, task.left],
        "other names": whole - looked_for[row, asked] * here[row, asked],
    }


def mixed_pool(run: Run, name: str, size: int, generator: torch.Generator) -> Tensor:
    """Token ids of three parts training problems of every kind and one part problems of an evaluation set, `size` in all."""
    law = evaluation_populations(run.split)[name]
    own = law.sample(size // 4, generator).tokens
    return torch.cat([training_population(run.split).sample(size - len(own), generator).tokens, own])


def shares_of_variance(weights: Weights) -> dict[str, float]:
    """Of the variance of the MLP's output over all pairs, what a function of the sum explains, and one of each number.

    Its input is half the sum of the two numbers' images under OV2, as in chapter 6.
    """
    N, image = weights.task.n_numbers, number_table(weights)
    out = ((0.5 * (image[:, None] + image[None])) @ weights.W_in).relu() @ weights.W_out  # (N, N, d_model)
    out = out - out.mean((0, 1))
    x, y = torch.cartesian_prod(torch.arange(N), torch.arange(N)).T
    by_sum = out.new_zeros(N, out.shape[-1]).index_add(0, (x + y) % N, out[x, y]) / N
    whole = out.square().sum()
    alone = N * (out.mean(0).square().sum() + out.mean(1).square().sum())
    return {"the sum": (N * by_sum.square().sum() / whole).item(), "each number by itself": (alone / whole).item()}


def _explained(held: Tensor, label: Tensor) -> float:
    """The share of the variance of vectors (n, d) that the means of equal labels (n,) explain."""
    held, count = held - held.mean(0), label.bincount().clamp(min=1)
    mean = held.new_zeros(len(count), held.shape[-1]).index_add(0, label, held) / count[:, None]
    return ((count[:, None] * mean.square()).sum() / held.square().sum()).item()


def _operands_unread(study: Run, w: Weights, size: int) -> list[Row]:
    """What is answered where `=` reads in layer 1 all positions evenly but those of the two operands."""
    task = study.task
    tokens = evaluation_populations(study.split)["1-var train"].sample(size, torch.Generator().manual_seed(12)).tokens
    unread = iv.make_uniform(1, iv.at(tokens, task.last), without=(task.left, task.right))
    kinds = kinds_of_answer(tokens, iv.answers(w, tokens, unread), task)
    return [("operands unread", "1-var train", *kind) for kind in kinds.items()]


def _asked_by_kind(study: Run, w: Weights, size: int) -> list[Row]:
    base, source = pairs(study.split, size, torch.Generator().manual_seed(9))
    told, kind, rows = counterfactual(base, source, "asked", study.task), study.task.kind_of(base), []
    for site in BEARS_ASKED:
        fits = interchanged(w, base, source, site) == told
        rows += [("asked by kind", site, name, share_true(fits[kind == k])) for k, name in KINDS.items()]
    return rows


def road_closed(weights: Weights, tokens: Tensor) -> Alter:
    """The alteration that takes what layer 1 moved from the left operand to the right one out of layer 2's key there."""
    task, seen = weights.task, trace(weights, tokens)
    moved = seen.pattern[:, 0, task.right, task.left, None] * (seen.resid_pre[:, task.left] @ OV(weights, 1))
    change = iv.at(tokens, task.right)[:, :, None] * (moved @ weights.W_K[1])[:, None]
    return {"blocks.1.attn.hook_k": lambda held: held - change[:, :, None]}


def key_at_right(weights: Weights, tokens: Tensor, right: Tensor, generator: torch.Generator) -> dict[str, Tensor]:
    """Which problems such as b+19 (batch,) are answered right when the key of the typed number loses what it knows of names."""
    task, key = weights.task, "blocks.1.attn.hook_k"
    held = run(weights, tokens, keep=[key])[key]
    drawn = torch.randint(len(held), (20, len(held)), generator=generator)
    names = tokens[:, task.left]
    other = held[drawn.gather(0, (names[drawn] != names).int().argmax(0, keepdim=True))[0]]  # of another name
    terms = terms_at_right(weights, tokens)

    def less(part: str) -> Alter:
        return iv.add_to_scores_of_equal(iv.at(tokens, task.right) * -terms[part][:, None])

    ways = {
        "the network": {},
        **typed_number_unnamed(weights, tokens),
        "the key of another name there": iv.put_back(key, other, task.right),
        "no block term of other names there": less("other names"),
        "no block term through 13 there": less("through the left operand's position"),
        "the road from 13 closed": road_closed(weights, tokens),
    }
    return {name: iv.answers(weights, tokens, alter) == right for name, alter in ways.items()}


def _key_at_right(study: Run, w: Weights, size: int, generator: torch.Generator) -> list[Row]:
    fits = key_at_right(w, *problems_with_number_right(study, 6 * size, generator), generator)
    p = sign_test(fits["no block term there"], fits["the key of another name there"])[2]
    rows = [("key at 14", "b + 19", name, share_true(each)) for name, each in fits.items()]
    return [*rows, ("key at 14", "b + 19", "p: no block term, or another name's key", p)]


def _needed_and_enough(w: Weights, size: int, generator: torch.Generator) -> list[Row]:
    task, rows = w.task, []
    clean = iv.full_problems(size, generator, task)
    right, changes = task.right_answers(clean), iv.changed_problems(clean, generator, task)
    for change, part, place in (("names", "k", 1), ("names", "k", 5), ("asked", "q", task.last), ("value", "v", 5)):
        site = f"blocks.1.attn.hook_{part}"
        theirs, ours = (run(w, tokens, keep=[site])[site] for tokens in (changes[change], clean))
        for way, tokens, content in (("noising", clean, theirs), ("denoising", changes[change], ours)):
            given = iv.answers(w, tokens, iv.put_back(site, content, place if part != "q" else -1))
            rows.append((f"clean answers, {way}", change, f"layer 2's {part} at {place}", share_true(given == right)))
    return rows


def _block(study: Run, w: Weights, size: int, generator: torch.Generator) -> list[Row]:
    task, laws, rows = study.task, evaluation_populations(study.split), []
    tokens = laws["1-var train"].sample(size, generator).tokens
    block, asked = variable_identity(w), story(tokens, task).asked
    next_one = (asked - task.first_variable + 1) % task.n_variables + task.first_variable
    told = story(tokens, task, asked=torch.where(asked < 0, -1, next_one)).sum
    change = iv.identity_term(w, tokens, block.roll(1, dims=1) - block)
    assigned, typed = task.assigned_numbers(tokens), iv.at(tokens, task.right)
    at_keys = {
        "everywhere": torch.ones_like(assigned),
        "at the assigned numbers": assigned,
        f"at the assigned numbers and {task.right}": assigned | typed,
        f"everywhere but at {task.right}": ~typed.expand_as(assigned),
    }
    for name, where in at_keys.items():
        given = iv.answers(w, tokens, iv.add_to_scores_of_equal(change * where))
        rows.append(("block shifted", name, "the next variable's number", share_true((given == told)[told >= 0])))

    tokens, right = laws["2-var train"].sample(4 * size, generator)
    given = iv.answers(w, tokens, iv.add_to_scores_of_equal(-iv.identity_term(w, tokens)))
    assigned = task.assigned_numbers(tokens)
    n = assigned.sum(1)
    rows += [
        ("no block, 2-var", f"{k} assigned", "right", share_true((given == right)[n == k])) for k in range(2, task.slots + 1)
    ]
    full = n == task.slots
    numbers = tokens[full][assigned[full]].view(-1, task.slots)
    one, two = torch.combinations(torch.arange(task.slots)).T
    sums = (numbers[:, one] + numbers[:, two]) % task.n_numbers
    for name, each in {"a sum of two assigned": sums, "a sum of two assigned in another problem": sums.roll(1, 0)}.items():
        rows.append(("no block, 2-var", f"{task.slots} assigned", name, share_true((each == given[full][:, None]).any(1))))
    return rows


@torch.no_grad()
def controls(study: Run, size: int = 600) -> pd.DataFrame:
    """The controls of chapter 9 on one run's last weights, shares and one p: columns experiment, row, column, value."""
    w, task, generator = study.weights(), study.task, torch.Generator().manual_seed(11)
    rows = _asked_by_kind(study, w, size) + _key_at_right(study, w, size, generator)
    rows += _needed_and_enough(w, size // 3, generator) + _block(study, w, size, generator)

    tokens = evaluation_populations(study.split)["2-var train"].sample(8 * size, generator).tokens
    numbers = story(tokens, task).numbers
    held, learn = trace(w, tokens).mlp_out[:, task.last], unordered_split(task.n_numbers)
    for name, given in {"both numbers": numbers, "shuffled": numbers[torch.randperm(len(numbers), generator=generator)]}.items():
        value = both_numbers_accuracy(held, given, learn[given[:, 0] * task.n_numbers + given[:, 1]])
        rows.append(("probe of the MLP's output", "unseen pairs", name, value))
    rows += [("variance of the MLP's output", "all pairs", name, value) for name, value in shares_of_variance(w).items()]
    rows.append(("variance of the MLP's output", "2-var problems", "the sum", _explained(held, numbers.sum(1) % task.n_numbers)))
    rows += _operands_unread(study, w, 2 * size)

    for name, (tokens, right) in evaluation_sets(study.split, size=size * 2 // 3).items():
        pool = mixed_pool(study, name, 14 * size, generator)
        stories = {"the network": {"pieces": ()}, "the story": {}, SIDE_ROAD: {"refined": (SIDE_ROAD,)}}
        if name.endswith(" train"):
            stories |= {f"without {each}": {"forget": (each,)} for each in FORGET}
        for told, kind in stories.items():
            given = scrubbed(w, tokens, pool, generator, **kind)
            rows.append(("scrubbing from all kinds", name, told, share_true(given == right)))
    return pd.DataFrame(rows, columns=["experiment", "row", "column", "value"])
