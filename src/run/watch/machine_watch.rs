//! Watches the machine of the run: its clock, its processors and its disk.

use std::path::PathBuf;
use std::time::Instant;

use super::clock_watch::ClockWatch;
use super::disk_watch::DiskWatch;
use super::processor_use::ProcessorUse;
use super::stall_watch::{Gap, StallWatch};
use crate::collect::live_swarm::LiveSwarm;
use crate::show::notice::Notice;
use lockstorm_base::Resumed;
use lockstorm_data::facts::{Caveat, EventKind};
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::scenario::ArmSpec;
use lockstorm_judge::busy;

/// What is known of the machine of a run.
#[derive(Debug)]
pub(crate) struct MachineWatch {
    clock: ClockWatch,
    pub stall: StallWatch,
    resumed: Resumed,
    disk: DiskWatch,
    /// What was used of the processors when the load began.
    before: Option<ProcessorUse>,
    /// The part of all processor time that other programs used while the load was on, once it has ended.
    pub used_by_others: Option<f64>,
    /// The part of the time in which the threads of the app servers waited for a processor, once that is known.
    pub processor_wait: Option<f64>,
    /// Whether that is too much.
    is_busy: bool,
}

impl MachineWatch {
    /// Starts to watch, with the disk of the run's directory.
    pub fn start(arms: &[ArmSpec], directory: PathBuf) -> Self {
        Self {
            clock: ClockWatch::new(),
            stall: StallWatch::new(arms),
            resumed: Resumed::listen(),
            disk: DiskWatch::start(directory),
            before: None,
            used_by_others: None,
            processor_wait: None,
            is_busy: false,
        }
    }

    /// What the machine has done since the last look that a reader of the figures should know.
    pub fn look(&mut self) -> Vec<Notice> {
        let full = self.disk.warning().map(Notice::Warning);
        let step = self.clock.look().map(|step| {
            let by_ms = rounded(step.abs() * 1e3).cast_signed() * if step < 0.0 { -1 } else { 1 };
            Notice::Warning(Caveat::ClockStepped { by_ms })
        });
        let resumed = self.resumed.take();
        let gap = self.stall.look(Instant::now(), resumed).map(|gap| match gap {
            Gap::Stopped(time) => {
                let is_long = self.stall.is_long(time);
                Notice::Warning(Caveat::ProgramStopped { time, is_long })
            }
            Gap::Stalled(time) => Notice::Warning(Caveat::RunStalled { time }),
        });
        [full, step, gap].into_iter().flatten().collect()
    }

    /// Notes that the load begins.
    pub fn load_begins(&mut self) {
        self.before = ProcessorUse::now();
    }

    /// Notes that the load has ended.
    pub fn load_ended(&mut self) {
        let now = self.before.zip(ProcessorUse::now());
        self.used_by_others = now.and_then(|(before, now)| now.by_others_since(before));
    }

    /// Measures for which part of the time this machine has let the app servers wait. Tells when that becomes too much; the load has lasted
    /// `elapsed` seconds.
    pub fn check_stalls(&mut self, swarm: &LiveSwarm, elapsed: f64) -> Option<Notice> {
        let (sum, threads) = (swarm.stood_still(), swarm.servers.len());
        self.processor_wait = Some(self.stall.stood_still(Instant::now(), sum, threads)?);
        let caveat = busy(self.processor_wait, elapsed);
        let was_busy = std::mem::replace(&mut self.is_busy, caveat.is_some());
        let caveat = caveat.filter(|_| !was_busy)?;
        Some(Notice::now(EventKind::Warning { caveat }))
    }
}
