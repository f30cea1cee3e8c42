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
from ..model import Weights, read_out, trace
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


def changed_problems(clean: Tensor, generator: torch.Generator, task: Task) -> dict[str, Tensor]:
    """Full problems with one thing altered, token ids (batch, pos) each; every one has another answer.

    `value`: the number of the asked variable, in the third slot.  `names`: the third and the first slot exchange their
    variables.  `asked`: the first slot's variable is asked for.  `constant`: the first slot's number is added.
    """
    names, asked, constant = (task.check(clean).clone() for _ in range(3))
    names[:, [4, 0]] = clean[:, [0, 4]]
    asked[:, task.left] = clean[:, 0]
    constant[:, task.right] = clean[:, 1]
    return {"value": change_value(clean, 2, generator, task), "names": names, "asked": asked, "constant": constant}


def seen_at(lens, tokens: Tensor, names: Iterable[str]) -> dict[str, Tensor]:
    """What the hooks of these names hold on problems (batch, pos)."""
    kept = {}

    def keep(held: Tensor, hook, name: str) -> Tensor:
        kept[name] = held
        return held

    lens.run_with_hooks(lens_task(lens).check(tokens), fwd_hooks=[(name, partial(keep, name=name)) for name in names])
    return kept


class Recovery:
    """The recovered logit difference of an intervention on `changed` problems, between 0, no effect, and 1, `clean`.

    The logit of the clean answer less that of the changed answer, scaled by its mean gap between the two problems.  Where
    `clean` and `changed` change places, what is denoising becomes noising, and the share recovered the share lost.
    """

    def __init__(self, lens, clean: Tensor, changed: Tensor):
        self.lens, self.clean, self.changed = lens, clean, changed
        task = lens_task(lens)
        self.ours, self.theirs = (task.right_answers(tokens)[:, None] for tokens in (clean, changed))
        self.start = self.gap(hooked_logits(lens, changed))
        self.whole = (self.gap(hooked_logits(lens, clean)) - self.start).mean()

    def gap(self, logits: Tensor) -> Tensor:
        """The logit of the clean answer less that of the changed answer, (batch,)."""
        return (logits.gather(1, self.ours) - logits.gather(1, self.theirs))[:, 0]

    def __call__(self, hooks: Iterable[Hook]) -> Tensor:
        """Recovered logit difference (batch,) with these hooks in place."""
        return (self.gap(hooked_logits(self.lens, self.changed, hooks)) - self.start) / self.whole


@torch.no_grad()
def patched(lens, clean: Tensor, changed: Tensor, sites: dict[str, str]) -> Tensor:
    """Recovered logit difference (batch, site, pos) of activation patching: one site at one position is overwritten.

    The network reads the changed problem, and there gets what it held on the clean one: denoising.
    """
    kept, recovered = seen_at(lens, clean, sites.values()), Recovery(lens, clean, changed)
    gained = [[recovered([put_back(site, held, p)]) for p in range(clean.shape[1])] for site, held in kept.items()]
    return torch.stack([torch.stack(each, 1) for each in gained] or [clean.new_zeros(clean.shape)], 1)


@torch.enable_grad()
def attributed(lens, clean: Tensor, changed: Tensor, sites: dict[str, str]) -> Tensor:
    """The first-order estimate (batch, site, pos) of what `patched` measures, from one gradient: attribution patching.

    The gradient of the logit difference on the changed problem, times the difference between the two problems at a site.
    """
    recovered, held = Recovery(lens, clean, changed), {}

    def keep(here: Tensor, hook, name: str) -> Tensor:
        held[name] = here if here.requires_grad else here.requires_grad_()
        return held[name]

    hooks = [(name, partial(keep, name=name)) for name in sites.values()]
    gap = recovered.gap(lens.run_with_hooks(changed, fwd_hooks=hooks)[:, -1]).sum()
    slopes = torch.autograd.grad(gap, list(held.values()))
    there = seen_at(lens, clean, sites.values())
    moved = [((there[name] - here) * slope).flatten(2).sum(2) for (name, here), slope in zip(held.items(), slopes)]
    return torch.stack(moved, 1).detach() / recovered.whole


@torch.no_grad()
def path_patched(lens, weights: Weights, clean: Tensor, changed: Tensor) -> Tensor:
    """Recovered logit difference (batch, 3, pos) of single paths: from layer 1's output at a position to layer 2 there.

    The query, the key or the value of layer 2 at this position gets what layer 1 brings there on the clean problem; all else
    that reads layer 1's output still gets that of the changed one.  Path patching, after Wang et al. (2022).
    """
    recovered, task = Recovery(lens, clean, changed), weights.task
    moved = (trace(weights, clean).attn_out - trace(weights, changed).attn_out)[:, 0]  # (batch, pos, d_model)

    def added(held: Tensor, hook, where: Tensor, change: Tensor) -> Tensor:
        return held + (where[:, :, None] * change)[:, :, None]

    rows = []
    for name, W in (("q", weights.W_Q), ("k", weights.W_K), ("v", weights.W_V)):
        hooks = [partial(added, where=at(changed, p), change=moved @ W[1]) for p in range(task.length)]
        rows.append(torch.stack([recovered([(f"blocks.1.attn.hook_{name}", hook)]) for hook in hooks], 1))
    return torch.stack(rows, 1)


def put_back(name: str, content: Tensor, position: int) -> Hook:
    """At one position, put what another run held there; positions are the second axis."""

    def act(held: Tensor, hook) -> Tensor:
        held = held.clone()
        held[:, position] = content[:, position]
        return held

    return name, act


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
