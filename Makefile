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

.PHONY: help figures departures limit averaging multiverse test tests lint soak mutants bench reference docs dist test-lowest test-newest clean

help:
	@echo "make figures [TRIALS=100]   set up, run or resume the paper's experiment, draw its figures, test its claims, write its page"
	@echo "make departures             the same for worlds that depart from the binary model: how far is too far?"
	@echo "make limit                  the limit of learning and the learners beside it: run or resume, numbers, figure, reference rows"
	@echo "make test                   set up, then lint, types, import contract and all tests"
	@echo "make lint                   ruff, mypy, the import contract, bandit, deptry and pip-audit only"
	@echo "make docs                   build the site into docs/_build/html, warnings as errors"
	@echo "make soak                   the long forms of the fault tests: kills, full disks, damage, bad input, load, numbers, determinism"
	@echo "make mutants                change the code that numbers depend on: do the tests notice?"
	@echo "make dist                   build wheel and sdist, check them, and try the wheel in an empty environment"
	@echo "make test-lowest            all tests with the lowest versions of the dependencies that pyproject.toml allows"
	@echo "make test-newest            all tests with the newest versions"
	@echo "make bench                  time the library against its peers"
	@echo "make multiverse             every claim under other choices than ours, and a picture of it"
	@echo "make reference              run the paper's experiments, add trials until claims are decided, renew results/reference"

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
	$(BIN)/deptry --no-ansi src docs experiments tests tests/faults tests/lab tests/learners
	$(BIN)/python tests/faults/audit.py

test: $(INSTALLED)
	@$(MAKE) --no-print-directory --jobs 2 lint tests

tests: $(INSTALLED)
	$(BIN)/pytest --cov

docs: $(INSTALLED)
	$(BIN)/sphinx-build --fail-on-warning --keep-going --fresh-env --quiet docs docs/_build/html
	@echo "docs/_build/html/index.html: open it in a browser."

figures: $(INSTALLED)
	$(BIN)/ciabench paper --trials $(TRIALS) --jobs $(JOBS)

departures: $(INSTALLED)
	$(BIN)/ciabench run experiments/departures.toml --out results --jobs $(JOBS)
	$(BIN)/ciabench settle experiments/departures.toml --out results --jobs $(JOBS) --budget 20min
	$(BIN)/ciabench figures results/departures.db --out results/departures
	$(BIN)/ciabench claims results/departures.db --markdown results/departures/claims.md --json results/departures/claims.json || test $$? -eq 1
	$(BIN)/python experiments/departures.py results/departures.db
	$(BIN)/python experiments/renew_reference.py --experiments departures

limit: $(INSTALLED)
	$(BIN)/ciabench run experiments/limit.toml --out results --jobs $(JOBS)
	$(BIN)/python experiments/limit.py results/limit.db
	$(MAKE) averaging
	$(BIN)/python experiments/renew_reference.py --experiments limit averaging

averaging: $(INSTALLED)
	$(BIN)/ciabench run experiments/averaging.toml --out results --jobs $(JOBS)
	$(BIN)/ciabench settle experiments/averaging.toml --out results --jobs $(JOBS) --budget 20min
	$(BIN)/python experiments/averaging.py results/averaging.db --write misfits

multiverse: $(INSTALLED)
	$(BIN)/python experiments/multiverse.py --jobs $(JOBS)

# At most 100 minutes on two cores: 30 for whole experiments, 60 where claims need more trials, the rest for figures.
SETTLED := experiments/paper.toml experiments/omitted.toml experiments/larger.toml experiments/beyond.toml
reference: $(INSTALLED)
	$(BIN)/ciabench run experiments/paper.toml --out results --jobs $(JOBS) --trials 300
	for experiment in omitted larger beyond; do $(BIN)/ciabench run experiments/$$experiment.toml --out results --jobs $(JOBS) || exit 1; done
	$(BIN)/ciabench run experiments/spelling.toml --out results --jobs $(JOBS) --trials 20
	if command -v npm > /dev/null; then $(BIN)/python experiments/brown.py --jobs $(JOBS); else echo "without npm the rows of the Brown corpus stay as they are"; fi
	$(BIN)/ciabench settle $(SETTLED) --out results --jobs $(JOBS) --budget 60min
	$(BIN)/python experiments/renew_reference.py

soak: $(INSTALLED)
	$(BIN)/pytest -m soak
	for part in kill disk damage plugins input tables extremes load merge leak numbers determinism; do $(BIN)/python tests/faults/soak.py $$part || exit 1; done

mutants: $(INSTALLED)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt mutmut
	$(BIN)/python tests/faults/mutants.py

dist: $(INSTALLED)
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*
	$(BIN)/pytest -m soak tests/test_distribution.py

test-lowest test-newest: test-%: $(INSTALLED)
	$(PYTHON) -m venv $(VENV)-$*
	$(BIN)/uv pip install --quiet --python $(VENV)-$*/bin/python --resolution $(if $(filter lowest,$*),lowest-direct,highest) --editable '.[test]'
	$(VENV)-$*/bin/python -m pytest

bench: $(INSTALLED)
	$(BIN)/python experiments/speed.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache docs/_build docs/api
