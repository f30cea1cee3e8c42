"""The command line's reading of numbers, words and truths."""

from assign_add_lib.engine.cli import whole_numbers


def test_steps_are_read_with_ranges():
    read = {"0": [0], "0,500": [0, 500], "2000-2300:100": [2000, 2100, 2200, 2300], "7-9": [7, 8, 9], "1-6:4,3": [1, 5, 3]}
    assert {text: whole_numbers(text) for text in read} == read
