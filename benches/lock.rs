//! A short benchmark of the lock engine beside its peers: `cargo bench --features peers --bench lock`.
//!
//! The same as `lockstorm bench` with fewer and shorter rounds; `-- NAME` measures the cases whose names have NAME in them.

use std::error::Error;
use std::time::Duration;

use lockstorm::report::{Paint, render_bench};
use lockstorm_bench::{BenchOptions, CASES, Certificates, Step, bench};
use lockstorm_lab::ServerBinary;

/// The cases that are measured without a filter.
const USUAL: [&str; 6] = ["own-1", "own-64", "own-256", "one-64", "one-4x16-think", "paused"];

fn main() -> Result<(), Box<dyn Error>> {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wanted = |name: &str| match &filter {
        Some(filter) => name.contains(filter.as_str()),
        None => USUAL.contains(&name),
    };
    let cases: Vec<_> = CASES.iter().copied().filter(|case| wanted(case.name)).collect();
    // The filter is meant for another benchmark.
    if cases.is_empty() {
        return Ok(());
    }
    let certificates = if cases.iter().any(|case| case.tls) {
        Certificates::trusted()
    } else {
        Err("no case needs any".to_owned())
    };
    let options = BenchOptions {
        cases,
        rounds: 3,
        time: Duration::from_millis(500),
        server: ServerBinary::find(None)?,
        keeper: Some(env!("CARGO_BIN_EXE_lockstorm").into()),
        tls: certificates.as_ref().map(Certificates::files).map_err(Clone::clone),
    };
    println!("lock: about {} s", options.estimate().as_secs());
    let (record, _) = bench(&options, |step| {
        if let Step::Round { case, round, rounds } = step {
            println!("  {} {round}/{rounds}", case.name);
        }
    })?;
    println!("{}", render_bench(&record, Paint::Off));
    Ok(())
}
