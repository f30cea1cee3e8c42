"""Composing in context: the claims, and what is shipped against what was expected."""

import numpy as np
import pytest
import torch
from arms import FakeSeed, fake_load
from small import assert_the_same

from assign_add_lib.companions.hypernetwork.claims import CLAIMS, LATER, SOURCE
from assign_add_lib.companions.hypernetwork.model import Bottleneck, Vanilla
from assign_add_lib.companions.hypernetwork.seeds import SEEDS, seeds
from assign_add_lib.companions.hypernetwork.training import GRID, ArmConfig, ArmLearner, ArmRun, load_arm
from assign_add_lib.engine.scoreboard import claim_values, load_board
from assign_add_lib.engine.sweep import grid

ID, OOD = "in distribution", "out of distribution"
CONFIGS = {seed: grid(ArmConfig, [{**part, "seed": [seed]} for part in GRID]) for seed in SEEDS}
NAMES = {seed: list(CONFIGS[seed]) for seed in SEEDS}


def test_every_claim_can_be_measured_and_reads_the_runs_that_it_names():
    seed = FakeSeed(0, load=fake_load)
    values = {claim.name: claim.measure(seed) for claim in CLAIMS}
    assert len(values) == len(CLAIMS) and np.isfinite([*values.values()]).all()
    assert {claim.of for claim in CLAIMS} == {SOURCE} and len({claim.group for claim in CLAIMS}) == 1
    last = {name: fake_load(name).metrics[OOD][8000] for name in NAMES[0]}
    half = {name: fake_load(name).metrics[ID][4000] for name in NAMES[0]}
    hyper, vanilla = last["hypernetwork-connected-0"], last["vanilla-connected-0"]
    slow = {
        "hypernetwork fits": 0.9,
        "vanilla fits": 0.9,
        "hypernetwork composes": hyper,
        "hypernetwork above vanilla": hyper - vanilla,
        "only with a bottleneck": seed.vanilla() - max(seed.floors.values()),
        "a bottleneck is enough": last["mlp-connected-0"] - vanilla,
        "vanilla above a blend": seed.vanilla() - max(seed.blends.values()),
        "connection helps": hyper - last["hypernetwork-disconnected-0"],
        "connection alone helps": last["hypernetwork-connected-12-0"] - last["hypernetwork-disconnected-0"],
        "the bottleneck alone does not": hyper - last["mlp-connected-0"],
        "structure serves the hypernetwork": half["hypernetwork-connected-0"] - half["hypernetwork-connected-unstructured-0"],
        "vanilla needs no structure": half["vanilla-connected-0"] - half["vanilla-connected-unstructured-0"],
        "given the code": last["hypernetwork-connected-given-code-0"],
        "given the code, an MLP": last["mlp-connected-given-code-0"],
    }
    assert {name: values[name] for name in slow} == pytest.approx(slow)
    assert len(values) == len(slow) + 5 and len(LATER) == 5 and set(LATER) < set(values)
    assert all(set(claim.seen) == set(seeds()) for claim in CLAIMS if claim.name in LATER)


def test_the_shipped_runs_are_those_of_the_grid():
    assert SEEDS == (0, 1, 2) and len(set(sum(NAMES.values(), []))) == 36
    assert ArmRun.shipped() == sorted(sum(NAMES.values(), []))
    kinds = {"vanilla": Vanilla, "hypernetwork": Bottleneck, "mlp": Bottleneck}
    for seed in SEEDS:
        for name, config in CONFIGS[seed].items():
            run = load_arm(name)
            assert config.name == name
            assert run.config == config and run.steps == [8000]
            assert list(run.metrics.index) == list(range(0, 8001, 200)) and not run.metrics.isna().any().any()
            assert run.record["command"].startswith("python -m assign_add_lib.companions.hypernetwork")
            assert sum(path.stat().st_size for path in run.folder.rglob("*") if path.is_file()) < 2**19
            assert config.given_code or isinstance(run.network(), kinds[config.arm])


@pytest.mark.parametrize("seed", SEEDS)
def test_shipped_networks_answer_as_their_metrics_say(seed):
    """Both scores, within 0.01 of the training run's in full precision; of each seed a third of the runs, each time another."""
    off = {}
    for name in NAMES[seed][seed::3]:
        run = load_arm(name)
        learner = ArmLearner(run.config)
        learner.network.load_state_dict(run.network().state_dict())
        with torch.no_grad():
            measured = learner.evaluate()
        off[name] = max(abs(measured[of] - run.metrics.loc[8000, of]) for of in (ID, OOD))
    assert max(off.values()) < 0.01, off


def test_shipped_rows_come_out_again():
    values = claim_values(CLAIMS, {SOURCE: {"seed-1": seeds()["seed-1"]}})
    assert_the_same(values, load_board(), CLAIMS, rtol=1e-3, atol=2e-3)
