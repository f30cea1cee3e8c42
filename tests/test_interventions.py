"""Interventions do what a recomputation by hand does, step by step, and what patching in TransformerLens does."""

import math

import pytest
import torch

from assign_add_lib import Problem, Split, Weights
from assign_add_lib.analysis import interventions as iv
from assign_add_lib.analysis.interventions import cleanly_read
from assign_add_lib.circuits import variable_identity
from assign_add_lib.model import forward, run, trace
from assign_add_lib.sampling import evaluation_sets, training_population
from assign_add_lib.task import STUDY, Task

LAST = STUDY.last


@pytest.fixture(scope="module", autouse=True)
def no_grad():
    with torch.no_grad():
        yield


@pytest.fixture(scope="module")
def weights():
    """Random weights in double precision, sharp in layer 1 and not saturated in layer 2."""
    w = Weights(**{name: 3 * tensor.double() for name, tensor in Weights.init(seed=5).tensors().items()})
    scores = trace(w, problems(20)).scores[:, 1, -1]
    return w.replace(W_Q=torch.stack([w.W_Q[0], w.W_Q[1] / scores.std()]))


def problems(size, seed=0):
    return training_population(Split.draw(seed=1)).sample(size, torch.Generator().manual_seed(seed)).tokens


@pytest.fixture(scope="module")
def tokens():
    return problems(30)


def by_hand(w, tokens, scores=None, pattern=None, attn_out=None, v2=None, mlp_in=None):
    """The plain forward with a place to change each step: functions of a tensor and, for the first two, a layer."""
    future = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).triu(1)
    resid = w.W_E[tokens] + w.W_pos
    for layer in (1, 2):
        q, k, v = (resid @ W[layer - 1] for W in (w.W_Q, w.W_K, w.W_V))
        s = q @ k.mT / math.sqrt(q.shape[-1])
        s = scores(s, layer) if scores else s
        A = s.masked_fill(future, -torch.inf).softmax(-1)
        A = pattern(A, layer) if pattern else A
        v = v2(v) if v2 and layer == 2 else v
        out = A @ v @ w.W_O[layer - 1]
        resid = resid + (attn_out(out, layer) if attn_out else out)
    read = mlp_in(resid) if mlp_in else resid
    return ((resid + (read @ w.W_in).relu() @ w.W_out) @ w.W_U)[:, -1]


def close(altered, hand, plain):
    """The two agree, and the intervention did something."""
    assert (altered - plain).abs().max() > 1e-2
    torch.testing.assert_close(altered, hand)


@pytest.fixture(scope="module")
def plain(weights, tokens):
    return forward(weights, tokens)[:, -1]


def test_put_reaches_the_mlp_and_not_the_skip_path(weights, tokens, plain):
    torch.testing.assert_close(by_hand(weights, tokens), plain)
    content = torch.randn(30, 1, 128, dtype=torch.float64)

    def replaced(resid):
        resid = resid.clone()
        resid[:, LAST] = content[:, 0]
        return resid

    altered = run(weights, tokens, iv.put("blocks.1.hook_mlp_in", iv.at(tokens, LAST), content)).logits
    close(altered, by_hand(weights, tokens, mlp_in=replaced), plain)


# what numbers read in layer 2 does not reach the answer
@pytest.mark.parametrize("where, layer", [("numbers", 1), ("equal", 1), ("equal", 2)])
def test_make_uniform(weights, tokens, plain, where, layer):
    marked = STUDY.assigned_numbers(tokens) if where == "numbers" else iv.at(tokens, LAST)

    def even(A, at):
        A = A.clone()
        for b, q in marked.nonzero().tolist() if at == layer else ():
            A[b, q] = torch.tensor([1 / (q + 1) if k <= q else 0 for k in range(16)], dtype=A.dtype)
        return A

    close(run(weights, tokens, iv.make_uniform(layer, marked)).logits, by_hand(weights, tokens, pattern=even), plain)


