"""Reasoning in a loop: what is measured inside, against slow versions and networks whose inside is known."""

from copy import deepcopy
from itertools import product

import pytest
import torch
from loops import SMALL, random_network, rng, some_graphs

from assign_add_lib.companions.reasoning import analysis
from assign_add_lib.companions.reasoning.data import FACTORS, graphs_of, text, write
from assign_add_lib.companions.reasoning.model import run
from assign_add_lib.companions.reasoning.training import at_definitions, iterations


@pytest.fixture(scope="module")
def network():
    return random_network()


@pytest.mark.parametrize("arm", ["continuous", "discrete"])
def test_wrong_latents_are_those_of_another_run_and_all_else_goes_on(network, arm):
    one, generator = some_graphs(40), rng(4)
    found = analysis.disturbed(network, arm, one, 2, 0.5, 2, generator)
    again = rng(4)
    other, tokens = analysis.renumbered(one, again), write(one)
    hits = torch.rand(one.names.shape, generator=again) < 0.5
    latents = []
    for each in (one, other):
        resid = network.embed(write(each).factors)
        for _ in range(2):
            ended = network(resid)
            resid = network.embed(network.tokens(ended)) if arm == "discrete" else ended
        latents.append((resid, network.value(at_definitions(ended, tokens)).argmax(2)))
    (own, was), (donor, wrong) = latents
    hits &= was != wrong
    assert hits.any() and not hits.all()
    for row in range(40):
        for node in range(6):
            if hits[row, node]:
                own[row, tokens.definitions[row, node]] = donor[row, tokens.definitions[row, node]]
    assert torch.equal(found[0], torch.where(hits, wrong, was))
    assert torch.equal(found[1:], iterations(network, arm, tokens, own, 2))


def test_heads_add_up_to_what_attention_adds(network):
    tokens, row = write(some_graphs()), torch.arange(12)
    here, sites = tokens.definitions[:, 2], run(network, tokens.factors)
    found, before = analysis.head_outputs(network, tokens.factors, here).sum(2), sites["hook_embed"]
    for number, layer in enumerate(network.blocks[0].layers):
        added = sites[f"blocks.{number}.hook_resid_mid"] - before - layer.out.bias
        torch.testing.assert_close(found[:, number], added[row, here])
        before = sites[f"blocks.{number}.hook_resid_post"]


def test_operand_variances_are_over_stand_ins(network):
    """One graph and one stand-in at a time, the variance by hand."""
    drawn = some_graphs(200, 6, 6)
    chosen = drawn.rows((drawn.operands[:, -1] >= 0).all(1)).rows(slice(5))
    found = analysis.operand_variances(network, chosen)
    slow = torch.zeros(2, 2, 3, dtype=torch.float64)
    for row in range(5):
        one = chosen.rows(slice(row, row + 1))
        held = one.solution.clone()
        held[:, -1] = 5
        for operand in range(3):
            others = {int(each) for place, each in enumerate(one.operands[0, -1]) if place != operand}
            seen = []
            for node in set(range(5)) - others:
                changed = one.operands.clone()
                changed[0, -1, operand] = node
                tokens = write(one._replace(operands=changed))
                seen.append(analysis.head_outputs(network, tokens.holding(held, held), tokens.definitions[:, -1])[0])
            slow[:, :, operand] += torch.stack(seen).var(0, correction=0).sum(2)
    torch.testing.assert_close(found, slow / 5)


def test_gains_are_ratios_of_spreads(network):
    """Head by head: embeddings less their mean go through the norm's gain and the values to the output."""
    for layer in network.blocks[0].layers:
        found = analysis.factor_gains(network, layer)
        for head, (factor, embedding) in product(range(2), enumerate(network.embeddings)):
            own, spread = slice(8 * head, 8 * head + 8), embedding.weight - embedding.weight.mean(0)
            through = (spread * layer.norm_attention.weight) @ layer.qkv.weight[32:][own].T @ layer.out.weight[:, own].T
            torch.testing.assert_close(found[head, factor], through.norm() / spread.norm())


