"""Bounds: on tiny tasks, what is bounded over a box never lies beyond what its contexts show one by one."""

import math

import numpy as np
import pytest
import torch
from enumerated import TASK, asked, box_of, boxes, by_hand, inside, least_leads
from small import random_weights

from assign_add_lib import Task, Weights, load_run, run
from assign_add_lib.model import trace
from assign_add_lib.proof.bounds import Box, Question, Tables, margins, neurons, ranges

SMALL, MIDDLE = Task(3, 2, 8), Task(4, 3, 9)
PRE = "blocks.1.mlp.hook_pre"
ROUNDING = 1e-9  # of the forward in float64 that bounds are held against


def bound(weights: Weights, box: Box, left: int, right: int, answer: int) -> np.ndarray:
    tables = Tables(weights)
    return margins(Question.of(tables, box, left, right), answer, neurons(tables, box))


def gaps(weights: Weights, box: Box, left: int, right: int, answer: int) -> np.ndarray:
    """How far bounds lie below the least leads of a box, over each wrong answer."""
    true = least_leads(weights, asked(inside(box), box.task, left, right), answer)
    return np.delete(true - bound(weights, box, left, right, answer), answer)


def look_up(task: Task, starts: tuple[int, ...], place: int, name: int, number: int) -> Box:
    """A box whose assignment at a place is fixed, and whose others have other names."""
    others = [each for each in range(task.n_variables) if each != name]
    names = {each: [name] if each == place else others for each in range(len(starts))}
    return box_of(task, starts, names, {place: [number]})


@pytest.mark.parametrize("scale, seed", [(0.1, 0), (0.3, 0), (0.3, 1), (0.5, 0), (1.2, 1)])
@pytest.mark.parametrize("task", [SMALL, MIDDLE, TASK], ids=repr)
def test_no_bound_is_above_what_all_contexts_show(task, scale, seed):
    weights = random_weights(task, 16, 12, 32, seed, scale)
    rng = np.random.default_rng(seed)
    below = []
    for number, box in enumerate(boxes(task, rng)):
        for answer in range(task.n_numbers) if number == 1 else [seed]:
            left, right = rng.integers(task.n_numbers, size=2)
            below.append(gaps(weights, box, left, right, answer))
    below = np.concatenate(below)
    assert (below > -ROUNDING).all()
    if scale < 0.5:  # and they are no looser than this, mostly
        assert np.median(below) < {0.1: 1e-3, 0.3: 3}[scale]


@pytest.mark.parametrize("task", [SMALL, TASK], ids=repr)
def test_without_a_choice_the_bound_is_the_lead(task):
    """Nothing stands there, or one context alone."""
    weights = random_weights(task, 16, 16, 32, 5, 0.3)
    one = box_of(task, (0, 2), {0: [1], 1: [0]}, {0: [2], 1: [0]})
    assert np.abs(gaps(weights, box_of(task), 1, 2, 0)).max() < ROUNDING
    assert -ROUNDING < gaps(weights, one, 1, 2, 0).min() and len(inside(one)) == 1


@pytest.mark.parametrize("operands", ["left", "right", "both"])
@pytest.mark.parametrize("scale", [0.1, 0.3, None])
def test_look_ups_are_bounded_too(scale, operands):
    task, below = TASK, []
    weights = by_hand(task) if scale is None else random_weights(task, 16, 16, 32, 2, scale)
    for starts, place in [((0,), 0), ((1, 4), 1), ((0, 2), 0), ((0, 2, 4), 1)]:
        name, number, other = 1, 3, 4
        box = look_up(task, starts, place, name, number)
        token = task.first_variable + name
        left, right = (token if operands in (side, "both") else other for side in ("left", "right"))
        answer = (2 * number if operands == "both" else number + other) % task.n_numbers
        below.append(gaps(weights, box, left, right, answer))
        if scale is None:
            assert np.delete(bound(weights, box, left, right, answer), answer).min() > 0
    assert (np.concatenate(below) > -ROUNDING).all()


def test_bounds_hold_for_a_trained_network(finished):
    weights = load_run(finished).weights()
    task = weights.task
    for starts in [(), (2,), (0, 3), (1, 3)]:
        box = box_of(task, starts)
        for left, right in [(1, 2), (10, 4)]:
            below = gaps(weights, box, left, right, (left + right) % task.n_numbers)
            assert (below > -ROUNDING).all() and np.median(below) < 1


