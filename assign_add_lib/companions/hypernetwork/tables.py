"""What chapter 15 measures on the shipped runs: the list of all its tables.

A measure takes an `ArmSeed` and gives numbers by their entries in the columns of its table, see TABLES.  Those of held-out pairs
use the tasks that the scoreboard uses.
"""

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from ...engine import tidy
from ...engine.manifest import shipped_file
from ...engine.tidy import Numbers, Table
from .analysis import bent_codes, beyond, blends, fitted_codes, kernel_answers, probe, streams, to_latent
from .data import CONTEXT, HELD_OUT, INPUTS, MODULES, PAIRS, SUPPORTS, Tasks, Teacher, execute, mix
from .model import ARMS
from .seeds import SEEDS, ArmSeed
from .training import answers, r_squared, r_squared_of

SHIPPED = "companions/hypernetwork-tables/{}.csv"  # by the name of the table
ASKED, SCORED = 256, 128  # answers of a network that a code or a sum is fitted to, and those on which it is scored
PROBED = ("in distribution", "held-out pairs")  # the tasks on which a probe is scored
HALF_RIGHT = (0.7, 0.8)  # R^2 of the tasks on which errors of equal size are compared
FITTED = ("vanilla", "hypernetwork", "mlp", "told MLP", "blend")  # to whose answers a code and a sum are fitted
ARMS_OF = {
    "connected": ("hypernetwork", "vanilla", "mlp"),
    "disconnected": ("hypernetwork", "vanilla"),
}  # by support, on every pair
# on held-out pairs also to these
MORE_FITTED = ("fairest blend", "bent mixer", "0.6 kernel, 0.4 bent", "0.4 kernel, 0.6 bent", "kernel regression")


def fairest(teacher: Teacher, tasks: Tasks) -> Tensor:
    """Answers (task, questions, OUTPUTS) that add each module's own answer, times its true strength."""
    alone = (execute(mix(tasks.z * one, teacher.modules), teacher.readout, tasks.queries[0]) for one in torch.eye(MODULES))
    return sum(alone)


def all_answers(seed: ArmSeed, tasks: Tasks, nearest: Tensor) -> dict[str, Tensor]:
    """Answers (task, questions, OUTPUTS) of the arms and of the controls; `nearest` are the codes of the nearest seen tasks."""
    teacher, support = seed.teacher, SUPPORTS["connected"]
    found = {arm: answers(seed.run(arm).network(), tasks) for arm in ARMS}
    found["told MLP"] = answers(seed.run("mlp", given_code=True).network(), tasks, True)
    found["blend"] = blends(teacher, support, tasks, (0.1,), chunk=16)[0]
    found["fairest blend"] = fairest(teacher, tasks)
    found["bent mixer"] = bent = teacher.solve(bent_codes(teacher, support, tasks, nearest, 40), tasks.x).queries[1]
    found["nearest seen task"] = teacher.solve(nearest, tasks.x).queries[1]
    found["kernel regression"] = kernel = kernel_answers(tasks, 0.01)
    found |= {f"{share} kernel, {1 - share:.1f} bent": share * kernel + (1 - share) * bent for share in (0.6, 0.4)}
    found["mean of three"] = (found["hypernetwork"] + kernel + bent) / 3
    return found


def floors(seed: ArmSeed) -> Numbers:
    """Mean R^2 on held-out pairs of the floors."""
    return {(solver,): value for solver, value in seed.floors.items()}


def blended(seed: ArmSeed) -> Numbers:
    """The same of the best blend, by the strength of its ridge regression."""
    return {(strength,): value for strength, value in seed.blends.items()}


def errors(seed: ArmSeed) -> Numbers:
    """How alike the errors on held-out pairs are: mean cosines over 1000 tasks, over those that a solver half solves, and over
    those that both it and vanilla half solve.
    """
    tasks, table = seed.tasks(None), {}
    true, found = tasks.queries[1], all_answers(seed, tasks, seed.nearest(tasks))
    off = {solver: (each - true).flatten(1) for solver, each in found.items()}
    r2 = {solver: r_squared(each, true) for solver, each in found.items()}
    alike = {solver: cosine_similarity(error, off["blend"]) for solver, error in off.items()}
    half = {solver: (each > HALF_RIGHT[0]) & (each < HALF_RIGHT[1]) for solver, each in r2.items()}
    for solver, error in off.items():
        both = half[solver] & half["vanilla"]
        measures = {
            "R²": r2[solver].mean(),
            "cosine with the blend": alike[solver].mean(),
            "cosine with the blend, R² 0.7 to 0.8": alike[solver][half[solver]].mean(),
            "same tasks, how many": both.sum(),
            "same tasks, cosine with the blend": alike[solver][both].mean(),
            "same tasks, vanilla's": alike["vanilla"][both].mean(),
            "cosine with vanilla": cosine_similarity(error, off["vanilla"]).mean(),
        }
        table |= {(solver, measure): value for measure, value in measures.items()}
    return table


