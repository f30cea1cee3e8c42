"""Recipes: every shipped file is made by one of them, from runs that their command lines train; what is made is kept whole."""

import io
import json
import math
import shlex
import shutil
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from enumerated import GOOD, SMALL, TASK, by_hand, every_context, least_leads, planted
from enumerated import asked as problems_of
from recipes import __main__ as command
from recipes import attacked, beginnings, branches, certified, controls, hardened, looked_up, repaired, rounds, runs, starts
from recipes import recipe as module
from recipes.book import RECIPES, TABLE
from recipes.recipe import Recipe, follow, order
from recipes.uneven import READINGS
from small import random_weights

from assign_add_lib.__main__ import main
from assign_add_lib.analysis import delays, uneven
from assign_add_lib.circuits import OV, QK, last_logits
from assign_add_lib.engine import cli
from assign_add_lib.engine.manifest import data_folder, read_manifest, shipped_file
from assign_add_lib.engine.sweep import grid
from assign_add_lib.measures import accuracies
from assign_add_lib.model import Weights
from assign_add_lib.model import run as forward
from assign_add_lib.proof import attack, checker
from assign_add_lib.proof.bounds import Tables
from assign_add_lib.proof.certificate import question_of, sample
from assign_add_lib.proof.checker import check_question, fingerprint
from assign_add_lib.proof.checker import least_leads as bounded
from assign_add_lib.proof.contexts import layouts, problems
from assign_add_lib.proof.everywhere import NUMBER, leads, shares
from assign_add_lib.sampling import evaluation_sets, training_population
from assign_add_lib.systems import SYSTEMS
from assign_add_lib.task import STUDY, Problem, Split
from assign_add_lib.training import load_run


def trained(name, monkeypatch):
    """The configs of the runs that the sweeps of a recipe train, by folder and name."""
    found = {}

    def note(system, parts, folder, **_):
        found.setdefault(folder, {}).update(grid(system.config, parts))

    monkeypatch.setattr(cli, "sweep_runs", note)
    for line in RECIPES[name].steps:
        assert main(shlex.split(line)) == 0
    return found


def test_every_shipped_file_is_made_by_one_recipe_and_every_recipe_makes_files():
    files = [f"data/{file}" for file in read_manifest(data_folder())]
    for file in files:
        assert sum(recipe.covers(file) for recipe in TABLE) == 1, file
    assert len(RECIPES) == len(TABLE)
    for recipe in TABLE:
        assert recipe.training or all(any(module.ROOT.glob(pattern)) for pattern in recipe.makes), recipe.name


def test_needs_are_recipes_and_trainings_need_nothing():
    for recipe in TABLE:
        assert {*recipe.needs} <= RECIPES.keys() and order(recipe, RECIPES)[-1] is recipe
        assert not (recipe.training and recipe.needs)
        assert recipe.minutes >= 0 and recipe.steps
    assert [each.name for each in order(RECIPES["histories"], RECIPES)] == ["train-study", "histories"]


SHELVES = {
    "runs": ("train-study", "runs", 10),
    "reasoning-runs": ("train-reasoning", "companions/reasoning", 24),
    "hypernetwork-runs": ("train-hypernetwork", "companions/hypernetwork", 36),
    "rules-runs": ("train-rules", "companions/rules", 20),
}


def shelved(recipe):
    """The patterns of the runs that a recipe ships, and the steps of each call."""
    return [(step.args[1], step.args[2] if len(step.args) > 2 else None) for step in recipe.steps]


@pytest.mark.parametrize("name", SHELVES)
def test_the_shipped_runs_are_those_that_the_sweeps_train(name, monkeypatch):
    """By name and config; of those that are shipped bare no weights lie there, of the others as many as are asked for."""
    training, shelf, count = SHELVES[name]
    system = SYSTEMS[RECIPES[name].steps[0].args[0]]
    configs = {f"{folder}/{run}": each for folder, runs in trained(training, monkeypatch).items() for run, each in runs.items()}
    found = {}
    for patterns, steps in shelved(RECIPES[name]):
        for run, config in configs.items():
            if any(fnmatchcase(run.removeprefix("runs/"), pattern) for pattern in patterns):
                assert run not in found
                found[run] = system.run.open(run.rpartition("/")[2])
                assert found[run].config == config
                assert found[run].steps == ([config.steps] if steps is None else sorted(steps))
    assert len(found) == count == len(list((data_folder() / shelf).iterdir()))


