"""Reasoning in a loop: the tables of what stands inside, against slow versions and networks whose inside is known."""

import math

import pytest
import torch

from assign_add_lib.companions.reasoning import inside, seeds
from assign_add_lib.companions.reasoning.data import EQUALS, SEP, VARIABLE, sample_graphs, text, write


def test_heads_and_waves_have_rows_for_the_trained_and_the_untrained(seed):
    heads, waves = inside.heads(seed), inside.waves(seed)
    assert len(heads) == 3 * 2 * 2 * (3 + 1 + 4) and len(waves) == 3 * (5 * 4 + 2 * 4 + 2)
    for row in {row for row, _ in heads}:
        shares = [heads[row, f"operand {operand}"] for operand in (1, 2, 3)]
        assert math.fsum(shares) == pytest.approx(1, abs=1e-5)
    for name, value in [*heads.items(), *waves.items()]:  # here no network is trained
        assert value == (heads | waves)[name[0].replace("untrained", "discrete"), name[1]]


def test_the_last_nodes_of_these_graphs_add_three(seed):
    chosen = inside.with_three_operands(seed.graphs(4))
    assert len(chosen.names) and (chosen.operands[:, -1] >= 0).all()
    assert len(chosen.names) == (seed.graphs(4).operands[:, -1] >= 0).all(1).sum()


def test_groups_of_operands_are_told_apart_by_their_sums(seed):
    generator = torch.Generator().manual_seed(1)
    one, other = inside.told_apart(inside.with_three_operands(sample_graphs(900, 6, generator)), generator)
    sums = inside.sums_of_groups(one, other)
    assert len(sums) > 10 and all(len(set(row)) == 8 for row in sums.tolist())
    for row in range(len(sums)):
        operands = one.operands[row, -1].tolist()
        for group, value in zip(inside.GROUPS, sums[row].tolist()):
            held = [(other if i in group else one).solution[row, operand].item() for i, operand in enumerate(operands)]
            assert value == sum(held) % 11
    assert [inside.name_of(group) for group in ((), (1,), (0, 2), (0, 1, 2))] == ["none", "operand 2", "operands 1 and 3", "all"]


def test_exchanges_say_whose_values_a_network_takes(seed, monkeypatch):
    """A network that takes operand i from where the exchange was made, and all three from layer 2."""
    drawn = sample_graphs(900, 6, torch.Generator().manual_seed(2))
    monkeypatch.setattr(seeds.ReasoningSeed, "graphs", lambda *_: drawn)

    seen = {}

    def readings(network, others, layer, at):
        seen["others"] = others
        return at

    def with_readings(network, graphs, layer, heads, at, given):
        sums, (*_, places) = inside.sums_of_groups(graphs, seen["others"]), inside.before_the_last(graphs)
        if layer == 0 and not torch.equal(given, at):  # of another graph
            return torch.where(given.roll(-1, 0) == at, sums[:, 0], -1)
        if layer == 1:
            return sums[:, inside.GROUPS.index((0, 1, 2) if len(heads) == 2 else ())]
        moved = [(i,) for i in range(3) if torch.equal(at, places[:, i])]
        return sums[:, inside.GROUPS.index(moved[0] if moved else ())]

    monkeypatch.setattr(inside, "readings", readings)
    monkeypatch.setattr(inside, "with_readings", with_readings)
    found = inside.exchanges(seed)
    for age in ("fresh", "older"):
        assert found[f"discrete, layer 1, at operand 2, {age}", "operand 2"] == 1
        assert found[f"corrected, layer 1, at operand 3, {age}", "none"] == 0
    assert found["discrete, layer 1, at the sum", "none"] == found["discrete, layer 2, at the sum, heads none", "none"] == 1
    assert found["untrained, layer 2, at the sum, heads 1 and 2", "all"] == 1
    assert found["discrete, layer 2, at the sum, heads 2", "all"] == 0
    assert found["corrected, layer 1, at the sum, of another graph", "none"] == 1


