"""What Evidence 13 measures often enough to ship, in data/theory: many starts, batches, embeddings, and the measured start."""

import math
from collections.abc import Sequence

import pandas as pd
import torch
from torch import Tensor

from ..engine.manifest import shipped_file
from ..task import STUDY
from .closed import exact
from .embeddings import follow_with, gram, step_with
from .forward import attention, content, convolve, key_scores, ranks_first
from .population import draw, every_sequence, outcome
from .setting import Setting, coordinates
from .steps import follow, named_entries, step_on_batch

TABLES = ("steps", "batches", "embeddings", "starts", "beside", "further")


def load_table(name: str) -> pd.DataFrame:
    """A shipped table of chapter 13, one of `TABLES`; a row for each measurement."""
    return pd.read_csv(shipped_file(f"theory/{name}.csv"))


def fresh_problems(size: int, seed: int = 13) -> dict[str, Tensor]:
    """Problems (size, length) with six assignments, by kind; all pairs of numbers may occur."""
    generator = torch.Generator().manual_seed(seed)
    return {f"{k}-var": draw(Setting(assignments=6), k, size, generator) for k in (0, 1, 2)}


def accuracies(W: Tensor, problems: dict[str, Tensor]) -> dict[str, float]:
    """The share of right answers under W (D, D), by kind of problem."""
    six = Setting(assignments=6)
    return {kind: outcome(six, W, tokens).double().mean().item() for kind, tokens in problems.items()}


def outcomes(setting: Setting, h: float, problems: dict[str, Tensor]) -> tuple[dict[str, float], dict[str, float]]:
    """After h times the theorem's step, by kind of problem: accuracy, and mean attention on the two wanted numbers."""
    W, mass = setting.initial() + h * setting.step_size * exact(setting), {}
    for kind, tokens in problems.items():
        wanted = attention(STUDY, W, tokens).gather(1, STUDY.value_positions(tokens))
        mass[kind] = wanted.sum(1).mean().item()
    return accuracies(W, problems), mass


def along(setting: Setting, lengths: Sequence[float], tokens: Tensor) -> list[float]:
    """The share of problems (batch, length) that are right after the theorem's step, at each of some multiples of it."""
    scores, added = scores_along(setting, tokens)
    task, right = setting.task, setting.task.right_answers(tokens)
    found = (convolve(content(task, (scores + h * added).softmax(1), tokens)).argmax(1) for h in lengths)
    return [(each == right).double().mean().item() for each in found]


def scores_along(setting: Setting, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """The scores (batch, pos) that every position has for `=` before the theorem's step, and what the step adds to each."""
    return tuple(key_scores(setting.task, W, tokens) for W in (setting.initial(), setting.step_size * exact(setting)))


def ranked(W: Tensor, tokens: Tensor) -> float:
    """The share of problems (batch, length) in which every asked number has the highest score of all assigned numbers."""
    return ranks_first(STUDY, W, tokens).double().mean().item()


def steps_rows(lam: float, size: float, problems: dict[str, Tensor]) -> list[dict]:
    """Training with one and with two assignments from the start, for 14 and 10 units of length, in steps of `size`."""
    rows = []
    for K, length in ((1, 14), (2, 10)):
        setting = Setting(lam=lam, gamma=1e-6, assignments=K)
        W = follow([(setting, round(length / size))], size, every=10_000)[-1]
        rows.append(dict(start="none", lam=lam, size=size, assignments=K, asked=1) | end_state(W, problems))
    return rows


def end_state(W: Tensor, problems: dict[str, Tensor]) -> dict[str, float]:
    """`accuracies` under W (D, D), and its `named_entries`."""
    return accuracies(W, problems) | named_entries(STUDY, W)


def continued_rows(lam: float, problems: dict[str, Tensor], size: float = 0.1) -> list[dict]:
    """60 steps with one assignment, and from there 50 with other numbers of assignments, of which one or two are asked for."""
    first = follow([(Setting(lam=lam, gamma=1e-6), 60)], size, every=10_000)[-1]
    rows = [dict(start="one", lam=lam, size=size, assignments=0, asked=0) | end_state(first, problems)]
    for K, asked in ((1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (4, 2)):
        setting = Setting(lam=lam, gamma=1e-6, assignments=K)
        W = follow([(setting, 50)], size, every=10_000, start=first, asked=asked)[-1]
        rows.append(dict(start="one", lam=lam, size=size, assignments=K, asked=asked) | end_state(W, problems))
    return rows


def batch_row(lam: float, size: int, seed: int, problems: dict[str, Tensor], struck: bool = False) -> dict:
    """What one step on a batch of so many problems ranks, and the diagonal of its block S."""
    setting, S = Setting(lam=lam, gamma=1e-9), coordinates(STUDY)["moved variable"]
    step = step_on_batch(setting, draw(setting, 1, size, torch.Generator().manual_seed(seed)), struck)
    own = step[S, S].diag()
    first = ranked(setting.initial() + step, problems["1-var"])
    return dict(lam=lam, size=size, struck=struck, draw=seed, ranked=first, S=own.mean().item(), sd=own.std().item())


def critical_batch(lam: float) -> float:
    """B0 = (V e^lambda / N)^2, the batch at which the large vote's noise in a score is of the order of the memory."""
    return (STUDY.n_variables * math.exp(lam) / STUDY.n_numbers) ** 2


def rough_sequences() -> tuple[Tensor, Tensor]:
    """One-variable sequences with every x and four of the y, and the same weight for each."""
    tokens, _ = every_sequence(Setting(lam=4.0, gamma=1e-9))
    y = torch.where(tokens[:, 13:15] < STUDY.n_numbers, tokens[:, 13:15], 0).sum(1)
    tokens = tokens[y % 15 == 7]
    return tokens, torch.full((len(tokens),), 1 / len(tokens), dtype=torch.float64)


def one_step_row(width: int, seed: int, problems: dict[str, Tensor]) -> dict:
    """What the theorem's step ranks with random embeddings, and how many names score themselves highest."""
    setting, S = Setting(lam=4.0, gamma=1e-9), coordinates(STUDY)["moved variable"]
    inner = gram(STUDY, width, torch.Generator().manual_seed(seed))
    W = step_with(setting, inner, *rough_sequences())
    change = (W - inner @ setting.initial() @ inner)[S, S]
    own = (change.argmax(1) == torch.arange(len(change))).double().mean().item()
    return dict(width=width, draw=seed, assignments=1, steps=1, size=0, ranked=ranked(W, problems["1-var"]), own=own)


def many_steps_row(
    width: int, seed: int, assignments: int, problems: dict[str, Tensor], steps: int = 200, size: float = 0.1,
    batch: int = 512,
) -> dict:  # fmt: skip
    """The same after many steps of length `size`, each on a fresh batch; a width of 0 stands for orthonormal embeddings."""
    setting = Setting(lam=4.0, gamma=1e-6, assignments=assignments)
    inner = gram(STUDY, width, torch.Generator().manual_seed(seed)) if width else torch.eye(161, dtype=torch.float64)
    W = follow_with(setting, inner, steps, torch.Generator().manual_seed(9 + seed), batch, size)
    row = dict(width=width, draw=seed, assignments=assignments, steps=steps, size=size, batch=batch)
    return row | {"ranked": ranked(W, problems["1-var"])} | accuracies(W, problems)
