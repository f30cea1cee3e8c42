"""What a trained arm holds and what it could have done: probes of the code, refined codes, and floors to compare with."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from .data import CONTEXT, MODULES, WEAKEST, Support, Tasks, Teacher, mix
from .model import Bottleneck

Executor = Callable[[Tensor, Tensor], Tensor]  # from codes (task, MODULES) and inputs (task, n, INPUTS) to answers


@torch.no_grad()
def streams(network: nn.Module, tasks: Tasks) -> dict[str, list[Tensor]]:
    """The residual stream (task, d_model) at each depth, embedding first: at one reading token, and averaged over the context.

    The reading token is the summary token, or in the vanilla arm the token of the first question.  After the last layer it is
    normalised, as what reads it there is linear in this alone.  Nothing reads the context there: its mean ends one layer before.
    """
    transformer = network.transformer
    *depths, last = transformer.residuals(tasks.context, tasks.queries[0][:, :1])
    return {
        "reading token": [*(each[:, CONTEXT] for each in depths), transformer.norm(last[:, CONTEXT])],
        "context mean": [each[:, :CONTEXT].mean(1) for each in depths],
    }


def at_fixed_questions(tasks: Tasks, n: int = 128) -> Tasks:
    """The same examples with n questions that are the same for all tasks; the answers stay those of the old questions."""
    fixed = 2 * torch.rand(n, tasks.x.shape[2], generator=torch.Generator().manual_seed(5)) - 1
    return tasks._replace(x=torch.cat([tasks.context[0], fixed.expand(len(tasks.x), -1, -1)], 1))


def probe(seen: Tensor, codes: Tensor, *others: tuple[Tensor, Tensor], strength: float = 1.0) -> list[float]:
    """R^2 of a ridge regression from activations (task, d) to codes (task, MODULES), on each of the other (activations, codes).

    It is fitted on the first pair alone; activations are standardised by it.
    """
    from sklearn.linear_model import Ridge  # here, as its import would cost every process a second
    from sklearn.metrics import r2_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fitted = make_pipeline(StandardScaler(), Ridge(strength)).fit(seen.numpy(), codes.numpy())
    return [float(r2_score(true.numpy(), fitted.predict(each.numpy()))) for each, true in others]


@torch.enable_grad()
def descend(loss: Callable[[Tensor], Tensor], start: Tensor, steps: int = 200, best: bool = False) -> Tensor:
    """Codes (task, MODULES) of small loss, (task,) of the codes, by Adam from `start` on; nothing but the codes changes.

    With `best` each task keeps the code of least loss on the way.
    """
    code = start.detach().clone().requires_grad_()
    kept, least = code.detach().clone(), torch.full((len(code),), torch.inf)
    optimizer = torch.optim.Adam([code], 0.05)
    for step in range(steps + 1):
        losses = loss(code)
        better = losses < least
        kept[better], least = code.detach()[better], torch.minimum(losses.detach(), least)
        if step < steps:
            optimizer.zero_grad()
            losses.sum().backward()
            optimizer.step()
    return kept if best else code.detach()


def misfit(executor: Executor, x: Tensor, y: Tensor) -> Callable[[Tensor], Tensor]:
    """The mean squared error (task,) of answers y (task, n, OUTPUTS), as a function of the executor's codes (task, MODULES)."""
    return lambda code: (executor(code, x) - y).square().mean((1, 2))


def fitted_codes(executor: Executor, x: Tensor, y: Tensor, start: Tensor, steps: int = 200) -> Tensor:
    """Codes (task, MODULES) with which an executor comes nearest to answers y (task, n, OUTPUTS) to x (task, n, INPUTS)."""
    return descend(misfit(executor, x, y), start, steps)


def refine(network: Bottleneck, tasks: Tasks, steps: int = 300) -> Tensor:
    """Codes (task, MODULES) that fit the solved examples best, searched from the amortised code on, without the questions."""
    return descend(misfit(network.executor, *tasks.context), network.code(tasks.context), steps, best=True)


def ridge_slopes(tasks: Tasks, strength: float = 1.0) -> Tensor:
    """Slopes (task, INPUTS, OUTPUTS) of a ridge regression with intercept on each task's own examples."""
    x, y = (each - each.mean(1, keepdim=True) for each in tasks.context)
    return torch.linalg.solve(x.mT @ x + strength * torch.eye(x.shape[2]), x.mT @ y)


def ridge_answers(tasks: Tasks, strength: float) -> Tensor:
    """Floor: answers (task, questions, OUTPUTS) of a ridge regression with intercept on each task's own examples."""
    x, y = tasks.context
    return (tasks.queries[0] - x.mean(1, keepdim=True)) @ ridge_slopes(tasks, strength) + y.mean(1, keepdim=True)


