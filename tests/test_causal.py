"""The causal model against problems read by hand, and interventions against a network that is the model."""

import math
from itertools import product

import pytest
import torch
from small import problems, random_weights

from assign_add_lib import Problem, Split, Task, forward, handmade
from assign_add_lib.analysis import causal
from assign_add_lib.analysis import interventions as iv
from assign_add_lib.circuits import variable_identity
from assign_add_lib.model import trace
from assign_add_lib.sampling import evaluation_sets, training_population
from assign_add_lib.task import STUDY

TASK = Task(7, 6, 14)
SIZES = [STUDY, TASK]


def drawn(task, size=40, seed=0):
    return causal.pairs(Split.draw(task, 1), size, torch.Generator().manual_seed(seed))


def network(seed):
    """A small one, in which what is moved outweighs what stands there."""
    w = random_weights(TASK, 12, 8, 20, seed=seed)
    return w.replace(W_V=5 * w.W_V, W_out=3 * w.W_out)


def read(tokens, task):
    """Each row as a Problem."""
    return [Problem.from_tokens(row, task) for row in tokens]


@pytest.mark.parametrize("task", SIZES, ids=str)
def test_the_model_solves_every_problem(task):
    tokens, answers = problems(task, 200)
    told = causal.story(tokens, task)
    assert torch.equal(told.sum, answers)
    assert torch.equal(told.places, task.value_positions(tokens))
    for names, numbers, problem in zip(told.names.tolist(), told.numbers.tolist(), read(tokens, task)):
        assigned = [task.token(variable) for variable, _ in problem.assignments]
        assert names == assigned + [-1] * (task.slots - len(assigned)) and tuple(numbers) == problem.values


@pytest.mark.parametrize("task", SIZES, ids=str)
def test_counterfactuals_are_those_of_problems_with_one_thing_changed(task):
    base, source = drawn(task)
    told = {name: causal.counterfactual(base, source, name, task).tolist() for name in causal.VARIABLES}
    for i, (ours, theirs) in enumerate(zip(read(base, task), read(source, task))):
        sides = (ours.left, theirs.left), (ours.right, theirs.right)
        question = [asked if isinstance(own, str) else own for own, asked in sides]
        assert told["asked"][i] == Problem(ours.assignments, *question, task).answer
        names = [variable for variable, _ in theirs.assignments]
        renamed = tuple((name, value) for name, (_, value) in zip(names, ours.assignments))
        assert told["names"][i] == Problem(renamed, ours.left, ours.right, task).answer
        there = task.value_positions(source[i : i + 1])[0]
        assert told["places"][i] == base[i, there].sum() % task.n_numbers
        assert told["left number"][i] == (theirs.values[0] + ours.values[1]) % task.n_numbers
        assert told["right number"][i] == (ours.values[0] + theirs.values[1]) % task.n_numbers
        assert told["sum"][i] == theirs.answer


@pytest.mark.parametrize("task", SIZES, ids=str)
def test_pairs_are_what_they_say(task):
    split = Split.draw(task, 1)
    base, source = causal.pairs(split, 60, torch.Generator().manual_seed(3))
    assert base.shape == source.shape == (60, task.length)
    told = [causal.counterfactual(base, source, name, task).tolist() for name in causal.TOLD_APART]
    for answers in zip([each.answer for each in read(base, task)], *told):
        assert min(answers) >= 0 and len(set(answers)) == 6
    for ours, theirs in zip(read(base, task), read(source, task)):
        assert dict(ours.assignments).keys() == dict(theirs.assignments).keys() and len(ours.assignments) >= 3
        assert ours.kind == theirs.kind != "0-var"
        for each, side in product((ours, theirs), ("left", "right")):
            operand = getattr(each, side)
            assert isinstance(operand, int) or task.variable_names.index(operand) in split.variables(side)
    again = causal.pairs(split, 60, torch.Generator().manual_seed(3))
    assert torch.equal(base, again[0]) and torch.equal(source, again[1])