def test_the_shipped_worlds_are_those_that_are_trained():
    (line,) = RECIPES["train-laboratory"].steps
    names, found = [f"{world}-{seed}" for world in line.split()[1:-2] for seed in range(3)], []
    for patterns, steps in shelved(RECIPES["laboratory-runs"]):
        for name in names:
            if any(fnmatchcase(f"laboratory/{name}", pattern) for pattern in patterns):
                run = SYSTEMS["laboratory"].run.open(name)
                assert run.steps == ([run.config.steps] if steps is None else [])
                found.append(name)
    assert sorted(found) == sorted(names) == sorted(path.name for path in (data_folder() / "laboratory").iterdir())


def test_the_sweeps_are_joined_as_they_are_shipped(tmp_path, monkeypatch):
    """The shipped tables, from what the sweeps would leave in a folder each: their rows, in the order of the seeds."""
    monkeypatch.setattr(runs, "ROOT", tmp_path)
    parts = [f"sweeps/{each}.csv" for each in ("train_fraction", "r", "beside")]
    rows = pd.concat(pd.read_csv(shipped_file(each), dtype=str, keep_default_na=False) for each in parts)
    for folder, configs in trained("train-grids", monkeypatch).items():
        keys = {(config.seed, config.train_fraction, config.r) for config in configs.values()}
        columns = rows["seed"].astype(int), rows["train_fraction"].astype(float), rows["r"].astype(float)
        mine = [key in keys for key in zip(*columns)]
        assert sum(mine) == len(keys)
        (tmp_path / folder).mkdir(parents=True)
        rows[mine].sort_values("seed", kind="stable").to_csv(tmp_path / folder / "table.csv", index=False, lineterminator="\n")
    made = runs.sweeps()
    assert made == {f"data/{each}": shipped_file(each).read_text() for each in parts}


@pytest.mark.parametrize(
    "make, keys",
    [
        (branches.of_seed_42, ["branch", "batches"]),
        (branches.aside, ["draw", "share"]),
        (branches.of_other_seeds, ["seed", "branch"]),
        (branches.imposed, ["seed", "branch"]),
        (branches.of_worlds, ["run", "branch"]),
    ],
)
def test_branches_are_those_of_the_shipped_tables_in_their_order(make, keys, tmp_path, monkeypatch):
    """And at the step at which they leave their runs."""
    places = dict.fromkeys([*delays.PLACES, "k itself", "l itself", *branches.WORLD_COLUMNS], 0.5)

    def branched(start, *_):
        return pd.DataFrame([{"step": start, **places}])

    for module_of_it in (branches.delays, branches.laboratory):
        monkeypatch.setattr(module_of_it, "branched", branched)
    monkeypatch.setattr(branches, "FOLDER", tmp_path)
    monkeypatch.setattr(branches, "ROOT", tmp_path)
    monkeypatch.setattr(branches, "load_world_run", lambda folder: 0)
    monkeypatch.setattr(branches, "state_of", lambda seed, start: start)
    with joblib.parallel_config("sequential"):
        ((file, text),) = make().items()
    made, shipped = pd.read_csv(io.StringIO(text)), pd.read_csv(shipped_file(file.removeprefix("data/")))
    assert list(made.columns) == list(shipped.columns)
    assert made[[*keys, "step"]].equals(shipped.drop_duplicates(keys)[[*keys, "step"]].reset_index(drop=True))


def test_notes_are_handed_over_to_whom_they_belong():
    w, tokens = Weights.init(), training_population(Split.draw(STUDY, 0, 0.7)).sample(20, torch.Generator().manual_seed(0)).tokens
    whole, bare = (forward(w, tokens, alter).attention(1) for alter in (starts.imposed(tokens), {}))
    for which, rows in (("both", slice(16)), ("=", slice(15, 16)), ("numbers", slice(12)), ("unchanged", slice(0))):
        told = bare.clone()
        told[:, rows] = whole[:, rows]
        assert torch.equal(forward(w, tokens, branches.notes(tokens, which)).attention(1), told)


def shipped_row(file, **of):
    """The row of a shipped table with these values."""
    table = pd.read_csv(shipped_file(file))
    return table.set_index(list(of)).loc[tuple(of.values())]


def test_a_small_adder_of_the_shipped_table_trained_again():
    found = pd.Series(beginnings.adder(29, 0, 1)).drop(["modulus", "decay", "seed"])
    shipped = shipped_row("history/small-adders.csv", modulus=29, decay=1, seed=0)
    assert list(found.index) == list(shipped.index)
    assert ((found - shipped).abs() <= [1, 0, 3, 10]).all()  # as evidence 3 tells them


def test_a_live_run_of_the_shipped_table_trained_again():
    found, shipped = pd.Series(beginnings.live(42, [200])[0]), shipped_row("history/beginning.csv", seed=42, step=200)
    assert list(found.index[2:]) == list(shipped.index)
    assert ((found[2:] - shipped).abs() <= [1, 4, 1e-3, 0.3, 4, 1e-3]).all()


