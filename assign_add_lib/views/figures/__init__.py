"""Figures that more than one chapter draws, or that are long to draw: by part of the book, over one style."""

from .build import accuracy_curves, curves, form_grid, pair_map, token_row
from .elsewhere import computation_graph, graph_places, one_round, places_back
from .judging import claim_rows, level_line
from .learn import block_matrix, held, vote_grids
from .moving import (
    badges,
    bench,
    boards,
    by_kind,
    clocks,
    context_margins,
    fallen,
    film,
    flow,
    growth,
    head,
    look_up_peak,
    module_pairs,
    pairs,
    turn_and_vote,
    wall,
)
from .phases import place_maps
from .read import patch_maps, score_block
from .runs import run_curves, run_dots
from .style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    KIND_COLOURS,
    LAYER_COLOURS,
    LEFT_OUT,
    LETTERS,
    ORANGE,
    PALE,
    PURPLE,
    ROLES,
    SET_STYLES,
    SKY,
    STYLE,
    VERMILION,
    WIDTH,
    YELLOW,
    legible,
    name_ends,
    role,
    spread,
    use_style,
)
from .theorem import entries_by_step, outcomes_by_step, update_blocks
