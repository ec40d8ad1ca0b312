PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help figures test lint clean

help:
	@echo "make figures   set up, then make what the library can show so far"
	@echo "make test      set up, then lint, types, import contract and all tests"
	@echo "make lint      ruff, mypy and the import contract alone"

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	touch $@

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest

figures: $(INSTALLED)
	$(BIN)/python experiments/world_speed.py
	@echo "The figures of the paper are not part of this version yet."

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
