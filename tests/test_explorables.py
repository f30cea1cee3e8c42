"""Things to move: what an element holds on the site, and what a notebook gets."""

import base64
import html
import json
import re
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from safetensors.torch import load

from assign_add_lib import Problem, Task, load_run
from assign_add_lib.analysis.fourier import key_frequencies, number_table
from assign_add_lib.engine.manifest import shipped_file
from assign_add_lib.model import trace
from assign_add_lib.proof.attack import margin_of
from assign_add_lib.task import KINDS
from assign_add_lib.views.explorables import MODULES, break_it, learning_film, nine_clocks, one_step, the_flow, train_here
from assign_add_lib.views.explorables.breaking import broken_question, random_margins
from assign_add_lib.views.explorables.passing import one_pass
from assign_add_lib.views.explorer import live_script


@pytest.fixture(scope="module")
def run():
    return load_run("seed-42")


def test_on_the_site_an_element_names_its_run_and_holds_no_weights(run, monkeypatch):
    monkeypatch.setenv("ASSIGN_ADD_RENDER", "static")
    output = nine_clocks(run, x=3, y=5).data
    element = re.search("<nine-clocks ([^>]*)>", output)[1]
    given = dict(re.findall('(\\w+)="([^"]*)"', html.unescape(element)))
    assert given["run"] == "seed-42" and given["step"] == "30000" and (given["x"], given["y"]) == ("3", "5")
    assert given["ks"] == " ".join(map(str, key_frequencies(number_table(run.weights()))))
    assert "<script" not in output and "<img alt=" in output


def test_a_notebook_gets_weights_style_and_script(run, monkeypatch):
    monkeypatch.delenv("ASSIGN_ADD_RENDER", raising=False)
    output = nine_clocks(run).data
    held = json.loads(re.search('<script type="application/json">(.*?)</script>', output)[1])
    found = load(base64.b64decode(held["seed-42"]["30000"]))
    assert all(torch.equal(found[name].float(), tensor) for name, tensor in run.weights().tensors().items())
    assert "<style>" in output and live_script(MODULES["nine-clocks"]) in output


def test_a_pass_is_handed_over_in_thousandths(run):
    problem = Problem.parse("c=1, b=17, a=42, b+19=?")
    seen, given = trace(run.weights(), problem.tokens()[None]), one_pass(run.weights(), problem)
    first, second = given["layers"]
    assert list(first) == [0, 1, 2, 3, 4, 5, 12, 13, 14, 15] and list(second) == [15]  # no row of a PAD
    for layer, rows in enumerate(given["layers"]):
        for query, row in rows.items():
            assert len(row) == query + 1
            assert row == pytest.approx(1000 * seen.pattern[0, layer, query, : query + 1], abs=0.51)
    odds = 1000 * seen.logits[0, -1].softmax(0)
    assert len(given["odds"]) == 5 and all(odd == pytest.approx(float(odds[answer]), abs=0.51) for answer, odd in given["odds"])
    active = seen.pre[0, -1].relu()
    assert [int(digit, 36) for digit in given["neurons"]] == pytest.approx(35 * active / active.max(), abs=0.51)


def test_the_flow_holds_its_first_pass_and_a_film_every_frame(run, monkeypatch):
    monkeypatch.setenv("ASSIGN_ADD_RENDER", "static")
    output = the_flow(run, "b=17, b+19=?").data
    given = json.loads(html.unescape(re.search(' pass="([^"]*)"', output)[1]))
    assert given == json.loads(json.dumps(one_pass(run.weights(), Problem.parse("b=17, b+19=?"))))
    assert "<script" not in output and len(re.sub("<img[^>]*>", "", output)) < 3000
    data = json.loads(re.search('<script type="application/json">(.*?)</script>', learning_film(run, steps=[0, 2500]).data)[1])
    assert data["steps"] == [0, 2500] and [len(frames) for frames in data["frames"]] == [2, 2]
    assert data["curves"]["1-var"] == (1000 * run.metrics["1-var train"]).round().tolist()


