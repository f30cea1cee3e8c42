"""The checks of chapter 17, The laboratory."""

from itertools import product

from ..laboratory.analysis import without_look_up
from ..laboratory.page import differences
from ..laboratory.predictions import measured, plan_of
from ..laboratory.training import Untrained
from .common import Wrong, as_number, at_least, expect, expect_close, expect_number, foretold


def _bound(places: int, slots: int, N: int, among_all: bool = False) -> float:
    """How often a solver is right that binds some places and picks among the others, or all, by going through all problems."""
    total = 0.0
    for n in range(1, slots + 1):
        for asked in range(n):  # counted from the last assignment
            others = n if among_all else max(n - places, 1)
            total += (1 if asked < places else 1 / others + (1 - 1 / others) / N) / n
    return total / slots


@foretold("the parts of the names at which it shows, over all and with six assignments", (0.76, 0.73))
def bound(answer) -> None:
    """Exercise 17.1: `answer(places, slots, N)` is how often a solver is right that binds so many places and picks otherwise."""
    for slots, N in ((6, 59), (4, 29), (8, 59)):
        for places in (0, 1, 2, slots - 1, slots):
            wrong = {
                "a wrong number may give the right sum modulo N": _bound(places, slots, 10**12),
                "it need not pick a number whose place is bound": _bound(places, slots, N, among_all=True),
            }
            case = f"{places} of up to {slots} places, modulo {N},"
            expect_number(answer(places, slots, N), _bound(places, slots, N), case, "counting gives", wrong=wrong)


def _held_by_luck(n: int, q: float) -> float:
    """The chance that at least two thirds of n seeds hold, each with chance q."""
    return at_least(-(-2 * n // 3), n, q)


@foretold("the seeds for a chance of one half each, and 0.05", 30)
def seeds_needed(answer) -> None:
    """Exercise 17.2: `answer(q, most)` is the least multiple of 3 of seeds of which two thirds hold by luck in so few cases."""
    for q, most in product((0.5, 0.3, 0.1, 0.6), (0.6, 0.2, 0.05, 0.01)):
        given, sizes = as_number(answer(q, most)), range(3, 3000, 3)
        true = next(n for n in sizes if _held_by_luck(n, q) <= most)
        wrong = {
            "it must be a multiple of 3": bool(given % 3),
            "that asks that all of them hold": next(n for n in sizes if q**n <= most),
        }
        words = f"chance {q} each, at most {most}: {true} seeds, not {given:g}; with {true} the chance is"
        expect_close(given, true, f"{words} {_held_by_luck(true, q):.4f}", wrong=wrong)


def own_world(answer) -> str:
    """Exercise 17.3: `answer()` is the text of a world's file, whose predictions an untrained network does not bear out."""
    try:
        plan = plan_of("mine", str(answer()))
    except ValueError as error:
        raise Wrong(f"the file cannot be read: {error}") from None
    world = plan.world()
    expect(plan.predictions, "the world predicts nothing")
    expect(differences(world), "the world does not differ from the study's")
    small = world.n_numbers <= 64 and world.d_model <= 256 and world.steps <= 20_000
    expect(small, "more than 64 numbers, a width of 256 or 20 000 steps take longer than ten minutes")
    untrained = Untrained(world)
    values = measured(plan, {0: untrained})[0]
    levels = {each.name: each.at_most if each.at_least is None else each.at_least for each in plan.predictions}
    clear = {each.name: not each.holds(values[each.name]) and abs(levels[each.name] - values[each.name]) >= 0.05
             for each in plan.predictions}  # fmt: skip
    for each in plan.predictions:
        value, level = values[each.name], levels[each.name]
        words = f"an untrained network has {value:.3g} and {'nearly ' * (not each.holds(value))}bears out {each.name!r}"
        other = "choose another level, or let it count only if (only_if) something was learned, which is not borne out so"
        expect(clear[each.name] or clear.get(each.only_if), f"{words}: {other}")
        if each.at_most is None:
            nothing = without_look_up(untrained, each.measure, each.of)
            words = f"{each.name!r} can be borne out without any look-up: a shortcut, blind or informed, has"
            expect(nothing is None or level >= nothing + 0.05, f"{words} {nothing or 0:.2f}")
    said = "; ".join(f"{name}: {value:.3g}" for name, value in values.items())
    return f"an untrained network has {said}. Now keep the file, and train it"
