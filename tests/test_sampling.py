"""The samplers, judged by a slow parser in plain Python and by the exact laws, written out by enumeration."""

from collections import Counter
from itertools import permutations, product

import pytest
import torch
from scipy.stats import chisquare
from small import Read, read
from worlds import rng

from assign_add_lib import Split, Task
from assign_add_lib.sampling import EVALUATION_SETS, diagnostic_batch, evaluation_sets, exact_sets, lay_out, training_population

STUDY = Split.draw(seed=42)
TASKS = [Task(), Task(3, 2, 8), Task(5, 3, 9), Task(7, 30, 21)]


def read_batch(batch, task: Task) -> list[Read]:
    """Parse every sequence, and hold its answer against the sum."""
    N, V, T = task.n_numbers, task.n_variables, task.length
    reads = [read(ids, N, V, T) for ids in batch.tokens.tolist()]
    assert [(each.x + each.y) % N for each in reads] == batch.answers.tolist()
    return reads


def assert_law(counts: Counter, law: dict, least: float = 1e-4) -> None:
    """Chi-square of counts against an exact law; outcomes are grouped until each group expects at least 5."""
    assert set(counts) <= set(law), f"impossible outcomes: {list(set(counts) - set(law))[:5]}"
    total, weight = counts.total(), sum(law.values())
    assert total >= 500, "too few to tell"
    groups = [[0, 0.0]]  # seen, expected
    for outcome in sorted(law, key=lambda outcome: (law[outcome], repr(outcome))):
        if groups[-1][1] >= 5:
            groups.append([0, 0.0])
        groups[-1][0] += counts[outcome]
        groups[-1][1] += total * law[outcome] / weight
    assert len(groups) > 1, "a law of one outcome"
    seen, expected = zip(*groups)
    assert chisquare(seen, expected).pvalue > least


def uniform(outcomes) -> dict:
    return dict.fromkeys(outcomes, 1)


@pytest.fixture(scope="module")
def sample():
    """200 000 training problems, parsed."""
    batch = training_population(STUDY).sample(200_000, rng(0))
    return read_batch(batch, Task())


@pytest.mark.parametrize("r", [0.0, 0.05, 3.0])
def test_training_mixture(r):
    batch = training_population(STUDY, r).sample(20_000, rng(1))
    law = {"0-var": 12, "1-var left": 10, "1-var right": 10} | ({"2-var": 10 * r} if r else {})
    assert_law(Counter(each.kind for each in read_batch(batch, Task())), law)


def test_training_operand_variables(sample):
    """Each form of a kind is asked equally often; 92 ordered pairs of variables are valid."""
    lefts, rights = range(10), range(2, 12)
    both = [(u, w) for u in lefts for w in rights if u != w]
    assert len(both) == 92
    law = {(None, None): 12.0} | {(u, None): 1.0 for u in lefts} | {(None, w): 1.0 for w in rights}
    assert_law(Counter((each.u, each.w) for each in sample), law | dict.fromkeys(both, 10 / 92))


@pytest.mark.parametrize("kind", ["0-var", "1-var left", "1-var right", "2-var"])
def test_each_kind_has_all_training_pairs_and_its_numbers_of_assignments(sample, kind):
    pairs = map(tuple, STUDY.train_pairs.nonzero().tolist())
    assert_law(Counter((each.x, each.y) for each in sample if each.kind == kind), uniform(pairs))
    law = {2: 2, 3: 1, 4: 1, 5: 1, 6: 1} if kind == "2-var" else uniform(range(1, 7))
    assert_law(Counter(len(each.slots) for each in sample if each.kind == kind), law)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_pads_fall_independently_into_the_gaps(sample, n):
    """The joint law of the gaps, by going through every way in which 12 - 2n PADs can fall."""
    falls = product(range(n + 1), repeat=12 - 2 * n)
    law = Counter(tuple(map(fall.count, range(n + 1))) for fall in falls)
    assert_law(Counter(each.gaps for each in sample if len(each.slots) == n), law)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_operands_stand_in_any_order(sample, n):
    """The places of the two operand variables among n assignments."""
    seen = Counter()
    for each in sample:
        if each.kind == "2-var" and len(each.slots) == n:
            order = [variable for variable, _ in each.slots]
            seen[order.index(each.u), order.index(each.w)] += 1
    assert_law(seen, uniform(permutations(range(n), 2)))


