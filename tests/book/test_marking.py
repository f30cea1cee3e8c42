"""Marking: what students hand in, from good to hostile, in one folder; each gets a row, and none harms another."""

import ast
import contextlib
import csv
import dataclasses
import itertools
import json
import os
import re
import resource
import shutil
import signal
import sys
import time
from functools import cache
from itertools import cycle
from pathlib import Path

import matplotlib
import nbformat
import pytest
import torch
from marking import channel, gradebook, judge, landlock, sandbox, seccomp
from marking.__main__ import main, mark
from marking.assignments import WORDS, Chapter, assignment, read_chapters
from marking.gradebook import Course, make_assignment
from marking.sandbox import Limits
from marking.submission import find
from nbconvert.filters import markdown2html
from nbformat.v4 import new_code_cell
from plain import Book

FOLDER = Path(__file__).resolve().parents[2] / "chapters"
FIRST = Chapter.read(FOLDER / "01_task.md")
all_chapters = cache(read_chapters)


def function(exercise):
    """The book's function alone, with a docstring of the student's own."""
    node = next(node for node in ast.parse(exercise.solution).body if isinstance(node, ast.FunctionDef))
    node.body.insert(0, ast.Expr(ast.Constant("Mine.")))
    return ast.unparse(node)


# The exercises need nothing of the chapter but what its cells import, so its figures are left out here.
QUICK = {"01_task": dataclasses.replace(FIRST, code=("import torch\nfrom assign_add_lib import checks\nown_data = [1, 2, 3]",))}
LIMITS = Limits(seconds=60, clock=600, memory=2**30, output=2**20)

WRONG = "def one_look_score(N, m):\n    return 0.5"
RIGHT = {each.function: function(each) for each in FIRST.exercises}
RIGHT["tenth_set"] = """\
def tenth_set(split, size):
    names, x = torch.arange(size)[:, None] + torch.arange(4), torch.randint(59, (size, 4))
    tokens = torch.full((size, 16), 61)
    tokens[:, 0:8:2], tokens[:, 1:8:2], tokens[:, 12], tokens[:, 15] = 62 + names % 12, x, 59, 60
    tokens[:, 13] = tokens[:, 14] = tokens[:, 4]
    return tokens, 2 * x[:, 2] % 59"""
WRITING = RIGHT["informed"].replace("numbers, operands", "train_pairs[:] = True\n    numbers, operands")
BLANK = dict.fromkeys(RIGHT)
WRONG_ALL = {name: f"def {name}(*given):\n    return 0.5" for name in RIGHT}
OUTSIDE = Path("/tmp") / "marking-written-outside"


@pytest.fixture(autouse=True)
def as_before():
    """Cells of a chapter run in this process, and may set how figures look and whether gradients are kept."""
    with matplotlib.rc_context(), torch.enable_grad():
        yield


@pytest.fixture(scope="module")
def release():
    """The assignment of chapter 1, as students get it."""
    book = Book()
    return assignment(nbformat.read(book.root / "chapters/01_task.ipynb", 4), "chapters/01_task", book)


def solved(release, extra=(), words="", **answers):
    """A notebook with the right functions in the exercises' cells, or these, and further cells before the first exercise."""
    notebook = nbformat.from_dict(json.loads(json.dumps(release)))
    notebook.cells = [cell for cell in notebook.cells if "nbgrader" in cell.metadata or "### Exercise" in cell.source]
    by_key = {each.key: (RIGHT | answers)[each.function] for each in FIRST.exercises}
    for cell in notebook.cells:
        key = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        cell.source = by_key.get(key) or cell.source
        if key.endswith("-words") and words:
            cell.source += f"\n\n{words}"
    notebook.cells[1:1] = [new_code_cell(source) for source in extra]
    return notebook


def forging(payload):
    """A cell that sends this to the marker, over whatever leads there."""
    return f"""\
import gc, pickle, sys
from multiprocessing.connection import Connection
channel = sys.modules["marking.channel"]
for each in gc.get_objects():
    if isinstance(each, Connection) and not each.closed:
        try:
            each.send_bytes(b"=" + {payload})
        except OSError:
            pass"""


