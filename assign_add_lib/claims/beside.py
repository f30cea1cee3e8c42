"""Beside the study: small tables of the shipped scoreboard, for the foot of a chapter."""

import html
import re

import pandas as pd

from ..engine.scoreboard import least_share, load_board


def digits(value: float) -> str:
    """A number as short text: three digits below 100, whole above, and `never` for an infinite number of steps."""
    if value in (float("inf"), float("-inf")):
        return "never" if value > 0 else "-∞"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def spread(values: pd.Series) -> str:
    """Median and range of some values as text: `0.97 (0.96 to 0.98)`; one value alone as it is, and none as nothing."""
    known = values.dropna()
    if known.nunique() < 2:
        return digits(known.iloc[0]) if len(known) else ""
    return f"{digits(known.median())} ({digits(known.min())} to {digits(known.max())})"


def address(where: str, here: str = "") -> str:
    """The link to a heading, `05_attention: Counting` as `05_attention.html#counting`; within the page `here`, `#counting`."""
    page, _, heading = where.partition(": ")
    anchor = "#" + re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")
    return anchor if page == here else f"{page}.html{anchor}"


def beside_the_study(chapter: str, table: pd.DataFrame | None = None) -> pd.DataFrame:
    """The rows of the shipped board that a chapter measures, by the stem of its file, such as `05_attention`.

    By claim: what is measured, the study's number, ours as median and range over all seeds, in how many of the seeds that are
    evidence the claim held, the verdict, and the heading under which the chapter measures it.
    """
    table = load_board() if table is None else table
    rows = table[table["where"].str.startswith(f"{chapter}: ")]
    seeds = [name for name in table.columns if name.startswith("seed-")]
    return pd.DataFrame({
        "measured": rows["measured"],
        "the study": [_theirs(row) for _, row in rows.iterrows()],
        "ours": [spread(own) for _, own in rows[seeds].iterrows()],
        "held": [_of(row) for _, row in rows.iterrows()],
        "verdict": rows["verdict"],
        "where": rows["where"],
    }, index=rows.index)  # fmt: skip


def _of(row: pd.Series) -> str:
    """In how many of the runs that are evidence a row held, and of three or fewer the share of all seeds that this allows."""
    few = row["runs"] <= 3 and row["verdict"] != "count only"
    told = f", so in at least {least_share(row['held'], row['runs']):.2f} of all" if few and row["held"] else ""
    return f"{row['held']} of {row['runs']}{told}"


def _theirs(row: pd.Series) -> str:
    """What the source of a row of the board says: its number, else its words, else that the claim is the book's own."""
    if row["theirs"] or row["quote"]:
        return row["theirs"] or f"“{row['quote']}”"
    return f"a claim of {row['origin']}" if row["origin"].startswith("chapter") else "no number given"


def linked(table: pd.DataFrame, here: str = ""):
    """A table of `beside_the_study` for display, its `where` as links; `here` is the stem of the page on which it stands."""
    from IPython.display import HTML

    text = table.map(lambda each: html.escape(str(each)))
    names = [where.partition(": ")[2] for where in table["where"]]
    text["where"] = [
        f'<a href="{html.escape(address(where, here))}">{html.escape(name)}</a>' for where, name in zip(table["where"], names)
    ]
    return HTML(text.rename_axis(None).to_html(escape=False))
