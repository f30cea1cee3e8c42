"""What the paper says of the arms, and what our pilots led us to expect, as rows of the scoreboard: one subject a seed.

The first levels were set before any shipped run was measured.  Twelve lie just under what pilots of the same configuration
had given; "connection alone helps" had no pilot, and "code as legible, vanilla" asks for what the pilots had not shown.
The rows in `LATER` came when the shipped runs were known, and are counts only.  "vanilla above a blend" was committed before
its measurement with the blend's strength chosen on tasks of the support, where it held; chosen in favour of the blend, as
here, it does not.  Since then, "only with a bottleneck" and "vanilla above a blend" score the vanilla arm on the tasks of the
floors, the probes read a token after the final layer norm, and "code legible beyond a regression, vanilla" compares answers to
equally many questions.  No verdict on a level that was set beforehand changed with this.
"""

from ...engine.scoreboard import Claim, claims_of_chapter
from .data import SUPPORTS
from .seeds import SEEDS, ArmSeed
from .training import SETS

SOURCE = "hypernetwork"
HALF = 4000  # the step at which the control is compared, as in the pilot
ID, OOD = SETS


def _less(one: dict, other: dict, of: str = OOD):
    return lambda seed: seed.score(of, **one) - seed.score(of, **other)


def _scored(of: str, **run):
    return lambda seed: seed.score(of, **run)


def _drop(arm: str):
    """What an arm loses when every combination has modules of its own."""
    return _less({"arm": arm, "step": HALF}, {"arm": arm, "structured": False, "step": HALF}, ID)


KNOWN = tuple(f"seed-{seed}" for seed in SEEDS)  # of a row whose level was set when all values were known
GROUP, PAPER = "Composing in context", "2407.12275"
HYPER, SPLIT, TWELVE = ({"arm": "hypernetwork", "support": support} for support in SUPPORTS)
VANILLA, MLP = {"arm": "vanilla"}, {"arm": "mlp"}


_theirs, _ours = (claims_of_chapter("15_hypernetwork", GROUP, origin, SOURCE) for origin in (PAPER, "chapter 15"))

# fmt: off
CLAIMS: tuple[Claim, ...] = (
    _theirs("hypernetwork fits", "The hypernetwork arm learns the tasks that it trains on.",
        "mean R² in distribution", _scored(ID, **HYPER), 0.99, "Look: every pair"),
    _theirs("vanilla fits", "So does the vanilla transformer.",
        "mean R² in distribution", _scored(ID, **VANILLA), 0.95, "Look: every pair"),
    _theirs("hypernetwork composes", "The hypernetwork arm solves pairs of modules that it never saw together.",
        "mean R² on held-out pairs", _scored(OOD, **HYPER), 0.85, "Count: three runs"),
    _theirs("hypernetwork above vanilla", "The vanilla transformer solves them less well (the paper says that it fails).",
        "hypernetwork less vanilla, mean R² on held-out pairs", _less(HYPER, VANILLA), 0.08, "Count: three runs"),
    _theirs("only with a bottleneck",
        "Composition is possible only with a bottleneck: without one, no better than what knows no modules, or no new mixture.",
        "vanilla less the best floor on the same tasks, mean R² on held-out pairs",
        lambda seed: seed.vanilla() - max(seed.floors.values()),
        0.1, "Count: three runs", at_most=True, quote="possible only when introducing a bottleneck", seen=KNOWN),
    _ours("a bottleneck is enough",
        "A bottleneck between finding the task and doing it is enough to gain, whatever stands behind it.",
        "mlp, a bottleneck before a plain MLP, less vanilla, mean R² on held-out pairs",
        _less(MLP, VANILLA), 0.0, "Count: three runs", seen=KNOWN),
    _ours("vanilla above a blend", "The vanilla transformer does more than to add up the answers of tasks that it has seen.",
        "vanilla less the best sum of seen tasks' answers at any strength, on the same tasks, mean R² on held-out pairs",
        lambda seed: seed.vanilla() - max(seed.blends.values()), 0.1, "Count: three runs", seen=KNOWN),
    _ours("connection helps", "It takes pairs that link all modules.",
        "hypernetwork, connected less disconnected, mean R² on held-out pairs",
        _less(HYPER, SPLIT), 0.12, "Break it again: two islands"),
    _ours("connection alone helps", "It is not only a matter of how many pairs there are.",
        "the same with 12 pairs in both", _less(TWELVE, SPLIT), 0.05, "Break it again: two islands"),
    _ours("the bottleneck alone does not", "A bottleneck with a plain MLP behind it composes less well.",
        "hypernetwork less mlp, mean R² on held-out pairs", _less(HYPER, MLP), 0.15, "Count: three runs"),
    _ours("refined codes compose", "The modules are learned: what errs is the encoder.",
        "hypernetwork with refined codes, mean R² on held-out pairs", ArmSeed.refined, 0.99, "Break it: exchange the parts"),
    _theirs("code legible, hypernetwork", "The code of a held-out pair can be read linearly from the hypernetwork's transformer.",
        "R² of a ridge regression after the last layer and norm",
        lambda seed: seed.legible("hypernetwork")[1], 0.7, "Count: three runs"),
    _theirs("code legible, vanilla", "And from the vanilla transformer, better than from an untrained one.",
        "R² of the same regression, trained less untrained",
        lambda seed: seed.legible("vanilla")[1] - seed.legible("vanilla", trained=False)[1],
        0.1, "Count: three runs", seen=KNOWN),
    _ours("code legible beyond a regression, vanilla",
        "From the vanilla transformer's answers it can be read better than from those of a regression that knows no modules.",
        "R² of a ridge regression from answers to 128 questions, vanilla less kernel regression",
        lambda seed: seed.legible_outside("vanilla")[1] - seed.legible_outside("kernel regression")[1],
        0.0, "Count: three runs", seen=KNOWN),
    _ours("code as legible, vanilla", "From the vanilla transformer it can be read as well as from the hypernetwork's.",
        "hypernetwork less vanilla, the same R²",
        lambda seed: seed.legible("hypernetwork")[1] - seed.legible("vanilla")[1], 0.1, "Count: three runs", at_most=True),
    _ours("structure serves the hypernetwork", "Where combinations share no modules, the hypernetwork arm fits less well.",
        f"loss of R² in distribution at step {HALF}", _drop("hypernetwork"), 0.15, "What eight modules cost"),
    _ours("vanilla needs no structure", "The vanilla transformer hardly loses.",
        f"loss of R² in distribution at step {HALF}", _drop("vanilla"), 0.05, "What eight modules cost", at_most=True),
    _ours("given the code", "Told the true code, a hypernetwork composes perfectly.",
        "mean R² on held-out pairs", _scored(OOD, **HYPER, given_code=True), 0.99, "Break it: exchange the parts"),
    _ours("given the code, an MLP", "Told the true code, an MLP does not.",
        "mean R² on held-out pairs", _scored(OOD, **MLP, given_code=True), 0.95, "Break it: exchange the parts", at_most=True),
)
# fmt: on
LATER = tuple(claim.name for claim in CLAIMS if claim.seen)
