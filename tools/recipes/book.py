"""The table of recipes: every shipped file, and the pictures, tables and speeds that the book shows."""

from functools import partial

from .branches import aside, of_other_seeds, of_seed_42, of_ten_seeds, of_worlds, release
from .measured import causal, companion, histories, history_again, laboratory, parts
from .pictures import introduction, pictures
from .reading import doubles, module
from .recipe import Recipe
from .runs import metrics, seeds, ship, sweeps
from .theory import theorem

SHARES = "0.06,0.1,0.15,0.19,0.22,0.25,0.28,0.31,0.34,0.37"
MORE_SHARES = "0.4,0.46,0.5,0.55,0.62,0.78,0.85,0.92,0.99"
RS = "0.01,0.02,0.03,0.045,0.06,0.08,0.1,0.13,0.17,0.22,0.3,0.37,0.45,0.52,0.6,0.7,0.8,0.9,0.99"
GRID = "--log-every 1000 --checkpoint-every 30000"
STEPS_42 = [0, 400, 600, 1000, 1500, 1900, *range(2100, 2501, 100), 2700, 3000, 5000, 8000, 8900, 9100, 9300, 9900]
STEPS_42 += [10000, 10500, 11000, 11300, *range(11500, 11701, 100), 11900, 15000, 20000, 30000]
STEPS_0 = [0, 2000, 3800, *range(4000, 4201, 100), 4500, 6000, *range(8800, 9001, 100), 30000]
WORLDS = "study one-layer two-heads half-width twice-width no-two-variables modulus-60 modulus-29 subtraction"
WORLDS += " subtraction-two-heads multiplication three-operands chain-two-layers chain-three-layers more-variables no-decay"
WITH_WEIGHTS = [  # runs of the laboratory that the chapter opens, and seed 0 of most other worlds
    "subtraction-[012]",
    "more-variables-[012]",
    "subtraction-two-heads-[02]",
    *(f"{world}-0" for world in "one-layer half-width no-two-variables modulus-60 modulus-29".split()),
    *(f"{world}-0" for world in "multiplication three-operands chain-two-layers chain-three-layers".split()),
]
BARE = [
    "subtraction-two-heads-1",
    *(f"{world}-[012]" for world in "study two-heads twice-width no-decay".split()),
    *(f"{world}-[12]" for world in "one-layer half-width no-two-variables modulus-60 modulus-29".split()),
    *(f"{world}-[12]" for world in "multiplication three-operands chain-two-layers chain-three-layers".split()),
]

SCORED = ["runs", "seeds", "sweeps", "causes", "histories", "reasoning", "hypernetwork", "rules"]  # what claims are decided on

