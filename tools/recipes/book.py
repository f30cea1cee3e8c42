"""The table of recipes: every shipped file, and the pictures, tables and speeds that the book shows."""

from collections.abc import Sequence
from functools import partial

from .attacked import table as attacked
from .beginnings import beginning, small_adders
from .branches import alone, aside, handed, imposed, of_let_go, of_other_seeds, of_seed_42, of_ten_seeds, of_worlds, release
from .certified import boxed, by_hand, certified, ladder, one_sum, sharp
from .controls import table as controls
from .hardened import hardened
from .looked_up import look_ups
from .measured import (
    causal,
    companion,
    few_examples,
    forty,
    histories,
    history_again,
    laboratory,
    numbers_known,
    plain_rows,
    told,
    tuned,
    widths,
)
from .pictures import pictures
from .published import SOURCE, published
from .recipe import Recipe
from .repaired import table as repaired
from .rounds import last_rounds, told_heads
from .runs import metrics, seeds, ship, sweeps
from .theory import theorem
from .uneven import doubles, module, readings

SHARES = "0.06,0.1,0.15,0.19,0.22,0.25,0.28,0.31,0.34,0.37"
MORE_SHARES = "0.4,0.46,0.5,0.55,0.62,0.78,0.85,0.92,0.99"
RS = "0.01,0.02,0.03,0.045,0.06,0.08,0.1,0.13,0.17,0.22,0.3,0.37,0.45,0.52,0.6,0.7,0.8,0.9,0.99"
SPARSE = "--log-every 1000 --checkpoint-every 30000"
PICTURES = ("problem", "attention", "three-phases", "card")
STEPS_42 = [0, 400, 600, 1000, 1500, 1900, *range(2100, 2501, 100), 2700, 3000, 5000, 8000, 8900, 9100, 9300, 9900]
STEPS_42 += [10000, 10500, 11000, 11300, *range(11500, 11701, 100), 11900, 15000, 20000, 30000]
STEPS_0 = [0, 2000, 3800, *range(4000, 4201, 100), 4500, 6000, 8800, 8900, 30000]
ARMS_TOLD = "hypernetwork,mlp --given-code true"
GRID_OF_ARMS = [  # with 8000 steps, the better decay of those with 3000
    f"sweep hypernetwork runs/hypernetwork-grid-{steps} {arms} --support connected-12 --weight-decay {decay} --steps {steps}"
    for arms, steps, decay in (
        (f"--arm {ARMS_TOLD}", 3000, "0,0.3,1"),
        ("--arm hypernetwork,vanilla,mlp", 3000, "0,0.3,1"),
        (f"--arm {ARMS_TOLD}", 8000, "0,1"),
        ("--arm hypernetwork", 8000, "0,0.3"),
        ("--arm vanilla,mlp", 8000, "0,1"),
    )
]
GRID_OF_ARMS += [  # what each chose
    f"sweep hypernetwork runs/hypernetwork-grid-final-{steps} {arm} --weight-decay {decay} --steps {steps} --seed 0-2"
    for arm, steps, decay in (
        (f"--arm {ARMS_TOLD}", 8000, 1),
        ("--arm hypernetwork", 8000, 0),
        ("--arm vanilla", 3000, 1),
        ("--arm mlp", 8000, 1),
    )
]
MOST_WORLDS = "one-layer half-width no-two-variables modulus-60 modulus-29 multiplication three-operands chain-two-layers"
MOST_WORLDS = [*MOST_WORLDS.split(), "chain-three-layers"]  # of which seed 0 is shipped with its weights
WITH_WEIGHTS = ["subtraction-[012]", "more-variables-[012]", "subtraction-two-heads-[02]", *(f"{each}-0" for each in MOST_WORLDS)]
BARE_WORLDS = ["study", "two-heads", "twice-width", "no-decay"]
BARE = ["subtraction-two-heads-1", *(f"{each}-[012]" for each in BARE_WORLDS), *(f"{each}-[12]" for each in MOST_WORLDS)]
WORLDS = " ".join([*BARE_WORLDS, *MOST_WORLDS, "subtraction", "subtraction-two-heads", "more-variables"])
ALONE = {  # single runs whose metrics are shipped without weights, and the minutes that they take
    "continuous-long": (90, "reasoning", "--arm continuous --seed 0 --steps 16000"),
    "vanilla-wide": (5, "hypernetwork", "--arm vanilla --seed 0 --d-model 96"),
    "mlp-unstructured": (5, "hypernetwork", "--arm mlp --structured false --seed 0"),
}
SCORED = "runs seeds sweeps causes histories adder-alone reasoning hypernetwork rules".split()  # what claims are decided on


