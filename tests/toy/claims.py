"""What is claimed of every run, with a level that was set before any run was measured."""

from assign_add_lib.engine.scoreboard import Claim

from .analysis import distance

CLAIMS = (
    Claim(
        "found", group="A toy", origin="here", statement="The hidden vector is found.",
        measured="distance between the network's vector and the hidden one at the end",
        measure=distance, level=0.3, at_most=True, of="toy",
    ),
)  # fmt: skip
