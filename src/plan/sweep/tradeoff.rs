use serde::{Serialize, Serializer};

use super::cell::Cell;
use super::outcome::{ArmOutcome, Outcome};
use crate::formulas::wilson;
use lockstorm_data::metrics::{Alarm, Count, Figures, Metric, Quantiles, Time};
use lockstorm_data::scenario::WorkloadSpec;

/// What one arm did with one setting, over all repeats: a row of `lockstorm sweep`, and of its JSON. What is `None` is null there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tradeoff {
    /// The setting; in JSON an object with a value for each key.
    #[serde(serialize_with = "by_key")]
    pub cell: Cell,
    /// The arm.
    pub arm: String,
    /// How many times it was played.
    pub plays: usize,
    /// Plays that prove nothing good.
    pub inconclusive: usize,
    /// [Sections](Figures::sections) that had work; 0 in arms without lock nodes.
    pub sections: u64,
    /// Those of them that went on when their lock had expired.
    pub overran: u64,
    /// The 95 % interval of the part of the sections that did, 0 to 1 (Wilson 1927); `None` without sections.
    pub overran_interval: Option<[f64; 2]>,
    /// The figures by which its workload is judged, the most important first, each under its name in JSON: the damage of all plays, the
    /// worst of what is no damage; `None` if a play could not show it.
    #[serde(flatten, serialize_with = "by_name")]
    pub verdicts: Vec<(Metric, Option<f64>)>,
    /// Answers a second.
    pub throughput: f64,
    /// Those of them that sold something; `None` if the workload sells nothing.
    pub sold_per_second: Option<f64>,
    /// Those of them that found their product sold out.
    pub sold_out_per_second: Option<f64>,
    /// Requests that did not get their lock.
    pub gave_up: u64,
    /// The worst p99 of an acquire, in microseconds.
    pub acquire_p99_us: u64,
    /// How long others waited for the locks of killed app servers; `None` if no such lock was granted again.
    pub takeover: Option<Takeover>,
    /// Renewal commands a second and node.
    pub renewals_per_second: f64,
}

/// How long the locks of killed app servers were nobody's, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Takeover {
    /// The mean of the plays' medians, each counted by its number of takeovers: a result keeps no more than quantiles.
    pub p50_us: u64,
    /// The longest of all plays.
    pub max_us: u64,
}

fn by_key<S: Serializer>(cell: &Cell, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(cell.0.iter().map(|(key, value)| (key, value)))
}

