"""All that chapter 16 measures on the shipped runs: a table a measure.

A measure gives the rows of its table for one seed.  Columns of text and whole numbers say of what, those of floats how much.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product

import pandas as pd
import torch
from torch import Tensor

from ...analysis.fourier import logarithms
from ...engine.manifest import shipped_file
from . import analysis
from .data import SETS, Rows, all_pairs, draw_rows, draw_set, draw_tasks, factors_of_last, line_of, with_wrong_answers
from .model import Network
from .seeds import EXAMPLES, FEWER, MANY, MATCH, ROWS, SEEDS, ZEROS, RuleSeed, by_zero
from .solvers import elimination, memory
from .training import SHOTS, RuleConfig, RuleRun, load_rules

SHIPPED = "companions/rules-tables/{}.csv"  # by the name of its measure
DRAWS = 200  # of a null
LINES = range(2, 7)  # through the origin, on which the examples of a row lie
WRONG = 4  # examples of EXAMPLES that are made wrong, at most
TASKS = ("unseen tasks", "seen tasks")
PLACES = range(EXAMPLES)  # of a match
OTHER = MATCH + 2  # the place of an example that is no match
POSITIONS = {  # of a row that is taken apart, by what stands there
    "the question": slice(3 * EXAMPLES, 3 * EXAMPLES + 2),
    "its y": slice(3 * EXAMPLES + 1, 3 * EXAMPLES + 2),
    "the match's x and y": slice(3 * MATCH, 3 * MATCH + 2),
    "the match's z": slice(3 * MATCH + 2, 3 * MATCH + 3),
    "the match": slice(3 * MATCH, 3 * MATCH + 3),
    "another's z": slice(3 * OTHER + 2, 3 * OTHER + 3),
}
Measured = Iterator[dict[str, str | int | float]]  # the rows of a table


def _share(marks: Tensor) -> float:
    """The mean of marks, or of shares; not a number where there are none."""
    return marks.double().mean().item()


def _level(null: Iterable[float]) -> float:
    """What 95% of a null stay below."""
    return torch.tensor(list(null)).quantile(0.95).item()


def _rights(asked: dict[str, analysis.Answering], rows: Rows, **of: str | int) -> Measured:
    """How often each that is asked answers the last question of rows."""
    for arm, answer in asked.items():
        yield {"arm": arm, **of, "right": _share(analysis.right(answer, rows))}


def shots(seed: RuleSeed) -> Measured:
    """How often the arms and the solvers are right, by set and by examples."""
    asked = {arm: answer for arm, answer in (seed.answering | seed.solvers).items() if arm != "untrained"}
    for place, name in enumerate(SETS):
        generator = seed.generator(50 + place)
        for examples in range(SHOTS):
            rows = draw_set(name, seed.split, ROWS, examples + 1, generator)
            yield from _rights(asked, rows, set=name, examples=examples)


def course(seed: RuleSeed) -> Measured:
    """Each arm's accuracy at the last question of SHOTS: at the last step, at its best, and when that was."""
    for arm, name in product(seed.arms, SETS):
        by_step = seed.run(arm).metrics[name]
        found = {"last": by_step.iloc[-1], "best": by_step.max(), "best step": float(by_step.idxmax())}
        yield {"arm": arm, "set": name, **found}


def combining(seed: RuleSeed) -> Measured:
    """How often networks and solvers are right with one match, and where only two examples together tell."""
    for tasks in TASKS:
        for match, rows in seed.rows_by_match(tasks).items():
            yield from _rights(seed.answering | seed.solvers, rows, set=tasks, match=match)


def lines(seed: RuleSeed) -> Measured:
    """How often they are right where no example is a multiple of the question, by the lines of the examples.

    On two lines and on four also for tasks with a 0 and without; a kind of task that a seed has none of is left out.
    """
    asked = seed.answering | seed.solvers
    for tasks, n in product(TASKS, LINES):
        yield from _rights(asked | {"elimination": elimination}, seed.unmatched(tasks, n), set=tasks, rule="any", lines=n)
    for tasks, zero, n in product(TASKS, ZEROS, (2, 4)):
        if len(seed.tasks(tasks, zero)):
            yield from _rights(asked, seed.unmatched(tasks, n, zero), set=tasks, rule=zero, lines=n)


