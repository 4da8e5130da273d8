//! The simulation of a plan: who plays, how long it will take, and its end by a signal.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;
use std::time::{Duration, Instant};

use lockstorm_data::metrics::units::{count, rate};
use lockstorm_lock::protocol::Wait;
use lockstorm_plan::{Extent, MOST_SECTIONS, Plan, Surroundings, simulate};

use super::interrupt::Interrupt;
use super::progress::{OFTEN, told};
use crate::cli::{VirtualArgs, VirtualWait};
use crate::failure::{Failure, tell};

/// The longest that an acquire may take where clients share locks.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Plays so much of each setting. Returns the exit code of the signal that ended it, if one did.
pub fn play(plan: &mut Plan, extent: Extent, args: &VirtualArgs) -> Result<Option<ExitCode>, Failure> {
    let surroundings = surroundings(plan, args)?;
    let each = extent.sections(&plan.question);
    let all = each.saturating_mul(plan.rows.len() as u64);
    if each as f64 > MOST_SECTIONS {
        return Err(Failure::usage(format!(
            "--simulate: {} sections are too many, 1e9 is the most; name a shorter time",
            count(each)
        )));
    }
    if all == 0 {
        return Ok(None);
    }
    let (interrupt, done) = (Interrupt::listen()?, AtomicU64::new(0));
    let stop = &interrupt.stop;
    tell_beforehand(plan, &surroundings, all, stop);
    told(all, "sections", &done, || {
        for row in &mut plan.rows {
            let played = simulate(
                &plan.question,
                &row.setting,
                &surroundings,
                extent,
                args.seed,
                stop,
                &done,
            );
            row.simulated = (played.sections > 0).then_some(played);
        }
    });
    plan.clients = surroundings.keys.is_some() || args.node_crash.is_some() || args.clock_jump.is_some();
    plan.choose();
    Ok(interrupt.code())
}

/// Who plays, and what breaks.
fn surroundings(plan: &Plan, args: &VirtualArgs) -> Result<Surroundings, Failure> {
    let Some(clients) = args.clients else {
        return Ok(Surroundings {
            drift_ppm: args.drift,
            ..Surroundings::default()
        });
    };
    let question = &plan.question;
    let most = Surroundings::most_per_second(question, clients as usize);
    if question.per_second <= 0.0 || question.per_second > most {
        return Err(Failure::usage(format!(
            "--rate: {clients} clients do more than 0 and at most {} sections a second of this length; name another rate, or more clients",
            rate(most)
        )));
    }
    let mut surroundings = Surroundings::of_clients(&plan.question, clients as usize);
    surroundings.drift_ppm = args.drift;
    surroundings.keys = args.keys.map(|keys| keys as usize);
    surroundings.timeout = Some(TIMEOUT);
    surroundings.wait = match args.wait.unwrap_or(VirtualWait::Queue) {
        VirtualWait::FailFast => Wait::FailFast,
        VirtualWait::Retry => Wait::Retry {
            retries: 20,
            delay: Duration::from_millis(20),
            jitter: Duration::from_millis(20),
        },
        VirtualWait::Queue => Wait::Queue,
    };
    if let Some(crashes) = &args.node_crash {
        surroundings.crash_nodes(crashes);
    }
    if let Some(jumps) = &args.clock_jump {
        surroundings.jump_clocks(jumps);
    }
    Ok(surroundings)
}

/// A small part, played first, says how long the whole will take.
fn tell_beforehand(plan: &Plan, surroundings: &Surroundings, all: u64, stop: &AtomicBool) {
    const PART: u64 = 20_000;
    let Some(row) = plan.rows.first().filter(|_| all > PART) else {
        return;
    };
    let begun = Instant::now();
    let done = AtomicU64::new(0);
    let _ = simulate(
        &plan.question,
        &row.setting,
        surroundings,
        Extent::Sections(PART),
        0,
        stop,
        &done,
    );
    // It is one world, on one of the processors.
    let threads = thread::available_parallelism().map_or(1.0, |threads| threads.get() as f64);
    let whole = begun.elapsed().mul_f64(all as f64 / PART as f64 / threads);
    if whole > OFTEN {
        let whole = humantime::format_duration(Duration::from_secs(whole.as_secs()));
        tell(&format!(
            "{} sections in virtual time, about {whole}; Ctrl-C keeps what was played",
            count(all)
        ));
    }
}
