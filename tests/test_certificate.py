"""Certificates: what they prove is so one by one, what is wrong is never proved, and what is damaged is refused."""

import ast
import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from enumerated import TASK, asked, box_of, by_hand, every_context, least_leads

from assign_add_lib import Task, last_logits
from assign_add_lib.__main__ import main
from assign_add_lib.handmade import residual_blocks
from assign_add_lib.proof import certificate, checker
from assign_add_lib.proof.bounds import Question, Tables, margins, neurons
from assign_add_lib.proof.certificate import certify_run, check_run, prove, sample, sharpened, written
from assign_add_lib.proof.checker import check, fingerprint
from assign_add_lib.proof.contexts import contexts, layouts

SMALL = Task(3, 2, 8)
GOOD, POOR = by_hand(SMALL), by_hand(SMALL)
POOR = POOR.replace(W_U=POOR.W_U.flip(1))


@pytest.fixture
def runs(monkeypatch):
    """Runs of networks that no one trained."""
    kept = {"good": GOOD, "poor": POOR}
    runs = {name: SimpleNamespace(name=name, steps=[0, 7], weights=lambda step, each=each: each) for name, each in kept.items()}
    monkeypatch.setattr(certificate, "load_run", runs.__getitem__)


SUMS = [(0, 1), (2, 2), (1, 0)]


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """A certificate of three sums."""
    path = tmp_path_factory.mktemp("made") / "good.json"
    with pytest.MonkeyPatch.context() as patch:
        runs.__wrapped__(patch)
        certify_run("good", path, SUMS, jobs=1, progress=False)
    return path.read_bytes()


@pytest.fixture
def made(runs, content, tmp_path):
    """It in a file, to be damaged."""
    (tmp_path / "good.json").write_bytes(content)
    return tmp_path / "good.json"


def planted(task: Task = TASK):
    """The network by hand, whose `=` also looks out for the number 4, and for position 1: for both it forgets the operands."""
    weights, at, spare, strength = by_hand(task), residual_blocks((1, 2), task), 30, 14 * math.sqrt(32)
    W_E, W_Q = weights.W_E.clone(), weights.W_Q.clone()
    W_E[4, spare] = 1
    W_Q[1, at["position"].start + task.last, [spare, at["position"].start + 1]] += strength
    return weights.replace(W_E=W_E, W_Q=W_Q)


def test_what_is_proved_is_so_in_every_context():
    everywhere = every_context(SMALL)
    for most in (0, 1, 2):
        for said in prove(GOOD, list(layouts(SMALL, most)), [(0, 1), (2, 2)]):
            leads = least_leads(GOOD, asked(everywhere, SMALL, said["left"], said["right"]), said["answer"])
            assert (said["most"], said["failed"], len(said["bounds"])) == (most, None, [1, 4, 5][most])
            assert 0 <= sorted(leads)[1] - min(said["bounds"]) < 0.01


def test_a_planted_counterexample_is_never_proved():
    weights, (left, right) = planted(), (0, 2)
    problems = asked(every_context(TASK), TASK, left, right)
    wrong = last_logits(weights, problems).argmax(1) != 2
    assert wrong.any() and (wrong == (problems[:, 1] == 4)).all()
    (said,) = prove(weights, list(layouts(TASK)), [(left, right)])
    assert (said["most"], said["failed"]["layout"], len(said["bounds"])) == (0, [0], 1)
    tables = Tables(weights)
    for starts in layouts(TASK):
        numbers = {0: [0, 1, 2, 3]} if 0 in starts else {}
        for box, right_there in ((box_of(TASK, starts), 0 not in starts), (box_of(TASK, starts, None, numbers), True)):
            bound = margins(Question.of(tables, box, left, right), 2, neurons(tables, box)).min()
            assert (bound > 0) == right_there, "only where the planted context lies in the box is nothing proved"


def test_a_wrong_network_is_proved_of_nothing(runs, tmp_path):
    said = certify_run("poor", tmp_path / "poor.json", [(1, 1)], jobs=1, progress=False)
    assert (said[0]["most"], said[0]["failed"]["layout"]) == (-1, []) and said[0]["failed"]["bound"] < 0
    assert check(tmp_path / "poor.json", POOR).endswith("of 1 plain sums nothing is known")


