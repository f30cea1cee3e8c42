"""The command line: python -m assign_add_lib train | sweep | export | board | world | solve | attack | certify | bench."""

import sys

from .engine.interrupt import listen, stop_at_once

if __name__ == "__main__":
    stop_at_once()

import argparse
from collections.abc import Sequence


def solve(args: argparse.Namespace) -> None:
    """Let a trained network answer one problem."""
    from .circuits import last_logits
    from .task import Problem
    from .training import load_run

    run = load_run(args.run)
    problem = Problem.parse(args.problem, run.task)
    step = run.steps[-1] if args.step is None and run.steps else args.step
    tokens = problem.tokens(args.spread)[None]
    probability, answer = last_logits(run.weights(step), tokens).softmax(1).max(1)
    print(problem)
    print(f"network: {answer.item()}  (probability {probability.item():.3f}, run {run.name}, step {step})")
    print(f"true:    {problem.answer}")


def _solve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("problem", metavar="TEXT", help='a problem, such as "c=1, b=17, a=42, b+19=?"')
    parser.add_argument("--run", default="seed-42", help="a shipped run, or the folder of your own (default seed-42)")
    parser.add_argument("--step", type=int, help="a checkpoint of that run, the last if not given")
    parser.add_argument("--spread", type=int, metavar="SEED", help="spread the PADs by this seed instead of packing left")


def world(args: argparse.Namespace) -> None:
    """Train worlds from their files with several seeds, measure what each predicts, and write its page; run it again to go on."""
    from .engine.cli import command_line, one_line
    from .laboratory.follow import follow
    from .views.figures.worlds import accuracies_of

    settings = {"jobs": args.jobs, "device": args.device, "progress": not args.quiet, "command": command_line()}
    for line in follow(args.files, args.folder, args.seed, accuracies_of, **settings):
        print(one_line(line))


def _world_arguments(parser: argparse.ArgumentParser) -> None:
    from .engine.cli import whole_numbers

    parser.add_argument("files", metavar="WORLD", nargs="+", help="a world's file, or the name of one that comes with the book")
    parser.add_argument("--folder", default="runs/laboratory", help="where runs and pages go (default runs/laboratory)")
    parser.add_argument("--seed", type=whole_numbers, default=[0, 1, 2], metavar="LIST", help="default 0-2")
    parser.add_argument("--jobs", type=int, help="number of processes, one thread each (default: one per core)")
    parser.add_argument("--device", help="cpu or cuda (default: CUDA if there is one)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def attack(args: argparse.Namespace) -> None:
    """Search for the worst that can stand beside questions, and write what was found; run it again to go on."""
    from .engine.cli import one_line
    from .proof.broken import KINDS, attack_run

    kinds = args.kind or KINDS
    found = attack_run(args.run, args.output, kinds, args.questions, args.seed, args.step, args.jobs, not args.quiet)
    for kind in kinds:
        rows = found[found["kind"] == kind].sort_values("margin")
        wrong, worst = int((rows["margin"] < 0).sum()), rows.iloc[0]
        print(f"{kind}: {wrong} of {len(rows)} questions broken; least margin {worst['margin']:.2f}")
        print(one_line(f"{worst['problem']} answered with {worst['answer']}"))
    print(f"written: {args.output}")


def _attack_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a shipped run, or the folder of your own")
    parser.add_argument("--kind", action="append", metavar="KIND", help='such as "2-var"; default: all kinds')
    parser.add_argument("--questions", type=int, default=128, metavar="N", help="of each kind (default 128)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="decides questions and search (default 0)")
    parser.add_argument("--step", type=int, metavar="N", help="a checkpoint of that run, the last if not given")
    parser.add_argument("--output", default="attack.csv", metavar="FILE", help="where the problems go (default attack.csv)")
    parser.add_argument("--jobs", type=int, metavar="N", help="number of processes, one thread each (default: one per core)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def certify(args: argparse.Namespace) -> None:
    """Prove for which questions a run is right whatever stands beside them, and write a certificate, or check one."""
    from .proof.certificate import certify_run, check_run

    if args.check is not None:
        print(check_run(args.run, args.check, args.jobs, not args.quiet))
        return
    questions = args.pairs if args.question is None else args.question
    settings = {"seed": args.seed, "step": args.step, "jobs": args.jobs, "progress": not args.quiet}
    found = certify_run(args.run, args.output, questions, args.most, args.sharpen, **settings)
    for most in range(args.most + 1):
        proved = sum(question["most"] >= most for question in found)
        print(f"beside at most {most} assignments: {proved} of {len(found)} questions proved")
    print(f"written: {args.output}")


def _certify_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a shipped run, or the folder of your own")
    parser.add_argument("--check", metavar="FILE", help="recompute all that a certificate of this run says, and nothing else")
    parser.add_argument("--output", default="certificate.json", metavar="FILE", help="where it goes (default certificate.json)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--pairs", type=int, metavar="N", help="of how many plain sums, drawn at random (default 16)")
    words = 'of this question, such as "10+23=?" or "k=0, k+42=?"; may be given several times'
    which.add_argument("--question", action="append", metavar="TEXT", help=words)
    words = "assignments that may stand beside those asked for (default 2)"
    parser.add_argument("--most", type=int, default=2, metavar="K", help=words)
    words = "multiply the scores of layers 1 and 2 before (default 1 1)"
    parser.add_argument("--sharpen", type=float, nargs=2, default=[1.0, 1.0], metavar=("A", "B"), help=words)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="decides which sums (default 0)")
    parser.add_argument("--step", type=int, metavar="N", help="a checkpoint of that run, the last if not given")
    parser.add_argument("--jobs", type=int, metavar="N", help="number of processes, one thread each (default: one per core)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def bench(args: argparse.Namespace) -> None:
    """Measure the speed of a training step, side by side with TransformerLens."""
    from .speed import main

    main(args.repeats, args.threads)


def _bench_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repeats", type=int, default=40, help="timed repetitions of each row (default 40)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1, as each run of a sweep has)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; bad input gives one line on stderr and exit code 2."""
    from .engine.cli import refuse, run_command
    from .systems import SYSTEMS

    listen()
    try:
        others = {"world": (world, _world_arguments), "solve": (solve, _solve_arguments)}
        others |= {"attack": (attack, _attack_arguments), "certify": (certify, _certify_arguments)}
        others["bench"] = bench, _bench_arguments
        return run_command(SYSTEMS, others, argv)
    except KeyboardInterrupt:
        return refuse("stopped; train, sweep, attack and certify continue when the same command is run again") + 128


if __name__ == "__main__":
    sys.exit(main())
