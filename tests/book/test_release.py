"""Releases: one version everywhere, a changelog in its form, and all that is offered in one folder."""

import re
import shutil
from datetime import date
from zipfile import ZipFile

import pytest
import release

import assign_add_lib

FILES = ("CHANGELOG.md", "CITATION.cff", "assign_add_lib/__init__.py")


@pytest.fixture
def checkout(root, tmp_path):
    """Copies of the files that name the version."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy2(root / name, tmp_path / name)
    return tmp_path


def test_package_changelog_and_citation_agree():
    version, day, text = release.newest()
    assert version == assign_add_lib.__version__ and date.fromisoformat(day) and text.startswith(("The", "###"))


def test_changelog_is_in_its_form(root):
    text = (root / "CHANGELOG.md").read_text("utf-8")
    first, *entries = re.findall(r"(?m)^## (.*)", text)
    assert first == "Unreleased" and entries == [f"{version} - {day}" for version, day, _ in release.ENTRY.findall(text)]
    assert entries == sorted(entries, key=lambda entry: [int(part) for part in entry.split()[0].split(".")], reverse=True)
    assert set(re.findall(r"(?m)^### (.*)", text)) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.mark.parametrize("file", FILES)
def test_a_version_that_one_file_alone_has_is_refused(checkout, file):
    version, *_ = release.newest(checkout)
    text = (checkout / file).read_text("utf-8")
    (checkout / file).write_text(text.replace(version, "9.9.9"), "utf-8")
    with pytest.raises(ValueError, match="9.9.9"):
        release.newest(checkout)


def test_another_day_is_refused(checkout):
    _, day, _ = release.newest(checkout)
    text = (checkout / "CITATION.cff").read_text("utf-8")
    (checkout / "CITATION.cff").write_text(text.replace(day, "2001-01-01"), "utf-8")
    with pytest.raises(ValueError, match="2001-01-01"):
        release.newest(checkout)


def test_a_release_holds_site_pdf_slides_data_and_changes(checkout):
    with pytest.raises(FileNotFoundError, match="make pdf slides"):
        release.pack(checkout)
    built = ("intro.html", "assign-and-add.pdf", "assign-and-add-evidence.pdf", "slides/01_task.pdf")
    for name in (*(f"_build/html/{each}" for each in built), "data/runs/a.csv"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(name)
    version, _, text = release.newest(checkout)
    for _ in range(2):
        folder, name = release.pack(checkout), f"assign-and-add-{version}"
        books = {f"{name}.pdf", f"assign-and-add-evidence-{version}.pdf"}
        parts = books | {"changes.md", *(f"{name}-{part}.zip" for part in ("site", "slides", "data"))}
        assert {path.name for path in folder.iterdir()} == parts
    held = {part: ZipFile(folder / f"{name}-{part}.zip").namelist() for part in ("site", "slides", "data")}
    assert "intro.html" in held["site"] and f"slides-{version}/01_task.pdf" in held["slides"]
    assert "data/runs/a.csv" in held["data"]
    assert (folder / "changes.md").read_text("utf-8").strip() == text.strip()
