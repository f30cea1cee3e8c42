"""Reasoning in a loop: graphs, tokens and targets, against a plain evaluator and what can be worked out without them."""

import pytest
import torch
from loops import rng
from scipy.stats import chisquare

from assign_add_lib.companions.reasoning import data
from assign_add_lib.companions.reasoning.data import Vocabulary, chain_of, graphs_of, sample_graphs, write

SMALL = Vocabulary(modulus=7, names=9)


def plain(graphs):
    """Each graph as lists: name, number or None, operands."""
    return [
        [
            (name, number if all(each < 0 for each in operands) else None, [each for each in operands if each >= 0])
            for name, number, operands in zip(names, numbers, sets)
        ]
        for names, numbers, sets in zip(graphs.names.tolist(), graphs.numbers.tolist(), graphs.operands.tolist())
    ]


def value_of(graph, node, modulus, held=None):
    """The value of a node, by recursion; with `held`, by one step from what the operands hold."""
    _, number, operands = graph[node]
    if number is not None:
        return number
    given = [value_of(graph, each, modulus) if held is None else held[each] for each in operands]
    return modulus if modulus in given else sum(given) % modulus


def depth_of(graph, node):
    return 1 + max((depth_of(graph, each) for each in graph[node][2]), default=0)


@pytest.mark.parametrize("nodes, fan_in, deepest", [(2, 3, None), (9, 3, None), (9, 2, 3), (9, 1, 2), (6, 3, 1)])
def test_sampled_graphs_obey_every_rule(nodes, fan_in, deepest):
    graphs = sample_graphs(2000, nodes, rng(nodes), SMALL, fan_in, deepest)
    for names, numbers, operands, depths in zip(*(each.tolist() for each in graphs[:4])):
        assert len(set(names)) == nodes and set(names) <= set(range(9))
        for node, (number, added, depth) in enumerate(zip(numbers, operands, depths)):
            there = [each for each in added if each >= 0]
            assert there == added[: len(there)] and len(set(there)) == len(there) <= fan_in
            assert all(each < node for each in there) and (node > 1 or not there)
            assert 0 <= number < 7 and (not there or number == 0)
            assert depth == 1 + max((depths[each] for each in there), default=0) <= (deepest or nodes)


def test_draws_are_fair():
    """Numbers and names evenly, LEAVES of the free nodes, fan-ins evenly where there are operands enough, operands too."""
    graphs = sample_graphs(30_000, 5, rng(1), SMALL)
    assert chisquare(graphs.numbers[:, 0].bincount()).pvalue > 1e-3
    assert chisquare(graphs.names.flatten().bincount()).pvalue > 1e-3
    kinds = (graphs.operands[:, 4] >= 0).sum(1).bincount()
    assert chisquare(kinds, [30_000 * share for share in (data.LEAVES, *[(1 - data.LEAVES) / 3] * 3)]).pvalue > 1e-3
    assert chisquare(graphs.operands[:, 4, 0][graphs.operands[:, 4, 0] >= 0].bincount()).pvalue > 1e-3
    skewed = sample_graphs(30_000, 5, rng(2), SMALL, zeros=0.7).numbers[:, 0].bincount()
    assert chisquare(skewed, [30_000 * share for share in (0.7 + 0.3 / 7, *[0.3 / 7] * 6)]).pvalue > 1e-3


def test_states_are_those_of_a_plain_evaluator():
    graphs = sample_graphs(300, 8, rng(5), SMALL)
    states = graphs.states()
    assert len(states) == 1 + graphs.depth.max() and torch.equal(states[-1], graphs.solution)
    for row, graph in enumerate(plain(graphs)):
        for node in range(8):
            depth, value = depth_of(graph, node), value_of(graph, node, 7)
            assert states[:, row, node].tolist() == [7] * depth + [value] * (len(states) - depth)
    assert torch.equal(graphs.states(20)[-1], graphs.solution)


def test_a_step_follows_from_what_operands_hold_and_from_nothing_else():
    """Also where it is wrong, or missing: against one step of the plain evaluator."""
    graphs = sample_graphs(300, 8, rng(6), SMALL)
    held = torch.randint(8, graphs.names.shape, generator=rng(7))
    after = graphs.step(held)
    for graph, before, found in zip(plain(graphs), held.tolist(), after.tolist()):
        assert found == [value_of(graph, node, 7, before) for node in range(8)]


