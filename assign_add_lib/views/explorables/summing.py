"""A graph of sums that fills round by round, and where a wrong value goes: predictions of looped networks, written down."""

from collections.abc import Mapping

import torch
from IPython.display import HTML
from torch import Tensor

from ...companions.reasoning.data import Graphs, write
from ...companions.reasoning.model import Network
from ...companions.reasoning.training import iterations
from .. import figures
from .element import explorable

OFF = 3  # what a planted value is off by
MORE = 1  # rounds after the depth of the graph

Told = list[list[int | None]]  # the values after 0, 1, ... rounds, by node; None where one is empty


def sum_graph(
    graph: Graphs,
    networks: Mapping[str, Network],
    wrong: bool = False,
    caption: str = "Tap the nodes that you expect to fill next, then press Next round. Which come together?",
) -> HTML:
    """One graph of sums, filled round by round by a network that passes tokens on; the reader names the nodes that come next.

    Where it begins `wrong`, it is solved, the reader makes a value wrong, and sees where the networks, by their arms, let it go.
    """
    words, solution = [f"x{name}" for name in graph.names[0].tolist()], graph.solution[0].tolist()
    operands = [[i for i in each if i >= 0] for each in graph.operands[0].tolist()]
    columns, heights = figures.graph_places(operands)
    wide, top, low = max(columns) + 1, max(heights.values()), min(heights.values())

    def place(node: int, column: int) -> list[float]:  # in percent of the picture
        return [round(100 * (column + 0.5) / wide, 2), round(100 * (top - heights[node, column] + 0.5) / (top - low + 1), 2)]

    ways = [
        [*(place(operand, column) for column in range(columns[operand], columns[node])), place(node, columns[node])]
        for node, each in enumerate(operands)
        for operand in each
    ]
    held = {
        arm: {"filled": filled(network, arm, graph), "planted": [planted(network, arm, graph, n) for n in range(len(words))]}
        for arm, network in networks.items()
    }
    data = {
        "names": words,
        "operands": operands,
        "places": [place(node, column) for node, column in enumerate(columns)],
        "ways": ways,
        "tall": top - low + 1,
        "solution": solution,
        "networks": held,
        "wrong": wrong,
    }
    sums = [
        f"{name} holds {value}" + (f", the sum of {', '.join(words[i] for i in each)}" if each else "")
        for name, value, each in zip(words, solution, operands)
    ]
    still = figures.computation_graph(words, operands, solution)
    return explorable("sum-graph", still, f"A graph of sums modulo 11, solved: {'; '.join(sums)}.", caption, data=data)


def filled(network: Network, arm: str, graph: Graphs) -> Told:
    """What a network makes of a graph that holds no value yet."""
    tokens = write(graph)
    return [[None] * len(graph.names[0]), *_told(network, arm, graph, network.embed(tokens.factors))]


def planted(network: Network, arm: str, graph: Graphs, node: int) -> Told:
    """What it makes of the solved graph with one value OFF, at its definition and wherever it is added."""
    start = graph.solution.clone()
    start[0, node] = (start[0, node] + OFF) % graph.vocabulary.modulus
    return [start[0].tolist(), *_told(network, arm, graph, network.embed(write(graph).holding(start, start)))]


@torch.no_grad()
def _told(network: Network, arm: str, graph: Graphs, latent: Tensor) -> Told:
    held = iterations(network, arm, write(graph), latent, int(graph.depth[0]) + MORE)[:, 0]
    return [[value if value < graph.vocabulary.modulus else None for value in row] for row in held.tolist()]
