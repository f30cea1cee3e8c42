"""Nothing of the study is wired in: on a task of other sizes, functions answer, and refuse problems of another.

What each function answers has its own tests, at whatever size.  Here the code is searched for the study's numbers, and every
public function is called whose arguments, by their names, are known.  What has no other test is held against slow truths.
"""

import ast
import importlib
import inspect
import math
import pkgutil
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from small import problems, random_weights

from assign_add_lib import Split, Task, circuits, forward, measures, model
from assign_add_lib.analysis import causal, fourier, rivals, uneven
from assign_add_lib.analysis import interventions as iv
from assign_add_lib.model import trace
from assign_add_lib.sampling import Batch, evaluation_sets
from assign_add_lib.theory import Setting

TASK = Task(7, 4, 12)
N, V, T = 7, 4, 12  # numbers, variables, positions
SPLIT = Split.draw(TASK, 2)
WEIGHTS = random_weights(TASK, 10, 6, 9, seed=3)
NUMBERS = WEIGHTS.W_E[:N]
BATCH = problems(TASK, 60, seed=2)
TOKENS, ANSWERS = BATCH
SEEN = trace(WEIGHTS, TOKENS)
SUMS = [[(x + y) % N for y in range(N)] for x in range(N)]
PATTERN, TWO, KEYS = SEEN.pattern[:, 1, -1], TASK.value_positions(TOKENS), torch.ones(60, T).tril().bool()
KNOWN = {
    "weights": WEIGHTS, "w": WEIGHTS, "activations": SEEN, "tokens": TOKENS, "batch": BATCH, "answers": ANSWERS,
    "base": TOKENS[:9], "source": TOKENS[9:18], "pool": TOKENS, "reference": TOKENS, "clean": TOKENS[:9], "changed": TOKENS[9:18],
    "task": TASK, "split": SPLIT, "sets": evaluation_sets(SPLIT, size=9), "N": N, "n_numbers": N, "p": N, "size": 9, "k": 2,
    "logits": SEEN.logits[:1, -1].expand(N, N, N), "ks": torch.tensor([1, 3]), "two": TWO, "pattern": PATTERN, "scores": PATTERN,
    "term": PATTERN, "keys": KEYS, "layer": 2, "table": NUMBERS, "kept": [1, 3], "removed": [2], "variable": "sum",
    "by": "mean", "part": causal.PARTS[2], "sites": ["blocks.1.attn.hook_v"], "names": ["blocks.1.attn.hook_v"],
    "read": uneven.own, "setting": Setting(TASK, 3.0), "frequencies": (1, 2), "given": ANSWERS,
}  # fmt: skip
ONE_VARIABLE = TASK.kind_of(TOKENS) == 1
SPECIAL = {  # where a name means something else
    "analysis.interventions.changed_problems": {"clean": iv.full_problems(9, torch.Generator().manual_seed(1), TASK)},
    "analysis.fourier.pair_spectrum": {"table": KNOWN["logits"]},
    "analysis.fourier.sum_share": {"table": KNOWN["logits"]},
    "analysis.scores.shares_read": {"pattern": SEEN.pattern[:, 0]},
    "analysis.rivals.terms_at_right": {"tokens": TOKENS[ONE_VARIABLE]},
    "analysis.causal.kinds_of_answer": {"tokens": TOKENS[ONE_VARIABLE], "given": ANSWERS[ONE_VARIABLE]},
    "analysis.history.history_text": {"table": pd.DataFrame({"x": [0.5]}, [0])},
    "theory.trained.delivery": {"tokens": TOKENS[ONE_VARIABLE]},
    "theory.population.step_on_pairs": {"kept": SPLIT.train_pairs},
}
TAKE_ANY_TOKENS = {  # where a check would cost time at every step, or nothing depends on which token it is
    "circuits.last_logits", "circuits.last_reading", "analysis.causal.ablated", "analysis.rivals.road_closed",
    "analysis.shortcuts.chance", "theory.forward.augmented", "theory.forward.vectors",
}  # fmt: skip
ROOMS = ("circuits", "measures", "handmade", "analysis", "theory")
OTHERS = {str(task): problems(task, 20).tokens for task in (Task(5, 6, 12), Task(8, 3, 12), Task(7, 4, 10), Task())}


def modules():
    """The modules of the rooms, and of the figures."""
    for room in (*ROOMS, "views"):
        module = importlib.import_module(f"assign_add_lib.{room}")
        yield room, module
        for each in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}."):
            yield each.name.removeprefix("assign_add_lib."), importlib.import_module(each.name)


MODULES = dict(modules())


def functions():
    """The public functions of the rooms whose arguments are all known, by name."""
    for room, module in MODULES.items():
        for name, function in inspect.getmembers(module, inspect.isfunction):
            parameters = inspect.signature(function).parameters.values()
            needed = [each.name for each in parameters if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD]
            own = function.__module__ == module.__name__ and not name.startswith("_") and room.partition(".")[0] in ROOMS
            if own and needed and KNOWN.keys() | {"generator"} >= set(needed):
                yield f"{room}.{name}", function, needed