def slow_tokens(graph, held, read, words):
    """The tokens of one graph, (syntax, variable, operation, value), one after the other."""
    row, no_name, no_value = [], words.names, words.modulus + 1
    for node, (name, number, operands) in enumerate(graph):
        if number is not None:
            row.append((data.NUMBER, no_name, 1, number))
        for place, each in enumerate(operands):
            if place:
                row.append((data.ADD, no_name, 0, no_value))
            row.append((data.VARIABLE, graph[each][0], 1, read[each]))
        row += [(data.EQUALS, no_name, 1, no_value), (data.VARIABLE, name, 1, held[node]), (data.SEP, no_name, 1, no_value)]
    return row


def test_tokens_are_the_equations_written_out():
    graphs = sample_graphs(200, 8, rng(8), SMALL)
    tokens = write(graphs)
    held, read = torch.randint(8, (2, 200, 8), generator=rng(9))
    factors = tokens.holding(held, read)
    assert torch.equal(tokens.holding(*torch.full((2, 200, 8), 7)), tokens.factors)
    for row, graph in enumerate(plain(graphs)):
        slow = slow_tokens(graph, held[row].tolist(), read[row].tolist(), SMALL)
        assert factors[row, tokens.real[row]].tolist() == [list(each) for each in slow]
        assert tokens.real[row].tolist() == [place < len(slow) for place in range(factors.shape[1])]
        defined = factors[row, tokens.definitions[row]]
        assert defined[:, 1].tolist() == graphs.names[row].tolist() and defined[:, 3].tolist() == held[row].tolist()
    assert set(factors[..., 0][~tokens.real].tolist()) == {data.PAD}
    for factor, count in enumerate(SMALL.counts.values()):
        assert 0 <= factors[..., factor].min() and factors[..., factor].max() < count
    assert list(SMALL.counts) == list(data.FACTORS)


def test_a_chain_names_every_node_and_its_value():
    graphs = sample_graphs(50, 6, rng(10), SMALL)
    chain = chain_of(graphs, graphs.solution)
    for row, graph in enumerate(plain(graphs)):
        slow = [[data.SOLVE, 9, 1, 8]]
        for node, (name, _, _) in enumerate(graph):
            slow += [[data.VARIABLE, name, 1, 8], [data.NUMBER, 9, 1, value_of(graph, node, 7)]]
        assert chain[row].tolist() == slow


def test_graphs_of_one_structure_obey_it():
    operands = [[], [], [0], [0, 1, 2], [3]]
    made = graphs_of(operands, 300, rng(1), SMALL)
    for names, graph in zip(made.names.tolist(), plain(made)):
        assert len(set(names)) == 5 and [each for _, _, each in graph] == operands
    assert made.depths[4].tolist() == [1, 1, 2, 3, 4] and made.numbers[:, 2:].eq(0).all()
    assert made.numbers[:, :2].unique().tolist() == [*range(7)] and made.names.unique().tolist() == [*range(9)]


REFUSED = [
    (sample_graphs, 1, {}, "a graph has from 2 to 9 nodes, a name each, not 1"),
    (sample_graphs, 10, {}, "from 2 to 9 nodes"),
    (sample_graphs, 5, {"fan_in": 0}, "a node adds from 1 to 3 others, not 0"),
    (sample_graphs, 5, {"fan_in": 4}, "from 1 to 3 others, not 4"),
    (graphs_of, [[]], {}, "from 2 to 9 nodes"),
    (graphs_of, [[], [], [2]], {}, "node 2 must add"),
    (graphs_of, [[], [], [0, 0]], {}, "node 2 must add"),
    (graphs_of, [[], [-1]], {}, "node 1 must add"),
    (graphs_of, [[], [], [], [], [0, 1, 2, 3]], {}, "at most 3 different earlier nodes"),
]


@pytest.mark.parametrize("draw, nodes, options, said", REFUSED)
def test_graphs_that_cannot_be_are_refused(draw, nodes, options, said):
    first, second = (4, nodes) if draw is sample_graphs else (nodes, 4)
    with pytest.raises(ValueError, match=said):
        draw(first, second, rng(0), SMALL, **options)


def test_rows_are_some_of_the_graphs():
    drawn = sample_graphs(9, 5, rng(1), SMALL)
    for chosen in (slice(2, 5), drawn.adds[:, -1] > 1, torch.tensor([3, 3])):
        some = drawn.rows(chosen)
        assert torch.equal(some.solution, drawn.solution[chosen]) and some.vocabulary == drawn.vocabulary
