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
}
