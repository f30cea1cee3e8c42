"""Reasoning in a loop: the tables of a seed, against slow versions, on untrained arms."""

import math
from itertools import islice

import pytest
import torch

from assign_add_lib.companions.reasoning import tables
from assign_add_lib.companions.reasoning.data import sample_graphs, write
from assign_add_lib.companions.reasoning.model import LOOPED, iterate
from assign_add_lib.companions.reasoning.training import TOKENS_PASS, ArmConfig, answers


class Untrained:
    """A run of an arm that has not begun."""

    def __init__(self, name):
        arm, seed = name.rsplit("-", 1)
        self.config = ArmConfig(arm=arm, seed=int(seed), modulus=5, names=24, nodes=6, d_model=16, d_mlp=24, heads=2)

    def network(self):
        return self.config.network().requires_grad_(False)


@pytest.fixture(scope="module")
def seed():
    return tables.ReasoningSeed(7, Untrained)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    graphs = tables.ReasoningSeed.graphs
    monkeypatch.setattr(tables.ReasoningSeed, "graphs", lambda seed, times, n=30: graphs(seed, times, min(n, 30)))
    monkeypatch.setattr(tables, "CHUNK", 7)


def test_test_graphs_are_of_the_size_and_depth_asked_for(seed):
    for times in tables.TIMES:
        graphs = seed.graphs(times)
        assert graphs.names.shape == (30, 6 * times) and torch.equal(graphs.names, seed.graphs(times).names)
        assert graphs.depth.max() <= 4 or times > 1
    assert seed.graphs(4).depth.max() > 4
    assert not torch.equal(seed.graphs(1).names, tables.ReasoningSeed(8, Untrained).graphs(1).names)


def test_pieces_are_the_whole(seed):
    graphs = seed.graphs(2)
    parts = tables.pieces(graphs)
    assert [len(each.names) for each in parts] == [7, 7, 7, 7, 2]
    assert torch.equal(torch.cat([each.solution for each in parts]), graphs.solution)


def test_accuracies_count_nodes_and_whole_graphs(seed):
    found = tables.accuracy(seed)
    for times in tables.TIMES:
        graphs = seed.graphs(times)
        right = {arm: answers(seed.run(arm).network(), arm, graphs) == graphs.solution for arm in tables.MEASURED}
        for arm in tables.MEASURED:
            nodes = sum(each for row in right[arm].tolist() for each in row) / right[arm].numel()
            assert found[arm, f"nodes, {times} times"] == pytest.approx(nodes)
            assert found[arm, f"graphs, {times} times"] == sum(map(all, right[arm].tolist())) / 30
    difference = found["corrected alone", "graphs, 1 times"] - found["discrete alone", "graphs, 1 times"]
    assert difference == pytest.approx(found["corrected", "graphs, 1 times"] - found["discrete", "graphs, 1 times"])


def test_iterations_are_counted_from_each_graphs_own_depth(seed):
    found, graphs = tables.by_iteration(seed), seed.graphs(2)
    looped = [arm for arm in tables.MEASURED if arm in LOOPED]
    tokens, depth = write(graphs), graphs.depth.tolist()
    for arm in looped:
        network = seed.run(arm).network()
        ended = list(islice(iterate(network, network.embed(tokens.factors), arm in TOKENS_PASS), max(depth) + 16))
        for later in tables.LATER:
            shares = []
            for row, deep in enumerate(depth):
                if deep + later > 0:
                    held = network.value(ended[deep + later - 1])[row, tokens.definitions[row]].argmax(1)
                    shares.append((held == graphs.solution[row]).double().mean().item())
            assert found[arm, f"{later:+d} iterations"] == pytest.approx(sum(shares) / len(shares))


def test_recovery_starts_with_the_wrong_values_and_follows_them(seed):
    found = tables.recovery(seed)
    assert len(found) == sum(arm in LOOPED for arm in tables.MEASURED) * len(tables.SHARES) * (tables.MORE + 1)
    assert all(0 <= each <= 1 for each in found.values())


def test_heads_and_waves_have_rows_for_the_trained_and_the_untrained(seed):
    heads, waves = tables.heads(seed), tables.waves(seed)
    assert len(heads) == 2 * 2 * 2 * 2 * (3 + 4) and len(waves) == 2 * 2 * (5 * 4 + 2 + 2)
    for row in {row for row, _ in heads}:
        shares = [heads[row, f"operand {operand}"] for operand in (1, 2, 3)]
        assert math.fsum(shares) == pytest.approx(1, abs=1e-5)
    for name, value in [*heads.items(), *waves.items()]:  # here no network is trained
        assert value == (heads | waves)[name[0].removeprefix("untrained "), name[1]]


