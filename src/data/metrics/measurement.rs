use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::histogram::{HistogramText, Quantiles};

/// What was measured of servers for locks and of this machine, over some time; its file is this as JSON. It has no passwords.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The format of the file, [`Measurement::FORMAT`].
    pub measurement_format: u32,
    /// For how long it was measured, in seconds.
    pub seconds: f64,
    /// How long that was to take; it was interrupted if this is more.
    pub asked_seconds: f64,
    /// Commands a second that each server was sent.
    pub commands_per_second: u64,
    /// What was measured of each server.
    pub nodes: Vec<MeasuredNode>,
    /// How long this process stood still, each time for more than [`Measurement::STALL`]: how late a timer was.
    pub stalls_us: MeasuredTimes,
}

impl Measurement {
    /// The format that this program writes and reads.
    pub const FORMAT: u32 = 1;
    /// What is shorter is no stall of this process.
    pub const STALL: Duration = Duration::from_millis(10);

    /// What is wrong with a server's clock, so that no TTL holds there: the first one, with its host and port.
    pub fn clock_fault(&self) -> Option<String> {
        let fault = |node: &MeasuredNode| Some(format!("the clock of {} {}", node.node, node.clock?.rate?.fault()?));
        self.nodes.iter().find_map(fault)
    }

    /// Whether a server never answered, so that nothing can be planned with this.
    pub fn is_silent(&self) -> bool {
        self.nodes.iter().any(|node| node.answers == 0)
    }
}

/// What was measured of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredNode {
    /// Host and port.
    pub node: String,
    /// Commands that it has answered.
    pub answers: u64,
    /// Commands without an answer, and attempts to connect again that failed.
    pub failures: u64,
    /// Why the last one failed.
    pub last_failure: Option<String>,
    /// The longest time without an answer, in microseconds: from a command to the next answer, that to a later command if it has
    /// none itself, or to the end.
    pub longest_silence_us: u64,
    /// Round trips. One that takes longer than the time between two commands also stands for those that were not sent
    /// meanwhile.
    pub round_trips_us: MeasuredTimes,
    /// Its clock, if its user may ask for it.
    pub clock: Option<MeasuredClock>,
}

/// Times in microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredTimes {
    /// In short.
    #[serde(flatten)]
    pub quantiles: Quantiles,
    /// All of them.
    pub histogram: HistogramText,
}

impl From<&Histogram<u64>> for MeasuredTimes {
    fn from(times: &Histogram<u64>) -> Self {
        Self {
            quantiles: Quantiles::of(times),
            histogram: HistogramText::of(times),
        }
    }
}

/// A server's clock at one time, compared with ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// How far it is ahead, in microseconds; negative: behind.
    pub ahead_us: i64,
    /// How far off this may be, in microseconds: half of the round trip in which it was asked.
    pub within_us: i64,
}

/// A server's clock over some time, compared with ours, which is read once, at the start: from then on the time that has passed
/// counts, so that it does not jump.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeasuredClock {
    /// When it was least ahead.
    pub least: Clock,
    /// In the median.
    pub median: Clock,
    /// When it was most ahead.
    pub most: Clock,
    /// By how many millionths it is faster than ours, by least squares; `None` if that can't be told from so short a time.
    pub drift_ppm: Option<f64>,
    /// How far off the drift may be: two standard errors.
    pub drift_within_ppm: Option<f64>,
    /// How fast it runs; `None` if it was compared too seldom.
    #[serde(default)]
    pub rate: Option<ClockRate>,
}

/// How fast a server's clock runs compared with ours: 1 is as fast, and 0 stands still.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockRate {
    /// It is at least so fast.
    pub least: f64,
    /// It is at most so fast.
    pub most: f64,
}

impl ClockRate {
    /// By how much the clocks may differ: what a lock takes off its validity for that.
    const ALLOWED: f64 = 0.01;
    /// The least time between two comparisons, in seconds: half of the round trips, which is how far each may be off, must be small
    /// beside it.
    const APART: f64 = 0.08;
    /// When nothing is known of how fast it is at most.
    const UNBOUNDED: f64 = 1e9;

