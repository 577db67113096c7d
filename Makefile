# Every target that needs the environment makes it first: .venv, from PyPI alone. A second run calls no pip.

VENV := .venv
BIN := $(VENV)/bin
# What `make demo` needs is much smaller than what the checks need, so each has a stamp of its own.
DEMO_READY := $(VENV)/.ready-for-demo
CHECKS_READY := $(VENV)/.ready-for-checks
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# The first command that is Python 3.11 or newer.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	$$python -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$python && break; done)

PYTEST_FLAGS ?= -n auto --maxprocesses=8

.PHONY: help demo test bench check format-check lint imports types tests wheel reliability format clean
.DEFAULT_GOAL := help

help: ## says what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: $(DEMO_READY) ## shows Perdure at work; needs no key
	@$(BIN)/perdure demo

test: check tests wheel ## everything that has to pass

bench: $(CHECKS_READY) ## measures the speed, beside that of peers; never fails by a time
	@$(BIN)/python -m bench $(BENCH)

check: format-check lint imports types ## what is checked without running the product

format-check: $(CHECKS_READY)
	$(BIN)/ruff format --check .

lint: $(CHECKS_READY)
	$(BIN)/ruff check .

imports: $(CHECKS_READY)
	$(BIN)/lint-imports --no-logo --cache-dir .cache/import-linter

types: $(CHECKS_READY)
	$(BIN)/basedpyright

tests: $(CHECKS_READY)
	$(BIN)/pytest $(PYTEST_FLAGS)

wheel: $(CHECKS_READY)
	$(BIN)/python scripts/check_wheel.py

reliability: $(CHECKS_READY) ## kills sessions and stores at random moments, lets writers fight over a file, and runs agents under chaos; minutes
	PERDURE_KILLS=1000 $(BIN)/pytest tests/log/test_crash.py -q
	PERDURE_SESSION_KILLS=1000 $(BIN)/pytest tests/session/test_kills.py -q --timeout 1800
	PERDURE_SECONDS=30 PERDURE_STORE_KILLS=300 $(BIN)/pytest tests/memory/test_contention.py tests/memory/test_kills.py -q --timeout 1800
	$(BIN)/python scripts/chaos.py

format: $(CHECKS_READY) ## writes the format and the fixes that are safe
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## removes the environment, caches and builds
	rm -rf $(VENV) .cache build dist

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Perdure needs Python 3.11 or newer, and none of python3.11 ... python3 is one." \
		"Install it, or name it: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(DEMO_READY): pyproject.toml | $(VENV)/bin/python
	$(PIP_INSTALL) --editable '.[agent,testing]'
	@touch $@

$(CHECKS_READY): pyproject.toml | $(VENV)/bin/python
	$(PIP_INSTALL) --editable '.[dev]'
	@touch $@ $(DEMO_READY)
