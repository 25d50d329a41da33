# The front door: one word per thing a person wants. The build itself is CMake (CMakePresets.json), out of source in
# build/<preset>. Every target first lets scripts/deps.sh install the Debian packages that it needs and that are missing.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
# Many tests wait: for processes to start and end, for heartbeats that do not come.
TESTS_AT_A_TIME ?= $(shell echo $$(($(JOBS) + ($(JOBS) + 1) / 2)))
PREFIX ?= /usr/local
SUITES ?=
SECONDS_EACH ?= 60
ALL ?=
# Debian's packages belong to Debian's Python.
DEBIAN_PYTHON := $(firstword $(wildcard /usr/bin/python3) python3)
export NINJA_STATUS = [%f/%t] 

# $(call build,<preset>,<targets>): configure once, then build. Ninja configures again by itself, also when Debian packages
# have come or gone.
define build
@test -f build/$(1)/build.ninja || { echo "configuring build/$(1)"; cmake --preset $(1) --log-level=WARNING >/dev/null; }
@cmake --build --preset $(1) --parallel $(JOBS) $(if $(2),--target $(2))
endef

.PHONY: help build demo test bench results docs check sanitize fuzz aarch64 wheels python install deb deb-test fresh clean format
help:
	@echo "Trireme: message-driven objects, parallel loops, accelerators for MPI and OpenMP programs."
	@echo
	@echo "  make demo              see every way in at work, verified and timed: objects, an MPI program, an OpenMP program"
	@echo "  make test              build everything and run the tests that it concerns, at first all (ALL=1: all again)"
	@echo "  make bench             measure what docs/results.md claims (SUITES=messages for one suite, JSON=FILE keeps it)"
	@echo "  make results           tables and plots of docs/results.md from bench/results/*.json (JSON=FILE for others)"
	@echo "  make docs              both books and the reference of the headers as one site, build/docs/site"
	@echo
	@echo "  make build             build everything into build/release"
	@echo "  make install PREFIX=   install library, headers and the trireme command (now: $(PREFIX))"
	@echo "  make deb               Debian packages of it, in build/deb (make deb-test installs and tries them in a minimal root)"
	@echo "  make check             format, lint, headers that compile alone, what the documents name"
	@echo "  make format            let clang-format rewrite the sources"
	@echo "  make sanitize          the tests under the address and thread sanitizers, then the fuzz targets"
	@echo "  make fuzz              the fuzz targets, each for a minute (SECONDS_EACH=60)"
	@echo "  make aarch64           unit tests built for 64-bit Arm, in an emulator"
	@echo "  make wheels            the MPI libraries of PyPI (Open MPI 5, MPICH 4.3 and 5, Intel MPI), which make test then tries too"
	@echo "  make python            what the Python package needs (nanobind, numpy, pytest of PyPI), which make test then builds and tries too"
	@echo "  make fresh             demo, install and a user's program on a minimal Debian, as a new user (scripts/fresh.sh --help)"
	@echo "  make clean             remove build/"
	@echo
	@echo "Missing Debian packages are installed as root or through sudo; JOBS=$(JOBS) sets the number of build jobs; of tests, half as many more run at a time."

build:
	@scripts/deps.sh build
	$(call build,release)

demo:
	@scripts/deps.sh build demo
	$(call build,release,md trireme_command example_openmp_rows)
	@scripts/demo.sh build/release

test:
	@scripts/deps.sh test
	$(call build,release)
	@$(DEBIAN_PYTHON) scripts/run_tests.py --jobs $(TESTS_AT_A_TIME) $(if $(filter-out 0,$(ALL)),--all)

bench:
	@scripts/deps.sh bench
	$(call build,release,trireme_command)
	@build/release/bin/trireme bench $(SUITES) $(if $(JSON),--json $(JSON))

# `make bench JSON=bench/results/NAME.json` keeps a run.
results:
	@scripts/deps.sh results
	@$(DEBIAN_PYTHON) scripts/results.py $(JSON)

docs:
	@scripts/deps.sh docs
	@scripts/docs.sh build/docs

check:
	@scripts/deps.sh check
	$(call build,release,trireme_command)
	@scripts/check.sh build/release

format:
	@scripts/deps.sh check
	@git ls-files '*.hpp' '*.cpp' | xargs clang-format-16 -i

# The sanitizer runs leave out the tests labelled no_sanitize and no_tsan (CMakePresets.json). With SANITIZED=units only
# the tests of single parts run, which need no programs: a third of the building.
SANITIZED ?= all
units := $(filter units,$(SANITIZED))
sanitize:
	@scripts/deps.sh test
	$(call build,asan,$(if $(units),unit_tests))
	@ctest --preset asan --parallel $(JOBS) $(if $(units),-L '^unit$$')
	$(call build,tsan,$(if $(units),unit_tests))
	@ctest --preset tsan --parallel $(JOBS) $(if $(units),-L '^unit$$')
	$(if $(units),,@$(MAKE) fuzz)

# Seven targets: four minutes on two CPUs (tests/fuzz/README.md).
fuzz:
	@scripts/deps.sh fuzz
	$(call build,fuzz,fuzz_targets)
	@JOBS=$(JOBS) SECONDS_EACH=$(SECONDS_EACH) scripts/fuzz.sh build/fuzz

# For 64-bit Arm: what rests on atomics, shared layouts or instructions of its own, with as little else as possible. The
# emulator keeps the order of this processor's accesses: memory orders are tested by tests/explore.
AARCH64_TESTS := arena_arena_test arena_block_cache_test arena_host_lock_test board_layout_test board_words_test \
	board_process_test board_stress_test board_divisible_task_test board_progress_test omp_virtual_parts_test \
	omp_portable_parts_test
aarch64:
	@scripts/deps.sh aarch64
	@scripts/aarch64_sysroot.sh build/aarch64-sysroot
	$(call build,aarch64,$(AARCH64_TESTS))
	@ctest --preset aarch64 --parallel $(JOBS) -R "^($$(tr ' ' '|' <<<"$(strip $(AARCH64_TESTS))"))$$"

# Open MPI 5, MPICH 4.3 and 5, Intel MPI, for the tests mpi_wheel_* (tests/mpi/wheels), which are skipped without.
wheels:
	@scripts/deps.sh test wheels
	@scripts/mpi_wheels.sh build/mpi-wheels

# What is configured already has no Python package yet (python/README.md).
python:
	@scripts/deps.sh python
	@PYTHON=$(DEBIAN_PYTHON) scripts/python_environment.sh build/python-environment
	@if [ -f build/release/build.ninja ]; then cmake --preset release --log-level=WARNING >/dev/null; fi

# Builds what is installed, and nothing else.
install:
	@scripts/deps.sh build
	$(call build,release,installed_parts)
	@cmake --install build/release --prefix "$(PREFIX)"

# For the release of Debian or Ubuntu that this runs on; docs/user/installing.md.
deb:
	@scripts/deps.sh deb
	$(call build,deb,installed_parts)
	@cd build/deb && rm -f *.deb && cpack >cpack.log || { cat cpack.log; exit 1; }
	@ls build/deb/*.deb

deb-test: deb
	@scripts/deps.sh deb-test
	@scripts/deb_test.sh build/deb/*.deb

# As an ordinary user it says that it needs root.
fresh:
	@if [ "$$(id -u)" = 0 ]; then scripts/deps.sh fresh; fi
	@scripts/fresh.sh

clean:
	@rm -rf build
