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

from . import handmade
from .circuits import OV, QK, bare_addition, layer_2_terms, qk_table
from .model import Weights, forward, run
from .sampling import value_positions
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


@exercise
def reads_previous(answer: Callable) -> None:
    """Exercise 8.1: `answer(scores, mask_two_back)` is how many rows, from the second, score the previous position highest."""
    cases = [torch.arange(8.0).expand(8, 8), torch.arange(8.0).flip(0).expand(8, 8), *torch.randn(30, 9, 9)]
    for scores in cases:
        for mask_two_back in (False, True):
            truth = 0
            for i in range(1, len(scores)):
                allowed = [j for j in range(i) if not (mask_two_back and j == i - 2)]
                truth += max(allowed, key=lambda j: float(scores[i, j])) == i - 1
            given = as_tensor(answer(scores.clone(), mask_two_back), (), "the answer")
            table = f"for a table of {len(scores)} positions with mask_two_back={mask_two_back} "
            with_self = sum(int(scores[i, : i + 1].argmax()) == i - 1 for i in range(1, len(scores)))
            hint = "; may a position read itself here?" if int(given) == with_self else ""
            expect(int(given) == truth, f"{table}it gives {int(given)}; counting row by row gives {truth}{hint}")


@exercise
def latest_variable(answer: Callable) -> None:
    """Exercise 8.2: `answer(tokens)` is where the latest variable up to each position stands, -1 where there is none."""
    for index in range(60):
        tokens = random_problem().tokens(seed=index)
        if index % 2:
            tokens[: STUDY.room] = tokens[torch.randperm(STUDY.room)]
        given = as_tensor(answer(tokens.clone()), (STUDY.length,), "the answer")
        latest = -1
        for position, token in enumerate(tokens.tolist()):
            latest = position if token >= STUDY.first_variable else latest
            words = f"in {' '.join(STUDY.names(tokens))} position {position} gets {int(given[position])}; it should get {latest}"
            expect(int(given[position]) == latest, words)


@exercise
def binding_scores(answer: Callable) -> None:
    """Exercise 8.3: `answer(block, pattern, tokens)` is the binding term of the score of `=`, by look-up."""
    weights = Weights.init(seed=random.randrange(2**31)).to(torch.float64)
    weights = weights.replace(W_E=5 * weights.W_E, W_pos=5 * weights.W_pos)
    moved = weights.W_E @ OV(weights, 1)
    block = moved @ QK(weights, 2) @ moved.T
    for index in range(20):
        tokens = random_problem().tokens(seed=index)
        pattern = run(weights, tokens[None]).pattern[0, 0]
        given = as_tensor(answer(block, pattern, tokens), (STUDY.length,), "the answer")
        truth = layer_2_terms(weights, tokens[None])[0, 1, 1]
        for position in range(STUDY.length):
            words = f"for key {position} it gives {given[position]:.4f}; the term is {truth[position]:.4f}"
            if position == 0:
                words += "; nothing stands before position 0"
            elif abs(given[position] * pattern[position, position - 1] - truth[position]) < 1e-9:
                words += "; how much of the token before does this key hold?"
            expect(bool((given[position] - truth[position]).abs() < 1e-9), words)


@exercise
def memory(answer: Callable) -> None:
    """Exercise 8.4: `answer(vectors)` is a matrix by which each vector scores itself 1 and every other 0."""
    for _ in range(10):
        n, d = random.randint(2, 12), random.randint(16, 40)
        vectors = torch.randn(n, d, dtype=torch.float64)
        given = as_tensor(answer(vectors.clone()), (d, d), "the matrix").to(torch.float64)
        block = vectors @ given @ vectors.T
        sums = vectors.T @ vectors
        words = "this is the sum of e_v^T e_v, which works when the vectors are orthonormal; these are not"
        expect(not torch.allclose(given, sums), words)
        gap = (block - torch.eye(n, dtype=torch.float64)).abs().max()
        expect(bool(gap < 1e-6), f"for {n} vectors of length {d} the block differs from the identity by up to {gap:.2g}")


