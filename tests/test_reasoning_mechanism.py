"""Reasoning in a loop: the tables of one iteration, against slow versions and networks whose mechanism is known."""

import math
from itertools import product

import pytest
import torch

from assign_add_lib.companions.reasoning import analysis, mechanism, seeds
from assign_add_lib.companions.reasoning.analysis import operand_variances
from assign_add_lib.companions.reasoning.data import EQUALS, SEP, VARIABLE, sample_graphs, text, write
from assign_add_lib.companions.reasoning.seeds import NETWORKS


@pytest.mark.parametrize("name", ["variances", "gains", "waves", "frequencies", "largest_frequencies"])
def test_here_where_no_network_is_trained_all_have_the_numbers_of_the_untrained(seed, name):
    found = mechanism.TABLES[name].measure(seed)
    for (arm, *rest), value in found.items():
        assert value == found["untrained", *rest] and arm in NETWORKS
    assert {len(entries) for entries in found} == {len(mechanism.TABLES[name].columns)}


def test_shares_of_a_heads_variance_add_up(seed):
    found = mechanism.variances(seed, "discrete")
    for layer, head in product((1, 2), (1, 2)):
        assert sum(found[layer, head, f"operand {i}"] for i in (1, 2, 3)) == pytest.approx(1, abs=1e-5)
    network = seed.network("discrete")
    assert found[1, 2, "variance"] == operand_variances(network, mechanism.with_three_operands(seed.graphs(1)))[0, 1].sum()


def test_groups_of_operands_are_told_apart_by_their_sums(seed):
    generator = torch.Generator().manual_seed(1)
    one, other = mechanism.told_apart(mechanism.with_three_operands(sample_graphs(900, 6, generator)), generator)
    sums = mechanism.sums_of_groups(one, other)
    assert len(sums) > 10 and all(len(set(row)) == 8 for row in sums.tolist())
    for row in range(len(sums)):
        operands = one.operands[row, -1].tolist()
        for group, value in zip(mechanism.GROUPS, sums[row].tolist()):
            held = [(other if i in group else one).solution[row, operand].item() for i, operand in enumerate(operands)]
            assert value == sum(held) % 11
    assert [mechanism.listed(group, range(3)) for group in ((), (1,), (0, 2), (0, 1, 2))] == ["none", "2", "1, 3", "all"]


def test_exchanges_say_whose_values_a_network_takes(seed, monkeypatch):
    """A network that takes operand i from where the exchange was made, and all three from layer 2."""
    drawn = sample_graphs(900, 6, torch.Generator().manual_seed(2))
    monkeypatch.setattr(seeds.ReasoningSeed, "graphs", lambda *_: drawn)

    graphs, others = mechanism.two_runs(seed)
    sums, (factors, _, places) = mechanism.sums_of_groups(graphs, others), mechanism.before_the_last(graphs)

    def value_at(network, asked, at, alter):
        layer, heads, where, given = alter
        if torch.equal(given, factors.roll(1, 0)):  # of another graph
            return sums[:, 0]
        assert torch.equal(given, mechanism.before_the_last(others)[0]) and torch.equal(asked, factors)
        if layer == 1:
            return sums[:, mechanism.GROUPS.index((0, 1, 2) if len(heads) == 2 else ())]
        moved = [(i,) for i in range(3) if torch.equal(where, places[:, i])]
        return sums[:, mechanism.GROUPS.index(moved[0] if moved else ())]

    monkeypatch.setattr(analysis, "readings", lambda network, asked, layer, at: asked)
    monkeypatch.setattr(analysis, "exchange", lambda *alter: alter)
    monkeypatch.setattr(analysis, "value_at", value_at)
    at_operands = mechanism.exchanges_at_operands(seed, "discrete")
    for age in ("fresh", "older"):
        assert at_operands[2, age, "2"] == 1 and at_operands[3, age, "none"] == 0
    at_sum = mechanism.exchanges(seed, "untrained")
    assert at_sum[1, 2, "all", "none"] == at_sum[2, 0, "none", "none"] == at_sum[2, 2, "all", "all"] == 1
    assert at_sum[2, 1, "2", "all"] == 0
    assert mechanism.exchanges_of_graphs(seed, "corrected") == {(): 1}


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
    monkeypatch.setattr(analysis, "value_at", lambda network, factors, here: torch.tensor(
        [taken(row, place, order) for row, place in zip(factors, here.tolist())]))  # fmt: skip
    found, number = mechanism.sources(seed, "discrete"), mechanism.numbers_of_graphs(seed)
    assert number["mentioned",] > 20 and number["not mentioned",] > 20
    if order[0] != "mentions":  # of these some are empty yet
        for place in ("operand", "definition", "mentions"):
            assert mechanism.sources_that_differ(seed, "corrected")[place,] == float(place == order[0])
    for (words, changed, measure), share in found.items():
        there = {"operand", "definition"} | ({"mentions"} if words == "mentioned" else set())
        decides = next(place for place in order if place in there)
        if decides != "mentions" or "definition" in changed.split(" and "):  # of mentions some are empty yet
            assert share == float((decides in changed.split(" and ")) == (measure == "moves"))


