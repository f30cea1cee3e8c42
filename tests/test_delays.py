"""Waits: levers, slopes and branches agree with slow truths, and the shipped rows are those of the shipped run."""

from dataclasses import replace

import pytest
import torch
from small import TASK, problems, random_weights
from torch.nn.functional import cross_entropy

from assign_add_lib import Problem, load_run
from assign_add_lib.analysis import delays, history
from assign_add_lib.circuits import layer_2_terms
from assign_add_lib.model import trace
from assign_add_lib.training import StudyLearner, TrainConfig

V = TASK.n_variables
WEIGHTS, PROBLEMS = random_weights(TASK, 16, 16, 24), problems(TASK, 40)
TOKENS, ANSWERS = PROBLEMS


@pytest.fixture(scope="module")
def run():
    return load_run("seed-42")


@pytest.fixture(scope="module")
def by_name(run):
    """The problems (variable, side, batch, pos) of the shipped run's split."""
    return variable_tokens(run)


def variable_tokens(run):
    return history.variable_problems(run.split).tokens.view(12, 2, -1, 16)


def asked(problem):
    return [name for name in (problem.left, problem.right) if isinstance(name, str)]


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


@pytest.mark.parametrize("lever", [*delays.NUDGES, "all"])
def test_nudges_change_the_scores_that_they_name(lever):
    draw = torch.Generator().manual_seed(1)
    changes = {name: torch.randn(V, generator=draw) * (lever in (name, "all")) for name in delays.NUDGES}
    found = delays.nudged(WEIGHTS, TOKENS, **changes)
    torch.testing.assert_close(found, torch.stack([slow_nudge(WEIGHTS, each, changes) for each in TOKENS]))
    assert not torch.allclose(found, delays.nudged(WEIGHTS, TOKENS))


def test_slopes_are_finite_differences_and_forces_their_sums():
    found = delays.slopes(WEIGHTS, PROBLEMS)

    def loss(**changes):
        return cross_entropy(delays.nudged(WEIGHTS, TOKENS, **changes), ANSWERS, reduction="none")

    for name, slope in found.items():
        for v in range(V):
            step = 1e-4 * torch.eye(V, dtype=torch.float64)[v]
            expected = (loss(**{name: step}) - loss(**{name: -step})) / 2e-4
            torch.testing.assert_close(slope[:, v].double(), expected, atol=1e-5, rtol=1e-4)
    pull, push = delays.pull_and_push(found["own"], TOKENS, WEIGHTS)
    asks = [asked(Problem.from_tokens(each, TASK)) for each in TOKENS]
    mine = torch.tensor([[name in names for name in TASK.variable_names] for names in asks])  # (problem, variable)
    torch.testing.assert_close(pull, -(found["own"] * mine).sum(0) / 40)
    torch.testing.assert_close(push, -(found["own"] * ~mine).sum(0) / 40)
    assert pull.abs().max() > 0 < push.abs().max()


def test_levers_are_what_they_say():
    found = delays.lever_vectors(WEIGHTS, TOKENS) @ WEIGHTS.W_E[TASK.first_variable :].T  # (3, V)
    scores = history.equal_scores(WEIGHTS)
    assert found[0].tolist() == pytest.approx([scores[name] for name in TASK.variable_names], abs=1e-5)
    stream, pattern = trace(WEIGHTS, TOKENS), trace(WEIGHTS, TOKENS).pattern[:, 0]
    term = layer_2_terms(WEIGHTS, TOKENS)[:, 0, 1]  # own, the token before
    for each, j in TASK.assigned_numbers(TOKENS).nonzero().tolist():
        v = int(TOKENS[each, j - 1]) - TASK.first_variable
        assert float(term[each, j]) == pytest.approx(float(pattern[each, j, j - 1] * found[1, v]), abs=1e-5)
    query = (stream.resid_pre + stream.attn_out[:, 0])[:, -1].mean(0) @ WEIGHTS.W_Q[1]
    keys = WEIGHTS.W_E[TASK.first_variable :] @ WEIGHTS.W_K[1] / WEIGHTS.W_Q.shape[-1] ** 0.5
    torch.testing.assert_close(found[2], keys @ query)