def test_a_notebook_gets_every_network_that_a_reader_may_choose(run, monkeypatch):
    runs, text = [run, load_run("seed-6")], "a=3, 1+2=?"
    monkeypatch.setenv("ASSIGN_ADD_RENDER", "static")
    element = re.search("<break-it ([^>]*)>", break_it(runs, text).data)[1]
    assert element == 'run="seed-42" step="30000" runs="seed-42 seed-6" problem="a=3, 1+2=?"'
    monkeypatch.delenv("ASSIGN_ADD_RENDER")
    held = json.loads(re.search('<script type="application/json">(.*?)</script>', break_it(runs, text).data)[1])
    assert list(held) == ["seed-42", "seed-6"]
    for each in runs:
        found = load(base64.b64decode(held[each.name]["30000"]))
        assert all(torch.equal(found[name].float(), tensor) for name, tensor in each.weights().tensors().items())


@pytest.mark.parametrize("kind", KINDS)
def test_the_still_question_is_right_in_random_contexts_and_broken_by_the_search(run, kind):
    asks = Problem.parse(
        {"0-var": "1+1=?", "1-var left": "k=13, k+24=?", "1-var right": "a=0, 1+a=?", "2-var": "a=0, b=0, a+b=?"}[kind]
    )
    question, drawn, lead = broken_question(run, asks)
    if kind == "1-var left":  # the search broke this very question
        assert question == "k + 24 with k = 13"
    table = pd.read_csv(shipped_file("proof/found.csv.bz2")).query("run == 'seed-42' and kind == @kind and margin == @lead")
    tokens = torch.tensor([[*map(int, each.split())] for each in table["tokens"]])
    problem, weights = Problem.from_tokens(tokens[0]), run.weights().to(torch.double)
    numbers = dict(problem.assignments)
    asked = " and ".join(f"{each} = {numbers[each]}" for each in (problem.left, problem.right) if each in numbers)
    assert question == f"{problem.left} + {problem.right}" + f" with {asked}" * bool(asked)
    assert margin_of(weights, tokens, run.task.right_answers(tokens)).tolist() == pytest.approx([lead], abs=1e-3) and lead < 0
    assert len(drawn) == 1000 and drawn.min() > 0
    assert 0 < drawn.std() < 20 and torch.equal(drawn, random_margins(weights, problem))


def test_they_are_of_the_study_only():
    other = SimpleNamespace(task=Task(7, 4, 12))
    for view in (the_flow, learning_film, lambda each: break_it([each])):
        with pytest.raises(ValueError, match="the study's task only"):
            view(other)


def test_elements_without_weights_hold_their_settings_alone(monkeypatch):
    monkeypatch.setenv("ASSIGN_ADD_RENDER", "static")
    for output, names in (
        (train_here(p=7, share=60).data, {"p": "7", "share": "60", "width": "32"}),
        (one_step("a=3, 5+a=?", size=20).data, {"x": "5", "y": "3", "N": "59", "stride": "0.01"}),
    ):
        given = dict(re.findall('(\\w+)="([^"]*)"', re.search("<(?:train-here|one-step) ([^>]*)>", output)[1]))
        assert names.items() <= given.items() and "run" not in given
        assert "<script" not in output and "<img alt=" in output
    assert len(re.sub("<img [^>]*>", "", output)) < 8000


def test_every_class_of_the_sheet_stands_whole_in_a_script(root):
    """The site drops the rules of classes that no page and no script names in one piece."""
    folder = root / "assign_add_lib/views/live"
    sheet = (folder / "explorable.css").read_text("utf-8")
    named = set(re.findall(r"\.([A-Za-z][\w-]*)", re.sub(r"/\*.*?\*/|\{[^{}]*\}", "", sheet, flags=re.DOTALL)))
    words = set(re.findall(r"[\w-]+", "".join(path.read_text("utf-8") for path in folder.glob("*.js"))))
    assert len(named) > 60 and named <= words
