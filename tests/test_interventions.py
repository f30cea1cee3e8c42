"""Interventions do what a change of one site by hand does, and what patching in TransformerLens does."""

import math
from itertools import product

import pytest
import torch

from assign_add_lib import Problem, Split, Weights
from assign_add_lib.analysis import interventions as iv
from assign_add_lib.model import run, trace
from assign_add_lib.sampling import training_population
from assign_add_lib.task import STUDY, Task

LAST = STUDY.last


@pytest.fixture(scope="module", autouse=True)
def no_grad():
    with torch.no_grad():
        yield


TOKENS = training_population(Split.draw(seed=1)).sample(30, torch.Generator().manual_seed(0)).tokens


@pytest.fixture(scope="module")
def weights():
    """Random weights in double precision, sharp in layer 1 and not saturated in layer 2."""
    w = Weights(**{name: 3 * tensor.double() for name, tensor in Weights.init(seed=5).tensors().items()})
    scores = trace(w, TOKENS).scores[:, 1, -1]
    return w.replace(W_Q=torch.stack([w.W_Q[0], w.W_Q[1] / scores.std()]))


def by_hand(w, site="0.attn.hook_pattern", change=lambda same: same):
    """The logits at `=` of a pass over all positions in which one site is changed; of attention, for its one head."""
    of_head = (lambda held: change(held[:, 0])[:, None]) if "attn" in site else change
    return run(w, TOKENS, {f"blocks.{site}": of_head}, whole=True).logits


def reading(marked, keys):
    """Marked queries give equal attention to the keys that a problem and a query name, and none to others."""

    def changed(pattern):
        pattern = pattern.clone()
        for b, q in marked.nonzero().tolist():
            pattern[b, q] = 0
            pattern[b, q, keys(b, q)] = 1 / len(keys(b, q))
        return pattern

    return changed


def noise(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(4))


EQUAL, NUMBERS = iv.at(TOKENS, LAST), STUDY.assigned_numbers(TOKENS)
ONE, OF_EQUAL, EACH, CONTENT = noise(16, 16), noise(30, 16), noise(30, 16, 16), noise(30, 16, 128)
ROWS = torch.randint(16, (30, 16), generator=torch.Generator().manual_seed(2))
SEEN, SOME, VALUES = lambda b, q: range(q + 1), lambda b, q: [*range(13), 15], lambda b, q: STUDY.value_positions(TOKENS)[b]
INTERVENTIONS = [  # an alteration, and what it changes by hand; what numbers read in layer 2 does not reach the answer
    (iv.put("blocks.1.hook_mlp_in", EQUAL, CONTENT), "1.hook_mlp_in", lambda x: torch.where(EQUAL[..., None], CONTENT, x)),
    (iv.make_uniform(1, NUMBERS), "0.attn.hook_pattern", reading(NUMBERS, SEEN)),
    (iv.make_uniform(1, EQUAL), "0.attn.hook_pattern", reading(EQUAL, SEEN)),
    (iv.make_uniform(2, EQUAL), "1.attn.hook_pattern", reading(EQUAL, SEEN)),
    (iv.make_uniform(1, EQUAL, without=(13, 14)), "0.attn.hook_pattern", reading(EQUAL, SOME)),
    (iv.read_values(TOKENS, STUDY), "1.attn.hook_pattern", reading(EQUAL, VALUES)),
    (iv.rows_from(1, ROWS), "0.attn.hook_pattern", lambda A: torch.stack([A[b, row] for b, row in enumerate(ROWS)])),
    (iv.add_to_scores(1, ONE), "0.attn.hook_attn_scores", lambda s: s + ONE),
    (iv.add_to_scores(2, EACH), "1.attn.hook_attn_scores", lambda s: s + EACH),
    (
        iv.add_to_scores_of_equal(OF_EQUAL),
        "1.attn.hook_attn_scores",
        lambda s: torch.cat([s[:, :LAST], s[:, LAST:] + OF_EQUAL[:, None]], 1),
    ),
]


@pytest.mark.parametrize("alteration, site, change", INTERVENTIONS)
def test_an_intervention_does_what_it_says(weights, alteration, site, change):
    """Where the last position alone is computed, and where all are."""
    expected = by_hand(weights, site, change)
    assert (expected - by_hand(weights)).abs().max() > 1e-2
    for whole in (False, True):
        torch.testing.assert_close(run(weights, TOKENS, alteration, whole=whole).logits, expected)


