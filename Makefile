# `make demo` and `make test` need only Python (3.11 or later), make and a package index; with Node.js,
# `make test` also checks the JavaScript.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ORACLES ?= .venv-oracles

.PHONY: demo test lint js unit fuzz walks hooks oracles clean

demo: $(VENV)/.run-ready
	$(BIN)/tagloom demo

test: lint js unit

lint: $(VENV)/.test-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# ESLint and unit tests for the scripts of the review page and of the report.
js:
	@if command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null; then \
		set -e; \
		[ node_modules/.ready -nt package-lock.json ] || { npm ci --silent --no-audit --no-fund; touch node_modules/.ready; }; \
		npm run --silent lint; \
		npm run --silent test; \
	else \
		echo "SKIPPED: ESLint and the JavaScript tests need npm and Node.js 20 or later, which are not installed."; \
	fi

unit: $(VENV)/.test-ready
	$(BIN)/pytest -n auto

# An hour of damaged and hostile files; `make test` runs a bounded part of it.
fuzz: $(VENV)/.test-ready
	$(BIN)/python tests/fuzz.py --seconds 3600

$(VENV)/.run-ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[vision,pandas,review]"
	touch $@

$(VENV)/.test-ready: $(VENV)/.run-ready
	$(BIN)/python -m pip install --quiet --group test --group lint
	touch $@

# The files that a reader opens to follow `APGGraph.fit` and `tagloom complete`, and how many there are.
walks: $(VENV)/.test-ready
	$(BIN)/python tools/walks.py

# Checks before every commit.
hooks: $(VENV)/.test-ready
	$(BIN)/pre-commit install

# Other programs read what we write; they are heavy and stay out of the usual environment.
oracles: $(ORACLES)/.ready
	$(ORACLES)/bin/pytest -m oracle tests/formats

$(ORACLES)/.ready: pyproject.toml
	$(PYTHON) -m venv $(ORACLES)
	$(ORACLES)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(ORACLES)/bin/python -m pip install --quiet --editable . --group test --group oracles
	touch $@

clean:
	rm -rf $(VENV) $(ORACLES) node_modules tagloom-demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
