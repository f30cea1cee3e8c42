"""The gradient theorem: one step from a network that only adds writes the look-up of variables.

`setting` holds sizes and coordinates, `forward` the simplified network, `population` all its problems and their gradient,
`closed` the same gradient and its parts as formulas, `steps` votes and many steps, `embeddings` random vectors instead of
orthonormal ones, `trained` the gradient of a trained network.
"""

from .closed import balance, bounds, exact, expected_product, first_order, pulls, scores, signal_strength, terms
from .embeddings import gram, step_with
from .forward import attention, augmented, content, convolve, dense_logits, logits, ranks_first, vectors
from .population import draw, every_sequence, gradient, outcome, representatives, symmetrised
from .setting import KAPPA, Setting, coordinates, dimensions
from .steps import descent, descent_of, entries, follow, pull_sources, silenced, votes
from .trained import cosine, look_up_gradient

__all__ = [
    "KAPPA", "Setting", "attention", "augmented", "balance", "bounds", "content", "convolve", "coordinates", "cosine",
    "dense_logits", "descent", "descent_of", "dimensions", "draw", "entries", "every_sequence", "exact", "expected_product",
    "first_order", "follow", "gradient", "gram", "logits", "look_up_gradient", "outcome", "pull_sources", "pulls",
    "ranks_first", "representatives", "scores", "signal_strength", "silenced", "step_with", "symmetrised", "terms",
    "vectors", "votes",
]  # fmt: skip
