# Giveway's commands. `make` alone lists them. Nothing has to be installed first but Python 3.11 and make.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PY := .venv/bin/python
# Arguments for pytest, for example: make test ARGS="tests/scheduler -k quota"
ARGS ?=
# Tests are shared out one by one to this many processes, four for each processor: many wait for a Slurm most of the
# time (tests/plugins/sharing_out.py says who takes which). Each process has its own Slurm of a release.
WORKERS ?= 8
export PYTHON

.PHONY: help run run-slurm test test-all test-faults sizes lint format lock upgrade vendor messages docs bench screenshots snapshots client env env-dev clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

run: env ## start the console with a simulated cluster on 127.0.0.1 (PORT=8000)
	@exec $(PY) manage.py run

run-slurm: env ## the same with a real Slurm of its own (root, Debian; GIVEWAY_SLURM=24.11 or 26.05: another release)
	@deploy/bin/debian-packages slurm-wlm munge
	@[ -z "$$GIVEWAY_SLURM" ] || deploy/bin/slurm-versions "$$GIVEWAY_SLURM"
	@exec $(PY) manage.py run --slurm

test: env-dev ## run the tests; as root with real Slurm, PostgreSQL, Redis, Chromium, Chinese letters (ARGS="-k quota")
	@deploy/bin/test -n $(WORKERS) --dist loadgroup $(ARGS)

test-all: env-dev ## the same with all releases of Slurm and the long ones: before an issue is called resolved
	@deploy/bin/test -n $(WORKERS) --dist loadgroup --all $(ARGS)

test-faults: env-dev ## kill, pause and starve every process at every step; prints what was lost (docs/reliability.md)
	@deploy/bin/test-faults -n $(WORKERS) --dist loadgroup $(ARGS)

lint: env-dev ## check style, templates, types, import rules, migrations and locks
	@# All of them, whatever the first one says.
	@status=0; check() { echo "$$*"; "$$@" || status=1; }; \
	check .venv/bin/ruff check --output-format concise; \
	check .venv/bin/ruff format --check --output-format concise; \
	check .venv/bin/mypy; \
	check .venv/bin/lint-imports --no-logo; \
	check .venv/bin/djlint --lint --quiet templates console; \
	check env DJANGO_SETTINGS_MODULE=console.settings.test $(PY) manage.py makemigrations --check --dry-run; \
	check deploy/bin/lock --check; \
	exit $$status

format: env-dev ## format the code and fix what can be fixed by itself
	.venv/bin/ruff check --fix-only --exit-zero
	.venv/bin/ruff format

lock: env-dev ## write requirements*.txt from requirements*.in
	deploy/bin/lock

upgrade: env-dev ## the same, with the newest versions that the .in files allow
	deploy/bin/lock --upgrade

messages: env-dev ## bring locale/ in step with the marked texts, and say what is not translated (docs/languages.md)
	@$(PY) deploy/bin/messages.py

docs: env-dev ## write the pages of docs/ that are made from tables of the code (permissions by address)
	@GIVEWAY_WRITE_DOCS=1 .venv/bin/pytest -q -n0 tests/security/test_address_table.py

vendor: env-dev ## fetch the files in static/vendor again (needs npm)
	$(PY) deploy/bin/vendor.py

bench: env-dev ## measure planning, and as root observing a real Slurm
	$(PY) -m bench.plan
	@if [ "$$(id -u)" = 0 ]; then deploy/bin/debian-packages slurm-wlm munge && $(PY) -m bench.observe; fi

sizes: env-dev ## say how large the product is, beside what it aims at (REVISION=v1: beside that, too)
	@$(PY) -m bench.size $(REVISION)

screenshots: env-dev ## make the pictures, one of them moving, of README and docs/tours from the running demonstration (Chromium)
	$(PY) docs/screenshots.py

snapshots: env-dev ## take the pictures anew that tests compare pages with (Chromium; then look at them)
	@rm -f tests/browser/snapshots/*.png
	GIVEWAY_SNAPSHOTS=renew GIVEWAY_REQUIRE_BROWSER=1 .venv/bin/pytest -q -n0 tests/browser/test_snapshots.py -k as_they_did

client: env ## build the giveway command for login nodes, one file: dist/giveway
	@$(PY) deploy/client/build.py dist/giveway

clean: ## remove the environment and what the tools left (not var/: the console's data)
	rm -rf .venv dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis staticfiles
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

env:
	@deploy/bin/environment run

env-dev:
	@deploy/bin/environment dev