def taken(row, here, order):
    """What the last sum is where each operand is taken from the first kind of place, in this order, at which it holds a value."""
    syntax, variable, _, value = row.T.tolist()
    start = max((place for place in range(here) if syntax[place] == SEP), default=-1)
    total = 0
    for own in (place for place in range(start, here - 1) if syntax[place] == VARIABLE):
        same = [place for place in range(here) if syntax[place] == VARIABLE and variable[place] == variable[own]]
        defined = [place for place in same if syntax[place - 1] == EQUALS]
        at = {"operand": [own], "definition": defined, "mentions": [each for each in same if each not in (own, *defined)]}
        total += next(value[place] for kind in order for place in at[kind] if value[place] < 11)
    return total % 11


@pytest.mark.parametrize("order", [("operand", "definition"), ("definition",), ("mentions", "definition")])
def test_sources_say_where_values_come_from(seed, order, monkeypatch):
    drawn = sample_graphs(300, 6, torch.Generator().manual_seed(2))
    monkeypatch.setattr(seeds.ReasoningSeed, "graphs", lambda *_: drawn)
    monkeypatch.setattr(inside, "last_values", lambda network, factors, here: torch.tensor(
        [taken(row, place, order) for row, place in zip(factors, here.tolist())]))  # fmt: skip
    found = inside.sources(seed)
    assert found["graphs", "mentioned"] > 20 and found["graphs", "not mentioned"] > 20
    if order[0] != "mentions":  # of these some are empty yet
        for place in ("operand", "definition", "mentions"):
            assert found["corrected, all three differ", place] == float(place == order[0])
    for (row, places), share in found.items():
        if row in ("discrete, mentioned", "discrete, not mentioned"):
            there = {"operand", "definition"} | ({"mentions"} if row == "discrete, mentioned" else set())
            decides = next(place for place in order if place in there)
            if decides != "mentions" or "definition" in places.split(" and "):  # of mentions some are empty yet
                assert share == float(decides in places.split(" and "))
                assert found[f"{row}, stays", places] == 1 - share


def test_silences_are_by_the_number_of_operands(seed, monkeypatch):
    graphs = seed.graphs(1)
    monkeypatch.setattr(inside, "silenced", lambda network, one, layer, heads: torch.where(
        (one.operands[:, -1] >= 0).sum(1) == 1 + layer, one.solution[:, -1], -1))  # fmt: skip
    found = inside.silences(seed)
    assert {many for many in (1, 2, 3) if (graphs.operands[:, -1] >= 0).sum(1).eq(many).any()} == {1, 2, 3}
    for row, right in (("none", 1), ("layer 1, head 2", 1), ("layer 2, head 1", 2)):
        assert [found[f"discrete, {row}", f"adds {many}"] for many in (1, 2, 3)] == [float(many == right) for many in (1, 2, 3)]


def test_counts_give_nodes_what_nodes_that_add_another_number_read(seed, monkeypatch):
    """A network that is right where head 2 of layer 2 reads the number of operands, times a number of the graph's own."""
    adds = lambda graphs: (graphs.operands[:, -1] >= 0).sum(1)  # noqa: E731
    own = lambda graphs: torch.linspace(-1, 1, len(graphs.names)) + 10 * adds(graphs)  # noqa: E731
    monkeypatch.setattr(inside, "readings", lambda network, graphs, layer, at: own(graphs)[:, None])

    def with_readings(network, graphs, layer, heads, at, given):
        right = (given[:, 0] / 10).round() == adds(graphs) if layer == 1 and 1 in heads else torch.tensor(True)
        return torch.where(right.expand(len(at)), graphs.solution[:, -1], -1)

    monkeypatch.setattr(inside, "with_readings", with_readings)
    found = inside.counts(seed)
    for other in (1, 2, 3):
        for many in (1, 2, 3):
            for kind in ("mean", "shift"):
                assert found[f"discrete, layer 2, head 2, {kind} to {other}", f"adds {many}"] == float(other == many)
                assert found[f"discrete, layer 2, all heads, {kind} to {other}", f"adds {many}"] == float(other == many)
                assert found[f"discrete, layer 2, head 1, {kind} to {other}", f"adds {many}"] == 1
                assert found[f"untrained, layer 1, head 2, {kind} to {other}", f"adds {many}"] == 1
    copies, P = graphs_that_add_one(seed), seed.run("discrete").config.modulus
    for other in (1, 2, 3):  # whatever head 1 is told, the answer is the number itself
        same = (other * copies % P == copies).double().mean().item()
        assert found[f"discrete, layer 2, head 1, shift to {other}", "adds 1, times that many"] == same


