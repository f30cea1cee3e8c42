"""A system's claims and sources stand beside those of others; it trains as the loop does."""

from dataclasses import replace

import pytest
from small import contents
from tiny import TINY, TinyConfig

from assign_add_lib.engine.system import claims_of, sources_of
from assign_add_lib.systems import STUDY, SYSTEMS


def test_claims_and_sources_of_several_systems_are_gathered_in_their_order():
    one = replace(STUDY, claims=lambda: ("a", "b"), sources=lambda: {"runs": {"x": 1}})
    two = replace(STUDY, claims=lambda: ("c",), sources=lambda: {"other": {"y": 2}, "none": {}})
    assert claims_of([one, two]) == ["a", "b", "c"]
    assert sources_of([one, two]) == {"runs": {"x": 1}, "other": {"y": 2}, "none": {}}
    assert claims_of([]) == [] and sources_of([]) == {}


def test_a_system_trains_its_config_into_a_folder(tiny_runs, tmp_path):
    folder = TINY.train(TinyConfig(), tmp_path / "run", "cpu", progress=False, command="as typed", stop=2)
    assert TINY.run.open(folder).steps == [0] and not TINY.run.open(folder).finished
    TINY.train(TinyConfig(), folder, "cpu", progress=False, command="as typed")
    assert contents(folder) == contents(tiny_runs["whole"])
    assert TINY.run.open(folder).record["command"] == "as typed"


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_each_system_of_the_book_is_whole(system):
    """Its parts are of one kind, and its tables show settings that it has."""
    assert system.run.kind is system.config and set(system.columns) <= set(system.config.settings())
    learner = system.learner(system.config(), "cpu")
    assert learner.config == system.config() and set(learner.shown) <= set(learner.metrics) and "loss" in learner.metrics
    assert {claim.of for claim in system.claims()} <= set(system.sources())