def test_a_sum_that_is_empty_neither_moves_nor_stays(seed, monkeypatch):
    empty = seed.run("discrete").config.vocabulary.empty
    monkeypatch.setattr(analysis, "value_at", lambda network, factors, here: torch.full_like(here, empty))
    assert set(mechanism.sources(seed, "discrete").values()) == {0}


def test_silences_are_by_the_number_of_operands(seed, monkeypatch):
    """A network that is right where nothing is silent; else of one operand as layer 1 is, and of two as layer 2 is."""
    graphs = seed.graphs(1)
    parts = iter(mechanism.pieces(graphs) * 5)

    def value_at(network, factors, here, alter):
        (layer, heads), one = alter, next(parts)
        right = one.adds[:, -1] == 1 + layer if heads else torch.ones(len(here), dtype=torch.bool)
        return one.solution[:, -1].where(right, -1)

    monkeypatch.setattr(analysis, "value_at", value_at)
    monkeypatch.setattr(analysis, "silent_heads", lambda layer, heads, real: (layer, heads))
    assert graphs.adds[:, -1].unique().tolist() == [0, 1, 2, 3]
    assert mechanism.last_nodes(seed, "discrete") == {(1,): 1, (2,): 1, (3,): 1}
    found = mechanism.silences(seed, "discrete")
    assert found == {(layer, head, many): float(many == layer) for layer, head, many in product((1, 2), (1, 2), (1, 2, 3))}


def test_counts_give_nodes_what_nodes_that_add_another_number_read(seed, monkeypatch):
    """A network that is right where head 2 of layer 2 reads the number of operands, times a number of the graph's own."""
    drawn = seed.graphs(1)
    asked = {many: drawn.rows(drawn.adds[:, -1] == many) for many in (1, 2, 3)}

    def many_of(factors):  # which of these graphs they are
        return next(many for many, graphs in asked.items() if torch.equal(mechanism.before_the_last(graphs)[0], factors))

    def value_at(network, factors, here, alter):
        (layer, heads, _, given), many = alter, many_of(factors)
        right = (given[:, 0] / 10).round() == many if layer == 1 and 1 in heads else torch.tensor(True)
        return torch.where(right.expand(len(here)), asked[many].solution[:, -1], -1)

    monkeypatch.setattr(analysis, "readings", lambda network, factors, layer, at: (
        torch.linspace(-1, 1, len(at)) + 10 * many_of(factors))[:, None].expand(-1, 2))  # fmt: skip
    monkeypatch.setattr(analysis, "exchange", lambda *alter: alter)
    monkeypatch.setattr(analysis, "value_at", value_at)
    found, P = mechanism.counts(seed, "discrete"), drawn.vocabulary.modulus
    for kind, told, many in product(("mean", "shift"), (1, 2, 3), (1, 2, 3)):
        assert found[2, "2", kind, told, many, "right"] == found[2, "all", kind, told, many, "right"] == float(told == many)
        assert found[2, "1", kind, told, many, "right"] == found[1, "2", kind, told, many, "right"] == 1
    copies = asked[1].solution[:, -1]
    for told in (1, 2, 3):  # whatever head 1 is told, the answer is the number itself
        assert found[2, "1", "shift", told, 1, "times"] == (told * copies % P == copies).double().mean().item()


