//! How an arm fares at this moment. Ended requests say nothing of those that are stuck, so this comes from the states of the
//! nodes that the arm needs and from the acquires that wait.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::engine::Engine;
use crate::lab::HostState;
use crate::metrics::{Health, Live};
use crate::model::HostId;
use crate::scenario::LockKind;

/// What is said of an arm is said of this long.
const WINDOW: Duration = Duration::from_secs(5);
/// An arm that has answered nobody for longer than this, and than its work takes, stands still.
const STILL: Duration = Duration::from_secs(1);

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
    #[allow(clippy::cast_precision_loss)] // counts beyond 2^53 do not occur in a run
    fn last(&self) -> (f64, u64) {
        let (Some(first), Some(last)) = (self.beats.front(), self.beats.back()) else {
            return (0.0, 0);
        };
        let took = last.at.duration_since(first.at).as_secs_f64();
        let answers = (last.answers - first.answers) as f64;
        let per_second = if took > 0.0 { answers / took } else { 0.0 };
        (per_second, last.failed.saturating_sub(first.failed))
    }

    /// For how long nobody has been answered.
    fn silent(&self, now: Instant) -> Option<Duration> {
        Some(now.saturating_duration_since(self.answered?))
    }
}

impl Engine {
    /// Notes what every arm has done by now.
    pub(super) fn feel_pulses(&mut self) {
        let now = Instant::now();
        for index in 0..self.arms.len() {
            let answers = self.arms[index].collector.answered();
            let failed = self.servers.iter().map(|server| server.failed_attempts(index)).sum();
            self.arms[index].pulse.beat(now, answers, failed);
        }
    }

    pub(super) fn live(&self, arm: usize) -> Live {
        let now = Instant::now();
        let pulse = &self.arms[arm].pulse;
        let (per_second, failed_attempts) = pulse.last();
        let oldest_wait = self.oldest_wait(arm, now);
        let limit = STILL + self.knobs.hold;
        let health = match self.nodes_health(arm) {
            Health::Well => match pulse.silent(now) {
                Some(silent) if silent > limit && oldest_wait.is_some_and(|wait| wait > STILL) => {
                    Health::Stalled(silent)
                }
                _ => Health::Well,
            },
            lacking => lacking,
        };
        Live {
            health,
            per_second,
            failed_attempts,
            oldest_wait,
        }
    }

    /// Since when the oldest acquire of an arm has been waiting; app servers that are dead have none.
    fn oldest_wait(&self, arm: usize, now: Instant) -> Option<Duration> {
        let since = self.servers.iter().filter_map(|server| server.oldest_wait(arm)).min()?;
        Some(now.saturating_duration_since(since))
    }

    /// Whether the nodes that an arm's lock needs are there. A paused host answers nobody, so it is not.
    pub(super) fn nodes_health(&self, arm: usize) -> Health {
        let spec = &self.arms[arm].spec;
        let is_up = |host: HostId| matches!(self.lab.state(host), HostState::Up { .. });
        match spec.lock {
            LockKind::None | LockKind::Local => Health::Well,
            LockKind::Single if is_up(spec.host) => Health::Well,
            LockKind::Single => Health::NodeDown(spec.host),
            LockKind::Redlock => {
                let of = self.scenario.lab.hosts;
                let up = (0..of).map(HostId::from_index).filter(|host| is_up(*host)).count();
                if up > of / 2 {
                    Health::Well
                } else {
                    Health::NoQuorum { up, of }
                }
            }
        }
    }

    /// What the states of the hosts mean for the arms that need `host`: `: single has no lock node`. Empty when all have
    /// what they need.
    pub(super) fn consequence(&self, host: HostId) -> String {
        let hit = (0..self.arms.len()).filter_map(|arm| {
            let name = &self.arms[arm].spec.name;
            match self.nodes_health(arm) {
                Health::NodeDown(down) if down == host => Some(format!("{name} has no lock node")),
                Health::NoQuorum { up, of } => Some(format!("{name} has no quorum ({up} of {of})")),
                _ => None,
            }
        });
        let hit: Vec<String> = hit.collect();
        if hit.is_empty() {
            String::new()
        } else {
            format!(": {}", hit.join(", "))
        }
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
