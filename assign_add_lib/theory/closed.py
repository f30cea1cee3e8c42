"""The gradient in closed form: expectations, first order and exact gradient, the theorem's terms, bounds and scores."""

import math

import torch
from torch import Tensor

from .setting import KAPPA, Setting, coordinates, dimensions


def _sums(setting: Setting) -> dict[str, Tensor]:
    """Sums of basis vectors (D,), by name."""
    task, at, room = setting.task, coordinates(setting.task), setting.task.room
    position = at["position"].start
    places = {name: torch.arange(block.start, block.stop) for name, block in at.items()}
    places |= {
        "name slots": position + torch.arange(0, room, 2),
        "number slots": position + torch.arange(1, room, 2),
        "before operands": position + torch.arange(room + 1),
        "left": torch.tensor([position + task.left]),
        "right": torch.tensor([position + task.right]),
        "q0": torch.tensor([position + task.last, task.equal]),
    }
    result = {}
    for name, place in places.items():
        result[name] = torch.zeros(dimensions(task), dtype=torch.float64)
        result[name][place] = 1
    return result


def _matched(setting: Setting, row: str, column: str) -> Tensor:
    """Sum over i of row_i x column_i, (D, D)."""
    at, result = coordinates(setting.task), torch.zeros(2 * [dimensions(setting.task)], dtype=torch.float64)
    result[at[row], at[column]].fill_diagonal_(1)
    return result


def expected_product(setting: Setting, w_x: float, w_y: float, w_z: float, rest: float, correlation: float = 0) -> Tensor:
    """E[(sum of w_t r_t) x r_=], (D, D), where all positions but those of x, y and z have the weight `rest`.

    `correlation` says how x depends on y: 0 if not at all, 1 if x = y, -1/(N - 1) if x is any other number.
    """
    task, K, M = setting.task, setting.assignments, setting.slots
    N, V, s = task.n_numbers, task.n_variables, _sums(setting)
    left, right = setting.rho_at
    query = s["q0"] + s["moved variable"] / V + s["moved number"] / N
    key = w_x * s["number slots"] / M + rest * (s["before operands"] - s["number slots"] / M)
    key += w_z * (left * s["left"] + right * s["right"]) + w_y * (right * s["left"] + left * s["right"])
    key += (w_x + w_y + (K - 1) * rest) / N * s["number"] + rest / N * s["moved number"]
    key += (w_z + K * rest) / V * s["variable"] + (w_x + K * rest) / V * s["moved variable"]
    key += rest * (s["q0"] + s["+"] + (task.room - 2 * K) * s["PAD"])

    # the query depends on z and y alone; what the key holds of them, and of what depends on them
    apart = -(K - 1) / (V - 1)  # the distractors' variables differ from z
    by_variable = (w_z + rest * (1 + apart)) * _centred(setting, "variable", "moved variable")
    by_variable += (w_x + rest * (1 + apart)) * _centred(setting, "moved variable", "moved variable")
    by_number = (w_y + correlation * w_x) * _centred(setting, "number", "moved number")
    by_number += rest * _centred(setting, "moved number", "moved number")
    return torch.outer(key, query) + by_variable + by_number


def _centred(setting: Setting, row: str, column: str) -> Tensor:
    """E[row_i x column_i] - E[row_i] x E[column_i] over i, (D, D)."""
    s = _sums(setting)
    n = s[row].sum()
    return (_matched(setting, row, column) - torch.outer(s[row], s[column]) / n) / n


def first_order(setting: Setting) -> Tensor:
    """U, the limit of -gradient / gamma as gamma goes to 0, for any number of assignments.  Evidence 13."""
    a, e, K, N = setting.alpha, setting.epsilon, setting.assignments, setting.task.n_numbers
    c = 2 * a * e * (1 - 1 / N)
    chance = 2 * e * (-(a**2) + e * (1 - e) + (K - 1) * e * (1 - 2 * e))
    main = expected_product(setting, c * (1 - 2 * e), c * (1 - 2 * a), -2 * a * c, -2 * e * c)
    return main + chance / N * _centred(setting, "number", "moved number")


