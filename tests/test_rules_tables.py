"""The tables of chapter 16 on networks that have not begun, each entry against its words."""

import pytest
import torch
from rules import untrained_seed
from test_rules_solvers import not_struck_out

from assign_add_lib.companions.rules import analysis, seeds, tables
from assign_add_lib.companions.rules.analysis import altered, factor_of
from assign_add_lib.companions.rules.data import Rows, draw_questions
from assign_add_lib.companions.rules.solvers import accuracy, ratio_matching, regression


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Few rows, and few draws of a null."""
    for module in (seeds, tables):
        monkeypatch.setattr(module, "ROWS", 300)
    monkeypatch.setattr(tables, "DRAWS", 20)


@pytest.fixture(scope="module")
def seed():
    return untrained_seed()


def test_shots_are_counted_on_the_same_rows_for_all(seed):
    found, split = tables.shots(seed), seed.split
    assert len(found) == (len(seeds.MAIN) + 3) * 4 * 16
    generator = seed.generator(50 + 1)  # of the second set
    for k in range(16):
        rows = draw_questions(300, k + 1, 7, split.unseen, split.shown, split.shown, generator)
        network = seed.run("two layers").network()
        right = (network(rows.tokens)[:, -1].argmax(1) == rows.answers[:, -1]).double().mean().item()
        assert found["two layers, unseen tasks", f"{k} examples"] == pytest.approx(right)
        solved = accuracy(regression(rows)[:, -1], rows.answers[:, -1]).mean().item()
        assert found["regression, unseen tasks", f"{k} examples"] == pytest.approx(solved)
    assert found["memory, seen tasks", "15 examples"] == pytest.approx(1) and found["memory, unseen tasks", "15 examples"] < 0.3


def test_the_course_names_last_and_best(seed):
    found = tables.course(seed)
    assert found["plain, unseen tasks", "last"] == 0.3 and found["plain, unseen tasks", "best"] == 0.6
    assert found["plain, unseen tasks", "best step"] == 500 and len(found) == len(seeds.MAIN) * 4 * 3
    assert len(tables.course(untrained_seed(0))) == len(seeds.MAIN | seeds.OTHERS) * 4 * 3


@pytest.mark.parametrize("tasks", ["seen tasks", "unseen tasks"])
def test_right_answers_are_counted_with_and_without_a_match(seed, tasks):
    found, depths, network = tables.combining(seed), tables.depths(seed), seed.run("plain").network()
    for name, rows in (("one match", seed.matched(tasks=tasks)), ("no match", seed.unmatched(tasks))):
        fits = ((rows.inputs[:, :, None] * seed.tasks(tasks)).sum(3) % 7 == rows.answers[..., None]).all(1)
        assert fits.any(1).all()
        right = network(rows.tokens)[:, -1].argmax(1) == rows.answers[:, -1]
        assert found[f"plain, {tasks}", name] == depths[f"plain, {tasks}, {name}", "depth 4"] == right.double().mean().item()
    half = (analysis.factor_of(seed.matched(tasks=tasks))[:, seeds.MATCH] == 4).nonzero()[:, 0]
    rows = Rows(7, *(each[half] for each in seed.matched(tasks=tasks)[1:]))
    right = network(rows.tokens)[:, -1].argmax(1) == rows.answers[:, -1]
    assert found[f"plain, {tasks}", "factor 4"] == right.double().mean().item()
    assert found[f"ratio matching, {tasks}", "one match"] == found[f"regression, {tasks}", "no match"] == 1
    assert found[f"ratio matching, {tasks}", "no match"] == pytest.approx(1 / 7)


def test_rows_without_a_match_are_counted_by_the_lines_of_their_examples(seed):
    found, rows = tables.lines(seed), seed.unmatched_on(5, "seen tasks")
    assert len(found) == (5 + 4) * 2 * len(tables.LINES)
    right = seed.run("one layer").network()(rows.tokens)[:, -1].argmax(1) == rows.answers[:, -1]
    assert found["one layer, seen tasks", "5 lines"] == pytest.approx(right.double().mean().item())
    assert all(found[f"regression, {tasks}", f"{n} lines"] == 1 for tasks in tables.TASKS for n in tables.LINES)
    struck = [found["elimination, unseen tasks", f"{n} lines"] for n in tables.LINES]
    assert struck == sorted(struck) and 0.2 < struck[0] < 0.4 < struck[-1] < 0.95


def test_answers_are_set_beside_those_that_striking_out_leaves(seed):
    found, rows, network = tables.striking_out(seed), seed.unmatched_on(4), seed.run("plain").network()
    said, kept, sizes, right = network(rows.tokens)[:, -1].argmax(1).tolist(), [], [], []
    for (inputs, answers), answer in zip(zip(rows.inputs.tolist(), rows.answers.tolist(), strict=True), said, strict=True):
        examples = list(zip(inputs[:-1], answers, strict=False))
        left = not_struck_out(7, examples, inputs[-1], 0) & not_struck_out(7, examples, inputs[-1], 1) or set(range(7))
        if answers[-1] in left:
            kept.append(answer in left)
            sizes.append(len(left))
            right.append(answer == answers[-1])
    mean = lambda values: sum(values) / len(values)  # noqa: E731
    of_these = [i for i, inside in enumerate(kept) if inside]
    assert found["plain", "4 lines: left"] == pytest.approx(mean(kept))
    assert found["plain", "4 lines: left, by a guess"] == pytest.approx(mean(sizes) / 7)
    assert found["plain", "4 lines: right of these"] == pytest.approx(mean([right[i] for i in of_these]))
    assert found["plain", "4 lines: right of these, by a guess"] == pytest.approx(mean([1 / sizes[i] for i in of_these]))


def test_rows_without_a_match_are_counted_by_tasks_with_a_zero(seed):
    found = tables.zeros(seed)
    kinds = {f"{tasks}, {zero}": seed.tasks(f"{tasks}, {zero}") for tasks in tables.TASKS for zero in seeds.ZEROS}
    assert torch.cat(list(kinds.values())).unique(dim=0).shape == (49, 2)
    for of, tasks in kinds.items():
        assert ((tasks == 0).any(1) == of.endswith("with a 0")).all()
        assert ((f"plain, {of}", "4 lines") in found) == (len(tasks) > 0)
    rows = seed.unmatched_on(4, "seen tasks, without a 0")
    right = seed.run("plain").network()(rows.tokens)[:, -1].argmax(1) == rows.answers[:, -1]
    assert found["plain, seen tasks, without a 0", "4 lines"] == pytest.approx(right.double().mean().item())
    assert found["regression, seen tasks, with a 0", "2 lines"] == found["memory, seen tasks, with a 0", "4 lines"] == 1


def test_several_wrong_examples_are_outvoted_by_the_best_fit_alone(seed):
    found, combining = tables.several_wrong(seed), tables.combining(seed)
    for name in ("plain", "memory"):
        for kind in ("one match", "no match"):
            assert found[f"{name}, {kind}", "0 wrong"] == pytest.approx(combining[f"{name}, unseen tasks", kind])
    shares = {name: [found[f"{name}, no match", f"{n} wrong"] for n in range(5)] for name in ("best fit", "regression")}
    assert all(several == sorted(several, reverse=True) and several[0] == 1 for several in shares.values())
    assert shares["best fit"][1] > 0.9 and shares["best fit"][3] > shares["regression"][3] + 0.2
    assert found["ratio matching, one match", "2 wrong"] == pytest.approx(6 / 8, abs=0.06)  # the match is among them or not
    assert found["ratio matching, one match", "2 wrong: kept"] == found["ratio matching, one match", "2 wrong"]
    assert found["plain, no match", "0 wrong: kept"] == 1
    rows, network = seed.unmatched(), seed.run("plain").network()
    place = torch.rand(300, 8, generator=seed.generator(11)).argsort(1)[:, 0]
    wrong = altered(rows, place, torch.randint(1, 7, (300, 8), generator=seed.generator(12))[:, 0])
    right, after = (network(each.tokens)[:, -1].argmax(1) == rows.answers[:, -1] for each in (rows, wrong))
    assert found["plain, no match", "1 wrong: kept"] == pytest.approx((right & after).sum().item() / right.sum().item())


class TwoLatest(torch.nn.Module):
    """A network that says what the two latest examples of different directions say: regression on the examples in reverse."""

    def forward(self, tokens):
        triples = tokens.unflatten(1, (-1, 3))
        turned = torch.cat([triples[:, :-1].flip(1), triples[:, -1:]], 1)
        return regression(Rows(7, turned[..., :2], turned[..., 2]))


def test_examples_that_decide_are_found_by_their_places(seed, monkeypatch):
    monkeypatch.setattr(type(seed), "networks", lambda self: iter([("latest", TwoLatest())]))
    found = tables.by_place(seed)
    kept = [found["latest", f"place {place} wrong: kept"] for place in range(1, 9)]
    assert kept[:5] == pytest.approx([1] * 5, abs=0.02) and max(kept[6:]) < 0.3  # not 0: the last two may lie on one line
    assert found["latest", "two latest of another task: as these say"] == 1
    assert found["latest", "two latest of another task: as the rest say"] == 0
    sure = ("right, two latest on different lines", "right, the question")
    assert all(found["latest", row] == 1 for _, row in found if row.startswith(sure))


class Match(torch.nn.Module):
    """A network that says what the match says, and 0 where the question has a 0."""

    def forward(self, tokens):
        triples = tokens.unflatten(1, (-1, 3))
        said = ratio_matching(Rows(7, triples[..., :2], triples[..., 2]))
        zero = (triples[..., :2] == 0).any(2)
        return torch.where(zero[..., None], torch.eye(7)[0].double(), said)


def test_a_match_that_decides_is_found_by_its_place(seed, monkeypatch):
    monkeypatch.setattr(type(seed), "networks", lambda self: iter([("match", Match())]))
    found, rows = tables.match_by_place(seed), seed.matched()
    asked, lucky = (rows.inputs[:, -1] == 0).any(1), rows.answers[:, -1] == 0
    kept = [found["match", f"place {place} wrong: kept"] for place in range(1, 9)]
    assert [each == 1 for each in kept] == [place != seeds.MATCH for place in range(8)]
    assert kept[seeds.MATCH] == pytest.approx((asked & lucky).sum().item() / (~asked | lucky).sum().item())
    assert found["match", "moved with the match, the question without a 0"] == 1
    assert found["match", "moved with the match, the question with a 0"] == 0
    assert found["match", "right, the question with a 0"] == pytest.approx(lucky[asked].double().mean().item())


def test_another_arm_is_measured_on_tasks_and_inputs_of_its_own(seed):
    assert tables.eleven(seed) == {}
    first = untrained_seed(seeds.SEEDS[0])
    found, alone = tables.eleven(first), first.of(seeds.ELEVEN)
    assert alone.split.p == 11 and alone.main == (seeds.ELEVEN,) and found == pytest.approx(tables.eleven(first), nan_ok=True)
    rows, network = alone.unmatched(), first.run(seeds.ELEVEN).network()
    right = network(rows.tokens)[:, -1].argmax(1) == rows.answers[:, -1]
    assert found["11 numbers, unseen tasks", "no match"] == right.double().mean().item()
    assert found["regression, unseen tasks", "no match"] == found["ratio matching, unseen tasks", "one match"] == 1
    assert {("11 numbers, unseen tasks", "15 examples"), ("11 numbers", "place 8 wrong: kept")} <= found.keys()
    assert not any(row.startswith(tuple(seeds.MAIN)) for row, _ in found)


def test_wrong_examples_are_the_match_or_another(seed, monkeypatch):
    seen = []
    answering = tables.answering

    def watched(network):
        answer = answering(network)
        return lambda rows: seen.append(rows) or answer(rows)

    monkeypatch.setattr(tables, "answering", watched)
    found = tables.wrong_examples(seed)
    assert len(found) == 2 * 5 * 2 * 2 and all(0 <= each <= 1 for each in found.values())
    assert found["plain, seen tasks, another wrong", "moved"] == 0  # by no factor
    for i, name in ((0, "the match"), (2, "another")):
        whole, wrong = seen[i], seen[i + 1]
        hit = (whole.answers != wrong.answers).int()
        assert hit.sum(1).tolist() == [1] * 300
        assert (hit.argmax(1) == seeds.MATCH).all() if name == "the match" else not (hit.argmax(1) == seeds.MATCH).any()
        assert not hit[:, -1].any()
    rows = seed.matched()
    network, by = seed.run("plain").network(), torch.randint(1, 7, (300,), generator=seed.generator(3))
    before = network(rows.tokens)[:, -1].argmax(1) == rows.answers[:, -1]
    changed = altered(rows, torch.full_like(by, seeds.MATCH), by)
    after = network(changed.tokens)[:, -1].argmax(1)
    followed = (rows.answers[:, -1] + factor_of(rows)[:, seeds.MATCH] * by) % 7
    expected = (after == followed)[before].double().mean().item()
    assert found["plain, unseen tasks, the match wrong", "moved"] == pytest.approx(expected)


def test_every_head_and_depth_has_its_row(seed):
    reading, rows = tables.attention_by_kind(seed), seed.rows()
    assert {row for row, _ in reading} >= {"four layers, layer 4, head 2", "untrained, layer 1, head 1"}
    asked = (rows.inputs[:, -1] == 0).any(1)
    weights = analysis.read_by_kind(seed.run("plain").network(), rows.at(~asked))["a multiple", "z"]
    assert reading["plain, layer 2, head 1", "a multiple, z, the question without a 0"] == pytest.approx(weights[1, 0].item())
    found = tables.exchanges(seed)
    assert {row for row, _ in found} == {
        f"{arm}, {kind}{at}, depth {n}"
        for arm in ("four layers", "untrained") for kind in ("", "same inputs, ") for at in tables.PLACES for n in range(5)
    }  # fmt: skip
    assert (
        found["four layers, same inputs, the match's x and y, depth 0", "c z"]
        == found["four layers, same inputs, its y, depth 0", "c z"]
    )
    assert all(0 <= each <= 1 for each in found.values())
    heads, combining = tables.heads(seed), tables.combining(seed)
    assert len(heads) == (2 * (4 + 2 + 1 + 4) * 2 + 4) * 2
    for kind in ("one match", "no match"):
        assert heads["one layer, whole", kind] == combining["one layer, unseen tasks", kind]
    # the small networks have two heads in each layer, so without one there is no other
    assert (
        heads["plain, without layer 3, head 1", "no match"] == heads["plain, with no other of layer 3, head 2", "no match"]
    )
    # at the last depth nothing but the question's y is read
    assert found["four layers, the match, depth 4", "c z"] == found["four layers, the match's z, depth 4", "c z"]


def test_waves_stand_beside_their_null(seed):
    found = tables.numbers(seed)
    assert all(0 < each <= 1 for each in found.values())
    rows = {row for row, _ in found}
    assert len(rows) == 5 + (4 + 2 + 1 + 4 + 4) * 2
    eleven = {row for row, _ in tables.numbers(untrained_seed(seeds.SEEDS[0]))} - rows
    assert eleven == {"11 numbers, embedding", *(f"11 numbers, layer {n}, head {h}" for n in range(1, 5) for h in (1, 2))}
    assert ("four layers, embedding", "sums, null") in found and ("four layers, layer 1, head 1", "largest wave") in found


def test_examples_are_grouped_by_what_the_columns_name(seed):
    found = tables.examples(seed)
    assert {row for row, _ in found} == {
        f"{arm}, depth {n}" for arm, network in seed.networks() for n in range(len(network.layers) + 1)
    }
    # the embedding of z alone says the answer, no line, and among multiples no more than among relabelled ones
    assert found["plain, depth 0", "answers"] == pytest.approx(1) and found["plain, depth 0", "lines"] == pytest.approx(
        0, abs=1e-6
    )
    assert all(0 <= each <= 1 + 1e-6 for each in found.values())
