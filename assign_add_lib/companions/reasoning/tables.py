"""What chapter 14 measures of what the arms do, and the list of all its tables.

A measure takes a `ReasoningSeed` and gives numbers by their entries in the columns of its table, see TABLES.
"""

from itertools import product

import pandas as pd
import torch
from torch import Tensor

from ...engine import tidy
from ...engine.manifest import shipped_file
from ...engine.tidy import Numbers, Table, for_each, labelled
from . import mechanism
from .analysis import MENTIONS, disturbed, without_mentions
from .data import FAN_IN, Graphs, graphs_of, sample_graphs, write
from .model import ARMS, LOOPED, RIGHT_STARTS, Network
from .seeds import CHUNK, FEWER, SEEDS, TIMES, ReasoningSeed, fraction, pieces
from .training import TOKENS_PASS, answers, iterations

SHIPPED = "companions/reasoning-tables/{}.csv"  # by the name of the table
LATER = (-2, -1, 0, 1, 2, 4, 8, 16)  # iterations before and after a graph's depth
PASSES = {"vectors": "continuous", "tokens": "discrete"}  # what passes on in the test, and an arm that does so
ROUNDS = 12  # iterations that are counted one by one
PERCENT = (0, 1, 5, 10, 20)  # of values made wrong at one iteration
MORE = 8  # iterations that follow
BUILT = 40  # graphs of each of these structures of 48 nodes, by what each node adds:
STRUCTURES = {
    "48 leaves": [[]] * 48,
    "45 copies of one": [[]] * 3 + [[0]] * 45,
    "45 sums of the same three": [[]] * 3 + [[0, 1, 2]] * 45,
    "24 sums of the same three": [[]] * 24 + [[0, 1, 2]] * 24,
    "24 sums, all different": [[]] * 24 + [[i, (i + 1) % 24, (i + 2) % 24] for i in range(24)],
    "a chain of copies": [[], [], *([node - 1] for node in range(2, 48))],
    "12 sums, each behind its leaves": [each for i in range(0, 48, 4) for each in ([], [], [], [i, i + 1, i + 2])],
    "12 sums, behind all leaves": [[]] * 36 + [[i, i + 1, i + 2] for i in range(0, 36, 3)],
}
ORDERED = ("12 sums, each behind its leaves", "12 sums, behind all leaves")  # of these each sum is told by its place


def accuracy(seed: ReasoningSeed) -> Numbers:
    """Shares of nodes and of whole graphs that each arm solves, by size; and of graphs that one of two arms solves alone."""
    found = {}
    for times in TIMES:
        drawn, whole = seed.graphs(times), {}
        for arm in ARMS:
            asked, network = drawn if arm in TOKENS_PASS else drawn.rows(slice(FEWER)), seed.network(arm)
            right = torch.cat([answers(network, arm, each) == each.solution for each in pieces(asked)])
            whole[arm] = right.all(1)
            found |= {(arm, times, "nodes"): fraction(right), (arm, times, "graphs"): fraction(whole[arm])}
        for arm, other in (TOKENS_PASS, TOKENS_PASS[::-1]):
            found[arm, times, "graphs alone"] = fraction(whole[arm] & ~whole[other])
    return found


def held_after(network: Network, arm: str, graphs: Graphs, n: int) -> Tensor:
    """The values (iteration, graph, node) that a looped arm holds after each of n iterations."""
    tokens = write(graphs)
    return iterations(network, arm, tokens, network.embed(tokens.factors), n)


def ended(network: Network, arm: str, graphs: Graphs) -> tuple[Tensor, Tensor]:
    """The values (graph, node) that a looped arm holds after as many iterations as each graph is deep, and one later."""
    depth, row = graphs.depth, torch.arange(len(graphs.depth))
    held = held_after(network, arm, graphs, int(depth.max()) + 1)
    return held[depth - 1, row], held[depth, row]


def errors(seed: ReasoningSeed, arm: str) -> Numbers:
    """Errors on the largest test graphs: nodes wrong, and of their own: wrong though all that they add is right.

    Of all nodes, how many are wrong, empty, and wrong of their own.  Of nodes that add so many, the share that is wrong of its
    own; how many of these hold a *number*, and say *twice* the one number that they add, or the sum of *two of three*.
    """
    graphs, network = seed.graphs(TIMES[-1]), seed.network(arm)
    adds, true, used = graphs.adds, graphs.solution, graphs.operands >= 0
    modulus, empty = graphs.vocabulary.modulus, graphs.vocabulary.empty

    def at_operands(values: Tensor) -> Tensor:  # (graph, node, FAN_IN)
        return values[:, None].expand(-1, values.shape[1], -1).gather(2, graphs.operands.clamp(min=0)) * used

    held, later = map(torch.cat, zip(*(ended(network, arm, each) for each in pieces(graphs))))
    numbers, wrong = at_operands(true), held != true
    own = wrong & ~at_operands(wrong).any(2)
    found = {
        ("all", "wrong"): wrong.sum(),
        ("all", "empty"): (held == empty).sum(),
        ("all", "wrong of their own"): own.sum(),
        ("all", "graphs right a round later"): fraction((later == true).all(1)),
    }
    found |= {(f"adding {many}", "share wrong of its own"): fraction(own[adds == many]) for many in range(FAN_IN + 1)}
    without_one = (numbers.sum(2, keepdim=True) - numbers) % modulus
    twice, two = held == 2 * numbers[..., 0] % modulus, (held[..., None] == without_one).any(2)
    for many, words, saying in ((1, "twice", twice), (3, "two of three", two)):
        number = own & (held != empty) & (adds == many)
        found |= {(f"adding {many}", "number"): number.sum(), (f"adding {many}", words): (number & saying).sum()}
    return found


