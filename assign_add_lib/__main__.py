"""The command line: python -m assign_add_lib solve | train | sweep | export | bench."""

import argparse
import sys
from dataclasses import Field, fields

from .cli import Parser, add_settings, command_line, option, run_command
from .task import Problem, Task


def _settings() -> dict[str, Field]:
    """The fields of TrainConfig and Task, which decide a run, by name."""
    from .training import TrainConfig

    return {each.name: each for source in (TrainConfig, Task) for each in fields(source) if each.name != "task"}


def solve(args: argparse.Namespace) -> None:
    """Let a trained network answer one problem."""
    from .circuits import last_logits
    from .runs import load_run

    run = load_run(args.run)
    problem = Problem.parse(args.problem, run.task)
    step = run.steps[-1] if args.step is None and run.steps else args.step
    tokens = problem.tokens(args.spread)[None]
    probability, answer = last_logits(run.weights(step), tokens).softmax(1).max(1)
    print(problem)
    print(f"network: {answer.item()}  (probability {probability.item():.3f}, run {run.name}, step {step})")
    print(f"true:    {problem.answer}")


def train(args: argparse.Namespace) -> None:
    """Train a network into a folder, or go on with a run that was stopped."""
    import torch

    from .training import TrainConfig
    from .training import train as train_run

    given = vars(args)
    task = Task(**{each.name: given[each.name] for each in fields(Task)})
    config = TrainConfig(**{each.name: given[each.name] for each in fields(TrainConfig) if each.name != "task"}, task=task)
    if args.threads is not None:
        if args.threads < 1:
            raise ValueError(f"threads must be at least 1, not {args.threads}")
        torch.set_num_threads(args.threads)
    folder = train_run(config, args.folder, args.device, not args.quiet, command_line())
    print(f"finished: {folder}")


def sweep(args: argparse.Namespace) -> None:
    """Train a grid of runs, here or on a cluster, and write their table; the same command goes on with a stopped sweep."""
    from .sweep import sweep as sweep_runs

    values = {name: each for name, each in vars(args).items() if name in _settings() and each is not None}
    own = {name: getattr(args, name) for name in ("table", "jobs", "backend", "scheduler", "device", "together")}
    table = sweep_runs(values, args.folder, **own, progress=not args.quiet, command=command_line())
    print(f"finished: {table}")


def export(args: argparse.Namespace) -> None:
    """Copy chosen checkpoints of a run into data/, as float16."""
    from .runs import export as export_run

    print(f"exported: {export_run(args.folder, args.name, args.steps)}")


def bench(args: argparse.Namespace) -> None:
    """Measure the speed of a training step, side by side with TransformerLens."""
    from .speed import main

    main(args.repeats)


def _whole(text: str) -> list[int]:
    """Read whole numbers such as 0,1000,2000-3000:100 (a range with its stride)."""
    numbers = []
    for part in text.split(","):
        span, _, stride = part.partition(":")
        first, _, last = span.partition("-")
        try:
            chosen = range(int(first), int(last or first) + 1, int(stride or 1))
            if not 0 < len(chosen) <= 100_000:
                raise ValueError
        except (ValueError, OverflowError):
            raise argparse.ArgumentTypeError(f"{part!r} is neither a number nor a range such as 2000-3000:100") from None
        numbers += chosen
    return numbers


def _decimal(text: str) -> list[float]:
    """Read numbers such as 0.1,0.25,0.5."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers such as 0.1,0.25,0.5") from None


def parser() -> Parser:
    """The parser of every command and its options."""
    main = Parser(prog="python -m assign_add_lib", description="A small transformer that assigns and adds.")
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(function):
        made = commands.add_parser(function.__name__, help=function.__doc__, description=function.__doc__)
        made.set_defaults(function=function)
        return made

    made = command(solve)
    made.add_argument("problem", metavar="TEXT", help='a problem, such as "c=1, b=17, a=42, b+19=?"')
    made.add_argument("--run", default="seed-42", help="a shipped run, or the folder of your own (default seed-42)")
    made.add_argument("--step", type=int, help="a checkpoint of that run, the last if not given")
    made.add_argument("--spread", type=int, metavar="SEED", help="spread the PADs by this seed instead of packing left")

    made = command(train)
    made.add_argument("folder", metavar="FOLDER", help="where the run goes; the same command takes up a stopped run")
    add_settings(made, _settings().values())
    made.add_argument("--device", help="cpu or cuda; CUDA where present if not given")
    made.add_argument("--threads", type=int, help="CPU threads; as many as cores if not given")
    made.add_argument("--quiet", action="store_true", help="no progress bar")

    made = command(sweep)
    made.add_argument("folder", metavar="FOLDER", help="where the runs go, a folder each; the same command goes on")
    for name, each in _settings().items():
        lists, example = (_whole, "0-4,42") if each.type is int else (_decimal, "0.1,0.25,0.5")
        made.add_argument(option(name), type=lists, metavar="LIST", help=f"such as {example}; default {each.default}")
    made.add_argument("--table", metavar="FILE", help="where the table goes, a row a run (default FOLDER/table.csv)")
    made.add_argument("--jobs", type=int, help="processes of one thread each; as many as cores if not given")
    made.add_argument("--backend", default="loky", help="loky: processes here (default); dask: a cluster's workers")
    made.add_argument("--scheduler", metavar="ADDRESS", help="the Dask scheduler, such as tcp://10.0.0.1:8786")
    made.add_argument("--device", help="cpu or cuda; CUDA where present if not given")
    words = "train runs of one shape in one process, with a leading run dimension (default on CUDA)"
    made.add_argument("--together", action=argparse.BooleanOptionalAction, help=words)
    made.add_argument("--quiet", action="store_true", help="no progress bar")

    made = command(export)
    made.add_argument("folder", metavar="FOLDER", help="the folder of a run")
    made.add_argument("name", metavar="NAME", help="its name in data/runs")
    made.add_argument("--steps", type=_whole, help="checkpoints to take, such as 0,500,2000-3000:100; all if not given")

    made = command(bench)
    made.add_argument("--repeats", type=int, default=40, help="timed repetitions of each row (default 40)")
    return main


def main(argv: list[str] | None = None) -> int:
    """Run one command; bad input gives one line on stderr and exit code 2."""
    return run_command(parser(), argv)


if __name__ == "__main__":
    sys.exit(main())
