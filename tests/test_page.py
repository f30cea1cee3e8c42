"""Pieces of a page: pictures that are small and exact, text that stays text, and both forms of output."""

import base64
import io
import json

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image
from small import held, line

from assign_add_lib.views.page import figure_element, img_element, is_static, light, picture_of


@pytest.mark.parametrize("value, static", [("static", True), ("live", False), ("", False), (None, False)])
def test_the_environment_says_which_form(monkeypatch, value, static):
    monkeypatch.delenv("ASSIGN_ADD_RENDER", raising=False)
    if value is not None:
        monkeypatch.setenv("ASSIGN_ADD_RENDER", value)
    assert is_static() == static


def test_a_picture_holds_the_drawing():
    """A figure of two colours comes back pixel by pixel, and weighs little."""
    figure = Figure(figsize=(4, 3), facecolor="#204080")
    axes = figure.add_axes((0.5, 0, 0.5, 1), facecolor="#ffffff")
    axes.set_axis_off()
    axes.add_artist(Rectangle((0, 0), 1, 1, facecolor="#ffffff"))
    picture = picture_of(figure, "half and half")
    assert (picture["alt"], picture["width"], picture["height"]) == ("half and half", 480, 360)
    content = base64.b64decode(picture["src"].removeprefix("data:image/webp;base64,"))
    pixels = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    assert pixels.shape == (720, 960, 3) and len(content) < 2000
    assert (pixels[:, :479] == (0x20, 0x40, 0x80)).all() and (pixels[:, 481:] == 255).all()


def test_few_colours_are_near_the_many():
    """A map in 4000 shades of two colours: no shade is taken for a distant one."""
    ramp = np.linspace(0, 1, 4000)[:, None] * ((0x20, 0x40, 0x80) - np.array((250, 240, 90))) + (250, 240, 90)
    image = Image.fromarray(np.tile(ramp.round().astype(np.uint8)[None], (3, 1, 1)))
    few = light(image)
    moved = np.abs(np.asarray(few.convert("RGB")).astype(int) - np.asarray(image).astype(int))
    assert len(few.getcolors()) <= 256 and moved.max() <= 8


def test_an_img_has_its_attributes_and_nothing_else():
    element = img_element({"alt": 'a "b" <c> & d', "src": "data:x", "width": 6, "height": 4})
    assert element.startswith('<img alt="a &quot;b&quot; &lt;c&gt; &amp; d" src="data:x" width="6" height="4" style="')
    assert element.count("<") == 1


def test_a_figure_holds_its_data_and_caption():
    data = [{"value": "0", "text": "</script><b>"}, 0.5, None]
    element = figure_element("kind-of-view", picture_of(line(3), "a line"), "<i>control</i>", "1 < 2 & </figure>", data)
    assert element.startswith('<figure class="kind-of-view">') and element.endswith("</figure>")
    assert held(element) == data == json.loads(json.dumps(data))
    assert "<figcaption>1 &lt; 2 &amp; &lt;/figure&gt;</figcaption>" in element and "<i>control</i>" in element
    assert element.count("</script>") == 1 and "<b>" not in element
