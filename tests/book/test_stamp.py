"""The stamped copy takes an address and tracked files, and nothing else."""

import subprocess

import nbformat
import pytest
import stamp as tool
from first_cell import first_cell
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ADDRESS = "https://github.com/OWNER/REPOSITORY"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A small checkout with one chapter, and a file that git does not track."""
    place = tmp_path / "checkout"
    (place / "chapters").mkdir(parents=True)
    (place / "_config.yml").write_text("repository:\n  url: none\n")
    (place / "chapters" / "01.md").write_text("```{code-cell} ipython3\n\n" + first_cell() + "\n```\n")
    for command in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *command], cwd=place, check=True)
    (place / ".env").write_text("TOKEN=secret")
    monkeypatch.setattr(tool, "ROOT", place)
    return place


@pytest.mark.parametrize(
    "address",
    [ADDRESS + '"; import os #', ADDRESS + "\nbranch: main", ADDRESS + "'", ADDRESS + "\\", "a b", "{x}"],
)
def test_an_address_that_is_more_is_refused(checkout, tmp_path, address):
    for arguments in ((address, tmp_path / "copy"), (ADDRESS, tmp_path / "copy", address)):
        with pytest.raises(ValueError, match="an address holds letters"):
            tool.stamp(*arguments)
    assert not (tmp_path / "copy").exists()


def test_only_tracked_files_are_copied(checkout, tmp_path):
    tool.stamp(ADDRESS, tmp_path / "copy")
    assert sorted(path.name for path in (tmp_path / "copy").rglob("*") if path.is_file()) == ["01.md", "_config.yml"]
    assert (tmp_path / "copy" / "_config.yml").read_text() == f"repository:\n  url: {ADDRESS}\n"
    assert f'PACKAGE = "git+{ADDRESS}@published"' in (tmp_path / "copy" / "chapters" / "01.md").read_text()


def test_an_own_notebook_that_begins_as_a_chapter_installs_the_package_too(checkout, tmp_path):
    for name, source in (("lab", first_cell()), ("other", "1 + 1")):
        notebook = new_notebook(cells=[new_markdown_cell("# Ours"), new_code_cell(source)])
        (checkout / "ours").mkdir(exist_ok=True)
        nbformat.write(notebook, checkout / f"ours/{name}.ipynb")
    subprocess.run(["git", "add", "."], cwd=checkout, check=True)
    tool.stamp(ADDRESS, tmp_path / "copy")
    package = f"git+{ADDRESS}@published"
    assert nbformat.read(tmp_path / "copy/ours/lab.ipynb", 4).cells[1].source == first_cell(package)
    assert nbformat.read(tmp_path / "copy/ours/other.ipynb", 4).cells[1].source == "1 + 1"


def test_a_first_cell_that_is_still_empty_is_filled_in(tmp_path):
    chapter = tmp_path / "01.md"
    chapter.write_text("# One\n\n```{code-cell} ipython3\n:tags: [remove-cell]\n\n```\n\n```{code-cell} ipython3\n1 + 1\n```\n")
    expected = chapter.read_text().replace("[remove-cell]\n\n", f"[remove-cell]\n\n{first_cell()}\n")
    for _ in range(2):
        tool.renew(chapter)
        assert chapter.read_text() == expected
