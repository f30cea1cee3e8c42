"""The checker: it says what a certificate proves, and refuses in one line what is damaged."""

import ast
import json
import math
from pathlib import Path

import enumerated
import numpy as np
import pytest
import torch
from enumerated import GOOD, SMALL, TASK, as_certificate, by_hand, certificate, every_context, inside, planted
from small import random_weights

from assign_add_lib.proof import checker
from assign_add_lib.proof.bounds import Box, Question, Tables, margins, neurons
from assign_add_lib.proof.certificate import prove, question_of, sharpened
from assign_add_lib.proof.checker import check, fingerprint
from assign_add_lib.proof.contexts import contexts, layouts


@pytest.fixture
def made(tmp_path):
    """A certificate of three sums, to be damaged."""
    (tmp_path / "good.json").write_text(certificate())
    return tmp_path / "good.json"


def test_a_pass_says_what_is_proved(made):
    said = check(made, GOOD)
    name = fingerprint(GOOD)[:16]
    assert said.startswith(f"proved, in exact arithmetic, of the network whose weights have the SHA-256 {name}...: it answers ")
    assert said.endswith(" 0+1, 1+0, 2+2 right by a lead of at least 30.128 in each of the 37 contexts of at most 2 assignments")
    assert contexts(SMALL) == 37 and "\n" not in said


def test_a_sum_that_is_proved_up_to_fewer_assignments_says_so(made):
    given = json.loads(made.read_text())
    less = given["questions"][0]
    less |= {"most": 1} | {name: less[name][:4] for name in ("bounds", "nearest", "cut")}
    made.write_text(json.dumps(given))
    parts = check(made, GOOD).split("; ")
    assert "it answers 1+0, 2+2 right" in parts[0] and "37 contexts of at most 2 assignments" in parts[0]
    assert "it answers 0+1 right" in parts[1] and "19 contexts of at most 1 assignments" in parts[1]


def question(**changes):
    return lambda given: given["questions"][1].update(changes)


def bound(change, place=3, name="bounds"):
    def do(given):
        values = given["questions"][1][name]
        values[place] = change(values[place])

    return do


def without_layout(place):
    def do(given):
        for values in (given["layouts"], *(each[name] for each in given["questions"] for name in ("bounds", "nearest", "cut"))):
            del values[place]

    return do


