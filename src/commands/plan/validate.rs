//! `lockstorm plan --validate`: the simulation beside real nodes.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lockstorm::report::render_validation;
use lockstorm_base::Stop;
use lockstorm_data::scenario::{Overrides, Source, parse};
use lockstorm_lab::{ServerBinary, check_temp_dir};
use lockstorm_plan::Setting;
use lockstorm_plan::validation::{
    Breaks, Comparison, Fed, PlayedLock, Seen, Stage, Validation, compare, quick, seen, whole,
};
use lockstorm_run::{Ended, headless};

use super::interrupt::Interrupt;
use super::progress::told;
use super::virtually::ENDED_EARLY;
use crate::cli::{Look, PlanArgs, ValidationTable};
use crate::commands::print::{print_result, signalled};
use crate::commands::server;
use crate::exit_code;
use crate::failure::{Failure, tell};

/// Sections in virtual time for each cell.
const SIMULATED: u64 = 400_000;
/// How much longer than in reality the control's TTLs are.
const PLANTED: f64 = 1.1;
/// How often a run is played that proves nothing, because the machine stood still, for example.
const ATTEMPTS: u32 = 3;
/// What a run takes besides its measured part.
const AROUND: Duration = Duration::from_secs(6);

/// Plays the table and prints it.
pub fn validate(table: ValidationTable, args: &PlanArgs, look: Look) -> Result<ExitCode, Failure> {
    let stages = match table {
        ValidationTable::Quick => quick(),
        ValidationTable::Whole => whole(),
    };
    check_temp_dir().map_err(Failure::usage)?;
    let server = ServerBinary::find(args.server.server_bin.as_deref()).map_err(Failure::error)?;
    let (mut played, mut left_out): (Vec<(Stage, Vec<Seen>)>, Vec<String>) = (Vec::new(), Vec::new());
    for (place, stage) in stages.iter().enumerate() {
        let left: Duration = stages[place..].iter().map(all_runs).sum();
        tell(&format!(
            "stage {} of {}: TTL {}, renewal {}, about {} left",
            place + 1,
            stages.len(),
            humantime::format_duration(stage.setting.ttl),
            stage.setting.renewal,
            humantime::format_duration(Duration::from_secs(left.as_secs()))
        ));
        match real(stage, args.virtually.seed, &server)? {
            Real::Stopped(stop) => return Ok(signalled(stop)),
            Real::Void(why) => left_out.push(format!("stage {}: {why}", place + 1)),
            Real::Played(seen) => played.push((*stage, seen)),
        }
    }
    let (interrupt, done) = (Interrupt::listen()?, AtomicU64::new(0));
    let cells = (played.len() * PlayedLock::ALL.len()) as u64;
    let table = |longer| table_of(&played, args.virtually.seed, longer, &interrupt.stop, &done);
    let (cells, control) = told(&AtomicU64::new(2 * cells), "cells", &done, || {
        (table(1.0), table(PLANTED))
    });
    if interrupt.code().is_some() {
        left_out.push("what had not been compared when the signal came".to_owned());
    }
    let validation = Validation {
        cells: cells?,
        control: control?,
        left_out,
    };
    if let Some(early) = validation.cells.iter().position(|cell| cell.simulated.ended_early) {
        tell(&format!(
            "cell {} ended early in virtual time: {ENDED_EARLY}",
            early + 1
        ));
    }
    print_result(
        args.json,
        &validation,
        |paint| render_validation(&validation, paint),
        look,
    )?;
    Ok(match interrupt.code() {
        Some(code) => code,
        None => exit_code::of(validation.result()).into(),
    })
}

fn all_runs(stage: &Stage) -> Duration {
    (stage.length + AROUND).mul_f64(stage.runs as f64)
}

/// What became of a stage, or of one of its runs.
enum Real<T> {
    Played(T),
    /// It proves nothing.
    Void(String),
    Stopped(Stop),
}

/// Plays all runs of a stage.
fn real(stage: &Stage, seed: u64, server: &ServerBinary) -> Result<Real<Vec<Seen>>, Failure> {
    let mut all: Vec<Seen> = Vec::new();
    for run in 0..stage.runs {
        if run > 0 {
            tell(&format!("run {} of {}", run + 1, stage.runs));
        }
        let seen = match valid_run(stage, seed.wrapping_add(run), server)? {
            Real::Played(seen) => seen,
            other => return Ok(other),
        };
        if all.is_empty() {
            all = seen;
        } else {
            for (sum, seen) in all.iter_mut().zip(seen) {
                sum.add(seen);
            }
        }
    }
    Ok(Real::Played(all))
}

/// Plays one run until it proves something.
fn valid_run(stage: &Stage, seed: u64, server: &ServerBinary) -> Result<Real<Vec<Seen>>, Failure> {
    let mut attempt = 1;
    loop {
        let record = match play(stage, seed, server)? {
            Ended::Abandoned(stop) | Ended::Finished(_, Some(stop)) => return Ok(Real::Stopped(stop)),
            Ended::Finished(record, None) => record,
        };
        match seen(&record) {
            Ok(seen) => return Ok(Real::Played(seen)),
            Err(why) if attempt == ATTEMPTS => return Ok(Real::Void(why)),
            Err(why) => tell(&format!("{why}; it is played again")),
        }
        attempt += 1;
    }
}

fn play(stage: &Stage, seed: u64, server: &ServerBinary) -> Result<Ended, Failure> {
    let source = Source {
        name: "validation".to_owned(),
        text: stage.scenario(seed),
    };
    let scenario = parse(&source, &Overrides::default()).map_err(Failure::error)?;
    headless(scenario, server::options(server), |_| ()).map_err(Failure::error)
}

/// All cells, with TTLs that are so many times as long in virtual time as in reality; those that were `done` when `stop` was set.
fn table_of(
    played: &[(Stage, Vec<Seen>)],
    seed: u64,
    longer: f64,
    stop: &AtomicBool,
    done: &AtomicU64,
) -> Result<Vec<Comparison>, Failure> {
    let tests = played.len() * PlayedLock::ALL.len();
    let mut cells = Vec::new();
    for (stage, locks) in played {
        for real in locks {
            let fed = Fed {
                from: source_of(played, stage, real),
                setting: Setting {
                    ttl: stage.setting.ttl.mul_f64(longer),
                    ..stage.setting
                },
                sections: SIMULATED,
                seed,
                tests,
            };
            let cell = compare(stage, real, &fed, stop).map_err(Failure::error)?;
            if stop.load(Ordering::Relaxed) {
                return Ok(cells);
            }
            cells.push(cell);
            done.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(cells)
}

/// Holds and round trips are those of the stage, or of the one before in which nothing broke.
fn source_of<'a>(played: &'a [(Stage, Vec<Seen>)], stage: &Stage, real: &'a Seen) -> &'a Seen {
    if stage.breaks == Breaks::Nothing {
        return real;
    }
    let calm = played.iter().rev().filter(|(stage, _)| stage.breaks == Breaks::Nothing);
    let of_lock = calm.flat_map(|(_, locks)| locks).find(|seen| seen.lock == real.lock);
    of_lock.unwrap_or(real)
}
