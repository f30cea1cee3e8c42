"""Things to move: elements of a page in which the reader turns, drags and switches; no kernel stands behind them."""

from .adding import clock_board, neuron_wall, nine_clocks
from .binding import name_badges, transplant_bench
from .breaking import break_it
from .building import is_it_new, one_head
from .byhand import set_weights
from .composing import module_pairs
from .element import MODULES
from .judging import claim_board
from .learning import one_step, train_here
from .passing import learning_film, the_flow
from .predicting import worlds_fell
from .summing import sum_graph
