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

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from PIL import Image


def is_static() -> bool:
    """Whether outputs are for the static page."""
    return os.environ.get("ASSIGN_ADD_RENDER") == "static"


def picture_of(figure: Figure, alt: str) -> dict:
    """Draw a figure as the attributes of an img element; a lossless 64-colour WebP is the smallest that stays sharp."""
    raw = io.BytesIO()
    figure.savefig(raw, format="png", dpi=150)
    plt.close(figure)
    image = Image.open(raw).convert("RGB").quantize(64, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    image.convert("RGB").save(packed, format="WEBP", lossless=True)
    source = "data:image/webp;base64," + base64.b64encode(packed.getvalue()).decode()
    return {"alt": alt, "src": source, "width": image.width, "height": image.height}


def img_element(picture: dict) -> str:
    """The img element of a picture, as wide as its column at most."""
    attributes = (f'{name}="{html.escape(str(picture[name]))}"' for name in ("alt", "src", "width", "height"))
    return f'<img {" ".join(attributes)} style="max-width: 100%; height: auto; background: white">'


def figure_element(kind: str, picture: dict, control: str, caption: str, data) -> str:
    """One figure element: a picture, what moves it, a caption, and the data from which scripts redraw it."""
    # a token such as "</script>" must not end the script element
    held = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return (
        f'<figure class="{kind}"><div class="view">{img_element(picture)}</div>{control}'
        f'<figcaption>{html.escape(caption)}</figcaption><script type="application/json">{held}</script></figure>'
    )
