"""The algorithm of the book as an explicit causal model, and what holds it against the network.

The model has the variables `names`, `asked`, `places`, `numbers` and `sum`, each computed from those before it.  An interchange
intervention sets one of them to its value in another problem, in the model, and one site to its content there, in the network;
the share of problems in which the two then agree is the interchange-intervention accuracy (Geiger et al. 2021).
`scrubbed` resamples everything that the model calls irrelevant (after Chan et al. 2022).  Layers are counted from 1.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from ..engine.manifest import shipped_file
from ..model import Alter, Pass, Weights, run
from ..sampling import Assigned, evaluation_populations, evaluation_sets, training_population, write
from ..task import Split, Task
from ..training import Run
from . import interventions as iv


class Story(NamedTuple):
    """The values of the causal model's variables on problems; -1 stands for what is undefined."""

    names: Tensor  # (batch, slots) the variable, as token id, that the k-th assigned number is bound to
    asked: Tensor  # (batch, 2) the variable that each operand asks for; -1 for an operand that is a number
    places: Tensor  # (batch, 2) where the two numbers to add stand
    numbers: Tensor  # (batch, 2) these two numbers
    sum: Tensor  # (batch,) the answer


def assigned_positions(tokens: Tensor, task: Task) -> Tensor:
    """Positions (batch, slots) of the assigned numbers in their order; past the last of them, any others."""
    return (~task.assigned_numbers(tokens)).int().argsort(dim=1, stable=True)[:, : task.slots]


def story(tokens: Tensor, task: Task, **given: Tensor) -> Story:
    """Run the causal model on problems (batch, pos); a variable that is given is set to that, whatever the problem says.

    >>> from assign_add_lib import Problem
    >>> tokens = Problem.parse("c=1, b=17, b+19=?").tokens()[None]
    >>> story(tokens, Task()).sum, story(tokens, Task(), asked=torch.tensor([[64, -1]])).sum
    (tensor([36]), tensor([20]))
    """
    held, own = assigned_positions(tokens, task), torch.tensor([task.left, task.right], device=tokens.device)
    is_assigned = task.assigned_numbers(tokens).gather(1, held)
    names = given.get("names", torch.where(is_assigned, tokens.gather(1, (held - 1).clamp(min=0)), -1))
    question = tokens[:, own]
    asked = given.get("asked", torch.where(question < task.first_variable, -1, question))
    match = (names[:, None] == asked[..., None]) & (asked >= 0)[..., None]  # (batch, 2, slots)
    found = torch.where(match.any(2), held.gather(1, match.int().argmax(2)), -1)
    places = given.get("places", torch.where(asked < 0, own, found))
    read = torch.where(places < 0, task.pad, tokens.gather(1, places.clamp(min=0)))
    numbers = given.get("numbers", torch.where(read < task.n_numbers, read, -1))
    total = torch.where((numbers < 0).any(1), -1, numbers.sum(1) % task.n_numbers)
    return Story(names, asked, places, numbers, given.get("sum", total))


VARIABLES = ("names", "asked", "places", "left number", "right number", "sum")
TOLD_APART = ("names", "asked", "places", "left number", "sum")  # those by whose answers `pairs` chooses


def counterfactual(base: Tensor, source: Tensor, variable: str, task: Task) -> Tensor:
    """What the causal model answers (batch,) on `base` with one variable as it is in `source`; -1 where that is undefined."""
    there = story(source, task)
    if variable in ("left number", "right number"):
        both = torch.stack([there.numbers, story(base, task).numbers])
        taken = torch.tensor([0, 1] if variable == "left number" else [1, 0], device=base.device)
        return story(base, task, numbers=both[taken, :, torch.arange(2, device=base.device)].T).sum
    return story(base, task, **{variable: getattr(there, variable)}).sum


