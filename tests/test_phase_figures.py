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


def test_places_are_rows_in_the_order_of_the_table():
    accuracy = pd.DataFrame({"c left": [0.0, 0.5, 1.0], "d left": [0.0, 0.4, 1.0], "k right": [0.0, 0.1, 0.2]}, [0, 100, 200])
    first, second = figures.place_maps(accuracy, ((0, 100), (100, 200)), {"ordinary": 2, "late": 1}).axes[:2]
    maps = [axes.images[0].get_array().tolist() for axes in (first, second)]
    assert maps == [[[0.0, 0.5], [0.0, 0.4], [0.0, 0.1]], [[0.5, 1.0], [0.4, 1.0], [0.1, 0.2]]]
    assert [(label.get_text(), label.get_position()[1]) for label in first.get_yticklabels()] == [("ordinary", 0.5), ("late", 2)]
    assert [[line.get_ydata()[0] for line in axes.lines] for axes in (first, second)] == [[1.5], [1.5]]