def test_a_module_of_the_shipped_table_trained_again():
    run = load_run("seed-42")
    found = uneven.tally(uneven.module_trained_on(run, 2500, READINGS["unevenly"]), run.split)
    shipped = shipped_row("history/readings.csv", run="seed-42", reading="unevenly").filter(like="wrong")
    assert [*shipped.index] == [name for name in found if name.endswith("wrong")]
    assert all(abs(found[name] - value) <= 1 for name, value in shipped.items())


def test_a_row_of_what_heads_are_told_and_of_last_rounds_measured_again():
    found = pd.DataFrame(rounds.told_head("discrete", 0, shifts=1)).set_index(["shift", "adds", "told"])
    shipped = pd.read_csv(shipped_file("companions/told-heads.csv")).query("arm == 'discrete' and seed == 0")
    shipped = shipped.set_index(["shift", "adds", "told"])[found.columns.tolist()].drop("random", level="shift")
    pd.testing.assert_frame_equal(found.drop("random", level="shift"), shipped, atol=0.01)
    right, graphs = rounds.last_rounds_right("right-starts", 0, 2)
    last = shipped_row("companions/last-rounds.csv", arm="right-starts", seed=0, rounds=2)
    assert graphs == last["graphs"] and right == pytest.approx(last["right"], abs=0.011)


@torch.inference_mode()
def test_what_an_attack_found_measured_again():
    """Of one run and kind the margins and all that is told of the broken questions; of some, the search."""
    every = pd.read_csv(shipped_file("proof/found.csv.bz2"))
    assert len(every) == 11 * 4 * attacked.SIZE and [*every["run"].unique()] == [*attacked.networks()]
    for row in every["tokens"]:
        Problem.from_tokens(torch.tensor([*map(int, row.split())]))
    weights, kind = load_run("seed-6").weights(), "2-var"
    shipped = pd.read_csv(shipped_file("proof/attacked.csv")).set_index(["run", "kind"]).loc[("seed-6", kind)]
    rows = every.query("run == 'seed-6' and kind == @kind")
    tokens, margins = torch.tensor([[*map(int, row.split())] for row in rows["tokens"]]), torch.tensor([*rows["margin"]])
    questions = attack.draw_questions(STUDY, kind, attacked.SIZE, attacked.SEED)
    assert torch.equal(tokens.gather(1, STUDY.value_positions(tokens)), questions.numbers)
    assert torch.equal(tokens[:, 13:15] - STUDY.first_variable, questions.asked)
    torch.testing.assert_close(attack.margin_of(weights, tokens, STUDY.right_answers(tokens)), margins.float(), atol=2e-3, rtol=0)
    wrong = margins < 0
    assert wrong.sum() == shipped["broken"] == round(shipped["found"] * attacked.SIZE) and not shipped["as bad"]
    again = attacked.shared(weights, questions.at(wrong), tokens[wrong])
    assert again == pytest.approx({name: float(shipped[name]) for name in again}, abs=0.02)
    few = torch.arange(16)
    once_more = attack.attack(weights, questions.at(few), starts=2).margins
    assert (once_more <= margins[few] + 1).double().mean() >= 0.75 and (once_more - margins[few]).mean().abs() < 1


@torch.inference_mode()
def test_controls_of_an_attack_measured_again():
    """Of one run and kind, problem by problem; and of some questions the search one number at a time."""
    name, kind = "seed-42", "1-var left"
    run, (questions, tokens, margins) = load_run(name), controls.problems(name, kind)
    shipped, weights, wrong = shipped_row("proof/controls.csv", run=name, kind=kind), run.weights(), margins < 0
    pairs = [(x, y, broken) for (x, y), broken in zip(questions.numbers.tolist(), wrong.tolist())]
    seen = [bool(run.split.train_pairs[x, y]) for x, y, _ in pairs]
    assert (shipped["training"], shipped["held-out"]) == (sum(seen), len(seen) - sum(seen))
    assert shipped["training broken"] == sum(broken for (_, _, broken), there in zip(pairs, seen) if there)
    assert shipped["double broken"] == sum(broken for x, y, broken in pairs if x == y)
    alone, lessened, counts = [], [], []
    for ids in tokens[wrong]:
        problem = Problem.from_tokens(ids)
        numbers = [number for variable, number in problem.assignments if variable != problem.left]
        counts.append(max(map(numbers.count, numbers)))
        without, place = torch.full_like(ids, STUDY.pad), ids.tolist().index(STUDY.token(problem.left))
        without[12:], without[place : place + 2] = ids[12:], ids[place : place + 2]
        alone.append(forward(weights, without[None]).answers.item() == problem.answer)
        number = max(numbers, key=lambda each: (numbers.count(each), -each))
        copies = torch.tensor([i < 12 and i != place + 1 and token == number for i, token in enumerate(ids.tolist())])
        struck = {"blocks.1.attn.hook_pattern": lambda read, copies=copies: read.masked_fill(copies, 0)}
        lessened.append(forward(weights, ids[None], struck).answers.item() == problem.answer)
    assert sum(alone) == shipped["right alone"]
    assert sum(lessened) / len(lessened) == pytest.approx(shipped["right, copies struck"], abs=0.03)
    answers = STUDY.right_answers(tokens[wrong])
    free, _, copies = attacked.repeated(STUDY, tokens[wrong])
    assert copies.sum(1).tolist() == counts and not copies[~free].any()
    again = controls.intervened(weights, tokens[wrong], answers) | controls.dose(weights, tokens[wrong], answers)
    assert again == pytest.approx({each: float(shipped[each]) for each in again}, abs=0.05, nan_ok=True)
    assert again["read of others"] < again["read of copies"] and again["lead_0"] > 0 > again["lead_5"]
    once_more = controls.searched(weights, questions, margins)
    close = {each: pytest.approx(float(shipped[each]), abs=1 if "lead" in each else 0.07) for each in once_more}
    assert once_more == close


