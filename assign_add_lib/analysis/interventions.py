"""Interventions: change one step of the network through a TransformerLens hook, and count what it then gets right.

A hook is a pair (name, function), as `lens.run_with_hooks(tokens, fwd_hooks=[...])` takes it.  An intervention is a
function from token ids (batch, pos) to a list of hooks, so that it can depend on each problem.  Nothing here loops
over problems.  Layers are counted from 1.
"""

from collections.abc import Callable, Iterable
from functools import partial

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..circuits import OV, QK, variable_identity
from ..model import Activations, Weights, read_out, trace
from ..sampling import Batch
from ..task import Task
from .statistics import wilson

Hook = tuple[str, Callable]
Intervention = Callable[[Tensor], list[Hook]]


def pattern_hook(layer: int) -> str:
    """Name of the hook that holds the attention pattern (batch, head, query, key) of a layer."""
    return f"blocks.{layer - 1}.attn.hook_pattern"


def attention_hook(layer: int) -> str:
    """Name of the hook that holds what the attention of a layer adds to the stream, (batch, pos, d_model)."""
    return f"blocks.{layer - 1}.hook_attn_out"


# what the MLP reads; in the native bridge an edit here reaches the MLP and not the skip path
MLP_INPUT = "blocks.1.hook_resid_mid"


def lens_task(lens) -> Task:
    """The task of a network that is a TransformerLens bridge."""
    return Task.of_sizes(lens.cfg.d_vocab, lens.cfg.n_ctx, lens.cfg.d_vocab_out)


@torch.no_grad()
def hooked_logits(lens, tokens: Tensor, hooks: Iterable[Hook] = ()) -> Tensor:
    """Logits (batch, N) at `=` with these hooks in place; ValueError for problems of another task."""
    return lens.run_with_hooks(lens_task(lens).check(tokens), fwd_hooks=list(hooks))[:, -1]


def answers(lens, tokens: Tensor, hooks: Iterable[Hook] = ()) -> Tensor:
    """The number (batch,) that the network finds most likely with these hooks in place."""
    return hooked_logits(lens, tokens, hooks).argmax(1)


def accuracy_table(lens, sets: dict[str, Batch], intervention: Intervention | None = None) -> pd.DataFrame:
    """Accuracy on each set under an intervention, with the ends of its 95% interval: columns share, low, high."""
    rows = {}
    for name, batch in sets.items():
        hooks = intervention(batch.tokens) if intervention else ()
        rows[name] = wilson(answers(lens, batch.tokens, hooks) == batch.answers)
    return shares(rows)


def shares(rows: dict[str, tuple[float, float, float]]) -> pd.DataFrame:
    """Shares with their intervals, as `wilson` gives them, as a table: columns share, low, high."""
    return pd.DataFrame.from_dict(rows, orient="index", columns=["share", "low", "high"])


