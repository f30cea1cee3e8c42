"""The network written by hand: every weight set by reasoning, none trained.

The residual stream is cut into named blocks of coordinates.  Layer 1 reads by position alone: every token before the
operands reads the one before it, `=` reads both operands; a variable that is read arrives in coordinates of its own.
Layer 2 scores two conditions, asked for and a number, and reads where both hold.  The MLP adds angles.
"""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from .model import Weights, weight_shapes
from .task import STUDY, Task

FREQUENCIES = (1, 11, 15, 25, 27)  #: Those of the network of chapter 10.


def blocks(sizes: Mapping[str, int]) -> dict[str, slice]:
    """Coordinates in named blocks, one after the other: name -> slice, from name -> number of coordinates."""
    found, start = {}, 0
    for name, size in sizes.items():
        found[name] = slice(start, start + size)
        start += size
    return found


def _checked(frequencies: Sequence[int]) -> tuple[int, ...]:
    """The frequencies, once they are found whole: others have no period of N."""
    for k in frequencies:
        if int(k) != k:
            raise ValueError(f"frequencies are whole numbers, not {k!r}")
    return tuple(frequencies)


def margin(frequencies: Sequence[int], N: int) -> float:
    """The least lead of the right logit over another, of any x-y and d: `sum_k |cos(pi k (x-y)/N)| (1 - cos(2 pi k d/N))`."""
    k = torch.tensor(_checked(frequencies), dtype=torch.float64)[:, None]
    difference = torch.arange(N, dtype=torch.float64)
    lead = (math.pi * k * difference / N).cos().abs().T @ (1 - (2 * math.pi * k * difference[1:] / N).cos())
    return lead.min().item()


def residual_blocks(frequencies: Sequence[int] = FREQUENCIES, task: Task = STUDY) -> dict[str, slice]:
    """The blocks of the residual stream by name, 6 K + 2 V + T + 1 coordinates in all for K frequencies."""
    wave = 2 * len(frequencies)
    sizes = {
        "number": wave,  # a number's Fourier features
        "is number": 1,
        "variable": task.n_variables,
        "position": task.length,
        "moved": task.n_variables,  # a variable that layer 1 has read
        "operands": wave,  # the Fourier features of the two numbers, added up
        "answer": wave,  # those of their sum
    }
    return blocks(sizes)


def fourier_features(frequencies: Sequence[int] = FREQUENCIES, task: Task = STUDY) -> Tensor:
    """cos(2 pi k n/N) of every number n for each frequency k, then the sines, (N, 2 K)."""
    n = torch.arange(task.n_numbers, dtype=torch.float64)[:, None]
    angle = 2 * math.pi * n * torch.tensor(_checked(frequencies), dtype=torch.float64) / task.n_numbers  # (N, K)
    return torch.cat([angle.cos(), angle.sin()], 1)


def weights(
    frequencies: Sequence[int] = FREQUENCIES,
    task: Task = STUDY,
    d_model: int = 128,
    d_mlp: int = 512,
    *,
    previous: float = 20,
    operands: float = 20,
    match: float = 20,
    number: float = 20,
    scale: float = 20,
    phases: int | None = None,
    threshold: float = 0,
) -> Weights:
    """Weights that solve the task, each set by reasoning; d_head is d_model.

    The strengths are attention scores: layer 1 reads the token `previous`, and from `=` both operands (also by
    `previous`); layer 2 reads the `operands` positions, a `match` of the asked variable, and any `number`.  `scale`
    multiplies the logits.  Each frequency has `phases` neurons, by default the largest odd number that fits: with an odd
    number, what the readout lets through besides the second harmonic are odd harmonics, which ReLU(cos) lacks from 3 on.
    `threshold` is taken off every neuron's input, which lies between -1 and 1; layer 2 moves the mark `is number` for it.
    Raises ValueError where frequencies cannot tell all answers apart, or the sizes are too small.
    """
    frequencies = _checked(frequencies)
    at, N = residual_blocks(frequencies, task), task.n_numbers
    if not frequencies or margin(frequencies, N) < 1e-9:
        raise ValueError(f"the frequencies {frequencies} cannot tell all sums modulo {N} apart; an even modulus never works")
    K, used, most = len(frequencies), at["answer"].stop, d_mlp // len(frequencies)
    phases = phases or most - (most + 1) % 2
    if d_model < used or d_mlp < K * max(phases, 5):
        needed = f"d_model of {used} and a d_mlp of {K * max(phases, 5)}"
        raise ValueError(f"{K} frequencies need at least a {needed}, not {d_model} and {d_mlp}")
    shapes = weight_shapes(task.d_vocab, task.length, N, d_model, d_model, d_mlp)
    w = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in shapes.items()}
    _embed(w, at, frequencies, task)
    _attend(w, at, task, previous, operands, match, number, marked=bool(threshold))
    _add(w, at, K, phases, threshold)
    w["W_U"][at["answer"]] = scale * fourier_features(frequencies, task).T
    return Weights(**w).to(torch.float32)