@torch.inference_mode()
def test_blind_search_starts_where_the_attack_does():
    """Its letters, and its first move, each number in all free places, one problem after the other; and shares measured again."""
    weights, kind = load_run("seed-42").weights(), "1-var right"
    questions = attack.draw_questions(STUDY, kind, 4, 5)
    start = controls.first_start(weights, questions)
    moves = controls.first_move(weights, questions, start)
    begins, moved = (attack.tokens_of(STUDY, each, questions) for each in (start, moves))
    assert torch.equal(begins, attack.attack(weights, questions, starts=1, sweeps=0).tokens)
    for before, after in zip(begins, moved):
        problem = Problem.from_tokens(before)
        tried = [before]
        for n in range(59):
            values = tuple((name, m if name == problem.right else n) for name, m in problem.assignments)
            tried.append(replace(problem, assignments=values).tokens())
        tried = torch.stack(tried)
        assert torch.equal(after, tried[attack.margin_of(weights, tried, STUDY.right_answers(tried)).argmin()])
    shipped, again = shipped_row("proof/controls.csv", run="seed-42", kind=kind), controls.begun("seed-42", kind)
    ways = [each for each in again if each not in ("run", "kind")]
    assert {each: again[each] for each in ways} == pytest.approx({each: float(shipped[each]) for each in ways}, abs=0.1)


@torch.inference_mode()
def test_plain_sums_alone_counted_again():
    """Those of one run that are wrong without any assignment, one problem after the other."""
    shipped, run = shipped_row("proof/controls.csv", run="seed-3", kind="0-var"), load_run("seed-3")
    every = [Problem((), x, y) for x in range(59) for y in range(59)]
    said = forward(run.weights(), torch.stack([each.tokens() for each in every])).answers.tolist()
    wrong = [each for each, answer in zip(every, said) if answer != each.answer]
    assert sum(each.left == each.right for each in wrong) == shipped["alone double wrong"]
    seen = sum(bool(run.split.train_pairs[each.left, each.right]) for each in wrong)
    assert (seen, len(wrong) - seen) == (shipped["alone training wrong"], shipped["alone held-out wrong"])


@torch.inference_mode()
def test_a_repair_measured_again():
    shipped = shipped_row("proof/repaired.csv", run="seed-6", repair="numbers alike")
    weights = repaired.REPAIRS["numbers alike"](load_run("seed-6").weights())
    again = accuracies(weights, evaluation_sets(load_run("seed-6").split))
    assert again == pytest.approx({name: float(shipped[name]) for name in again}, abs=1e-3)
    margins = repaired.found(weights, repaired.MEASURE, repaired.SIZE, ["2-var"])["2-var"]
    assert (margins < 0).double().mean() == pytest.approx(float(shipped["broken 2-var"]), abs=0.05)


def holding(asked, others):
    """All contexts of a tiny world that assign these numbers to these names, and so many others."""
    found = every_context(TASK)
    found = found[(found >= TASK.first_variable).sum(1) == len(asked) + others]
    for name, number in asked.items():
        found = found[((found[:, :-1] == TASK.first_variable + name) & (found[:, 1:] == number)).any(1)]
    return found


