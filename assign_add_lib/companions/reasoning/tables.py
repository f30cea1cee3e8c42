"""What chapter 14 measures of what the arms do, and a list of all it measures: tables (row, column) of one seed."""

from itertools import product

import pandas as pd
import torch
from torch import Tensor

from ...engine.manifest import shipped_file
from . import inside
from .analysis import MENTIONS, disturbed, without_mentions
from .data import FAN_IN, Graphs, graphs_of, sample_graphs, write
from .model import ARMS, LOOPED, Network
from .seeds import CHUNK, TIMES, ReasoningSeed, Table, pieces
from .training import TOKENS_PASS, iterations

SHIPPED = "companions/reasoning.csv"
LATER = (-2, -1, 0, 1, 2, 4, 8, 16)  # iterations before and after a graph's depth
ROUNDS = 12  # iterations that are counted one by one
SHARES = (0.0, 0.01, 0.05, 0.1, 0.2)  # of values made wrong at one iteration
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


def accuracy(seed: ReasoningSeed) -> Table:
    """Shares of nodes and of whole graphs that each arm solves, by size; and where two arms differ on the same graphs."""
    table = {}
    for times in TIMES:
        right = {arm: seed.right(arm, times) for arm in ARMS}
        whole = {arm: each.all(1) for arm, each in right.items()}
        for arm in ARMS:
            table[arm, f"nodes, {times} times"] = right[arm].double().mean().item()
            table[arm, f"graphs, {times} times"] = whole[arm].double().mean().item()
        one, other = whole["corrected"], whole["discrete"]
        table["corrected alone", f"graphs, {times} times"] = (one & ~other).double().mean().item()
        table["discrete alone", f"graphs, {times} times"] = (other & ~one).double().mean().item()
    return table


def ended(network: Network, arm: str, graphs: Graphs) -> tuple[Tensor, Tensor]:
    """The values (graph, node) that a looped arm holds after as many iterations as each graph is deep, and one later."""
    tokens, depth, row = write(graphs), graphs.depth, torch.arange(len(graphs.depth))
    held = iterations(network, arm, tokens, network.embed(tokens.factors), int(depth.max()) + 1)
    return held[depth - 1, row], held[depth, row]


def errors(seed: ReasoningSeed) -> Table:
    """Errors on the largest test graphs: nodes wrong, and of their own: wrong though all that they add is right.

    By how many they add, as shares of these nodes; and over all, with the number of nodes that are wrong, and of those that are
    empty.  Of the own errors that hold a number: how many say *twice* the one number that they add, or the sum of *two* of three.
    """
    table, graphs = {}, seed.graphs(TIMES[-1])
    operands, adds, true = graphs.operands, graphs.adds, graphs.solution
    modulus, used = graphs.vocabulary.modulus, operands >= 0

    def at_operands(values):  # (graph, node, FAN_IN)
        return values[:, None].expand(-1, values.shape[1], -1).gather(2, operands.clamp(min=0))

    numbers = at_operands(true) * used
    without_one = (numbers.sum(2, keepdim=True) - numbers) % modulus
    for arm in TOKENS_PASS:
        network = seed.run(arm).network()
        held, later = map(torch.cat, zip(*(ended(network, arm, each) for each in pieces(graphs))))
        wrong, empty = held != true, held == graphs.vocabulary.empty
        own = wrong & ~(at_operands(wrong) & used).any(2)
        table |= {
            (arm, "nodes wrong"): float(wrong.sum()),
            (arm, "nodes empty"): float((wrong & empty).sum()),
            (arm, "errors of their own"): float(own.sum()),
            (arm, "graphs right a round later"): (later == true).all(1).double().mean().item(),
        }
        for many in range(FAN_IN + 1):
            table[arm, f"own, adds {many}"] = own[adds == many].double().mean().item()
        for many, words, found in (
            (1, "twice", held == 2 * numbers[..., 0] % modulus),
            (3, "two of three", (held[..., None] == without_one).any(2)),
        ):
            said = own & ~empty & (adds == many)
            table |= {(arm, f"own, adds {many}, a number"): float(said.sum()), (arm, words): float((said & found).sum())}
    return table


def by_iteration(seed: ReasoningSeed) -> Table:
    """Shares of nodes right, iterations before and after each graph's own depth, on graphs of twice the size of training."""
    table, drawn = {}, seed.graphs(2, 200)
    for arm in LOOPED:
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


def by_round(seed: ReasoningSeed) -> Table:
    """Shares of nodes right after 1, 2, ... iterations, for graphs of twice the size of training, by their depth."""
    table, graphs = {}, seed.graphs(2, 200)
    for arm in LOOPED:
        network = seed.run(arm).network()
        held = torch.cat([
            iterations(network, arm, tokens, network.embed(tokens.factors), ROUNDS)
            for tokens in map(write, pieces(graphs))
        ], 1)  # fmt: skip
        right = (held == graphs.solution).double().mean(2)
        for depth in sorted(set(graphs.depth.tolist())):
            chosen = graphs.depth == depth
            table[f"{arm}, depth {depth}", "graphs"] = float(chosen.sum())
            for done, shares in enumerate(right[:, chosen], start=1):
                table[f"{arm}, depth {depth}", f"round {done}"] = shares.mean().item()
    return table