@exercise
def matched_and_shuffled(answer: Callable) -> None:
    """Exercise 6.1: `answer(a, b, order)` is the mean cosine of matched rows, and of rows matched wrongly."""
    for _ in range(5):
        a = torch.randn(30, 8, dtype=torch.float64) * torch.rand(30, 1, dtype=torch.float64)
        b, order = a + torch.randn(30, 8, dtype=torch.float64) / 3, torch.randperm(30)
        given = answer(a, b, order)
        expect(given is not None, "your function returns nothing yet")
        expect(isinstance(given, tuple) and len(given) == 2, "it should return two things: the matched and the shuffled mean")
        matched, shuffled = (as_tensor(each, (), "each mean").item() for each in given)

        def mean(rows, a=a, b=b):
            pairs = [(a[i], b[j]) for i, j in enumerate(rows)]
            return sum(float(u @ v / (u.norm() * v.norm())) for u, v in pairs) / len(pairs)

        dots = float((a * b).sum(1).mean())
        expect(abs(matched - dots) > 1e-9, "the matched mean is that of the dot products; divide by both lengths")
        words = f"the matched mean is {matched:.4f}; from the definition, row by row, it is {mean(range(30)):.4f}"
        expect(abs(matched - mean(range(30))) < 1e-9, words)
        words = f"the shuffled mean is {shuffled:.4f}; with row i of a against row order[i] of b it is {mean(order):.4f}"
        expect(abs(shuffled - mean(order)) < 1e-9, words)


@exercise
def truly_new(answer: Callable) -> None:
    """Exercise 6.2: `answer(train_pairs)` marks the pairs that training adds in neither order."""
    for _ in range(5):
        train = Split.draw(seed=random.randrange(2**31)).train_pairs
        given = as_tensor(answer(train.clone()), tuple(train.shape), "the answer").bool()
        diagonal = torch.eye(len(train), dtype=torch.bool)
        for mistakes, words in (
            (given & train, "({0}, {1}) is a training pair, so it is not new"),
            (given & ~train & train.T, "({0}, {1}) is held out, but training adds ({1}, {0}), which has the same sum"),
            (~given & ~train & diagonal, "({0}, {1}) is held out and is its own twin, so it is new"),
            (~given & ~train & ~train.T, "({0}, {1}) and ({1}, {0}) are both held out, so ({0}, {1}) is new"),
        ):
            for x, y in mistakes.nonzero()[:1].tolist():
                raise Wrong(words.format(x, y))


@exercise
def margin(answer: Callable) -> None:
    """Exercise 6.3: `answer(logits, answers)` is how far the right logit lies above the best wrong one."""
    for _ in range(5):
        logits = 10 * torch.randn(40, STUDY.n_numbers) - 20
        answers = torch.randint(STUDY.n_numbers, (40,))
        answers[:10] = logits[:10].argmax(1)  # some are right
        before = logits.clone()
        given = as_tensor(answer(logits, answers), (40,), "the answer")
        expect(torch.equal(logits, before), "it writes into the logits that it was given; work on a copy")
        for row, right, ours in zip(logits.tolist(), answers.tolist(), given.tolist()):
            wrong = max(logit for q, logit in enumerate(row) if q != right)
            words = "a margin is negative where the network is wrong, and positive where it is right; "
            words += f"one of yours is {ours:.3f}, and it should be {row[right] - wrong:.3f}"
            expect(abs(ours - (row[right] - wrong)) < 1e-4, words)


@exercise
def attribution(answer: Callable) -> None:
    """Exercise 6.4: `answer(weights, x, y)` is what each neuron of the bare circuit adds to the right logit, (d_mlp,)."""
    for _ in range(5):
        weights = Weights.init(STUDY, seed=random.randrange(2**31), d_model=24, d_mlp=30).to(torch.float64)
        x, y = random.randrange(30, STUDY.n_numbers), random.randrange(30, STUDY.n_numbers)
        given = as_tensor(answer(weights, x, y), (30,), "the answer")
        stream = (weights.W_E[x] + weights.W_E[y]) @ weights.W_V[1] @ weights.W_O[1]
        truth, row = [], (x + y) % STUDY.n_numbers
        for neuron in range(30):
            activation = max(float(stream @ weights.W_in[:, neuron]), 0.0)
            logits = activation * (weights.W_out[neuron] @ weights.W_U)
            truth.append(float(logits[row] - logits.mean()))
        truth = torch.tensor(truth, dtype=torch.float64)
        plain = truth + torch.tensor(
            [max(float(stream @ weights.W_in[:, n]), 0.0) * float((weights.W_out[n] @ weights.W_U).mean()) for n in range(30)]
        )
        expect(not torch.allclose(given.double(), plain, atol=1e-6), "subtract each neuron's mean over all 59 logits")
        wrong = "each neuron's activation, times what its row of W_out adds to the right logit above the mean of all 59"
        expect(torch.allclose(given.double(), truth, atol=1e-9), f"the numbers differ from the definition: {wrong}")