FUNCTIONS = {name: (function, needed) for name, function, needed in functions()}


def asked(name, **others):
    function, needed = FUNCTIONS[name]
    known = KNOWN | {"generator": torch.Generator().manual_seed(0)} | SPECIAL.get(name, {}) | others
    with torch.no_grad() if "theory" not in name else torch.enable_grad():
        return function(*(known[each] for each in needed))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_another_size_is_asked_and_answered(name):
    """A length or a number of tokens that is wired in fits nowhere."""
    assert asked(name) is not None


def test_most_functions_are_asked():
    assert len(FUNCTIONS) > 120


def read_by(name):
    """Under which names a function that knows its task gets problems."""
    needed = set(FUNCTIONS[name][1]) if name not in TAKE_ANY_TOKENS else set()
    return needed & {"tokens", "batch", "base", "clean"} if needed & {"weights", "task"} else set()


@pytest.mark.parametrize("name", list(filter(read_by, FUNCTIONS)))
@pytest.mark.parametrize("other", OTHERS)
def test_problems_of_another_task_are_refused(name, other):
    """The first two have the same number of token ids and positions, so that nothing but a check can tell."""
    tokens = OTHERS[other]
    with pytest.raises((ValueError, IndexError, RuntimeError)):
        asked(name, **{each: Batch(tokens, tokens[:, 0]) if each == "batch" else tokens for each in read_by(name)})


ALWAYS, WHERE_SIZES_STAND = {58, 59, 61, 62, 74, 90}, {12, 13, 14, 15, 16}  # sizes and places of the study
OF_THE_STUDY = {"theory.sweeps", "views.explorer"}  # they say so, and refuse another task or take none


def wired_in(node, name):
    """The study's numbers in a piece of code, and its task in the body of a function."""
    if isinstance(node, ast.Constant):
        return node.value in ALWAYS and type(node.value) is int and not name.startswith("views")
    if isinstance(node, ast.Subscript | ast.Compare) or isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return any(isinstance(part, ast.Constant) and part.value in WHERE_SIZES_STAND | {59} for part in ast.walk(node))
    if isinstance(node, ast.FunctionDef):
        return any(isinstance(part, ast.Name) and part.id == "STUDY" for each in node.body for part in ast.walk(each))
    return False


@pytest.mark.parametrize("name", sorted(MODULES.keys() - OF_THE_STUDY))
def test_no_number_of_the_study_stands_in_the_code(name):
    """As wrong values come, unseen, from a 59 after a %."""
    nodes = ast.walk(ast.parse(Path(MODULES[name].__file__).read_text()))
    assert not [ast.unparse(node)[:80] for node in nodes if wired_in(node, name)]


# what no other test holds against a slow truth


def same(found, expected):
    found, expected = (torch.as_tensor(each, dtype=torch.float64) for each in (found, expected))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-7)


@torch.no_grad()
def test_additions_are_right_where_the_bare_circuit_says_so():
    best = circuits.bare_addition(WEIGHTS).argmax(2).tolist()
    assert measures.added_right(WEIGHTS).tolist() == [[best[x][y] == SUMS[x][y] for y in range(N)] for x in range(N)]


@torch.no_grad()
def test_readings_are_overruled():
    read = SEEN.pattern[:, 1, -1].gather(1, TASK.value_positions(TOKENS))
    same(uneven.larger_share(WEIGHTS, TOKENS), read.max(1).values / read.sum(1))
    pairs, draw = torch.tensor([[0, 1], [1, 2], [2, 2]]), torch.Generator().manual_seed(0)
    chosen = torch.arange(N) == 1
    same(uneven.favouring(chosen, 0.8, 0.8)(pairs, draw), [[0.2, 0.8, 0], [0.8, 0.2, 0], [0.5, 0.5, 0]])
    same(uneven.drawn_from(torch.tensor([0.3]))(pairs, draw), [[0.3, 0.7, 0]] * 3)
    for given in (uneven.between(0.2, 0.4)(pairs, draw), uneven.with_stranger(pairs, draw)):
        same(given.sum(1), torch.ones(3))
    run, half = SimpleNamespace(weights=lambda step: WEIGHTS, split=SPLIT), uneven.between(0.5, 0.5)
    h = fourier.number_table(WEIGHTS) @ WEIGHTS.W_in
    with torch.enable_grad():
        kept, trained = (uneven.module_trained_on(run, 0, half, steps=steps) for steps in (0, 100))
    same(kept, fourier.pair_logits(h, h, WEIGHTS.W_out @ WEIGHTS.W_U))
    found = uneven.tally(kept, SPLIT)
    assert sum(each for name, each in found.items() if "wrong" in name) == (kept.argmax(2) != torch.tensor(SUMS)).sum()
    assert uneven.tally(trained, SPLIT)["margin, trained doubles"] > found["margin, trained doubles"]
    with torch.enable_grad():
        first, last = uneven.trained_on(run, 0, uneven.own, 2, every=2, batch=8)
    assert (first["step"], last["step"]) == (0, 2) and first["network: wrong"] <= (~SPLIT.train_pairs.diagonal()).sum()


