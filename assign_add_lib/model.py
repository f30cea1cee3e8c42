"""The network: its weights, the one plain forward, in which any site may be altered, and its twin in TransformerLens."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import NamedTuple

import torch
from torch import Tensor

from .task import STUDY, Task


@dataclass(frozen=True, eq=False, repr=False)
class Weights:
    """Every weight of the 2-layer, 1-head transformer, named as TransformerLens names them.

    Vectors are rows: x @ W.  The first axis of the attention matrices is the layer; the MLP stands after the last one.
    There are no biases and no normalisation.  There may be other numbers of layers, and a second axis for the head, (layer,
    head, d_model, d_head).  Raises ValueError where shapes do not fit each other.

    >>> weights = Weights.init(Task(n_numbers=5, n_variables=3, length=10), seed=0, d_model=16, d_mlp=32)
    >>> weights.W_E.shape, weights.W_in.shape
    (torch.Size([11, 16]), torch.Size([16, 32]))
    >>> weights.task
    Task(n_numbers=5, n_variables=3, length=10)
    >>> silent = weights.replace(W_out=0 * weights.W_out)  # the same network without its MLP
    """

    W_E: Tensor  #: (d_vocab, d_model) token embeddings
    W_pos: Tensor  #: (length, d_model) position embeddings
    W_Q: Tensor  #: (2, d_model, d_head) queries
    W_K: Tensor  #: (2, d_model, d_head) keys
    W_V: Tensor  #: (2, d_model, d_head) values
    W_O: Tensor  #: (2, d_head, d_model) outputs
    W_in: Tensor  #: (d_model, d_mlp) into the neurons of layer 2
    W_out: Tensor  #: (d_mlp, d_model) out of them
    W_U: Tensor  #: (d_model, N) unembedding onto the numbers

    def __post_init__(self):
        sizes = len(self.W_E), len(self.W_pos), self.W_U.shape[-1], self.d_model, self.W_Q.shape[-1], self.W_in.shape[-1]
        for name, shape in weight_shapes(*sizes, *self.W_Q.shape[:-2]).items():
            if tuple(getattr(self, name).shape) != shape:
                raise ValueError(f"{name} has shape {tuple(getattr(self, name).shape)}; the other weights ask for {shape}")

    @classmethod
    def init(cls, task: Task = STUDY, seed: int = 0, d_model: int = 128, d_mlp: int = 512) -> "Weights":
        """Draw every weight from a normal of mean 0 and standard deviation 0.8 / sqrt(d_model)."""
        return cls.drawn(weight_shapes(task.d_vocab, task.length, task.n_numbers, d_model, d_model, d_mlp), seed)

    @classmethod
    def drawn(cls, shapes: dict[str, tuple[int, ...]], seed: int) -> "Weights":
        """The same for weights of any of these shapes, by name."""
        generator, scale = torch.Generator().manual_seed(seed), 0.8 / math.sqrt(shapes["W_E"][1])
        return cls(**{name: scale * torch.randn(shape, generator=generator) for name, shape in shapes.items()})

    def __repr__(self) -> str:
        return f"Weights({', '.join(f'{name} {tuple(tensor.shape)}' for name, tensor in self.tensors().items())})"

    def check(self, tokens: Tensor) -> Tensor:
        """The same tokens (batch, pos); ValueError where this network does not take them."""
        if not isinstance(tokens, Tensor) or tokens.dtype not in (torch.int64, torch.int32):
            raise ValueError(f"tokens are a tensor of whole numbers, not {getattr(tokens, 'dtype', type(tokens).__name__)}")
        if tokens.dim() != 2 or not 0 < tokens.shape[1] <= len(self.W_pos):
            raise ValueError(
                f"tokens have the shape (batch, pos) with 1 to {len(self.W_pos)} positions, not {tuple(tokens.shape)}"
            )
        if tokens.numel() and not 0 <= tokens.min() <= tokens.max() < len(self.W_E):
            raise ValueError(f"token ids are from 0 to {len(self.W_E) - 1}, not {tokens.min()} to {tokens.max()}")
        return tokens

    @property
    def d_model(self) -> int:
        """Width of the residual stream."""
        return self.W_E.shape[-1]

    @property
    def n_layers(self) -> int:
        """Number of layers of attention."""
        return len(self.W_Q)

    def by_head(self, name: str) -> Tensor:
        """The matrices of attention of this name with their axis for the head, (layer, head, ...), also where there is one."""
        matrices = getattr(self, name)
        return matrices if matrices.dim() == 4 else matrices[:, None]

    def of_one_head(self, layers: int | None = None) -> "Weights":
        """The same weights without an axis for the head; ValueError for more heads, or for other than so many layers."""
        heads = self.by_head("W_Q").shape[1]
        if heads > 1 or layers not in (None, self.n_layers):
            asked, there = f"{layers or 'any'} layers of one head", f"n_layers {self.n_layers}, n_heads {heads}"
            raise ValueError(f"this asks for {asked}, and the network has {there}; `run` and `forward` take any network")
        flat = {name: getattr(self, name)[:, 0] for name in ATTENTION} if self.W_Q.dim() == 4 else {}
        return self.replace(**flat) if flat else self

    @cached_property
    def task(self) -> Task:
        """The task whose sizes these weights have; ValueError where there is none."""
        return Task.of_sizes(len(self.W_E), len(self.W_pos), self.W_U.shape[-1])

    def tensors(self) -> dict[str, Tensor]:
        """The weights by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def to(self, *args, **kwargs) -> "Weights":
        """The same weights on another device or in another dtype, as `Tensor.to` takes them."""
        return Weights(**{name: tensor.to(*args, **kwargs) for name, tensor in self.tensors().items()})

    def trainable(self) -> "Weights":
        """A copy that collects gradients."""
        return Weights(**{name: tensor.detach().clone().requires_grad_() for name, tensor in self.tensors().items()})

    def replace(self, **tensors: Tensor) -> "Weights":
        """The same weights with some exchanged: `weights.replace(W_in=...)`."""
        return replace(self, **tensors)

    def to_transformer_lens(self):
        """The same network as a TransformerLens 4 bridge, whose `blocks[0]` is our layer 1.

        What this network lacks, all biases and the MLPs but the last, is there as zeros, and frozen: so the bridge may be
        trained, and `from_transformer_lens` reads it back.  Its hooks bear the names of our sites, but two do less:
        `hook_attn_scores` holds the pattern and cannot be altered, and `hook_resid_mid` alters what the MLP reads alone.
        """
        from transformer_lens import TransformerBridge
        from transformer_lens.config import TransformerBridgeConfig

        _, n_heads, d_model, d_head = self.by_head("W_Q").shape
        config = TransformerBridgeConfig(
            d_model=d_model,
            d_head=d_head,
            d_mlp=self.W_in.shape[-1],
            n_layers=self.n_layers,
            n_heads=n_heads,
            n_ctx=len(self.W_pos),
            d_vocab=len(self.W_E),
            d_vocab_out=self.W_U.shape[-1],
            act_fn="relu",
            normalization_type=None,
        )
        bridge = TransformerBridge.boot_native(config).to(self.W_E.dtype, print_details=False)
        bridge.set_use_hook_mlp_in(True)
        ours = self._lens_state()
        for name, theirs in bridge.state_dict(keep_vars=True).items():
            theirs.data.copy_(ours.get(name, torch.zeros_like(theirs)))
            theirs.requires_grad_(name in ours)
        return bridge.eval()

    def _lens_state(self) -> dict[str, Tensor]:
        """The weights under their names in TransformerLens, which keeps linear maps as nn.Linear does, transposed."""
        last = f"blocks.{self.n_layers - 1}.mlp"
        state = {"embed.weight": self.W_E, "pos_embed.weight": self.W_pos, "unembed.weight": self.W_U.T}
        state |= {f"{last}.in.weight": self.W_in.T, f"{last}.out.weight": self.W_out.T}
        for layer in range(self.n_layers):
            for part in "QKV":  # (head, d_model, d_head) -> (head * d_head, d_model)
                state[f"blocks.{layer}.attn.{part.lower()}.weight"] = self.by_head(f"W_{part}")[layer].mT.flatten(0, 1)
            state[f"blocks.{layer}.attn.o.weight"] = self.by_head("W_O")[layer].flatten(0, 1).T
        return {name: matrix.detach() for name, matrix in state.items()}

    @classmethod
    @torch.no_grad()
    def from_transformer_lens(cls, model) -> "Weights":
        """Read the weights of a model of TransformerLens; ValueError says in what it is another network than ours.

        In the end both are asked the same random tokens, so that no setting of theirs makes a difference unseen.
        """
        settings = {name: getattr(model.cfg, name, ours) for name, ours in LENS_SETTINGS.items()}
        if others := [
            f"{name} {value!r}, not {LENS_SETTINGS[name]!r}" for name, value in settings.items() if value != LENS_SETTINGS[name]
        ]:
            raise ValueError(f"this is another network than ours: it has {', '.join(others)}")
        weights = cls._of_lens({name: getattr(model, name) for name in LENS_TENSORS})
        tokens = torch.randint(len(weights.W_E), (8, len(weights.W_pos)), generator=torch.Generator().manual_seed(0))
        ours, theirs = (network(tokens.to(weights.W_E.device)) for network in (partial(forward, weights), model))
        if not (ours - theirs).abs().max() <= 1e-3 * ours.abs().max():
            raise ValueError("this is another network than ours: with the same weights it gives other logits")
        return weights

    @classmethod
    def from_hooked_transformer(cls, state: Mapping[str, Tensor]) -> "Weights":
        """Read the state dict of a `HookedTransformer`, as TransformerLens up to 3 made it; ValueError where it holds more.

        It does not tell the rest of the network, which must have been made with act_fn="relu" and normalization_type=None.
        """
        parts: dict[str, list] = {}
        for place in sorted(state, key=lambda place: [int(part) if part.isdigit() else -1 for part in place.split(".")]):
            name = place.rpartition(".")[2]
            if name in LENS_TENSORS:
                parts.setdefault(name, []).append(state[place])
            elif name not in ("mask", "IGNORE"):
                raise ValueError(f"this is another network than ours: it has {place}")
        if missing := [name for name in LENS_TENSORS if name not in parts]:
            raise ValueError(f"this is no state dict of a HookedTransformer with MLPs: it lacks {', '.join(missing)}")
        once = ("W_E", "W_pos", "W_U", "b_U")
        return cls._of_lens({name: each[0] if name in once else torch.stack(each) for name, each in parts.items()})

    @classmethod
    def _of_lens(cls, tensors: Mapping[str, Tensor]) -> "Weights":
        """The weights from TransformerLens' tensors, layers stacked; ValueError where one that we lack is not zero."""
        lacking = {name: each for name, each in tensors.items() if name.startswith("b_")}
        lacking |= {f"{name} before the last layer": tensors[name][:-1] for name in ("W_in", "W_out")}
        if others := [name for name, each in lacking.items() if each.any()]:
            raise ValueError(f"this is another network than ours, which has no such weights: {', '.join(others)} must be zero")
        ours = {each.name: tensors[each.name].detach().clone() for each in fields(cls)}
        ours |= {name: ours[name][-1] for name in ("W_in", "W_out")}
        return cls(**ours | {name: ours[name][:, 0] for name in ATTENTION if ours[name].shape[1] == 1})


