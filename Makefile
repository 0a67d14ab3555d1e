# The phone book: `make help` lists what there is. CI calls only this and .ci/run.
BUILD ?= build
TEST_BUILD ?= build-test
SECONDS ?= 60
PREFIX ?= /usr/local
# Options for `meson setup`, used when a build folder is made.
MESON_FLAGS ?=
export PYTHONDONTWRITEBYTECODE = 1

.DEFAULT_GOAL := help
.PHONY: help deps build test demo check format tidy sanitize threads valgrind bench bench-peers fault fuzz memory volume requests handover install clean fresh

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16
	@echo
	@echo 'make test T=base_clock runs one test; make fuzz T=json SECONDS=600 one fuzz target.'

deps: ## install the Debian packages that are missing
	@tools/install-deps build test check

build: ## build the program (build/trilha) and the library
	@command -v meson >/dev/null && command -v ninja >/dev/null || \
	  { echo "meson and ninja are needed: make deps installs everything that is" >&2; exit 1; }
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) -Dtests=false $(MESON_FLAGS) >$(BUILD).log 2>&1 || \
	  { cat $(BUILD).log; rm -f $(BUILD).log; echo "if a library is missing: make deps" >&2; exit 1; }
	@rm -f $(BUILD).log
	@ninja -C $(BUILD) $$(test -t 1 || echo --quiet)

test: ## install what is missing, build with fault points, run all tests (T=NAME: one)
	@tools/install-deps build test
	@tools/run-tests $(TEST_BUILD) --postgres --times=4 --setup=-Dfault_points=true $(foreach flag,$(MESON_FLAGS),--setup=$(flag)) $(T)

demo: ## install what is missing, build, and show the main job step by step
	@tools/install-deps build
	@test -x $(BUILD)/trilha || echo "building; this takes a minute or two"
	@$(MAKE) --no-print-directory build
	@$(BUILD)/trilha demo

check: ## what CI checks beside the tests: format, rooms and style, both compilers, exports, headers
	@.ci/run --checks

format: ## format all C sources in place
	@git ls-files '*.c' '*.h' '*.cc' | xargs clang-format-14 -i

tidy: ## check the rules of rooms and style
	@tools/tidy

# Both with clang; -O1 keeps the reports readable. Without the tests in which they meet no code that others do not show them.
SANITIZED = CC=clang CXX=clang++ tools/run-tests $(1) --postgres --setup=-Db_sanitize=$(2) --setup=-Db_lundef=false --setup=-Doptimization=1 \
  --setup=-Dfault_points=true $(foreach flag,$(MESON_FLAGS),--setup=$(flag))
ADDRESS = address,undefined
# Suites of rooms in which more than one thread runs.
THREADED = threads http eventlog registry redaction bus conformance
# The thread sanitizer of clang 14 cannot place its shadow memory where the kernel randomizes with more bits than it knows.
STEADY = $$(setarch -R true 2>/dev/null && echo setarch -R)

sanitize: ## run the tests under the address and undefined behaviour sanitizers
	@UBSAN_OPTIONS=$${UBSAN_OPTIONS:-halt_on_error=1:abort_on_error=1:print_stacktrace=1} \
	  LSAN_OPTIONS=suppressions=$(CURDIR)/tests/support/leaks-of-libraries:print_suppressions=0 \
	  $(call SANITIZED,build-asan,$(ADDRESS)) --times=8 $(if $(T),$(T),--no-suite=tools --no-suite=processes --no-suite=plain)

threads: ## run the tests of rooms with threads under the thread sanitizer
	@$(STEADY) env $(call SANITIZED,build-tsan,thread) --times=12 $(if $(T),$(T),--no-suite=plain $(foreach suite,$(THREADED),--suite=$(suite)))

