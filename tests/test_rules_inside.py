"""Inside a network of rows: waves against known ones, exchanges against rows put together by hand."""

import pytest
import torch

from assign_add_lib.analysis.fourier import logarithms
from assign_add_lib.companions.rules import inside
from assign_add_lib.companions.rules.analysis import chosen_rows, factor_of, matched_at
from assign_add_lib.companions.rules.data import Rows, all_pairs, draw_rows
from assign_add_lib.companions.rules.model import Network

EVERY = torch.ones(49, dtype=torch.bool)


def rng(seed):
    return torch.Generator().manual_seed(seed)


def network(depth=2):
    torch.manual_seed(0)
    return Network(7, depth, 16, 2, std=0.4).requires_grad_(False)


def some_rows(n=40, shots=5, seed=0):
    return draw_rows(n, shots, 7, all_pairs(7), EVERY, rng(seed))


def matched(n=60, shots=5, example=1, seed=0):
    generator = rng(seed)
    return chosen_rows(n, lambda many: draw_rows(many, shots, 7, all_pairs(7), EVERY, generator), matched_at(example))


@pytest.mark.parametrize("group, frequency", [("sums", 1), ("sums", 3), ("products", 1), ("products", 2), ("products", 3)])
def test_waves_find_the_frequency_that_was_put_in(group, frequency):
    turn = torch.arange(7) if group == "sums" else logarithms(7)
    angle = 2 * torch.pi * frequency * turn / (7 if group == "sums" else 6)
    table = torch.stack([angle.cos(), 2 * angle.sin(), torch.ones(7)], 1)
    shares = inside.waves(table, group)
    assert len(shares) == 3 and shares.sum() == pytest.approx(1) and shares[frequency - 1] == pytest.approx(1)
    other = inside.waves(table, "products" if group == "sums" else "sums")
    assert other.max() < 0.95  # a wave of the one is none of the other


def test_relabelling_keeps_0_and_the_values():
    table = torch.arange(7.0)[:, None].repeat(1, 2)
    drawn = inside.relabelled(table, rng(0), 50)
    assert drawn.shape == (50, 7, 2) and not drawn[:, 0].any()
    assert torch.equal(drawn[..., 0].sort(1).values, torch.arange(7.0).expand(50, -1)) and len(drawn[..., 0].unique(dim=0)) > 40


def test_an_unaltered_pass_is_the_network():
    net, rows = network(), some_rows()
    logits = inside.passed(net, rows.tokens, lambda place, depth, values: values)
    torch.testing.assert_close(logits, net(rows.tokens)[:, -1])
    assert len(inside.streams(net, rows.tokens)) == 3


def test_head_outputs_add_up_to_what_attention_writes():
    net, rows = network(), some_rows()
    written, resid = inside.head_outputs(net, rows.tokens), net.embed(rows.tokens)
    for layer, of_layer in zip(net.layers, written):
        read = layer.read(resid)
        torch.testing.assert_close(of_layer.sum(0), layer.out(read.transpose(1, 2).flatten(2))[:, -2])
        alone = read.clone()
        alone[:, 1] = 0
        torch.testing.assert_close(of_layer[0], layer.out(alone.transpose(1, 2).flatten(2))[:, -2])
        resid = layer(resid)


@pytest.mark.parametrize("heads", [[1], [0, 1]])
def test_silenced_heads_read_their_means(heads):
    net, rows = network(depth=1), some_rows(200)
    layer = net.layers[0]
    resid = net.embed(rows.tokens)
    read = layer.read(resid)
    for head in heads:
        read[:, head, -2] = read[:, head, -2].mean(0)
    right = net.read_out(layer.add(resid, read)[:, -2]).argmax(1) == rows.answers[:, -1]
    assert inside.without_heads(net, rows, 1, *heads) == right.double().mean().item()


def test_exchanging_all_positions_gives_the_other_rows_answer():
    net, base, source = network(), matched(seed=1), matched(seed=2)
    said = [net(rows.tokens)[:, -1].argmax(1) for rows in (base, source)]
    for depth in range(3):
        assert torch.equal(inside.after_exchange(net, base, source, depth, slice(None)), said[1])
        assert torch.equal(inside.after_exchange(net, base, source, depth, slice(0, 0)), said[0])
    mixed = base.tokens.clone()
    mixed[:, 3:6] = source.tokens[:, 3:6]
    assert torch.equal(inside.after_exchange(net, base, source, 0, slice(3, 6)), net(mixed)[:, -1].argmax(1))


