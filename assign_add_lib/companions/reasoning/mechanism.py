"""What chapter 14 measures inside one iteration: what heads read and move, where values come from, who counts, and waves."""

from collections.abc import Collection, Iterator, Sequence, Sized
from itertools import combinations, product

import torch
from torch import Tensor

from ...analysis.fourier import pair_spectrum
from ...engine.tidy import Numbers, Table, for_each, labelled
from . import analysis
from .analysis import before_the_last, renumbered
from .data import FACTORS, FAN_IN, Graphs, write
from .model import Network, run
from .seeds import GRAPHS, NETWORKS, ReasoningSeed, fraction, pieces
from .training import TOKENS_PASS

ORDERS = 20  # random orders of the numbers, as a null
COUNTS = range(1, FAN_IN + 1)  # how many nodes a sum adds
PLACES = ("definition", "operand", "mentions")  # where an older operand's value stands; mentions: in earlier equations
VARIANCES = ("operand 1", "operand 2", "operand 3", "variance")
WAVES = ("one operand", "sum", "best frequency", "best frequency, relabelled")


def groups(members: Sequence) -> Iterator[tuple]:
    """All groups of some members, the smallest first."""
    return (group for size in range(len(members) + 1) for group in combinations(members, size))


def listed(group: Collection[int], of: Collection[int]) -> str:
    """What a group of heads or operands, counted from 0, is called: `none`, `1`, `1, 3`, or `all` of them."""
    return "all" if len(group) == len(of) else ", ".join(str(each + 1) for each in group) or "none"


GROUPS = list(groups(range(FAN_IN)))  # of operands
MOVED = [listed(group, range(FAN_IN)) for group in GROUPS]


def with_three_operands(graphs: Graphs) -> Graphs:
    """Those of the graphs whose last node adds three others."""
    return graphs.rows(graphs.adds[:, -1] == FAN_IN)


def ages(graphs: Graphs) -> Tensor:
    """How many iterations before the last node each of its operands was computed, (graph, FAN_IN); 0 for none."""
    operands = graphs.operands[:, -1]
    return torch.where(operands < 0, 0, graphs.depths[:, -1:] - graphs.depths.gather(1, operands.clamp(min=0)))


def counted(things: Sized) -> range:
    """The numbers of some things, from 1 on."""
    return range(1, len(things) + 1)


def variances(seed: ReasoningSeed, name: str) -> Numbers:
    """How much each head's output at a definition varies with the operands, and which share of it with each."""
    found = analysis.operand_variances(seed.network(name), with_three_operands(seed.graphs(1)))  # (layer, head, operand)
    whole = found.sum(2, keepdim=True)
    return labelled(torch.cat([found / whole, whole], 2), counted(found), counted(found[0]), VARIANCES)


def gains(seed: ReasoningSeed, name: str) -> Numbers:
    """How much of the spread of each factor's embeddings the OV map of each head keeps."""
    network = seed.network(name)
    found = torch.stack([analysis.factor_gains(network, layer) for layer in network.blocks[0].layers])
    return labelled(found, counted(found), counted(found[0]), FACTORS)


def sums_of_groups(graphs: Graphs, others: Graphs) -> Tensor:
    """The sums (graph, group) of the last nodes' operands, where those of a group hold what they hold in the other graphs."""
    own, its = (each.solution.gather(1, graphs.operands[:, -1]) for each in (graphs, others))
    moved = torch.tensor([[i in group for i in range(FAN_IN)] for group in GROUPS])
    return torch.where(moved, its[:, None], own[:, None]).sum(2) % graphs.vocabulary.modulus


def told_apart(graphs: Graphs, generator: torch.Generator) -> tuple[Graphs, Graphs]:
    """Those of the graphs, and others with other numbers, in which every group of moved operands gives another sum."""
    others = renumbered(graphs, generator)
    chosen = (sums_of_groups(graphs, others).sort(1).values.diff(dim=1) > 0).all(1)
    return graphs.rows(chosen), others.rows(chosen)


