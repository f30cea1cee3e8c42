"""The gradient theorem: one step from a network that only adds writes the look-up of variables.

`setting` holds sizes and coordinates, `forward` the simplified network, `population` all its problems and their gradient,
`closed` the same gradient and its parts as formulas, `steps` votes and many steps, `embeddings` random vectors instead of
orthonormal ones, `trained` the gradient of a trained network, `sweeps` what is measured too often for a page and shipped.
"""

from .closed import balance, bounds, exact, expected_product, first_order, mean_pulls, scores, terms
from .embeddings import follow_with, gram, step_with
from .forward import attention, augmented, content, convolve, key_scores, logits, ranks_first, vectors
from .population import draw, every_sequence, gradient, outcome, representatives, step_on_pairs, symmetrised
from .setting import KAPPA, Setting, coordinates, dimensions
from .steps import descent, descent_of, follow, named_entries, silenced, step_on_batch, vote_tables, votes
from .sweeps import load_table
from .trained import delivery, exchange, exchange_look_up, look_up_gradient, moved_names