valgrind: ## every C test program under valgrind, on both stores (hours; T=NAME: one)
	@tools/install-deps build test valgrind
	@tools/run-tests build-test --postgres --times=60 --wrap=$(CURDIR)/tests/support/valgrind --setup=-Dfault_points=true \
	  $(foreach flag,$(MESON_FLAGS),--setup=$(flag)) $(if $(T),$(T),--no-suite=tools --no-suite=processes --no-suite=plain)

fault: ## the fault suite in its long form (SEED=N draws the same again): kills, cuts, full and lying disks, on both stores
	@TRILHA_FAULT_TIMES=20 $(if $(SEED),TRILHA_FAULT_SEED=$(SEED)) tools/run-tests build-test --setup=-Dfault_points=true --postgres --times=20 $(if $(T),$(T),--suite=fault)

handover: ## a durable consumer from 260,000 events behind to live, killed at random, on both stores (minutes)
	@TRILHA_HANDOVER_EVENTS=260000 tools/run-tests build-test --setup=-Dfault_points=true --postgres --times=10 consumer-handover-sqlite consumer-handover-postgresql

memory: ## the Nth allocation fails, for every public call and every N, on both stores (half an hour)
	@TRILHA_TEST_THOROUGH=1 tools/run-tests build-test --setup=-Dfault_points=true --postgres --times=10 memory-calls-sqlite memory-calls-postgresql

volume: ## a million events published and consumed, ten thousand types, on both stores: memory and descriptors stay flat
	@TRILHA_VOLUME_EVENTS=1000000 TRILHA_VOLUME_TYPES=10000 tools/run-tests build-test --setup=-Dfault_points=true --postgres --times=20 \
	  memory-volume-sqlite memory-volume-postgresql

requests: ## a million requests of the API on each store: the server's memory stays flat
	@tools/install-deps build bench
	@test -f build-bench/build.ninja || meson setup build-bench -Dtests=false --buildtype=release >/dev/null
	@ninja -C build-bench --quiet
	@bench/record bench/results/serve_memory.json bench/serve build-bench/trilha build-bench/bench/serve_direct --memory 1000000

# The pages show what was measured last; $(1): what is summed up at the end.
SHOWN = status=$$?; bench/figures docs/performance.md && bench/figures docs/benchmarks.md && bench/plots && bench/summary $(1) && exit $$status

bench: ## run the benchmarks
	@test -f build-bench/build.ninja || meson setup build-bench -Dtests=false --buildtype=release >/dev/null
	@ninja -C build-bench --quiet && meson test -C build-bench --benchmark --verbose $(if $(T),$(T),--no-suite peers); \
	  $(call SHOWN,$(if $(T),$(T),against_ajv sqlite_append postgres_publish serve outbox footprint growth))

# Set up anew, since what was installed now may not have been there before.
bench-peers: ## run the benchmarks beside programs of others, which npm installs into bench/peers
	@tools/install-deps build test bench
	@command -v npm >/dev/null || { echo "node and npm are needed" >&2; exit 1; }
	@cd bench/peers && npm ci --ignore-scripts --no-audit --no-fund
	@meson setup $$(test -f build-bench/build.ninja && echo --reconfigure) build-bench -Dtests=false --buildtype=release >/dev/null
	@ninja -C build-bench --quiet && meson test -C build-bench --benchmark --verbose $(if $(T),$(T),--suite peers); \
	  $(call SHOWN,$(if $(T),$(T),peers emitter webhooks against_libraries))

fuzz: ## run the fuzz targets (T=NAME: one; SECONDS=60 each)
	@tools/fuzz --seconds=$(SECONDS) $(T)

install: build ## install to PREFIX (/usr/local)
	@meson configure $(BUILD) --prefix=$(abspath $(PREFIX)) >/dev/null && meson install -C $(BUILD)

fresh: ## prove `make demo` and `make test` on an empty Debian 12 (root, needs debootstrap)
	@tools/try-fresh

clean: ## remove every build folder
	@rm -rf build build-test build-asan build-tsan build-bench build-fuzz build-gcc build-clang build-install build-ci
