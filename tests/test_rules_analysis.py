"""What networks of rows do and what stands inside: each measure against its words, and exchanges against rows by hand."""

import pytest
import torch
from worlds import rng

from assign_add_lib.analysis.fourier import logarithms
from assign_add_lib.companions.rules import analysis
from assign_add_lib.companions.rules.data import KINDS, Rows, all_pairs, draw_rows, draw_where, factors_of_last, kinds_of, matched
from assign_add_lib.companions.rules.model import EVERY, Network
from assign_add_lib.companions.rules.solvers import ratio_matching


def network(depth=2):
    torch.manual_seed(0)
    return Network(7, depth, 16, 2, std=0.4).requires_grad_(False)


def some_rows(n=40, shots=5, seed=0, lines=0):
    return draw_rows(n, shots, 7, all_pairs(7), torch.ones(49, dtype=torch.bool), rng(seed), lines)


def matched_rows(n, seed, example=1):
    generator = rng(seed)
    every = torch.ones(49, dtype=torch.bool)
    return draw_where(lambda rows: matched(rows, example), n, lambda n: draw_rows(n, 5, 7, all_pairs(7), every, generator))


def test_a_wrong_example_moves_ratio_matching_by_its_factor_and_leaves_others():
    """One line, two shots: the example decides.  Ten lines' worth of shots: a vote of several keeps its answer."""
    rows = some_rows(n=400, shots=2, lines=1)
    example, by = torch.zeros(400, dtype=torch.long), torch.randint(1, 7, (400,), generator=rng(4))
    before, kept, moved = analysis.following(ratio_matching, rows, example, by)
    assert before.all() and moved.all() and not kept.any()
    rows = some_rows(n=2000, shots=9, lines=8)
    example, by = torch.randint(8, (2000,), generator=rng(5)), torch.randint(1, 7, (2000,), generator=rng(6))
    other = factors_of_last(rows)[torch.arange(2000), example] == 0
    before, kept, moved = analysis.following(ratio_matching, rows, example, by)
    assert torch.equal(kept[other], before[other]) and not moved[other].any()
    assert 0.2 < moved[~other].double().mean() < 0.8


def test_means_by_kind_are_those_of_a_loop():
    net, rows = network(), some_rows(shots=6, lines=2)
    weights = analysis.patterns_at_questions(net, rows)
    torch.testing.assert_close(weights.sum(3), torch.ones(2, 40, 2))
    found, kinds = analysis.read_by_kind(net, rows), kinds_of(rows)
    for place, kind in enumerate(KINDS[:3]):
        seen = [weights[:, row, :, 3 * shot : 3 * shot + 3] for row, shot in (kinds == place).nonzero().tolist()]
        torch.testing.assert_close(found[kind], torch.stack(seen).mean(0))


def test_head_outputs_add_up_to_what_attention_writes():
    net, rows = network(), some_rows()
    for layer, resid, of_layer in zip(net.layers, analysis.streams(net, rows.tokens), analysis.head_outputs(net, rows.tokens)):
        q, k, v = layer.queries_keys_values(resid[:, :-1])
        read = torch.softmax(q @ k.transpose(2, 3) / 8**0.5, 3)[:, :, -1:] @ v  # (row, head, 1, d_head), of the last question
        torch.testing.assert_close(of_layer.sum(0), layer.out(read.flatten(1)))
        read[:, 1] = 0
        torch.testing.assert_close(of_layer[0], layer.out(read.flatten(1)))


def test_silenced_heads_write_their_means():
    net, rows = network(depth=1), some_rows(200)
    mean = analysis.head_outputs(net, rows.tokens)[0]
    before = net.embed(rows.tokens)[:, analysis.LAST]
    for heads in ([1], [0, 1]):
        written = torch.stack([mean[head].mean(0).expand(200, -1) if head in heads else mean[head] for head in range(2)])
        middle = before + written.sum(0)
        [layer] = net.layers
        logits = net.read_out(middle + layer.down(layer.up(layer.norm_mlp(middle)).relu()))
        assert torch.equal(analysis.without_heads(net, rows, 0, heads), logits.argmax(1) == rows.answers[:, -1])


def test_exchanging_all_positions_gives_the_other_rows_answer():
    net, base, source = network(), matched_rows(60, 1), matched_rows(60, 2)
    said = [net(rows.tokens)[:, -1].argmax(1) for rows in (base, source)]
    for depth in range(3):
        assert torch.equal(analysis.after_exchange(net, base, source, depth, EVERY), said[1])
        assert torch.equal(analysis.after_exchange(net, base, source, depth, slice(0, 0)), said[0])
    mixed = base.tokens.clone()
    mixed[:, 3:6] = source.tokens[:, 3:6]
    assert torch.equal(analysis.after_exchange(net, base, source, 0, slice(3, 6)), net(mixed)[:, -1].argmax(1))


def test_outcomes_name_what_followed_by_the_causal_model():
    base, source = matched_rows(400, 3), matched_rows(400, 4)
    c, other_c = (factors_of_last(rows)[:, 1] for rows in (base, source))
    z, other_z = (rows.answers[:, 1] for rows in (base, source))
    for name, said in {"c z": c * z, "c' z": other_c * z, "c z'": c * other_z, "c' z'": other_c * other_z}.items():
        found = analysis.outcomes(said % 7, base, source, 1)
        assert found[name] == 1 and sum(found.values()) == 1
    other = Rows.solve(7, all_pairs(7)[torch.randint(49, (400,), generator=rng(5))], base.inputs)
    assert analysis.outcomes(other.answers[:, -1], base, other, 1) == {"c z": 0, "c z'": 1}


def test_means_over_inputs_are_those_of_a_loop():
    rows, outputs = some_rows(400, seed=5), torch.randn(400, 3, generator=rng(0))
    found = analysis.over_inputs(outputs, rows)
    for x, y in all_pairs(7).tolist():
        mean = outputs[(rows.inputs[:, -1] == torch.tensor([x, y])).all(1)].mean(0)
        torch.testing.assert_close(found[x, y], mean, equal_nan=True)


@pytest.mark.parametrize("one, two", [(1, 2), (0, 3), (3, 3), (4, 0)])
def test_the_largest_wave_is_the_one_put_in(one, two):
    log = logarithms(7)
    angle = 2 * torch.pi / 6 * (one * log[:, None] + two * log)
    noise = 0.1 * torch.randn(7, 7, 4, generator=rng(1))
    table = torch.stack([angle.cos(), angle.sin(), angle.cos(), torch.zeros(7, 7)], 2) + noise
    inner = table[1:, 1:].flatten(0, 1).double()
    waves = torch.stack([angle[1:, 1:].cos().flatten(), angle[1:, 1:].sin().flatten()], 1).double()
    centred = inner - inner.mean(0)
    fitted = waves @ torch.linalg.pinv(waves, rtol=1e-4) @ centred
    share = (fitted.square().sum() / centred.square().sum()).item()
    assert analysis.largest_wave(table, log) == pytest.approx(share, abs=1e-5) and share > 0.9
