"""Interventions: alterations of one step of the network, as `model.run` takes them, and what it then answers.

An *alteration* maps names of sites to functions, `run(weights, tokens, alter=alteration)`.  Layers are counted from 1; the
names of sites count blocks from 0, as TransformerLens does.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from ..circuits import QK, variable_identity
from ..model import Alter, Pass, Weights, run, trace
from ..task import Task


def scores_of(layer: int) -> str:
    """Name of the site that holds the attention scores (batch, head, query, key) of a layer."""
    return f"blocks.{layer - 1}.attn.hook_attn_scores"


def pattern_of(layer: int) -> str:
    """Name of the site that holds the attention pattern (batch, head, query, key) of a layer."""
    return f"blocks.{layer - 1}.attn.hook_pattern"


def output_of(layer: int) -> str:
    """Name of the site that holds what the attention of a layer adds to the stream, (batch, pos, d_model)."""
    return f"blocks.{layer - 1}.hook_attn_out"


def together(*alterations: Alter) -> Alter:
    """All of these at once; where two alter the same site, the first goes first."""

    def after(first: Callable, then: Callable) -> Callable:
        return lambda held: then(first(held))

    joined = {}
    for alteration in alterations:
        joined |= {site: after(joined[site], act) if site in joined else act for site, act in alteration.items()}
    return joined


@torch.no_grad()
def answers(weights: Weights, tokens: Tensor, alter: Alter | None = None) -> Tensor:
    """The number (batch,) that the altered network finds most likely; ValueError for problems of another task."""
    return run(weights, weights.task.check(tokens), alter).answers


def at(tokens: Tensor, position: int | Tensor) -> Tensor:
    """Mark one position, the same for all or one for each problem (batch,), as (batch, pos); -1 is the last."""
    places, length = torch.as_tensor(position, device=tokens.device).expand(len(tokens)), tokens.shape[1]
    if not ((-length <= places) & (places < length)).all():
        raise ValueError(f"positions are from {-length} to {length - 1}, not {position}")
    return one_hot(places % length, length).bool()


def put(site: str, where: Tensor, content: Tensor) -> Alter:
    """At the marked positions (batch, pos), put `content` (batch or 1, pos or 1, ...) in place of what a site holds."""

    def act(held: Tensor) -> Tensor:
        computed = held.shape[1]  # all positions, or the last alone
        marked = where[:, -computed:].view(len(where), computed, *(1,) * (held.dim() - 2))
        return torch.where(marked, content[:, -computed:], held)

    return {site: act}


def make_uniform(layer: int, where: Tensor, without: Iterable[int] = ()) -> Alter:
    """Let the marked queries (batch, pos) attend equally to all positions that they may see, but for those `without`."""

    def act(pattern: Tensor) -> Tensor:
        length, computed = pattern.shape[-1], pattern.shape[-2]
        seen = torch.ones(length, length, dtype=pattern.dtype, device=pattern.device).tril()[-computed:]
        seen[:, list(without)] = 0
        return torch.where(where[:, None, -computed:, None], seen / seen.sum(-1, keepdim=True), pattern)

    return {pattern_of(layer): act}


def rows_from(layer: int, rows: Tensor) -> Alter:
    """Let each query attend as another one did: `rows` (batch, query) says which."""
    return {pattern_of(layer): lambda pattern: pattern.gather(2, rows[:, None, :, None].expand_as(pattern))}


def attend_as(seen: Pass) -> Alter:
    """Let every query of both layers attend as in another pass, `seen`, over as many problems."""
    return {site: lambda held, was=seen[site]: was[:, :, -held.shape[2] :] for site in map(pattern_of, (1, 2))}


def add_to_scores(layer: int, change: Tensor) -> Alter:
    """Add `change` (query, key) or (batch, query, key) to the scores of a layer; one query stands for `=`."""

    def act(scores: Tensor) -> Tensor:
        shape = change if change.dim() == 2 else change[:, None]
        return scores + shape[..., -scores.shape[-2] :, :]

    return {scores_of(layer): act}


def add_to_scores_of_equal(change: Tensor) -> Alter:
    """Add `change` (batch, key) to layer 2's scores of `=`."""
    return {scores_of(2): lambda scores: scores + pad(change[:, None, None], (0, 0, scores.shape[-2] - 1, 0))}


