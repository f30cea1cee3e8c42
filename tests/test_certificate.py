"""Certificates: what they prove is so one by one, what is wrong is never proved, and what is damaged is refused."""

import json
import math
from types import SimpleNamespace

import pytest
import torch
from enumerated import GOOD, SMALL, SUMS, TASK, asked, box_of, every_context, least_leads, planted
from enumerated import certificate as small_certificate

from assign_add_lib import Task, handmade, last_logits
from assign_add_lib.__main__ import main
from assign_add_lib.proof import certificate
from assign_add_lib.proof.bounds import Question, Tables, margins, neurons
from assign_add_lib.proof.certificate import certify_run, check_run, prove, question_of, sample, sharpened, written
from assign_add_lib.proof.checker import check
from assign_add_lib.proof.contexts import contexts, layouts

POOR = GOOD.replace(W_U=GOOD.W_U.flip(1))
LOOK_UPS = ["b=2, b+1=?", "a=0, 2+a=?", "a=2, b=1, b+a=?"]


def search(weights, where, most, *texts):
    return prove(weights, where, most, [question_of(text, weights.task) for text in texts])


@pytest.fixture
def runs(monkeypatch):
    """Runs of networks that no one trained."""
    kept = {"good": GOOD, "poor": POOR}
    runs = {name: SimpleNamespace(name=name, steps=[0, 7], weights=lambda step, each=each: each) for name, each in kept.items()}
    monkeypatch.setattr(certificate, "opened", runs.__getitem__)


@pytest.fixture
def made(runs, tmp_path):
    """A certificate of three sums."""
    (tmp_path / "good.json").write_text(small_certificate())
    return tmp_path / "good.json"


def test_what_is_proved_is_so_in_every_context():
    everywhere = every_context(SMALL)
    for most in (0, 1, 2):
        for said in search(GOOD, list(layouts(SMALL, most)), most, "0+1", "2+2"):
            leads = least_leads(GOOD, asked(everywhere, SMALL, said["left"], said["right"]), said["answer"])
            assert (said["most"], said["failed"], len(said["bounds"])) == (most, None, [1, 4, 5][most])
            assert 0 <= sorted(leads)[1] - min(said["bounds"]) < 0.01


def test_boxes_that_are_cut_prove_more_and_still_hold():
    weak = {name: 2 for name in ("previous", "operands", "match", "number")}
    weights = handmade.weights((1, 2), TASK, 32, 16, **weak)
    (said,) = search(weights, list(layouts(TASK)), 3, "0+1")
    assert max(said["cut"]) == 4 and said["most"] == 2
    problems = asked(every_context(TASK), TASK, 0, 1)
    few = ((problems >= TASK.first_variable).sum(1) <= said["most"]).nonzero()[:, 0]
    assert min(said["bounds"]) < sorted(least_leads(weights, problems[few], 1))[1]


def every(text: str, most: int, task: Task = SMALL) -> torch.Tensor:
    """All problems that ask this question beside at most so many other assignments, one by one."""
    question, contexts = question_of(text, task), every_context(task)
    for name, number in question["asked"].items():
        contexts = contexts[((contexts[:, :-1] == task.token(name)) & (contexts[:, 1:] == number)).any(1)]
    contexts = contexts[(contexts >= task.first_variable).sum(1) <= len(question["asked"]) + most]
    return asked(contexts, task, task.token(question["left"]), task.token(question["right"]))


@pytest.mark.parametrize("text", [*LOOK_UPS, "0+1"])
def test_what_is_proved_of_look_ups_is_so_in_every_context(text):
    own = len(question_of(text, SMALL)["asked"])
    for most in range(SMALL.slots - own + 1):
        (said,) = search(GOOD, list(layouts(SMALL)), most, text)
        problems, sizes = every(text, most), [[len(starts) for starts in layouts(SMALL)].count(own + n) for n in range(most + 1)]
        assert (said["most"], said["failed"], len(said["bounds"])) == (most, None, sum(sizes))
        assert len(problems) == contexts(SMALL, most, own)
        assert 0 <= sorted(least_leads(GOOD, problems, said["answer"]))[1] - min(said["bounds"]) < 0.01


