"""What a prediction may ask of a run: each measure gives one number, from the metrics or from the last weights.

A measure takes a run and, where it looks at problems, the name of an evaluation set (see `data.evaluation_populations`).
Problems are fresh ones, always the same.  What never came is an infinite number of steps.
"""

import math
from collections.abc import Callable

import pandas as pd
import torch
from torch import Tensor

from ..analysis.phases import arrival, way_up
from ..model import Weights
from ..model import run as forward
from ..sampling import Batch
from .circles import least_at_half, off_by_half, waves_of_logarithms
from .data import Law, constants, evaluation_populations
from .parsing import Parsed, full, informed, shortcut
from .training import WorldRun, answers, share_of

Measure = Callable[[WorldRun, str], float]
MANY = 4000  # problems that a measure looks at
SEED = 5  # of these problems


def law(run: WorldRun, name: str) -> Law:
    """The law of an evaluation set of a run's world; ValueError lists the sets there are."""
    laws = evaluation_populations(run.world, run.split)
    if name not in laws:
        raise ValueError(f"{run.world.name} has no set {name!r}; there are: {', '.join(laws)}")
    return laws[name]


def problems(run: WorldRun, name: str, times: int = 1) -> Batch:
    """Fresh problems of a set, MANY or several times so many."""
    return law(run, name).sample(times * MANY, torch.Generator().manual_seed(SEED))


def right(run: WorldRun, of: str) -> float:
    """Share of the problems of a set that the last weights answer right."""
    batch = problems(run, of)
    return share_of(answers(run.weights(), batch.tokens) == batch.answers)


def right_when_full(run: WorldRun, of: str) -> float:
    """The same for those problems that assign as many variables as fit."""
    batch = full(run.world, problems(run, of, 4))
    return share_of(answers(run.weights(), batch.tokens) == batch.answers)


def arrives(run: WorldRun, of: str) -> float:
    """The first step from which the accuracy on a set stays at or above halfway from its shortcut to 1."""
    return comes(run, of, run.metrics[of])


def comes(run: WorldRun, of: str, curve: pd.Series) -> float:
    """The same of another curve of accuracy on this set, by step."""
    step = arrival(curve, way_up(0.5, base(run, of)))
    return math.inf if step is None else float(step)


def above_shortcut(run: WorldRun, of: str) -> float:
    """How far the accuracy of the last weights on a set lies on the way from its shortcut (0) to 1."""
    start = base(run, of)
    return (right(run, of) - start) / (1 - start)


def base(run: WorldRun, of: str) -> float:
    """What is right by the shortcut, or where there is nothing to look up, by chance."""
    return 1 / run.world.n_numbers if of.startswith("0") else shortcut(run.world, problems(run, of))


def without_look_up(run: WorldRun, measure: str, of: str) -> float | None:
    """What `right`, `right_when_full` or `above_shortcut` would give of the better of two solvers that look nothing up, the blind
    and the informed shortcut; None for another measure, and where there is nothing to look up.
    """
    if measure not in ("right", "right_when_full", "above_shortcut") or of.startswith("0"):
        return None
    batch = full(run.world, problems(run, of, 4)) if measure == "right_when_full" else problems(run, of)
    blind = shortcut(run.world, batch)
    best = max(blind, informed(run.world, batch, run.split))
    return (best - blind) / (1 - blind) if measure == "above_shortcut" else best


def swapped(run: WorldRun) -> tuple[float, float]:
    """What answers say if a problem asks for another assigned letter in place of its own: of how many problems both answers are
    the same, and of how many both are right.

    For two operands, one variable.  The other letter is one that training asks for there, its number makes a trained pair, and
    the right answers differ.
    """
    world, batch = run.world, problems(run, "1-var train")
    tokens, parsed = batch.tokens, Parsed(world, batch.tokens)
    left, number = parsed.asked[:, :1], parsed.head.clamp(max=world.n_numbers - 1)
    never = [torch.isin(parsed.names, world.task.first_variable + torch.tensor(each)) for each in world.never]
    typed = parsed.operands[~parsed.asked][:, None]
    trained = torch.where(left, run.split[number, typed], run.split[typed, number])
    other = parsed.number & trained & ~torch.where(left, *never) & (parsed.names != parsed.operands[parsed.asked][:, None])
    at = (other * torch.rand(other.shape, generator=torch.Generator().manual_seed(SEED))).argmax(1, keepdim=True)
    second = tokens.clone()
    second[:, world.task.room + 1 : -1] = torch.where(parsed.asked, parsed.names.gather(1, at), parsed.operands)
    truth = world.apply(torch.where(parsed.asked, number.gather(1, at), parsed.operands))
    usable = other.any(1) & (truth != batch.answers)
    one, two = (answers(run.weights(), each[usable]) for each in (tokens, second))
    return share_of(one == two), share_of((one == batch.answers[usable]) & (two == truth[usable]))


def which_stranger(run: WorldRun) -> float:
    """Of problems that assign the first two letters unseen in training, and ask for one: in how many its number is read more."""
    world, tokens = run.world, problems(run, "1-var unseen", 4).tokens
    tokens = tokens[Parsed(world, tokens).number.sum(1) > 1]
    parsed, first = Parsed(world, tokens), world.task.first_variable + world.n_variables - world.unseen
    here, asked = parsed.places[parsed.asked][:, None], parsed.operands[parsed.asked][:, None]
    others = parsed.number.scatter(1, here, False)
    there = (others * torch.rand(others.shape, generator=torch.Generator().manual_seed(SEED))).argmax(1, keepdim=True)
    read = read_last(run.weights(), tokens.scatter(1, there - 1, 2 * first + 1 - asked)).mean(1)  # renamed to the other one
    return share_of(read.gather(1, here) > read.gather(1, there))


