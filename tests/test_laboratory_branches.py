"""Branches of runs of the laboratory: a change of some scores alone, and training that goes on from it."""

from functools import partial

import pandas as pd
import pytest
import torch
from worlds import SIZES, Run, rng

from assign_add_lib import Weights
from assign_add_lib.laboratory import World, analysis, branches
from assign_add_lib.laboratory.data import draw_split, evaluation_populations
from assign_add_lib.laboratory.paths import last_logits
from assign_add_lib.laboratory.training import WorldLearner
from assign_add_lib.model import run as forward

WIDE = World(**SIZES | {"d_model": 32}, batch_size=8)
SHARP = Weights(**{name: 2 * each for name, each in WIDE.weights().tensors().items()})


def slowly(tokens, change):
    """The logits at `=` by the plain forward, with a change of its scores in layer 1, sequence by sequence."""

    def at_last(scores):
        changed = torch.stack([change(*each) for each in zip(scores[:, 0, -1], tokens)])
        return torch.cat([scores[:, :, :-1], changed[:, None, None]], 2)

    return forward(SHARP, tokens, {"blocks.0.attn.hook_attn_scores": at_last}).logits


def given(scores, tokens, at_sign):
    """Scores by which each name of the question is read with 0.4, or the sign in their place, and all else in proportion."""
    names = [place for place in (11, 12) if tokens[place] >= WIDE.task.first_variable]
    amounts = {10: 0.4 * len(names)} if at_sign and names else {} if at_sign else dict.fromkeys(names, 0.4)
    others = [place for place in range(14) if place not in amounts]
    read = torch.tensor([amounts.get(place, 0.0) for place in range(14)])
    read[others] = scores[others].softmax(0) * (1 - sum(amounts.values()))
    return read.log()


KEYS = torch.tensor([2, 10, 11, 12, 13])
CHANGES = {  # of what `=` reads, and the same of the scores of one sequence
    "raised": (branches.raised(KEYS, 1.5, WIDE.task.d_vocab), lambda scores, tokens: scores + 1.5 * torch.isin(tokens, KEYS)),
    "fixed": (branches.fixed, lambda scores, tokens: torch.tensor([0.2 / 12] * 11 + [0.4, 0.4, 0.2 / 12]).log()),
    "names": (branches.held(partial(branches.of_names, first_variable=10)), partial(given, at_sign=False)),
    "sign": (branches.held(partial(branches.of_sign, first_variable=10)), partial(given, at_sign=True)),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_of_what_the_last_position_reads_in_layer_1(kind):
    change, slow = CHANGES[kind]
    tokens = evaluation_populations(WIDE, draw_split(WIDE))["1-var train"].sample(50, rng()).tokens
    found = last_logits(SHARP, tokens, branches.altered(tokens, change))
    assert torch.allclose(found, slowly(tokens, slow), atol=1e-4)
    assert (found - last_logits(SHARP, tokens)).abs().max() > 0.1


def test_the_gap_is_what_it_takes_to_read_names_as_much():
    run = Run(WIDE, SHARP)
    gap, tokens = branches.gap(run), analysis.problems(run, branches.OF).tokens[:1000]
    names = WIDE.task.first_variable + torch.arange(WIDE.n_variables)
    change = branches.raised(names, gap, WIDE.task.d_vocab)
    read = forward(SHARP, tokens, branches.altered(tokens, change))["blocks.0.attn.hook_pattern"][:, 0, -1, -3:-1]
    asked = tokens[:, -3:-1] >= WIDE.task.first_variable
    assert abs(gap) > 0.01 and (read[asked].log().mean() - read[~asked].log().mean()).abs() < 1e-4


def test_a_branch_goes_on_from_the_state_and_differs_by_its_change(tmp_path, monkeypatch):
    monkeypatch.setattr(branches, "STEPS", 2)
    monkeypatch.setattr(branches, "EVERY", 2)
    learner = WorldLearner(WIDE)
    for _ in range(3):
        learner.advance()
    learner.save(tmp_path / "state.safetensors")
    run = Run(WIDE, learner.weights)
    rows = {branch: branches.branched(run, tmp_path / "state.safetensors", branch) for branch in branches.BRANCHES}
    expected = [learner.evaluated()]
    learner.advance(), learner.advance()
    expected.append(learner.evaluated())
    got = rows["unchanged"].drop(columns="name read")
    pd.testing.assert_frame_equal(got, pd.DataFrame(expected).assign(step=[0, 2])[got.columns])
    assert rows["fixed"]["name read"].tolist() == rows["names"]["name read"].tolist() == pytest.approx([0.4] * 2)
    losses = [table["loss"].iloc[0] for table in rows.values()]
    assert len(set(losses)) == 6 and max(losses) - min(losses) < 0.5
    with pytest.raises(ValueError, match="one of helped, fixed, names, sign, numbers, unchanged, not 'other'"):
        branches.branched(run, tmp_path / "state.safetensors", "other")


def test_names_are_held_and_let_go_of(monkeypatch):
    for name in ("HELD", "FREE", "EVERY"):
        monkeypatch.setattr(branches, name, 2)
    run = Run(WIDE, WIDE.weights())
    run.weights = lambda: WIDE.weights()
    held, left = branches.let_go(run), branches.let_go(run, held=False)
    assert held["step"].tolist() == [0, 2, 4] and held["hand"].tolist() == [True, False, False] and not left["hand"].any()
    assert (left["bare"] == left[branches.OF]).all() and (held["bare"] == held[branches.OF])[1:].all()
    same = [each for each in held if each.startswith(("bare", "layer"))]
    assert held.loc[0, same].equals(left.loc[0, same]) and not held.loc[1, same].equals(left.loc[1, same])
    learner = WorldLearner(WIDE)
    for _ in range(4):
        learner.advance()
    one = analysis.problems(run, branches.OF)
    with torch.no_grad():
        right = last_logits(learner.weights, one.tokens).argmax(1) == one.answers
    assert left["bare"].iloc[-1] == right.double().mean().item()
