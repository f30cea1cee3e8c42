"""The reader of published weights: the tensors that were saved, nothing of a pickle executed, and what is refused."""

import io
import os

import pytest
import torch
from recipes import __main__ as command
from recipes import published
from small import random_weights

from assign_add_lib import Task
from assign_add_lib.model import ATTENTION, Weights


def saved(values):
    file = io.BytesIO()
    torch.save(values, file)
    return file.getvalue()


def lens_state(weights):
    """Weights as TransformerLens saves them, with the mask, and some of what our network lacks."""
    state = {"embed.W_E": weights.W_E, "pos_embed.W_pos": weights.W_pos, "blocks.0.mlp.b_in": torch.zeros(3)}
    for layer in (0, 1):
        state |= {f"blocks.{layer}.attn.{name}": getattr(weights, name)[layer : layer + 1] for name in ATTENTION}
        state |= {f"blocks.{layer}.attn.mask": torch.ones(4, 4).tril().bool(), f"blocks.{layer}.attn.IGNORE": torch.tensor(-1e9)}
    return state | {"blocks.1.mlp.W_in": weights.W_in, "blocks.1.mlp.W_out": weights.W_out, "unembed.W_U": weights.W_U}


def test_what_was_saved_is_read_with_views_of_one_array():
    table = torch.randn(300, 300)
    state = {"whole": table, "turned": table.T, "part": table[2:5, ::2], "one": table[7, 7], "row": table[1].clone()}
    found = published.read_state(saved(state | {"mask": table > 0}), "file")
    assert list(found) == list(state) and all(torch.equal(found[name], each) for name, each in state.items())
    layer = torch.nn.Linear(4, 3)
    found = published.read_state(saved(layer.state_dict()), "file")
    assert torch.equal(found["weight"], layer.weight) and torch.equal(found["bias"], layer.bias)


def test_weights_are_found_under_their_names_and_nothing_else_may_be_there():
    weights = random_weights(Task(7, 4, 12), 10, 6, 9, seed=3).to(torch.float32)
    state = published.read_state(saved(lens_state(weights)), "file")
    found = published.weights_of(state)
    assert all(torch.equal(each, getattr(weights, name)) for name, each in found.tensors().items())
    assert isinstance(found, Weights) and found.task == weights.task
    with pytest.raises(ValueError, match="blocks.0.mlp.b_in is not zero"):
        published.weights_of(state | {"blocks.0.mlp.b_in": torch.ones(3)})
    with pytest.raises(ValueError, match="W_O is missing"):
        published.weights_of({name: each for name, each in state.items() if name != "blocks.1.attn.W_O"})


def test_a_pickle_is_spelled_and_not_called(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    found = published.read_state(saved({"trap": Trap(), "W": torch.ones(2)}), "file")
    assert list(found) == ["W"] and not list(tmp_path.iterdir())


def test_damage_is_one_line():
    content = bytearray(saved({"W": torch.arange(100.0)}))
    content[content.index(torch.arange(100.0).numpy().tobytes()) + 8] ^= 1
    for damaged in (bytes(content), bytes(content[:-30]), b"", b"no zip"):
        with pytest.raises(ValueError, match="^file is damaged, or no state dict: .+") as refused:
            published.read_state(damaged, "file")
        assert "\n" not in str(refused.value)


def test_without_a_clone_at_its_commit_the_recipe_refuses(tmp_path, monkeypatch, capsys):
    for clone in (tmp_path / "none", tmp_path, published.ROOT):  # not there, no clone, another repository
        monkeypatch.setattr(published, "CLONE", clone)
        assert command.main(["published"]) == 2
        out, err = capsys.readouterr()
        assert err.startswith("error: runs/") and published.SOURCE in err and err.count("\n") == 1 and not out


def test_the_pairs_and_places_are_the_studys():
    split = published.own_split()
    assert split.train_pairs.sum() == 2436 and (split.never_right, split.never_left) == ((0, 1), (10, 11))
    assert [published.checkpoint(step)[12:] for step in (5300, 40_000)] == ["checkpoint_step_5301.pth", "model_state_dict.pth"]


def test_the_batch_of_the_measures_has_all_variables_in_all_places():
    tokens = published.own_batch().tokens
    variables = [tokens[:, side] - published.STUDY.first_variable for side in (published.STUDY.left, published.STUDY.right)]
    assert all({*range(12)} == {each for each in side.tolist() if each >= 0} for side in variables)
    assert not (tokens[:, [13, 14]] >= published.STUDY.first_variable).all(1).any()
    assert all(140 <= (side >= 0).sum() <= 200 for side in variables)
