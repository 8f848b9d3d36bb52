# Every target makes the virtual environment that it needs: .venv, from $(PYTHON).
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# What the native module is made from: a change reinstalls it.
NATIVE := pyproject.toml CMakeLists.txt cinfer/CMakeLists.txt tools/gen_ffi.py \
          $(wildcard graphio/cinfer/*.c graphio/cinfer/*.h \
                     cinfer/include/*.h cinfer/src/*.h cinfer/src/*.def cinfer/src/*/*.[ch] \
                     cinfer/src/*/*/*.[ch])
C_FILES = $(shell git ls-files -co --exclude-standard -- '*.c' '*.h' ':!cinfer/src/ci_schema.h')
GENERATORS := $(wildcard tools/gen_schema.py tools/gen_operators.py tools/gen_stubs.py tools/onnx_suite.py \
                tools/proofs_page.py tools/families_page.py tools/names_page.py tools/docs_site.py tools/fuzz.py tools/release.py \
                tools/sbom.py tools/glossary.py)

ACCEPTANCE ?= ../shared/acceptance
WORKERS ?= auto

.PHONY: help demo distribute browser test smoke acceptance lint format operators analyze bits attacks failures sanitizers \
        coverage coverage-c coverage-python bench bench-peers ratchet-times proofs fuzz fuzz-deep docs \
        wheels-check sbom readme targets venv clean

help:
	@echo 'make demo   trains on real digits, kills and resumes it, predicts and trains on from C'
	@echo 'make browser  the page that reads digits drawn by hand, build/browser'
	@echo 'make test   runs the tests (PYTEST="-k name" chooses)'
	@echo 'make smoke  the acceptance programs and the self-test, in a few seconds'
	@echo 'make acceptance  TensorFlow-1 programs in each engine, also those of $$(ACCEPTANCE)'
	@echo 'make lint   ruff, mypy --strict, clang-format, generated files, words of the glossary'
	@echo 'make operators  the standard'\''s cases in both engines, and docs/operators.md'
	@echo 'make analyze  warnings of five compilers, stack, recursion, cppcheck, clang-tidy, gcc -fanalyzer'
	@echo 'make bits   one SHA-256 for every compiler, instruction set, thread count and machine'
	@echo 'make distribute  one SHA-256 for every engine, number of ranks and threads of a training, and after kills'
	@echo 'make attacks  untrusted attributes, inputs and files, generated, with sanitizers, in both engines and on every machine'
	@echo 'make failures  fails every allocation and read of all models, one by one'
	@echo 'make sanitizers  the C tests and all kernels under each sanitizer and valgrind'
	@echo 'make bench  checkpoints compared with torch and safetensors, a Session with numpy'
	@echo 'make bench-peers  models, start-up and training compared with every other engine (PEERS="--only cnn")'
	@echo 'make ratchet-times  operators compared with ONNX Runtime: fails when one became slower'
	@echo 'make coverage  lines, branches and MC/DC of the C library (clang-19), and of saves and restores in Python'
	@echo 'make proofs  the deep forms of all proofs of docs/reliability.md: hours; or one of them:'
	@echo '            proof-kills -states -cuts -errors -flips -truncations -resume -restores -readers -writers'
	@echo '            -background -foreign -files -remote'
	@echo 'make fuzz   every fuzz target for a minute; make fuzz-deep: hours, until each has its goal'
	@echo 'make docs   the documentation as a site, build/site/html'
	@echo 'make wheels-check  dist/: source archive and wheel, tried in an empty environment of each Python'
	@echo 'make sbom   the same, and dist/*.cdx.json: all that an installation consists of'
	@echo 'make readme  everything that README.md says, in order, in a fresh clone with an empty home'
	@echo 'make targets  the quick targets of this file, each alone in a fresh clone'
	@echo 'make venv   .venv with everything that development needs'

# A training's bits depend on neither engine, ranks, threads nor kills (tools/distribute.py --help).
distribute: .venv/dev.stamp
	$(BIN)/python tools/distribute.py $(ARGS)

demo: .venv/demo.stamp
	$(BIN)/python examples/digits/demo.py

# The digits model as WebAssembly: clang, lld, wasi-libc, libclang-rt-14-dev-wasm32.
browser: .venv/demo.stamp
	$(BIN)/python examples/browser/build.py $(BROWSER)

test: .venv/dev.stamp
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(PYTEST)

# The complete path in a few seconds: builds, trains, saves, restores, converts and runs in both engines.
smoke: .venv/dev.stamp
	$(BIN)/python -m graphio selftest
	$(BIN)/python -m pytest -q -n0 tests/acceptance

# Complete TensorFlow-1 programs in each engine: the project's own, then those of ACCEPTANCE where it is a folder.
acceptance: .venv/dev.stamp
	$(BIN)/python -m pytest -q -n0 tests/acceptance
	@if [ ! -f "$(ACCEPTANCE)/run_all.py" ]; then \
	  echo "no further acceptance programs: $(ACCEPTANCE)/run_all.py does not exist"; exit 0; \
	fi; \
	for engine in runtime cinfer; do \
	  echo "$(ACCEPTANCE), engine $$engine:"; \
	  GRAPHIO_TARGET=$$engine MODULE=graphio $(BIN)/python $(ACCEPTANCE)/run_all.py || exit 1; \
	done

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(C_FILES)
	for generator in $(GENERATORS); do $(BIN)/python $$generator --check || exit 1; done