    /// What comparisons, each with its time in seconds, prove, however long their round trips took. More than half of the times between
    /// them must agree: a clock that was set once, or a machine that was suspended, does not run at another rate.
    pub fn of(compared: &[(f64, Clock)]) -> Option<Self> {
        let mut points: Vec<(f64, Clock)> = Vec::new();
        for (at, clock) in compared {
            match points.last_mut() {
                Some(last) if at - last.0 < Self::APART => {
                    if clock.within_us < last.1.within_us {
                        *last = (*at, *clock);
                    }
                }
                _ => points.push((*at, *clock)),
            }
        }
        let between = points.windows(2).map(|pair| {
            let [(from, first), (to, second)] = [pair[0], pair[1]];
            let theirs =
                (to - from) + (second.ahead_us + second.within_us - first.ahead_us - first.within_us) as f64 / 1e6;
            let [first, second] = [first, second].map(|clock| 2.0 * clock.within_us as f64 / 1e6);
            // It was read at some time between a question and its answer.
            let (shortest, longest) = (to - from - first, to - from + second);
            let most = match shortest > 0.0 {
                true => theirs / shortest,
                false => Self::UNBOUNDED,
            };
            (theirs / longest, most)
        });
        let (mut least, mut most): (Vec<f64>, Vec<f64>) = between.unzip();
        if least.len() < 2 {
            return None;
        }
        least.sort_unstable_by(f64::total_cmp);
        most.sort_unstable_by(f64::total_cmp);
        Some(Self {
            least: least[(least.len() - 1) / 2],
            most: most[most.len() / 2],
        })
    }

    /// What is wrong with it, in words that follow its name; `None` if locks can bear it.
    pub fn fault(self) -> Option<String> {
        /// Less than this is no rate, but what reading it may be off.
        const STILL: f64 = 1e-3;
        match self {
            Self { most, .. } if most < STILL => Some("stands still".to_owned()),
            Self { most, .. } if most < 1.0 - Self::ALLOWED => {
                Some(format!("runs at most {most:.2} times as fast as ours"))
            }
            Self { least, .. } if least > 1.0 + Self::ALLOWED => {
                Some(format!("runs at least {least:.2} times as fast as ours"))
            }
            _ => None,
        }
    }
}

impl MeasuredClock {
    /// The fewest comparisons that tell a drift.
    const FEWEST: usize = 10;

    /// Sums up comparisons, each with its time in seconds; `None` if there are none.
    pub fn of(compared: &[(f64, Clock)]) -> Option<Self> {
        let mut clocks: Vec<Clock> = compared.iter().map(|(_, clock)| *clock).collect();
        clocks.sort_unstable_by_key(|clock| clock.ahead_us);
        let drift = (clocks.len() >= Self::FEWEST).then(|| drift(compared));
        Some(Self {
            least: *clocks.first()?,
            median: clocks[clocks.len() / 2],
            most: *clocks.last()?,
            drift_ppm: drift.map(|(ppm, _)| ppm),
            drift_within_ppm: drift.map(|(_, within)| within),
            rate: ClockRate::of(compared),
        })
    }
}

/// The slope of more than two comparisons at different times, in microseconds a second, and twice its standard error.
fn drift(compared: &[(f64, Clock)]) -> (f64, f64) {
    let n = compared.len() as f64;
    let points = || compared.iter().map(|(at, clock)| (*at, clock.ahead_us as f64));
    let (x, y) = points().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / n, sum.1 + point.1 / n));
    let squares: f64 = points().map(|point| (point.0 - x).powi(2)).sum();
    let slope = points().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / squares;
    let off: f64 = points()
        .map(|point| (point.1 - y - slope * (point.0 - x)).powi(2))
        .sum();
    (slope, 2.0 * (off / (n - 2.0) / squares).sqrt())
}

