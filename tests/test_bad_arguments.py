"""Arguments that make no sense are refused, and never quietly taken for others."""

import math

import numpy as np
import pytest
import torch
from small import TASK, random_weights

from assign_add_lib import Problem, Split, Task, TrainConfig, Weights, run
from assign_add_lib.analysis import interventions as iv
from assign_add_lib.analysis.probes import both_numbers_accuracy, probe_accuracy
from assign_add_lib.circuits import (
    OV,
    QK,
    bare_addition,
    last_logits,
    layer_2_terms,
    position_scores,
    qk_table,
    variable_identity,
)
from assign_add_lib.handmade import fourier_features, margin
from assign_add_lib.handmade import weights as by_hand
from assign_add_lib.measures import WEIGHT_MEASURES, accuracy, predictions, progress_measures
from assign_add_lib.model import forward, trace, weight_shapes
from assign_add_lib.sampling import Batch, evaluation_sets, training_population
from assign_add_lib.views.attention import attention, attention_view

SPLIT, WEIGHTS, BROKEN = Split.draw(TASK), random_weights(TASK, 8, 8, 8), Weights.init(TASK, 0, 8, 8)
BROKEN.W_pos[0, 0] = torch.nan
TOKENS, ANSWERS = evaluation_sets(SPLIT, size=20)["0-var train"]
SHAPES = [torch.zeros(shape, dtype=torch.long) for shape in ((20, 1), (1,), (19,))]
FEATURES, LABELS = torch.randn(20, 3), torch.arange(20) % 2
PROBES = [(probe_accuracy, LABELS), (both_numbers_accuracy, torch.stack([LABELS, LABELS + 1], 1))]
MASKS = [torch.arange(10), torch.ones(20), torch.ones(19, dtype=torch.bool), torch.tensor(True)]
ODD_TOKENS = {
    "token ids are from 0 to": TOKENS - TASK.d_vocab,
    f"not .* to {TASK.d_vocab}": TOKENS.clamp(min=TASK.d_vocab),
    "a tensor of whole numbers, not torch.float": TOKENS.float(),
    "a tensor of whole numbers, not list": TOKENS.tolist(),
    r"\(batch, pos\) .*, not \(10,\)": TOKENS[0],
    r"\(batch, pos\) .*, not \(20, 20\)": torch.cat([TOKENS, TOKENS], 1),
    r"\(batch, pos\) .*, not \(20, 0\)": TOKENS[:, :0],
}
TWO_HEADS = Weights.drawn(weight_shapes(TASK.d_vocab, TASK.length, TASK.n_numbers, 8, 4, 8, 2, 2), 0)
DEEP = Weights.drawn(weight_shapes(TASK.d_vocab, TASK.length, TASK.n_numbers, 8, 8, 8, 3), 0)
FOREIGN = Weights.drawn(weight_shapes(8, TASK.length, 8, 8, 8, 8), 0)  # no token ids for + and =
FORMS = [  # what takes networks of two layers of one head alone, and its arguments
    *((call, ()) for call in (bare_addition, variable_identity, *WEIGHT_MEASURES[::2])),
    *((call, (TOKENS,)) for call in (last_logits, layer_2_terms, predictions, iv.cleanly_read, iv.identity_term)),
    (iv.path_patched, (TOKENS, TOKENS.flip(0))),
    (progress_measures, (Batch(TOKENS, ANSWERS),)),
]
OF_ONE_HEAD = [*FORMS, *((call, ()) for call in (qk_table, position_scores, iv.position_term)), (trace, (TOKENS,))]
PATTERN, PATCHINGS = "blocks.0.attn.hook_pattern", (iv.patched, iv.attributed)
ODD = TOKENS.clone()
ODD[0, 0] = TASK.d_vocab
UNASSIGNED = [Problem.parse("a=1, a+2=?", TASK).tokens()[None].clone() for _ in range(3)]
for tokens, operand in zip(UNASSIGNED, (TASK.token("b"), TASK.pad, TASK.plus)):
    tokens[0, TASK.left] = operand
