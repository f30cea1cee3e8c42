"""Checks: the numbers that the prose quotes, and one check for each exercise.

A check tries the learner's function on fresh random input, compares it with an independent truth, and prints in words
whether it is right, or what is wrong.
"""

import functools
import math
import random
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from .circuits import qk_table
from .model import Weights, forward, run
from .task import STUDY, Problem, Split, Task


def report(name: str, value: float, expected: float, atol: float) -> None:
    """Print the number that the prose quotes; AssertionError where the measured one is further off than `atol`."""
    if not abs(float(value) - expected) <= atol:
        raise AssertionError(f"{name}: measured {float(value)!r}, expected {expected} ± {atol}")
    print(f"{name}: {expected} (± {atol})" if atol else f"{name}: {expected}")


class Wrong(Exception):
    """What is wrong with a learner's answer, in words."""


def exercise(check: Callable) -> Callable:
    """Make a function that raises `Wrong` into a check that prints its verdict."""

    @functools.wraps(check)
    def judged(answer: Callable) -> None:
        try:
            check(answer)
        except Wrong as wrong:
            print(f"Not yet: {wrong}")
        except Exception as error:
            print(f"Not yet: your function stopped with {type(error).__name__}: {error}")
        else:
            print("Right.")

    return judged


def expect(condition: bool, words: str) -> None:
    """Raise `Wrong` with these words unless the condition holds."""
    if not condition:
        raise Wrong(words)


def as_tensor(answer, shape: tuple[int, ...], what: str) -> Tensor:
    """The learner's answer as a tensor of this shape, or `Wrong`."""
    expect(answer is not None, "your function returns nothing yet")
    answer = torch.as_tensor(answer)
    expect(tuple(answer.shape) == tuple(shape), f"{what} has shape {tuple(answer.shape)}; it should be {tuple(shape)}")
    return answer


def random_problem(kind: str | None = None) -> Problem:
    """A random problem of one of the four kinds, any kind if not given."""
    names, N = STUDY.variable_names, STUDY.n_numbers
    kind = kind or random.choice(["0-var", "1-var left", "1-var right", "2-var"])
    n = random.randint(2, STUDY.slots)
    assignments = tuple((name, random.randrange(N)) for name in random.sample(names, n))
    first, second = random.sample([name for name, _ in assignments], 2)
    left = first if kind in ("1-var left", "2-var") else random.randrange(N)
    right = second if kind in ("1-var right", "2-var") else random.randrange(N)
    return Problem(assignments, left, right)


@exercise
def tokens(answer: Callable) -> None:
    """Exercise 1.1: `answer(problem)` gives the 16 token ids of a problem, packed to the left."""
    for _ in range(50):
        problem = random_problem()
        given = as_tensor(answer(problem), (STUDY.length,), "the answer")
        for position, (ours, theirs) in enumerate(zip(problem.tokens().tolist(), given.tolist())):
            words = f"position {position} of {problem} holds {theirs}, but should hold {ours} ({STUDY.token_name(ours)})"
            expect(ours == theirs, words)


@exercise
def may_train(answer: Callable) -> None:
    """Exercise 1.2: `answer(problem, train_pairs)` says whether training may ask a problem."""
    split = Split.draw(seed=random.randrange(2**31))
    barred_left, barred_right = "kl", "ab"
    for _ in range(400):
        problem = random_problem()
        x, y = (dict(problem.assignments).get(operand, operand) for operand in (problem.left, problem.right))
        given = answer(problem, split.train_pairs)
        expect(given is not None, "your function returns nothing yet")
        if not split.train_pairs[x, y]:
            expect(not given, f"{problem} adds ({x}, {y}), which is held out, so training never asks it")
        elif str(problem.left) in barred_left:
            expect(not given, f"{problem} has {problem.left} on the left, where training never puts it")
        elif str(problem.right) in barred_right:
            expect(not given, f"{problem} has {problem.right} on the right, where training never puts it")
        else:
            expect(given, f"training may ask {problem}: ({x}, {y}) is a training pair and no variable is out of place")


@exercise
def shortcut_score(answer: Callable) -> None:
    """Exercise 1.3: `answer(N, m)` is the expected 1-var accuracy of a random assigned number."""
    for _ in range(20):
        N, m = random.randint(3, 200), random.randint(1, 12)
        given = answer(N, m)
        expect(given is not None, "your function returns nothing yet")
        truth = sum((1 + (n - 1) * (1 / N)) / n for n in range(1, m + 1)) / m  # one candidate is right, n - 1 may be by luck
        words = f"for N = {N} and m = {m} it gives {float(given):.4f}; counting the cases one by one gives {truth:.4f}"
        expect(abs(given - truth) < 1e-9, words)