@pytest.mark.parametrize("asked", [{}, {1: 3}, {0: 2, 2: 1}], ids=str)
def test_what_is_tried_and_proved_of_look_ups_holds_in_every_context(asked):
    """Of the network by hand, and of one that looks out for the number 4 at position 1."""
    names = {TASK.variable_names[name]: number for name, number in asked.items()}
    operands = [*names, 0, 2][:2]
    question = question_of(str(Problem(tuple(names.items()), *operands, TASK)), TASK)
    tokens, answer, wrong = [TASK.token(each) for each in operands], question["answer"], []
    for others in (0, 1):
        contexts = certified.written_out(TASK, asked, certified.sized(TASK, len(asked) + others))
        assert sorted(contexts.tolist()) == sorted(holding(asked, others).tolist())
        for weights in (by_hand(), planted()):
            problems = problems_of(contexts, TASK, *tokens)
            truth = np.delete(least_leads(weights, problems, answer), answer).min()
            assert certified.tried(weights, contexts, tokens, answer).min() == pytest.approx(truth, abs=1e-4)
            exact = looked_up.by_letter(weights, question, others)
            assert exact.min(axis=None) == pytest.approx(truth, abs=1e-9)
            for place, letter in product(range(len(exact)), exact if others else ()):
                stand = (problems[:, [*exact.index[place]]] >= TASK.first_variable).all(1)
                there = stand & (problems == TASK.token(letter)).any(1)
                least = np.delete(least_leads(weights, problems[there], answer), answer).min()
                assert exact[letter].iloc[place] == pytest.approx(least, abs=1e-9)
            found = looked_up.proved(weights, question, exact)
            assert found <= truth + 1e-9 if truth > 0 else math.isnan(found)
            wrong.append(math.isnan(found))
    assert wrong[::2] == [False, False] and wrong[3]


def test_what_is_proved_beside_some_letters_lies_below_what_they_show():
    """Of a random network, of which its own answer is asked: more is proved beside `c` than is so beside `b`."""
    weights, text = random_weights(TASK, 16, 16, 32, 0, 0.2), "a=0, 1+a=?"
    contexts = holding({0: 0}, 1)
    problems = problems_of(contexts, TASK, 1, TASK.token("a"))
    (own,) = last_logits(weights, problems).argmax(1).unique().tolist()
    question, found = question_of(text, TASK) | {"answer": own}, {}
    exact = looked_up.by_letter(weights, question, 1)
    for letters in (["b"], ["c"], ["c", "b"]):
        held = problems[torch.isin(contexts, torch.tensor([*map(TASK.token, letters)])).any(1)]
        truth = np.delete(least_leads(weights, held, own), own).min()
        assert exact[letters].min(axis=None) == pytest.approx(truth, abs=1e-9)
        found["".join(letters)] = looked_up.proved(weights, question, exact, letters), truth
        assert len(held) == 60 * len(letters) and 0 <= truth - found["".join(letters)][0] < 0.01
    assert found["b"][1] < found["c"][0]
    assert math.isnan(looked_up.proved(weights, question, exact - 100, ["b"]))


def test_a_network_among_some_letters_answers_as_before():
    weights, letters = random_weights(TASK, 16, 16, 32, 0, 0.3), ["c", "a"]
    fewer, question = looked_up.among(weights, question_of("c=3, c+1=?", TASK), letters)
    assert question == {"left": "a", "right": 1, "asked": {"a": 3}, "answer": 4} and fewer.task.n_variables == 2
    there = "a=3, b=4, a+1=?"
    here = there.replace("a", "C").replace("b", "a")
    asked = Problem.parse(there, fewer.task).tokens()[None], Problem.parse(here, TASK).tokens()[None]
    torch.testing.assert_close(last_logits(fewer, asked[0]), last_logits(weights, asked[1]))


def test_letters_are_sorted_by_the_score_that_their_question_gives_them():
    weights = load_run("seed-42").weights()
    questions = attack.draw_questions(STUDY, "1-var left", looked_up.DRAWN, looked_up.SEED).at(torch.tensor([0]))
    name, operand = questions.asked[0, 0], questions.numbers[0, 1]
    moved, places = weights.W_E @ OV(weights, 1), weights.W_pos @ OV(weights, 1)
    query = weights.W_E[STUDY.equal] + weights.W_pos[STUDY.last] + (places[STUDY.left] + places[STUDY.right]) / 2
    query = query + (moved[STUDY.first_variable + name] + moved[operand]) / 2
    scores = {each: query @ QK(weights, 2) @ moved[STUDY.token(each)] for each in STUDY.variable_names}
    del scores[STUDY.variable_names[name]]
    order = sorted(scores, key=scores.get, reverse=True)
    assert looked_up.sets_of(weights, questions) == {
        "all": order,
        "upper": order[:5],
        "lower": order[6:],
        "lowest": order[8:],
    }


