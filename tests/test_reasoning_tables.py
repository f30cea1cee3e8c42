"""Reasoning in a loop: the tables of what arms do, against slow versions, on untrained arms."""

from itertools import islice

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
        right = {arm: answers(seed.run(arm).network(), arm, graphs) == graphs.solution for arm in ARMS}
        for arm in ARMS:
            nodes = sum(each for row in right[arm].tolist() for each in row) / right[arm].numel()
            assert found[arm, f"nodes, {times} times"] == pytest.approx(nodes)
            assert found[arm, f"graphs, {times} times"] == sum(map(all, right[arm].tolist())) / 30
    difference = found["corrected alone", "graphs, 1 times"] - found["discrete alone", "graphs, 1 times"]
    assert difference == pytest.approx(found["corrected", "graphs, 1 times"] - found["discrete", "graphs, 1 times"])


def test_iterations_are_counted_from_each_graphs_own_depth(seed):
    found, graphs = tables.by_iteration(seed), seed.graphs(2)
    tokens, depth = write(graphs), graphs.depth.tolist()
    for arm in LOOPED:
        network = seed.run(arm).network()
        ended = list(islice(iterate(network, network.embed(tokens.factors), arm in TOKENS_PASS), max(depth) + 16))
        for later in tables.LATER:
            shares = []
            for row, deep in enumerate(depth):
                if deep + later > 0:
                    held = network.value(ended[deep + later - 1])[row, tokens.definitions[row]].argmax(1)
                    shares.append((held == graphs.solution[row]).double().mean().item())
            assert found[arm, f"{later:+d} iterations"] == pytest.approx(sum(shares) / len(shares))


def test_recovery_starts_with_the_wrong_values_and_follows_them(seed, monkeypatch):
    """A network that sets one node of each graph right in every iteration, in the order of the nodes; and the rule beside it."""

    def disturbed(network, arm, graphs, at, share, more, generator):
        held = graphs.solution.repeat(more + 1, 1, 1)
        for done in range(more + 1):
            held[done, :, done : round(share * 20)] = -1
        return held

    monkeypatch.setattr(tables, "disturbed", disturbed)
    found, graphs = tables.recovery(seed), seed.graphs(1)
    assert found["discrete, 20% wrong", "1 later"] == pytest.approx(3 / 6) and found["continuous, 20% wrong", "4 later"] == 1
    assert found["discrete, 0% wrong", "0 later"] == 1
    wrong = [disturbed(None, None, graphs, 0, 0.2, 0, None)[0]]
    for later in range(tables.MORE + 1):
        right = (wrong[-1] == graphs.solution).double().mean().item()
        assert found["rule, 20% wrong", f"{later} later"] == pytest.approx(right)
        wrong.append(graphs.step(wrong[-1]))
    large = tables.recovery_of_large_graphs(seed)
    assert large["corrected, 20% wrong", "1 later"] == pytest.approx(1 - 3 / 24) and large["rule, 0% wrong", "16 later"] == 1
    network, graphs = seed.run("corrected").network(), seed.graphs(4)
    tokens, true = write(graphs), graphs.solution
    held = network.value(network(network.embed(tokens.holding(true, true)))).argmax(2).gather(1, tokens.definitions)
    assert large["corrected, from the solution", "0 later"] == 1
    assert large["corrected, from the solution", "1 later"] == pytest.approx((held == true).double().mean().item())


