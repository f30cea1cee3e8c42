"""What the tests share: the checkout's root, threads and precision, a data folder of our own, and a run that is trained once."""

import os
import shutil
from pathlib import Path

import pytest
import torch
from loops import draw_few, untrained_seed
from small import CONFIG
from tiny import TinyLearner, tiny, tiny_sweep

from assign_add_lib import train
from assign_add_lib.engine import manifest
from assign_add_lib.engine.runs import export
from assign_add_lib.training import Run

# equal bits need equal sums, and so equal numbers of threads here and in child processes
os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def root():
    return Path(__file__).resolve().parents[1]


@pytest.fixture
def seed(monkeypatch):
    """A seed of the reasoning companion whose runs have not begun, with few test graphs."""
    draw_few(monkeypatch)
    return untrained_seed()


@pytest.fixture
def double():
    """Everything that torch makes is in double precision; in single, rounding alone parts two runs in the end."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def static(monkeypatch):
    """Views are drawn as the site has them, without a kernel."""
    monkeypatch.setenv("ASSIGN_ADD_RENDER", "static")


@pytest.fixture
def live(monkeypatch):
    """Views are drawn as a notebook has them."""
    monkeypatch.delenv("ASSIGN_ADD_RENDER", raising=False)


@pytest.fixture
def own_data(tmp_path, monkeypatch):
    """The place of a data folder of our own, in which nothing is shipped yet."""
    monkeypatch.setattr(manifest, "PACKAGE", tmp_path / "package")
    return tmp_path / "data"


def trained(folder, stop=None):
    """Train the small run into a folder."""
    train(CONFIG, folder, "cpu", progress=False, stop=stop)
    return folder


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The folder of the small run, finished; to be read, or copied and then spoilt."""
    return trained(tmp_path_factory.mktemp("finished") / "small")


@pytest.fixture(scope="session")
def half(tmp_path_factory):
    """The folder of the small run, stopped at step 45, so that its state stands at step 40; to be copied."""
    return trained(tmp_path_factory.mktemp("half") / "half", stop=45)


@pytest.fixture
def data(finished, own_data):
    """A data folder of our own that ships the small run as `small`."""
    export(finished, "small", Run)
    return own_data


@pytest.fixture
def stopped(half, tmp_path):
    """A copy of the stopped run, to be damaged or taken up."""
    return shutil.copytree(half, tmp_path / "run")


@pytest.fixture(scope="session")
def tiny_runs(tmp_path_factory):
    """Tiny runs to be read: a finished one of seed 1, one that stands at step 4, and a finished one of seed 2."""
    place = tmp_path_factory.mktemp("tiny")
    return {"whole": tiny(place / "whole"), "half": tiny(place / "half", stop=5), "other": tiny(place / "other", seed=2)}


@pytest.fixture
def tiny_whole(tiny_runs, tmp_path):
    """A copy of the finished one, to be damaged or taken up."""
    return shutil.copytree(tiny_runs["whole"], tmp_path / "whole")


@pytest.fixture
def tiny_half(tiny_runs, tmp_path):
    """A copy of the one that stands at step 4."""
    return shutil.copytree(tiny_runs["half"], tmp_path / "half")


@pytest.fixture(scope="session")
def pristine_sweep(tmp_path_factory):
    """A finished sweep of three tiny seeds."""
    return tiny_sweep(tmp_path_factory.mktemp("pristine")).parent


@pytest.fixture
def tiny_swept(pristine_sweep, tmp_path):
    return shutil.copytree(pristine_sweep, tmp_path / "swept")


@pytest.fixture
def no_training(monkeypatch):
    monkeypatch.setattr(TinyLearner, "advance", lambda learner: pytest.fail("trained again"))
