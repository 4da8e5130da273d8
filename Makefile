# The set-up and the main commands. `make` alone builds Lockstorm and runs it.
CARGO ?= cargo
# Where rustup puts cargo, for shells that were not told.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: run test setup install bench help

run: setup ## the main scenario: a console on a terminal, headless without one
	$(CARGO) run --release

test: setup ## all tests
	$(CARGO) test

setup: ## install a Redis server if there is none; check cargo and cc
	@.ci/setup

install: setup ## put the lockstorm program on PATH
	$(CARGO) install --locked --path .

bench: setup ## the benchmarks
	$(CARGO) bench

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /make \1: /p' Makefile
