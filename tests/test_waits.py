"""Waits: levers, slopes and branches agree with slow truths, and the shipped rows are those of the shipped run."""

from dataclasses import replace

import pytest
import torch
from small import TASK, problems, random_weights

from assign_add_lib import Problem, load_run
from assign_add_lib.analysis import history, waits
from assign_add_lib.circuits import layer_2_terms
from assign_add_lib.model import trace
from assign_add_lib.sampling import Batch
from assign_add_lib.training import StudyLearner, TrainConfig

V = TASK.n_variables


def asked(problem):
    return [name for name in (problem.left, problem.right) if isinstance(name, str)]


def test_nothing_nudged_is_the_network():
    weights, (tokens, _) = random_weights(TASK, 16, 16, 24), problems(TASK, 40)
    torch.testing.assert_close(waits.nudged(weights, tokens), trace(weights, tokens).logits[:, -1])


def slow_nudge(weights, tokens, changes):
    """One problem (pos,) with scores changed entry by entry, by the words of `nudged`."""
    task, w = weights.task, weights
    problem = Problem.from_tokens(tokens, task)
    names = [task.token_name(token) for token in tokens]
    x = w.W_E[tokens] + w.W_pos
    scores = trace(w, tokens[None]).scores[0, 0].clone()
    for j, name in enumerate(names):
        if name in task.variable_names:
            scores[-1, j] += changes["read"][task.variable_names.index(name)]
    A = scores.softmax(-1)
    stream = x + A @ x @ w.W_V[0] @ w.W_O[0]
    last = (stream[-1] @ w.W_Q[1]) @ (stream @ w.W_K[1]).T / w.W_Q.shape[-1] ** 0.5
    for j, name in enumerate(names):
        before = names[j - 1] if j else None
        if j < task.room and before in task.variable_names and tokens[j] < task.n_numbers:
            v = task.variable_names.index(before)
            at_equal = sum(A[-1, place] for place in (task.left, task.right) if names[place] == before)
            last[j] += A[j, j - 1] * (changes["own"][v] + at_equal * changes["name"][v])
        if j in (task.left, task.right) and name in asked(problem):
            last[j] += changes["itself"][task.variable_names.index(name)]
    mlp_in = stream[-1] + last.softmax(0) @ stream @ w.W_V[1] @ w.W_O[1]
    return (mlp_in + (mlp_in @ w.W_in).relu() @ w.W_out) @ w.W_U


@pytest.mark.parametrize("lever", [*waits.NUDGES, "all"])
def test_nudges_change_the_scores_that_they_name(lever):
    weights, (tokens, _) = random_weights(TASK, 16, 16, 24), problems(TASK, 40)
    draw = torch.Generator().manual_seed(1)
    changes = {name: torch.randn(V, generator=draw) * (lever in (name, "all")) for name in waits.NUDGES}
    found = waits.nudged(weights, tokens, **changes)
    torch.testing.assert_close(found, torch.stack([slow_nudge(weights, each, changes) for each in tokens]))
    assert not torch.allclose(found, waits.nudged(weights, tokens))


def test_slopes_are_finite_differences_and_forces_their_sums():
    weights, (tokens, answers) = random_weights(TASK, 16, 16, 24).to(torch.float64), problems(TASK, 40)
    batch = Batch(tokens, answers)
    found = waits.slopes(weights, batch)

    def loss(**changes):
        return torch.nn.functional.cross_entropy(waits.nudged(weights, tokens, **changes), answers, reduction="none")

    for name, slope in found.items():
        for v in range(V):
            step = 1e-4 * torch.eye(V, dtype=torch.float64)[v]
            expected = (loss(**{name: step}) - loss(**{name: -step})) / 2e-4
            torch.testing.assert_close(slope[:, v].double(), expected, atol=1e-5, rtol=1e-4)
    pull, push = waits.pull_and_push(found["own"], tokens, weights)
    for v, name in enumerate(TASK.variable_names):
        mine = torch.tensor([name in asked(Problem.from_tokens(each, TASK)) for each in tokens])
        assert float(pull[v]) == pytest.approx(-float(found["own"][mine, v].sum()) / 40, abs=1e-6)
        assert float(push[v]) == pytest.approx(-float(found["own"][~mine, v].sum()) / 40, abs=1e-6)
    assert pull.abs().max() > 0 < push.abs().max()


