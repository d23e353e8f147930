# Every target installs what it needs: a fresh clone with Python 3.11+ and make is enough.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
UV_PIN := $(shell sed -n 's/^\(uv==[^ ]*\).*/\1/p' requirements.lock)

.PHONY: help setup demo live test test-slow servers kafka kafka-example lint format bench docs lock clean

help:            ## list the targets
	@sed -n 's/^\([a-z-]*\): .*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Cepheus needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) (once; about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "$(UV_PIN)"
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --compile-bytecode --require-hashes -r requirements.lock
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation -e .
	@touch $(STAMP)

setup: $(STAMP)  ## create .venv with everything, `cepheus` included

demo: $(STAMP)   ## run the demo: two scenarios, what was found and why, a timeline picture
	@$(BIN)/cepheus demo

test: $(STAMP)   ## run the tests
	@$(BIN)/python -m pytest -n auto -m "not slow"

test-slow: $(STAMP) ## run the long suites too, on examples that were not tried before
	@$(BIN)/python -m pytest -n auto --hypothesis-profile=search

live: $(STAMP)   ## run the live example: a file of readings in, fires out
	@cd examples/live && ../../$(BIN)/cepheus live file.toml && cat out/fires.jsonl

servers:         ## install the brokers, databases, OpenCL driver and browser that tests use (Debian, as root; else nothing)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  for package in chromium mosquitto nats-server pocl-opencl-icd postgresql redis-server; do \
	    dpkg -s $$package > /dev/null 2>&1 || missing="$$missing $$package"; done; \
	  test -z "$$missing" || { apt-get -qq update; DEBIAN_FRONTEND=noninteractive apt-get -qq install -y $$missing; } \
	    > /dev/null 2>&1 || echo "Not installed:$$missing; the tests that need them are skipped"; \
	else echo "Servers are installed by root with apt-get; tests skip those that are not there"; fi

KAFKA_JARS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/cepheus/kafka
kafka:           ## fetch the jars of a Kafka broker from Maven Central, for tests and examples (needs mvn)
	@mvn -q -B -f tests/servers/kafka.pom.xml dependency:copy-dependencies -DincludeScope=runtime \
	  -DoutputDirectory=$(KAFKA_JARS) && echo "Kafka is in $(KAFKA_JARS)"

kafka-example: $(STAMP) kafka ## Kafka to alerts without Docker: a broker, readings, rules, what they find (examples/kafka)
	@CEPHEUS_BIN=$(CURDIR)/$(BIN) examples/kafka/run.sh

lint: $(STAMP)   ## ruff, mypy strict, import layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

format: $(STAMP) ## let ruff rewrite the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(STAMP)  ## rerun the measurements and write them to docs/benchmarks.md
	@$(BIN)/cepheus bench --write-docs

docs: $(STAMP)   ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "Open site/index.html"

lock: $(STAMP)   ## pin the newest dependencies that pyproject.toml allows
	@$(BIN)/uv pip compile --universal --generate-hashes --python-version 3.11 --all-extras --group dev \
	  pyproject.toml -o requirements.lock --quiet --upgrade

clean:           ## remove everything that was built
	@rm -rf $(VENV) dist build site out .pytest_cache .mypy_cache .ruff_cache .hypothesis
