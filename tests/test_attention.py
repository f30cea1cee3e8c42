"""Attention views: whose weights they show, in words and in drawing, the same bytes each time."""

import re
from pathlib import Path

import pytest
import torch
from small import held, line

from assign_add_lib.model import Weights, weight_shapes
from assign_add_lib.task import Problem, Task
from assign_add_lib.training import Run, load_run
from assign_add_lib.views import attention as views
from assign_add_lib.views.slider import step_slider

TEXT = "c=1, b=17, a=42, b+19=?"


class TwoSteps(Run):
    """A run whose weights at its two steps are drawn."""

    def __init__(self):
        super().__init__(Path("two-steps"))

    task = Task()
    steps = [0, 300]

    def weights(self, step=None):
        return Weights.init(seed=self.steps.index(self.steps[-1] if step is None else step))


def test_attention_rows_are_distributions_over_the_past():
    patterns, names = views.attention(TwoSteps(), TEXT)
    assert names == "c 1 b 17 a 42 PAD PAD PAD PAD PAD PAD + b 19 =".split()
    torch.testing.assert_close(patterns.sum(-1), torch.ones(2, 16))
    assert not patterns.triu(1).any()


def test_attention_takes_a_problem_its_text_and_a_step():
    problem = Problem.parse(TEXT)
    first, last = (views.attention(TwoSteps(), problem, step)[0] for step in (0, 300))
    assert torch.equal(first, views.attention(Weights.init(seed=0), TEXT)[0])
    assert torch.equal(last, views.attention(TwoSteps(), TEXT)[0])
    assert not torch.equal(first, last)


def test_other_task_than_the_study():
    task = Task(n_numbers=7, n_variables=3, length=10)
    patterns, names = views.attention(Weights.init(task), Problem.parse("a=1, b=2, a+b", task))
    assert patterns.shape == (2, 10, 10) and names[-4:] == ["+", "a", "b", "="]


def small(layers, heads=None):
    """Weights of the study's task with so many layers and heads."""
    return Weights.drawn(weight_shapes(90, 16, 59, 8, 4, 8, layers, heads), seed=0)


def test_a_network_of_one_layer_and_short_numbers_is_shown(static):
    output = views.attention_view(small(1).to(torch.bfloat16), TEXT).data
    assert len(held(output)["attention"]) == 1


def test_errors_say_what_is_wrong():
    for words, call in (
        ("never assigned", lambda: views.attention_view(TwoSteps(), "c=1, b+19=?")),
        ("weights of a single step", lambda: views.attention(Weights.init(), TEXT, step=3)),
        ("one head a layer, and this network has 2", lambda: views.attention_view(small(2, 2), TEXT)),
        ("at least one step", lambda: step_slider(line, [], "caption", "alt")),
        ("30000", lambda: views.attention_view(load_run("seed-42"), TEXT, step=7)),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_words_name_what_the_last_token_reads():
    patterns = torch.zeros(2, 3, 3)
    patterns[0, 2], patterns[1, 2] = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.1, 0.3, 0.6])
    words = views.attention_in_words(patterns, ["b", "17", "="])
    assert "in layer 1, = reads most b at position 0 (0.70), 17 at position 1 (0.20)" in words
    assert "in layer 2, = reads most = at position 2 (0.60)" in words


def test_figure_shows_both_layers_with_tokens_and_numbers():
    left, right = views.attention_figure(torch.eye(3).repeat(2, 1, 1), ["b", "17", "="]).axes
    assert (left.get_title(), right.get_title(), left.yaxis_inverted()) == ("layer 1", "layer 2", True)
    assert [label.get_text() for label in left.get_xticklabels()] == ["b", "17", "="]
    assert "query" in left.get_ylabel() and "key" in left.get_xlabel()
    assert [text.get_text() for text in right.texts] == ["100", "100", "100"]


@pytest.mark.parametrize("render", ["static", "live"])
def test_view_has_the_same_bytes_each_time(monkeypatch, render):
    monkeypatch.setenv("ASSIGN_ADD_RENDER", render)
    assert views.attention_view(TwoSteps(), TEXT).data == views.attention_view(TwoSteps(), TEXT).data


def test_static_view_is_small_and_holds_its_data(static):
    output = views.attention_view(TwoSteps(), TEXT).data
    patterns, names = views.attention(TwoSteps(), TEXT)
    assert len(output) < 50_000
    assert held(output)["tokens"] == names
    torch.testing.assert_close(torch.tensor(held(output)["attention"]), patterns, atol=5e-4, rtol=0)
    assert output.count("<script") == 1 and " id=" not in output and "<figcaption>" in output
    assert views.attention_in_words(patterns, names) in output


def test_live_view_carries_all_that_it_needs(live):
    output = views.attention_view(TwoSteps(), TEXT).data
    assert "var CircuitsVis" in output and "CircuitsVis.render(" in output
    assert " src=" not in re.sub(r'src="data:', "", output.split("<script>")[0])
    assert output.count("</script") == 2


def test_nothing_breaks_out_of_the_page(static):
    nasty = '</script><b x="1">&'
    output = step_slider(line, [0, 300], nasty, nasty, name=nasty).data
    assert nasty not in output and "<b" not in output
    assert held(output)[0]["alt"].startswith(nasty)
    assert "<b" not in views.attention_view(TwoSteps(), TEXT, caption=nasty).data


def test_the_bundle_speaks_the_words_of_the_book():
    for theirs, ours in views.WORDING.items():
        assert theirs not in views.circuitsvis_script() and ours in views.circuitsvis_script()