def test_the_last_nodes_of_these_graphs_add_three(seed):
    chosen = tables.with_three_operands(seed.graphs(4))
    assert len(chosen.names) and (chosen.operands[:, -1] >= 0).all()
    assert len(chosen.names) == (seed.graphs(4).operands[:, -1] >= 0).all(1).sum()


def test_groups_of_operands_are_told_apart_by_their_sums(seed):
    generator = torch.Generator().manual_seed(1)
    one, other = tables.told_apart(tables.with_three_operands(sample_graphs(900, 6, generator)), generator)
    sums = tables.sums_of_groups(one, other)
    assert len(sums) > 10 and all(len(set(row)) == 8 for row in sums.tolist())
    for row in range(len(sums)):
        operands = one.operands[row, -1].tolist()
        for group, value in zip(tables.GROUPS, sums[row].tolist()):
            held = [(other if i in group else one).solution[row, operand].item() for i, operand in enumerate(operands)]
            assert value == sum(held) % 11
    assert [tables.name_of(group) for group in ((), (1,), (0, 2), (0, 1, 2))] == ["none", "operand 2", "operands 1 and 3", "all"]


def test_exchanges_say_whose_values_a_network_takes(seed, monkeypatch):
    """A network that takes operand i from where the exchange was made, and all three from layer 2."""
    drawn = sample_graphs(900, 6, torch.Generator().manual_seed(2))
    monkeypatch.setattr(tables.ReasoningSeed, "graphs", lambda *_: drawn)

    seen = {}

    def readings(network, others, layer, at):
        seen["others"] = others
        return at

    def with_readings(network, graphs, layer, heads, at, given):
        sums, (*_, places) = tables.sums_of_groups(graphs, seen["others"]), tables.before_the_last(graphs)
        if layer == 0 and not torch.equal(given, at):  # of another graph
            return torch.where(given.roll(-1, 0) == at, sums[:, 0], -1)
        if layer == 1:
            return sums[:, tables.GROUPS.index((0, 1, 2) if len(heads) == 2 else ())]
        moved = [(i,) for i in range(3) if torch.equal(at, places[:, i])]
        return sums[:, tables.GROUPS.index(moved[0] if moved else ())]

    monkeypatch.setattr(tables, "readings", readings)
    monkeypatch.setattr(tables, "with_readings", with_readings)
    found = tables.exchanges(seed)
    for age in ("fresh", "older"):
        assert found[f"discrete, layer 1, at operand 2, {age}", "operand 2"] == 1
        assert found[f"corrected, layer 1, at operand 3, {age}", "none"] == 0
    assert found["discrete, layer 1, at the sum", "none"] == found["discrete, layer 2, at the sum, heads none", "none"] == 1
    assert found["untrained discrete, layer 2, at the sum, heads 1 and 2", "all"] == 1
    assert found["discrete, layer 2, at the sum, heads 2", "all"] == 0
    assert found["corrected, layer 1, at the sum, of another graph", "none"] == 1


@pytest.mark.parametrize("from_definitions", [True, False])
def test_sources_say_where_values_come_from(seed, from_definitions, monkeypatch):
    """A network that adds what definitions hold, or what operands hold wherever they hold something."""
    drawn, seen = sample_graphs(2000, 6, torch.Generator().manual_seed(2)), {}
    monkeypatch.setattr(tables.ReasoningSeed, "graphs", lambda *_: drawn)
    apart = tables.told_apart
    monkeypatch.setattr(tables, "told_apart", lambda *given: seen.setdefault("pair", apart(*given)))

    class Adds:
        def embed(self, factors):
            return factors

        def __call__(self, factors):
            return factors

        def value(self, factors):
            (graphs, _), found = seen["pair"], torch.zeros(*factors.shape[:2], 11)
            places, tokens = tables.before_the_last(graphs)[2], write(graphs)
            for row, operands in enumerate(graphs.operands[:, -1].tolist()):
                total = 0
                for operand, place in zip(operands, places[row].tolist()):
                    stands, said = factors[row, tokens.definitions[row, operand], 3], factors[row, place, 3]
                    total += int(stands if from_definitions or said == 11 else said)
                found[row, tokens.definitions[row, -1], total % 11] = 1
            return found

    monkeypatch.setattr(tables, "networks", lambda seed: [("adds", Adds())])
    found = tables.sources(seed)
    assert found["graphs", "number"] > 20
    assert (found["adds", "definition"], found["adds", "operand"]) == ((1, 0) if from_definitions else (0, 1))


