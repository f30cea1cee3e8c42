"""The command line: what it answers, and one line for everything that it cannot do."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from small import TASK

from assign_add_lib import Problem, forward, load_run
from assign_add_lib.__main__ import main


@pytest.fixture(scope="module")
def folders(tmp_path_factory, finished, half):
    """Folders of small runs, one of them not finished, and what is no run."""
    place = tmp_path_factory.mktemp("runs")
    shutil.copytree(finished, place / "whole")
    shutil.copytree(half, place / "half")
    (place / "other").mkdir()
    (place / "other" / "notes.txt").write_text("x")
    (place / "file").write_text("x")
    return place


@pytest.fixture
def here(folders, tmp_path, monkeypatch):
    """The folders of runs as the working directory; exports go elsewhere."""
    monkeypatch.chdir(folders)
    monkeypatch.setattr(sys, "argv", ["assign_add_lib"])
    return folders


SOLVE = ["solve", "--run", "whole"]
TRAIN = ["train", "new", "--quiet", "--steps", "10"]
LARGE, HUGE, ENDLESS = str(2**63), "1" * 400, "9" * 5000
SIZES = {"steps": 10, "log-every": 10, "checkpoint-every": 10, "batch-size": 8, "d-model": 8, "d-mlp": 8}
SIZES |= {"n-numbers": 5, "n-variables": 3, "length": 9}


def small(**changed):
    """The options of a small run, with some changed or added."""
    sizes = SIZES | {name.replace("_", "-"): value for name, value in changed.items()}
    return [*(f"--{name}={value}" for name, value in sizes.items()), "--quiet"]


ARMS = ["train", "hypernetwork", "new", "--quiet"]
HOSTILE = [
    *(["train", "new", *small(steps=value)] for value in (LARGE, HUGE, ENDLESS)),
    *(["train", "new", *small(**{name: LARGE})] for name in ("batch-size", "d-model", "n-numbers", "seed")),
    *([*ARMS, f"--{name}", HUGE] for name in ("layers", "heads", "d-model", "warm-up")),
    *(["train", "new", *small(**{name: HUGE})] for name in ("lr", "train-fraction")),
    *(["train", "new", *small(), "--device", device] for device in ("xpu", "meta", "mps", "cpu:7", "cuda:-1", "\x1b[31m")),
    *(["train", "new", *small(), "--threads", threads] for threads in ("0", "2147483647", LARGE, HUGE, ENDLESS)),
    *(["sweep", "new", *small(), *more] for more in (["--seed", "1-"], ["--seed", HUGE], ["--jobs", "0"], ["--jobs", ENDLESS])),
    *(["sweep", "new", *more] for more in (small(seed="0-99999", lr="1,2,3"), small(d_model=LARGE))),
    *(["sweep", "new", *small(), "--seed", "1,2", *more] for more in (["--table", "."], ["--device", "xpu"])),
    ["sweep", "new", *small(), "--backend", "dask", "--scheduler", "\x1b[31m"],
    *([*SOLVE, "1+2=?", option, value] for option in ("--step", "--spread") for value in (HUGE, ENDLESS)),
    *([*SOLVE, text] for text in ("\x1b[31m1+2" * 20_000, "1+2\x07", "a=1\r\n\x00", "\udcff+1")),
    *(["solve", "1+2=?", "--run", name] for name in ("\x1b[31m", "x" * 100_000, "a\0b", "\udcff", "\u202eabc")),
    *(["export", name] for name in ("\x1b]0;title\x07", "x" * 100_000, "a\nb")),
    ["dance" * 50_000],
    ["train", "new", *small(), "--\x1b[31m" + "x" * 100_000],
]
BAD = [
    *((arguments, "") for arguments in HOSTILE),
    ([], "required: COMMAND"),
    (["dance"], "invalid choice: 'dance'"),
    ([*SOLVE, ""], "an argument is empty"),
    ([*SOLVE, " "], "the problem is empty"),
    ([*SOLVE, "b+3=?"], "the left operand b is never assigned"),
    ([*SOLVE, "a=11, a+3=?"], "the number 11 is out of range; numbers go from 0 to 10"),
    ([*SOLVE, "a=1, b=2, c=3, d=4, a+b=?"], "4 assignments do not fit; a sequence holds at most 3"),
    ([*SOLVE, "a=1, a*3=?"], "must be one sum"),
    ([*SOLVE, "a=é, a+3=?"], "outside ASCII"),
    ([*SOLVE, "a=\udcff, a+3=?"], "is no text in UTF-8"),
    (["train", "new\udcff"], "is no text in UTF-8"),
    ([*SOLVE, "1+2=?", "3+4=?"], "unrecognized arguments: 3+4=?"),
    ([*SOLVE, "1+2=?", "--step", "41"], "whole has no checkpoint at step 41; there are: 0, 40, 80"),
    ([*SOLVE, "1+2=?", "--spread", "1e3"], "invalid int value: '1e3'"),
    (["solve", "1+2=?", "--run", "nowhere"], "there is no run nowhere; shipped runs: none"),
    (["train"], "required: FOLDER"),
    (["train", "whole", "--steps", "10"], "holds a run with another config (seed 3 -> 42,"),
    (["train", "other"], "other is not empty and holds no run"),
    (["train", "file/new"], "cannot write file/new: Not a directory"),
    (["train", "file"], "cannot write file"),
    *((["train", "new", "--seed", seed], f"invalid int value: '{seed}'") for seed in ("many", "1_0", " 7 ")),
    (["train", "new", "--lr", "1_0.5"], "invalid float value: '1_0.5'"),
    (["train", "new", "--see", "3"], "unrecognized arguments: --see 3"),
    (["train", "new", *small(seed="٣")], "invalid int value: '٣'"),
    (["train", "new", *small(lr="٣.٥")], "invalid float value: '٣.٥'"),
    (["train", "new", "--seed", "3", "--seed=4"], "--seed is given twice"),
    (["train", "laboratory", "new", "--links", "--no-links"], "--links is given twice"),
    *(([*command, "--jobs=--"], "--jobs is empty") for command in (["sweep", "new"], ["world", "one-layer", "--folder", "new"])),
    (["bench", "--threads=--"], "--threads is empty"),
    (["sweep", "", *small()], "an argument is empty"),
    (["sweep", "new", "--backend", "dask"], "the dask backend needs the address of a scheduler"),
    *(
        (["sweep", "new", *small(), "--backend=dask", "--scheduler=tls://0.0.0.0:1", *more], "no Dask scheduler at tls://")
        for more in ([], ["--table=table.csv"])
    ),
    (["sweep", "new", *small(), "--table", "file"], "file is no table of such a sweep, and is not overwritten"),
    (["train", "new/../file/x", *small()], "cannot write new/../file/x: Not a directory"),
    (["world", "one-layer", "--folder", "new", "--jobs", "0"], "jobs must be at least 1, not 0"),
    ([*TRAIN, "--train-fraction", "1e-9"], "leaves none of the 3481 pairs"),
    ([*TRAIN, "--momentum", "0.9"], "unrecognized arguments: --momentum 0.9"),
    # with no jobs, so that nothing is trained where the setting is swallowed
    (["sweep", "new", "--jobs", "0", "--book", "--r", "0.5"], "with --book only --seed can be chosen"),
    (["sweep", "hypernetwork", "new", "--jobs", "0", "--given-code", "maybe"], "'maybe' is not true, false or true,false"),
    (["export", "half"], "half is not finished: it stands at step 40"),
    (["export", "whole", "half", "--data", "new"], "half is not finished"),
    (["export", "whole", "--name", "x" * 250, "--data", "new"], "File name too long"),
    (["export", "whole", "half", "--name", "name"], "--name is for one run"),
    (["export", "whole", "--name", "../up"], "a run needs a plain name"),
    (["export", "whole", "--bare", "--steps", "0"], "--bare leaves out all weights"),
    (["export", "whole", "--steps", "4x"], "'4x' is not a whole number or a range such as 2000-3000:100"),
    (["bench", "--repeats", "0"], "repeats must be at least 1"),
]


@pytest.mark.parametrize("arguments, said", BAD, ids=[ascii(" ".join(arguments)[-60:]) for arguments, _ in BAD])
def test_bad_input_gets_one_short_line_and_exit_code_2(here, own_data, capsys, arguments, said):
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert code == 2 and out == ""
    assert err.startswith("error: ") and said in err
    assert err.endswith("\n") and err[:-1].isprintable() and len(err) < 330 and max(map(len, err.split())) <= 160
    assert not (here / "new").exists() and not any(path.is_file() for path in own_data.rglob("*"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_cuda_device_is_named(here, capsys):
    assert main([*TRAIN, "--device", "cuda"]) == 2
    assert capsys.readouterr().err == "error: there is no CUDA device here; train on the cpu\n"


def test_a_cuda_device_beyond_the_last_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert main(["train", str(tmp_path / "new"), *small(), "--device", "cuda:2"]) == 2
    assert "there is no device cuda:2 here" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["a=1, b=9, a+b=?", "A = 1; a+3", "3+4=?"])
@pytest.mark.parametrize("options", [[], ["--step", "40"], ["--spread", "7"]])
def test_solve_prints_the_networks_answer_and_the_true_one(here, capsys, text, options):
    """Three lines, whose answer and probability are those of the plain forward."""
    assert main([*SOLVE, text, *options]) == 0
    out, err = capsys.readouterr()
    problem = Problem.parse(text, TASK)
    step = 40 if "--step" in options else 80
    tokens = problem.tokens(7 if "--spread" in options else None)
    shares = forward(load_run(here / "whole").weights(step), tokens[None])[0, -1].softmax(0)
    assert err == ""
    assert out.splitlines() == [
        str(problem),
        f"network: {shares.argmax()}  (probability {shares.max():.3f}, run whole, step {step})",
        f"true:    {problem.answer}",
    ]


def test_train_resume_and_export(here, own_data, tmp_path, monkeypatch, capsys):
    """A whole life: trained with options, refused when finished, exported, and asked by name."""
    options = "--steps 20 --batch-size 16 --d-model 8 --d-mlp 8 --n-numbers 5 --n-variables 3 --length 9 --log-every 10"
    arguments = ["train", str(tmp_path / "life"), *options.split(), "--checkpoint-every", "10", "--quiet", "--seed", "5"]
    monkeypatch.setattr(sys, "argv", ["assign_add_lib", *arguments])
    assert main(arguments) == 0
    assert capsys.readouterr() == (f"finished: {tmp_path / 'life'}\n", "")
    run = load_run(tmp_path / "life")
    assert (run.config.seed, run.config.steps, run.config.d_mlp, run.task.n_numbers) == (5, 20, 8, 5)
    assert run.record["command"].startswith("python -m assign_add_lib train ") and "--seed 5" in run.record["command"]
    assert main(arguments) == 2
    assert "finished run, which is never overwritten" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "life"), "--steps", "20,0-10:15,20"]) == 0
    assert capsys.readouterr().out == f"exported: {own_data / 'runs' / 'life'}\n"
    assert load_run("life").steps == [0, 20]
    assert main(["export", str(tmp_path / "life"), "--bare", "--name", "bare"]) == 0
    assert capsys.readouterr().out == f"exported: {own_data / 'runs' / 'bare'}\n"
    assert load_run("bare").steps == [] and load_run("bare").metrics.equals(run.metrics)
    assert main(["export", str(tmp_path / "life"), "--data", "own"]) == 0
    assert capsys.readouterr().out == f"exported: {Path('own', 'runs', 'life')}\n" and load_run("own/runs/life").sums
    assert main(["solve", "b=4, b+3=?", "--run", "life", "--step", "20"]) == 0
    assert capsys.readouterr().out.endswith("true:    2\n")


OPTIONS = {
    "": "solve train sweep export board world bench",
    "solve": "TEXT --run --step --spread",
    "train": "FOLDER --seed --train-fraction --lr rate; 0.001 --n-numbers --device --quiet",
    "sweep": "FOLDER --book --seed --r --n-numbers --backend --scheduler --jobs",
    "export": "FOLDER --name --steps --data",
    "bench": "--repeats",
    "world": "WORLD --folder --seed --jobs --device --quiet",
    "train laboratory": "FOLDER --layers --operation --no-links 20000 --threads",
    "sweep hypernetwork": "FOLDER --book --seed --arm --support --jobs --table",
}


@pytest.mark.parametrize("command", OPTIONS)
def test_help_names_every_option(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), "--help"])
    out, err = capsys.readouterr()
    assert stop.value.code == 0 and err == ""
    assert out.startswith("usage: python -m assign_add_lib") and all(word in out for word in OPTIONS[command].split())


def test_as_a_process_it_solves(root):
    command = [sys.executable, "-m", "assign_add_lib", "solve", "b=17, b+19=?"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(root)}, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    problem, network, true = done.stdout.decode().splitlines()
    assert network.startswith("network: 36  (probability ") and network.endswith(", run seed-42, step 30000)")
    assert problem == "b=17, b+19=?" and true == "true:    36"
