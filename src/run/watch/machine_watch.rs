//! Watches the machine of the run: its clock, its processors and its disk.

use std::path::PathBuf;
use std::time::Instant;

use super::clock_watch::ClockWatch;
use super::disk_watch::DiskWatch;
use super::stall_watch::StallWatch;
use crate::collect::live_swarm::LiveSwarm;
use crate::show::notice::Notice;
use lockstorm_data::model::EventKind;
use lockstorm_data::scenario::ArmSpec;

/// What is known of the machine of a run.
#[derive(Debug)]
pub(crate) struct MachineWatch {
    clock: ClockWatch,
    pub stall: StallWatch,
    disk: DiskWatch,
}

impl MachineWatch {
    /// Starts to watch, with the disk of the run's directory.
    pub fn start(arms: &[ArmSpec], directory: PathBuf) -> Self {
        Self {
            clock: ClockWatch::new(),
            stall: StallWatch::new(arms),
            disk: DiskWatch::start(directory),
        }
    }

    /// What the machine has done since the last look that a reader of the figures should know.
    pub fn look(&mut self) -> Vec<Notice> {
        let full = self.disk.warning().map(Notice::Warning);
        let step = self.clock.look().map(|step| Notice::Void {
            why: "the machine's wall clock stepped".to_owned(),
            text: format!(
                "this machine's wall clock stepped by {:.0} ms: keys expire by it, so this run proves nothing",
                step * 1e3
            ),
        });
        let stall = self.stall.look(Instant::now()).map(|stall| {
            let why = format!("the run itself stood still for {:.1} s", stall.as_secs_f64());
            Notice::Void {
                text: format!(
                    "{why}, stopped by a signal or without processor time: locks expired meanwhile, so it proves nothing"
                ),
                why,
            }
        });
        [full, step, stall].into_iter().flatten().collect()
    }

    /// Keeps `busy` true: that this machine lets the app servers run for too little of the time, once that is known. Tells when it
    /// begins.
    pub fn look_at_threads(&mut self, swarm: &LiveSwarm, busy: &mut Option<String>) -> Option<Notice> {
        let (sum, threads) = (swarm.stood_still(), swarm.servers.len());
        let share = self.stall.stood_still(Instant::now(), sum, threads)?;
        let text = format!(
            "this machine is too busy: it let the app servers wait for {:.0} % of the time, so a failure may be its own",
            share * 100.0
        );
        let before = busy.take();
        *busy = (share > StallWatch::MUCH).then_some(text);
        let begins = busy.clone().filter(|_| before.is_none());
        begins.map(|text| Notice::now(EventKind::Warning, text))
    }
}