def once_kept(steps: int) -> str:
    """The settings of a run of so many steps that keeps its last weights alone."""
    return f"--steps {steps} --checkpoint-every {steps}"


def training(name: str, minutes: float, *lines: str, note: str = "") -> Recipe:
    """A recipe that trains runs, or goes on where it stopped; what it makes are the folders that its lines name."""
    folders = dict.fromkeys(word for line in lines for word in line.split() if word.startswith("runs/"))
    return Recipe(name, [f"{folder}/*" for folder in folders], [], minutes, lines, note)


def shipping(name: str, training: str, makes: str, *calls: Sequence) -> Recipe:
    """A recipe that puts the runs of a training on their shelf; each call has system, runs, and steps if not the last."""
    return Recipe(name, [makes], [training], 1, [partial(ship, *each) for each in calls])


TABLE = [
    training(
        "train-study",
        86,
        "sweep runs/study --seed 0-8,42",
        note="equal bits need the AVX-512 code of PyTorch's library for Intel processors",
    ),
    training("train-again", 10, "sweep runs/again --seed 42", note="the same on an AMD processor, which rounds otherwise"),
    training(
        "train-grids",
        1270,
        f"sweep runs/train_fraction --train-fraction {SHARES} --seed 0,1,42 {SPARSE}",
        f"sweep runs/more-shares --train-fraction {MORE_SHARES} --seed 0,1,42 {SPARSE}",
        f"sweep runs/share-ten --train-fraction 0.22,0.28 --seed 0-8 {SPARSE}",
        f"sweep runs/r --r {RS} --seed 0,1,42 {SPARSE}",
        f"sweep runs/r-ten --r 0.1,0.17 --seed 0-8 {SPARSE}",
        f"sweep runs/near-one --r 0.999,1.001 --seed 0 {SPARSE}",
        f"sweep runs/near-tenth --r 0.099,0.101 --seed 1 {SPARSE}",
        note="on a cluster: the same lines with --backend dask --scheduler ADDRESS",
    ),
    training(
        "train-reasoning",
        791,
        "sweep reasoning runs/reasoning --book",
        f"sweep reasoning runs/right-starts --arm right-starts,right-starts-four --seed 0-2 {once_kept(16_000)}",
    ),
    training("train-hypernetwork", 90, "sweep hypernetwork runs/hypernetwork --book"),
    training("train-hypernetwork-grid", 110, *GRID_OF_ARMS),
    training(
        "train-rules",
        820,
        "sweep rules runs/rules --book",
        "sweep rules runs/rules --plan reversed,one-line",
        "sweep rules runs/rules --tasks 8,16,24,32",
        "sweep rules runs/rules --way random",
        "sweep rules runs/rules --p 11 --tasks 96 --d-model 128",
    ),
    training(
        "train-plain-rows",
        540,
        "sweep rules runs/plain-rows --plan plain --tasks 8,16,24,32,40",
        "sweep rules runs/plain-rows --plan plain-cosine --weight-decay 0.1,0.3,1,2 --warm-up 550",
        f"sweep rules runs/plain-rows-long --plan plain-cosine --weight-decay 2 --warm-up 2200 {once_kept(44_000)}",
        note="all but the decay of 2 in 11 000 steps were trained on an H200, each in 3 to 10 minutes: --device cuda",
    ),
    training(
        "train-laboratory",
        472,
        f"world {WORLDS} --folder runs/laboratory",
        note="commit a world's file before it is trained; one world alone: python -m assign_add_lib world NAME",
    ),
    *(training(f"train-{name}", each, f"sweep {system} runs/{name} {how}") for name, (each, system, how) in ALONE.items()),
    # runs
    shipping(
        "runs",
        "train-study",
        "data/runs/*",
        ("study", ["study/seed-42"], STEPS_42),
        ("study", ["study/seed-0"], STEPS_0),
        ("study", ["study/seed-[1-8]"]),
    ),
    *(
        shipping(f"{name}-runs", f"train-{name}", f"data/companions/{name}/*", (name, [f"{name}/*-[012]", *more]))
        for name, more in (("reasoning", ["right-starts/*"]), ("hypernetwork", []))
    ),
    shipping(
        "rules-runs",
        "train-rules",
        "data/companions/rules/*",
        ("rules", ["rules/lines-*-tasks-40-[012]", "rules/plain-*", "rules/*-p-11-*"]),
        ("rules", ["rules/reversed-*", "rules/one-line-*", "rules/*-p-7-tasks-[!4]*-0", "rules/*-random-0"], []),
    ),
    shipping(
        "laboratory-runs",
        "train-laboratory",
        "data/laboratory/*",
        ("laboratory", [f"laboratory/{each}" for each in WITH_WEIGHTS]),
        ("laboratory", [f"laboratory/{each}" for each in BARE], []),
    ),
    *(Recipe(name, [f"data/companions/{name}-0.csv"], [f"train-{name}"], 0, [partial(metrics, name)]) for name in ALONE),
    Recipe("seeds", ["data/sweeps/seed.csv"], ["train-study"], 0, [seeds]),
    Recipe("sweeps", [f"data/sweeps/{each}.csv" for each in ("train_fraction", "r", "beside")], ["train-grids"], 0, [sweeps]),
    # what is measured
    Recipe("told-heads", ["data/companions/told-heads.csv"], ["reasoning"], 1, [told_heads]),
    Recipe("last-rounds", ["data/companions/last-rounds.csv"], ["reasoning-runs"], 1, [last_rounds]),
    Recipe("small-adders", ["data/history/small-adders.csv"], [], 1, [small_adders]),
    Recipe("beginning", ["data/history/beginning.csv"], [], 1, [beginning]),
    Recipe("doubles", ["data/history/doubles.csv"], ["runs"], 6, [doubles]),
    Recipe("readings", ["data/history/readings.csv"], ["runs"], 1, [readings]),
    Recipe("module", ["data/history/module.csv"], ["runs"], 1, [module]),
    Recipe("causes", ["data/causes.csv"], ["runs"], 7, [causal]),
    Recipe(
        "histories", [f"data/history/seed-{each}.csv.bz2" for each in ("[0-9]", "42")], ["train-study", "runs"], 10, [histories]
    ),
    Recipe("history-again", ["data/history/seed-42-again.csv.bz2"], ["train-again"], 1, [history_again]),
    Recipe("published", ["data/published.csv"], [], 2, [published], f"first: git clone --bare {SOURCE} runs/assign-and-add"),
    Recipe("adder-alone", ["data/history/alone.csv"], [], 4, [alone]),
    Recipe("notes-handed-over", ["data/history/handed.csv"], [], 8, [handed]),
    Recipe("late-variables", ["data/history/waits.csv"], [], 55, [of_seed_42]),
    Recipe("late-aside", ["data/history/waits-aside.csv"], [], 3, [aside]),
    Recipe("late-other-seeds", ["data/history/waits-seeds.csv"], [], 12, [of_other_seeds]),
    Recipe("late-imposed", ["data/history/imposed.csv"], [], 20, [imposed]),
    Recipe("late-release", ["data/history/release.csv"], ["runs"], 5, [release]),
    Recipe("self-reading", ["data/history/reading.csv"], [], 7, [of_ten_seeds]),
    *(
        Recipe(f"theorem-{name}", [f"data/theory/{name}.csv"], needs, minutes, [partial(theorem, name)])
        for name, minutes, needs in (
            ("steps", 2, []),
            ("batches", 1, []),
            ("embeddings", 2, []),
            ("starts", 6, ["train-study", "runs"]),
            ("further", 4, []),
        )
    ),
    Recipe(
        "theorem-beside",
        ["data/theory/beside.csv"],
        ["train-study", "runs"],
        6,
        [partial(theorem, "beside")],
        f"first: git clone --bare {SOURCE} runs/assign-and-add",
    ),
    *(
        Recipe(name, [f"data/companions/{name}-tables/{which}"], [f"{name}-runs"], each, [partial(companion, name)], parts=True)
        for name, which, each in (("reasoning", "*", 90), ("hypernetwork", "*", 4), ("rules", "[!n]*", 34))
    ),
    Recipe("hypernetwork-grid", ["data/companions/hypernetwork-grid.csv"], ["train-hypernetwork-grid"], 1, [tuned]),
    Recipe("island-widths", ["data/companions/island-widths.csv"], [], 8, [widths]),
    Recipe("told-executors", ["data/companions/told-executors.csv"], [], 4, [told]),
    Recipe("forty-modules", ["data/companions/forty-modules-0.csv"], [], 2, [forty]),
    Recipe("plain-rows", ["data/companions/plain-rows.csv"], ["train-plain-rows"], 0, [plain_rows]),
    Recipe("few-examples", ["data/companions/few-examples.csv"], ["train-rules", "rules-runs"], 1, [few_examples]),
    Recipe("numbers-known", ["data/companions/rules-tables/n*"], ["train-rules", "rules-runs"], 1, [numbers_known]),
    Recipe("attacked", ["data/proof/attacked.csv", "data/proof/found.csv.bz2"], ["runs"], 9, [attacked]),
    Recipe("controls", ["data/proof/controls.csv"], ["runs"], 9, [controls]),
    Recipe("repaired", ["data/proof/repaired.csv"], ["runs"], 16, [repaired]),
    Recipe("proof-ladder", ["data/proof/ladder.csv"], ["runs"], 12, [ladder]),
    Recipe("proof-boxes", ["data/proof/boxes.csv", "data/proof/one-sum.csv"], ["runs"], 2, [boxed, one_sum]),
    Recipe("proof-by-hand", ["data/proof/by-hand.csv"], [], 2, [by_hand]),
    Recipe("proof-look-ups", ["data/proof/lookups.csv", "data/proof/look-ups-42.json"], ["runs"], 30, [look_ups]),
    Recipe("certified", ["data/proof/certified.csv", "data/proof/seed-42.json"], ["runs"], 35, [certified], parts=True),
    Recipe("proof-hardened", ["data/proof/hardened.csv", "data/proof/hardened-42.csv"], ["runs"], 75, [hardened]),
    Recipe("proof-sharp", ["data/proof/sharp-42.json"], ["runs"], 50, [sharp]),
    Recipe("laboratory", ["data/laboratory.csv"], ["train-laboratory"], 1, [laboratory], parts=True),
    Recipe("laboratory-branches", ["data/laboratory-branches.csv"], ["train-laboratory"], 70, [of_worlds]),
    Recipe("laboratory-let-go", ["data/laboratory-let-go.csv"], ["laboratory-runs"], 5, [of_let_go]),
    Recipe(
        "scoreboard", ["data/scoreboard.csv"], SCORED, 2, ["board"], "commit a new claim with its level before it is measured"
    ),
    # what the book shows
    Recipe(
        "pictures",
        [f"assets/{each}.png" for each in PICTURES],
        ["runs"],
        1,
        [pictures],
        "of the README, lecturers' pages, links",
    ),
    Recipe("speeds", [], [], 2, ["bench"], "of a training step"),
    Recipe("page-speeds", [], [], 100, ["tools/bench/page_speed.py"], "of the built book, on a machine that does nothing else"),
]
RECIPES = {recipe.name: recipe for recipe in TABLE}
