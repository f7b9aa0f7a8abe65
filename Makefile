# The commands of a new user: `make demo` and `make test`. Each installs what it lacks (scripts/setup says what).
.PHONY: help configure build demo test test-all test-long bench wheel install deb site clean
help:
	@echo 'make demo      play the main job: a network whose missing layer is a plugin, on a photograph'
	@echo 'make test      build and run the tests (minutes)'
	@echo 'make test-all  sanitizers, both compilers, fuzzing, every processor level, the whole suite (less than an hour)'
	@echo 'make test-long what takes hours: fresh machines, soaks, PyTorch, whole corpora, a million fuzzed inputs, the GPU'
	@echo 'make build     build release into build/'
	@echo 'make bench     the benchmarks'
	@echo 'make install   the library, headers and programs into PREFIX (/usr/local; DESTDIR is obeyed)'
	@echo 'make deb       packages for Debian in build/deb/, lintian-clean'
	@echo 'make site      the documentation as a site in build/site/html/, read without a network'
	@echo 'make wheel     the Python package as wheels in dist/, built and tested in clean environments'

# Options of CMake for the release build: make test CMAKE_OPTIONS=-DTENON_WERROR=ON
CMAKE_OPTIONS ?=

build: configure
	@cmake --build build

configure:
	@scripts/setup build
	@cmake --preset release $(CMAKE_OPTIONS) > build.log 2>&1 || { cat build.log; exit 1; }; rm -f build.log

# What is installed, without the tests.
demo: configure
	@cmake --build build --target install_targets
	@scripts/demo

# What the tests need comes first: the build looks for Python's headers.
test:
	@scripts/setup test
	@$(MAKE) --no-print-directory build
	@scripts/run-tests

test-all: build
	@scripts/setup all
	@scripts/run-all-tests

test-long: build
	@scripts/setup long
	@scripts/run-long-tests

bench: build
	@scripts/run-benchmarks

wheel:
	@scripts/setup build
	@scripts/make-wheel

# The programs and libraries alone, without tests, benchmarks and examples, in a build folder that is configured for PREFIX.
PREFIX ?= /usr/local
install:
	@scripts/setup build
	@cmake --preset release -B build-install -DCMAKE_INSTALL_PREFIX='$(PREFIX)' -DTENON_WITH_PYTHON=OFF -DTENON_BUILD_TESTS=OFF \
	    -DTENON_BUILD_BENCHMARKS=OFF -DTENON_BUILD_EXAMPLES=OFF $(CMAKE_OPTIONS) > build.log 2>&1 || { cat build.log; exit 1; }; rm -f build.log
	@cmake --build build-install --target install_targets
	@DESTDIR='$(DESTDIR)' cmake --install build-install

deb:
	@scripts/make-deb

site: configure
	@scripts/make-site

clean:
	rm -rf build build-*