#[cfg(test)]
mod tests {
    use super::super::units::rounded;
    use super::*;

    #[test]
    fn a_clock_is_summed_up_with_its_drift() {
        // It gains 20 µs a second, and every other answer is 6 µs late.
        let at = |second: i64| Clock {
            ahead_us: 100 + 20 * second - 6 * (second % 2),
            within_us: 40 + second,
        };
        let compared = |n| (0..n).map(|second| (second as f64, at(second))).collect::<Vec<_>>();
        let clock = MeasuredClock::of(&compared(100)).expect("there are some");
        assert_eq!([clock.least, clock.median, clock.most], [at(0), at(50), at(99)]);
        let (drift, within) = clock.drift_ppm.zip(clock.drift_within_ppm).expect("long enough");
        assert!((drift - 20.0).abs() <= within && within < 0.1, "{drift} ± {within}");
        let short = MeasuredClock::of(&compared(9)).expect("there are some");
        assert_eq!((short.drift_ppm, short.most), (None, at(8)));
        assert_eq!(MeasuredClock::of(&[]), None);
    }

    /// Comparisons of a clock that shows this at each time of ours, over round trips of this length that are all spent on one way.
    fn compared(times: impl Iterator<Item = f64>, round_trip: f64, shown: impl Fn(f64) -> f64) -> Vec<(f64, Clock)> {
        let micros = |seconds: f64| i64::try_from(rounded(seconds * 1e6)).expect("some hours at most");
        let one = |(number, at): (usize, f64)| {
            let read = if number % 2 == 0 { at } else { at + round_trip };
            let within_us = micros(round_trip / 2.0);
            let ahead_us = micros(shown(read)) - micros(at) - within_us;
            (at, Clock { ahead_us, within_us })
        };
        times.enumerate().map(one).collect()
    }

    #[test]
    fn a_clock_at_another_rate_is_told_and_no_slow_way_or_step_is_taken_for_one() {
        let fault = |round_trip: f64, shown: fn(f64) -> f64| {
            // A server is asked again once it has answered.
            let times = (0..5).map(|number| f64::from(number) * (round_trip * 1.1).max(0.1));
            let rate = ClockRate::of(&compared(times, round_trip, shown)).expect("often enough");
            assert!(rate.least <= rate.most, "{rate:?}");
            rate.fault()
        };
        for round_trip in [0.000_1, 0.001, 0.01, 0.06, 0.3] {
            assert_eq!(
                fault(round_trip, |_| 7.0).as_deref(),
                Some("stands still"),
                "{round_trip}"
            );
            for right in [|at| at, |at| at * 1.000_5, |at| 50.0 + at * 0.999_5] {
                assert_eq!(fault(round_trip, right), None, "{round_trip}");
            }
            // It is set once, forward or back.
            assert_eq!(fault(round_trip, |at| if at > 0.25 { at + 3600.0 } else { at }), None);
            assert_eq!(fault(round_trip, |at| if at > 0.25 { at - 0.1 } else { at }), None);
        }
        assert_eq!(
            fault(0.000_2, |at| at * 2.0).as_deref(),
            Some("runs at least 1.99 times as fast as ours")
        );
        assert_eq!(
            fault(0.000_2, |at| at * 0.5).as_deref(),
            Some("runs at most 0.50 times as fast as ours")
        );
        assert!(fault(0.01, |at| at * 1.5).is_some());
        assert!(fault(0.000_2, |at| at * 1.02).is_some() && fault(0.000_2, |at| at * 1.009).is_none());
        // Too few, or all at once.
        assert!(ClockRate::of(&compared([0.0, 0.5].into_iter(), 0.001, |_| 7.0)).is_none());
        assert!(ClockRate::of(&compared((0..50).map(|n| f64::from(n) / 1e3), 0.001, |_| 7.0)).is_none());
    }
}
