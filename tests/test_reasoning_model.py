"""Reasoning in a loop: the block and the arms against slow versions, and step by step against all at once."""

import math
from itertools import islice

import pytest
import torch
from loops import random_network, rng, some_graphs
from torch.nn.functional import layer_norm

from assign_add_lib.companions.reasoning.data import chain_of, write
from assign_add_lib.companions.reasoning.model import REACH, Block, continue_chain, iterate, run


def slow_layer(w, resid):
    """One layer on one row of tokens: every pair of tokens scored by itself, what comes later left out."""
    normal = layer_norm(resid, (16,), w["norm_attention.weight"], w["norm_attention.bias"])
    q, k, v = (normal @ w["qkv.weight"].T + w["qkv.bias"]).split(16, 1)
    mixed = torch.zeros_like(resid)
    for head in range(2):
        own = slice(8 * head, 8 * head + 8)
        for i in range(len(resid)):
            bias = [float(w["bias"][head, min(i - j, REACH)]) for j in range(i + 1)]
            scores = [float(q[i, own] @ k[j, own]) / math.sqrt(8) + bias[j] for j in range(i + 1)]
            weights = torch.tensor(scores, dtype=torch.float64).softmax(0)
            mixed[i, own] = weights @ v[: i + 1, own]
    resid = resid + mixed @ w["out.weight"].T + w["out.bias"]
    normal = layer_norm(resid, (16,), w["norm_mlp.weight"], w["norm_mlp.bias"])
    return resid + (normal @ w["mlp.0.weight"].T + w["mlp.0.bias"]).clamp(min=0) @ w["mlp.2.weight"].T + w["mlp.2.bias"]


def test_a_block_is_two_layers_and_a_norm_written_out():
    made, tokens = random_network(), write(some_graphs(4))
    resid = made.embed(tokens.factors)
    fast = made(resid)
    for row in range(len(resid)):
        slow = resid[row]
        for layer in made.blocks[0].layers:
            slow = slow_layer(dict(layer.named_parameters()), slow)
        slow = layer_norm(slow, (16,), made.blocks[0].norm.weight, made.blocks[0].norm.bias)
        torch.testing.assert_close(fast[row], slow, atol=1e-9, rtol=0)
    assert tokens.factors.shape[1] > REACH + 2  # some distances share a bias


def test_what_stands_at_each_site_is_what_its_name_says():
    made, tokens = random_network(), write(some_graphs())
    sites, before = run(made, tokens.factors), made.embed(tokens.factors)
    torch.testing.assert_close(sites["ln_final.hook_normalized"], made(before))
    for number, layer in enumerate(made.blocks[0].layers):
        at = {name.removeprefix(f"blocks.{number}."): value for name, value in sites.items()}
        values = layer.queries_keys_values(before)[2]
        torch.testing.assert_close(at["attn.hook_attn_scores"].softmax(-1), at["attn.hook_pattern"])
        torch.testing.assert_close((at["attn.hook_pattern"] @ values).transpose(1, 2), at["attn.hook_z"])
        torch.testing.assert_close(before + layer.out(at["attn.hook_z"].flatten(2)), at["hook_resid_mid"])
        torch.testing.assert_close(at["mlp.hook_pre"].relu(), at["mlp.hook_post"])
        before = at["hook_resid_post"]
        torch.testing.assert_close(at["hook_resid_mid"] + layer.mlp[2](at["mlp.hook_post"]), before)


def test_what_is_altered_goes_on_and_what_stands_before_stays():
    made, (one, other) = random_network(), (write(some_graphs(seed=seed)).factors[:, :20] for seed in (1, 2))
    own, theirs = run(made, one), run(made, other)
    for place, site in enumerate(own):
        noise = torch.randn(own[site].shape, generator=rng(3), dtype=torch.float64)
        altered = list(run(made, one, {site: noise.add}).values())
        assert all(map(torch.equal, altered[:place], own.values())) and torch.equal(altered[place], own[site] + noise)
        assert not torch.allclose(altered[-1], own["ln_final.hook_normalized"])
    for site in ("hook_embed", "blocks.0.hook_resid_mid", "blocks.1.hook_resid_post"):
        swapped = run(made, one, {site: lambda _, site=site: theirs[site]})
        assert torch.equal(swapped["ln_final.hook_normalized"], theirs["ln_final.hook_normalized"])
    with pytest.raises(ValueError, match="there is no site hook_nowhere; there are: hook_embed, "):
        run(made, one, {"hook_nowhere": lambda value: value})


def test_a_loop_is_the_block_applied_again():
    made, factors = random_network(), write(some_graphs()).factors
    one, two, three = islice(iterate(made, made.embed(factors), discrete=False), 3)
    torch.testing.assert_close(three, made(made(made(made.embed(factors)))))
    first, second = islice(iterate(made, made.embed(factors), discrete=True), 2)
    torch.testing.assert_close(first, one)
    read = torch.stack([head(one).argmax(2) for head in made.unembeddings], 2)
    assert torch.equal(made.tokens(one), read)
    torch.testing.assert_close(second, made(sum(table.weight[read[..., i]] for i, table in enumerate(made.embeddings))))
    assert not torch.allclose(second, two)


def test_what_is_written_step_by_step_is_what_is_likeliest_all_at_once():
    """Each token of the chain is the likeliest one after all that stands before it, in one pass over the whole."""
    made, batch = random_network(blocks=3), some_graphs()
    made.embeddings[1].weight.mul_(5)  # so that what is written depends on what was
    start = torch.cat([write(batch).factors, chain_of(batch, batch.solution)[:, :1]], 1)
    written = continue_chain(made, start, 12)
    whole = made(made.embed(torch.cat([start, written[:, :-1]], 1)))
    assert torch.equal(made.tokens(whole[:, start.shape[1] - 1 :]), written)
    assert len({tuple(token) for token in written.flatten(0, 1).tolist()}) > 3  # no test of a constant


def test_mimetic_attention_starts_by_looking_for_its_like():
    """With equal queries and keys, scaled twofold; and outputs that take the values back."""
    torch.manual_seed(0)
    block, plain = Block(16, 2, 24, mimetic=True), Block(16, 2, 24, mimetic=False)
    for layer, other in zip(block.layers, plain.layers):
        q, k, v = layer.qkv.weight.chunk(3)
        assert torch.equal(q, k) and torch.equal(layer.out.weight, v.T)
        assert not torch.equal(*other.qkv.weight.chunk(3)[:2])
        assert q.std().item() == pytest.approx(2 * other.qkv.weight.chunk(3)[0].std().item(), rel=0.2)