def test_silences_are_by_the_number_of_operands(seed, monkeypatch):
    graphs = seed.graphs(1)
    monkeypatch.setattr(tables, "silenced", lambda network, one, layer, heads: torch.where(
        (one.operands[:, -1] >= 0).sum(1) == 1 + layer, one.solution[:, -1], -1))  # fmt: skip
    found = tables.silences(seed)
    assert {many for many in (1, 2, 3) if (graphs.operands[:, -1] >= 0).sum(1).eq(many).any()} == {1, 2, 3}
    for row, right in (("none", 1), ("layer 1, head 2", 1), ("layer 2, head 1", 2)):
        assert [found[f"discrete, {row}", f"adds {many}"] for many in (1, 2, 3)] == [float(many == right) for many in (1, 2, 3)]


def test_counts_give_nodes_the_mean_reading_of_nodes_that_add_another_number(seed, monkeypatch):
    adds = lambda graphs: (graphs.operands[:, -1] >= 0).sum(1)  # noqa: E731
    monkeypatch.setattr(tables, "readings", lambda network, graphs, layer, at: adds(graphs)[:, None].double())
    monkeypatch.setattr(tables, "with_readings", lambda network, graphs, layer, heads, at, given: torch.where(
        given[0, 0] == adds(graphs), graphs.solution[:, -1], -1))  # fmt: skip
    found = tables.counts(seed)
    for other in (1, 2, 3):
        for many in (1, 2, 3):
            assert found[f"discrete, head 2, as if it added {other}", f"adds {many}"] == float(other == many)


def test_structures_say_what_is_right_and_what_is_late(seed, monkeypatch):
    """A network whose every value comes a round late, and which without mentions is right in all but the last node."""
    monkeypatch.setattr(tables, "STRUCTURES", {"small": [[], [], [0, 1], [2]]})
    monkeypatch.setattr(tables, "iterations", lambda network, arm, tokens, latent, n: seen["graphs"][-1].states(n - 1))

    def without(network, graphs):
        return graphs.solution.index_fill(1, torch.tensor(graphs.names.shape[1] - 1), -1)

    seen, written = {"graphs": []}, tables.write
    monkeypatch.setattr(tables, "write", lambda graphs: seen["graphs"].append(graphs) or written(graphs))
    monkeypatch.setattr(tables, "without_mentions", without)
    found = {column: value for (row, column), value in tables.structures(seed).items() if row == "discrete, small"}
    deepest = {"tokens": 4 * 3 + 6, "graphs": 0, "right": 0.75, "empty": 0.25, "right a round later": 1}
    assert found == deepest | {"right without mentions": 0.75}


def test_the_table_of_waves_knows_a_sum_from_two_operands(seed, monkeypatch):
    x, y = torch.meshgrid(torch.arange(5.0), torch.arange(5.0), indexing="ij")
    places = {"apart": (2 * math.pi * x / 5).cos() + (2 * math.pi * y / 5).sin(), "sum": (2 * math.pi * (x + y) / 5).cos()}
    places["logits"] = places["sum"]
    monkeypatch.setattr(tables, "along_the_sum", lambda network: {name: each[..., None] for name, each in places.items()})
    monkeypatch.setattr(tables, "sums_without", lambda network, removed: torch.full((5, 5), removed[0]))
    found = tables.waves(seed)
    assert found["discrete, apart", "one operand"] == pytest.approx(1) and found["discrete, sum", "sum"] == pytest.approx(1)
    assert found["discrete, apart", "sum"] == pytest.approx(0, abs=1e-6)
    best = found["discrete, apart", "best frequency"], found["discrete, apart", "best frequency, relabelled"]
    assert best[0] == pytest.approx(1) and 0.5 < best[1] < 1
    assert found["discrete, logits", "sum at 1"] == pytest.approx(1)
    assert found["discrete, logits", "sum at 2"] == pytest.approx(0, abs=1e-6)
    assert found["untrained corrected, neurons without 2", "right"] == 0.2  # of 25 sums five are 2
    assert found["discrete, sum", "one operand"] == pytest.approx(0, abs=1e-6)
