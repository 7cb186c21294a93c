# The commands of the README. `make setup` prepares all that they need; a second run starts in seconds.
PYTHON ?= python3
STACK ?= dev
WORKERS ?= 4
RUN = . .amd-vllm/env.sh && exec
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help setup demo test check up destroy bench test-real lock

help:  ## show the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## Python environment, Pulumi, docker plugin, passphrase
	@$(PYTHON) tools/setup

demo: setup  ## a real preview of both components on recorded hosts, and one refusal with its numbers
	@$(RUN) python tools/demo

test: setup check  ## all tests, on the real engine (SKIP_E2E=1 leaves those out)
	@[ -n "$(SKIP_E2E)" ] || $(PYTHON) tools/setup --e2e
	@$(RUN) python -m pytest tests --numprocesses $(WORKERS) --dist worksteal

check: setup  ## import rules and lint
	@$(RUN) lint-imports
	@$(RUN) ruff check .

up: setup  ## deploy MODEL on HOST (ssh://user@box or local); YES=1 skips the question
	@$(RUN) python tools/deploy up

destroy: setup  ## take it down
	@$(RUN) python tools/deploy destroy

bench: setup  ## benchmarks, never part of the tests
	@$(RUN) python -m bench

test-real: setup  ## the real vLLM, end to end (7 GB, 10 minutes)
	@$(PYTHON) tools/setup --e2e
	@$(RUN) python -m pytest tests/real

lock: setup  ## pin requirements*.txt anew from requirements*.in (needs uv)
	@for f in requirements requirements-dev; do \
	  uv pip compile -q --generate-hashes --universal --python-version 3.10 --no-emit-index-url --custom-compile-command "make lock" $$f.in -o $$f.txt; done
