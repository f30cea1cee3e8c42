"""What uneven reading costs: the whole network, or the bare circuit, trained on from a checkpoint while its reading is overruled.

The *two* are the positions of the two numbers to add; the *rest* is all other attention of layer 2 at `=`.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..circuits import bare_addition
from ..model import Weights, run
from ..sampling import training_population
from ..training import Run, descend
from .fourier import number_table, pair_logits, pair_margins, plain_logits
from .interventions import pattern_of, scores_of


def own(pattern: Tensor, two: Tensor) -> Tensor:
    """The attention (batch, length) as it is; `two` (batch, 2) holds positions."""
    return pattern


def equalised(pattern: Tensor, two: Tensor) -> Tensor:
    """Each of the two gets the mean of both; the rest stays."""
    return pattern.scatter(1, two, pattern.gather(1, two).mean(1, keepdim=True).expand(-1, 2))


def without_rest(pattern: Tensor, two: Tensor) -> Tensor:
    """Nothing but the two is read, with their own shares, scaled to add up to 1."""
    read = pattern.gather(1, two)
    return torch.zeros_like(pattern).scatter(1, two, read / read.sum(1, keepdim=True))


def half_half(pattern: Tensor, two: Tensor) -> Tensor:
    """Nothing but the two is read, each with 1/2; no gradient reaches the pattern."""
    return torch.zeros_like(pattern).scatter(1, two, 0.5)


def clean_uneven(pattern: Tensor, two: Tensor) -> Tensor:
    """As `without_rest`, but no gradient reaches the pattern, so that the reading need not become even."""
    return without_rest(pattern.detach(), two)


ARMS = {
    "own": own,
    "equalised": equalised,
    "without rest": without_rest,
    "clean, uneven": clean_uneven,
    "half and half": half_half,
}


def overruled(weights: Weights, tokens: Tensor, read: Callable) -> tuple[Tensor, Tensor]:
    """Logits (batch, N) and layer 2's own attention at `=` (batch, length), if `read` replaces that attention."""
    two = weights.task.value_positions(tokens)
    given = run(weights, tokens, {pattern_of(2): lambda pattern: read(pattern[:, 0, -1], two)[:, None, None]})
    return given.logits, given[scores_of(2)][:, 0, -1].softmax(-1)


def trained_on(study: Run, step: int, read: Callable, steps: int, every: int = 300, batch: int = 256) -> Iterator[dict]:
    """Train a run's network on from `step` (fresh AdamW, rate 1e-3, decay 0.02); measures before and after each `every` steps.

    Wrong held-out doubles are counted in the bare circuit, and in the network as trained, with its own attention; the larger
    share is that of its own attention, too, whatever replaces it.
    """
    weights, generator = study.weights(step), torch.Generator().manual_seed(0)
    parts = {name: part.clone().requires_grad_() for name, part in weights.tensors().items()}
    problems = training_population(study.split).sample(60_000, torch.Generator().manual_seed(5))
    right = shares = torch.zeros(0)

    def loss() -> Tensor:
        nonlocal right, shares
        drawn = torch.randint(len(problems.tokens), (batch,), generator=generator)
        tokens, answers = problems.tokens[drawn], problems.answers[drawn]
        logits, pattern = overruled(weights.replace(**parts), tokens, read)
        right = logits.detach().argmax(1) == answers
        two = pattern.detach().gather(1, weights.task.value_positions(tokens))
        shares = two.max(1).values / two.sum(1)
        return cross_entropy(logits, answers)

    for done in descend(list(parts.values()), loss, steps):
        if done % every == 0:
            yield (
                {"step": done}
                | _measured(weights.replace(**{k: v.detach() for k, v in parts.items()}), study.split)
                | {"training accuracy": right.double().mean().item(), "larger share": shares.median().item()}
            )


def _measured(weights: Weights, split) -> dict[str, float]:
    found, seen = tally(bare_addition(weights), split), split.train_pairs.diagonal()
    wrong = plain_logits(weights).argmax(2).diagonal() != 2 * torch.arange(len(seen)) % len(seen)
    margins = {name: found[f"margin, {name}"] for name in ("held-out doubles", "trained doubles", "other new pairs")}
    return {"circuit: wrong": found["held-out doubles wrong"], "network: wrong": wrong[~seen].sum().item()} | margins


