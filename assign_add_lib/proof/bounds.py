"""Bounds: the least margin of a question whatever stands beside it, from below.

A *box* fixes the operands and where assignments start, and gives each assignment a set of names and a set of numbers, from
which they are chosen freely.  What the network computes is written as a sum over these choices, one entry of a table for each,
and a rest that is bounded (an *affine form*): the least of the sum is the sum of the least entries.  So a bound costs a few
tables, however many contexts lie in the box.  The mechanism says which sums are good: attention is a ratio of two, whose
denominator moves little where few are assigned; scores are bounded against each other and not one by one; a neuron is bounded
by two lines.
"""

import math
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..model import Weights
from ..task import Task
from .balls import UNIT, Ball, ball, join, least, stack


class Tables:
    """All that the attention of a network can do, as balls over positions and tokens: (position, token) is a *place*.

    Raises ValueError for a network of other than two layers of one head.
    """

    @np.errstate(all="ignore")  # what overflows has an infinite radius
    def __init__(self, weights: Weights):
        weights = weights.of_one_head(2)
        self.task: Task = weights.task
        w = {name: tensor.detach().double().numpy() for name, tensor in weights.tensors().items()}
        root = math.sqrt(w["W_Q"].shape[-1])
        scale = Ball(root, UNIT * root)
        QK = [(ball(w["W_Q"][layer]) @ w["W_K"][layer].T) / scale for layer in range(2)]
        OV = [ball(w["W_V"][layer]) @ w["W_O"][layer] for layer in range(2)]
        own = ball(w["W_pos"][:, None]) + w["W_E"]  # (position, token, d_model)
        self.moved = own @ OV[0]
        scores = _across(own @ QK[0], own)  # of layer 1, (position, token) as query, then as key
        # only what may stand there counts, in units of the heaviest: softmax does not see the unit
        self.possible = possible = _possible(self.task)
        heaviest = np.where(possible, scores.mid, -np.inf).max((2, 3), keepdims=True, initial=-1e3)
        self.weight = (Ball(np.where(possible, scores.mid, heaviest - 800), scores.rad) - heaviest).exp()
        self.reader, self.own_read, self.moved_read = own[-1, self.task.equal], own @ OV[1], self.moved @ OV[1]
        # what a query of layer 2 makes of keys, by what it got and by itself: their own share, then what layer 1 moved there
        keys = (join([_flat(own), _flat(self.moved)], 0) @ QK[1].mT).mT
        self.sought, self.sought_by_reader = (_flat(self.moved) @ keys).mT.reshape(-1, *own.shape[:2]), self.reader @ keys
        self.own, self.W_in, self.W_out, self.W_U = own, w["W_in"], w["W_out"], w["W_U"]

    @cached_property
    def inputs(self) -> "Values":
        """What the inputs of all neurons take from places, then their negatives."""
        return Values.of(self, ball(np.concatenate([self.W_in, -self.W_in], 1)))


def standing(task: Task) -> np.ndarray:
    """Which tokens may stand where in a problem, (position, token)."""
    room, token = task.room, np.arange(task.d_vocab)
    number, name = token < task.n_numbers, token >= task.first_variable
    stands = np.zeros((task.length, task.d_vocab), dtype=bool)
    stands[:room] = number | name | (token == task.pad)
    stands[0, number] = stands[room - 1, name] = False
    stands[room, task.plus] = stands[task.last, task.equal] = True
    stands[[task.left, task.right]] = number | name
    return stands


def _possible(task: Task) -> np.ndarray:
    """Which keys a query may meet in a problem, (position, token, position, token)."""
    T, room, token, position = task.length, task.room, np.arange(task.d_vocab), np.arange(task.length)
    number, name = token < task.n_numbers, token >= task.first_variable
    before = (position[:, None] >= position)[:, None, :, None]
    meets = np.broadcast_to(standing(task), (T, task.d_vocab, T, task.d_vocab)) & before
    for p in range(1, room):
        meets[p, number, p - 1] = name  # before a number stands a name
        meets[p, ~number, p - 1] &= ~name  # and nothing else follows one
    for p in range(T):
        meets[p, :, p] = np.eye(task.d_vocab, dtype=bool)  # at its own position a query meets itself
    return meets


def _flat(values: Ball) -> Ball:
    return values.reshape(-1, values.shape[-1])


def _across(one: Ball, other: Ball) -> Ball:
    """All inner products of two tables over places, (position, token, position, token)."""
    return (_flat(one) @ _flat(other).mT).reshape(*one.shape[:2], *other.shape[:2])


