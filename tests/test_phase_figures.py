"""The figures of chapter 11 show what they are given."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import torch
from small import TASK, problems, random_weights

from assign_add_lib.analysis.phases import arrival
from assign_add_lib.circuits import variable_identity
from assign_add_lib.model import trace
from assign_add_lib.views import figures


@pytest.fixture(autouse=True)
def closed():
    """Figures are closed after each test."""
    yield
    plt.close("all")


def lines(axes):
    return {line.get_label(): list(line.get_ydata()) for line in axes.lines}


def test_measures_have_their_chance_their_start_and_their_arrivals():
    metrics = pd.DataFrame({"one": [0.2, 0.6, 0.7, 0.95], "two": [0.1, 0.1, 0.1, 0.6]}, [0, 100, 200, 300])
    drawn = figures.measure_panels(metrics, {"two": 0.3, "one": 0.1}, [("1", 0, 100), ("2", 100, 200), ("3", 200, 300)])
    assert [axes.get_title() for axes in drawn.axes] == ["two", "one"]
    for axes, name, chance in zip(drawn.axes, ("two", "one"), (0.3, 0.1)):
        heights = [list(line.get_ydata()) for line in axes.lines]
        assert heights[:3] == [[chance] * 2, list(metrics[name][1:]), [metrics[name].iloc[0]]]
        came = [arrival(metrics[name], level) for level in (0.5, 0.9)]
        assert heights[3:] == [[metrics.loc[step, name]] for step in came if step is not None]


def test_places_are_rows_in_the_order_of_the_table():
    accuracy = pd.DataFrame({"c left": [0.0, 0.5, 1.0], "k right": [0.0, 0.1, 0.2]}, [0, 100, 200])
    drawn = figures.place_maps(accuracy, ((0, 100), (100, 200)), (1,), (150,))
    maps = [axes.images[0].get_array() for axes in drawn.axes if axes.images]
    assert maps[0].tolist() == [[0.0, 0.5], [0.0, 0.1]] and maps[1].tolist() == [[0.5, 1.0], [0.1, 0.2]]
    assert [label.get_text() for label in drawn.axes[0].get_yticklabels()] == list(accuracy)
    assert [len(axes.lines) for axes in drawn.axes[:2]] == [1, 2]


def test_levers_margins_and_releases_draw_every_curve():
    curve = pd.Series([2.0, 1.0], [0.0, 3.0])
    drawn = figures.loss_by_lever({"read": {"step 1": curve}, "own": {"step 1": curve * 2}}, {"read": 1.0, "own": 2.0})
    assert [lines(axes)["step 1"] for axes in drawn.axes] == [[2.0, 1.0], [4.0, 2.0]]
    paths = {place: pd.DataFrame({"own": [1.0, 2.0], "name": [3.0, 4.0]}, [8000, 9000]) for place in ("k right", "l left")}
    drawn = figures.margin_paths(paths, (8000, 12_000))
    assert [axes.get_title() for axes in drawn.axes] == list(paths) and lines(drawn.axes[1])["name"] == [3.0, 4.0]
    rows = pd.DataFrame({f"{what} k": [0.5, -0.5, 0.25] for what in ("own", "pull", "number")}, [100, 200, 300])
    drawn = figures.release_panels(rows, "k", (200, 300))
    heights = [lines(axes)["k"] for axes in drawn.axes]
    assert heights == [[0.5, -0.5, 0.25], [-0.5, 0.25], [0.5, 0.25], [0.25], [0.5, 0.25], [0.25]]  # logarithms of what is above 0


def test_attention_and_block_are_those_of_the_network():
    weights, tokens = random_weights(TASK, 16, 16, 24), problems(TASK, 3)[0][0]
    left, right = figures.attention_and_block(weights, tokens).axes
    pattern = trace(weights, tokens[None]).pattern[0, :, TASK.last]
    widths = [bar.get_width() for bar in left.patches]
    assert widths == pytest.approx(pattern.flatten().tolist(), abs=1e-6)
    block = variable_identity(weights)
    torch.testing.assert_close(torch.from_numpy(right.images[0].get_array().data), block)
    assert list(right.lines[0].get_xdata()) == block.argmax(1).tolist()