def striking_out(seed: RuleSeed) -> Measured:
    """Whether networks do what `elimination` does, on unseen tasks where no example is a multiple, by the lines of the examples.

    How often they say an answer that it leaves, and how often such an answer is right, each beside what an even guess gives;
    rows where it strikes out the right answer are left out.
    """
    for n in LINES:
        rows = seed.unmatched(lines=n)
        found = elimination(rows)[:, -1]
        left = found == found.amax(1, keepdim=True)
        fair = left.gather(1, rows.answers[:, -1:])[:, 0]
        left, rows = left[fair], rows.at(fair)
        for arm, answer in seed.answering.items():
            said = analysis.said_to(answer, rows)
            kept = left.gather(1, said[:, None])[:, 0]
            shares = {"left": kept, "left, by a guess": left, "right of these": (said == rows.answers[:, -1])[kept]}
            shares["right of these, by a guess"] = 1 / left[kept].sum(1)
            yield {"arm": arm, "lines": n, **{name: _share(each) for name, each in shares.items()}}


def wrong_example(seed: RuleSeed) -> Measured:
    """What becomes of right answers where the match's answer, or that of another example, is made wrong: shares of these rows."""
    by = torch.randint(1, seed.p, (ROWS,), generator=seed.generator(3))
    another = (MATCH + torch.randint(1, EXAMPLES, (ROWS,), generator=seed.generator(4))) % EXAMPLES
    wrong = {"the match": torch.full_like(by, MATCH), "another": another}
    for tasks in TASKS:
        rows = seed.matched(tasks=tasks)
        for arm, answer in seed.answering.items():
            said = analysis.said_to(answer, rows)
            for name, example in wrong.items():
                before, kept, moved = analysis.following(answer, rows, example, by, said)
                yield {"arm": arm, "set": tasks, "wrong": name, "kept": _share(kept[before]), "moved": _share(moved[before])}


def several_wrong(seed: RuleSeed) -> Measured:
    """How often networks and solvers are right on unseen tasks though several of the examples, drawn at random, are wrong.

    And of those answers that were right with none wrong, the share that still is, `kept`.  `best fit` answers with the rules,
    of all there are, that the most examples fit.
    """
    asked = seed.answering | seed.solvers | {"best fit": partial(memory, tasks=all_pairs(seed.p))}
    order = torch.rand(ROWS, EXAMPLES, generator=seed.generator(11)).argsort(1)
    by = torch.randint(1, seed.p, (ROWS, EXAMPLES), generator=seed.generator(12))
    for match, rows in seed.rows_by_match().items():
        before = {arm: analysis.right(answer, rows) for arm, answer in asked.items()}
        for wrong in range(WRONG + 1):
            if wrong:
                rows = with_wrong_answers(rows, order[:, wrong - 1], by[:, wrong - 1])
            for arm, answer in asked.items():
                right = analysis.right(answer, rows)
                kept = (right @ before[arm] / before[arm].sum().clamp(min=1)).item()
                yield {"arm": arm, "match": match, "wrong": wrong, "right": _share(right), "kept": kept}


def by_place(seed: RuleSeed) -> Measured:
    """Which examples decide, on unseen tasks: of right answers, the share kept where the example at one place is wrong."""
    for (match, rows), stream in zip(seed.rows_by_match().items(), (3, 13)):  # with one match, wrong as in `wrong_example`
        by = torch.randint(1, seed.p, (ROWS,), generator=seed.generator(stream))
        for arm, answer in seed.answering.items():
            said = analysis.said_to(answer, rows)
            for place in range(EXAMPLES):
                before, kept, _ = analysis.following(answer, rows, torch.full_like(by, place), by, said)
                yield {"arm": arm, "match": match, "place": place + 1, "kept": _share(kept[before])}


