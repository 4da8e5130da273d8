//! `lockstorm bench`: the lock engine, beside its peers.

use std::process::ExitCode;

use lockstorm::report::{RecordFile, render_bench};
use lockstorm_bench::{BenchOptions, CASES, Case, Certificates, Metric, Run, Step, bench as measure};
use lockstorm_lab::{ServerBinary, check_temp_dir};

use super::colour;
use super::print::{ended, keep, print_for_people, print_titles};
use crate::cli::{BenchArgs, Look};
use crate::failure::{Failure, tell};

/// Runs the bench. All mistakes in the request are found before anything is started.
pub fn bench(args: &BenchArgs, look: Look) -> Result<ExitCode, Failure> {
    let named: Result<Vec<Case>, _> = args.case.iter().map(|name| Case::find(name)).collect();
    let mut cases = named.map_err(Failure::usage)?;
    if cases.is_empty() {
        cases = CASES.to_vec();
    }
    if args.list {
        return print_titles(cases.iter().map(|case| (case.name, case.title)), look);
    }
    let file = args.json.as_deref().map(RecordFile::check).transpose();
    let file = file.map_err(Failure::usage)?;
    check_temp_dir().map_err(Failure::usage)?;
    let server = ServerBinary::find(args.server.server_bin.as_deref()).map_err(Failure::error)?;
    // Before anything is started or printed, because with certificates the program runs itself again.
    let certificates = if cases.iter().any(|case| case.tls) {
        Certificates::trusted()
    } else {
        Err("no case needs certificates".to_owned())
    };
    let options = BenchOptions {
        cases,
        rounds: args.rounds,
        time: args.time,
        server,
        keeper: None,
        tls: certificates.as_ref().map(Certificates::files).map_err(Clone::clone),
    };
    let mut progress = Progress::default();
    if !args.quiet {
        tell(&format!("about {} s", options.estimate().as_secs().max(1)));
    }
    let measured = measure(&options, |step| {
        if !args.quiet {
            progress.show(&step);
        }
    });
    let (record, stop) = measured.map_err(Failure::error)?;
    let written = keep(file.as_ref(), &record);
    // The results are printed even if the file could not be written.
    let printed = print_for_people(render_bench(&record, colour::paint(look)), look);
    written.map_err(Failure::error)?;
    ended(stop, printed)
}

/// A line for each round, when it has ended.
#[derive(Default)]
struct Progress {
    line: String,
    /// The contenders of the round that have not run yet.
    left: usize,
}

impl Progress {
    fn show(&mut self, step: &Step<'_>) {
        match step {
            Step::Round { case, round, rounds } => {
                self.line = format!("{} {round}/{rounds}:", case.name);
                self.left = case.contenders().len();
            }
            Step::Begins(_) => {}
            Step::Ended(case, run) => {
                self.line
                    .push_str(&format!("  {} {}", run.contender, headline(case, run)));
                self.left = self.left.saturating_sub(1);
                if self.left == 0 {
                    tell(&self.line);
                }
            }
            Step::LeftOut(case, why) => tell(&format!("{} is skipped: {why}", case.name)),
        }
    }
}

/// The most important figure of a run.
fn headline(case: &Case, run: &Run) -> String {
    let figure = |metric: Metric| metric.of(run, case);
    if run.error.is_some() {
        return "failed".to_owned();
    }
    if let Some(lost) = run.lost {
        return format!("{lost} lost");
    }
    match (figure(Metric::AcquiredShare), figure(Metric::RefusalMax)) {
        (Some(0.0), Some(max)) => format!("refused within {:.0} ms", max / 1e3),
        _ => format!("{:.0}/s", figure(Metric::CyclesPerS).unwrap_or(0.0)),
    }
}