class Values(NamedTuple):
    """What linear functions of the residual stream at `=` take from a place, for each function, (function, position, token)."""

    own: Ball  # read by layer 2 from the token and the position themselves
    moved: Ball  # read by layer 2 from what layer 1 moved there
    direct: Ball  # moved to `=` by layer 1
    reader: Ball  # (function,) of `=` itself

    @classmethod
    def of(cls, tables: Tables, functions: Ball) -> "Values":
        """Of functions (d_model, function)."""

        def each(table: Ball) -> Ball:
            return (_flat(table) @ functions).mT.reshape(-1, *table.shape[:2])

        return cls(each(tables.own_read), each(tables.moved_read), each(tables.moved), tables.reader @ functions)


@dataclass(frozen=True, eq=False)
class Box:
    """A set of contexts: where assignments start, and the names and numbers that each may have, free of one another."""

    task: Task
    starts: tuple[int, ...]
    names: np.ndarray  # (assignment, V) true where allowed
    numbers: np.ndarray  # (assignment, N)

    @property
    def position(self) -> np.ndarray:
        """The position of each choice, (assignment, V + N): names stand at the start, numbers behind."""
        behind = np.arange(self.task.n_variables + self.task.n_numbers) >= self.task.n_variables
        return np.array(self.starts, dtype=int)[:, None] + behind

    @property
    def token(self) -> np.ndarray:
        """The token of each choice, (assignment, V + N)."""
        V = self.task.n_variables
        each = np.concatenate([self.task.first_variable + np.arange(V), np.arange(self.task.n_numbers)])
        return np.broadcast_to(each, (len(self.starts), len(each)))

    @property
    def barred(self) -> np.ndarray:
        """0 for allowed choices, infinite for others."""
        return np.where(np.concatenate([self.names, self.numbers], 1), 0, np.inf)

    @property
    def pads(self) -> list[int]:
        """The positions that hold PAD."""
        used = {start + offset for start in self.starts for offset in (0, 1)}
        return [position for position in range(self.task.room) if position not in used]

    def least(self, table: Ball) -> Ball:
        """The least sum of one name and one number for each assignment, of a table (..., assignment, V + N)."""
        V, barred = self.names.shape[1], self.barred
        parts = [(table.mid[..., part] + barred[:, part]).min(-1) for part in (slice(V), slice(V, None))]
        return Ball(np.stack(parts, -1), table.rad).sum((-1, -2))

    def mean(self, table: Ball) -> Ball:
        """The mean over the allowed choices of each name and number, (..., assignment, 2)."""
        V, allowed = self.names.shape[1], np.isfinite(self.barred)
        parts = [
            np.where(allowed, table.mid, 0)[..., part].sum(-1) / allowed[:, part].sum(-1) for part in (slice(V), slice(V, None))
        ]
        return Ball(np.stack(parts, -1))


class Affine(NamedTuple):
    """`constant` + one entry of `table` for each choice, and at most `rest` more or less."""

    constant: Ball  # (...)
    table: Ball  # (..., assignment, V + N)
    rest: Ball  # (...)

    def lower(self, box: Box) -> np.ndarray:
        """The least value in a box, from below."""
        return (self.constant + box.least(self.table) - self.rest).lower()

    def upper(self, box: Box) -> np.ndarray:
        """The largest value, from above."""
        return (self.constant - box.least(-self.table) + self.rest).upper()


def inverse(lower, upper) -> tuple[np.ndarray, np.ndarray]:
    """A number, and how far the inverse of what lies between two positive bounds may be from it."""
    most, few = 1 / ball(lower), 1 / ball(upper)
    middle = (most.mid + few.mid) / 2
    return middle, np.maximum((most - middle).upper(), (middle - few).upper())


def mixture(box: Box, fixed_weight: Ball, fixed: Ball, weight: Ball, value: Ball) -> Affine:
    """What queries of layer 1 read: sum of weight times value over sum of weights, an affine form (function, query).

    `fixed_weight` (query, key) and `fixed` (function, key) belong to keys that are known, `weight` (query, assignment, V + N)
    and `value` (function, assignment, V + N) to choices.
    """
    F, Q = fixed.shape[0], fixed_weight.shape[0]
    total, known = fixed_weight.sum(-1), fixed @ fixed_weight.mT  # (query), (function, query)
    if not box.starts:
        return Affine(known / total, ball(np.zeros((F, Q, *box.barred.shape))), ball(np.zeros((F, Q))))
    low, high = (total + box.least(weight)).lower(), (total - box.least(-weight)).upper()
    middle, spread = inverse(low, high)
    product = weight * value[:, None]  # (function, query, assignment, V + N)
    around = (known.mid + box.mean(product).mid.sum((-1, -2))) / (total.mid + box.mean(weight).mid.sum((-1, -2)))
    constant, table = known - total * around, product - weight * around[..., None, None]
    most = np.maximum(-(constant + box.least(table)).lower(), (constant - box.least(-table)).upper())
    return Affine(constant * middle + around, table * middle[:, None, None], ball(np.maximum(most, 0)) * spread)


