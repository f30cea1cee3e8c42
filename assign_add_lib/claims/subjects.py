"""Subjects of claims: what is seen of a finished run or of a sweep, and the measures that turn it into one number.

A measure is a function of one `Subject`, or of one `Sweep`; those that take a parameter are made by a function.
"""

import math
from collections.abc import Iterable, Mapping
from functools import cached_property

import pandas as pd
import torch
from torch import Tensor

from ..analysis import causal
from ..analysis.fourier import fit_neurons, number_table
from ..analysis.history import history, load_history, variable_problems
from ..analysis.phases import arrival, shortcut_level, spike, way_up
from ..analysis.probes import probe_accuracy, unordered_split
from ..circuits import position_scores, qk_table
from ..engine.manifest import shipped_file
from ..measures import added_right, attn_l2_equal_to_values
from ..model import Weights, trace
from ..sampling import evaluation_populations, evaluation_sets, lay_out
from ..task import Split, Task
from ..training import Run


def places_of(split: Split) -> dict[str, list[str]]:
    """The places of variables, `trained` and `untrained`, by the names of their columns in the history."""
    named = {"trained": [], "untrained": []}
    for side, allowed in (("left", split.variables("left")), ("right", split.variables("right"))):
        for index, name in enumerate(split.task.variable_names):
            named["trained" if index in allowed else "untrained"].append(f"{name} {side}")
    return named


class Subject:
    """One finished run: its record, and what its last weights, or those of a `step`, do with a fixed sample of `size` pairs."""

    def __init__(self, run: Run, size: int = 500, step: int | None = None):
        self.run, self.size, self.step = run, size, step
        self.task: Task = run.task
        self.split: Split = run.split
        self.metrics: pd.DataFrame = run.metrics
        self.last: pd.Series = run.metrics.loc[run.config.steps if step is None else step]

    @cached_property
    def weights(self) -> Weights:
        """The last weights, or those of the step."""
        return self.run.weights(*() if self.step is None else (self.step,))

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
        """The 24 places of variables, as `places_of` names them."""
        return places_of(self.split)

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
    def seen(self) -> dict[str, tuple[Tensor, Tensor]]:
        """At `=`, for the sampled pairs as 0-var and as 1-var: the MLP's input, and the stream after the MLP."""
        V, laws, found = self.task.n_variables, evaluation_populations(self.split), {}
        for kind in ("0-var", "1-var"):
            g = torch.Generator().manual_seed(1)
            form = torch.multinomial(laws[f"{kind} train"].forms.flatten(), self.size, replacement=True, generator=g)
            asked = torch.stack(torch.unravel_index(form, (V + 1, V + 1)), 1)
            tokens = lay_out(self.task, asked, torch.stack(self.pairs, 1), g).tokens
            each = trace(self.weights, tokens)
            found[kind] = (each.mlp_in[:, -1], (each.mlp_in + each.mlp_out)[:, -1])
        return found

    @cached_property
    def interchanges(self) -> pd.DataFrame:
        """Interchange-intervention accuracies of the last weights, site x variable of the causal model."""
        pairs = causal.pairs(self.split, 400, torch.Generator().manual_seed(0))
        return causal.interchange_table(self.weights, *pairs)

    @cached_property
    def whole_spike(self) -> tuple[int, int] | None:
        """The last measured step before `1-var train` is a quarter of the way from the shortcut to all right, and the arrival
        at three quarters."""
        return spike(self.metrics["1-var train"], shortcut_level(self.task))

    @property
    def first_spike(self) -> int | None:
        """The first of the two steps of `whole_spike`."""
        return self.whole_spike and self.whole_spike[0]

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


def mean(found: list[float]) -> float:
    """The mean, nan of nothing."""
    return sum(found) / len(found) if found else math.nan


def at_the_end(name: str):
    """A column of the metrics at the last step."""
    return lambda run: run.last[name]