def by_iteration(seed: ReasoningSeed, arm: str) -> Numbers:
    """Shares of nodes right, iterations before and after each graph's own depth, on graphs of twice the size of training."""
    network, right = seed.network(arm), []
    for graphs in pieces(seed.graphs(2, 200)):
        held = held_after(network, arm, graphs, int(graphs.depth.max()) + LATER[-1])
        times = graphs.depth + torch.tensor(LATER)[:, None]  # (later, graph)
        there = held[(times - 1).clamp(min=0), torch.arange(len(graphs.depth))]
        right.append((there == graphs.solution).double().mean(2).masked_fill(times < 1, torch.nan))
    return labelled(torch.cat(right, 1).nanmean(1), LATER)


def by_round(seed: ReasoningSeed, arm: str) -> Numbers:
    """Shares of nodes right after 1, 2, ... iterations, for graphs of twice the size of training, by their depth."""
    graphs, network = seed.graphs(2, 200), seed.network(arm)
    held = torch.cat([held_after(network, arm, each, ROUNDS) for each in pieces(graphs)], 1)
    right, deep = (held == graphs.solution).double().mean(2), graphs.depth.unique()
    shares = torch.stack([right[:, graphs.depth == depth].mean(1) for depth in deep])
    return labelled(shares, deep.tolist(), range(1, ROUNDS + 1))


def depths(seed: ReasoningSeed) -> Numbers:
    """How many of the graphs of `by_round` are so deep."""
    deep, graphs = seed.graphs(2, 200).depth.unique(return_counts=True)
    return labelled(graphs, deep.tolist())


def passing(seed: ReasoningSeed, arm: str) -> Numbers:
    """Graphs that one network solves by vectors and by tokens, and how many there are: by size and depth, where there are ten.

    Beside them, of CHUNK graphs a size: the share of nodes right 16 iterations after each graph's depth; and by the nodes' own
    depth how many there are, how many are right when due, after so many iterations, and of these at the end, after the graph's.
    """
    found, network = {}, seed.network(arm)
    for times, (passes, way) in product((1, 2), PASSES.items()):
        graphs = seed.graphs(times)
        whole = torch.cat([answers(network, way, each) == each.solution for each in pieces(graphs)]).all(1)
        for deep, many in zip(*graphs.depth.unique(return_counts=True)):
            if many >= 10:
                key, solved = (times, passes, f"depth {deep}"), whole[graphs.depth == deep].sum()
                found |= {(*key, "graphs"): many, (*key, "solved"): solved}
        found |= {(times, passes, "all", "graphs"): len(whole), (times, passes, "all", "solved"): whole.sum()}
        few, row = graphs.rows(slice(CHUNK)), torch.arange(CHUNK)
        held = held_after(network, way, few, int(few.depth.max()) + LATER[-1])
        right = held == few.solution
        found[times, passes, "all", "nodes later"] = fraction(right[few.depth + LATER[-1] - 1, row])
        due, end = right.gather(0, few.depths[None] - 1)[0], right[few.depth - 1, row]
        for deep in range(1, ROUNDS + 1):
            there = few.depths == deep
            counts = {"nodes": there, "nodes due": there & due, "nodes at the end": there & due & end}
            found |= {(times, passes, f"depth {deep}", of): hits.sum() for of, hits in counts.items()}
    return found


def right_later(held: Tensor, graphs: Graphs) -> Tensor:
    """Shares of the values (later, graph, node) that are right, (later,)."""
    return (held == graphs.solution).double().mean((1, 2))


def made_wrong(seed: ReasoningSeed, arm: str, graphs: Graphs, percent: int, at: int, more: int) -> Tensor:
    """The values (1 + more, graph, node) of an arm as some are made wrong after `at` iterations, and after each more.

    Of the `rule`, what follows by `Graphs.step`, which asks the definitions alone, from the wrong values of the corrected arm.
    """
    if arm == "rule":
        return graphs.states(more, made_wrong(seed, "corrected", graphs, percent, at, 0)[0])
    network, generator = seed.network(arm), seed.generator(4_000_000)
    return torch.cat([disturbed(network, arm, each, at, percent / 100, more, generator) for each in pieces(graphs)], 1)


