"""The arms: three networks that see solved examples of a task and answer its questions, over one shared transformer.

`vanilla` answers from the transformer itself.  `hypernetwork` squeezes the examples into a code of eight numbers, which
mixes learned modules into a task network that answers.  `mlp` has the same bottleneck, and a plain MLP that reads it.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, scaled_dot_product_attention

from .data import HIDDEN, INPUTS, MODULES, OUTPUTS, execute, mix

ARMS = ("vanilla", "hypernetwork", "mlp")


class Block(nn.Module):
    """A pre-LN transformer layer whose keys and values come from the context alone: all look at the examples."""

    def __init__(self, d_model: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_attention, self.norm_mlp = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.q, self.kv, self.out = nn.Linear(d_model, d_model), nn.Linear(d_model, 2 * d_model), nn.Linear(d_model, d_model)
        self.mlp = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, resid: Tensor, context: int) -> Tensor:
        """(task, tokens, d_model) -> the same; the first `context` tokens are what all tokens attend to."""
        normal = self.norm_attention(resid)
        keys, values = self.kv(normal[:, :context]).chunk(2, 2)
        q, k, v = (each.unflatten(2, (self.heads, -1)).transpose(1, 2) for each in (self.q(normal), keys, values))
        resid = resid + self.out(scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return resid + self.mlp(self.norm_mlp(resid))


class Transformer(nn.Module):
    """The shared transformer: context tokens (x, y, 0), then either question tokens (x, 0, 1) or one learned summary token.

    It has no positions: the examples are a set.
    """

    def __init__(self, d_model: int, layers: int, heads: int, summary: bool):
        super().__init__()
        self.embed = nn.Linear(INPUTS + OUTPUTS + 1, d_model)
        self.summary = nn.Parameter(0.02 * torch.randn(d_model)) if summary else None
        self.blocks = nn.ModuleList(Block(d_model, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(d_model)

    def residuals(self, context: tuple[Tensor, Tensor], asked: Tensor) -> list[Tensor]:
        """The residual stream (task, tokens, d_model) before the first layer and after each."""
        x, y = context
        resid = self.embed(pad(torch.cat([x, y], 2), (0, 1)))
        if self.summary is None:
            rest = self.embed(pad(pad(asked, (0, OUTPUTS)), (0, 1), value=1))
        else:
            rest = self.summary.expand(len(x), 1, -1)
        stream = [torch.cat([resid, rest], 1)]
        for block in self.blocks:
            stream.append(block(stream[-1], x.shape[1]))
        return stream

    def forward(self, context: tuple[Tensor, Tensor], asked: Tensor) -> Tensor:
        """What the tokens after the context hold in the end, normalised: (task, questions or 1, d_model)."""
        return self.norm(self.residuals(context, asked)[-1][:, context[0].shape[1] :])


class Vanilla(nn.Module):
    """The transformer answers at each question token."""

    def __init__(self, d_model: int = 64, layers: int = 3, heads: int = 4):
        super().__init__()
        self.transformer = Transformer(d_model, layers, heads, summary=False)
        self.head = nn.Linear(d_model, OUTPUTS)

    def forward(self, context: tuple[Tensor, Tensor], asked: Tensor) -> Tensor:
        """Answers (task, questions, OUTPUTS)."""
        return self.head(self.transformer(context, asked))


class Hypernetwork(nn.Module):
    """A task network whose weights a code mixes from learned modules: the form of the teacher, four times as wide.

    It starts as the teacher is drawn, with modules of a quarter of the variance, for a sum over four times as many units.
    """

    def __init__(self, hidden: int = 4 * HIDDEN):
        super().__init__()
        self.modules_ = nn.Parameter(torch.randn(MODULES, hidden, INPUTS) * (3 / INPUTS * HIDDEN / hidden) ** 0.5)
        self.readout = nn.Parameter(torch.randn(OUTPUTS, hidden) * (1 / HIDDEN) ** 0.5)

    def forward(self, code: Tensor, asked: Tensor) -> Tensor:
        """Answers (task, questions, OUTPUTS) to a code (task, MODULES)."""
        return execute(mix(code, self.modules_), self.readout, asked)


class Decoder(nn.Module):
    """A plain MLP that reads the code beside each question."""

    def __init__(self, hidden: int = 128):
        super().__init__()
        widths = (MODULES + INPUTS, hidden, hidden)
        layers = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
        self.mlp = nn.Sequential(*layers, nn.Linear(hidden, OUTPUTS))

    def forward(self, code: Tensor, asked: Tensor) -> Tensor:
        """Answers (task, questions, OUTPUTS) to a code (task, MODULES)."""
        return self.mlp(torch.cat([code[:, None].expand(-1, asked.shape[1], -1), asked], 2))


class Bottleneck(nn.Module):
    """The transformer sums up the examples in a code of eight numbers, and an executor answers from the code alone."""

    def __init__(self, executor: nn.Module, d_model: int = 64, layers: int = 3, heads: int = 4):
        super().__init__()
        self.transformer = Transformer(d_model, layers, heads, summary=True)
        self.to_code = nn.Linear(d_model, MODULES)
        self.executor = executor

    def code(self, context: tuple[Tensor, Tensor]) -> Tensor:
        """The code (task, MODULES) that the examples give."""
        return self.to_code(self.transformer(context, context[0][:, :0])[:, 0])

    def forward(self, context: tuple[Tensor, Tensor], asked: Tensor) -> Tensor:
        """Answers (task, questions, OUTPUTS)."""
        return self.executor(self.code(context), asked)


def executor(arm: str) -> nn.Module:
    """What answers from a code, in the arms that have one."""
    return Hypernetwork() if arm == "hypernetwork" else Decoder()


def build(arm: str, seed: int, d_model: int = 64, layers: int = 3, heads: int = 4, given_code: bool = False) -> nn.Module:
    """An untrained network of an arm, drawn by its seed; given the code, it is the executor alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if given_code:
            return executor(arm)
        return Vanilla(d_model, layers, heads) if arm == "vanilla" else Bottleneck(executor(arm), d_model, layers, heads)