@pytest.mark.parametrize("text", ["a=4, a+1=?", "a=0, 1+a=?", "c=1, b=1, c+b=?", "c=2, b=4, c+b=?"])
@pytest.mark.parametrize("position", [1, None])
def test_a_look_up_that_is_wrong_in_some_context_is_never_proved(position, text):
    """Of networks that look out for the number 4, at position 1 or anywhere: that of what is asked for, or of another."""
    weights = planted(TASK, 4, position)
    (said,) = search(weights, list(layouts(TASK)), 1, text)
    wrong = [(last_logits(weights, every(text, most, TASK)).argmax(1) != said["answer"]).any() for most in (0, 1)]
    assert wrong[1] and said["most"] <= wrong.index(True) - 1 and said["failed"]["bound"] < 0
    if position is None and "4" not in text:
        assert said["most"] == 0


def test_a_planted_counterexample_is_never_proved():
    weights, (left, right) = planted(), (0, 2)
    problems = asked(every_context(TASK), TASK, left, right)
    wrong = last_logits(weights, problems).argmax(1) != 2
    assert wrong.any() and (wrong == (problems[:, 1] == 4)).all()
    (said,) = search(weights, list(layouts(TASK)), 3, "0+2")
    assert (said["most"], said["failed"]["layout"], len(said["bounds"])) == (0, [0], 1)
    tables = Tables(weights)
    for starts in layouts(TASK):
        numbers = {0: [0, 1, 2, 3]} if 0 in starts else {}
        for box, right_there in ((box_of(TASK, starts), 0 not in starts), (box_of(TASK, starts, None, numbers), True)):
            bound = margins(Question.of(tables, box, left, right), 2, neurons(tables, box)).min()
            assert (bound > 0) == right_there, "only where the planted context lies in the box is nothing proved"


def test_a_wrong_network_is_proved_of_nothing(runs, tmp_path):
    said = certify_run("poor", tmp_path / "poor.json", ["1+1"], jobs=1, progress=False)
    assert (said[0]["most"], said[0]["failed"]["layout"]) == (-1, []) and said[0]["failed"]["bound"] < 0
    assert check(tmp_path / "poor.json", POOR).endswith("of 1 questions nothing is known")


@pytest.mark.parametrize("bound, as_written", [(1.2345, 1.234), (1.234, 1.233), (0.0005, 0.0), (-1.5, -1.501), (-math.inf, None)])
def test_bounds_are_written_from_below(bound, as_written):
    assert written(bound) == as_written


def test_one_process_and_two_make_and_check_the_same(made, tmp_path):
    for jobs in (1, 2):
        certify_run("good", tmp_path / f"{jobs}.json", SUMS, jobs=jobs, progress=False)
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()
    assert json.loads((tmp_path / "1.json").read_text())["questions"] == json.loads(made.read_text())["questions"]
    assert check_run("good", made, jobs=2, progress=False) == check(made, GOOD)
    made.write_text(made.read_text().replace('"answer": 1', '"answer": 1', 1).replace("30.128", "30.129", 1))
    with pytest.raises(ValueError, match="has the bound 30.129"):
        check_run("good", made, jobs=2, progress=False)


def test_a_stopped_search_goes_on(runs, tmp_path, monkeypatch):
    path, searched = tmp_path / "some.json", []

    def stop(weights, where, most, questions, *rest):
        searched.extend((question["left"], question["right"]) for question in questions)
        if len(searched) == 3:
            raise KeyboardInterrupt
        return prove(weights, where, most, questions, *rest)

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


def test_all_kinds_of_questions_go_into_one_certificate_and_more_assignments_are_searched_anew(runs, tmp_path):
    path = tmp_path / "all.json"
    certify_run("good", path, [*LOOK_UPS[:2], "b=1, b+0", "0+1"], 0, jobs=1, progress=False)
    found = certify_run("good", path, ["1+0", LOOK_UPS[0]], 0, jobs=1, progress=False)
    assert [each["right"] for each in found] == [0, 1]
    text = path.read_text()
    with pytest.raises(ValueError, match="holds what was found with other layouts"):
        certify_run("good", path, LOOK_UPS, 0, jobs=1, progress=False)
    assert path.read_text() == text
    (said,) = certify_run("good", path, ["0+1"], 1, jobs=1, progress=False)
    assert said["most"] == 1 and len(said["bounds"]) == 4
    said = check(path, GOOD)
    assert "it answers 0+1 right" in said and "in each of the 19 contexts of at most 1 assignments" in said
    assert "2+a with a=0, b+0 with b=1, b+1 with b=2 right" in said
    assert "in each of the 3 contexts of what is asked for and at most 0 other assignments" in said
    assert check_run("good", path, jobs=1, progress=False) == said