REFUSED = [
    *(("2 layers of one head, .*has n_layers 3, n_heads 1", call, DEEP, *rest) for call, rest in FORMS),
    *(("layers of one head, .*n_heads 2", call, TWO_HEADS, *rest) for call, rest in OF_ONE_HEAD),
    ("layer 2 has 2 heads; .*blocks.1.attn.hook_pattern", run(TWO_HEADS, TOKENS).attention, 2),
    *((f"with an axis for the position, not {PATTERN}", call, WEIGHTS, TOKENS, TOKENS, [PATTERN]) for call in PATCHINGS),
    *(("with an axis for the position, not none", call, WEIGHTS, TOKENS, TOKENS, []) for call in PATCHINGS),
    *(("no task of this book has 8 token ids", call, FOREIGN, TOKENS % 8, TOKENS % 8, ["hook_embed"]) for call in PATCHINGS),
    ("positions are from -10 to 9, not 10", iv.at, TOKENS, 10),
    ("positions are from -10 to 9, not -11", iv.at, TOKENS, -11),
    ("keep an answer that should change", iv.changed_problems, TOKENS, torch.Generator(), TASK),
    ("token ids of this task go from 0 to", TASK.check, ODD),
    *(("has no answer", iv.Recovery, WEIGHTS, TOKENS[:1], tokens) for tokens in UNASSIGNED),
    *(("the layers are 1 to 2", circuit, WEIGHTS, layer) for circuit in (QK, OV) for layer in (0, 3, 1.5)),
    *((words, call, WEIGHTS, tokens) for call in (trace, forward, last_logits) for words, tokens in ODD_TOKENS.items()),
    ("task must be a Task, not 13", TrainConfig, 42, 30_000, 0.7, 1.0, 512, 1e-3, 0.02, 0.9, 0.999, 128, 512, 100, 100, 13),
    *(("20 problems have answers of shape", accuracy, WEIGHTS, Batch(TOKENS, answers)) for answers in SHAPES),  # not broadcast
    *(("r must be a finite number of at least 0", training_population, SPLIT, r) for r in (-1, -1e-9, math.nan, math.inf)),
    *((r"a mask \(20,\) of bool", probe, FEATURES, known, learn) for probe, known in PROBES for learn in MASKS),
    *(("a=.*: numbers go from 0", Problem, (("a", n),), "a", 2) for n in (1.7, "1", True, None, torch.tensor(1.0))),
    *(("the left operand .* is out", Problem, (), left, 2) for left in (1.7, True, None, torch.tensor(1.0))),
    *(("are whole|integer", call, ks) for call in (by_hand, fourier_features) for ks in ((1.5,), (1, 2.5), (math.nan,))),
    *(("are whole|integer", margin, ks, 59) for ks in ((1.5,), (1, 2.5), (math.nan,))),
    *(("attention of this network is not finite", view, BROKEN, "a=1, a+2=?") for view in (attention, attention_view)),
]


@pytest.mark.parametrize("words, call, arguments", [(words, call, rest) for words, call, *rest in REFUSED])
def test_what_makes_no_sense_is_refused(words, call, arguments):
    with pytest.raises(ValueError, match=words):
        call(*arguments)


def test_what_makes_sense_is_taken():
    axis = {name: getattr(WEIGHTS, name)[:, None] for name in ("W_Q", "W_K", "W_V", "W_O")}  # of one head
    assert torch.equal(last_logits(WEIGHTS.replace(**axis), TOKENS), last_logits(WEIGHTS, TOKENS))
    assert forward(TWO_HEADS, TOKENS)[:, -1].allclose(run(TWO_HEADS, TOKENS).logits, atol=1e-5)
    assert torch.equal(iv.at(TOKENS, -1), iv.at(TOKENS, TASK.last))
    assert TASK.right_answers(torch.cat(UNASSIGNED)).tolist() == [-1] * 3 and TASK.right_answers(TOKENS).equal(ANSWERS)
    sites = ["hook_embed", "blocks.1.hook_mlp_out"]
    assert iv.patched(WEIGHTS, TOKENS, TOKENS.flip(0), iter(sites)).shape == (20, 2, TASK.length)
    assert iv.attributed(WEIGHTS, TOKENS, TOKENS.flip(0), iter(sites)).shape == (20, 2, TASK.length)
    assert len(trace(WEIGHTS, TOKENS).pattern) == len(forward(WEIGHTS, TOKENS)) == 20
    assert 0 <= accuracy(WEIGHTS, Batch(TOKENS, ANSWERS)) <= 1
    assert Problem((("a", np.int64(1)),), "a", np.int32(2)).answer == 3  # numbers of other libraries
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
