"""The adder to play with: clocks, a board of all sums, and the wall of its neurons."""

import torch
from IPython.display import HTML

from ...analysis.fourier import amplitudes_and_phases, keep, key_frequencies, number_table, pair_logits, spectrum
from ...training import Run
from .. import figures
from .element import explorable


def nine_clocks(
    run: Run, x: int = 17, y: int = 19, caption: str = "Turn x and y; then look for an answer that all clocks vote for."
) -> HTML:
    """A clock for each key frequency of a network's adder, with hands for two numbers and their sum."""
    ks, N = key_frequencies(number_table(run.weights())), run.config.task.n_numbers
    alt = (
        f"{len(ks)} clocks, of the frequencies {', '.join(map(str, ks))}. On each a hand for x = {x}, one for y = {y}, and one "
        f"for their sum, {(x + y) % N}: as far round as the two others together."
    )
    return explorable("nine-clocks", figures.clocks(N, ks, x, y), alt, caption, run, ks=ks, x=x, y=y)


def clock_board(
    run: Run,
    x: int = 17,
    y: int = 19,
    caption: str = "Each switch is a clock. A cell is filled where the adder, with these clocks alone, gets x + y right. "
    "How few will do?",
) -> HTML:
    """Switches for the key frequencies of a network's adder, and a board of the sums that it gets right with these alone."""
    w = run.weights()
    h, out, ks = number_table(w) @ w.W_in, w.W_out @ w.W_U, key_frequencies(number_table(w))
    energies, numbers, right = spectrum(h), torch.arange(len(h)), {}
    strongest = sorted(ks, key=lambda k: -energies[k])
    for many in sorted({1, min(3, len(ks)), min(5, len(ks)), len(ks)}):
        part = keep(h, [0, *strongest[:many]])
        answers = pair_logits(part, part, out).argmax(2)
        right["1 clock" if many == 1 else f"{many} clocks"] = answers == (numbers[:, None] + numbers) % len(h)
    shares = ", ".join(f"{each.double().mean():.1%}" for each in right.values())
    alt = (
        f"Boards of all sums x + y. The adder gets {shares} of them right with {', '.join(right)}, "
        f"the strongest first, of the frequencies {', '.join(map(str, strongest))}."
    )
    return explorable("clock-board", figures.boards(right), alt, caption, run, ks=ks, x=x, y=y)


def neuron_wall(
    run: Run,
    x: int = 17,
    y: int = 19,
    caption: str = "Each tile is a neuron, over all x and y. Move x and y: active ones light up and vote. "
    "For 16 and 19, how many groups can you silence before the answer falls?",
    clocks: bool = False,
) -> HTML:
    """All neurons of a network's adder over all pairs (x, y), by frequency, and their votes for the answer to one pair.

    With `clocks` a reader can order the numbers of each tile round the clock of its frequency.
    """
    h = number_table(run.weights()) @ run.weights().W_in  # (N, neurons)
    amplitudes = amplitudes_and_phases(h)[0]  # (frequency, neurons)
    best, strongest = amplitudes[1:].argmax(0) + 1, amplitudes[1:].max(0).values.argsort(descending=True)
    groups = {k: strongest[best[strongest] == k] for k in sorted(set(best.tolist()))}
    tiles = {k: (h[:, None, each] + h[:, each]).relu() for k, each in groups.items()}  # (x, y, neurons of the group)
    sizes = ", ".join(f"{k} with {len(each)} neurons" for k, each in groups.items())
    alt = f"Neurons of the adder, the strongest of each group, by activation over all x and y. The groups by frequency: {sizes}."
    return explorable("neuron-wall", figures.wall(tiles), alt, caption, run, x=x, y=y, **({"clocks": "yes"} if clocks else {}))
