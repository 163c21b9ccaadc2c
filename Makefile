# Two commands on a fresh machine: "make reproduce" and "make test". Each sets up what it needs.

PROFILE ?= quick
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ONLY ?=
MINUTES ?= 30
BIN := .venv/bin

.PHONY: help reproduce report test fuzz lab lint lock clean
.DEFAULT_GOAL := help

help: ## what can be made
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)
	@echo "  make reproduce ONLY=llsvm-prop1 PROFILE=standard JOBS=2"

.venv/ready: requirements.lock requirements-cholmod.lock pyproject.toml .ci/set-up
	@.ci/set-up

reproduce: .venv/ready ## every study and notebook of the quick profile, the report, a sample of the record
	@$(BIN)/kernlab reproduce $(ONLY) --profile $(PROFILE) --jobs $(JOBS)
ifeq ($(ONLY),)
	@$(BIN)/kernlab record check --sample 15 --cap 5
endif

report: .venv/ready ## the report of what has been computed
	@$(BIN)/kernlab report --profile $(PROFILE)

test: .venv/ready ## all tests, the notebooks included
	@.ci/test

fuzz: .venv/ready ## hostile fits, damaged files and kills with new seeds, for MINUTES=30
	@$(BIN)/python tests/fuzz/run.py --minutes $(MINUTES) \
		--record figures/gallery/fuzz.txt

lab: .venv/ready ## JupyterLab on the notebooks
	@$(BIN)/kernlab lab

lint: .venv/ready ## style and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

# Renew it with the Python of Debian 12 (3.11.2): some releases want a later one.
lock: .venv/ready ## renew the locked versions
	@$(BIN)/python -m pip install --quiet pip-tools
	@$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-header \
		--no-annotate --no-emit-options --no-emit-index-url --no-emit-find-links \
		--extra lab --extra dask --extra test --extra build --output-file requirements.lock pyproject.toml

clean: ## delete what was computed and set up
	rm -rf .venv .artefacts figures/quick figures/standard figures/paper
