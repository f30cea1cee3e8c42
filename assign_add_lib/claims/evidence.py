"""Evidence: what is seen of a finished run or of a sweep, and the measures that turn it into one number.

A measure is a function of one `Evidence`, or of one `Sweep`; those that take a parameter are made by a function.
"""

import math
from functools import cached_property

import pandas as pd
import torch
from torch import Tensor

from ..analysis.fourier import fit_neurons, number_table
from ..analysis.history import history, load_history
from ..analysis.phases import arrival, shortcut_level, spike, way_up
from ..analysis.probes import probe_accuracy, unordered_split
from ..circuits import position_scores, qk_table, variable_identity
from ..measures import added_right
from ..model import Weights, trace
from ..sampling import evaluation_populations, lay_out
from ..task import Split, Task
from ..training import Run


class Evidence:
    """One finished run: its record, and what its last weights do with a fixed sample of `size` pairs of numbers."""

    def __init__(self, run: Run, size: int = 500):
        self.run, self.size = run, size
        self.task: Task = run.task
        self.split: Split = run.split
        self.metrics: pd.DataFrame = run.metrics
        self.last: pd.Series = run.metrics.loc[run.config.steps]

    @cached_property
    def weights(self) -> Weights:
        """The last weights."""
        return self.run.weights()

    @cached_property
    def history(self) -> pd.DataFrame:
        """The run's history: the shipped one, or for a run of one's own what its checkpoints give."""
        return load_history(self.run.name) if self.run.sums is not None else history(self.run)

    @cached_property
    def halfway(self) -> float:
        """The accuracy between that of a random assigned number and all right."""
        return way_up(0.5, shortcut_level(self.task))

    @cached_property
    def places(self) -> dict[str, list[str]]:
        """The 24 places of variables, `trained` and `untrained`, by the names of their columns in the history."""
        named = {"trained": [], "untrained": []}
        for side, allowed in (("left", self.split.variables("left")), ("right", self.split.variables("right"))):
            for index, name in enumerate(self.task.variable_names):
                named["trained" if index in allowed else "untrained"].append(f"{name} {side}")
        return named

    def arrival(self, name: str, level: float) -> float:
        """The arrival of a column of the metrics at a level, infinite where it never comes."""
        return _step(arrival(self.metrics[name], level))

    @cached_property
    def place_arrivals(self) -> pd.Series:
        """The arrival at 0.9 of each place's accuracy in the history, infinite where it never comes."""
        return pd.Series({name: _step(arrival(column, 0.9)) for name, column in self.history["accuracy"].items()})

    @cached_property
    def pairs(self) -> tuple[Tensor, Tensor]:
        """The sample: x and y (size,), each pair once."""
        N = self.task.n_numbers
        chosen = torch.randperm(N * N, generator=torch.Generator().manual_seed(0))[: self.size].sort().values
        return chosen // N, chosen % N

    @cached_property
    def seen(self) -> dict[str, tuple[Tensor, Tensor, Tensor]]:
        """At `=`, for the sampled pairs as 0-var and as 1-var: MLP input, stream after the MLP, layer 2's output."""
        V, laws, found = self.task.n_variables, evaluation_populations(self.split), {}
        for kind in ("0-var", "1-var"):
            g = torch.Generator().manual_seed(1)
            form = torch.multinomial(laws[f"{kind} train"].forms.flatten(), self.size, replacement=True, generator=g)
            left, right = torch.unravel_index(form, (V + 1, V + 1))
            tokens = lay_out(self.task, left, right, *self.pairs, g).tokens
            each = trace(self.weights, tokens)
            found[kind] = (each.mlp_in[:, -1], (each.mlp_in + each.mlp_out)[:, -1], each.attn_out[:, 1, -1])
        return found

    @cached_property
    def fits(self) -> Tensor:
        """The share of each neuron's variance over all pairs that its best frequency explains, (d_mlp,)."""
        h = number_table(self.weights) @ self.weights.W_in
        return fit_neurons(h[:, None] + h).share.max(0).values

    @cached_property
    def missed(self) -> Tensor:
        """The pairs (N, N) that the bare circuit gets wrong."""
        return ~added_right(self.weights)


def _step(found: int | None) -> float:
    return math.inf if found is None else float(found)


def at_the_end(name: str):
    """A column of the metrics at the last step."""
    return lambda run: run.last[name]


def order(first: str, then: str, levels: tuple[float, float]):
    """By how many steps one measure arrives before another, each at its own level."""
    return lambda run: run.arrival(then, levels[1]) - run.arrival(first, levels[0])


def spread_of_arrivals(levels: dict[str, float]):
    """The steps between the first and the last arrival of several measures, each at its own level."""

    def spread(run: Evidence) -> float:
        steps = [run.arrival(name, level) for name, level in levels.items()]
        return max(steps) - min(steps)

    return spread


def below_shortcut(run: Evidence) -> float:
    """The median of `1-var var-restricted` from step 500 until `1-var train` arrives halfway."""
    return run.metrics["1-var var-restricted"].loc[500 : run.arrival("1-var train", run.halfway)].median()


def restricted_last(run: Evidence) -> float:
    """Steps from the last arrival of a trained place with an unrestricted variable to the last arrival of all."""
    restricted = {place[0] for place in run.places["untrained"]}
    free = [place for place in run.places["trained"] if place[0] not in restricted]
    return run.place_arrivals.max() - run.place_arrivals[free].max()


