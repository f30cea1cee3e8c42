"""What chapter 14 measures on the shipped runs of all seeds: tables (row, column) of one seed, and the shipped one of all.

Test graphs have one to four times as many nodes as the largest of training and are as deep as they come; all arms of a
seed get the same ones.  Of a run only the last step counts, whatever it gives: this was settled before the runs were made.
"""

from collections.abc import Iterator
from functools import cache
from itertools import combinations

import pandas as pd
import torch
from torch import Tensor

from ...analysis.fourier import pair_spectrum
from ...engine.manifest import shipped_file
from .analysis import (
    along_the_sum,
    before_the_last,
    best_frequencies,
    disturbed,
    factor_gains,
    operand_shares,
    readings,
    renumbered,
    silenced,
    sums_without,
    with_readings,
    without_mentions,
)
from .data import FACTORS, FAN_IN, Graphs, graphs_of, sample_graphs, write
from .model import ARMS, LOOPED, Network
from .training import TOKENS_PASS, ArmConfig, ArmRun, answers, iterations, load_arm

SHIPPED = "companions/reasoning.csv"
SEEDS = (0,)  # shipped so far
MEASURED = tuple(arm for arm in ARMS if arm != "recurrent")  # shipped so far
TIMES = (1, 2, 3, 4)  # the sizes of test graphs, in units of the largest in training
GRAPHS = 1000  # of each size, for the two arms that are compared graph by graph
FEWER = 300  # of these, for the others
CHUNK = 100  # graphs in one pass
LATER = (-2, -1, 0, 1, 2, 4, 8, 16)  # iterations before and after a graph's depth
SHARES = (0.01, 0.05, 0.1, 0.2)  # of values made wrong at one iteration
ORDERS = 20  # random orders of the numbers, as a null
MORE = 8  # iterations that follow
GROUPS = [group for size in range(FAN_IN + 1) for group in combinations(range(FAN_IN), size)]  # of operands
BUILT = 40  # graphs of each of these structures of 48 nodes, by what each node adds:
STRUCTURES = {
    "48 leaves": [[]] * 48,
    "45 copies of one": [[]] * 3 + [[0]] * 45,
    "45 sums of the same three": [[]] * 3 + [[0, 1, 2]] * 45,
    "24 sums of the same three": [[]] * 24 + [[0, 1, 2]] * 24,
    "24 sums, all different": [[]] * 24 + [[i, (i + 1) % 24, (i + 2) % 24] for i in range(24)],
    "a chain of copies": [[], [], *([node - 1] for node in range(2, 48))],
}
Table = dict[tuple[str, str], float]


class ReasoningSeed:
    """The runs of one seed, and what they are tested on."""

    def __init__(self, seed: int, load=load_arm):
        self.seed, self.load = seed, cache(load)

    def run(self, arm: str) -> ArmRun:
        """The run of an arm."""
        return self.load(ArmConfig(arm=arm, seed=self.seed).name)

    def graphs(self, times: int, n: int = GRAPHS) -> Graphs:
        """n test graphs of so many times the most nodes in training, of any depth; once, of no more depth than in training."""
        config, generator = self.run("discrete").config, torch.Generator().manual_seed(3_000_000 + 10 * self.seed + times)
        deepest = config.deepest if times == 1 else None
        return sample_graphs(n, times * config.nodes, generator, config.vocabulary, config.fan_in, deepest)


def pieces(graphs: Graphs) -> list[Graphs]:
    """The same graphs in pieces of at most CHUNK."""
    return [graphs.rows(slice(start, start + CHUNK)) for start in range(0, len(graphs.names), CHUNK)]


def solved_nodes(network: Network, arm: str, graphs: Graphs) -> Tensor:
    """Whether each node is right, (graph, node)."""
    return torch.cat([answers(network, arm, each) == each.solution for each in pieces(graphs)])


def accuracy(seed: ReasoningSeed) -> Table:
    """Shares of nodes and of whole graphs that each arm solves, by size; and where two arms differ on the same graphs."""
    table = {}
    for times in TIMES:
        graphs = seed.graphs(times)
        drawn = {arm: graphs if arm in TOKENS_PASS else graphs.rows(slice(FEWER)) for arm in MEASURED}
        right = {arm: solved_nodes(seed.run(arm).network(), arm, drawn[arm]) for arm in MEASURED}
        whole = {arm: each.all(1) for arm, each in right.items()}
        for arm in MEASURED:
            table[arm, f"nodes, {times} times"] = right[arm].double().mean().item()
            table[arm, f"graphs, {times} times"] = whole[arm].double().mean().item()
        one, other = whole["corrected"], whole["discrete"]
        table["corrected alone", f"graphs, {times} times"] = (one & ~other).double().mean().item()
        table["discrete alone", f"graphs, {times} times"] = (other & ~one).double().mean().item()
    return table


