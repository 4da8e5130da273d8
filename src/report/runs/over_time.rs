//! What happened in the runs second by second, as curves.

use super::curves::Curves;
use super::together::Together;
use lockstorm_data::metrics::{Metric, Point, Time};
use lockstorm_run::Record;

/// The charts over time: how long acquires took by their outcome, how many were granted, the requests that were answered, the damage
/// until then. Several runs are laid over each other so that their first faults coincide, to the second.
pub(super) fn over_time(runs: &[Record], cost: Metric) -> Vec<Curves> {
    let together = Together::of(runs);
    let mut all = Vec::new();
    for (time, name, title) in [
        (Time::Acquired, "acquired", "Time to get a lock, p99 of each second"),
        (
            Time::Contended,
            "contended",
            "Time until somebody else was found to hold it, p99",
        ),
        (Time::NoQuorum, "no-quorum", "Time until refused for lack of nodes, p99"),
        (Time::Unknown, "unknown", "Time until given up without knowing, p99"),
    ] {
        let p99 = |bin: &[&Point]| {
            let worst = bin.iter().map(|point| point.times[time].p99).max()?;
            (worst > 0).then_some(f64::from(worst) / 1e6)
        };
        all.push(Curves {
            is_log: true,
            ..together.curves(name, title, "", &p99)
        });
    }
    let granted = |bin: &[&Point]| {
        let sum = |of: fn(&Point) -> u64| bin.iter().map(|point| of(point)).sum::<u64>() as f64;
        let refused = sum(|point| point.outcomes.no_quorum + point.outcomes.unknown + point.outcomes.expired);
        let granted = sum(|point| point.outcomes.acquired);
        (granted + refused > 0.0).then_some(100.0 * granted / (granted + refused))
    };
    let answered = |bin: &[&Point]| Some(bin.iter().map(|point| point.answered).sum::<u64>() as f64 / bin.len() as f64);
    let damage = |bin: &[&Point]| Some(bin.iter().filter_map(|point| point.of(cost)).sum::<u64>() as f64);
    all.push(Curves {
        most: Some(100.0),
        ..together.curves(
            "available",
            "Granted, of the acquires that were not contended",
            "%",
            &granted,
        )
    });
    all.push(together.curves("answered", "Requests answered", "a second", &answered));
    let until_then = format!("Damage until then: {}", cost.title_by_second());
    let damage = together.summed().curves("damage", &until_then, "", &damage);
    let is_any = damage
        .lines
        .iter()
        .flat_map(|line| &line.spots)
        .any(|spot| spot.range.1 > 0.0);
    all.extend(is_any.then_some(damage));
    all.retain(|curves| !curves.lines.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let text = include_str!("../../../tests/fuzz/seeds/record/short-run.json");
        serde_json::from_str(text).expect("a record")
    }

    #[test]
    fn charts_show_what_the_record_has() {
        let runs = [record()];
        let charts = over_time(&runs, Metric::LostUpdates);
        let answered = charts.iter().find(|curves| curves.title == "Requests answered");
        for line in &answered.expect("this chart").lines {
            let drawn: f64 = line.spots.iter().map(|spot| spot.value).sum();
            let points = runs[0].arms[line.arm].series.iter().filter(|point| point.time >= 0);
            let counted: u64 = points.map(|point| point.answered).sum();
            assert!((drawn - counted as f64).abs() < 1e-6, "{drawn} for {counted}");
        }
    }
}
