"""Bounds: on tiny tasks, what is bounded over a box never lies beyond what its contexts show one by one."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from enumerated import TASK, asked, box_of, boxes, by_hand, inside, least_leads
from small import random_weights

from assign_add_lib import Task, Weights, load_run, run
from assign_add_lib.model import trace
from assign_add_lib.proof.balls import ball
from assign_add_lib.proof.bounds import Affine, Box, Question, Tables, Values, margins, neurons, ranges, ready

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


def loud(seed: int, **times: float) -> Weights:
    """A random network of which some matrices are multiplied, layer by layer, so that one part of a bound matters most."""
    weights = random_weights(MIDDLE, 16, 16, 32, seed, 0.3)
    changed = {}
    for name, factor in times.items():
        matrix = changed.setdefault(name[:3], getattr(weights, name[:3]).clone())
        matrix[int(name[3]) - 1] *= factor
    return weights.replace(**changed)


LOUD = [{}, {"W_Q2": 3}, {"W_V1": 3}, {"W_Q1": 4}, {"W_V1": 3, "W_Q1": 3}, {"W_V1": 6, "W_Q2": 0.3}, {"W_V2": 3, "W_Q1": 3}]


@pytest.mark.parametrize("times", LOUD, ids=str)
def test_every_form_lies_around_what_each_context_shows(times):
    """Of small boxes, where bounds are sharp: layer 1's mixtures, layer 2's scores, and linear functions of the stream."""
    rng = np.random.default_rng(len(times))
    for seed in range(12):
        weights, k = loud(seed, **times), 1 + seed % 2
        tables, starts = Tables(weights), ((seed % 4,), (0, 2 + seed % 2))[k - 1]
        names = {place: [place, 2] for place in range(k)}
        numbers = {place: rng.choice(MIDDLE.n_numbers, 1 + (seed + place) % 3, replace=False) for place in range(k)}
        box = box_of(MIDDLE, starts, names, numbers)
        question, tokens = Question.of(tables, box, 1, 2), asked(inside(box), MIDDLE, 1, 2)
        reading, held = question.reading(), trace(weights, tokens)
        chosen = np.zeros((len(tokens), *box.barred.shape))
        for place, start in enumerate(starts):
            for one, column in ((tokens[:, start] - MIDDLE.first_variable, 0), (tokens[:, start + 1], MIDDLE.n_variables)):
                chosen[range(len(tokens)), place, one + column] = 1

        def around(form, true, chosen=chosen):  # true (context, ...)
            middle = form.constant.mid + np.tensordot(chosen, form.table.mid, ((1, 2), (-2, -1)))
            assert (np.abs(true - middle) <= form.rest.mid + form.rest.rad + ROUNDING).all()

        functions = rng.standard_normal((16, 5))
        values = Values.of(tables, ball(functions))
        around(question.row(3, values.direct), (held.attn_out[:, 0, -1] @ torch.from_numpy(functions)).numpy())
        query = held.resid_pre[:, -1] + held.attn_out[:, 0, -1]
        key = weights.W_K[1].mT / 4
        scores = held.scores[:, 1, -1] - (query @ weights.W_Q[1] @ key @ held.resid_pre[0, MIDDLE.left])[:, None]
        around(reading.score, scores[:, [MIDDLE.room, MIDDLE.left, MIDDLE.right, MIDDLE.last]].numpy() - np.log(reading.middle))
        least = question.least(*ready(tables, box, Values.of(tables, ball(functions))), reading)
        true = (held.mlp_in[:, -1] @ torch.from_numpy(functions)).numpy()
        assert (least <= true.min(0) + ROUNDING).all()


def one_by_one(box: Box):
    """What each choice of a box adds up to, for tables (..., assignment, V + N): a list of masks."""
    V = box.task.n_variables
    for row in inside(box).numpy():
        chosen = np.zeros(box.barred.shape)
        for place, start in enumerate(box.starts):
            chosen[place, [row[start] - box.task.first_variable, V + row[start + 1]]] = 1
        yield row, chosen


def at(form, chosen, sign=0.0):
    """The value of a form where these are chosen, and its rest has this sign."""
    return form.constant.mid + (form.table.mid * chosen).sum((-1, -2)) + sign * form.rest.mid


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("spread", [0.02, 0.3])
def test_a_score_holds_for_whatever_its_parts_may_be(spread, seed):
    """Forms of what a query makes of each place, with rests of either sign, read by the rows of a network."""
    rng, task = np.random.default_rng(seed), MIDDLE
    weights = random_weights(task, 16, 16, 32, seed, 0.4)
    box = box_of(task, ((0, 2), (1,))[seed % 2], {0: [0], 1: [1, 2]}, {0: [1] if seed < 2 else [0, 1], 1: [2, 3]})
    question, shape = Question.of(Tables(weights), box, 1, 2), (task.length, task.d_vocab)
    tables = [sign * rng.standard_normal((*shape, *box.barred.shape)) for sign in (spread, spread if seed in (2, 3) else 0.0)]
    rests = [ball(size * rng.uniform(0, 1, shape)) for size in (spread, 1.0)]
    rests[1].mid[: task.room] *= seed < 4  # what stands beside adds nothing, but takes its share
    own, moved = (Affine(ball(rng.standard_normal(shape)), ball(table), rest) for table, rest in zip(tables, rests))
    beyond = np.maximum(moved.upper(box) - moved.constant.mid, moved.constant.mid - moved.lower(box))
    for index, (place, token) in enumerate(question.places):
        form = question._score(index, own, moved, ball(beyond))
        for row, chosen in one_by_one(box):
            tokens = np.array([*row, *(token for _, token in question.places)])
            pattern = trace(weights, torch.from_numpy(tokens)[None]).pattern[0, 0, place].numpy()
            for sign in (-1, 1):
                read = at(moved, chosen, sign)[range(task.length), tokens]
                true = at(own, chosen, sign)[place, token] + pattern @ read
                assert at(form, chosen, -1) - ROUNDING <= true <= at(form, chosen, 1) + ROUNDING


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("spread", [0, 0.01, 0.2, 1.5])
def test_a_function_is_bounded_for_whatever_weights_and_values_may_be(spread, seed):
    """Weights and what they weigh at the ends of what is known of them, and not where a network has them."""
    rng, task = np.random.default_rng(seed), SMALL
    tables, F = Tables(random_weights(task, 16, 16, 32, seed, 0.3)), 6
    box = box_of(task, ((), (1,), (0, 2))[seed % 3], {0: [0], 1: [1]}, {0: [1, 2] if seed % 2 else [1], 1: [0]})
    question = Question.of(tables, box, 1, 2)
    values, keys = ready(tables, box, Values.of(tables, ball(rng.standard_normal((16, F)))))
    if seed > 3:  # the values of known places are uncertain too, by the weights that bring them
        values = values._replace(moved=values.moved * 20.0)
    reading = question.reading()
    score = reading.score._replace(rest=ball(spread * rng.uniform(0.5, 1, 4)))
    if not spread:  # weights are known, and what they weigh is not
        score = score._replace(constant=ball(np.zeros(4)), table=ball(0 * score.table.mid))
    spreads = np.maximum(-score.lower(box), score.upper(box))
    bend = reading.middle * (np.exp(spreads) - 1 - spreads)
    rows = [question.row(index, values.moved) for index in range(4)]
    direct, known = question.row(3, values.direct), question.known(values.own).mid
    cases, lie = [], reading.inverse
    for row, chosen in one_by_one(box):
        place = [(a, row[start] - task.first_variable, row[start + 1]) for a, start in enumerate(box.starts)]

        def beside(keys, place=place):  # what stands there, of something for every key
            names, numbers = (
                [each[(..., *key)] for key in some]
                for each, some in ((keys.names, [p[:2] for p in place]), (keys.numbers, place))
            )
            return np.stack([*np.moveaxis(keys.pads, -1, 0), *names, *numbers])

        few, many, bring = beside(reading.few)[:, None], beside(reading.many)[:, None], beside(keys)  # (key, 1), (key, function)
        for signs in product((-1, 1), repeat=4):
            weight = reading.middle * np.exp(at(score, chosen, np.array(signs)))
            content = np.stack([at(each, chosen, -1) for each in rows], 1) + known
            for level in (content @ weight / weight.sum(), -np.inf, np.inf):
                cases.append((chosen, weight, content, np.where(bring > level, few, many), bring))
        for sign in (-1, 1):  # the network's own sum of weights lies between its ends too
            held = (reading.middle * np.exp(at(reading.score, chosen, sign))).sum() + (few, many)[sign > 0].sum()
            assert lie[0] <= 1 / held * (1 + ROUNDING) and 1 / held <= lie[1] * (1 + ROUNDING)
    totals = [1 / (weight.sum() + beside.sum(0)) for _, weight, _, beside, _ in cases]  # (function)
    reading = reading._replace(score=score, spread=spreads, bend=bend, inverse=(np.min(totals), np.max(totals)))
    least = question.least(values, keys, reading)
    for (chosen, weight, content, beside, bring), inverse in zip(cases, totals):
        read = (content @ weight + (bring * beside).sum(0)) * inverse
        assert (least <= values.reader.mid + at(direct, chosen, -1) + read + ROUNDING).all()


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
    with pytest.raises(ValueError, match="this asks for 2 layers of one head"):
        Tables(weights.replace(**{name: getattr(weights, name)[:1] for name in ("W_Q", "W_K", "W_V", "W_O")}))
    with pytest.raises(ValueError, match="this asks for 2 layers of one head"):
        Tables(
            weights.replace(**{name: getattr(weights, name)[:, None].repeat(1, 2, 1, 1) for name in ("W_Q", "W_K", "W_V", "W_O")})
        )