format: .venv/dev.stamp
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(C_FILES)

operators: .venv/dev.stamp
	$(BIN)/python tools/onnx_suite.py --page

# Compilers and analyzers of the system; ANALYZE="warnings stack" is the short form.
ANALYZE ?= --deep
analyze:
	$(PYTHON) tools/static_analysis.py $(ANALYZE)

bits: .venv/dev.stamp
	$(BIN)/python tools/bits_matrix.py $(BITS)

# Every generated attack in both engines, again in cinfer with gcc's sanitizers and with clang's, which sees overflows
# of numbers that nothing uses, and on every machine.
attacks: .venv/dev.stamp
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/attacks -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" \
	  -DPython3_EXECUTABLE="$(CURDIR)/$(BIN)/python" -DCINFER_SANITIZE=address,undefined,float-cast-overflow
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/attacks --target _native
	cd tests && ../$(BIN)/python -m attacks.generated --table
	cd tests && ../$(BIN)/python -m attacks.empty
	cd tests && ../$(BIN)/python -m attacks.generated --alone --native ../build/attacks/_native.abi3.so \
	  --preload "$$($(CC) -print-file-name=libasan.so)"
	cd tests && ../$(BIN)/python -m attacks.empty --alone --native ../build/attacks/_native.abi3.so \
	  --preload "$$($(CC) -print-file-name=libasan.so)"
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/attacks-clang -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" \
	  -DPython3_EXECUTABLE="$(CURDIR)/$(BIN)/python" -DCMAKE_C_COMPILER=clang \
	  -DCMAKE_C_FLAGS=-fsanitize-trap=all -DCINFER_SANITIZE=undefined,float-cast-overflow
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/attacks-clang --target _native
	cd tests && ../$(BIN)/python -m attacks.generated --alone --native ../build/attacks-clang/_native.abi3.so
	cd tests && ../$(BIN)/python -m attacks.empty --alone --native ../build/attacks-clang/_native.abi3.so
	cd tests && ../$(BIN)/python -m attacks.machines

failures: .venv/dev.stamp
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/failures.py $(FAILURES)

sanitizers: .venv/dev.stamp
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/sanitizers.py $(SANITIZERS)

bench: .venv/bench.stamp
	$(BIN)/python benchmarks/session_overhead.py
	$(BIN)/python benchmarks/checkpoints.py --folder $${TMPDIR:-/tmp}

bench-peers: .venv/peers.stamp
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m benchmarks.peers $(PEERS)

ratchet-times: .venv/bench.stamp
	$(BIN)/python -m benchmarks.peers.operators

# What the tests reach of the C library, and of saving and restoring in Python; each fails below
# the goals that its tool has.
coverage: coverage-python coverage-c

coverage-python: .venv/dev.stamp
	$(BIN)/python tools/python_coverage.py $(COVERAGE)

coverage-c: .venv/dev.stamp
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/c_coverage.py $(COVERAGE)

# The deep forms of the proofs append to docs/proofs.jsonl and go on where they stopped;
# they take PROOF="--count 100 --no-log" and other options, see make proof-kills PROOF=--help.
PROOFS := kills states cuts errors flips truncations foreign resume restores background readers \
    files remote writers

# The site of docs/: build/site/html; a warning is an error.
docs: .venv/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/python tools/docs_site.py

# NEED="--need 3.10 3.13" fails where these Pythons are missing.
wheels-check: .venv/release.stamp
	$(BIN)/python tools/wheels_check.py $(NEED)

sbom: .venv/release.stamp
	$(BIN)/python tools/wheels_check.py --sbom $(NEED)

# README="--without 'make test'" leaves out some steps.
readme:
	$(PYTHON) tools/readme_walk.py $(README)

# TARGETS="docs demo" names some; by default all that are quick.
targets:
	$(PYTHON) tools/make_targets.py $(TARGETS)

proofs: $(PROOFS:%=proof-%)
	$(BIN)/python tools/proofs_page.py

proof-%: .venv/dev.stamp
	cd tests && ../$(BIN)/python -m proofs.$* $(PROOF)

proof-errors: proof-faults ;

proof-files: .venv/dev.stamp
	cd tests && ../$(BIN)/python -m proofs.ecosystem $(PROOF)
	cd tests && ../$(BIN)/python -m proofs.strays $(PROOF)

# FUZZ="wire --seconds 600" chooses a target and a time; a deep run goes on where the last one stopped.
fuzz: .venv/dev.stamp .venv/fuzz.stamp
	$(BIN)/python tools/fuzz.py --seconds 60 $(FUZZ)

fuzz-deep: .venv/dev.stamp .venv/fuzz.stamp
	$(BIN)/python tools/fuzz.py --deep --log $(FUZZ)

venv: .venv/dev.stamp

.venv/%.stamp: $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -e '.[$*]'
	touch $@

clean:
	rm -rf .venv build demo dist
