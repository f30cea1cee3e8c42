"""The gradient theorem: one step from a network that only adds writes the look-up of variables.

`setting` holds sizes and coordinates, `forward` the simplified network, `population` all its problems and their gradient,
`closed` the same gradient and its parts as formulas, `steps` votes and many steps, `embeddings` random vectors instead of
orthonormal ones, `trained` the gradient of a trained network, `sweeps` what is measured too often for a page and shipped.
"""

from .closed import balance, bounds, exact, expected_product, first_order, pulls, scores, terms
from .embeddings import follow_with, gram, step_with
from .forward import attention, augmented, content, convolve, key_scores, logits, ranks_first, vectors
from .population import draw, every_sequence, gradient, outcome, representatives, step_on_pairs, symmetrised
from .setting import KAPPA, Setting, coordinates, dimensions
from .steps import (
    descent,
    descent_of,
    follow,
    named_entries,
    pull_sources,
    silenced,
    step_on_batch,
    vote_tables,
    votes,
    without_operand,
)
from .sweeps import load_table
from .trained import (
    against_nulls,
    by_names,
    cosine,
    cosine_in_span,
    delivery,
    exchange,
    exchange_look_up,
    look_up_gradient,
    moved_names,
)

__all__ = [
    "KAPPA", "Setting", "against_nulls", "attention", "augmented", "balance", "bounds", "by_names", "content", "convolve",
    "coordinates", "cosine", "cosine_in_span", "delivery", "descent", "descent_of", "dimensions", "draw", "every_sequence",
    "exact", "exchange", "exchange_look_up", "expected_product", "first_order", "follow", "follow_with", "gradient", "gram",
    "key_scores", "load_table", "logits", "look_up_gradient", "moved_names", "named_entries", "outcome", "pull_sources",
    "pulls", "ranks_first", "representatives", "scores", "silenced", "step_on_batch", "step_on_pairs", "step_with",
    "symmetrised", "terms", "vectors", "vote_tables", "votes", "without_operand",
]  # fmt: skip