def test_the_worst_of_two_is_a_context_of_two_and_worse_than_one():
    one = certified.written_out(TASK, {}, [(2,)])
    found = certified.worst_of_two(planted(), (0, 2), one[0])
    assert (found >= TASK.first_variable).sum() == 2 and found[1] == 4
    assert certified.tried(planted(), found[None], (0, 2), 2) < 0


def test_rungs_of_the_ladder_lead_up_and_look_at_what_they_say():
    rows = list(certified.rungs(Tables(GOOD), [(1, 2), (0, 0)], (1, 2, 1)))
    assert [(row["rung"], row["most"], row["layouts"], row["of"]) for row in rows] == [
        ("anything", 2, 5, 5),
        ("tables", 2, 5, 5),
        *(("sums", most, seen, of) for most, seen, of in ((0, 1, 1), (1, 3, 4), (2, 4, 5))),
        *(("sums, cut in 2", most, seen, of) for most, seen, of in ((1, 3, 4), (2, 4, 5))),
    ]
    assert (rows[0]["leads"] < rows[1]["leads"]).all() and all((rows[1]["leads"] < row["leads"] + 0.01).all() for row in rows[1:])
    assert all((row["leads"] > 0).all() and row["seconds"] >= 0 for row in rows[1:])


def test_a_rung_of_the_shipped_ladder_again():
    ladder = pd.read_csv(shipped_file("proof/ladder.csv"))
    assert [*ladder["run"].unique()] == ["by hand", "seed-42", "seed-8"] and ladder["lead"].notna().all()
    weights = load_run("seed-42").weights()
    tables, rows = Tables(weights), ladder.query("run == 'seed-42'").set_index(["rung", "most"])
    pairs = sample(STUDY, 4)
    assert [*zip(rows.loc[("tables", 6), "left"], rows.loc[("tables", 6), "right"])] == pairs
    found = leads(tables, shares(tables, NUMBER, NUMBER), pairs)
    np.testing.assert_allclose(rows.loc[("tables", 6), "lead"], found, atol=0.01)
    found = certified.in_layout(tables, (), range(STUDY.n_numbers), 1, pairs)
    np.testing.assert_allclose(rows.loc[("sums", 0), "lead"], found, atol=0.003)
    for _, each in ladder[ladder["found"].notna()].iterrows():
        assert each["lead"] <= each["found"] + 1e-3 or each["layouts"] < each["of"]


def test_bounds_of_one_sum_lie_below_what_is_found_in_a_tiny_world(monkeypatch):
    monkeypatch.setattr(certified, "network", lambda name: GOOD)
    table = pd.read_csv(io.StringIO(certified.one_sum((1, 2))["data/proof/one-sum.csv"])).set_index("run")
    assert [*table.index] == ["by hand", "seed-42"] and (table["most"] == 2).all()
    bounds = table[["anything", "tables", "waves", "together"]]
    assert (bounds.max(axis=1) <= table["found"] + 1e-3).all() and (table["found"] <= table["found two"] + 1e-3).all()
    assert (table["anything"] < table["waves"]).all() and (table["waves"] <= table["tables"]).all()


def test_what_is_proved_after_training_on_lies_below_every_context(monkeypatch):
    given = dict(zip(hardened.HARDENED, (GOOD, planted(SMALL, token=2))))
    monkeypatch.setattr(hardened, "trained_on", lambda name, repair: given[repair])
    table = hardened.beside_anything("seed-42", size=4)
    assert (table["most"] == SMALL.slots).all() and table["full, ordinary steps"].min() < 0
    contexts = {"lead": every_context(SMALL), "full, ordinary steps": every_context(SMALL, frozenset({0, 2}))}
    for _, row in table.iterrows():
        pair = int(row["left"]), int(row["right"])
        for (column, context), weights in zip(contexts.items(), given.values()):
            leads = least_leads(weights, problems_of(context, SMALL, *pair), sum(pair) % SMALL.n_numbers)
            assert row[column] <= np.delete(leads, sum(pair) % SMALL.n_numbers).min() + 1e-3
    (row,) = hardened.counted("seed-42", "trained on found contexts", size=4, most=1).to_dict("records")
    assert row == {"run": "seed-42", "repair": "trained on found contexts", "sums": 4, "at most 0": 4, "at most 1": 4}


@pytest.mark.parametrize("starts", [(1,), (0, 2)])
def test_all_contexts_of_a_box_are_tried(starts):
    contexts = certified.all_in(TASK, starts).tolist()
    assert sorted(contexts) == sorted(every_context(TASK, frozenset(starts)).tolist())
    crowds = {each for each in map(tuple, contexts) if len({each[start + 1] for start in starts}) == 1}
    assert {tuple(each) for each in certified.all_in(TASK, starts, crowds=True).tolist()} == crowds