def unexplained(teacher: Teacher, tasks: Tasks, given: Tensor, start: Tensor) -> tuple[float, float]:
    """Shares of given answers (task, ASKED + SCORED, OUTPUTS) that the best code leaves unexplained, and the best sum.

    Both are fitted to the first ASKED answers and scored on the others: a code of the teacher's own modules, the better of
    searches from the true code and from `start`, and a ridge regression on the answers of seen tasks.
    """
    asked, scored = tasks.queries[0].split([ASKED, SCORED], 1)
    shown, true = given.split([ASKED, SCORED], 1)

    def executor(code, x):
        return execute(mix(code, teacher.modules), teacher.readout, x)

    codes = [fitted_codes(executor, asked, shown, each) for each in (tasks.z, start)]
    off = torch.stack([(executor(code, asked) - shown).square().mean((1, 2)) for code in codes])
    code = torch.stack(codes)[off.argmin(0), torch.arange(len(asked))]
    known = Tasks(tasks.z, tasks.queries[0], given)
    summed = blends(teacher, SUPPORTS["connected"], known, (0.01,), chunk=8, fitted=ASKED)[0]
    return tuple(1 - r_squared(each, true).mean().item() for each in (executor(code, scored), summed))


def mixtures(seed: ArmSeed, n: int = 50) -> Numbers:
    """What the best code and the best sum leave unexplained of n tasks' answers, on held-out pairs and on the support's."""
    table = {}
    asked = {"held-out pairs": (HELD_OUT, FITTED + MORE_FITTED), "in distribution": (SUPPORTS["connected"], FITTED)}
    for where, (support, solvers) in asked.items():
        generator = torch.Generator().manual_seed(5_000_000 + seed.seed)
        tasks = seed.teacher.sample(support, n, generator, queries=ASKED + SCORED)
        nearest = seed.nearest(tasks)
        given = all_answers(seed, tasks, nearest)
        for solver in solvers:
            code, summed = unexplained(seed.teacher, tasks, given[solver], nearest)
            table |= {(solver, "code", where): code, (solver, "sum", where): summed}
    return table


def best_codes(seed: ArmSeed, n: int = 80) -> Numbers:
    """The mlp arm on n held-out pairs with the codes that fit 64 further examples best: R^2, and the share of the loss gone."""
    run, tasks = seed.run("mlp"), seed.tasks(None, n)
    network = run.network()
    x = 2 * torch.rand(n, 64, INPUTS, generator=torch.Generator().manual_seed(1)) - 1
    code = network.code(tasks.context)
    best = fitted_codes(network.executor, x, run.teacher.solve(tasks.z, x).y, code)
    written, right = (r_squared_of(each, network, tasks).mean().item() for each in (code, best))
    return {("mlp", "R², best code"): right, ("mlp", "share of the loss"): (right - written) / (1 - written)}


def codes(seed: ArmSeed, n: int = 200) -> Numbers:
    """Mean R^2 on n held-out pairs with the amortised code, the refined one and the true one; and how many reach 0.99."""
    new, table = seed.tasks(None, n), {}
    for arm, support in [("hypernetwork", each) for each in SUPPORTS] + [("mlp", "connected")]:
        network = seed.run(arm, support).network()
        known, code = seed.tasks(support, 1000, 1), network.code(new.context)
        used = {
            "amortised": code,
            "refined": fitted_codes(network.executor, *new.context, code),
            "true code": new.z @ to_latent(known.z, network.code(known.context)),
        }
        r2 = {name: r_squared_of(each, network, new) for name, each in used.items()}
        table |= {(arm, support, name, "R²"): each.mean() for name, each in r2.items()}
        table[arm, support, "refined", "tasks above 0.99"] = (r2["refined"] > 0.99).sum()
    return table


