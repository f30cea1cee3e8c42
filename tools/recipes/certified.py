"""Chapter 18: how far bounds reach that use more and more of the mechanism, and what is proved of plain sums."""

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from assign_add_lib import Task, Weights, handmade, load_run
from assign_add_lib.analysis.fourier import key_frequencies, number_table
from assign_add_lib.engine.manifest import shipped_file
from assign_add_lib.proof import attack as at
from assign_add_lib.proof.attack import Questions
from assign_add_lib.proof.bounds import Question, Tables, margins, neurons
from assign_add_lib.proof.certificate import Pair, certify_run, order_of, prove, question_of, sample, written
from assign_add_lib.proof.checker import BOXES, boxes
from assign_add_lib.proof.contexts import Layout, layouts, problems
from assign_add_lib.proof.everywhere import NUMBER, Shares, leads, least_lead, shares
from assign_add_lib.proof.repair import sharpened
from assign_add_lib.task import KINDS
from assign_add_lib.training import shipped_runs

from .recipe import ROOT, Files, once, text_of

FOLDER = ROOT / "runs/certified"
SEED = 41  # of the layouts
PAIRS, MOST = 24, 2  # plain sums of a run that are certified, and up to how many assignments
BOXED = [
    ((5,), False),
    ((3, 7), False),
    ((0, 2, 4), True),
    ((0, 2, 4, 6), True),
]  # where assignments start, and whether only crowds are tried
FACTORS = (1.25, 2, 3)  # of layer 2's scores
SHARPEN, SHARP_PAIRS = (1.5, 1.5), 12
FEW = (1, 11, 6, 3, 1, 2, 1)  # layouts of 0, 1, ... assignments that the ladder looks at


def below(bound: float) -> float:
    """A bound as a table has it, rounded down."""
    bound = written(bound)
    return -math.inf if bound is None else bound


def network(name: str) -> Weights:
    """A run's weights, or those written by hand."""
    return handmade.weights() if name == "by hand" else load_run(name).weights()


def plain(task: Task, pairs: Sequence[Pair]) -> Questions:
    """Plain sums as an attack asks for them."""
    return Questions(torch.full((len(pairs), 2), task.n_variables), torch.tensor(pairs))


def in_layout(tables: Tables, starts: Layout, order: Sequence[int], cut: int, pairs: Sequence[Pair]) -> np.ndarray:
    """The least leads (pair) of plain sums in a layout, over all its boxes, whether or not one proves nothing."""
    found = np.full(len(pairs), np.inf)
    for box in boxes(tables.task, starts, order, cut):
        ready = neurons(tables, box)
        for index, (left, right) in enumerate(pairs):
            lead = margins(Question.of(tables, box, left, right), (left + right) % tables.task.n_numbers, ready).min()
            found[index] = min(found[index], lead)
    return found


def some_layouts(task: Task, few: Sequence[int] = FEW) -> list[list[Layout]]:
    """So many layouts of 0, 1, ... assignments, drawn at random."""
    rng, all_ = np.random.default_rng(SEED), list(layouts(task))
    by_size = [[starts for starts in all_ if len(starts) == n] for n in range(len(few))]
    return [sorted(these[place] for place in rng.permutation(len(these))[:n]) for these, n in zip(by_size, few)]


def rungs(tables: Tables, pairs: Sequence[Pair], few: Sequence[int] = FEW) -> Iterator[dict]:
    """The rungs of the ladder: what each proves of plain sums (`leads`) in contexts of at most so many assignments, in seconds.

    Of sums over choices the seconds are those of all layouts, by what the ones that are looked at take.
    """
    task, order, whole = tables.task, order_of(tables), len(list(layouts(tables.task)))
    for rung in ("anything", "tables"):
        start = time.process_time()
        found = leads(tables, Shares.any() if rung == "anything" else shares(tables, NUMBER, NUMBER), pairs)
        seconds = time.process_time() - start
        yield {"rung": rung, "most": task.slots, "layouts": whole, "of": whole, "leads": found, "seconds": seconds}
    for cut, rung in ((1, "sums"), (2, "sums, cut in 2"), (4, "sums, cut in 4")):
        least, seen, of, seconds = np.full(len(pairs), np.inf), 0, 0, 0.0
        for n, some in enumerate(some_layouts(task, few)):
            if cut**n > BOXES or cut > task.n_numbers:
                break
            many, start = len(list(layouts(task, n))) - of, time.process_time()
            for starts in some:
                least = np.minimum(least, in_layout(tables, starts, order, cut, pairs))
            seconds += (time.process_time() - start) * many / len(some)
            seen, of = seen + len(some), of + many
            if n or cut == 1:
                yield {"rung": rung, "most": n, "layouts": seen, "of": of, "leads": least, "seconds": seconds}


