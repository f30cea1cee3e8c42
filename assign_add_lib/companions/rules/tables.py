"""What chapter 16 measures on the shipped runs: tables (row, column) of one seed, and the shipped one of all of them."""

import pandas as pd
import torch
from torch import Tensor

from ...analysis.fourier import logarithms
from ...engine.manifest import shipped_file
from .analysis import Answering, accuracy_by_shots, altered, answering, factor_of, following, read_by_kind
from .data import Rows, Split, all_pairs, draw_rows, draw_tasks, line_of
from .inside import (
    after_exchange,
    after_rows,
    between,
    head_outputs,
    largest_wave,
    multiples,
    outcomes,
    over_inputs,
    relabelled,
    streams,
    triples,
    waves,
    without_heads,
)
from .model import ASKED
from .seeds import ELEVEN, EXAMPLES, MATCH, ROWS, ZEROS, RuleSeed, Table
from .solvers import accuracy, elimination, memory, ratio_matching, regression
from .training import SETS, SHOTS

SHIPPED = "companions/rules.csv"
DRAWS = 200  # of a null
LINES = range(2, 7)  # through the origin, on which the examples of a row lie
WRONG = 4  # examples of EXAMPLES that are made wrong, at most
CONTEXTS = 8  # rows after which an example is put
TASKS = ("unseen tasks", "seen tasks")
OTHER = MATCH + 2  # the place of an example that is no match
PLACES = {  # positions of a row that is taken apart, by what stands there
    "the question": slice(3 * EXAMPLES, 3 * EXAMPLES + 2),
    "its y": slice(3 * EXAMPLES + 1, 3 * EXAMPLES + 2),
    "the match's x and y": slice(3 * MATCH, 3 * MATCH + 2),
    "the match's z": slice(3 * MATCH + 2, 3 * MATCH + 3),
    "the match": slice(3 * MATCH, 3 * MATCH + 3),
    "another's z": slice(3 * OTHER + 2, 3 * OTHER + 3),
}


def _solvers(split: Split) -> dict[str, Answering]:
    """The three solvers by name; what is remembered are the tasks of training."""
    return {"ratio matching": ratio_matching, "regression": regression, "memory": lambda rows: memory(rows, split.seen)}


def _rights(answer: Answering, rows: Rows) -> Tensor:
    """The chance with which the last question of each row is answered right, (row,)."""
    return accuracy(answer(rows)[:, -1], rows.answers[:, -1])


def _right(answer: Answering, rows: Rows) -> float:
    """How often the last question of rows is answered right."""
    return _rights(answer, rows).mean().item()


def _by_zero(rows: Rows) -> dict[str, Tensor]:
    """Which rows have a 0 in the question, and which have none."""
    asked = (rows.inputs[:, -1] == 0).any(1)
    return dict(zip(ZEROS, (asked, ~asked)))


def _share(marks: Tensor) -> float:
    return marks.double().mean().item()


def shots(seed: RuleSeed) -> Table:
    """How often the arms and the three solvers are right, by set and by examples."""
    split, table = seed.split, {}
    networks = {arm: answering(seed.run(arm).network()) for arm in seed.main}
    for name, answer in (networks | _solvers(split)).items():
        for i, of in enumerate(SETS):
            right = accuracy_by_shots(answer, split, of, SHOTS, ROWS, seed.generator(50 + i))  # the same rows for all
            table |= {(f"{name}, {of}", f"{k} examples"): each for k, each in enumerate(right.tolist())}
    return table


def course(seed: RuleSeed) -> Table:
    """Each arm's accuracy at the last question of SHOTS: at the last step, at its best, and when that was."""
    table = {}
    for arm in seed.arms:
        metrics = seed.run(arm).metrics
        for of in SETS:
            table[f"{arm}, {of}", "last"] = metrics[of].iloc[-1]
            table[f"{arm}, {of}", "best"] = metrics[of].max()
            table[f"{arm}, {of}", "best step"] = float(metrics[of].idxmax())
    return table


