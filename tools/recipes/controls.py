"""Chapter 18: controls of what the attack finds: pairs held out, no context, no repeated number, copies struck or counted, and
blind search from where it starts."""

from collections.abc import Callable
from functools import partial

import pandas as pd
import torch
from torch import Tensor

from assign_add_lib import Weights, load_run
from assign_add_lib.analysis.interventions import pattern_of, put
from assign_add_lib.engine.manifest import shipped_file
from assign_add_lib.model import Alter, run
from assign_add_lib.proof import attack as at
from assign_add_lib.proof.attack import Contexts, Questions
from assign_add_lib.task import KINDS, STUDY, Split
from assign_add_lib.training import shipped_runs

from .attacked import SEED, SIZE, STARTS, blind, repeated
from .recipe import ROOT, Files, once, text_of

FOLDER = ROOT / "runs/controls"
FEW, DRAWS, PLACES = 32, 5, 4
READ = "blocks.1.attn.hook_v"  # what layer 2 can read at each position


def problems(name: str, kind: str) -> tuple[Questions, Tensor, Tensor]:
    """The questions of a run and kind, the worst problem found of each (batch, length), and its margin."""
    rows = pd.read_csv(shipped_file("proof/found.csv.bz2")).query("run == @name and kind == @kind")
    tokens = torch.tensor([[*map(int, row.split())] for row in rows["tokens"]])
    return at.draw_questions(STUDY, kind, SIZE, SEED), tokens, torch.tensor([*rows["margin"]])


def by_pair(split: Split, numbers: Tensor, wrong: Tensor) -> dict[str, int]:
    """How many pairs of numbers (batch, 2) were in training, held out, doubles; and for how many of them it is wrong."""
    held_out = split.held_out_pairs[numbers[:, 0], numbers[:, 1]]
    parts = {"training": ~held_out, "held-out": held_out, "double": numbers[:, 0] == numbers[:, 1]}
    counts = {part: int(there.sum()) for part, there in parts.items()}
    return counts | {f"{part} broken": int((there & wrong).sum()) for part, there in parts.items()}


def sums_alone(weights: Weights, split: Split) -> dict[str, int]:
    """How many of all plain sums without any assignment are wrong, of held-out pairs, and of doubles."""
    task = weights.task
    pairs = torch.cartesian_prod(*[torch.arange(task.n_numbers)] * 2)
    tokens = torch.full((len(pairs), task.length), task.pad)
    tokens[:, [task.room, task.last]] = torch.tensor([task.plus, task.equal])
    tokens[:, task.left : task.last] = pairs
    found = by_pair(split, pairs, at.margin_of(weights, tokens, task.right_answers(tokens)) < 0)
    return {f"alone {part} wrong": found[f"{part} broken"] for part in ("training", "held-out", "double")}


def without_context(tokens: Tensor) -> Tensor:
    """The same problems with a PAD for every name and number that is not asked for."""
    free, *_ = repeated(STUDY, tokens)
    return tokens.masked_fill(free | free.roll(-1, 1), STUDY.pad)


def searched(weights: Weights, questions: Questions, margins: Tensor) -> dict[str, float]:
    """What searches break of the first few questions that never set many numbers at once, or no number twice."""
    few = torch.arange(FEW)
    found = at.attack(weights, questions.at(few), starts=STARTS, together=False)
    varied = at.attack(weights, questions.at(few), starts=STARTS, different=True).margins
    wrong = found.margins < 0
    free, _, copies = repeated(weights.task, found.tokens[wrong])
    share = copies.sum(1) / free.sum(1)
    return {
        "broken of few": (margins[few] < 0).double().mean().item(),
        "broken one by one": wrong.double().mean().item(),
        "repeated one by one": (share >= 0.5).double().mean().item(),
        "copies one by one": share.mean().item(),
        "lead of few": margins[few].mean().item(),
        "lead one by one": found.margins.mean().item(),
        "broken by different": (varied < 0).double().mean().item(),
    }


def struck(keys: Tensor, shared_out: bool = False) -> Alter:
    """Let `=` read nothing from these keys (batch, key) in layer 2, or a share less; with `shared_out` the others get it."""

    def act(pattern: Tensor) -> Tensor:
        left = pattern * (1 - keys.to(pattern)[:, None, None])
        return left / left.sum(-1, keepdim=True) if shared_out else left

    return {pattern_of(2): act}


def intervened(weights: Weights, tokens: Tensor, answers: Tensor) -> dict[str, float]:
    """How many problems come right, and their mean lead, when `=` does not read the repeated number, and in controls.

    They strike as many random other keys that are not asked for, take as much attention from the copies as that does, and let
    the copies be read as the mean of all numbers.
    """
    task, generator = weights.task, torch.Generator().manual_seed(SEED)
    _, _, copies = repeated(task, tokens)
    asked = (tokens[:, None] == tokens[:, task.left : task.last, None]).any(1) & (tokens >= task.first_variable)
    unasked = ~asked.scatter(1, task.value_positions(tokens), True) & (torch.arange(task.length) < task.room)
    others = of_these(unasked & ~copies, copies.sum(1), generator)
    pattern = run(weights, tokens).attention(2)[:, -1]
    read = {name: (pattern * keys).sum(1, keepdim=True) for name, keys in {"copies": copies, "others": others}.items()}
    average = sum(run(weights, torch.where(copies, n, tokens), keep=READ)[READ] for n in range(task.n_numbers))
    ways = {
        "as found": {},
        "copies struck": struck(copies),
        "copies shared out": struck(copies, shared_out=True),
        "others struck": struck(others),
        "as much of copies": struck(copies * (read["others"] / read["copies"]).clamp(max=1)),
        "average number": put(READ, copies, average / task.n_numbers),
    }
    leads = {way: at.margins(run(weights, tokens, alter).logits, answers) for way, alter in ways.items()}
    row = {f"read of {name}": each.mean().item() for name, each in read.items()}
    row |= {f"right, {way}": (lead > 0).double().mean().item() for way, lead in leads.items() if ways[way]}
    return row | {f"lead, {way}": lead.mean().item() for way, lead in leads.items()}


