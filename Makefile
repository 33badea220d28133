# Everything runs in .venv/; `make benchmark` and `make test` need Python 3.11 or newer, make and a package registry, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup benchmark test check bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) 1>&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' 1>&2
	@touch $@

benchmark: $(STAMP)
	@$(BIN)/iba generate $(ARGS)

test: $(STAMP)
	@$(BIN)/python -m pytest -n 2 --dist loadgroup $(ARGS)

check: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/iba scenarios check

bench: $(STAMP)
	@$(BIN)/python tests/bench $(ARGS)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
