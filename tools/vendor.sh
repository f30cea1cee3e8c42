#!/usr/bin/env bash
# Fetches the letters of formulas, which the site serves itself, and axe-core for its test.
set -euo pipefail
cd "$(dirname "$0")/.."
stix=@fontsource/stix-two-math@5.3.0 axe=axe-core@4.10.3 python=${PYTHON:-.venv/bin/python}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch() { # NAME@VERSION FOLDER: unpack an npm package
  mkdir "$work/$2"
  tar -xzf "$work/$(cd "$work" && npm pack --silent "$1")" -C "$work/$2" --strip-components=1
}

fetch "$stix" stix
fetch "$axe" axe
rm -rf assets/vendor/stix tests/vendor
mkdir -p assets/vendor/stix tests/vendor
cp "$work/stix/LICENSE" assets/vendor/stix
"$python" -m pip install --quiet --target "$work/brotli" brotli==1.2.1
# of some 4000 glyphs those of formulas: Latin and Greek, upright, bold, italic and hollow; accents, braces, arrows, relations
PYTHONPATH="$work/brotli" "$python" -m fontTools.subset "$work/stix/files/stix-two-math-latin-400-normal.woff2" \
  --unicodes="$(tr -d ' \n' <<<"
    20-7E, A0-D7, F7, 2C6-2DD, 300-338, 391-3F6, 2016, 2020-2026, 2032-2034, 2061-2064, 20D7, 2102, 210E, 2115, 211A, 211D, 2124,
    2190-21A6, 21D0-21D4, 2200-2237, 223C-226B, 2282-228B, 2295-2299, 22A4, 22A5, 22C5, 22EE-22F1, 2308-230B, 23B4-23B6,
    23DC-23E1, 27E8, 27E9, 27F5-27FA, 2A7D, 2A7E, 1D400-1D467, 1D538-1D56B, 1D6A4-1D71B, 1D7CE-1D7D7")" \
  --layout-features=ssty,dtls --no-hinting --flavor=woff2 --output-file=assets/vendor/stix/stix-two-math.woff2
cp "$work/axe/LICENSE" "$work/axe/axe.min.js" tests/vendor
chmod -R u=rwX,go=rX assets/vendor tests/vendor
