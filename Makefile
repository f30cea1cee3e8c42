VENV    ?= .venv
PYTHON  ?= python3
BIN      = $(VENV)/bin
READY    = $(VENV)/.ready
PIP      = --quiet --no-compile
INDEX    = _build/html/index.html
# As many as cores have, since each imports PyTorch and trains its own fixtures.
WORKERS ?= 2
RUN     ?= runs/seed-42
ARGS    ?= --seed 42 --threads 1
MARK    ?=

export ASSIGN_ADD_RENDER = static
export PYTHONHASHSEED = 0
# Modules are kept compiled, or every process would compile PyTorch anew: 9 s of a processor each.
unexport PYTHONDONTWRITEBYTECODE
# The C library keeps large tensors' memory for the next ones, or the system would clear it anew each time.
export MALLOC_MMAP_MAX_ = 0
export MALLOC_TRIM_THRESHOLD_ = 1073741824

.PHONY: book pdf slides release test oldest newest train remake execute minutes serve student assignments mark quizzes exam lint browser clean

book: $(READY)
	$(BIN)/jupyter-book build . --all -W -n --keep-going
	@test -s $(INDEX)
	$(BIN)/python -m sphinx -q -W --keep-going -n -b revealjs -d _build/.slides teaching/slides _build/html/slides
	@$(BIN)/python tools/plain.py _build/html/_sources
	@echo "The book is at $(abspath $(INDEX))"

# The course and its evidence, and each deck of slides, as PDF: for these Chromium prints the built pages.
pdf: browser book
	$(BIN)/python tools/pdf.py

slides: browser book
	$(BIN)/python tools/slides.py

# What a release offers: the site, its PDF, the slides, the data, and what changed.
release: pdf slides
	$(BIN)/python tools/release.py

# A browser, where one is missing, is installed beside the build.
test: lint
	@$(MAKE) --no-print-directory --jobs=2 browser book
	$(BIN)/pytest $(wildcard chapters evidence pages) tests --nbval --nbval-cell-timeout 600 -n $(WORKERS) --dist loadfile

# The package as a wheel, with the lowest and the highest versions that pyproject.toml allows, each in an environment of its own.
oldest: RESOLUTION = lowest-direct
newest: RESOLUTION = highest
oldest newest: export UV_TORCH_BACKEND ?= cpu
oldest newest:
	test -x .venv-$@/bin/python || $(PYTHON) -m venv .venv-$@
	.venv-$@/bin/pip install $(PIP) uv
	rm -rf _build/wheel
	.venv-$@/bin/uv build --quiet --wheel --out-dir _build/wheel
	.venv-$@/bin/uv pip install --quiet --python .venv-$@/bin/python --resolution $(RESOLUTION) \
	  -r pyproject.toml --extra cluster --extra test
	.venv-$@/bin/uv pip install --quiet --python .venv-$@/bin/python --no-deps --reinstall _build/wheel/*.whl
	.venv-$@/bin/pytest tests --ignore tests/book -n $(WORKERS) --dist loadfile

train: $(READY)
	$(BIN)/python -m assign_add_lib train $(RUN) $(ARGS)

# Any shipped number, table or picture, by the table in tools/recipes/book.py; without a NAME it lists what there is.
remake: export PYTHONPATH = tools:.
remake: $(READY)
	@$(BIN)/python -m recipes $(NAME) $(PARTS)

execute: $(READY)
	$(BIN)/python tools/execute.py $(wildcard chapters/*.md evidence/*.md) pages/algorithm.md

# The minutes that the pages and the syllabuses state, from what there is to read and to solve.
minutes: $(READY)
	$(BIN)/python tools/minutes.py
	$(BIN)/python tools/syllabus.py

student: $(READY)
	$(BIN)/python tools/student.py

# The notebooks to hand in, and the marks of a folder of them: make mark SUBMISSIONS="week 1" EXERCISES="1.3 2.4=3" MARK="--seconds 120"
assignments mark: export PYTHONPATH = tools
assignments mark: COUNTING = $(if $(EXERCISES),--exercises "$(EXERCISES)")
assignments: $(READY)
	$(BIN)/python -m marking assignments assignments $(COUNTING) $(if $(PACKAGE),--package "$(PACKAGE)")

mark: $(READY)
	@test -n "$(SUBMISSIONS)" || { echo "Say which folder: make mark SUBMISSIONS=folder" >&2; exit 2; }
	@$(BIN)/python -m marking mark "$(SUBMISSIONS)" $(COUNTING) $(MARK)

# The quizzes for learning platforms, in the format QTI 1.2.
quizzes: export PYTHONPATH = tools
quizzes: $(READY)
	@$(BIN)/python tools/qti.py quizzes

# An exam and its key, from a seed: make exam SEED="autumn 7" CHAPTERS="1 2 5"
exam: export PYTHONPATH = tools
exam: $(READY)
	@test -n "$(SEED)" || { echo "Say a seed that nobody else knows: make exam SEED=..." >&2; exit 2; }
	@$(BIN)/python -m exam --seed "$(SEED)" $(if $(CHAPTERS),--chapters "$(CHAPTERS)")

serve: book
	$(BIN)/python -m http.server --directory _build/html --bind localhost 8000

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/codespell

browser:
	@tools/browser.sh

clean:
	rm -rf _build student assignments quizzes published .pytest_cache .ruff_cache

# PyTorch goes first and alone: resolved together with the rest, it brings gigabytes of CUDA packages.
$(READY): requirements.txt tools/constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "The book needs Python 3.11 or newer: make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install $(PIP) "$$(grep ^torch== requirements.txt)"
	$(BIN)/pip install $(PIP) -r requirements.txt
	$(BIN)/pip install $(PIP) --no-deps --no-build-isolation -e .
	@touch $@