def more_ranked_first(run: WorldRun, of: str) -> float:
    """How much larger `ranked_first` is of the first of two sets, `A, B`, than of the second."""
    return _less(ranked_first, run, of)


def later(run: WorldRun, of: str) -> float:
    """How many steps the first of two sets, `A, B`, arrives after the second; nan where one never does."""
    steps = _less(arrives, run, of)
    return steps if math.isfinite(steps) else math.nan


def _less(measure: Measure, run: WorldRun, of: str) -> float:
    one, _, other = of.partition(", ")
    return measure(run, one) - measure(run, other)


def reversed_when_full(run: WorldRun, of: str) -> float:
    """Share of full problems whose answer is that of the operands in reverse order, and not the right one."""
    world, batch = run.world, full(run.world, problems(run, of, 4))
    numbers = batch.tokens.gather(1, Parsed(world, batch.tokens).places)
    backwards = world.apply(numbers.flip(1))
    return share_of((answers(run.weights(), batch.tokens) == backwards) & (backwards != batch.answers))


def ranked_first(run: WorldRun, of: str) -> float:
    """Share of problems in which, of the assigned numbers, `=` reads in the last layer just those asked for most."""
    return share_of(_found(run, of, problems(run, of)))


def _found(run: WorldRun, of: str, batch: Batch) -> Tensor:
    """Of each problem whether `=` reads the numbers asked for most, see `ranked_first`."""
    parsed, read = Parsed(run.world, batch.tokens), read_last(run.weights(), batch.tokens).mean(1)
    read = read[:, : run.world.task.room].masked_fill(~parsed.number, -1)
    places, many = parsed.places, int(parsed.asked.sum(1)[0])
    if not many:
        raise ValueError(f"{of} asks for no variables, so none can be ranked")
    best = read.topk(many).indices.sort(1).values  # (batch, variables asked for)
    return (best == places[parsed.asked].view(-1, many).sort(1).values).all(1)


def found_but_wrong(run: WorldRun, of: str) -> float:
    """Share of problems in which `=` reads the numbers asked for most, as in `ranked_first`, and the answer is wrong."""
    return share_of(_failed(run, of, problems(run, of)))


def _failed(run: WorldRun, of: str, batch: Batch) -> Tensor:
    return _found(run, of, batch) & (answers(run.weights(), batch.tokens) != batch.answers)


def evened(run: WorldRun, of: str) -> float:
    """Of the problems that are `found_but_wrong`, the share that is right where the last layer's `=` is made to read the numbers
    to reckon with alone, all alike; nan where such problems are fewer than one in twenty.
    """
    batch, weights = problems(run, of), run.weights()
    failed = _failed(run, of, batch)
    if share_of(failed) < 0.05:
        return math.nan
    tokens = batch.tokens[failed]
    places = Parsed(run.world, tokens).places[:, None, None].expand(-1, run.world.heads, -1, -1)
    even = {last_pattern(weights): lambda read: torch.zeros_like(read).scatter(3, places, 1 / run.world.operands)}
    return share_of(forward(weights, tokens, alter=even).answers == batch.answers[failed])


def shared_out(run: WorldRun, of: str) -> float:
    """How much the heads of the last layer share out two operands by their sides: `|left - right|` of what a head reads of both
    numbers in all problems together, summed over heads, over all that they read of them.

    0 if each head reads both sides alike in the mean, 1 if each reads one side alone.
    """
    if run.world.operands != 2:
        raise ValueError(f"two operands can be divided between heads, not {run.world.operands}")
    batch = problems(run, of)
    places = Parsed(run.world, batch.tokens).places
    left, right = read_last(run.weights(), batch.tokens).gather(2, places[:, None].expand(-1, run.world.heads, -1)).unbind(2)
    return ((left - right).sum(0).abs().sum() / (left + right).sum()).item()


def last_pattern(weights: Weights) -> str:
    """The name of the site of the last layer's attention."""
    return f"blocks.{weights.n_layers - 1}.attn.hook_pattern"


def read_last(weights: Weights, tokens: Tensor) -> Tensor:
    """What `=` reads in the last layer, (batch, head, key)."""
    return torch.cat([forward(weights, part)[last_pattern(weights)][:, :, -1] for part in tokens.split(1000)])


def without_offset(run: WorldRun, of: str = "") -> float:
    """What is left of the accuracy on questions of constants if the constant part of each neuron's input is taken away.

    As a share of that accuracy; nan where this is below a half.
    """
    (numbers, tokens), weights = constants(run.world), run.weights()
    site, parts, truth = f"blocks.{weights.n_layers - 1}.mlp.hook_pre", tokens.split(1000), run.world.apply(numbers)
    offset = torch.cat([forward(weights, part)[site] for part in parts]).mean(0)
    without = torch.cat([forward(weights, part, alter={site: lambda pre: pre - offset}).answers for part in parts])
    before, after = share_of(answers(weights, tokens) == truth), share_of(without == truth)
    return after / before if before >= 0.5 else math.nan


OF_A_SET: tuple[Measure, ...] = (
    right, right_when_full, arrives, above_shortcut, reversed_when_full, ranked_first, found_but_wrong, evened, shared_out,
)  # fmt: skip
OF_TWO_SETS: tuple[Measure, ...] = (more_ranked_first, later)
OF_A_RUN: tuple[Measure, ...] = (without_offset, least_at_half, off_by_half, waves_of_logarithms)
#: All measures by name.
MEASURES = {each.__name__: each for each in (*OF_A_SET, *OF_TWO_SETS, *OF_A_RUN)}