fn by_name<S: Serializer>(verdicts: &[(Metric, Option<f64>)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(verdicts.iter().copied())
}

/// A row for each cell and arm, in the order of `cells`; cells that were not played are left out.
pub fn tradeoffs(cells: &[Cell], outcomes: &[Outcome], workload: &WorkloadSpec) -> Vec<Tradeoff> {
    let of_cell = |cell: &Cell| -> Vec<&Outcome> { outcomes.iter().filter(|outcome| outcome.cell == *cell).collect() };
    cells
        .iter()
        .flat_map(|cell| {
            let plays = of_cell(cell);
            let names: Vec<String> = plays
                .first()
                .map_or_else(Vec::new, |play| play.arms.iter().map(|arm| arm.name.clone()).collect());
            names.into_iter().map(move |name| sum(cell, name, &plays, workload))
        })
        .collect()
}

fn sum(cell: &Cell, arm: String, plays: &[&Outcome], workload: &WorkloadSpec) -> Tradeoff {
    let figures: Vec<(&Figures, f64)> = plays
        .iter()
        .flat_map(|play| {
            play.arms
                .iter()
                .filter(|there| there.name == arm)
                .map(|there| (&there.figures, play.elapsed))
        })
        .collect();
    let total = |of: &dyn Fn(&Figures) -> u64| figures.iter().map(|(figures, _)| of(figures)).sum::<u64>();
    let mean = |metric: Metric| -> f64 {
        figures.iter().map(|(figures, _)| metric.of(figures)).sum::<f64>() / (figures.len().max(1) as f64)
    };
    let seconds: f64 = figures.iter().map(|(_, elapsed)| elapsed).sum::<f64>().max(1e-9);
    let renewals = |figures: &Figures| -> f64 {
        let nodes = &figures.nodes;
        let sent: u64 = nodes.iter().map(|node| node.extends).sum();
        sent as f64 / (nodes.len().max(1) as f64)
    };
    let verdict = |metric: Metric| {
        let values = figures.iter().map(|(figures, _)| metric.of(figures));
        let value = if metric.is_damage() {
            values.sum()
        } else {
            values.fold(0.0, f64::max)
        };
        let shows = |figures: &Figures| match metric.row().alarm {
            Alarm::Damage(evidence) => (evidence.shows)(figures),
            _ => metric.is_known(figures),
        };
        let all_show = !figures.is_empty() && figures.iter().all(|(figures, _)| shows(figures));
        (metric, Some(value).filter(|value| *value > 0.0 || all_show))
    };
    let (verdicts, sells) = (workload.about().display().verdicts, workload.about().sells());
    let (sections, overran) = (
        // The same as [`Figures::sections`], but none in arms without lock nodes, which can't overrun.
        total(&|figures| figures.times[Time::Needed].count),
        total(&|figures| figures.counts[Count::Overran]),
    );
    Tradeoff {
        cell: cell.clone(),
        plays: plays.len(),
        inconclusive: plays.iter().filter(|play| proves_nothing(play, &arm)).count(),
        sections,
        overran,
        overran_interval: (sections > 0).then(|| wilson(overran as f64, sections as f64).into()),
        verdicts: verdicts.iter().copied().map(verdict).collect(),
        throughput: mean(Metric::Throughput),
        sold_per_second: sells.then(|| mean(Metric::SoldPerSecond)),
        sold_out_per_second: sells.then(|| mean(Metric::SoldOutPerSecond)),
        gave_up: total(&|figures| figures.counts[Count::GaveUp]),
        acquire_p99_us: figures
            .iter()
            .map(|(figures, _)| figures.acquire_us.p99)
            .max()
            .unwrap_or(0),
        takeover: takeover(figures.iter().map(|(figures, _)| figures.times[Time::Takeover])),
        renewals_per_second: figures.iter().map(|(figures, _)| renewals(figures)).sum::<f64>() / seconds,
        arm,
    }
}

fn takeover(plays: impl Iterator<Item = Quantiles>) -> Option<Takeover> {
    let (mut count, mut sum, mut max_us) = (0_u128, 0_u128, 0);
    for play in plays {
        count += u128::from(play.count);
        sum += u128::from(play.count) * u128::from(play.p50);
        max_us = play.max.max(max_us);
    }
    let p50_us = u64::try_from(sum.checked_div(count)?).unwrap_or(u64::MAX);
    Some(Takeover { p50_us, max_us })
}

/// Whether nothing good can be said of this arm in this play.
fn proves_nothing(play: &Outcome, arm: &str) -> bool {
    let is_doubted = |there: &ArmOutcome| there.name == arm && (there.doubt.is_some() || there.figures.incomplete);
    !play.inconclusive.is_empty() || play.arms.iter().any(is_doubted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::facts::Caveat;
    use lockstorm_data::metrics::Entry;
    use lockstorm_data::scenario::{Overrides, Source, parse};

    /// The workload of a built-in scenario.
    fn of(scenario: &str) -> WorkloadSpec {
        let source = Source::open(scenario).unwrap();
        parse(&source, &Overrides::default()).unwrap().workload
    }

    fn outcome(ttl: &str, figures: Figures, inconclusive: &[Caveat]) -> Outcome {
        Outcome {
            cell: Cell(vec![("ttl".to_owned(), ttl.to_owned())]),
            seed: 1,
            elapsed: 10.0,
            inconclusive: inconclusive.to_vec(),
            failed: Vec::new(),
            arms: vec![ArmOutcome {
                name: "redlock".to_owned(),
                doubt: None,
                figures,
            }],
        }
    }

    fn figures(sections: u64, overran: u64, orders: u64, is_sold_out: bool) -> Figures {
        let mut figures = Figures {
            // Some found nothing to sell.
            votes_at_release: vec![0, 0, sections + 1000],
            ledger: [(Entry::Orders, orders)].into(),
            contested: orders,
            sold_out_all: is_sold_out,
            throughput: 100.0,
            ..Figures::default()
        };
        figures.counts[Count::Overran] = overran;
        figures.times[Time::Needed].count = sections;
        figures
    }

    #[test]
    fn repeats_are_added_up_cell_by_cell_and_what_could_not_show_is_not_a_zero() {
        let plays = [
            outcome("1s", figures(100, 3, 50, true), &[]),
            outcome("2s", figures(100, 0, 0, false), &[Caveat::KeeperStopped]),
            outcome("1s", figures(300, 1, 50, true), &[]),
        ];
        let cells: Vec<Cell> = ["1s", "2s", "3s"]
            .map(|ttl| outcome(ttl, Figures::default(), &[]).cell)
            .into();
        let workload = of("failover");
        let rows = tradeoffs(&cells, &plays, &workload);
        assert_eq!(rows.len(), 2);
        let (one, two) = (&rows[0], &rows[1]);
        assert_eq!((one.plays, one.sections, one.overran, one.inconclusive), (2, 400, 4, 0));
        let [oversold, lost] = [Metric::Oversold, Metric::LostUpdates];
        assert_eq!(one.verdicts, [(oversold, Some(0.0)), (lost, Some(0.0))]);
        assert_eq!(two.verdicts, [(oversold, None), (lost, None)]);
        assert_eq!((one.throughput, two.inconclusive), (100.0, 1));
        assert_eq!((one.takeover, two.takeover), (None, None));
        let half = [
            outcome("1s", figures(1, 0, 5, true), &[]),
            outcome("1s", figures(1, 0, 5, false), &[]),
        ];
        assert_eq!(tradeoffs(&cells, &half, &workload)[0].verdicts[0], (oversold, None));
    }

    #[test]
    fn each_workload_is_judged_by_its_own_figures() {
        let mut bad = figures(100, 0, 50, false);
        bad.ledger = [
            (Entry::Orders, 50),
            (Entry::LostUpdates, 1),
            (Entry::Oversold, 2),
            (Entry::Runs, 50),
            (Entry::RunAgain, 3),
            (Entry::Payments, 50),
            (Entry::MoneyLost, 4),
        ]
        .into();
        bad.contested = 1;
        let mut worse = bad.clone();
        (bad.db_hits_per_expiry.mean, bad.db_hits_per_expiry.expiries) = (2.5, 8);
        (worse.db_hits_per_expiry.mean, worse.db_hits_per_expiry.expiries) = (1.5, 8);
        let plays = [outcome("1s", bad, &[]), outcome("1s", worse, &[])];
        let judged = |scenario: &str| {
            let row = tradeoffs(&[plays[0].cell.clone()], &plays, &of(scenario)).remove(0);
            let said = row.verdicts.iter().map(|(metric, value)| (metric.name(), *value));
            (said.collect::<Vec<_>>(), row.sold_per_second.is_some())
        };
        let inventory = vec![("oversold", Some(4.0)), ("lost_updates", Some(2.0))];
        assert_eq!(judged("failover"), (inventory, true));
        assert_eq!(judged("job-twice"), (vec![("run_again", Some(6.0))], false));
        let money = vec![
            ("money_made", Some(0.0)),
            ("money_lost", Some(8.0)),
            ("unanswered", Some(100.0)),
        ];
        assert_eq!(judged("payment"), (money, false));
        let cache = vec![("db_hits_per_expiry", Some(2.5))];
        assert_eq!(judged("stampede"), (cache, false));
    }

    #[test]
    fn takeovers_of_repeats_are_weighted_by_their_number() {
        let play = |count, p50, max| {
            let mut figures = figures(10, 0, 0, false);
            figures.times[Time::Takeover] = Quantiles {
                count,
                p50,
                max,
                ..Quantiles::default()
            };
            outcome("1s", figures, &[])
        };
        let plays = [play(3, 100, 500), play(1, 300, 300), play(0, 0, 0)];
        let rows = tradeoffs(&[plays[0].cell.clone()], &plays, &of("failover"));
        let expected = Takeover {
            p50_us: 150,
            max_us: 500,
        };
        assert_eq!(rows[0].takeover, Some(expected));
    }
}
