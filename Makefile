PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m
STAMP := $(VENV)/.installed
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all audit lint format bench bench-check bench-index bench-speed bench-quick figures docs lock sbom release-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP) ## build .venv from the lock file

# Everything, the build backend included, comes from the lock: nothing is resolved at install time.
$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "dimfree needs Python 3.11 or newer: make PYTHON=python3.12 install"; exit 2; }
	@$(PYTHON) -m venv $(VENV) \
	  || { echo "python3 has no venv module: install your system's python3-venv package"; exit 2; }
	@echo "installing the locked packages into $(VENV)"
	@$(RUN) pip install -qq --disable-pip-version-check --require-hashes -r requirements.lock
	@$(RUN) pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP) ## release the mean of a medical table in mixed units into demo-output/
	@$(BIN)/python examples/demo.py

# One numerical thread for each worker: the workers already fill the machine.
test test-all audit: export OMP_NUM_THREADS := 1
test test-all audit: export OPENBLAS_NUM_THREADS := 1

test: lint ## lint, then every test that is not slow
	@$(RUN) pytest -n $(WORKERS)

test-all: lint ## lint, then every test, with fresh random examples
	@$(RUN) pytest -n $(WORKERS) -m "slow or not slow" --hypothesis-profile=fresh

audit: $(STAMP) ## attack the public calls for up to half an hour: audit.html
	@$(BIN)/dimfree audit --jobs $(WORKERS) --budget $(or $(AUDIT_SECONDS),1600) --report audit.html --force

lint: $(STAMP) ## style, types, and which package imports which
	@$(RUN) ruff check
	@$(RUN) ruff format --check
	@$(RUN) mypy
	@$(BIN)/tach check

format: $(STAMP) ## let ruff rewrite the files
	@$(RUN) ruff check --fix
	@$(RUN) ruff format

# One numerical thread for each worker; DATA=folder adds the real tables: .parquet for census, wide ones as .npz for real.
bench bench-quick figures: export OMP_NUM_THREADS := 1

bench: $(STAMP) ## every accuracy table within MINUTES=25, most informative first; a second call continues
	@$(RUN) benchmarks.all --budget $(or $(MINUTES),25) --jobs $(WORKERS) $(if $(DATA),--data "$(DATA)")

bench-check: $(STAMP) ## measure ten quoted numbers again and compare them with the pages (minutes)
	@$(RUN) benchmarks.check

bench-index: $(STAMP) ## the state of every target, from the stored pages: benchmarks/results/index.md
	@$(RUN) benchmarks.index

bench-speed: $(STAMP) ## every speed table (hours; on an idle machine)
	@$(RUN) benchmarks.speed

bench-quick: $(STAMP) ## the field and the speed of releases in five minutes, a few draws each
	@$(RUN) benchmarks.accuracy.field --quick --jobs $(WORKERS)
	@$(RUN) benchmarks.speed --small

figures: $(STAMP) ## the paper's claims as pictures with their numbers, into benchmarks/results (two hours; can be continued)
	@$(RUN) benchmarks.figures --jobs $(WORKERS) --keep .bench-cells

docs: $(STAMP) ## these pages as a site, built offline: docs/_build/html/index.html
	@$(RUN) sphinx -q -W --keep-going -c docs . docs/_build/html

# The resolver lives in a throw-away folder; installing from the lock needs pip alone.
lock: ## resolve pyproject.toml anew into requirements.lock
	@tools=$$(mktemp -d) && trap 'rm -rf "$$tools"' EXIT \
	  && $(PYTHON) -m venv "$$tools" && "$$tools/bin/python" -m pip install -qq uv \
	  && "$$tools/bin/uv" pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	       --no-emit-index-url --no-header --no-annotate --extra dev --no-emit-package dimfree \
	       --output-file requirements.lock pyproject.toml

sbom: ## the locked packages as a CycloneDX bill of materials: dist/sbom.cdx.json
	@$(PYTHON) tools/sbom.py

release-check: ## build into dist/, then try wheel and sdist in fresh environments on every Python at hand (needs a network)
	@tools=$$(mktemp -d) && trap 'rm -rf "$$tools"' EXIT \
	  && $(PYTHON) -m venv "$$tools" && "$$tools/bin/python" -m pip install -qq build twine uv \
	  && "$$tools/bin/python" tools/release_check.py

clean: ## remove what the targets above made
	rm -rf $(VENV) demo-output docs/_build audit.html dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