def recovery(seed: ReasoningSeed) -> Table:
    """Shares of nodes right after a share of the values was made wrong in solved graphs, and 1, 2, ... iterations later.

    *Rule*: what `Graphs.step` makes of the same values, which asks the definitions alone.
    """
    table, drawn = {}, seed.graphs(1)
    solved = seed.run("discrete").config.deepest
    for arm, share in product(LOOPED, SHARES):
        network, generator = seed.run(arm).network(), torch.Generator().manual_seed(4_000_000 + seed.seed)
        held = torch.cat([disturbed(network, arm, each, solved, share, MORE, generator) for each in pieces(drawn)], 1)
        table |= _by_round(f"{arm}, {share:.0%} wrong", held, drawn)
        if arm == "corrected":
            table |= _by_round(f"rule, {share:.0%} wrong", _by_rule(held[0], drawn, MORE), drawn)
    return table


def recovery_of_large_graphs(seed: ReasoningSeed) -> Table:
    """The same for the corrected arm on the largest test graphs, after as many iterations as the deepest of them is deep.

    Beside it what the arm makes of the true values of all nodes.
    """
    table, drawn = {}, seed.graphs(TIMES[-1], BUILT)
    network, solved, more = seed.run("corrected").network(), int(drawn.depth.max()), 2 * MORE
    for share in (0.0, SHARES[-1]):
        generator = torch.Generator().manual_seed(4_000_000 + seed.seed)
        held = torch.cat([disturbed(network, "corrected", each, solved, share, more, generator) for each in pieces(drawn)], 1)
        table |= _by_round(f"corrected, {share:.0%} wrong", held, drawn)
        table |= _by_round(f"rule, {share:.0%} wrong", _by_rule(held[0], drawn, more), drawn)
    tokens, true = write(drawn), drawn.solution
    held = iterations(network, "corrected", tokens, network.embed(tokens.holding(true, true)), more)
    return table | _by_round("corrected, from the solution", torch.cat([true[None], held]), drawn)


def _by_rule(held: Tensor, graphs: Graphs, more: int) -> Tensor:
    """Values (graph, node) and what follows from them in so many iterations, (1 + more, graph, node)."""
    states = [held]
    for _ in range(more):
        states.append(graphs.step(states[-1]))
    return torch.stack(states)


def _by_round(row: str, held: Tensor, graphs: Graphs) -> Table:
    """Shares of the values (iteration, graph, node) that are right, a column an iteration."""
    shares = (held == graphs.solution).double().mean((1, 2)).tolist()
    return {(row, f"{later} later"): share for later, share in enumerate(shares)}


def structures(seed: ReasoningSeed) -> Table:
    """How graphs of 48 nodes built in STRUCTURES fare after as many iterations as they are deep, and those of small depth.

    Shares of nodes right, empty, right an iteration later, and right where layer 1 reads no earlier mention of a node, of the
    reading token's own, or of others alone; where there are twelve sums, also of each of them.
    """
    generator, table = torch.Generator().manual_seed(6_000_000 + seed.seed), {}
    vocabulary, deepest = seed.run(TOKENS_PASS[0]).config.vocabulary, seed.run(TOKENS_PASS[0]).config.deepest
    drawn = {name: graphs_of(operands, BUILT, generator, vocabulary) for name, operands in STRUCTURES.items()}
    drawn["drawn, of small depth"] = sample_graphs(CHUNK, vocabulary.names, generator, vocabulary, deepest=deepest)
    for arm in TOKENS_PASS:
        network = seed.run(arm).network()
        for name, graphs in drawn.items():
            row, true = f"{arm}, {name}", graphs.solution
            held, later = ended(network, arm, graphs)
            table[row, "tokens"] = float(write(graphs).node.shape[1])
            table[row, "graphs"] = (held == true).all(1).double().mean().item()
            found = {"right": held == true, "empty": held == vocabulary.empty, "right a round later": later == true}
            for which in MENTIONS:
                found[f"right without {which} mentions"] = without_mentions(network, graphs, which) == true
            if name.startswith("12 sums"):
                sums = (graphs.adds[0] > 0).nonzero().flatten().tolist()
                found |= {f"sum {place}": found["right"][:, node] for place, node in enumerate(sums, start=1)}
            table |= {(row, column): each.double().mean().item() for column, each in found.items()}
    return table


MEASURES = {
    "accuracy": accuracy,
    "errors": errors,
    "iteration": by_iteration,
    "round": by_round,
    "recovery": recovery,
    "recovery of large graphs": recovery_of_large_graphs,
    "structures": structures,
    **inside.MEASURES,
}


def load_table() -> pd.DataFrame:
    """The shipped values (measure, row, column) by seed; FileNotFoundError or ValueError where missing or damaged."""
    return pd.read_csv(shipped_file(SHIPPED), index_col=["measure", "row", "column"])