def unstructured(seed: ArmSeed, n: int = 200) -> Numbers:
    """The hypernetwork arm of an unstructured teacher on n tasks of the support, with its codes and with the best: mean R^2.

    The best are those that fit ASKED / 2 further examples.
    """
    run = seed.run("hypernetwork", structured=False)
    tasks = run.teacher.sample(SUPPORTS["connected"], n, torch.Generator().manual_seed(1), queries=ASKED // 2 + 32)
    (shown, asked), (known, true) = (each.split([ASKED // 2, 32], 1) for each in tasks.queries)
    network = run.network()
    code = network.code(tasks.context)
    used = {"as written": code, "best code": fitted_codes(network.executor, shown, known, code, 300)}
    return {(name,): r_squared(network.executor(each, asked), true).mean() for name, each in used.items()}


class Encoder:
    """What an encoder writes for tasks, read in the basis of z; the basis is found on tasks of the support."""

    def __init__(self, seed: ArmSeed):
        known, self.network, self.teacher = seed.tasks("connected", 1000, 1), seed.run("hypernetwork").network(), seed.teacher
        self.to_latent = to_latent(known.z, self.network.code(known.context))

    def read(self, context: tuple[Tensor, Tensor]) -> Tensor:
        """Codes (task, MODULES)."""
        return self.network.code(context) @ torch.linalg.inv(self.to_latent)

    def r_squared(self, code: Tensor, tasks: Tasks) -> Tensor:
        """R^2 of each task, (task,), as the executor is given these codes."""
        return r_squared_of(code @ self.to_latent, self.network, tasks)


def lasting(encoder: Encoder, z: Tensor, draws: int = 32) -> tuple[Tensor, float]:
    """The mean error (task, MODULES) of written codes over redrawn examples, and the share of the squared error beside it.

    The tasks z stay; each gets `draws` new sets of examples.
    """
    again = z.repeat_interleave(draws, 0)
    x = 2 * torch.rand(len(again), CONTEXT, INPUTS, generator=torch.Generator().manual_seed(9)) - 1
    off = (encoder.read((x, encoder.teacher.solve(again, x).y)) - again).unflatten(0, (len(z), draws))
    mean = off.mean(1)
    changing = (off - mean[:, None]).square().sum() / (draws - 1)  # without bias: the mean was fitted to the draws
    return mean, (changing / off.square().mean(1).sum()).item()


def pairs(seed: ArmSeed, n: int = 100) -> Numbers:
    """Mean R^2 of the arms on n tasks of every pair of modules, such as "2 5", by the support that they were trained on."""
    table = {}
    for place, pair in enumerate(PAIRS):
        generator = torch.Generator().manual_seed(6_000_000 + 100 * seed.seed + place)
        tasks = seed.teacher.sample([pair], n, generator, queries=32)
        for support, arms in ARMS_OF.items():
            for arm in arms:
                answered = answers(seed.run(arm, support).network(), tasks)
                table[support, arm, "{} {}".format(*pair)] = r_squared(answered, tasks.queries[1]).mean()
    return table


def swapped(seed: ArmSeed, n: int = 400) -> Numbers:
    """Mean R^2 of the executors that were trained with the true code, on n tasks: with this, and with what an encoder writes.

    It is that of the hypernetwork arm, read in the basis of z.
    """
    encoder, table = Encoder(seed), {}
    for where, support in zip(PROBED, ("connected", None)):
        tasks = seed.tasks(support, n)
        asked, true = tasks.queries
        for arm in ("hypernetwork", "mlp"):
            executor = seed.run(arm, given_code=True).network()
            for name, code in (("true", tasks.z), ("written", encoder.read(tasks.context))):
                table[arm, name, where] = r_squared(executor(code, asked), true).mean()
    return table


def gaps(seed: ArmSeed, n: int = 400) -> Numbers:
    """Of the hypernetworks that were told the code, on n held-out pairs: what their mixtures are beyond sums of answers.

    As a share of the teacher's, the slope of the one on the other; R^2 of these sums against the teacher's; and how alike the two
    halves of the modules use the hidden units: the correlation of each unit's mean length in them, times that of its readout.
    """
    tasks, table = seed.tasks(None, n), {}
    asked, true = tasks.queries
    summed = fairest(seed.teacher, tasks)
    for support in SUPPORTS:
        network = seed.run("hypernetwork", support, given_code=True).network()
        own = sum(network(tasks.z * one, asked) for one in torch.eye(MODULES))
        gap, right = network(tasks.z, asked) - own, true - summed
        used = network.modules_.norm(dim=2) * network.readout.norm(dim=0)
        table |= {
            (support, "gap, share of the teacher's"): (gap * right).sum() / right.square().sum(),
            (support, "R² of the sums"): r_squared(own, summed).mean(),
            (support, "units used alike"): torch.corrcoef(torch.stack([half.mean(0) for half in used.chunk(2)]))[0, 1],
        }
    return table


def mean_of_pairs(off: Tensor, z: Tensor) -> Tensor:
    """The mean of errors (task, MODULES) over all tasks of the same pair, for each task."""
    pair = (z > 0).float() @ 2.0 ** torch.arange(MODULES)  # a number for each pair
    same = (pair[:, None] == pair).float()
    return same @ off / same.sum(1, keepdim=True)


def written(seed: ArmSeed, n: int = 2000, kept: int = 100) -> Numbers:
    """What the hypernetwork's encoder writes for n held-out pairs, read in the basis of z, and how far it bends them.

    For `kept` of them, which part of the error lasts when the examples are drawn again.
    """
    encoder, new = Encoder(seed), seed.tasks(None, n)
    some, read = Tasks(*(each[:kept] for each in new)), encoder.read(new.context)
    order = new.z.argsort(1, descending=True)  # stronger, weaker, the six others
    off = (read - new.z).gather(1, order)
    mean = torch.cat([off[:, :2].mean(0), off[:, 2:].mean().expand(MODULES - 2)])
    ratio = 1 + off[:, 1] / new.z.gather(1, order)[:, 1]
    away, truly = (beyond(each, SUPPORTS["connected"]).sqrt() for each in (read, new.z))
    lasts, changing = lasting(encoder, some.z)
    r2, of_task = encoder.r_squared(read, new), encoder.r_squared(some.z + lasts, some).mean()
    found = {
        "R², true code": encoder.r_squared(new.z, new).mean(),
        "R², its mean error only": encoder.r_squared(new.z.scatter_add(1, order, mean.expand(n, -1)), new).mean(),
        "R², its pair's mean error only": encoder.r_squared(new.z + mean_of_pairs(read - new.z, new.z), new).mean(),
        "R², as written": r2.mean(),
        "R², its task's mean error only": of_task,
        "share of the loss, task's mean error": (1 - of_task) / (1 - r2[:kept].mean()),
        "share of the squared error that changes with the examples": changing,
        "stronger, written less true": mean[0],
        "weaker, written less true": mean[1],
        "each other, written less true": mean[2],
        "weaker, written / true, 5%": ratio.quantile(0.05),
        "weaker, written / true, 95%": ratio.quantile(0.95),
        "bent towards the support": 1 - away.mean() / truly.mean(),
        "moved away": (away > truly).float().mean(),
    }
    return {(name,): value for name, value in found.items()}


def probes(seed: ArmSeed) -> Numbers:
    """R^2 of linear probes of the code by depth, fitted to tasks of the support: on others of these, and on held-out pairs.

    States are trained and untrained networks; and trained ones with the codes of the tasks shuffled.
    """
    table, codes = {}, [tasks.z for tasks in seed.probed]
    generator = torch.Generator().manual_seed(seed.seed)
    shuffled = [each[torch.randperm(len(each), generator=generator)] for each in codes]
    for arm in ("hypernetwork", "vanilla"):
        run = seed.run(arm)
        for state, network in (("trained", run.network()), ("untrained", run.config.network().requires_grad_(False))):
            seen = [streams(network, tasks) for tasks in seed.probed]
            for place, depths in seen[0].items():
                wanted = [(state, depth, codes) for depth in range(len(depths))]
                wanted += [("shuffled", len(depths) - 1, shuffled)] if state == "trained" else []
                for name, depth, true in wanted:
                    fitted, *others = zip((each[place][depth] for each in seen), true)
                    table |= {(arm, name, place, depth, of): value for of, value in zip(PROBED, probe(*fitted, *others))}
    return table


def probes_of_answers(seed: ArmSeed) -> Numbers:
    """The same from the answers of both arms; and, without a network, of a kernel regression, or the slopes of a plain one."""
    sources = ("vanilla", "hypernetwork", "kernel regression", "slopes")
    return {(source, of): value for source in sources for of, value in zip(PROBED, seed.legible_outside(source))}


TABLES = {
    "floors": Table(("solver",), floors),
    "blends": Table(("strength",), blended),
    "errors": Table(("solver", "measure"), errors),
    "mixtures": Table(("solver", "fitted", "tasks"), mixtures),
    "codes": Table(("arm", "support", "code", "measure"), codes),
    "best_codes": Table(("arm", "measure"), best_codes),
    "unstructured": Table(("code",), unstructured),
    "written": Table(("measure",), written),
    "pairs": Table(("support", "arm", "pair"), pairs),
    "swapped": Table(("executor", "code", "tasks"), swapped),
    "gaps": Table(("support", "measure"), gaps),
    "probes": Table(("arm", "state", "place", "depth", "tasks"), probes),
    "probes_of_answers": Table(("source", "tasks"), probes_of_answers),
}


def measured(name: str) -> pd.DataFrame:
    """The rows of a table, measured on the shipped runs: its columns, `seed` and `value`."""
    return tidy.measured(TABLES[name], {seed: ArmSeed(seed) for seed in SEEDS})


def load_tables() -> dict[str, pd.DataFrame]:
    """The shipped tables by name, a column a seed; FileNotFoundError or ValueError where one is missing or damaged."""
    return {name: tidy.read_table(shipped_file(SHIPPED.format(name))) for name in TABLES}