TABLE = [
    # trainings: each goes on where it stopped, and is skipped once it is finished
    Recipe(
        "train-study",
        ["runs/seed-*", "runs/table.csv"],
        [],
        86,
        ["sweep runs --seed 0-8,42"],
        "equal bits need the AVX-512 code of PyTorch's library for Intel processors",
    ),
    Recipe(
        "train-again",
        ["runs/again/*"],
        [],
        10,
        ["sweep runs/again --seed 42"],
        "the same command on an AMD processor, to see how much a run depends on the last digit of a product",
    ),
    Recipe(
        "train-grids",
        ["runs/train_fraction/*", "runs/more-shares/*", "runs/share-ten/*", "runs/r/*", "runs/r-ten/*", "runs/near-*"],
        [],
        1270,
        [
            f"sweep runs/train_fraction --train-fraction {SHARES} --seed 0,1,42 {GRID}",
            f"sweep runs/more-shares --train-fraction {MORE_SHARES} --seed 0,1,42 {GRID}",
            f"sweep runs/share-ten --train-fraction 0.22,0.28 --seed 0-8 {GRID}",
            f"sweep runs/r --r {RS} --seed 0,1,42 {GRID}",
            f"sweep runs/r-ten --r 0.1,0.17 --seed 0-8 {GRID}",
            f"sweep runs/near-one --r 0.999,1.001 --seed 0 {GRID}",
            f"sweep runs/near-tenth --r 0.099,0.101 --seed 1 {GRID}",
        ],
        "on a cluster: the same lines with --backend dask --scheduler ADDRESS",
    ),
    Recipe("train-reasoning", ["runs/reasoning/*"], [], 611, ["sweep reasoning runs/reasoning --book"]),
    Recipe("train-hypernetwork", ["runs/hypernetwork/*"], [], 90, ["sweep hypernetwork runs/hypernetwork --book"]),
    Recipe(
        "train-rules",
        ["runs/rules/*"],
        [],
        820,
        [
            "sweep rules runs/rules --book",
            "sweep rules runs/rules --plan reversed,one-line",
            "sweep rules runs/rules --tasks 8,16,24,32",
            "sweep rules runs/rules --way random",
            "sweep rules runs/rules --p 11 --tasks 96 --d-model 128",
        ],
    ),
    Recipe(
        "train-laboratory",
        ["runs/laboratory/*"],
        [],
        472,
        [f"world {WORLDS}"],
        "commit a world's file before it is trained; one world alone: python -m assign_add_lib world NAME",
    ),
    Recipe("train-longer", ["runs/longer/*"], [], 90, ["sweep reasoning runs/longer --arm continuous --seed 0 --steps 16000"]),
    Recipe("train-wider", ["runs/wider/*"], [], 5, ["sweep hypernetwork runs/wider --arm vanilla --seed 0 --d-model 96"]),
    Recipe(
        "train-unstructured",
        ["runs/unstructured/*"],
        [],
        5,
        ["sweep hypernetwork runs/unstructured --arm mlp --structured false --seed 0"],
    ),
    # runs
    Recipe(
        "runs",
        ["data/runs/*"],
        ["train-study"],
        1,
        [
            partial(ship, "study", ["seed-42"], STEPS_42),
            partial(ship, "study", ["seed-0"], STEPS_0),
            partial(ship, "study", ["seed-[1-8]"]),
        ],
    ),
    Recipe(
        "reasoning-runs",
        ["data/companions/reasoning/*"],
        ["train-reasoning"],
        1,
        [partial(ship, "reasoning", ["reasoning/*-[012]"])],
    ),
    Recipe(
        "hypernetwork-runs",
        ["data/companions/hypernetwork/*"],
        ["train-hypernetwork"],
        1,
        [partial(ship, "hypernetwork", ["hypernetwork/*-[012]"])],
    ),
    Recipe(
        "rules-runs",
        ["data/companions/rules/*"],
        ["train-rules"],
        1,
        [
            partial(ship, "rules", ["rules/lines-*-tasks-40-[012]", "rules/plain-*", "rules/*-p-11-*"]),
            partial(ship, "rules", ["rules/reversed-*", "rules/one-line-*", "rules/*-p-7-tasks-[!4]*-0", "rules/*-random-0"], []),
        ],
    ),
    Recipe(
        "laboratory-runs",
        ["data/laboratory/*"],
        ["train-laboratory"],
        1,
        [
            partial(ship, "laboratory", [f"laboratory/{each}" for each in WITH_WEIGHTS]),
            partial(ship, "laboratory", [f"laboratory/{each}" for each in BARE], []),
        ],
    ),
    Recipe(
        "continuous-long",
        ["data/companions/continuous-long-0.csv"],
        ["train-longer"],
        0,
        [partial(metrics, "longer", "data/companions/continuous-long-0.csv")],
    ),
    Recipe(
        "vanilla-wide",
        ["data/companions/vanilla-wide-0.csv"],
        ["train-wider"],
        0,
        [partial(metrics, "wider", "data/companions/vanilla-wide-0.csv")],
    ),
    Recipe(
        "mlp-unstructured",
        ["data/companions/mlp-unstructured-0.csv"],
        ["train-unstructured"],
        0,
        [partial(metrics, "unstructured", "data/companions/mlp-unstructured-0.csv")],
    ),
    # what is measured
    Recipe("seeds", ["data/sweeps/seed.csv"], ["train-study"], 0, [seeds]),
    Recipe(
        "sweeps", ["data/sweeps/train_fraction.csv", "data/sweeps/r.csv", "data/sweeps/beside.csv"], ["train-grids"], 0, [sweeps]
    ),
    Recipe("doubles", ["data/history/doubles.csv"], ["runs"], 6, [doubles]),
    Recipe("module", ["data/history/module.csv"], ["runs"], 1, [module]),
    Recipe("causes", ["data/causes.csv"], ["runs"], 7, [causal]),
    Recipe(
        "histories", ["data/history/seed-[0-9].csv.bz2", "data/history/seed-42.csv.bz2"], ["train-study", "runs"], 10, [histories]
    ),
    Recipe("history-again", ["data/history/seed-42-again.csv.bz2"], ["train-again"], 1, [history_again]),
    Recipe("late-variables", ["data/history/waits.csv"], [], 55, [of_seed_42]),
    Recipe("late-aside", ["data/history/waits-aside.csv"], [], 3, [aside]),
    Recipe("late-other-seeds", ["data/history/waits-seeds.csv"], [], 12, [of_other_seeds]),
    Recipe("late-release", ["data/history/release.csv"], ["runs"], 5, [release]),
    Recipe("self-reading", ["data/history/reading.csv"], [], 7, [of_ten_seeds]),
    *(
        Recipe(f"theorem-{name}", [f"data/theory/{name}.csv"], ["runs"] * (name == "samples"), minutes, [partial(theorem, name)])
        for name, minutes in {"steps": 2, "batches": 1, "embeddings": 2, "samples": 2}.items()
    ),
    *(
        Recipe(name, [f"data/companions/{name}.csv"], [f"{name}-runs"], minutes, [partial(companion, name)], parts=True)
        for name, minutes in {"reasoning": 90, "hypernetwork": 4, "rules": 34}.items()
    ),
    Recipe("rules-parts", ["data/companions/rules-parts.csv"], ["train-rules", "rules-runs"], 1, [parts]),
    Recipe(
        "laboratory",
        ["data/laboratory.csv"],
        ["train-laboratory"],
        1,
        [laboratory],
        "refuses predictions that were changed after training began",
        parts=True,
    ),
    Recipe("laboratory-branches", ["data/laboratory-branches.csv"], ["train-laboratory"], 70, [of_worlds]),
    Recipe(
        "scoreboard",
        ["data/scoreboard.csv"],
        SCORED,
        2,
        ["board"],
        "after every change of a claim, a measure, a run or a sweep; commit a new claim with its level before it is measured",
    ),
    # what the book shows
    Recipe(
        "pictures",
        ["assets/problem*.png", "assets/algorithm*.png", "assets/attention*.png", "assets/three-phases*.png"],
        ["runs"],
        1,
        [pictures],
    ),
    Recipe("introduction", ["intro.md"], ["scoreboard"], 0, [introduction], "the table of the study's numbers beside ours"),
    Recipe("speeds", [], [], 2, ["bench"], "of a training step; on one thread as each run of a sweep has"),
    Recipe(
        "page-speeds",
        [],
        [],
        20,
        ["benchmarks/page_speed.py"],
        "first paint, how long a page is blocked, first answer; needs the built book, on a machine that does nothing else",
    ),
]
RECIPES = {recipe.name: recipe for recipe in TABLE}