def side_by_side(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Tables of shares as one, in percent: `98.8 (97.4 to 99.4)`."""
    return pd.DataFrame({
        name: [f"{100 * s:.1f} ({100 * low:.1f} to {100 * high:.1f})" for s, low, high in table.to_numpy()]
        for name, table in tables.items()
    }, index=next(iter(tables.values())).index)  # fmt: skip


def at(tokens: Tensor, position: int | Tensor) -> Tensor:
    """Mark one position, the same for all or one for each problem (batch,), as (batch, pos)."""
    places = torch.as_tensor(position, device=tokens.device).expand(len(tokens))
    return one_hot(places, tokens.shape[1]).bool()


def put(name: str, where: Tensor, content: Tensor) -> Hook:
    """At the marked positions (batch, pos), put `content` (batch or 1, pos or 1, width) in place of what a hook holds."""

    def act(held: Tensor, hook) -> Tensor:
        return torch.where(where[:, :, None], content, held)

    return name, act


def make_uniform(layer: int, where: Tensor) -> Hook:
    """Let the marked queries (batch, pos) read all positions that they may see, equally."""

    def act(pattern: Tensor, hook) -> Tensor:
        seen = torch.ones_like(pattern).tril()
        return torch.where(where[:, None, :, None], seen / seen.sum(-1, keepdim=True), pattern)

    return pattern_hook(layer), act


def add_to_scores(layer: int, change: Tensor) -> Hook:
    """Add `change` (query, key) or (batch, query, key) to the scores of a layer.

    The logarithm of the pattern is the score up to one constant a row, which the softmax forgets, so the changed
    pattern is softmax(log pattern + change).
    """

    def act(pattern: Tensor, hook) -> Tensor:
        return (pattern.log() + (change if change.dim() == 2 else change[:, None])).softmax(-1)

    return pattern_hook(layer), act


def read_values(tokens: Tensor, task: Task) -> Hook:
    """Let layer 2's `=` read the two numbers to add, half each, and nothing else."""
    places = task.value_positions(tokens)
    ideal = one_hot(places, tokens.shape[1]).float().mean(1)  # (batch, pos)

    def act(pattern: Tensor, hook) -> Tensor:
        pattern = pattern.clone()
        pattern[:, 0, task.last] = ideal.to(pattern.dtype)
        return pattern

    return pattern_hook(2), act


def exchange(name: str, first: Tensor, second: Tensor) -> Hook:
    """Exchange what a hook holds at two positions of each problem, (batch,) each."""

    def act(held: Tensor, hook) -> Tensor:
        row, held = torch.arange(len(held), device=held.device), held.clone()
        held[row, first], held[row, second] = held[row, second], held[row, first]
        return held

    return name, act


def position_term(weights: Weights) -> Tensor:
    """P QK1 P^T, the share of the layer-1 scores (query, key) that no token changes."""
    return weights.W_pos @ QK(weights, 1) @ weights.W_pos.T


def variables_read(pattern: Tensor, tokens: Tensor, task: Task) -> Tensor:
    """How much attention (batch, query, V) each query of a pattern (batch, query, key) gives to each variable's token."""
    kinds = one_hot(task.check(tokens), task.d_vocab)[..., task.first_variable :].to(pattern.dtype)
    return pattern @ kinds


def identity_term(weights: Weights, tokens: Tensor, block: Tensor | None = None) -> Tensor:
    """The share of layer 2's scores (batch, key) of `=` that passes through the 12 x 12 variable block.

    Layer 1 moves into `=` and into each key a mixture of variables; the block scores one against the other.
    `block` (V, V) stands in for (E_var OV1) QK2 (E_var OV1)^T where given.
    """
    task = weights.task
    read = variables_read(trace(weights, tokens).pattern[:, 0], tokens, task)  # (batch, pos, V)
    block = variable_identity(weights) if block is None else block
    return torch.einsum("bv,vw,bkw->bk", read[:, task.last], block, read)


def for_equal(change: Tensor, task: Task) -> Tensor:
    """A change of the scores of `=` alone (batch, key), as a change of all scores (batch, query, key)."""
    if change.shape[1] != task.length:
        raise ValueError(f"the change is of {change.shape[1]} positions, and the task has {task.length}")
    return torch.nn.functional.pad(change[:, None], (0, 0, task.last, 0))


def change_value(tokens: Tensor, slot: int, generator: torch.Generator, task: Task) -> Tensor:
    """The same packed problems with another number in one slot."""
    tokens, place = task.check(tokens).clone(), 2 * slot + 1
    shift = torch.randint(1, task.n_numbers, (len(tokens),), generator=generator)
    tokens[:, place] = (tokens[:, place] + shift) % task.n_numbers
    return tokens


def full_problems(size: int, generator: torch.Generator, task: Task) -> Tensor:
    """Packed 1-var problems (batch, pos) with every slot in use; the third slot's variable is the left operand.

    All numbers of a problem differ, so that no answer is right by accident.  ValueError for a task too small for that.
    """
    if task.slots < 3 or task.n_numbers <= task.slots:
        raise ValueError(f"full problems need three slots and more numbers than slots, not {task.slots} and {task.n_numbers}")
    variables = torch.rand(size, task.n_variables, generator=generator).argsort(1)[:, : task.slots]
    numbers = torch.rand(size, task.n_numbers, generator=generator).argsort(1)[:, : task.slots + 1]
    tokens = torch.full((size, task.length), task.pad)
    tokens[:, 0 : 2 * task.slots : 2] = task.first_variable + variables
    tokens[:, 1 : 2 * task.slots : 2] = numbers[:, :-1]
    tokens[:, task.room] = task.plus
    tokens[:, task.left] = tokens[:, 4]
    tokens[:, task.right] = numbers[:, -1]
    tokens[:, task.last] = task.equal
    return tokens


def patched(lens, clean: Tensor, changed: Tensor, sites: dict[str, str]) -> Tensor:
    """Recovered logit difference (batch, site, pos) of activation patching.

    The network reads the changed problem, and at one site and position gets what it had on the clean one.  The
    logit of the clean answer less that of the changed answer is scaled by its mean gap between the two problems:
    0 is the changed run, 1 the clean one.
    """
    task = lens_task(lens)
    ours, theirs = (task.right_answers(tokens)[:, None] for tokens in (clean, changed))
    kept = {}

    def difference(hooks: Iterable[Hook] = ()) -> Tensor:
        logits = hooked_logits(lens, changed, hooks)
        return (logits.gather(1, ours) - logits.gather(1, theirs))[:, 0]

    def keep(held: Tensor, hook, site: str) -> Tensor:
        kept[site] = held
        return held

    logits = hooked_logits(lens, clean, [(site, partial(keep, site=site)) for site in sites.values()])
    start = difference()
    whole = ((logits.gather(1, ours) - logits.gather(1, theirs))[:, 0] - start).mean()
    gained = [
        torch.stack([(difference([_put_back(site, kept[site], p)]) - start) / whole for p in range(clean.shape[1])], 1)
        for site in sites.values()
    ]
    return torch.stack(gained, 1)


def _put_back(name: str, content: Tensor, position: int) -> Hook:
    """At one position, put what another run held there; positions are the second axis."""

    def act(held: Tensor, hook) -> Tensor:
        held = held.clone()
        held[:, position] = content[:, position]
        return held

    return name, act


NAMED = ("identity", "numbers", "sum")


def named_reads(activations: Activations, tokens: Tensor, task: Task) -> Tensor:
    """Layer 1's named attention, as weights (batch, pos, V) on variables' tokens; all other attention is left out.

    An assigned number reads the variable before it, `=` reads variables at the two operand positions.
    """
    A = activations.pattern[:, 0]
    kinds = one_hot(tokens, task.d_vocab)[..., task.first_variable :].to(A.dtype)  # (batch, pos, V)
    read = torch.zeros_like(kinds)
    before = A.diagonal(offset=-1, dim1=1, dim2=2)[..., None] * kinds[:, :-1]  # (batch, pos - 1, V)
    read[:, 1:] = before * task.assigned_numbers(tokens)[:, 1:, None]
    operands = slice(task.left, task.right + 1)
    read[:, task.last] = torch.einsum("bk,bkv->bv", A[:, task.last, operands], kinds[:, operands])
    return read


def keep_only(weights: Weights, reference: Tensor, named: Iterable[str] = NAMED) -> Intervention:
    """Keep the named terms alone, and put in place of all the rest its mean over reference problems, by position.

    `identity`: of layer 2's scores, the `named_reads` of layer 1 through the 12 x 12 block.  `numbers`: of the same
    scores, what token and position of `=` give to the token at each key.  `sum`: of the stream at `=` after layer 2's
    attention, the OV2 images of the number tokens that it reads; the attention is the softmax of the kept scores.
    A term that is not in `named` is part of the rest.  One hook does it all, on what layer 2's attention adds at `=`.
    """
    named, w, task, last = set(named), weights, weights.task, weights.task.last
    block = variable_identity(w)
    own = (w.W_E[task.equal] + w.W_pos[last]) @ QK(w, 2) @ w.W_E.T  # (d_vocab,)
    numbers = OV(w, 2).new_zeros(len(w.W_E), w.d_model)
    numbers[: task.n_numbers] = w.W_E[: task.n_numbers] @ OV(w, 2)

    def named_scores(activations: Activations, tokens: Tensor) -> Tensor:
        read = named_reads(activations, tokens, task)
        through = torch.einsum("bv,vw,bkw->bk", read[:, last], block, read)
        return through * ("identity" in named) + own[tokens] * ("numbers" in named)

    def named_sum(attention: Tensor, tokens: Tensor) -> Tensor:
        return torch.einsum("bk,bkd->bd", attention, numbers[tokens]) * ("sum" in named)

    there = trace(w, reference)
    rest_of_scores = (there.scores[:, 1, last] - named_scores(there, reference)).mean(0)
    rest_of_stream = (there.mlp_in[:, last] - named_sum(there.pattern[:, 1, last], reference)).mean(0)

    def intervention(tokens: Tensor) -> list[Hook]:
        here = trace(w, tokens)
        attention = (named_scores(here, tokens) + rest_of_scores).softmax(-1)
        stream = named_sum(attention, tokens) + rest_of_stream
        before = (here.resid_pre + here.attn_out[:, 0])[:, last]
        return [put(attention_hook(2), at(tokens, last), (stream - before)[:, None])]

    return intervention


@torch.no_grad()
def cleanly_read(weights: Weights, tokens: Tensor) -> Tensor:
    """The answers (batch,) where layer 2's `=` reads the two numbers to add equally, and no distractor's number.

    What `=` reads of assigned numbers and of the numbers to add stays the same in all; so does the rest of its attention.
    """
    task, acts = weights.task, trace(weights, tokens)
    stream, attention = acts.resid_pre + acts.attn_out[:, 0], acts.pattern[:, 1, task.last]
    wanted = torch.zeros_like(attention, dtype=torch.bool).scatter(1, task.value_positions(tokens), True)
    assigned = task.assigned_numbers(tokens)
    on_numbers = (attention * (wanted | assigned)).sum(1, keepdim=True)
    clean = torch.where(wanted, on_numbers / wanted.sum(1, keepdim=True), attention * ~assigned)
    mlp_in = stream[:, task.last] + torch.einsum("bt,btd->bd", clean, stream) @ OV(weights, 2)
    return read_out(weights, mlp_in).argmax(1)
