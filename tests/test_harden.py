"""Training on found contexts: it starts from the run, is resumed to the same bits, and trains on what the attack finds."""

import pytest
import torch
from small import contents

from assign_add_lib import load_run
from assign_add_lib.proof import harden as module
from assign_add_lib.proof.attack import margin_of
from assign_add_lib.proof.certificate import certify_run, check_run
from assign_add_lib.proof.harden import HardenConfig, Hardened, HardenLearner, harden, opened

SHORT = {"steps": 12, "log_every": 4, "progress": False}


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(module, "POOL", 16)


def test_it_starts_from_the_run_and_goes_on_to_the_same_bits(finished, tmp_path):
    whole = harden(str(finished), tmp_path / "whole", **SHORT)
    first = HardenLearner(whole.config)
    assert all(torch.equal(tensor, load_run(finished).tensors()[name]) for name, tensor in first.tensors.items())
    module.follow(HardenLearner(whole.config), tmp_path / "part", progress=False, stop=6)
    part = harden(str(finished), tmp_path / "part", **SHORT)
    assert contents(part.folder) == contents(whole.folder)
    assert Hardened.open(whole.folder).finished and whole.config.of == str(finished)
    assert harden(str(finished), tmp_path / "whole", **SHORT).folder == whole.folder


def test_a_share_of_each_batch_has_found_contexts_of_training_questions(finished, monkeypatch):
    config = HardenConfig(
        **load_run(finished).config.to_dict() | {"of": str(finished), "share": 0.5, "task": load_run(finished).task}
    )
    learner, seen = HardenLearner(config), []
    monkeypatch.setattr(learner, "loss_on", lambda batch: seen.append(batch) or torch.zeros((), requires_grad=True))
    learner.loss()
    (batch,) = seen
    task, size = config.task, config.batch_size
    assert len(batch.tokens) == size and torch.equal(task.right_answers(batch.tokens), batch.answers)
    pairs = batch.tokens.gather(1, task.value_positions(batch.tokens))
    assert learner.split.train_pairs[*pairs.T].all()
    with torch.no_grad():
        fresh, found = margin_of(learner.weights, *batch).detach().split(size // 2)
    assert found.mean() < fresh.mean()


def test_a_run_of_another_split_is_refused(finished):
    values = load_run(finished).config.to_dict() | {"of": str(finished), "seed": 4, "task": load_run(finished).task}
    with pytest.raises(ValueError, match="was trained with another seed, task or share"):
        HardenLearner(HardenConfig(**values))


def test_what_was_trained_on_is_certified_by_its_folder(finished, tmp_path):
    run = harden(str(finished), tmp_path / "run", **SHORT)
    assert type(opened(run.folder)) is Hardened and opened(finished).config == load_run(finished).config
    how = {"jobs": 1, "progress": False}
    certify_run(run.folder, tmp_path / "proof.json", ["0+1=?"], most=0, **how)
    assert "proved" in check_run(run.folder, tmp_path / "proof.json", **how)
    with pytest.raises(ValueError, match="no checkpoint at step 12"):
        check_run(finished, tmp_path / "proof.json", **how)
    with pytest.raises(FileNotFoundError):
        opened(tmp_path / "nothing")
