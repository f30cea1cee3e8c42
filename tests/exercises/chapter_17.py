"""Answers to the exercises of chapter 17: mistakes, with words of what their check must say."""

from assign_add_lib.laboratory import read_plan

NAMES = {"report": lambda *_: None}

PLAIN = """
[[prediction]]
name = "{name}"
statement = "."
because = "."
rival = "."
control = "."
chance = "."
measure = "right"
of = "1-var train"
at_most = {most}
only_if = "{condition}"
"""
EASY = PLAIN.format(name="first", most=0.9, condition="as good among nine") + PLAIN.format(
    name="easy", most=0.8, condition="first"
)
# its condition is borne out by an untrained network as well

MISTAKES = [
    ("bound", ("n - places, 0", "n - places, 1"), "counting gives"),
    ("seeds_needed", (" > most", " >= most + 0.5"), "with"),
    ("seeds_needed", ("range(2 * n // 3, n + 1)", "range(2 * n // 3 + 1, n + 1)"), "seeds, not"),  # more than two thirds
    ("own_world", ("at_least = 0.85", "at_least = 0.02"), "nearly bears out"),
    ("own_world", ("at_least = 0.85", "at_least = 0.36"), "without any look-up"),
    ("own_world", ("at_least = 0.85", "at_least = 0.46"), "without any look-up"),  # above the blind pick, not the informed
    ("own_world", ('"right"', '"right_when_full"', "0.85", "0.18"), "without any look-up"),
    ("own_world", ('"right"', '"above_shortcut"', "0.85", "0.1"), "without any look-up"),
    ("own_world", ("at_least = 0.85", "at_least = 0.85" + EASY), "bears out 'easy'"),
    # the case of the text alone
    ("bound", (" + (1 - 1 / others) / N", ""), "the right sum modulo N"),
    ("bound", ("(1 / others + (1 - 1 / others) / N)", "(1 / n + (1 - 1 / n) / N)"), "whose place is bound"),
    ("bound", lambda places, slots, N: places / slots, "0 of up to 6 places"),
    ("seeds_needed", ("2 * n // 3", "n"), "that asks that all of them hold"),
    ("seeds_needed", ("n = 3", "n = 1", "2 * n // 3", "-(-2 * n // 3)", "n += 3", "n += 1"), "it must be a multiple of 3"),
    ("own_world", lambda: read_plan("study").text, "does not differ"),
    ("own_world", lambda: "title = 1", "the file cannot be read"),
    ("own_world", ("[[prediction]]", '""" or """'), "predicts nothing"),  # what comes before it alone
    ("own_world", ("at_least", "at_most"), "choose another level"),
    ("own_world", ("steps = 12000", "steps = 12000\nd_model = 512"), "longer than ten minutes"),
]
