# Every target does its own set-up. `make help` lists them.

VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
EXTRAS := postgres,spark,cluster,synthesis,explorer,png,docs,dev
OLDEST := 3.11
# The interpreter to build the environment with: make setup PYTHON=/path/to/python3
PYTHON ?=

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format bench docs constraints clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## make .venv with everything pinned (free when it is up to date)

# Prints the first interpreter that is new enough and can make environments; pyenv's shims, for one, may exist and not run.
CANDIDATES := $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python)
define find_python
for candidate in $(CANDIDATES); do \
	"$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < tuple(map(int, "$(OLDEST)".split("."))))' \
		2>/dev/null && { command -v "$$candidate"; exit; }; \
done
endef

# The stamp goes first and comes back last: a set-up that was interrupted leaves none, and starts again from nothing.
# The build's own tools come first, pinned like the rest, and the build fetches nothing by itself.
$(READY): pyproject.toml constraints.txt
	@python=$$($(find_python)); \
	if [ -z "$$python" ]; then \
		echo "jostle needs Python $(OLDEST) or later, with venv and ensurepip. Found:"; \
		for candidate in $(CANDIDATES); do echo "  $$candidate: $$("$$candidate" --version 2>&1 | head -n 1)"; done; \
		echo "Install one (on Debian: apt-get install python3-venv), or name it: make setup PYTHON=/path/to/python3"; \
		exit 1; \
	fi; \
	set -e; \
	if [ -e $(READY) ] && $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		echo "Bringing $(VENV) up to date …"; \
	else \
		echo "Making $(VENV) with $$("$$python" --version) and installing the pinned packages (about a minute) …"; \
		"$$python" -m venv --clear $(VENV); \
	fi; \
	rm -f $(READY); \
	$(BIN)/python -m pip install -qq -c constraints.txt hatchling editables; \
	$(BIN)/python -m pip install -qq -c constraints.txt --no-build-isolation -e '.[$(EXTRAS)]'; \
	echo "Compiling inner loops (once) …"; \
	$(BIN)/python -m jostle.simulate.warm_up; \
	touch $(READY); \
	echo "Ready: $(BIN)/jostle"

demo: $(READY)  ## the whole story once, on public data
	@$(BIN)/jostle demo

test: $(READY)  ## style, types, import contracts, tests and every documented example
	@status=0; \
	$(MAKE) --no-print-directory lint || status=1; \
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile || status=1; \
	exit $$status

lint: $(READY)  ## ruff's rules and format, and mypy; all of them run
	@status=0; \
	$(BIN)/ruff check --quiet || status=1; \
	$(BIN)/ruff format --check --quiet || { echo "Some files are not formatted: make format"; status=1; }; \
	$(BIN)/mypy --no-error-summary || status=1; \
	if [ $$status = 0 ]; then echo "Style and types: no complaints."; else echo "Style or types: see the complaints above."; fi; \
	exit $$status

format: $(READY)  ## format the code and repair what can be repaired
	@$(BIN)/ruff check --fix --quiet; $(BIN)/ruff format

bench: $(READY)  ## jostle beside its peers on this machine, each in an environment of its own
	@$(BIN)/jostle bench peers

docs: $(READY)  ## the documentation, as pages under site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict && echo "Open site/index.html"

# Names and exact versions alone: where packages come from is the affair of whoever installs them.
constraints:  ## pin the newest versions that go together, in an environment of their own
	@set -e; python=$$($(find_python)); scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	"$$python" -m venv "$$scratch"; \
	"$$scratch/bin/python" -m pip install -qq hatchling editables; \
	"$$scratch/bin/python" -m pip install -qq --no-build-isolation -e '.[$(EXTRAS)]'; \
	"$$scratch/bin/python" -m pip list --format=freeze --exclude-editable --exclude pip --exclude setuptools > "$$scratch/pins"; \
	LC_ALL=C sort -f "$$scratch/pins" > constraints.txt; \
	echo "constraints.txt: $$(wc -l < constraints.txt) packages pinned"

clean:  ## remove the environment, caches and everything that was built
	@rm -rf $(VENV) site build dist jostle-demo.html jostle-demo.db* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
