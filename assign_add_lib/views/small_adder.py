"""A small adder that learns sums alone, as `trainer.js` trains it in a page: for still pictures, and to hold the page against."""

from collections.abc import Sequence

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

WIDTH, NEURONS = 32, 128


def pairs_of(p: int) -> Tensor:
    """All pairs of numbers modulo p, each in one order, (pairs, 2)."""
    return torch.combinations(torch.arange(p), 2, with_replacement=True)


def untrained(p: int, generator: torch.Generator) -> list[Tensor]:
    """A start: a table (p, WIDTH), what leads into the neurons (WIDTH, NEURONS), and out of them (NEURONS, p)."""
    shapes = {(p, WIDTH): WIDTH, (WIDTH, NEURONS): WIDTH, (NEURONS, p): NEURONS}
    return [torch.randn(shape, generator=generator, dtype=torch.float64) / size**0.5 for shape, size in shapes.items()]


def logits(weights: Sequence[Tensor], pairs: Tensor) -> Tensor:
    """The logits (batch, p) of pairs (batch, 2)."""
    table, into, out = weights
    return (table[pairs].sum(1) @ into).relu() @ out


def train(weights: Sequence[Tensor], seen: Tensor, decay: float, steps: int) -> tuple[pd.DataFrame, list[Tensor]]:
    """Train on the pairs that are `seen` (pairs,); by step the loss and what is right of seen and new pairs, and the weights."""
    weights = [each.clone().requires_grad_() for each in weights]
    p = len(weights[0])
    pairs, rows = pairs_of(p), {}
    answers = pairs.sum(1) % p
    optimizer = torch.optim.AdamW(weights, lr=0.02, betas=(0.9, 0.98), weight_decay=decay)
    with torch.enable_grad():
        for step in range(steps):
            found = logits(weights, pairs)
            right, loss = (found.argmax(1) == answers).double(), cross_entropy(found[seen], answers[seen])
            rows[step] = {"loss": loss.item(), "seen": right[seen].mean().item(), "new": right[~seen].mean().item()}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return pd.DataFrame.from_dict(rows, "index"), [each.detach() for each in weights]