def test_what_the_model_does_not_define_is_said_so():
    tokens = Problem.parse("c=1, b=17, b+19=?").tokens()[None]
    assert causal.story(tokens, STUDY, asked=torch.tensor([[STUDY.token("d"), -1]])).sum.item() == -1
    assert causal.story(tokens, STUDY, places=torch.tensor([[0, 14]])).sum.item() == -1  # no number stands at position 0
    many, zeros = problems(STUDY, 50)[0], torch.zeros(2, dtype=torch.long)
    for words, call in (
        ("too few problems", lambda: causal.pairs(Split.draw(Task(5, 4, 12), 1), 10, torch.Generator())),
        ("1-var", lambda: causal.kinds_of_answer(Problem.parse("1+2=?").tokens()[None], zeros[:1], STUDY)),
        ("make it larger", lambda: causal.scrubbed(handmade.weights(), many, many[:2], torch.Generator())),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_a_network_that_is_the_model_agrees_with_it_everywhere():
    """The network written by hand: each site holds its variable, and nothing else; a wrong site holds nothing."""
    w = handmade.weights()
    base, source = drawn(STUDY, 150)
    table = causal.interchange_table(w, base, source)
    for site, (variable, _) in causal.SITES.items():
        if site != "the MLP's output at =":  # there, part of the answer passes beside the MLP
            assert table.loc[site, variable] > 0.98, site
    control = causal.interchange_table(w, base, source, donor=source.roll(1, 0))
    for site, (variable, _) in causal.SITES.items():
        assert variable == "nothing" or control.loc[site, variable] < 0.25


def slow_answer(w, row, edits):
    """One problem through two layers, key by key; `edits` change what is held: (kind, position) -> vector."""
    x = [w.W_E[t] + w.W_pos[p] for p, t in enumerate(row.tolist())]
    for layer in (0, 1):
        q, k, v = ([each @ W[layer] for each in x] for W in (w.W_Q, w.W_K, w.W_V))
        if layer == 1:
            q, v = ([edits.get((name, p), each) for p, each in enumerate(held)] for name, held in (("q", q), ("v", v)))
        out = []
        for p in range(len(x)):
            A = torch.stack([q[p] @ k[j] / math.sqrt(len(q[p])) for j in range(p + 1)]).softmax(0)
            if layer == 1 and p == len(x) - 1:
                A = edits.get(("pattern", p), A)
            added = sum(A[j] * v[j] for j in range(p + 1)) @ w.W_O[layer]
            out.append(edits.get((f"out {layer + 1}", p), added))
        x = [each + more for each, more in zip(x, out)]
    mlp = edits.get(("mlp", len(x) - 1), (x[-1] @ w.W_in).relu() @ w.W_out)
    return ((x[-1] + mlp) @ w.W_U).argmax().item()


def test_sites_are_exchanged_and_nothing_else():
    w, (base, source) = network(2), drawn(TASK, 25)
    seen, last, plus = trace(w, source), TASK.last, TASK.room
    stream = seen.resid_pre + seen.attn_out[:, 0]
    given = {site: causal.interchanged(w, base, source, site).tolist() for site in causal.SITES}
    plain, changed = forward(w, base)[:, -1].argmax(1), 0
    for i, (ours, theirs) in enumerate(zip(base, source)):
        place = TASK.value_positions(base)[i].tolist()
        value = stream[i, TASK.value_positions(source)[i, 0]] @ w.W_V[1]
        slots = [[p for p in range(plus) if row[p] < TASK.n_numbers] for row in (ours, theirs)]
        free = [p for p in slots[0] if p not in place][0] if set(slots[0]) - set(place) else 0
        truth = [
            {("out 1", p): seen.attn_out[i, 0, q] for p, q in zip(*slots)},
            {("out 1", last): seen.attn_out[i, 0, last]},
            {("out 1", p): seen.attn_out[i, 0, p] for p in (TASK.left, TASK.right, last)},
            {("q", last): stream[i, last] @ w.W_Q[1]},
            {("pattern", last): seen.pattern[i, 1, last]},
            {("v", place[0]): value},
            {("v", place[1]): stream[i, TASK.value_positions(source)[i, 1]] @ w.W_V[1]},
            {("out 2", last): seen.attn_out[i, 1, last]},
            {("mlp", last): seen.mlp_out[i, last]},
            {("out 1", plus): seen.attn_out[i, 0, plus]},
            {("out 1", p): seen.attn_out[i, 0, p] for p in (TASK.left, TASK.right)},
            {("v", free): value},
        ]
        for site, edits in zip(causal.SITES, truth):
            assert given[site][i] == slow_answer(w, ours, edits), site
            changed += given[site][i] != plain[i]
    assert changed > 25  # the exchanges did something


def test_the_table_counts_agreement():
    w, (base, source) = network(2), drawn(TASK, 30)
    site, truths = "layer 1's output at =", {"nothing": TASK.right_answers(base)}
    table, given = causal.interchange_table(w, base, source, [site]), causal.interchanged(w, base, source, site)
    truths |= {name: causal.counterfactual(base, source, name, TASK) for name in causal.VARIABLES}
    for name, answers in truths.items():
        assert table.loc[site, name] == pytest.approx((given == answers).double().mean().item())


# taking a part away


@pytest.mark.parametrize("part", causal.PARTS)
def test_parts_are_taken_away(part):
    """Against a forward in which the part is written out by hand, one problem at a time."""
    w, tokens, reference = network(4), problems(TASK, 12)[0], problems(TASK, 30, seed=5)[0]
    seen, there, block, g = trace(w, tokens), trace(w, reference), variable_identity(w), torch.Generator()

    def terms(acts, ids, b):
        """What of the scores comes of the names that `=` holds, and each key."""
        held = acts.pattern[b, 0] @ (ids[b][:, None] == TASK.first_variable + torch.arange(TASK.n_variables)).double()
        return held @ block.T @ held[-1]

    assigned, mean = TASK.assigned_numbers(tokens), sum(terms(there, reference, row) for row in range(30)) / 30
    for by in ("zero", "mean"):
        given = iv.answers(w, tokens, causal.ablated(w, tokens, reference, part, by, g))
        for b in range(len(tokens)):
            if part == causal.PARTS[0]:
                scores = seen.scores[b, 1, -1] + (by == "mean") * mean - terms(seen, tokens, b)
                edits = {("pattern", TASK.last): scores.softmax(0)}
            elif part == causal.PARTS[1]:
                usual = there.attn_out[:, 0][TASK.assigned_numbers(reference)].mean(0) * (by == "mean")
                edits = {("out 1", p): usual for p in range(TASK.length) if assigned[b, p]}
            else:
                edits = {("out 1", TASK.last): there.attn_out[:, 0, -1].mean(0) * (by == "mean")}
            assert given[b] == slow_answer(w, tokens[b], edits)


def test_resampling_draws_from_the_reference():
    w, tokens, reference = network(4), problems(TASK, 12)[0], problems(TASK, 30, seed=5)[0]
    brought, own = (trace(w, each).attn_out[:, 0] for each in (reference, tokens))
    alter = causal.ablated(w, tokens, reference, causal.PARTS[2], "resample", torch.Generator().manual_seed(1))
    held = alter.pop("blocks.0.hook_attn_out")(own.clone())
    assert not alter and torch.equal(held[:, :-1], own[:, :-1])
    distance = torch.cdist(held[:, -1], brought[:, -1])
    assert (distance.min(1).values < 1e-6).all() and len(distance.argmin(1).unique()) > 4


def test_kinds_of_answer():
    rows = ["c=1, b=17, b+19=?", "c=1, b=17, 19+b=?", "c=1, b=17, b+19=?", "c=1, b=17, b+19=?", "c=19, b=17, b+19=?"]
    tokens = torch.stack([Problem.parse(row).tokens() for row in rows])
    given = torch.tensor([36, 38, 20, 5, 38])  # right, twice the constant, constant + c, another, and twice before + c
    found = causal.kinds_of_answer(tokens, given, STUDY)
    assert list(found.values()) == [0.2, 0.4, 0.2, 0.2]


# scrubbing


def test_scrubbing_with_copies_of_the_problem_changes_nothing():
    w, tokens = network(6), problems(TASK, 30)[0]
    for row, answer in zip(tokens, forward(w, tokens)[:, -1].argmax(1)):
        given = causal.scrubbed(w, row[None], row.repeat(4, 1), torch.Generator().manual_seed(0))
        assert given.item() == answer


def test_the_network_that_is_the_model_survives_scrubbing_and_not_a_false_story():
    w, split = handmade.weights(), Split.draw(seed=1)
    tokens, answers = evaluation_sets(split, size=200)["1-var train"]
    pool, g = training_population(split).sample(6000, torch.Generator().manual_seed(3)).tokens, torch.Generator().manual_seed(1)
    assert (causal.scrubbed(w, tokens, pool, g) == answers).float().mean() > 0.98
    for refined in causal.SIDE_ROAD, causal.OWN_NUMBER, causal.HOW_MANY, causal.EARLY:
        assert (causal.scrubbed(w, tokens, pool, g, refined=[refined]) == answers).float().mean() > 0.98
    for forget in causal.FORGET:
        assert (causal.scrubbed(w, tokens, pool, g, forget=[forget]) == answers).float().mean() < 0.5
    untouched = causal.scrubbed(w, tokens, pool, g, pieces=())
    assert torch.equal(untouched, forward(w, tokens)[:, -1].argmax(1))