def recovered(seed: ReasoningSeed, arm: str, graphs: Graphs, percents: tuple[int, ...], at: int, more: int) -> Numbers:
    """Shares of nodes right, by the percentage of values made wrong after `at` iterations, and by iterations since."""
    shares = [right_later(made_wrong(seed, arm, graphs, percent, at, more), graphs) for percent in percents]
    return labelled(torch.stack(shares), percents, range(more + 1))


def recovery(seed: ReasoningSeed, arm: str) -> Numbers:
    """Shares of nodes right after some values were made wrong in solved graphs, and each iteration later."""
    return recovered(seed, arm, seed.graphs(1), PERCENT, seed.run("discrete").config.deepest, MORE)


def recovery_of_large_graphs(seed: ReasoningSeed, arm: str) -> Numbers:
    """The same on the largest test graphs, after as many iterations as the deepest of them is deep."""
    graphs = seed.graphs(TIMES[-1], BUILT)
    return recovered(seed, arm, graphs, (0, PERCENT[-1]), int(graphs.depth.max()), 2 * MORE)


def from_the_solution(seed: ReasoningSeed) -> Numbers:
    """Shares of nodes right in these graphs as the corrected arm starts from the true values of all nodes, and later."""
    graphs, network = seed.graphs(TIMES[-1], BUILT), seed.network("corrected")
    tokens, true = write(graphs), graphs.solution
    held = iterations(network, "corrected", tokens, network.embed(tokens.holding(true, true)), 2 * MORE)
    return labelled(right_later(torch.cat([true[None], held]), graphs), range(2 * MORE + 1))


def built(seed: ReasoningSeed) -> dict[str, Graphs]:
    """Graphs of 48 nodes built in STRUCTURES, and those of small depth that are drawn."""
    generator, config = seed.generator(6_000_000), seed.run(TOKENS_PASS[0]).config
    graphs = {name: graphs_of(operands, BUILT, generator, config.vocabulary) for name, operands in STRUCTURES.items()}
    drawn = sample_graphs(CHUNK, config.names, generator, config.vocabulary, deepest=config.deepest)
    return graphs | {"drawn, of small depth": drawn}


def structures(seed: ReasoningSeed, arm: str) -> Numbers:
    """How these graphs fare after as many iterations as they are deep: tokens, and shares of graphs and nodes.

    Nodes are right, empty, right an iteration later, and right where layer 1 reads no earlier mention of a node, of the
    reading token's own, or of others alone.
    """
    found, network = {}, seed.network(arm)
    for name, graphs in built(seed).items():
        true, (held, later) = graphs.solution, ended(network, arm, graphs)
        shares = {"graphs": (held == true).all(1), "right": held == true, "empty": held == graphs.vocabulary.empty}
        shares |= {"right a round later": later == true}
        shares |= {f"right without {which} mentions": without_mentions(network, graphs, which) == true for which in MENTIONS}
        found[name, "tokens"] = write(graphs).node.shape[1]
        found |= {(name, measure): fraction(hits) for measure, hits in shares.items()}
    return found


def structure_sums(seed: ReasoningSeed, arm: str) -> Numbers:
    """Shares of the sums of two structures that are right, by the place of each among them."""
    found, network, graphs = {}, seed.network(arm), built(seed)
    for name in ORDERED:
        right = (ended(network, arm, graphs[name])[0] == graphs[name].solution).double().mean(0)
        sums = right[graphs[name].adds[0] > 0]
        found |= labelled(sums, [name], range(1, len(sums) + 1))
    return found


TABLES = {
    "accuracy": Table(("arm", "times", "measure"), accuracy),
    "errors": Table(("arm", "nodes", "measure"), for_each(TOKENS_PASS, errors)),
    "by_iteration": Table(("arm", "later"), for_each(LOOPED, by_iteration)),
    "by_round": Table(("arm", "depth", "round"), for_each(LOOPED, by_round)),
    "depths": Table(("depth",), depths),
    "passing": Table(("arm", "times", "passes", "depth", "measure"), for_each(("discrete", *RIGHT_STARTS), passing)),
    "recovery": Table(("arm", "percent", "later"), for_each((*LOOPED, "rule"), recovery)),
    "recovery_of_large_graphs": Table(("arm", "percent", "later"), for_each(("corrected", "rule"), recovery_of_large_graphs)),
    "from_the_solution": Table(("later",), from_the_solution),
    "structures": Table(("arm", "structure", "measure"), for_each(TOKENS_PASS, structures)),
    "structure_sums": Table(("arm", "structure", "sum"), for_each(TOKENS_PASS, structure_sums)),
    **mechanism.TABLES,
}


def measured(name: str) -> pd.DataFrame:
    """The rows of a table, measured on the shipped runs: its columns, `seed` and `value`."""
    return tidy.measured(TABLES[name], {seed: ReasoningSeed(seed) for seed in SEEDS})


def load_tables() -> dict[str, pd.DataFrame]:
    """The shipped tables by name, a column a seed; FileNotFoundError or ValueError where one is missing or damaged."""
    return {name: tidy.read_table(shipped_file(SHIPPED.format(name))) for name in TABLES}
