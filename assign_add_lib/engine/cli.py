"""The command line of all systems: one line for an error, exit code 2, and a config's settings as options."""

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from .files import remove_unfinished, write_atomic
from .loop import FAILURES
from .manifest import data_folder, write_manifest
from .runs import export as export_run
from .scoreboard import BOARD, board_text
from .scoreboard import board as make_board
from .sweep import sweep as sweep_runs
from .system import System, claims_of, sources_of

PROGRAM = f"python -m {__package__.partition('.')[0]}"
MOST_THREADS = 1024
Command = tuple[Callable[[argparse.Namespace], None], Callable[["Parser"], None]]  # what it does, and its arguments


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and which takes options by their whole names, once unless they append."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, allow_abbrev=False, **kwargs)
        for kind in (int, float):
            self.register("type", kind, plain(kind))

    def parse_args(self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None):
        args = list(sys.argv[1:] if args is None else args)
        options = [each.partition("=")[0].replace("--no-", "--") for each in args if each.startswith("--")]
        several = set(_appending(self))
        for each in args:
            name = each.partition("=")[0]
            if name not in several and options.count(name.replace("--no-", "--")) > 1:
                self.error(f"{name} is given twice")
            if re.fullmatch("|--[^=]*=(--)?", each):  # of `=--` argparse would make an empty list
                self.error(f"{name or 'an argument'} is empty")
            if re.search("[\ud800-\udfff]", each):
                self.error(f"{ascii(each)} is no text in UTF-8")
        return super().parse_args(args, namespace)

    def error(self, message: str):
        sys.exit(refuse(f"{message} (try {self.prog} --help)"))


