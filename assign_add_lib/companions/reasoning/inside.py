"""What chapter 14 measures inside one iteration: what heads read and move, where values come from, who counts, and waves."""

from itertools import combinations, product

import torch
from torch import Tensor

from ...analysis.fourier import pair_spectrum
from .analysis import (
    along_the_sum,
    before_the_last,
    best_frequencies,
    factor_gains,
    last_values,
    operand_variances,
    readings,
    renumbered,
    silenced,
    sums_without,
    weights_at,
    with_readings,
)
from .data import FACTORS, FAN_IN, Graphs, write
from .seeds import GRAPHS, ReasoningSeed, Table, pieces
from .training import TOKENS_PASS

ORDERS = 20  # random orders of the numbers, as a null
GROUPS = [group for size in range(FAN_IN + 1) for group in combinations(range(FAN_IN), size)]  # of operands
PLACES = ("definition", "operand", "mentions")  # where an older operand's value stands; mentions: in earlier equations


def with_three_operands(graphs: Graphs) -> Graphs:
    """Those of the graphs whose last node adds three others."""
    return graphs.rows(graphs.adds[:, -1] == FAN_IN)


def ages(graphs: Graphs) -> Tensor:
    """How many iterations before the last node each of its operands was computed, (graph, FAN_IN); 0 for none."""
    operands = graphs.operands[:, -1]
    return torch.where(operands < 0, 0, graphs.depths[:, -1:] - graphs.depths.gather(1, operands.clamp(min=0)))


def heads(seed: ReasoningSeed) -> Table:
    """How each head's output at a definition depends on each operand, and what of each factor its OV map moves; untrained too."""
    table, graphs = {}, with_three_operands(seed.graphs(1))
    for name, network in seed.networks():
        variances = operand_variances(network, graphs)
        shares = variances / variances.sum(2, keepdim=True)
        for number, layer in enumerate(network.blocks[0].layers):
            gains = factor_gains(network, layer)
            for head in range(layer.heads):
                row = f"{name}, layer {number + 1}, head {head + 1}"
                table |= {(row, f"operand {i + 1}"): shares[number, head, i].item() for i in range(FAN_IN)}
                table[row, "variance"] = variances[number, head].sum().item()
                table |= {(row, f"gain: {factor}"): gains[head, i].item() for i, factor in enumerate(FACTORS)}
    return table


def name_of(group: tuple[int, ...]) -> str:
    """What a group of operands is called: `none`, `operand 1`, `operands 1 and 3`, `all`."""
    if len(group) in (0, FAN_IN):
        return "all" if group else "none"
    return ("operand " if len(group) == 1 else "operands ") + " and ".join(str(each + 1) for each in group)


def sums_of_groups(graphs: Graphs, others: Graphs) -> Tensor:
    """The sums (graph, group) of the last nodes' operands, where those of a group hold what they hold in the other graphs."""
    own, its = (each.solution.gather(1, graphs.operands[:, -1]) for each in (graphs, others))
    moved = torch.tensor([[i in group for i in range(FAN_IN)] for group in GROUPS])
    return torch.where(moved, its[:, None], own[:, None]).sum(2) % graphs.vocabulary.modulus


def told_apart(graphs: Graphs, generator: torch.Generator) -> tuple[Graphs, Graphs]:
    """Those of the graphs, and others with other numbers, in which every group of moved operands gives another sum."""
    others = renumbered(graphs, generator)
    ordered = sums_of_groups(graphs, others).sort(1).values
    chosen = (ordered.diff(dim=1) > 0).all(1)
    return graphs.rows(chosen), others.rows(chosen)


def two_runs(seed: ReasoningSeed) -> tuple[Graphs, Graphs]:
    """Graphs of the training size whose last node adds three others, and the same with other numbers, told apart."""
    generator = torch.Generator().manual_seed(5_000_000 + seed.seed)
    return told_apart(with_three_operands(seed.graphs(1, 8 * GRAPHS)), generator)