ATTENTION = ("W_Q", "W_K", "W_V", "W_O")
# what a model of TransformerLens must be set to, and holds
LENS_SETTINGS = {"act_fn": "relu", "normalization_type": None, "positional_embedding_type": "standard", "attention_dir": "causal"}
LENS_SETTINGS |= {"attn_only": False, "gated_mlp": False, "attn_scores_soft_cap": -1.0, "output_logits_soft_cap": -1.0}
LENS_TENSORS = ("W_E", "W_pos", *ATTENTION, "W_in", "W_out", "W_U", "b_Q", "b_K", "b_V", "b_O", "b_in", "b_out", "b_U")


def weight_shapes(
    d_vocab: int, length: int, n_numbers: int, d_model: int, d_head: int, d_mlp: int, layers: int = 2, heads: int | None = None
) -> dict[str, tuple[int, ...]]:
    """The shape of every weight, by name; attention has an axis for the head where `heads` is given."""
    each = (layers,) if heads is None else (layers, heads)
    return {
        "W_E": (d_vocab, d_model),
        "W_pos": (length, d_model),
        "W_Q": (*each, d_model, d_head),
        "W_K": (*each, d_model, d_head),
        "W_V": (*each, d_model, d_head),
        "W_O": (*each, d_head, d_model),
        "W_in": (d_model, d_mlp),
        "W_out": (d_mlp, d_model),
        "W_U": (d_model, n_numbers),
    }