def two_runs(seed: ReasoningSeed) -> tuple[Graphs, Graphs]:
    """Graphs of the training size whose last node adds three others, and the same with other numbers, told apart."""
    return told_apart(with_three_operands(seed.graphs(1, 8 * GRAPHS)), seed.generator(5_000_000))


def heads_of(network: Network) -> range:
    """The heads of a layer, counted from 0."""
    return range(network.blocks[0].layers[0].heads)


def followed(network: Network, graphs: Graphs, others: Graphs, layer: int, heads: Collection[int], places: Tensor) -> Tensor:
    """Whether the last sum is that of each group, 0 or 1, (graph, group), as heads read at `places` what they do in `others`."""
    (factors, here, _), (theirs, *_) = before_the_last(graphs), before_the_last(others)
    given = analysis.readings(network, theirs, layer, places)
    values = analysis.value_at(network, factors, here, analysis.exchange(layer, heads, places, given))
    return (values[:, None] == sums_of_groups(graphs, others)).double()


def exchanges_at_operands(seed: ReasoningSeed, name: str) -> Numbers:
    """Whose operands the last sum follows, in shares of graphs, as layer 1 reads at an operand what it reads in another run.

    An operand is *fresh* where it was computed one iteration ago, or *older*.
    """
    network, (graphs, others), shares = seed.network(name), two_runs(seed), []
    age, (_, _, places) = ages(graphs), before_the_last(graphs)
    for i in range(FAN_IN):
        moved = followed(network, graphs, others, 0, heads_of(network), places[:, i])
        shares += [moved[chosen].mean(0) for chosen in (age[:, i] == 1, age[:, i] > 1)]
    return labelled(torch.stack(shares), COUNTS, ("fresh", "older"), MOVED)


def exchanges(seed: ReasoningSeed, name: str) -> Numbers:
    """The same at the sum: as all heads of layer 1, or a group of those of layer 2, read there what they read in another run."""
    found, network, (graphs, others) = {}, seed.network(name), two_runs(seed)
    heads, (_, here, _) = heads_of(network), before_the_last(graphs)
    for layer, group in [(0, heads), *product([1], groups(heads))]:
        moved = followed(network, graphs, others, layer, group, here)
        found |= labelled(moved.mean(0), [layer + 1], [len(group)], [listed(group, heads)], MOVED)
    return found


def exchanges_of_graphs(seed: ReasoningSeed, name: str) -> Numbers:
    """The share of sums right as layer 1 reads at the sum what it reads there in the next graph, names and all."""
    network, (graphs, _) = seed.network(name), two_runs(seed)
    factors, here, _ = before_the_last(graphs)
    given = analysis.readings(network, factors, 0, here).roll(1, 0)
    values = analysis.value_at(network, factors, here, analysis.exchange(0, heads_of(network), here, given))
    return {(): fraction(values == graphs.solution[:, -1])}


class OlderOperands:
    """Graphs one iteration before a last node of which an operand is older, with the places at which its value stands.

    An operand is older where it was computed two iterations ago or more; of several the first is taken.
    """

    def __init__(self, seed: ReasoningSeed):
        drawn = seed.graphs(1, 4 * GRAPHS)
        graphs = drawn.rows((ages(drawn) > 1).any(1))
        tokens, row, slot = write(graphs), torch.arange(len(graphs.names)), (ages(graphs) > 1).int().argmax(1)
        self.factors, self.here, stands = before_the_last(graphs)
        its = tokens.node == graphs.operands[row, -1, slot][:, None]  # (graph, position)
        own = torch.zeros_like(its).scatter(1, stands[row, slot, None], True)
        self.places = dict(zip(PLACES, (its & tokens.defines, own, its & ~tokens.defines & ~own)))
        self.mentioned = self.places["mentions"].any(1)
        self.generator, self.modulus = seed.generator(5_000_000), graphs.vocabulary.modulus
        self.shift = torch.randint(1, self.modulus, (len(row), 1), generator=self.generator)
        self.true = graphs.solution[:, -1]

    def sums(self, network: Network, shifts: dict[str, Tensor], chosen: Tensor) -> Tensor:
        """The sums (graph,) of the chosen graphs as the values at some places move by so much, (graph, 1)."""
        changed = self.factors.clone()
        for place, shift in shifts.items():
            changed[..., 3] = torch.where(self.places[place], (self.factors[..., 3] + shift) % self.modulus, changed[..., 3])
        return analysis.value_at(network, changed[chosen], self.here[chosen])