def of_these(where: Tensor, many: Tensor | int, generator: torch.Generator) -> Tensor:
    """So many (batch,) of the marked positions (batch, length), at random."""
    rank = torch.rand(where.shape, generator=generator).masked_fill(~where, 2).argsort(1).argsort(1)
    return where & (rank < torch.as_tensor(many).view(-1, 1))


def dose(weights: Weights, tokens: Tensor, answers: Tensor) -> dict[str, float]:
    """The mean lead where the repeated number stands in 0, 1, ... places that are not asked for, and random ones in the rest.

    Of problems with at least `PLACES` such places, and as many as copies; the places are drawn at random.
    """
    task, generator = weights.task, torch.Generator().manual_seed(SEED)
    free, number, _ = repeated(task, tokens)
    row = {"dosed": int((free.sum(1) >= PLACES).sum())}
    for copies in range(task.slots + 1):
        rows, leads = free.sum(1) >= max(copies, PLACES), []
        for _ in range(DRAWS):
            other = (number[:, None] + torch.randint(1, task.n_numbers, tokens.shape, generator=generator)) % task.n_numbers
            put_in = torch.where(of_these(free, copies, generator), number[:, None], other)
            leads.append(at.margin_of(weights, torch.where(free, put_in, tokens)[rows], answers[rows]))
        row[f"lead_{copies}"] = torch.stack(leads).mean().item()
    return row


def first_start(weights: Weights, questions: Questions) -> Contexts:
    """The contexts from which the attack's first start goes: letters in the order of their scores."""
    order = at.names_by_score(weights, questions)
    return at.draw_contexts(weights.task, questions, torch.Generator().manual_seed(0), order)


def first_move(weights: Weights, questions: Questions, start: Contexts) -> Contexts:
    """Contexts after the attack's first move: one number in all free places, the worst, if it is worse than what was there."""
    task, rows = weights.task, torch.arange(len(questions.asked))
    answers, found = questions.numbers.sum(1) % task.n_numbers, [start]
    moves, _ = at.neighbours(task, start, questions, 0)
    found += [moves.at(rows, torch.full_like(rows, number)) for number in range(task.n_numbers)]
    leads = torch.stack([at.margin_of(weights, at.tokens_of(task, each, questions), answers) for each in found])
    return start._replace(values=torch.stack([each.values for each in found])[leads.argmin(0), rows])


@torch.inference_mode()
def begun(name: str, kind: str) -> dict:
    """What blind search breaks of the first few questions from random contexts, and from the attack's letters and first move.

    With as many problems as the attack tries from its first start.
    """
    weights, questions = load_run(name).weights(), at.draw_questions(STUDY, kind, SIZE, SEED).at(torch.arange(FEW))
    found = at.attack(weights, questions, starts=1)
    anywhere = at.draw_contexts(STUDY, questions, torch.Generator().manual_seed(SEED))
    letters = first_start(weights, questions)
    starts = {"of few": anywhere, "from letters": letters, "from move": first_move(weights, questions, anywhere)}
    starts["from letters and move"] = first_move(weights, questions, letters)
    together = Contexts(*map(torch.cat, zip(*starts.values())))
    many = questions.at(torch.arange(FEW).repeat(len(starts)))
    margins = blind(weights, many, int(found.tried.double().mean().ceil()), start=together).view(-1, FEW)
    ways = {"one start of few": found.margins} | {f"blind {way}": each for way, each in zip(starts, margins)}
    return {"run": name, "kind": kind} | {way: (each < 0).double().mean().item() for way, each in ways.items()}


@torch.inference_mode()
def controlled(name: str, kind: str) -> dict:
    """A row of the table."""
    trained = load_run(name)
    weights, (questions, tokens, margins) = trained.weights(), problems(name, kind)
    wrong = margins < 0
    answers = STUDY.right_answers(tokens[wrong])
    alone = at.margin_of(weights, without_context(tokens[wrong]), answers)
    row = {"run": name, "kind": kind} | by_pair(trained.split, questions.numbers, wrong)
    row |= sums_alone(weights, trained.split) if kind == KINDS[0] else {}
    row |= {"right alone": int((alone > 0).sum()), "lead alone": alone.mean().item()}
    row |= searched(weights, questions, margins) | intervened(weights, tokens[wrong], answers)
    return row | dose(weights, tokens[wrong], answers)


def of_kinds(make: Callable[[str, str], dict], name: str) -> pd.DataFrame:
    """Some columns of the rows of a run."""
    return pd.DataFrame([make(name, kind) for kind in KINDS])


def table() -> Files:
    """Ten runs, all kinds."""
    first, more = (
        pd.concat(once(FOLDER / f"{name}-{make.__name__}.csv", partial(of_kinds, make, name)) for name in shipped_runs())
        for make in (controlled, begun)
    )
    return {"data/proof/controls.csv": text_of(first.merge(more))}
