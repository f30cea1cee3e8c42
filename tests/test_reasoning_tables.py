"""Reasoning in a loop: the tables of what arms do, against slow versions, on untrained arms."""

from collections import Counter
from itertools import islice

import pandas as pd
import pytest
import torch

from assign_add_lib.companions.reasoning import seeds, tables
from assign_add_lib.companions.reasoning.data import write
from assign_add_lib.companions.reasoning.model import ARMS, LOOPED, iterate
from assign_add_lib.companions.reasoning.training import TOKENS_PASS, answers


def test_accuracies_count_nodes_and_whole_graphs(seed):
    found = tables.accuracy(seed)
    for times in seeds.TIMES:
        graphs = seed.graphs(times)
        for arm in ARMS:
            right = answers(seed.run(arm).network(), arm, graphs) == graphs.solution
            assert found[arm, times, "nodes"] == pytest.approx(right.double().mean().item())
            assert found[arm, times, "graphs"] == sum(map(all, right.tolist())) / 30


def test_one_of_two_arms_alone_solves_what_the_other_does_not(seed, monkeypatch):
    """Arms that solve the first graphs, so many of each piece of seven or less."""
    solved = dict.fromkeys(ARMS, 0) | {"corrected": 5, "discrete": 2}
    first = lambda arm, graphs: (torch.arange(len(graphs.names)) < solved[arm])[:, None]  # noqa: E731
    monkeypatch.setattr(tables, "answers", lambda network, arm, graphs: graphs.solution.where(first(arm, graphs), -1))
    found = tables.accuracy(seed)
    assert found["corrected", 1, "graphs alone"] == pytest.approx(12 / 30) and found["discrete", 1, "graphs alone"] == 0


def test_iterations_are_counted_from_each_graphs_own_depth(seed):
    graphs = seed.graphs(2)
    tokens, depth = write(graphs), graphs.depth.tolist()
    for arm in LOOPED:
        network, found = seed.network(arm), tables.by_iteration(seed, arm)
        ended = islice(iterate(network, network.embed(tokens.factors), arm in TOKENS_PASS), max(depth) + 16)
        held = torch.stack([network.value(each).argmax(2).gather(1, tokens.definitions) for each in ended])
        for later in tables.LATER:
            rows = [(row, deep + later - 1) for row, deep in enumerate(depth) if deep + later > 0]
            right = torch.stack([held[done, row] == graphs.solution[row] for row, done in rows])
            assert found[later,] == pytest.approx(right.double().mean().item())


def test_a_network_passes_vectors_or_tokens_on(seed, monkeypatch):
    """A network that by tokens solves the graphs whose first name is even, and by vectors the others."""
    even = lambda graphs: graphs.names[:, 0] % 2 == 0  # noqa: E731
    solved = lambda way, graphs: even(graphs) == (way == "discrete")  # noqa: E731
    monkeypatch.setattr(tables, "answers", lambda _, way, graphs: graphs.solution.where(solved(way, graphs)[:, None], -1))
    found, graphs = tables.passing(seed, "right-starts-four"), seed.graphs(1)
    depths = graphs.depth.tolist()
    counted = Counter(depths), Counter(depth for depth, each in zip(depths, even(graphs)) if each)
    for depth, many in counted[0].items():
        there = found.get((1, "tokens", f"depth {depth}", "graphs")), found.get((1, "tokens", f"depth {depth}", "solved"))
        assert there == ((many, counted[1][depth]) if many >= 10 else (None, None))
    assert max(counted[0].values()) >= 10
    assert sum(found[1, passes, "all", "solved"] for passes in tables.PASSES) == found[1, "tokens", "all", "graphs"] == 30
    network, tokens, first = seed.network("right-starts-four"), write(graphs), range(tables.CHUNK)
    for passes, discrete in (("vectors", False), ("tokens", True)):
        ended = islice(iterate(network, network.embed(tokens.factors), discrete), max(depths) + 16)
        held = torch.stack([network.value(each).argmax(2).gather(1, tokens.definitions) for each in ended])
        later = torch.stack([held[depths[row] + 15, row] == graphs.solution[row] for row in first])
        assert found[1, passes, "all", "nodes later"] == pytest.approx(later.double().mean().item())
        nodes = [(row, node, graphs.depths[row, node].item()) for row in first for node in range(graphs.names.shape[1])]
        right = held == graphs.solution
        for deep in (1, 2, 3):
            due = [(row, node) for row, node, depth in nodes if depth == deep and right[depth - 1, row, node]]
            assert found[1, passes, f"depth {deep}", "nodes"] == sum(depth == deep for *_, depth in nodes)
            assert found[1, passes, f"depth {deep}", "nodes due"] == len(due)
            kept = sum(right[depths[row] - 1, row, node].item() for row, node in due)
            assert found[1, passes, f"depth {deep}", "nodes at the end"] == kept