def sources(seed: ReasoningSeed, name: str) -> Numbers:
    """Where an older operand's value is taken from: shares of last nodes whose sum moves as it changes at some of its places.

    Its value stands at its *definition*, at the *operand*, its own token in the last equation, and at its *mentions* in
    earlier equations, where there are any.
    """
    found, network, older = {}, seed.network(name), OlderOperands(seed)
    moved = (older.true + older.shift[:, 0]) % older.modulus
    for words, chosen, places in (("mentioned", older.mentioned, PLACES), ("not mentioned", ~older.mentioned, PLACES[:2])):
        for group in filter(None, groups(places)):
            sums = older.sums(network, dict.fromkeys(group, older.shift), chosen)
            shares = {"moves": fraction(sums == moved[chosen]), "stays": fraction(sums == older.true[chosen])}
            found |= {(words, " and ".join(group), measure): value for measure, value in shares.items()}
    return found


def sources_that_differ(seed: ReasoningSeed, name: str) -> Numbers:
    """Which place the sum follows as all three hold different values: the definition one other, the mentions a second."""
    older = OlderOperands(seed)
    P, chosen = older.modulus, older.mentioned
    second = (older.shift + torch.randint(1, P - 1, older.shift.shape, generator=older.generator) - 1) % (P - 1) + 1
    shifts = {"definition": older.shift, "mentions": second}
    moved = (older.sums(seed.network(name), shifts, chosen) - older.true[chosen]) % P
    return {(place,): fraction(moved == by[chosen, 0]) for place, by in (shifts | {"operand": 0 * second}).items()}


def numbers_of_graphs(seed: ReasoningSeed) -> Numbers:
    """How many graphs the exchanges were made in, and how many have an older operand that is mentioned before, or is not."""
    mentioned = OlderOperands(seed).mentioned
    named = {"exchanges": len(two_runs(seed)[0].names), "mentioned": mentioned.sum(), "not mentioned": (~mentioned).sum()}
    return {(name,): number for name, number in named.items()}


def right_by_count(seed: ReasoningSeed, network: Network, layer: int = 0, silent: Collection[int] = ()) -> Tensor:
    """Shares of last nodes right after the iteration that computes them, by how many they add, with some heads silent."""
    drawn, right = seed.graphs(1, 2 * GRAPHS), []
    for graphs in pieces(drawn):
        factors, here, _ = before_the_last(graphs)
        alter = analysis.silent_heads(layer, silent, write(graphs).real)
        right.append(analysis.value_at(network, factors, here, alter) == graphs.solution[:, -1])
    return torch.stack([torch.cat(right)[drawn.adds[:, -1] == many].double().mean() for many in COUNTS])


def last_nodes(seed: ReasoningSeed, name: str) -> Numbers:
    """Shares of last nodes right after the iteration that computes them, by how many they add."""
    return labelled(right_by_count(seed, seed.network(name)), COUNTS)


def silences(seed: ReasoningSeed, name: str) -> Numbers:
    """The same with a head at its mean over all tokens."""
    network = seed.network(name)
    heads, layers = heads_of(network), range(len(network.blocks[0].layers))
    shares = [right_by_count(seed, network, layer, [head]) for layer, head in product(layers, heads)]
    return labelled(torch.stack(shares), counted(layers), counted(heads), COUNTS)