def test_the_network_by_hand_is_proved_right_on_every_problem():
    table = pd.read_csv(shipped_file("proof/by-hand.csv"), dtype={"problems": object}).set_index("kind")
    assert [int(each) for each in table["problems"]] == [problems(STUDY, kind) for kind in table.index]
    assert sum(map(int, table["problems"])) == 124_270_395_889_734_022_153 and (table["lead"] > 16).all()
    tables = Tables(certified.network("by hand"))
    read, shipped = shares(tables, NUMBER, NUMBER), table.loc["0-var"]
    assert (*read.few, *(-each for each in read.many), -read.others) >= (
        *shipped[["few left", "few right"]],
        *-shipped[["many left", "many right"]],
        -shipped["others"],
    )
    assert min(leads(tables, read, [(0, each) for each in range(STUDY.n_numbers)])) >= shipped["lead"]


@torch.inference_mode()
def test_look_ups_proved_again():
    table = pd.read_csv(shipped_file("proof/lookups.csv"))
    assert (table["most"] <= table["tried"]).all() and table["most"].min() >= -1
    for others in (0, 1):
        assert (table[f"lead {others}"].notna() == (table["most"] >= others)).all()
        assert (table[f"lead {others}"].dropna() > 0).all()
    done = table["lead 1"].notna()
    assert (table["lead 1"] <= table["exact one"])[done].all()
    for part, whole in looked_up.PARTS.items():
        lead, wider = table[f"lead {part}"], table["lead 1" if whole == "all" else f"lead {whole}"]
        assert (lead.isna() | (0 < lead) & (lead <= table[f"exact {part}"])).all()
        assert (lead == wider)[wider.notna()].all()
    row = table.query("run == 'seed-42' and kind == '1-var left'").iloc[0]
    weights, question = load_run("seed-42").weights(), question_of(row["question"], STUDY)
    alone, one = (looked_up.by_letter(weights, question, others) for others in (0, 1))
    assert looked_up.proved(weights, question, alone) == pytest.approx(row["lead 0"], abs=0.003)
    assert one.shape == (45, 11)
    assert min(alone.min(axis=None), one.min(axis=None)) == pytest.approx(row["exact one"], abs=0.002)
    letters = row["letters"].split()
    for part, some in (("upper", letters[:5]), ("lower", letters[6:]), ("lowest", letters[8:])):
        assert one[some].min(axis=None) == pytest.approx(row[f"exact {part}"], abs=0.002)


def test_the_shipped_certificate_of_look_ups_holds():
    file, weights = shipped_file("proof/look-ups-42.json"), load_run("seed-42").weights()
    given, table = json.loads(file.read_text()), pd.read_csv(shipped_file("proof/lookups.csv")).query("run == 'seed-42'")
    found = {checker.said(each): each for each in given["questions"]}
    assert len(found) == len(table) == 3
    for _, row in table.iterrows():
        each = found[checker.said(question := question_of(row["question"], STUDY))]
        assert question.items() <= each.items() and each["most"] == row["most"]
        assert min(each["bounds"]) == pytest.approx(row["lead 0"], abs=0.003)
    assert "in each of the 11 contexts of what is asked for and at most 0 other assignments" in checker.check(file, weights)


def test_the_shipped_certificate_says_what_the_table_says_and_some_of_it_is_checked():
    given, table = json.loads(shipped_file("proof/seed-42.json").read_text()), pd.read_csv(shipped_file("proof/certified.csv"))
    weights, rows = load_run("seed-42").weights(), table.query("run == 'seed-42'")
    assert given["weights"] == fingerprint(weights) and given["layouts"] == [[*each] for each in layouts(STUDY, 2)]
    asked = {(each["left"], each["right"]): each for each in given["questions"]}
    assert [*zip(rows["left"], rows["right"])] == sample(STUDY, len(rows)) and asked.keys() == {*sample(STUDY, len(rows))}
    where, tables = [tuple(each) for each in given["layouts"]], Tables(weights)
    for _, row in rows.iterrows():
        each = asked[row["left"], row["right"]]
        check_question(STUDY, where, each)
        assert (each["most"], sum(cut > 1 for cut in each["cut"])) == (row["most"], row["cut"])
        assert min(each["bounds"], default=math.nan) == pytest.approx(row["lead"], nan_ok=True)
    first = [asked[pair] for pair in sample(STUDY, 2)]
    for place in (0, 7, 30):
        found = bounded(tables, where[place], given["order"], first[0]["cut"][place], first[:1])
        assert found.min() == pytest.approx(first[0]["bounds"][place], abs=0.003)