def read_values(tokens: Tensor, task: Task) -> Alter:
    """Let layer 2's `=` attend to the two numbers to add, half each, and to nothing else."""
    ideal = one_hot(task.value_positions(tokens), tokens.shape[1]).float().mean(1)  # (batch, pos)
    return attend_in_layer_2(ideal)


def attend_in_layer_2(row: Tensor) -> Alter:
    """Give layer 2's `=` these attention weights (batch, key)."""
    return {pattern_of(2): lambda pattern: torch.cat([pattern[:, :, :-1], row.to(pattern)[:, None, None]], 2)}


def position_term(weights: Weights) -> Tensor:
    """P QK1 P^T, the share of the layer-1 scores (query, key) that no token changes."""
    return weights.W_pos @ QK(weights.of_one_head(), 1) @ weights.W_pos.T


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
    """Problems of `full_problems` with one thing altered, token ids (batch, pos) each; every one has another answer.

    `value`: the number of the asked variable, in the third slot.  `names`: the third and the first slot exchange their
    variables.  `asked`: the first slot's variable is asked for.  `constant`: the first slot's number is added.
    ValueError where a problem is another, or an answer the same.
    """
    value, names, asked, constant = (task.check(clean).clone() for _ in range(4))
    value[:, 5] = (clean[:, 5] + torch.randint(1, task.n_numbers, (len(clean),), generator=generator)) % task.n_numbers
    names[:, [4, 0]] = clean[:, [0, 4]]
    asked[:, task.left] = clean[:, 0]
    constant[:, task.right] = clean[:, 1]
    changed = {"value": value, "names": names, "asked": asked, "constant": constant}
    answers = torch.stack([task.right_answers(each) for each in (clean, *changed.values())])
    if (answers < 0).any() or (answers[1:] == answers[0]).any():
        raise ValueError("these problems keep an answer that should change; take them from `full_problems`")
    return changed


class Recovery:
    """The recovered logit difference of an alteration on `changed` problems, between 0, no effect, and 1, `clean`.

    The logit of the clean answer less that of the changed answer, scaled by its mean gap between the two problems.  Where
    `clean` and `changed` change places, what is denoising becomes noising, and the share recovered the share lost.
    ValueError unless both are problems (batch, pos) of the task that the weights fit.
    """

    def __init__(self, weights: Weights, clean: Tensor, changed: Tensor):
        self.weights, self.clean, self.changed = weights, weights.task.check(clean), weights.task.check(changed)
        self.ours, self.theirs = (weights.task.right_answers(tokens)[:, None] for tokens in (clean, changed))
        if min(self.ours.min(), self.theirs.min()) < 0:
            raise ValueError("a problem asks for what is no number and is assigned none, so it has no answer")
        self.start = self.gap(run(weights, changed).logits)
        self.whole = (self.gap(run(weights, clean).logits) - self.start).mean()

    def gap(self, logits: Tensor) -> Tensor:
        """The logit of the clean answer less that of the changed answer, (batch,)."""
        return (logits.gather(1, self.ours) - logits.gather(1, self.theirs))[:, 0]

    def __call__(self, alter: Alter) -> Tensor:
        """Recovered logit difference (batch,) under this alteration."""
        return (self.gap(run(self.weights, self.changed, alter, whole=True).logits) - self.start) / self.whole


def put_back(site: str, content: Tensor, position: int | slice) -> Alter:
    """At one position, or at some, put what another pass held there, of a site whose second axis is the position."""
    places = torch.arange(content.shape[1], device=content.device)
    return put(site, torch.isin(places, places[position])[None], content)