@exercise
def top_two_share(answer: Callable) -> None:
    """Exercise 5.1: `answer(attention, keys)` is the share of rows whose two largest weights stand at two given keys."""
    for _ in range(5):
        attention = torch.randn(60, STUDY.length).softmax(1)
        top = attention.topk(3).indices
        keys = torch.stack([row[torch.randperm(3)][:2] for row in top])
        given = as_tensor(answer(attention.clone(), keys.clone()), (), "the answer")
        truth = sum(set(row.argsort()[-2:].tolist()) == set(pair.tolist()) for row, pair in zip(attention, keys)) / len(keys)
        in_order = (top[:, :2] == keys).all(1).float().mean()
        words = "it counts a row only if the larger weight is on the first of the two keys; the order should not matter"
        expect(abs(truth - float(given)) < 1e-5 or abs(float(given) - in_order) > 1e-5, words)
        expect(abs(truth - float(given)) < 1e-5, f"on random patterns it gives {float(given):.3f}; the share is {truth:.3f}")


@exercise
def effective_keys(answer: Callable) -> None:
    """Exercise 5.2: `answer(attention)` is the exponential of the entropy of each row."""
    attention = torch.zeros(40, STUDY.length)
    for index in range(40):
        n = index % STUDY.length + 1
        attention[index, torch.randperm(STUDY.length)[:n]] = torch.randn(n).softmax(0) if index >= 16 else 1 / n
    given = as_tensor(answer(attention.clone()), (40,), "the answer")
    expect(bool(given.isfinite().all()), "some rows give no number; a weight of 0 should count as 0, though ln 0 is not a number")
    for index, row in enumerate(attention.tolist()):
        truth = math.exp(-sum(weight * math.log(weight) for weight in row if weight))
        seen = ", ".join(f"{weight:.2f}" for weight in row if weight)
        words = f"for a row with the weights {seen} and zeros it gives {given[index]:.3f}; it should be {truth:.3f}"
        expect(abs(float(given[index]) - truth) < 1e-3, words)


@exercise
def assigned_twice(answer: Callable) -> None:
    """Exercise 5.3: `answer(weights, name, x, y, number)` is what `=` gives, in layer 2, to the two numbers of one variable."""
    weights = Weights.init(STUDY, seed=random.randrange(2**31))
    weights = weights.replace(W_Q=20 * weights.W_Q)  # uneven attention
    for _ in range(10):
        name, (x, y, number) = random.choice(STUDY.variable_names), random.choices(range(STUDY.n_numbers), k=3)
        given = as_tensor(answer(weights, name, x, y, number), (2,), "the answer")
        v, rest = STUDY.token(name), [STUDY.pad] * 8
        tokens = torch.tensor([v, x, v, y, *rest, STUDY.plus, v, number, STUDY.equal])
        patterns = run(weights, tokens[None]).pattern[0, :, -1]
        truth, layer_1, on_names = patterns[1, [1, 3]], patterns[0, [1, 3]], patterns[1, [0, 2]]
        expect(not torch.allclose(given, layer_1, atol=1e-5), "these are the weights of layer 1; layer 2 is at index 1")
        expect(
            not torch.allclose(given, on_names, atol=1e-5), f"these are the weights on the two {name}; the numbers stand after"
        )
        words = f"for {name}={x}, {name}={y}, {name}+{number} it gives {given.tolist()}; it should be {truth.tolist()}"
        expect(torch.allclose(given, truth, atol=1e-5), words)


