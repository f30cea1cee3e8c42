"""Things to move: what an element holds on the site, and what a notebook gets."""

import base64
import html
import json
import re

import pytest
import torch
from safetensors.torch import load

from assign_add_lib import load_run
from assign_add_lib.analysis.fourier import key_frequencies, number_table
from assign_add_lib.views.explorables import MODULES, nine_clocks, one_step, train_here
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