def order(first: str, then: str, levels: tuple[float, float]):
    """By how many steps one measure arrives before another, each at its own level."""
    return lambda run: run.arrival(then, levels[1]) - run.arrival(first, levels[0])


def spread_of_arrivals(levels: dict[str, float]):
    """The steps between the first and the last arrival of several measures, each at its own level."""

    def spread(run: Subject) -> float:
        steps = [run.arrival(name, level) for name, level in levels.items()]
        return max(steps) - min(steps)

    return spread


def beside_the_spike(name: str, after: bool = False):
    """A column of the metrics at the last measured step before the first spike, or at the one at which it is over."""
    return lambda run: run.metrics.loc[run.whole_spike[after], name] if run.whole_spike else math.nan


def first_rise(run: Subject) -> float:
    """How many steps the first spike lasts: from the last measured step before it to that at which it is over."""
    return run.whole_spike[1] - run.whole_spike[0] if run.whole_spike else math.inf


def adder_alone(run: Subject) -> float:
    """The steps between the bare circuit's arrival at 0.9 in the run, and in one of its seed that sees 0-var problems alone."""
    alone = pd.read_csv(shipped_file("history/alone.csv")).set_index("step")
    alone = arrival(alone.loc[alone["seed"] == run.run.config.seed, "ov2_mlp2_accuracy"], 0.9)
    return abs(run.arrival("ov2_mlp2_accuracy", 0.9) - _step(alone))


def constant_part(score: Mapping[str, float], task: Task, places: Iterable[str]) -> pd.Series:
    """Of the layer-1 attention of `=` on the two operands of a 1-var problem, the constant's part, by place of the variable.

    From scores as `history.equal_scores` gives them; the constant is a number of mean score.
    """
    left, right = score[f"position {task.left}"], score[f"position {task.right}"]
    shares = {}
    for place in places:
        name, side = place.split()
        variable, number = (left, right) if side == "left" else (right, left)
        shares[place] = 1 / (1 + math.exp(variable + score[name] - number - score["numbers"]))
    return pd.Series(shares)


def constant_parts(run: Subject, before: int = 0) -> pd.Series:
    """The `constant_part` in each trained place at the last measured step before the first spike, or `before` steps earlier."""
    score = run.history["score"].loc[: run.first_spike - before].iloc[-1]
    return constant_part(score, run.task, run.places["trained"])


def constant_before_the_spike(run: Subject) -> float:
    """The mean of `constant_parts` over all trained places before the first spike, nan without one."""
    return math.nan if run.first_spike is None else constant_parts(run).mean()


ROUTING = ("qk2_ov1_var_identity", "attn_l1_equal_to_operands", "attn_l2_equal_to_values")


def on_the_plateau(run: Subject) -> float:
    """How many of the three routing measures have a median from 0.8 to 0.99 between the two spikes, nan without a second.

    From the arrival of `1-var train` halfway to that of `1-var var-restricted`, at least 1000 steps later.
    """
    first, second = (run.arrival(f"1-var {name}", run.halfway) for name in ("train", "var-restricted"))
    if not 1000 <= second - first < math.inf:
        return math.nan
    medians = run.metrics.loc[first : second - 1, list(ROUTING)].median()
    return int(medians.between(0.8, 0.99).sum())


def reads_last_variable(run: Subject) -> float:
    """Before the jump of the last place, the share of its problems in which layer 2's `=` has one of its two largest weights on
    the number asked for.

    By the last checkpoint before the jump; nan where there is no jump, and the mean where several places come last.
    """
    problems, task, found = variable_problems(run.split), run.task, []
    for place, jump in last_jumps(run).items():
        weights = run.run.weights(max(step for step in run.run.steps if step <= jump[0]))
        index = 2 * task.variable_names.index(place[0]) + (place[2:] == "right")
        tokens = problems.tokens.unflatten(0, (2 * task.n_variables, -1))[index]
        most = trace(weights, tokens).pattern[:, 1, task.last].topk(2).indices
        asked = task.value_positions(tokens)[:, index % 2]
        found.append((most == asked[:, None]).any(1).double().mean().item())
    return mean(found)