def by_iteration(seed: ReasoningSeed) -> Table:
    """Shares of nodes right, iterations before and after each graph's own depth, on graphs of twice the size of training."""
    table, drawn = {}, seed.graphs(2, 200)
    for arm in filter(LOOPED.__contains__, MEASURED):
        network, right = seed.run(arm).network(), []
        for graphs in pieces(drawn):
            tokens = write(graphs)
            held = iterations(network, arm, tokens, network.embed(tokens.factors), int(graphs.depth.max()) + LATER[-1])
            times = graphs.depth + torch.tensor(LATER)[:, None]  # (later, graph)
            there = held[(times - 1).clamp(min=0), torch.arange(len(graphs.depth))]
            right.append((there == graphs.solution).double().mean(2).masked_fill(times < 1, torch.nan))
        for later, shares in zip(LATER, torch.cat(right, 1)):
            table[arm, f"{later:+d} iterations"] = shares.nanmean().item()
    return table


def recovery(seed: ReasoningSeed) -> Table:
    """Shares of nodes right after a share of the values was made wrong in solved graphs, and 1, 2, ... iterations later."""
    table, drawn = {}, seed.graphs(1)
    solved = seed.run("discrete").config.deepest
    for arm in filter(LOOPED.__contains__, MEASURED):
        network = seed.run(arm).network()
        for share in SHARES:
            generator = torch.Generator().manual_seed(4_000_000 + seed.seed)
            right = [
                (disturbed(network, arm, each, solved, share, MORE, generator) == each.solution).double().mean(2)
                for each in pieces(drawn)
            ]
            for later, value in enumerate(torch.cat(right, 1).mean(1).tolist()):
                table[f"{arm}, {share:.0%} wrong", f"{later} later"] = value
    return table


def with_three_operands(graphs: Graphs) -> Graphs:
    """Those of the graphs whose last node adds three others."""
    return graphs.rows(graphs.adds[:, -1] == FAN_IN)


def networks(seed: ReasoningSeed) -> Iterator[tuple[str, Network]]:
    """The networks that pass tokens on, trained and untrained, and the words by which tables call them."""
    for arm in TOKENS_PASS:
        run = seed.run(arm)
        yield arm, run.network()
        yield f"untrained {arm}", run.config.network().requires_grad_(False)


def heads(seed: ReasoningSeed) -> Table:
    """How each head's output at a definition depends on each operand, and what of each factor its OV map moves; untrained too."""
    table, graphs = {}, with_three_operands(seed.graphs(1))
    for name, network in networks(seed):
        shares = operand_shares(network, graphs)
        for number, layer in enumerate(network.blocks[0].layers):
            gains = factor_gains(network, layer)
            for head in range(layer.heads):
                row = f"{name}, layer {number + 1}, head {head + 1}"
                table |= {(row, f"operand {i + 1}"): shares[number, head, i].item() for i in range(FAN_IN)}
                table |= {(row, f"gain: {factor}"): gains[head, i].item() for i, factor in enumerate(FACTORS)}
    return table


def name_of(group: tuple[int, ...]) -> str:
    """What a group of operands is called: `none`, `operand 1`, `operands 1 and 3`, `all`."""
    if len(group) in (0, FAN_IN):
        return "all" if group else "none"
    return ("operand " if len(group) == 1 else "operands ") + " and ".join(str(each + 1) for each in group)


def sums_of_groups(graphs: Graphs, others: Graphs) -> Tensor:
    """The sums (graph, group) of the last nodes' operands, where those of a group hold what they hold in the other graphs."""
    own, its = (each.solution.gather(1, graphs.operands[:, -1]) for each in (graphs, others))
    moved = torch.tensor([[i in group for i in range(FAN_IN)] for group in GROUPS])
    return torch.where(moved, its[:, None], own[:, None]).sum(2) % graphs.vocabulary.modulus


def told_apart(graphs: Graphs, generator: torch.Generator) -> tuple[Graphs, Graphs]:
    """Those of the graphs, and others with other numbers, in which every group of moved operands gives another sum."""
    others = renumbered(graphs, generator)
    ordered = sums_of_groups(graphs, others).sort(1).values
    chosen = (ordered.diff(dim=1) > 0).all(1)
    return graphs.rows(chosen), others.rows(chosen)


