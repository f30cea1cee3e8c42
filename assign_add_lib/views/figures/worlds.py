"""The picture of a world."""

import io
from collections.abc import Mapping

import matplotlib.pyplot as plt

from ...laboratory.analysis import base
from ...laboratory.training import WorldRun
from .build import accuracy_curves
from .style import use_style


def accuracies_of(runs: Mapping[int, WorldRun]) -> bytes:
    """A world's accuracies over training as a PNG, the first of its seeds bold and the others faint behind it."""
    first, *others = runs.values()
    trained = [name for name in first.metrics if name.endswith(" train") and not name.startswith("0")]
    levels = {name.removesuffix(" train"): {"shortcut": base(first, name)} for name in trained}
    content = io.BytesIO()
    with plt.rc_context():  # the caller's own style stays
        use_style()
        figure = accuracy_curves(first.metrics, (), levels, [each.metrics for each in others])
        figure.savefig(content, format="png")
        plt.close(figure)
    return content.getvalue()
