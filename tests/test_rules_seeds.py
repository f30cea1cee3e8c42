"""The runs of a seed and the rows that they are tested on: what their names say, and the same each time."""

import pytest
import torch
from rules import untrained_seed

from assign_add_lib.companions.rules import seeds
from assign_add_lib.companions.rules.analysis import factor_of, unmatched, unmatched_on
from assign_add_lib.companions.rules.data import index_of


def test_the_first_seed_has_more_arms_and_each_run_its_own_name():
    first, other = seeds.RuleSeed(seeds.SEEDS[0]), seeds.RuleSeed(seeds.SEEDS[1])
    assert set(other.arms) == set(seeds.MAIN) and set(first.arms) == set(seeds.MAIN | seeds.OTHERS)
    asked = []
    for arm in first.arms:
        seeds.RuleSeed(0, asked.append).run(arm)
    assert len(set(asked)) == len(first.arms) and asked[0] == "lines-depth-4-p-7-tasks-40-0"
    assert "lines-depth-4-p-7-tasks-40-random-0" in asked and "lines-depth-4-p-7-tasks-8-0" in asked


def test_rows_are_of_unseen_tasks_and_the_same_each_time(monkeypatch):
    monkeypatch.setattr(seeds, "ROWS", 60)
    seed = untrained_seed()
    split, drawn = seed.split, {name: getattr(seed, name)() for name in ("rows", "matched", "unmatched", "any_question")}
    for name, rows in drawn.items():
        assert rows.answers.shape[1] == seeds.EXAMPLES + 1 and torch.equal(rows.tokens, getattr(seed, name)().tokens)
        fits = ((rows.inputs[:, :, None] * split.unseen).sum(3) % 7 == rows.answers[..., None]).all(1)
        assert fits.any(1).all() and split.shown[index_of(rows.inputs[:, :-1], 7)].all()
    assert (factor_of(drawn["matched"])[:, seeds.MATCH] > 1).all() and unmatched(drawn["unmatched"]).all()
    assert not split.shown[index_of(drawn["any_question"].inputs[:, -1], 7)].all()
    assert not torch.equal(seed.matched(1).tokens, seed.matched().tokens)
    assert unmatched_on(3)(seed.unmatched_on(3)).all()


def test_networks_are_those_of_the_main_arms_and_an_untrained_one():
    names = [name for name, network in untrained_seed().networks() if not any(w.requires_grad for w in network.parameters())]
    assert names == [*seeds.MAIN, "untrained"]


@pytest.mark.parametrize("seed", seeds.SEEDS)
def test_shipped_seeds_are_named(seed):
    assert seeds.seeds()[f"seed-{seed}"].seed == seed