def two_runs(seed: ReasoningSeed) -> tuple[Graphs, Graphs]:
    """Graphs of the training size whose last node adds three others, and the same with other numbers, told apart."""
    generator = torch.Generator().manual_seed(5_000_000 + seed.seed)
    return told_apart(with_three_operands(seed.graphs(1, 8 * GRAPHS)), generator)


def exchanges(seed: ReasoningSeed) -> Table:
    """Whose operands the last node's sum follows as heads read what they read in a run with other numbers, in shares of graphs.

    Heads of layer 1 at an operand, which is fresh where it was computed one iteration ago, or at the sum; of layer 2 at the sum.
    *Of another graph*: layer 1 at the sum reads what it reads there in the next graph, names and all.
    """
    graphs, others = two_runs(seed)
    _, here, places = before_the_last(graphs)
    sums, ages = sums_of_groups(graphs, others), graphs.depths[:, -1:] - graphs.depths.gather(1, graphs.operands[:, -1])
    table, every = {("graphs", "number"): float(len(here))}, torch.ones(len(here), dtype=torch.bool)
    for name, network in networks(seed):
        n = network.blocks[0].layers[0].heads
        cases = [
            (f"layer 1, at operand {i + 1}, {age}", 0, range(n), places[:, i], chosen)
            for i in range(FAN_IN)
            for age, chosen in (("fresh", ages[:, i] == 1), ("older", ages[:, i] > 1))
        ]
        cases += [("layer 1, at the sum", 0, range(n), here, every)]
        for size in range(n + 1):
            for group in combinations(range(n), size):
                called = " and ".join(str(head + 1) for head in group) or "none"
                cases.append((f"layer 2, at the sum, heads {called}", 1, group, here, every))
        for words, layer, group, at, chosen in cases:
            given = readings(network, others, layer, at)
            followed = with_readings(network, graphs, layer, list(group), at, given)[chosen, None] == sums[chosen]
            shares = followed.double().mean(0).tolist()
            table |= {(f"{name}, {words}", name_of(each)): share for each, share in zip(GROUPS, shares)}
        given = readings(network, graphs, 0, here).roll(1, 0)
        kept = with_readings(network, graphs, 0, range(n), here, given) == sums[:, 0]
        table[f"{name}, layer 1, at the sum, of another graph", "none"] = kept.double().mean().item()
    return table


@torch.no_grad()
def sources(seed: ReasoningSeed) -> Table:
    """Where the values of older operands come from: whose sum a last node gets as their two tokens hold two different numbers.

    An older operand, computed two rounds ago or more, stands with its value at its definition and in the last equation.
    *Definition*, *operand*: shares of graphs whose sum takes all older operands from there, and the fresh ones, which stand
    at definitions alone, from these.
    """
    graphs, others = two_runs(seed)
    older = graphs.depths[:, -1:] - graphs.depths.gather(1, graphs.operands[:, -1]) > 1
    (factors, here, _), row = before_the_last(graphs, others), torch.arange(len(older))
    own, its = (each.solution.gather(1, graphs.operands[:, -1]) for each in (graphs, others))
    moved, chosen = torch.where(older, its, own).sum(1) % graphs.vocabulary.modulus, older.any(1)
    table = {("graphs", "number"): float(chosen.sum())}
    for name, network in networks(seed):
        found = network.value(network(network.embed(factors)))[row, here].argmax(1)
        table[name, "definition"] = (found == graphs.solution[:, -1])[chosen].double().mean().item()
        table[name, "operand"] = (found == moved)[chosen].double().mean().item()
    return table


def silences(seed: ReasoningSeed) -> Table:
    """Shares of last nodes right after the iteration that computes them, by how many they add, with heads at their mean."""
    drawn, table = seed.graphs(1, 2 * GRAPHS), {}
    adds = drawn.adds[:, -1]
    for name, network in networks(seed):
        cases = {"none": (0, [])}
        for number, layer in enumerate(network.blocks[0].layers):
            cases |= {f"layer {number + 1}, head {head + 1}": (number, [head]) for head in range(layer.heads)}
        for words, (layer, group) in cases.items():
            right = torch.cat([silenced(network, each, layer, group) == each.solution[:, -1] for each in pieces(drawn)])
            for many in range(1, FAN_IN + 1):
                table[f"{name}, {words}", f"adds {many}"] = right[adds == many].double().mean().item()
    return table


