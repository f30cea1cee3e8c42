"""Chapter 14: what takes a minute to measure on the shipped networks and is no table of the companion."""

from itertools import product

import pandas as pd
import torch

from assign_add_lib.companions.reasoning.claims import obeys, sources
from assign_add_lib.companions.reasoning.data import write
from assign_add_lib.companions.reasoning.mechanism import ToldHead
from assign_add_lib.companions.reasoning.seeds import SEEDS, ReasoningSeed
from assign_add_lib.companions.reasoning.training import TOKENS_PASS, iterations

from .recipe import Files, text_of


@torch.no_grad()
def told_head(arm: str, seed: int, shifts: int = 10) -> list[dict[str, float]]:
    """What nodes answer as the head that obeys best is shifted to another count, at random, or further; in one network."""
    drawn, tables = ReasoningSeed(seed), sources()["reasoning"][f"seed-{seed}"]
    head, generator = ToldHead(drawn, arm, *obeys(tables, arm)), torch.Generator().manual_seed(seed)
    rows = []

    def answer(kind: str, adds: int, told: int, shift: torch.Tensor | None = None) -> None:
        rows.append({"arm": arm, "seed": seed, "shift": kind, "adds": adds, "told": told} | head.answers(adds, told, shift))

    for adds, told in ((1, 2), (2, 1), (2, 3), (3, 2)):
        answer("count", adds, told)
        if (adds, told) != (2, 3):
            shift = head.shift(adds, told)
            for way in torch.randn(shifts, len(shift), generator=generator):
                answer("random", adds, told, shift.norm() * way / way.norm())
    for by in (0.5, 0.75, 1.25, 1.5, 2):
        answer(f"{by} times", 1, 3, by * head.shift(1, 3))
    return rows


def told_heads() -> Files:
    """The same in six networks."""
    rows = [row for arm in TOKENS_PASS for seed in SEEDS for row in told_head(arm, seed)]
    return {"data/companions/told-heads.csv": text_of(pd.DataFrame(rows), "%.6g")}


@torch.no_grad()
def last_rounds_right(arm: str, seed: int, rounds: int) -> tuple[float, int]:
    """Of graphs of 24 nodes and depth 8, the share right after the last rounds from right values, and how many there are."""
    network, graphs = ReasoningSeed(seed).network(arm), ReasoningSeed(seed).graphs(2)
    graphs = graphs.rows(graphs.depth == 8)
    tokens, states = write(graphs), graphs.states()
    start = tokens.holding(states[8 - rounds], states[max(7 - rounds, 0)])
    ended = iterations(network, "continuous", tokens, network.embed(start), rounds)[-1]
    return (ended == graphs.solution).all(1).double().mean().item(), len(tokens.node)


def last_rounds() -> Files:
    """The same of the arms of right starts."""
    asked, rows = {"right-starts-four": (4, 6, 8), "right-starts": (2, 4)}, []
    for arm, seed in product(asked, SEEDS):
        for rounds in asked[arm]:
            right, graphs = last_rounds_right(arm, seed, rounds)
            rows.append({"arm": arm, "seed": seed, "rounds": rounds, "right": right, "graphs": graphs})
    return {"data/companions/last-rounds.csv": text_of(pd.DataFrame(rows), "%.6g")}