@exercise
def informed(answer: Callable) -> None:
    """Exercise 1.4: `answer(tokens, train_pairs)` chooses among assigned numbers whose pair training may add."""
    split = Split.draw(seed=random.randrange(2**31))
    problems = [random_problem(random.choice(["1-var left", "1-var right"])) for _ in range(200)]
    batch = torch.stack([problem.tokens(seed=index) for index, problem in enumerate(problems)])
    given = as_tensor(answer(batch, split.train_pairs), (len(batch), STUDY.n_numbers), "the answer")
    for problem, row in zip(problems, given):
        on_left = isinstance(problem.left, str)
        constant = problem.right if on_left else problem.left
        pairs = [(value, constant) if on_left else (constant, value) for _, value in problem.assignments]
        kept = [pair for pair in pairs if split.train_pairs[pair]] or pairs
        truth = torch.zeros(STUDY.n_numbers)
        for x, y in kept:
            truth[(x + y) % STUDY.n_numbers] += 1 / len(kept)
        words = (
            f"for {problem} the answers should share the probability like {truth.nonzero().flatten().tolist()}, not as yours do"
        )
        expect(torch.allclose(row.float(), truth, atol=1e-5), words)


@exercise
def loss(answer: Callable) -> None:
    """Exercise 3.1: `answer(logits, answers)` is the mean cross entropy."""
    for scale in (1, 30, 1000):
        logits = scale * torch.randn(40, STUDY.n_numbers, dtype=torch.float64)
        answers = torch.randint(STUDY.n_numbers, (40,))
        given = as_tensor(answer(logits, answers), (), "the answer")
        truth = cross_entropy(logits, answers)
        expect(
            bool(given.isfinite()),
            f"with logits of size {scale} it overflows; subtract before you exponentiate, as logsumexp does",
        )
        words = f"on random logits of size {scale} it gives {given:.4f}, but the mean of -ln p is {truth:.4f}"
        expect(bool((given - truth).abs() < 1e-6 * scale), words)


@exercise
def score(answer: Callable) -> None:
    """Exercise 3.2: `answer(S, tokens, i, j)` is a layer-1 score, from the table of all embeddings."""
    weights = Weights.init(STUDY, seed=random.randrange(2**31)).to(torch.float64)
    table, problem = qk_table(weights), random_problem()
    tokens = problem.tokens(seed=0)
    truth = run(weights, tokens[None]).scores[0, 0]
    for i in range(STUDY.length):
        for j in range(i + 1):
            given = as_tensor(answer(table, tokens, i, j), (), "the answer")
            words = (
                f"for the query at position {i} and the key at {j} it gives {given:.4f}; the network's score is {truth[i, j]:.4f}"
            )
            expect(bool((given - truth[i, j]).abs() < 1e-9), words)


