"""Learning to play with: an adder that is trained in the page, and one step of gradient descent."""

import inspect
import math

import torch
from IPython.display import HTML
from torch import Tensor

from ...analysis.fourier import spectrum
from ...model import Weights
from ...task import Problem
from ...theory import Setting, balance, coordinates, exact, sweeps
from .. import figures, small_adder
from .element import explorable


def _rounded(values: Tensor) -> list[float]:
    return [round(value, 9) + 0.0 for value in values.tolist()]


def train_here(
    p: int = 29,
    share: int = 80,
    decay: float = 1,
    caption: str = "Press Train: which line rises first? This adder has {width} dimensions and {neurons} neurons, where the "
    "book's network has {model} and {mlp}, and it learns nothing but sums.",
) -> HTML:
    """A small adder that the reader trains in the page on a share of all pairs modulo p, in percent, with a weight decay."""
    generator = torch.Generator().manual_seed(0)
    start, pairs = small_adder.untrained(p, generator), small_adder.pairs_of(p)
    seen = torch.rand(len(pairs), generator=generator).argsort().argsort() < share / 100 * len(pairs)
    history, (table, into, _) = small_adder.train(start, seen, decay, 500)
    new, power = history["new"], spectrum(table @ into)[1:]
    first = (history["seen"] == 1).idxmax()
    large = [str(k) for k, part in enumerate(power, 1) if part > 1.5 * power.mean()]
    alt = (
        f"Two curves over {len(history)} steps of training. All pairs that are seen in training are right after {first} steps, "
        f"when of the new pairs {new[first]:.0%} are; these rise later, to {new.iloc[-1]:.0%}. Below, bars for the frequencies "
        f"in what the neurons get: {', '.join(large)} stand out."
    )
    book = inspect.signature(Weights.init).parameters
    width, neurons = small_adder.WIDTH, small_adder.NEURONS
    caption = caption.format(width=width, neurons=neurons, model=book["d_model"].default, mlp=book["d_mlp"].default)
    settings = {"p": p, "share": share, "decay": decay, "seed": 1, "width": width, "neurons": neurons}
    return explorable("train-here", figures.growth(history, power), alt, caption, **settings)


def one_step(
    problem: str = "c=1, b=17, a=42, b+19=?",
    lam: float = 24.0,
    stride: float = 0.01,
    size: int = 1000,
    caption: str = "One gradient step in the theorem's simplified network. Lengthen it: the diagonal, the look-up, grows. "
    "What becomes of the answers?",
) -> HTML:
    """One gradient step of the theorem's network, of any length, on one problem with a variable and on `size` others.

    The variable may stand on either side in training, the outputs are small, and an operand starts with the score `lam`.
    """
    setting = Setting(lam=lam, gamma=1e-11)
    task, at, asked = setting.task, coordinates(setting.task)["moved variable"], Problem.parse(problem)
    block = (setting.step_size * exact(setting))[at, at]
    lengths = [stride * i for i in range(round(1.5 * balance(setting) / stride) + 1)]
    right = sweeps.along(setting, lengths, sweeps.fresh_problems(size)["1-var"])
    scores, added = (each[0] for each in sweeps.scores_along(setting, asked.tokens()[None]))
    window = [balance(setting) * (1 + sign * math.log(2) / lam) for sign in (-1, 1)]
    best = max(range(len(right)), key=right.__getitem__)
    alt = (
        f"Left, a table of {len(block)} letters by {len(block)} after a step of length {lengths[best]:.2f}: each letter scores "
        f"{lengths[best] * block[0, 0]:.1f} for itself and {lengths[best] * block[0, 1].abs():.1f} for all others. Right, "
        f"accuracy over the length of the step: near zero but for a narrow peak of {right[best]:.2f} there."
    )
    x, y = asked.values
    settings = {
        "letters": [task.token_name(task.first_variable + v) for v in range(task.n_variables)],
        "tokens": task.names(asked.tokens()),
        "block": _rounded(block.flatten()),
        "scores": _rounded(scores),
        "added": _rounded(added),
        "right": right,
    }
    settings |= {"stride": stride, "window": window, "N": task.n_numbers, "x": x, "y": y}
    still = figures.look_up_peak(lengths[best] * block, settings["letters"], lengths, right)
    return explorable("one-step", still, alt, caption, **settings)
