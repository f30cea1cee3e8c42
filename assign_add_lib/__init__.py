"""Assign and Add: how a small transformer learns to compose variable binding with modular addition.

A map of the package.  Each entry imports only entries above it in this list.

    engine/        what any system needs: learner, run folder, files, sweep, command line, scoreboard
    task           problems, their tokens, and what training never sees           chapter 1
    sampling       whole batches of problems                                      chapter 1
    model          the network's weights and its one plain forward                chapters 2, 5 to 11
    circuits       the tables over 90 embeddings, and the factored forward        chapters 2, 3, 5, 8
    measures       accuracies and the seven progress measures                     chapters 3, 11
    handmade       the network written by hand                                    chapter 10
    training       config, learner and runs of the study's network                chapter 3
    speed          the table of speeds                                            chapter 3
    analysis/      mistakes, shortcuts, statistics, fourier, probes, interventions, causal, scores,
                   rivals, phases, history, delays, uneven                        chapters 1, 4 to 12
    theory/        the gradient theorem                                           chapter 13
    proof/         for all problems: attack, repairs, bounds and certificates     chapter 18
    claims/        what the study says, put to the runs                           chapter 12
    companions/    systems from elsewhere, in files of the same names             part IV
    laboratory/    the study's world varied: worlds, and what they predict        part V
    systems        every system, defined once
    views/         figures, attention, sliders, networks that answer in the page  all chapters
    checks/        the exercises' checks, a module a chapter                      all chapters
"""

from importlib import import_module

TYPE_CHECKING = False  # to type checkers true; `typing` itself takes a while, in which Ctrl-C would show where it is
if TYPE_CHECKING:
    from .circuits import last_logits
    from .model import Weights, forward, run
    from .task import Problem, Split, Task
    from .training import TrainConfig, load_run, train

__all__ = ["Problem", "Split", "Task", "TrainConfig", "Weights", "forward", "last_logits", "load_run", "run", "train"]
__version__ = "1.0.0"

_HOMES = {"circuits": ("last_logits",), "model": ("Weights", "forward", "run"), "task": ("Problem", "Split", "Task")}
_HOMES["training"] = ("TrainConfig", "load_run", "train")


def __getattr__(name: str):
    """Import a public name where it is first asked for: torch takes seconds, and the command line must react to Ctrl-C."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