def test_sums_unread_are_right_or_lack_one_operand(seed, monkeypatch):
    """A network that says what stands here for each graph in turn: the sum, the sum without an operand, and nothing."""
    drawn = seed.graphs(1)
    graphs = drawn.rows(drawn.adds[:, -1] == 3)
    true, turn, P = graphs.solution[:, -1], torch.arange(len(graphs.names)) % 3, graphs.vocabulary.modulus
    lacking = (true - graphs.solution.gather(1, graphs.operands[:, -1, 1:2])[:, 0]) % P
    said = torch.where(turn == 0, true, torch.where(turn == 1, lacking, P))
    monkeypatch.setattr(analysis, "value_at", lambda network, factors, here, alter: said if alter == (1, 0, [5]) else None)
    monkeypatch.setattr(analysis, "unread", lambda layer, head, here, back: (layer, head, back))
    found = mechanism.sums_unread(seed, "discrete", 2, 1, 3, [5])
    assert found["right"] == (said == true).double().mean().item()
    without = [{(total - value) % P for value in row} for total, row in zip(
        true.tolist(), graphs.solution.gather(1, graphs.operands[:, -1]).tolist())]  # fmt: skip
    assert found["all but one"] == sum(each in some for each, some in zip(said.tolist(), without)) / len(without)


@pytest.mark.parametrize("counted_as", ["terms", "factor"])
def test_a_head_that_is_told_another_count_answers_by_terms_or_by_a_factor(seed, monkeypatch, counted_as):
    """A network that adds as many terms as head 2 of layer 1 reads, the first of them oftener, or so many times the mean."""
    drawn, P = sample_graphs(300, 6, torch.Generator().manual_seed(3)), 11
    monkeypatch.setattr(seeds.ReasoningSeed, "graphs", lambda *_: drawn)

    def of(factors):  # how many the graphs add, and their last nodes
        for many in (1, 2, 3):
            graphs = drawn.rows(drawn.adds[:, -1] == many)
            rows = {tuple(row): i for i, row in enumerate(mechanism.before_the_last(graphs)[0].flatten(1).tolist())}
            if tuple(factors[0].flatten().tolist()) in rows:
                return many, graphs.rows([rows[tuple(row)] for row in factors.flatten(1).tolist()])

    def value_at(network, factors, here, alter):
        (layer, heads, _, given), (many, graphs) = alter, of(factors)
        assert (layer, heads) == (0, [1]) and len(given) == len(here)
        true, told = graphs.solution[:, -1], given[:, 1].round().long()
        first = graphs.solution.gather(1, graphs.operands[:, -1, :1])[:, 0]
        return (true + (told - many) * first if counted_as == "terms" else true * told * pow(many, -1, P)) % P

    monkeypatch.setattr(analysis, "readings", lambda network, factors, layer, at: (
        torch.linspace(-0.1, 0.1, len(at)) + of(factors)[0])[:, None].expand(-1, 2))  # fmt: skip
    monkeypatch.setattr(analysis, "exchange", lambda *alter: alter)
    monkeypatch.setattr(analysis, "value_at", value_at)
    head = mechanism.ToldHead(seed, "discrete", 1, 2)
    for many, told in ((1, 2), (2, 1), (2, 3), (3, 2)):
        assert head.shift(many, told).item() == pytest.approx(told - many, abs=1e-5)
        found, still = head.answers(many, told), head.answers(many, told, torch.tensor(0.0))
        assert found["nodes"] > 0 and found["right"] == 0 and found[counted_as] == 1
        assert many == 1 or found["terms"] + found["factor"] == 1
        assert still == {"right": 1, "terms": 0, "factor": 0, "nodes": found["nodes"]}


