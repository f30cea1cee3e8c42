"""Balls: every operation against the balls of python-flint, which round outward at any precision."""

import doctest
from functools import reduce

import numpy as np
import pytest
from flint import arb, ctx

from assign_add_lib.proof import balls
from assign_add_lib.proof.balls import Ball, join, stack

rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def precise():
    """400 bits: what remains of rounding there is nothing beside that of float64."""
    before, ctx.prec = ctx.prec, 400
    yield
    ctx.prec = before


def arbs(values) -> np.ndarray:
    return np.vectorize(arb, otypes=[object])(np.asarray(values, dtype=float))


def inside(one: Ball) -> np.ndarray:
    """Numbers of a ball: its middle, its ends and what lies between, at random, exactly."""
    share = rng.choice([-1.0, -0.7, 0.0, 0.3, 1.0], one.mid.shape)
    return arbs(one.mid) + arbs(share) * arb(one.rad)


def encloses(result: Ball, true: np.ndarray) -> bool:
    """Whether all true numbers lie in a ball, and between what it has for its bounds."""
    true = np.array(true)
    pairs = zip(np.broadcast_to(result.mid, true.shape).flat, result.lower().flat, result.upper().flat, true.flat)
    return all(abs(number - arb(mid)) <= arb(result.rad) and arb(low) <= number <= arb(high) for mid, low, high, number in pairs)


exp = np.vectorize(lambda number: number.exp(), otypes=[object])
smaller = np.vectorize(lambda one, other: one if one < other else other, otypes=[object])
OPERATIONS = {  # of two arrays (4, 5): on balls, and on exact numbers where that is written otherwise
    "+": (lambda a, b: a + b,),
    "-": (lambda a, b: a - b,),
    "*": (lambda a, b: a * b,),
    "@": (lambda a, b: a @ b.mT, lambda a, b: a @ b.T),
    "@ vector": (lambda a, b: a @ b[0],),
    "sum": (lambda a, b: (a + b).sum(1),),
    "sum of all": (lambda a, b: (a * b).sum(),),
    "-a": (lambda a, b: -a * 3.0,),
    "abs": (lambda a, b: (a - b).abs(), lambda a, b: abs(a - b)),
    "row": (lambda a, b: (a * b)[1],),
    "least": (balls.least, smaller),
    "min": (lambda a, b: a.min(1), lambda a, b: np.array([reduce(smaller, row) for row in a])),
    "max": (lambda a, b: a.max(1), lambda a, b: -np.array([reduce(smaller, row) for row in -a])),
    "join": (lambda a, b: join([a, b]), lambda a, b: np.concatenate([a, b], -1)),
    "stack": (lambda a, b: stack([a, b]), lambda a, b: np.stack([a, b])),
    "reshape": (lambda a, b: (a + b).reshape(2, 10),),
    "/": (lambda a, b: a / (b.abs() + 1.0), lambda a, b: a / (abs(b) + 1)),
    "exp": (lambda a, b: a.exp(), lambda a, b: exp(a)),
}


def draw(scale: float, rad: float) -> Ball:
    return Ball(scale * rng.standard_normal((4, 5)), rad * scale)


@pytest.mark.parametrize("rad", [0, 1e-12, 0.1])
@pytest.mark.parametrize("scale", [1.0, 1e9, 1e-200])
@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in ("exp", "/")])
def test_an_operation_encloses_what_it_may_be(name, scale, rad):
    on_balls, on_numbers = OPERATIONS[name][0], OPERATIONS[name][-1]
    for other in (1.0, 1e9 * scale, 1e-7):
        one, two = draw(scale, rad), draw(other, rad / 2)
        assert encloses(on_balls(one, two), on_numbers(inside(one), inside(two)))


@pytest.mark.parametrize("rad", [0, 1e-12, 0.1])
def test_quotients_enclose_what_they_may_be(rad):
    for scale in (1.0, 1e12, 1e-200):
        one, two = draw(scale, rad), Ball(rng.uniform(0.3, 3, (4, 5)), rad)
        assert encloses(one / two, inside(one) / inside(two))
        assert encloses(1.0 / two, arb(1) / inside(two))


