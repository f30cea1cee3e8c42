#!/usr/bin/env bash
# Fetches the third-party browser code that the site serves itself, and axe-core for its test, from npm.
set -euo pipefail
cd "$(dirname "$0")/.."
mathjax=mathjax@3.2.2 axe=axe-core@4.10.3
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
chmod -R u=rwX,go=rX assets/vendor tests/vendor