def most_read_before(run: Subject) -> float:
    """At the last checkpoint before the first spike, the share of 0-var problems in which layer 2's `=` has its two largest
    weights on the operands; nan without a spike."""
    if run.first_spike is None:
        return math.nan
    weights = run.run.weights(max(step for step in run.run.steps if step <= run.first_spike))
    tokens = evaluation_populations(run.split)["0-var train"].sample(run.size, torch.Generator().manual_seed(1)).tokens
    return attn_l2_equal_to_values(trace(weights, tokens), tokens, run.task)


def below_shortcut(run: Subject) -> float:
    """The median of `1-var var-restricted` from step 500 until `1-var train` arrives halfway."""
    return run.metrics["1-var var-restricted"].loc[500 : run.arrival("1-var train", run.halfway)].median()


def restricted_last(run: Subject) -> float:
    """Steps from the last arrival of a trained place with an unrestricted variable to the last arrival of all."""
    restricted = {place[0] for place in run.places["untrained"]}
    free = [place for place in run.places["trained"] if place[0] not in restricted]
    return run.place_arrivals.max() - run.place_arrivals[free].max()


def one_by_one(run: Subject) -> float:
    """Steps between the first and the last arrival of the places that training never shows."""
    steps = run.place_arrivals[run.places["untrained"]]
    return steps.max() - steps.min()


def last_jumps(run: Subject) -> dict[str, tuple[int, int]]:
    """The places whose accuracy is the last to arrive at 0.9, all that tie, each with the steps before and after its jump.

    Empty where one of them has no jump.
    """
    last = run.place_arrivals.index[run.place_arrivals == run.place_arrivals.max()]
    jumps = {place: spike(run.history["accuracy"][place], 0) for place in last}
    return {} if None in jumps.values() else jumps


def scored_higher(run: Subject) -> float:
    """Before the last place's jump, the share of the other variables that layer 1's `=` scores higher than its variable.

    Others are those of no last place; nan where there is no jump or no other, and the mean where several places come last.
    """
    jumps, found = last_jumps(run), []
    for place, (before, _) in jumps.items():
        scores = run.history["score"].loc[before, list(run.task.variable_names)]
        found.append((scores.drop(list({each[0] for each in jumps})) > scores[place[0]]).mean())
    return mean(found)


def score_rises(run: Subject) -> float:
    """Over the last place's jump, by how much more the layer-1 score of `=` for its variable rises than the others' median.

    From 500 steps before the jump to 500 after it, or the measured steps next to these; the mean where several come last.
    """
    scores, found = run.history["score"][list(run.task.variable_names)], []
    for place, (before, after) in last_jumps(run).items():
        rise = scores.loc[after + 500 :].iloc[0] - scores.loc[: max(before - 500, 0)].iloc[-1]
        found.append(rise[place[0]] - rise.drop(place[0]).median())
    return mean(found)


def asked_names(run: Subject) -> float:
    """Held-out accuracy of a ridge classifier that names the variable asked for in 1-var problems.

    It reads the stream of `=` after layer 1, learns on every other problem of 2000, and is tested on the rest.
    """
    from sklearn.linear_model import RidgeClassifier

    tokens, task = evaluation_sets(run.split)["1-var train"].tokens, run.task
    acts = trace(run.weights, tokens)
    stream = (acts.resid_pre + acts.attn_out[:, 0])[:, task.last].numpy()
    asked = tokens[:, [task.left, task.right]].max(1).values.numpy()  # variables come after numbers in the vocabulary
    return float(RidgeClassifier().fit(stream[::2], asked[::2]).score(stream[1::2], asked[1::2]))


