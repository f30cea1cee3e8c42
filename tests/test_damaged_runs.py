"""Run folders under attack: nothing is overwritten, nothing passes for what it is not, and errors name the file."""

import json
import os
import shutil

import pytest
from small import contents, posix
from tiny import TinyLearner, TinyRun, tiny

from assign_add_lib.companions.hypernetwork.training import ArmRun
from assign_add_lib.engine import manifest, runs
from assign_add_lib.engine.files import UNFINISHED, load_tensors, save_tensors
from assign_add_lib.engine.lock import lock_file
from assign_add_lib.engine.manifest import read_manifest, write_manifest
from assign_add_lib.engine.runs import checkpoint_path, export
from assign_add_lib.training import Run, load_run


def read_all(run):
    assert run.config and run.record and len(run.metrics) and run.described.notes
    for step in run.steps:
        run.tensors(step)


def refused(call, *words):
    with pytest.raises((ValueError, OSError)) as refusal:
        call()
    assert all(word in str(refusal.value) for word in words) and "\n" not in str(refusal.value), refusal.value


def described(folder, change):
    """Change what config.json says: `change` gets it as a table."""
    kept = json.loads((folder / "config.json").read_text())
    change(kept)
    (folder / "config.json").write_text(json.dumps(kept, indent=2) + "\n")


# 1: overwriting


LOST = {
    "metrics.csv": "it lacks rows up to step 4",
    "config.json": "holds no run",
    "state.safetensors": "without its state.safetensors",
    "checkpoints state.safetensors": "without its state.safetensors",
    "metrics.csv state.safetensors": "without its state.safetensors",
}


@pytest.mark.parametrize("lost, said", LOST.items())
def test_a_run_that_lost_a_file_is_refused_and_left_alone(tiny_half, lost, said):
    for name in lost.split():
        (tiny_half / name).rename(tiny_half.with_name(name))
    before = contents(tiny_half)
    refused(lambda: tiny(tiny_half), said, str(tiny_half))
    assert contents(tiny_half) == before


def test_a_run_from_before_the_notes_is_read_and_not_resumed(tiny_whole, tiny_half, own_data):
    """As the shipped ones are: no `run` in config.json, the step alone in tensor files, and in the end no state."""
    for folder in (tiny_whole, tiny_half):
        described(folder, lambda kept: kept.pop("run"))
        for path in folder.rglob("*.safetensors"):
            tensors, notes = load_tensors(path)
            save_tensors(path, tensors, step=notes["step"])
        read_all(TinyRun.open(folder))
    read_all(TinyRun.open(export(tiny_whole, "mine", TinyRun)))
    refused(lambda: tiny(tiny_half), "of an earlier version", str(tiny_half))
    (tiny_half / "state.safetensors").unlink()
    before = contents(tiny_half)
    refused(lambda: tiny(tiny_half), "without its state.safetensors")
    assert contents(tiny_half) == before


# 2, 5: metrics

METRICS_DAMAGE = {
    "empty": lambda lines: [],
    "row lost": lambda lines: lines[:2] + lines[3:],
    "rows exchanged": lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
    "row too many": lambda lines: [*lines, "10," + lines[-1].split(",", 1)[1]],
    "column lost": lambda lines: [line.rsplit(",", 1)[0] for line in lines],
    "column renamed": lambda lines: [lines[0].replace("distance", "distances"), *lines[1:]],
    "other format": lambda lines: [line.replace("2,", "2.0,", 1) if line.startswith("2,") else line for line in lines],
}


@pytest.mark.parametrize("damage", METRICS_DAMAGE)
def test_damaged_metrics_are_refused_by_all(tiny_whole, tiny_half, own_data, damage):
    for folder in (tiny_whole, tiny_half):
        lines = (folder / "metrics.csv").read_text().splitlines()
        (folder / "metrics.csv").write_bytes("".join(f"{line}\n" for line in METRICS_DAMAGE[damage](lines)).encode())
    refused(lambda: TinyRun.open(tiny_whole).metrics, str(tiny_whole / "metrics.csv"), "is damaged")
    refused(lambda: export(tiny_whole, "new", TinyRun), str(tiny_whole / "metrics.csv"), "is damaged")
    refused(lambda: tiny(tiny_half), str(tiny_half / "metrics.csv"), "is damaged")
    assert not list(own_data.glob("tiny/*"))


def test_every_flipped_bit_of_metrics_is_noticed(tiny_whole):
    path = tiny_whole / "metrics.csv"
    content = path.read_bytes()
    for place in range(0, len(content), 3):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])
        refused(lambda: TinyRun.open(tiny_whole).metrics, str(path), "is damaged")


