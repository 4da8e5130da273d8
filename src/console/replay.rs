//! A record that is played: the instant that is shown, and the ways through time.

use std::sync::Arc;
use std::time::Duration;

use super::keys::Step;
use super::past::picture;
use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::history::DoubleHold;
use lockstorm_run::{Record, Snapshot, not_begun};

/// How many seconds of the record pass in a second, and how that is written.
const SPEEDS: [(f64, &str); 9] = [
    (0.25, "1/4×"),
    (0.5, "1/2×"),
    (1.0, "1×"),
    (2.0, "2×"),
    (4.0, "4×"),
    (8.0, "8×"),
    (16.0, "16×"),
    (32.0, "32×"),
    (64.0, "64×"),
];

/// What happens within so many seconds is one event to go to: a fault and the caption about it.
const TOGETHER: f64 = 0.1;

/// The place in [`SPEEDS`] of the speed at which it happened.
const LIVE: usize = 2;

/// The record, and where in it we are.
#[derive(Debug)]
pub(super) struct Replay {
    record: Arc<Record>,
    /// What was shown before the run began.
    begun: Snapshot,
    /// The second that is shown.
    at: f64,
    /// The place of the speed in [`SPEEDS`].
    speed: usize,
    plays: bool,
}

impl Replay {
    /// A record that plays from its beginning.
    pub fn new(record: Arc<Record>) -> Self {
        Self {
            begun: not_begun(&Arc::new(record.scenario.clone())),
            plays: record.elapsed > 0.0,
            record,
            at: 0.0,
            speed: LIVE,
        }
    }

    /// What the run showed then.
    pub fn picture(&self) -> Snapshot {
        picture(&self.record, &self.begun, self.at)
    }

    /// Whether time passes.
    pub const fn plays(&self) -> bool {
        self.plays
    }

    /// Whether the end is shown, where the record has all figures.
    pub fn is_over(&self) -> bool {
        self.at >= self.record.elapsed
    }

    /// Where we are: `▶ RECORD 12 s of 42 s · 4×`.
    pub fn label(&self) -> String {
        let sign = match self.plays {
            _ if self.is_over() => "◼",
            true => "▶",
            false => "‖",
        };
        let end = self.record.elapsed.round();
        let at = if self.is_over() {
            "end".to_owned()
        } else {
            match self.plays {
                true => format!("{:.0} s", self.at.floor()),
                false => format!("{:.1} s", self.at),
            }
        };
        format!("{sign} RECORD {at} of {end:.0} s · {}", SPEEDS[self.speed].1)
    }

    /// Lets so much time pass, at the speed.
    pub fn pass(&mut self, time: Duration) {
        if self.plays {
            self.go_to(self.at + time.as_secs_f64() * SPEEDS[self.speed].0);
        }
    }

    /// Plays, or stops; from the end on it plays again from the beginning.
    pub fn play_or_stop(&mut self) {
        if self.is_over() {
            self.at = 0.0;
        }
        self.plays = !self.plays && self.record.elapsed > 0.0;
    }

    /// Plays slower, or faster.
    pub fn change_speed(&mut self, step: Step) -> Result<String, String> {
        let next = match step {
            Step::Back => self.speed.checked_sub(1),
            Step::Forth => Some(self.speed + 1),
        };
        let next = next.filter(|next| *next < SPEEDS.len());
        self.speed = next.ok_or_else(|| format!("{} is as far as it goes", SPEEDS[self.speed].1))?;
        Ok(format!("the record plays at {}", SPEEDS[self.speed].1))
    }

    /// Goes so many seconds back or forth.
    pub fn seek(&mut self, step: Step, seconds: u32) -> Result<(), String> {
        match step {
            Step::Back if self.at <= 0.0 => return Err("this is the beginning of the record".to_owned()),
            Step::Forth if self.is_over() => return Err("this is the end of the record".to_owned()),
            Step::Back => self.go_to(self.at - f64::from(seconds)),
            Step::Forth => self.go_to(self.at + f64::from(seconds)),
        }
        Ok(())
    }

    /// Goes to the event before or after this instant, and stops there. Returns what it says.
    pub fn go_to_event(&mut self, step: Step) -> Result<String, String> {
        let all = || self.record.events.iter().map(|event| (moment(event), event));
        let found = match step {
            Step::Back => self.nearest(all().filter(|(at, _)| *at < self.at - TOGETHER), step),
            Step::Forth => self.nearest(all(), step),
        };
        let (at, _) = found.ok_or(match step {
            Step::Back => "there is no earlier event",
            Step::Forth => "there is no later event: End goes to the end",
        })?;
        let within = match step {
            Step::Back => at - TOGETHER..=at,
            Step::Forth => at..=at + TOGETHER,
        };
        let mut group: Vec<(f64, &Event)> = all().filter(|(at, _)| within.contains(at)).collect();
        group.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (first, last) = (group.first(), group.last());
        let said = first.map_or_else(String::new, |(at, event)| format!("{at:.1} s: {}", event.text()));
        self.stop_at(last.map_or(at, |(at, _)| *at));
        Ok(said)
    }

    /// Goes to the double hold before or after this instant of those that the record has kept, and stops there. Returns it, and the
    /// position of its arm.
    pub fn go_to_double_hold(&mut self, step: Step) -> Result<(usize, DoubleHold), String> {
        let arms = self.record.arms.iter().enumerate();
        let kept = arms.flat_map(|(arm, of)| of.evidence.iter().map(move |double| (arm, double)));
        let begun = kept.map(|(arm, double)| (double.second.from_us as f64 / 1e6, (arm, double)));
        let (at, (arm, double)) = self.nearest(begun, step).ok_or(match step {
            Step::Back => "no earlier double hold is kept in this record",
            Step::Forth => "no later double hold is kept in this record",
        })?;
        let double = double.clone();
        self.stop_at(at);
        Ok((arm, double))
    }

    /// What is nearest before or after this instant.
    fn nearest<T>(&self, all: impl Iterator<Item = (f64, T)>, step: Step) -> Option<(f64, T)> {
        let within = all.filter(|(at, _)| (0.0..self.record.elapsed).contains(at));
        match step {
            Step::Back => within
                .filter(|(at, _)| *at < self.at)
                .max_by(|one, other| one.0.total_cmp(&other.0)),
            Step::Forth => within
                .filter(|(at, _)| *at > self.at)
                .min_by(|one, other| one.0.total_cmp(&other.0)),
        }
    }

    fn stop_at(&mut self, at: f64) {
        self.at = at;
        self.plays = false;
    }

    fn go_to(&mut self, at: f64) {
        self.at = at.clamp(0.0, self.record.elapsed);
        self.plays &= !self.is_over();
    }
}

/// When an event shows: a fault at its effect.
fn moment(event: &Event) -> f64 {
    match event.kind {
        EventKind::Fault { effect_at, .. } => effect_at.unwrap_or(event.at),
        _ => event.at,
    }
}