def test_outcomes_name_what_followed_by_the_causal_model():
    base, source = matched(400, seed=3), matched(400, seed=4)
    c, other_c = (factor_of(rows)[:, 1] for rows in (base, source))
    z, other_z = (rows.answers[:, 1] for rows in (base, source))
    for name, said in {"c z": c * z, "c' z": other_c * z, "c z'": c * other_z, "c' z'": other_c * other_z}.items():
        found = inside.outcomes(said % 7, base, source, 1)
        assert found[name] == 1 and sum(found.values()) == 1
    assert inside.outcomes(base.answers[:, -1], base, source, 1)["c z"] == 1
    other = Rows.solve(7, all_pairs(7)[torch.randint(49, (400,), generator=rng(5))], base.inputs)
    found, differ = inside.outcomes(other.answers[:, -1], base, other, 1), other.answers[:, 1] != base.answers[:, 1]
    assert found == {"c z": 0, "c z'": 1} and 300 < differ.sum() < 400


@pytest.mark.parametrize("p, names", [(5, [0, 1, 2, 3, 4]), (5, [0, 3, 1, 2, 4]), (7, [0, 1, 2, 3, 4, 5, 6])])
def test_groups_hold_what_is_multiples_of_one_another(p, names):
    every, names = inside.triples(p), torch.tensor(names)
    assert len(every) == p * (p * p - 1) and len({*map(tuple, every.tolist())}) == len(every) and (every[:, :2] != 0).any(1).all()
    groups = inside.multiples(every, names).tolist()
    group = dict(zip(map(tuple, every.tolist()), groups))
    assert len(set(groups)) == p * (p + 1)
    named, back = (lambda n: int(names[n])), {int(name): n for n, name in enumerate(names)}
    for one in every.tolist()[::p]:
        alike = {tuple(back[c * named(n) % p] for n in one) for c in range(1, p)}
        assert {each for each in group if group[each] == group[tuple(one)]} == alike


def test_variance_between_groups_is_what_means_explain():
    values, groups = torch.randn(30, 3, generator=rng(6)), torch.randint(4, (30,), generator=rng(7))
    explained = torch.stack([values[groups == group].mean(0) for group in groups])
    left = ((values - explained).square().sum() / (values - values.mean(0)).square().sum()).item()
    assert inside.between(values, groups) == pytest.approx(1 - left, abs=1e-5)
    assert inside.between(groups[:, None].float(), groups) == pytest.approx(1)


def test_the_stream_at_an_example_is_that_of_its_row():
    net, rows, every = network(), some_rows(3, shots=2), inside.triples(7)
    found = inside.after_rows(net, rows, every)
    assert found.shape == (3, 3, len(every), 16)
    for row, example in ((0, 5), (2, 300)):
        tokens = torch.cat([rows.tokens[row], every[example]])[None]
        for depth, resid in enumerate(inside.streams(net, tokens)):
            torch.testing.assert_close(found[depth, row, example], resid[0, -1])


def test_means_over_inputs_are_those_of_a_loop():
    rows = some_rows(400, seed=5)
    outputs = torch.randn(400, 3, generator=rng(0))
    found = inside.over_inputs(outputs, rows)
    for x in range(7):
        for y in range(7):
            asked = [row for row, inputs in enumerate(rows.inputs[:, -1].tolist()) if inputs == [x, y]]
            assert found[x, y].isnan().all() if not asked else torch.allclose(found[x, y], outputs[asked].mean(0), atol=1e-6)


@pytest.mark.parametrize("one, two", [(1, 2), (0, 3), (3, 3), (4, 0)])
def test_the_largest_wave_is_the_one_put_in(one, two):
    log = logarithms(7)
    angle = 2 * torch.pi / 6 * (one * log[:, None] + two * log)
    noise = 0.1 * torch.randn(7, 7, 4, generator=rng(1))
    table = torch.stack([angle.cos(), angle.sin(), angle.cos(), torch.zeros(7, 7)], 2) + noise
    share = inside.largest_wave(table, log)
    inner = table[1:, 1:].flatten(0, 1).double()
    waves = torch.stack([angle[1:, 1:].cos().flatten(), angle[1:, 1:].sin().flatten()], 1).double()
    centred = inner - inner.mean(0)
    fitted = waves @ torch.linalg.pinv(waves, rtol=1e-4) @ centred
    assert share == pytest.approx((fitted.square().sum() / centred.square().sum()).item(), abs=1e-5) and share > 0.9