def test_attention_of_other_problems_leaves_only_what_is_moved(weights):
    """Attention kept, all is linear up to the neurons: half of two problems' streams makes half of what is moved."""
    seen = run(weights, TOKENS, whole=True)
    one, other = (run(weights, tokens, iv.attend_as(seen))["blocks.1.hook_resid_mid"] for tokens in (TOKENS, TOKENS.flip(0)))
    torch.testing.assert_close(one, seen["blocks.1.hook_resid_mid"][:, -1:])
    half = {"hook_embed": lambda held: (held + weights.W_E[TOKENS.flip(0)]) / 2}
    both = run(weights, TOKENS, half | iv.attend_as(seen))["blocks.1.hook_resid_mid"]
    torch.testing.assert_close(both, (one + other) / 2)


def test_position_term_is_one_of_the_four(weights):
    w = weights
    QK1 = w.W_Q[0] @ w.W_K[0].T / math.sqrt(128)
    e = w.W_E[TOKENS]
    rest = e @ QK1 @ e.mT + e @ QK1 @ w.W_pos.T + (e @ (w.W_pos @ QK1).T).mT
    seen = torch.ones(16, 16).tril().bool()
    torch.testing.assert_close(trace(w, TOKENS).scores[:, 0][:, seen], (rest + iv.position_term(w))[:, seen])


def test_identity_term_is_the_part_of_the_score_that_vanishes_with_the_block(weights):
    """Scores of `=` where layer 1 moves variables, less those where the moved variables are cut on the key's side."""
    w, a = weights, trace(weights, TOKENS)
    OV1, QK2 = w.W_V[0] @ w.W_O[0], w.W_Q[1] @ w.W_K[1].T / math.sqrt(128)
    read = torch.stack([(a.pattern[:, 0] * (TOKENS == v)[:, None]).sum(2) for v in range(62, 74)], 2)
    moved = read @ (w.W_E[62:] @ OV1)  # (batch, pos, d_model)
    x = a.resid_pre + a.attn_out[:, 0]

    def score(query, keys):
        return torch.einsum("bd,de,bke->bk", query[:, LAST], QK2, keys)

    cross = score(x, x) - score(x - moved, x) - score(x, x - moved) + score(x - moved, x - moved)
    torch.testing.assert_close(iv.identity_term(w, TOKENS), cross)


def test_together_goes_from_the_first_to_the_last():
    alter = iv.together({"a": lambda x: 2 * x, "b": lambda x: -x}, {"a": lambda x: x + 1})
    assert (alter["a"](5), alter["b"](5)) == (11, -5)


@pytest.fixture(scope="module")
def changes():
    generator = torch.Generator().manual_seed(1)
    clean = iv.full_problems(8, generator, STUDY)
    return clean, iv.changed_problems(clean, generator, STUDY)


def test_full_problems_and_those_that_differ_in_one_thing(changes):
    clean, changed = changes
    assert torch.equal(clean[:, 4], clean[:, 13])
    for row in clean.tolist():
        assert len(set(row[0:12:2])) == 6 and len(set(row[1:12:2])) == 6
    for name, places in {"value": [5], "names": [0, 4], "asked": [13], "constant": [14]}.items():
        differ = (clean != changed[name]).nonzero()
        assert set(differ[:, 1].tolist()) == set(places) and len(differ) == 8 * len(places)
        assert (STUDY.right_answers(clean) != STUDY.right_answers(changed[name])).all()
        for row in changed[name]:
            assert len(Problem.from_tokens(row).assignments) == 6
    for task in (Task(3, 2, 8), Task(4, 4, 12)):  # too few slots, and too few numbers for all to differ
        with pytest.raises(ValueError, match="full problems need three slots and more numbers than slots"):
            iv.full_problems(5, torch.Generator(), task)


def test_a_pass_goes_on_from_another_as_if_it_were_made_anew(weights):
    """To the bit, with all that was kept of the layer before; what would have to change there is refused."""
    first = {iv.pattern_of(1): lambda pattern: pattern.flip(2)}
    later = {iv.pattern_of(2): lambda pattern: pattern.flip(3), "blocks.1.hook_resid_pre": lambda stream: 2 * stream}
    other, anew = run(weights, TOKENS, first), run(weights, TOKENS, first | later, keep=["blocks.1.attn.hook_q"])
    on = run(weights, TOKENS, later, keep=["blocks.1.attn.hook_q"], after=other)
    assert not torch.equal(on.logits, other.logits) and on.sites.keys() == anew.sites.keys()
    assert torch.equal(on.logits, anew.logits) and all(torch.equal(on[name], anew[name]) for name in anew.sites)
    for refused in (first, {"blocks.0.attn.hook_v": torch.neg}, {"hook_embed": torch.neg}):
        with pytest.raises(ValueError, match="comes before the last layer"):
            run(weights, TOKENS, refused, after=other)


