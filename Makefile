# Every target sets up what it needs. On a fresh machine: Python 3.11 or later, Java 17, make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DATABASES := $(VENV)/.databases
JAVA := $(VENV)/.java
CHROMIUM := $(VENV)/.chromium
# Delta follows new versions of Spark late: the newest Spark that its newest release fits.
DELTA_SPARK := $(VENV)/delta-spark-4.2.1
# The newest Spark that Delta and Iceberg both fit: tables are compared on it.
PEERS_SPARK := $(VENV)/peers-spark-4.1.4
PYTEST := $(BIN)/python -m pytest

export UV_PYTHON_DOWNLOADS := never
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The tests start many processes: modules are compiled once and then kept.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-share test-jvm test-stores stores bench pictures docs dist lint format lock clean setup maven-answers

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# On Spark; without Java, which is installed where that may be done, in one process.
demo: $(INSTALLED)  ## see it work
	@$(HAS_JAVA) || { echo "  There is no Java 17. Installing it, if that may be done here."; \
	  $(MAKE) --silent $(JAVA) >/dev/null 2>&1 || true; }
	@$(BIN)/python examples/demo.py

# Groups of tests share a process (tests/run.py); all others go, file by file, to whichever is free.
# On two cores a third process works while others wait for a disk or a server.
JOBS ?= 3
TOGETHER := -n $(JOBS) --dist loadgroup --no-loadscope-reorder
test: $(INSTALLED) $(DATABASES) $(JAVA) $(CHROMIUM)  ## the tests, without the slow ones
	$(PYTEST) $(TOGETHER) -m "not slow and not jvm and not stores"

test-all: $(INSTALLED) $(DATABASES) $(JAVA) $(CHROMIUM)  ## the tests, with the slow ones
	$(PYTEST) $(TOGETHER) -m "not jvm and not stores"

MINUTES ?= 20
test-share: $(INSTALLED) $(DATABASES) $(JAVA) $(CHROMIUM)  ## as many slow tests as begin within MINUTES, in an order that the commit decides
	$(PYTEST) -m "slow and not jvm and not stores" --share-minutes $(MINUTES)

test-jvm: $(INSTALLED) $(DATABASES) $(JAVA) $(DELTA_SPARK)  ## the tests that need packages from Maven Central
	@if $(MAKE) --no-print-directory maven-answers; then \
	  DELTA_SPARK=$(DELTA_SPARK) $(PYTEST) -m jvm; \
	else \
	  echo "*** test-jvm: SKIPPED. Maven Central does not answer; NO jvm test was run. ***"; \
	fi

# Servers of object stores that PyPI has no wheels of: written in Go, for Node.js, and with many
# packages of their own.
STORES := $(VENV)/stores
GCS := github.com/fsouza/fake-gcs-server@v1.56.1
VERSITY := github.com/versity/versitygw/cmd/versitygw@v1.8.0
stores: $(INSTALLED)
	@mkdir -p $(STORES)/bin
	@if command -v go >/dev/null; then \
	  for each in $(GCS) $(VERSITY); do GOBIN=$(CURDIR)/$(STORES)/bin go install $$each || exit 1; done; \
	else echo "*** Go is missing: the tests of Google Cloud Storage and versitygw will NOT run ***"; fi
	@if ! command -v npm >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends npm; fi; \
	if command -v npm >/dev/null; then \
	  npm install --silent --no-audit --no-fund --prefix $(STORES) azurite@3.35.0; \
	else echo "*** npm is missing: the tests of Azure Storage will NOT run ***"; fi
	@test -x $(STORES)/moto/bin/moto_server || { $(PYTHON) -m venv $(STORES)/moto \
	  && $(STORES)/moto/bin/pip install --quiet 'moto[server]==5.2.5'; }

test-stores: $(DATABASES) stores  ## the tests of other object stores: Google's, Azure's, two more S3
	$(PYTEST) -m stores