def counts(seed: ReasoningSeed) -> Table:
    """Shares of last nodes right, by how many they add, as a head of layer 2 reads there its mean over nodes that add so many."""
    drawn, table = seed.graphs(1, 2 * GRAPHS), {}
    numbers = range(1, FAN_IN + 1)
    groups = {many: drawn.rows(drawn.adds[:, -1] == many) for many in numbers}
    here = {many: before_the_last(graphs)[1] for many, graphs in groups.items()}
    for name, network in networks(seed):
        means = {many: readings(network, groups[many], 1, here[many]).mean(0, keepdim=True) for many in numbers}
        for head in range(network.blocks[0].layers[1].heads):
            for many in numbers:
                graphs = groups[many]
                for other in numbers:
                    found = with_readings(network, graphs, 1, [head], here[many], means[other])
                    share = (found == graphs.solution[:, -1]).double().mean().item()
                    table[f"{name}, head {head + 1}, as if it added {other}", f"adds {many}"] = share
    return table


def waves(seed: ReasoningSeed) -> Table:
    """How what stands at a sum x + y varies with x and y: shares of its variance, by the Fourier transform over both.

    *One operand*: all that depends on x alone or on y alone.  *Sum*: all that depends on x + y alone; of the logits also
    frequency by frequency.  *Best frequency*: as it varies with x, the share at the best frequency of a direction, the
    median over directions; the same with the numbers in random orders.  *Right*: sums, without a frequency in the neurons.
    """
    table, P = {}, seed.run(TOKENS_PASS[0]).config.modulus
    orders = [torch.randperm(P, generator=torch.Generator().manual_seed(i)) for i in range(ORDERS)]
    for name, network in networks(seed):
        for place, values in along_the_sum(network).items():
            energy, along = pair_spectrum(values), values.mean(1)
            row = f"{name}, {place}"
            table[row, "one operand"] = (energy[0].sum() + energy[:, 0].sum()).item()
            table[row, "sum"] = energy.diagonal()[1:].sum().item()
            table[row, "best frequency"] = best_frequencies(along).median().item()
            relabelled = [best_frequencies(along[order]).median() for order in orders]
            table[row, "best frequency, relabelled"] = torch.stack(relabelled).mean().item()
        for k in range(1, P // 2 + 1):
            table[f"{name}, logits", f"sum at {k}"] = energy[k, k].item()
            right = sums_without(network, [k]) == torch.arange(P)[:, None].add(torch.arange(P)) % P
            table[f"{name}, neurons without {k}", "right"] = right.double().mean().item()
    return table


def structures(seed: ReasoningSeed) -> Table:
    """How graphs of 48 nodes built in STRUCTURES fare after as many iterations as they are deep, and those of small depth.

    Shares of nodes right, empty, right an iteration later, and right where layer 1 reads no earlier mention of a node.
    """
    generator, table = torch.Generator().manual_seed(6_000_000 + seed.seed), {}
    vocabulary, deepest = seed.run(TOKENS_PASS[0]).config.vocabulary, seed.run(TOKENS_PASS[0]).config.deepest
    drawn = {name: graphs_of(operands, BUILT, generator, vocabulary) for name, operands in STRUCTURES.items()}
    drawn["drawn, of small depth"] = sample_graphs(CHUNK, vocabulary.names, generator, vocabulary, deepest=deepest)
    for arm in TOKENS_PASS:
        network = seed.run(arm).network()
        for name, graphs in drawn.items():
            tokens, depth, true = write(graphs), graphs.depth, graphs.solution
            held = iterations(network, arm, tokens, network.embed(tokens.factors), int(depth.max()) + 1)
            row, every = f"{arm}, {name}", torch.arange(len(depth))
            ended, later = held[depth - 1, every], held[depth, every]
            table[row, "tokens"] = float(tokens.node.shape[1])
            table[row, "graphs"] = (ended == true).all(1).double().mean().item()
            found = {"right": ended == true, "empty": ended == vocabulary.empty, "right a round later": later == true}
            found["right without mentions"] = without_mentions(network, graphs) == true
            table |= {(row, column): each.double().mean().item() for column, each in found.items()}
    return table


MEASURES = {
    "accuracy": accuracy,
    "iteration": by_iteration,
    "recovery": recovery,
    "heads": heads,
    "exchanges": exchanges,
    "sources": sources,
    "silences": silences,
    "counts": counts,
    "waves": waves,
    "structures": structures,
}


def seeds() -> dict[str, ReasoningSeed]:
    """The shipped seeds, by name."""
    return {f"seed-{seed}": ReasoningSeed(seed) for seed in SEEDS}


def load_table() -> pd.DataFrame:
    """The shipped values (measure, row, column) by seed; FileNotFoundError or ValueError where missing or damaged."""
    return pd.read_csv(shipped_file(SHIPPED), index_col=["measure", "row", "column"])
