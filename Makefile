# Every target does its own set-up. `make help` lists them.

VENV        := .venv
BIN         := $(VENV)/bin
RUNTIME     := $(VENV)/.runtime
DEVELOPMENT := $(VENV)/.development
OLDEST      := 3.11
# The interpreter to build the environment with: make setup PYTHON=/path/to/python3
PYTHON ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format bench docs serve-docs constraints clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(DEVELOPMENT)  ## make .venv with everything pinned (free when it is up to date)

# Runs set_up.py with the first interpreter that is new enough and can make environments; pyenv's shims, for one, may exist and not run.
CANDIDATES := $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python)
define set_up
@for candidate in $(CANDIDATES); do \
	"$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < tuple(map(int, "$(OLDEST)".split("."))))' \
		2>/dev/null && exec "$$candidate" tools/set_up.py $(1) $(VENV); \
done; \
echo "jostle needs Python $(OLDEST) or later, with venv and ensurepip. Found:"; \
for candidate in $(CANDIDATES); do echo "  $$candidate: $$("$$candidate" --version 2>&1 | head -n 1)"; done; \
echo "Install one (on Debian: apt-get install python3-venv), or name it: make setup PYTHON=/path/to/python3"; \
exit 1
endef

# Each set-up has a stamp of its own, which it writes when it is complete. The second installs what the first has not.
$(RUNTIME): pyproject.toml constraints.txt tools/set_up.py
	$(call set_up,runtime)

$(DEVELOPMENT): $(RUNTIME) bench/pyproject.toml
	$(call set_up,development)

demo: $(RUNTIME)  ## the whole story once, on public data
	@$(BIN)/jostle demo

test: $(DEVELOPMENT)  ## style, types, import contracts, tests and every documented example
	@status=0; \
	$(MAKE) --no-print-directory lint || status=1; \
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder || status=1; \
	exit $$status

lint: $(DEVELOPMENT)  ## ruff's rules and format, mypy, and phrases to avoid; all of them run
	@status=0; \
	$(BIN)/ruff check --quiet || status=1; \
	$(BIN)/ruff format --check --quiet || { echo "Some files are not formatted: make format"; status=1; }; \
	$(BIN)/mypy --no-error-summary || status=1; \
	$(BIN)/python tools/check_words.py || { echo "Some phrases are hard to read: see tools/check_words.py"; status=1; }; \
	if [ $$status = 0 ]; then echo "Style, types and words: no complaints."; else echo "Style, types or words: see the complaints above."; fi; \
	exit $$status

format: $(DEVELOPMENT)  ## format the code and repair what can be repaired
	@$(BIN)/ruff check --fix --quiet; $(BIN)/ruff format

bench: $(DEVELOPMENT)  ## jostle beside its peers on this machine, each in an environment of its own
	@$(BIN)/jostle bench peers

docs: $(DEVELOPMENT)  ## the documentation, as pages under site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict && echo "Open site/index.html, or make serve-docs to search"

serve-docs: docs  ## the documentation at http://localhost:8000, with search, which browsers refuse to files on disk
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory site 8000

# Names and exact versions alone: where packages come from is the affair of whoever installs them.
constraints:  ## pin the newest versions that go together, in an environment of their own
	$(call set_up,pins)

clean:  ## remove the environment, caches and everything that was built
	@rm -rf $(VENV) site build dist bench/dist jostle-demo.html jostle-demo.db* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src bench tests -name __pycache__ -type d -prune -exec rm -rf {} +
