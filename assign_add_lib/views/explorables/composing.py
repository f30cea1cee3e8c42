"""Modules that training mixes, and pairs that it never does: how right trained networks are on each."""

from IPython.display import HTML

from ...companions.hypernetwork import tables
from ...companions.hypernetwork.data import SUPPORTS
from .. import figures
from .element import explorable

TRAININGS = {"connected": "Sixteen linked pairs", "disconnected": "Two islands"}  # what a reader presses, by support
KINDS = {"hypernetwork": "hypernetwork", "vanilla": "vanilla", "mlp": "MLP"}  # in words, by arm


def module_pairs(
    first: str = "1 5",
    caption: str = "A cell is a pair of modules: filled if training mixes it, dashed with ? if never. Press one: three networks "
    "of each kind, by their score. On the islands we trained no MLP.",
) -> HTML:
    """Every pair of modules as a cell, by training; of the one that the reader presses, what networks of each arm score."""
    trainings, scores = scores_by_pair()
    name = next(iter(trainings))
    shown = {kind: pairs[first] for kind, pairs in scores[name].items()}
    said = "; ".join(f"{kind} {', '.join(f'{share:.0%}' for share in shares)}" for kind, shares in shown.items())
    alt = (
        "All pairs of eight modules as cells, filled where training mixes them; beside it, the scores of three networks of each "
        f"kind on the pair {first.replace(' ', ' with ')}: {said}."
    )
    still = figures.module_pairs([tuple(map(int, pair.split())) for pair in trainings[name]], shown)
    data = {"trainings": trainings, "scores": scores, "first": first}
    return explorable("module-pairs", still, alt, caption, data=data)


def scores_by_pair() -> tuple[dict[str, list[str]], dict[str, dict[str, dict[str, list[float]]]]]:
    """The pairs that each training mixes, and the scores of its networks by kind and pair, as the shipped table has them."""
    table = tables.load_tables()["pairs"].round(2)
    trainings = {name: [f"{c[0]} {c[1]}" for c in SUPPORTS[support] if len(c) == 2] for support, name in TRAININGS.items()}
    scores = {
        name: {KINDS[arm]: rows_of(table.loc[support, arm]) for arm in tables.ARMS_OF[support]}
        for support, name in TRAININGS.items()
    }
    return trainings, scores


def rows_of(table) -> dict[str, list[float]]:
    """The rows of a table as lists."""
    return {pair: row.tolist() for pair, row in table.iterrows()}
