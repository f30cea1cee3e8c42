"""Scores: splits against sums, changed keys against changed streams."""

import numpy as np
import pytest
import torch
from small import SIZES, problems, random_weights

from assign_add_lib.analysis import scores
from assign_add_lib.circuits import layer_2_terms, qk_table, variable_identity
from assign_add_lib.model import trace


@pytest.fixture(params=SIZES[1:3], ids=str)
def case(request):
    """A task, random weights for it, and problems."""
    return request.param[0], random_weights(*request.param), problems(request.param[0], 40).tokens


def test_number_table_is_a_mean_over_numbers(case):
    task, weights, _ = case
    token, position = scores.number_table(weights)
    S, i = qk_table(weights), 2
    for key in (0, task.pad, task.first_variable):
        expected = sum(S[n, key] for n in range(task.n_numbers)) / task.n_numbers + S[task.d_vocab + i, key]
        torch.testing.assert_close(token[i, key], expected)
    expected = sum(S[n, task.d_vocab + 1] for n in range(task.n_numbers)) / task.n_numbers + S[task.d_vocab + i, task.d_vocab + 1]
    torch.testing.assert_close(position[i, 1], expected)


def test_place_and_distance_find_what_was_put_in():
    n, d = 9, torch.arange(9.0, dtype=torch.float64)
    place = torch.randn(n, dtype=torch.float64)
    wave = torch.cos(1.3 * d)
    line = torch.stack([torch.ones_like(d), d], 1)
    wave = wave - line @ torch.linalg.lstsq(line, wave[:, None]).solution[:, 0]  # no level and no line
    index = torch.arange(n)
    position = torch.randn(n, 1, dtype=torch.float64) + place + wave[(index[:, None] - index).abs()]
    found = scores.place_and_distance(position)
    torch.testing.assert_close(found[0], place - place[0], rtol=0, atol=1e-6)
    torch.testing.assert_close(found[1], wave, rtol=0, atol=1e-6)


def test_prices(case):
    task, weights, _ = case
    token, position = scores.number_table(weights)
    found, token = scores.prices(weights), token[1:]
    lead = token - token[:, [task.pad]]
    assert found.variable == pytest.approx(lead[:, task.first_variable :].mean().item())
    assert found.number == pytest.approx(lead[:, : task.n_numbers].mean().item())
    place = scores.place_and_distance(position)[0][:-1]
    assert found.place == pytest.approx(np.polyfit(range(len(place)), place, 1)[0])


def test_changes_of_layer_1_key_by_key(case):
    task, weights, tokens = case
    changes, S, D = scores.layer_1_changes(weights, tokens), qk_table(weights), task.d_vocab
    price = scores.prices(weights)
    place, distance = scores.place_and_distance(scores.number_table(weights)[1])
    for b, i in task.assigned_numbers(tokens).nonzero().tolist()[:20]:
        n, keys = tokens[b, i], range(i + 1)
        token = torch.stack([S[n, tokens[b, j]] + S[D + i, tokens[b, j]] for j in keys])
        position = torch.stack([S[n, D + j] + S[D + i, D + j] for j in keys])
        kinds = [(t >= task.first_variable, t < task.n_numbers) for t in tokens[b].tolist()]
        priced = [kinds[j][0] * price.variable + kinds[j][1] * price.number + j * price.place for j in keys]
        wave = torch.stack([distance[i - j] for j in keys])
        itself = torch.tensor([0.0] * i + [-1e4], dtype=torch.float64)
        left = {
            "no token part": position + token.mean(),
            "no token part, not itself": position + token.mean() + itself,
            "no position part": token + position.mean(),
            "no line": token + position - place[: i + 1],
            "no straight line": token + position - price.place * torch.arange(i + 1).double(),
            "no wave": token + position - wave,
            "no wave, no token part": position + token.mean() - wave,
            "no wave, no token part, not itself": position + token.mean() - wave + itself,
            "prices alone": torch.tensor(priced, dtype=torch.float64),
        }
        assert set(left) == set(changes)
        for name, expected in left.items():
            torch.testing.assert_close((token + position + changes[name][b, i, : i + 1]), expected, rtol=0, atol=1e-8, msg=name)
    others = ~task.assigned_numbers(tokens)
    assert all((change[others] == 0).all() for change in changes.values())


