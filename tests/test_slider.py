"""Sliders: a frame for each step on the static page, drawn as it moves in a live kernel."""

import base64
import io

import ipywidgets
import pytest
from PIL import Image
from small import held, line

from assign_add_lib.views.slider import step_slider


def test_static_slider_holds_one_small_frame_a_step(static):
    output = step_slider(line, [0, 300], "Some lines.", lambda step: f"the line at {step}").data
    frames = held(output)
    assert [frame["value"] for frame in frames] == ["0", "300"]
    assert [frame["alt"] for frame in frames] == ["the line at 0", "the line at 300"]
    assert 'alt="the line at 300"' in output.split("<script")[0]
    assert '<input type="range" min="0" max="1" value="1"' in output and "<output>300</output>" in output
    images = [base64.b64decode(frame["src"].removeprefix("data:image/webp;base64,")) for frame in frames]
    assert all(len(image) < 25_000 and Image.open(io.BytesIO(image)).size == (960, 720) for image in images)
    assert output == step_slider(line, [0, 300], "Some lines.", lambda step: f"the line at {step}").data


def test_slider_opens_where_it_is_told(static, monkeypatch):
    output = step_slider(line, [0, 300, 600], "Some lines.", "a line", opens=300).data
    assert 'alt="a line (step 300)"' in output.split("<script")[0]
    assert '<input type="range" min="0" max="2" value="1" aria-valuetext="300"' in output and "<output>300</output>" in output
    with pytest.raises(ValueError, match="cannot open at 200"):
        step_slider(line, [0, 300], "Some lines.", "a line", opens=200)
    monkeypatch.delenv("ASSIGN_ADD_RENDER")
    slider, view, _ = step_slider(line, [0, 300, 600], "Some lines.", "a line", opens=300).children
    assert slider.value == 300 and "a line (step 300)" in view.value


def test_live_slider_is_a_widget_that_draws_as_it_moves(live):
    drawn = []
    box = step_slider(lambda step: drawn.append(step) or line(step), [0, 300], "Some lines.", "a line")
    slider, view, _ = box.children
    assert isinstance(slider, ipywidgets.SelectionSlider) and drawn == [300] and "a line (step 300)" in view.value
    slider.value = 0
    assert drawn == [300, 0] and "a line (step 0)" in view.value


def test_what_stands_beside_a_step_is_said_at_each(static, monkeypatch):
    frames = held(step_slider(line, [0, 300], "Some lines.", "a line", says=lambda step: f"<{step} done>").data)
    assert [frame["says"] for frame in frames] == ["<0 done>", "<300 done>"]
    monkeypatch.delenv("ASSIGN_ADD_RENDER")
    slider, view, _ = step_slider(line, [0, 300], "Some lines.", "a line", says=lambda step: f"<{step} done>").children
    assert view.value.startswith("<p>&lt;300 done&gt;</p><img")
    slider.value = 0
    assert view.value.startswith("<p>&lt;0 done&gt;</p><img")