def climbed(name: str, pairs: Sequence[Pair], few: Sequence[int] = FEW) -> pd.DataFrame:
    """The rows of a network: a row for each rung, most assignments and plain sum."""
    weights, rows, first = network(name), [], None
    with torch.inference_mode():
        found = at.attack(weights, plain(weights.task, pairs), starts=2).margins.tolist()
    for rung in rungs(Tables(weights), pairs, few):
        first = first or rung["seconds"]
        for (left, right), lead, worst in zip(pairs, rung["leads"], found):
            row = {"run": name, "left": left, "right": right} | {each: rung[each] for each in ("rung", "most", "layouts", "of")}
            row |= {"lead": below(lead), "cost": float(f"{rung['seconds'] / first:.0e}")}
            rows.append(row | {"found": round(worst, 3) if rung["most"] == weights.task.slots else math.nan})
    return pd.DataFrame(rows)


def ladder(folder: Path = FOLDER) -> Files:
    """Four plain sums in the network by hand and two runs, by bounds that use more and more of the mechanism."""
    rows = []
    for name in ("by hand", "seed-42", "seed-8"):
        pairs = sample(network(name).task, 4)  # 21+22 comes first
        rows.append(once(folder / f"ladder-{name.replace(' ', '-')}.csv", lambda name=name, pairs=pairs: climbed(name, pairs)))
    return {"data/proof/ladder.csv": text_of(pd.concat(rows), digits=None)}


def by_hand() -> Files:
    """The least lead of the network written by hand over all problems of each kind, and the shares that layer 2 reads there."""
    weights, rows = handmade.weights(), []
    for kind in KINDS:
        found, read = least_lead(Tables(weights), [kind])
        row = {"kind": kind, "problems": problems(weights.task, kind), "lead": below(found.min())}
        row |= {f"few {side}": math.floor(1e9 * each) / 1e9 for side, each in zip(("left", "right"), read.few)}
        row |= {f"many {side}": math.ceil(1e9 * each) / 1e9 for side, each in zip(("left", "right"), read.many)}
        rows.append(row | {"others": math.ceil(1e9 * read.others) / 1e9})
    return {"data/proof/by-hand.csv": text_of(pd.DataFrame(rows), digits=None)}


def sized(task: Task, n: int) -> list[Layout]:
    """All layouts of just so many assignments."""
    return [starts for starts in layouts(task, n) if len(starts) == n]


def written_out(task: Task, asked: Mapping[int, int], where: Iterable[Layout]) -> Tensor:
    """All contexts (context, room) of layouts that assign these numbers to these variables, and at most one other beside them."""
    free = [variable for variable in range(task.n_variables) if variable not in asked]
    other, found = torch.cartesian_prod(torch.tensor(free), torch.arange(task.n_numbers)), []
    for starts in where:
        some = other if len(starts) > len(asked) else other[:1]
        for order in permutations(starts):
            context = torch.full((len(some), task.room), task.pad)
            for start, each in zip(order, [*(torch.tensor(each).expand(len(some), 2) for each in asked.items()), some]):
                context[:, start], context[:, start + 1] = task.first_variable + each[:, 0], each[:, 1]
            found.append(context)
    return torch.cat(found)


def tried(weights: Weights, contexts: Tensor, operands: Pair, answer: int) -> Tensor:
    """The leads (context,) of an answer beside all these contexts."""
    task = weights.task
    asked = torch.tensor([task.plus, *operands, task.equal]).expand(len(contexts), -1)
    return at.margin_of(weights, torch.cat([contexts, asked], 1), torch.full((len(contexts),), answer))


def worst_of_two(weights: Weights, pair: Pair, first: Tensor) -> Tensor:
    """The worst context (room,) found for a plain sum beside two assignments: each in turn is chosen anew, and both places.

    It starts from a context with one.
    """
    task, answer = weights.task, sum(pair) % weights.task.n_numbers
    worst, least, one = first, math.inf, {}
    while True:
        places = (worst >= task.first_variable).nonzero()[:, 0]
        named = {int(worst[place]) - task.first_variable: int(worst[place + 1]) for place in places}
        one = {variable: number for variable, number in named.items() if variable not in one}
        found = tried(weights, contexts := written_out(task, one, sized(task, 2)), pair, answer)
        if not found.min() < least:
            return worst
        least, worst = found.min(), contexts[found.argmin()]


@torch.inference_mode()
def compared(name: str, folder: Path = FOLDER) -> pd.DataFrame:
    """The rows of a run: what its certificate proves of each plain sum, beside what is found by trying."""
    run = load_run(name)
    weights = run.weights()
    asked = certify_run(name, folder / f"{name}.json", PAIRS, MOST, progress=False)
    pairs, rows = [(each["left"], each["right"]) for each in asked], []
    found = at.attack(weights, plain(weights.task, pairs), starts=2).margins.tolist()
    contexts = written_out(weights.task, {}, layouts(weights.task, 1))
    double = weights.to(torch.float64)
    for pair, each, worst in zip(pairs, asked, found):
        leads = tried(double, contexts, pair, each["answer"])
        two = worst_of_two(weights, pair, contexts[1 + leads[1:].argmin()])
        beside_two = tried(double, two[None], pair, each["answer"]).item()
        row = {"run": name, "left": pair[0], "right": pair[1], "trained": bool(run.split.train_pairs[*pair])}
        row |= {"most": each["most"], "cut": sum(cut > 1 for cut in each["cut"]), "lead": min(each["bounds"], default=math.nan)}
        row |= {"exact one": round(leads.min().item(), 3), "found two": round(min(beside_two, leads.min().item()), 3)}
        rows.append(row | {"found": round(worst, 3)})
    return pd.DataFrame(rows)