class Pass(NamedTuple):
    """One pass of the network: the logits at the last position, and what every site held on the way."""

    logits: Tensor  #: (batch, N)
    sites: dict[str, Tensor]  #: by TransformerLens' names of hooks, in the order in which they arise

    @property
    def answers(self) -> Tensor:
        """The likeliest number (batch,)."""
        return self.logits.argmax(1)

    def __getitem__(self, site: str) -> Tensor:
        """What a site held, as `run` tells its shape; KeyError where it was not kept."""
        if site not in self.sites:
            raise KeyError(f"this pass holds no {site}, but {', '.join(self.sites)}; {ELSEWHERE}")
        return self.sites[site]

    def attention(self, layer: int) -> Tensor:
        """The attention (batch, query, key) of a layer, counted from 1; ValueError where it has more than one head."""
        pattern = self[site := f"blocks.{layer - 1}.attn.hook_pattern"]
        if pattern.shape[1] > 1:
            raise ValueError(f"layer {layer} has {pattern.shape[1]} heads; all stand in {site}, (batch, head, query, key)")
        return pattern[:, 0]


Alter = Mapping[str, Callable[[Tensor], Tensor]]
ELSEWHERE = "those inside of a head `keep` must name; the stream behind a block is hook_resid_pre of the next"


def site_names(layers: int = 2) -> tuple[str, ...]:
    """The names of all sites of a network, in the order in which they arise."""
    last, attention = f"blocks.{layers - 1}", ("hook_q", "hook_k", "hook_attn_scores", "hook_pattern", "hook_v", "hook_z")
    names = ["hook_embed", "hook_pos_embed"]
    for block in (f"blocks.{layer}" for layer in range(layers)):
        names += [f"{block}.hook_resid_pre", *(f"{block}.attn.{each}" for each in attention), f"{block}.hook_attn_out"]
    names += [f"{last}.{each}" for each in ("hook_resid_mid", "hook_mlp_in", "mlp.hook_pre", "mlp.hook_post", "hook_mlp_out")]
    return (*names, f"{last}.hook_resid_post")


