# Every target makes what it needs: a fresh clone wants only Python 3.11+ and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
ONENODE = PYTHONPATH=e2e/cluster $(BIN)/python -m onenode
PIP    := PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/pip install -q

.PHONY: demo test check chart reference fuzz bench evaluation fidelity peers e2e e2e-kind e2e-engine cluster-up cluster-down clean help

help:  ## show the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

demo: $(VENV)/run.stamp  ## play a real trace through four simulated engines, twice, and compare
	$(BIN)/steelyard demo --out build/demo

test: $(VENV)/dev.stamp  ## run all tests, with the coverage gate for the decision core
	$(ONENODE) api
	$(BIN)/pytest --cov --cov-report=term:skip-covered --cov-report=json:build/coverage.json
	$(BIN)/coverage report --include='*/scheduling/*' --fail-under=95 --precision=1

check: $(VENV)/dev.stamp  ## lint, types, layers
	test -z "$$(ls operator/*.py 2>/dev/null)"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	MYPYPATH=e2e/engine $(BIN)/mypy e2e/engine --exclude 'model\.py'
	MYPYPATH=e2e:e2e/cluster $(BIN)/mypy e2e --exclude 'e2e/(cluster|engine)/'
	$(BIN)/lint-imports

fuzz: $(VENV)/dev.stamp  ## a million broken messages against each side of the byte path (about 6 minutes)
	STEELYARD_FUZZ_CASES=1000000 $(BIN)/pytest tests/fuzz

bench: $(VENV)/run.stamp  ## measure the decision path
	$(BIN)/steelyard bench decision --json build/decision.json

evaluation: $(VENV)/run.stamp  ## simulate every policy on every trace and write docs/evaluation.md (25 minutes on two cores; goes on where it was stopped)
	$(BIN)/steelyard bench evaluation

fidelity: $(VENV)/run.stamp  ## the simulation beside real engines (vLLM for CPUs) and a live router; writes docs/fidelity.md (4 minutes to install once, 7 to run, on two quiet cores)
	$(BIN)/python e2e/engine/install.py build/engine
	$(BIN)/steelyard bench fidelity

peers: build/peers/.stamp  ## install the routers that `bench wire` and `e2e-engine` compare with

build/peers/.stamp:
	$(PYTHON) -m venv build/peers
	PIP_DISABLE_PIP_VERSION_CHECK=1 build/peers/bin/pip install -q sglang-router==0.3.2 vllm-router==0.1.17
	touch $@

e2e-engine: $(VENV)/dev.stamp peers  ## real engines (vLLM for CPUs), beside two other routers (4 minutes to install once, 7 to run)
	$(BIN)/python e2e/engine/install.py build/engine
	$(BIN)/pytest -c e2e/engine/pytest.ini e2e/engine

e2e: $(VENV)/dev.stamp  ## the product on a real cluster: $$KUBECONFIG, kind, or one node of our own (e2e/README.md)
	@mkdir -p build
	$(BIN)/pytest -c e2e/pytest.ini e2e --junitxml=build/e2e.xml

e2e-kind:  ## the same, on kind; needs Docker
	STEELYARD_E2E_CLUSTER=kind $(MAKE) e2e

cluster-up: $(VENV)/dev.stamp  ## start a cluster of one node that stays, for `make e2e` and for trying things (needs root and Go, no Docker)
	$(ONENODE) up

cluster-down: $(VENV)/dev.stamp  ## take it down
	$(ONENODE) down

HELM ?= $(firstword $(wildcard build/cluster/bin/helm) helm)

chart:  ## after a change of crds/ or the chart: copy the CRDs into it, render the plain manifests from it
	cp crds/*.yaml charts/steelyard/files/crds/
	{ echo '# Made from charts/steelyard by `make chart`; docs/install.md says how to apply it.'; \
	  $(HELM) template steelyard charts/steelyard --namespace steelyard-system --kube-version 1.35.0 --set crds.enabled=false \
	  | grep -v -e '^# Source:' -e 'helm.sh/chart:' -e 'managed-by: Helm'; } > examples/install/steelyard.yaml

reference: $(VENV)/run.stamp  ## after a change of crds/: write docs/reference from them
	$(BIN)/python -m steelyard_operator.api.reference crds docs/reference

clean:  ## remove what the targets made
	test ! -e build/cluster/run || $(ONENODE) down
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
