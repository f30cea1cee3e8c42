"""How fast a training step is: TransformerLens, the plain and the factored forward, and the floor below them.

And how many whole runs an hour holds: one by one, in and in parallel processes.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

import joblib
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.utils._python_dispatch import TorchDispatchMode

from .circuits import last_logits
from .engine.cli import MOST_THREADS
from .engine.learner import choose_device
from .model import Weights, forward
from .sampling import Batch, training_population
from .task import Split
from .training import StudyLearner, TrainConfig

Step = Callable[[Batch], Tensor]
MOST_REPEATS = 10_000
BLOCK = 5  # runs of a row in one turn, one after the other, as in a training loop
PRODUCTS = {torch.ops.aten.mm.default, torch.ops.aten.bmm.default, torch.ops.aten.addmm.default, torch.ops.aten.baddbmm.default}


class Products(TorchDispatchMode):
    """Keeps every matrix product that runs inside it: the operation, and the shape and strides of its factors."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func in PRODUCTS:
            self.found.append((func, [(tuple(each.shape), each.stride()) for each in args]))
        return func(*args, **(kwargs or {}))


def floor(step: Step, batch: Batch) -> Callable[[], None]:
    """The matrix products of one step, alone: a function that runs the same products on random numbers."""
    with Products() as products:
        step(batch)
    calls = [
        (func, [torch.empty_strided(shape, stride).normal_() for shape, stride in factors]) for func, factors in products.found
    ]

    def run() -> None:
        for func, factors in calls:
            func(*factors)

    return run


def training_step(parameters: list[Tensor], logits: Callable[[Tensor], Tensor], config: TrainConfig) -> Step:
    """One step of AdamW on the loss at `=`: forward, backward, update; it returns the loss."""
    optimizer = torch.optim.AdamW(parameters, lr=config.lr, weight_decay=config.weight_decay, fused=True)

    def step(batch: Batch) -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = cross_entropy(logits(batch.tokens), batch.answers)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def steps(config: TrainConfig) -> dict[str, Step]:
    """The same training step in three ways, from the same initial weights."""
    start = Weights.init(config.task, config.seed, config.d_model, config.d_mlp)
    plain, factored = start.trainable(), start.trainable()
    lens = start.to_transformer_lens().train()
    learned = [parameter for parameter in lens.parameters() if parameter.requires_grad]
    return {
        "TransformerLens step": training_step(learned, lambda tokens: lens(tokens)[:, -1], config),
        "plain step": training_step(list(plain.tensors().values()), lambda tokens: forward(plain, tokens)[:, -1], config),
        "factored step": training_step(list(factored.tensors().values()), lambda tokens: last_logits(factored, tokens), config),
    }