REWRITE = """\
import assign_add_lib.checks.common as c
c.expect = lambda *_: None
c.exercise = checks.numbers_to_add = lambda *_: print("Right.")"""
REWRITE_FILE = "import assign_add_lib.checks as c\nopen(c.__file__, 'w').write('')"
NATIVE = f"""\
import ctypes, os
libc = ctypes.CDLL(None)
assert libc.open({bytes(OUTSIDE)!r}, os.O_WRONLY | os.O_CREAT, 0o644) < 0, "it wrote"
assert {landlock.version()} < 6 or libc.kill(os.getppid(), 23) < 0, "it sent a signal"
raise ValueError("the system forbids both")"""
CALLS = f"""\
import ctypes, os, resource, signal, socket
from functools import partial
libc = ctypes.CDLL(None)
file, pid, all = {__file__.encode()!r}, os.getppid(), (resource.RLIM_INFINITY,) * 2
for call in (
    partial(resource.prlimit, pid, resource.RLIMIT_FSIZE, all), partial(resource.setrlimit, resource.RLIMIT_FSIZE, all),
    partial(os.setpriority, os.PRIO_PROCESS, pid, 0), partial(os.sched_setaffinity, pid, os.sched_getaffinity(0)),
    partial(os.setxattr, file, "user.marked", b""), partial(os.pidfd_open, pid), partial(os.memfd_create, "a"), socket.socket,
):
    try:
        call()
    except OSError:
        continue
    raise AssertionError(call)
assert libc.fork() < 0 and libc.kill(pid, 0) < 0 and libc.chown(file, -1, -1) < 0 and libc.fcntl(2, 8, pid) < 0
raise ValueError("the system has none of them")"""
NESTED = "import ctypes\nlibc = ctypes.CDLL(None)\nfor _ in range(1100):\n    libc.mkdir(b'in', 0o700), libc.chdir(b'in')"
NEVER_RIGHT = "def one_look_score(*_):\n    "

# file, the functions in it that are not right, further cells; the points of its four checks, and words of its reason
CASES = {
    "good": ({}, [], "1111", ""),
    "partly": ({"one_look_score": WRONG, "informed": "# Later"}, [], "1001", ""),
    "wrong": (WRONG_ALL, [], "0000", ""),
    "blank": (BLANK, [], "0000", ""),
    "crashing": ({"one_look_score": "def one_look_score(N, m):\n    return 1 / 0"}, ["1 / 0"], "1011", "ZeroDivisionError"),
    "exits": ({}, ["import os\nos._exit(0)"], "1111", "it ended the process"),
    "exits-in-a-check": (
        {"one_look_score": "def one_look_score(*_):\n    import os\n    os._exit(0)"},
        [],
        "1011",
        "1.2: it ended",
    ),
    "kills-itself": ({}, ["import ctypes\nctypes.string_at(0)"], "1111", "SIGSEGV"),
    "hungry": ({}, ["lots = [bytearray(2**26) for _ in range(10**4)]"], "1111", "MemoryError"),
    "talkative": ({}, ["while True:\n    print('again' * 10**4)"], "1111", "printed or wrote more than 1 MiB"),
    "rewrites-in-memory": (WRONG_ALL, [REWRITE], "0000", "replaces assign_add_lib.checks"),
    "rewrites-on-disk": (BLANK, [REWRITE_FILE], "0000", "writes outside its folder"),
    "writes-outside": ({}, [f"open({str(OUTSIDE)!r}, 'w')"], "1111", "writes outside its folder"),
    "removes-outside": ({}, ["import os, assign_add_lib as a\nos.remove(a.__file__)"], "1111", "changes files outside"),
    "starts-programs": ({}, [f"import os\nos.system('touch {OUTSIDE}')"], "1111", "starts or ends other programs"),
    "asks-the-network": ({}, ["import urllib.request as u\nu.urlopen('http://127.0.0.1:9')"], "1111", "the network"),
    "forges": (BLANK, [forging('pickle.dumps((("returned", True), {}))')], "0000", "cannot be read"),
    "forges-well": (BLANK, [forging('channel.answer(("returned", True))')], "0000", "returned"),
    "odd-answer": (
        {"one_look_score": "def one_look_score(*_):\n    return Odd()"},
        ["class Odd:\n    pass"],
        "1011",
        "a cells.Odd",
    ),
    "copied": ({"one_look_score": FIRST.exercises[1].solution}, [], "1111", "as in the book, word for word: 1.2"),
    "writes-into-arguments": ({"informed": WRITING}, [], "1101", ""),
    "surrogates": (
        {"one_look_score": NEVER_RIGHT + r"raise type('\x1b[2J', (Exception,), {})('\ud800 boo')"},
        [r"raise ValueError('\ud800 \x1b[31m\u202e boo')"],
        "1011",
        r"ValueError: \ud800 \x1b[31m\u202e boo",
    ),
    "laughs": (
        {"one_look_score": NEVER_RIGHT + "return many"},
        ["many = []\nfor _ in range(99):\n    many = [many] * 2"],
        "1011",
        "64 MiB",
    ),
    "unparsable": ({}, ["-" * 10**5 + "1"], "1111", "cell 2"),
    "nested-folders": ({}, [NESTED], "1111", ""),
    "huge-answer": ({"informed": "def informed(*_):\n    return torch.zeros(1).expand(2**40)"}, [], "1101", "64 MiB"),
}