def test_before_the_last_all_is_known_that_the_last_node_needs():
    one = some_graphs(60, 8)
    factors, here, places = analysis.before_the_last(one)
    for row, (words, operands) in enumerate(zip((text(each, SMALL) for each in factors), one.operands[:, -1].tolist())):
        present = [each for each in operands if each >= 0]
        assert words[here[row]] == f"x{one.names[row, -1]}"  # it holds nothing yet
        for operand, place in zip(present, places[row].tolist()):
            fresh = one.depths[row, operand] == one.depths[row, -1] - 1
            value = "" if fresh else f":{one.solution[row, operand]}"
            assert words[place] == f"x{one.names[row, operand]}{value}"
            definition = write(one).definitions[row, operand]
            assert words[definition] == f"x{one.names[row, operand]}:{one.solution[row, operand]}"
        assert places[row, len(present) :].tolist() == [here[row]] * (3 - len(present))


@pytest.mark.parametrize(("layer", "heads"), [(0, [0, 1]), (1, [1]), (1, [])])
def test_an_exchange_moves_what_these_heads_read_at_this_place_and_nothing_else(network, layer, heads):
    one = some_graphs(150)
    other = analysis.renumbered(one, rng(5))
    (factors, here, places), (donor, *_) = analysis.before_the_last(one), analysis.before_the_last(other)
    at, site = places[:, 0] if layer == 0 else here, f"blocks.{layer}.attn.hook_z"
    given, theirs = analysis.readings(network, donor, layer, at), run(network, donor)[site]

    def moved(read):
        read = read.clone()
        for row, head in product(range(150), heads):
            read[row, at[row], head] = theirs[row, at[row], head]
        return read

    ended = network.value(run(network, factors, {site: moved})["ln_final.hook_normalized"]).argmax(2)
    found = analysis.value_at(network, factors, here, analysis.exchange(layer, heads, at, given)).tolist()
    assert found == [ended[row, place].item() for row, place in enumerate(here)]
    assert (found != analysis.value_at(network, factors, here).tolist()) == bool(heads)


def test_an_unread_place_gives_its_weight_to_the_others_at_this_place_and_in_this_head_alone(network):
    factors, here, _ = analysis.before_the_last(some_graphs(20))
    site, heads = "blocks.1.attn.hook_pattern", (0, 1)
    own, found = (run(network, factors, each)[site] for each in ({}, analysis.unread(1, 1, here, (3, 5))))
    for row, head, query in product(range(20), heads, range(factors.shape[1])):
        weights = own[row, head, query].clone()
        if head == 1 and query == here[row]:
            weights[[query - 3, query - 5]] = 0
            weights /= weights.sum()
        torch.testing.assert_close(found[row, head, query], weights)


@pytest.mark.parametrize("layer", [0, 1])
def test_a_silenced_head_reads_its_mean_over_all_tokens_of_all_graphs(network, layer):
    tokens, site = write(some_graphs(30)), f"blocks.{layer}.attn.hook_z"
    read = run(network, tokens.factors)[site]  # (graph, position, head, d_head)
    silent = read.clone()
    silent[:, :, 1] = torch.stack([read[row, place, 1] for row, place in tokens.real.nonzero().tolist()]).mean(0)
    torch.testing.assert_close(analysis.silent_heads(layer, [1], tokens.real)[site](read), silent)


@pytest.mark.parametrize("which", analysis.MENTIONS)
def test_without_mentions_layer_1_reads_definitions_and_itself(network, which):
    """One graph at a time, with attention written out."""
    one, network = some_graphs(12, 8, 6), deepcopy(network)
    tokens, head = write(one), network.unembeddings[FACTORS.index("value")]
    for layer in network.blocks[0].layers:
        layer.out.weight *= 20  # or it reads too little to matter
        layer.qkv.weight[:32] *= 4  # and too much alike
    head.bias -= head(network(network.embed(tokens.factors))).mean((0, 1))  # no value is the likeliest everywhere
    found = analysis.without_mentions(network, one, which)
    for row in range(12):
        n = int(tokens.real[row].sum())
        factors, node, defines = tokens.factors[row : row + 1, :n], tokens.node[row, :n], tokens.defines[row, :n]

        def hide(scores, n=n, node=node, defines=defines):
            for query, key in product(range(n), range(n)):
                same = node[key] == node[query]
                mention = key < query and node[key] >= 0 and not defines[key]
                if mention and {"all": True, "own": same, "other": not same}[which]:
                    scores[..., query, key] = -torch.inf
            return scores

        alter = {"blocks.0.attn.hook_attn_scores": hide}
        for _ in range(int(one.depth[row])):
            factors = network.tokens(run(network, factors, alter)["ln_final.hook_normalized"])
        assert factors[0, tokens.definitions[row], 3].tolist() == found[row].tolist()
    whole = iterations(network, "discrete", tokens, network.embed(tokens.factors), 8)
    assert not torch.equal(found, whole[one.depth - 1, torch.arange(12)])