def combining(seed: RuleSeed) -> Table:
    """How often networks and solvers are right where one example is a multiple of the question, and where only two together tell.

    And with one match, how often by the factor.
    """
    networks = {arm: answering(network) for arm, network in seed.networks()} | _solvers(seed.split)
    table = {}
    for tasks in TASKS:
        matched, unmatched = seed.matched(tasks=tasks), seed.unmatched(tasks)
        factors = factor_of(matched)[:, MATCH]
        for name, answer in networks.items():
            right = accuracy(answer(matched)[:, -1], matched.answers[:, -1])
            row = f"{name}, {tasks}"
            table[row, "one match"] = right.mean().item()
            table |= {(row, f"factor {c}"): right[factors == c].mean().item() for c in range(2, matched.p)}
            table[row, "no match"] = _right(answer, unmatched)
    return table


def lines(seed: RuleSeed) -> Table:
    """How often networks and solvers are right where no example is a multiple of the question, by the lines of the examples."""
    networks = {arm: answering(network) for arm, network in seed.networks()}
    table = {}
    for tasks in TASKS:
        for n in LINES:
            rows = seed.unmatched_on(n, tasks)
            for name, answer in (networks | _solvers(seed.split) | {"elimination": elimination}).items():
                table[f"{name}, {tasks}", f"{n} lines"] = _right(answer, rows)
    return table


def striking_out(seed: RuleSeed) -> Table:
    """Whether networks do what `elimination` does, on unseen tasks where no example is a multiple, by the lines of the examples.

    How often they say an answer that it leaves, and how often such an answer is right, each beside what an even guess gives;
    rows where it strikes out the right answer are left out.
    """
    networks, table = dict(seed.networks()), {}
    for n in LINES:
        rows = seed.unmatched_on(n)
        found = elimination(rows)[:, -1]
        left = found == found.amax(1, keepdim=True)
        fair = left.gather(1, rows.answers[:, -1:])[:, 0]
        left, truth, tokens = left[fair], rows.answers[fair, -1], rows.tokens[fair]
        for arm, network in networks.items():
            said = network(tokens)[:, -1].argmax(1)
            kept = left.gather(1, said[:, None])[:, 0]
            table[arm, f"{n} lines: left"] = _share(kept)
            table[arm, f"{n} lines: left, by a guess"] = _share(left)
            table[arm, f"{n} lines: right of these"] = _share(said[kept] == truth[kept])
            table[arm, f"{n} lines: right of these, by a guess"] = _share(1 / left[kept].sum(1))
    return table


def zeros(seed: RuleSeed) -> Table:
    """As `lines`, on two and on four, for tasks with a 0 and without; a kind of task that a seed has none of is left out."""
    networks = {arm: answering(network) for arm, network in seed.networks()} | _solvers(seed.split)
    table = {}
    for of in (f"{tasks}, {zero}" for tasks in TASKS for zero in ZEROS):
        for n in (2, 4) if len(seed.tasks(of)) else ():
            rows = seed.unmatched_on(n, of)
            for name, answer in networks.items():
                table[f"{name}, {of}", f"{n} lines"] = _right(answer, rows)
    return table


def wrong_examples(seed: RuleSeed) -> Table:
    """What becomes of right answers where the match's answer, or that of another example, is made wrong: shares of these rows."""
    table = {}
    for tasks in TASKS:
        rows = seed.matched(tasks=tasks)
        by = torch.randint(1, rows.p, (ROWS,), generator=seed.generator(3))
        other = (MATCH + torch.randint(1, EXAMPLES, (ROWS,), generator=seed.generator(4))) % EXAMPLES
        for arm, network in seed.networks():
            for name, example in (("the match", torch.full_like(by, MATCH)), ("another", other)):
                found = following(answering(network), rows, example, by)
                before = found["before"].double().sum().clamp(min=1)
                row = f"{arm}, {tasks}, {name} wrong"
                table |= {(row, key): (found[key].double().sum() / before).item() for key in ("kept", "moved")}
    return table