def test_a_pass_says_what_is_proved(made):
    said = check(made, GOOD)
    assert said == check_run("good", made, jobs=1, progress=False)
    name = fingerprint(GOOD)[:16]
    assert said.startswith(f"proved, in exact arithmetic, of the network whose weights have the SHA-256 {name}...: it answers ")
    assert said.endswith(" 0+1, 1+0, 2+2 right by a lead of at least 30.128 in each of the 37 contexts of at most 2 assignments")
    assert contexts(SMALL) == 37 and "\n" not in said


def test_a_sum_that_is_proved_up_to_fewer_assignments_says_so(made):
    given = json.loads(made.read_text())
    less = given["questions"][0]
    less |= {"most": 1, "bounds": less["bounds"][:4], "nearest": less["nearest"][:4]}
    made.write_text(json.dumps(given))
    parts = check(made, GOOD).split("; ")
    assert "it answers 1+0, 2+2 right" in parts[0] and "37 contexts of at most 2 assignments" in parts[0]
    assert "it answers 0+1 right" in parts[1] and "19 contexts of at most 1 assignments" in parts[1]


@pytest.mark.parametrize("bound, as_written", [(1.2345, 1.234), (1.234, 1.233), (0.0005, 0.0), (-1.5, -1.501), (-math.inf, None)])
def test_bounds_are_written_from_below(bound, as_written):
    assert written(bound) == as_written


def question(**changes):
    return lambda given: given["questions"][1].update(changes)


def bound(change, place=3, name="bounds"):
    def do(given):
        values = given["questions"][1][name]
        values[place] = change(values[place])

    return do


def without_layout(place):
    def do(given):
        for values in (given["layouts"], *(each[name] for each in given["questions"] for name in ("bounds", "nearest"))):
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
    "a bound in words": (bound(lambda value: "large"), "which is not above 0"),
    "a bound too few": (lambda given: given["questions"][1]["bounds"].pop(), "needs a bound for each of 5 layouts"),
    "bounds of another question": (lambda given: given["questions"][1].update(left=2), "is not 1"),
    "a wrong answer": (question(answer=2), "is not 2"),
    "the answer for the nearest": (bound(lambda value: 1, name="nearest"), "for its nearest wrong answer"),
    "another nearest": (bound(lambda value: 2 if value == 0 else 0, name="nearest"), "for its nearest answer"),
    "a nearest out of range": (bound(lambda value: -1, name="nearest"), "for its nearest wrong answer"),
    "more assignments": (question(most=3), "is not proved up to 3"),
    "fewer assignments": (question(most=1), "needs a bound for each of 4 layouts"),
    "true assignments": (question(most=True), "is not proved up to True"),
    "a number out of range": (question(left=4), "there is no plain sum"),
    "a number in words": (question(left="a"), "there is no plain sum"),
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


def test_the_checker_imports_nothing_of_the_search():
    tree = ast.parse(Path(checker.__file__).read_text())
    own = {each.module for each in ast.walk(tree) if isinstance(each, ast.ImportFrom) and each.level}
    assert own == {"bounds", "contexts", "model", "task"}


def test_one_process_and_two_make_and_check_the_same(made, tmp_path):
    certify_run("good", tmp_path / "two.json", SUMS, jobs=2, progress=False)
    assert (tmp_path / "two.json").read_bytes() == made.read_bytes()
    assert check_run("good", made, jobs=2, progress=False) == check(made, GOOD)
    made.write_text(made.read_text().replace('"answer": 1', '"answer": 1', 1).replace("30.128", "30.129", 1))
    with pytest.raises(ValueError, match="has the bound 30.129"):
        check_run("good", made, jobs=2, progress=False)