def graphs_that_add_one(seed):
    """The last numbers of the graphs of `inside.counts` whose last node adds one."""
    drawn = seed.graphs(1, 2 * seeds.GRAPHS)
    return drawn.solution[drawn.adds[:, -1] == 1, -1]


def test_attention_is_summed_over_tokens_of_a_kind(seed, monkeypatch):
    """Weights that stand for their place in the text: 2 ** place in the order of the row, summed by reading the words."""
    graphs = seed.graphs(1)
    tokens = write(graphs)
    weights = 2.0 ** torch.arange(tokens.node.shape[1], dtype=torch.float64)
    monkeypatch.setattr(inside, "weights_at", lambda network, some, layer, at: weights.expand(len(at), 2, -1))
    found, sums = inside.attended(seed), {}
    for row in range(len(graphs.names)):
        words, here = text(tokens.factors[row], seed.run("discrete").config.vocabulary), int(tokens.definitions[row, -1])
        start = max((place for place in range(here) if words[place] == "[sep]"), default=-1)
        inner = range(start + 1, here - 1)
        if (many := sum(words[place].startswith("x") for place in inner)) == 0:
            continue
        kinds = {"operands": [p for p in inner if words[p] != "ADD"], "ADD": [p for p in inner if words[p] == "ADD"]}
        kinds |= {"=": [here - 1], "itself": [here], "before": [start]}
        for kind, places in kinds.items():
            sums.setdefault((many, kind), []).append(sum(weights[place].item() for place in places))
    for (many, kind), each in sums.items():
        assert found[f"corrected, layer 2, head 2, adds {many}", kind] == pytest.approx(sum(each) / len(each))
    shares = [found["discrete, layer 1, head 1, older and mentioned", key] for key in ("itself", "definition", "mentions")]
    assert 0 < shares[1] < shares[0] and 0 < shares[2] < shares[0]  # the operand's own token stands last


def test_the_table_of_waves_knows_a_sum_from_two_operands(seed, monkeypatch):
    x, y = torch.meshgrid(torch.arange(5.0), torch.arange(5.0), indexing="ij")
    places = {"apart": (2 * math.pi * x / 5).cos() + (2 * math.pi * y / 5).sin(), "sum": (2 * math.pi * (x + y) / 5).cos()}
    places |= {"logits": places["sum"], "neurons": places["apart"]}
    monkeypatch.setattr(inside, "along_the_sum", lambda network: {name: each[..., None] for name, each in places.items()})
    plain = torch.arange(5)
    monkeypatch.setattr(inside, "sums_without", lambda network, removed, order: torch.full(
        (5, 5), removed[0] if order.equal(plain) else -1))  # fmt: skip
    found = inside.waves(seed)
    assert found["discrete, apart", "one operand"] == pytest.approx(1) and found["discrete, sum", "sum"] == pytest.approx(1)
    assert found["discrete, apart", "sum"] == pytest.approx(0, abs=1e-6)
    best = found["discrete, apart", "best frequency"], found["discrete, apart", "best frequency, relabelled"]
    assert best[0] == pytest.approx(1) and 0.5 < best[1] < 1
    assert found["discrete, logits", "sum at 1"] == pytest.approx(1)
    assert found["discrete, logits", "sum at 2"] == pytest.approx(0, abs=1e-6)
    assert found["untrained, neurons without 2", "right"] == 0.2  # of 25 sums five are 2
    assert found["untrained, neurons without 2", "right, relabelled"] == 0
    assert found["untrained, neurons with 1 frequencies", "right"] == 0.2  # the wave at 2 is the smaller one
    assert found["untrained, neurons with 1 frequencies", "right, relabelled"] == 0
    assert found["corrected, neurons", "operand at 1"] == pytest.approx(1)
    assert found["discrete, sum", "one operand"] == pytest.approx(0, abs=1e-6)
