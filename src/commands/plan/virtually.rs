//! The simulation of a plan: who plays, how long it will take, and its end by a signal.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lockstorm_data::metrics::units::{count, counted, rate};
use lockstorm_lock::protocol::Wait;
use lockstorm_plan::{Extent, MOST_SECTIONS, Plan, Surroundings, simulate};

use super::interrupt::Interrupt;
use super::progress::told;
use crate::cli::{VirtualArgs, VirtualWait};
use crate::failure::{Failure, tell};

/// The longest that an acquire may take where clients share locks.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Plays so much of each setting. Returns the exit code of the signal that ended it, if one did.
pub fn play(plan: &mut Plan, extent: Extent, args: &VirtualArgs) -> Result<Option<ExitCode>, Failure> {
    let surroundings = surroundings(plan, args)?;
    let each = extent.sections(&plan.question, &surroundings);
    if each as f64 > MOST_SECTIONS {
        return Err(Failure::usage(format!(
            "--simulate: {} sections are too many, 1e9 is the most; name a shorter time",
            count(each)
        )));
    }
    let all = AtomicU64::new(each.saturating_mul(plan.rows.len() as u64));
    let (interrupt, done) = (Interrupt::listen()?, AtomicU64::new(0));
    let stop = &interrupt.stop;
    let (mut early, mut sections) = (0, 0);
    told(&all, "sections", &done, || {
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
            if played.ended_early {
                (early, sections) = (early + 1, sections + played.sections);
                all.fetch_sub(each.saturating_sub(played.sections), Ordering::Relaxed);
            }
            row.simulated = (played.sections > 0).then_some(played);
        }
    });
    if early > 0 {
        tell(&format!(
            "{early} of {} ended early, with {}: {ENDED_EARLY}",
            counted(plan.rows.len() as u64, "setting", "settings"),
            counted(sections, "section", "sections"),
        ));
    }
    plan.clients = surroundings.keys.is_some() || args.node_crash.is_some() || args.clock_jump.is_some();
    plan.choose();
    Ok(interrupt.code())
}

/// Why something in virtual time ended early.
pub const ENDED_EARLY: &str = "a section took more than 20,000 events (messages, renewals, pauses, faults), or nobody got a lock; \
                               make TTLs or renewal intervals longer, or pauses and faults rarer";

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
