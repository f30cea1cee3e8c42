"""The gradient theorem: one step from a network that only adds writes the look-up of variables.

`setting` holds sizes and coordinates, `forward` the simplified network, `population` all its problems and their gradient,
`closed` the same gradient and its parts as formulas, `steps` votes and many steps, `embeddings` random vectors instead of
orthonormal ones, `trained` the gradient of a trained network.
"""

from .closed import balance, bounds, exact, expected_product, first_order, pulls, scores, terms
from .embeddings import follow_with, gram, step_with
from .forward import attention, augmented, content, convolve, logits, ranks_first, vectors
from .population import draw, every_sequence, gradient, outcome, representatives, symmetrised
from .setting import KAPPA, Setting, coordinates, dimensions
from .steps import descent, descent_of, follow, named_entries, pull_sources, silenced, votes, without_operand
from .trained import cosine, cosine_in_span, delivery, look_up_gradient

__all__ = [
    "KAPPA", "Setting", "attention", "augmented", "balance", "bounds", "content", "convolve", "coordinates", "cosine",
    "cosine_in_span", "delivery", "descent", "descent_of", "dimensions", "draw", "every_sequence",
    "exact", "expected_product", "first_order", "follow", "follow_with", "gradient", "gram", "logits", "look_up_gradient",
    "named_entries", "outcome", "pull_sources", "pulls", "ranks_first", "representatives", "scores",
    "silenced", "step_with", "symmetrised", "terms", "vectors", "votes", "without_operand",
]  # fmt: skip