def exchanges(seed: ReasoningSeed) -> Table:
    """Whose operands the last node's sum follows as heads read what they read in a run with other numbers, in shares of graphs.

    Heads of layer 1 at an operand, which is fresh where it was computed one iteration ago, or at the sum; of layer 2 at the sum.
    *Of another graph*: layer 1 at the sum reads what it reads there in the next graph, names and all.
    """
    graphs, others = two_runs(seed)
    _, here, places = before_the_last(graphs)
    sums, waited = sums_of_groups(graphs, others), ages(graphs)
    table, every = {("graphs", "number"): float(len(here))}, torch.ones(len(here), dtype=torch.bool)
    for name, network in seed.networks():
        n = network.blocks[0].layers[0].heads
        cases = [
            (f"layer 1, at operand {i + 1}, {age}", 0, range(n), places[:, i], chosen)
            for i in range(FAN_IN)
            for age, chosen in (("fresh", waited[:, i] == 1), ("older", waited[:, i] > 1))
        ]
        cases += [("layer 1, at the sum", 0, range(n), here, every)]
        for size in range(n + 1):
            for group in combinations(range(n), size):
                called = " and ".join(str(head + 1) for head in group) or "none"
                cases.append((f"layer 2, at the sum, heads {called}", 1, group, here, every))
        for words, layer, group, at, chosen in cases:
            given = readings(network, others, layer, at)
            followed = with_readings(network, graphs, layer, list(group), at, given)[chosen, None] == sums[chosen]
            shares = followed.double().mean(0).tolist()
            table |= {(f"{name}, {words}", name_of(each)): share for each, share in zip(GROUPS, shares)}
        given = readings(network, graphs, 0, here).roll(1, 0)
        kept = with_readings(network, graphs, 0, range(n), here, given) == sums[:, 0]
        table[f"{name}, layer 1, at the sum, of another graph", "none"] = kept.double().mean().item()
    return table


@torch.no_grad()
def sources(seed: ReasoningSeed) -> Table:
    """Where an older operand's value is taken from: shares of last nodes whose sum moves as it changes at some of its places.

    An operand is older where it was computed two iterations ago or more.  Its value stands at its *definition*, at the
    *operand*, its own token in the last equation, and at its *mentions* in earlier equations, where there are any.  *Stays*: the
    sum is as it was.  *All three differ*: definition and mentions get two other values.
    """
    generator, table = torch.Generator().manual_seed(5_000_000 + seed.seed), {}
    graphs = seed.graphs(1, 4 * GRAPHS)
    older = ages(graphs) > 1
    graphs, older = graphs.rows(older.any(1)), older[older.any(1)]
    (factors, here, stands), tokens, row = before_the_last(graphs), write(graphs), torch.arange(len(older))
    slot, P = older.int().argmax(1), graphs.vocabulary.modulus  # the first of these operands
    its = tokens.node == graphs.operands[row, -1, slot][:, None]  # (graph, position)
    own = torch.zeros_like(its).scatter(1, stands[row, slot, None], True)
    at = {"definition": its & tokens.defines, "operand": own, "mentions": its & ~tokens.defines & ~own}
    shift = torch.randint(1, P, (len(row), 1), generator=generator)
    moved, mentioned = (graphs.solution[:, -1] + shift[:, 0]) % P, at["mentions"].any(1)
    for words, chosen, places in (("mentioned", mentioned, PLACES), ("not mentioned", ~mentioned, PLACES[:2])):
        table["graphs", words] = float(chosen.sum())
        groups = [group for size in range(1, len(places) + 1) for group in combinations(places, size)]
        for (name, network), group in product(seed.networks(), groups):
            there = torch.stack([at[place] for place in group]).any(0)
            changed = factors.clone()
            changed[..., 3] = torch.where(there, (factors[..., 3] + shift) % P, factors[..., 3])
            found, column = last_values(network, changed[chosen], here[chosen]), " and ".join(group)
            table[f"{name}, {words}", column] = (found == moved[chosen]).double().mean().item()
            table[f"{name}, {words}, stays", column] = (found == graphs.solution[chosen, -1]).double().mean().item()
    apart = (shift + torch.randint(1, P - 1, shift.shape, generator=generator) - 1) % (P - 1) + 1  # another shift
    changed = factors.clone()
    for place, by in (("definition", shift), ("mentions", apart)):
        changed[..., 3] = torch.where(at[place], (factors[..., 3] + by) % P, changed[..., 3])
    for name, network in seed.networks():
        found = (last_values(network, changed[mentioned], here[mentioned]) - graphs.solution[mentioned, -1]) % P
        for place, by in (("definition", shift), ("mentions", apart), ("operand", 0 * shift)):
            table[f"{name}, all three differ", place] = (found == by[mentioned, 0]).double().mean().item()
    return table