def tally(logits: Tensor, split) -> dict[str, float]:
    """Wrong held-out doubles, trained doubles and other pairs, and mean margins, from logits (x, y, q) of all pairs.

    Other new pairs are pairs of two different numbers that are held out in both orders.
    """
    seen, margin = split.train_pairs.diagonal(), pair_margins(logits)
    new = ~split.train_pairs & ~split.train_pairs.T & ~torch.eye(len(seen), dtype=torch.bool)
    groups = {"held-out doubles": margin.diagonal()[~seen], "trained doubles": margin.diagonal()[seen]}
    wrong = {f"{name} wrong": (each <= 0).sum().item() for name, each in groups.items()}
    wrong["other pairs wrong"] = (margin <= 0).sum().item() - sum(wrong.values())
    return wrong | {f"margin, {name}": each.mean().item() for name, each in (groups | {"other new pairs": margin[new]}).items()}


def larger_share(weights: Weights, tokens: Tensor) -> Tensor:
    """Of layer 2's attention at `=` on the two numbers to add, the part (batch,) on the one read more."""
    read = run(weights, tokens).attention(2)[:, -1].gather(1, weights.task.value_positions(tokens))
    return read.max(1).values / read.sum(1)


def _of_two(share: Callable[[Tensor, torch.Generator], Tensor]) -> Callable:
    """A reading of x with a share (batch,) that is drawn, y with the rest, and no third number."""

    def read(pairs, generator):
        p = share(pairs, generator)
        return torch.stack([p, 1 - p, 0 * p], 1)

    return read


def between(low: float, high: float) -> Callable:
    """A reading of the bare circuit, for `module_trained_on`: x with a share drawn evenly from low to high, y with the rest."""
    return _of_two(lambda pairs, generator: low + (high - low) * torch.rand(len(pairs), generator=generator))


def drawn_from(shares: Tensor) -> Callable:
    """A reading: x with a share drawn from a list of them (any length,), independently of the pair."""
    return _of_two(lambda pairs, generator: shares[torch.randint(len(shares), (len(pairs),), generator=generator)])


def with_stranger(pairs: Tensor, generator: torch.Generator) -> Tensor:
    """A reading: x and y alike, and a third number with a share from 0 to 0.4."""
    q = 0.4 * torch.rand(len(pairs), generator=generator)
    return torch.stack([(1 - q) / 2, (1 - q) / 2, q], 1)


def favouring(chosen: Tensor, low: float, high: float) -> Callable:
    """A reading: a number chosen (N,) gets a share from low to high against one that is not; all else is read evenly."""

    def share(pairs, generator):
        left, right = chosen[pairs].T
        more = low + (high - low) * torch.rand(len(pairs), generator=generator)
        return torch.where(left & ~right, more, torch.where(right & ~left, 1 - more, 0.5))

    return _of_two(share)


def module_trained_on(study: Run, step: int, read: Callable, seed: int = 0, steps: int = 300) -> Tensor:
    """The bare circuit's logits (x, y, q) after training it alone on training pairs, from the weights of `step`.

    `read(pairs, generator)` gives the weights (batch, 3) of x, y and a stranger, a third number drawn at random.
    """
    w, generator = study.weights(step), torch.Generator().manual_seed(seed)
    parts = [part.clone().requires_grad_() for part in (number_table(w), w.W_in, w.W_out, w.W_U)]
    (table, W_in, W_out, W_U), N = parts, w.task.n_numbers
    pairs = study.split.train_pairs.nonzero()

    def loss() -> Tensor:
        batch = pairs[torch.randint(len(pairs), (512,), generator=generator)]
        stranger = torch.randint(N, (512, 1), generator=generator)
        each = (table @ W_in)[torch.cat([batch, stranger], 1)]  # (512, 3, neurons)
        mixed = torch.einsum("bi,bin->bn", read(batch, generator).to(each), each)
        return cross_entropy(mixed.relu() @ (W_out @ W_U), batch.sum(1) % N)

    for _ in descend(parts, loss, steps):
        pass
    return pair_logits(table @ W_in, table @ W_in, W_out @ W_U).detach()