def _by_position(sites: str | Iterable[str]) -> list[str]:
    """These sites, once they are found to hold something at each position."""
    sites = [sites] if isinstance(sites, str) else list(sites)
    if not sites or (others := [site for site in sites if site.endswith(("hook_attn_scores", "hook_pattern"))]):
        raise ValueError(f"patching needs sites with an axis for the position, not {', '.join(others) if sites else 'none'}")
    return sites


@torch.no_grad()
def patched(weights: Weights, clean: Tensor, changed: Tensor, sites: str | Iterable[str]) -> Tensor:
    """Recovered logit difference (batch, site, pos) of activation patching: one site at one position is overwritten.

    The network reads the changed problem, and there gets what it held on the clean one: denoising.  For any network that
    fits a task.  ValueError for scores and patterns, whose second axis is the head.
    """
    sites = _by_position(sites)
    kept, recovered = run(weights, clean, keep=sites, whole=True), Recovery(weights, clean, changed)
    places = range(clean.shape[1])
    return torch.stack([torch.stack([recovered(put_back(s, kept[s], p)) for p in places], 1) for s in sites], 1)


@torch.enable_grad()
def attributed(weights: Weights, clean: Tensor, changed: Tensor, sites: str | Iterable[str]) -> Tensor:
    """The first-order estimate (batch, site, pos) of what `patched` measures, from one gradient: attribution patching.

    The gradient of the logit difference on the changed problem, times the difference between the two problems at a site.
    ValueError as in `patched`.
    """
    sites = _by_position(sites)
    recovered = Recovery(weights, clean, changed)
    watched = {site: lambda here: here if here.requires_grad else here.requires_grad_() for site in sites}
    here = run(weights, changed, alter=watched, whole=True)
    slopes = torch.autograd.grad(recovered.gap(here.logits).sum(), [here[site] for site in sites])
    there = run(weights, clean, keep=sites, whole=True)
    moved = [((there[site] - here[site]) * slope).flatten(2).sum(2) for site, slope in zip(sites, slopes)]
    return torch.stack(moved, 1).detach() / recovered.whole


@torch.no_grad()
def path_patched(weights: Weights, clean: Tensor, changed: Tensor) -> Tensor:
    """Recovered logit difference (batch, 3, pos) of single paths: from layer 1's output at a position to layer 2 there.

    The query, the key or the value of layer 2 at this position gets what layer 1 brings there on the clean problem; all else
    that reads layer 1's output still gets that of the changed one.  Path patching, after Wang et al. (2022).
    """
    weights = weights.of_one_head(2)
    recovered = Recovery(weights, clean, changed)
    moved = run(weights, clean)[output_of(1)] - run(weights, changed)[output_of(1)]  # (batch, pos, d_model)

    def along(part: str, position: int) -> Tensor:
        change = at(changed, position)[:, :, None] * moved @ getattr(weights, f"W_{part.upper()}")[1]
        return recovered({f"blocks.1.attn.hook_{part}": lambda held: held + change[:, :, None]})

    return torch.stack([torch.stack([along(part, p) for p in range(clean.shape[1])], 1) for part in "qkv"], 1)


@torch.no_grad()
def cleanly_read(weights: Weights, tokens: Tensor) -> Tensor:
    """The answers (batch,) where layer 2's `=` attends to the two numbers to add equally, and to no distractor's number.

    What it gives to assigned numbers and to the numbers to add stays the same in all; so does the rest of its attention.
    """
    weights, task = weights.of_one_head(2), weights.task
    assigned = task.assigned_numbers(tokens)
    wanted = torch.zeros_like(assigned).scatter(1, task.value_positions(tokens), True)

    def cleaned(pattern: Tensor) -> Tensor:
        attention = pattern[:, 0, -1]
        on_numbers = (attention * (wanted | assigned)).sum(1, keepdim=True)
        clean = torch.where(wanted, on_numbers / wanted.sum(1, keepdim=True), attention * ~assigned)
        return attend_in_layer_2(clean)[pattern_of(2)](pattern)

    return answers(weights, tokens, {pattern_of(2): cleaned})