def certified(*chosen: str, folder: Path = FOLDER) -> Files:
    """24 plain sums of ten runs, or of some and the rest as it stands; and the certificate of one run."""
    rows = {name: once(folder / f"certified-{name}.csv", lambda name=name: compared(name)) for name in chosen or shipped_runs()}
    if chosen:
        known = pd.read_csv(shipped_file("proof/certified.csv"))
        rows = {name: known[known["run"] == name] for name in shipped_runs()} | rows
    table = pd.concat([rows[name] for name in shipped_runs()])
    made = {"data/proof/certified.csv": text_of(table, digits=None)}
    return made | {"data/proof/seed-42.json": (folder / "seed-42.json").read_bytes()}


def sharp(folder: Path = FOLDER) -> Files:
    """The certificate of 12 plain sums in seed 42 with all scores times 1.5, beside any number of assignments."""
    file, task = folder / "sharp-42.json", load_run("seed-42").task
    certify_run("seed-42", file, SHARP_PAIRS, task.slots, SHARPEN, progress=False)
    return {"data/proof/sharp-42.json": file.read_bytes()}


def all_in(task: Task, starts: Layout, crowds: bool = False) -> Tensor:
    """All contexts (context, room) whose assignments start there, or all in which one number is repeated."""
    variables = torch.tensor([*permutations(range(task.n_variables), len(starts))])
    numbers = torch.arange(task.n_numbers)
    numbers = (
        numbers[:, None].expand(-1, len(starts))
        if crowds
        else torch.cartesian_prod(*[numbers] * len(starts)).view(-1, len(starts))
    )
    found = torch.full((len(variables), len(numbers), task.room), task.pad)
    for place, start in enumerate(starts):
        found[..., start] = task.first_variable + variables[:, None, place]
        found[..., start + 1] = numbers[None, :, place]
    return found.flatten(0, 1)


def boxed(pair: Pair = (21, 22), where: Sequence[tuple[Layout, bool]] = BOXED) -> Files:
    """The bounds of a plain sum in some boxes of seed 42, beside the least margin of all their problems, or of all crowds."""
    weights = load_run("seed-42").weights()
    rows = []
    for starts, crowds in where:
        each = all_in(weights.task, starts, crowds)
        row = {"starts": " ".join(map(str, starts)), "tried": len(each), "of": "crowds" if crowds else "all"}
        for factor in (1, *FACTORS):
            tables = Tables(sharpened(weights, (1, factor)))
            row[f"times {factor}"] = below(in_layout(tables, starts, order_of(tables), 1, [pair])[0])
        found = tried(weights.to(torch.float64), each, pair, sum(pair) % weights.task.n_numbers).min().item()
        rows.append(row | {"found": round(found, 3)})
    return {"data/proof/boxes.csv": text_of(pd.DataFrame(rows), digits=None)}


@torch.inference_mode()
def one_sum(pair: Pair = (21, 22)) -> Files:
    """What bounds that use more and more prove of a plain sum, by hand and in seed 42, beside the worst that is found."""
    rows = []
    for name in ("by hand", "seed-42"):
        weights = network(name)
        tables, answer = Tables(weights), sum(pair) % weights.task.n_numbers
        asked = prove(weights, list(layouts(weights.task, MOST)), MOST, [question_of("{}+{}".format(*pair), weights.task)])[0]
        row = {"run": name, "left": pair[0], "right": pair[1], "anything": below(leads(tables, Shares.any(), [pair])[0])}
        row |= {"tables": below(leads(tables, shares(tables, NUMBER, NUMBER), [pair])[0])}
        waves, perfect = key_frequencies(number_table(weights)), Shares((0.5, 0.5), (0.5, 0.5), 0.0)
        row |= {"waves": below(leads(tables, shares(tables, NUMBER, NUMBER), [pair], waves=waves)[0])}
        row |= {"perfect": below(leads(tables, perfect, [pair])[0])}
        row |= {"perfect waves": below(leads(tables, perfect, [pair], waves=waves)[0]), "frequencies": len(waves)}
        row |= {"most": asked["most"], "together": min(asked["bounds"])}
        contexts, double = written_out(weights.task, {}, layouts(weights.task, 1)), weights.to(torch.float64)
        one = tried(double, contexts, pair, answer)
        two = worst_of_two(weights, pair, contexts[1 + one[1:].argmin()])
        row["found two"] = round(min(tried(double, two[None], pair, answer).item(), one.min().item()), 3)
        rows.append(row | {"found": round(at.attack(weights, plain(weights.task, [pair])).margins.item(), 3)})
    return {"data/proof/one-sum.csv": text_of(pd.DataFrame(rows), digits=None)}
