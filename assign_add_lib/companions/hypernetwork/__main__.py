"""The command line: python -m assign_add_lib.companions.hypernetwork train | study | export."""

import argparse
import os
import sys
from dataclasses import fields
from pathlib import Path

import joblib
import torch

from ...cli import Parser, add_settings, command_line, run_command
from ...runs import export as export_run
from ...sweep import end_with
from .training import STUDY, ArmConfig, ArmRun, train

MODULE = "assign_add_lib.companions.hypernetwork"
HOME = Path("runs/hypernetwork")


def _train(args: argparse.Namespace) -> None:
    """Train one arm, or go on with a run that was stopped."""
    config = ArmConfig(**{each.name: getattr(args, each.name) for each in fields(ArmConfig)})
    if args.threads < 1:
        raise ValueError(f"threads must be at least 1, not {args.threads}")
    torch.set_num_threads(args.threads)
    folder = train(config, args.folder or HOME / config.name, args.device, not args.quiet, command_line(MODULE))
    print(f"finished: {folder}")


def _finish(config: ArmConfig, folder: Path, device: str | None, command: str) -> str:
    """Bring one run to its end, from wherever it stands; returns how that went."""
    torch.set_num_threads(1)
    try:
        if (folder / "config.json").exists():
            run = ArmRun(folder)
            if run.config == config and run.steps[-1:] == [config.steps]:
                return "stands finished"
        train(config, folder, device, progress=False, command=command)
    except (ValueError, OSError) as error:
        return f"failed: {error}"
    return "finished"


def _study(args: argparse.Namespace) -> None:
    """Train every run that the chapter reads; the same command goes on where it was stopped."""
    if args.jobs is not None and args.jobs < 1:
        raise ValueError(f"jobs must be at least 1, not {args.jobs}")
    configs = [ArmConfig(**each, seed=seed) for seed in dict.fromkeys(args.seeds) for each in STUDY]

    def one(config):
        return config.name, _finish(config, args.folder / config.name, args.device, command_line(MODULE))

    outcomes, place = {}, {"inner_max_num_threads": 1, "initializer": end_with, "initargs": (os.getpid(),)}
    with joblib.parallel_config("loky", n_jobs=args.jobs or joblib.cpu_count(), **place):
        work = joblib.Parallel(return_as="generator_unordered", batch_size=1)
        for name, outcome in work(joblib.delayed(one)(config) for config in configs):
            outcomes[name] = outcome
            print(f"{len(outcomes)} of {len(configs)}  {name}: {outcome}", flush=True)
    if failed := [f"{name} {outcome}" for name, outcome in outcomes.items() if outcome.startswith("failed")]:
        raise ValueError(f"{len(failed)} of {len(configs)} runs failed: {'; '.join(failed)}")


def _export(args: argparse.Namespace) -> None:
    """Copy the last weights of finished runs into data/companions/hypernetwork, as float16."""
    for folder in args.folders:
        run = ArmRun.open(folder)
        if run.steps[-1:] != [run.config.steps]:
            raise ValueError(f"{folder} is not finished")
        print(f"exported: {export_run(folder, run.config.name, [run.config.steps], kind=ArmRun)}")


def parser() -> Parser:
    """The parser of every command and its options."""
    main = Parser(prog=f"python -m {MODULE}", description="Transformers that compose modules in context, or do not.")
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(function):
        made = commands.add_parser(function.__name__[1:], help=function.__doc__, description=function.__doc__)
        made.set_defaults(function=function)
        return made

    def device(made):
        made.add_argument("--device", help="cpu or cuda; CUDA where present if not given")

    made = command(_train)
    add_settings(made, fields(ArmConfig))
    made.add_argument("--folder", type=Path, help=f"where the run goes; {HOME}/ and its name if not given")
    made.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    made.add_argument("--quiet", action="store_true", help="no progress bar")
    device(made)

    made = command(_study)
    made.add_argument("--folder", type=Path, default=HOME, help=f"where the runs go, a folder each (default {HOME})")
    made.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="default 0 1 2")
    made.add_argument("--jobs", type=int, help="processes of one thread each; as many as cores if not given")
    device(made)

    made = command(_export)
    made.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="the folders of finished runs")
    return main


def main(argv: list[str] | None = None) -> int:
    """Run one command; bad input gives one line on stderr and exit code 2."""
    return run_command(parser(), argv)


if __name__ == "__main__":
    sys.exit(main())
