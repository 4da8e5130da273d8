//! Two groups of runs, or two arms of the same runs, figure by figure.
//!
//! A run is one value of a figure: its requests share a machine, a minute and the same faults, so they are no repeats of each other.
//! Only the parts of one run, in which two arms were played side by side or took turns, are looked at by themselves; what they show
//! is true of that run.

use std::collections::BTreeSet;

use serde::Serialize;
use strum::VariantArray;

use super::differing::{Differing, Setting};
use super::figure::{Compared, NoValue, OfAPart, of_run};
use super::machine::{MachineDiffers, machine_differs};
use super::parts::parts;
use super::ranks::{Shift, paired, unpaired};
use super::significance::{ALPHA, fewest, holm, needed};
use lockstorm_data::metrics::units::{counted, median};
use lockstorm_data::metrics::{Group, Metric};
use lockstorm_data::model::CheckResult;
use lockstorm_judge::is_control;
use lockstorm_run::Record;

/// From so many pairs on they are tested as pairs. Fewer are tested as two groups: a seed does not decide what threads do, so runs with
/// the same one have little more in common than the minutes in which they were played, and eight pairs can show much less than
/// eight runs against eight.
const PAIRS: u64 = 12;

/// What was compared, and what it shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What the two sides are called.
    pub sides: [String; 2],
    /// What is a value.
    pub unit: Unit,
    /// Whether the sides are two arms of the same runs, and not two groups of runs.
    pub is_of_arms: bool,
    /// In which settings the sides differ: that is what is compared.
    pub settings: Vec<Setting>,
    /// In what else they differ, so that a difference may come from that.
    pub unlike: Vec<String>,
    /// How many values each side has.
    pub values: [usize; 2],
    /// The fewest values of each side with which a primary figure could be shown to differ.
    pub takes: u64,
    /// By what the machine was slower or faster in the runs of the second side, which were played before or after those of the first.
    pub machine: Vec<MachineDiffers>,
    /// How many arms of the first side the second one lacks.
    pub missing: usize,
    /// What was left out, and why.
    pub left_out: Vec<String>,
    /// The figures, the primary ones of each arm first.
    pub rows: Vec<Row>,
}

/// What is a value of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A run of one of two groups.
    Runs,
    /// Two runs with the same seed, or two arms of the same run.
    Pairs,
    /// A part of one run.
    Parts,
}

/// A figure of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The arm.
    pub arm: String,
    /// The figure.
    pub figure: Compared,
    /// Whether the comparison is about it. What the others show is exploratory: so many are looked at that some differ by chance.
    pub is_primary: bool,
    /// Both sides; null for one that has no value.
    pub sides: [Option<Spread>; 2],
    /// By how much the second is more, the median of all differences; null if a side has no value.
    pub difference: Option<f64>,
    /// The 95 % interval of that; null with too few values.
    pub interval: Option<[f64; 2]>,
    /// The probability of such a difference, or a larger one, if nothing differs; of primary figures adjusted for their number.
    pub p: Option<f64>,
    /// Whether the second side does no worse: it is better, or all values are the same. Inconclusive: not shown, differences that the
    /// comparison is not about, and times that changes of the machine itself could explain.
    pub result: CheckResult,
    /// Whether the two are shown to differ.
    pub differs: bool,
    /// If nothing is shown: how many runs of each side would show a difference as large as this one, in four of five comparisons; null if 200
    /// are too few, and of parts: a longer run shows more, or several.
    pub needs: Option<u64>,
    /// Why a side has no value.
    #[serde(skip)]
    pub no_value: Option<NoValue>,
}

/// The values of a side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The middle one; of an even number the mean of the two in the middle.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// How many there are.
    pub n: usize,
    /// How many are above zero.
    pub above_zero: usize,
}

