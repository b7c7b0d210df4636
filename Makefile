# `make demo` and `make test` need only Python (3.11 or later), make and a package index; with Node.js,
# `make test` also checks the JavaScript.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ORACLES ?= .venv-oracles
# The tests start many processes: let the first one compile what all of them import.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint js unit docs results dist release-check fuzz walks hooks oracles clean

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

# The tests of a file share what they fit and encode, and so go to one worker.
unit: $(VENV)/.test-ready
	$(BIN)/pytest -n auto --dist loadfile

# The site, in docs/_build/html: offline, and every warning is an error. It runs the gallery.
docs: $(VENV)/.docs-ready
	$(BIN)/python -m sphinx -E -W --keep-going -j auto -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python tools/check_site.py docs/_build/html

# Tables and figures of docs/results.md, from docs/results.
results: $(VENV)/.docs-ready
	$(BIN)/python benchmarks/results_page.py

# Wheel and sdist, checked.
dist: $(VENV)/.release-ready
	$(BIN)/python tools/release.py build

# Wheel and sdist, installed and tried in clean environments with the newest and the oldest dependencies; the site.
release-check: $(VENV)/.release-ready docs
	$(BIN)/python tools/release.py all

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

$(VENV)/.docs-ready: $(VENV)/.run-ready
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

$(VENV)/.release-ready: $(VENV)/.run-ready
	$(BIN)/python -m pip install --quiet --group release
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
	rm -rf $(VENV) $(ORACLES) node_modules tagloom-demo build dist docs/_build docs/api/generated docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
