"""The checks of chapter 14, Reasoning in a loop."""

import random

import torch

from ..companions.reasoning.data import Graphs, Vocabulary, graphs_of, sample_graphs
from ..companions.reasoning.training import answers, load_arm
from .common import Wrong, as_number, as_truths, expect, foretold

NODES, DEEPEST, SOLVED = 48, 4, 0.1  # of the graphs asked for in exercise 14.3, and the share of them that may be solved


def _drawn(n: int, nodes: int, vocabulary: Vocabulary | None = None) -> Graphs:
    rng = torch.Generator().manual_seed(random.randrange(10**6))
    return sample_graphs(n, nodes, rng, vocabulary or Vocabulary())


def _operands(graphs: Graphs) -> list[list[list[int]]]:
    """What each node of each graph adds; nothing for a leaf."""
    return [[[operand for operand in node if operand >= 0] for node in graph] for graph in graphs.operands.tolist()]


def _reached(operands: list[list[int]], node: int) -> list[set[int]]:
    """The nodes that a change at `node` reaches along 0, 1, 2, ... arrows exactly, until there are none."""
    reached = [{node}]
    while reached[-1]:
        reached.append({user for user, each in enumerate(operands) if reached[-1] & set(each)})
    return reached[:-1]


@foretold("the number of rounds for a node that no other adds", lambda answer: answer([[]], 0))
def mended_after(answer) -> None:
    """Exercise 14.1: `answer(operands, node)` is after how many rounds a wrong value at the node has left no trace for sure."""
    cases, said, true, shortest = [], [], [], []
    for _ in range(30):
        (operands,) = _operands(_drawn(1, random.randint(6, 14)))
        node = random.randrange(len(operands))
        cases.append(f"operands {operands} and node {node}")
        said.append(as_number(answer([list(each) for each in operands], node)))
        reached, ends = _reached(operands, node), set(range(len(operands))) - set(sum(operands, []))
        true.append(len(reached))
        shortest.append(next(steps for steps, nodes in enumerate(reached, 1) if nodes & ends))
    arrows = [rounds - 1 for rounds in true]
    expect(said != arrows, "you count the arrows to the last node that is reached; that node is put right one round after")
    expect(said != shortest, "you follow the shortest way to a node that no other adds; the error lasts on the longest")
    for case, given, rounds in zip(cases, said, true):
        expect(given == rounds, f"for {case} you say {given:g}; write down which nodes are wrong after each round")


@foretold("the least share of wrong nodes that are errors of their own", 0.69)
def own_errors(answer) -> None:
    """Exercise 14.2: `answer(graphs, held)` says of each node whether it is wrong although all that it adds is right."""
    graphs = _drawn(20, 12)
    rng = torch.Generator().manual_seed(random.randrange(10**6))
    solution, operands = graphs.solution, _operands(graphs)
    other, hit = torch.randint(12, solution.shape, generator=rng), torch.rand(solution.shape, generator=rng) < 0.3
    held = torch.where(hit, other, solution)
    given = as_truths(answer(graphs, held), solution.shape, "what you return")
    wrong = held != solution
    true = wrong & torch.tensor([[not row[node].any() for node in graph] for row, graph in zip(wrong, operands)])
    expect(not torch.equal(given, wrong), "these are all errors; leave out those of nodes that add a wrong value")
    leaf = torch.tensor([[not node for node in graph] for graph in operands])
    expect(torch.equal(given[leaf], true[leaf]), "a leaf adds nothing; where it is wrong, the error is its own")
    expect(torch.equal(given, true), f"{(given != true).sum()} of {true.numel()} nodes are judged otherwise than by hand")


def hard(answer) -> str:
    """Exercise 14.3: `answer()` are the operands of 48 nodes, no deeper than 4, of graphs that the discrete arm fails.

    The numbers in the graphs are always the same, so that equal operands get equal verdicts.
    """
    operands = answer()
    expect(len(operands) == NODES, f"there are {len(operands)} nodes; there should be {NODES}")
    operands = [[int(each) for each in node] for node in operands]
    try:
        graphs = graphs_of(operands, 10, torch.Generator().manual_seed(14))
    except ValueError as error:
        raise Wrong(str(error)) from None
    deep = graphs.depth.max()
    expect(deep <= DEEPEST, f"the graph is {deep} deep; training has seen {DEEPEST}, so let that be the most")
    held = answers(load_arm("discrete-0").network(), "discrete", graphs)
    right, empty = held == graphs.solution, (held == graphs.vocabulary.empty).double().mean()
    solved, nodes = right.all(1).double().mean(), right.double().mean()
    said = f"{solved:.2f} of these graphs are solved; of their nodes {nodes:.2f} are right and {empty:.2f} still empty"
    expect(solved <= SOLVED, f"{said}; {SOLVED} or less of the graphs is asked")
    return said
