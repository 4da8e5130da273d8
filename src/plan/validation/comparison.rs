use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::agreement::{Difference, Distance, Likeness};
use super::seen::Seen;
use super::stage::{Breaks, PlayedLock, Stage, THINK, TIMEOUT};
use crate::pauses::Pauses;
use crate::question::Question;
use crate::replay::Replay;
use crate::setting::Setting;
use crate::simulate::sample;
use crate::simulated::Simulated;
use crate::spread::Spread;
use crate::surroundings::Surroundings;
use lockstorm_data::metrics::{histogram, in_micros};
use lockstorm_data::model::CheckResult;
use lockstorm_lock::simulation::{Samples, Span};

/// How often the deaths of a run are played again.
const REPLAYS: u64 = 20;

/// One cell of the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The lock.
    pub lock: PlayedLock,
    /// What was played.
    pub stage: Stage,
    /// Sections on real nodes.
    pub sections: u64,
    /// What was played in virtual time.
    pub simulated: Simulated,
    /// How often a section outlasts its lock.
    pub overrun: Difference,
    /// How long sections take; `None` where pauses and crashes change it.
    pub holds: Option<Distance>,
    /// How long acquires take; `None` where locks are shared, or app servers pause.
    pub acquires: Option<Distance>,
    /// How long others wait after a crash; `None` if nobody crashes.
    pub takeovers: Option<Likeness>,
}

impl Comparison {
    /// The worst of its results.
    pub fn result(&self) -> CheckResult {
        let parts = [
            Some(self.overrun.result),
            self.holds.map(|holds| holds.result),
            self.acquires.map(|acquires| acquires.result),
            self.takeovers.map(|takeovers| takeovers.result),
        ];
        parts.into_iter().flatten().max().unwrap_or(CheckResult::Inconclusive)
    }
}

/// What the simulation is fed with.
#[derive(Debug, Clone)]
pub struct Fed<'a> {
    /// The run whose holds and acquires are used. Pauses would be in them already, so a stage with pauses uses those of one without.
    pub from: &'a Seen,
    /// The TTL in virtual time, which is the stage's unless an error is planted.
    pub setting: Setting,
    /// Sections in virtual time.
    pub sections: u64,
    /// The seed.
    pub seed: u64,
    /// Comparisons in the whole table.
    pub tests: usize,
}

/// Plays the same in virtual time, and compares.
///
/// # Errors
/// There is too little to feed the simulation with; a sentence.
pub fn compare(stage: &Stage, real: &Seen, fed: &Fed<'_>, stop: &AtomicBool) -> Result<Comparison, String> {
    let (simulated, samples) = match stage.breaks {
        Breaks::Crashes if real.replays.is_empty() => return Err("no app server died in the real runs".to_owned()),
        Breaks::Crashes => replayed(&real.replays, fed, stop),
        Breaks::Nothing | Breaks::Pauses => sample(
            &question(stage, real, fed)?,
            &fed.setting,
            &surroundings(stage),
            fed.sections,
            fed.seed,
            stop,
        ),
    };
    let is_calm = stage.breaks == Breaks::Nothing;
    Ok(Comparison {
        lock: real.lock,
        stage: *stage,
        sections: real.sections,
        simulated,
        overrun: Difference::of(
            (real.overran, real.sections),
            (simulated.overran, simulated.sections),
            fed.tests,
        ),
        holds: is_calm.then(|| Distance::of(&real.holds, &of_times(&samples.holds))),
        acquires: is_calm.then(|| Distance::of(&real.acquires, &of_times(&samples.acquires))),
        takeovers: (stage.breaks == Breaks::Crashes)
            .then(|| Likeness::of(&real.takeovers, &of_times(&samples.takeovers), fed.tests)),
    })
}

/// The runs in virtual time, with the deaths at the same times.
fn replayed(runs: &[Replay], fed: &Fed<'_>, stop: &AtomicBool) -> (Simulated, Samples) {
    let (mut all, mut samples) = (Simulated::default(), Samples::default());
    for (run, seed) in runs.iter().zip(fed.seed..) {
        let played = run.play_with(fed.setting, REPLAYS, seed, stop, &AtomicU64::new(0));
        all = all.with(played.all);
        samples.takeovers.extend(played.takeovers);
    }
    (all, samples)
}

fn question(stage: &Stage, real: &Seen, fed: &Fed<'_>) -> Result<Question, String> {
    let mut question = Question::new(
        Spread::of_micros(&fed.from.holds)?,
        // The nodes share a machine: the quorum answers when all do.
        Spread::of_micros(&fed.from.acquires)?,
        real.lock.nodes(),
    );
    if stage.breaks == Breaks::Pauses {
        let [servers, _] = stage.swarm();
        question.pauses = Pauses {
            per_second: real.pauses.len() as f64 / (f64::from(servers) * real.elapsed),
            length: Spread::of_micros(&real.pauses)?,
            in_holds: false,
        };
    }
    Ok(question)
}

/// The stage's app servers in virtual time.
fn surroundings(stage: &Stage) -> Surroundings {
    let [servers, workers] = stage.swarm();
    Surroundings {
        clients: (servers * workers) as usize,
        timeout: Some(TIMEOUT),
        node_timeout: Some(stage.node_timeout()),
        think: Span {
            least: Duration::from_micros(1),
            most: THINK * 2,
        },
        // A section of the runs is a sleep, which goes on while its app server pauses.
        pauses_stop_work: false,
        share_machine: true,
        ..Surroundings::default()
    }
}

fn of_times(times: &[Duration]) -> Histogram<u64> {
    let mut all = histogram();
    for time in times {
        // The histogram resizes itself, so no value is out of range.
        let _ = all.record(in_micros(*time));
    }
    all
}