if landlock.version():
    CASES["writes-by-native-code"] = ({}, [NATIVE], "1111", "the system forbids both")
if seccomp.library():
    CASES["asks-the-system"] = ({}, [CALLS], "1111", "the system has none of them")

DAMAGED = {  # of files that are no proper notebook of ours: the same
    "cut-off": ("", "it is not JSON"),
    "not-a-notebook": ("", "it is no notebook"),
    "report": ("", "this is no notebook"),
    "other": ("", "no exercise of the book"),
    "cell-missing": ("1111", "the check of 1.2 is missing"),
    "check-changed": ("0000", "the check of 1.1 was changed"),
    "without-metadata": ("1111", ""),
    "from-colab": ("1111", ""),
    "from-colab-bare": ("1111", ""),
    "odd-metadata": ("1111", ""),
    "turned-cells": ("1111", "SyntaxError"),
    "many-cells": ("", "more than 2000 cells"),
}
MARKED = ("good", "partly", "exits", "surrogates")  # of the cases above, those that are marked beside them
NAMED = {"ann": "01_task", "bob": "Copy of 01_task", "eve": "01_task (1)"}  # as browsers and Colab name it, in folders


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory):
    """Makes a folder to hand in, beside which nbgrader has made the assignment already, which takes it seconds."""
    make_assignment(Course(course := tmp_path_factory.mktemp("made") / "course"), Book(), "01_task")

    def made(folder):
        folder.mkdir()
        shutil.copytree(course, folder.with_name(folder.name + "-marks") / "course")
        return folder

    return made


@pytest.fixture(scope="module")
def marked(release, laid_out, tmp_path_factory):
    """The folder of all kinds of files, marked: the rows by name, and the folder of the marks."""
    folder = laid_out(tmp_path_factory.mktemp("marking") / "week 1")
    for name in MARKED:
        answers, extra, _, _ = CASES[name]
        nbformat.write(solved(release, extra, **answers), folder / f"{name}.ipynb")
    nbformat.write(solved(release, words="It is 0.656, *so* <b>near</b>."), folder / "in-words.ipynb")
    nbformat.write(solved(release), folder / f"{245 * 'l'}.ipynb")
    for name, content in damaged(release).items():
        (folder / name).write_text(content)
    for student, name in NAMED.items():
        (folder / student).mkdir()
        nbformat.write(solved(release), folder / student / f"{name}.ipynb")
    mark(folder, LIMITS, QUICK)
    return rows(folder), folder