@pytest.mark.parametrize("damage", [lambda content: content[:-5] + b"x" + content[-4:], lambda content: content[:300]])
def test_a_damaged_state_is_refused_and_left_alone(tiny_half, damage):
    path = tiny_half / "state.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    before = contents(tiny_half)
    refused(lambda: tiny(tiny_half), "state.safetensors is damaged", str(tiny_half))
    assert contents(tiny_half) == before


@pytest.mark.parametrize("lost", ["weights.guess", "exp_avg.guess", "generator"])
def test_a_state_without_a_tensor_is_refused(tiny_half, lost):
    tensors, notes = load_tensors(tiny_half / "state.safetensors")
    save_tensors(tiny_half / "state.safetensors", {name: tensors[name] for name in tensors if name != lost}, **notes)
    refused(lambda: tiny(tiny_half), "is not the state of a run with this config")


# 3: files of another run


def test_a_state_of_another_seed_is_refused(tiny_half, tiny_runs, tmp_path):
    other = tiny(tmp_path / "stopped", seed=2, stop=5)
    shutil.copy(other / "state.safetensors", tiny_half / "state.safetensors")
    refused(lambda: tiny(tiny_half), str(tiny_half / "state.safetensors"), "not of this run")
    refused(lambda: TinyRun.open(tiny_half).metrics, str(tiny_half / "state.safetensors"), "not of this run")


@pytest.mark.parametrize("source, said", [("other", "not of this run"), ("whole", "not of step 4: it was written at step 8")])
def test_a_checkpoint_of_another_run_or_step_is_refused(tiny_whole, tiny_half, tiny_runs, own_data, source, said):
    step = 4 if source == "other" else 8
    for folder in (tiny_whole, tiny_half):
        shutil.copy(checkpoint_path(tiny_runs[source], step), checkpoint_path(folder, 4))
    named = "step-000004.safetensors"
    refused(lambda: TinyRun.open(tiny_whole).tensors(4), str(tiny_whole), named, said)
    refused(lambda: export(tiny_whole, "new", TinyRun), str(tiny_whole), named, said)
    refused(lambda: tiny(tiny_half), str(tiny_half), named, said)
    assert not own_data.exists()


def test_what_is_exported_keeps_its_ties(tiny_whole, tiny_runs, own_data):
    export(tiny_whole, "mine", TinyRun, [4])
    read_all(TinyRun.open("mine"))
    copy = shutil.copytree(own_data / "tiny" / "mine", own_data.parent / "copy")  # nowhere listed, and still checked
    read_all(TinyRun.open(copy))
    shutil.copy(checkpoint_path(tiny_runs["other"], 4), checkpoint_path(copy, 4))
    refused(lambda: TinyRun.open(copy).tensors(), "not of this run")


@pytest.mark.parametrize("value, said", [(float("nan"), "not finite"), (1e6, "too large for float16")])
def test_weights_that_no_file_can_hold_are_not_shipped(tiny_whole, own_data, value, said):
    path = checkpoint_path(tiny_whole, 4)
    tensors, notes = load_tensors(path)
    save_tensors(path, {"guess": tensors["guess"].fill_(value)}, **notes)
    refused(lambda: export(tiny_whole, "new", TinyRun), said)
    assert not list(own_data.glob("tiny/*"))


# 4, 11, 19: two writers, kills, and folders that go away


def test_unfinished_files_of_later_kills_go_and_no_others(tiny_half, tiny_runs):
    for name in ("config.json", "metrics.csv", "state.safetensors", "checkpoints/step-000008.safetensors"):
        place = tiny_half / name
        place.with_name(f".{place.name}.x{UNFINISHED}").write_text("x")
    mine = {"notes.part": b"mine", ".config.json.backup.part": b"mine", f".download.x{UNFINISHED}": b"mine"}
    for name, content in mine.items():
        (tiny_half / name).write_bytes(content)
    assert contents(tiny(tiny_half)) == contents(tiny_runs["whole"]) | mine


def test_a_folder_of_others_keeps_its_unfinished_files(tmp_path):
    (tmp_path / f".config.json.x{UNFINISHED}").write_text("theirs")
    (tmp_path / "film").write_text("mine")
    refused(lambda: tiny(tmp_path), "is not empty and holds no run")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("times", [1, 2, 3, 4, 6, 7, 10, 11])
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_stop_around_any_write_is_taken_up(tmp_path, tiny_runs, monkeypatch, times, before):
    """As a kill would: nothing is cleaned up.  There are 4 files at step 0, 3 at step 2, 4 at step 4."""
    replace, left = os.replace, iter(range(times, 0, -1))

    def dying(source, target):
        last = next(left) == 1
        if not last or not before:
            replace(source, target)
        if last:
            raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dying)
        patch.setattr(os, "unlink", lambda path: None)
        with pytest.raises(SystemExit):
            tiny(tmp_path / "run")
    assert contents(tiny(tmp_path / "run")) == contents(tiny_runs["whole"])


