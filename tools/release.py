"""Pack what a release offers into _build/release: `python tools/release.py`, after `make pdf slides`; `make release` does all.

The version stands in the package alone; the changelog's newest entry and the citation must agree with it, and on the day.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r'(?m)^__version__ = "(.+)"$')
CITED = re.compile(r'(?ms)^version: (\S+)$.*^date-released: "(\S+)"$')
ENTRY = re.compile(r"(?ms)^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)\n+(.*?)(?=^## |\Z)")


def newest(root=ROOT):
    """Version, day and text of the changelog's newest entry; ValueError where package or citation say something else."""
    entry = ENTRY.search((root / "CHANGELOG.md").read_text("utf-8"))
    package = VERSION.search((root / "assign_add_lib/__init__.py").read_text("utf-8"))
    cited = CITED.search((root / "CITATION.cff").read_text("utf-8"))
    if not (entry and package and cited):
        raise ValueError("CHANGELOG.md has no `## X.Y.Z - DAY`, the package no version, or CITATION.cff not both")
    version, day, text = entry.groups()
    if (version, day, version) != (*cited.groups(), package[1]):
        raise ValueError(
            f"CHANGELOG.md says {version} of {day}, CITATION.cff {cited[1]} of {cited[2]}, and the package is {package[1]}"
        )
    return version, day, text


def pack(root=ROOT):
    """The folder with the site, its PDF, the slides, the data, and what changed; FileNotFoundError where one is not built."""
    version, _, text = newest(root)
    site, folder = root / "_build/html", root / "_build/release"
    decks = sorted((site / "slides").glob("*.pdf"))
    books = [site / "assign-and-add.pdf", site / "assign-and-add-evidence.pdf"]
    if not decks or not all(book.is_file() for book in books):
        raise FileNotFoundError(f"there is no PDF of the book or no slides below {site}; run `make pdf slides` first")
    shutil.rmtree(folder, ignore_errors=True)
    printed = folder / f"slides-{version}"
    printed.mkdir(parents=True)
    for deck in decks:
        shutil.copy2(deck, printed)
    name = f"assign-and-add-{version}"
    for book in books:
        shutil.copy2(book, folder / f"{book.stem}-{version}.pdf")
    for part, of, within in (("site", site, "."), ("slides", folder, printed.name), ("data", root, "data")):
        shutil.make_archive(str(folder / f"{name}-{part}"), "zip", of, within)
    shutil.rmtree(printed)
    (folder / "changes.md").write_text(text.strip() + "\n", "utf-8")
    return folder


if __name__ == "__main__":
    try:
        print("The release is in", pack())
    except (ValueError, OSError) as error:
        print("error:", error, file=sys.stderr)
        sys.exit(2)
