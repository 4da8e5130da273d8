//! What the keys of a record do, and the time that passes in it.

use std::sync::Arc;
use std::time::Duration;

use super::app::{App, Lanes, RunStage, View};
use super::keys::{Act, Overlay};
use super::replay::Replay;
use lockstorm_run::Record;

impl App {
    /// Shows a record from its beginning.
    pub fn play(&mut self, record: Record) {
        let record = Arc::new(record);
        let replay = Replay::new(Arc::clone(&record));
        self.stage = RunStage::Over;
        self.picker = None;
        self.scenario = Some(Arc::new(record.scenario.clone()));
        self.record = Some(record);
        self.replay = Some(replay);
        self.show_instant();
    }

    /// Whether a record plays, so that the display changes by itself.
    pub(super) fn plays(&self) -> bool {
        self.replay.as_ref().is_some_and(Replay::plays)
    }

    /// Whether all figures are known as they are now: a record has some of them only at its end.
    pub(super) fn knows_totals(&self) -> bool {
        self.replay.as_ref().is_none_or(Replay::is_over)
    }

    /// Lets so much time pass in a record that plays.
    pub(super) fn pass(&mut self, time: Duration) {
        if let Some(replay) = self.replay.as_mut().filter(|replay| replay.plays()) {
            replay.pass(time);
            self.show_instant();
        }
    }

    /// Carries out the act of a key of a record.
    pub(super) fn scrub(&mut self, act: Act) -> Result<(), String> {
        let replay = self.replay.as_mut().ok_or("this is no record")?;
        let (mut said, mut lanes) = (None, None);
        match act {
            Act::Speed(step) => said = Some(replay.change_speed(step)?),
            Act::Seek(step, seconds) => replay.seek(step, seconds)?,
            Act::ToEvent(step) => said = Some(replay.go_to_event(step)?),
            Act::ToDoubleHold(step) => lanes = Some(replay.go_to_double_hold(step)?),
            _ => replay.play_or_stop(),
        }
        self.show_instant();
        if let Some((arm, double)) = lanes {
            self.arm = arm;
            self.show(Some(Overlay::Lanes));
            self.lanes = Some(Lanes { arm, double });
        }
        if let Some(said) = said {
            self.say(said);
        }
        Ok(())
    }

    fn show_instant(&mut self) {
        let Some(replay) = &self.replay else { return };
        let (is_over, snapshot) = (replay.is_over(), replay.picture());
        // The summary is that of the end.
        if !is_over && self.view == View::Summary {
            self.view = View::Dashboard;
        }
        self.take(Arc::new(snapshot));
    }
}
