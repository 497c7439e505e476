# `make demo` and `make test` set everything up themselves; nothing else is needed first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Debian and Ubuntu ship Python without what makes a virtual environment.
NEED_VENV = { test "$$(id -u)" = 0 && apt-get install -y --no-install-recommends python3-venv; } \
	|| { echo "$(PYTHON) cannot make a virtual environment here; type: sudo apt install python3-venv" >&2; exit 1; }

.PHONY: demo test test-engine lint bench out clean

demo: $(READY)
	rm -rf build/demo
	$(BIN)/sparkc compile qwen3.5-397b-int4-autoround-4x --nodes 4 --out build/demo
	@echo
	@cd build/demo && find . -type f | sort | sed 's|^\./|  |'
	@echo
	@cat build/demo/*/README.md

# Whole files go to a worker: the tests of a file on the lab share a bundle that serves.
test: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadfile

# vLLM itself on nodes of the lab (docs/how-to/real-engine.md). The first run downloads gigabytes.
test-engine: $(READY)
	$(BIN)/python -m tests.engine
	SPARKC_REQUIRE_LAB=1 $(BIN)/python -m pytest tests/engine

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/compile.py
	$(BIN)/python benchmarks/deploy.py

# Compiles the catalogue for the example inventory: the living documentation in out/.
out: $(READY)
	$(BIN)/sparkc compile --all --verify

# Made again when a schema, a template or what is prepared from them changes.
$(READY): pyproject.toml $(wildcard schemas/*.json templates/*/*) compiler/sparkc/bundle/template_code.py compiler/sparkc/bundle/quoting.py
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || $(NEED_VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build
