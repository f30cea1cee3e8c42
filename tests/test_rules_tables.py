"""The tables of chapter 16: their entries against their words, and the shipped ones made again from the shipped runs."""

import pandas as pd
import pytest
import torch
from test_rules_solvers import not_struck_out

from assign_add_lib.companions.rules import analysis, tables
from assign_add_lib.companions.rules.data import Rows
from assign_add_lib.companions.rules.model import Network
from assign_add_lib.companions.rules.seeds import ELEVEN, MATCH, ROWS, RuleSeed
from assign_add_lib.companions.rules.solvers import ratio_matching, regression
from assign_add_lib.companions.rules.training import RuleRun


def table(measure, seed, *keys):
    """The rows of a measure, by some of their columns."""
    return {tuple(row[key] for key in keys): row for row in measure(seed)}


def asking(**networks):
    """A shipped seed of whose rows other networks are asked."""
    seed = RuleSeed(1)
    seed.networks = networks
    return seed


def triples_of(tokens):
    """Tokens without the last answer as triples x y z, the last z a 0."""
    return torch.nn.functional.pad(tokens, (0, 1)).unflatten(1, (-1, 3))


class TwoLatest(torch.nn.Module):
    """A network that says what the two latest examples of different directions say: regression on the examples in reverse."""

    def forward(self, tokens, asked):
        triples = triples_of(tokens)
        turned = torch.cat([triples[:, :-1].flip(1), triples[:, -1:]], 1)
        return regression(Rows(7, turned[..., :2], turned[..., 2]))


class Match(torch.nn.Module):
    """A network that says what the match says, and 0 where the question has a 0."""

    def forward(self, tokens, asked):
        triples = triples_of(tokens)
        said = ratio_matching(Rows(7, triples[..., :2], triples[..., 2]))
        zero = (triples[..., :2] == 0).any(2)
        return torch.where(zero[..., None], torch.eye(7)[0].double(), said)


def test_examples_that_decide_are_found_by_their_places():
    seed = asking(latest=TwoLatest())
    by_place = table(tables.by_place, seed, "match", "place")
    kept = [by_place["no match", place]["kept"] for place in range(1, 9)]
    assert min(kept[:5]) > 0.95 and max(kept[6:]) < 0.3  # not 1 and 0: the last two, or three, may lie on one line
    for found in tables.latest_of_another(seed):
        assert found["as these say"] == 1 and found["as the rest say"] == 0
    assert {row["right"] for row in tables.by_latest(seed)} == {1}
    assert table(tables.by_fixed, seed, "latest")["fixed",]["right"] == 1
    moves = table(tables.by_place_of_match, seed, "place")
    assert moves[8,]["moved"] == 1 and moves[1,]["moved"] < 0.05 < 0.95 < moves[1,]["kept"]


def test_a_match_that_decides_is_found_by_its_place():
    seed = asking(match=Match())
    rows, kept = seed.matched(), table(tables.by_place, seed, "match", "place")
    asked, lucky = (rows.inputs[:, -1] == 0).any(1), rows.answers[:, -1] == 0
    assert [kept["one match", place]["kept"] == 1 for place in range(1, 9)] == [place != MATCH for place in range(8)]
    found = table(tables.by_question, seed, "match", "question")
    assert found["one match", "without a 0"]["moved"] == 1 and found["one match", "with a 0"]["moved"] == 0
    assert found["one match", "with a 0"]["right"] == pytest.approx(lucky[asked].double().mean().item())
    wrong = table(tables.wrong_example, seed, "set", "wrong")["unseen tasks", "the match"]
    assert wrong["kept"] == pytest.approx((asked & lucky).sum().item() / (~asked | lucky).sum().item())


def test_answers_are_set_beside_those_that_striking_out_leaves():
    seed = asking(match=Match())
    found, rows = table(tables.striking_out, seed, "lines")[4,], seed.unmatched(lines=4)
    fair, said = [], analysis.said_to(seed.answering["match"], rows).tolist()
    for (*examples, question), answers, answer in zip(rows.inputs.tolist(), rows.answers.tolist(), said):
        known = list(zip(examples, answers))
        left = not_struck_out(7, known, question, 0) & not_struck_out(7, known, question, 1) or set(range(7))
        if answers[-1] in left:
            fair.append((answer in left, len(left), answer == answers[-1]))
    fair = pd.DataFrame(fair, columns=["left", "size", "right"])
    inside = fair[fair["left"]]
    shares = {"left": fair["left"], "left, by a guess": fair["size"] / 7, "right of these": inside["right"]}
    shares["right of these, by a guess"] = 1 / inside["size"]
    assert {name: found[name] for name in shares} == pytest.approx({name: each.mean() for name, each in shares.items()})


def test_several_wrong_examples_are_outvoted_by_the_best_fit_alone():
    found = table(tables.several_wrong, asking(), "arm", "match", "wrong")
    shares = {arm: [found[arm, "no match", n]["right"] for n in range(5)] for arm in ("best fit", "regression")}
    assert all(several == sorted(several, reverse=True) and several[0] == 1 for several in shares.values())
    assert shares["best fit"][1] > 0.9 and shares["best fit"][3] > shares["regression"][3] + 0.2
    assert found["ratio matching", "one match", 2]["kept"] == pytest.approx(6 / 8, abs=0.04)  # the match is among them or not


@pytest.mark.parametrize("name", [name for name in tables.MEASURES if name != "numbers_known"])
def test_the_shipped_tables_are_what_the_shipped_runs_give(name, monkeypatch):
    """Of one network of a seed, and of the solvers; some tables in part, exchanges at one depth."""
    for limit, value in (("SHOTS", 3), ("LINES", (2, 4)), ("PLACES", (0, 4, 7)), ("POSITIONS", {"the match's z": slice(11, 12)})):
        monkeypatch.setattr(tables, limit, value)
    exchanged, at = analysis.after_exchange, 2
    none = torch.full((ROWS,), -1)
    monkeypatch.setattr(
        analysis, "after_exchange", lambda *asked: exchanged(*asked) if asked[3] == at and len(asked[0].layers) > 1 else none
    )
    deep = name in ("exchanges", "by_latest", "by_fixed")  # four layers, of which these tables and the next are alone
    eleven = name in ("by_place_of_match", "latest_of_another")
    p, arm = (11, ELEVEN) if eleven else (7, "four layers" if deep else "one layer")
    seed = RuleSeed(0, p)
    seed.main, seed.networks = [arm], {arm: seed.run(arm).network()}
    if name == "exchanges":
        seed.networks["untrained"] = Network(7, 1, 8, 1)
    shipped = tables.load_table(name, p).xs("seed-0", axis=1, level=1)
    found = pd.DataFrame(tables.MEASURES[name](seed)).query("arm != 'untrained'")
    found = (found.query("depth == @at") if name == "exchanges" else found).set_index(shipped.index.names)
    assert len(found)
    pd.testing.assert_frame_equal(found, shipped.reindex(found.index)[found.columns], rtol=0, atol=2.1e-3)


def test_unseen_tasks_are_parted_by_whether_training_showed_their_numbers(monkeypatch):
    monkeypatch.setattr(tables, "ROWS", 20)
    monkeypatch.setattr(RuleRun, "network", lambda self: self.config.network().requires_grad_(False))  # weights are not shipped
    found = table(tables.numbers_known, RuleSeed(0), "tasks", "unseen", "rules")
    assert sorted(found) == [*tables.load_table("numbers_known").index]
    assert all((0 <= row["right"] <= 1) == (rules > 0) for (_, _, rules), row in found.items())
