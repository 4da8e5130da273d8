# The set-up and the main commands. `make` without a target builds Lockstorm and runs it.
CARGO ?= cargo
# The scenario of `make run`; `cargo run --release -- scenarios` lists all scenarios.
SCENARIO ?= failover
# The directory where rustup installs cargo, for shells that don't have it in PATH yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: run test test-root test-postgres setup install bench help

run: setup ## run a scenario (another one: `make run SCENARIO=stampede`), in the console or, without a terminal, headless
	$(CARGO) run --release --locked -- $(SCENARIO)

test: setup ## all tests
	$(CARGO) test --locked --no-fail-fast

# The test that mounts a file system is left out where that is not allowed.
test-root: setup ## the tests that act as other users, as root
	$(CARGO) test --locked --test other_users --test leftovers --test outputs --test needs -- --ignored \
		$$(unshare -m true 2>/dev/null || echo --skip a_full_temporary_directory)

# They start PostgreSQL servers of their own; where its programs are missing, this says so.
test-postgres: setup ## the tests on PostgreSQL
	@.ci/postgres $(CARGO) test --locked --no-fail-fast --test store --test databases --test endings --test secrets -- --ignored

setup: ## install a Redis server if there is none; check cargo and cc
	@.ci/setup

install: setup ## put the lockstorm program on PATH
	$(CARGO) install --locked --path .

bench: setup ## the benchmarks
	$(CARGO) bench --locked --features peers

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /make \1: /p' Makefile