def timings(repeats: int, config: TrainConfig) -> dict[str, float]:
    """Median seconds of each row, timed in turns so that other load falls on all alike.

    Every turn has fresh problems: on a batch learned by heart gradients vanish into slow denormal numbers.
    """
    population = training_population(Split.draw(config.task, config.seed), config.r)
    generator = torch.Generator().manual_seed(0)
    batch = population.sample(config.batch_size, generator)

    def generate() -> None:
        nonlocal batch
        batch = population.sample(config.batch_size, generator)

    timed = {name: lambda step=step: step(batch) for name, step in steps(config).items()}
    floor_of = floor(steps(config)["factored step"], batch)
    rows = {"batch generation": generate, **timed, "floor: matrix products of the factored step": floor_of}
    seconds = {name: [] for name in rows}
    for _ in range(-(-repeats // BLOCK)):
        for name, run in rows.items():
            run()  # untimed: it finds caches and memory as the row before left them
            for _ in range(BLOCK):
                started = time.perf_counter()
                run()
                seconds[name].append(time.perf_counter() - started)
    return {name: median(each) for name, each in seconds.items()}


def _pace(advance: Callable[[], object], steps: int) -> float:
    """Seconds a step takes, from the median of several spans of them."""
    spans = []
    for _ in range(-(-steps // BLOCK)):
        started = time.perf_counter()
        for _ in range(BLOCK):
            advance()
        spans.append((time.perf_counter() - started) / BLOCK)
    return median(spans)


def _pace_alone(config: TrainConfig, steps: int, device: str) -> float:
    """The pace of a trainer in a process of its own, on one thread."""
    torch.set_num_threads(1)
    return _pace(StudyLearner(config, device).advance, steps)


def runs_per_hour(steps: int, config: TrainConfig) -> dict[str, float]:
    """Runs of the config that one hour holds, evaluations aside: one by one, and in parallel processes."""
    device = str(choose_device())
    seconds = {"one by one": _pace(StudyLearner(config, device).advance, steps)}
    jobs = joblib.cpu_count()
    with joblib.Parallel(jobs, batch_size=1) as workers:
        for count in (1, steps):  # the first call starts the workers
            paces = workers(joblib.delayed(_pace_alone)(config, count, device) for _ in range(jobs))
    seconds[f"in {jobs} parallel processes"] = 1 / sum(1 / pace for pace in paces)
    return {name: 3600 / (config.steps * each) for name, each in seconds.items()}


PEAK = """
import re, resource, sys, tempfile, torch
from pathlib import Path
from assign_add_lib import TrainConfig, train
torch.set_num_threads(int(sys.argv[1]))
with tempfile.TemporaryDirectory() as folder:
    train(TrainConfig(steps=40, log_every=20, checkpoint_every=20), folder, "cpu", progress=False)
status = Path("/proc/self/status")
if status.exists():  # on Linux getrusage also counts what the parent process held
    print(int(re.search(r"VmHWM:\\s*(\\d+)", status.read_text())[1]) / 2**10)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2 ** (20 if sys.platform == "darwin" else 10))
"""


def peak_memory(threads: int) -> float:
    """Peak resident memory in MiB of a process that trains the study's network, evaluations and checkpoints included."""
    done = subprocess.run([sys.executable, "-c", PEAK, str(threads)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def table(seconds: dict[str, float], peak: float, hourly: dict[str, float]) -> str:
    """The timings, their ratios and the runs an hour as lines of text."""
    lens, factored = seconds["TransformerLens step"], seconds["factored step"]
    generation, *_, bottom = seconds.values()
    lines = [f"{name:44} {1e3 * each:9.2f} ms  {lens / each:7.1f} x" for name, each in seconds.items()]
    return "\n".join(
        [
            f"{'':44} {'median':>9}     per TransformerLens step",
            *lines,
            f"{'factored step over plain step':44} {seconds['plain step'] / factored:9.1f} x faster",
            f"{'factored step over its floor':44} {factored / bottom:9.2f} x slower",
            f"{'batch generation, share of a factored step':44} {100 * generation / factored:9.1f} %",
            f"{'30 000 steps, evaluations aside':44} {30_000 * (factored + generation) / 60:9.1f} min",
            f"{'peak memory of training':44} {peak:9.0f} MiB",
            *(f"{f'runs per hour, {name}':44} {each:9.1f}" for name, each in hourly.items()),
        ]
    )


def main(repeats: int = 40, threads: int = 1, config: TrainConfig | None = None) -> None:
    """Print the table, measured on this many threads; ValueError where there are none, or far too many."""
    for name, value, most in (("repeats", repeats, MOST_REPEATS), ("threads", threads, MOST_THREADS)):
        if not 1 <= value <= most:
            raise ValueError(f"{name} must be at least 1 and at most {most}, not {value}")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    config = config or TrainConfig()
    try:
        counted = f"{threads} thread{'s' * (threads > 1)}"
        print(f"batch {config.batch_size}, {counted}, torch {torch.__version__}, {repeats} repeats")
        print(table(timings(repeats, config), peak_memory(threads), runs_per_hour(repeats, config)))
    finally:
        torch.set_num_threads(before)
