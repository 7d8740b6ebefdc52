# Each target makes what it needs in .venv first, so any of them can be the first command in a fresh clone.
# A stamp (.venv/.demo, .venv/.bench, .venv/.all) says that an installation is done; it is made again when
# pyproject.toml or constraints.txt changes.

PYTHON ?= python3
ARGS ?=

py := .venv/bin/python
pip := $(py) -m pip install -qq --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help setup test check lint types floors bench demo docs clean

# No tool may behave otherwise because a machine calls itself CI, and none may keep files outside this folder.
unexport CI
export PYRIGHT_PYTHON_CACHE_DIR := $(CURDIR)/.venv/cache
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

setup: .venv/.all ## install cutline with every extra in .venv

demo: .venv/.demo ## rank, cut and audit lists of films, plain and diverse; ends with a report to open
	@.venv/bin/cutline demo $(ARGS)

test: .venv/.all ## run all tests (ARGS="-k words" for some of them)
	@$(py) -m pytest -n auto --dist loadgroup $(ARGS)

check: lint types floors ## lint, types and floors, then all tests
	@$(MAKE) --no-print-directory test

lint: .venv/.all ## ruff: rules and formatting
	@$(py) -m ruff check .
	@$(py) -m ruff format --check .

types: .venv/.all ## pyright, strict on src
	@$(py) -m pyright

floors: .venv/.all ## import-linter: the floors and who may import what
	@.venv/bin/lint-imports --no-cache --no-logo

bench: .venv/.bench ## measure cutline beside its peers
	@$(py) benchmarks/run.py $(ARGS)

docs: .venv/.all ## build the documentation into docs/_build
	@$(py) -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs: open docs/_build/html/index.html"

clean: ## remove .venv, built documentation and caches
	rm -rf .venv docs/_build build dist cutline-demo .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

.venv/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "cutline needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1); name another: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv --clear .venv >/dev/null || { \
		echo "$(PYTHON) could not make .venv; on Debian and Ubuntu: apt install python3-venv" >&2; rm -rf .venv; exit 1; }
	@touch $@

.venv/.demo: pyproject.toml constraints.txt | .venv/.made
	@echo "Installing cutline and what the demo needs in .venv (about a minute) ..."
	@$(pip) -e '.[demo]'
	@touch $@

.venv/.bench: pyproject.toml constraints.txt | .venv/.made
	@echo "Installing cutline and what the benchmarks compare it with in .venv (about a minute) ..."
	@$(pip) -e '.[bench]'
	@touch $@

# torch goes first and pinned: other packages would pull a newer one.
.venv/.all: pyproject.toml constraints.txt | .venv/.made
	@echo "Installing cutline with every extra in .venv (several minutes the first time) ..."
	@$(pip) torch
	@$(pip) -e '.[all]'
	@touch .venv/.demo .venv/.bench $@
