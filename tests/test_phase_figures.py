"""The figures of chapter 11 show what they are given."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from assign_add_lib.views import figures


@pytest.fixture(autouse=True)
def closed():
    """Figures are closed after each test."""
    yield
    plt.close("all")


def lines(axes):
    return {line.get_label(): list(line.get_ydata()) for line in axes.lines}


def test_places_are_rows_in_the_order_of_the_table():
    accuracy = pd.DataFrame({"c left": [0.0, 0.5, 1.0], "d left": [0.0, 0.4, 1.0], "k right": [0.0, 0.1, 0.2]}, [0, 100, 200])
    first, second = figures.place_maps(accuracy, ((0, 100), (100, 200)), {"ordinary": 2, "late": 1}).axes[:2]
    maps = [axes.images[0].get_array().tolist() for axes in (first, second)]
    assert maps == [[[0.0, 0.5], [0.0, 0.4], [0.0, 0.1]], [[0.5, 1.0], [0.4, 1.0], [0.1, 0.2]]]
    assert [(label.get_text(), label.get_position()[1]) for label in first.get_yticklabels()] == [("ordinary", 0.5), ("late", 2)]
    assert [[line.get_ydata()[0] for line in axes.lines] for axes in (first, second)] == [[1.5], [1.5]]


def test_levers_and_releases_draw_every_curve():
    curve = pd.Series([2.0, 1.0], [0.0, 3.0])
    drawn = figures.loss_by_lever({"read": {"step 1": curve}, "own": {"step 1": curve * 2}}, {"read": 1.0, "own": 2.0})
    assert [lines(axes)["step 1"] for axes in drawn.axes] == [[2.0, 1.0], [4.0, 2.0]]
    rows = pd.DataFrame({f"{what} k": [0.5, -0.5, 0.25] for what in ("pull", "push", "number")}, [100, 200, 300])
    drawn = figures.release_panels(rows, "k", (200, 300))
    heights = [lines(axes) for axes in drawn.axes]
    above, brief = {"pull": [0.5, 0.25], "push": [0.5]}, {"pull": [0.25], "push": [0.5]}
    assert heights == [above, brief, {"number": [0.5, 0.25]}, {"number": [0.25]}]  # logarithms of what is above 0
