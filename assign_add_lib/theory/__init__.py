"""The gradient theorem: one step from a network that only adds writes the look-up of variables.

`setting` holds sizes and coordinates, `forward` the simplified network, `population` all its problems and their gradient,
`closed` the same gradient and its parts as formulas, `trained` the gradient of a trained network.
"""

from .closed import balance, bounds, exact, expected_product, first_order, pulls, scores, signal_strength, terms
from .forward import attention, augmented, content, convolve, dense_logits, logits, vectors
from .population import draw, every_sequence, gradient, outcome, representatives, symmetrised
from .setting import KAPPA, Setting, coordinates, dimensions
from .trained import cosine, look_up_gradient

__all__ = [
    "KAPPA", "Setting", "attention", "augmented", "balance", "bounds", "content", "convolve", "coordinates", "cosine",
    "dense_logits", "dimensions", "draw", "every_sequence", "exact", "expected_product", "first_order", "gradient", "logits",
    "look_up_gradient", "outcome", "pulls", "representatives", "scores", "signal_strength", "symmetrised", "terms", "vectors",
]  # fmt: skip