def test_rows_from(weights, tokens, plain):
    rows = torch.randint(16, (30, 16), generator=torch.Generator().manual_seed(2))

    def as_another(A, at):
        return torch.stack([A[b, row] for b, row in enumerate(rows)]) if at == 1 else A

    close(run(weights, tokens, iv.rows_from(1, rows)).logits, by_hand(weights, tokens, pattern=as_another), plain)


@pytest.mark.parametrize("layer", [1, 2])
@pytest.mark.parametrize("batched", [True, False])
def test_add_to_scores(weights, tokens, plain, layer, batched):
    change = torch.randn(*(30,) * batched, 16, 16, dtype=torch.float64)

    def added(s, at):
        return s + change if at == layer else s

    close(run(weights, tokens, iv.add_to_scores(layer, change)).logits, by_hand(weights, tokens, scores=added), plain)


def test_position_term_is_one_of_the_four(weights, tokens):
    w = weights
    QK1 = w.W_Q[0] @ w.W_K[0].T / math.sqrt(128)
    e = w.W_E[tokens]
    rest = e @ QK1 @ e.mT + e @ QK1 @ w.W_pos.T + (e @ (w.W_pos @ QK1).T).mT
    seen = torch.ones(16, 16).tril().bool()
    torch.testing.assert_close(trace(w, tokens).scores[:, 0][:, seen], (rest + iv.position_term(w))[:, seen])


def test_identity_term_adds_up_over_pairs_of_variables(weights, tokens):
    A, block = trace(weights, tokens).pattern[:, 0], variable_identity(weights)
    term = iv.identity_term(weights, tokens)
    for b in range(3):
        for k in range(16):
            truth = sum(
                A[b, LAST, i] * A[b, k, j] * block[tokens[b, i] - 62, tokens[b, j] - 62]
                for i in range(16)
                for j in range(16)
                if tokens[b, i] >= 62 and tokens[b, j] >= 62
            )
            assert abs(term[b, k] - truth) < 1e-9


def test_identity_term_is_the_part_of_the_score_that_vanishes_with_the_block(weights, tokens):
    """Scores of `=` where layer 1 moves variables, less those where the moved variables are cut on the key's side."""
    w, a = weights, trace(weights, tokens)
    OV1, QK2 = w.W_V[0] @ w.W_O[0], w.W_Q[1] @ w.W_K[1].T / math.sqrt(128)
    moved = iv.variables_read(a.pattern[:, 0], tokens, STUDY) @ (w.W_E[62:] @ OV1)  # (batch, pos, d_model)
    x = a.resid_pre + a.attn_out[:, 0]

    def score(query, keys):
        return torch.einsum("bd,de,bke->bk", query[:, LAST], QK2, keys)

    cross = score(x, x) - score(x - moved, x) - score(x, x - moved) + score(x - moved, x - moved)
    torch.testing.assert_close(iv.identity_term(w, tokens), cross)


def test_scores_of_equal(weights, tokens, plain):
    change = torch.randn(30, 16, dtype=torch.float64)

    def added(s, at):
        return torch.cat([s[:, :LAST], s[:, LAST:] + change[:, None]], 1) if at == 2 else s

    for whole in (False, True):
        altered = run(weights, tokens, iv.add_to_scores_of_equal(change), whole=whole).logits
        close(altered, by_hand(weights, tokens, scores=added), plain)


def test_all_but_some_are_attended_to_evenly(weights, tokens, plain):
    def even(A, at):
        row = torch.tensor([0.0 if k in (13, 14) else 1 / 14 for k in range(16)], dtype=torch.float64)
        return torch.cat([A[:, :LAST], row.expand(30, 1, 16)], 1) if at == 1 else A

    unread = iv.make_uniform(1, iv.at(tokens, LAST), without=(13, 14))
    close(run(weights, tokens, unread).logits, by_hand(weights, tokens, pattern=even), plain)


def test_together_goes_from_the_first_to_the_last():
    alter = iv.together({"a": lambda x: 2 * x, "b": lambda x: -x}, {"a": lambda x: x + 1})
    assert (alter["a"](5), alter["b"](5)) == (11, -5)


