"""The runs of a seed and the rows that they are tested on: what their names say, and the same each time."""

import torch

from assign_add_lib.companions.rules import seeds
from assign_add_lib.companions.rules.data import factors_of_last, index_of, unmatched


def test_the_first_seed_has_more_arms_and_each_run_its_own_name():
    worlds = [seeds.RuleSeed(0), seeds.RuleSeed(0, 11), seeds.RuleSeed(1)]
    assert [set(world.arms) for world in worlds] == [{*seeds.MAIN, *seeds.OTHERS} - {seeds.ELEVEN}, {seeds.ELEVEN}, {*seeds.MAIN}]
    names = [world.run(arm).name for world in worlds for arm in world.arms]
    assert len(set(names)) == len(names) and names[0] == "lines-depth-4-p-7-tasks-40-0"
    assert "lines-depth-4-p-7-tasks-40-random-0" in names
    assert [*worlds[2].networks] == [*seeds.MAIN, "untrained"] and worlds[1].split.p == 11


def test_rows_are_of_unseen_tasks_and_the_same_each_time(monkeypatch):
    monkeypatch.setattr(seeds, "ROWS", 60)
    seed = seeds.RuleSeed(2)
    split, drawn = seed.split, {name: getattr(seed, name)() for name in ("rows", "matched", "unmatched", "any_question")}
    for name, rows in drawn.items():
        assert rows.answers.shape == (60, seeds.EXAMPLES + 1) and torch.equal(rows.tokens, getattr(seed, name)().tokens)
        fits = ((rows.inputs[:, :, None] * split.unseen).sum(3) % 7 == rows.answers[..., None]).all(1)
        assert fits.any(1).all() and split.shown[index_of(rows.inputs[:, :-1], 7)].all()
    assert (factors_of_last(drawn["matched"])[:, seeds.MATCH] > 1).all() and unmatched(drawn["unmatched"]).all()
    assert not split.shown[index_of(drawn["any_question"].inputs[:, -1], 7)].all()
    assert not torch.equal(seed.matched(1).tokens, seed.matched().tokens)
    assert unmatched(seed.unmatched(lines=3), 3).all()
    zero = seed.unmatched("seen tasks", zero="with a 0")
    fits = ((zero.inputs[:, :, None] * split.seen).sum(3) % 7 == zero.answers[..., None]).all(1)
    assert (fits & (split.seen == 0).any(1)).any(1).all()