def counts(seed: ReasoningSeed, name: str) -> Numbers:
    """Shares of last nodes right, by how many they add, as heads read at them what they read at nodes that add so many.

    *Mean*: heads read their mean over such nodes.  *Shift*: to what they read, the difference of the two means is added.
    *Times*: nodes that add one, and say its number times the count that the heads tell.
    """
    found, network, drawn = {}, seed.network(name), seed.graphs(1, 2 * GRAPHS)
    heads, asked = heads_of(network), {many: drawn.rows(drawn.adds[:, -1] == many) for many in COUNTS}
    before = {many: before_the_last(graphs)[:2] for many, graphs in asked.items()}
    for layer in range(2):
        read = {many: analysis.readings(network, factors, layer, here) for many, (factors, here) in before.items()}
        mean = {many: each.mean(0, keepdim=True) for many, each in read.items()}
        for group, many, told in product([*([head] for head in heads), heads], COUNTS, COUNTS):
            (factors, here), true = before[many], asked[many].solution[:, -1]
            for kind, given in (("mean", mean[told]), ("shift", read[many] + mean[told] - mean[many])):
                values = analysis.value_at(network, factors, here, analysis.exchange(layer, group, here, given))
                row = layer + 1, listed(group, heads), kind, told, many
                found[*row, "right"] = fraction(values == true)
                if many == 1:
                    found[*row, "times"] = fraction(values == told * true % drawn.vocabulary.modulus)
    return found


def sums_unread(seed: ReasoningSeed, name: str, layer: int, head: int, many: int, back: Collection[int]) -> dict[str, float]:
    """Shares of last nodes that add so many *right*, and the sum of all but one, as a head reads no token so many places back.

    Layer and head are counted from 1.  *All but one*: the sum of all that the node adds but one of them.
    """
    drawn = seed.graphs(1)
    graphs = drawn.rows(drawn.adds[:, -1] == many)
    (factors, here, _), true = before_the_last(graphs), graphs.solution[:, -1]
    values = analysis.value_at(seed.network(name), factors, here, analysis.unread(layer - 1, head - 1, here, back))
    left = (true[:, None] - graphs.solution.gather(1, graphs.operands[:, -1, :many])) % graphs.vocabulary.modulus
    return {"right": fraction(values == true), "all but one": fraction((values[:, None] == left).any(1))}


class ToldHead:
    """A head, counted as its layer from 1, at last nodes that add so many, shifted to what it reads at those of another count."""

    def __init__(self, seed: ReasoningSeed, name: str, layer: int, head: int):
        self.network, self.layer, self.head, drawn = seed.network(name), layer - 1, head - 1, seed.graphs(1, 2 * GRAPHS)
        self.asked = {many: drawn.rows(drawn.adds[:, -1] == many) for many in COUNTS}
        self.before = {many: before_the_last(graphs)[:2] for many, graphs in self.asked.items()}
        self.read = {many: analysis.readings(self.network, each[0], self.layer, each[1]) for many, each in self.before.items()}

    def shift(self, many: int, told: int) -> Tensor:
        """The mean of what the head reads at nodes that add `told`, less that at nodes that add so many."""
        return (self.read[told].mean(0) - self.read[many].mean(0))[self.head]

    def answers(self, many: int, told: int, shift: Tensor | None = None) -> dict[str, float]:
        """Shares of the answers of nodes that add so many, as the head is shifted: by default to the count `told`.

        *Right*; *terms*: with one of the numbers added told - many times more; *factor*: the sum times told / many.  Of nodes
        alone at which all these differ; *nodes* says how many there are.
        """
        graphs, (factors, here), given = self.asked[many], self.before[many], self.read[many].clone()
        P, true = graphs.vocabulary.modulus, graphs.solution[:, -1]
        terms = (true[:, None] + (told - many) * graphs.solution.gather(1, graphs.operands[:, -1, :many])) % P
        factor = true * told * pow(many, -1, P) % P
        differ = torch.cat([true[:, None], terms, factor[:, None]][: 3 if many > 1 else 2], 1)  # of a copy terms are the factor
        apart = (differ.sort(1).values.diff(dim=1) > 0).all(1)
        given[:, self.head] += self.shift(many, told) if shift is None else shift
        alter = analysis.exchange(self.layer, [self.head], here[apart], given[apart])
        said = analysis.value_at(self.network, factors[apart], here[apart], alter)
        hits = {"right": said == true[apart], "terms": (said[:, None] == terms[apart]).any(1), "factor": said == factor[apart]}
        return {words: fraction(each) for words, each in hits.items()} | {"nodes": len(said)}


