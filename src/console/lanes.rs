//! Double holds as lanes: which one is shown.

use super::app::{App, Lanes};
use super::keys::{Overlay, Step};
use crate::report::order;
use lockstorm_run::Snapshot;

impl App {
    /// Shows the first double hold of the chosen arm, or of the first one that has any.
    pub(super) fn show_lanes(&mut self) -> Result<(), String> {
        let snapshot = self.begun()?;
        let mut arms = vec![self.arm];
        arms.extend(order(&snapshot.scenario));
        let first = |arm: usize| Some((arm, snapshot.arms.get(arm)?.double_holds.first()?.clone()));
        let (arm, double) = arms.into_iter().find_map(first).ok_or_else(|| {
            match snapshot.arms.iter().any(|arm| arm.figures.double_holds > 0) {
                true => "a lock has been held by two at once, but who they were is not known here",
                false => "no lock has been held by two at once so far",
            }
        })?;
        self.show(Some(Overlay::Lanes));
        self.lanes = Some(Lanes { arm, double });
        self.lanes_seen = true;
        Ok(())
    }

    /// Shows the one before or after it, of those that are kept.
    pub(super) fn next_lanes(&mut self, step: Step) -> Result<(), String> {
        let (Some(snapshot), Some(shown)) = (&self.newest, &self.lanes) else {
            return Ok(());
        };
        let number = shown.double.number;
        let mut all = snapshot
            .arms
            .get(shown.arm)
            .into_iter()
            .flat_map(|arm| &arm.double_holds);
        let next = match step {
            Step::Forth => all.find(|double| double.number > number),
            Step::Back => all.rfind(|double| double.number < number),
        };
        let double = next.ok_or("there is no other double hold of this lock")?.clone();
        let arm = shown.arm;
        self.scroll = 0;
        self.lanes = Some(Lanes { arm, double });
        Ok(())
    }

    /// Shows the first double hold of a run whose schedule is held, once: there is time to look at it.
    pub(super) fn show_first_lanes(&mut self, snapshot: &Snapshot) {
        let is_free = self.overlay.is_none() && self.palette.is_none() && self.picker.is_none() && !self.typing_filter;
        if !snapshot.held || self.lanes_seen || !is_free {
            return;
        }
        let first = |arm: usize| Some((arm, snapshot.arms.get(arm)?.double_holds.first()?.clone()));
        let all = order(&snapshot.scenario).into_iter().filter_map(first);
        if let Some((arm, double)) = all.min_by_key(|(_, double)| double.second.from_us) {
            self.show(Some(Overlay::Lanes));
            self.lanes = Some(Lanes { arm, double });
            self.lanes_seen = true;
        }
    }
}
