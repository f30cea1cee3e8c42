"""A system's claims and sources stand beside those of others, and its parts are of one kind."""

from dataclasses import replace

import pytest

from assign_add_lib.engine.system import claims_of, sources_of
from assign_add_lib.systems import STUDY, SYSTEMS


def test_claims_and_sources_of_several_systems_are_gathered_in_their_order():
    one = replace(STUDY, claims=lambda: ("a", "b"), sources=lambda: {"runs": {"x": 1}})
    two = replace(STUDY, claims=lambda: ("c",), sources=lambda: {"other": {"y": 2}, "none": {}})
    assert claims_of([one, two]) == ["a", "b", "c"]
    assert sources_of([one, two]) == {"runs": {"x": 1}, "other": {"y": 2}, "none": {}}
    assert claims_of([]) == [] and sources_of([]) == {}


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_each_system_of_the_book_is_whole(system):
    """Its parts are of one kind, its tables show settings that it has, and each setting is explained."""
    assert all(each.words for each in system.config.settings().values())
    assert system.run.kind is system.config and set(system.columns) <= set(system.config.settings())
    learner = system.learner(system.config(), "cpu")
    assert learner.config == system.config() and set(learner.shown) <= set(learner.metrics) and "loss" in learner.metrics
    assert {claim.of for claim in system.claims()} <= set(system.sources())