def _embed(w: dict[str, Tensor], at: dict[str, slice], frequencies: Sequence[int], task: Task) -> None:
    """Write the embeddings; +, = and PAD stay zero, as their positions or nothing at all say enough."""
    w["W_E"][: task.n_numbers, at["number"]] = fourier_features(frequencies, task)
    w["W_E"][: task.n_numbers, at["is number"]] = 1
    w["W_E"][task.first_variable :, at["variable"]] = torch.eye(task.n_variables, dtype=torch.float64)
    w["W_pos"][:, at["position"]] = torch.eye(task.length, dtype=torch.float64)


def _attend(
    w: dict[str, Tensor],
    at: dict[str, slice],
    task: Task,
    previous: float,
    operands: float,
    match: float,
    number: float,
    marked: bool,
) -> None:
    """Write both layers of attention; `marked` lets layer 2 move the mark `is number` too."""
    d_model, V = w["W_E"].shape[1], task.n_variables
    same = torch.eye(V, dtype=torch.float64)

    # who reads whom: QK written into W_Q, with W_K the identity
    QK = torch.zeros(2, d_model, d_model, dtype=torch.float64)
    position = at["position"].start + torch.arange(task.length)
    plus, left, right, last = position[task.room :]
    for query in range(1, task.room + 2):
        QK[0, position[query], position[query - 1]] = previous
    QK[0, right, plus] = QK[0, last, left] = QK[0, last, right] = previous
    QK[1, last, left] = QK[1, last, right] = operands
    QK[1, at["moved"], at["moved"]] = 2 * match * same  # `=` holds half of each operand
    QK[1, last, at["is number"]] = number
    w["W_Q"], w["W_K"][:] = QK * math.sqrt(d_model), torch.eye(d_model)

    # what is moved: OV written into W_V, with W_O the identity
    w["W_V"][0, at["variable"], at["moved"]] = same
    w["W_V"][1, at["number"], at["operands"]] = torch.eye(at["number"].stop - at["number"].start, dtype=torch.float64)
    if marked:
        w["W_V"][1, at["is number"], at["is number"]] = 1  # `=` has room for it: it is no number itself
    w["W_O"][:] = torch.eye(d_model)


def _add(w: dict[str, Tensor], at: dict[str, slice], K: int, phases: int, threshold: float) -> None:
    """Write the MLP: neuron j of frequency k is relu(cos(k x + phase) + cos(k y + phase)), read out at twice the phase."""
    phase = 2 * math.pi * torch.arange(phases, dtype=torch.float64) / phases
    for k in range(K):
        neurons = slice(k * phases, (k + 1) * phases)
        cosine, sine = at["operands"].start + k, at["operands"].start + K + k
        w["W_in"][cosine, neurons], w["W_in"][sine, neurons] = phase.cos(), -phase.sin()
        w["W_in"][at["is number"], neurons] = -threshold
        cosine, sine = at["answer"].start + k, at["answer"].start + K + k
        w["W_out"][neurons, cosine] = (2 * phase).cos() * 3 * math.pi / phases
        w["W_out"][neurons, sine] = -(2 * phase).sin() * 3 * math.pi / phases
