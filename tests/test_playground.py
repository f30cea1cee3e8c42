"""Live rules from examples: the row that an output shows, what it says before any script, and which networks it hands over."""

import base64
import re

import pytest
import torch
from safetensors.torch import load
from small import held

from assign_add_lib.companions.rules import SYSTEM
from assign_add_lib.companions.rules.training import RuleConfig, RuleLearner, RuleRun
from assign_add_lib.engine.runs import export
from assign_add_lib.views.explorer import saying
from assign_add_lib.views.playground import playground

RULE, INPUTS = (2, 5), [(1, 3), (3, 2), (4, 4), (2, 6)]  # answers 3, 2, 0, and of the question 6
SMALL = {"depth": 2, "d_model": 16, "heads": 2, "std": 0.4}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a run of three steps."""
    config = RuleConfig(**SMALL, steps=3, log_every=3, checkpoint_every=3)
    SYSTEM.train(config, folder := tmp_path_factory.mktemp("trained") / config.name, "cpu", progress=False)
    return folder


@pytest.fixture
def shipped(trained, own_data):
    """The same run on the shelf of a data folder of our own."""
    export(trained, trained.name, RuleRun, data=own_data)
    return RuleRun.open(trained.name)


def weights(network):
    return load(base64.b64decode(network["file"]))


def test_on_the_site_a_shipped_run_is_named_alone(static, shipped):
    output = playground(RULE, INPUTS, {"a < b": shipped}, {"a < b": (1, 2)}, caption="c < d").data
    data = held(output)
    (network,) = data.pop("networks")
    assert data == {"p": 7, "rule": [2, 5], "inputs": [list(each) for each in INPUTS]}
    (sum_,) = (sum_ for file, sum_ in shipped.sums.items() if file.endswith("step-000003.safetensors"))
    named = {"name": "a < b", "run": shipped.name, "step": 3, "sum": sum_, "depth": 2, "heads": 2, "reads": [1, 2]}
    assert {key: network[key] for key in named} == named and set(network) == {*named, "seen", "shown"}
    tasks = shipped.split.seen.tolist()
    assert network["seen"] == [7 * a + b for a, b in tasks] and len(tasks) == 40
    assert network["shown"] == [place for place in range(49) if shipped.split.shown[place]]
    assert output.count("<script") == 1 and len(output) < 10_000 and "c &lt; d" in output


def test_what_is_not_shipped_is_handed_over_everywhere(static):
    learner = RuleLearner(RuleConfig(**SMALL))
    (network,) = held(playground(RULE, INPUTS, {"mine": learner}).data)["networks"]
    assert network["reads"] == [2, 1] and "run" not in network
    assert all(torch.equal(weights(network)[name], each) for name, each in learner.network.state_dict().items())


def test_a_notebook_gets_weights_script_and_style(live, shipped):
    output = playground(RULE, INPUTS, {"ours": shipped, "other": RuleLearner(RuleConfig(seed=1, **SMALL))}).data
    first, second = held(output)["networks"]
    assert all(torch.equal(weights(first)[name].float(), each) for name, each in shipped.network().state_dict().items())
    assert weights(first)["norm.weight"].dtype == torch.half and weights(second)["norm.weight"].dtype == torch.float
    assert 'customElements.define("rules-from-examples"' in output
    assert "rules-from-examples .example {" in output and ".live-view .error {" in output


def test_without_a_script_the_row_and_all_answers_are_there(static):
    learners = {"one": RuleLearner(RuleConfig(**SMALL)), "two": RuleLearner(RuleConfig(seed=1, **SMALL))}
    output = playground(RULE, INPUTS, learners).data
    cells = re.findall("<td>(.*?)</td>", output)
    assert cells[:12] == [*"1342", *"3246", *"320?"]  # the rows of x, y and z
    tokens = torch.tensor([[1, 3, 3, 3, 2, 2, 4, 4, 0, 2, 6, 0]])
    odds = torch.stack([learner.network(tokens)[0, -1].softmax(0).detach() for learner in learners.values()])
    assert list(map(float, cells[12:])) == pytest.approx(odds.flatten().tolist(), abs=0.00501)
    assert f'<p class="said">On (2,\u00a06), after 3 examples, {saying(odds[0], 6)}</p>' in output
    assert "after 1 example, " in playground(RULE, INPUTS[2:], learners).data


@pytest.mark.parametrize(
    "rule, inputs, reads, said",
    [
        ((2, 5, 1), INPUTS, {}, "a row has a rule"),
        (RULE, INPUTS[:1], {}, "1 to 8 examples and a question"),
        (RULE, [(1, 1, 2)] * 3, {}, r"each \(x, y\)"),
        ((7, 5), INPUTS, {}, "numbers go from 0 to 6"),
        (RULE, INPUTS, {"one": (3, 1)}, "no head 1 in layer 3; there are 2 layers of 2 heads"),
        (RULE, INPUTS, {"two": (1, 1)}, "there is no network two; there are one"),
    ],
)
def test_what_cannot_be_asked_is_said(rule, inputs, reads, said):
    with pytest.raises(ValueError, match=said):
        playground(rule, inputs, {"one": RuleLearner(RuleConfig(**SMALL))}, reads)


def test_networks_of_different_worlds_are_refused():
    other = RuleLearner(RuleConfig(p=11, **SMALL))
    for networks, said in (({}, "not none"), ({"one": RuleLearner(RuleConfig(**SMALL)), "two": other}, "not 7, 11")):
        with pytest.raises(ValueError, match=said):
            playground(RULE, INPUTS, networks)