DAMAGE = {
    "other form": (lambda given: given.update(form="certificate"), "its form is 'certificate'"),
    "no form": (lambda given: given.pop("form"), "is no certificate"),
    "other weights": (lambda given: given.update(weights="0" * 64), "it is for other weights"),
    "other sizes": (lambda given: given["task"].update(n_numbers=5), "it is for a task of other sizes"),
    "a layout left out": (without_layout(2), "its layouts leave out contexts of 1 assignments"),
    "the empty layout left out": (without_layout(0), "its layouts leave out contexts of 0 assignments"),
    "the last layout left out": (without_layout(4), "is not proved up to 2"),
    "no layouts": (lambda given: given.update(layouts=[]), "leave out contexts of 0"),
    "a layout for another": (lambda given: given["layouts"].__setitem__(2, [0]), "its layouts repeat"),
    "layouts out of order": (lambda given: given["layouts"].reverse(), "do not stand in order"),
    "a layout that overlaps": (lambda given: given["layouts"].__setitem__(4, [0, 1]), r"there is no layout \[0, 1\]"),
    "a layout beyond the room": (lambda given: given["layouts"].__setitem__(1, [3]), r"there is no layout \[3\]"),
    "a layout of halves": (lambda given: given["layouts"].__setitem__(1, [0.5]), "there is no layout"),
    "a larger bound": (bound(lambda value: value + 0.002), r"0\+1 has the bound"),
    "a smaller bound": (bound(lambda value: value - 0.003), "has the bound"),
    "a bound of 0": (bound(lambda value: 0.0), "which is not above 0"),
    "a negative bound": (bound(lambda value: -value), "which is not above 0"),
    "no number": (bound(lambda value: math.nan), "which is not above 0"),
    "an infinite bound": (bound(lambda value: math.inf), "which is not above 0"),
    "a bound in words": (bound(lambda value: "very\nlarge"), "which is not above 0"),
    "a bound too few": (lambda given: given["questions"][1]["bounds"].pop(), "needs a bound for each of 5 layouts"),
    "bounds of another question": (lambda given: given["questions"][1].update(left=2), "is not 1"),
    "a wrong answer": (question(answer=2), "is not 2"),
    "the answer for the nearest": (bound(lambda value: 1, name="nearest"), "for its nearest wrong answer"),
    "another nearest": (bound(lambda value: 2 if value == 0 else 0, name="nearest"), "for its nearest answer"),
    "a nearest out of range": (bound(lambda value: -1, name="nearest"), "for its nearest wrong answer"),
    "no order": (lambda given: given.pop("order"), "is no certificate"),
    "a number left out": (lambda given: given["order"].pop(), "its order is not one of all numbers"),
    "a number twice": (lambda given: given["order"].__setitem__(0, given["order"][1]), "its order is not one of all numbers"),
    "a number for another": (lambda given: given["order"].__setitem__(0, True), "its order is not one of all numbers"),
    "cut into no parts": (bound(lambda value: 0, name="cut"), "cut into 0 parts"),
    "cut into too many parts": (bound(lambda value: 5, place=4, name="cut"), "cut into 5 parts"),
    "cut in words": (bound(lambda value: "2", name="cut"), "cut into 2 parts"),
    "a cut too few": (lambda given: given["questions"][1]["cut"].pop(), "needs a bound for each of 5 layouts"),
    "more assignments": (question(most=3), "is not proved up to 3"),
    "fewer assignments": (question(most=1), "needs a bound for each of 4 layouts"),
    "assignments in words": (question(most="\n"), "is not proved up to"),
    "a nearest in words": (bound(lambda value: "\n", name="nearest"), "for its nearest wrong answer"),
    "true assignments": (question(most=True), "is not proved up to True"),
    "a number out of range": (question(left=4), r"there is no question 4\+1=1 with \{\}"),
    "a number in words": (question(left="a\nb"), "does not assign just what it asks for"),
    "a number that is true": (question(left=False), "there is no question"),
    "something assigned": (question(asked={"a": 1}), "does not assign just what it asks for"),
    "nothing said of what is assigned": (lambda given: given["questions"][1].pop("asked"), "is no certificate"),
    "a question twice": (lambda given: given["questions"].append(given["questions"][0]), "stands there twice"),
    "a question without bounds": (lambda given: given["questions"][1].pop("bounds"), "is no certificate"),
    "questions of no kind": (lambda given: given.update(questions=[3]), "is no certificate"),
    "no list of layouts": (lambda given: given.update(layouts=3), "is no certificate"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_certificate_is_refused_in_a_line(name, made):
    damage, words = DAMAGE[name]
    given = json.loads(made.read_text())
    given["questions"].sort(key=lambda each: each["left"] != 2)  # the second is 0+1
    damage(given)
    made.write_text(json.dumps(given))
    with pytest.raises(ValueError, match=words) as caught:
        check(made, GOOD)
    assert "\n" not in str(caught.value) and str(caught.value).startswith(str(made))


@pytest.fixture
def look_up(tmp_path):
    """A certificate of a look-up beside at most one other, of two look-ups alone and of a plain sum, to be damaged."""
    where, texts = list(layouts(SMALL)), (("a=1, a+0", 1), ("a=1, b=1, b+a", 0), ("b=2, b+b", 0), ("0+1", 2))
    said = [prove(GOOD, where, most, [question_of(text, SMALL)])[0] for text, most in texts]
    (tmp_path / "some.json").write_text(as_certificate(GOOD, where, said))
    return tmp_path / "some.json"


def test_a_certificate_of_all_kinds_says_what_is_proved(look_up):
    parts = check(look_up, GOOD).split("; ")
    assert len(parts) == 4 and "it answers 0+1 right" in parts[0] and parts[0].endswith("37 contexts of at most 2 assignments")
    for part, text, many, most in (
        (parts[1], "a+0 with a=1", 9, 1),
        (parts[2], "b+b with b=2", 3, 0),
        (parts[3], "b+a with b=1, a=1", 2, 0),
    ):
        assert part.startswith(f"it answers {text} right by a lead of at least ")
        assert part.endswith(f"in each of the {many} contexts of what is asked for and at most {most} other assignments")


LOOK_UP_DAMAGE = {
    "a false claim": (lambda each: each["bounds"].__setitem__(2, 40.0), r"a\+0 with a=1 has the bound 40.0 in layout \[2\]"),
    "a claim beside another": (
        lambda each: each["bounds"].__setitem__(3, each["bounds"][3] + 1.0),
        r"has the bound .* \[0, 2\]",
    ),
    "another number asked": (lambda each: each.update(asked={"a": 2}), r"a\+0 with a=2 is not 1"),
    "another number and answer": (lambda each: each.update(asked={"a": 2}, answer=2), "has the bound|nearest"),
    "another name": (lambda each: each.update(left="b"), "does not assign just what it asks for"),
    "a name left out": (lambda each: each.update(asked={}), "does not assign just what it asks for"),
    "a name let in": (lambda each: each["asked"].update(b=1), "does not assign just what it asks for"),
    "a name of another task": (lambda each: each.update(left="c", asked={"c": 1}), "does not assign just what it asks for"),
    "no names": (lambda each: each.update(asked=[["a", 1]]), "does not assign just what it asks for|is no certificate"),
    "a number out of range": (lambda each: each.update(asked={"a": 4}), r"there is no question 'a'\+0=1 with \{'a': 4\}"),
    "a number in words": (lambda each: each.update(asked={"a": "1"}), "there is no question"),
    "a true number": (lambda each: each.update(asked={"a": True}), "there is no question"),
    "more than there is room for": (lambda each: each.update(most=2), "is not proved up to 2 assignments"),
    "fewer bounds": (lambda each: each["bounds"].pop(), "needs a bound for each of 4 layouts"),
    "cut where nothing else stands": (lambda each: each["cut"].__setitem__(0, 4), "has numbers cut into 4 parts"),
    "cut too much": (lambda each: each["cut"].__setitem__(3, 17), "has numbers cut into 17 parts"),
}


@pytest.mark.parametrize("name", LOOK_UP_DAMAGE)
def test_a_damaged_certificate_of_look_ups_is_refused_in_a_line(name, look_up):
    damage, words = LOOK_UP_DAMAGE[name]
    given = json.loads(look_up.read_text())
    damage(given["questions"][0])
    look_up.write_text(json.dumps(given))
    with pytest.raises(ValueError, match=words) as caught:
        check(look_up, GOOD)
    assert "\n" not in str(caught.value) and str(caught.value).startswith(str(look_up))


def test_a_look_up_said_in_another_order_is_the_same(look_up):
    given = json.loads(look_up.read_text())
    two = json.loads(json.dumps(given["questions"][1]))
    given["questions"].append(two | {"asked": dict(reversed(two["asked"].items()))})
    look_up.write_text(json.dumps(given))
    with pytest.raises(ValueError, match="a question stands there twice"):
        check(look_up, GOOD)


BOXES = checker.boxes


def forgets_a_place(task, starts, order, cut, asked):
    """What is asked for never stands first where another stands beside it."""
    for box in BOXES(task, starts, order, cut, asked):
        if len(starts) <= len(asked) or box.names[0].sum() > 1:
            yield box


def lets_a_name_in(task, starts, order, cut, asked):
    """What stands beside may be the asked variable, with another number."""
    for box in BOXES(task, starts, order, cut, asked):
        beside_it = (box.names.sum(1) > 1) & (len(starts) > len(asked))
        yield Box(task, box.starts, box.names | beside_it[:, None], box.numbers)


@pytest.mark.parametrize("mistake", [forgets_a_place, lets_a_name_in])
def test_a_planted_mistake_of_the_boxes_is_caught(mistake, tmp_path, monkeypatch):
    weights, path = sharpened(by_hand(), (1, 0.3)), tmp_path / "one.json"
    where, asked = list(layouts(TASK, 2)), [question_of("b=1, b+0", TASK)]

    def made():
        (said,) = prove(weights, where, 1, asked)
        path.write_text(as_certificate(weights, where, [said]))
        return said

    monkeypatch.setattr(checker, "boxes", mistake)
    wrong = made()
    if wrong["most"] == 1:
        monkeypatch.undo()
        with pytest.raises(ValueError, match=r"b\+0 with b=1 has the bound .* in layout \[0, 2\]"):
            check(path, weights)
    monkeypatch.undo()
    right = made()
    assert right["most"] == 1 and right["bounds"] != wrong["bounds"] and check(path, weights)
    monkeypatch.setattr(checker, "boxes", mistake)
    with pytest.raises(ValueError, match=r"b\+0 with b=1 has the bound .* in layout \[0, 2\]"):
        check(path, weights)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff", b"[" * 100_000, b'{"form": 1e999}'])
def test_what_is_no_certificate_is_refused(content, made):
    made.write_bytes(content)
    with pytest.raises(ValueError, match="proves nothing|is no certificate"):
        check(made, GOOD)


def test_a_certificate_is_for_just_these_weights(made):
    W_E = GOOD.W_E.clone()
    W_E[0, 0] = torch.nextafter(W_E[0, 0], W_E.new_tensor(2.0))
    for other in (GOOD.replace(W_E=W_E), GOOD.to(torch.float64), by_hand()):
        with pytest.raises(ValueError, match="for other weights|of other sizes"):
            check(made, other)


LOOK_UPS = [{1: 3}, {0: 2}, {2: 0, 1: 3}]


def with_asked(starts: tuple[int, ...], asked: dict[int, int]) -> torch.Tensor:
    """All contexts that start there and assign these numbers to these names."""
    found = every_context(TASK, frozenset(starts))
    for name, number in asked.items():
        found = found[((found[:, :-1] == TASK.first_variable + name) & (found[:, 1:] == number)).any(1)]
    return found


@pytest.mark.parametrize("cut", [1, 2])
@pytest.mark.parametrize("asked", [{}, *LOOK_UPS], ids=str)
def test_boxes_of_a_look_up_hold_every_context_that_assigns_what_is_asked_for_once(asked, cut):
    for starts in layouts(TASK):
        held = [inside(box) for box in checker.boxes(TASK, starts, [3, 1, 0, 4, 2], cut, asked)]
        held = torch.cat(held) if held else every_context(TASK)[:0]
        assert sorted(held.tolist()) == sorted(with_asked(starts, asked).tolist())


def look_ups(weights, asked):
    """The least lead of the right answer in each layout, bounded, and by trying all."""
    tables, (first, *rest) = Tables(weights), asked.items()
    operands = [(TASK.first_variable + name, number) for name, number in (first, *rest, (1 - TASK.first_variable, 1))][:2]
    (left, one), (right, other) = operands if first[0] else operands[::-1]
    answer = (one + other) % TASK.n_numbers
    for starts in layouts(TASK):
        bounds = [
            margins(Question.of(tables, box, left, right), answer, neurons(tables, box)).min()
            for box in checker.boxes(TASK, starts, range(TASK.n_numbers), 2, asked)
        ]
        if bounds:
            problems = enumerated.asked(with_asked(starts, asked), TASK, left, right)
            yield min(bounds), np.delete(enumerated.least_leads(weights, problems, answer), answer).min()


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("asked", LOOK_UPS, ids=str)
def test_no_look_up_is_proved_beyond_what_all_contexts_show(asked, scale):
    weights = random_weights(TASK, 16, 16, 32, 2, scale) if scale else by_hand(TASK)
    found = np.array([*look_ups(weights, asked)])
    assert (found[:, 0] <= found[:, 1] + 1e-9).all()
    assert scale or (found[:, 0] > 0).all()


@pytest.mark.parametrize("asked", LOOK_UPS, ids=str)
def test_a_look_up_with_a_planted_wrong_answer_is_never_proved(asked):
    found = np.array([*look_ups(planted(), asked)])
    assert (found[:, 0] <= found[:, 1] + 1e-9).all() and (found[:, 1] < 0).any() and (found[:, 0] > 0).any()


def test_the_checker_imports_nothing_of_the_search():
    tree = ast.parse(Path(checker.__file__).read_text())
    own = {each.module for each in ast.walk(tree) if isinstance(each, ast.ImportFrom) and each.level}
    assert own == {"bounds", "contexts", "model", "task"}
