"""Training the arms: AdamW on fresh graphs, written down as every run of this book is."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice, pairwise
from types import MappingProxyType

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ...engine.learner import Config, ScheduledLearner, setting
from ...engine.runs import ModuleRun
from .data import FAN_IN, Graphs, Tokens, Vocabulary, chain_of, sample_graphs, write
from .model import ARMS, RIGHT_STARTS, STACKED, Network, continue_chain, iterate

TOKENS_PASS = ("discrete", "corrected")  # arms whose iterations pass tokens on, and are trained one at a time
BATCH_SEED, MEASURE_SEED = 1_000_000, 2_000_000  # added to the seed: weights, batches and measures draw from streams of their own
SKEW = 0.7  # share of leaves that carry 0 at first
STEPS = dict.fromkeys(ARMS, 6000) | dict.fromkeys((*TOKENS_PASS, *RIGHT_STARTS), 16_000)  # 6000: up to four rounds each
WORST = 0.4  # largest share of wrong values that the arm that learns to correct finds in a graph


@dataclass(frozen=True)
class ArmConfig(Config):
    """Everything that decides a run of an arm, down to its bits on one machine."""

    arm: str = setting("discrete", f"what the network is made of: {', '.join(STEPS)}")
    seed: int = setting(0, "decides initialisation and batches")
    modulus: int = setting(11, "of the addition")
    names: int = setting(48, "that nodes may have")
    nodes: int = setting(12, "of a graph in training at most; each batch draws how many its graphs have, from 3 on")
    deepest: int = setting(4, "depth of a graph in training at most")
    fan_in: int = setting(3, "nodes that a node adds at most")
    steps: int = 16_000
    batch_size: int = setting(32, "graphs of the most nodes; of smaller ones as many as make the same number of nodes")
    lr: float = 2e-3
    weight_decay: float = 0.01
    warm_up: int = 100
    clip: float = 1.0
    skewed: int = setting(600, "steps in which most leaves are 0")
    corrupted: float = setting(0.25, "share of the graphs in which the arm that learns to correct finds wrong values")
    mimetic: bool = setting(True, "whether attention starts by looking for its like")
    d_model: int = 64
    d_mlp: int = 192
    heads: int = 4
    stacked: int = setting(3, "blocks of an arm that does not loop")
    log_every: int = 1000
    checkpoint_every: int = 16_000

    def __post_init__(self):
        super().__post_init__()
        self.at_least(1, "batch_size", "warm_up", "d_model", "d_mlp", "heads", "stacked", "deepest", "fan_in")
        self.at_least(0, "skewed")
        self.at_least(2, "modulus")
        self.at_least(3, "nodes")
        self.at_most(2**16, "batch_size", "d_model", "d_mlp", "heads", "modulus", "names")
        self.at_most(FAN_IN, "fan_in")
        self.at_most(self.names, "nodes")
        self.at_most(100, "stacked")
        self.at_most(10**9, "warm_up", "skewed", "deepest")
        self.within(0, 1, "corrupted", "weight_decay")
        if self.arm not in STEPS:
            raise ValueError(f"arm must be one of {', '.join(STEPS)}, not {self.arm!r}")
        if min(self.lr, self.clip) <= 0:
            raise ValueError(f"lr and clip must be above 0, not {self.lr} and {self.clip}")
        if self.d_model % self.heads:
            raise ValueError(f"d_model ({self.d_model}) must be a multiple of heads ({self.heads})")

    @property
    def name(self) -> str:
        """What the run is called: arm and seed."""
        return f"{self.arm}-{self.seed}"

    @property
    def told(self) -> tuple[str, ...]:
        """What the name tells: among it the steps, where they are those that the book gives the arm."""
        as_in_book = self.steps == self.checkpoint_every == STEPS[self.arm]
        return "arm", "seed", *(("steps", "checkpoint_every") if as_in_book else ())

    @property
    def vocabulary(self) -> Vocabulary:
        """The modulus and the names."""
        return Vocabulary(self.modulus, self.names)

    def network(self) -> Network:
        """The untrained network."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            blocks = self.stacked if self.arm in STACKED else 1
            return Network(self.vocabulary, blocks, self.d_model, self.heads, self.d_mlp, self.mimetic)


# what each seed trains for the chapter
GRID = tuple({"arm": [arm], "steps": [STEPS[arm]], "checkpoint_every": [STEPS[arm]]} for arm in ARMS)