def test_a_stopped_search_goes_on(runs, tmp_path, monkeypatch):
    path, searched = tmp_path / "some.json", []

    def stop(weights, where, pairs, *rest):
        searched.extend(pairs)
        if len(searched) == 3:
            raise KeyboardInterrupt
        return prove(weights, where, pairs, *rest)

    monkeypatch.setattr(certificate, "PART", 1)
    monkeypatch.setattr(certificate, "prove", stop)
    with pytest.raises(KeyboardInterrupt):
        certify_run("good", path, 5, jobs=1, progress=False)
    assert check(path, GOOD) and len(json.loads(path.read_text())["questions"]) == 2
    certify_run("good", path, 5, jobs=1, progress=False)
    assert searched[3:] == sample(SMALL, 5)[2:]
    certify_run("good", tmp_path / "whole.json", 5, jobs=1, progress=False)
    assert path.read_bytes() == (tmp_path / "whole.json").read_bytes()
    del searched[:]
    certify_run("good", path, 4, jobs=1, progress=False)
    assert not searched


def test_a_sample_is_part_of_a_larger_one():
    assert sample(TASK, 4, 3) == sample(TASK, 25, 3)[:4] != sample(TASK, 4, 4)
    assert len(set(sample(TASK, 25))) == 25


def test_sharpened_scores_are_part_of_the_certificate(runs, tmp_path):
    path, weights = tmp_path / "sharp.json", sharpened(GOOD, (1, 1.5))
    (said,) = certify_run("good", path, [(0, 1)], 1, (1, 1.5), jobs=1, progress=False)
    assert said["most"] == 1 and check_run("good", path, jobs=1, progress=False) == check(path, weights)
    assert torch.equal(weights.W_Q[1], 1.5 * GOOD.W_Q[1]) and torch.equal(weights.W_Q[0], GOOD.W_Q[0])
    with pytest.raises(ValueError, match="for other weights"):
        check(path, GOOD)
    with pytest.raises(ValueError, match="holds what was found with other sharpen"):
        certify_run("good", path, [(0, 1)], 1, jobs=1, progress=False)


BAD = [
    (["--pairs", "0"], "pairs must be at least 1 and at most 9, not 0"),
    (["--pairs", "10"], "pairs must be at least 1 and at most 9, not 10"),
    (["--pairs", "2", "--question", "0", "1"], "not allowed with"),
    (["--question", "0", "3"], "numbers go from 0 to 2, not 0 and 3"),
    (["--question", "0"], "expected 2 arguments"),
    (["--most", "3"], "most must be at least 0 and at most 2, not 3"),
    (["--most", "-1"], "most must be at least 0"),
    (["--sharpen", "0", "1"], "numbers above 0 and at most 1000"),
    (["--sharpen", "1", "nan"], "numbers above 0 and at most 1000"),
    (["--seed", "-1"], "seed must be from 0"),
    (["--jobs", "0"], "jobs must be at least 1 and at most 1024, not 0"),
    (["--output", "."], "is a folder"),
    (["--output", "notes.json"], "notes.json holds something else than a certificate"),
    (["--check", "none.json"], "there is no file none.json"),
    (["--check", "notes.json"], "is no certificate"),
    (["--check", "good.json", "--jobs", "0"], "jobs must be"),
]


@pytest.mark.parametrize("more, words", BAD)
def test_bad_input_of_the_command_gives_a_line(more, words, made, monkeypatch, capsys):
    monkeypatch.chdir(made.parent)
    (made.parent / "notes.json").write_text("{}")
    before = made.read_bytes()
    try:
        code = main(["certify", "good", "--quiet", *more])
    except SystemExit as error:
        code = error.code
    out, err = capsys.readouterr()
    assert code == 2 and err.count("\n") == 1 and words in err and not out
    assert made.read_bytes() == before and not (made.parent / "certificate.json").exists()


def test_the_command_writes_and_checks(runs, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["certify", "good", "--question", "1", "2", "--jobs", "1", "--output", "one.json"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-2:] == ["at most 2 assignments: 1 of 1 plain sums proved", "written: one.json"] and "certify" in err
    assert main(["certify", "good", "--check", "one.json", "--jobs", "1", "--quiet"]) == 0
    assert capsys.readouterr().out == check("one.json", GOOD) + "\n"
    assert main(["certify", "poor", "--check", "one.json", "--quiet"]) == 2
    assert "it is for other weights" in capsys.readouterr().err
