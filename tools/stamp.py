"""Write a copy of this checkout that knows its public address: `python tools/stamp.py ADDRESS FOLDER`."""

import argparse
import re
import shutil
import subprocess
from pathlib import Path

from first_cell import ASKED, renew

ROOT = Path(__file__).resolve().parents[1]


def stamp(address, folder, package=None):
    """Copy the checkout into a new folder, with `address` behind the buttons and in every first cell.

    `package` is what pip installs where the package is missing: by default the branch `published` at the address.
    Only files that git tracks are copied.  ValueError for an address that is more than an address.
    """
    for text in (address, package or ""):
        if not re.fullmatch(r"[\w.~:/@%+-]*", text, re.ASCII):
            raise ValueError(f"an address holds letters, digits and . ~ : / @ % + - _ alone, not {text!r}")
    folder.mkdir(parents=True)
    address = address.rstrip("/").removesuffix(".git")
    listed = ["git", "ls-files", "-z", "--cached"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in (name for name in names.split("\0") if (ROOT / name).is_file()):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    config = folder / "_config.yml"
    config.write_text(re.sub(r"(?m)^  url: .*", f"  url: {address}", config.read_text("utf-8")), "utf-8")
    pages = {page for name in ("chapters/*", "evidence/*", "pages/algorithm.*") for page in folder.glob(name)}
    own = {page for page in folder.rglob("*.ipynb") if ASKED in page.read_text("utf-8")}  # an edition's, which begin as a chapter
    for page in pages | own:
        renew(page, package or f"git+{address}@published")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="the repository's public address")
    parser.add_argument("folder", type=Path, help="a new folder for the copy")
    parser.add_argument("--package", help="what pip installs instead of the branch `published` (for tests: a wheel)")
    arguments = parser.parse_args()
    try:
        stamp(**vars(arguments))
    except (ValueError, OSError) as error:
        parser.error(error)
