# The set-up and the main commands. `make` without a target builds Lockstorm and runs it.
CARGO ?= cargo
NEXTEST = $(CARGO) nextest run --locked
# The scenario of `make run`; `cargo run --release -- scenarios` lists all scenarios.
SCENARIO ?= failover
# The directory where rustup installs cargo, for shells that don't have it in PATH yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: run test test-root test-postgres test-etcd tools setup install bench picture demo help

run: setup ## run a scenario (another one: `make run SCENARIO=stampede`), in the console or, without a terminal, headless
	$(CARGO) run --release --locked -- $(SCENARIO)

test: tools ## all tests that every change must pass
	$(CARGO) test --locked --doc
	$(NEXTEST)

# The test that mounts a file system is left out where that is not allowed.
test-root: tools ## the tests that act as other users, as root
	$(NEXTEST) --run-ignored only -E "$$(.ci/ignored --filter 'needs root')" -- \
		$$(unshare -m true 2>/dev/null || echo --skip a_full_temporary_directory)

# They start PostgreSQL servers of their own, one after the other: a database that has no processor for 5 s is given up. Where
# PostgreSQL's programs are missing, this says so.
test-postgres: tools ## the tests on PostgreSQL
	@.ci/postgres $(NEXTEST) --test-threads 1 --run-ignored only -E "$$(.ci/ignored --filter 'needs PostgreSQL: ')"

# With the etcd on PATH, or with Debian's, which is fetched and not installed.
test-etcd: tools ## the tests on etcd
	@etcd=$$(command -v etcd || .ci/trixie etcd-server usr/bin/etcd) || { echo "tests on etcd: ignored, there is no etcd here and none can be fetched"; exit 0; }; \
	PATH=$$(dirname "$$etcd"):$$PATH $(NEXTEST) --test-threads 1 --run-ignored only -E "$$(.ci/ignored --filter 'needs etcd: ')"

tools: setup
	@.ci/setup nextest

setup: ## install a Redis server if there is none; check cargo and cc
	@.ci/setup

install: setup ## put the lockstorm program on PATH
	$(CARGO) install --locked --path .
	@.ci/debug-info-apart "$${CARGO_INSTALL_ROOT:-$${CARGO_HOME:-$$HOME/.cargo}}/bin/lockstorm"

bench: setup ## the benchmarks
	$(CARGO) bench --locked --features peers

# It plays `failover` on a machine that should have nothing else to do.
picture: setup ## README's moving picture, .github/console.svg, anew from a run
	$(CARGO) test --locked --test console -- --ignored --exact moving_picture::the_picture_of_readme_is_made

demo: setup ## the record that `lockstorm view demo` plays, anew from a run
	$(CARGO) run --release --locked -- run failover --record demo.json
	gzip -9 -n -c demo.json > src/report/demo.json.gz && rm demo.json

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /make \1: /p' Makefile
