# Short names for what is done often. The build itself is Meson's.
NINJA = ninja -j$(or $(JOBS),$(shell nproc))
RELEASE = -Doptimization=2 -Ddebug=true
TESTING = -Doptimization=1 -Ddebug=true -Dfailpoints=true -Dtests=true -Db_lundef=false

all: build

deps:
	@tools/get-deps

build: deps
	@tools/configure build $(RELEASE)
	@$(NINJA) -C build $(QUIET)
	@ln -sf cmd/sluice build/sluice

test-build: deps
	@tools/configure build-test $(TESTING) -Db_sanitize=address,undefined
	@$(NINJA) -C build-test $(QUIET)
	@ln -sf cmd/sluice build-test/sluice

test:
	@tools/run-tests

test-long:
	@SLUICE_LONG=1 tools/run-tests

tsan: deps
	@tools/configure build-tsan $(TESTING) -Db_sanitize=thread
	@$(NINJA) -C build-tsan
	@ln -sf cmd/sluice build-tsan/sluice
	@BUILD=build-tsan tools/run-tests unit race

fuzz: deps
	@CC=clang tools/configure build-fuzz $(TESTING) -Dtests=false -Dfuzz=true -Db_sanitize=address,undefined
	@$(NINJA) -C build-fuzz
	@tools/run-fuzz build-fuzz

demo: build
	@tools/demo

bench: build
	@bench/run

interop: build
	@tests/interop/run

lint: build
	@tools/check-layers
	@tools/check-headers
	@tools/check-exports build

install: build
	meson install -C build --no-rebuild

clean:
	rm -rf build build-test build-tsan build-fuzz

.PHONY: all deps build test-build test test-long tsan fuzz demo bench interop lint install clean