def rows(folder):
    with open(folder.with_name(folder.name + "-marks") / "marks.csv", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def damaged(release):
    """What the files of DAMAGED hold; one is without our metadata, as if it had gone through other tools."""
    lost, changed, bare, odd = (solved(release, **answers) for answers in ({}, BLANK, {}, {}))
    turned = json.loads(nbformat.writes(solved(release, words="It is 0.656.")))
    text = nbformat.writes(lost)
    lost.cells = [cell for cell in lost.cells if not cell.metadata.get("nbgrader", {}).get("grade_id", "").endswith("2-check")]
    for cell in changed.cells:
        cell.source = re.sub(r"^checks\..*", "print('Right.')", cell.source)
    bare.nbformat_minor = 4
    for cell in bare.cells:
        cell.metadata = nbformat.NotebookNode()
        del cell["id"]
    for cell, about in zip(odd.cells, cycle([{"nbgrader": 5}, {"nbgrader": None, "tags": None}, {"tags": [1]}, None])):
        cell.metadata, cell.source = about, cell.source + "\n# \ud800"
    for cell in turned["cells"]:  # checks into text, with the output of code; words into code; some data lost
        key = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if key.endswith("-check"):
            cell |= {"cell_type": "markdown", "metadata": {}}
        elif key.endswith("-words"):
            cell |= {"cell_type": "code", "outputs": [], "execution_count": None}
    return {
        "odd-metadata.ipynb": json.dumps(odd),
        "turned-cells.ipynb": json.dumps(turned),
        "many-cells.ipynb": json.dumps({**lost, "cells": 2001 * lost.cells[:1]}),
        "cut-off.ipynb": text[: len(text) // 2],
        "not-a-notebook.ipynb": '{"cells": 5}',
        "report.pdf": "%PDF",
        "other.ipynb": nbformat.writes(nbformat.v4.new_notebook(cells=[new_code_cell("print(1)")])),
        "cell-missing.ipynb": nbformat.writes(lost),
        "check-changed.ipynb": nbformat.writes(changed),
        "without-metadata.ipynb": json.dumps(bare),
        "from-colab.ipynb": through_colab(solved(release, words="It is 0.656."), True),
        "from-colab-bare.ipynb": through_colab(solved(release, words="It is 0.656."), False),
    }


def through_colab(notebook, kept):
    """The file that Colab makes of a notebook: format 4.0, so no ids but in the metadata; what it does not know may be lost."""
    cells = [{"cell_type": "markdown", "metadata": {"id": "view-in-github", "colab_type": "text"}, "source": ["<a></a>"]}]
    for place, cell in enumerate(notebook.cells):
        cells.append({"cell_type": cell.cell_type, "source": cell.source.splitlines(keepends=True)})
        cells[-1]["metadata"] = {"id": f"tjg3XTFB{place:04}", **(cell.metadata if kept else {})}
        if cell.cell_type == "code":
            run = {"status": "ok", "timestamp": 1700000000000 + place, "user_tz": 0, "elapsed": 3, "user": {"userId": ""}}
            cells[-1]["metadata"] |= {"colab": {"base_uri": "https://localhost:8080/"}, "executionInfo": run}
            cells[-1]["metadata"] |= {"outputId": f"28b07730-954d-4958-f35a-8c84d69c{place:04}"}
            output = {"output_type": "stream", "name": "stdout", "text": ["Right.\n"]}
            cells[-1] |= {"execution_count": place, "outputs": [output] if cell.source.startswith("checks.") else []}
    about = {"colab": {"provenance": []}, "kernelspec": {"name": "python3", "display_name": "Python 3"}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 0, "metadata": about, "cells": cells}, indent=2)


def points(row):
    return "".join(row[f"exercise {place}"] for place in range(1, 5))


@pytest.mark.parametrize("name", [*MARKED, *DAMAGED, *NAMED, 120 * "l"])
def test_row(marked, name):
    *_, wanted, reason = CASES.get(name) or DAMAGED.get(name) or ("1111", "")
    row = marked[0][name]
    assert points(row) == wanted and row["chapter"] == ("01_task" if wanted else ""), row["reason"]
    assert reason in row["reason"] and ("is missing" in reason or "is missing" not in row["reason"])
    assert wanted or row["total"] == "0"
    for place, point in enumerate(wanted, start=1):  # each lost point has its reason
        lost = [each for each in row["reason"].split("; ") if each.startswith(f"1.{place}: ") and "written" not in each]
        assert bool(lost) == (point == "0"), row["reason"]
    written = row["reason"].count("nothing was written in words") + int(row["by hand"])
    assert written == 4 * bool(wanted) or name == "without-metadata"


def test_reason_names_what_is_defined_instead(release, shell):
    """A function under another name has no point, and the table says which name is wanted and which is there."""
    renamed = RIGHT["informed"].replace("informed", "informed_solver")
    verdicts = judge.judge(shell, QUICK["01_task"], solved(release, informed=renamed).cells, 7, LIMITS)
    assert verdicts.said["1.3"] == "Not yet: the notebook has no function informed; it defines informed_solver"


@pytest.fixture(scope="module")
def shell():
    return judge.prepare(QUICK["01_task"])


@pytest.mark.parametrize("name", CASES)
def test_verdicts(release, shell, name, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    answers, extra, wanted, reason = CASES[name]
    verdicts = judge.judge(shell, QUICK["01_task"], solved(release, extra, **answers).cells, 7, LIMITS)
    assert "".join(str(int(said.startswith("Right"))) for said in verdicts.said.values()) == wanted, verdicts.remarks
    assert reason in "; ".join(verdicts.remarks) if reason else not verdicts.remarks
    assert all(words.isprintable() for words in (*verdicts.remarks, *verdicts.said.values()))
    assert not OUTSIDE.exists() and not any(tmp_path.iterdir())


def test_words_wait_for_a_person(marked):
    """What was written is empty in the table until somebody grades it; what was not written has no point already."""
    for name in ("in-words", "from-colab", "from-colab-bare"):
        row = marked[0][name]
        assert (row["exercise 1, words"], row["total"], row["of"], row["by hand"]) == ("", "4", "8", "4")
    assert marked[0]["good"]["exercise 1, words"] == "0"


def test_page_says_what_the_check_said(marked):
    folder = marked[1].with_name("week 1-marks") / "pages"
    page = (folder / "partly-01_task.html").read_text()
    assert "it gives 0.5000; counting the cases one by one gives" in page and "2 of 8 points" in page
    assert "the notebook has no function informed" in page and "1.3: the notebook has no" in marked[0]["partly"]["reason"]
    assert "&lt;b&gt;near&lt;/b&gt;" in (folder / "in-words-01_task.html").read_text()


def test_form_for_grading_shows_words_as_they_were_typed(marked):
    """Nbgrader's form would run scripts in them, with the rights of whoever grades."""
    path = marked[1].with_name("week 1-marks") / "course" / "submitted" / "in-words" / "01_task" / "01_task.ipynb"
    words = [cell.source for cell in nbformat.read(path, 4).cells if cell.source.startswith(WORDS[:20])]
    assert len(words) == 4 and all("*so* &lt;b&gt;near&lt;/b&gt;" in markdown2html(each) for each in words)


def test_loops_end(release, shell):
    """A loop in a cell costs nothing but the cell, one in a function its exercise."""
    looping = "def one_look_score(*_):\n    while True:\n        pass"
    cells = solved(release, ["while True:\n    pass"], one_look_score=looping).cells
    verdicts = judge.judge(shell, QUICK["01_task"], cells, 7, Limits(seconds=2, clock=600))
    assert [said.startswith("Right") for said in verdicts.said.values()] == [True, False, True, True]
    for where, remark in zip(("cell 2", "1.2"), verdicts.remarks, strict=True):
        assert remark.startswith(f"{where}: it used 2 seconds of a processor")


def test_a_stop_loses_nothing_and_points_by_hand_come_in(release, laid_out, tmp_path, monkeypatch):
    folder, judged = laid_out(tmp_path / "stopped"), []
    for name in "abc":
        nbformat.write(solved(release, **BLANK), folder / f"{name}.ipynb")

    def stops_at_the_third(*arguments):
        judged.append(arguments)
        if len(judged) == 3:
            raise KeyboardInterrupt
        return judge.Verdicts({each.number: "Not yet: it gives 0.5" for each in FIRST.exercises})

    monkeypatch.setattr("marking.__main__.prepare", lambda chapter: None)
    monkeypatch.setattr("marking.__main__.judge", stops_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        mark(folder, LIMITS, QUICK)
    assert ["not marked yet" in row["reason"] for row in rows(folder).values()] == [False, False, True]
    mark(folder, LIMITS, QUICK)
    assert len(judged) == 4 and not any("not marked yet" in row["reason"] for row in rows(folder).values())

    marks = folder.with_name("stopped-marks")
    with Course(marks / "course").api.gradebook as book:  # as nbgrader's form for grading by hand does
        cell = "exercise-1-1-words", "01_task", "01_task", "a"
        grade = book.find_grade(*cell)
        grade.manual_score, grade.needs_manual_grade = 0.5, False
        book.find_comment(*cell).manual_comment = "Say why."
        book.db.commit()
    mark(folder, LIMITS, QUICK)
    assert len(judged) == 4
    assert (rows(folder)["a"]["exercise 1, words"], rows(folder)["a"]["total"]) == ("0.5", "0.5")
    assert "Say why." in (marks / "pages" / "a-01_task.html").read_text()

    shutil.rmtree(marks / "verdicts")  # as after a check was mended; and as the button Autograde does
    mark(folder, LIMITS, QUICK)
    Course(marks / "course").api.autograde("01_task", "a", force=True)
    mark(folder, LIMITS, QUICK)
    assert len(judged) == 7 and rows(folder)["a"]["exercise 1, words"] == "0.5"

    nbformat.write(solved(release, words="Other words."), folder / "a.ipynb")  # handed in once more: the points were for others
    mark(folder, LIMITS, QUICK)
    assert len(judged) == 8 and rows(folder)["a"]["exercise 1, words"] == ""


@pytest.mark.parametrize("near", [set(), {"gap"}])
def test_what_is_random_depends_on_the_notebook_alone(near, monkeypatch):
    """Also in a check that runs in the student's process, and in the student's own function."""
    monkeypatch.setattr(judge, "NEAR", near)
    chapter = Chapter.read(FOLDER / "15_hypernetwork.md")
    exercise = next(each for each in chapter.exercises if each.check == "gap")
    chapter = dataclasses.replace(chapter, exercises=(exercise,), code=("import numpy, random, torch",))
    body = "return torch.rand(20, 2) + 10 * random.random() + 100 * numpy.random.rand()"
    cells, shell = [new_code_cell(f"def {exercise.function}(*given):\n    {body}")], judge.prepare(chapter)
    said = [judge.judge(shell, chapter, cells, seed, LIMITS).said[exercise.number] for seed in (7, 8, 7)]
    assert "differs from the true one" in said[0] and said[0] == said[2] != said[1]


def killed(at, change, *arguments):
    """Mark in a process of its own, with one function replaced by one that kills it."""
    pid = os.fork()
    if not pid:
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(BaseException):
            patch.setattr(at, change(lambda: os.kill(os.getpid(), signal.SIGKILL)))
            mark(*arguments)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def test_killed_at_any_moment_it_goes_on(release, laid_out, tmp_path, monkeypatch):
    folder, course = laid_out(tmp_path / "killed"), tmp_path / "killed-marks" / "course"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # where a killed marker leaves the folder of a process
    for name, extra in (("a", []), ("b", ["import time\ntime.sleep(3600)"])):
        nbformat.write(solved(release, extra), folder / f"{name}.ipynb")

    def while_a_cell_runs(die):
        def run(student, source):
            student.connection.send_bytes(channel.request("run", source)[0])
            if "sleep" in source:
                (tmp_path / "pid").write_text(str(student.pid))
                die()
            return channel.read_answer(student.connection.recv_bytes()[1:], [])

        return run

    def before_it_is_noted(die):
        return lambda *_: die()

    def while_the_table_is_written(die):
        replace = os.replace
        return lambda old, new: die() if str(new).endswith("marks.csv") else replace(old, new)

    killed("marking.sandbox.Student.run", while_a_cell_runs, folder, LIMITS, QUICK)
    wait_for_the_end_of(int((tmp_path / "pid").read_text()))
    assignment = course / "release" / "01_task" / "01_task.ipynb"
    assignment.write_text(assignment.read_text()[:1000])  # as if nbgrader had been killed while it wrote this
    nbformat.write(solved(release), folder / "b.ipynb")
    killed("marking.__main__.write_json", before_it_is_noted, folder, LIMITS, QUICK)
    assert not (folder.with_name("killed-marks") / "marks.csv").exists()
    killed("os.replace", while_the_table_is_written, folder, LIMITS, QUICK)

    assert list(folder.with_name("killed-marks").glob(".marks.csv.*part"))

    monkeypatch.setattr("marking.__main__.judge", None)  # all has been judged
    mark(folder, LIMITS, QUICK)
    assert [(name, row["total"]) for name, row in rows(folder).items()] == [(name, "4") for name in "ab"]
    assert not list(folder.with_name("killed-marks").rglob(".*part"))
    with Course(course).api.gradebook as book:
        assert sorted(each.student.id for each in book.assignment_submissions("01_task")) == ["a", "b"]


def wait_for_the_end_of(pid):
    """A student's process ends with the marker; where the system cannot see to that, it has the limit by the clock."""
    stat, late = Path(f"/proc/{pid}/stat"), time.monotonic() + 100
    while sys.platform == "linux" and stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < late
        time.sleep(0.1)


@pytest.fixture(scope="module")
def chosen(release, laid_out, tmp_path_factory):
    """Two notebooks in which two exercises count, marked; the folder."""
    folder = laid_out(tmp_path_factory.mktemp("chosen") / "week 1")
    nbformat.write(solved(release, words="Since.", **BLANK), folder / "blank.ipynb")
    nbformat.write(solved(release, words="Since."), folder / "good.ipynb")
    mark(folder, LIMITS, QUICK, "1.2 1.3=3")
    return folder


def test_exercises_are_chosen_and_weighted(chosen):
    """Only these count; the rest is neither in the table nor on a student's page."""
    row = rows(chosen)["good"]
    assert [column for column in row if column.startswith("exercise")] == [
        f"exercise {place}{words}" for place in (2, 3) for words in ("", ", words")
    ]
    assert (row["exercise 2"], row["exercise 3"], row["total"], row["of"], row["by hand"]) == ("1", "3", "4", "8", "2")
    assert rows(chosen)["blank"]["total"] == "0" and "1.1" not in rows(chosen)["blank"]["reason"]
    page = (chosen.with_name("week 1-marks") / "pages" / "good-01_task.html").read_text()
    assert "3 of 3." in page and FIRST.exercises[0].title not in page


def test_another_choice_marks_what_is_new(chosen):
    """All exercises of the same notebooks, afterwards: what was not asked before is asked now."""
    mark(chosen, LIMITS, QUICK)
    assert points(rows(chosen)["good"]) == "1111" and rows(chosen)["good"]["of"] == "8"
    mark(chosen, LIMITS, {**QUICK, "02_model": Chapter.read(FOLDER / "02_model.md")}, "2.1")
    assert {row["reason"] for row in rows(chosen).values()} == {"none of its exercises is among those that count"}


@pytest.mark.parametrize("name", all_chapters())
def test_below_an_exercise_stands_what_is_the_students(name):
    """And nothing that tells an answer, or needs a solution's names."""
    page, book = f"chapters/{name}", Book()
    cells = assignment(nbformat.read(book.root / book.files[page], 4), page, book).cells
    for number in (each.number for each in all_chapters()[name].exercises):
        start = next(place for place, cell in enumerate(cells) if f"### Exercise {number}:" in cell.source)
        below = itertools.takewhile(lambda cell: cell.cell_type == "code" or cell.source[0] != "#", cells[start + 1 :])
        assert [cell.id for cell in below] == [f"exercise-{number.replace('.', '-')}{part}" for part in ("", "-check", "-words")]


def test_a_chapter_finds_pytorch_as_it_comes():
    """Whatever another has switched off."""
    with torch.enable_grad():
        for line in ("torch.set_grad_enabled(False)", "assert torch.is_grad_enabled()"):
            judge.prepare(dataclasses.replace(FIRST, code=(f"import torch\n{line}",)))


def test_a_chapter_that_cannot_be_run_costs_no_other_its_marks(release, laid_out, tmp_path):
    folder, second = laid_out(tmp_path / "week"), Chapter.read(FOLDER / "02_model.md")
    nbformat.write(solved(release), folder / "ann.ipynb")
    nbformat.write(
        nbformat.v4.new_notebook(cells=[new_code_cell(f"def {second.exercises[0].function}(*_): ...")]), folder / "bob.ipynb"
    )
    mark(folder, LIMITS, {"02_model": dataclasses.replace(second, code=("1 / 0",)), **QUICK})
    assert points(rows(folder)["ann"]) == "1111" and "ZeroDivisionError" in rows(folder)["bob"]["reason"]


def test_what_was_handed_out_is_marked_as_it_is(tmp_path):
    """A folder of two chapters whose hidden cells beside solutions ask for these solutions' names."""
    folder, chapters = tmp_path / "week", {name: all_chapters()[name] for name in ("05_attention", "09_causes")}
    course, book = Course(tmp_path / "week-marks" / "course"), Book()
    folder.mkdir()
    for name in chapters:
        shutil.copy(make_assignment(course, book, name), folder / f"{name[:2]}.ipynb")
    with torch.enable_grad():  # chapters switch it off
        mark(folder, LIMITS, chapters)
    for row in rows(folder).values():
        assert (row["total"], row["of"], row["by hand"]) == ("0", "8", "0"), row["reason"]
        assert row["reason"].count("nothing was written in words") == 4 and "Error" not in row["reason"]


def test_an_assignment_of_chosen_exercises_holds_no_others():
    book, chapters = Book(), all_chapters()
    for name, chapter in chapters.items():
        kept = chapter.exercises[1]
        page = f"chapters/{name}"
        notebook = assignment(nbformat.read(book.root / book.files[page], 4), page, book, {kept.number})
        text = "\n".join(cell.source for cell in notebook.cells)
        keys = {cell.metadata.nbgrader.grade_id.partition("-check")[0] for cell in notebook.cells if "nbgrader" in cell.metadata}
        assert {key.removesuffix("-words") for key in keys} == {kept.key}
        for each in chapter.exercises:
            assert (f"Exercise {each.number}: {each.title}" in text) == (each == kept)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ("1.2,1.3", "'1.2,1.3' is no exercise"),
        ("1.2=0", "'1.2=0' is no exercise"),
        ("1.9", "there is no exercise 1.9"),
        ("1.2 1.2=2", "chosen twice"),
    ],
)
def test_bad_choices_are_named(wish, words, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("marking.__main__.read_chapters", all_chapters)
    for command in ("mark", "assignments"):
        assert main([command, str(tmp_path), "--exercises", wish]) == 2
        said = capsys.readouterr().err
        assert words in said and said.count("\n") == 1


PLATFORMS = {  # what a learning platform makes of the file that a student hands in, and the student's name in the table
    "Zoe Moodle_4711_assignsubmission_file_/01_task.ipynb": "Zoe Moodle (2)",
    "Zoe Moodle_4711_assignsubmission_file/my own.ipynb": "Zoe Moodle",
    "Ann Lee_17_assignsubmission_file_/01_task.ipynb": "Ann Lee 17",
    "Ann Lee_18_assignsubmission_file_/01_task.ipynb": "Ann Lee 18",
    "Max_Flat_52_assignsubmission_file_01_task.ipynb": "Max_Flat",
    "lovelaceada_12345_67890_01_task.ipynb": "lovelaceada",
    "babbagecharles_LATE_12346_67891_01_task-1.ipynb": "babbagecharles",
    "Grace Hopper.ipynb": "Grace Hopper",
    "Ada.ipynb": "Ada",  # four rows, of which the file system of another machine might not tell two apart
    "Ada/01_task.ipynb": "Ada (3)",
    "ada (2).ipynb": "ada (2)",
    "ada.ipynb": "ada (4)",
    " .ipynb": "ipynb",
    "Zo\udceb.ipynb": "Zoë",  # in Latin-1
    "\x1b[2J.ipynb": "_x1b_2J",
}


def test_names_of_learning_platforms(release, tmp_path):
    text = nbformat.writes(release)
    for name in PLATFORMS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = find(tmp_path, QUICK)
    assert {each.student for each in found} == set(PLATFORMS.values())
    for each in found:
        assert PLATFORMS.get(each.name, each.student) == each.student and each.name.isprintable()


def test_bad_folders_are_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("marking.__main__.read_chapters", lambda: QUICK)
    for folder, words in ((tmp_path / "none", "there is no folder"), (tmp_path, "there is no notebook")):
        assert main(["mark", str(folder)]) == 2
        said = capsys.readouterr().err
        assert words in said and said.count("\n") == 1


@pytest.mark.parametrize("option", ["--seconds=0", "--seconds=-5", "--memory=63", "--memory=-5", f"--memory={10**17}"])
def test_limits_that_are_none_are_named(option, tmp_path, capsys):
    assert main(["mark", str(tmp_path), option]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"not {option.partition('=')[2]}\n" in said


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")
def test_the_marker_is_limited_where_it_reads_answers(shell):
    """Small weights that a forward makes large must not end the marking of a class."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with sandbox.Student(shell, LIMITS):
        with pytest.raises(RuntimeError, match="allocate memory"):
            torch.empty(2 * LIMITS.memory, dtype=torch.uint8)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_a_system_without_protection_is_named(monkeypatch):
    monkeypatch.setattr(landlock, "version", lambda: 0)
    monkeypatch.setattr(seccomp, "library", lambda: None)
    seccomp.confine()
    assert "Landlock" in sandbox.unprotected() and "libseccomp" in sandbox.unprotected()


def test_alembic_is_found_beside_nbgrader_or_named(monkeypatch):
    """Whatever started Python: a link to it elsewhere, or another one that finds these packages."""
    monkeypatch.setattr(sys, "executable", "/elsewhere/python")
    monkeypatch.setenv("PATH", "/elsewhere")
    with monkeypatch.context() as patch, pytest.raises(ValueError, match="nbgrader needs the command alembic"):
        patch.setattr(gradebook.metadata, "files", lambda _: None)
        gradebook.find_alembic()
    gradebook.find_alembic()
    assert shutil.which("alembic")


def test_every_exercise_has_a_check_and_a_function_that_its_solution_defines():
    for exercise in (each for chapter in all_chapters().values() for each in chapter.exercises):
        assert f"def {exercise.function}(" in exercise.solution and exercise.check and exercise.title


def test_assignment_is_the_student_edition(release):
    sources = "\n".join(cell.source for cell in release.cells)
    assert all(each.solution not in sources for each in FIRST.exercises)
    keys = [cell.metadata.nbgrader.grade_id for cell in release.cells if "nbgrader" in cell.metadata]
    assert keys == [f"exercise-1-{n}{part}" for n in range(1, 5) for part in ("", "-check", "-words")]
    assert sum(cell.source.startswith(WORDS[:20]) for cell in release.cells) == 4