def run(
    weights: Weights,
    tokens: Tensor,
    alter: Alter | None = None,
    keep: str | Iterable[str] = (),
    whole: bool = False,
    after: Pass | None = None,
) -> Pass:
    """The plain forward on token ids (batch, pos), in which any site may be altered: the one way to change the network.

    `alter` maps the name of a site to a function from what arises there to what shall stand there instead.  Unlike a hook of
    TransformerLens it takes one argument, must return, and must not write into what it got.  Names and
    shapes are TransformerLens': streams (batch, pos, d_model), scores and patterns (batch, head, query, key), queries,
    keys, values and `hook_z` (batch, pos, head, d_head).  The answer is read at the last position, so in the last layer
    only its query is computed, and from there on `pos` and `query` have the length 1; with `whole`, every one is.  The
    last is -1 in both.  The four sites inside of a head are formed only where `alter` or `keep` names them.
    `after` is another pass over the same problems, of which all stays that comes before the last layer; that saves its work.
    ValueError for tokens that the network does not take, for a name that is no site, for a function that returns nothing, and
    with `after` for a site before the last layer.

    >>> tokens = Problem.parse("b=17, b+19=?").tokens()[None]
    >>> silent = run(Weights.init(), tokens, alter={"blocks.1.hook_mlp_out": lambda added: 0 * added})
    >>> silent.answers.shape, silent["blocks.1.attn.hook_pattern"].shape
    (torch.Size([1]), torch.Size([1, 1, 1, 16]))
    """
    alter, sites = alter or {}, {}
    named = {*alter, *([keep] if isinstance(keep, str) else keep)}

    def at(name: str, value: Tensor) -> Tensor:
        sites[name] = alter[name](value) if name in alter else value
        if sites[name] is None:
            raise ValueError(f"what alters {name} must return what shall stand there, not None")
        return sites[name]

    w, block = weights, f"blocks.{weights.n_layers - 1}"
    stays, stream = {}, None
    if after is not None:
        if early := {name for name in named & set(site_names(w.n_layers)) if not name.startswith(block)}:
            raise ValueError(f"{min(early)} comes before the last layer, where all is as in the other pass")
        stays = {name: held for name, held in after.sites.items() if not name.startswith(block)}
        stream = after[f"{block}.hook_resid_pre"]
    resid = _attended(w, tokens, at, named, whole, stream)
    pre = at(f"{block}.mlp.hook_pre", at(f"{block}.hook_mlp_in", resid) @ w.W_in)  # (batch, pos, d_mlp)
    resid = resid + at(f"{block}.hook_mlp_out", at(f"{block}.mlp.hook_post", pre.relu()) @ w.W_out)
    return Pass(at(f"{block}.hook_resid_post", resid)[:, -1] @ w.W_U, stays | sites)


