"""Chapter 18: what an attack finds for each run and kind, beside blind search and random contexts, and what it has in common."""

import bz2
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from assign_add_lib import Weights, handmade, load_run
from assign_add_lib.circuits import OV, last_reading
from assign_add_lib.proof import attack as at
from assign_add_lib.proof.attack import Contexts, Questions
from assign_add_lib.sampling import lay_out
from assign_add_lib.task import KINDS, Task
from assign_add_lib.training import shipped_runs

from .recipe import ROOT, Files, once, text_of

FOLDER = ROOT / "runs/attacked"
SEED, SIZE, CONTEXTS, STARTS = 38, 128, 500, 2


def networks() -> dict[str, Weights]:
    """The ten runs and the network written by hand."""
    return {name: load_run(name).weights() for name in shipped_runs()} | {"by hand": handmade.weights()}


def blind(weights: Weights, questions: Questions, tries: int, seed: int = SEED, start: Contexts | None = None) -> Tensor:
    """The margins (batch,) after so many tries of blind mutation: a random neighbour in a random respect, kept where worse.

    From random contexts, or from these.
    """
    task, generator, rows = weights.task, torch.Generator().manual_seed(seed), torch.arange(len(questions.asked))
    answers = questions.numbers.sum(1) % task.n_numbers
    here = start or at.draw_contexts(task, questions, generator)
    margins = at.margin_of(weights, at.tokens_of(task, here, questions), answers)
    respects = [*range(1, task.slots + 1), *range(1, task.slots + 1), *[task.slots + 1, task.slots + 2] * (task.slots // 2)]
    for _ in range(tries - 1):
        respect = respects[int(torch.randint(len(respects), (), generator=generator))]
        found, exist = at.neighbours(task, here, questions, respect)
        one = torch.rand(exist.shape, generator=generator).masked_fill(~exist, -1).argmax(1)
        tried = found.at(rows, one)
        new = at.margin_of(weights, at.tokens_of(task, tried, questions), answers)
        worse = exist[rows, one] & (new < margins)
        here = Contexts(*(torch.where(worse.view(-1, *[1] * (old.dim() - 1)), each, old) for each, old in zip(tried, here)))
        margins = torch.where(worse, new, margins)
    return margins


def at_random(weights: Weights, questions: Questions, many: int = CONTEXTS, seed: int = SEED) -> Tensor:
    """The margins (many, batch) of random contexts."""
    generator = torch.Generator().manual_seed(seed)
    return torch.stack([at.margin_of(weights, *lay_out(weights.task, *questions, generator)) for _ in range(many)])


def context_share(weights: Weights, questions: Questions) -> float:
    """The share of layer 2's attention at `=` that goes to what is not asked for, in random contexts."""
    tokens = lay_out(weights.task, *questions, torch.Generator().manual_seed(SEED)).tokens
    wanted = torch.ones_like(tokens).index_fill(1, torch.arange(weights.task.room, weights.task.length), 0)
    wanted = wanted.scatter(1, weights.task.value_positions(tokens), 0)
    return (last_reading(weights, tokens)[1] * wanted).sum(1).mean().item()


def repeated(task: Task, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where numbers stand that are not asked for, (batch, length); which of them is the commonest, and where it stands."""
    free = task.assigned_numbers(tokens).scatter(1, task.value_positions(tokens), False)
    number = torch.stack([((tokens == m) & free).sum(1) for m in range(task.n_numbers)], 1).argmax(1)
    return free, number, free & (tokens == number[:, None])


def shared(weights: Weights, questions: Questions, tokens: Tensor) -> dict[str, float]:
    """What the problems (batch, length) of a network's broken questions have in common, means over them."""
    task, N, generator = weights.task, weights.task.n_numbers, torch.Generator().manual_seed(SEED)
    values, answers = task.value_positions(tokens), questions.numbers.sum(1) % N
    free, number, copies = repeated(task, tokens)
    drawn = torch.randint(N, tokens.shape, generator=generator)
    kept = torch.zeros_like(free).scatter(1, (torch.rand(free.shape, generator=generator) * copies).argmax(1, keepdim=True), True)
    other = (number + torch.randint(1, N, number.shape, generator=generator)) % N
    names = (tokens.roll(1, 1) - task.first_variable).clamp(min=0)  # of the number at each position
    rank = at.names_by_score(weights, questions).argsort(1)
    unasked = (torch.arange(task.n_variables) != questions.asked[:, :1]) & (
        torch.arange(task.n_variables) != questions.asked[:, 1:]
    )
    anew = torch.rand(unasked.shape, generator=generator).masked_fill(~unasked, 2).argsort(1)  # names in a new order
    renamed = tokens.clone()
    renamed[:, :-1] = torch.where(
        free[:, 1:], task.first_variable + anew.gather(1, free.cumsum(1).sub(1).clamp(min=0))[:, 1:], renamed[:, :-1]
    )
    read = weights.W_E[:N] @ OV(weights, 2) @ weights.W_in
    read = torch.nn.functional.normalize(read - read.mean(0), dim=1)
    alike = (read @ read.T)[questions.numbers].amax(1)  # (batch, N) to the nearer operand
    logits = at.last_logits(weights, tokens).scatter(1, answers[:, None], -torch.inf)
    taken = (logits.argmax(1)[:, None] == (questions.numbers + number[:, None]) % N).any(1)
    variables = values < task.room

    def broken(changed: Tensor) -> float:
        return (at.margin_of(weights, changed, answers) < 0).double().mean().item()

    def mean(of: Tensor) -> float:
        return of.double().mean().item()

    return {
        "repeated in half": mean(2 * copies.sum(1) >= free.sum(1)),
        "broken with one copy": broken(torch.where(free & ~kept, drawn, tokens)),
        "broken with another number": broken(torch.where(copies, other[:, None], tokens)),
        "broken with other names": broken(renamed),
        "rank of names": mean((rank.gather(1, names) * free).sum(1) / free.sum(1) - (rank * unasked).sum(1) / unasked.sum(1)),
        "numbers less alike": mean((alike < alike.gather(1, number[:, None])).double().sum(1) / (N - 1)),
        "answer takes it": mean(taken),
        "place of asked": mean((values[variables] + 1) / 2) if variables.any() else float("nan"),
    }


@torch.inference_mode()
def attacked(name: str, weights: Weights, kind: str, size: int = SIZE) -> tuple[dict, pd.DataFrame]:
    """A row of the table, and the problems found."""
    questions = at.draw_questions(weights.task, kind, size, SEED)
    random, found = at_random(weights, questions), at.attack(weights, questions, starts=STARTS)
    tries = int(found.tried[0].double().mean().ceil())
    blindly, wrong = blind(weights, questions, tries), found.margins < 0

    def share(of: Tensor) -> float:
        return (of < 0).double().mean().item()

    row = {
        "run": name,
        "kind": kind,
        "random": share(random),
        "tries": tries,
        "blind": share(blindly),
        "one start": share(found.by_start[0]),
    }
    row |= {"problems": found.tried.sum(0).double().mean().item(), "found": share(found.margins)}
    row |= {"least random": random.min().item(), "least": found.margins.min().item(), "mean": found.margins.mean().item()}
    row |= {"context": context_share(weights, questions), "broken": int(wrong.sum())}
    if wrong.any():
        row["none of 500 wrong"] = (random[:, wrong] >= 0).all(0).double().mean().item()
        row["as bad"] = int((random <= found.margins).sum())
        row |= shared(weights, Questions(*(each[wrong] for each in questions)), found.tokens[wrong])
    ids = [" ".join(map(str, each)) for each in found.tokens.tolist()]
    return row, pd.DataFrame({"run": name, "kind": kind, "tokens": ids, "margin": found.margins.round(decimals=3)})


def table(folder: Path = FOLDER) -> Files:
    """Ten runs and the network written by hand, all kinds; and the worst problem found of every question."""
    rows, problems = [], []
    for name, weights in networks().items():
        for kind in KINDS:
            files = [folder / f"{name} {kind} {each}.csv".replace(" ", "-") for each in ("row", "problems")]
            if not all(each.exists() for each in files):
                row, found = attacked(name, weights, kind)
                once(files[1], lambda found=found: found)
                once(files[0], lambda row=row: pd.DataFrame([row]))
            rows.append(pd.read_csv(files[0]))
            problems.append(pd.read_csv(files[1]))
    made = {"data/proof/attacked.csv": text_of(pd.concat(rows))}
    return made | {"data/proof/found.csv.bz2": bz2.compress(text_of(pd.concat(problems), digits=None).encode())}
