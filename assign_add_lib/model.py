"""The network: its weights, the plain forward on one page, and its twin in TransformerLens."""

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from .task import STUDY, Task


@dataclass(frozen=True, eq=False)
class Weights:
    """Every weight of the 2-layer, 1-head transformer, named as TransformerLens names them.

    Vectors are rows: x @ W.  The first axis of the attention matrices is the layer; layer 1 has no MLP.
    There are no biases and no normalisation.  Raises ValueError where shapes do not fit each other.

    >>> weights = Weights.init(Task(n_numbers=5, n_variables=3, length=10), seed=0, d_model=16, d_mlp=32)
    >>> weights.W_E.shape, weights.W_in.shape
    (torch.Size([11, 16]), torch.Size([16, 32]))
    >>> weights.task
    Task(n_numbers=5, n_variables=3, length=10)
    >>> silent = weights.replace(W_out=0 * weights.W_out)  # the same network without its MLP
    """

    W_E: Tensor  # (d_vocab, d_model) token embeddings
    W_pos: Tensor  # (length, d_model) position embeddings
    W_Q: Tensor  # (2, d_model, d_head) queries
    W_K: Tensor  # (2, d_model, d_head) keys
    W_V: Tensor  # (2, d_model, d_head) values
    W_O: Tensor  # (2, d_head, d_model) outputs
    W_in: Tensor  # (d_model, d_mlp) into the neurons of layer 2
    W_out: Tensor  # (d_mlp, d_model) out of them
    W_U: Tensor  # (d_model, N) unembedding onto the numbers

    def __post_init__(self):
        d_model, d_head, d_mlp = self.d_model, self.W_Q.shape[-1], self.W_in.shape[-1]
        shapes = weight_shapes(len(self.W_E), len(self.W_pos), self.W_U.shape[-1], d_model, d_head, d_mlp)
        for name, shape in shapes.items():
            if tuple(getattr(self, name).shape) != shape:
                raise ValueError(f"{name} has shape {tuple(getattr(self, name).shape)}; the other weights ask for {shape}")

    @classmethod
    def init(cls, task: Task = STUDY, seed: int = 0, d_model: int = 128, d_mlp: int = 512) -> "Weights":
        """Draw every weight from a normal of mean 0 and standard deviation 0.8 / sqrt(d_model)."""
        generator = torch.Generator().manual_seed(seed)
        shapes = weight_shapes(task.d_vocab, task.length, task.n_numbers, d_model, d_model, d_mlp)
        scale = 0.8 / math.sqrt(d_model)
        return cls(**{name: scale * torch.randn(shape, generator=generator) for name, shape in shapes.items()})

    @property
    def d_model(self) -> int:
        """Width of the residual stream."""
        return self.W_E.shape[-1]

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

        What this network lacks, all biases and the first MLP, is there as zeros.
        """
        from transformer_lens import TransformerBridge
        from transformer_lens.config import TransformerBridgeConfig

        config = TransformerBridgeConfig(
            d_model=self.d_model,
            d_head=self.W_Q.shape[-1],
            d_mlp=self.W_in.shape[-1],
            n_layers=2,
            n_heads=1,
            n_ctx=len(self.W_pos),
            d_vocab=len(self.W_E),
            d_vocab_out=self.W_U.shape[-1],
            act_fn="relu",
            normalization_type=None,
        )
        bridge = TransformerBridge.boot_native(config).to(self.W_E.dtype, print_details=False)
        state = {name: torch.zeros_like(theirs) for name, theirs in bridge.state_dict().items()}
        bridge.load_state_dict(state | _lens_state(self.tensors()))
        return bridge.eval()

    @classmethod
    def from_transformer_lens(cls, bridge) -> "Weights":
        """Read the weights back; ValueError if the bridge uses a bias or a first MLP, which this network lacks."""
        state = {name: theirs.detach().clone() for name, theirs in bridge.state_dict().items()}
        tensors = {}
        for name, (ours, _, transposed) in LENS_NAMES.items():
            matrix = state.pop(name)
            tensors.setdefault(ours, []).append(matrix.T if transposed else matrix)
        for name, rest in state.items():
            if rest.any():
                raise ValueError(f"{name} is not zero; this network has no biases and no MLP in layer 1")
        layered = ("W_Q", "W_K", "W_V", "W_O")
        return cls(**{name: torch.stack(each) if name in layered else each[0] for name, each in tensors.items()})


# TransformerLens keeps linear maps as nn.Linear does, transposed: name -> (our name, layer, transposed)
LENS_NAMES = {
    "embed.weight": ("W_E", None, False),
    "pos_embed.weight": ("W_pos", None, False),
    **{f"blocks.{layer}.attn.{part.lower()}.weight": (f"W_{part}", layer, True) for layer in (0, 1) for part in "QKVO"},
    "blocks.1.mlp.in.weight": ("W_in", None, True),
    "blocks.1.mlp.out.weight": ("W_out", None, True),
    "unembed.weight": ("W_U", None, True),
}


def _lens_state(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights under their names in TransformerLens, in its layout."""
    state = {}
    for name, (ours, layer, transposed) in LENS_NAMES.items():
        matrix = tensors[ours].detach() if layer is None else tensors[ours][layer].detach()
        state[name] = matrix.T if transposed else matrix
    return state