def test_the_smallest_change_is_right_and_smallest():
    draw = torch.Generator().manual_seed(0)
    vectors, change = torch.randn(3, 16, generator=draw), torch.randn(3, generator=draw)
    found = delays.smallest_change(vectors, change)
    torch.testing.assert_close(vectors @ found, change)
    torch.testing.assert_close(found, torch.linalg.lstsq(vectors, change[:, None]).solution[:, 0])


@pytest.mark.parametrize("name", [name for name in delays.BRANCHES if not delays.BRANCHES[name].held])
def test_a_branch_turns_its_levers_and_no_other(name, run, by_name):
    weights, task, branch = run.weights(3000), run.task, delays.BRANCHES[name]
    W_E = delays.changed_embeddings(weights, branch, run.split)
    moved = (W_E - weights.W_E).norm(dim=1).nonzero()[:, 0].tolist()
    assert moved == ([task.token("k"), task.token("l")] if branch.levers or branch.aside else [])
    for row in moved:
        vectors = delays.lever_vectors(weights, by_name[row - task.first_variable, 1])
        usual = vectors @ weights.W_E[[task.token(each) for each in "cdefghij"]].mean(0)
        for lever, was, now, aim in zip(delays.LEVERS, vectors @ weights.W_E[row], vectors @ W_E[row], usual):
            expected = was + branch.share * (aim - was) * (lever in branch.levers)
            torch.testing.assert_close(now, expected, atol=2e-3, rtol=1e-3)


def test_a_held_lever_is_where_it_was(run, by_name):
    before, task = run.weights(3000), run.task
    after = replace(before, W_E=delays.changed_embeddings(before, delays.BRANCHES["read, itself held"], run.split))
    ordinary = [task.token(name) for name in "cdefghij"]
    for name in delays.LATE:
        row, found = task.token(name), []
        for w in (before, after):
            levers = delays.lever_vectors(w, by_name[row - task.first_variable, 1]) @ w.W_E.T
            found.append(levers[:, row] - levers[:, ordinary].mean(1))
        was, now = found
        expected = torch.tensor([0.0, was[1], was[2]])  # read is usual, own and itself are what they were
        torch.testing.assert_close(now, expected, atol=0.02, rtol=0)


def test_changes_aside_are_as_long_as_they_say(run, by_name):
    w, row = run.weights(3000), run.task.token("k")
    changes = {key: (delays.changed_embeddings(w, branch, run.split) - w.W_E)[row] for key, branch in delays.ASIDE.items()}
    for (draw, share), change in changes.items():
        torch.testing.assert_close(change, share * changes[draw, 1.0])
        torch.testing.assert_close(delays.lever_vectors(w, by_name[10, 1]) @ change, torch.zeros(3), atol=1e-4, rtol=0)
    assert abs(torch.cosine_similarity(changes[0, 1.0], changes[3, 1.0], dim=0)) < 0.5


def test_a_taken_learner_trains_as_the_branch_says():
    learner = StudyLearner(TrainConfig(seed=42))
    before = learner.population.forms.clone()
    delays.take(learner, delays.Branch(weight_decay=0.0, often=2.0), batches=5)
    assert [group["weight_decay"] for group in learner.optimizer.param_groups] == [0.0]
    expected = before.clone()
    expected[:, 10:12] *= 2
    assert torch.equal(learner.population.forms, expected)
    assert torch.equal(learner.generator.get_state(), torch.Generator().manual_seed(5).get_state())


def test_kept_levers_are_put_back_and_no_others(run):
    learner, shipped = StudyLearner(TrainConfig(seed=42)), run.weights(3000).tensors()
    with torch.no_grad():
        for name, tensor in learner.tensors.items():
            tensor.copy_(shipped[name])
    keeper = delays.Keeper(learner, ("read",))
    assert [learner.config.task.token_names[row] for row in keeper.problems] == ["k", "l"]
    delays.take(learner, delays.BRANCHES["all three"])
    turned = {row: keeper.distance(row)[1] for row in keeper.problems}
    keeper.put_back()
    for row, was in keeper.distances.items():
        now = keeper.distance(row)[1]
        assert abs(was[0]) > 3 > 0.1 > abs(turned[row][0])
        torch.testing.assert_close(now[0], was[0], atol=1e-3, rtol=0)
        torch.testing.assert_close(now[1], turned[row][1], atol=1e-3, rtol=0)


