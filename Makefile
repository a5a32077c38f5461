# Every target makes what it needs: a fresh clone wants only Python 3.11+ and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/pip install -q

.PHONY: demo test check fuzz bench peers e2e-engine clean help

help:  ## show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

demo: $(VENV)/run.stamp  ## play a real trace through four simulated engines, twice, and compare
	$(BIN)/steelyard demo --out build/demo

test: $(VENV)/dev.stamp  ## run all tests, with the coverage gate for the decision core
	$(BIN)/pytest --cov --cov-report=term:skip-covered --cov-report=json:build/coverage.json
	$(BIN)/coverage report --include='*/scheduling/*' --fail-under=95 --precision=1

check: $(VENV)/dev.stamp  ## lint, types, layers
	test -z "$$(ls operator/*.py 2>/dev/null)"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	MYPYPATH=e2e/engine $(BIN)/mypy e2e/engine --exclude 'model\.py'
	$(BIN)/lint-imports

fuzz: $(VENV)/dev.stamp  ## a million broken messages against each side of the byte path (about 6 minutes)
	STEELYARD_FUZZ_CASES=1000000 $(BIN)/pytest tests/fuzz

bench: $(VENV)/run.stamp  ## measure the decision path
	$(BIN)/steelyard bench decision --json build/decision.json

peers: build/peers/.stamp  ## install the routers that `bench wire` and `e2e-engine` compare with

build/peers/.stamp:
	$(PYTHON) -m venv build/peers
	PIP_DISABLE_PIP_VERSION_CHECK=1 build/peers/bin/pip install -q sglang-router==0.3.2 vllm-router==0.1.17
	touch $@

e2e-engine: $(VENV)/dev.stamp peers  ## real engines (vLLM for CPUs), beside two other routers (4 minutes to install once, 7 to run)
	$(BIN)/python e2e/engine/install.py build/engine
	$(BIN)/pytest -c e2e/engine/pytest.ini e2e/engine

clean:  ## remove what the targets made
	rm -rf $(VENV) build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing into $(VENV) ..."
	$(PIP) -e .
	@mkdir -p build && touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing into $(VENV), with the development tools ..."
	$(PIP) -e '.[dev]'
	@mkdir -p build && touch $@ $(VENV)/run.stamp
