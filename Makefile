# The set-up and the main commands. `make` alone builds Lockstorm and runs it.
CARGO ?= cargo
# What `make run` plays; `cargo run --release -- scenarios` lists the others.
SCENARIO ?= single-vs-redlock
# Where rustup puts cargo, for shells that were not told.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: run test test-root setup install bench help

run: setup ## a scenario, `make run SCENARIO=stampede` for another: a console on a terminal, headless without one
	$(CARGO) run --release --locked -- $(SCENARIO)

test: setup ## all tests
	$(CARGO) test --locked

# Where no file system can be mounted, the test that needs one is left out.
test-root: setup ## the tests that act as other users, as root
	$(CARGO) test --locked --test other_users --test leftovers --test outputs --test needs -- --ignored \
		$$(unshare -m true 2>/dev/null || echo --skip a_full_temporary_directory)

setup: ## install a Redis server if there is none; check cargo and cc
	@.ci/setup

install: setup ## put the lockstorm program on PATH
	$(CARGO) install --locked --path .

bench: setup ## the benchmarks
	$(CARGO) bench --locked --features peers

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /make \1: /p' Makefile
