//! What an arm has done in the last seconds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What is said of an arm is said of this long.
const WINDOW: Duration = Duration::from_secs(5);

/// What an arm had done at some instants of the last seconds.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    beats: VecDeque<Beat>,
    /// When the number of answers last rose.
    answered: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Beat {
    at: Instant,
    answers: u64,
    failed: u64,
}

impl Pulse {
    /// Notes the sums of answers and of failed attempts.
    pub fn beat(&mut self, at: Instant, answers: u64, failed: u64) {
        let newest = self.beats.back();
        if newest.is_some_and(|newest| answers < newest.answers) {
            // Counted anew: the measured part has begun.
            self.beats.clear();
        } else if newest.is_none_or(|newest| answers > newest.answers) {
            self.answered = Some(at);
        }
        self.beats.push_back(Beat { at, answers, failed });
        // The newest one that is older than the window stays: the window begins there.
        while self
            .beats
            .get(1)
            .is_some_and(|beat| at.duration_since(beat.at) >= WINDOW)
        {
            self.beats.pop_front();
        }
    }

    /// Answers a second and failed attempts over the window.
    pub fn last(&self) -> (f64, u64) {
        let (Some(first), Some(last)) = (self.beats.front(), self.beats.back()) else {
            return (0.0, 0);
        };
        let took = last.at.duration_since(first.at).as_secs_f64();
        let answers = (last.answers - first.answers) as f64;
        let per_second = if took > 0.0 { answers / took } else { 0.0 };
        (per_second, last.failed.saturating_sub(first.failed))
    }

    /// For how long nobody has been answered.
    pub fn silent(&self, now: Instant) -> Option<Duration> {
        Some(now.saturating_duration_since(self.answered?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTH: Duration = Duration::from_millis(100);

    #[test]
    fn rates_are_of_the_last_five_seconds() {
        let (mut pulse, start) = (Pulse::default(), Instant::now());
        for tenth in 0..=200_u32 {
            // 100 a second for ten seconds, then nothing but failures.
            let answers = u64::from(tenth.min(100)) * 10;
            pulse.beat(start + TENTH * tenth, answers, u64::from(tenth.saturating_sub(100)));
            if tenth == 100 {
                let (per_second, failed) = pulse.last();
                assert!((per_second - 100.0).abs() < 1e-6, "{per_second}");
                assert_eq!(failed, 0);
            }
        }
        assert_eq!(pulse.last(), (0.0, 50));
        assert_eq!(pulse.silent(start + TENTH * 200), Some(Duration::from_secs(10)));
        assert!(pulse.beats.len() <= 52, "{}", pulse.beats.len());
    }

    #[test]
    fn the_warm_up_is_forgotten() {
        let (mut pulse, start) = (Pulse::default(), Instant::now());
        pulse.beat(start, 500, 0);
        pulse.beat(start + TENTH, 0, 0);
        pulse.beat(start + TENTH * 2, 7, 0);
        assert!((pulse.last().0 - 70.0).abs() < 1e-6);
    }
}
