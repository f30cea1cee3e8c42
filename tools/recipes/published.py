"""The study's own run by our measures: from the weights that are published with its code, of which nothing is executed."""

import math
import random
import subprocess
from collections.abc import Mapping
from io import BytesIO
from itertools import takewhile
from pickletools import genops
from types import SimpleNamespace
from zipfile import BadZipFile, ZipFile

import pandas as pd
import torch
from torch import Tensor

from assign_add_lib.analysis.fourier import fit_neurons, number_table
from assign_add_lib.analysis.history import equal_scores
from assign_add_lib.claims.study import CLAIMS
from assign_add_lib.claims.subjects import Subject, constant_part, places_of
from assign_add_lib.measures import accuracies, attn_l1_equal_to_operands, attn_l2_equal_to_values, progress_measures
from assign_add_lib.model import ATTENTION, Weights, trace
from assign_add_lib.sampling import Batch, Population, diagnostic_batch, evaluation_populations, evaluation_sets, forms
from assign_add_lib.task import STUDY, Split

from .recipe import ROOT, Files, text_of

SOURCE, COMMIT = "https://github.com/bexoo/assign-and-add", "d60c064bfa17e4e55f3753daf11e50d4cc764c1e"
CLONE = ROOT / "runs/assign-and-add"
STEPS = [*range(0, 40_000, 100), 40_000]
NAMES = {  # our weights, and the parts of each in TransformerLens' names
    "W_E": ["embed.W_E"],
    "W_pos": ["pos_embed.W_pos"],
    **{name: [f"blocks.{layer}.attn.{name}" for layer in (0, 1)] for name in ATTENTION},
    **{name: [f"blocks.1.mlp.{name}"] for name in ("W_in", "W_out")},
    "W_U": ["unembed.W_U"],
}
AT_THE_END = "the block says which", "named terms suffice", "interchange, asked", "interchange, elsewhere", "the story suffices"
TENSOR, FLOATS = "torch._utils _rebuild_tensor_v2", "torch FloatStorage"


def checkpoint(step: int) -> str:
    """The path of the weights of a step as the study counts them; the file of step 5300 has 5301 in its name."""
    return f"checkpoints/{f'checkpoint_step_{step + 1}' if step < STEPS[-1] else 'model_state_dict'}.pth"


def published_file(path: str) -> bytes:
    """A file of the study's repository as it was at the commit, whatever is checked out; ValueError where the clone lacks it."""
    shown = subprocess.run(["git", "-C", str(CLONE), "show", f"{COMMIT}:{path}"], capture_output=True)
    if shown.returncode:
        raise ValueError(f"runs/{CLONE.name} is no clone of {SOURCE} with {path} of commit {COMMIT[:7]}")
    return shown.stdout


