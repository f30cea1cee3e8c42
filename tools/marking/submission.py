"""A notebook that was handed in, whatever state it is in."""

import hashlib
import json
import os
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from assign_add_lib.engine.cli import one_line

from .assignments import WORDS, Chapter, Exercise

LARGEST = 50 * 2**20  # bytes of a file
MOST_CELLS, MOST_TEXT = 2000, 10**6  # cells, and letters in all of them
BARE = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}}
MOST_NAME = 120  # bytes of a student's name, so that files may be named by it
DEFINED = re.compile(r"^def (\w+)", re.MULTILINE)
# How Moodle names the folder of a student, or the file, and Canvas the file.
PLATFORMS = (
    re.compile(r"(?P<student>.+?)_(?P<account>\d{1,20})_assignsubmission_.*"),
    re.compile(r"(?P<student>[^_]+)(?:_LATE)?_(?P<account>\d{3,20})_\d{3,}_.+"),
)
COPY = r"(Copy of )?{}( ?\(\d+\))?"  # what Colab and browsers call a notebook that they save once more
CALLED = re.compile(r"^checks\.(\w+)\(", re.MULTILINE)


@dataclass
class Submission:
    """A file that was handed in: its name in the folder, who handed it in, its chapter and cells, or what is wrong with it."""

    name: str
    student: str
    sha256: str
    account: str = ""  # its number on a learning platform, where the name of the file gives one
    chapter: Chapter | None = None
    cells: list = field(default_factory=list)
    trouble: str = ""

    def words(self, exercise: Exercise) -> str:
        """What the student wrote in words for an exercise; nothing where the cell is missing or as it was."""
        cell = words_cell(self.cells, exercise)
        return cell.source.removeprefix(WORDS.format(number=exercise.number)).strip() if cell else ""


def words_cell(cells, exercise: Exercise):
    """The cell in which words for an exercise are looked for, by its hidden data or its first line; none where it is missing."""
    for cell in cells:
        key = cell.metadata.get("nbgrader", {}).get("grade_id")
        if key == f"{exercise.key}-words" or cell.source.startswith(WORDS.format(number=exercise.number)):
            return cell
    return None


def find(folder: Path, chapters: dict[str, Chapter]) -> list[Submission]:
    """All that was handed in, by name. ValueError where there is no folder, or no notebook in it."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and not hidden(path.relative_to(folder))]
    if not any(path.suffix == ".ipynb" for path in paths):
        raise ValueError(f"there is no notebook (.ipynb) in {folder}")
    found = [read(path, shown(path.relative_to(folder)), chapters) for path in paths]
    found.sort(key=lambda each: (each.chapter.name if each.chapter else "", each.name))
    accounts = {each.student.casefold(): set() for each in found}
    for each in found:
        accounts[each.student.casefold()].add(each.account)
    for each in found:  # two people of one name
        each.student += f" {each.account}".rstrip() if len(accounts[each.student.casefold()]) > 1 else ""
    wanted, given = {row_of(each) for each in found}, set()
    for each in found:  # two files of one student are two rows, and none takes what a third is called
        name, number = each.student, 1
        while row_of(each) in given or number > 1 and row_of(each) in wanted:
            number += 1
            each.student = f"{name} ({number})"
        given.add(row_of(each))
    return found


def row_of(submission: Submission) -> tuple[str, str]:
    """What no two rows may share: some file systems hold large and small letters for the same."""
    return submission.student.casefold(), submission.chapter.name if submission.chapter else ""


def shown(path: Path) -> Path:
    """A path as text that can be printed, whatever system it was named on."""
    name = os.fsencode(path)
    try:
        text = name.decode()
    except UnicodeDecodeError:
        text = name.decode("latin-1")
    return Path(one_line(unicodedata.normalize("NFC", text), 4096) or "_")


def student_of(path: Path) -> str:
    """A name for nbgrader, which looks for it as a pattern among folders."""
    name = re.sub(r"[^\w .,@()-]", "_", "__".join(path.parts)).encode()[:MOST_NAME].decode(errors="ignore")
    return name.strip(" .") or "_"


def on_a_platform(name: Path) -> tuple[str, str] | None:
    """A student's name and the number of the account, where a learning platform has put them into a folder's or file's name."""
    for part in (*name.parts[:-1], name.stem):
        for pattern in PLATFORMS:
            if found := pattern.fullmatch(part):
                return student_of(Path(found["student"])), found["account"]
    return None


