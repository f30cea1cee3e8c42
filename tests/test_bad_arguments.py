"""Arguments that make no sense are refused, and never quietly taken for others."""

import math

import numpy as np
import pytest
import torch
from small import TASK, random_weights

from assign_add_lib import Problem, Split, Task, TrainConfig, Weights
from assign_add_lib.analysis.probes import both_numbers_accuracy, probe_accuracy
from assign_add_lib.circuits import OV, QK
from assign_add_lib.handmade import fourier_features, margin
from assign_add_lib.handmade import weights as by_hand
from assign_add_lib.measures import accuracy
from assign_add_lib.model import forward, trace
from assign_add_lib.sampling import Batch, evaluation_sets, training_population
from assign_add_lib.views.attention import attention, attention_view

SPLIT = Split.draw(TASK)


@pytest.fixture(scope="module")
def weights():
    return random_weights(TASK, 8, 8, 8)


@pytest.mark.parametrize("layer", [0, 3, 1.5])
def test_layers_are_1_and_2(weights, layer):
    for circuit in (QK, OV):
        with pytest.raises(ValueError, match="the layers are 1 to 2"):
            circuit(weights, layer)


@pytest.mark.parametrize("call", [trace, forward])
def test_negative_tokens_are_refused(weights, call):
    tokens = evaluation_sets(SPLIT, size=2)["0-var train"].tokens
    call(weights, tokens)
    with pytest.raises(ValueError, match="token ids are never negative"):
        call(weights, tokens - TASK.d_vocab)


@pytest.mark.parametrize("shape", [(20, 1), (1,), (19,)])
def test_answers_that_do_not_match_are_not_broadcast(weights, shape):
    batch = evaluation_sets(SPLIT, size=20)["0-var train"]
    assert 0 <= accuracy(weights, batch) <= 1
    with pytest.raises(ValueError, match="20 problems have answers of shape"):
        accuracy(weights, Batch(batch.tokens, torch.zeros(shape, dtype=torch.long)))


@pytest.mark.parametrize("value", [1.7, True, None, torch.tensor(1.0)])
def test_numbers_of_a_problem_are_whole(value):
    for assignments, left in (((("a", value),), "a"), ((), value)):
        with pytest.raises(ValueError):
            Problem(assignments, left, 2)
    with pytest.raises(ValueError):
        Problem((("a", "1"),), "a", 2)
    assert Problem((("a", np.int64(1)),), "a", np.int32(2)).answer == 3  # of other libraries


@pytest.mark.parametrize("r", [-1, -1e-9, math.nan, math.inf])
def test_a_share_of_2_var_problems_is_no_less_than_none(r):
    with pytest.raises(ValueError, match="r must be a finite number of at least 0"):
        training_population(SPLIT, r)


@pytest.mark.parametrize("learn", [torch.arange(10), torch.ones(20), torch.ones(19, dtype=torch.bool), torch.tensor(True)])
def test_a_probe_learns_from_a_mask(learn):
    labels = torch.arange(20) % 2
    for probe, known in ((probe_accuracy, labels), (both_numbers_accuracy, torch.stack([labels, labels + 1], 1))):
        with pytest.raises(ValueError, match=r"a mask \(20,\) of bool"):
            probe(torch.randn(20, 3), known, learn)


@pytest.mark.parametrize("frequencies", [(1.5,), (1, 2.5), (math.nan,)])
def test_frequencies_made_by_hand_are_whole(frequencies):
    for call in (by_hand, fourier_features, lambda each: margin(each, 59)):
        with pytest.raises(ValueError):
            call(frequencies)
    assert margin((1.0, 2.0), 59) == margin((1, 2), 59)


LIMITED = {
    Task: "n_numbers n_variables length",
    TrainConfig: "steps batch_size d_model d_mlp log_every checkpoint_every seed lr r",
}


@pytest.mark.parametrize("kind, name", [(kind, name) for kind, names in LIMITED.items() for name in names.split()])
def test_sizes_and_settings_have_an_upper_limit(kind, name):
    with pytest.raises(ValueError, match=f"{name} must be ") as refusal:
        kind(**{name: 10**5000})
    assert len(str(refusal.value)) < 120


def test_attention_that_is_no_number_is_never_drawn():
    broken = Weights.init(TASK, 0, 8, 8)
    broken.W_pos[0, 0] = torch.nan
    for view in (attention, attention_view):
        with pytest.raises(ValueError, match="the attention of this network is not finite"):
            view(broken, "a=1, a+2=?")