def by_question(seed: RuleSeed) -> Measured:
    """How often an answer is right on unseen tasks, by whether one of the question's numbers is 0.

    And of right answers, the share that moves with the one match, where there is one, as ratio matching says once it is wrong.
    """
    by = torch.randint(1, seed.p, (ROWS,), generator=seed.generator(3))  # as in `wrong_example`
    for match, rows in seed.rows_by_match().items():
        for arm, answer in seed.answering.items():
            before, _, moved = analysis.following(answer, rows, torch.full_like(by, MATCH), by)
            for zero, asked in by_zero(rows.inputs[:, -1]).items():
                share = _share(moved[before & asked]) if match == "one match" else float("nan")
                yield {"arm": arm, "match": match, "question": zero, "right": _share(before[asked]), "moved": share}


def _with_lessons(seed: RuleSeed) -> tuple[str, analysis.Answering]:
    """The first arm, of four layers with lessons, and its network: the one that is asked many rows."""
    return next(iter(seed.answering.items()))


def by_place_of_match(seed: RuleSeed) -> Measured:
    """What becomes of right answers on unseen tasks where the one match, at each place in its turn, is made wrong."""
    by, (arm, answer) = torch.randint(1, seed.p, (ROWS,), generator=seed.generator(3)), _with_lessons(seed)
    for place in PLACES:
        rows = seed.matched(50 + place, place=place)
        before, kept, moved = analysis.following(answer, rows, torch.full_like(by, place), by)
        shares = {"right": before, "kept": kept[before], "moved": moved[before]}
        yield {"arm": arm, "place": place + 1, **{name: _share(each) for name, each in shares.items()}}


def _two_latest(rows: Rows) -> tuple[Tensor, Tensor, Tensor]:
    """Where the two latest examples lie on different lines, and where on one (row,); and which of them has a 0 (row, 2)."""
    latest = rows.inputs[:, -3:-1]
    one, other = line_of(latest, rows.p).unbind(1)
    there = (one >= 0) & (other >= 0)
    return there & (one != other), there & (one == other), (latest == 0).any(2)


def by_latest(seed: RuleSeed) -> Measured:
    """How often an answer is right on unseen tasks where none is a match, by how the two latest examples lie.

    Where they lie on different lines, also by where their only 0 is, or that of the question: as x, or as y.
    """
    rows = seed.unmatched(rows=MANY)
    apart, alike, zero = _two_latest(rows)
    kinds = {
        "different lines, no 0": apart & ~zero.any(1),
        "different lines, a 0 in the latest": apart & zero[:, 1],
        "different lines, a 0 in the other alone": apart & zero[:, 0] & ~zero[:, 1],
        "one line, no 0": alike & ~zero.any(1),
        "one line, with a 0": alike & zero.any(1),
    }
    for i, number in enumerate("xy"):
        other, latest, question = (rows.inputs[:, place, i] == 0 for place in (-3, -2, -1))
        kinds |= {
            f"different lines, {number} = 0 in the latest alone": apart & latest & ~zero[:, 0],
            f"different lines, {number} = 0 in the other alone": apart & other & ~zero[:, 1],
            f"different lines, {number} = 0 in the question alone": apart & question & ~zero.any(1),
        }
    arm, answer = _with_lessons(seed)
    right = analysis.right(answer, rows)
    for name, which in kinds.items():
        yield {"arm": arm, "latest": name, "right": _share(right[which]), "rows": float(which.sum())}