def _attended(
    w: Weights,
    tokens: Tensor,
    at: Callable[[str, Tensor], Tensor],
    named: set[str],
    whole: bool,
    stream: Tensor | None = None,
) -> Tensor:
    """The residual stream behind all attention, (batch, pos, d_model), as `run` tells of it; each site goes through `at`.

    Where the stream before the last layer is given, the others are not computed.  What matrices make of the first stream is
    looked up by token and position where there are more problems than tokens.
    """
    length, last = w.check(tokens).shape[1], w.n_layers - 1
    if unknown := named - set(site_names(w.n_layers)):
        raise ValueError(f"no site is called {min(unknown)}; the sites are {', '.join(site_names(w.n_layers))}; {ELSEWHERE}")
    future = torch.ones(length, length, dtype=torch.bool, device=tokens.device).triu(1)
    first = None  # the stream before layer 1, where it is looked up
    if stream is None:
        resid = at("hook_embed", w.W_E[tokens]) + at("hook_pos_embed", w.W_pos[:length].expand(len(tokens), -1, -1))
        if len(tokens) > len(w.W_E) and not named & {"hook_embed", "hook_pos_embed", "blocks.0.hook_resid_pre"}:
            first, place = resid, length * tokens + torch.arange(length, device=tokens.device)
    else:
        resid = stream

    def times(stream: Tensor, matrices: Tensor) -> Tensor:
        """A stream times a matrix of each head, (batch, pos, head, e)."""
        if stream is not first:
            return torch.einsum("bpd,hde->bphe", stream, matrices)
        table = torch.einsum("vpd,hde->vphe", w.W_E[:, None] + w.W_pos[:length], matrices)
        return table.flatten(0, 1)[place]

    for layer in range(w.n_layers) if stream is None else [last]:
        W_Q, W_K, W_V, W_O = (w.by_head(name)[layer] for name in ATTENTION)
        block = f"blocks.{layer}"
        inside = {part: f"{block}.attn.hook_{part}" for part in "qkvz"}
        resid = at(f"{block}.hook_resid_pre", resid)  # (batch, pos, d_model)
        reader = resid if whole or layer < last else resid[:, -1:]  # (batch, query, d_model)
        if named & {inside["q"], inside["k"]}:
            q, k = at(inside["q"], times(reader, W_Q)), at(inside["k"], times(resid, W_K))
            scores = torch.einsum("bqhe,bkhe->bhqk", q, k) / math.sqrt(W_Q.shape[-1])
        else:
            scores = torch.einsum("bqhe,bke->bhqk", times(reader, W_Q @ W_K.mT / math.sqrt(W_Q.shape[-1])), resid)
        scores = at(f"{block}.attn.hook_attn_scores", scores.masked_fill(future[-reader.shape[1] :], -torch.inf))
        pattern = at(f"{block}.attn.hook_pattern", scores.softmax(-1))  # (batch, head, query, key)
        if named & {inside["v"], inside["z"]}:
            v = at(inside["v"], times(resid, W_V))
            z = at(inside["z"], torch.einsum("bhqk,bkhe->bqhe", pattern, v))
            moved = torch.einsum("bqhe,hed->bqd", z, W_O)
        elif reader is first:
            moved = torch.einsum("bhqk,bkhe->bqe", pattern, times(resid, W_V @ W_O))
        else:
            moved = torch.einsum("bhqk,bkd,hde->bqe", pattern, resid, W_V @ W_O)
        resid = reader + at(f"{block}.hook_attn_out", moved)
    return at(f"{block}.hook_resid_mid", resid)