def weight_shapes(d_vocab: int, length: int, n_numbers: int, d_model: int, d_head: int, d_mlp: int) -> dict[str, tuple]:
    """The shape of every weight, by name."""
    return {
        "W_E": (d_vocab, d_model),
        "W_pos": (length, d_model),
        "W_Q": (2, d_model, d_head),
        "W_K": (2, d_model, d_head),
        "W_V": (2, d_model, d_head),
        "W_O": (2, d_head, d_model),
        "W_in": (d_model, d_mlp),
        "W_out": (d_mlp, d_model),
        "W_U": (d_model, n_numbers),
    }


class Activations(NamedTuple):
    """What the network computes on the way to its logits; layers are on an axis of their own."""

    resid_pre: Tensor  # (batch, pos, d_model) token plus position
    scores: Tensor  # (batch, layer, query, key) attention scores, -inf in the future
    pattern: Tensor  # (batch, layer, query, key) attention, each row sums to 1
    attn_out: Tensor  # (batch, layer, pos, d_model) what attention adds to the residual stream
    mlp_in: Tensor  # (batch, pos, d_model) residual stream that the MLP reads
    pre: Tensor  # (batch, pos, d_mlp) pre-activations of the neurons
    mlp_out: Tensor  # (batch, pos, d_model) what the MLP adds to the residual stream
    logits: Tensor  # (batch, pos, N)


def trace(weights: Weights, tokens: Tensor) -> Activations:
    """The plain forward on token ids (batch, pos), keeping every intermediate result; ValueError for negative ids."""
    if (tokens < 0).any():
        raise ValueError("token ids are never negative")
    w = weights
    future = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool, device=tokens.device).triu(1)
    resid = resid_pre = w.W_E[tokens] + w.W_pos[: tokens.shape[1]]  # (batch, pos, d_model)
    all_scores, patterns, attn_outs = [], [], []
    for layer in range(2):
        q, k, v = (resid @ W[layer] for W in (w.W_Q, w.W_K, w.W_V))  # (batch, pos, d_head)
        scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(future, -torch.inf)  # (batch, query, key)
        pattern = scores.softmax(-1)
        attn_out = pattern @ v @ w.W_O[layer]  # (batch, pos, d_model)
        resid = resid + attn_out
        for kept, each in ((all_scores, scores), (patterns, pattern), (attn_outs, attn_out)):
            kept.append(each)
    pre = resid @ w.W_in  # (batch, pos, d_mlp)
    mlp_out = pre.relu() @ w.W_out
    logits = (resid + mlp_out) @ w.W_U  # (batch, pos, N)
    per_layer = (torch.stack(each, 1) for each in (all_scores, patterns, attn_outs))
    return Activations(resid_pre, *per_layer, resid, pre, mlp_out, logits)


def forward(weights: Weights, tokens: Tensor) -> Tensor:
    """Logits (batch, pos, N) at every position, by the plain forward; the answer is read at the last.

    >>> problems = [Problem.parse("b=17, b+19=?"), Problem.parse("3+4=?")]
    >>> forward(Weights.init(), torch.stack([problem.tokens() for problem in problems])).shape
    torch.Size([2, 16, 59])
    """
    return trace(weights, tokens).logits


def read_out(weights: Weights, resid: Tensor) -> Tensor:
    """Logits (..., N) from what the MLP reads, (..., d_model): through the MLP and beside it, then unembedded."""
    return (resid + (resid @ weights.W_in).relu() @ weights.W_out) @ weights.W_U
