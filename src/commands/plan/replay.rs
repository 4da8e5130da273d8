//! `lockstorm plan RECORD --replay N`: the faults of a run, again in virtual time.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicU64;

use lockstorm::report::{RecordFile, render_replay};
use lockstorm_plan::Replay;

use super::interrupt::Interrupt;
use super::progress::told;
use super::virtually::ENDED_EARLY;
use crate::cli::{Look, PlanArgs};
use crate::commands::print::print_result;
use crate::failure::{Failure, tell};

/// Plays the record so many times and prints what both did.
pub fn replay(path: &Path, times: u32, args: &PlanArgs, look: Look) -> Result<ExitCode, Failure> {
    let record = RecordFile::read(path).map_err(Failure::usage)?;
    let replay = Replay::of(&record, args.arm.as_deref())
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    let (interrupt, done, times) = (Interrupt::listen()?, AtomicU64::new(0), u64::from(times));
    let played = told(&AtomicU64::new(times), "plays", &done, || {
        replay.play(times, args.virtually.seed, &interrupt.stop, &done)
    });
    if played.all.ended_early {
        let ended = played.plays.len();
        tell(&format!("only {ended} of {times} plays ended: {ENDED_EARLY}"));
    }
    let both = serde_json::json!({
        "arm": replay.arm,
        "times": played.plays.len(),
        "orders": replay.orders(),
        "left_out": replay.left_out,
        "figures": replay.compared(&played),
        "all": played.all,
    });
    let printed = print_result(args.json, &both, |paint| render_replay(&replay, &played, paint), look)?;
    Ok(interrupt.code().unwrap_or(printed))
}