@exercise
def same_variable(answer: Callable) -> None:
    """Exercise 5.4: `answer(weights)` is the accuracy on all problems `v=x, v+v`."""
    from .runs import load_run

    study = load_run("seed-42")
    for step in (3000, 30_000):
        weights = study.weights(step)
        given = as_tensor(answer(weights), (), "the answer")
        right = []
        for name in STUDY.variable_names:
            problems = [Problem(((name, x),), name, name) for x in range(STUDY.n_numbers)]
            found = forward(weights, torch.stack([problem.tokens() for problem in problems]))[:, -1].argmax(1)
            right += [int(number) == problem.answer for number, problem in zip(found, problems)]
        truth = sum(right) / len(right)
        words = f"for the weights at step {step} it gives {float(given):.4f}; {sum(right)} of the {len(right)} problems are right"
        expect(abs(float(given) - truth) < 0.002, words)


@exercise
def fourier_spectrum(answer: Callable) -> None:
    """Exercise 7.1: `answer(f)` is the share of energy of a function (N,) at each frequency, ((N + 1) / 2,)."""
    for N in (5, 7, *random.choices(range(9, 61, 2), k=6)):
        f = torch.randn(N, dtype=torch.float64) + random.choice([-1, 1])
        given = as_tensor(answer(f.clone()), (N // 2 + 1,), f"the spectrum for N = {N}").double()
        expect(bool((given >= -1e-9).all()), "a share is negative; square before you add")
        energy = torch.fft.fft(f).abs().square()
        halves = energy[: N // 2 + 1]  # frequency -k left out
        truth = torch.cat([halves[:1], 2 * halves[1:]]) / energy.sum()
        if not torch.allclose(given, truth, atol=1e-5):
            unfolded = any(torch.allclose(given, halves / total, atol=1e-6) for total in (halves.sum(), energy.sum()))
            expect(not unfolded, "frequency k counts once, like the constant; it has a cosine and a sine, two directions")
            total, k = float(given.sum()), int((given - truth).abs().argmax())
            expect(abs(total - 1) < 1e-5, f"the shares sum to {total:.4f}, not to 1; are all waves of length 1?")
            expect(False, f"for N = {N} it gives frequency {k} the share {given[k]:.4f}; it should be {truth[k]:.4f}")


@exercise
def shifted(answer: Callable) -> None:
    """Exercise 7.2: `answer(a, b, k, s)` are the coefficients of x -> f(x + s) for f = a cos + b sin of frequency k."""
    N = STUDY.n_numbers
    for _ in range(10):
        (a, b), k, s = torch.randn(2).tolist(), random.randint(1, N // 2), random.randint(1, N - 1)
        angle = 2 * math.pi * k * torch.arange(N, dtype=torch.float64) / N
        given = as_tensor(answer(a, b, k, s), (2,), "the answer").double()
        turned = [a * (angle + turn).cos() + b * (angle + turn).sin() for turn in (angle[s], -angle[s])]  # f(x + s), f(x - s)
        waves = torch.stack([angle.cos(), angle.sin()])
        truth, other_way = (2 / N * waves @ wave for wave in turned)
        right = torch.allclose(given, truth, atol=1e-4)
        expect(right or not torch.allclose(given, other_way, atol=1e-4), "that is f(x - s), the shift the other way")
        length = float(given.norm()) / math.hypot(a, b)
        expect(
            abs(length - 1) < 1e-3, f"a shift is a rotation and keeps the length of (a, b); yours multiplies it by {length:.3f}"
        )
        words = f"for a={a:.2f}, b={b:.2f}, k={k}, s={s} it gives ({given[0]:.3f}, {given[1]:.3f}); "
        expect(right, words + f"f(x + s) has ({truth[0]:.3f}, {truth[1]:.3f})")


@exercise
def subtracting(answer: Callable) -> None:
    """Exercise 7.3: `answer(N, ks, alpha, beta)` are the weights of an analytic network for x - y."""
    for N in random.sample((29, 31, 37, 41), 2):
        ks = torch.tensor(random.sample(range(1, N // 2 + 1), 6)).repeat_interleave(150)
        alpha, beta = 2 * math.pi * torch.rand(2, len(ks))
        given = answer(N, ks, alpha, beta)
        expect(given is not None, "your function returns nothing yet")
        expect(isinstance(given, tuple | list) and len(given) == 3, "it should return three things: left, right, out")
        n = len(ks)
        left = as_tensor(given[0], (N, n), "left")
        right = as_tensor(given[1], (N, n), "right")
        out = as_tensor(given[2], (n, N), "out")
        best = ((left[:, None] + right).square() @ out).argmax(2)
        x = torch.arange(N)
        for words, target in (("x + y", x[:, None] + x), ("y - x", x - x[:, None])):
            expect((best == target % N).float().mean() < 0.9, f"your network computes {words}, not x - y")
        share = (best == (x[:, None] - x) % N).float().mean().item()
        expect(share > 0.97, f"modulo {N}, only {share:.0%} of the pairs get x - y")


def _irrelevance(table: Tensor, group: Tensor, correction: int = 0) -> float:
    """The mean over groups of a table's standard deviation inside each, over that of the whole table."""
    inner = [table[group == each].std(correction=correction) for each in group.unique()]
    return float(sum(inner) / len(inner) / table.std(correction=correction))


@exercise
def irrelevance(answer: Callable) -> None:
    """Exercise 7.4: `answer(logits)` is the distance irrelevance of logits (x, y, q)."""
    for N in (5, 7, 11, 13):
        x = torch.arange(N)
        logits = torch.randn(N, N, N, dtype=torch.float64) + torch.randn(N, dtype=torch.float64)[(x[:, None] - x) % N, None]
        given = answer(logits.clone())
        expect(given is not None, "your function returns nothing yet")
        given = float(given)
        right = logits.gather(2, ((x[:, None] + x) % N)[..., None]).squeeze(2)
        difference, total = (x[:, None] - x) % N, (x[:, None] + x) % N
        by_sum = abs(given - _irrelevance(right, total)) < 1e-6
        expect(not by_sum, "the inner standard deviation is over pairs of one difference x - y; yours is over pairs of one sum")
        best = abs(given - _irrelevance(logits.max(2).values, difference)) < 1e-6
        expect(not best, "take the logit of the right answer, not the largest logit")
        truth = _irrelevance(right, difference)
        near = min(abs(given - truth), abs(given - _irrelevance(right, difference, 1)))  # either standard deviation will do
        expect(near < 1e-4, f"for logits of shape ({N}, {N}, {N}) it gives {given:.4f}; it should be {truth:.4f}")


@exercise
def share_of_previous(answer: Callable) -> None:
    """Exercise 10.1: `answer(s, t)` is the layer-1 weight of the token before, at position t, if it scores s."""
    for _ in range(10):
        s = random.uniform(0, 8)
        tokens = random_problem().tokens(seed=random.randrange(99))
        pattern = run(handmade.weights(previous=s), tokens[None]).pattern[0, 0]
        for t in range(1, STUDY.room + 1):
            given = answer(s, t)
            expect(given is not None, "your function returns nothing yet")
            truth = pattern[t, t - 1].item()
            words = f"for s = {s:.2f}, position {t} reads the token before it with {truth:.4f}, not {float(given):.4f}"
            close = math.exp(s) / (math.exp(s) + t + 1)
            if abs(given - close) < 1e-6:
                words += f"; it may read {t + 1} tokens, itself included, and one of these is the token before"
            expect(abs(given - truth) < 1e-4, words)


@exercise
def lead(answer: Callable) -> None:
    """Exercise 10.2: `answer(frequencies, x, y)` is the lead of the right logit over the best other one, scale 1."""
    for size in (1, 2, 3, 4, 5, 6):
        frequencies = tuple(random.sample(range(1, 30), size))
        logits = bare_addition(handmade.weights(frequencies, scale=1)) / 2  # the circuit adds wholes, = reads halves
        for _ in range(10):
            x, y = random.randrange(STUDY.n_numbers), random.randrange(STUDY.n_numbers)
            given = answer(frequencies, x, y)
            expect(given is not None, "your function returns nothing yet")
            row, right = logits[x, y], (x + y) % STUDY.n_numbers
            truth = (row[right] - row[torch.arange(len(row)) != right].max()).item()
            words = f"for the frequencies {frequencies} and {x}+{y} the network's lead is {truth:.4f}, not {float(given):.4f}"
            if given < -1e-9:
                words += "; the size of each wave is |cos|, which is never negative"
            expect(abs(given - truth) < 2e-3, words)


@exercise
def uneven_answer(answer: Callable) -> None:
    """Exercise 10.3: `answer(x, y, a, k)` is what a network of one frequency answers if it reads a of x, 1 - a of y."""
    N = STUDY.n_numbers
    for _ in range(8):
        k = random.randrange(1, 30)
        weights = handmade.weights((k,))
        waves = weights.W_E[:N] @ OV(weights, 2)
        for _ in range(20):
            x, y, a = random.randrange(N), random.randrange(N), random.random()
            logits = ((a * waves[x] + (1 - a) * waves[y]) @ weights.W_in).relu() @ weights.W_out @ weights.W_U
            first, second = logits.topk(2).values.tolist()
            if first - second < 1e-3:  # too close to call
                continue
            given, truth = answer(x, y, a, k), logits.argmax().item()
            expect(given is not None, "your function returns nothing yet")
            words = f"for {x}+{y} with a = {a:.2f} and k = {k} the network answers {truth}, not {given}"
            if given == (x + y) % N:
                words += "; that is the right sum, which uneven reading misses"
            expect(given == truth, words)


@exercise
def mass_without_mark(answer: Callable) -> None:
    """Exercise 10.4: `answer(problem)` is the weight on the two numbers to add when no number is marked as one."""
    weights = handmade.weights(number=0)
    for kind in ("0-var", "1-var left", "1-var right", "2-var"):
        for _ in range(30):
            problem = random_problem(kind)
            given = answer(problem)
            expect(given is not None, "your function returns nothing yet")
            tokens = problem.tokens()[None]
            truth = run(weights, tokens).pattern[0, 1, -1, value_positions(tokens)[0]].sum().item()
            words = f"for {problem} the two numbers get {truth:.3f} of the weight, not {float(given):.3f}"
            expect(abs(given - truth) < 2e-3, words)


@exercise
def interval(answer: Callable) -> None:
    """Exercise 9.1: `answer(n_right, n)` is Wilson's 95% interval of a share, (low, high)."""
    for n_right, n in ((0, 20), (20, 20), *((random.randint(1, n - 1), n) for n in random.choices(range(5, 900), k=8))):
        given = answer(n_right, n)
        expect(given is not None, "your function returns nothing yet")
        expect(len(given) == 2, "it should return two numbers, the lower end and the upper end")
        low, high = map(float, given)
        share = n_right / n
        if 0 < n_right < n and abs(high - share - 1.96 * math.sqrt(share * (1 - share) / n)) < 1e-9:
            raise Wrong("that is the plain interval, with the measured share under the root; the unknown share belongs there")
        expect(low < high, f"for {n_right} right of {n} the ends {low:.4f}, {high:.4f} leave no room or are in the wrong order")
        for end, name in ((low, "lower"), (high, "upper")):
            gap = (share - end) ** 2 - 1.96**2 * end * (1 - end) / n
            words = f"for {n_right} right of {n} the {name} end {end:.4f} does not solve (share - p)^2 = 1.96^2 p (1 - p) / n"
            expect(abs(gap) < 1e-7, words)


@exercise
def without_term(answer: Callable) -> None:
    """Exercise 9.2: `answer(pattern, term)` is the pattern after a term is taken out of the scores."""
    for size in (2, 5, 9):
        future = torch.ones(size, size, dtype=torch.bool).triu(1)
        scores, term = torch.randn(2, 3, 1, size, size, dtype=torch.float64)
        pattern = scores.masked_fill(future, -torch.inf).softmax(-1)
        truth, wrong_way = ((scores + sign * term).masked_fill(future, -torch.inf).softmax(-1) for sign in (-1, 1))
        before = pattern.clone()
        given = as_tensor(answer(pattern, term), tuple(pattern.shape), "the pattern")
        expect(torch.equal(pattern, before), "it writes into the pattern that it was given")
        expect(not given.isnan().any(), "some entries are not numbers")
        expect(not given[..., future].any(), "a query gives weight to a key that comes after it")
        sums = given.sum(-1)
        expect(torch.allclose(sums, torch.ones_like(sums)), "the rows of your pattern do not all sum to 1")
        expect(not torch.allclose(given, wrong_way), "that adds the term to the scores; it should be taken out")
        expect(torch.allclose(given, truth), "the rows sum to 1, but they are not the softmax of the scores less the term")


def _sharp_network() -> Weights:
    """A random network whose layer 2 reads unevenly, but more than one position, so that answers depend on what is read."""
    weights = Weights(**{name: 3 * tensor for name, tensor in Weights.init(seed=random.randrange(2**31)).tensors().items()})
    scores = run(weights, torch.stack([random_problem().tokens() for _ in range(20)])).scores[:, 1, -1]
    W_Q, W_V = weights.W_Q.clone(), weights.W_V.clone()
    W_Q[1] *= 3 / scores.std()
    W_V[1] *= 5  # what layer 2 reads outweighs the rest of the stream
    return weights.replace(W_Q=W_Q, W_V=W_V)


def _answers_from(weights: Weights, resid: Tensor, added: Tensor) -> Tensor:
    """What the network answers where layer 2's attention adds `added` to the stream `resid` at `=`."""
    stream = resid + added
    return ((stream + (stream @ weights.W_in).relu() @ weights.W_out) @ weights.W_U).argmax(1)


@exercise
def doubled(answer: Callable) -> None:
    """Exercise 9.3: `answer(lens, tokens)` is what the network answers when layer 2's `=` reads the left number alone."""
    weights = _sharp_network()
    lens = weights.to_transformer_lens()
    tokens = torch.stack([random_problem().tokens(seed=index) for index in range(60)])
    activations = run(weights, tokens)
    row, places = torch.arange(len(tokens)), value_positions(tokens)
    resid = activations.resid_pre + activations.attn_out[:, 0]

    def reading(place):
        return _answers_from(weights, resid[:, -1], resid[row, place] @ weights.W_V[1] @ weights.W_O[1])

    given = as_tensor(answer(lens, tokens), (len(tokens),), "the answer")

    def like(truth):
        return (given == truth).float().mean() > 0.97

    if like(reading(places[:, 0])):
        return
    expect(not like(activations.logits[:, -1].argmax(1)), "these are the answers of the unchanged network")
    expect(not like(reading(places[:, 1])), "these are the answers when = reads the right number")
    words = "where the left operand is a variable, it reads the variable in the question; the number stands elsewhere"
    expect(not like(reading(torch.full_like(row, STUDY.left))), words)
    raise Wrong("these are not the answers when layer 2's = reads the left number and nothing else")


@exercise
def swapped(answer: Callable) -> None:
    """Exercise 9.4: `answer(lens, tokens, first, second)` answers with layer 2's values exchanged at two positions."""
    tokens = torch.stack([random_problem().tokens(seed=index) for index in range(60)])
    row = torch.arange(60)

    def answers(left, right):
        v = resid @ weights.W_V[1]
        v[row, first], v[row, second] = v[row, left], v[row, right]
        mixed = torch.einsum("bk,bkd->bd", activations.pattern[:, 1, -1], v)
        return _answers_from(weights, resid[:, -1], mixed @ weights.W_O[1])

    for _ in range(50):  # until a network is found whose answers the exchange changes often
        weights = _sharp_network()
        activations = run(weights, tokens)
        resid = activations.resid_pre + activations.attn_out[:, 0]
        first, second = activations.pattern[:, 1, -1].topk(2).indices.unbind(1)
        if (answers(first, second) != answers(second, first)).float().mean() > 0.3:
            break
    lens = weights.to_transformer_lens()
    given = as_tensor(answer(lens, tokens, first, second), (60,), "the answer")

    def like(truth):
        return (given == truth).float().mean() > 0.97

    if like(answers(second, first)):
        return
    expect(not like(answers(first, second)), "these are the answers of the unchanged network")
    words = "both positions hold the same value afterwards; keep a copy before you write"
    expect(not like(answers(second, second)) and not like(answers(first, first)), words)
    raise Wrong("these are not the answers with the values of layer 2 exchanged, and nothing else")
