"""What every command line of the package does: one line for an error, exit code 2, and settings as options."""

import argparse
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import Field


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str):
        sys.exit(_refuse(f"{message} (try {self.prog} --help)"))


def _refuse(message: object) -> int:
    print("error:", " ".join(str(message).split()), file=sys.stderr)
    return 2


def command_line(module: str = "assign_add_lib") -> str:
    """The command that is running, as one would type it."""
    return shlex.join(["python", "-m", module, *sys.argv[1:]])


def option(name: str) -> str:
    """The option of a setting: train_fraction -> --train-fraction."""
    return f"--{name.replace('_', '-')}"


def add_settings(parser: argparse.ArgumentParser, settings: Iterable[Field]) -> None:
    """An option for each field of a config, with the field's own default."""
    for each in settings:
        how = {"action": argparse.BooleanOptionalAction} if each.type is bool else {"type": each.type}
        parser.add_argument(option(each.name), default=each.default, help=f"default {each.default}", **how)


def run_command(parser: Parser, argv: Sequence[str] | None = None) -> int:
    """Parse, and call the `function` that the chosen command has set; bad input gives one line on stderr and exit code 2."""
    args = parser.parse_args(argv)
    try:
        args.function(args)
    except (ValueError, OSError, RuntimeError) as error:
        return _refuse(error)
    except KeyboardInterrupt:
        return _refuse("stopped; the same command takes it up again") + 128
    return 0
