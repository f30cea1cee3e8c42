"""Checks: the numbers that the prose quotes, and one check for each exercise, in a module for each chapter.

A check tries the learner's function on fresh random input, compares it with an independent truth, and prints in words
whether it is right, or what is wrong.
"""

from .chapter_01 import informed, may_train, numbers_to_add, one_look_score, tenth_set
from .chapter_02 import normalised_scores, turned, typical_score, without_layer_2_attention
from .chapter_03 import break_even, first_step, informed_score, loss, phase_starts
from .chapter_04 import blame, calibration_error, evidence, renamed, standardised
from .chapter_05 import blurred, breaks, key_without, same_variable
from .chapter_06 import alone, control_levels, from_positions, proof_applies, sharing
from .chapter_07 import one_face, rote, singles_out, sparing, weighted
from .chapter_08 import flat_restored, same_head, separating, with_directions
from .chapter_09 import closed, instead, needed, rival, swapped
from .chapter_10 import cheaper_network, lead, mass_without_mark, share_of_previous, uneven_answer
from .chapter_11 import basin_depth, by_exclusion, one_lever
from .chapter_12 import as_of, least_share, lower_rank, soon
from .chapter_13 import control, enough_step, null, number_operand, sure_share
from .chapter_14 import hard, look_alike, mended_after, own_errors, snapped
from .chapter_15 import encoder_share, features, few_examples, gap, other_modules
from .chapter_16 import expected, known, likely, looks_back, without_ratios
from .chapter_17 import bound, order_told, own_world, seeds_needed, silent
from .common import guess, report