def one_by_one(run: Evidence) -> float:
    """Steps between the first and the last arrival of the places that training never shows."""
    steps = run.place_arrivals[run.places["untrained"]]
    return steps.max() - steps.min()


def last_place(run: Evidence) -> str:
    """The place whose accuracy is the last to arrive at 0.9; of several, the first by name."""
    return str(run.place_arrivals.sort_index().idxmax())


def score_rises(run: Evidence) -> float:
    """Over the last place's jump, by how much more the layer-1 score of `=` for its variable rises than the others' median.

    From 500 steps before the jump to 500 after it, or the measured steps next to these.
    """
    place = last_place(run)
    jump = spike(run.history["accuracy"][place], 0)
    if jump is None:
        return math.nan
    scores = run.history["score"][list(run.task.variable_names)]
    rise = scores.loc[jump[1] + 500 :].iloc[0] - scores.loc[: max(jump[0] - 500, 0)].iloc[-1]
    return rise[place[0]] - rise.drop(place[0]).median()


def cosines(run: Evidence, site: str) -> tuple[Tensor, Tensor]:
    """What figure 5a (`MLP input`) or 5b (`layer 2`) compares in the sampled 1-var problems: (size, d_model) each.

    The MLP's input with that of the same pair as a 0-var problem; layer 2's output with the bare sum of two numbers.
    """
    if site == "MLP input":
        return run.seen["1-var"][0], run.seen["0-var"][0]
    number = number_table(run.weights)
    x, y = run.pairs
    return run.seen["1-var"][2], number[x] + number[y]


def matched(site: str):
    """The mean cosine of a problem with its own pair."""
    return lambda run: torch.cosine_similarity(*cosines(run, site), dim=1).mean().item()


def cosine_gap(site: str):
    """By how much the mean cosine with the own pair exceeds that with the next of the sample, mostly the same x."""

    def difference(run: Evidence) -> float:
        ours, theirs = cosines(run, site)
        other = torch.cosine_similarity(ours, theirs.roll(1, 0), dim=1)
        return (torch.cosine_similarity(ours, theirs, dim=1) - other).mean().item()

    return difference


def probe(place: int):
    """Accuracy of a linear probe for the answer before (0) or after (1) the MLP, on sampled 1-var pairs held out from it."""

    def accuracy(run: Evidence) -> float:
        (x, y), N = run.pairs, run.task.n_numbers
        learn = unordered_split(N)[N * x + y]
        return probe_accuracy(run.seen["1-var"][place], (x + y) % N, learn)[1]

    return accuracy


def other_misses(run: Evidence) -> float:
    """How many pairs the bare circuit gets wrong that are not held-out doubles x + x."""
    doubles = torch.eye(len(run.missed), dtype=torch.bool)
    return (run.missed & ~(doubles & run.split.held_out_pairs)).sum().item()


def equal_prefers_operands(run: Evidence) -> float:
    """Layer-1 score of `=` for position 13 or 14, the lower, less the best of the other positions.  Figure 6."""
    task = run.task
    row = qk_table(run.weights)[task.equal, task.d_vocab :].clone()
    operands = row[[task.left, task.right]].min()
    row[[task.left, task.right]] = -torch.inf
    return (operands - row.max()).item()


def prefers_variables(queries: str):
    """Share of numbers, or of positions before `+`, that score every variable above every number and PAD.  Figure 6."""

    def share(run: Evidence) -> float:
        task, S = run.task, qk_table(run.weights)
        rows = S[: task.n_numbers] if queries == "numbers" else S[task.d_vocab : task.d_vocab + task.room]
        others = torch.cat([rows[:, : task.n_numbers], rows[:, task.pad : task.pad + 1]], 1).max(1).values
        return (rows[:, task.first_variable : task.d_vocab].min(1).values > others).double().mean().item()

    return share


def grows_to_the_right(run: Evidence) -> float:
    """Share of steps from one key position to the next that go up in P QK1 P^T; the last position holds no variable."""
    return (position_scores(run.weights)[:, :-1].diff(dim=1) > 0).double().mean().item()


def rows_alike(run: Evidence) -> float:
    """The mean correlation of two rows of P QK1 P^T, each with another: 1 if no query knows its own place."""
    C = torch.corrcoef(position_scores(run.weights))
    return ((C.sum() - len(C)) / (len(C) * (len(C) - 1))).item()


def identity_rank(weights: Weights) -> int:
    """How many singular values of the identity block exceed a quarter of the largest."""
    values = torch.linalg.svdvals(variable_identity(weights))
    return int((values > values[0] / 4).sum())


class Sweep:
    """One seed's part of a sweep: the accuracy by the setting, in rising order."""

    def __init__(self, accuracy: pd.Series):
        self.accuracy = accuracy.sort_index()


def enough(level: float):
    """The least value of a sweep's setting from which on the accuracy is at least a level, infinite where none is."""

    def least(sweep: Sweep) -> float:
        good = (sweep.accuracy >= level)[::-1].cummin()
        return good.index[good].min() if good.any() else math.inf

    return least


def gain(sweep: Sweep) -> float:
    """The accuracy at the largest value of the setting less that at the smallest."""
    return sweep.accuracy.iloc[-1] - sweep.accuracy.iloc[0]
