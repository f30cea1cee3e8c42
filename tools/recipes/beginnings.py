"""Chapter 3: how small adders learn with and without weight decay, and what live runs say at first; all are trained here."""

from collections.abc import Collection

import pandas as pd
import torch
from torch.nn.functional import cross_entropy

from assign_add_lib import Split, Weights, last_logits
from assign_add_lib.sampling import evaluation_sets, training_population
from assign_add_lib.views import small_adder

from .recipe import Files, text_of


def adder(p: int, seed: int, decay: float, steps: int = 500) -> dict[str, float]:
    """When the small adder modulo p has its seen pairs right and half of the new ones, and how many new ones then and last."""
    chance = torch.Generator().manual_seed(seed)
    start, many = small_adder.untrained(p, chance), len(small_adder.pairs_of(p))
    seen = torch.rand(many, generator=chance).argsort().argsort() < 0.8 * many
    curves, _ = small_adder.train(start, seen, decay, steps)
    first, new = int((curves["seen"] == 1).idxmax()), 100 * curves["new"]
    found = {"all seen right, step": first, "new right then, %": new[first], f"new right at {steps}, %": new[steps - 1]}
    return {"modulus": p, "decay": decay, "seed": seed} | found | {"half of the new, step": int((new > 50).idxmax())}


def small_adders() -> Files:
    """Ten starts modulo 29 and three modulo 59, with weight decay and without."""
    rows = [adder(p, seed, decay) for p, starts in ((29, 10), (59, 3)) for seed in range(starts) for decay in (1, 0)]
    return {"data/history/small-adders.csv": text_of(pd.DataFrame(rows), "%.6g")}


def live(seed: int, at: Collection[int] = (200, 250)) -> list[dict[str, float]]:
    """At some steps of a live run, in %: what is right of plain sums, and what training shows with both numbers."""
    split = Split.draw(seed=seed)
    law, tests = training_population(split), evaluation_sets(split)
    comes_with = torch.zeros(2, 59, 59, dtype=torch.bool)  # by side and operand: the answers that training shows
    for x, y in split.train_pairs.nonzero().tolist():
        comes_with[0, x, (x + y) % 59] = comes_with[1, y, (x + y) % 59] = True
    weights, rows = Weights.init(seed=seed).trainable(), []
    optimizer = torch.optim.AdamW(weights.tensors().values(), lr=0.001, weight_decay=0.02)
    chance = torch.Generator().manual_seed(seed)
    for step in range(max(at) + 1):
        if step in at:
            row = {"seed": seed, "step": step}
            for words, (tokens, right) in zip(("trained", "held out"), (tests["0-var train"], tests["0-var add-restricted"])):
                given, both = last_logits(weights, tokens).argmax(1), comes_with[0, tokens[:, 13]] & comes_with[1, tokens[:, 14]]
                row[f"{words}, right"] = 100 * (given == right).double().mean().item()
                row[f"{words}, comes with both"] = 100 * both.gather(1, given[:, None]).double().mean().item()
                row[f"{words}, by chance"] = 100 * both.double().mean().item()
            rows.append(row)
        tokens, answers = law.sample(512, chance)
        optimizer.zero_grad()
        cross_entropy(last_logits(weights, tokens), answers).backward()
        optimizer.step()
    return rows


def beginning() -> Files:
    """Three live runs at two steps."""
    rows = [row for seed in (42, 0, 1) for row in live(seed)]
    return {"data/history/beginning.csv": text_of(pd.DataFrame(rows), digits=None)}