@torch.no_grad()
def test_a_typed_number_loses_its_name():
    found = causal.typed_number_unnamed(WEIGHTS, TOKENS)
    stream, place = SEEN.resid_pre + SEEN.attn_out[:, 0], T - 2
    scores = SEEN.scores[:, 1, -1].clone()
    scores[:, place] -= iv.identity_term(WEIGHTS, TOKENS)[:, place]
    keys = stream @ WEIGHTS.W_K[1]
    keys[:, place] = keys[:, place].mean(0)
    meant = torch.einsum("bd,bkd->bk", stream[:, -1] @ WEIGHTS.W_Q[1], keys) / math.sqrt(6)
    for alter, truth in zip(found.values(), (scores, meant)):
        read = torch.einsum("bk,bkd->bd", truth.softmax(1), stream) @ circuits.OV(WEIGHTS, 2)
        resid = stream[:, -1] + read
        same(model.run(WEIGHTS, TOKENS, alter).logits, (resid + (resid @ WEIGHTS.W_in).relu() @ WEIGHTS.W_out) @ WEIGHTS.W_U)


@torch.no_grad()
def test_controls_are_counted():
    run = SimpleNamespace(weights=lambda: WEIGHTS, task=TASK, split=SPLIT)
    found = rivals.controls(run, size=20).set_index(["experiment", "row", "column"]).value
    assert found.index.is_unique and found.between(0, 1).all()
    pool = rivals.mixed_pool(run, "0-var train", 40, torch.Generator().manual_seed(0))
    assert pool.shape == (40, T) and (pool[-10:, [TASK.left, TASK.right]] < N).all()

    left = TOKENS[TASK.kind_of(TOKENS) == 1]
    terms, block = rivals.terms_at_right(WEIGHTS, left), circuits.variable_identity(WEIGHTS)
    A = trace(WEIGHTS, left).pattern[:, 0]
    drawn, right = rivals.problems_with_number_right(run, 60, torch.Generator().manual_seed(0))
    assert (TASK.kind_of(drawn) == 1).all() and torch.equal(right, TASK.right_answers(drawn))
    fits = rivals.key_at_right(WEIGHTS, drawn, right, torch.Generator().manual_seed(0))
    own = forward(WEIGHTS, drawn)[:, -1].argmax(1)
    assert torch.equal(fits["the network"], own == right)
    ((name, act),) = rivals.road_closed(WEIGHTS, left).items()
    stream = trace(WEIGHTS, left).resid_pre
    key = act(stream.new_zeros(len(left), T, 1, WEIGHTS.W_K.shape[-1]))
    for b in range(len(left)):
        image = stream[b, TASK.left] @ WEIGHTS.W_V[0] @ WEIGHTS.W_O[0] @ WEIGHTS.W_K[1]
        same(key[b, TASK.right, 0], -A[b, TASK.right, TASK.left] * image)
    assert name == "blocks.1.attn.hook_k" and not key[:, : TASK.right].any() and not key[:, TASK.right + 1 :].any()
    for b, ids in enumerate(left.tolist()):
        pairs = [(i, j) for i in range(T) for j in range(T - 1) if ids[i] >= 10 and ids[j] >= 10]
        each = {(i, j): A[b, -1, i] * A[b, T - 2, j] * block[ids[i] - 10, ids[j] - 10] for i, j in pairs}
        same(terms["all"][b], sum(each.values()))
        same(terms["through the left operand's position"][b], sum(v for (_, j), v in each.items() if j == TASK.left))
        same(terms["other names"][b], sum((v for (_, j), v in each.items() if ids[j] != ids[TASK.left]), block.new_zeros(())))

    image = NUMBERS @ circuits.OV(WEIGHTS, 2)
    outs = {(x, y): (0.5 * (image[x] + image[y]) @ WEIGHTS.W_in).relu() @ WEIGHTS.W_out for x in range(N) for y in range(N)}
    mean = sum(outs.values()) / N**2
    by_sum = {s: sum(v for (x, y), v in outs.items() if (x + y) % N == s) / N for s in range(N)}
    whole = sum((v - mean).square().sum() for v in outs.values())
    explained = sum(N * (v - mean).square().sum() for v in by_sum.values())
    same(rivals.shares_of_variance(WEIGHTS)["the sum"], explained / whole)


@torch.no_grad()
def test_causes_are_counted():
    run = SimpleNamespace(weights=lambda: WEIGHTS, task=TASK, split=SPLIT)
    found = causal.causes(run, size=10).set_index(["experiment", "row", "column"]).value
    assert found.index.is_unique and found.notna().all()
    shipped = causal.load_causes()
    assert shipped.shape[1] == 10 and not shipped.isna().any(axis=None)
    assert set(found.loc["interchange"].index) == set(shipped.loc["interchange"].index)
    tokens, right = evaluation_sets(SPLIT, size=10)["1-var train"]
    given = forward(WEIGHTS, tokens)[:, -1].argmax(1)
    same(found["scrubbing", "1-var train", "the network"], (given == right).double().mean())
    kinds = found.loc["ablation"].groupby("row").sum()
    assert len(kinds) == 11 and kinds.sub(1).abs().max() < 1e-9
