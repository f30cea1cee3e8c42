"""What predictions ask of runs: measures of networks whose answers and attention are known."""

import math
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest
import torch
from worlds import WORLDS, Run, read

from assign_add_lib import handmade
from assign_add_lib.laboratory import World, analysis
from assign_add_lib.laboratory.analysis import MEASURES
from assign_add_lib.laboratory.parsing import Parsed
from assign_add_lib.model import run as forward
from assign_add_lib.task import STUDY


class Knowing(Run):
    """A run whose network answers by a rule from what the slow reader finds, and reads by another one."""

    def __init__(self, says=None, reads=None, world=WORLDS["plain"]):
        super().__init__(world, self)
        self.says, self.reads = says, reads

    def answers(self, tokens):
        return torch.tensor([self.says(read(ids, self.world)) for ids in tokens.tolist()])

    def read_last(self, tokens):
        return torch.stack([self.reads(read(ids, self.world)) for ids in tokens.tolist()])


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Few problems, and what is known is asked of who knows it."""
    monkeypatch.setattr(analysis, "MANY", 300)
    for name in ("answers", "read_last"):
        real = getattr(analysis, name)
        ask = lambda weights, tokens, name=name, real=real: getattr(weights, name, partial(real, weights))(tokens)  # noqa: E731
        monkeypatch.setattr(analysis, name, ask)


def right_if(condition):
    """Right answers to some problems, and one more to others."""
    return lambda problem: problem.answer if condition(problem) else (problem.answer + 1) % 7


def test_right_counts_fresh_problems_or_full_ones():
    run = Knowing(right_if(lambda problem: problem.answer < 3))
    expected = (analysis.problems(run, "1-var train").answers < 3).double().mean().item()
    assert analysis.right(run, "1-var train") == pytest.approx(expected) and 0.2 < expected < 0.7
    with pytest.raises(ValueError, match="plain has no set '3-var train'; there are: 0-var train, "):
        analysis.right(Knowing(world=replace(WORLDS["plain"], name="plain")), "3-var train")
    run = Knowing(right_if(lambda problem: len(problem.assignments) == 5))
    assert analysis.right_when_full(run, "1-var train") == 1 and analysis.right(run, "1-var train") < 0.5


def test_above_the_shortcut_is_between_it_and_one():
    assert analysis.above_shortcut(Knowing(right_if(lambda _: True)), "1-var train") == 1
    chance = Knowing(lambda problem: 0)
    right = analysis.right(chance, "0-var train")
    assert analysis.above_shortcut(chance, "0-var train") == pytest.approx((right - 1 / 7) * 7 / 6)
    assert analysis.above_shortcut(chance, "1-var train") < -0.3


def test_a_set_arrives_halfway_from_its_shortcut():
    world = WORLDS["plain"]
    half = (1 + analysis.base(Run(world, None), "1-var train")) / 2
    one, none = [half - 0.1, half + 0.01, half + 0.2, 1.0], [0.1, 0.1, 0.56, 0.58]
    run = Run(world, None, pd.DataFrame({"1-var train": one, "0-var train": none, "2-var train": 0.2}, [0, 100, 200, 300]))
    assert [analysis.arrives(run, f"{n}-var train") for n in (0, 1, 2)] == [300, 100, math.inf]  # chance is 1 in 7
    assert analysis.later(run, "0-var train, 1-var train") == 200
    for never in ("2-var train, 1-var train", "0-var train, 2-var train"):
        assert math.isnan(analysis.later(run, never))


def test_reverse_answers_are_those_of_the_operands_exchanged():
    run = Knowing(lambda problem: -problem.answer % 7, world=WORLDS["minus"])
    batch = analysis.full(run.world, analysis.problems(run, "2-var train", 4))
    assert analysis.reversed_when_full(run, "2-var train") == pytest.approx((batch.answers != 0).double().mean().item())
    for world in (WORLDS["minus"], WORLDS["plain"]):
        assert analysis.reversed_when_full(Knowing(lambda problem: problem.answer, world=world), "2-var train") == 0


HEADS = {heads: replace(WORLDS["plain"], heads=heads) for heads in (1, 2)}


def at(problem, *weights, other=0.0):
    """Attention (head, key): for each head, how much it reads the numbers to reckon with, and another one; the rest is last."""
    found = torch.zeros(len(weights), 14)
    for head, each in enumerate(weights):
        found[head, problem.at] = torch.tensor(each)
        found[head, -1] += 1 - sum(each)
    found[:, [place for place in problem.places if place not in problem.at][:1]] = other
    return found


def test_numbers_asked_for_are_ranked_among_the_assigned():
    for other in (0, 0.5):
        run = Knowing(None, lambda problem, other=other: at(problem, (0.1, 0.2), (0.3, 0.1), other=other), HEADS[2])
        for name in ("1-var train", "2-var train"):
            asked = [read(ids, run.world) for ids in analysis.problems(run, name).tokens.tolist()]
            alone = sum(len(problem.assignments) == int(name[0]) for problem in asked) / 300
            assert analysis.ranked_first(run, name) == pytest.approx(alone if other else 1)
    with pytest.raises(ValueError, match="0-var train asks for no variables"):
        analysis.ranked_first(run, "0-var train")
    less = analysis.ranked_first(run, "1-var train") - analysis.ranked_first(run, "2-var train")
    assert analysis.more_ranked_first(run, "1-var train, 2-var train") == pytest.approx(less) and abs(less) > 0.05


def test_found_but_wrong_is_both():
    reads = lambda problem: at(problem, (0.2, 0.3), other=0.9 * (len(problem.assignments) == 3))  # noqa: E731
    run = Knowing(right_if(lambda problem: problem.answer < 3), reads, HEADS[1])
    asked = [read(ids, run.world) for ids in analysis.problems(run, "2-var train").tokens.tolist()]
    both = sum(problem.answer >= 3 and len(problem.assignments) != 3 for problem in asked) / 300
    assert analysis.found_but_wrong(run, "2-var train") == pytest.approx(both) and 0.2 < both < 0.6


@pytest.mark.parametrize(
    "weights, share",
    [
        ([(0.4, 0.4), (0.1, 0.1)], 0),
        ([(0.5, 0.0), (0.0, 0.5)], 1),
        ([(0.6, 0.0), (0.1, 0.1)], 0.75),
        ([(0.4, 0.2), (0.0, 0.0)], 1 / 3),
        ([(0.35, 0.15), (0.15, 0.35)], 0.4),
    ],
)
def test_heads_divide_the_operands_by_side(weights, share):
    run = Knowing(None, lambda problem: at(problem, *weights), HEADS[2])
    assert analysis.shared_out(run, "2-var train") == pytest.approx(share, abs=1e-6)


def test_heads_that_divide_by_name_share_nothing_out():
    """Between three names and the others, alike on both sides."""
    by_name = Knowing(None, lambda problem: at(problem, *[(0.5, 0), (0, 0.5)][:: 1 if problem.asked[0] < 3 else -1]), HEADS[2])
    assert analysis.shared_out(by_name, "2-var train") < 0.3
    with pytest.raises(ValueError, match="two operands can be divided between heads, not 3"):
        analysis.shared_out(Run(WORLDS["three"], None), "2-var train")


def test_the_network_by_hand_is_found_to_do_what_it_was_written_for():
    """It adds by cosines and balance, so that even reading changes nothing, nor the constant part, which is 0 by design."""
    hand = Run(World(), handmade.weights(task=STUDY))
    for measure, value in (("right", 1), ("found_but_wrong", 0), ("ranked_first", 1), ("above_shortcut", 1)):
        assert MEASURES[measure](hand, "2-var train") == value, measure
    assert math.isnan(analysis.evened(hand, "2-var train"))  # nothing is left to mend
    assert analysis.shared_out(hand, "2-var train") < 1e-3
    assert analysis.without_offset(hand) == 1


def test_a_threshold_is_a_constant_part_that_may_help_or_harm():
    """A network by hand whose constants are a threshold: it adds without them as well, and better where they are too large."""
    for threshold, right in ((0.4, 1), (0.8, 0.9)):
        run = Run(World(), handmade.weights(task=STUDY, threshold=threshold, phases=101))
        assert analysis.right(run, "0-var train") == pytest.approx(right, abs=0.05)  # of few problems
        assert analysis.without_offset(run) == pytest.approx(1 / right, abs=0.02)
    silent = run.weights().replace(W_out=0 * run.weights().W_out)
    assert math.isnan(analysis.without_offset(Run(World(), silent)))  # fewer than half are right


def test_reading_evenly_mends_balance_and_no_look_up(monkeypatch):
    """The network by hand, made to read the number of the left name more: it finds both, and adds wrongly."""
    world, weights = World(), handmade.weights(task=STUDY)
    blind = Run(world, handmade.weights(task=STUDY, match=0.0))  # it reads any assigned number
    wrong = 1 - analysis.right(blind, "2-var train")
    assert wrong > 0.4 and analysis.found_but_wrong(blind, "2-var train") < 0.2 * wrong

    def tilted(weights, tokens, alter=None):
        places, amounts = Parsed(world, tokens).places[:, None, None], torch.tensor([0.75, 0.2]).expand(len(tokens), 1, 1, 2)
        return forward(weights, tokens, alter or {"blocks.1.attn.hook_pattern": lambda read: read.scatter(3, places, amounts)})

    monkeypatch.setattr(analysis, "forward", tilted)
    monkeypatch.setattr(analysis, "answers", lambda weights, tokens: tilted(weights, tokens).answers)
    uneven = Run(world, weights)
    assert analysis.ranked_first(uneven, "2-var train") == 1 and analysis.found_but_wrong(uneven, "2-var train") > 0.3
    assert analysis.evened(uneven, "2-var train") == 1


def of_any(problem):
    """The answer with the first assigned number in place of the variable."""
    number = problem.assignments[0][1]
    return sum(number if asked is not None else each for asked, each in zip(problem.asked, problem.numbers)) % 7


def test_a_letter_is_swapped_for_another():
    assert analysis.swapped(Knowing(lambda problem: problem.answer)) == (0, 1)
    assert analysis.swapped(Knowing(of_any)) == (1, 0)


def test_of_two_strangers_the_right_one_is_told():
    def reads(which):
        def row(problem):
            there = [place for (v, _), place in zip(problem.assignments, problem.places) if v in (7, 8)]
            assert len(there) == 2
            read = torch.zeros(1, 14)
            read[0, [place for place in there if (place in problem.at) == which]] = 1
            return read

        return row

    world = replace(WORLDS["strangers"], unasked=1, unseen=2)
    for which in (True, False):
        assert analysis.which_stranger(Knowing(None, reads(which), world)) == which


def test_without_look_up_is_the_better_of_two_shortcuts():
    run = Run(WORLDS["plain"], None)
    for of in ("1-var train", "1-var add-restricted"):
        blind, both = analysis.base(run, of), analysis.without_look_up(run, "right", of)
        assert both > blind + 0.02 if of == "1-var train" else both == blind
        assert analysis.without_look_up(run, "above_shortcut", of) == (both - blind) / (1 - blind)
    assert 0.1 < analysis.without_look_up(run, "right_when_full", "1-var train") < analysis.base(run, "1-var train")
    assert analysis.without_look_up(run, "right", "0-var train") is None
    assert analysis.without_look_up(run, "arrives", "1-var train") is None
