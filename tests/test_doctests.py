"""The examples in the docstrings of the public names do what they show."""

import doctest

import pytest
import torch

import assign_add_lib


@pytest.mark.parametrize("name", assign_add_lib.__all__)
def test_each_public_name_has_an_example_that_holds(name):
    """What an example uses is public, or torch, or imported by it."""
    names = {each: getattr(assign_add_lib, each) for each in assign_add_lib.__all__} | {"torch": torch}
    tests = doctest.DocTestFinder(recurse=False).find(names[name], name, globs=names)
    assert sum(len(test.examples) for test in tests) >= 2, f"{name} has no example"
    told = []
    for test in tests:
        doctest.DocTestRunner(optionflags=doctest.FAIL_FAST).run(test, out=told.append)
    assert not told, "".join(told)