def test_shares_read(case):
    task, weights, tokens = case
    pattern = trace(weights, tokens).pattern[:, 0]
    at = task.assigned_numbers(tokens).nonzero().tolist()
    best = np.array([pattern[b, i].argmax().item() - i for b, i in at])
    weight = np.mean([pattern[b, i, i - 1] for b, i in at])
    expected = {"place before": (best == -1).mean(), "itself": (best == 0).mean(), "weight": weight}
    assert scores.shares_read(pattern, tokens, task) == pytest.approx(expected)


def test_gapped_problems():
    task = SIZES[0][0]
    tokens = scores.gapped(task, 9, 3, "variable", 5)
    assert tokens.shape == (task.n_numbers, task.length)
    row = task.names(tokens[14])
    assert row[9] == "14" and row[6] == "c" and row[4] == "d" and row[13] == "c" and row[12] == "+" and row[15] == "="
    assert [name for i, name in enumerate(row[:12]) if i not in (4, 6, 9)] == ["PAD"] * 9
    assert (scores.gapped(task, 9, 3, "number", 1)[:, 8] < task.n_numbers).all()
    assert (scores.gapped(task, 9, 3)[:, [7, 8]] == task.pad).all()
    for wrong in ((12, 1), (3, 4), (3, 0), (9, 3, "plus"), (9, 3, "number", 3)):
        with pytest.raises(ValueError, match="before a number|stands where"):
            scores.gapped(task, *wrong)


def test_leads_of_asked_problem_by_problem(case):
    task, weights, tokens = case
    terms, found = layer_2_terms(weights, tokens), []
    for side, operand in enumerate((task.left, task.right)):
        for each, row in zip(terms, tokens.tolist(), strict=True):
            asked = row[task.left], row[task.right]
            keys = {row[j - 1]: j for j in range(1, task.room) if row[j] < task.n_numbers}
            rivals = [j for name, j in keys.items() if name not in asked]
            if row[operand] >= task.first_variable and rivals:
                found.append(each[..., keys[asked[side]]] - sum(each[..., j] for j in rivals) / len(rivals))
    assert len(found) > 5
    torch.testing.assert_close(scores.leads_of_asked(weights, tokens), torch.stack(found))
    assert scores.lead(terms, task.value_positions(tokens)[:, 0], torch.zeros_like(tokens)).isnan().all()


def test_flattened_keeps_the_mean_and_drops_the_choice(case):
    task, weights, tokens = case
    term, keys = layer_2_terms(weights, tokens)[:, 1, 1], task.assigned_numbers(tokens)
    found = term + scores.flattened(term, keys)
    for row, chosen, changed in zip(term, keys, found):
        expected = row.clone()
        expected[chosen] = row[chosen].mean()
        torch.testing.assert_close(changed, expected)
    assert not scores.flattened(term, torch.zeros_like(keys)).any()


def test_at_level_keeps_all_choices(case):
    task, weights, tokens = case
    whole, keys = layer_2_terms(weights, tokens).sum((1, 2)), task.assigned_numbers(tokens)
    level = torch.linspace(0.1, 0.9, len(tokens), dtype=whole.dtype)
    change = scores.at_level(whole, keys, level)
    old, new = whole.softmax(1), (whole + change).softmax(1)
    for b, chosen in enumerate(keys):
        assert new[b, chosen].sum() == pytest.approx(float(level[b]))
        for group in (chosen, ~chosen):  # within each, attention keeps its proportions
            torch.testing.assert_close(new[b, group] / new[b, group].sum(), old[b, group] / old[b, group].sum())
        assert not change[b, ~chosen].any()


def test_another_block_changes_the_entries_of_variables(case):
    task, w, tokens = case
    A, V, f = trace(w, tokens).pattern[:, 0], task.n_variables, task.first_variable
    block = torch.randn(V, V, dtype=torch.float64)
    old, found = variable_identity(w), scores.with_block(w, tokens, block)
    assert not scores.with_block(w, tokens, old).any()
    for b in range(12):
        for j in range(task.length):
            expected = 0.0
            for p in (task.left, task.right):
                if j and min(tokens[b, p], tokens[b, j - 1]) >= f:
                    u, v = tokens[b, p] - f, tokens[b, j - 1] - f
                    expected += A[b, task.last, p] * A[b, j, j - 1] * (block[u, v] - old[u, v])
            assert float(found[b, j]) == pytest.approx(float(expected))