def test_the_network_by_hand_is_bounded_to_its_lead():
    weights = by_hand(SMALL)
    for box in boxes(SMALL, np.random.default_rng(0)):
        below = gaps(weights, box, 2, 2, 1)
        assert (below > -ROUNDING).all() and (below < 1e-3).all()


@pytest.mark.parametrize("scale", [0.1, 0.3, 0.4])
def test_neurons_weights_and_their_sum_lie_in_their_ranges(scale):
    task = MIDDLE
    weights = random_weights(task, 16, 16, 32, 1, scale)
    tables = Tables(weights)
    QK2 = weights.W_Q[1] @ weights.W_K[1].mT / 4
    for box in boxes(task, np.random.default_rng(1)):
        question, tokens = Question.of(tables, box, 1, 2), asked(inside(box), task, 1, 2)
        reading = question.reading()
        low, high = ranges(question, neurons(tables, box), reading)
        pre = run(weights, tokens, keep=PRE)[PRE][:, -1].numpy()  # (context, d_mlp)
        assert (low < pre + ROUNDING).all() and (pre < high + ROUNDING).all()

        held = trace(weights, tokens)
        query = held.resid_pre[:, -1] + held.attn_out[:, 0, -1]
        weight = (held.scores[:, 1, -1] - (query @ QK2 @ held.resid_pre[0, task.left])[:, None]).exp().numpy()  # (context, key)
        low, high = reading.inverse
        assert (low < 1 / weight.sum(1) * (1 + ROUNDING)).all() and (1 / weight.sum(1) < high * (1 + ROUNDING)).all()
        few, many = ([part * (1 + sign * ROUNDING) for part in keys] for sign, keys in ((-1, reading.few), (1, reading.many)))
        assert (few[0] < weight[:, box.pads]).all() and (weight[:, box.pads] < many[0]).all()
        for place, start in enumerate(box.starts):
            name, number = (tokens[:, start] - task.first_variable).numpy(), tokens[:, start + 1].numpy()
            assert (few[1][place][name] < weight[:, start]).all() and (weight[:, start] < many[1][place][name]).all()
            assert (few[2][place][name, number] < weight[:, start + 1]).all()
            assert (weight[:, start + 1] < many[2][place][name, number]).all()
        known = weight[:, [task.room, task.left, task.right, task.last]]
        farthest = np.abs(np.log(known / reading.middle)).max(0)
        assert (farthest < reading.spread + ROUNDING).all()


def test_a_bound_that_turned_over_where_weights_were_bounded_below_zero():
    """Scores that move by five each: the sum of their weights, bounded by lines, falls below 0."""
    weights = random_weights(SMALL, 16, 16, 32, 1, 0.5)
    box = box_of(SMALL, (1,), {0: [0]}, {0: [0, 2]})
    reading = Question.of(Tables(weights), box, 1, SMALL.first_variable + 1).reading()
    assert 0 <= reading.inverse[0] < reading.inverse[1]
    assert (gaps(weights, box, 1, SMALL.first_variable + 1, 2) > 0).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("factor", [100, 1e4, 1e30, 1e120, 1e308, math.nan])
def test_scores_beyond_all_measure_leave_no_bound_and_no_warning(factor):
    weights = by_hand()
    for layer in ([1, factor], [factor, 1]):
        wild = weights.replace(W_Q=weights.W_Q.double() * torch.tensor(layer, dtype=torch.float64)[:, None, None])
        for starts in [(), (1,), (0, 2)]:
            box = box_of(TASK, starts)
            found, true = bound(wild, box, 3, 4, 2), least_leads(wild, asked(inside(box), TASK, 3, 4), 2)
            assert not np.isnan(found).any() and not (found > true + ROUNDING)[[0, 1, 3, 4]].any()


def test_a_network_of_other_layers_or_heads_is_refused():
    weights = by_hand()
    with pytest.raises(ValueError, match="two layers of one head"):
        Tables(weights.replace(**{name: getattr(weights, name)[:1] for name in ("W_Q", "W_K", "W_V", "W_O")}))
    with pytest.raises(ValueError, match="two layers of one head"):
        Tables(weights.replace(**{name: getattr(weights, name)[:, None] for name in ("W_Q", "W_K", "W_V", "W_O")}))
