# setup, run, test, check, spec, bench. `make help` says what each does.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# Containers often set this. The tests start some hundred processes, and each would compile its imports again.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements.lock
NODEPS := requirements-nodeps.txt
# In the virtual environment, so that deleting it also forgets that it was set up.
STAMP := $(VENV)/.setup-stamp
OTEL_VENV := .venv-otel
# Three on two cores: many of the long tests wait for a browser, a server or another process.
WORKERS ?= 3
SOURCES := $(wildcard src tests benchmarks examples scripts)
# The studio: built into the package, so that the server and the wheel have it.
WEB_OUT := src/compact/server/static/index.html
WEB_MODULES := web/node_modules/.package-lock.json
WEB_SOURCES := $(shell find web/src web/public web/index.html web/vite.config.ts -type f 2>/dev/null)
CHROMIUM ?= /usr/bin/chromium
# Conversations for the benchmarks: a folder of JSONL files, one conversation with `messages` a line.
DATA ?=

.PHONY: help setup web web-check browser ready run chat test quick test-otel test-frameworks check format spec bench lock clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 18

setup: $(STAMP)  ## make .venv with everything that tests and benchmarks need
	@:

$(STAMP): pyproject.toml $(LOCK) $(NODEPS)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@key=$$(cat pyproject.toml $(LOCK) $(NODEPS) | cksum); \
	if [ ! -f $@ ] || [ "$$(cat $@)" != "$$key" ]; then \
		echo "Setting up $(VENV) ..." >&2; \
		test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv; \
		export UV_PYTHON_DOWNLOADS=never; \
		$(BIN)/uv pip install --quiet --python $(BIN)/python -r $(LOCK); \
		$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -r $(NODEPS) -e .; \
		echo "$$key" > $@; \
	else touch $@; fi

web: $(WEB_OUT)  ## build the studio (needs Node 20 or newer)
	@:

# Not `npm ci`: it refuses a lock without the binaries of every other platform.
$(WEB_MODULES): web/package.json web/package-lock.json
	@command -v npm > /dev/null || { echo "The studio is built with Node 20 or newer: install nodejs and npm." >&2; exit 1; }
	@echo "Installing the studio's packages ..." >&2
	@cd web && npm install --no-save --no-audit --no-fund --no-update-notifier --loglevel=error > /dev/null
	@touch $@

$(WEB_OUT): $(WEB_MODULES) $(WEB_SOURCES)
	@echo "Building the studio ..." >&2
	@cd web && node_modules/.bin/vite build --logLevel error
	@touch $@

web-check: $(WEB_MODULES)
	@cd web && node_modules/.bin/tsc --noEmit && node_modules/.bin/eslint --max-warnings 0 src dev packages && node_modules/.bin/vitest run --silent --reporter=dot > /dev/null

# The browser tests drive Debian's Chromium; without it they are skipped, and say so.
browser:
	@test -x $(CHROMIUM) || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && echo "Installing Chromium ..." >&2 && \
		apt-get update -qq && apt-get install -y -qq chromium > /dev/null; } || echo "No Chromium: browser tests are skipped." >&2

# At the same time: on a clean clone the packages and the studio take about a minute one after the other.
ready:
	@$(MAKE) -j3 setup web browser

run: setup web  ## start the studio with a long sample session; the next message compacts it
	@echo "The same in a terminal: make chat" >&2
	@$(BIN)/compact studio --demo

chat: setup  ## show a compaction, then chat in the terminal with the local demo model
	@$(BIN)/python examples/try_chat.py

test: ready  ## all tests, with coverage
	@echo "All tests: about eight minutes on two cores." >&2
	@$(BIN)/python -m pytest -n $(WORKERS) --coverage

quick: setup  ## the tests of the engine room alone, in under a minute
	@$(BIN)/python -m pytest -n $(WORKERS) -q tests/unit/core tests/unit/engine tests/unit/formats tests/unit/summarizers