def silences(seed: ReasoningSeed) -> Table:
    """Shares of last nodes right after the iteration that computes them, by how many they add, with heads at their mean."""
    drawn, table = seed.graphs(1, 2 * GRAPHS), {}
    adds = drawn.adds[:, -1]
    for name, network in seed.networks():
        cases = {"none": (0, [])}
        for number, layer in enumerate(network.blocks[0].layers):
            cases |= {f"layer {number + 1}, head {head + 1}": (number, [head]) for head in range(layer.heads)}
        for words, (layer, group) in cases.items():
            right = torch.cat([silenced(network, each, layer, group) == each.solution[:, -1] for each in pieces(drawn)])
            for many in range(1, FAN_IN + 1):
                table[f"{name}, {words}", f"adds {many}"] = right[adds == many].double().mean().item()
    return table


def counts(seed: ReasoningSeed) -> Table:
    """Shares of last nodes right, by how many they add, as heads read at them what they read at nodes that add so many.

    *Mean*: heads read their mean over such nodes.  *Shift*: to what they read, the difference of the two means is added.
    *Times that many*: nodes that add one, and say its number times the count that the heads tell.
    """
    drawn, table = seed.graphs(1, 2 * GRAPHS), {}
    numbers = range(1, FAN_IN + 1)
    groups = {many: drawn.rows(drawn.adds[:, -1] == many) for many in numbers}
    here = {many: before_the_last(graphs)[1] for many, graphs in groups.items()}
    for name, network in seed.networks():
        for number, layer in enumerate(network.blocks[0].layers):
            own = {many: readings(network, groups[many], number, here[many]) for many in numbers}
            means = {many: each.mean(0, keepdim=True) for many, each in own.items()}
            which = {f"head {head + 1}": [head] for head in range(layer.heads)} | {"all heads": range(layer.heads)}
            for (words, heads), many, other in product(which.items(), numbers, numbers):
                for kind, given in (("mean", means[other]), ("shift", own[many] + means[other] - means[many])):
                    found = with_readings(network, groups[many], number, heads, here[many], given)
                    share = (found == groups[many].solution[:, -1]).double().mean().item()
                    row = f"{name}, layer {number + 1}, {words}, {kind} to {other}"
                    table[row, f"adds {many}"] = share
                    if many == 1:
                        times = other * groups[many].solution[:, -1] % drawn.vocabulary.modulus
                        table[row, "adds 1, times that many"] = (found == times).double().mean().item()
    return table