def several_wrong(seed: RuleSeed) -> Table:
    """How often networks and solvers are right on unseen tasks though several of the examples, drawn at random, are wrong.

    And of those answers that were right with none wrong, the share that still is, `kept`.  `best fit` answers with the rules,
    of all there are, that the most examples fit.
    """
    every = all_pairs(seed.split.p)
    networks = {arm: answering(network) for arm, network in seed.networks()}
    networks |= _solvers(seed.split) | {"best fit": lambda rows: memory(rows, every)}
    table = {}
    for kind, rows in (("one match", seed.matched()), ("no match", seed.unmatched())):
        order = torch.rand(ROWS, EXAMPLES, generator=seed.generator(11)).argsort(1)
        by = torch.randint(1, rows.p, (ROWS, EXAMPLES), generator=seed.generator(12))
        before = {name: _rights(answer, rows) for name, answer in networks.items()}
        for n in range(WRONG + 1):
            if n:
                rows = altered(rows, order[:, n - 1], by[:, n - 1])
            for name, answer in networks.items():
                right = _rights(answer, rows)
                table[f"{name}, {kind}", f"{n} wrong"] = right.mean().item()
                table[f"{name}, {kind}", f"{n} wrong: kept"] = (right @ before[name] / before[name].sum().clamp(min=1)).item()
    return table


def by_place(seed: RuleSeed) -> Table:
    """Which examples decide where none is a match, on unseen tasks.

    Of right answers, the share kept where the example at one place is wrong.  Where the two latest lie on different lines, what
    is said once they follow another task than the rest: the answer of the one, or of the other.  And how often an answer is
    right, by how these two lie and whether one of their numbers is 0, and by whether one of the question's is.
    """
    rows, table = seed.unmatched(), {}
    by = torch.randint(1, rows.p, (ROWS,), generator=seed.generator(13))
    wrong = [altered(rows, torch.full_like(by, place), by) for place in range(EXAMPLES)]
    latest = slice(EXAMPLES - 2, EXAMPLES)
    line, zero = line_of(rows.inputs[:, latest], rows.p), (rows.inputs[:, latest] == 0).any(2)
    there = (line >= 0).all(1)
    apart, alike = there & (line[:, 0] != line[:, 1]), there & (line[:, 0] == line[:, 1])
    other = Rows.solve(rows.p, draw_tasks(ROWS, all_pairs(rows.p), seed.generator(14)), rows.inputs).answers
    mixed = rows.answers.clone()
    mixed[:, latest] = other[:, latest]
    truth, differ = rows.answers[:, -1], apart & (rows.answers[:, -1] != other[:, -1])
    kinds = {
        "different lines, no 0": apart & ~zero.any(1),
        "different lines, a 0 in the latest": apart & zero[:, 1],
        "different lines, a 0 in the other alone": apart & zero[:, 0] & ~zero[:, 1],
        "one line, no 0": alike & ~zero.any(1),
        "one line, with a 0": alike & zero.any(1),
    }
    for arm, network in seed.networks():
        said = lambda rows, network=network: network(rows.tokens)[:, -1].argmax(1)  # noqa: E731
        right, answers = said(rows) == truth, said(rows._replace(answers=mixed))
        for place, altered_rows in enumerate(wrong, start=1):
            table[arm, f"place {place} wrong: kept"] = _share(said(altered_rows)[right] == truth[right])
        table[arm, "two latest of another task: as these say"] = _share((answers == other[:, -1])[differ])
        table[arm, "two latest of another task: as the rest say"] = _share((answers == truth)[differ])
        table |= {(arm, f"right, two latest on {kind}"): _share(right[of]) for kind, of in kinds.items()}
        table |= {(arm, f"right, the question {zero}"): _share(right[of]) for zero, of in _by_zero(rows).items()}
    return table


