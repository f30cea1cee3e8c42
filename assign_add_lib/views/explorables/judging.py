"""Claims to judge: the rows of the scoreboard about runs, and a level to move."""

import math
import re

from IPython.display import HTML

from ...claims import study
from ...engine.scoreboard import Claim, load_board
from .. import figures
from .element import explorable

GROUPS = {  # the verdicts under each heading
    "held in all": ("held in all", "held once"),
    "held in most": ("held in most",),
    "not held": ("not held", "failed once"),
    "count only": ("count only",),
}
MEASURED = {  # in words what the measures of chapter 11 are called
    "attn_l1_equal_to_operands": "share of problems in which its two largest weights are there",
    "attn_l1_num_to_prev": "share of assigned numbers",
    "attn_l2_equal_to_values": "share of problems in which its two largest weights are there",
    "qk1_num_to_prev_var, share of 11 rows": "share of the positions 1 to 11",
    "qk2_ov1_var_identity, share of 12 rows": "share of the 12 names",
    "ov2_mlp2_accuracy, all 3481 pairs": "share of all 3481 pairs",
}
WORDS = {  # what a reader of the chapters calls what a row names; each is a pattern, as a row has it
    "0-var": "two typed numbers are added",
    "1-var": "one operand is a letter",
    "2-var": "both operands are letters",
    "add-restricted": "held-out pairs",
    "var-restricted": "letters on a side where training never puts them",
    "spikes?": "jump of right answers",
    "jump": "of right answers with a letter on a new side",
    "(?:identity )?block": "match, the table of letters with letters",
    "bare circuit": "addition module alone",
    "routing": "look-up",
    "shortcut": "taking any assigned number",
    "constants?": "typed number",
    "halfway": "between guessing and all right",
    "probe|ridge classifier": "linear reader of a vector, chapter 6",
    "[Ii]nterchange": "transplant from another problem, chapter 9",
    "causal model": "story of chapter 9",
    "named terms": "terms of the scores that our story names",
    "position table|QK1": "score of position for position",
    "MLP": "neurons",
    "OV2": "what layer 2 brings of a number",
    "F5[ab]": "figure of the study",
    "frequenc(?:y|ies)": "waves of chapter 7",
}


def claim_board(
    chosen: str = "no position table",
    alone: bool = False,
    caption: str = "A mark is a run: a dot where the claim holds, a cross where not. Grey: its number was known when the level "
    "was set. Blank: no weights from that time. The word nothing: no second jump, so a cross.",
) -> HTML:
    """The claims about runs as rows of ten marks, by verdict; of the chosen one, or of this `alone`, the values and a level."""
    claims = rows()
    one = next(each for each in claims if each["name"] == chosen)
    sign, own = "at least" if one["least"] else "at most", one["values"]
    told = f"{one['statement']} Asked for: {sign} {one['level']:g}. The runs have {', '.join(map(_told, own))}."
    if alone:
        return explorable("claim-board", figures.level_line(one), told, caption, data=_data([one]), chosen=chosen, alone="yes")
    board = load_board()["verdict"]
    sides = {
        words: {
            name: [each for each in claims if each["study"] == study and board[each["name"]] in verdicts]
            for name, verdicts in GROUPS.items()
        }
        for words, study in (("The study's", True), ("This book's", False))
    }
    counts = (f"{words}: {', '.join(f'{len(rows)} {name}' for name, rows in groups.items())}" for words, groups in sides.items())
    alt = f"Claims as rows of ten marks. {'. '.join(counts)}."
    return explorable("claim-board", figures.claim_rows(sides), alt, caption, data=_data(claims), chosen=chosen)


def rows() -> list[dict]:
    """The claims about runs as the page is handed them: a value is a number, `never`, `nothing`, or None for a run not asked."""
    board, found = load_board(), []
    for claim in study.claims_of("runs", study.CHECKPOINTS):
        asked = study.SEEDS if claim.of == "runs" else ("seed-0", "seed-42")
        values = board.loc[claim.name]
        found.append({
            "name": claim.name,
            "study": not claim.origin.startswith("chapter"),
            "statement": claim.statement,
            "measured": MEASURED.get(claim.measured, claim.measured),
            "words": _explained(claim),
            "level": claim.level,
            "least": not claim.at_most,
            "values": [_handed(float(values[name])) if name in asked else None for name in study.SEEDS],
            "seen": [place for place, name in enumerate(study.SEEDS) if name in claim.seen],
        })  # fmt: skip
    return found


def _explained(claim: Claim) -> str:
    """The words of a row that its reader may not know, each as the row has it, with what it means."""
    text = f"{claim.name}. {claim.statement} {MEASURED.get(claim.measured, claim.measured)}"
    found = {meant: re.search(rf"(?<![\w-])(?:{word})(?![\w-])", text) for word, meant in WORDS.items()}
    return "; ".join(f"{match[0]}: {meant}" for meant, match in found.items() if match)


def _data(claims: list[dict]) -> dict:
    return {"seeds": [name.replace("-", " ") for name in study.SEEDS], "claims": claims}


def _handed(value: float) -> float | str:
    return "nothing" if math.isnan(value) else "never" if math.isinf(value) else value


def _told(value: float | str | None) -> str:
    return f"{value:.3g}" if isinstance(value, float) else value or "no value"
