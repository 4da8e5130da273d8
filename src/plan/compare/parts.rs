//! Two arms of one run: what each did in parts of the time, so that a drift of the machine hits both.

use super::figure::OfAPart;
use lockstorm_data::metrics::Point;
use lockstorm_data::metrics::units::place;
use lockstorm_data::scenario::Turns;
use lockstorm_run::Record;

/// Parts that are compared: 10 to 30 are advised (Schmeiser 1982), of which each is long enough to know little of its neighbours.
const MOST: usize = 20;
/// With fewer parts nothing could be shown.
const FEWEST: usize = 8;

/// The values of both arms in each part of the time; empty if there are too few.
///
/// A part begins as a round: a second, or in a run whose arms took turns as many seconds as it takes until each had its turn twice,
/// there and back (A B B A), so that what grows or falls steadily hits all arms alike. Rounds are joined until there are few enough,
/// and each part knows little of its neighbours.
pub(super) fn parts(record: &Record, arms: [usize; 2], figure: OfAPart) -> Vec<[f64; 2]> {
    let seconds = record
        .scenario
        .swarm
        .turns
        .map_or(1, |turns| place(Turns::of(turns, record.arms.len()).round() as f64));
    let [one, other] = arms.map(|arm| means(record, arm, figure, seconds));
    let rounds: Vec<[f64; 2]> = one
        .into_iter()
        .zip(other)
        .filter_map(|(one, other)| Some([one?, other?]))
        .collect();
    joined(&rounds, record.scenario.swarm.turns.is_some())
}