def test_errors_of_their_own_have_right_operands(seed, monkeypatch):
    """A network some of whose nodes are wrong: empty, twice the first operand, all operands but the first, or one more."""
    graphs, drawn = seed.graphs(4), torch.Generator().manual_seed(1)
    P = graphs.vocabulary.modulus
    first = graphs.solution.gather(1, graphs.operands[..., 0].clamp(min=0))
    others = [torch.full_like(first, P), 2 * first % P, (graphs.solution - first) % P, (graphs.solution + 1) % P]
    which = torch.randint(12, first.shape, generator=drawn)
    held = torch.stack([*others, *[graphs.solution] * 8]).gather(0, which[None])[0]
    parts = iter(2 * list(zip(held.split(seeds.CHUNK), graphs.solution.split(seeds.CHUNK))))
    monkeypatch.setattr(tables, "ended", lambda *_: next(parts))
    found, own = tables.errors(seed), []
    for row, operands in enumerate(graphs.operands.tolist()):
        for node, each in enumerate(operands):
            used = [operand for operand in each if operand >= 0]
            right = [held[row, operand] == graphs.solution[row, operand] for operand in used]
            numbers = [graphs.solution[row, operand].item() for operand in used]
            wrong = held[row, node] != graphs.solution[row, node]
            own.append((numbers, bool(wrong) and all(right), held[row, node].item()))
    wrong = held != graphs.solution
    for arm in ("discrete", "corrected"):
        assert (found[arm, "nodes wrong"], found[arm, "nodes empty"]) == (wrong.sum(), (held == P).sum())
        assert found[arm, "errors of their own"] == sum(each for _, each, _ in own)
        assert found[arm, "graphs right a round later"] == 1
        for many in range(4):
            shares = [each for numbers, each, _ in own if len(numbers) == many]
            assert found[arm, f"own, adds {many}"] == pytest.approx(sum(shares) / len(shares))
        numeric = [(numbers, value) for numbers, each, value in own if each and value < P]
        said = {n: [(numbers, value) for numbers, value in numeric if len(numbers) == n] for n in (1, 3)}
        assert found[arm, "own, adds 1, a number"] == len(said[1]) > 0 and found[arm, "own, adds 3, a number"] == len(said[3]) > 0
        assert found[arm, "twice"] == sum(2 * x % P == value for (x,), value in said[1]) > 0
        pairs = [any((sum(numbers) - x) % P == value for x in numbers) for numbers, value in said[3]]
        assert found[arm, "two of three"] == sum(pairs) > 0


def test_rounds_are_counted_by_the_depth_of_the_graph(seed, monkeypatch):
    """A network that holds the right values of the even rounds, and in odd ones nothing."""
    written, drawn = tables.write, []
    monkeypatch.setattr(tables, "write", lambda graphs: drawn.append(graphs) or written(graphs))

    def held(network, arm, tokens, latent, n):
        states = drawn[-1].states(n)[1:]
        states[::2] = -1
        return states

    monkeypatch.setattr(tables, "iterations", held)
    found, graphs = tables.by_round(seed), seed.graphs(2)
    for depth in set(graphs.depth.tolist()):
        chosen = graphs.rows(graphs.depth == depth)
        assert found[f"corrected, depth {depth}", "graphs"] == len(chosen.names)
        assert found[f"continuous, depth {depth}", "round 3"] == 0
        for done in (2, 4, 12):
            share = (chosen.depths <= done).double().mean().item()
            assert found[f"discrete, depth {depth}", f"round {done}"] == pytest.approx(share)
    assert found["discrete, depth 4", "round 4"] == 1


def test_structures_say_what_is_right_and_what_is_late(seed, monkeypatch):
    """A network whose every value comes a round late, and which without mentions is right in all but the last node."""
    monkeypatch.setattr(tables, "STRUCTURES", {"small": [[], [], [0, 1], [2]], "12 sums": [[], [0], [1]]})
    monkeypatch.setattr(tables, "iterations", lambda network, arm, tokens, latent, n: seen["graphs"][-1].states(n - 1))

    def without(network, graphs, which):
        last = graphs.names.shape[1] - 1
        return graphs.solution if which == "other" else graphs.solution.index_fill(1, torch.tensor(last), -1)

    seen, written = {"graphs": []}, tables.write
    monkeypatch.setattr(tables, "write", lambda graphs: seen["graphs"].append(graphs) or written(graphs))
    monkeypatch.setattr(tables, "without_mentions", without)
    found = {column: value for (row, column), value in tables.structures(seed).items() if row == "discrete, small"}
    deepest = {"tokens": 4 * 3 + 6, "graphs": 0, "right": 0.75, "empty": 0.25, "right a round later": 1}
    sums = {column: value for (row, column), value in tables.structures(seed).items() if row == "discrete, 12 sums"}
    assert (sums["sum 1"], sums["sum 2"]) == (1, 0) and "sum 3" not in sums
    assert found == deepest | {f"right without {which} mentions": share for which, share in zip(tables.MENTIONS, (0.75, 0.75, 1))}
