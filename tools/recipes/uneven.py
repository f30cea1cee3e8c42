"""Chapter 7: what uneven reading costs, by training on from a checkpoint while reading is overruled."""

import pandas as pd
import torch

from assign_add_lib import load_run
from assign_add_lib.analysis import uneven
from assign_add_lib.analysis.uneven import between, drawn_from, favouring
from assign_add_lib.circuits import bare_addition
from assign_add_lib.sampling import training_population

from .recipe import Files, text_of


@torch.no_grad()
def doubles() -> Files:
    """1500 steps of seed 42's whole network from step 2500 on in each arm; 600 steps of seed 0's from 2000 on in two arms."""
    rows = []
    for seed, step, steps, arms in ((42, 2500, 1500, uneven.ARMS), (0, 2000, 600, ("clean, uneven", "half and half"))):
        for name in arms:
            found = uneven.trained_on(load_run(f"seed-{seed}"), step, uneven.ARMS[name], steps)
            rows += [{"seed": seed, "arm": name} | row for row in found]
    return {"data/history/doubles.csv": text_of(pd.DataFrame(rows).round(4), digits=None)}


@torch.no_grad()
def module() -> Files:
    """The module alone: other doses of uneven reading, longer, from another step, and ten numbers of our choice."""
    run = load_run("seed-42")
    tokens = training_population(run.split).sample(1000, torch.Generator().manual_seed(1)).tokens
    sides = (torch.rand(1000, generator=torch.Generator().manual_seed(2)) < 0.5).float()

    def shares(step):
        more = uneven.larger_share(run.weights(step), tokens)
        return sides * more + (1 - sides) * (1 - more)

    held_out = (~run.split.train_pairs.diagonal()).nonzero().flatten()
    ten = torch.zeros(len(run.split.train_pairs), dtype=torch.bool)
    ten[held_out[::2]] = True
    even = between(0.5, 0.5)
    arms = {
        "0.2 to 0.8": (2500, between(0.2, 0.8), 300),
        "0.25 to 0.75": (2500, between(0.25, 0.75), 300),
        "the network's shares at step 2500": (2500, drawn_from(shares(2500)), 300),
        "the network's shares at step 30000": (2500, drawn_from(shares(30_000)), 300),
        "ten numbers, 0.8 to 0.9": (2500, favouring(ten, 0.8, 0.9), 300),
        "ten numbers, 0.5 to 0.7": (2500, favouring(ten, 0.5, 0.7), 300),
        "evenly, from the end": (30_000, even, 300),
        "evenly, 3000 steps": (2500, even, 3000),
    }
    rows = []
    for name, (step, read, steps) in arms.items():
        logits = uneven.module_trained_on(run, step, read, steps=steps)
        right = logits.argmax(2).diagonal() == 2 * torch.arange(len(logits)) % len(logits)
        found = uneven.tally(logits, run.split) | {"of the ten wrong": (~right[held_out[::2]]).sum().item()}
        rows.append({"reading": name, "from": step, "steps": steps} | found)
    return {"data/history/module.csv": text_of(pd.DataFrame(rows).round(4), digits=None)}


READINGS = {"evenly": between(0.5, 0.5), "unevenly": between(0.1, 0.9), "with a stranger": uneven.with_stranger}


@torch.no_grad()
def readings() -> Files:
    """The module alone of seed 42 from step 2500 and of seed 0 from step 2000, before, and trained in three ways of reading."""
    rows = []
    for name, step in (("seed-42", 2500), ("seed-0", 2000)):
        run = load_run(name)
        found = {"before": bare_addition(run.weights(step))}
        found |= {words: uneven.module_trained_on(run, step, read) for words, read in READINGS.items()}
        rows += [{"run": name, "reading": words} | uneven.tally(logits, run.split) for words, logits in found.items()]
    return {"data/history/readings.csv": text_of(pd.DataFrame(rows).round(4), digits=None)}
