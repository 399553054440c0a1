# Everything a contributor types. `make` lists it. The virtual environment in .venv makes and renews itself.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= logical
MORE_WORKERS ?= 4
QUICK_COVERAGE := 75
DOCUMENTED := .cache/documented-workflows
LOCK := $(BIN)/uv pip compile --quiet --upgrade --generate-hashes --custom-compile-command "make lock"
IMAGE := --only-binary :all: --python-version 3.12 --python-platform linux
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONPATH
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test test-all test-rest test-timed test-changed lint lock bench simulate mutants generated-mutants test-agents test-container test-browser pictures docs site compare-agentv compare-harbor clean

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 26

demo: $(VENV)/runtime ## run the examples; no key and no network are needed
	@rm -rf .skillgym-results/demo
	$(BIN)/skillgym-action run examples --output .skillgym-results/demo

test: $(VENV)/test ## run the quick tests: units, and whole runs of each kind (3 to 5 minutes; no root, npm or network); COVERAGE=1: and measure coverage
	$(BIN)/pytest tests/unit tests/smoke -n $(WORKERS) -m quick $(if $(COVERAGE),--cov --cov-fail-under=$(QUICK_COVERAGE))

test-all: $(VENV)/development ## run all tests except those of containers, browsers and other agents than Claude Code (25 minutes); COVERAGE=1
	@status=0; for part in test test-rest test-timed; do $(MAKE) --no-print-directory $$part || status=1; done; exit $$status

test-rest: $(VENV)/development ## run the tests of `make test-all` that `make test` and `make test-timed` do not run; SHARD=1/4
	$(BIN)/pytest tests -n $(MORE_WORKERS) -m "not quick and not timed and not more_agents" \
	  $(if $(COVERAGE),--cov --cov-append) \
	  $(if $(SHARD),--splits $(word 2,$(subst /, ,$(SHARD))) --group $(word 1,$(subst /, ,$(SHARD))))

test-timed: $(VENV)/development ## run the tests that measure time, one after the other; a failed one runs again, at most twice
	$(BIN)/pytest tests -m "timed and not more_agents" --reruns 2 --reruns-delay 1

test-changed: $(VENV)/development ## run the tests that changes since main need; BASE=REVISION: changes since another commit
	@runs="$$($(BIN)/python tools/changed_tests.py $(BASE))"; \
	[ -z "$$runs" ] || printf '%s\n' "$$runs" | xargs -L 1 $(BIN)/pytest -n $(WORKERS)

lint: $(VENV)/development ## check style, types, the import rules, the action, all workflows, script and style of the HTML report
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin --no-warn-unreachable --cache-dir .mypy_cache/darwin
	$(BIN)/mypy --config-file tests/mypy.ini --cache-dir .mypy_cache/tests
	$(BIN)/lint-imports
	$(BIN)/python tools/documented_workflows.py $(DOCUMENTED)
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml composite/action.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml $(DOCUMENTED)/*.yml
	$(BIN)/actionlint .github/workflows/*.yml $(DOCUMENTED)/*.yml
	$(BIN)/hadolint Dockerfile
	$(BIN)/python tools/lint_report.py
	$(BIN)/zizmor --offline --quiet action.yml composite .github
	$(BIN)/zizmor --offline --quiet --config tests/data/zizmor-documents.yml $(DOCUMENTED)/*.yml

lock: $(VENV)/development ## renew the versions and hashes of what contributors, the image and the composite action install for Python
	$(LOCK) --universal --python-version 3.11 --extra typescript --group dev pyproject.toml \
	  --output-file requirements/development.txt
	$(LOCK) --universal --python-version 3.11 --extra typescript --group test --constraint requirements/development.txt \
	  pyproject.toml --output-file requirements/test.txt
	echo uv | $(LOCK) --universal --python-version 3.11 --constraint requirements/development.txt - \
	  --output-file requirements/uv.txt
	$(LOCK) $(IMAGE) pyproject.toml --group image --output-file docker/requirements.txt
	$(LOCK) $(IMAGE) --group image-build --output-file docker/build-requirements.txt
	$(LOCK) --universal --python-version 3.11 --extra docker --constraint docker/requirements.txt pyproject.toml \
	  --output-file requirements/composite.txt

bench: $(VENV)/development ## measure speed and memory
	$(BIN)/python -m bench
	$(BIN)/python -m bench.store
	$(BIN)/python -m bench.reuse
	$(BIN)/python -m bench.engine

simulate: $(VENV)/development ## simulate comparisons of runs: false regressions, power, intervals; RUNS=2000 in each cell
	$(BIN)/python -m bench.simulate $(RUNS)

mutants: $(VENV)/development ## remove one protection at a time: tests have to fail; ONLY=PATTERN for a few, ROOT=1 for those that need root
	$(BIN)/python tools/mutants.py $(if $(ROOT),--root) $(if $(ONLY),'$(ONLY)')

generated-mutants: $(VENV)/development ## make random changes to the source, and count those that unit tests notice; NUMBER=200 SEED=20
	$(BIN)/python tools/generated_mutants.py $(if $(NUMBER),--number $(NUMBER)) $(if $(SEED),--seed $(SEED))

test-agents: $(VENV)/development ## run the real CLIs of all other agents against a scripted model; installs them once; EVENTS=all: every event of the table; LATEST=1: the newest of all, and how they differ; AGENTS=codex
	$(if $(LATEST),$(BIN)/python tools/agent_drift.py $(AGENTS),$(BIN)/pytest -m more_agents -n $(WORKERS))

test-container: $(VENV)/development ## build the image and run it as GitHub's runner does; starts a Docker engine if none answers
	eval "$$(tests/container/engine.sh)" && $(BIN)/pytest tests/container

test-browser: $(VENV)/development ## open the HTML report in Chromium, with axe-core; installs what is missing once
	eval "$$(tests/browser/chromium.sh)" && $(BIN)/pytest tests/browser

pictures: $(VENV)/development ## draw the pictures of the documentation: runs with a scripted model, in 7 minutes; ONLY=skill: of one run
	eval "$$(tests/browser/chromium.sh)" && $(BIN)/python tools/pictures.py $(ONLY)

docs: $(VENV)/development ## write the inputs of action.yml, keys in TypeScript, and the generated parts of the documentation: tables, and the messages of mistakes
	$(BIN)/python tools/composite_action.py
	$(BIN)/python tools/typescript_keys.py
	$(BIN)/python tools/docs_tables.py
	$(BIN)/python tools/mistakes.py

site: $(VENV)/development ## build the documentation site in .cache/site/html; fails on links that lead nowhere
	$(BIN)/python .github/site.py

compare-agentv: $(VENV)/development ## compare scores with AgentV's own; installs it once (800 MB)
	$(BIN)/python tools/compare_agentv.py

compare-harbor: $(VENV)/development ## ten Harbor tasks with Harbor itself: HARBOR=its program; needs a Docker engine
	$(BIN)/python tools/compare_harbor.py $(HARBOR)

clean: ## remove everything that is not a source
	rm -rf $(VENV) .skillgym-results .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/runtime: pyproject.toml tools/install.sh
	@tools/install.sh runtime

$(VENV)/test: pyproject.toml requirements/test.txt tools/install.sh
	@tools/install.sh test

$(VENV)/development: pyproject.toml requirements/development.txt tools/install.sh
	@tools/install.sh development