class Keys(NamedTuple):
    """Something for every key of the context, from below."""

    pads: np.ndarray  # (function, PAD)
    names: np.ndarray  # (function, assignment, V)
    numbers: np.ndarray  # (function, assignment, V, N), also by the name before


def context_keys(tables: Tables, box: Box, own: Ball, moved: Ball) -> Keys:
    """The least that functions take from keys of the context: their own share, and what layer 1 moved there.

    A PAD and a name read what stands before.  A number reads the name before it, itself, and a rest.
    """
    task, position, token = box.task, box.position, box.token
    V, N, F, pads = task.n_variables, task.n_numbers, own.shape[0], np.array(box.pads, dtype=int)
    variables, numbers = task.first_variable + np.arange(V), np.arange(N)

    def rest(at: int, queries: np.ndarray, before: int):
        """How much weight goes before a position, (query) from below and above, and what it brings, (function, query)."""
        earlier = sum(start < before for start in box.starts)
        names, numbers = box.names[:earlier], box.numbers[:earlier]
        either, any_ = (each.any(0) | (not earlier) for each in (names, numbers))  # what stands nowhere need not be looked at
        inside = Box(task, box.starts[:earlier], names[:, either], numbers[:, any_])
        gaps, kept = pads[pads < before], np.concatenate([either, any_])
        chosen = position[:earlier, kept], token[:earlier, kept]
        fixed_weight, fixed = tables.weight[at, queries][:, gaps, task.pad], moved[:, gaps, task.pad]
        weight, value = tables.weight[at, queries][:, *chosen], moved[:, *chosen]
        if not before:
            return np.zeros(len(queries)), np.zeros(len(queries)), np.zeros((F, len(queries)))
        total = fixed_weight.sum(-1)
        few, many = np.maximum((total + inside.least(weight)).lower(), 0), (total - inside.least(-weight)).upper()
        weak = few < 1e-9  # what weighs next to nothing may bring anything that stands there
        anything = np.concatenate([fixed.lower(), (value.lower() + inside.barred).reshape(F, -1)], 1).min(1)
        mixed = mixture(inside, fixed_weight + weak[:, None], fixed, weight + weak[:, None, None], value).lower(inside)
        return few, many, np.where(weak, anything[:, None], mixed)

    def blend(known_weight: Ball, known: Ball, few, many, brings) -> np.ndarray:
        """The least of (known + share * brings) / (known_weight + share), the share between few and many."""
        ends = [(known + share * ball(brings)) / (known_weight + share) for share in (few, many)]
        return least(*ends).lower()

    at_pads = np.empty((F, len(pads)))
    for index, p in enumerate(pads):
        itself = tables.weight[p, [task.pad], p, task.pad]  # (1)
        few, many, brings = rest(p, np.array([task.pad]), p)
        read_ = blend(itself, itself * moved[:, p, [task.pad]], few, many, brings)
        at_pads[:, [index]] = (own[:, p, [task.pad]] + read_).lower()
    at_names, at_numbers = np.empty((F, len(box.starts), V)), np.empty((F, len(box.starts), V, N))
    for index, p in enumerate(box.starts):
        itself = tables.weight[p, variables, p, variables]
        few, many, brings = rest(p, variables, p)
        at_names[:, index] = (own[:, p, variables] + blend(itself, itself * moved[:, p, variables], few, many, brings)).lower()
        q = p + 1
        itself, name = tables.weight[q, numbers, q, numbers], tables.weight[q, :N, p, task.first_variable :].mT  # (V, N)
        few, many, brings = rest(q, numbers, p)
        known = name * moved[:, p, variables][:, :, None] + (itself * moved[:, q, numbers])[:, None]
        read_ = blend(name + itself, known, few, many, brings[:, None])
        at_numbers[:, index] = (own[:, q, numbers][:, None] + read_).lower()
    return Keys(at_pads, at_names, at_numbers)


