"""What is claimed of every run; the level was set before any was measured."""

from assign_add_lib.engine.scoreboard import Claim

from .analysis import distance

CLAIMS = (
    Claim(
        "found",
        group="A toy",
        origin="the toy of the tests",
        statement="The hidden vector is found.",
        measured="distance from the hidden vector at the end",
        measure=distance,
        level=0.3,
        at_most=True,
        of="toy",
    ),
)