TAKEN = {
    "folder": (shutil.rmtree, "was moved or removed"),
    "renamed": (lambda folder: folder.rename(folder.with_name("elsewhere")), "was moved or removed"),
    "checkpoint": (lambda folder: checkpoint_path(folder, 0).unlink(), "was removed"),
}


@posix
@pytest.mark.parametrize("taken", TAKEN)
def test_a_folder_that_goes_away_in_training_ends_it(tmp_path, monkeypatch, taken):
    advance, folder, (take, said) = TinyLearner.advance, tmp_path / "run", TAKEN[taken]

    def taking(learner):
        if learner.step == 5:
            take(folder)
        return advance(learner)

    monkeypatch.setattr(TinyLearner, "advance", taking)
    refused(lambda: tiny(folder), said, str(folder))
    monkeypatch.undo()
    assert folder.exists() == (taken == "checkpoint")
    if folder.exists():
        refused(lambda: tiny(folder), "there is no file", "step-000000.safetensors")


# 6: config.json

CONFIG_DAMAGE = {
    "seed changed": lambda kept: kept["config"].update(seed=2),
    "lr of wrong type": lambda kept: kept["config"].update(lr="0.1"),
    "huge lr": lambda kept: kept["config"].update(lr=10**400),
    "entry too many": lambda kept: kept["config"].update(depth=1),
    "config is a list": lambda kept: kept.update(config=[1]),
    "text for seconds": lambda kept: kept["record"].update(seconds="3"),
    "note changed": lambda kept: kept["hidden"]["vector"].reverse(),
    "note lost": lambda kept: kept.pop("hidden"),
    "record lost": lambda kept: kept.pop("record"),
    "sum changed": lambda kept: kept.update(run="0" * 64),
    "unknown entry": lambda kept: kept.update(extra={}),
}


@pytest.mark.parametrize("damage", CONFIG_DAMAGE)
def test_a_damaged_config_is_refused_by_all(tiny_whole, tiny_half, own_data, damage):
    for folder in (tiny_whole, tiny_half):
        described(folder, CONFIG_DAMAGE[damage])
    refused(lambda: read_all(TinyRun.open(tiny_whole)), str(tiny_whole / "config.json"))
    refused(lambda: export(tiny_whole, "new", TinyRun), str(tiny_whole / "config.json"))
    refused(lambda: tiny(tiny_half), str(tiny_half))


@pytest.mark.parametrize("content", [b"[" * 99_999, b'{"config": ' + b"9" * 9_999 + b"}", b"\xff", b"\0", b"", b"[]", b'{"a": 1'])
def test_a_config_that_is_no_json_is_one_line(tiny_whole, content):
    (tiny_whole / "config.json").write_bytes(content)
    refused(lambda: TinyRun.open(tiny_whole).config, str(tiny_whole / "config.json"), "is damaged")


@pytest.mark.parametrize(
    "change", [{"train_pairs": "0" * 871}, {"train_pairs": "zz"}, {"never_right": [1, 0]}, {"never_left": [True]}]
)
def test_a_split_is_read_strictly(tmp_path, change):
    folder = shutil.copytree(load_run("seed-3").folder, tmp_path / "copy")
    assert load_run(folder).split
    described(folder, lambda kept: kept["split"].update(change))
    refused(lambda: load_run(folder).split, str(folder / "config.json"), "is damaged")


# 7, 20: the shipped data

FILES = {"config.json", "metrics.csv", *(f"checkpoints/step-00000{step}.safetensors" for step in (0, 4, 8))}


@pytest.fixture
def shipped(tiny_whole, own_data):
    export(tiny_whole, "mine", TinyRun)
    return own_data / "tiny" / "mine"


@pytest.mark.parametrize("file", ["config.json", "metrics.csv", "checkpoints/step-000008.safetensors"])
def test_a_shipped_run_is_checked_by_path_too(shipped, file, monkeypatch):
    monkeypatch.chdir(shipped.parents[1])
    names, content = ("mine", shipped, "tiny/mine", "tiny/../tiny/mine"), (shipped / file).read_bytes()
    for name in names:
        read_all(TinyRun.open(name))
    (shipped / file).write_bytes(content + b" ")
    for name in names:
        refused(lambda name=name: read_all(TinyRun.open(name)), file, "its checksum is not the one in MANIFEST.sha256")


