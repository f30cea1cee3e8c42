"""What the tests of the rules companion's measures share: runs that have not begun."""

from functools import cached_property

import pandas as pd

from assign_add_lib.companions.rules.seeds import MAIN, OTHERS, RuleSeed
from assign_add_lib.companions.rules.training import SETS, RuleConfig

BY_NAME = {RuleConfig(seed=seed, **settings).name: settings for seed in range(9) for settings in (MAIN | OTHERS).values()}


class Untrained:
    """A run that has not begun, of a small network, with metrics of three steps."""

    def __init__(self, name):
        self.config = RuleConfig(**BY_NAME[name] | {"seed": int(name.rpartition("-")[2]), "d_model": 16, "heads": 2, "std": 0.4})
        self.metrics = pd.DataFrame({of: [0.1, 0.5 + i / 10, 0.3] for i, of in enumerate(SETS)}, [0, 500, 1000])

    @cached_property
    def split(self):
        return self.config.draw_split()

    def network(self):
        return self.config.network().requires_grad_(False)


def untrained_seed(number=7):
    return RuleSeed(number, Untrained)
