//! What an arm counted between faults. Tenths of seconds are kept apart until no fault can become known any more that took effect in one
//! of them.

use std::collections::BTreeMap;
use std::mem::take;
use std::time::Duration;

use lockstorm_data::metrics::{Batch, Part, PhaseTimes, Sums, Time, When};

/// How many tenths of a second are kept apart: an effect is known at most so much later, or counts from then on.
const KEPT: i64 = 30;

/// The phases of one arm.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    ended: Vec<PhaseTimes>,
    /// The tenth in which the present phase began.
    from: i64,
    /// The events with which it began.
    events: Vec<u64>,
    sums: Sums,
    /// The first tenth that belongs to no phase yet.
    open: i64,
    /// What was counted in each tenth, as it came: it is added up once, in its phase.
    tenths: BTreeMap<i64, Vec<Sums>>,
    /// The phases that begin within these tenths.
    begins: BTreeMap<i64, Vec<u64>>,
}

impl Phases {
    /// The most phases.
    pub const MOST: usize = 32;
    /// Stands behind all tenths, for what was counted after the end of the load.
    const AFTER_END: i64 = i64::MAX - 1;

    /// Adds what was counted.
    pub fn add(&mut self, batch: Batch) {
        let place = match (batch.part, batch.when) {
            (Part::Measured, When::Tenth(tenth)) => tenth.max(self.open),
            (Part::Measured, When::AfterEnd) => Self::AFTER_END,
            _ => return,
        };
        self.tenths.entry(place).or_default().push(batch.sums);
    }

    /// Adds times that are known now.
    pub fn times(&mut self, time: Time, took: &[Duration], now: When) {
        let place = match now {
            When::Tenth(tenth) => tenth.max(self.open),
            When::AfterEnd => Self::AFTER_END,
        };
        let mut sums = Sums::default();
        for took in took {
            sums.record(time, *took);
        }
        self.tenths.entry(place).or_default().push(sums);
    }

    /// A phase begins with this event.
    pub fn begin(&mut self, when: When, event: u64) {
        if let When::Tenth(tenth) = when {
            self.begins.entry(tenth.max(self.open)).or_default().push(event);
        }
    }

    /// Adds the tenths to their phases that are old enough.
    pub fn settle(&mut self, now: When) {
        if let When::Tenth(now) = now {
            self.close(now - KEPT);
        }
    }

    /// All phases, with everything that was counted.
    pub fn end(&mut self) -> Vec<PhaseTimes> {
        self.close(i64::MAX);
        let mut all = take(&mut self.ended);
        all.push(self.present());
        all
    }

    /// Adds the tenths before `open` to their phases.
    fn close(&mut self, open: i64) {
        self.open = self.open.max(open);
        let later = self.tenths.split_off(&open);
        let tenths = std::mem::replace(&mut self.tenths, later);
        let later = self.begins.split_off(&open);
        let mut begins = std::mem::replace(&mut self.begins, later);
        for (tenth, all) in tenths {
            let later = begins.split_off(&(tenth + 1));
            for (from, events) in std::mem::replace(&mut begins, later) {
                self.next(from, events);
            }
            for sums in &all {
                self.sums.add(sums);
            }
        }
        for (from, events) in begins {
            self.next(from, events);
        }
    }

    fn next(&mut self, from: i64, events: Vec<u64>) {
        if from > self.from && self.ended.len() + 1 < Self::MOST {
            let phase = self.present();
            self.ended.push(phase);
            self.from = from;
            self.events.clear();
            self.sums = Sums::default();
        }
        self.events.extend(events);
    }

    fn present(&self) -> PhaseTimes {
        PhaseTimes {
            from: self.from as f64 / 10.0,
            events: self.events.clone(),
            histograms: self.sums.histograms(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(when: When, micros: u64) -> Batch {
        let mut sums = Sums::default();
        sums.record(Time::Acquired, Duration::from_micros(micros));
        Batch {
            part: Part::Measured,
            when,
            sums,
            ..Batch::default()
        }
    }

    /// When each phase began, with which events, and how many acquires it has.
    fn told(phases: &[PhaseTimes]) -> Vec<(f64, Vec<u64>, u64)> {
        let acquired = |phase: &PhaseTimes| phase.histograms[&Time::Acquired].decode().unwrap().len();
        let told = phases.iter();
        told.map(|phase| (phase.from, phase.events.clone(), acquired(phase)))
            .collect()
    }

    #[test]
    fn a_phase_begins_where_a_fault_took_effect_even_if_that_becomes_known_later() {
        let mut phases = Phases::default();
        for tenth in 0..100 {
            phases.add(batch(When::Tenth(tenth), 100));
            phases.settle(When::Tenth(tenth + 1));
            match tenth {
                43 => phases.begin(When::Tenth(41), 7),
                60 => phases.begin(When::Tenth(60), 8),
                // Nobody keeps tenths for so long.
                90 => phases.begin(When::Tenth(10), 9),
                _ => {}
            }
        }
        phases.add(batch(When::AfterEnd, 100));
        phases.begin(When::AfterEnd, 10);
        assert_eq!(
            told(&phases.end()),
            [
                (0.0, vec![], 41),
                (4.1, vec![7], 19),
                (6.0, vec![8], 1),
                (6.1, vec![9], 40)
            ]
        );
    }

    #[test]
    fn an_empty_histogram_is_there_and_a_run_without_faults_is_one_phase() {
        let mut phases = Phases::default();
        phases.add(batch(When::Tenth(3), 100));
        let all = phases.end();
        assert_eq!(told(&all), [(0.0, vec![], 1)]);
        assert!(all[0].histograms[&Time::NoQuorum].decode().unwrap().is_empty());
    }

    #[test]
    fn phases_beyond_the_most_are_part_of_the_last() {
        let mut phases = Phases::default();
        for event in 0..100 {
            let tenth = When::Tenth(i64::try_from(event).unwrap());
            phases.begin(tenth, event);
            phases.add(batch(tenth, 100));
        }
        let all = told(&phases.end());
        assert_eq!((all.len(), all[31].0, all[31].1.len(), all[31].2), (32, 3.1, 69, 69));
        assert_eq!(all.iter().map(|(.., acquired)| acquired).sum::<u64>(), 100);
    }
}