def by_fixed(seed: RuleSeed) -> Measured:
    """How often an answer is right on rows of unseen tasks as they come, by whether the two latest examples fix it.

    They do if one of them is a match, or if they lie on different lines.  Beside it the share of such rows.
    """
    rows = draw_set("unseen tasks", seed.split, MANY, EXAMPLES, seed.generator(15))
    match, there = factors_of_last(rows) > 0, (rows.inputs[:, -1] != 0).any(1)
    fixed = match[:, -2:].any(1) | _two_latest(rows)[0]
    kinds = {"fixed": fixed, "not fixed, a match": ~fixed & match.any(1), "not fixed, no match": ~fixed & ~match.any(1)}
    kinds |= {"not fixed": ~fixed, "any": torch.ones_like(there)}
    arm, answer = _with_lessons(seed)
    right = analysis.right(answer, rows)
    for name, which in kinds.items():
        yield {"arm": arm, "latest": name, "right": _share(right[which & there]), "share": _share(which[there])}


def latest_of_another(seed: RuleSeed) -> Measured:
    """What is said where the two latest examples, on different lines, follow another task than the rest, and none is a match.

    In all such rows, in those where neither of the two has a 0, and in those where the latest has one.
    """
    rows = seed.unmatched(rows=MANY)
    other = Rows.solve(seed.p, draw_tasks(MANY, all_pairs(seed.p), seed.generator(14)), rows.inputs).answers
    apart, _, zero = _two_latest(rows)
    differ = apart & (rows.answers[:, -1] != other[:, -1])
    rows, other, zero = rows.at(differ), other[differ], zero[differ]
    mixed = torch.cat([rows.answers[:, :-3], other[:, -3:-1], rows.answers[:, -1:]], 1)
    kinds = {"any": slice(None), "no 0": ~zero.any(1), "a 0 in the latest": zero[:, 1]}
    arm, answer = _with_lessons(seed)
    said = analysis.said_to(answer, rows._replace(answers=mixed))
    for name, which in kinds.items():
        as_these, as_rest = (_share((said == answers[:, -1])[which]) for answers in (other, rows.answers))
        yield {"arm": arm, "latest": name, "as these say": as_these, "as the rest say": as_rest}


def _heads(network: Network) -> Iterator[tuple[int, int]]:
    """Layer and head of each head, counted from 0."""
    return product(range(len(network.layers)), range(network.layers[0].heads))


def reading(seed: RuleSeed) -> Measured:
    """The mean weight of the last question on one example's token, by kind and head, on rows of unseen tasks.

    Of the token z also by whether one of the question's numbers is 0.
    """
    rows = seed.rows()
    parts = {"any": rows} | {zero: rows.at(of) for zero, of in by_zero(rows.inputs[:, -1]).items()}
    for (arm, network), (question, part) in product(seed.networks.items(), parts.items()):
        weights = analysis.read_by_kind(network, part)
        for (layer, head), (token, name) in product(_heads(network), enumerate("xyz")):
            if name == "z" or question == "any":
                found = {kind: each[layer, head, token].item() for kind, each in weights.items()}
                yield {"arm": arm, "question": question, "layer": layer + 1, "head": head + 1, "token": name, **found}


def heads(seed: RuleSeed) -> Measured:
    """How often the arms are right with one match and with none, where one head reads its mean, or all others of its layer."""
    for arm, (match, rows) in product(seed.main, seed.rows_by_match().items()):
        for layer, head in _heads(network := seed.networks[arm]):
            others = [other for other in range(network.layers[layer].heads) if other != head]
            without, alone = (_share(analysis.without_heads(network, rows, layer, of)) for of in ([head], others))
            yield {"arm": arm, "match": match, "layer": layer + 1, "head": head + 1, "without": without, "alone": alone}


def exchanges(seed: RuleSeed) -> Measured:
    """Which answers follow when the stream of another row stands at some positions at a depth: four layers, and untrained.

    The other row is another one altogether, or has the same inputs and another task.
    """
    base = seed.matched()
    other_task = Rows.solve(seed.p, draw_tasks(ROWS, seed.split.unseen, seed.generator(8)), base.inputs)
    sources = {"other": seed.matched(1), "same": other_task}
    for arm, (inputs, source) in product(("four layers", "untrained"), sources.items()):
        network = seed.networks[arm]
        for depth, (name, positions) in product(range(len(network.layers) + 1), POSITIONS.items()):
            said = analysis.after_exchange(network, base, source, depth, positions)
            found = analysis.outcomes(said, base, source, MATCH)
            yield {"arm": arm, "inputs": inputs, "exchanged": name, "depth": depth, **found}