def test_no_lead_that_is_proved_of_a_plain_sum_is_above_one_that_is_found():
    table = pd.read_csv(shipped_file("proof/certified.csv"))
    assert (table["found two"] <= table["exact one"]).all()
    for most, column in ((1, "exact one"), (2, "found two")):
        proved = table[table["most"] == most]
        assert (proved["lead"] <= proved[column]).all()
    assert (table["exact one"] > 0)[table["most"] >= 1].all() and (table["found two"] > 0)[table["most"] == 2].all()


@pytest.fixture
def checkout(tmp_path, own_data, monkeypatch):
    """A checkout of our own, in which nothing is shipped and no run is trained."""
    for each in (module, runs):
        monkeypatch.setattr(each, "ROOT", tmp_path)
    return tmp_path


def test_a_shipped_run_is_replaced_by_a_finished_one_alone(checkout, own_data, finished, half):
    shutil.copytree(finished, checkout / "runs/seed-3")
    runs.ship("study", ["seed-*"])
    weights = "runs/seed-3/checkpoints/step-0000{}.safetensors"
    assert [*read_manifest(own_data)] == [weights.format(80), "runs/seed-3/config.json", "runs/seed-3/metrics.csv"]
    runs.ship("study", ["seed-*"], [40])
    assert [*read_manifest(own_data)] == [weights.format(40), "runs/seed-3/config.json", "runs/seed-3/metrics.csv"]
    assert SYSTEMS["study"].run.open("seed-3").steps == [40]
    shutil.copytree(half, checkout / "runs/seed-4")
    before = read_manifest(own_data)
    with pytest.raises(ValueError, match="seed-4 is not finished"):
        runs.ship("study", ["seed-*"])
    assert read_manifest(own_data) == before and [path.name for path in (own_data / "runs").iterdir()] == ["seed-3"]
    assert not list(own_data.glob(".*"))
    with pytest.raises(FileNotFoundError, match="there is no run like runs/none-"):
        runs.ship("study", ["none-*"])


def test_a_recipe_is_followed_after_the_trainings_that_it_needs(checkout, own_data, monkeypatch):
    def make(*parts):
        return {"data/y.csv": f"{parts}", "assets/new.png": b"png"}

    done = []
    monkeypatch.setattr(module, "run_command", done.append)
    some = Recipe("train", ["runs/x"], [], 1, ["sweep runs/x"])
    shipped = Recipe("shipped", ["data/x"], ["train"], 1, ["never followed"])
    table = Recipe("table", ["data/y.csv"], ["train", "shipped"], 1, [make], parts=True)
    recipes = {each.name: each for each in (some, shipped, table)}
    follow(table, recipes)
    assert done == ["sweep runs/x"] and shipped_file("y.csv").read_text() == "()"
    assert (checkout / "assets/new.png").read_bytes() == b"png" and [*read_manifest(own_data)] == ["y.csv"]
    follow(table, recipes, ["few"])
    assert done == ["sweep runs/x"] and shipped_file("y.csv").read_text() == "('few',)"
    with pytest.raises(ValueError, match="train is made whole"):
        follow(some, recipes, ["few"])


@pytest.mark.parametrize(
    "argv, said",
    [
        (["scorebored"], "there is no recipe scorebored; there are: train-study, "),
        (["causes", "one"], "causes is made whole; it takes no parts"),
        (["rules", "one"], "there is no table one of rules; there are: "),
        (["laboratory", "mars"], "there is no world mars; there are: "),
    ],
)
def test_what_cannot_be_remade_is_one_line(argv, said, capsys):
    assert command.main(argv) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"error: {said}") and err.count("\n") == 1 and not out


def test_without_a_name_all_are_listed(capsys):
    assert command.main([]) == 0
    out = capsys.readouterr().out
    for recipe in TABLE:
        assert f"{recipe.name}  (" in out and all(pattern in out for pattern in recipe.makes)


def test_long_work_is_kept_and_not_done_twice(tmp_path):
    table = pd.DataFrame({"step": [0, 1], "value": [0.1, 1 / 3]})
    made = module.once(tmp_path / "folder/part.csv", lambda: table)
    again = module.once(tmp_path / "folder/part.csv", lambda: pytest.fail("made again"))
    pd.testing.assert_frame_equal(made, table, check_exact=True)
    pd.testing.assert_frame_equal(again, made)


def test_a_command_that_fails_ends_the_recipe(capfd, monkeypatch):
    with pytest.raises(SystemExit) as ended:
        follow(Recipe("bad", [], [], 0, ["solve nonsense", partial(pytest.fail, "went on")]), {})
    assert ended.value.code == 2 and "error: " in capfd.readouterr().err