# With BENCH_JVM=1 also beside Delta's and Iceberg's own, from Maven Central.
# Parts begin within BENCH_MINUTES; BENCH_MINUTES=60 is enough for all of them.
BENCH_MINUTES ?= 8
bench: $(INSTALLED) $(DATABASES) $(JAVA) $(if $(BENCH_JVM),$(PEERS_SPARK))  ## the benchmarks, as ratios
	$(if $(BENCH_JVM),BENCH_JVM=$(BENCH_JVM) )$(BIN)/python -m bench $(PARTS) --minutes $(BENCH_MINUTES) \
	  --json .bench/last.json --plots .bench/plots

pictures: $(INSTALLED) $(CHROMIUM)  ## the pictures of the page, for the documentation
	$(BIN)/python -m tests.web.pictures docs/pictures

docs: $(INSTALLED)  ## the documentation as a site, in build/site
	$(BIN)/python -m docs.site build/pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --config-file mkdocs.yml

dist: $(INSTALLED)  ## wheel and sdist, built and tried in empty environments
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m tests.dist dist

lint: $(INSTALLED)  ## style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED)  ## repair style and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(INSTALLED)  ## renew requirements.lock
	$(BIN)/uv pip compile pyproject.toml --upgrade --all-extras --python-version 3.11 \
	  --no-emit-index-url --no-header --no-annotate --quiet --output-file requirements.lock

clean:  ## remove everything that make made
	rm -rf $(VENV) .bench build dist artifacts spark-warehouse metastore_db derby.log
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

setup: $(INSTALLED) $(DATABASES) $(JAVA) $(CHROMIUM)

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "*** Tidelake needs Python 3.11 or later: make PYTHON=/path/to/python3.11 ***"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv || echo "*** no uv, using pip, which is slower ***"
	if [ -x $(BIN)/uv ]; then \
	  $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -r requirements.lock -e .; \
	else \
	  $(BIN)/python -m pip install --quiet -r requirements.lock -e .; \
	fi
	touch $@

$(DATABASES): | $(INSTALLED)
	@if PATH="$$PATH:/usr/sbin" command -v mariadbd >/dev/null; then touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	    --no-install-recommends mariadb-server-core mariadb-client-core && touch $@ \
	  || echo "*** MariaDB could not be installed: its tests will NOT run ***"; \
	else \
	  echo "*** mariadbd is missing: its tests will NOT run. As root:" \
	    "apt-get install mariadb-server-core mariadb-client-core ***"; \
	fi

$(CHROMIUM): | $(INSTALLED)
	@if command -v chromium >/dev/null; then touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	    --no-install-recommends chromium && touch $@ \
	  || echo "*** Chromium could not be installed: the page's tests in a browser will NOT run ***"; \
	else \
	  echo "*** chromium is missing: the page's tests in a browser will NOT run. As root:" \
	    "apt-get install chromium ***"; \
	fi

# Spark 4 runs on Java 17 and later.
HAS_JAVA := java -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])'
$(JAVA): | $(INSTALLED)
	@if $(HAS_JAVA); then touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	    --no-install-recommends openjdk-17-jre-headless && $(HAS_JAVA) && touch $@ \
	  || { echo "*** Java 17 could not be installed, and Spark needs it ***"; exit 1; }; \
	else \
	  echo "*** Spark needs Java 17 or later in the PATH. As root: apt-get install openjdk-17-jre-headless ***"; \
	  exit 1; \
	fi

# A Spark of its own, of the version that the folder has in its name.
$(DELTA_SPARK) $(PEERS_SPARK): | $(INSTALLED)
	if [ -x $(BIN)/uv ]; then install="$(BIN)/uv pip install --python $(BIN)/python"; \
	else install="$(BIN)/python -m pip install"; fi; \
	$$install --quiet --no-deps --target $@.new pyspark==$(lastword $(subst -, ,$@)) py4j==0.10.9.9 && mv $@.new $@

# Ivy ships inside PySpark and knows where Maven Central is.
maven-answers: $(INSTALLED)
	@jars=$$($(BIN)/python -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent / "jars")'); \
	hadoop=$$(basename $$jars/hadoop-client-api-*.jar .jar); \
	folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	timeout 60 java -cp "$$(echo $$jars/ivy-*.jar)" org.apache.ivy.Main -cache "$$folder" -notransitive \
	  -dependency org.apache.hadoop hadoop-aws $${hadoop#hadoop-client-api-} >/dev/null 2>&1
