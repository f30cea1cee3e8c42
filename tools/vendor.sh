#!/usr/bin/env bash
# Fetches the third-party browser code that the site serves itself, and axe-core for its test, from npm and the CircuitsVis wheel.
set -euo pipefail
cd "$(dirname "$0")/.."
mathjax=mathjax@3.2.2 axe=axe-core@4.10.3 python=${PYTHON:-.venv/bin/python}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch() { # NAME@VERSION FOLDER: unpack an npm package
  mkdir "$work/$2"
  tar -xzf "$work/$(cd "$work" && npm pack --silent "$1")" -C "$work/$2" --strip-components=1
}

fetch "$mathjax" mathjax
fetch "$axe" axe
rm -rf assets/vendor/mathjax tests/vendor
mkdir -p assets/vendor/mathjax/output/chtml/fonts tests/vendor
cp "$work/mathjax/LICENSE" "$work/mathjax/es5/tex-chtml.js" assets/vendor/mathjax
cp -r "$work/mathjax/es5/output/chtml/fonts/woff-v2" assets/vendor/mathjax/output/chtml/fonts
cp "$work/axe/LICENSE" "$work/axe/axe.min.js" tests/vendor
"$python" - <<'PYTHON'
from importlib.metadata import files
from pathlib import Path

from assign_add_lib.views.attention import circuitsvis_script

here = Path("assets/vendor/circuitsvis")
here.mkdir(exist_ok=True)
(here / "iife.js").write_text(circuitsvis_script(), "utf-8")
licence = next(file for file in files("circuitsvis") if file.name == "LICENSE.txt")
(here / licence.name).write_bytes(licence.locate().read_bytes())
PYTHON
chmod -R u=rwX,go=rX assets/vendor tests/vendor