@pytest.mark.parametrize("site, name", [("hook_attn_out", "attn_out"), ("attn.hook_v", "v")])
def test_patching_is_that_of_transformer_lens(weights, changes, site, name):
    """A second library: its generic patching, with the gap of each problem as its metric."""
    from transformer_lens.patching import generic_activation_patch, layer_pos_patch_setter

    clean, changed, row = changes[0], changes[1]["asked"], torch.arange(8)
    lens, ours, theirs = weights.to_transformer_lens(), STUDY.right_answers(clean), STUDY.right_answers(changed)
    end, cache = lens.run_with_cache(clean)

    def gap(logits):
        return logits[row, -1, ours] - logits[row, -1, theirs]

    found = generic_activation_patch(
        lens, changed, cache, gap, layer_pos_patch_setter, name, index_axis_names=("layer", "pos"), reduce="none"
    )  # fmt: skip
    start = gap(lens(changed))
    truth = (found.values - start) / (gap(end) - start).mean()  # (layer, pos, batch)
    ours = iv.patched(weights, clean, changed, [f"blocks.{layer}.{site}" for layer in (0, 1)])
    torch.testing.assert_close(ours.permute(1, 2, 0).float(), truth.float(), atol=1e-4, rtol=1e-4)


def test_attribution_is_the_slope_of_patching(weights, changes):
    """Against a small step from the changed towards the clean activation."""
    clean, changed = changes[0], changes[1]["names"]
    sites = ["blocks.0.hook_attn_out", "blocks.1.attn.hook_k"]
    found, recovered, step = iv.attributed(weights, clean, changed, sites), iv.Recovery(weights, clean, changed), 1e-3
    there = run(weights, clean, keep=sites)
    for (row, name), position in product(enumerate(sites), (1, 5, 15)):
        way = torch.zeros_like(there[name]).index_fill(1, torch.tensor(position), step)
        slope = recovered({name: lambda held, name=name, way=way: held + way * (there[name] - held)}) / step
        torch.testing.assert_close(found[:, row, position], slope, atol=2e-2, rtol=2e-2)


def test_paths_are_patched_one_at_a_time(weights, changes):
    clean, changed = changes[0], changes[1]["asked"]
    found, w, recovered = iv.path_patched(weights, clean, changed), weights, iv.Recovery(weights, clean, changed)
    here, there = trace(w, changed), trace(w, clean)
    stream = here.resid_pre + here.attn_out[:, 0]
    for (row, part), position in product(enumerate(("W_Q", "W_K", "W_V")), (13, 14, 15)):
        other = stream.clone()
        other[:, position] += (there.attn_out - here.attn_out)[:, 0, position]
        q, k, v = ((other if each == part else stream) @ getattr(w, each)[1] for each in ("W_Q", "W_K", "W_V"))
        resid = stream[:, -1] + ((q[:, -1:] @ k.mT / math.sqrt(128)).softmax(-1) @ v @ w.W_O[1])[:, 0]
        logits = (resid + (resid @ w.W_in).relu() @ w.W_out) @ w.W_U
        truth = (recovered.gap(logits) - recovered.start) / recovered.whole
        torch.testing.assert_close(found[:, row, position], truth, atol=1e-4, rtol=1e-4)


def test_clean_reading_gives_what_assigned_numbers_get_to_the_two_to_add(weights):
    def cleaned(pattern):
        pattern = pattern.clone()
        for b, wanted in enumerate(STUDY.value_positions(TOKENS).tolist()):
            numbers = {*wanted, *NUMBERS[b].nonzero().flatten().tolist()}
            whole = sum(pattern[b, LAST, place] for place in numbers)
            for place in numbers:
                pattern[b, LAST, place] = whole / 2 if place in wanted else 0
        return pattern

    expected = by_hand(weights, "1.attn.hook_pattern", cleaned).argmax(1)
    assert torch.equal(iv.cleanly_read(weights, TOKENS), expected) and not torch.equal(by_hand(weights).argmax(1), expected)