def relu_kernel(x: Tensor, other: Tensor) -> Tensor:
    """E[relu(w x) relu(w x')] over Gaussian w of unit variance: (task, n, d), (task, m, d) -> (task, n, m) (Cho and Saul)."""
    lengths = x.norm(dim=2)[:, :, None] * other.norm(dim=2)[:, None]
    cosine = (x @ other.mT / lengths).clamp(-1, 1)
    angle = cosine.acos()
    return lengths * (angle.sin() + (torch.pi - angle) * cosine) / (2 * torch.pi)


def kernel_answers(tasks: Tasks, strength: float) -> Tensor:
    """Floor: answers (task, questions, OUTPUTS) of kernel ridge regression on each task's own examples.

    The kernel knows the form of the teacher, one ReLU layer without biases, and none of its modules.
    """
    x, y = tasks.context
    inner = relu_kernel(x, x) + strength * torch.eye(x.shape[1])
    return relu_kernel(tasks.queries[0], x) @ torch.linalg.solve(inner.double(), y.double()).float()


def bank(support: Support, grid: int = 9) -> Tensor:
    """Codes (task, MODULES) that cover a support: every combination, each active module on a grid over [WEAKEST, 1]."""
    levels = torch.linspace(WEAKEST, 1, grid)
    codes = []
    for modules in support:
        levels_of = torch.cartesian_prod(*[levels] * len(modules)).reshape(-1, len(modules))
        codes.append(torch.zeros(len(levels_of), MODULES).index_copy(1, torch.tensor(modules), levels_of))
    return torch.cat(codes)


def nearest_codes(teacher: Teacher, support: Support, tasks: Tasks, chunk: int = 64) -> Tensor:
    """Code (task, MODULES) of the teacher's own task of the support that fits each task's examples best."""
    known = bank(support)
    W = mix(known, teacher.modules)  # (known, HIDDEN, INPUTS)
    chosen = []
    for x, y in zip(*(each.split(chunk) for each in tasks.context)):
        answered = torch.einsum("kui,tni->tknu", W, x).relu() @ teacher.readout.T
        chosen.append((answered - y[:, None]).square().sum((2, 3)).argmin(1))
    return known[torch.cat(chosen)]


def beyond(codes: Tensor, support: Support) -> Tensor:
    """Squared length (task,) of what is left of codes (task, MODULES) without the modules of the nearest combination."""
    outside = torch.stack([torch.ones(MODULES).index_fill(0, torch.tensor(modules), 0) for modules in support])
    return (codes.square() @ outside.T).amin(1)


def bent_codes(teacher: Teacher, support: Support, tasks: Tasks, start: Tensor, pull: float) -> Tensor:
    """Control: codes (task, MODULES) for the teacher's own modules that fit the examples and stay near the support.

    From `start` on, by the sum of squared errors plus `pull` times the squared distance from the support.
    """
    x, y = tasks.context

    def loss(code: Tensor) -> Tensor:
        return (teacher.solve(code, x).y - y).square().sum((1, 2)) + pull * beyond(code, support)

    return descend(loss, start, 150)


def blends(
    teacher: Teacher, support: Support, tasks: Tasks, strengths: tuple[float, ...], chunk: int = 64, fitted: int = CONTEXT
) -> Tensor:
    """Control: answers (strength, task, questions, OUTPUTS) of the sum of seen tasks that fits the examples best, by ridge.

    It adds up the answers of the teacher's own tasks in the bank, and never mixes modules within the task network.  The first
    `fitted` inputs of each task are the examples, the others the questions.
    """
    W = mix(bank(support, 5), teacher.modules)  # (known, HIDDEN, INPUTS)
    found = []
    for x, y in zip(tasks.x.split(chunk), tasks.y[:, :fitted].split(chunk)):
        hidden = torch.einsum("kui,tni->tnku", W, x).relu()
        known = torch.einsum("tnku,ou->tnok", hidden, teacher.readout) / len(W) ** 0.5  # (task, n, OUTPUTS, known)
        seen, asked = known[:, :fitted].flatten(1, 2), known[:, fitted:].flatten(1, 2)
        inner, between = (seen @ seen.mT).double(), asked @ seen.mT
        for_each = []
        for strength in strengths:
            weights = torch.linalg.solve(inner + strength * torch.eye(seen.shape[1]), y.flatten(1)[..., None].double())
            for_each.append((between @ weights.float())[..., 0].unflatten(1, (-1, y.shape[2])))
        found.append(torch.stack(for_each))
    return torch.cat(found, 1)


def to_latent(codes: Tensor, latents: Tensor) -> Tensor:
    """The linear map (MODULES, MODULES) that takes true codes to a network's latent codes best, by least squares."""
    return torch.linalg.lstsq(codes, latents).solution
