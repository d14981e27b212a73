# One command runs the main job on this machine, one runs the tests; each sets up what it needs in .venv.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

.PHONY: quickstart test test-cluster check format docs calibration search-study clean

quickstart: $(VENV)/run.stamp  ## train real models, then print the table and the verdicts and draw the figures
	$(BIN)/tune_zoo run quickstart

test: check  ## everything CI runs
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage report

test-cluster: $(VENV)/dev.stamp  ## clusters of several nodes on this machine, and what is killed of them (under twenty minutes)
	$(BIN)/python -m pytest -m cluster -n 2 --dist loadfile tests/cluster

check: $(VENV)/dev.stamp  ## lint, types and import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/dev.stamp  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/dev.stamp  ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

calibration: $(VENV)/run.stamp  ## simulate the exponent's posterior beside the usual fits (about ten minutes on two cores)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/calibration.py

search-study: $(VENV)/run.stamp  ## simulate the search for minimal widths, some thousand times (about half an hour)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/search_study.py

clean:  ## remove the environment; results stay
	rm -rf $(VENV)

# A stamp is the last thing an install writes, so a torn install is done again.
$(VENV)/run.stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .[dev]
	touch $(VENV)/run.stamp $@