def test_levers_are_what_they_say():
    weights, (tokens, _) = random_weights(TASK, 16, 16, 24), problems(TASK, 40)
    found = waits.lever_vectors(weights, tokens) @ weights.W_E[TASK.first_variable :].T  # (3, V)
    scores = history.equal_scores(weights)
    for v, name in enumerate(TASK.variable_names):
        assert float(found[0, v]) == pytest.approx(scores[name], abs=1e-5)
    stream, pattern = trace(weights, tokens), trace(weights, tokens).pattern[:, 0]
    term = layer_2_terms(weights, tokens)[:, 0, 1]  # own, the token before
    for each, row in enumerate(tokens):
        for j in TASK.assigned_numbers(row[None])[0].nonzero()[:, 0]:
            v = int(row[j - 1]) - TASK.first_variable
            assert float(term[each, j]) == pytest.approx(float(pattern[each, j, j - 1] * found[1, v]), abs=1e-5)
    query = (stream.resid_pre + stream.attn_out[:, 0])[:, -1].mean(0) @ weights.W_Q[1]
    keys = weights.W_E[TASK.first_variable :] @ weights.W_K[1] / weights.W_Q.shape[-1] ** 0.5
    torch.testing.assert_close(found[2], keys @ query)


def test_the_smallest_change_is_right_and_smallest():
    draw = torch.Generator().manual_seed(0)
    vectors, change = torch.randn(3, 16, generator=draw), torch.randn(3, generator=draw)
    found = waits.smallest_change(vectors, change)
    torch.testing.assert_close(vectors @ found, change)
    torch.testing.assert_close(found, torch.linalg.lstsq(vectors, change[:, None]).solution[:, 0])


@pytest.mark.parametrize("name", [name for name in waits.BRANCHES if not waits.BRANCHES[name].held])
def test_a_branch_turns_its_levers_and_no_other(name):
    run = load_run("seed-42")
    weights, task = run.weights(3000), run.task
    branch = waits.BRANCHES[name]
    W_E = waits.changed_embeddings(weights, branch, run.split)
    tokens = history.variable_problems(run.split).tokens.view(12, 2, -1, 16)
    moved = (W_E - weights.W_E).norm(dim=1).nonzero()[:, 0].tolist()
    assert moved == ([task.token("k"), task.token("l")] if branch.levers or branch.aside else [])
    for row in moved:
        vectors = waits.lever_vectors(weights, tokens[row - task.first_variable, 1])
        usual = vectors @ weights.W_E[[task.token(each) for each in "cdefghij"]].mean(0)
        for lever, was, now, aim in zip(waits.LEVERS, vectors @ weights.W_E[row], vectors @ W_E[row], usual):
            expected = was + branch.share * (aim - was) * (lever in branch.levers)
            torch.testing.assert_close(now, expected, atol=2e-3, rtol=1e-3)


def test_a_held_lever_is_where_it_was():
    run = load_run("seed-42")
    before, task = run.weights(3000), run.task
    after = replace(before, W_E=waits.changed_embeddings(before, waits.BRANCHES["read, itself held"], run.split))
    tokens, ordinary = history.variable_problems(run.split).tokens.view(12, 2, -1, 16), [task.token(name) for name in "cdefghij"]
    for name in waits.LATE:
        row = task.token(name)
        found = []
        for w in (before, after):
            levers = waits.lever_vectors(w, tokens[row - task.first_variable, 1]) @ w.W_E.T
            found.append(levers[:, row] - levers[:, ordinary].mean(1))
        was, now = found
        expected = torch.tensor([0.0, was[1], was[2]])  # read is usual, own and itself are what they were
        torch.testing.assert_close(now, expected, atol=0.02, rtol=0)


def test_changes_aside_are_as_long_as_they_say():
    run = load_run("seed-42")
    w, row = run.weights(3000), run.task.token("k")
    changes = {key: (waits.changed_embeddings(w, branch, run.split) - w.W_E)[row] for key, branch in waits.ASIDE.items()}
    tokens = history.variable_problems(run.split).tokens.view(12, 2, -1, 16)[10, 1]
    for (draw, share), change in changes.items():
        torch.testing.assert_close(change, share * changes[draw, 1.0])
        torch.testing.assert_close(waits.lever_vectors(w, tokens) @ change, torch.zeros(3), atol=1e-4, rtol=0)
    assert abs(torch.cosine_similarity(changes[0, 1.0], changes[3, 1.0], dim=0)) < 0.5