def match_by_place(seed: RuleSeed) -> Table:
    """Whether the one match decides more than examples at other places, on unseen tasks.

    Of right answers, the share kept where the example at one place is wrong; and by whether one of the question's numbers is 0,
    how often it is right, and of right answers the share that moves with the match as ratio matching says.
    """
    rows, table = seed.matched(), {}
    by = torch.randint(1, rows.p, (ROWS,), generator=seed.generator(3))  # as in `wrong_examples`
    for arm, network in seed.networks():
        found = [following(answering(network), rows, torch.full_like(by, place), by) for place in range(EXAMPLES)]
        right, moved = found[MATCH]["before"], found[MATCH]["moved"]
        for place, each in enumerate(found, start=1):
            table[arm, f"place {place} wrong: kept"] = _share(each["kept"][right])
        for zero, of in _by_zero(rows).items():
            table[arm, f"right, the question {zero}"] = _share(right[of])
            table[arm, f"moved with the match, the question {zero}"] = _share(moved[right & of])
    return table


def eleven(seed: RuleSeed) -> Table:
    """How the arm of 11 numbers answers, in the seed that has it: what is measured of the main arms, on rows of its own."""
    alone = seed.of(ELEVEN)
    measures = (shots, combining, wrong_examples, by_place) if ELEVEN in seed.arms else ()
    table = {key: value for measure in measures for key, value in measure(alone).items()}
    matched = match_by_place(alone) if measures else {}
    return table | {(f"{arm}, one match", column): value for (arm, column), value in matched.items()}


def depths(seed: RuleSeed) -> Table:
    """How often the stream at the last question, read out after each layer, has the right answer, with a match and without."""
    table = {}
    for arm, network in seed.networks():
        for tasks in TASKS:
            for name, rows in (("one match", seed.matched(tasks=tasks)), ("no match", seed.unmatched(tasks))):
                for depth, resid in enumerate(streams(network, rows.tokens)):
                    said = network.read_out(resid[:, ASKED][:, -1]).argmax(1)
                    right = _share(said == rows.answers[:, -1])
                    table[f"{arm}, {tasks}, {name}", f"depth {depth}"] = right
    return table


def attention_by_kind(seed: RuleSeed) -> Table:
    """The mean weight of the last question on one example's token, by kind and head, on rows of unseen tasks.

    Of the token z also by whether one of the question's numbers is 0.
    """
    rows, table = seed.rows(), {}
    parts = {f", the question {zero}": rows.at(of) for zero, of in _by_zero(rows).items()}
    for arm, network in seed.networks():
        for which, part in {"": rows, **parts}.items():
            for (kind, token), weights in read_by_kind(network, part).items():
                for layer, of_layer in enumerate(weights.tolist() if token == "z" or not which else (), start=1):
                    for head, weight in enumerate(of_layer, start=1):
                        table[f"{arm}, layer {layer}, head {head}", f"{kind}, {token}{which}"] = weight
    return table


def exchanges(seed: RuleSeed) -> Table:
    """Which answers follow when the stream of another row stands at some positions at a depth: four layers, and untrained.

    The other row is another one altogether, or has the same inputs and another task.
    """
    base, table, networks = seed.matched(), {}, dict(seed.networks())
    other_task = Rows.solve(base.p, draw_tasks(ROWS, seed.split.unseen, seed.generator(8)), base.inputs)
    for arm in ("four layers", "untrained"):
        for kind, source in (("", seed.matched(1)), ("same inputs, ", other_task)):
            for depth in range(len(networks[arm].layers) + 1):
                for name, positions in PLACES.items():
                    said = after_exchange(networks[arm], base, source, depth, positions)
                    found = outcomes(said, base, source, MATCH)
                    table |= {(f"{arm}, {kind}{name}, depth {depth}", answer): share for answer, share in found.items()}
    return table