def hidden(path: Path) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in path.parts)


def read(path: Path, name: Path, chapters: dict[str, Chapter]) -> Submission:
    """Read one file; what is wrong with it stands in `trouble`."""
    found = Submission(str(name), student_of(name.with_suffix("")), "")
    try:
        if path.suffix != ".ipynb":
            raise ValueError("this is no notebook (.ipynb)")
        if path.stat().st_size > LARGEST:
            raise ValueError("the file is larger than 50 MiB")
        content = path.read_bytes()
        found.sha256 = hashlib.sha256(content).hexdigest()
        found.cells = cells(content)
        found.chapter = chapter_of(found.cells, chapters)
        if not found.chapter:
            raise ValueError("it holds no exercise of the book")
    except (ValueError, OSError) as error:
        found.trouble = one_line(error, 300)
    if platform := on_a_platform(name):
        found.student, found.account = platform
    elif found.chapter and len(name.parts) > 1:
        if re.fullmatch(COPY.format(re.escape(found.chapter.name)), name.stem):
            found.student = student_of(name.parent)  # a folder for each student
    return found


def cells(content: bytes) -> list:
    """The cells of a notebook's file; ValueError says what is wrong with it."""
    try:
        written = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("the file is damaged: it is not JSON") from None
    try:
        if len(written.get("cells", ())) > MOST_CELLS:
            raise ValueError(f"more than {MOST_CELLS} cells")
        text = json.dumps(written, ensure_ascii=False).encode(errors="replace").decode()  # halves of letters are none
        notebook = nbformat.convert(nbformat.from_dict({"metadata": {}, **json.loads(text)}), 4)
        notebook = nbformat.from_dict(BARE | {"cells": list(map(plain, notebook.cells))})
        nbformat.validate(notebook)
        if sum(len(cell.source) for cell in notebook.cells) > MOST_TEXT:
            raise ValueError(f"cells of more than {MOST_TEXT} letters")
    except Exception as error:
        raise ValueError(f"the file is damaged: it is no notebook ({one_line(error, 80)})") from None
    return notebook.cells


def plain(cell: dict) -> dict:
    """A cell as it was written, with what is read here: of what else tools leave in it, or lose, nothing is known."""
    about = mapping(cell.get("metadata"))
    tags, key = about.get("tags"), mapping(about.get("nbgrader")).get("grade_id")
    tags = [each for each in tags if isinstance(each, str)] if isinstance(tags, list) else []
    known = {"tags": tags, "nbgrader": {"grade_id": key if isinstance(key, str) else None}}
    source = "".join(cell["source"]) if isinstance(cell["source"], list) else cell["source"]
    ran = {"execution_count": None, "outputs": []} if cell["cell_type"] == "code" else {}
    return {"cell_type": cell["cell_type"], "source": source, "metadata": known, **ran}


def mapping(value) -> dict:
    return value if isinstance(value, dict) else {}


def chapter_of(cells, chapters: dict[str, Chapter]) -> Chapter | None:
    """The chapter whose exercises the notebook names most, by function and by check."""
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    defined, called = set(DEFINED.findall(code)), set(CALLED.findall(code))
    votes = Counter()
    for name, chapter in chapters.items():
        votes[name] = sum((each.check in called) + (each.function in defined) for each in chapter.exercises)
    best = max(votes, key=votes.get)
    return chapters[best] if votes[best] else None