/// The mean of each whole round; `None` where there is no value.
fn means(record: &Record, arm: usize, figure: OfAPart, round: usize) -> Vec<Option<f64>> {
    let points: Vec<&Point> = record.arms[arm].series.iter().filter(|point| point.time >= 0).collect();
    let turns = record
        .scenario
        .swarm
        .turns
        .map(|turns| Turns::of(turns, record.arms.len()));
    let is_its = |point: &&&Point| turns.is_none_or(|turns| turns.arm_of(point.time.unsigned_abs()) == arm as u64);
    let mean = |points: &[&Point]| {
        let values: Vec<f64> = points
            .iter()
            .filter(is_its)
            .filter_map(|point| figure.of(point))
            .collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    points.chunks_exact(round).map(mean).collect()
}

/// Joins neighbours, see [`parts`]. If the difference of a round keeps a part φ of the one before (a process AR(1)), means of b rounds are
/// correlated with their neighbours by some φ / (b (1 − φ²) − 2 φ), which is to be a tenth at most.
fn joined(rounds: &[[f64; 2]], takes_turns: bool) -> Vec<[f64; 2]> {
    let many = rounds.len() as f64;
    let (seen, error) = (resemblance(rounds), 1.0 / many.sqrt());
    let kept = match takes_turns {
        // There and back leaves next to nothing of what lasts longer than a round, so it must be seen.
        true if seen < 2.0 * error => 0.0,
        true => seen,
        // Arms side by side may keep more than is seen.
        false => seen + 1.5 * error,
    };
    let kept = kept.clamp(0.0, 0.99);
    let each = (many / MOST as f64).max(12.0 * kept / (1.0 - kept * kept)).max(1.0);
    let mean = |rounds: &[[f64; 2]]| {
        [0, 1].map(|side| rounds.iter().map(|round| round[side]).sum::<f64>() / rounds.len() as f64)
    };
    let parts: Vec<[f64; 2]> = rounds.chunks_exact(place(each.ceil())).map(mean).collect();
    if parts.len() < FEWEST { Vec::new() } else { parts }
}

/// The correlation of neighbouring differences (lag 1).
fn resemblance(parts: &[[f64; 2]]) -> f64 {
    let differences: Vec<f64> = parts.iter().map(|[one, other]| other - one).collect();
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    let square: f64 = differences.iter().map(|one| (one - mean).powi(2)).sum();
    let neighbours: f64 = differences
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    if square > 0.0 { neighbours / square } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::super::ranks::paired;
    use super::super::significance::{ALPHA, holm};
    use super::*;

    const TIMES: u64 = 1000;

    /// A machine's time by the second: noise of which a part stays from one second to the next, and a drift.
    struct Machine {
        rng: SmallRng,
        stays: f64,
        now: f64,
        drift: f64,
    }

    impl Machine {
        fn new(seed: u64, stays: f64) -> Self {
            let mut rng = SmallRng::seed_from_u64(seed);
            let drift = rng.random_range(-0.002..0.002);
            Self {
                rng,
                stays,
                now: 0.0,
                drift,
            }
        }

        fn noise(&mut self) -> f64 {
            // The sum of twelve is nearly normal, with a deviation of 1.
            (0..12).map(|_| self.rng.random::<f64>()).sum::<f64>() - 6.0
        }

        fn next(&mut self) -> f64 {
            let step = (1.0 - self.stays * self.stays).sqrt() * self.noise();
            self.now = self.stays * self.now + step;
            self.now
        }
    }

    /// Two arms that take turns of a second for so many seconds, the second one slower by this part: the p of their difference.
    fn in_turns(seed: u64, seconds: u64, stays: f64, slower: f64) -> f64 {
        let mut machine = Machine::new(seed, stays);
        let turns = Turns::of(std::time::Duration::from_secs(1), 2);
        let seconds: Vec<(u64, f64)> = (0..seconds)
            .map(|second| (turns.arm_of(second), machine.next()))
            .collect();
        let rounds = seconds.chunks_exact(4).enumerate().map(|(place, round)| {
            [0, 1].map(|arm| {
                let own: Vec<f64> = round
                    .iter()
                    .filter(|(of, _)| *of == arm)
                    .map(|(_, noise)| *noise)
                    .collect();
                let factor = if arm == 1 { 1.0 + slower } else { 1.0 };
                let drift = machine.drift * place as f64;
                100.0 * factor * (1.0 + 0.06 * own.iter().sum::<f64>() / own.len() as f64 + drift)
            })
        });
        p_of(&rounds.collect::<Vec<_>>(), true)
    }

    /// Two arms side by side for so many seconds, each with noise of its own.
    fn side_by_side(seed: u64, seconds: u32, stays: f64) -> f64 {
        let (mut a, mut b) = (Machine::new(seed, stays), Machine::new(seed + 3 * TIMES, stays));
        let seconds = (0..seconds).map(|_| [100.0 + 10.0 * a.next(), 100.0 + 10.0 * b.next()]);
        p_of(&seconds.collect::<Vec<_>>(), false)
    }

    fn p_of(rounds: &[[f64; 2]], takes_turns: bool) -> f64 {
        let differences: Vec<f64> = joined(rounds, takes_turns)
            .iter()
            .map(|[one, other]| other - one)
            .collect();
        paired(&differences).map_or(1.0, |shift| shift.p)
    }

    /// In how many runs any of three figures differs, beside the other two.
    fn alarms(p: impl Fn(u64) -> f64) -> usize {
        let differs = |run: &u64| {
            holm(&[0, 1, 2].map(|figure| p(3 * run + figure)))
                .iter()
                .any(|p| *p <= ALPHA)
        };
        (0..TIMES).filter(differs).count()
    }

    #[test]
    fn equals_differ_in_two_of_a_hundred_at_most_however_long_the_machine_remembers() {
        for stays in [0.0, 0.4, 0.5, 0.6, 0.8, 0.95] {
            let found = [
                alarms(|seed| in_turns(seed, 240, stays, 0.0)),
                alarms(|seed| in_turns(seed, 64, stays, 0.0)),
                alarms(|seed| side_by_side(seed, 60, stays)),
                alarms(|seed| side_by_side(seed, 120, stays)),
                alarms(|seed| side_by_side(seed, 240, stays)),
            ];
            assert!(
                found.iter().all(|found| *found <= 20),
                "{found:?} alarms in turns, in few turns and side by side, {stays}"
            );
        }
    }

    #[test]
    fn five_percent_are_found_in_nine_of_ten() {
        for stays in [0.0, 0.5, 0.8] {
            // One figure is slower, and must be shown beside two others.
            let found = (0..TIMES)
                .filter(|seed| in_turns(*seed, 240, stays, 0.05) <= ALPHA / 3.0)
                .count();
            assert!(found >= 900, "{found} of {TIMES}, {stays}");
        }
    }

    #[test]
    fn too_few_parts_show_nothing_and_many_are_joined() {
        assert!(joined(&[[1.0, 2.0]; 7], true).is_empty());
        let alternating = |many: usize| (0..many).map(|place| [0.0, (place % 2) as f64]).collect::<Vec<_>>();
        assert_eq!(joined(&alternating(20), true).len(), 20);
        assert_eq!(joined(&alternating(58), true).len(), 19, "three of them are one");
        // What creeps is not many values but few.
        assert!(joined(&(0..60).map(|place| [0.0, f64::from(place)]).collect::<Vec<_>>(), true).is_empty());
    }
}
