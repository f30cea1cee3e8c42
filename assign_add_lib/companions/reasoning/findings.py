"""What chapter 14 found inside the arms that pass tokens on, as numbers of one seed: of its measures (measure, row, column)."""

import pandas as pd

from .inside import GROUPS, PLACES, name_of

HEADS = (1, 2, 3, 4)  # of a layer
COUNTS = (1, 2, 3)  # of operands
MOST = 0.9  # heads carry all operands if they move all of them in so many graphs, none if the sum stays in so many


def moved_by(seed, arm: str) -> pd.DataFrame:
    """What moved, a row for each group of heads of layer 2 whose readings were exchanged at the sum: `1 and 3`."""
    moved, start = seed["exchanges"].unstack("column"), f"{arm}, layer 2, at the sum, heads "
    return moved[moved.index.str.startswith(start)].rename(lambda row: row.removeprefix(start))


def followed(seed, arm: str) -> float:
    """The least share of sums that follow an operand as layer 1 reads there what it reads in another run."""
    moved = seed["exchanges"]
    return min(moved[f"{arm}, layer 1, at operand {i}, {age}", f"operand {i}"] for i in COUNTS for age in ("fresh", "older"))


def untouched(seed, arm: str) -> float:
    """The share of sums that stay as layer 1 reads, at the sum, what it reads there in another run."""
    return seed["exchanges", f"{arm}, layer 1, at the sum", "none"]


def collecting(seed, arm: str) -> str:
    """The smallest group of heads of layer 2 that moves all operands in MOST of the graphs, `1 and 3`; of equals the best."""
    moved = moved_by(seed, arm)["all"]
    many = moved[moved >= MOST]
    heads = many.index.map(lambda group: len(group.split(" and ")))
    return many[heads == heads.min()].idxmax()


def of_its_own(seed, arm: str) -> float:
    """The largest share of sums in which one head of layer 2 alone, exchanged at the sum, moves one operand and no other."""
    moved = moved_by(seed, arm)
    return moved.loc[moved.index.str.fullmatch(r"\d"), [name_of(group) for group in GROUPS if len(group) == 1]].max().max()


def shifted(seed, arm: str, layer: int, head: int) -> float:
    """The least share of sums right as a head is shifted from the mean of nodes that add n to that of nodes that add m."""
    counts = seed["counts"]
    pairs = [(n, m) for n in COUNTS for m in COUNTS if n != m]
    return min(counts[f"{arm}, layer {layer}, head {head}, shift to {m}", f"adds {n}"] for n, m in pairs)


def counting(seed, arm: str) -> float:
    """The least share of sums right as a head of layer 2 is shifted that carries no number: exchanged, it leaves the sums."""
    stays = moved_by(seed, arm)["none"]
    return min([shifted(seed, arm, 2, head) for head in HEADS if stays[str(head)] >= MOST], default=1.0)


def moved_at(seed, arm: str) -> pd.Series:
    """The share of sums that move as an older, mentioned operand's value is changed at its definition, operand, mentions."""
    return seed["sources", f"{arm}, mentioned"][list(PLACES)]


def small(seed, arm: str) -> float:
    """The largest variance of a head of layer 1 at the sum, as a share of the largest of layer 2."""
    variance = seed["heads"].unstack("column")["variance"]
    first, second = (variance[variance.index.str.startswith(f"{arm}, layer {layer},")].max() for layer in (1, 2))
    return first / second


def gains(seed, of: str) -> pd.DataFrame:
    """How much of the spread of each factor's embeddings the OV maps keep, by (layer, head), of an arm or `untrained`."""
    found = seed["heads"].unstack("column").filter(regex="^gain: ").rename(columns=lambda name: name.removeprefix("gain: "))
    rows = found.loc[[f"{of}, layer {layer}, head {head}" for layer in (1, 2) for head in HEADS]]
    return rows.set_axis(pd.MultiIndex.from_product([(1, 2), HEADS], names=["layer", "head"]))


def best_frequency(seed, arm: str) -> float:
    """A neuron's share of variance at its best frequency, the median, less the same with the numbers relabelled."""
    waves = seed["waves", f"{arm}, neurons"]
    return waves["best frequency"] - waves["best frequency, relabelled"]


def kept(seed) -> float:
    """The largest change, in eight rounds, of the share of nodes that the discrete arm has right after some were made wrong."""
    rows = seed["recovery"].unstack("column")
    rows = rows[rows.index.str.startswith("discrete")]
    return (rows["8 later"] - rows["0 later"]).abs().max()
