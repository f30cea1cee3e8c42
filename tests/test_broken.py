"""The table of an attack on a run: what stands in it, that a stopped search goes on, and that nothing else is overwritten."""

import pandas as pd
import pytest
import torch

from assign_add_lib import Problem, last_logits, load_run
from assign_add_lib.__main__ import main
from assign_add_lib.proof import broken
from assign_add_lib.proof.attack import margin_of
from assign_add_lib.task import KINDS


def attacked(finished, file, **how):
    return broken.attack_run(finished, file, **{"questions": 5, "jobs": 1, "progress": False} | how)


def test_each_row_is_a_problem_that_the_network_answers_so(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(broken, "PART", 4)
    table, weights = attacked(finished, tmp_path / "new/found.csv"), load_run(finished).weights()
    assert list(table) == broken.COLUMNS and [(table["kind"] == kind).sum() for kind in KINDS] == [5] * 4
    tokens = torch.tensor([[*map(int, row.split())] for row in table["tokens"]])
    assert [str(Problem.from_tokens(row, weights.task)) for row in tokens] == list(table["problem"])
    assert last_logits(weights, tokens).argmax(1).tolist() == list(table["answer"])
    right = weights.task.right_answers(tokens)
    torch.testing.assert_close(
        margin_of(weights.to(torch.float64), tokens, right),
        torch.tensor(list(table["margin"])),
        atol=1e-5,
        rtol=0,
        check_dtype=False,
    )
    assert ((table["margin"] < 0).to_numpy() == (last_logits(weights, tokens).argmax(1) != right).numpy()).all()


def test_a_search_that_was_stopped_goes_on_and_a_wider_one_adds_to_it(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(broken, "PART", 2)
    whole, file, plain, done = attacked(finished, tmp_path / "whole.csv"), tmp_path / "found.csv", broken.attack_part, []

    def stopping(*job):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(job)
        return plain(*job)

    monkeypatch.setattr(broken, "attack_part", stopping)
    with pytest.raises(KeyboardInterrupt):
        attacked(finished, file, kinds=["0-var", "2-var"])
    assert len(pd.read_csv(file)) == 6
    monkeypatch.setattr(broken, "attack_part", lambda *job: done.append(job) or plain(*job))
    attacked(finished, file, kinds=["2-var", "0-var"])
    assert len(done) == 6
    pd.testing.assert_frame_equal(attacked(finished, file), whole)
    assert len(done) == 12 and file.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert len(attacked(finished, file, questions=1)) == 4 and len(done) == 12


@pytest.mark.parametrize(
    "options, said",
    [
        (["--kind", "3-var"], "there is no kind 3-var; the kinds are 0-var, 1-var left"),
        (["--questions", "0"], "questions must be at least 1 and at most 100000, not 0"),
        (["--jobs", "0"], "jobs must be at least 1"),
        (["--seed", "-1"], "seed must be from 0 to 2147483647, not -1"),
        (["--step", "41"], "has no checkpoint at step 41"),
        (["--output", "."], ". is a folder"),
        (["--output", "notes.txt"], "notes.txt holds something else than what an attack found"),
        (["--output", "other.csv"], "other.csv holds what was found with seed 7, not 0"),
    ],
)
def test_bad_input_is_one_line_and_what_stands_there_stays(finished, tmp_path, monkeypatch, capsys, options, said):
    monkeypatch.chdir(tmp_path)
    row = dict.fromkeys(broken.COLUMNS, 0) | {"run": finished.name, "step": 80, "seed": 7, "kind": "0-var"}
    texts = {"notes.txt": "my notes\n", "other.csv": pd.DataFrame([row]).to_csv(index=False)}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert main(["attack", str(finished), *options]) == 2
    out, err = capsys.readouterr()
    assert not out and err.startswith("error: ") and said in err and err.count("\n") == 1
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == texts


def test_the_command_says_what_it_found(finished, tmp_path, capsys):
    file = str(tmp_path / "found.csv")
    assert main(["attack", str(finished), "--kind", "2-var", "--questions", "3", "--jobs", "1", "--quiet", "--output", file]) == 0
    lines = capsys.readouterr().out.splitlines()
    table = pd.read_csv(file)
    first = table[table["question"] < 3]
    wrong = (first["margin"] < 0).sum()
    assert lines[0] == f"2-var: {wrong} of 3 questions broken; least margin {first['margin'].min():.2f}"
    worst = first.loc[first["margin"].idxmin()]
    assert lines[1:] == [f"{worst['problem']} answered with {worst['answer']}", f"written: {file}"]
    assert len(table) == broken.PART