class Reading(NamedTuple):
    """How `=` reads in layer 2: the weight of every key, not yet divided by their sum."""

    middle: np.ndarray  # (4) weights of +, the operands and = in the middle of what is possible
    score: Affine  # (4) their scores, less the logarithm of `middle`
    spread: np.ndarray  # (4) how far these scores go from 0, at most
    bend: np.ndarray  # (4) by how much a weight may lie above middle * (1 + score)
    few: Keys  # the weights of the context's keys, from below
    many: Keys  # and from above
    inverse: tuple[float, float]  # of the sum of all weights, from below and above


class Question(NamedTuple):
    """A question in a box of contexts: all that is needed to bound any function of what `=` holds in the end."""

    tables: Tables
    box: Box
    places: list[tuple[int, int]]  # position and token of +, the operands and =

    @classmethod
    def of(cls, tables: Tables, box: Box, left: int, right: int) -> "Question":
        """Ask for two operands, as token ids."""
        task = tables.task
        return cls(tables, box, [(task.room, task.plus), (task.left, left), (task.right, right), (task.last, task.equal)])

    def row(self, index: int, moved: Ball) -> Affine:
        """What the known place of this index reads in layer 1, for functions (function, position, token) of what is moved."""
        (at, query), box = self.places[index], self.box
        known = [(p, self.tables.task.pad) for p in box.pads] + self.places[: index + 1]
        positions, tokens = (np.array(each) for each in zip(*known))
        weight = self.tables.weight[at, [query]]
        mixed = mixture(
            box,
            weight[:, positions, tokens],
            moved[:, positions, tokens],
            weight[:, box.position, box.token],
            moved[:, box.position, box.token],
        )
        return Affine(*(part[:, 0] for part in mixed))

    def known(self, values: Ball) -> Ball:
        """The values (function, position, token) of the four known places, (function, 4)."""
        return stack([values[:, p, t] for p, t in self.places], -1)

    def reading(self) -> Reading:
        """Bound all scores of layer 2 at `=`, less the score of the left operand's own token, which falls out."""
        tables, box = self.tables, self.box
        shape = tables.own.shape[:2]
        less = self.places[1][0] * shape[1] + self.places[1][1]
        half = len(tables.sought.mid) // 2
        minus = np.zeros((2 * half, 1, 1))
        minus[:half] = 1
        query = self.row(3, tables.sought - minus * tables.sought[[less]])
        by_reader = tables.sought_by_reader - minus[:, 0, 0] * tables.sought_by_reader[less]
        query = query._replace(constant=query.constant + by_reader)
        lower, upper = (each.reshape(2, 1, *shape) for each in (query.lower(box), query.upper(box)))
        low = context_keys(tables, box, ball(lower[0]), ball(lower[1]))
        high = context_keys(tables, box, ball(-upper[0]), ball(-upper[1]))
        few = Keys(*(np.maximum(ball(each[0]).exp().lower(), 0) for each in low))
        many = Keys(*(ball(-each[0]).exp().upper() for each in high))

        # the known keys: their own scores, and those of what they read, of the query in its middle and beyond
        own, moved = (Affine(*(part[which] for part in query)) for which in (slice(half), slice(half, None)))
        own, moved = (Affine(*(part.reshape(*shape, *part.shape[1:]) for part in each)) for each in (own, moved))
        beyond = np.maximum((upper[1, 0] - moved.constant).upper(), (moved.constant - lower[1, 0]).upper())
        scores = [self._score(index, own, moved, ball(beyond)) for index in range(4)]
        score = Affine(*(stack(parts) for parts in zip(*scores)))
        lowest, highest = score.lower(box), score.upper(box)
        centre = np.clip((lowest + highest) / 2, -500, 500)
        middle = np.exp(centre)  # any numbers serve; their logarithms lie close to the centre
        score = score._replace(constant=score.constant - Ball(centre, 64 * UNIT))
        spread = np.maximum(-score.lower(box), score.upper(box))
        bend = (middle * (ball(spread).exp() - 1 - spread)).upper()

        weighted = ball(middle)
        line = (weighted[:, None, None] * score.table).sum(0)
        constant = (weighted * (score.constant + 1)).sum()
        loose = (weighted * score.rest).sum()
        less_pads, more_pads = ball(few.pads).sum(), ball(many.pads).sum()
        total_low = constant - loose + less_pads + self.pairs(line, few.names, few.numbers)
        alone = ball(np.maximum(ball(lowest).exp().lower(), 0)).sum() + less_pads + self.pairs(0 * line, few.names, few.numbers)
        total_high = constant + loose + ball(bend).sum() + more_pads - self.pairs(-line, -many.names, -many.numbers)
        total_low = np.maximum(total_low.lower(), alone.lower())  # the weights of known keys bounded together, or one by one
        ends = float((1 / ball(total_high.upper())).lower()), float((1 / ball(total_low)).upper())
        return Reading(middle, score, spread, bend, few, many, ends)

    def pairs(self, table: Ball, names, numbers) -> Ball:
        """The least sum over assignments of table entries (..., assignment, V + N) with values by name and by name and number."""
        V, barred = self.tables.task.n_variables, self.box.barred
        if not self.box.starts:
            return ball(np.zeros(table.shape[:-2]))
        names, numbers = ball(names), ball(numbers)
        by_name = table[..., :V] + names
        both = numbers + by_name[..., None] + table[..., None, V:]
        allowed = both.mid + barred[:, :V, None] + barred[:, None, V:]
        return Ball(allowed.min((-1, -2)), both.rad).sum(-1)

    def _score(self, index: int, own: Affine, moved: Affine, beyond: Ball) -> Affine:
        """The score of a known key: of its own, of what it reads by the query's middle, and of both departures together."""
        tables, box = self.tables, self.box
        (at, query), V = self.places[index], tables.task.n_variables
        mixed = self.row(index, moved.constant[None])
        # the average row: known keys by their weights, choices by their mean weights
        known = [(p, tables.task.pad) for p in box.pads] + self.places[: index + 1]
        positions, tokens = (np.array(each) for each in zip(*known))
        fixed = tables.weight[at, query, positions, tokens]
        choices = tables.weight[at, query, box.position, box.token]  # (assignment, V + N)
        allowed = np.isfinite(box.barred)
        total = fixed.sum() + box.mean(choices).sum()
        low, high = (fixed.sum() + box.least(choices)).lower(), (fixed.sum() - box.least(-choices)).upper()
        share = fixed.mid / total.mid  # exact numbers from here on: any average row serves
        counts = np.stack([allowed[:, :V].sum(1), allowed[:, V:].sum(1)], 1).repeat([V, allowed.shape[1] - V], 1)
        shares = np.where(allowed, choices.mid / total.mid / counts, 0)
        constant = own.constant[at, query] + mixed.constant[0]
        table = own.table[at, query] + mixed.table[0] + (share[:, None, None] * moved.table[positions, tokens]).sum(0)
        table = table + (shares[..., None, None] * moved.table[box.position, box.token]).sum((0, 1))
        rest = own.rest[at, query] + mixed.rest[0] + (share * moved.rest[positions, tokens]).sum()
        rest = rest + (shares * moved.rest[box.position, box.token]).sum()
        # the row's departure from its average, times the query's
        off = np.maximum((fixed / low - share).abs().upper(), (fixed / high - share).abs().upper())
        rest = rest + (off * beyond[positions, tokens]).sum()
        if box.starts:
            far = choices / low * beyond[box.position, box.token]
            rest = rest - box.least(-far) + (shares * beyond[box.position, box.token]).sum()
        return Affine(constant, table, rest)

    def least(self, values: Values, keys: Keys, reading: Reading) -> np.ndarray:
        """The least of linear functions of what the MLP reads at `=`, (function), from below; `keys` are their context keys."""
        box = self.box
        direct = self.row(3, values.direct)
        rows = [self.row(index, values.moved) for index in range(4)]
        content = Affine(*(stack(parts, 1) for parts in zip(*rows)))  # (function, 4)
        content = content._replace(constant=content.constant + self.known(values.own))
        lowest, highest = content.lower(box), content.upper(box)
        centre = (lowest + highest) / 2
        radius = np.maximum((highest - ball(centre)).upper(), (centre - ball(lowest)).upper())
        content = content._replace(constant=content.constant - centre)
        weights = ball(reading.middle)

        # around a value in the middle, all that is read is small
        mean_pads, mean_names, mean_numbers = ((a + b) / 2 for a, b in zip(reading.few, reading.many))
        around = centre @ reading.middle + keys.pads @ mean_pads
        around = around + (keys.names * mean_names).mean(-1).sum(-1) + (keys.numbers * mean_numbers).mean((-1, -2)).sum(-1)
        around = around / (reading.middle.sum() + mean_pads.sum() + mean_names.mean(-1).sum() + mean_numbers.mean((-1, -2)).sum())
        lead = ball(centre) - around[:, None]  # (function, 4)
        # weight * (content - around) = middle * (1 + score) * (lead + content): the product of both departures is bounded
        scored = reading.score
        constant = (lead * (weights * (scored.constant + 1))).sum(1) + content.constant @ weights
        table = ((lead * weights) @ scored.table.reshape(4, -1)).reshape(len(centre), *scored.table.shape[1:])
        table = table + (content.table * weights[:, None, None]).sum(1)
        rest = (lead.abs() * (weights * scored.rest)).sum(1) + content.rest @ weights
        rest = rest + ball(radius) @ (weights * reading.spread)
        rest = rest + ball(np.maximum((radius - lead).upper(), 0)) @ reading.bend
        read = [_weighed(key, around, few, many) for key, few, many in zip(keys, reading.few, reading.many)]
        constant = constant + read[0].sum(-1) - rest
        # all that is read over all weights, whose inverse lies between two ends, and what layer 1 brings: the same choices
        found = [
            constant * end + direct.constant - direct.rest + self.pairs(table * end + direct.table, read[1] * end, read[2] * end)
            for end in reading.inverse
        ]
        return (values.reader + around + least(*found)).lower()