impl Comparison {
    /// Compares two groups of runs, which have these names unless they differ in one setting, which is their name then. They must not be
    /// empty.
    pub fn of_groups(names_of_sides: [&str; 2], [a, b]: [&[Record]; 2]) -> Self {
        let differing = match (a.first(), b.first()) {
            (Some(a), Some(b)) => Differing::of(a, b),
            _ => Differing::default(),
        };
        let names = |runs: &[Record]| -> Vec<String> { runs.first().map_or_else(Vec::new, names) };
        let (ours, theirs) = (names(a), names(b));
        let mut left_out = [left_out(a), left_out(b)].concat();
        let alone = |one: &[String], other: &[String]| -> Vec<String> {
            let alone = one.iter().filter(|name| !other.contains(name));
            alone
                .map(|name| format!("{name}: only one side has this arm"))
                .collect()
        };
        left_out.extend(alone(&ours, &theirs));
        left_out.extend(alone(&theirs, &ours));
        let arms: Vec<&String> = ours.iter().filter(|name| theirs.contains(name)).collect();
        let seeds = |runs: &[Record]| runs.iter().map(|run| run.seed).collect::<Vec<_>>();
        let (seeds_a, seeds_b) = (seeds(a), seeds(b));
        let set = |seeds: &[u64]| seeds.iter().copied().collect::<BTreeSet<_>>();
        let is_paired =
            set(&seeds_a).len() == a.len() && set(&seeds_b).len() == b.len() && set(&seeds_a) == set(&seeds_b);
        let mut samples = Vec::new();
        for &arm in &arms {
            let primary = primary(&a[0], arm, false);
            for (figure, metric, is_primary) in figures(&primary) {
                let of = |runs: &[Record]| runs.iter().map(|run| of_run(run, arm, metric)).collect::<Vec<_>>();
                let mut by_seed: Vec<(u64, Value)> = seeds_b.iter().copied().zip(of(b)).collect();
                if is_paired {
                    let place = |seed: &u64| seeds_a.iter().position(|other| other == seed);
                    by_seed.sort_by_key(|(seed, _)| place(seed));
                }
                let values = [of(a), by_seed.into_iter().map(|(_, value)| value).collect()];
                samples.push(Sample {
                    arm: arm.clone(),
                    figure,
                    is_primary,
                    values,
                });
            }
        }
        let (unit, takes, mut rows) = judged(&samples, is_paired, Unit::Pairs);
        let machine = machine_differs([a, b], &arms);
        for row in &mut rows {
            row.doubt(&machine);
        }
        let sides = match &differing.settings[..] {
            [only] => [0, 1].map(|side| only.of_side(side)),
            _ => names_of_sides.map(str::to_owned),
        };
        Self {
            sides,
            unit,
            is_of_arms: false,
            settings: differing.settings,
            unlike: [differing.scenario, differing.machine].concat(),
            values: [a.len(), b.len()],
            machine,
            missing: ours.iter().filter(|name| !theirs.contains(name)).count(),
            takes,
            left_out,
            rows,
        }
    }

    /// Compares two arms of the same runs; of one run by its parts.
    ///
    /// # Errors
    /// The runs have no arm of a name: the sentence lists those that there are.
    pub fn of_arms(runs: &[Record], arms: [&str; 2]) -> Result<Self, String> {
        let Some(first) = runs.first() else {
            return Err("there is no run to compare arms of".to_owned());
        };
        let index = |name: &str| {
            let found = first.arms.iter().position(|arm| arm.name == name);
            found.ok_or_else(|| format!("there is no arm \"{name}\"; the arms are {}", names(first).join(", ")))
        };
        let places = [index(arms[0])?, index(arms[1])?];
        let arm = format!("{} against {}", arms[1], arms[0]);
        let sample = |figure: Compared, is_primary: bool, values: [Vec<Value>; 2]| Sample {
            arm: arm.clone(),
            figure,
            is_primary,
            values,
        };
        let mut left_out = left_out(runs);
        let mut samples = Vec::new();
        let by = if let [only] = runs {
            for figure in OfAPart::ALL {
                let parts = parts(only, places, figure);
                let side = |side: usize| parts.iter().map(|part| Ok(part[side])).collect();
                samples.push(sample(Compared::Part(figure), true, [side(0), side(1)]));
            }
            left_out
                .push("damage, double holds and how long a lock was not available: one run has one of each".to_owned());
            Unit::Parts
        } else {
            // Who names a control wants to see it compared; what one of the two lacks is not.
            let [one, other] = arms.map(|arm| primary(first, arm, true));
            let both: Vec<Metric> = one.into_iter().filter(|metric| other.contains(metric)).collect();
            for (figure, metric, is_primary) in figures(&both) {
                let of = |arm: &str| runs.iter().map(|run| of_run(run, arm, metric)).collect();
                samples.push(sample(figure, is_primary, arms.map(of)));
            }
            Unit::Pairs
        };
        let (unit, takes, rows) = judged(&samples, true, by);
        let values = [0, 1].map(|side| samples.first().map_or(0, |sample| sample.values[side].len()));
        Ok(Self {
            sides: arms.map(str::to_owned),
            unit,
            is_of_arms: true,
            settings: Vec::new(),
            unlike: Vec::new(),
            values,
            machine: Vec::new(),
            missing: 0,
            takes,
            left_out,
            rows,
        })
    }

