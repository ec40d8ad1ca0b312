PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check
PACKAGE := --constraint constraints.txt --editable '.[test]'
TRIALS ?= 100
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)

# Tests and runs start many processes, each of which would otherwise compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help figures test lint soak bench reference clean

help:
	@echo "make figures [TRIALS=100]   set up, run or resume the paper's experiment, draw its figures, test its claims, write its page"
	@echo "make test                   set up, then lint, types, import contract and all tests"
	@echo "make lint                   ruff, mypy, the import contract, bandit and pip-audit only"
	@echo "make soak                   the long forms of the fault tests: kills, full disks, damage, bad input, load"
	@echo "make bench                  time the library against its peers"
	@echo "make reference              run all experiments in full and renew results/reference"

# uv takes 10 s where pip takes one or two minutes, but ignores pip's settings: what uv cannot download, pip may.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt uv && $(BIN)/uv pip install --quiet --python $(BIN)/python $(PACKAGE) || $(PIP) install $(PACKAGE)
	touch $@

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive src
	$(BIN)/python tests/faults/audit.py

test: lint
	$(BIN)/pytest

# Exit code 1 is a finding (a claim that is not reproduced), not an error.
figures: $(INSTALLED)
	$(BIN)/ciabench run experiments/paper.toml --out results --jobs $(JOBS) --trials $(TRIALS)
	$(BIN)/ciabench run experiments/spelling.toml --out results --jobs $(JOBS)
	$(BIN)/ciabench figures results/paper.db --out results/figures
	$(BIN)/ciabench figures results/spelling.db --out results/figures
	$(BIN)/ciabench claims results/paper.db results/spelling.db --markdown results/claims.md --json results/claims.json || test $$? -eq 1
	$(BIN)/ciabench report results/paper.db results/spelling.db --out results/report.html

reference: $(INSTALLED)
	$(BIN)/ciabench run experiments/paper.toml --out results --jobs $(JOBS) --trials 300
	$(BIN)/ciabench run experiments/omitted.toml --out results --jobs $(JOBS)
	$(BIN)/ciabench run experiments/beyond.toml --out results --jobs $(JOBS)
	$(BIN)/ciabench run experiments/spelling.toml --out results --jobs $(JOBS)
	$(BIN)/python experiments/renew_reference.py

soak: $(INSTALLED)
	$(BIN)/pytest -m soak
	for part in kill disk damage plugins input load leak; do $(BIN)/python tests/faults/soak.py $$part || exit 1; done

bench: $(INSTALLED)
	$(BIN)/python experiments/speed.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
