"""A slider over drawn steps: frames drawn beforehand on the static page, drawn as asked in a live kernel."""

import html
from collections.abc import Callable, Sequence

from IPython.display import HTML
from matplotlib.figure import Figure

from .page import figure_element, img_element, is_static, picture_of, range_control


def step_slider(
    draw: Callable[[int], Figure],
    steps: Sequence[int],
    caption: str,
    alt: str | Callable[[int], str],
    name: str = "step",
    opens: int | None = None,
    says: Callable[[int], str] | None = None,
):
    """Show `draw(step)` at the step that a slider picks, and at first at the step `opens`, by default the last.

    In a live kernel an ipywidgets slider draws each figure as it is asked for.  On the static page they are drawn
    beforehand, 15 to 35 kB each, and a range input picks one; its stops stand equally far apart, each over its step.
    `alt` says what is seen, at each step if it is callable; `says` gives words to stand beside the step.  Raises
    ValueError without steps, or where it is to open at none of them.
    """
    steps = list(steps)
    if not steps:
        raise ValueError("a slider needs at least one step")
    opens = steps[-1] if opens is None else opens
    if opens not in steps:
        raise ValueError(f"the slider cannot open at {opens}, which is none of its steps")

    def frame(step):
        return picture_of(draw(step), alt(step) if callable(alt) else f"{alt} ({name} {step})")

    if not is_static():
        return _live_slider(frame, steps, caption, name, opens, says)
    frames = [{"value": str(step), **({"says": says(step)} if says else {}), **frame(step)} for step in steps]
    first = frames[steps.index(opens)]
    return HTML(figure_element("step-slider", first, range_control(name, steps, opens), caption, frames))


def _live_slider(frame, steps: list[int], caption: str, name: str, opens: int, says: Callable[[int], str] | None):
    """The slider of a live kernel."""
    import ipywidgets

    slider = ipywidgets.SelectionSlider(options=steps, value=opens, description=name, continuous_update=False)
    view = ipywidgets.HTML()

    def show(_=None):
        words = f"<p>{html.escape(says(slider.value))}</p>" if says else ""
        view.value = words + img_element(frame(slider.value))

    slider.observe(show, "value")
    show()
    return ipywidgets.VBox([slider, view, ipywidgets.HTML(html.escape(caption))])