def test_read_values(weights, tokens, plain):
    places = STUDY.value_positions(tokens)

    def ideal(A, layer):
        A = A.clone()
        for b in range(len(tokens)) if layer == 2 else ():
            A[b, LAST] = 0
            A[b, LAST, places[b]] = 0.5
        return A

    close(run(weights, tokens, iv.read_values(tokens, STUDY)).logits, by_hand(weights, tokens, pattern=ideal), plain)


def test_patched(weights):
    """At the values of layer 2, against a recomputation of each problem and position on its own."""
    generator = torch.Generator().manual_seed(3)
    clean = iv.full_problems(4, generator, STUDY)
    changed = iv.change_value(clean, 2, generator, STUDY)
    given = iv.patched(weights, clean, changed, ["blocks.1.hook_resid_pre", "blocks.1.attn.hook_v"])
    ours, theirs = STUDY.right_answers(clean), STUDY.right_answers(changed)
    row = torch.arange(4)

    def difference(logits):
        return logits[row, ours] - logits[row, theirs]

    a = trace(weights, clean)
    values = (a.resid_pre + a.attn_out[:, 0]) @ weights.W_V[1]
    start = difference(by_hand(weights, changed))
    whole = (difference(by_hand(weights, clean)) - start).mean()
    for position in range(16):

        def put_back(v, position=position):
            v = v.clone()
            v[:, position] = values[:, position]
            return v

        truth = (difference(by_hand(weights, changed, v2=put_back)) - start) / whole
        torch.testing.assert_close(given[:, 1, position], truth, atol=1e-6, rtol=1e-6)


def test_full_problems():
    generator = torch.Generator().manual_seed(1)
    tokens = iv.full_problems(50, generator, STUDY)
    changed = iv.change_value(tokens, 2, generator, STUDY)
    assert torch.equal(tokens[:, 4], tokens[:, 13])
    assert torch.equal(STUDY.right_answers(tokens), (tokens[:, 5] + tokens[:, 14]) % 59)
    assert (tokens != changed).sum(1).eq(1).all() and (tokens != changed)[:, 5].all()
    assert (STUDY.right_answers(tokens) != STUDY.right_answers(changed)).all()
    for row in tokens.tolist():
        assert len(set(row[0:12:2])) == 6 and len(set(row[1:12:2])) == 6
    for task in (Task(3, 2, 8), Task(4, 4, 12)):  # too few slots, and too few numbers for all to differ
        with pytest.raises(ValueError, match="full problems need three slots and more numbers than slots"):
            iv.full_problems(5, generator, task)


@pytest.fixture(scope="module")
def changes():
    generator = torch.Generator().manual_seed(1)
    clean = iv.full_problems(8, generator, STUDY)
    return clean, iv.changed_problems(clean, generator, STUDY)


def test_changed_problems_differ_in_one_thing(changes):
    clean, changed = changes
    for name, places in {"value": [5], "names": [0, 4], "asked": [13], "constant": [14]}.items():
        differ = (clean != changed[name]).nonzero()
        assert set(differ[:, 1].tolist()) == set(places) and len(differ) == 8 * len(places)
        assert (STUDY.right_answers(clean) != STUDY.right_answers(changed[name])).all()
        for row in changed[name]:
            assert len(Problem.from_tokens(row).assignments) == 6


def test_patching_is_that_of_transformer_lens(weights, changes):
    """A second library: its generic patching, with the gap of each problem as its metric."""
    from transformer_lens.patching import generic_activation_patch, layer_pos_patch_setter

    clean, changed = changes[0], changes[1]["asked"]
    lens, recovered = weights.to_transformer_lens(), iv.Recovery(weights, clean, changed)
    _, cache = lens.run_with_cache(clean)
    found = generic_activation_patch(
        lens, changed, cache, lambda logits: recovered.gap(logits[:, -1]), layer_pos_patch_setter, "attn_out",
        index_axis_names=("layer", "pos"), reduce="none",
    )  # fmt: skip
    truth = (found.values - recovered.start) / recovered.whole  # (layer, pos, batch)
    ours = iv.patched(weights, clean, changed, ["blocks.0.hook_attn_out", "blocks.1.hook_attn_out"])
    torch.testing.assert_close(ours.permute(1, 2, 0).float(), truth.float(), atol=1e-4, rtol=1e-4)