@exercise
def adamw(answer: Callable) -> None:
    """Exercise 3.3: `answer(w, g, m, v, t)` is one step of AdamW."""
    truth = torch.randn(7, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.AdamW([truth], lr=1e-3, betas=(0.9, 0.999), weight_decay=0.02)
    w, m, v = truth.detach().clone(), torch.zeros(7, dtype=torch.float64), torch.zeros(7, dtype=torch.float64)
    for t in range(1, 6):
        truth.grad = torch.randn(7, dtype=torch.float64)
        optimizer.step()
        given = answer(w, truth.grad.clone(), m, v, t)
        expect(given is not None, "your function returns nothing yet")
        expect(isinstance(given, tuple) and len(given) == 3, "it should return three things: w, m, v")
        w, m, v = (each.detach() for each in given)
        off = (w - truth).abs().max()
        expect(bool(off < 1e-12), f"after step {t} the weights differ from PyTorch's AdamW by up to {off:.1e}")


@exercise
def reach(answer: Callable) -> None:
    """Exercise 3.4: `answer(weights, tokens)` is how much of each position reaches `=` through both layers."""
    weights = Weights.init(STUDY, seed=random.randrange(2**31))
    batch = torch.stack([random_problem().tokens(seed=index) for index in range(8)])
    given = as_tensor(answer(weights, batch), tuple(batch.shape), "the answer")
    sums = given.sum(1)
    expect(
        torch.allclose(sums, torch.ones_like(sums), atol=1e-5), f"each row should sum to 1; one of yours sums to {sums[0]:.3f}"
    )
    for pattern, row in zip(run(weights, batch).pattern, given):
        truth = [sum(float(pattern[1, -1, t] * pattern[0, t, i]) for t in range(STUDY.length)) for i in range(STUDY.length)]
        expect(
            torch.allclose(row, torch.tensor(truth), atol=1e-5), "the rows sum to 1 but are not the sums of a_t times A_ti over t"
        )


@exercise
def count_parameters(answer: Callable) -> None:
    """Exercise 2.1: `answer(n_numbers, n_variables, length, d_model, d_mlp)` is the number of parameters."""
    for _ in range(10):
        task = Task(random.randint(3, 99), random.randint(2, 20), random.randint(8, 30))
        d_model, d_mlp = random.randint(1, 60), random.randint(1, 60)
        sizes = (task.n_numbers, task.n_variables, task.length, d_model, d_mlp)
        given = answer(*sizes)
        expect(given is not None, "your function returns nothing yet")
        tensors = Weights.init(task, 0, d_model, d_mlp).tensors().values()
        truth = sum(tensor.numel() for tensor in tensors)
        expect(given != truth - 3 * d_model, "three embeddings are missing: +, = and PAD are tokens too")
        expect(given != truth - 4 * d_model**2, "there are two layers, and each has four attention matrices")
        expect(given == truth, f"for the sizes {sizes} it gives {given}; such a network has {truth} parameters")


@exercise
def causal_pattern(answer: Callable) -> None:
    """Exercise 2.2: `answer(scores)` is the causal attention pattern of a table of scores (query, key)."""
    for size in (1, 2, *random.choices(range(3, 12), k=8)):
        scores = 2 * torch.randn(size, size)
        given = as_tensor(answer(scores.clone()), (size, size), "the pattern")
        expect(not given.isnan().any(), "some entries are not numbers; may every token read itself, the first one too?")
        expect(not given.triu(1).any(), "a query gives weight to a key that comes after it")
        worst = given.sum(1)[(given.sum(1) - 1).abs().argmax()].item()
        expect(abs(worst - 1) < 1e-5, f"each row should sum to 1; one of yours sums to {worst:.4f}")
        for query, row in enumerate(scores.tolist()):
            seen = [round(score, 2) for score in row[: query + 1]]
            powers = [math.exp(score) for score in row[: query + 1]]
            for key, power in enumerate(powers):
                weight, truth = float(given[query, key]), power / sum(powers)
                words = f"a query with the scores {seen} gives key {key} the weight {weight:.4f}; it should be {truth:.4f}"
                expect(abs(weight - truth) < 1e-5, words)


@exercise
def turned(answer: Callable) -> None:
    """Exercise 2.3: `answer(weights, layer, M)` has W_Q M in a layer, and the logits of before."""
    task = Task(7, 3, 10)
    tokens = torch.randint(task.d_vocab, (20, task.length))
    for layer in (1, 2):
        weights = Weights.init(task, random.randrange(2**31), d_model=12, d_mlp=20).to(torch.float64)
        weights = weights.replace(W_Q=4 * weights.W_Q, W_K=4 * weights.W_K)
        M = torch.eye(12) + torch.randn(12, 12) / 6
        M = M.to(torch.float64)
        before = {name: tensor.clone() for name, tensor in weights.tensors().items()}
        given = answer(weights, layer, M)
        expect(given is not None, "your function returns nothing yet")
        expect(isinstance(given, Weights), f"it returns a {type(given).__name__}; it should return Weights")
        same = all(torch.equal(tensor, before[name]) for name, tensor in weights.tensors().items())
        expect(same, "it writes into the weights that it was given; copy a tensor with clone() before you change it")
        here, other = layer - 1, 2 - layer
        untouched = torch.equal(given.W_Q[other], weights.W_Q[other]) and torch.equal(given.W_K[other], weights.W_K[other])
        expect(untouched, f"asked to turn layer {layer}, it changes layer {3 - layer}; layer 1 is at index 0")
        expect(torch.allclose(given.W_Q[here], weights.W_Q[here] @ M), f"W_Q of layer {layer} should become W_Q M")
        gap = (forward(given, tokens) - forward(weights, tokens)).abs().max().item()
        expect(gap < 1e-8, f"turning layer {layer} changes the logits, by up to {gap:.2g}; is W_K right?")


@exercise
def without_layer_2_attention(answer: Callable) -> None:
    """Exercise 2.4: `answer(lens, tokens)` gives the logits without what layer 2's attention adds."""
    weights = Weights.init(seed=random.randrange(2**31))
    lens = weights.to_transformer_lens()
    tokens = torch.stack([random_problem().tokens() for _ in range(20)])
    activations = run(weights, tokens)

    without = activations.resid_pre + activations.attn_out[:, 0]  # the stream with layer 1's attention alone
    given = as_tensor(answer(lens, tokens), tuple(activations.logits.shape), "the answer")

    def like(truth):
        return torch.allclose(given, truth, atol=1e-5)

    expect(not like(activations.logits), "the logits are those of the whole network, so nothing was removed")
    expect(not like(without @ weights.W_U), "the MLP of layer 2 should stay")
    block_0 = lens.run_with_hooks(tokens, fwd_hooks=[("blocks.0.hook_attn_out", lambda out, hook: 0 * out)])
    expect(not like(block_0), "layer 1's attention is removed; our layer 2 is blocks.1 in TransformerLens")
    words = "the MLP still reads what layer 2's attention adds; remove it before the MLP, not after"
    expect(not like(activations.logits - activations.attn_out[:, 1] @ weights.W_U), words)
    truth = (without + (without @ weights.W_in).relu() @ weights.W_out) @ weights.W_U
    expect(like(truth), "the logits are not those of the network without layer 2's attention")
    restored = torch.allclose(lens(tokens), activations.logits, atol=1e-5)
    expect(restored, "the network stays changed after the call; use run_with_hooks")