def test_what_the_manifest_does_not_list_is_refused(shipped):
    """A run that was copied there, and checkpoints that changed places, each whole by itself."""
    copy = shutil.copytree(shipped, shipped.with_name("foundling"))
    refused(lambda: read_all(TinyRun.open(copy)), "its checksum is not the one in MANIFEST.sha256")
    shutil.copy(checkpoint_path(shipped, 0), checkpoint_path(shipped, 4))
    refused(lambda: TinyRun.open("mine").tensors(4), "step-000004.safetensors is damaged")
    (shipped.parents[1] / "MANIFEST.sha256").unlink()
    refused(lambda: TinyRun.open("mine"), "there is no file", "MANIFEST.sha256")


def test_a_later_export_does_not_sign_damage(shipped, tiny_whole):
    path = checkpoint_path(shipped, 4)
    path.write_bytes(path.read_bytes()[:-1])
    export(tiny_whole, "second", TinyRun)
    assert TinyRun.open("second").tensors(4)
    refused(lambda: TinyRun.open("mine").tensors(4), "is damaged")


def test_stray_files_are_no_checkpoints_and_are_never_certified(shipped, tiny_whole):
    for folder in (shipped, tiny_whole):
        for name in ("step-000004 (copy).safetensors", "step-.safetensors", "step-00004.safetensors", ".DS_Store"):
            (folder / "checkpoints" / name).write_text("x")
    assert TinyRun.open(tiny_whole).steps == TinyRun.open("mine").steps == [0, 4, 8]
    export(tiny_whole, "second", TinyRun)
    listed = read_manifest(shipped.parents[1])
    assert set(listed) == {f"tiny/{run}/{file}" for run in ("mine", "second") for file in FILES}


def test_a_listed_file_that_is_gone_is_missed_and_stays_listed(shipped):
    checkpoint_path(shipped, 8).unlink()
    for _ in range(2):
        refused(lambda: TinyRun.open("mine").tensors(), str(checkpoint_path(shipped, 8)), "MANIFEST")
        write_manifest(shipped.parents[1])
    shutil.rmtree(shipped)
    write_manifest(shipped.parents[1])
    assert read_manifest(shipped.parents[1]) == {}


@pytest.mark.parametrize("garbage", [b"\xff\xfe", b"g" * 64 + b"  file\n"])
def test_a_manifest_of_garbage_is_named(shipped, garbage):
    path = shipped.parents[1] / "MANIFEST.sha256"
    path.write_bytes(garbage)
    for call in (lambda: TinyRun.open("mine"), lambda: write_manifest(shipped.parents[1])):
        refused(call, f"{path} is damaged")
    assert path.read_bytes() == garbage


def test_what_a_killed_export_left_is_not_shipped(tiny_whole, own_data):
    left = own_data / "tiny" / ".mine.making"
    (left / "checkpoints").mkdir(parents=True)
    (left / "checkpoints" / "step-000002.safetensors").write_text("x")
    assert {path.name for path in export(tiny_whole, "mine", TinyRun).rglob("*.*")} == {path.split("/")[-1] for path in FILES}


def test_an_export_that_was_killed_before_its_run_was_listed_is_taken_up(tiny_whole, own_data, monkeypatch):
    """The manifest is locked, the disk is full, or the process dies: what stands there is completed, and nothing else is."""
    with lock_file(own_data / "MANIFEST.sha256"):
        refused(lambda: export(tiny_whole, "mine", TinyRun), "MANIFEST.sha256 is being written by another process")
    assert not (own_data / "tiny").exists()
    with monkeypatch.context() as dying, pytest.raises(KeyboardInterrupt):
        dying.setattr(runs, "sign", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        export(tiny_whole, "mine", TinyRun)
    refused(lambda: export(tiny_whole, "mine", TinyRun, [4]), "mine exists; no exported run is overwritten")
    read_all(TinyRun.open(export(tiny_whole, "mine", TinyRun)))
    refused(lambda: export(tiny_whole, "mine", TinyRun), "mine exists; no exported run is overwritten")


def test_own_runs_lie_outside_of_an_installed_package(tiny_whole, own_data, monkeypatch, tmp_path):
    (manifest.PACKAGE / "data").mkdir(parents=True)
    refused(lambda: export(tiny_whole, "mine", TinyRun), "say with --data where")
    mine = export(tiny_whole, "mine", TinyRun, data=tmp_path / "own")
    shutil.rmtree(manifest.PACKAGE)  # as the next version of the package is installed
    read_all(TinyRun.open(mine))
    (mine / "metrics.csv").write_text((mine / "metrics.csv").read_text() + " ")
    refused(lambda: read_all(TinyRun.open(mine)), "its checksum is not the one in MANIFEST.sha256")


@pytest.mark.parametrize("kind", [Run, ArmRun])
def test_all_shipped_runs_are_whole(kind):
    """Metrics, record, split: what the strict reader asks for holds of every shipped run."""
    for name in kind.shipped():
        run = kind.open(name)
        assert run.finished and run.metrics.index[-1] == run.config.steps and run.record["seconds"] > 0
        assert run.described.run is None
