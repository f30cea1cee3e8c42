"""What an attack on a run finds, as a table that is written part by part, so that a search that was stopped goes on."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd
import torch

from ..circuits import last_logits
from ..engine.files import check_writable, remove_unfinished, write_atomic
from ..engine.lock import lock_file
from ..engine.progress import progress_bar
from ..engine.sweep import here
from ..model import Weights
from ..task import KINDS, Problem
from .attack import attack, draw_questions, layouts
from .harden import opened

PART = 32  # questions that are searched at once
MOST = 100_000
COLUMNS = ["run", "step", "seed", "kind", "question", "problem", "tokens", "answer", "margin", "tried"]


@torch.inference_mode()
def attack_part(weights: Weights, kind: str, seed: int, part: int, *_) -> list[dict]:
    """One row for each of `PART` questions of a kind: the worst problem found, what the network answers, and its margin."""
    own = seed * 2**16 + part
    questions = draw_questions(weights.task, kind, PART, own)
    found = attack(weights, questions, own)
    given = last_logits(weights, found.tokens).argmax(1)
    return [
        {
            "kind": kind,
            "question": PART * part + place,
            "problem": str(Problem.from_tokens(tokens, weights.task)),
            "tokens": " ".join(map(str, tokens.tolist())),
            "answer": answer.item(),
            "margin": round(margin.item(), 6),
            "tried": tried.item(),
        }
        for place, (tokens, margin, tried, answer) in enumerate(zip(found.tokens, found.margins, found.tried.sum(0), given))
    ]


def attack_run(
    name: str | Path,
    file: str | Path,
    kinds: Sequence[str] = KINDS,
    questions: int = 128,
    seed: int = 0,
    step: int | None = None,
    jobs: int | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """The worst problems found for so many questions of each kind; their table is written into a file after every part.

    It has a row for each question: `COLUMNS`.  What the file holds of the same run, step and seed is not searched again.
    ValueError for bad settings, and where the file holds anything else; OSError where it cannot be written.
    """
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise ValueError(f"there is no kind {unknown[0]}; the kinds are {', '.join(KINDS)}")
    for what, value, most in (("questions", questions, MOST), ("jobs", 1 if jobs is None else jobs, 1024)):
        if not 1 <= value <= most:
            raise ValueError(f"{what} must be at least 1 and at most {most}, not {value}")
    if not 0 <= seed < 2**31:
        raise ValueError(f"seed must be from 0 to {2**31 - 1}, not {seed}")
    run, file = opened(name), Path(file)
    if file.is_dir():
        raise ValueError(f"{file} is a folder; what is found goes into a file")
    weights, kinds = run.weights(step), list(dict.fromkeys(kinds))
    layouts(weights.task)
    same = {"run": run.name, "step": run.steps[-1] if step is None else step, "seed": seed}
    with lock_file(file):
        check_writable(file.parent)
        remove_unfinished(file.parent, file.name)
        table = _read(file, same)
        parts = {f"{kind} {part}": (kind, part) for kind in kinds for part in range(-(-questions // PART))}
        done = {f"{kind} {question // PART}" for kind, question in zip(table["kind"], table["question"])}
        work = {key: partial(attack_part, weights, kind, seed, part) for key, (kind, part) in parts.items() if key not in done}
        with progress_bar("attack", len(parts), len(parts) - len(work), progress) as bar:
            for _, rows in here(work, jobs) if work else ():
                table = pd.concat([table, pd.DataFrame([same | row for row in rows])]).sort_values(["kind", "question"])
                write_atomic(file, table.to_csv(index=False, lineterminator="\n"))
                bar.update()
                bar.set_postfix(broken=int((table["margin"] < 0).sum()), least=f"{table['margin'].min():.2f}")
        table = _read(file, same)
    return table[table["kind"].isin(kinds) & (table["question"] < questions)].reset_index(drop=True)


def _read(file: Path, same: dict) -> pd.DataFrame:
    """What an earlier search of the same run, step and seed left in a file; ValueError where it holds anything else."""
    if not file.exists():
        return pd.DataFrame(columns=COLUMNS)
    try:
        table = pd.read_csv(file, dtype={"run": str})
    except (ValueError, UnicodeDecodeError):
        table = pd.DataFrame()
    if list(table) != COLUMNS:
        raise ValueError(f"{file} holds something else than what an attack found; choose another file")
    for name, value in same.items():
        if others := set(table[name]) - {value}:
            raise ValueError(f"{file} holds what was found with {name} {others.pop()}, not {value}; choose another file")
    return table