def test_distractors_are_any_other_variables(sample):
    """Ordered variables of 0-var problems; distractors beside one and beside two operands."""
    alone, one, two = Counter(), Counter(), Counter()
    for each in sample:
        names = [variable for variable, _ in each.slots]
        others = [variable for variable in names if variable not in (each.u, each.w)]
        if each.kind == "0-var" and len(names) == 3:
            alone[tuple(names)] += 1
        elif each.kind == "1-var right" and len(names) == 2:
            one[each.w, *others] += 1
        elif each.kind == "2-var" and len(names) == 4 and each.u == 0:
            two[each.w, *sorted(others)] += 1
    assert_law(alone, uniform(permutations(range(12), 3)))
    assert_law(one, uniform((w, d) for w in range(2, 12) for d in range(12) if d != w))
    law = ((w, d, e) for w in range(2, 12) for d in range(1, 12) for e in range(d + 1, 12) if w not in (d, e))
    assert_law(two, uniform(law))


def test_distractors_hold_any_numbers(sample):
    """Two distractors of one problem hold independent uniform numbers, whatever the split holds out."""
    seen, beside = Counter(), Counter()
    for each in sample:
        numbers = [number for variable, number in each.slots if variable not in (each.u, each.w)]
        if len(numbers) >= 2:
            seen[tuple(numbers[:2])] += 1
        if numbers:
            beside[each.x, numbers[-1]] += 1
    assert_law(seen, uniform(product(range(59), repeat=2)))
    left = STUDY.train_pairs.sum(1).tolist()
    assert_law(beside, {(x, number): left[x] for x, number in product(range(59), repeat=2)})


# What each evaluation set may hold: kinds, whether pairs are held out, operands on a side that training bars.
DEFINITIONS = {
    "0-var train": ({"0-var"}, False, 0),
    "0-var add-restricted": ({"0-var"}, True, 0),
    "1-var train": ({"1-var left", "1-var right"}, False, 0),
    "1-var add-restricted": ({"1-var left", "1-var right"}, True, 0),
    "1-var var-restricted": ({"1-var left", "1-var right"}, False, 1),
    "2-var train": ({"2-var"}, False, 0),
    "2-var add-restricted": ({"2-var"}, True, 0),
    "2-var var-restricted (1)": ({"2-var"}, False, 1),
    "2-var var-restricted (2)": ({"2-var"}, False, 2),
}


def definition_forms(name: str, split: Split) -> set:
    """Every form (left variable, right variable) that a set may ask, by trying all."""
    kinds, _, barred = DEFINITIONS[name]
    forms = set()
    for u, w in product([None, *range(split.task.n_variables)], repeat=2):
        kind = ("0-var", "1-var left", "1-var right", "2-var")[(u is not None) + 2 * (w is not None)]
        n_barred = (u in split.never_left) + (w in split.never_right)
        if kind in kinds and n_barred == barred and (u is None or u != w):
            forms.add((u, w))
    return forms


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_each_evaluation_set_is_its_definition(task):
    """Right forms and right pairs, each equally often; a set is left out only where nothing fits its definition."""
    split = Split.draw(task, 42)
    sets = evaluation_sets(split, size=2000)
    assert EVALUATION_SETS == tuple(DEFINITIONS)
    assert tuple(sets) == tuple(name for name in DEFINITIONS if definition_forms(name, split))
    for name, batch in sets.items():
        forms, reads = definition_forms(name, split), read_batch(batch, task)
        assert len(reads) == 2000 and {(each.u, each.w) for each in reads} <= forms
        if len(forms) > 1:
            assert_law(Counter((each.u, each.w) for each in reads), uniform(forms))
        pairs = split.held_out_pairs if DEFINITIONS[name][1] else split.train_pairs
        assert_law(Counter((each.x, each.y) for each in reads), uniform(map(tuple, pairs.nonzero().tolist())))