def written(arm: str, graphs: Graphs) -> Tokens:
    """The tokens that an arm is given; before a chain untrimmed, so that it begins at a place that no other graph decides."""
    return write(graphs, trimmed=arm != "chain")


def at_definitions(stream: Tensor, tokens: Tokens) -> Tensor:
    """What stands where nodes are defined, (graph, node, ...), of what stands at all positions, (graph, position, ...)."""
    return stream.gather(1, tokens.definitions[..., None].expand(-1, -1, stream.shape[2]))


def corrupt(held: Tensor, share: Tensor | float, modulus: int, generator: torch.Generator) -> Tensor:
    """Values (graph, node) of which a share, one for all or one a graph (graph, 1), is another number; what is empty stays so."""
    random = {"generator": generator, "device": generator.device}
    hit = (torch.rand(held.shape, **random) < share) & (held < modulus)
    return torch.where(hit, (held + torch.randint(1, modulus, held.shape, **random)) % modulus, held)


def factors_loss(logits: Sequence[Tensor], target: Tensor, kept: Tensor) -> Tensor:
    """Cross-entropy summed over the four factors, mean over the tokens kept (graph, position); target (graph, position, 4)."""
    return sum(cross_entropy(each[kept], target[..., i][kept]) for i, each in enumerate(logits))


class ArmLearner(ScheduledLearner):
    """A run of an arm in progress."""

    metrics = ("loss", "nodes", "graphs", "nodes twice", "graphs twice")
    shown = MappingProxyType({"graphs": ".3f", "graphs twice": ".3f"})

    def __init__(self, config: ArmConfig, device: torch.device | str = "cpu"):
        self.network = config.network().to(device)
        tensors = dict(self.network.named_parameters())
        optimizer = torch.optim.AdamW(tensors.values(), config.lr, (0.9, 0.98), weight_decay=config.weight_decay, fused=True)
        super().__init__(config, tensors, optimizer, torch.Generator(device).manual_seed(BATCH_SEED + config.seed), device)

    def sample(self) -> Graphs:
        """A fresh batch: graphs of one size, drawn anew for each batch."""
        config, generator = self.config, self.generator
        nodes = int(torch.randint(3, config.nodes + 1, (), generator=generator, device=self.device))
        n, zeros = config.batch_size * config.nodes // nodes, SKEW if self.step < config.skewed else 0.0
        return sample_graphs(n, nodes, generator, config.vocabulary, config.fan_in, config.deepest, zeros)

    def loss(self) -> Tensor:
        """The loss on fresh graphs: see `loss_on`."""
        return self.loss_on(self.sample(), self.generator)

    def loss_on(self, graphs: Graphs, generator: torch.Generator) -> Tensor:
        """The loss of the arm on graphs.

        End to end (feed-forward, recurrent): of the values at the last iteration.  Chain: of all tokens that it writes.
        Continuous: of all factors after every iteration.  Discrete and corrected: of all factors after one iteration
        from the state of a random one, true or with wrong values.  Right starts: after each of two or four from such a state.
        """
        network, tokens = self.network, written(self.config.arm, graphs)
        if self.config.arm in TOKENS_PASS:
            return self._one_iteration(graphs, tokens, generator)
        states, depth = graphs.states(), graphs.depth
        if self.config.arm == "chain":
            chain = chain_of(graphs, states[-1])
            stream = network(network.embed(torch.cat([tokens.factors, chain], 1)))[:, -chain.shape[1] : -1]
            return factors_loss(network.read(stream), chain[:, 1:], torch.ones_like(chain[:, 1:, 0], dtype=torch.bool))
        if self.config.arm == "feed-forward":
            last = at_definitions(network(network.embed(tokens.factors)), tokens)
            return cross_entropy(network.value(last).flatten(0, 1), states[-1].flatten())
        if self.config.arm in RIGHT_STARTS:
            return self._from_right_starts(states, tokens, generator)
        ended = list(islice(iterate(network, network.embed(tokens.factors), discrete=False), len(states) - 1))
        if self.config.arm == "recurrent":
            stream = torch.stack(ended)[depth - 1, torch.arange(len(depth))]
            return cross_entropy(network.value(at_definitions(stream, tokens)).flatten(0, 1), states[-1].flatten())
        targets = (tokens.holding(after, before) for before, after in zip(states, states[1:]))
        losses = [factors_loss(network.read(each), target, tokens.real) for each, target in zip(ended, targets)]
        return torch.stack(losses).mean()

    def _one_iteration(self, graphs: Graphs, tokens: Tokens, generator: torch.Generator) -> Tensor:
        config, random = self.config, {"generator": generator, "device": self.device}
        states, row = graphs.states(), torch.arange(len(tokens.node), device=self.device)
        t = torch.randint(len(states), row.shape, **random)
        held, read = states[t, row], states[(t - 1).clamp(min=0), row]
        if config.arm == "corrected":
            chosen, share = torch.rand(2, len(row), 1, **random)
            share = torch.where(chosen < config.corrupted, WORST * share, 0)
            held, read = (corrupt(each, share, config.modulus, generator) for each in (held, read))
        logits = self.network.read(self.network(self.network.embed(tokens.holding(held, read))))
        return factors_loss(logits, tokens.holding(graphs.step(held), held), tokens.real)

    def _from_right_starts(self, states: Tensor, tokens: Tokens, generator: torch.Generator) -> Tensor:
        row, last = torch.arange(len(tokens.node), device=self.device), len(states) - 1
        t = torch.randint(len(states), row.shape, generator=generator, device=self.device)
        at = [states[(t + n).clamp(0, last), row] for n in range(-1, RIGHT_STARTS[self.config.arm] + 1)]
        start, *targets = (tokens.holding(after, before) for before, after in pairwise(at))
        ended = iterate(self.network, self.network.embed(start), discrete=False)
        losses = [factors_loss(self.network.read(each), target, tokens.real) for target, each in zip(targets, ended)]
        return torch.stack(losses).mean()

    @cached_property
    def _evaluated_on(self) -> dict[str, Graphs]:
        """200 graphs of the most nodes and depth in training, and 200 of twice as many nodes and any depth: always the same."""
        config, generator = self.config, torch.Generator(self.device).manual_seed(MEASURE_SEED + self.config.seed)
        draw = partial(sample_graphs, 200, generator=generator, vocabulary=config.vocabulary, fan_in=config.fan_in)
        twice = min(2 * config.nodes, config.names)
        return {"": draw(config.nodes, deepest=config.deepest), " twice": draw(twice)}

    def evaluate(self) -> dict[str, float]:
        """The loss on graphs of the training size, and the shares of nodes and whole graphs solved at that size and twice it."""
        generator = torch.Generator(self.device).manual_seed(MEASURE_SEED)
        found = {"loss": self.loss_on(self._evaluated_on[""], generator).item()}
        for name, graphs in self._evaluated_on.items():
            right = answers(self.network, self.config.arm, graphs) == graphs.solution
            found |= {f"nodes{name}": right.double().mean().item(), f"graphs{name}": right.all(1).double().mean().item()}
        return found