def attention_weights(seed: ReasoningSeed, name: str) -> Numbers:
    """What heads attend to, mean weights: of layer 2 at sums, by how many they add; of layer 1 at their older operands.

    *Before*: the token before the equation, a separator.  *Mentions*: the same node in earlier equations.
    """
    found, network, drawn = {}, seed.network(name), seed.graphs(1)
    tokens, (factors, here, places) = write(drawn), before_the_last(drawn)
    adds, position = drawn.adds[:, -1], torch.arange(tokens.node.shape[1])
    offset = here[:, None] - position  # from a key to the sum's own token
    inside = (offset > 1) & (offset <= 2 * adds[:, None])
    at_sum = {
        "operands": inside & (offset % 2 == 0),
        "ADD": inside & (offset % 2 == 1),
        "=": offset == 1,
        "itself": offset == 0,
        "before": offset == 2 * adds[:, None] + 1,
    }
    its, own = tokens.node == drawn.operands[:, -1, :1], position == places[:, :1]
    mentions = its & ~tokens.defines & ~own
    at_operand = {"itself": own, "definition": its & tokens.defines, "mentions": mentions}
    cases = [(1, here, f"sum of {many}", adds == many, at_sum) for many in COUNTS]
    cases.append((0, places[:, 0], "older operand", (ages(drawn)[:, 0] > 1) & mentions.any(1), at_operand))
    sites = run(network, factors)
    for layer, queries, query, chosen, keys in cases:
        pattern = sites[f"blocks.{layer}.attn.hook_pattern"][torch.arange(len(here)), :, queries][chosen]  # (graph, head, key)
        weights = torch.stack([(pattern * there[chosen, None]).sum(2).mean(0) for there in keys.values()])
        found |= labelled(weights.T, [layer + 1], counted(weights.T), [query], keys)
    return found


def orders(seed: ReasoningSeed) -> list[Tensor]:
    """The numbers in their own order, and in random ones."""
    P = seed.run(TOKENS_PASS[0]).config.modulus
    return [torch.arange(P), *(torch.randperm(P, generator=torch.Generator().manual_seed(i)) for i in range(ORDERS))]


def waves(seed: ReasoningSeed, name: str) -> Numbers:
    """How what stands at a sum x + y varies with x and y: shares of its variance, by the Fourier transform over both.

    *One operand*: all that depends on x alone or on y alone.  *Sum*: all that depends on x + y alone.  *Best frequency*: as it
    varies with x, the share at the best frequency of a direction, the median over directions; *relabelled*: the same with the
    numbers in random orders.
    """
    found = {}
    for place, values in analysis.along_the_sum(seed.network(name)).items():
        energy = pair_spectrum(values)
        best, *relabelled = (analysis.best_frequencies(values.mean(1)[order]).median() for order in orders(seed))
        shares = [energy[0].sum() + energy[:, 0].sum(), energy.diagonal()[1:].sum(), best, torch.stack(relabelled).mean()]
        found |= labelled(torch.stack(shares), [place], WAVES)
    return found