def pairs(split: Split, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Problems and their donors, token ids (size, length) each, on which all variables of the causal model can be told apart.

    The two have the same kind, 1-var or 2-var, and the same three or more variables assigned, and nothing else in common: order,
    layout, numbers and operands are drawn anew.  Every counterfactual answer is defined, and those of `TOLD_APART` agree neither
    with each other nor with the problem's own.  ValueError for a task too small for that.
    """
    task, found, short = split.task, [], size
    for _ in range(200):
        both = torch.stack(_drawn(split, 8 * size, generator))
        told = [task.right_answers(both[0]), *(counterfactual(*both, name, task) for name in TOLD_APART)]
        told = torch.stack(told).sort(0).values
        found.append(both[:, (told[0] >= 0) & (told[1:] > told[:-1]).all(0)][:, :short])
        short -= found[-1].shape[1]
        if not short:
            return tuple(torch.cat(found, 1))
    raise ValueError(f"a task of {task.slots} slots and {task.n_numbers} numbers has too few problems that tell all apart")


def _drawn(split: Split, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Problems with the same variables assigned and of the same kind, otherwise independent; operands stand where they may."""
    task = split.task
    V, slots, least = task.n_variables, task.slots, min(3, task.slots, task.n_variables)

    def below(high, *shape):
        return (torch.rand(size, *shape, generator=generator) * high).long()

    n = least + below(min(slots, V) - least + 1, 1)
    variables = torch.rand(size, V, generator=generator).argsort(1)[:, :slots]
    kind = below(3, 1)  # 1-var left, 1-var right, 2-var
    tokens, allowed = [], torch.ones(size, dtype=torch.bool)
    for _ in range(2):
        order = (torch.rand(size, slots, generator=generator) + (torch.arange(slots) >= n)).argsort(1)
        here, numbers = variables.gather(1, order), below(task.n_numbers, slots)
        # the operands' slots; the variables are in random order, so the first two are as good as any
        turn = (torch.rand(size, slots, generator=generator) + (torch.arange(slots) >= n)).argsort(1)
        question = []
        for side, (name, constant) in enumerate((("left", 1), ("right", 0))):
            operand = here.gather(1, turn[:, side : side + 1])
            allowed &= ((kind == constant) | torch.isin(operand, torch.tensor(split.variables(name))))[:, 0]
            question.append(torch.where(kind == constant, below(task.n_numbers, 1), task.first_variable + operand))
        tokens.append(write(task, Assigned(here, numbers, n), torch.cat(question, 1), generator))
    return tokens[0][allowed], tokens[1][allowed]


# sites: what the network holds where a variable of the model is thought to stand

Site = Callable[[Weights, Pass, Tensor, Tensor], Alter]  # weights, the pass on the source, base, source -> the alteration
QUERY, VALUE = "blocks.1.attn.hook_q", "blocks.1.attn.hook_v"


def _layer_1_at(*positions: str) -> Site:
    def site(w: Weights, there: Pass, base: Tensor, source: Tensor) -> Alter:
        where = torch.stack([iv.at(base, getattr(w.task, name)) for name in positions]).any(0)
        return iv.put(iv.output_of(1), where, there[iv.output_of(1)])

    return site


def _layer_1_at_numbers(w: Weights, there: Pass, base: Tensor, source: Tensor) -> Alter:
    """The k-th assigned number gets what the k-th one of the source got, wherever the two stand."""
    width = (-1, -1, w.d_model)
    theirs = there[iv.output_of(1)].gather(1, assigned_positions(source, w.task)[..., None].expand(width))
    ours = assigned_positions(base, w.task)[..., None].expand(width)
    content = torch.zeros_like(there[iv.output_of(1)]).scatter(1, ours, theirs)
    return iv.put(iv.output_of(1), w.task.assigned_numbers(base), content)


def _at_equal(site: str) -> Site:
    """What the site holds at the last position."""
    return lambda w, there, base, source: iv.put(site, iv.at(base, w.task.last), there[site][:, -1:])


def _value(side: int, to_unread: bool = False) -> Site:
    """The value of the left (0) or right (1) number, put at that number, or at the first assigned one that is not to be added."""

    def site(w: Weights, there: Pass, base: Tensor, source: Tensor) -> Alter:
        row, wanted = torch.arange(len(base), device=base.device), w.task.value_positions(base)
        value = there[VALUE][row, w.task.value_positions(source)[:, side]]  # (batch, head, d_head)
        unread = w.task.assigned_numbers(base).scatter(1, wanted, False).int().argmax(1)
        return iv.put(VALUE, iv.at(base, unread if to_unread else wanted[:, side]), value[:, None])

    return site


# site -> the variable that the model says it holds ("nothing": a wrong site), and the intervention
SITES: dict[str, tuple[str, Site]] = {
    "layer 1's output at the assigned numbers": ("names", _layer_1_at_numbers),
    "layer 1's output at =": ("asked", _layer_1_at("last")),
    "layer 1's output at 13, 14 and =": ("asked", _layer_1_at("left", "right", "last")),
    "layer 2's query at =": ("asked", _at_equal(QUERY)),
    "layer 2's attention pattern at =": ("places", lambda w, there, *_: iv.attend_in_layer_2(there.attention(2)[:, -1])),
    "layer 2's value at the left number": ("left number", _value(0)),
    "layer 2's value at the right number": ("right number", _value(1)),
    "layer 2's attention output at =": ("sum", _at_equal(iv.output_of(2))),
    "the MLP's output at =": ("sum", _at_equal("blocks.1.hook_mlp_out")),
    "wrong site: layer 1's output at +": ("nothing", _layer_1_at("room")),
    "wrong site: layer 1's output at 13 and 14": ("nothing", _layer_1_at("left", "right")),
    "wrong site: layer 2's value at a distractor": ("nothing", _value(0, to_unread=True)),
}


@torch.no_grad()
def interchanged(weights: Weights, base: Tensor, source: Tensor, site: str, donor: Tensor | None = None) -> Tensor:
    """The network's answers (batch,) on `base` with one site of `SITES` as it is on `source`, or on another `donor`."""
    donor = source if donor is None else donor
    there = run(weights, donor, keep=(QUERY, VALUE))
    return iv.answers(weights, base, SITES[site][1](weights, there, base, donor))


@torch.no_grad()
def interchange_table(
    weights: Weights, base: Tensor, source: Tensor, sites: Collection[str] = tuple(SITES), donor: Tensor | None = None
) -> pd.DataFrame:
    """Interchange-intervention accuracy of each site (rows) for each variable of the causal model (columns).

    An entry is the share of problems in which the network answers as the model does with this variable as in `source`; `nothing`
    is the share that keeps its own right answer.  With a `donor`, the site comes from there instead, and the table is a control.
    """
    task, rows = weights.task, {}
    told = {"nothing": task.right_answers(base), **{name: counterfactual(base, source, name, task) for name in VARIABLES}}
    for site in sites:
        given = interchanged(weights, base, source, site, donor)
        rows[site] = {name: share_true(given == expected) for name, expected in told.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["nothing", *VARIABLES])


# three ways to take a part away

PARTS = ("the identity block", "layer 1's output at the assigned numbers", "layer 1's output at =")
BY = ("zero", "mean", "resample")


@torch.no_grad()
def ablated(weights: Weights, tokens: Tensor, reference: Tensor, part: str, by: str, generator: torch.Generator) -> Alter:
    """The alteration that takes one of `PARTS` away: by `zero`, by its `mean` over reference problems, or by `resample`.

    Resampling puts in what the part holds in a random reference problem, drawn anew for each problem; at an assigned number, what
    it holds at a random assigned number.  The mean is over the same, at each position for the block.
    """
    task = weights.task
    drawn = torch.randint(len(reference), (len(tokens),), generator=generator)

    def instead(values: Tensor, of: Tensor) -> Tensor:
        return {"zero": 0 * values[of], "mean": values.mean(0, keepdim=True).expand_as(values)[of], "resample": values[of]}[by]

    if part == PARTS[0]:
        new = instead(iv.identity_term(weights, reference), drawn)
        return iv.add_to_scores_of_equal(new - iv.identity_term(weights, tokens))
    brought = run(weights, reference)[iv.output_of(1)]
    if part == PARTS[1]:
        where = task.assigned_numbers(tokens)
        vectors = brought[task.assigned_numbers(reference)]  # (n, d_model)
        return iv.put(iv.output_of(1), where, instead(vectors, torch.randint(len(vectors), where.shape, generator=generator)))
    return iv.put(iv.output_of(1), iv.at(tokens, task.last), instead(brought[:, task.last], drawn)[:, None])


KINDS_OF_ANSWER = ("right", "twice the constant", "constant + another number", "another")


def kinds_of_answer(tokens: Tensor, given: Tensor, task: Task) -> dict[str, float]:
    """Of answers (batch,) to 1-var problems, the share of each of `KINDS_OF_ANSWER`; the first that fits counts."""
    question, N = tokens[:, [task.left, task.right]], task.n_numbers
    constant = question.min(1, keepdim=True).values
    if (question >= task.first_variable).sum(1).ne(1).any():
        raise ValueError("these are not all 1-var problems")
    with_others = ((tokens + constant) % N == given[:, None]) & task.assigned_numbers(tokens)
    fits = torch.stack([given == task.right_answers(tokens), given == 2 * constant[:, 0] % N, with_others.any(1)])
    first = torch.cat([fits, torch.ones_like(fits[:1])]).int().argmax(0)
    return {name: share_true(first == place) for place, name in enumerate(KINDS_OF_ANSWER)}


def typed_number_unnamed(weights: Weights, tokens: Tensor) -> dict[str, Alter]:
    """Two ways to hide from layer 2 which variable the right operand's position has read, in problems such as b+19.

    The block's term is taken out of the score of this one position; or its key is replaced by the mean key of these problems.
    """
    task, key = weights.task, "blocks.1.attn.hook_k"
    term = torch.where(iv.at(tokens, task.right), iv.identity_term(weights, tokens), 0)
    held = run(weights, tokens, keep=[key])[key]
    return {
        "no block term there": iv.add_to_scores_of_equal(-term),
        "the mean key there": iv.put_back(key, held.mean(0, keepdim=True).expand_as(held), task.right),
    }


# the whole story at once

PIECES = ("query", "keys", "values", "rest")
FORGET = ("asked", "names", "numbers")
SIDE_ROAD, EARLY = "the typed number's key depends on what is asked", "the rest depends on the typed number"
OWN_NUMBER, HOW_MANY = "the typed number's key depends on that number", "the typed number's key depends on how many are assigned"


def _alike(mine: Tensor, theirs: Tensor, generator: torch.Generator) -> Tensor:
    """For each label (batch,) the place of a random one of `theirs` (pool,) that is the same; ValueError where there is none."""
    order = torch.randperm(len(theirs), generator=generator)
    order = order[theirs[order].argsort(stable=True)]
    theirs, mine = theirs[order].contiguous(), mine.contiguous()
    low, high = (torch.searchsorted(theirs, mine, right=right) for right in (False, True))
    if (low == high).any():
        raise ValueError("the pool holds no problem that is alike for each of these; make it larger")
    return order[low + (torch.rand(len(mine), generator=generator) * (high - low)).long()]


def _labels(tokens: Tensor, task: Task, forget: Collection[str], refined: Collection[str]) -> dict[str, Tensor]:
    """What the story says that each of `PIECES` depends on, as labels: (batch,) for query and rest, (batch, pos) otherwise."""
    asked, none = story(tokens, task).asked, torch.zeros_like(tokens)
    is_number, assigned = tokens < task.n_numbers, task.assigned_numbers(tokens)
    asks = (asked >= 0).long() if "asked" in forget else asked + 1
    query = asks[:, 0] * (task.d_vocab + 1) + asks[:, 1]
    names = none if "names" in forget else tokens.roll(1, 1)
    typed = query[:, None] * (SIDE_ROAD in refined) + task.d_vocab  # what the key of a typed number depends on
    typed = typed + 10**5 * (tokens + 1) * (OWN_NUMBER in refined) + 10**8 * assigned.sum(1, keepdim=True) * (HOW_MANY in refined)
    keys = torch.where(assigned, names, torch.where(is_number, typed, -1))
    values = torch.where(is_number, none if "numbers" in forget else tokens, -1)
    constants = torch.where(asked < 0, tokens[:, [task.left, task.right]], task.n_numbers)
    early = (constants[:, 0] * (task.n_numbers + 1) + constants[:, 1]) * (EARLY in refined)
    return {"query": query, "keys": keys, "values": values, "rest": early}


@torch.no_grad()
def scrubbed(
    weights: Weights,
    tokens: Tensor,
    pool: Tensor,
    generator: torch.Generator,
    pieces: Collection[str] = PIECES,
    forget: Collection[str] = (),
    refined: Collection[str] = (),
) -> Tensor:
    """Answers (batch,) when all that the story calls irrelevant comes from random other problems, each piece from another one.

    At `=`, layer 2's query is that of a random problem of the pool that asks for the same variables; the key at each position
    that of one with the same name there (before an assigned number), or else a number, or none, there; the value that of one with
    the same number there, or none; and the rest of the stream that of any.  A piece that is not in `pieces` stays the problem's.
    `forget` names variables of `FORGET` which are called irrelevant too, a false story; `refined` adds what the story leaves out:
    `SIDE_ROAD`, the key of a typed number also depends on the variables asked for; `OWN_NUMBER` and `HOW_MANY`, on that
    number or on how many are assigned; `EARLY`, the rest depends on the typed numbers.
    After Chan et al. (2022), causal scrubbing.
    """
    w, task = weights, weights.task
    own, stream = (run(w, task.check(each))["blocks.1.hook_resid_pre"] for each in (tokens, pool))
    ours, theirs = (_labels(each, task, forget, refined) for each in (tokens, pool))

    def at_equal(piece: str) -> Tensor:
        return stream[_alike(ours[piece], theirs[piece], generator), task.last] if piece in pieces else own[:, task.last]

    def everywhere(piece: str) -> Tensor:
        drawn = [_alike(ours[piece][:, k], theirs[piece][:, k], generator) for k in range(task.length)]
        return torch.stack([stream[rows, k] for k, rows in enumerate(drawn)], 1) if piece in pieces else own

    query, keys, values, rest = at_equal("query"), everywhere("keys"), everywhere("values"), at_equal("rest")
    early = {"q": query[:, None], "k": keys, "v": values}
    alter = {
        f"blocks.1.attn.hook_{part}": lambda held, part=part: (early[part] @ getattr(w, f"W_{part.upper()}")[1])[:, :, None]
        for part in early
    }
    alter["blocks.1.hook_resid_mid"] = lambda held: held - own[:, -1:] + rest[:, None]
    return run(w, tokens, alter).answers


# the same on many runs


def share_true(true: Tensor) -> float:
    """The share of what is true, of booleans (n,)."""
    return true.double().mean().item()


def problems_with_number_right(run: Run, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Problems such as b+19 of the training law and their answers: about half of `size`."""
    tokens, right = evaluation_populations(run.split)["1-var train"].sample(size, generator)
    left = run.task.kind_of(tokens) == 1
    return tokens[left], right[left]


def _attribution(weights: Weights, size: int) -> list[tuple[str, str, str, float]]:
    """What one gradient estimates for two changes, where each enters and at layer 2's output."""
    task, generator, rows = weights.task, torch.Generator().manual_seed(10), []
    clean = iv.full_problems(size, generator, task)
    changes = iv.changed_problems(clean, generator, task)
    for change, place in (("asked", task.left), ("constant", task.right)):
        enters, leaves = iv.attributed(weights, clean, changes[change], ["blocks.0.hook_resid_pre", iv.output_of(2)]).mean(0)
        rows.append(("attribution", change, "the embedding", enters[place].item()))
        rows.append(("attribution", change, "layer 2's output", leaves[task.last].item()))
    return rows


@torch.no_grad()
def causes(study: Run, size: int = 240) -> pd.DataFrame:
    """What chapter 9 measures on one run's last weights, as shares: columns experiment, row, column, value."""
    w, task, rows, generator = study.weights(), study.task, [], torch.Generator().manual_seed(9)

    base, source = pairs(study.split, size, generator)
    for experiment, donor in (("interchange", source), ("random donor", source.roll(1, 0))):
        found = interchange_table(w, base, source, donor=donor).stack()
        rows += [(experiment, *place, value) for place, value in found.items()]

    clean = iv.full_problems(size // 4, generator, task)
    for change, changed in iv.changed_problems(clean, generator, task).items():
        for experiment, two in (("denoising", (clean, changed)), ("noising", (changed, clean))):
            early = iv.put(iv.output_of(1), iv.at(clean, task.last), run(w, two[0])[iv.output_of(1)])
            rows.append((experiment, change, "layer 1's output at =", iv.Recovery(w, *two)(early).mean().item()))
            for paths, part, position in zip(iv.path_patched(w, *two).mean(0), ("query", "key"), (task.last, task.right)):
                rows.append((experiment, change, f"path by the {part} at {position}", paths[position].item()))
    rows += _attribution(w, 5 * size // 4)

    sets, laws = evaluation_sets(study.split, size=size), evaluation_populations(study.split)
    tokens, reference = sets["1-var train"].tokens, training_population(study.split).sample(4 * size, generator).tokens
    ways = {f"{part}, {by}": ablated(w, tokens, reference, part, by, generator) for part in PARTS for by in BY}
    ways["numbers read evenly in layer 1"] = iv.make_uniform(1, task.assigned_numbers(tokens))
    ways["= reads evenly in layer 1"] = iv.make_uniform(1, iv.at(tokens, task.last))
    for name, each in ways.items():
        rows += [("ablation", name, *kind) for kind in kinds_of_answer(tokens, iv.answers(w, tokens, each), task).items()]

    for name, (tokens, right) in sets.items():
        pool = laws[name].sample(4000, generator).tokens
        stories = {"the network": {"pieces": ()}, "the story": {}}
        if name.startswith("1-var"):
            stories |= {"with both roads": {"refined": (SIDE_ROAD, EARLY)}}
        if name == "1-var train":
            stories |= {f"only the {piece} scrubbed": {"pieces": (piece,)} for piece in PIECES}
            stories |= {road: {"refined": (road,)} for road in (SIDE_ROAD, EARLY)}
        if name.endswith(" train"):
            stories |= {f"without {variable}": {"forget": (variable,)} for variable in FORGET}
        for row, kind in stories.items():
            rows.append(("scrubbing", name, row, share_true(scrubbed(w, tokens, pool, generator, **kind) == right)))

    tokens, right = problems_with_number_right(study, 4 * size, generator)
    for name, each in {"the network": {}, **typed_number_unnamed(w, tokens)}.items():
        rows.append(("typed number unnamed", "1-var left", name, share_true(iv.answers(w, tokens, each) == right)))
    return pd.DataFrame(rows, columns=["experiment", "row", "column", "value"])


def load_causes() -> pd.DataFrame:
    """What `causes` found on the ten shipped runs: a row for each experiment, row and column, a column for each run."""
    return pd.read_csv(shipped_file("causes.csv"), index_col=["experiment", "row", "column"]).sort_index()