def test_a_taken_learner_trains_as_the_branch_says():
    learner = StudyLearner(TrainConfig(seed=42))
    before = learner.population.forms.clone()
    waits.take(learner, waits.Branch(weight_decay=0.0, often=2.0), batches=5)
    assert [group["weight_decay"] for group in learner.optimizer.param_groups] == [0.0]
    expected = before.clone()
    expected[:, 10:12] *= 2
    assert torch.equal(learner.population.forms, expected)
    assert torch.equal(learner.generator.get_state(), torch.Generator().manual_seed(5).get_state())


def test_kept_levers_are_put_back_and_no_others():
    learner, shipped = StudyLearner(TrainConfig(seed=42)), load_run("seed-42").weights(3000).tensors()
    with torch.no_grad():
        for name, tensor in learner.tensors.items():
            tensor.copy_(shipped[name])
    keeper = waits.Keeper(learner, ("read",))
    assert [learner.config.task.token_names[row] for row in keeper.problems] == ["k", "l"]
    waits.take(learner, waits.BRANCHES["all three"])
    turned = {row: keeper.distance(row)[1] for row in keeper.problems}
    keeper.put_back()
    for row, was in keeper.distances.items():
        now = keeper.distance(row)[1]
        assert abs(was[0]) > 3 > 0.1 > abs(turned[row][0])
        torch.testing.assert_close(now[0], was[0], atol=1e-3, rtol=0)
        torch.testing.assert_close(now[1], turned[row][1], atol=1e-3, rtol=0)


def test_rows_end_with_the_run_or_when_it_is_settled():
    learner = StudyLearner(TrainConfig(seed=42, batch_size=8))
    rows = list(waits.followed(learner, end=4, every=2))
    assert [row["step"] for row in rows] == [0, 2, 4] and set(rows[0]) == {"step", *waits.PLACES}


def test_shipped_rows_are_those_of_the_shipped_run():
    run, table = load_run("seed-42"), waits.load_release()
    mixture = history.HistoryProblems.draw(run.split).mixture
    tokens = history.variable_problems(run.split).tokens.view(12, 2, -1, 16)
    row = waits.release_row(run.weights(8900), mixture, tokens)
    for column, value in row.items():
        assert table.loc[8900, column] == pytest.approx(value, rel=5e-3, abs=2e-3 if "right" in column else 1e-6), column
    past, branches = history.load_history("seed-42")["accuracy"], waits.load_waits()
    assert set(branches.branch) == set(waits.BRANCHES)
    for place in waits.PLACES:
        start = branches[(branches.branch == "unchanged") & (branches.step == 3000)][place]
        assert (start - past.loc[3000, place]).abs().max() < 0.007


def test_losses_along_a_lever_are_those_of_the_nudged_network():
    weights, (tokens, answers) = random_weights(TASK, 16, 16, 24), problems(TASK, 40)
    table = waits.nudged_losses(weights, tokens, 2, "own", torch.tensor([0.0, 1.5]))
    change = torch.zeros(V)
    change[2] = 1.5
    logits = waits.nudged(weights, tokens, own=change)
    assert table.loc[1.5, "loss"] == pytest.approx(torch.nn.functional.cross_entropy(logits, answers).item())
    assert table.loc[0.0, "right"] == pytest.approx((trace(weights, tokens).logits[:, -1].argmax(1) == answers).float().mean())


def test_self_reading_is_that_of_the_shipped_weights():
    run, table = load_run("seed-0"), waits.load_self_reading()
    tokens = history.variable_problems(run.split).tokens.view(12, 2, -1, 16)
    for name, value in waits.self_reading(run.weights(waits.READ_AT[0]), tokens).items():
        assert table.loc[0, name] == pytest.approx(value, abs=2e-3), name
    last = trace(run.weights(waits.READ_AT[0]), tokens[10, 1]).pattern[:, 1, 15, 14]
    assert table.loc[0, "k"] == pytest.approx(float(last.mean()), abs=2e-3)


def test_released_waits_for_both():
    rows = {"branch": "x", "batches": 0, "step": [3000, 3100, 3200, 3300], "k right": [0, 1, 1, 1], "l right": [0, 0, 1, 1]}
    table = waits.pd.DataFrame(rows)
    assert waits.released(table, 0.7).tolist() == [200]
    assert waits.released(table.assign(**{"l right": 0.0}), 0.7).isna().all()


def test_the_branches_of_other_seeds_leave_where_the_runs_stood():
    for seed, start in waits.OTHER_STARTS.items():
        past = history.load_history(f"seed-{seed}")["accuracy"]
        first = waits.load_other_waits().query(f"seed == {seed} and step == {start}")
        assert list(first.branch) == ["itself", "read", "aside"]
        assert abs(float(first["k left"].iloc[2]) - past.loc[start, "k left"]) < 0.5
