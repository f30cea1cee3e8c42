"""Write the table of the introduction, the study's numbers beside ours, from the shipped scoreboard."""

from pathlib import Path

from assign_add_lib.claims.beside import beside_the_study
from assign_add_lib.engine.scoreboard import load_board

INTRO = Path(__file__).parent.parent / "intro.md"
HEADING = "## The study's numbers and ours"
ROWS = (
    "0-var solved first", "two spikes", "one first spike", "routing plateaus", "constants only", "= finds the numbers",
    "identity block", "F5a, same pair", "F5b, same pair", "bare circuit", "probe before the MLP", "probe after the MLP",
    "best neuron",
)  # fmt: skip


def title(page: str) -> str:
    """A chapter's number and title, from its file."""
    text = (INTRO.parent / "chapters" / f"{page}.md").read_text("utf-8")
    return f"{int(page[:2])} {text.partition(chr(10) + '# ')[2].partition(chr(10))[0]}"


def table() -> list[str]:
    """The lines of the table."""
    board, lines = load_board(), ["| claim | the study | ours, ten runs | measured in |", "|---|---|---|---|"]
    for name in ROWS:
        page = board.loc[name, "where"].partition(": ")[0]
        row = beside_the_study(page, board).loc[name]
        link = f"[{title(page)}](chapters/{page}.ipynb)"
        lines.append(f"| **{name}**: {row['measured']} | {row['the study']} | {row['ours']} | {link} |")
    return lines


if __name__ == "__main__":
    before, heading, after = INTRO.read_text("utf-8").partition(HEADING)
    words, _, rest = after.partition("\n| claim |")
    rest = rest[rest.index("\n\n") :]
    INTRO.write_text(before + heading + words + "\n" + "\n".join(table()) + rest, "utf-8")
