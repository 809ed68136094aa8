# What people call. `make help` lists it all; the work is in tools/ and CMakeLists.txt.

BUILD    ?= build
PREFIX   ?= /usr/local
DESTDIR  ?=
SETUP    ?= yes   # no: install nothing, on systems without apt-get
CMAKE_OPTIONS ?=

.DEFAULT_GOAL := help
.NOTPARALLEL:
# setup-SECTION+SECTION is a pattern, hence not listed here: make would not look for its rule.
.PHONY: help configure build run test check check-full bench dist install install-library library clean

setup-%:
	@[ "$(strip $(SETUP))" = no ] || tools/setup $(subst +, ,$*)

configure:
	@mkdir -p $(BUILD)
	@[ -f $(BUILD)/build.ninja ] || cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo $(CMAKE_OPTIONS) \
	  $$(command -v ccache >/dev/null && echo -DCMAKE_CXX_COMPILER_LAUNCHER=ccache) >$(BUILD)/configure.log 2>&1 \
	  || { cat $(BUILD)/configure.log; rm -f $(BUILD)/build.ninja; exit 1; }

build: setup-build configure  ## install what is missing, build; programs are in build/bin/
	@echo "build: programs in $(BUILD)/bin/ (the first time takes some minutes)"
	@tools/build $(BUILD) spate_apps
	@echo "build: done: $$(ls $(BUILD)/bin 2>/dev/null | tr '\n' ' ')"
	@[ -e $(BUILD)/bin/pegasus-mpi-cluster ] || \
	  echo "build: without pegasus-mpi-cluster, as no MPI library is here (apt install libopenmpi-dev openmpi-bin; make clean build)"
	@[ -e $(BUILD)/bin/spate-pmix ] || \
	  echo "build: without spate-pmix, as libpmix is not here (apt install libpmix-dev; make build)"

run: setup-build configure  ## build spate, then run a real job: a thousand tasks over files of this machine
	@echo "build: spate (the first time takes some minutes)"
	@tools/build $(BUILD) spate
	@examples/first-run/run $(BUILD)/bin/spate $(BUILD)/first-run

test: setup-build+test configure  ## install what is missing, build all, run all tests
	@echo "test: building everything (the first time takes some minutes)"
	@tools/build $(BUILD)
	@tools/run-tests $(BUILD)

check: setup-build+test+check  ## all that the CI does: style, arrows, sanitizers, fuzzers (a short count of each)
	@tools/check --quick

check-full: setup-build+test+check+full  ## the same with everything, many seeds and longer fuzzing
	@tools/check --full

bench: setup-build+bench configure  ## measure against the bare loop and rivals
	@tools/build $(BUILD)
	@if [ -x bench/run ]; then bench/run $(BUILD); else echo "bench: there is no bench/run"; exit 1; fi

dist: build  ## make the release files in dist/: a static tarball, a .deb, their sums
	@tools/dist $(BUILD)

install:  ## install spate, its library, man pages and completions below PREFIX (/usr/local); honours DESTDIR
	@[ -x $(BUILD)/bin/spate -a -e $(BUILD)/lib/libspate_mw.a ] || $(MAKE) --no-print-directory build
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)" --strip

library: setup-build configure
	@tools/build $(BUILD) spate_mw

install-library:  ## build the library for master-worker programs alone, install it below PREFIX
	@[ -e $(BUILD)/lib/libspate_mw.a ] || $(MAKE) --no-print-directory library
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)" --component library

clean:  ## remove what was built
	@rm -rf $(BUILD) build-asan build-tsan build-fuzz build-clang dist

help:  ## this list
	@echo "Spate: make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | \
	  while IFS='|' read -r name text; do printf '  %-15s %s\n' "$$name" "$$text"; done
	@echo "Variables: BUILD=$(BUILD) PREFIX=$(PREFIX) DESTDIR= SETUP=yes|no CMAKE_OPTIONS="
