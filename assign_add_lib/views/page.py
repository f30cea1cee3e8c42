"""Pieces of a page: what a view shows with its data, for the static site and for a live kernel.

Where the environment says ASSIGN_ADD_RENDER=static, as when the book is executed, an output is small: its data,
a picture, and nothing that runs; the site's own scripts bring it to life.  In a live kernel (Jupyter, Colab) an output
carries all that it needs.
"""

import base64
import html
import io
import json
import os
from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from PIL import Image

DENSITY = 2  # pixels of a picture for each of the page's, as sharp screens have
INCH = 120  # of the page's pixels: letters of 9 points are as high as those of a caption


def is_static() -> bool:
    """Whether outputs are for the static page."""
    return os.environ.get("ASSIGN_ADD_RENDER") == "static"


def light(image: Image.Image) -> Image.Image:
    """An image in the 256 colours that come nearest to its own: half the bytes, and no colour that the eye takes for another."""
    return image.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)


def picture_of(figure: Figure, alt: str) -> dict:
    """Draw a figure as the attributes of an img element, a lossless WebP."""
    raw, packed = io.BytesIO(), io.BytesIO()
    figure.savefig(raw, format="png", dpi=DENSITY * INCH)
    plt.close(figure)
    image = light(Image.open(raw))
    image.convert("RGB").save(packed, format="WEBP", lossless=True)
    source = "data:image/webp;base64," + base64.b64encode(packed.getvalue()).decode()
    return {"alt": alt, "src": source, "width": image.width // DENSITY, "height": image.height // DENSITY}


def img_element(picture: dict) -> str:
    """The img element of a picture, as wide as its column at most."""
    attributes = (f'{name}="{html.escape(str(picture[name]))}"' for name in ("alt", "src", "width", "height"))
    return f'<img {" ".join(attributes)} style="max-width: 100%; height: auto; background: white">'


def range_control(name: str, steps: Sequence, opens) -> str:
    """The slider of a static view over these steps; it stays hidden until a script moves what it controls."""
    shown = html.escape(str(opens))
    return (
        f'<div class="control" hidden><label>{html.escape(name)} '
        f'<input type="range" min="0" max="{len(steps) - 1}" value="{steps.index(opens)}" '
        f'aria-valuetext="{shown}" autocomplete="off"></label> <output>{shown}</output></div>'
    )


def data_element(data) -> str:
    """The script element that holds a view's data, from which scripts redraw it."""
    # a token such as "</script>" must not end the element
    held = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json">{held}</script>'


def figure_element(kind: str, picture: dict, control: str, caption: str, data) -> str:
    """One figure element: a picture, what moves it, a caption, and its data."""
    return (
        f'<figure class="{kind}"><div class="view">{img_element(picture)}</div>{control}'
        f"<figcaption>{html.escape(caption)}</figcaption>{data_element(data)}</figure>"
    )
