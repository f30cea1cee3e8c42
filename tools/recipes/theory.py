"""Chapter 13: many starts, batches, random embeddings, the measured start, and what was asked of it later."""

from collections.abc import Iterator

import pandas as pd
import torch

from assign_add_lib.theory import sweeps

from .beside import beside
from .further import further
from .recipe import Files, text_of
from .starts import starts


def steps() -> Iterator[dict]:
    """Full gradient steps in the simplified network, from several starts and with several lengths."""
    problems = sweeps.fresh_problems(500)
    for lam in (6.0, 8.0, 10.0, 12.0):
        for size in (0.05, 0.1, 0.2):
            yield from sweeps.steps_rows(lam, size, problems)
        yield from sweeps.continued_rows(lam, problems)


def batches() -> Iterator[dict]:
    """One step on batches of many sizes."""
    problems = sweeps.fresh_problems(500)
    for lam in (4.0, 5.0, 6.0, 7.0):
        for multiple in (1, 4, 16):
            for draw in range(1 if multiple * lam > 100 else 5):
                size = int(multiple * sweeps.critical_batch(lam))
                yield sweeps.batch_row(lam, size, draw, problems) | {"multiple": multiple}
    for struck, sizes in ((False, (512,)), (True, (512, 1024, 2048, 4096))):
        for size in sizes:
            for draw in range(5):
                yield sweeps.batch_row(9.0, size, draw, problems, struck) | {"multiple": 0}


def embeddings() -> Iterator[dict]:
    """One step and many with random embeddings."""
    problems = sweeps.fresh_problems(500)
    for width, draws in ((128, 5), (512, 3), (4096, 3)):
        for draw in range(draws):
            yield sweeps.one_step_row(width, draw, problems)
            yield sweeps.many_steps_row(width, draw, 1, problems)
    for draw in range(5):
        yield sweeps.many_steps_row(128, draw, 2, problems)
    yield sweeps.many_steps_row(0, 0, 1, problems)
    for draw in range(2):
        yield sweeps.many_steps_row(128, draw, 1, problems, steps=800)
        yield sweeps.many_steps_row(128, draw, 1, problems, steps=800, size=0.025)
        yield sweeps.many_steps_row(128, draw, 1, problems, batch=8192)


@torch.no_grad()
def theorem(name: str) -> Files:
    """One of the six tables, by the name of what yields its rows."""
    makers = {each.__name__: each for each in (steps, batches, embeddings, starts, beside, further)}
    return {f"data/theory/{name}.csv": text_of(pd.DataFrame(makers[name]()))}
