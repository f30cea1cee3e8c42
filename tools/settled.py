"""Strict nbval, but for one thing: a reported number may differ in its late digits between processors (a pytest plugin)."""

import re

from nbval.plugin import IPyNbCell

# a line that checks.report prints: name, measured value, quoted value, tolerance
REPORTED = re.compile(r"^(.*: )(-?[\d.]+)( \(quoted as (-?[\d.e+-]+), within ([\d.e+-]+)\))$", re.MULTILINE)


def settled(text):
    """The text with each reported number that is within its tolerance replaced by the quoted one."""

    def settle(line):
        name, value, rest, quoted, tolerance = line.groups()
        last_digit = 10.0 ** -len(value.partition(".")[2])
        near = abs(float(value) - float(quoted)) <= float(tolerance) + last_digit / 2
        return name + (quoted if near else value) + rest

    return REPORTED.sub(settle, text) if isinstance(text, str) else text


strict = IPyNbCell.sanitize
IPyNbCell.sanitize = lambda cell, text: settled(strict(cell, text))
