# `make run` and `make test` set up all they need in .venv: Python 3.11 or newer, pip, make and gcc are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What the workflow needs, and what tests, style and documentation need besides.
RUNNABLE := $(VENV)/.runnable
INSTALLED := $(VENV)/.installed
# Jobs of the workflow that run at a time.
CORES ?= all
# One BLAS thread per test process; the processes are what runs in parallel, a whole file in each, since the tests of a
# file share its runs of the workflow.
TEST_JOBS ?= 2
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MPLBACKEND=Agg

.PHONY: run test quick test-lowest test-newest lint format docs calibrate bench constraints clean

run: $(RUNNABLE)  ## the default workflow, from simulated cohorts to results/report.html
	$(BIN)/snakemake --cores $(CORES)

test: $(INSTALLED)  ## every test, doctests included, and how much of the package they ran in their own processes
	$(TEST_ENV) $(BIN)/python -m pytest -n $(TEST_JOBS) --dist loadfile -q --cov --cov-report=
	@echo "coverage: $$($(BIN)/coverage report --format=total) %"

quick: $(INSTALLED)  ## the tests that take less than ten seconds
	$(TEST_ENV) $(BIN)/python -m pytest -n $(TEST_JOBS) -q -m "not slow"

# The quick tests where others have other versions, each in an environment of its own.
test-lowest: VERSIONS = -c $(VENV)/lowest.txt
test-lowest:  ## with the lowest versions that pyproject.toml allows
	mkdir -p $(VENV)
	$(PYTHON) .ci/lowest.py > $(VENV)/lowest.txt
	$(TEST_ELSEWHERE)

test-newest: VERSIONS = --upgrade
test-newest:  ## with the newest versions that pyproject.toml allows
	$(TEST_ELSEWHERE)

define TEST_ELSEWHERE
$(PYTHON) -m venv --clear $(VENV)/$@
$(VENV)/$@/bin/python -m pip install --quiet --disable-pip-version-check $(VERSIONS) -e ".[test]"
$(TEST_ENV) $(VENV)/$@/bin/python -m pytest -n $(TEST_JOBS) -q -m "not slow"
endef

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

docs: $(INSTALLED)  ## the documentation, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

calibrate: $(INSTALLED)  ## realised error rates on simulated data (a minute or two)
	$(TEST_ENV) $(BIN)/python benchmarks/calibration.py

bench: $(INSTALLED)  ## speed against peers and floors, written to benchmarks/RESULTS.md (about an hour)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"
	$(BIN)/python benchmarks/bench.py

# The environment is rebuilt only when the requirements change.
$(RUNNABLE): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "nard needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[workflow]"
	touch $@

$(INSTALLED): $(RUNNABLE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

constraints:  ## the newest versions that pyproject.toml allows, written to constraints.txt
	rm -rf .venv-constraints
	$(PYTHON) -m venv .venv-constraints
	.venv-constraints/bin/python -m pip install --quiet -e ".[dev,bench]"
	.venv-constraints/bin/python -m pip freeze --exclude-editable > constraints.txt
	rm -rf .venv-constraints

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis .coverage site