def mean_pulls(setting: Setting) -> list[tuple[float, float, float, float]]:
    """For K = 1, exactly and for any gamma: (probability, pull on r_y, pull on r_x, correlation) if x = y and if not."""
    a, e, gamma, N = setting.alpha, setting.epsilon, setting.gamma, setting.task.n_numbers
    # what 2y, 2x and x + y have in the softmax above the 1 of all other sums
    twice_y, twice_x, total = (math.expm1(gamma * each) for each in (a * a, e * e, 2 * a * e))
    Z = N + twice_y + twice_x + total
    both = 2 * a * e * (N - 1 + twice_y + twice_x) / Z
    differ = (1 - 1 / N, both - 2 * a * a * (1 + twice_y) / Z, both - 2 * e * e * (1 + twice_x) / Z, -1 / (N - 1))
    wrong = (N - 1) / (N + math.expm1(gamma * (a + e) ** 2))
    equal = (1 / N, 2 * a * (a + e) * wrong, 2 * e * (a + e) * wrong, 1.0)
    return [equal, differ]


def exact(setting: Setting) -> Tensor:
    """-gradient at the initial W, exactly, for one assignment; ValueError for more.  Evidence 13."""
    if setting.assignments > 1:
        raise ValueError("the exact gradient is known for one assignment; for more there is first_order")
    a, e = setting.alpha, setting.epsilon
    total = 0
    for p, y, x, correlation in mean_pulls(setting):
        weights = (x - (x + y) * e, y - (x + y) * a, -(x + y) * a, -(x + y) * e)
        total = total + setting.gamma * p * expected_product(setting, *weights, correlation)
    return total


def terms(setting: Setting) -> dict[str, Tensor]:
    """The theorem's terms, (D, D) each; for one assignment they sum to the update exactly.

    For more assignments the last, which comes from gamma > 0, is left out.
    """
    task, s, M = setting.task, _sums(setting), setting.slots
    V, (left, right) = task.n_variables, setting.rho_at
    operand_places = left * s["left"] + right * s["right"]
    first = setting.step_size * setting.gamma * first_order(setting)
    chance = V / (2 * (task.n_numbers - 1)) * _centred(setting, "number", "moved number")
    leading = expected_product(setting, V, 0, -V, 0) - chance
    result = {
        "operands": -V * torch.outer(operand_places, s["q0"]),
        "signal": _matched(setting, "moved variable", "moved variable"),
        "spurious": torch.outer(s["moved variable"] + V / M * s["number slots"] - s["variable"], s["q0"])
        + torch.outer(s["number slots"] / M - operand_places, s["moved variable"])
        - _matched(setting, "variable", "moved variable"),
    }
    result["1/N"] = leading - sum(result.values())
    result["leakage"] = first - leading
    if setting.assignments == 1:
        result["softmax"] = setting.step_size * exact(setting) - first
    return result


def bounds(setting: Setting) -> dict[str, float]:
    """What no entry of the error terms exceeds, by their names in `terms`, and for the softmax error in the signal block."""
    task, a, e, K = setting.task, setting.alpha, setting.epsilon, setting.assignments
    N, V, T = task.n_numbers, task.n_variables, task.length
    A = a + K * e
    spread = math.expm1(setting.gamma * A**2) / (N - 1)
    return {
        "1/N": V / N,
        "leakage": V * e * (max(T - 2, 2 * (T - 4 - 2 * K)) + ((T - 2) / 2 + K / a) / N**2),
        "softmax": V * A**2 * spread / (a * e),
        "softmax in the signal": A * (1 + 2 * A) * spread / a,
    }


def scores(setting: Setting, h: float, asked: int) -> dict[str, float]:
    """The score of every kind of key after h times the step without its errors, for `asked` variables in the question."""
    V, M, (left, right) = setting.task.n_variables, setting.slots, setting.rho_at
    operand = {"left": setting.lam - h * left * (KAPPA * V + asked), "right": setting.lam - h * right * (KAPPA * V + asked)}
    number = h * (KAPPA + KAPPA * V / M + asked / M)
    return {
        "asked number": number + h,
        "other number": number,
        **{f"number operand, {side}": score for side, score in operand.items()},
        **{f"variable operand, {side}": score - h * (KAPPA + 1) for side, score in operand.items()},
        "asked name": -h * (KAPPA + 1),
        "other name": -h * KAPPA,
        "=": h * asked * (KAPPA + 1),
        "PAD in a number's place": number - h * KAPPA,
        "PAD in a name's place": 0.0,
        "+": 0.0,
    }


def balance(setting: Setting) -> float:
    """h*, the multiple of the step after which the asked number and the number operand have equal scores."""
    V, M, rho = setting.task.n_variables, setting.slots, min(setting.rho_at)
    return setting.lam / (KAPPA + KAPPA * V / M + 1 / M + 1 + rho * (KAPPA * V + 1))
