"""A slider over drawn steps: frames drawn beforehand on the static page, drawn as asked in a live kernel."""

import html
from collections.abc import Callable, Sequence

from IPython.display import HTML
from matplotlib.figure import Figure

from .page import figure_element, img_element, is_static, picture_of


def step_slider(
    draw: Callable[[int], Figure],
    steps: Sequence[int],
    caption: str,
    alt: str | Callable[[int], str],
    name: str = "step",
):
    """Show `draw(step)` at the step that a slider picks, the last one first.

    In a live kernel an ipywidgets slider draws each figure as it is asked for.  On the static page they are drawn
    beforehand, 10 to 20 kB each, and a range input picks one.  `alt` says what is seen, at each step if it is
    callable.  Raises ValueError without steps.
    """
    steps = list(steps)
    if not steps:
        raise ValueError("a slider needs at least one step")

    def frame(step):
        return picture_of(draw(step), alt(step) if callable(alt) else f"{alt} ({name} {step})")

    if not is_static():
        return _live_slider(frame, steps, caption, name)
    frames = [{"value": str(step), **frame(step)} for step in steps]
    last, shown = len(steps) - 1, html.escape(frames[-1]["value"])
    control = (
        f'<div class="control" hidden><label>{html.escape(name)} <input type="range" min="0" max="{last}" value="{last}" '
        f'aria-valuetext="{shown}" autocomplete="off"></label> <output>{shown}</output></div>'
    )
    return HTML(figure_element("step-slider", frames[-1], control, caption, frames))


def _live_slider(frame: Callable[[int], dict], steps: list[int], caption: str, name: str):
    """The slider of a live kernel."""
    import ipywidgets

    slider = ipywidgets.SelectionSlider(options=steps, value=steps[-1], description=name, continuous_update=False)
    view = ipywidgets.HTML()

    def show(_=None):
        view.value = img_element(frame(slider.value))

    slider.observe(show, "value")
    show()
    return ipywidgets.VBox([slider, view, ipywidgets.HTML(html.escape(caption))])