def _weighed(values: np.ndarray, around: np.ndarray, few: np.ndarray, many: np.ndarray) -> Ball:
    """The least of weight times (value - around), the weight between few and many."""
    apart = ball(values) - around.reshape(-1, *[1] * (values.ndim - 1))
    return least(apart * few, apart * many)


def ready(tables: Tables, box: Box, values: Values) -> tuple[Values, Keys]:
    """What does not depend on the question of linear functions, to be bounded by `Question.least`."""
    return values, context_keys(tables, box, values.own, values.moved)


def neurons(tables: Tables, box: Box) -> tuple[Values, Keys] | None:
    """That of all neurons' inputs, then of their negatives; None where no bound is found."""
    with np.errstate(all="ignore"), suppress(ZeroDivisionError):
        return ready(tables, box, tables.inputs)


def lines(tables: Tables, answer: int, lowest: np.ndarray, highest: np.ndarray) -> tuple[Ball, Ball]:
    """Linear functions (d_model, N) of what the MLP reads, and constants (N), that lie below an answer's lead over each number.

    The neurons' inputs lie between `lowest` and `highest`.  A neuron's output lies above one line and below another, which are
    one where its sign is certain.  ArithmeticError where one is not bounded.
    """
    if not (np.isfinite(lowest) & np.isfinite(highest)).all():
        raise ArithmeticError("a neuron's input is not bounded")
    open_ = (lowest < 0) & (highest > 0)
    slope = np.where(open_, highest / np.where(open_, highest - lowest, 1), lowest >= 0)
    height = np.where(open_, np.maximum((lowest * -ball(slope)).upper(), (highest - ball(slope) * highest).upper()), 0)
    under = np.where(open_, highest > -lowest, lowest >= 0).astype(float)
    lead = ball(tables.W_U[:, [answer]]) - tables.W_U
    effect = ball(tables.W_out) @ lead  # (d_mlp, N)
    helps = effect.mid > 0
    slopes = np.where(helps, under[:, None], slope[:, None])
    constant = (ball(np.where(helps, 0, effect.mid)) * height[:, None]).sum(0)
    constant = constant - effect.rad * ball(np.maximum(highest, 0)).sum().upper()
    return lead + ball(tables.W_in) @ (ball(effect.mid) * slopes), constant


def ranges(question: Question, neurons: tuple[Values, Keys], reading: Reading) -> tuple[np.ndarray, np.ndarray]:
    """Between what the inputs of all neurons lie, (d_mlp) each."""
    both = question.least(*neurons, reading)
    return both[: len(both) // 2], -both[len(both) // 2 :]


def margins(question: Question, answer: int, neurons: tuple[Values, Keys] | None) -> np.ndarray:
    """The least lead of an answer over each number (N), from below, over all contexts of a box; infinite over itself.

    It is -inf where no bound is found.
    """
    tables = question.tables
    found = np.full(tables.task.n_numbers, -np.inf)
    with np.errstate(all="ignore"), suppress(ArithmeticError):
        reading = question.reading()
        if neurons:
            functions, constant = lines(tables, answer, *ranges(question, neurons, reading))
            leads = (ball(question.least(*ready(tables, question.box, Values.of(tables, functions)), reading)) + constant).lower()
            found = np.nan_to_num(leads, nan=-np.inf, posinf=-np.inf)
    found[answer] = np.inf
    return found
