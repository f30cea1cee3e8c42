"""Computational graphs modulo P: their sampler, their tokens, and the values that each iteration can fill in.

A leaf carries a number, `7 = x3 [sep]`; any other node is the sum of one to three earlier ones, `x3 ADD x5 = x9 [sep]`.
Altabaa et al., arXiv 2510.14095, at a size of our own.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

FAN_IN = 3  # operands of a node at most
SLOTS = 2 * FAN_IN + 2  # tokens of an equation at most: operands, the ADDs between them, `=`, the node and [sep]
LEAVES = 0.3  # chance that a node after the second is a leaf
SYNTAX = ("number", "variable", "ADD", "=", "[sep]", "[solve]", "PAD")
NUMBER, VARIABLE, ADD, EQUALS, SEP, SOLVE, PAD = range(len(SYNTAX))
FACTORS = ("syntax", "variable", "operation", "value")  # what a token is made of


class Vocabulary(NamedTuple):
    """What decides how many tokens there are: the modulus of the sums, and the names that nodes draw from."""

    modulus: int = 11
    names: int = 48

    @property
    def empty(self) -> int:
        """The value of a variable that is not computed yet."""
        return self.modulus

    @property
    def nothing(self) -> Tensor:
        """A token of which every factor but the syntax is `nothing`, (4,)."""
        return torch.tensor([PAD, self.names, 1, self.modulus + 1])

    @property
    def counts(self) -> dict[str, int]:
        """How many values each factor takes, the last of which is `nothing`, or PAD."""
        return dict(zip(FACTORS, (self.nothing + 1).tolist()))


BOOK = Vocabulary()  # of this book's runs


class Graphs(NamedTuple):
    """A batch of graphs, their nodes in an order in which operands come first."""

    names: Tensor  # (graph, node) which name each node has
    numbers: Tensor  # (graph, node) the number of a leaf; 0 for other nodes
    operands: Tensor  # (graph, node, FAN_IN) the nodes that are added; -1 for none
    depths: Tensor  # (graph, node) iterations until the value is computed; 1 for a leaf
    vocabulary: Vocabulary

    def rows(self, chosen: Tensor | slice) -> "Graphs":
        """Those of the graphs that an index or a mask chooses."""
        return self._replace(**{name: getattr(self, name)[chosen] for name in ("names", "numbers", "operands", "depths")})

    @property
    def adds(self) -> Tensor:
        """(graph, node) how many nodes a node adds; 0 for a leaf."""
        return (self.operands >= 0).sum(2)

    @property
    def leaf(self) -> Tensor:
        """(graph, node) whether a node is a leaf."""
        return self.adds == 0

    @property
    def depth(self) -> Tensor:
        """(graph,) iterations until all values are computed."""
        return self.depths.amax(1)

    def step(self, held: Tensor) -> Tensor:
        """One iteration: the values (graph, node) that follow from those held, (graph, node), some of them empty or wrong.

        A leaf gets its number; any other node the sum of what its operands hold, whatever it holds itself, or `empty`
        where one of them is.
        """
        there, empty = self.operands >= 0, self.vocabulary.empty
        given = held[:, None].expand(-1, held.shape[1], -1).gather(2, self.operands.clamp(min=0))
        total = torch.where(there, given, 0).sum(2) % self.vocabulary.modulus
        total = torch.where((there & (given == empty)).any(2), empty, total)
        return torch.where(self.leaf, self.numbers, total)

    def states(self, iterations: int | None = None, start: Tensor | None = None) -> Tensor:
        """The values after 0, 1, ... iterations, (iterations + 1, graph, node); by default until all graphs are solved.

        They begin with none, or with those given, (graph, node).
        """
        held = [torch.full_like(self.numbers, self.vocabulary.empty) if start is None else start]
        for _ in range(int(self.depth.max()) if iterations is None else iterations):
            held.append(self.step(held[-1]))
        return torch.stack(held)

    @property
    def solution(self) -> Tensor:
        """The values of all nodes, (graph, node)."""
        return self.states()[-1]


def sample_graphs(
    n: int,
    nodes: int,
    generator: torch.Generator,
    vocabulary: Vocabulary = BOOK,
    fan_in: int = FAN_IN,
    deepest: int | None = None,
    zeros: float = 0.0,
) -> Graphs:
    """n graphs of so many nodes, no deeper than `deepest`; of the leaves, a share `zeros` carries 0 whatever was drawn.

    The first two nodes are leaves, and LEAVES of the others; these add from one to `fan_in` earlier nodes, as many as there
    are.  ValueError for more nodes than names, or fewer than two.
    """
    if not 2 <= nodes <= vocabulary.names:
        raise ValueError(f"a graph has from 2 to {vocabulary.names} nodes, a name each, not {nodes}")
    if not 1 <= fan_in <= FAN_IN:
        raise ValueError(f"a node adds from 1 to {FAN_IN} others, not {fan_in}")
    random = {"generator": generator, "device": generator.device}
    numbers = torch.randint(vocabulary.modulus, (n, nodes), **random) * (torch.rand(n, nodes, **random) >= zeros)
    names = torch.rand(n, vocabulary.names, **random).argsort(1)[:, :nodes]
    wanted = torch.randint(1, fan_in + 1, (n, nodes), **random) * (torch.rand(n, nodes, **random) >= LEAVES)
    lots = torch.rand(n, nodes, nodes, **random)  # each node draws its operands by these
    operands = torch.full((n, nodes, FAN_IN), -1, device=generator.device)
    depths = torch.ones(n, nodes, dtype=torch.long, device=generator.device)
    for node in range(2, nodes):
        lot = lots[:, node, :node].masked_fill(depths[:, :node] >= (deepest or nodes), -1)
        lot, chosen = lot.topk(min(fan_in, node), 1)
        chosen[(torch.arange(chosen.shape[1], device=lot.device) >= wanted[:, node, None]) | (lot < 0)] = -1
        operands[:, node, : chosen.shape[1]] = chosen
        depths[:, node] = 1 + torch.where(chosen < 0, 0, depths.gather(1, chosen.clamp(min=0))).amax(1)
    return Graphs(names, numbers * (operands < 0).all(2), operands, depths, vocabulary)


def graphs_of(operands: Sequence[Sequence[int]], n: int, generator: torch.Generator, vocabulary: Vocabulary = BOOK) -> Graphs:
    """n graphs in which node i adds the nodes `operands[i]`, none for a leaf; names and numbers are drawn.

    ValueError for more nodes than names, and where a node adds more than FAN_IN others, one twice, or a later one.
    """
    if not 2 <= len(operands) <= vocabulary.names:
        raise ValueError(f"a graph has from 2 to {vocabulary.names} nodes, a name each, not {len(operands)}")
    depths: list[int] = []
    for node, each in enumerate(operands):
        if len(each) > FAN_IN or len(set(each)) < len(each) or not all(0 <= operand < node for operand in each):
            raise ValueError(f"node {node} must add at most {FAN_IN} different earlier nodes, not {list(each)}")
        depths.append(1 + max((depths[operand] for operand in each), default=0))
    names = torch.rand(n, vocabulary.names, generator=generator).argsort(1)[:, : len(operands)]
    numbers = torch.randint(vocabulary.modulus, names.shape, generator=generator)
    padded = torch.tensor([[*each, *[-1] * (FAN_IN - len(each))] for each in operands]).expand(n, -1, -1)
    return Graphs(names, numbers * (padded < 0).all(2), padded, torch.tensor(depths).expand(n, -1), vocabulary)


class Tokens(NamedTuple):
    """Graphs as rows of tokens of four factors, shorter rows padded at the end.

    A variable stands where its node is defined, and wherever it is an operand.
    """

    factors: Tensor  # (graph, position, 4) in the order of FACTORS; the value of a variable is `empty`
    node: Tensor  # (graph, position) the node that a variable stands for, -1 at other tokens
    defines: Tensor  # (graph, position) whether it is defined there

    @property
    def real(self) -> Tensor:
        """(graph, position) whether a token is no padding."""
        return self.factors[..., 0] != PAD

    @property
    def definitions(self) -> Tensor:
        """(graph, node) the position at which each node is defined."""
        return self.defines.nonzero()[:, 1].view(len(self.node), -1)  # nodes stand in their order

    def holding(self, held: Tensor, read: Tensor) -> Tensor:
        """The factors (graph, position, 4) where definitions hold these values, and operands those: both (graph, node)."""
        there = self.node.clamp(min=0)
        value = torch.where(self.defines, held.gather(1, there), read.gather(1, there))
        value = torch.where(self.node < 0, self.factors[..., 3], value)
        return torch.cat([self.factors[..., :3], value[..., None]], 2)


def write(graphs: Graphs, trimmed: bool = True) -> Tokens:
    """The tokens of graphs, one equation after the other; all values but the numbers of leaves are empty.

    Rows end with the longest of them, or untrimmed where the longest of so many nodes could end.
    """
    n, nodes = graphs.names.shape
    operands, words = graphs.operands, graphs.vocabulary
    there = operands >= 0
    factors = words.nothing.to(operands.device).repeat(n, nodes, SLOTS, 1)
    node = torch.full((n, nodes, SLOTS), -1, device=operands.device)
    syntax, variable, operation, value = factors.unbind(3)
    node[..., 0:-2:2], node[..., -2] = operands, torch.arange(nodes, device=operands.device)
    syntax[..., 0:-2:2] = torch.where(there, VARIABLE, PAD)
    syntax[..., 1:-3:2] = torch.where(there[..., 1:], ADD, PAD)
    syntax[..., 0] = torch.where(graphs.leaf, NUMBER, VARIABLE)
    syntax[..., -3], syntax[..., -2], syntax[..., -1] = EQUALS, VARIABLE, SEP
    operation[syntax == ADD] = 0
    named = graphs.names.gather(1, node.flatten(1).clamp(min=0)).view_as(node)
    variable[node >= 0], value[node >= 0] = named[node >= 0], words.empty
    value[..., 0] = torch.where(graphs.leaf, graphs.numbers, value[..., 0])
    defines = torch.zeros_like(node, dtype=torch.bool)
    defines[..., -2] = True
    pad = (syntax == PAD).flatten(1).int()
    order = pad.argsort(dim=1, stable=True)[:, : int((1 - pad).sum(1).max()) if trimmed else None]
    node, defines = (each.flatten(1).gather(1, order) for each in (node, defines))
    return Tokens(factors.flatten(1, 2).gather(1, order[..., None].expand(-1, -1, 4)), node, defines)


def chain_of(graphs: Graphs, held: Tensor) -> Tensor:
    """The chain of thought that states these values (graph, node): `[solve] x3 7 x5 2 ...`, (graph, 2 nodes + 1, 4)."""
    n, nodes = held.shape
    chain = graphs.vocabulary.nothing.to(held.device).repeat(n, 2 * nodes + 1, 1)
    chain[:, 0, 0], chain[:, 1::2, 0], chain[:, 2::2, 0] = SOLVE, VARIABLE, NUMBER
    chain[:, 1::2, 1], chain[:, 2::2, 3] = graphs.names, held
    return chain


def text(factors: Tensor, vocabulary: Vocabulary = BOOK) -> list[str]:
    """The tokens of one row (position, 4), as words: `x3:7` for a variable that holds 7, `x3` where it is empty."""
    words = []
    for syntax, variable, _, value in factors.tolist():
        name = f"x{variable}" if syntax == VARIABLE else str(value) if syntax == NUMBER else SYNTAX[syntax]
        words.append(f"{name}:{value}" if syntax == VARIABLE and value < vocabulary.modulus else name)
    return words