    /// Whether a figure that the comparison is about has become worse.
    pub fn is_worse(&self) -> bool {
        self.rows.iter().any(Row::is_worse)
    }

    /// Whether something differs of which nobody knows whether the machine is to blame.
    pub fn is_of_the_machine(&self) -> bool {
        self.rows.iter().any(Row::is_of_the_machine)
    }

    /// Whether there are too few values to show anything, whatever they are.
    pub fn is_blind(&self) -> bool {
        let [a, b] = self.values;
        (a.min(b) as u64) < self.takes && self.rows.iter().any(|row| row.is_primary && row.is_open())
    }

    /// Whether nothing can be said of an arm or a primary figure that the first side has.
    pub fn misses_something(&self) -> bool {
        self.is_blind() || self.missing > 0 || self.mute_rows().next().is_some()
    }

    /// The primary figures of the first side of which nothing can be said: the second one lacks them, or so many runs were left out that too
    /// few remain.
    pub fn mute_rows(&self) -> impl Iterator<Item = &Row> {
        let [a, b] = self.values;
        let is_mute = move |row: &&Row| match row.sides {
            [Some(_), None] => true,
            [Some(one), Some(other)] => {
                let left = one.n.min(other.n);
                left < a.min(b) && (left as u64) < self.takes
            }
            _ => false,
        };
        self.rows.iter().filter(|row| row.is_primary).filter(is_mute)
    }

    /// Whether there is nothing that both sides have.
    pub fn is_empty(&self) -> bool {
        !self.rows.iter().any(Row::has_values)
    }
}

impl Row {
    /// Whether both sides have a value.
    pub const fn has_values(&self) -> bool {
        matches!(self.sides, [Some(_), Some(_)])
    }

    /// Whether the second side is worse.
    pub fn is_worse(&self) -> bool {
        self.result == CheckResult::Failed
    }

    /// Whether it is better.
    pub fn is_better(&self) -> bool {
        self.result == CheckResult::Held && self.differs
    }

    /// Whether all values of both sides are the same.
    pub fn is_same(&self) -> bool {
        self.result == CheckResult::Held && !self.differs
    }

    /// Whether they differ, but the machine does so, too, in the same direction: times then say nothing.
    pub fn is_of_the_machine(&self) -> bool {
        self.is_primary && self.differs && self.result == CheckResult::Inconclusive
    }

    /// Whether a side has one run, which says nothing about others.
    pub fn is_of_one_run(&self) -> bool {
        let is_one = |side: &Option<Spread>| side.is_some_and(|side| side.n == 1);
        self.has_values() && !self.is_same() && self.sides.iter().any(is_one)
    }

    /// Whether they are not distinguishable.
    pub fn is_open(&self) -> bool {
        let is_shown = self.differs || self.result != CheckResult::Inconclusive;
        self.has_values() && !is_shown && !self.is_of_one_run()
    }

    /// Takes back what times show in the direction in which the machine differs, too.
    fn doubt(&mut self, machine: &[MachineDiffers]) {
        let is_time = self.figure.is_of_time() && !self.figure.is_damage();
        let is_slower = self.is_worse();
        if (is_slower || self.is_better()) && is_time && machine.iter().any(|differs| differs.is_slower == is_slower) {
            self.result = CheckResult::Inconclusive;
        }
    }
}

/// The names of the arms.
fn names(run: &Record) -> Vec<String> {
    run.arms.iter().map(|arm| arm.name.clone()).collect()
}

