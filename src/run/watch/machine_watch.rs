//! Watches the machine of the run: its clock, its processors and its disk.

use std::path::PathBuf;
use std::time::Instant;

use super::clock_watch::ClockWatch;
use super::disk_watch::DiskWatch;
use super::stall_watch::{Gap, StallWatch};
use crate::collect::live_swarm::LiveSwarm;
use crate::show::notice::Notice;
use lockstorm_base::Resumed;
use lockstorm_data::model::EventKind;
use lockstorm_data::scenario::ArmSpec;

/// What is known of the machine of a run.
#[derive(Debug)]
pub(crate) struct MachineWatch {
    clock: ClockWatch,
    pub stall: StallWatch,
    resumed: Resumed,
    disk: DiskWatch,
}

impl MachineWatch {
    /// Starts to watch, with the disk of the run's directory.
    pub fn start(arms: &[ArmSpec], directory: PathBuf) -> Self {
        Self {
            clock: ClockWatch::new(),
            stall: StallWatch::new(arms),
            resumed: Resumed::listen(),
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
        let resumed = self.resumed.take();
        let gap = self.stall.look(Instant::now(), resumed).map(|gap| match gap {
            Gap::Stopped(time) => {
                let why = format!("this program was stopped for {:.1} s", time.as_secs_f64());
                match self.stall.is_long(time) {
                    true => Notice::Void {
                        text: format!("{why}: locks expired meanwhile, so the run proves nothing"),
                        why,
                    },
                    false => Notice::Warning(format!("{why}, and its app servers with it")),
                }
            }
            Gap::Stalled(time) => {
                let why = format!("the run itself stood still for {:.1} s", time.as_secs_f64());
                Notice::Void {
                    text: format!(
                        "{why}, without processor time, or frozen: locks expired meanwhile, so it proves nothing"
                    ),
                    why,
                }
            }
        });
        [full, step, gap].into_iter().flatten().collect()
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
