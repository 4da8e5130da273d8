//! Scenarios for tests, as text.

use lockstorm_data::scenario::{Overrides, ReportedSpec, Scenario, Source, WorkloadSpec, builtin, parse};

/// A single lock and a redlock on the same 16 products, four workers for a minute, no fault.
pub const TWO_ARMS: &str = r#"
title    = "Two arms on the same products"
duration = "60s"
seed     = 1
swarm = { servers = 2, workers = 2, think = "5ms" }
workload = { kind = "inventory", products = 16, stock = 1000000, hold = { median = "1ms", sigma = 0.1 } }

[[arm]]
name = "single"
lock = "single"
ttl  = "2s"

[[arm]]
name = "redlock"
lock = "redlock"
ttl  = "2s"
"#;

/// Reads a scenario with these overrides (`--set`).
pub fn scenario(text: &str, set: &[&str]) -> Scenario {
    let name = "test".to_owned();
    let text = text.to_owned();
    read(&Source { name, text }, set)
}

/// Reads the built-in scenario of this name with these overrides.
pub fn builtin(name: &str, set: &[&str]) -> Scenario {
    read(&Source::open(name).expect("it is built in"), set)
}

/// The workloads of all built-in scenarios, and that of reported events: every kind, in each form in which something else is shown of it.
pub fn workloads() -> impl Iterator<Item = WorkloadSpec> {
    let all = builtin::ALL.iter().map(|scenario| builtin(scenario.name, &[]).workload);
    all.chain([WorkloadSpec::Reported(ReportedSpec {})])
}

fn read(source: &Source, set: &[&str]) -> Scenario {
    let overrides = Overrides {
        set: set.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    };
    parse(source, &overrides).unwrap_or_else(|errors| panic!("{errors}"))
}