/// The primary figures of an arm; of a control only if somebody asks `for_controls`.
fn primary(run: &Record, arm: &str, for_controls: bool) -> Vec<Metric> {
    let spec = run.scenario.arms.iter().find(|spec| spec.name == arm);
    let spec = spec.filter(|spec| for_controls || !is_control(&run.scenario, spec));
    spec.map_or_else(Vec::new, |spec| Compared::primary(run, spec))
}

/// All figures, the primary ones first.
fn figures(primary: &[Metric]) -> Vec<(Compared, Metric, bool)> {
    // Of a figure that has a peak only that is compared.
    let is_other =
        |metric: &&Metric| !primary.contains(metric) && metric.peak() == **metric && metric.row().group != Group::Now;
    let others = Metric::VARIANTS.iter().filter(is_other);
    let all = primary
        .iter()
        .map(|metric| (metric, true))
        .chain(others.map(|metric| (metric, false)));
    all.map(|(metric, is_primary)| (Compared::Run(*metric), *metric, is_primary))
        .collect()
}

/// What of these runs does not count.
fn left_out(runs: &[Record]) -> Vec<String> {
    let mut all = Vec::new();
    let cut = runs.iter().filter(|run| run.interrupted).count();
    if cut > 0 {
        all.push(format!(
            "{}: what came later is missing",
            counted(cut as u64, "interrupted run", "interrupted runs")
        ));
    }
    for run in runs.iter().filter(|run| !run.interrupted) {
        let doubts = run.arms.iter().filter_map(|arm| Some((&arm.name, arm.doubt.as_ref()?)));
        all.extend(doubts.map(|(arm, why)| format!("{arm} in the run with {}: {why}", run.which())));
    }
    all
}

/// The values of a figure on both sides; of pairs those in the same place belong together.
struct Sample {
    arm: String,
    figure: Compared,
    is_primary: bool,
    values: [Vec<Value>; 2],
}

type Value = Result<f64, NoValue>;

impl Sample {
    fn known(&self) -> [Vec<f64>; 2] {
        [0, 1].map(|side| self.values[side].iter().copied().flatten().collect())
    }

    /// Why a side has no value, if one has none.
    fn no_value(&self) -> Option<NoValue> {
        let side = self.values.iter().find(|side| side.iter().all(Result::is_err))?;
        side.iter().find_map(|value| value.err())
    }

    /// The differences of those pairs of which both are known.
    fn differences(&self) -> Vec<f64> {
        let pairs = self.values[0].iter().zip(&self.values[1]);
        pairs
            .filter_map(|(one, other)| Some((*other).ok()? - (*one).ok()?))
            .collect()
    }

    /// Whether nothing can differ: a side has no value, or all values of both are the same.
    fn is_flat(&self) -> bool {
        let [a, b] = self.known();
        a.is_empty() || b.is_empty() || a.iter().chain(&b).all(|value| value.total_cmp(&a[0]).is_eq())
    }

    fn shift(&self, by: Unit) -> Option<Shift> {
        let [a, b] = self.known();
        match by {
            Unit::Runs => unpaired(&a, &b),
            Unit::Pairs | Unit::Parts => paired(&self.differences()),
        }
    }
}

