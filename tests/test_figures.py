"""Figures show what they are given: each panel its own data, each name and mark in its place."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch

from assign_add_lib.views import figures


@pytest.fixture(autouse=True)
def closed():
    """Figures are closed after each test."""
    yield
    plt.close("all")


def key(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


# runs as dots


def test_every_run_is_a_dot_of_its_own_in_its_strip():
    """Ten alike stand over one another; each strip has its label beside it, and seed 42 another mark than the rest."""
    shares = {"alike": [1.0] * 10, "apart": np.linspace(0.5, 0.95, 10)}
    figure = figures.run_dots(shares, "right")
    (axes,) = figure.axes
    others, marked = ([line for line in axes.lines if line.get_marker() == mark] for mark in "oD")
    for each, (label, values) in enumerate(shares.items()):
        text, lines = next(text for text in axes.texts if text.get_text() == label), (others[each], marked[each])
        dots = axes.transData.transform(np.concatenate([line.get_xydata() for line in lines]))
        assert np.allclose(np.concatenate([line.get_xdata() for line in lines]), 100 * np.asarray(values))
        between = np.linalg.norm(dots[:, None] - dots, axis=2)[np.triu_indices(10, 1)]
        assert between.min() > 0.9 * others[each].get_markersize() * figure.dpi / 72
        middle = axes.transData.transform((0, text.get_position()[1]))[1]
        assert dots[-1, 1] == pytest.approx(middle) and np.abs(dots[:, 1] - middle).max() < 0.4 * figure.dpi
    assert key(figure) == ["seed 42"]


def test_strips_that_belong_together_differ_by_mark_and_name():
    before, after = [0.9, 0.95, 1.0], [0.5, 0.6, 0.7]
    axes = figures.run_dots({kind: {"before": before, "after": after} for kind in ("1-var", "2-var")}, "right", marked=0).axes[0]
    marks = [(line.get_marker(), *line.get_xdata().round(6)) for line in axes.lines if line.get_marker() != "None"]
    assert marks == 2 * [("o", 95, 100), ("D", 90), ("s", 60, 70), ("D", 50)]
    assert [word for word in words(axes) if word] == ["1-var", "before", "after", "2-var", "before", "after"]


def test_no_run_lies_beyond_the_axis():
    with pytest.raises(ValueError, match="beyond the axis, 80 to 100 percent"):
        figures.run_dots({"right": [0.79, 0.9]}, "right", limits=(80, 100))
    with pytest.raises(ValueError, match="beyond"):
        figures.run_dots({"right": [float("nan"), 0.9]}, "right")


# part I, Build


def words(axes):
    return [text.get_text() for text in axes.texts]


def colours(patches):
    return [matplotlib.colors.to_hex(patch.get_facecolor()) for patch in patches]


def test_a_row_of_tokens_says_its_positions_notes_and_answer():
    names = ["b", "17", "PAD", "+", "b", "19", "="]
    axes = figures.token_row(names, "36", {(0, 1): "an assignment", (4, 5): "operands"}).axes[0]
    assert words(axes)[:14] == [word for place, name in enumerate(names) for word in (name, str(place))]
    assert {"an assignment", "operands", "36", "answer", "position"} <= set(words(axes))
    note = next(text for text in axes.texts if text.get_text() == "operands")
    assert note.get_position()[0] == 5 and len(axes.lines) == 2  # over the middle of positions 4 and 5
    kinds = [figures.ROLES[kind] for kind in ("variable", "number", "PAD", "+", "variable", "number", "=")]
    assert colours(axes.patches[:7]) == [matplotlib.colors.to_hex(colour) for colour in kinds]
    assert "answer" not in words(figures.token_row(names).axes[0])


def test_a_graph_of_sums_shows_what_is_computed_and_crosses_out_what_is_wrong():
    """Operands stand left of what adds them; values in the nodes, none where none is known; one line through each wrong one."""
    operands = [[], [], [0, 1], [2], [0, 3]]
    axes = figures.computation_graph("abcde", operands, [3, 4, 6, 7, None], [3, 4, 7, 7, 10]).axes[0]
    places = {text.get_text(): text.get_position() for text in axes.texts}
    column = {name: places[name][0] for name in "abcde"}
    assert column["a"] == column["b"] < column["c"] < column["d"] < column["e"]
    assert [word for word in words(axes) if word.isdigit()] == ["3", "4", "6", "7"]
    (line,) = axes.lines
    assert np.mean(line.get_xdata()) == pytest.approx(column["c"])
    assert len(axes.patches) == sum(map(len, operands)) and len(axes.collections) == 5
    assert not figures.computation_graph("ab", [[], [0]], [1, None]).axes[0].lines


def test_a_round_of_the_loop_joins_what_is_read_to_what_reads():
    tokens = ["x9:3", "=", "x2:3", "[sep]", "x5:4", "ADD", "x2", "=", "x6"]
    axes = figures.one_round(tokens, [(4, 4), (6, 2)], [(8, 4), (8, 6)], [5], {6: "x2:3"}, "seven").axes[0]
    assert [words(axes).count(word) for word in ("x2:3", "x2", "ADD", "seven")] == [3, 1, 2, 1]
    arrows = {(text.xyann[0], round(text.xy[0])) for text in axes.texts if getattr(text, "arrow_patch", None)}
    assert arrows == {(4, 4), (2, 6), (4, 8), (5, 8), (6, 8)}  # from the token that is read


def test_rows_of_tokens_end_in_one_column_and_point_so_many_places_back():
    rows = {"two": ["=", "x2", "[sep]", "x1", "ADD", "x2", "=", "x3"], "copy": ["7", "=", "x2", "[sep]", "x4", "=", "x5"]}
    axes = figures.places_back(rows, 5).axes[0]
    arrows = [(round(text.xyann[0]), round(text.xy[0])) for text in axes.texts if getattr(text, "arrow_patch", None)]
    assert arrows == [(0, -5)] * 2  # from the token that looks
    at = {(text.get_text(), text.get_position()[0]) for text in axes.texts}
    assert {("[sep]", -5), ("=", -5), ("x3", 0), ("x5", 0), ("5", -5), ("two", -7.7), ("copy", -7.7)} <= at
    assert len(axes.patches) == 8 + 7 + 2


@pytest.mark.parametrize("seed", range(3))
def test_arrows_of_a_graph_pass_by_the_nodes_between(seed):
    """Each arrow ends at the rims of its two nodes, and stays clear of all others."""
    rng = np.random.default_rng(seed)
    operands = [[]] + [rng.choice(n, rng.integers(0, min(n, 3) + 1), replace=False).tolist() for n in range(1, 20)]
    figure = figures.computation_graph([f"x{n}" for n in range(20)], operands)
    figure.canvas.draw()
    axes = figure.axes[0]
    inches = lambda points: axes.transData.transform(points) / figure.dpi  # noqa: E731
    centres = inches([collection.get_offsets()[0] for collection in axes.collections])
    radius = np.sqrt(560) / 2 / 72
    ends = [(node, operand) for node, each in enumerate(operands) for operand in each]
    assert len(axes.patches) == len(ends)
    for arrow, (node, operand) in zip(axes.patches, ends):
        line = inches(arrow.get_path().interpolated(1).to_polygons(closed_only=False)[0])
        line = np.concatenate([np.linspace(a, b, 20) for a, b in zip(line, line[1:])])
        far = np.linalg.norm(line[:, None] - centres, axis=2).min(0)
        assert np.delete(far, [node, operand]).min() > radius and max(far[[node, operand]]) < radius + 0.1


def test_a_map_of_pairs_counts_both_kinds():
    pairs = torch.tensor([[True, False, True], [True, True, True]])
    figure = figures.pair_map(pairs)
    assert figure.axes[0].images[0].get_array().tolist() == (~pairs).tolist()
    assert key(figure) == ["5 training pairs", "1 held-out pairs"]


def test_a_grid_of_forms_marks_what_is_never_asked_and_what_only_tests_ask():
    allowed = torch.tensor([[False, True, True], [False, False, True], [True, False, True]])
    axes = figures.form_grid(allowed, ["a", "b"]).axes[0]
    assert words(axes) == ["–", "", "", "×", "–", "", "", "×", ""]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "number"]


def test_curves_have_their_names_at_their_ends_apart_from_each_other():
    table = pd.DataFrame({"one": [0.0, 0.5, 0.9], "two": [0.0, 0.2, 0.91], "low": [0.1, 0.1, 0.1]}, index=[0, 10, 20])
    axes = figures.curves(table, {"chance": 0.3}).axes[0]
    assert [line.get_ydata().tolist() for line in axes.lines[:3]] == [table[name].tolist() for name in table]
    assert np.allclose(axes.lines[3].get_ydata(), 0.3) and words(axes) == ["one", "two", "low", "chance"]
    heights = sorted(text.xy[1] for text in axes.texts[:3])
    assert min(np.diff(heights)) >= 0.07 - 1e-9 and heights[0] == 0.1


def test_accuracies_stand_in_a_panel_for_each_kind_with_phases_levels_and_other_runs():
    sets = ("train", "add-restricted", "var-restricted")
    metrics = pd.DataFrame({f"{kind} {name}": [0.0, 1.0] for kind in ("0-var", "1-var") for name in sets[: 2 + (kind[0] == "1")]})
    others = [metrics * 0.5, metrics * 0.25]
    figure = figures.accuracy_curves(metrics, [("1", 0, 1)], {"1-var": {"shortcut": 0.4}}, others)
    zero, one = figure.axes
    assert [axes.get_title() for axes in figure.axes] == ["0-var problems", "1-var problems"]
    assert [len(axes.lines) for axes in (zero, one)] == [2 * 3, 1 + 3 * 3] and "1" in words(zero)
    assert words(one) == ["shortcut", *sets] and np.allclose(one.lines[0].get_ydata(), 0.4)
    assert [line.get_ydata()[-1] for line in zero.lines] == [0.5, 0.25, 1.0] * 2
    assert all(len(axes.patches) == 1 for axes in figure.axes)  # the span of the phase
    chains = figures.accuracy_curves(metrics.rename(columns=lambda name: name.replace("0-var", "1-var chain"))).axes
    assert [axes.get_title() for axes in chains] == ["1-var chain problems", "1-var problems"]
    assert [words(axes) for axes in chains] == [[*sets[:2]], [*sets]]


# part II, Read


def test_a_block_of_scores_rings_the_largest_of_each_row_and_leaves_masked_ones_empty():
    scores = torch.tensor([[1.0, -2.0, -torch.inf], [0.5, 3.0, 0.25], [-torch.inf] * 3])
    axes = figures.score_block(scores, "abc", 2, "row", "column").axes[0]
    assert words(axes) == ["1", "−2", "0", "3", "0"]
    assert [(patch.get_x() + 0.46, patch.get_y() + 0.46) for patch in axes.patches] == [(0, 0), (1, 1)]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("column", "row")
    assert np.isnan(np.ma.filled(axes.images[0].get_array(), np.nan)).tolist() == scores.isinf().tolist()


def test_curves_of_runs_hold_their_shares_and_mark_one():
    shares = {"seed-42": {0: 0.1, 1: 1.0, 2: 0.4}, "seed-1": {0: 0.2, 1: 0.9, 2: 0.5}}
    axes = figures.run_curves(shares, "times", ("quiet", "loud")).axes[0]
    drawn = [line for line in axes.lines if len(line.get_xdata()) == 3]
    assert [list(line.get_ydata()) for line in drawn] == [[20, 90, 50], [10, 100, 40]]  # the marked one on top
    assert drawn[1].get_color() == figures.INK and words(axes)[:2] == ["quiet", "loud"]


def test_maps_of_patches_write_what_is_worth_it():
    maps = {"x": torch.tensor([[0.5, 0.02], [-0.03, 1.0]]), "y": torch.zeros(2, 2)}
    first, second = figures.patch_maps(maps, ["stream", "values"], ["a", "="]).axes
    assert words(first) == ["50", "-3", "100"] and words(second) == []
    assert (first.get_title(), second.get_title()) == ("x", "y")
    assert [label.get_text() for label in first.get_yticklabels()] == ["stream", "values"]


def test_names_are_spread_without_changing_their_order():
    assert figures.spread([0.5, 0.9, 0.52, 0.1], 0.1) == pytest.approx([0.5, 0.9, 0.6, 0.1])
    assert figures.spread([1.0, 1.0, 1.0], 0.1) == pytest.approx([0.85, 0.95, 1.05])  # none leaves the panel