def test_imposed_reading_is_read_and_aside_is_as_long(run):
    w = run.weights(9300)
    problems = history.variable_problems(run.split).tokens.view(12, 2, -1, 16)
    before = delays.self_reading(w, problems)
    raised, aside = (delays.changed_embeddings(w, delays.IMPOSED[name], run.split) for name in ("raised", "aside"))
    after = delays.self_reading(delays.replace(w, W_E=raised), problems)
    assert all(after[name] > before[name] + 0.3 for name in delays.LATE)
    torch.testing.assert_close((raised - w.W_E).norm(dim=1), (aside - w.W_E).norm(dim=1), atol=1e-3, rtol=1e-3)


def test_rows_end_with_the_run_or_when_it_is_settled():
    learner = StudyLearner(TrainConfig(seed=42, batch_size=8))
    rows = list(delays.followed(learner, end=4, every=2))
    assert [row["step"] for row in rows] == [0, 2, 4] and set(rows[0]) == {"step", *delays.PLACES, "k itself", "l itself"}


def test_shipped_rows_are_those_of_the_shipped_run(run, by_name):
    table, mixture = delays.load_release(), history.HistoryProblems.draw(run.split).mixture
    row = delays.release_row(run.weights(8900), mixture, by_name)
    for column, value in row.items():
        assert table.loc[8900, column] == pytest.approx(value, rel=5e-3, abs=2e-3 if "right" in column else 1e-6), column
    past, branches = history.load_history("seed-42")["accuracy"], delays.load_branches()
    assert set(branches.branch) == set(delays.BRANCHES)
    for place in delays.PLACES:
        start = branches[(branches.branch == "unchanged") & (branches.step == 3000)][place]
        assert (start - past.loc[3000, place]).abs().max() < 0.007


def test_losses_along_a_lever_are_those_of_the_nudged_network():
    table = delays.nudged_losses(WEIGHTS, TOKENS, 2, "own", torch.tensor([0.0, 1.5]))
    logits = delays.nudged(WEIGHTS, TOKENS, own=1.5 * torch.eye(V)[2])
    assert table.loc[1.5, "loss"] == pytest.approx(cross_entropy(logits, ANSWERS).item())
    assert table.loc[0.0, "right"] == pytest.approx((trace(WEIGHTS, TOKENS).logits[:, -1].argmax(1) == ANSWERS).float().mean())


def test_self_reading_is_that_of_the_shipped_weights():
    run, table = load_run("seed-0"), delays.load_self_reading()
    weights, tokens = run.weights(delays.READ_AT[0]), variable_tokens(run)
    found = delays.self_reading(weights, tokens)
    assert table.loc[0, list(found)].to_dict() == pytest.approx(found, abs=2e-3)
    last = trace(weights, tokens[10, 1]).pattern[:, 1, 15, 14]
    assert table.loc[0, "k"] == pytest.approx(float(last.mean()), abs=2e-3)


def test_released_waits_for_both():
    rows = {"branch": "x", "batches": 0, "step": [3000, 3100, 3200, 3300], "k right": [0, 1, 1, 1], "l right": [0, 0, 1, 1]}
    table = delays.pd.DataFrame(rows)
    assert delays.released(table, 0.7).tolist() == [200]
    assert delays.released(table.assign(**{"l right": 0.0}), 0.7).isna().all()


def test_the_branches_of_other_seeds_leave_where_the_runs_stood():
    for seed, start in delays.OTHER_STARTS.items():
        past = history.load_history(f"seed-{seed}")["accuracy"]
        first = delays.load_other_seeds().query(f"seed == {seed} and step == {start}")
        assert list(first.branch) == ["itself", "read", "aside"]
        assert abs(float(first["k left"].iloc[2]) - past.loc[start, "k left"]) < 0.5
