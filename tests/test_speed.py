"""The table of speeds compares equal work, and its floor is the step's own matrix products."""

import time
from dataclasses import replace

import joblib
import pytest
import torch
from small import CONFIG, problems
from torch.utils.flop_counter import FlopCounterMode

from assign_add_lib import speed
from assign_add_lib.training import StudyLearner

LARGER = replace(CONFIG, batch_size=64, d_model=32)


def test_the_three_steps_learn_the_same():
    """The losses of ten steps on the same problems, and those of `StudyLearner`."""
    rows, learner = speed.steps(LARGER), StudyLearner(LARGER)
    generator = torch.Generator()
    generator.set_state(learner.generator.get_state())
    expected = [learner.advance() for _ in range(10)]
    batches = [learner.population.sample(64, generator) for _ in range(10)]
    assert len(rows) == 3
    for name, step in rows.items():
        assert [step(batch).item() for batch in batches] == pytest.approx(expected, abs=1e-4), name
    assert len({round(loss, 3) for loss in expected}) > 5


def test_the_floor_runs_the_products_of_a_step():
    """As many floating-point operations in matrix products as in the step itself, counted by torch."""
    step = speed.steps(LARGER)["factored step"]
    batch = problems(LARGER.task, 64)
    run = speed.floor(step, batch)
    counts = []
    for each in (lambda: step(batch), run):
        with FlopCounterMode(display=False) as counter:
            each()
        counts.append(counter.get_total_flops())
    assert counts[0] == counts[1] > 64 * 6 * 32 * LARGER.d_mlp


def test_the_table_is_measured_on_the_threads_that_are_asked_for(capsys, monkeypatch):
    monkeypatch.setattr(speed, "peak_memory", lambda threads: 512.0)
    monkeypatch.setattr(speed, "runs_per_hour", lambda repeats, config: {"one by one": 3.0})
    threads = torch.get_num_threads()
    speed.main(2, config=LARGER)
    out = capsys.readouterr().out
    for row in ("batch generation", *speed.steps(LARGER), "floor: matrix products of the factored step"):
        assert sum(line.startswith(row + "  ") for line in out.splitlines()) == 1, row
    assert "batch 64, 1 thread, " in out and "512 MiB" in out
    assert torch.get_num_threads() == threads


def test_the_ratios_follow_from_the_medians():
    seconds = {"batch generation": 0.001, "TransformerLens step": 0.2, "plain step": 0.1, "factored step": 0.01, "floor": 0.008}
    lines = {line[:44].strip(): line[44:].strip() for line in speed.table(seconds, 700, {"one by one": 12.34}).splitlines()}
    assert lines["factored step"].split() == ["10.00", "ms", "20.0", "x"]
    expected = {
        "factored step over plain step": "10.0 x faster",
        "factored step over its floor": "1.25 x slower",
        "batch generation, share of a factored step": "10.0 %",
        "30 000 steps, evaluations aside": "5.5 min",
        "runs per hour, one by one": "12.3",
    }
    assert expected.items() <= lines.items()


def test_runs_per_hour_count_processes(monkeypatch):
    """By a clock that goes on by 12 ms a step: ten runs of 30 000 steps an hour, or as many times more as there are processes.

    The sixth step takes minutes, which a median forgets.
    """
    clock, steps, jobs = [0.0], [], joblib.cpu_count()

    def advance(_):
        steps.append(0)
        clock[0] += 0.012 + 100 * (len(steps) == 6)

    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(StudyLearner, "advance", advance)
    with joblib.parallel_config("sequential"):
        hourly = speed.runs_per_hour(12, replace(LARGER, steps=30_000))
    assert hourly == pytest.approx({"one by one": 10, f"in {jobs} parallel processes": 10 * jobs})
    assert len(steps) >= 2 * 12


def test_training_the_study_fits_in_a_gigabyte():
    assert 100 < speed.peak_memory(1) < 1000


@pytest.mark.parametrize("name, value", [("repeats", 0), ("repeats", 10**9), ("threads", -1), ("threads", 10**9)])
def test_no_work_and_endless_work_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must be at least 1 and at most [0-9]+, not {value}"):
        speed.main(**{name: value})