@dataclass(frozen=True, eq=False)
class Activations:
    """What the network computes on the way to its logits; layers are on an axis of their own.

    What the neurons do, two thirds of all work, is computed when it is asked for.
    """

    weights: Weights
    resid_pre: Tensor  #: (batch, pos, d_model) token plus position
    scores: Tensor  #: (batch, layer, query, key) attention scores, -inf in the future
    pattern: Tensor  #: (batch, layer, query, key) attention, each row sums to 1
    attn_out: Tensor  #: (batch, layer, pos, d_model) what attention adds to the residual stream
    mlp_in: Tensor  #: (batch, pos, d_model) residual stream that the MLP reads

    @cached_property
    def pre(self) -> Tensor:
        """The pre-activations of the neurons (batch, pos, d_mlp)."""
        return self.mlp_in @ self.weights.W_in

    @cached_property
    def mlp_out(self) -> Tensor:
        """What the MLP adds to the residual stream (batch, pos, d_model)."""
        return self.pre.relu() @ self.weights.W_out

    @cached_property
    def logits(self) -> Tensor:
        """The logits at every position (batch, pos, N)."""
        return (self.mlp_in + self.mlp_out) @ self.weights.W_U


def trace(weights: Weights, tokens: Tensor) -> Activations:
    """What `run` holds at every position, with an axis for the layer.

    ValueError for layers of more than one head.
    """
    weights, sites = weights.of_one_head(), {}
    blocks = [f"blocks.{layer}" for layer in range(weights.n_layers)]

    def at(name: str, value: Tensor) -> Tensor:
        return sites.setdefault(name, value)

    mlp_in = _attended(weights, tokens, at, set(), whole=True)
    scores, pattern = (
        torch.cat([sites[f"{block}.attn.{each}"] for block in blocks], 1) for each in ("hook_attn_scores", "hook_pattern")
    )
    return Activations(
        weights,
        resid_pre=sites["blocks.0.hook_resid_pre"],
        scores=scores,
        pattern=pattern,
        attn_out=torch.stack([sites[f"{block}.hook_attn_out"] for block in blocks], 1),
        mlp_in=mlp_in,
    )


def forward(weights: Weights, tokens: Tensor) -> Tensor:
    """Logits (batch, pos, N) at every position, of any network, without look-ups; the answer is read at the last.

    >>> problems = [Problem.parse("b=17, b+19=?"), Problem.parse("3+4=?")]
    >>> forward(Weights.init(), torch.stack([problem.tokens() for problem in problems])).shape
    torch.Size([2, 16, 59])
    """
    every = set(site_names(weights.n_layers))
    return read_out(weights, _attended(weights, tokens, lambda name, value: value, every, whole=True))


def read_out(weights: Weights, resid: Tensor) -> Tensor:
    """Logits (..., N) from what the MLP reads, (..., d_model): through the MLP and beside it, then unembedded."""
    return (resid + (resid @ weights.W_in).relu() @ weights.W_out) @ weights.W_U