def attended(seed: ReasoningSeed) -> Table:
    """What heads attend to, mean weights: of layer 2 at last nodes, by how many they add; of layer 1 at their older operands.

    *Before*: the token before the equation, a separator.  *Mentions*: the same node in earlier equations.
    """
    drawn, table = seed.graphs(1), {}
    tokens, (_, here, places) = write(drawn), before_the_last(drawn)
    adds, position = drawn.adds[:, -1], torch.arange(tokens.node.shape[1])
    offset = here[:, None] - position  # from a key to the sum's own token
    inside = (offset >= 0) & (offset <= 2 * adds[:, None])
    at = {
        "operands": inside & (offset > 1) & (offset % 2 == 0),
        "ADD": inside & (offset > 1) & (offset % 2 == 1),
        "=": offset == 1,
        "itself": offset == 0,
        "before": offset == 2 * adds[:, None] + 1,
    }
    first, older = drawn.operands[:, -1, 0], ages(drawn)[:, 0] > 1
    its, own = tokens.node == first[:, None], position == places[:, :1]
    mentions = its & ~tokens.defines & ~own
    beside = {"itself": own, "definition": its & tokens.defines, "mentions": mentions}
    for name, network in seed.networks():
        cases = [(1, here, f"adds {many}", adds == many, at) for many in range(1, FAN_IN + 1)]
        cases.append((0, places[:, 0], "older and mentioned", older & mentions.any(1), beside))
        for layer, queries, words, chosen, keys in cases:
            weights = weights_at(network, drawn, layer, queries)[chosen]  # (graph, head, position)
            for key, there in keys.items():
                for head, share in enumerate((weights * there[chosen, None]).sum(2).mean(0).tolist(), start=1):
                    table[f"{name}, layer {layer + 1}, head {head}, {words}", key] = share
    return table


def _by_size(values: Tensor, order: Tensor) -> list[int]:
    """The frequencies of one operand in values (P, P, direction), along the numbers in this order, the smallest first."""
    half, energy = len(order) // 2, pair_spectrum(values[order][:, order])
    return ((energy[1 : half + 1, 0] + energy[0, 1 : half + 1]).argsort() + 1).tolist()


def waves(seed: ReasoningSeed) -> Table:
    """How what stands at a sum x + y varies with x and y: shares of its variance, by the Fourier transform over both.

    *One operand*: all that depends on x alone or on y alone.  *Sum*: all that depends on x + y alone; of the logits also
    frequency by frequency.  *Best frequency*: as it varies with x, the share at the best frequency of a direction, the
    median over directions; the same with the numbers in random orders.  *Right*: sums, without a frequency in the neurons, or
    with the largest alone; *relabelled*: frequencies along the numbers in random orders, of which the largest are others.
    """
    table, P = {}, seed.run(TOKENS_PASS[0]).config.modulus
    orders = [torch.arange(P), *(torch.randperm(P, generator=torch.Generator().manual_seed(i)) for i in range(ORDERS))]
    sums = torch.arange(P)[:, None].add(torch.arange(P)) % P
    for name, network in seed.networks():
        energies, values_of = {}, along_the_sum(network)
        for place, values in values_of.items():
            energy, along = pair_spectrum(values), values.mean(1)
            energies[place], row = energy, f"{name}, {place}"
            table[row, "one operand"] = (energy[0].sum() + energy[:, 0].sum()).item()
            table[row, "sum"] = energy.diagonal()[1:].sum().item()
            table[row, "best frequency"] = best_frequencies(along).median().item()
            relabelled = [best_frequencies(along[order]).median() for order in orders[1:]]
            table[row, "best frequency, relabelled"] = torch.stack(relabelled).mean().item()
        smallest = [_by_size(values_of["neurons"], order) for order in orders]
        for kept in range(1, P // 2):
            right = [(sums_without(network, each[: P // 2 - kept], order) == sums).double().mean().item()
                     for each, order in zip(smallest, orders)]  # fmt: skip
            row = f"{name}, neurons with {kept} frequencies"
            table |= {(row, "right"): right[0], (row, "right, relabelled"): sum(right[1:]) / ORDERS}
        for k in range(1, P // 2 + 1):
            table[f"{name}, logits", f"sum at {k}"] = energies["logits"][k, k].item()
            table[f"{name}, neurons", f"operand at {k}"] = (energies["neurons"][k, 0] + energies["neurons"][0, k]).item()
            for column, tried in (("right", orders[:1]), ("right, relabelled", orders[1:])):
                right = torch.stack([sums_without(network, [k], order) == sums for order in tried])
                table[f"{name}, neurons without {k}", column] = right.double().mean().item()
    return table


MEASURES = {
    "heads": heads,
    "exchanges": exchanges,
    "sources": sources,
    "silences": silences,
    "counts": counts,
    "attention": attended,
    "waves": waves,
}
