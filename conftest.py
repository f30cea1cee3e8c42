"""A notebook that runs longer than its budget fails, at the cell that overspends."""

import time
from collections import Counter

import pytest

NOTEBOOK_BUDGET = 60  # seconds
spent = Counter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    started = time.monotonic()
    outcome = yield
    before = spent[item.path]
    spent[item.path] += time.monotonic() - started
    if item.path.suffix == ".ipynb" and before <= NOTEBOOK_BUDGET < spent[item.path]:
        pytest.fail(f"{item.path.name} has run for more than {NOTEBOOK_BUDGET} s")
    return outcome