def test_recovery_starts_with_the_wrong_values_and_follows_them(seed, monkeypatch):
    """A network that sets one node of each graph right in every iteration, in the order of the nodes; and the rule beside it."""

    def disturbed(network, arm, graphs, at, share, more, generator):
        held = graphs.solution.repeat(more + 1, 1, 1)
        for done in range(more + 1):
            held[done, :, done : round(share * 20)] = -1
        return held

    monkeypatch.setattr(tables, "disturbed", disturbed)
    recovery, graphs = tables.TABLES["recovery"].measure(seed), seed.graphs(1)
    assert recovery["discrete", 20, 1] == pytest.approx(3 / 6) and recovery["continuous", 20, 4] == 1
    assert recovery["discrete", 0, 0] == 1
    wrong = disturbed(None, None, graphs, 0, 0.2, 0, None)[0]
    for later in range(tables.MORE + 1):
        assert recovery["rule", 20, later] == pytest.approx((wrong == graphs.solution).double().mean().item())
        wrong = graphs.step(wrong)
    large = tables.TABLES["recovery_of_large_graphs"].measure(seed)
    assert large["corrected", 20, 1] == pytest.approx(1 - 3 / 24) and large["rule", 0, 16] == 1


def test_from_the_solution_all_nodes_hold_their_values_at_first(seed):
    network, graphs, found = seed.network("corrected"), seed.graphs(4), tables.from_the_solution(seed)
    tokens, true = write(graphs), graphs.solution
    held = network.value(network(network.embed(tokens.holding(true, true)))).argmax(2).gather(1, tokens.definitions)
    assert found[0,] == 1 and found[1,] == pytest.approx((held == true).double().mean().item())


def test_errors_of_their_own_have_right_operands(seed, monkeypatch):
    """A network some of whose nodes are wrong: empty, twice the first operand, all operands but the first, or one more."""
    graphs, drawn = seed.graphs(4), torch.Generator().manual_seed(1)
    P = graphs.vocabulary.modulus
    first = graphs.solution.gather(1, graphs.operands[..., 0].clamp(min=0))
    others = [torch.full_like(first, P), 2 * first % P, (graphs.solution - first) % P, (graphs.solution + 1) % P]
    which = torch.randint(12, first.shape, generator=drawn)
    held = torch.stack([*others, *[graphs.solution] * 8]).gather(0, which[None])[0]
    parts = zip(held.split(seeds.CHUNK), graphs.solution.split(seeds.CHUNK))
    monkeypatch.setattr(tables, "ended", lambda *_: next(parts))
    found, own = tables.errors(seed, "discrete"), []
    for given, solution, operands in zip(held.tolist(), graphs.solution.tolist(), graphs.operands.tolist()):
        for node, each in enumerate(operands):
            used = [operand for operand in each if operand >= 0]
            wrong = given[node] != solution[node] and all(given[operand] == solution[operand] for operand in used)
            own.append((len(used), [solution[operand] for operand in used], wrong, given[node]))
    own = pd.DataFrame(own, columns=["many", "numbers", "wrong", "value"])
    counted = {"wrong": (held != graphs.solution).sum(), "empty": (held == P).sum(), "wrong of their own": own.wrong.sum()}
    assert {name: found["all", name] for name in counted} == counted and found["all", "graphs right a round later"] == 1
    for many, share in own.groupby("many").wrong.mean().items():
        assert found[f"adding {many}", "share wrong of its own"] == pytest.approx(share)
    numeric = own[own.wrong & (own.value < P)]
    one, three = (list(zip(rows.numbers, rows.value)) for rows in (numeric[numeric.many == many] for many in (1, 3)))
    assert found["adding 1", "number"] == len(one) > 0 and found["adding 3", "number"] == len(three) > 0
    assert found["adding 1", "twice"] == sum(2 * x % P == value for (x,), value in one) > 0
    pairs = [any((sum(numbers) - x) % P == value for x in numbers) for numbers, value in three]
    assert found["adding 3", "two of three"] == sum(pairs) > 0


