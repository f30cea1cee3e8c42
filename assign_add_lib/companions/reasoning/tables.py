"""What chapter 14 measures on the shipped runs of all seeds: tables (row, column) of one seed, and the shipped one of all.

Test graphs have one to four times as many nodes as the largest of training and are as deep as they come; all arms of a
seed get the same ones.  Of a run only the last step counts, whatever it gives: this was settled before the runs were made.
"""

from functools import cache

import pandas as pd
import torch
from torch import Tensor

from ...analysis.fourier import pair_spectrum
from ...engine.manifest import shipped_file
from .analysis import along_the_sum, disturbed, factor_gains, operand_shares
from .data import FACTORS, FAN_IN, Graphs, sample_graphs, write
from .model import ARMS, LOOPED, Network
from .training import TOKENS_PASS, ArmConfig, ArmRun, answers, iterations, load_arm

SHIPPED = "companions/reasoning.csv"
SEEDS = (0, 1, 2)
TIMES = (1, 2, 3, 4)  # the sizes of test graphs, in units of the largest in training
GRAPHS = 1000  # of each size
CHUNK = 100  # graphs in one pass
LATER = (-2, -1, 0, 1, 2, 4, 8, 16)  # iterations before and after a graph's depth
SHARES = (0.01, 0.05, 0.1, 0.2)  # of values made wrong at one iteration
MORE = 8  # iterations that follow
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
    return [Graphs(*parts, graphs.vocabulary) for parts in zip(*(each.split(CHUNK) for each in graphs[:4]))]


def solved_nodes(network: Network, arm: str, graphs: Graphs) -> Tensor:
    """Whether each node is right, (graph, node)."""
    return torch.cat([answers(network, arm, each) == each.solution for each in pieces(graphs)])


def accuracy(seed: ReasoningSeed) -> Table:
    """Shares of nodes and of whole graphs that each arm solves, by size; and where two arms differ on the same graphs."""
    table = {}
    for times in TIMES:
        graphs = seed.graphs(times)
        right = {arm: solved_nodes(seed.run(arm).network(), arm, graphs) for arm in ARMS}
        whole = {arm: each.all(1) for arm, each in right.items()}
        for arm in ARMS:
            table[arm, f"nodes, {times} times"] = right[arm].double().mean().item()
            table[arm, f"graphs, {times} times"] = whole[arm].double().mean().item()
        one, other = whole["corrected"], whole["discrete"]
        table["corrected alone", f"graphs, {times} times"] = (one & ~other).double().mean().item()
        table["discrete alone", f"graphs, {times} times"] = (other & ~one).double().mean().item()
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


def recovery(seed: ReasoningSeed) -> Table:
    """Shares of nodes right after a share of the values was made wrong in solved graphs, and 1, 2, ... iterations later."""
    table, drawn = {}, seed.graphs(1)
    solved = seed.run("discrete").config.deepest
    for arm in LOOPED:
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
    chosen = (graphs.operands[:, -1] >= 0).all(1)
    return Graphs(*(each[chosen] for each in graphs[:4]), graphs.vocabulary)


def heads(seed: ReasoningSeed) -> Table:
    """How each head's output at a definition depends on each operand, and what of each factor its OV map moves; untrained too."""
    table, graphs = {}, with_three_operands(seed.graphs(1))
    for arm in TOKENS_PASS:
        run = seed.run(arm)
        for words, network in (("", run.network()), ("untrained ", run.config.network().requires_grad_(False))):
            shares = operand_shares(network, graphs)
            for number, layer in enumerate(network.blocks[0].layers):
                gains = factor_gains(network, layer)
                for head in range(layer.heads):
                    row = f"{words}{arm}, layer {number + 1}, head {head + 1}"
                    table |= {(row, f"operand {i + 1}"): shares[number, head, i].item() for i in range(FAN_IN)}
                    table |= {(row, f"gain: {name}"): gains[head, i].item() for i, name in enumerate(FACTORS)}
    return table


def waves(seed: ReasoningSeed) -> Table:
    """How what stands at a sum x + y varies with x and y: shares of its variance, by the Fourier transform over both.

    *One operand*: waves of x alone or of y alone.  *Sum*: products of a wave of x and one of y of the same frequency.
    """
    table = {}
    for arm in TOKENS_PASS:
        run = seed.run(arm)
        for words, network in (("", run.network()), ("untrained ", run.config.network().requires_grad_(False))):
            for place, values in along_the_sum(network).items():
                energy = pair_spectrum(values)
                one = (energy[0].sum() + energy[:, 0].sum()).item()
                table[f"{words}{arm}, {place}", "one operand"] = one
                table[f"{words}{arm}, {place}", "sum"] = energy.diagonal()[1:].sum().item()
    return table


MEASURES = {"accuracy": accuracy, "iteration": by_iteration, "recovery": recovery, "heads": heads, "waves": waves}


def seeds() -> dict[str, ReasoningSeed]:
    """The shipped seeds, by name."""
    return {f"seed-{seed}": ReasoningSeed(seed) for seed in SEEDS}


def load_table() -> pd.DataFrame:
    """The shipped values (measure, row, column) by seed; FileNotFoundError or ValueError where missing or damaged."""
    return pd.read_csv(shipped_file(SHIPPED), index_col=["measure", "row", "column"])