def examples(seed: RuleSeed) -> Table:
    """How the stream at an example's z is shared out between groups of examples, by depth, after rows of three.

    Between those that are multiples of one another, with what 95% of relabelled numbers stay below; between lines; and between
    the answers z alone.
    """
    split, table = seed.split, {}
    every, names = triples(split.p), torch.arange(split.p)
    orders = relabelled(names[:, None], seed.generator(9), DRAWS)[..., 0]
    drawn = [multiples(every, each) for each in orders]
    groups = {"multiples": multiples(every, names), "lines": line_of(every[:, :2], split.p), "answers": every[:, 2]}
    rows = draw_rows(CONTEXTS, 3, split.p, split.unseen, split.shown, seed.generator(10))
    for arm, network in seed.networks():
        for depth, values in enumerate(after_rows(network, rows, every)):
            row = f"{arm}, depth {depth}"
            table |= {(row, name): _mean_share(values, of) for name, of in groups.items()}
            table[row, "multiples, null"] = torch.tensor([_mean_share(values, of) for of in drawn]).quantile(0.95).item()
    return table


def _mean_share(values: Tensor, groups: Tensor) -> float:
    """The share of the variance between groups, in the mean over rows (row, n, d)."""
    return sum(between(each, groups) for each in values) / len(values)


def heads(seed: RuleSeed) -> Table:
    """The accuracy of the arms on rows with one match and with none: whole, and where heads read their mean.

    These are one head at a time, and all heads of a layer but one.
    """
    table = {}
    for arm in seed.main:
        network = seed.run(arm).network()
        for kind, rows in (("one match", seed.matched()), ("no match", seed.unmatched())):
            table[f"{arm}, whole", kind] = _share(network(rows.tokens)[:, -1].argmax(1) == rows.answers[:, -1])
            for layer, module in enumerate(network.layers, start=1):
                for head in range(module.heads):
                    others = [each for each in range(module.heads) if each != head]
                    row = f"{arm}, {{}} layer {layer}, head {head + 1}"
                    table[row.format("without"), kind] = without_heads(network, rows, layer, head)
                    table[row.format("with no other of"), kind] = without_heads(network, rows, layer, *others)
    return table


def numbers(seed: RuleSeed) -> Table:
    """The largest wave of the embedding under sums and under products, with what 95% of relabelled numbers stay below.

    And the largest wave over (log x, log y) of each head's mean output, with the same null: in it, both numbers of an input
    are taken for other powers, the same for both.
    """
    asked = [(arm, network, seed.any_question()) for arm, network in seed.networks()]
    if ELEVEN in seed.arms:
        asked.append((ELEVEN, seed.run(ELEVEN).network(), seed.of(ELEVEN).any_question()))
    table = {}
    for arm, network, rows in asked:
        log, embedding = logarithms(rows.p), network.embed.weight
        orders = relabelled(log[:, None], seed.generator(5), DRAWS)[..., 0]
        null = relabelled(embedding, seed.generator(6), DRAWS)
        for group in ("sums", "products"):
            table[f"{arm}, embedding", f"{group}, largest wave"] = waves(embedding, group).max().item()
            drawn = torch.stack([waves(each, group).max() for each in null])
            table[f"{arm}, embedding", f"{group}, null"] = drawn.quantile(0.95).item()
        for layer, of_layer in enumerate(head_outputs(network, rows.tokens), start=1):
            for head, outputs in enumerate(of_layer, start=1):
                means = over_inputs(outputs, rows)
                row = f"{arm}, layer {layer}, head {head}"
                table[row, "largest wave"] = largest_wave(means, log)
                table[row, "null"] = torch.tensor([largest_wave(means, each) for each in orders]).quantile(0.95).item()
    return table


MEASURES = {
    "shots": shots,
    "course": course,
    "combining": combining,
    "lines": lines,
    "striking out": striking_out,
    "zeros": zeros,
    "wrong examples": wrong_examples,
    "several wrong": several_wrong,
    "by place": by_place,
    "match by place": match_by_place,
    "11 numbers": eleven,
    "depths": depths,
    "reading": attention_by_kind,
    "exchanges": exchanges,
    "examples": examples,
    "heads": heads,
    "numbers": numbers,
}


def load_table() -> pd.DataFrame:
    """The shipped values (measure, row, column) by seed; FileNotFoundError or ValueError where missing or damaged."""
    # a column is called "null", which pandas would take for a missing name
    index = ["measure", "row", "column"]
    return pd.read_csv(shipped_file(SHIPPED), index_col=index, keep_default_na=False, na_values=[""])
