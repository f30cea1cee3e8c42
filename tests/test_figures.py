"""Figures: of many runs, each panel shows its own column, the median of the runs, and nothing where there is no set."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from assign_add_lib import figures

ROWS = [["0-var train"], ["1-var train", "1-var var-restricted"]]


@pytest.fixture
def runs():
    steps = pd.Index([0, 100, 200], name="step")
    names = [name for row in ROWS for name in row]
    return [pd.DataFrame({name: [0.0, 0.1 * seed, 0.2 * seed + 0.01 * len(name)] for name in names}, steps) for seed in range(5)]


@pytest.fixture
def drawn(runs):
    yield figures.seed_curves(runs, ROWS, {"1-var train": 0.418}, "a shortcut")
    plt.close("all")


def test_each_panel_shows_the_median_of_its_column(runs, drawn):
    panels = [axes for axes in drawn.axes if axes.axison]
    assert [axes.get_title().replace("\n", " ") for axes in panels] == [name for row in ROWS for name in row]
    for axes in panels:
        name = axes.get_title().replace("\n", " ")
        lines = [line.get_ydata() for line in axes.lines]
        expected = np.median([run[name] for run in runs], axis=0)
        assert np.allclose(lines[len(runs)], expected)
        assert all(np.allclose(line, run[name]) for line, run in zip(lines, runs))


def test_levels_stand_in_their_panel_and_in_the_key(drawn):
    marked = [axes for axes in drawn.axes if any(np.allclose(line.get_ydata(), 0.418) for line in axes.lines)]
    assert [axes.get_title() for axes in marked] == ["1-var\ntrain"]
    assert [text.get_text() for text in drawn.legends[0].get_texts()][-1] == "a shortcut"


def test_other_columns_can_be_drawn(runs):
    figure = figures.seed_curves(
        [run.rename(columns={"0-var train": "ov2_mlp2_accuracy"}) for run in runs], [["ov2_mlp2_accuracy"]]
    )
    assert figure.axes[0].get_title() == "ov2_mlp2_accuracy"
    assert figure.axes[0].get_ylabel() == "share"
    plt.close("all")


def test_algorithm_draws_every_arrow_and_word():
    names = ["b", "17", "PAD", "+", "b", "19", "="]
    figure = figures.algorithm(names, [(1, 0), (6, 4), (6, 5)], [(6, 1), (6, 5)], {1: "of b"}, "17 + 19", "36")
    words = [text.get_text() for text in figure.axes[0].texts]
    assert {"of b", "17 + 19", "36"} <= set(words)
    assert words.count("17") == 2
    arrows = [text for text in figure.axes[0].texts if getattr(text, "arrow_patch", None)]
    assert len(arrows) == 3 + 2 + 2
    plt.close(figure)