def test_attribution_is_the_slope_of_patching(weights, changes):
    """Against a small step from the changed towards the clean activation."""
    clean, changed = changes[0], changes[1]["names"]
    sites = ["blocks.0.hook_attn_out", "blocks.1.attn.hook_k"]
    found, recovered, step = iv.attributed(weights, clean, changed, sites), iv.Recovery(weights, clean, changed), 1e-3
    there = run(weights, clean, keep=sites)
    for row, name in enumerate(sites):
        for position in (1, 5, 15):

            def nudge(held, name=name, position=position):
                held = held.clone()
                held[:, position] += step * (there[name] - held)[:, position]
                return held

            slope = recovered({name: nudge}) / step
            torch.testing.assert_close(found[:, row, position], slope, atol=2e-2, rtol=2e-2)


def test_paths_are_patched_one_at_a_time(weights, changes):
    clean, changed = changes[0], changes[1]["asked"]
    found, w, recovered = iv.path_patched(weights, clean, changed), weights, iv.Recovery(weights, clean, changed)
    here, there = trace(w, changed), trace(w, clean)
    stream = here.resid_pre + here.attn_out[:, 0]
    for row, part in enumerate(("W_Q", "W_K", "W_V")):
        for position in (13, 14, 15):
            other = stream.clone()
            other[:, position] += (there.attn_out - here.attn_out)[:, 0, position]
            q, k, v = ((other if each == part else stream) @ getattr(w, each)[1] for each in ("W_Q", "W_K", "W_V"))
            A = (q @ k.mT / math.sqrt(128))[:, -1].softmax(-1)
            resid = stream[:, -1] + torch.einsum("bk,bkd->bd", A, v) @ w.W_O[1]
            logits = (resid + (resid @ w.W_in).relu() @ w.W_out) @ w.W_U
            truth = (recovered.gap(logits) - recovered.start) / recovered.whole
            torch.testing.assert_close(found[:, row, position], truth, atol=1e-4, rtol=1e-4)


def test_tables(weights):
    sets = evaluation_sets(Split.draw(seed=1), size=30)
    table = iv.accuracy_table(weights, sets, lambda tokens: iv.read_values(tokens, STUDY))
    assert list(table.index) == list(sets) and list(table.columns) == ["share", "low", "high"]
    for name, (tokens, answers) in sets.items():
        right = iv.answers(weights, tokens, iv.read_values(tokens, STUDY)) == answers
        assert table.share[name] == pytest.approx(right.double().mean().item())
    shown = iv.side_by_side({"before": table})
    share, low, high = table.iloc[0]
    assert shown.before.iloc[0] == f"{100 * share:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def test_clean_reading_is_the_networks_own_where_nothing_is_to_be_mended():
    """With equal attention everywhere and no distractor, the two numbers are read equally already."""
    weights = Weights.init(seed=3)
    weights = weights.replace(W_Q=torch.stack([weights.W_Q[0], 0 * weights.W_Q[1]]))  # layer 2 reads all positions equally
    problems = [f"a={x}, b={y}, a+b=?" for x, y in ((1, 2), (40, 33), (7, 58))] + ["3+4=?", "c=5, 3+c=?", "c=5, c+5=?"]
    tokens = torch.stack([Problem.parse(each).tokens(seed=1) for each in problems])
    assert torch.equal(cleanly_read(weights, tokens), forward(weights, tokens)[:, -1].argmax(1))


def test_clean_reading_forgets_what_the_distractors_were_worth():
    weights = Weights.init(seed=3)
    weights = weights.replace(W_Q=0 * weights.W_Q, W_V=torch.stack([0 * weights.W_V[0], 9 * weights.W_V[1]]))
    tokens = torch.stack([Problem.parse(f"a=7, c={c}, b=12, a+b=?").tokens() for c in range(59)])
    assert len(set(forward(weights, tokens)[:, -1].argmax(1).tolist())) > 1
    assert len(set(cleanly_read(weights, tokens).tolist())) == 1