# A receiver of 650 MB in an environment of its own: not among the tests of every day.
test-otel: setup  ## export to Arize Phoenix and query it back; installs it into .venv-otel first
	@test -x $(OTEL_VENV)/bin/phoenix || { $(PYTHON) -m venv $(OTEL_VENV) && UV_PYTHON_DOWNLOADS=never \
		$(BIN)/uv pip install --quiet --python $(OTEL_VENV)/bin/python 'arize-phoenix>=20,<21'; }
	@PHOENIX_BIN=$(CURDIR)/$(OTEL_VENV)/bin/phoenix $(BIN)/python -m pytest tests/otel -q

# Each in an environment of its own: they want versions that do not go together. Name, extras, more packages.
FRAMEWORKS := litellm:litellm: strands:strands,openai: google_adk:adk: crewai:crewai: \
	llama_index:llama-index:llama-index-llms-openai-like
test-frameworks: setup  ## LiteLLM, Strands, Google ADK, CrewAI, LlamaIndex through three windows; installs them first
	@export UV_PYTHON_DOWNLOADS=never CREWAI_DISABLE_TELEMETRY=true OTEL_SDK_DISABLED=true; \
	for one in $(FRAMEWORKS); do \
		IFS=: read -r name extras packages <<< "$$one"; venv=.venv-frameworks/$$name; \
		test -x $$venv/bin/python || { $(PYTHON) -m venv $$venv && $(BIN)/uv pip install --quiet --python $$venv/bin/python \
			-e ".[offline,$$extras]" 'openai>=2' pytest pytest-asyncio hypothesis $$packages; }; \
		echo "== $$name"; $$venv/bin/python -m pytest -q tests/frameworks/test_$$name.py tests/frameworks/test_guide.py || exit 1; \
		$$venv/bin/python examples/$${name}_minimal.py || exit 1; \
	done

check: setup  ## format, lint, types, room contracts
	@echo "Format, lint, types, contracts: a few seconds, the first time about a minute." >&2
	@$(BIN)/ruff format --check --quiet $(SOURCES)
	@$(BIN)/ruff check --quiet $(SOURCES)
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(MAKE) web-check

format: setup  ## rewrite the sources as `check` wants them
	@$(BIN)/ruff format $(SOURCES)
	@$(BIN)/ruff check --fix $(SOURCES)

spec: ready  ## one line for every requirement: id, tests, state
	@echo "The tests of every requirement: up to eight minutes on two cores; the lines come at the end." >&2
	@mkdir -p build; rm -f build/spec.tsv; \
	if $(BIN)/python -m pytest -m spec -n $(WORKERS) -q --spec-report=build/spec.tsv > build/spec.log 2>&1; \
	then status=0; else status=$$?; fi; \
	if [ -f build/spec.tsv ]; then cat build/spec.tsv; \
	else echo "Stopped before all tests had run: there is no result. The log is build/spec.log." >&2; fi; \
	if [ $$status -eq 5 ]; then status=0; fi; \
	if [ $$status -ne 0 ]; then tail -n 40 build/spec.log >&2; fi; exit $$status

bench: setup  ## run the benchmarks; DATA=path/to/conversations adds those over real ones
	@failed=0; for script in benchmarks/[a-z]*.py; do \
		if ! grep -qE 'add_argument\("(data|path)"' "$$script"; then set --; \
		elif [ -n "$(DATA)" ]; then set -- "$(DATA)"; \
		else echo "== $$script needs DATA=path/to/conversations"; continue; fi; \
		echo "== $$script $$*"; $(BIN)/python "$$script" "$$@" || failed=1; \
	done; exit $$failed

lock: setup  ## resolve the versions that are tested
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade --no-annotate --no-header \
		--no-emit-index-url --extra dev pyproject.toml -o $(LOCK)

clean:  ## remove everything that make made
	@rm -rf $(VENV) $(OTEL_VENV) .venv-frameworks web/node_modules src/compact/server/static build dist .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