@torch.no_grad()
def iterations(network: Network, arm: str, tokens: Tokens, latent: Tensor, n: int) -> Tensor:
    """The values (iteration, graph, node) that a looped arm holds after each of n iterations from a latent on."""
    ended = islice(iterate(network, latent, arm in TOKENS_PASS), n)
    return torch.stack([network.value(at_definitions(each, tokens)).argmax(2) for each in ended])


@torch.no_grad()
def answers(network: Network, arm: str, graphs: Graphs) -> Tensor:
    """The values (graph, node) that a network ends with: a looped one after as many iterations as each graph is deep.

    Of a chain, what stands behind the first mention of each node's name; `empty` where there is none.
    """
    tokens = written(arm, graphs)
    if arm not in STACKED:
        held, depth = iterations(network, arm, tokens, network.embed(tokens.factors), int(graphs.depth.max())), graphs.depth
        return held[depth - 1, torch.arange(len(depth), device=depth.device)]
    if arm == "feed-forward":
        return network.value(at_definitions(network(network.embed(tokens.factors)), tokens)).argmax(2)
    start = torch.cat([tokens.factors, chain_of(graphs, graphs.numbers)[:, :1]], 1)
    said = continue_chain(network, start, 2 * graphs.names.shape[1])
    found = said[:, None, 0::2, 1] == graphs.names[..., None]  # (graph, node, place in the chain)
    value = said[:, 1::2, 3].gather(1, found.int().argmax(2))
    return torch.where(found.any(2), value, graphs.vocabulary.empty)


class ArmRun(ModuleRun):
    """A run of an arm: config, metrics, and the network at its checkpoints."""

    shelf, kind = "companions/reasoning", ArmConfig


load_arm = ArmRun.open