def test_along_the_sum_is_the_network_on_every_pair(network):
    found = analysis.along_the_sum(network)
    assert {name: tuple(each.shape[:2]) for name, each in found.items()} == dict.fromkeys(found, (5, 5))
    torch.testing.assert_close(found["after the ReLU"], found["neurons"].clamp(min=0))
    for x, y in product(range(5), range(5)):
        one = graphs_of([[], [], [0, 1]], 1, rng(0), SMALL)._replace(names=torch.tensor([[0, 1, 2]]))
        held = torch.tensor([[x, y, 5]])
        resid = network.embed(write(one._replace(numbers=held * one.leaf)).holding(held, held))
        torch.testing.assert_close(found["logits"][x, y], network.value(network(resid))[0, 12, :5])
        torch.testing.assert_close(found["stream before"][x, y], network.blocks[0].layers[0](resid)[0, 12])
    last = network.blocks[0].layers[1]
    after = found["stream after"] + found["after the ReLU"] @ last.mlp[2].weight.T + last.mlp[2].bias
    torch.testing.assert_close(network.value(network.blocks[0].norm(after))[..., :5], found["logits"])


def test_sums_without_a_frequency_are_those_of_neurons_fitted_without_it(network):
    """By least squares: what remains of each neuron is its residual after a fit of the waves of x, then of y."""
    sharp = deepcopy(network)
    sharp.embeddings[FACTORS.index("value")].weight *= 5
    sharp.blocks[0].layers[1].mlp[2].weight *= 20
    found, k, angle = analysis.along_the_sum(sharp), 2, 2 * torch.pi * 2 * torch.arange(5, dtype=torch.float64) / 5
    sharp.unembeddings[FACTORS.index("value")].bias[:5] -= found["logits"].mean((0, 1))  # no sum is the likeliest everywhere
    wave = torch.stack([angle.cos(), angle.sin()], 1)

    def residual(table):
        return table - (wave @ torch.linalg.lstsq(wave, table.flatten(1)).solution).view_as(table)

    own = torch.arange(5)
    for order in (own, torch.tensor([3, 0, 4, 1, 2])):
        neurons = residual(residual(found["neurons"][order]).transpose(0, 1)[order]).transpose(0, 1)
        neurons = neurons[order.argsort()][:, order.argsort()].flatten(0, 1)[:, None]
        altered = analysis.along_the_sum(sharp, {"blocks.1.mlp.hook_pre": neurons.expand_as})
        without = analysis.sums_without(sharp, analysis.waves(5, [k])[order.argsort()])
        assert torch.equal(without, altered["logits"].argmax(2))
        whole = analysis.sums_without(sharp, analysis.waves(5, []))
        assert torch.equal(whole, analysis.along_the_sum(sharp)["logits"].argmax(2)) and not torch.equal(without, whole)


def test_directions_as_large_hold_as_much_and_are_others():
    table = torch.randn(11, 11, 30, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    varies = analysis.along_operands(table.cumsum(0).cumsum(1))
    torch.testing.assert_close(varies.mean(0), torch.zeros(60, dtype=torch.float64))
    out = analysis.waves(11, [4, 5])
    one, other = (analysis.as_large(varies, out, torch.Generator().manual_seed(i)) for i in (2, 3))
    for each in (one, other):
        torch.testing.assert_close(each.T @ each, torch.eye(4, dtype=torch.float64))
        assert each.sum(0).abs().max() < 1e-9  # the mean over the numbers stays
        torch.testing.assert_close((each.T @ varies).square().sum(), (out.T @ varies).square().sum())
    assert not torch.allclose(one @ one.T, other @ other.T)


def test_best_frequencies_are_shares_of_single_waves():
    angle = 2 * torch.pi * torch.arange(11, dtype=torch.float64) / 11
    table = torch.stack([(3 * angle).sin(), 2 * angle.cos() + (4 * angle + 1).cos(), 0.01 * angle.cos()], 1)
    torch.testing.assert_close(analysis.best_frequencies(table), torch.tensor([1, 0.8], dtype=torch.float64))