@pytest.mark.parametrize("task", [Task(3, 2, 8), Task(5, 3, 9), Task(7, 6, 12), Task(4, 20, 17)], ids=str)
def test_exact_sets_hold_each_combination_once(task):
    split = Split.draw(task, 3)
    sets, pairs = exact_sets(split), list(product(range(task.n_numbers), repeat=2))
    zero = [(None, None, *pair) for pair in pairs if not split.train_pairs[pair]]
    trained = {*product(split.variables("left"), split.variables("right"))}
    forms = permutations(range(task.n_variables), 2)
    two = [(*form, *pair) for form, pair in product(forms, pairs) if form not in trained or not split.train_pairs[pair]]
    assert len(sets) == 2
    for name, combinations in (("0-var held-out", zero), ("2-var held-out", two)):
        assert Counter((each.u, each.w, each.x, each.y) for each in read_batch(sets[name], task)) == Counter(combinations)


def test_nothing_is_left_out_when_training_sees_every_pair():
    sets = evaluation_sets(Split.draw(Task(5, 6, 12), 0, 1.0), size=50)
    assert set(sets) == {name for name, (_, held_out, _) in DEFINITIONS.items() if not held_out}
    assert len(exact_sets(Split.draw(Task(5, 6, 12), 0, 1.0))["0-var held-out"].tokens) == 0


@pytest.mark.parametrize("size, parts", [(512, (171, 171, 170)), (3, (1, 1, 1)), (301, (101, 100, 100))])
def test_diagnostic_batch_holds_three_kinds_evenly(size, parts):
    reads = read_batch(diagnostic_batch(STUDY, size=size), Task())
    assert tuple(Counter(each.kind for each in reads)[kind] for kind in ("0-var", "1-var left", "1-var right")) == parts
    for each in reads:
        assert STUDY.train_pairs[each.x, each.y]
        assert each.u not in (10, 11) and each.w not in (0, 1)


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_training_in_other_sizes(task):
    """The rules hold, every allowed number of assignments and every allowed form comes up."""
    split = Split.draw(task, 1)
    reads = read_batch(training_population(split).sample(20_000, rng(0)), task)
    assert all(split.train_pairs[each.x, each.y] for each in reads)
    assert {len(each.slots) for each in reads} == set(range(1, min((task.length - 4) // 2, task.n_variables) + 1))
    forms = set().union(*(definition_forms(name, split) for name in ("0-var train", "1-var train", "2-var train")))
    assert {(each.u, each.w) for each in reads} == forms
    V, sides = task.n_variables, task.n_variables - len(split.never_left)
    law = {"0-var": V, "1-var left": sides, "1-var right": sides, "2-var": sides}
    assert_law(Counter(each.kind for each in reads), law)


DRAWS = {
    "training": lambda seed: training_population(STUDY).sample(64, rng(seed)).tokens,
    "diagnostic": lambda seed: diagnostic_batch(STUDY, seed, 64).tokens,
    "evaluation": lambda seed: evaluation_sets(STUDY, seed, 64)["2-var train"].tokens,
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_seed_alone_decides_the_batch(name):
    before = torch.get_rng_state()
    assert torch.equal(DRAWS[name](7), DRAWS[name](7))
    assert not torch.equal(DRAWS[name](7), DRAWS[name](8))
    assert torch.equal(torch.get_rng_state(), before)


def test_an_empty_batch_is_laid_out():
    none = torch.zeros(0, 2, dtype=torch.long)
    batch = lay_out(Task(), none, none, torch.Generator())
    assert batch.tokens.shape == (0, 16) and batch.answers.shape == (0,)