def head_waves(seed: RuleSeed) -> Measured:
    """The largest wave over (log x, log y) of each head's mean output, with what 95% of relabelled numbers stay below.

    In the null both numbers of an input are taken for other powers, the same for both.
    """
    rows, log = seed.any_question(), logarithms(seed.p)
    orders = analysis.relabelled(log[:, None], seed.generator(5), DRAWS)[..., 0]
    for arm, network in seed.networks.items():
        outputs = analysis.head_outputs(network, rows.tokens)
        for layer, head in _heads(network):
            means = analysis.over_inputs(outputs[layer, head], rows)
            largest, *null = [analysis.largest_wave(means, each) for each in (log, *orders)]
            yield {"arm": arm, "layer": layer + 1, "head": head + 1, "largest wave": largest, "null": _level(null)}


def numbers_known(seed: RuleSeed) -> Measured:
    """Of runs with fewer tasks, how often unseen tasks are right, by whether training showed both of their numbers."""
    for tasks in (*FEWER, RuleConfig.tasks):
        run = seed.run(f"{tasks} tasks" if tasks in FEWER else "four layers")
        split = run.split
        known = torch.stack([torch.isin(split.unseen[:, i], split.seen[:, i]) for i in range(2)], 1).all(1)
        for name, which in (("both known", known), ("not both", ~known)):
            right, generator = float("nan"), torch.Generator().manual_seed(0)
            if which.any():
                rows = draw_rows(3 * ROWS, SHOTS, seed.p, split.unseen[which], split.shown, generator, asked=split.shown)
                right = _share(analysis.right(analysis.answering(run.network()), rows))
            yield {"tasks": tasks, "unseen": name, "rules": int(which.sum()), "right": right}


SEVEN = [(seed, 7) for seed in SEEDS]
BOTH = [*SEVEN, (SEEDS[0], 11)]
SHIPPED_OF = {  # for which seeds and numbers each measure is shipped
    **dict.fromkeys((shots, course, combining, wrong_example, by_place, by_question, by_latest), BOTH),
    **dict.fromkeys((by_place_of_match, by_fixed, latest_of_another, head_waves), BOTH),
    **dict.fromkeys((lines, striking_out, several_wrong, reading, heads, exchanges), SEVEN),
    numbers_known: SEVEN[:1],
}
MEASURES = {measure.__name__: measure for measure in SHIPPED_OF}


def make_table(name: str, load: Callable[[str], RuleRun] = load_rules) -> pd.DataFrame:
    """A table measured anew, sorted by its columns of text and whole numbers.

    `load` opens runs by name; `numbers_known` asks for some whose weights are not shipped.
    """
    measure = MEASURES[name]
    rows = [{"seed": seed, "p": p, **row} for seed, p in SHIPPED_OF[measure] for row in measure(RuleSeed(seed, p, load))]
    table = pd.DataFrame(rows)
    return table.sort_values([*table.select_dtypes(exclude="float")], ignore_index=True)


def load_table(name: str, p: int = RuleConfig.p) -> pd.DataFrame:
    """A shipped table of p numbers: what was measured by seed, as columns (value, seed), indexed by the rest.

    FileNotFoundError or ValueError where it is missing or damaged.
    """
    table = pd.read_csv(shipped_file(SHIPPED.format(name)))
    table = table[table["p"] == p].drop(columns="p")
    by_seed = table.set_index([*table.select_dtypes(exclude="float")]).unstack("seed")
    return by_seed.rename(columns="seed-{}".format, level="seed").rename_axis(columns=[None, None])