def sums_right(network: Network, *out: Tensor, seen: dict[str, Tensor] | None = None) -> float:
    """The share of sums right without some directions (P, k) of the numbers, mean over several such; `seen` as `sums_without`."""
    P, seen = len(out[0]), seen or analysis.along_the_sum(network)
    sums = torch.arange(P)[:, None].add(torch.arange(P)) % P
    return sum(fraction(analysis.sums_without(network, each, seen) == sums) for each in out) / len(out)


def frequencies(seed: ReasoningSeed, name: str) -> Numbers:
    """Of each frequency, its share of the logits as a wave of the sum and of the neurons as one of an operand, and sums right
    without it in the neurons; *relabelled*: along the numbers in random orders.
    """
    found, network, (own, *others) = {}, seed.network(name), orders(seed)
    logits, neurons = (pair_spectrum(analysis.along_the_sum(network)[place]) for place in ("logits", "neurons"))
    for k in range(1, len(own) // 2 + 1):
        found[k, "sum in logits"] = logits[k, k]
        found[k, "operand in neurons"] = neurons[k, 0] + neurons[0, k]
        wave = analysis.waves(len(own), [k])
        found[k, "right without"] = sums_right(network, wave)
        found[k, "right without, relabelled"] = sums_right(network, *(wave[order.argsort()] for order in others))
    return found


def smallest_waves(table: Tensor, kept: int) -> Tensor:
    """The directions (P, k) of all frequencies of one operand in a table (P, P, column) but the largest."""
    half, energy = len(table) // 2, pair_spectrum(table)
    sizes = energy[1 : half + 1, 0] + energy[0, 1 : half + 1]
    return analysis.waves(len(table), (sizes.argsort()[: half - kept] + 1).tolist())


def largest_frequencies(seed: ReasoningSeed, name: str) -> Numbers:
    """Sums right with so many of the largest frequencies in the neurons alone; *as large*: with as much less of another form."""
    found, network = {}, seed.network(name)
    table, generator = analysis.along_the_sum(network)["neurons"], seed.generator(6_000_000)
    for kept in range(1, len(table) // 2):
        out, varies = smallest_waves(table, kept), analysis.along_operands(table)
        found[kept, "right"] = sums_right(network, out)
        null = [analysis.as_large(varies, out, generator) for _ in range(ORDERS)]
        found[kept, "right, as large"] = sums_right(network, *null)
    return found


TABLES = {
    "variances": Table(("arm", "layer", "head", "measure"), for_each(NETWORKS, variances)),
    "gains": Table(("arm", "layer", "head", "factor"), for_each(NETWORKS, gains)),
    "exchanges_at_operands": Table(("arm", "operand", "age", "moved"), for_each(NETWORKS, exchanges_at_operands)),
    "exchanges": Table(("arm", "layer", "size", "heads", "moved"), for_each(NETWORKS, exchanges)),
    "exchanges_of_graphs": Table(("arm",), for_each(NETWORKS, exchanges_of_graphs)),
    "sources": Table(("arm", "mentions", "changed", "measure"), for_each(NETWORKS, sources)),
    "sources_that_differ": Table(("arm", "follows"), for_each(NETWORKS, sources_that_differ)),
    "numbers_of_graphs": Table(("measure",), numbers_of_graphs),
    "last_nodes": Table(("arm", "adds"), for_each(NETWORKS, last_nodes)),
    "silences": Table(("arm", "layer", "head", "adds"), for_each(NETWORKS, silences)),
    "counts": Table(("arm", "layer", "heads", "kind", "told", "adds", "measure"), for_each(NETWORKS, counts)),
    "attention": Table(("arm", "layer", "head", "query", "key"), for_each(NETWORKS, attention_weights)),
    "waves": Table(("arm", "place", "measure"), for_each(NETWORKS, waves)),
    "frequencies": Table(("arm", "frequency", "measure"), for_each(NETWORKS, frequencies)),
    "largest_frequencies": Table(("arm", "kept", "measure"), for_each(NETWORKS, largest_frequencies)),
}