/// How these samples are tested, how many values that takes at least, and their rows. What `are_pairs` is tested as pairs if there are
/// enough of them to show anything, else as two groups.
fn judged(samples: &[Sample], are_pairs: bool, pairs: Unit) -> (Unit, u64, Vec<Row>) {
    // A figure that can't differ, whichever run is on which side, takes nothing from the others (Tarone 1990).
    let is_tested = |sample: &&Sample| sample.is_primary && !sample.is_flat();
    let tests = samples.iter().filter(is_tested).count();
    let known = samples
        .iter()
        .filter(is_tested)
        .map(|sample| sample.differences().len() as u64);
    let known = known.min().unwrap_or(0);
    let by = match pairs {
        Unit::Parts => Unit::Parts,
        _ if are_pairs && known >= PAIRS.max(fewest(tests, true)) => Unit::Pairs,
        _ => Unit::Runs,
    };
    let shifts: Vec<Option<Shift>> = samples.iter().map(|sample| sample.shift(by)).collect();
    let primary: Vec<usize> = (0..samples.len())
        .filter(|place| samples[*place].is_primary && !samples[*place].is_flat())
        .collect();
    let p: Vec<f64> = primary
        .iter()
        .map(|place| shifts[*place].map_or(1.0, |shift| shift.p))
        .collect();
    let adjusted = holm(&p);
    let p_of = |place: usize| primary.iter().position(|other| *other == place).map(|at| adjusted[at]);
    let row = |(place, sample): (usize, &Sample)| {
        let (sides, shift) = (sample.known().map(|values| Spread::of(&values)), shifts[place]);
        let p = p_of(place).or_else(|| shift.map(|shift| shift.p));
        let [a, b] = sample.known().map(|values| values.len());
        let can_tell = a.min(b) > 1 && !sample.is_flat();
        let shown = shift.filter(|_| can_tell && p.unwrap_or(1.0) <= ALPHA);
        let is_better = |shift: Shift| (shift.more > 0.5) == sample.figure.is_better_larger();
        let result = match shown {
            Some(shift) if sample.is_primary && is_better(shift) => CheckResult::Held,
            Some(_) if sample.is_primary => CheckResult::Failed,
            None if a.min(b) > 0 && sample.is_flat() => CheckResult::Held,
            _ => CheckResult::Inconclusive,
        };
        // Of a longer run the parts are longer, and not more.
        let open = shift.filter(|_| can_tell && shown.is_none() && by != Unit::Parts);
        let needs = open.and_then(|shift| needed(shift.more, tests, by != Unit::Runs));
        Row {
            arm: sample.arm.clone(),
            figure: sample.figure,
            is_primary: sample.is_primary,
            sides,
            difference: shift.map(|shift| shift.estimate),
            interval: shift.and_then(|shift| shift.interval),
            p: p.filter(|_| shift.is_some()),
            result,
            differs: shown.is_some(),
            needs: needs.map(|needs| needs.max(a.min(b) as u64 + 1)),
            no_value: sample.no_value(),
        }
    };
    let rows = samples.iter().enumerate().map(row).collect();
    (by, fewest(tests, by != Unit::Runs), rows)
}

impl Spread {
    fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Self {
            median: median(&sorted)?,
            least: *sorted.first()?,
            most: *sorted.last()?,
            n: sorted.len(),
            above_zero: sorted.iter().filter(|value| **value > 0.0).count(),
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::super::machine::Sign;
    use super::*;

    const LOST: Compared = Compared::Run(Metric::LostUpdatesPeak);
    const P99: Compared = Compared::Run(Metric::AcquireP99);

    fn sample(figure: Compared, a: &[f64], b: &[f64]) -> Sample {
        let values = [a, b].map(|values| values.iter().copied().map(Ok).collect());
        Sample {
            arm: "single".to_owned(),
            figure,
            is_primary: true,
            values,
        }
    }

    /// What a row shows, in a word.
    fn word(row: &Row) -> &'static str {
        let words = [
            (row.is_worse(), "worse"),
            (row.is_better(), "better"),
            (row.is_same(), "same"),
            (row.is_of_the_machine(), "machine"),
            (row.is_of_one_run(), "one run"),
            (row.is_open(), "open"),
            (!row.has_values(), "unknown"),
        ];
        let mut are_so = words.into_iter().filter(|(is_so, _)| *is_so);
        let (Some((_, word)), None) = (are_so.next(), are_so.next()) else {
            panic!("one word for each: {row:?}");
        };
        word
    }

    fn rows(samples: &[Sample]) -> Vec<Row> {
        judged(samples, false, Unit::Pairs).2
    }

