//! Watches the machine of the run: its clock, its processors and its disk.

use std::path::PathBuf;
use std::time::Instant;

use super::clock_watch::ClockWatch;
use super::disk_watch::DiskWatch;
use super::stall_watch::{Gap, StallWatch};
use crate::collect::live_swarm::LiveSwarm;
use crate::show::notice::Notice;
use lockstorm_base::Resumed;
use lockstorm_data::facts::{Caveat, EventKind};
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::scenario::ArmSpec;

/// What is known of the machine of a run.
#[derive(Debug)]
pub(crate) struct MachineWatch {
    clock: ClockWatch,
    pub stall: StallWatch,
    resumed: Resumed,
    disk: DiskWatch,
    /// The part of the time in which the threads of the app servers waited for a processor, once that is known.
    pub processor_wait: Option<f64>,
}

impl MachineWatch {
    /// Starts to watch, with the disk of the run's directory.
    pub fn start(arms: &[ArmSpec], directory: PathBuf) -> Self {
        Self {
            clock: ClockWatch::new(),
            stall: StallWatch::new(arms),
            resumed: Resumed::listen(),
            disk: DiskWatch::start(directory),
            processor_wait: None,
        }
    }

    /// What the machine has done since the last look that a reader of the figures should know.
    pub fn look(&mut self) -> Vec<Notice> {
        let full = self.disk.warning().map(Notice::Warning);
        let step = self.clock.look().map(|step| {
            let by_ms = rounded(step.abs() * 1e3).cast_signed() * if step < 0.0 { -1 } else { 1 };
            Notice::Void(Caveat::ClockStepped { by_ms })
        });
        let resumed = self.resumed.take();
        let gap = self.stall.look(Instant::now(), resumed).map(|gap| match gap {
            Gap::Stopped(time) => {
                let is_long = self.stall.is_long(time);
                let caveat = Caveat::ProgramStopped { time, is_long };
                if is_long {
                    Notice::Void(caveat)
                } else {
                    Notice::Warning(caveat)
                }
            }
            Gap::Stalled(time) => Notice::Void(Caveat::RunStalled { time }),
        });
        [full, step, gap].into_iter().flatten().collect()
    }

    /// Keeps `busy` true: that this machine lets the app servers run for too little of the time, once that is known. Tells when it
    /// begins.
    pub fn look_at_threads(&mut self, swarm: &LiveSwarm, busy: &mut Option<Caveat>) -> Option<Notice> {
        let (sum, threads) = (swarm.stood_still(), swarm.servers.len());
        let (share, is_enough) = self.stall.stood_still(Instant::now(), sum, threads)?;
        self.processor_wait = Some(share);
        let percent = rounded(share * 100.0);
        let before = busy.take();
        *busy = (is_enough && share > StallWatch::MUCH).then_some(Caveat::MachineBusy { percent });
        let begins = busy.clone().filter(|_| before.is_none());
        begins.map(|caveat| Notice::now(EventKind::Warning { caveat }))
    }
}