def test_two_variables_are_certified_and_the_same_question_is_searched_once(runs, tmp_path, monkeypatch):
    searched = []
    monkeypatch.setattr(certificate, "prove", lambda *given: searched.extend(given[3]) or prove(*given))
    path, texts = tmp_path / "two.json", ["a=2, b=1, b+a=?", "b=1,a=2, b + a", "a=1, a+a=?"]
    found = certify_run("good", path, texts, 0, jobs=1, progress=False)
    assert len(found) == len(searched) == 2 and [each["most"] for each in found] == [0, 0]
    assert check(path, GOOD).count("each of the") == 2
    certify_run("good", path, texts[1:], 0, jobs=1, progress=False)
    assert len(searched) == 2


def test_a_wrong_look_up_is_not_certified(runs, tmp_path):
    (said,) = certify_run("poor", tmp_path / "poor.json", ["a=2, a+0"], 1, jobs=1, progress=False)
    assert (said["most"], said["failed"]["layout"]) == (-1, [0]) and said["failed"]["bound"] < 0
    assert check(tmp_path / "poor.json", POOR).endswith("of 1 questions nothing is known")


def test_a_sample_is_part_of_a_larger_one():
    assert sample(TASK, 4, 3) == sample(TASK, 25, 3)[:4] != sample(TASK, 4, 4)
    assert len(set(sample(TASK, 25))) == 25


def test_sharpened_scores_are_part_of_the_certificate(runs, tmp_path):
    path, weights = tmp_path / "sharp.json", sharpened(GOOD, (1, 1.5))
    (said,) = certify_run("good", path, ["0+1"], 1, (1, 1.5), jobs=1, progress=False)
    assert said["most"] == 1 and check_run("good", path, jobs=1, progress=False) == check(path, weights)
    assert torch.equal(weights.W_Q[1], 1.5 * GOOD.W_Q[1]) and torch.equal(weights.W_Q[0], GOOD.W_Q[0])
    with pytest.raises(ValueError, match="for other weights"):
        check(path, GOOD)
    with pytest.raises(ValueError, match="holds what was found with other sharpen"):
        certify_run("good", path, ["0+1"], 1, jobs=1, progress=False)


BAD = [
    (["--pairs", "0"], "pairs must be at least 1 and at most 9, not 0"),
    (["--pairs", "10"], "pairs must be at least 1 and at most 9, not 10"),
    (["--pairs", "2", "--question", "0+1"], "not allowed with"),
    (["--question", "0+3"], "the number 3 is out of range; numbers go from 0 to 2"),
    (["--question", "a=3, a+0"], "the number 3 is out of range; numbers go from 0 to 2"),
    (["--question", "0"], "must be one sum of two operands"),
    (["--question", "0+1", "--question", "a+0"], "the left operand a is never assigned; assigned variables: none"),
    (["--question", "b=1, 0+a"], "the right operand a is never assigned; assigned variables: b"),
    (["--question", "a=1, a=2, a+0"], "the variable a is assigned twice"),
    (["--question", "a=1, b=2, a+0"], "assigns only what it asks for, as anything may stand beside it; leave out b"),
    (["--question", "c=1, c+0"], "neither a number from 0 to 2 nor a variable from a to b"),
    (["--question", "a=1, a+0", "--most", "2"], "most must be at least 0 and at most 1, not 2"),
    (["--question"], "expected one argument"),
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
    assert main(["certify", "good", "--question", "1+2=?", "--jobs", "1", "--output", "one.json"]) == 0
    out, err = capsys.readouterr()
    said = ["beside at most 2 assignments: 1 of 1 questions proved", "written: one.json"]
    assert out.splitlines()[-2:] == said and "certify" in err
    several = ["--question", "b=2, b+1=?", "--question", "0+1", "--most", "1", "--output", "two.json", "--jobs", "1", "--quiet"]
    assert main(["certify", "good", *several]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "beside at most 1 assignments: 2 of 2 questions proved",
        "written: two.json",
    ]
    assert [each["asked"] for each in json.loads((tmp_path / "two.json").read_text())["questions"]] == [{}, {"b": 2}]
    assert main(["certify", "good", "--check", "one.json", "--jobs", "1", "--quiet"]) == 0
    assert capsys.readouterr().out == check("one.json", GOOD) + "\n"
    assert main(["certify", "poor", "--check", "one.json", "--quiet"]) == 2
    assert "it is for other weights" in capsys.readouterr().err