def test_rounds_are_counted_by_the_depth_of_the_graph(seed, monkeypatch):
    """A network that holds the right values of the even rounds, and in odd ones nothing."""
    written, drawn = tables.write, []
    monkeypatch.setattr(tables, "write", lambda graphs: drawn.append(graphs) or written(graphs))

    def held(network, arm, tokens, latent, n):
        states = drawn[-1].states(n)[1:]
        states[::2] = -1
        return states

    monkeypatch.setattr(tables, "iterations", held)
    found, graphs, number = tables.by_round(seed, "corrected"), seed.graphs(2), tables.depths(seed)
    for depth in set(graphs.depth.tolist()):
        chosen = graphs.rows(graphs.depth == depth)
        assert number[depth,] == len(chosen.names) and found[depth, 3] == 0
        for done in (2, 4, 12):
            assert found[depth, done] == pytest.approx((chosen.depths <= done).double().mean().item())
    assert found[4, 4] == 1


def test_structures_say_what_is_right_and_what_is_late(seed, monkeypatch):
    """A network whose every value comes a round late, and which without mentions is right in all but the last node."""
    sums = tables.ORDERED[0]
    monkeypatch.setattr(tables, "STRUCTURES", {"small": [[], [], [0, 1], [2]], sums: [[], [0], [1]]})
    monkeypatch.setattr(tables, "ORDERED", [sums])
    monkeypatch.setattr(tables, "held_after", lambda network, arm, graphs, n: graphs.states(n - 1))

    def without(network, graphs, which):
        last = graphs.names.shape[1] - 1
        return graphs.solution if which == "other" else graphs.solution.index_fill(1, torch.tensor(last), -1)

    monkeypatch.setattr(tables, "without_mentions", without)
    found = {measure: value for (name, measure), value in tables.structures(seed, "discrete").items() if name == "small"}
    late = {"tokens": 4 * 3 + 6, "graphs": 0, "right": 0.75, "empty": 0.25, "right a round later": 1}
    assert found == late | {f"right without {which} mentions": share for which, share in zip(tables.MENTIONS, (0.75, 0.75, 1))}
    assert tables.structure_sums(seed, "discrete") == {(sums, 1): 1, (sums, 2): 0}


def test_shipped_tables_have_the_columns_and_the_seeds_that_they_should():
    shipped = tables.load_tables()
    assert {name: tuple(table.index.names) for name, table in shipped.items()} == {n: t.columns for n, t in tables.TABLES.items()}
    for name, table in shipped.items():
        assert list(table) == ["seed-0", "seed-1", "seed-2"] and table.index.is_unique
        assert not table.isna().any().any() or name in ("by_round", "depths", "passing")  # a depth that a seed has not drawn


@pytest.mark.parametrize("name", ["waves", "gains", "depths"])
def test_some_shipped_values_come_out_again(name, monkeypatch):
    """Of the tables that take little time, the numbers of one seed."""
    monkeypatch.setattr(tables, "SEEDS", (1,))
    shipped = tables.load_tables()[name]["seed-1"].dropna()
    found = tables.measured(name).set_index(shipped.index.names)["value"]
    assert set(shipped.index) == set(found.index) and (shipped - found).abs().max() < 1e-3
