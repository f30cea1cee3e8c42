"""Views: same bytes each time, nothing that breaks out of a page, both forms, clear errors."""

import base64
import io
import json
import re

import ipywidgets
import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image

from assign_add_lib import explore
from assign_add_lib.explore import attention, attention_figure, attention_in_words, attention_slider, attention_view, step_slider
from assign_add_lib.model import Weights
from assign_add_lib.task import Problem, Task

TEXT = "c=1, b=17, a=42, b+19=?"


class TwoSteps:
    """What the views ask of a run."""

    task = Task()
    steps = [0, 300]

    def weights(self, step=None):
        return Weights.init(seed=self.steps.index(self.steps[-1] if step is None else step))


@pytest.fixture(params=["static", "live"])
def form(request, monkeypatch):
    monkeypatch.setenv("ASSIGN_ADD_RENDER", request.param)
    return request.param


@pytest.fixture
def static(monkeypatch):
    monkeypatch.setenv("ASSIGN_ADD_RENDER", "static")


def line(step):
    """A small figure that depends on the step."""
    figure = Figure(figsize=(4, 3))
    figure.subplots().plot([0, step, 1])
    return figure


def held(output):
    """The data inside a static output."""
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', output, re.S)[1])


def test_attention_rows_are_distributions_over_the_past():
    patterns, names = attention(TwoSteps(), TEXT)
    assert names == "c 1 b 17 a 42 PAD PAD PAD PAD PAD PAD + b 19 =".split()
    torch.testing.assert_close(patterns.sum(-1), torch.ones(2, 16))
    assert not patterns.triu(1).any()


def test_attention_takes_a_problem_its_text_and_a_step():
    problem = Problem.parse(TEXT)
    first, last = (attention(TwoSteps(), problem, step)[0] for step in (0, 300))
    assert torch.equal(first, attention(Weights.init(seed=0), TEXT)[0])
    assert torch.equal(last, attention(TwoSteps(), TEXT)[0])
    assert not torch.equal(first, last)


def test_other_task_than_the_study():
    task = Task(n_numbers=7, n_variables=3, length=10)
    patterns, names = attention(Weights.init(task), Problem.parse("a=1, b=2, a+b", task))
    assert patterns.shape == (2, 10, 10) and names[-4:] == ["+", "a", "b", "="]


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="never assigned"):
        attention_view(TwoSteps(), "c=1, b+19=?")
    with pytest.raises(ValueError, match="weights of a single step"):
        attention(Weights.init(), TEXT, step=3)
    with pytest.raises(ValueError, match="at least one step"):
        step_slider(line, [], "caption", "alt")


def test_words_name_what_the_last_token_reads():
    patterns = torch.zeros(2, 3, 3)
    patterns[0, 2], patterns[1, 2] = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.1, 0.3, 0.6])
    words = attention_in_words(patterns, ["b", "17", "="])
    assert "in layer 1, = reads most b at position 0 (0.70), 17 at position 1 (0.20)" in words
    assert "in layer 2, = reads most = at position 2 (0.60)" in words


def test_figure_shows_both_layers_with_tokens_and_numbers():
    patterns = torch.eye(3).repeat(2, 1, 1)
    left, right = attention_figure(patterns, ["b", "17", "="]).axes
    assert (left.get_title(), right.get_title()) == ("layer 1", "layer 2")
    assert [label.get_text() for label in left.get_xticklabels()] == ["b", "17", "="]
    assert left.yaxis_inverted()
    assert "query" in left.get_ylabel() and "key" in left.get_xlabel()
    assert [text.get_text() for text in right.texts] == ["1", "1", "1"]


def test_view_has_the_same_bytes_each_time(form):
    assert attention_view(TwoSteps(), TEXT).data == attention_view(TwoSteps(), TEXT).data


def test_static_view_is_small_and_holds_its_data(static):
    output = attention_view(TwoSteps(), TEXT).data
    patterns, names = attention(TwoSteps(), TEXT)
    assert len(output) < 50_000
    assert held(output)["tokens"] == names
    torch.testing.assert_close(torch.tensor(held(output)["attention"]), patterns, atol=5e-4, rtol=0)
    assert output.count("<script") == 1 and " id=" not in output and "<figcaption>" in output
    assert attention_in_words(patterns, names) in output


def test_live_view_carries_all_that_it_needs(monkeypatch):
    monkeypatch.delenv("ASSIGN_ADD_RENDER", raising=False)
    output = attention_view(TwoSteps(), TEXT).data
    assert "var CircuitsVis" in output and "CircuitsVis.render(" in output
    assert " src=" not in re.sub(r'src="data:', "", output.split("<script>")[0])
    assert output.count("</script") == 2


def test_site_serves_the_bundle_that_a_kernel_inlines(root):
    assert (root / "assets/vendor/circuitsvis/iife.js").read_text("utf-8") == explore.circuitsvis_script()
    for theirs, ours in explore.WORDING.items():
        assert theirs not in explore.circuitsvis_script() and ours in explore.circuitsvis_script()


def test_nothing_breaks_out_of_the_page(static):
    nasty = '</script><b x="1">&'
    output = step_slider(line, [0, 300], nasty, nasty, name=nasty).data
    assert nasty not in output and "<b" not in output
    assert held(output)[0]["alt"].startswith(nasty)
    assert "<b" not in attention_view(TwoSteps(), TEXT, caption=nasty).data


def test_static_slider_holds_one_small_frame_a_step(static):
    output = step_slider(line, [0, 300], "Some lines.", lambda step: f"the line at {step}").data
    frames = held(output)
    assert [frame["value"] for frame in frames] == ["0", "300"]
    assert [frame["alt"] for frame in frames] == ["the line at 0", "the line at 300"]
    assert 'alt="the line at 300"' in output.split("<script")[0]
    assert '<input type="range" min="0" max="1" value="1"' in output and "<output>300</output>" in output
    images = [base64.b64decode(frame["src"].removeprefix("data:image/webp;base64,")) for frame in frames]
    assert all(len(image) < 25_000 for image in images)
    assert [Image.open(io.BytesIO(image)).size for image in images] == [(600, 450)] * 2
    assert output == step_slider(line, [0, 300], "Some lines.", lambda step: f"the line at {step}").data


def test_live_slider_is_a_widget_that_draws_as_it_moves(monkeypatch):
    monkeypatch.delenv("ASSIGN_ADD_RENDER", raising=False)
    drawn = []
    box = step_slider(lambda step: drawn.append(step) or line(step), [0, 300], "Some lines.", "a line")
    slider, view, _ = box.children
    assert isinstance(slider, ipywidgets.SelectionSlider) and drawn == [300] and "a line (step 300)" in view.value
    slider.value = 0
    assert drawn == [300, 0] and "a line (step 0)" in view.value


def test_attention_slider_says_what_each_step_reads(static):
    output = attention_slider(TwoSteps(), TEXT, [0, 300]).data
    assert [frame["alt"].split(".")[0] for frame in held(output)] == ["Step 0", "Step 300"]
    assert len(output) < 3 * 40_000


def test_unknown_step_lists_what_there_is():
    from assign_add_lib import load_run

    with pytest.raises(ValueError, match="30000"):
        attention_view(load_run("seed-42"), TEXT, step=7)