def cosines(run: Subject, site: str) -> tuple[Tensor, Tensor, Tensor]:
    """What figure 5a (`as 0-var`) or 5b (`bare sum`) compares with the MLP's input on the sampled pairs, and its control.

    5a: in 1-var problems, the same pair as a 0-var problem; control: another pair.  5b: in both kinds, the bare sum of two
    numbers that layer 2 moves; control: the right numbers shuffled.  The MLP's input first, (problems, d_model) each.
    """
    shuffled = torch.randperm(run.size, generator=torch.Generator().manual_seed(2))
    kinds = {kind: mlp_in for kind, (mlp_in, _) in run.seen.items()}
    if site == "as 0-var":
        return kinds["1-var"], kinds["0-var"], kinds["0-var"][shuffled]
    number, (x, y) = number_table(run.weights), run.pairs
    return torch.cat([*kinds.values()]), (number[x] + number[y]).repeat(2, 1), (number[x] + number[y[shuffled]]).repeat(2, 1)


def matched(site: str):
    """The mean cosine of a problem with its own pair."""
    return lambda run: torch.cosine_similarity(*cosines(run, site)[:2], dim=1).mean().item()


def cosine_gap(site: str):
    """By how much the mean cosine with the own pair exceeds that with the control."""

    def difference(run: Subject) -> float:
        ours, own, other = cosines(run, site)
        return (torch.cosine_similarity(ours, own, dim=1) - torch.cosine_similarity(ours, other, dim=1)).mean().item()

    return difference


def probe(place: int):
    """Accuracy of a linear probe for the answer before (0) or after (1) the MLP, on sampled 1-var pairs held out from it."""

    def accuracy(run: Subject) -> float:
        (x, y), N = run.pairs, run.task.n_numbers
        learn = unordered_split(N)[N * x + y]
        return probe_accuracy(run.seen["1-var"][place], (x + y) % N, learn)[1]

    return accuracy


def other_misses(run: Subject) -> float:
    """How many pairs the bare circuit gets wrong that are not held-out doubles x + x."""
    doubles = torch.eye(len(run.missed), dtype=torch.bool)
    return (run.missed & ~(doubles & run.split.held_out_pairs)).sum().item()


def equal_prefers_operands(run: Subject) -> float:
    """Layer-1 score of `=` for position 13 or 14, the lower, less the best of the other positions.  Figure 6."""
    task = run.task
    row = qk_table(run.weights)[task.equal, task.d_vocab :].clone()
    operands = row[[task.left, task.right]].min()
    row[[task.left, task.right]] = -torch.inf
    return (operands - row.max()).item()


def prefers_variables(queries: str):
    """Share of numbers, or of positions before `+`, that score every variable above every number and PAD.  Figure 6."""

    def share(run: Subject) -> float:
        task, S = run.task, qk_table(run.weights)
        rows = S[: task.n_numbers] if queries == "numbers" else S[task.d_vocab : task.d_vocab + task.room]
        others = torch.cat([rows[:, : task.n_numbers], rows[:, task.pad : task.pad + 1]], 1).max(1).values
        return (rows[:, task.first_variable : task.d_vocab].min(1).values > others).double().mean().item()

    return share


def grows_to_the_right(run: Subject) -> float:
    """Share of steps from one key position to the next that go up in P QK1 P^T, on average over the queries that see both.

    The last position before `+` holds no variable and is left out.
    """
    up = position_scores(run.weights).diff(dim=1)[:, :-1]  # (query, step)
    seen = torch.ones_like(up).tril(-1)  # the later key of a step is no later than the query
    return ((up * seen).sum(0) / seen.sum(0) > 0).double().mean().item()


def rows_alike(run: Subject) -> float:
    """The mean correlation of two rows of P QK1 P^T, each with another: 1 if no query knows its own place."""
    C = torch.corrcoef(position_scores(run.weights))
    return ((C.sum() - len(C)) / (len(C) * (len(C) - 1))).item()


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
