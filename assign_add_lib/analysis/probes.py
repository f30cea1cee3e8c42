"""Linear probes: what a linear map can read from vectors of the network, on pairs of numbers that it did not learn from."""

import numpy as np
import torch
from torch import Tensor


def unordered_split(n_numbers: int, share: float = 0.7, seed: int = 0) -> Tensor:
    """Which of the pairs (x, y), in order x n_numbers + y, a probe learns from: (n_numbers^2,) bool.

    (x, y) and (y, x) always fall on the same side, since a sum of two vectors cannot tell them apart.
    """
    draw = torch.rand(n_numbers, n_numbers, generator=torch.Generator().manual_seed(seed)).triu()
    return (draw + draw.triu(1).T < share).flatten()


def _check_mask(learn: Tensor, features: Tensor) -> None:
    if learn.dtype != torch.bool or learn.shape != features.shape[:1]:
        raise ValueError(f"what to learn from is a mask ({len(features)},) of bool, not {tuple(learn.shape)} of {learn.dtype}")


def fit_probe(features: Tensor, labels: Tensor):
    """A fitted multinomial logistic regression from features (batch, d), standardised, to labels (batch,)."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return probe.fit(_array(features), labels.cpu().numpy())


def score_probe(probe, features: Tensor, labels: Tensor) -> float:
    """Share of the labels (batch,) that a fitted probe reads right from features (batch, d)."""
    return float(probe.score(_array(features), labels.cpu().numpy()))


def probe_accuracy(features: Tensor, labels: Tensor, learn: Tensor) -> tuple[float, float]:
    """Accuracy of a probe where it learned and where it did not: features (batch, d), labels (batch,), learn (batch,) bool."""
    _check_mask(learn, features)
    probe = fit_probe(features[learn], labels[learn])
    return score_probe(probe, features[learn], labels[learn]), score_probe(probe, features[~learn], labels[~learn])


def both_numbers_accuracy(features: Tensor, pairs: Tensor, learn: Tensor) -> float:
    """Share of pairs of different numbers, not learned from, that a linear probe names without their order.

    A ridge regression from features (batch, d) scores every number by whether it is one of the pair (batch, 2); its
    two highest scores must be the two numbers.
    """
    from sklearn.linear_model import Ridge

    _check_mask(learn, features)
    inputs, numbers = _array(features), pairs.cpu()
    present = torch.zeros(len(numbers), int(numbers.max()) + 1).scatter_(1, numbers, 1.0).numpy()
    learn = learn.cpu().numpy()
    test = ~learn & (numbers[:, 0] != numbers[:, 1]).numpy()
    scores = Ridge().fit(inputs[learn], present[learn]).predict(inputs[test])
    top = np.sort(np.argsort(scores, 1)[:, -2:], 1)
    return float((top == numbers.sort(1).values.numpy()[test]).all(1).mean())


def _array(features: Tensor) -> np.ndarray:
    return features.detach().cpu().numpy()