def read_state(content: bytes, name: str) -> dict[str, Tensor]:
    """The single-precision tensors, by name, of a state dict that torch.save wrote; ValueError where it is damaged.

    Such a file is a zip of arrays and of one pickle, which says what they are.  The pickle is only spelled out, word by word:
    before each tensor stands its name, and behind it the array, the offset in it, the shape and the strides.
    """
    try:
        with ZipFile(BytesIO(content)) as archive:
            folder, words, memo, found = archive.namelist()[0].partition("/")[0], [], {}, {}
            for opcode, word, _ in genops(archive.read(f"{folder}/data.pkl")):
                if "PUT" in opcode.name:
                    memo[word] = words[-1]
                elif word is not None:
                    words.append(memo[word] if "GET" in opcode.name else word)
            for place, word in enumerate(words):
                if word == TENSOR and words[place + 2] == FLOATS:
                    array = torch.frombuffer(bytearray(archive.read(f"{folder}/data/{words[place + 3]}")), dtype=torch.float32)
                    _, offset, *sizes = takewhile(lambda each: isinstance(each, int), words[place + 5 :])
                    shape, strides = sizes[: len(sizes) // 2], sizes[len(sizes) // 2 :]
                    found[words[place - 1]] = array.as_strided(shape, strides, offset)
            return found
    except (BadZipFile, KeyError, IndexError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} is damaged, or no state dict: {error}") from None


def weights_of(state: Mapping[str, Tensor]) -> Weights:
    """The weights of a state dict; ValueError where one of them is missing, or what our network lacks is not zero."""
    parts = {name: [state.get(each) for each in theirs] for name, theirs in NAMES.items()}
    if missing := [name for name, each in parts.items() if any(part is None for part in each)]:
        raise ValueError(f"{missing[0]} is missing")
    rest = state.keys() - {each for theirs in NAMES.values() for each in theirs}
    if other := [name for name in sorted(rest) if state[name].any() and not name.endswith("IGNORE")]:
        raise ValueError(f"{other[0]} is not zero; our network has no such part")
    return Weights(**{name: torch.cat(each) for name, each in parts.items()})


def own_split() -> Split:
    """The study's pairs and places: its code draws the pairs with Python's generator, and restricts the variables that we do."""
    n = STUDY.n_numbers
    pairs = random.Random(42).sample([(x, y) for x in range(n) for y in range(n)], math.floor(0.7 * n * n))
    train_pairs = torch.zeros(n, n, dtype=torch.bool)
    train_pairs[tuple(zip(*pairs))] = True
    drawn = Split.draw(STUDY)
    return Split(STUDY, train_pairs, drawn.never_right, drawn.never_left)


def own_batch(size: int = 512) -> Batch:
    """The law of the batch of the study's progress measures: the three forms equally often, with all variables and all pairs."""
    some, n = range(STUDY.n_variables), STUDY.n_numbers
    law = len(some) * forms(STUDY, None, None) + forms(STUDY, some, None) + forms(STUDY, None, some)
    return Population(STUDY, law, torch.ones(n, n, dtype=torch.bool)).sample(size, torch.Generator().manual_seed(3))


def reading(weights: Weights, batch: Batch, sums: Batch) -> dict[str, float]:
    """What `=` reads: the measures of routing that depend on the batch, and layer 2's attention in sums of typed numbers."""
    seen, typed = trace(weights, batch.tokens), trace(weights, sums.tokens)
    sides = {"left": STUDY.left, "right": STUDY.right}
    return {
        "attn_l1_equal_to_operands, all places": attn_l1_equal_to_operands(seen, batch.tokens, STUDY),
        "attn_l2_equal_to_values, all places": attn_l2_equal_to_values(seen, batch.tokens, STUDY),
        "attn_l2_equal_to_values, 0-var": attn_l2_equal_to_values(typed, sums.tokens, STUDY),
        **{f"layer 2, 0-var, {side}": typed.pattern[:, 1, STUDY.last, at].mean().item() for side, at in sides.items()},
    }


def weak_rows(weights: Weights, split: Split) -> dict[str, float]:
    """The rows that fail in four of our runs, of weights that are taken for the last."""
    metrics, settings = pd.DataFrame(index=[STEPS[-1]]), SimpleNamespace(steps=STEPS[-1])
    subject = Subject(SimpleNamespace(task=STUDY, split=split, metrics=metrics, config=settings, weights=lambda: weights))
    return {claim.name: claim.measure(subject) for claim in CLAIMS if claim.name in AT_THE_END}


@torch.no_grad()
def published() -> Files:
    """Accuracies, progress measures, what `=` reads, and waves of neurons, at every published step; at the last, five rows."""
    split, rows = own_split(), {}
    sets, batch, theirs = evaluation_sets(split), diagnostic_batch(split), own_batch()
    sums = evaluation_populations(split)["0-var train"].sample(500, torch.Generator().manual_seed(1))
    for step in STEPS:
        weights = weights_of(read_state(published_file(checkpoint(step)), checkpoint(step)))
        part = constant_part(equal_scores(weights), STUDY, places_of(split)["trained"])
        h = number_table(weights) @ weights.W_in
        share = fit_neurons(h[:, None] + h).share
        rows[step] = accuracies(weights, sets) | progress_measures(weights, batch)
        rows[step] |= reading(weights, theirs, sums)
        rows[step] |= {f"constant, variable {side}": part.filter(like=side).mean() for side in ("left", "right")}
        rows[step] |= {"best neuron": share.max().item(), "typical neuron": share.max(0).values.median().item()}
        rows[step] |= {"neuron of frequency 11": share[11].argmax().item(), "its share": share[11].max().item()}
    rows[STEPS[-1]] |= weak_rows(weights, split)
    return {"data/published.csv": text_of(pd.DataFrame.from_dict(rows, orient="index").rename_axis("step"), index=True)}