def _appending(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The options of a parser and its commands that may be given several times."""
    for action in parser._actions:
        if isinstance(action, argparse._AppendAction):
            yield from action.option_strings
        elif isinstance(action.choices, Mapping):
            for each in action.choices.values():
                yield from _appending(each)


def one_line(message: object, most: int = 400) -> str:
    """A message as one line of printable characters, its middle left out where it, or a word of it, is too long."""
    text = " ".join(str(message).split())
    text = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    text = re.sub(rf"\S{{{most * 2 // 5 + 1},}}", lambda word: f"{word[0][:60]}...{word[0][-20:]}", text)
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 4 :]}"


def refuse(message: object) -> int:
    """Say on stderr, if anyone reads it, what is wrong; returns the exit code."""
    if sys.stderr is not None:
        with suppress(OSError):
            print("error:", one_line(message), file=sys.stderr)
    return 2


def command_line() -> str:
    """The running command, as one would type it."""
    return shlex.join([*PROGRAM.split(), *sys.argv[1:]])


def option(name: str) -> str:
    """The option of a setting: train_fraction -> --train-fraction."""
    return f"--{name.replace('_', '-')}"


MOST_VALUES = 100_000  # in one list


def plain(kind: type[int | float]) -> Callable[[str], int | float]:
    """What reads one number, without the blanks, the underscores and the digits of other scripts that Python allows in it."""

    def read(text: str) -> int | float:
        if re.search(r"[\s_]", text) or not text.isascii():
            raise ValueError
        return kind(text)

    return read


def whole_numbers(text: str) -> list[int]:
    """Read whole numbers such as 0,1,2000-3000:100 (a range with its stride)."""
    numbers = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?(?::(\d{1,18}))?", part, re.ASCII)
        first, last, stride = (int(each) if each else None for each in match.groups()) if match else (0, 0, 0)
        chosen = range(first, (first if last is None else last) + 1, 1 if stride is None else stride) if stride != 0 else ()
        if not 0 < len(chosen) <= MOST_VALUES - len(numbers):
            raise argparse.ArgumentTypeError(
                f"{part!r} is not a whole number or a range such as 2000-3000:100, or makes the list too long"
            )
        numbers += chosen
    return numbers


def listed(read: Callable[[str], object], what: str) -> Callable[[str], list]:
    """What reads a list such as 0.1,0.25,0.5, part by part."""

    def values(text: str) -> list:
        try:
            return [read(part) for part in text.split(",")]
        except (ValueError, KeyError):
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None

    return values


LISTS = {  # by the type of a setting: what reads a list of values, and an example
    int: (whole_numbers, "0-4,42"),
    float: (listed(plain(float), "a list of numbers such as 0.1,0.25,0.5"), "0.1,0.25,0.5"),
    bool: (listed({"true": True, "false": False}.__getitem__, "true, false or true,false"), "true,false"),
    str: (listed(str, "a list of words"), "a,b"),
}


METAVARS = {int: "N", float: "X", str: "WORD"}  # by the type of a setting


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", help="cpu or cuda (default: CUDA if there is one)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def train(system: System) -> Command:
    """Train a run into a folder; run it again to continue where it stopped."""

    def do(args: argparse.Namespace) -> None:
        import torch

        config = system.config.of(**{name: getattr(args, name) for name in system.config.settings()})
        if args.threads is not None:
            if not 1 <= args.threads <= MOST_THREADS:
                raise ValueError(f"threads must be at least 1 and at most {MOST_THREADS}, not {args.threads}")
            torch.set_num_threads(args.threads)
        done = system.train(config, args.folder, args.device, progress=not args.quiet, command=command_line())
        print(f"finished: {done}")

    def arguments(parser: Parser) -> None:
        parser.add_argument("folder", metavar="FOLDER", help="where the run goes")
        for name, (kind, default, words) in system.config.settings().items():
            how = {"action": argparse.BooleanOptionalAction} if kind is bool else {"type": kind, "metavar": METAVARS[kind]}
            parser.add_argument(option(name), default=default, help=f"{words}; default {default}", **how)
        parser.add_argument("--threads", type=int, help="number of CPU threads (default: one per core)")
        _add_place(parser)

    return do, arguments


def sweep(system: System) -> Command:
    """Train a grid of runs, here or on a cluster, and write their table; run it again to continue where it stopped."""

    def do(args: argparse.Namespace) -> None:
        values = {name: getattr(args, name) for name in system.config.settings() if getattr(args, name) is not None}
        parts = [values]
        if args.book:
            if values.keys() - {"seed"}:
                raise ValueError("with --book only --seed can be chosen; leave out one or the other")
            parts = [{**part, "seed": values.get("seed", system.seeds)} for part in system.grid]
        own = {name: getattr(args, name) for name in ("table", "jobs", "backend", "scheduler", "device")}
        table = sweep_runs(system, parts, args.folder, **own, progress=not args.quiet, command=command_line())
        print(f"finished: {table}")

    def arguments(parser: Parser) -> None:
        parser.add_argument("folder", metavar="FOLDER", help="where the runs go, one folder each")
        parser.add_argument("--book", action="store_true", help="train all runs of this system that the book ships")
        for name, (kind, default, words) in system.config.settings().items():
            read, example = LISTS[kind]
            parser.add_argument(option(name), type=read, metavar="LIST", help=f"{words}; such as {example}, default {default}")
        parser.add_argument("--table", metavar="FILE", help="where the table goes, one row per run (default FOLDER/table.csv)")
        parser.add_argument("--jobs", type=int, help="number of processes, one thread each (default: one per core)")
        parser.add_argument("--backend", default="loky", help="loky: processes here (default); dask: a cluster's workers")
        parser.add_argument("--scheduler", metavar="ADDRESS", help="the Dask scheduler, such as tcp://10.0.0.1:8786")
        _add_place(parser)

    return do, arguments


def export(system: System) -> Command:
    """Copy chosen checkpoints of finished runs as float16, with checksums, into data/ or a folder of your own."""

    def do(args: argparse.Namespace) -> None:
        if args.name is not None and len(args.folders) > 1:
            raise ValueError("--name is for one run")
        if args.bare and args.steps is not None:
            raise ValueError("--bare leaves out all weights; leave out --steps")
        runs = {folder: system.run.open(folder) for folder in args.folders}
        for folder, run in runs.items():
            if not run.finished:
                raise ValueError(f"{folder} is not finished: it stands at step {run.steps[-1] if run.steps else 0}")
        for folder, run in runs.items():
            steps = [] if args.bare else [run.config.steps] if args.steps is None else args.steps
            print(f"exported: {export_run(folder, args.name or run.name, system.run, steps, args.data)}")

    def arguments(parser: Parser) -> None:
        parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path, help="the folders of finished runs")
        parser.add_argument("--name", help=f"what to call a run in {system.run.shelf}; default: its folder's name")
        words = "steps of the checkpoints to copy, such as 0,500,2000-3000:100 (default: the last)"
        parser.add_argument("--steps", type=whole_numbers, help=words)
        parser.add_argument("--data", metavar="FOLDER", type=Path, help="where to, if not among the book's own runs")
        parser.add_argument("--bare", action="store_true", help="copy config and metrics alone")

    return do, arguments


def board(systems: Mapping[str, System]) -> Command:
    """Measure all claims on the shipped runs and sweeps, and write their board into data/."""

    def do(args: argparse.Namespace) -> None:
        import torch

        with torch.no_grad():
            remove_unfinished(data_folder(), BOARD)
            table = make_board(claims_of(systems.values()), sources_of(systems.values()))
        write_atomic(data_folder() / BOARD, board_text(table))
        write_manifest(made=[BOARD])
        for name, row in table.iterrows():
            print(f"{row['held']:>2} of {row['runs']:<2}  {row['verdict']:<12}  {name}")

    return do, lambda parser: None


OF_A_SYSTEM = {"train": train, "sweep": sweep, "export": export}


def run_command(systems: Mapping[str, System], others: Mapping[str, Command], argv: Sequence[str] | None = None) -> int:
    """Parse and run one command; bad input gives one line on stderr and exit code 2.

    `train`, `sweep` and `export` take a system's name first; without one they mean the first of `systems`.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    named = argv.pop(1) if len(argv) > 1 and argv[0] in OF_A_SYSTEM and argv[1] in systems else None
    system = systems[named or next(iter(systems))]
    main = Parser(prog=PROGRAM, description="Small transformers that learn to compose skills.")
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, command: Command, words: str, usage: str = "") -> None:
        do, arguments = command
        made = commands.add_parser(name, help=words, description=words, epilog=usage)
        made.set_defaults(do=do)
        arguments(made)

    for name, make in OF_A_SYSTEM.items():
        hint = f"For those of another system, name it first: {name} {{{','.join(systems)}}} ..."
        usage = f"These are the options of {system.name}. {hint}"
        add(name, make(system), make.__doc__, usage)
    add("board", board(systems), board.__doc__)
    for name, command in others.items():
        add(name, command, command[0].__doc__)
    args = main.parse_args(argv)
    try:
        args.do(args)
    except MemoryError:
        return refuse("there is not enough memory")
    except (*FAILURES, OverflowError) as error:
        return refuse(error)
    return 0