    fn verdicts(samples: &[Sample]) -> Vec<&'static str> {
        rows(samples).iter().map(word).collect()
    }

    #[test]
    fn how_long_a_lock_was_unavailable_depends_on_the_machine_too() {
        for (metric, verdict) in [(Metric::UnavailableMs, "machine"), (Metric::LostUpdatesPeak, "worse")] {
            let [a, b] = [20, 500].map(|from| (from..from + 12).map(f64::from).collect::<Vec<_>>());
            let mut row = rows(&[sample(Compared::Run(metric), &a, &b)]).remove(0);
            assert_eq!(word(&row), "worse");
            row.doubt(&[MachineDiffers {
                sign: Sign::GeneratorLag,
                is_slower: true,
                p: 0.001,
            }]);
            assert_eq!(word(&row), verdict);
        }
    }

    #[test]
    fn damage_in_all_of_eight_runs_against_none_is_worse_and_the_other_way_round_better() {
        let (none, some) = ([0.0; 8], [12.0, 3.0, 20.0, 9.0, 7.0, 1.0, 14.0, 8.0]);
        assert_eq!(verdicts(&[sample(LOST, &none, &some)]), ["worse"]);
        assert_eq!(verdicts(&[sample(LOST, &some, &none)]), ["better"]);
        assert_eq!(verdicts(&[sample(LOST, &none, &none)]), ["same"]);
        assert_eq!(verdicts(&[sample(LOST, &[0.0], &[5.0])]), ["one run"]);
        assert_eq!(verdicts(&[sample(LOST, &[], &[5.0])]), ["unknown"]);
        // Three against three can't show it; six can, of one figure.
        let three = sample(LOST, &none[..3], &some[..3]);
        let three = rows(&[three]).remove(0);
        assert_eq!((word(&three), three.needs), ("open", Some(5)));
    }

    #[test]
    fn what_can_not_differ_takes_nothing_from_the_other_figures() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]);
        let flat = || sample(LOST, &[0.0; 5], &[0.0; 5]);
        assert_eq!(
            verdicts(&[flat(), sample(P99, &a, &b), flat()]),
            ["same", "worse", "same"]
        );
        let two = [sample(LOST, &b, &a), sample(P99, &a, &b)];
        assert_eq!(verdicts(&two), ["open", "open"]);
    }

    #[test]
    fn pairs_are_tested_as_pairs_only_if_there_are_enough_of_them() {
        let values = |n: u32| -> [Vec<f64>; 2] {
            [0.0, 1.0].map(|more| (0..n).map(|run| f64::from(run % 5) * 100.0 + more).collect())
        };
        let of = |n: u32| {
            let [a, b] = values(n);
            judged(&[sample(P99, &a, &b)], true, Unit::Pairs)
        };
        assert_eq!(of(7).0, Unit::Runs);
        assert_eq!(of(11).0, Unit::Runs);
        let (unit, _, rows) = of(12);
        // Each pair differs by 1, which is little beside what runs differ by.
        assert_eq!((unit, word(&rows[0])), (Unit::Pairs, "worse"));
        assert_eq!(rows[0].difference, Some(1.0));
        // Pairs of which one run is not known are none.
        let [a, b] = values(14);
        let mut few = sample(P99, &a, &b);
        few.values[0][..6].fill(Err(NoValue::LeftOut));
        few.values[1][8..].fill(Err(NoValue::LeftOut));
        assert_eq!(few.differences().len(), 2);
        assert_eq!(judged(&[few], true, Unit::Pairs).0, Unit::Runs);
    }

    /// Eight runs a side, played in turns on a machine that remembers, four figures each.
    #[test]
    fn equal_groups_differ_in_two_of_a_hundred_at_most() {
        let noise = |rng: &mut SmallRng| (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        for stays in [0.0_f64, 0.7, 0.9] {
            let mut alarms = 0;
            for seed in 0..1000 {
                let mut rng = SmallRng::seed_from_u64(seed);
                let samples = (0..4).map(|_| {
                    let (mut now, mut sides) = (0.0, [Vec::new(), Vec::new()]);
                    for run in 0..16_usize {
                        now = stays * now + (1.0 - stays * stays).sqrt() * noise(&mut rng);
                        // A B B A
                        sides[usize::from(matches!(run % 4, 1 | 2))].push(100.0 + 10.0 * now);
                    }
                    sample(P99, &sides[0], &sides[1])
                });
                let is_alarm = |word: &&str| ["worse", "better"].contains(word);
                alarms += usize::from(verdicts(&samples.collect::<Vec<_>>()).iter().any(is_alarm));
            }
            assert!(alarms <= 20, "{alarms} of 1000, {stays}");
        }
    }
}
