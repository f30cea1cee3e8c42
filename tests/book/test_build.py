"""The package as others get it: a wheel with the shipped runs, and chapters that install it where it is missing."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import nbformat
import pytest
from browsing import ROOT, soup
from first_cell import first_cell
from nbformat.v4 import new_markdown_cell, new_notebook
from plain import Book
from stamp import stamp

ADDRESS = "https://github.com/OWNER/REPOSITORY"
COLAB = "https://colab.research.google.com/github/OWNER/REPOSITORY/blob/published"
PAGES = "https://owner.github.io/REPOSITORY"


def run(*command, cwd):
    """Run a command in another folder, with nothing of this checkout on Python's path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, cwd=cwd, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run(*pip, "--wheel-dir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def copy(wheel, tmp_path_factory):
    """A stamped copy of this checkout, whose chapters install the wheel."""
    stamp(ADDRESS + "/", folder := tmp_path_factory.mktemp("stamped") / "copy", package=wheel.as_uri())
    return folder


@pytest.fixture
def fresh_python(tmp_path):
    """The Python of a new environment that has all we have, by links, but for this package."""
    venv.create(tmp_path / "venv", symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": tmp_path / "venv"}))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "assign_add" not in entry.name:
            (packages / entry.name).symlink_to(entry)
    return tmp_path / "venv" / "bin" / "python"


def test_wheel_holds_the_shipped_data_and_all_of_the_package(wheel):
    tracked = run("git", "ls-files", "assign_add_lib", cwd=ROOT).splitlines()
    shipped = {f"assign_add_lib/{path.relative_to(ROOT)}" for path in ROOT.glob("data/**/*") if path.is_file()}
    assert tracked and shipped and shipped | {*tracked} <= set(ZipFile(wheel).namelist())


def test_stamped_copy_points_to_the_published_branch(copy, wheel):
    assert f"repository:\n  url: {ADDRESS}\n  branch: published\n" in (copy / "_config.yml").read_text("utf-8")
    assert Book(copy).site == PAGES
    for chapter in (copy / "chapters").iterdir():
        text = chapter.read_text("utf-8").replace('\\"', '"')
        assert f'PACKAGE = "{wheel.as_uri()}"' in text and 'PACKAGE = ""' not in text


def test_stamped_page_leads_to_its_code(copy):
    """In a book of three pages, one of evidence: a button whose icon has no drawing would end the build."""
    pages = "  - file: chapters/01_task\n  - file: evidence/01_task\n"
    (copy / "_toc.yml").write_text(f"format: jb-book\nroot: pages/notation\nchapters:\n{pages}")
    view = "<figure class='step-slider'><figcaption>A view.</figcaption></figure>"
    view += "\n\n```{figure} ../assets/attention.png\n:name: fig-one\n\nA figure.\n```"
    cells = map(new_markdown_cell, ["# Evidence 1: The task", f"(half)=\n## Half a look-up\n\n{view}"])
    nbformat.write(new_notebook(cells=[*cells]), copy / "evidence/01_task.ipynb")
    listed = copy / "tools/site/extensions.py"  # without the live network, which has no button and costs a quarter of the time
    listed.write_text(listed.read_text("utf-8").replace('"live_network", ', ""), "utf-8")
    run(Path(sys.executable).with_name("jupyter-book"), "build", copy, cwd=copy)
    page, evidence = (soup(f"{folder}/01_task.html", copy / "_build/html") for folder in ("chapters", "evidence"))
    assert {ADDRESS, f"{COLAB}/chapters/01_task.ipynb"} <= {link["href"] for link in page.select(".article-header-buttons a")}
    assert evidence.select_one(f"a[href='{COLAB}/evidence/01_task.ipynb']")
    numbers = [number.get_text() for number in evidence.select(".section-number, .view-number, .caption-number")]
    assert numbers == ["1.1. ", "View E1.1 ", "Fig. E1.1 "]
    assert page.select_one("link[rel=canonical]")["href"] == f"{PAGES}/chapters/01_task.html"
    assert page.select_one("meta[property='og:image']")["content"] == f"{PAGES}/_static/card.png"


def test_unstamped_chapter_says_how_to_install(fresh_python, tmp_path):
    script = tmp_path / "cell.ipy"
    script.write_text(first_cell(), "utf-8")
    with pytest.raises(subprocess.CalledProcessError) as failure:
        run(fresh_python, "-m", "IPython", "--colors=nocolor", script, cwd=tmp_path)
    assert "run `pip install .` in a checkout" in failure.value.stdout + failure.value.stderr


def test_stamped_chapter_installs_the_package_and_goes_on(copy, fresh_python, tmp_path):
    """With what lies in the wheel beside the modules, too: a style sheet and the shipped runs."""
    first = next(cell for cell in nbformat.read(copy / "chapters/01_task.ipynb", 4).cells if cell.cell_type == "code")
    uses = "import assign_add_lib as a\nfrom assign_add_lib.views import figures\nfigures.use_style()\n"
    uses += "a.load_run('seed-42').weights()\nprint(a.__file__)"
    (tmp_path / "cells.ipy").write_text(f"{first.source}\n{uses}", "utf-8")
    assert str(tmp_path / "venv") in run(fresh_python, "-m", "IPython", tmp_path / "cells.ipy", cwd=tmp_path)