@pytest.mark.parametrize("middle", [0.0, 1.0, -30.0, 300.0, 700.0, -700.0, -745.0, -2000.0])
def test_exponentials_enclose_what_they_may_be(middle):
    for rad in (0, 1e-13, 1e-3, 2.0):
        one = Ball(middle + rng.uniform(-1, 1, (4, 5)), rad)
        assert encloses(one.exp(), exp(inside(one)))


def test_what_cancels_is_enclosed():
    large = Ball(1e16 * rng.standard_normal((4, 5)))
    near = Ball(-large.mid + rng.standard_normal((4, 5)))
    kept = Ball(np.concatenate([large.mid, near.mid], 1))
    ones = np.ones((10, 3))
    assert encloses(large + near, arbs(large.mid) + arbs(near.mid))
    assert encloses(kept.sum(1), arbs(kept.mid).sum(1))
    assert encloses(kept @ ones, arbs(kept.mid) @ arbs(ones))
    assert encloses((large * 3.0 + near * 3.0) / 7.0, (arbs(large.mid) * 3 + arbs(near.mid) * 3) / 7)


def test_long_products_of_the_kind_that_bounds_take_are_enclosed():
    one, two = Ball(rng.standard_normal((2, 600)) * np.exp(rng.uniform(-20, 20, 600)), 1e-14), Ball(rng.standard_normal((600, 2)))
    assert encloses(one @ two, inside(one) @ inside(two))
    assert encloses(one.mid @ two, arbs(one.mid) @ inside(two))


def test_arrays_and_numbers_stand_for_themselves():
    one, array = draw(1.0, 1e-9), rng.standard_normal((4, 5))
    exact = inside(one)
    for result, true in (
        (array + one, arbs(array) + exact),
        (array - one, arbs(array) - exact),
        (0.1 * one, arb(0.1) * exact),
        (np.float64(0.1) * one, arb(0.1) * exact),
        (array * one, arbs(array) * exact),
        (array.T @ one, arbs(array).T @ exact),
        (2.5 - one, arb(2.5) - exact),
    ):
        assert isinstance(result, Ball) and encloses(result, true)


@pytest.mark.parametrize("name", ["+", "*", "@", "sum", "/", "exp"])
def test_without_what_rounding_adds_these_tests_would_fail(name, monkeypatch):
    monkeypatch.setattr(balls, "UNIT", 0.0)
    monkeypatch.setattr(balls, "TINY", 0.0)
    one, two = draw(1.0, 0), draw(1.0, 0).abs()
    result, true = OPERATIONS[name][0](one, two), OPERATIONS[name][-1](inside(one), inside(two))
    assert not all(arb(mid) == number for mid, number in zip(result.mid.flat, true.flat))
    assert result.rad == 0


@pytest.mark.parametrize("middle, rad", [(0.0, 0), (1e-9, 2e-9), (-1.0, 0), (-1.0, 0.5), (np.nan, 0), (1.0, np.nan)])
def test_what_may_not_be_above_0_does_not_divide(middle, rad):
    with pytest.raises(ZeroDivisionError):
        Ball(np.ones(3)) / Ball([1.0, middle, 2.0], rad)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_not_finite_is_never_a_bound():
    huge = Ball([1e308, 1.0])
    for one in (
        huge * 10.0 - huge * 10.0,
        Ball(0.0, np.inf) * 0.0,
        Ball([800.0]).exp() * 0.0,
        join([Ball(1.0, np.nan).reshape(1)]),
    ):
        assert not (one.lower() > -1).any() and not (one.upper() < 1).any()
    assert not (balls.least(huge, Ball([1.0, 1.0], np.nan)).lower() > -1).any()


def test_the_examples_hold():
    tried = doctest.testmod(balls)
    assert tried.attempted and not tried.failed