def test_attention_is_summed_over_tokens_of_a_kind(seed, monkeypatch):
    """Weights that stand for their place in the text: 2 ** place in the order of the row, summed by reading the words."""
    graphs = seed.graphs(1)
    tokens = write(graphs)
    weights = 2.0 ** torch.arange(tokens.node.shape[1], dtype=torch.float64)
    pattern = weights.expand(len(tokens.node), 2, len(weights), -1)
    monkeypatch.setattr(mechanism, "run", lambda *_: {f"blocks.{layer}.attn.hook_pattern": pattern for layer in range(2)})
    found, sums = mechanism.attention_weights(seed, "corrected"), {}
    for row in range(len(graphs.names)):
        words, here = text(tokens.factors[row], seed.run("discrete").config.vocabulary), int(tokens.definitions[row, -1])
        start = max((place for place in range(here) if words[place] == "[sep]"), default=-1)
        places = {"operands": [], "ADD": [], "=": [here - 1], "itself": [here], "before": [start]}
        for place in range(start + 1, here - 1):
            places["ADD" if words[place] == "ADD" else "operands"].append(place)
        if words[here - 2].startswith("x"):  # and is no number
            for kind, of_kind in places.items():
                key = len(places["operands"]), kind
                sums.setdefault(key, []).append(sum(weights[place].item() for place in of_kind))
    for (many, kind), each in sums.items():
        assert found[2, 2, f"sum of {many}", kind] == pytest.approx(sum(each) / len(each))
    shares = [found[1, 1, "older operand", key] for key in ("itself", "definition", "mentions")]
    assert 0 < shares[1] < shares[0] and 0 < shares[2] < shares[0]  # the operand's own token stands last


def test_the_table_of_waves_knows_a_sum_from_two_operands(seed, monkeypatch):
    x, y = torch.meshgrid(torch.arange(5.0), torch.arange(5.0), indexing="ij")
    places = {"apart": (2 * math.pi * x / 5).cos() + (2 * math.pi * y / 5).sin(), "sum": (2 * math.pi * (x + y) / 5).cos()}
    places |= {"logits": places["sum"], "neurons": places["apart"]}
    monkeypatch.setattr(analysis, "along_the_sum", lambda network: {name: each[..., None] for name, each in places.items()})
    known = {k: analysis.waves(5, [k]) for k in (1, 2)}
    said = lambda network, out, seen: torch.full((5, 5), sum(k for k in known if known[k].equal(out)) or -1)  # noqa: E731
    monkeypatch.setattr(analysis, "sums_without", said)
    found = mechanism.waves(seed, "discrete")
    shares = [found[place, kind] for place in ("apart", "sum") for kind in ("one operand", "sum")]
    assert shares == pytest.approx([1, 0, 0, 1], abs=1e-6)
    best, relabelled = found["apart", "best frequency"], found["apart", "best frequency, relabelled"]
    assert best == pytest.approx(1) and 0.5 < relabelled < 1
    waves, kept = mechanism.frequencies(seed, "discrete"), mechanism.largest_frequencies(seed, "discrete")
    assert [waves[1, each] for each in ("sum in logits", "operand in neurons")] == pytest.approx([1, 1])
    assert waves[2, "sum in logits"] == pytest.approx(0, abs=1e-6)
    assert waves[2, "right without"] == 0.2 and waves[2, "right without, relabelled"] == 0  # of 25 sums five are 2
    assert kept == {(1, "right"): 0.2, (1, "right, as large"): 0}  # the wave at 2 is the smaller one
