"""The live network's outputs: what they ask, which networks they name, and which they hand over."""

import base64
import re

import pytest
import torch
from safetensors.torch import load
from small import held

from assign_add_lib import Task, handmade, load_run
from assign_add_lib.model import Weights
from assign_add_lib.views import explorables, playground
from assign_add_lib.views.explorer import BY_HAND, MODULES, PARTS, Asked, explorer, live_script

TEXT = "c=1, b=17, b+19=?"


def attributes(output):
    return dict(re.findall(r' (\w+)="([^"]*)"', re.search("<assign-add(.*?)>", output)[1]))


def test_on_the_site_shipped_networks_are_named_alone(static):
    output = explorer(TEXT, Asked("seed-42", 3000, {"shift": 1}), BY_HAND, caption="a < b").data
    assert attributes(output) == {"problem": TEXT, "shows": " ".join(PARTS), "run": "seed-42", "step": "3000", "shift": "1",
                                  "run2": BY_HAND, "step2": "0"}  # fmt: skip
    assert "<script" not in output and len(output) < 50_000 and "a &lt; b" in output
    assert "<img alt=" in output.split("</assign-add>")[0]  # where no script runs, a picture stands there
    assert explorer(TEXT, load_run("seed-42")).data == explorer(TEXT, "seed-42").data


def test_own_weights_are_handed_over_everywhere(static):
    weights = Weights.init(seed=3)
    files = held(explorer(TEXT, weights, "seed-0", predict=True).data)
    assert list(files) == ["yours", "seed-0"]
    found = load(base64.b64decode(files["yours"]["0"]))
    assert all(torch.equal(found[name], tensor) for name, tensor in weights.tensors().items())


def test_a_notebook_gets_the_steps_that_it_names(live):
    run = load_run("seed-42")
    output = explorer(TEXT, Asked(run, steps=[0, 3000]), handmade.weights()).data
    files = held(output)
    assert {name: set(steps) for name, steps in files.items()} == {"seed-42": {"0", "3000", "30000"}, "yours2": {"0"}}
    found = load(base64.b64decode(files["seed-42"]["3000"]))
    assert all(torch.equal(found[name].float(), tensor) for name, tensor in run.weights(3000).tensors().items())
    assert "<style>" in output and 'customElements.define("assign-add"' in output


@pytest.mark.parametrize("modules", [MODULES, playground.MODULES, *explorables.MODULES.values()])
def test_modules_are_joined_into_one_script(modules):
    script = live_script(modules)
    assert not re.search(r"(?m)^(import|export) ", script) and "import.meta" not in script and "</script" not in script
    names = re.findall(r"(?m)^(?:async )?(?:const|function|class) (\w+)", script)
    assert len(names) > 40 and len(names) == len(set(names))  # modules in one scope must not share a name


def test_what_cannot_be_asked_is_said():
    small = Weights.init(Task(n_numbers=7, n_variables=3, length=10))
    for words, *asked in (
        ("one network is asked, or two beside each other, not 0", TEXT),
        ("not 3", TEXT, "seed-42", "seed-42", "seed-42"),
        ("the study's task only", TEXT, small),
        ("17", TEXT, Asked("seed-42", 17)),
        ("never assigned", "a+1=?", "seed-42"),
        ("seed-77", TEXT, "seed-77"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=words):
            explorer(*asked)
    with pytest.raises(ValueError, match="there is no part circles; there are run, tokens, changes"):
        explorer(TEXT, "seed-42", shows=["circles"])
