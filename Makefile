# The front door: one word per thing a person wants. The build itself is CMake (CMakePresets.json), out of source in
# build/<preset>. Every target first lets scripts/deps.sh install the Debian packages that it needs and that are missing.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
SUITES ?=
export NINJA_STATUS = [%f/%t] 

# $(call build,<preset>,<targets>): configure once (ninja reconfigures by itself afterwards), then build.
define build
@test -f build/$(1)/build.ninja || { echo "configuring build/$(1)"; cmake --preset $(1) --log-level=WARNING >/dev/null; }
@cmake --build --preset $(1) --parallel $(JOBS) $(if $(2),--target $(2))
endef

.PHONY: help build demo test bench check sanitize install clean format
help:
	@echo "Trireme: one runtime that makes all cores of a node pull together."
	@echo
	@echo "  make demo              see it work: a molecular dynamics run on threads and on processes, verified and timed"
	@echo "  make test              build everything and run all tests"
	@echo "  make bench             measure what the README claims (SUITES=messages for one suite)"
	@echo
	@echo "  make build             build everything into build/release"
	@echo "  make install PREFIX=   install library, headers and the trireme command (now: $(PREFIX))"
	@echo "  make check             format, lint, headers that compile alone, what the documents name"
	@echo "  make format            let clang-format rewrite the sources"
	@echo "  make sanitize          the tests under the address and thread sanitizers"
	@echo "  make clean             remove build/"
	@echo
	@echo "Missing Debian packages are installed as root or through sudo; JOBS=$(JOBS) sets the number of build jobs, and of tests at a time."

build:
	@scripts/deps.sh build
	$(call build,release)

demo:
	@scripts/deps.sh build demo
	$(call build,release,md trireme_command)
	@apps/md/demo.sh build/release

test:
	@scripts/deps.sh test
	$(call build,release)
	@ctest --preset release --parallel $(JOBS)

bench:
	@scripts/deps.sh bench
	$(call build,release,trireme_command)
	@build/release/bin/trireme bench $(SUITES)

check:
	@scripts/deps.sh check
	$(call build,release,trireme_command)
	@scripts/check.sh build/release

format:
	@scripts/deps.sh check
	@git ls-files '*.hpp' '*.cpp' | xargs clang-format-16 -i

# The sanitizer runs leave out the tests labelled no_sanitize and no_tsan (CMakePresets.json).
sanitize:
	@scripts/deps.sh test
	$(call build,asan)
	@ctest --preset asan --parallel $(JOBS)
	$(call build,tsan)
	@ctest --preset tsan --parallel $(JOBS)

install: build
	@cmake --install build/release --prefix "$(PREFIX)"

clean:
	@rm -rf build
