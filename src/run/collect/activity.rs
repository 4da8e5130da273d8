//! What an arm did in the last seconds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The time that rates are averaged over.
const WINDOW: Duration = Duration::from_secs(5);

/// The progress of an arm over the last seconds.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    samples: VecDeque<Sample>,
    /// When the number of answers last rose.
    answered: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Instant,
    answers: u64,
    failed: u64,
}

impl Activity {
    /// Notes the total numbers of answers and of failed attempts.
    pub fn note(&mut self, at: Instant, answers: u64, failed: u64) {
        let newest = self.samples.back();
        if newest.is_some_and(|newest| answers < newest.answers) {
            // The counts start again: the measured part has begun.
            self.samples.clear();
        } else if newest.is_none_or(|newest| answers > newest.answers) {
            self.answered = Some(at);
        }
        self.samples.push_back(Sample { at, answers, failed });
        // The newest sample that is older than the window stays: the window begins there.
        while self
            .samples
            .get(1)
            .is_some_and(|sample| at.duration_since(sample.at) >= WINDOW)
        {
            self.samples.pop_front();
        }
    }

    /// Answers a second, and the number of failed attempts, over the window.
    pub fn rates(&self) -> (f64, u64) {
        let (Some(first), Some(last)) = (self.samples.front(), self.samples.back()) else {
            return (0.0, 0);
        };
        let took = last.at.duration_since(first.at).as_secs_f64();
        let answers = (last.answers - first.answers) as f64;
        let per_second = if took > 0.0 { answers / took } else { 0.0 };
        (per_second, last.failed.saturating_sub(first.failed))
    }

    /// How long nobody has been answered.
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
        let (mut activity, start) = (Activity::default(), Instant::now());
        for tenth in 0..=200_u32 {
            // 100 answers a second for ten seconds, then only failures.
            let answers = u64::from(tenth.min(100)) * 10;
            activity.note(start + TENTH * tenth, answers, u64::from(tenth.saturating_sub(100)));
            if tenth == 100 {
                let (per_second, failed) = activity.rates();
                assert!((per_second - 100.0).abs() < 1e-6, "{per_second}");
                assert_eq!(failed, 0);
            }
        }
        assert_eq!(activity.rates(), (0.0, 50));
        assert_eq!(activity.silent(start + TENTH * 200), Some(Duration::from_secs(10)));
        assert!(activity.samples.len() <= 52, "{}", activity.samples.len());
    }

    #[test]
    fn the_warm_up_is_forgotten() {
        let (mut activity, start) = (Activity::default(), Instant::now());
        activity.note(start, 500, 0);
        activity.note(start + TENTH, 0, 0);
        activity.note(start + TENTH * 2, 7, 0);
        assert!((activity.rates().0 - 70.0).abs() < 1e-6);
    }
}
