"""Chapter 13: single steps and hundreds, on some weights of two runs alone; how often the asked number is then first."""

import math
from collections.abc import Iterator

import torch
from torch.nn.functional import cross_entropy

from assign_add_lib import load_run
from assign_add_lib.circuits import last_logits
from assign_add_lib.model import Weights
from assign_add_lib.sampling import Batch, evaluation_populations

from .starts import state, trained

SINGLE = [2.0**k for k in range(-12, 1)]  # lengths of one step, over the norm of all weights
PARTS = ("QK2", "QK1", "rest", "all")
# run, step, how many steps of AdamW, on which weights; none stands for the single steps
STARTS = (
    ("seed-42", 400, 0, PARTS),
    ("seed-42", 2200, 0, PARTS),
    ("seed-42", 2200, 400, PARTS),
    ("seed-0", 3800, 800, ("QK2", "rest", "all")),
)


def direction(w: Weights, found: Batch, which: str) -> dict[str, torch.Tensor]:
    """Down the loss of problems, by weight: of `all`, of one layer's W_Q and W_K, or of the `rest`, all but QK2."""
    free = w.trainable()
    tensors = free.tensors()
    with torch.enable_grad():
        for tokens, answers in zip(found.tokens.split(1000), found.answers.split(1000)):
            cross_entropy(last_logits(free, tokens), answers).backward()
    down = {name: -value.grad for name, value in tensors.items() if value.grad is not None}
    if which.startswith("QK"):
        down = {name: down[name] for name in ("W_Q", "W_K")}
    left_out = {"QK2": 0, "QK1": 1, "rest": 1}.get(which)
    for name in ("W_Q", "W_K"):
        if left_out is not None:
            down[name][left_out] = 0
    return down


def one_step(w: Weights, found: Batch, held: Batch, which: str) -> Weights:
    """One step down the loss of problems `found`, of the length with the lowest loss on `held`."""
    down, norm = direction(w, found, which), math.sqrt(sum(value.square().sum() for value in w.tensors().values()))
    size = norm / math.sqrt(sum(value.square().sum() for value in down.values()))
    tried = [w.replace(**{name: getattr(w, name) + h * size * value for name, value in down.items()}) for h in SINGLE]
    return min(tried, key=lambda each: cross_entropy(last_logits(each, held.tokens), held.answers).item())


def further_rows(name: str, step: int, steps: int, parts: tuple[str, ...]) -> Iterator[dict]:
    """At one start: what there is before, and after the step or the steps on each part of the weights."""
    study = load_run(name)
    w, law = study.weights(step), evaluation_populations(study.split)["1-var train"]
    draw = torch.Generator().manual_seed(13)
    found, held, other = (law.sample(size, draw) for size in (8000, 4000, 4000))
    row = {"run": name, "step": step, "steps": steps or 1}
    yield row | {"weights": "before"} | state(w, other)
    for which in parts:
        after = trained(w, law, which, steps) if steps else one_step(w, found, held, which)
        yield row | {"weights": which} | state(after, other)


def further() -> Iterator[dict]:
    """All starts."""
    for start in STARTS:
        yield from further_rows(*start)
