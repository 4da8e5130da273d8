//! The settings that are worth looking at.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::elapsed;
use super::question::Question;
use super::row::{self, Row, Shortfall};
use super::setting::{Renewal, Setting};
use super::wish::Wish;
use lockstorm_data::metrics::units::rounded;

/// Steps of a decade below 10 s, which are 1.33 to 1.67 apart.
const STEPS: [u64; 6] = [10, 15, 20, 30, 50, 70];
/// The TTLs from there on, in seconds.
const LONG: [u64; 24] = [
    10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 420, 600, 900, 1200, 1800, 2700, 3600, 5400, 7200, 10_800, 18_000,
    28_800, 43_200, 86_400,
];
/// How many TTLs of a renewal are shown at most: the last ones.
const MOST: usize = 12;

/// For each of these renewals, and if none of their settings will do for each of `more`, settings with round TTLs: two steps further than
/// the first one whose risk is low enough, proven or not, and that survives a pause as long as it should; where a takeover was asked for,
/// one step further than that. If there would be too many, the longer ones. Without renewal no TTL is shorter than the median of a section,
/// since half of the sections would outlast it; a lock that is renewed may be much shorter than its section.
///
/// Where no round TTL meets both the risk and a takeover, one follows that leaves a little room, or else for each renewal the shortest one
/// that meets the risk.
pub(super) fn rows(question: &Question, renewals: &[Renewal], more: &[Renewal], looked_at: &AtomicU64) -> Vec<Row> {
    let grid = Grid {
        question,
        times: elapsed::until_quorum(&question.round_trip, question.nodes),
        looked_at,
    };
    let mut rows = grid.of_renewals(renewals);
    if !rows.iter().any(Row::is_fit) {
        rows.extend(grid.of_renewals(more));
    }
    rows
}

struct Grid<'a> {
    question: &'a Question,
    times: Vec<(f64, f64)>,
    looked_at: &'a AtomicU64,
}

impl Grid<'_> {
    fn row(&self, ttl: Duration, renewal: Renewal) -> Row {
        self.looked_at.fetch_add(1, Ordering::Relaxed);
        row::with_times(self.question, &self.times, Setting { ttl, renewal })
    }

    fn of_renewals(&self, renewals: &[Renewal]) -> Vec<Row> {
        let mut groups: Vec<Vec<Row>> = renewals.iter().map(|renewal| self.round(*renewal)).collect();
        if let Some(most) = self.question.goal.takeover
            && !groups.iter().flatten().any(Row::is_fit)
        {
            let mut added: Vec<Option<Row>> = renewals.iter().map(|renewal| self.roomy(*renewal, most)).collect();
            if added.iter().all(Option::is_none) {
                let shortest = |(renewal, rows): (&Renewal, &Vec<Row>)| self.shortest(*renewal, rows);
                added = renewals.iter().zip(&groups).map(shortest).collect();
            }
            for (rows, row) in groups.iter_mut().zip(added) {
                rows.extend(row);
                rows.sort_by_key(|row| row.setting.ttl);
            }
        }
        groups.concat()
    }

    /// The TTL that a lock with this renewal is longer than, in seconds.
    fn least(&self, renewal: Renewal) -> f64 {
        match renewal {
            Renewal::Off => self.question.hold.quantile(0.5),
            Renewal::Fraction(_) => 0.0,
            Renewal::Every(interval) => interval.as_secs_f64(),
        }
    }

    fn round(&self, renewal: Renewal) -> Vec<Row> {
        let (mut rows, mut fits, mut found) = (Vec::new(), false, None);
        let least = self.least(renewal);
        for ttl in round_ttls().filter(|ttl| ttl.as_secs_f64() > least) {
            let row = self.row(ttl, renewal);
            let (may_do, survives_pause) = (may_do(&row), !row.lacks.contains(&Wish::Pause));
            rows.push(row);
            if may_do {
                fits = true;
                if survives_pause {
                    found.get_or_insert(rows.len());
                }
            }
            let is_enough = match self.question.goal.takeover {
                // Up to the longest that may be waited the longer ones are cheaper; one more is shown.
                Some(most) => fits && ttl.as_secs_f64() > most,
                None => found.is_some_and(|found| rows.len() >= found + 2),
            };
            if is_enough {
                break;
            }
        }
        rows.split_off(rows.len().saturating_sub(MOST))
    }

    /// One a little shorter than the longest that may be waited.
    fn roomy(&self, renewal: Renewal, most: f64) -> Option<Row> {
        let part = |tenths: u64| Duration::from_millis(rounded(most * 100.0 * tenths as f64));
        let longer = [9, 8]
            .map(part)
            .into_iter()
            .filter(|ttl| ttl.as_secs_f64() > self.least(renewal));
        longer.map(|ttl| self.row(ttl, renewal)).find(Row::is_fit)
    }

    /// The shortest one that meets the risk, to 1 ms, by bisection between two of these round ones; a part of a millisecond no server knows.
    fn shortest(&self, renewal: Renewal, rows: &[Row]) -> Option<Row> {
        let goal = self.question.goal.overlaps_per_day;
        let meets = |row: &Row| may_do(row) && row.overlaps_per_day.high <= goal;
        let first = rows.iter().position(meets)?;
        let (short, long) = match (first, renewal) {
            (0, Renewal::Every(interval)) => (interval, rows[0].setting.ttl),
            (0, _) => (Duration::ZERO, rows[0].setting.ttl),
            _ => (rows[first - 1].setting.ttl, rows[first].setting.ttl),
        };
        let (mut fails, mut does, mut best) = (short.as_millis(), long.as_millis(), None);
        while does - fails > 1 {
            let middle = u128::midpoint(fails, does);
            let ttl = Duration::from_millis(u64::try_from(middle).unwrap_or(u64::MAX));
            let row = self.row(ttl, renewal);
            if meets(&row) {
                (does, best) = (middle, Some(row));
            } else {
                fails = middle;
            }
        }
        best
    }
}

/// From 10 ms to a day.
fn round_ttls() -> impl Iterator<Item = Duration> {
    let short = (0..3).flat_map(|decade| STEPS.map(|step| Duration::from_millis(step * 10_u64.pow(decade))));
    short.chain(LONG.map(Duration::from_secs))
}

fn may_do(row: &Row) -> bool {
    let fails = |shortfall: &Shortfall| matches!(shortfall, Shortfall::Risk | Shortfall::TooShort);
    !row.shortfalls.iter().any(fails)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pauses::Pauses;
    use crate::spread::Spread;

    fn log_normal(median: f64, sigma: f64) -> Spread {
        Spread::LogNormal { median, sigma }
    }

    fn question(takeover: Option<f64>) -> Question {
        let mut question = Question::new(log_normal(0.4, 0.692), log_normal(0.000_4, 0.4), 3);
        question.pauses = Pauses {
            per_second: 20.0 / 3600.0,
            length: log_normal(0.2, 1.0),
            in_holds: false,
        };
        question.per_second = 20.0;
        question.goal.overlaps_per_day = 1.0 / 30.0;
        question.goal.takeover = takeover;
        question
    }

    fn searched(question: &Question, renewals: &[Renewal], more: &[Renewal]) -> (Vec<Row>, u64) {
        let looked_at = AtomicU64::new(0);
        let rows = rows(question, renewals, more, &looked_at);
        (rows, looked_at.into_inner())
    }

    const RENEWALS: [Renewal; 3] = [Renewal::Off, Renewal::Fraction(2), Renewal::Fraction(3)];
    const MORE: [Renewal; 2] = [Renewal::Fraction(5), Renewal::Fraction(9)];

    #[test]
    fn of_each_renewal_the_shortest_that_meets_the_risk_is_found() {
        let question = question(Some(3.0));
        let (rows, _) = searched(&question, &RENEWALS, &MORE);
        for renewal in RENEWALS.iter().chain(&MORE) {
            let meets = |row: &Row| row.overlaps_per_day.high <= question.goal.overlaps_per_day;
            let shortest = rows.iter().find(|row| row.setting.renewal == *renewal && meets(row));
            let ttl = shortest.unwrap_or_else(|| panic!("{renewal}")).setting.ttl;
            let shorter = Setting {
                ttl: ttl.saturating_sub(Duration::from_millis(1)),
                renewal: *renewal,
            };
            assert!(!meets(&row::of(&question, shorter)), "{renewal} {ttl:?}");
        }
    }

    /// What is worked out is what takes the time.
    #[test]
    fn no_setting_is_looked_at_twice_and_few_that_are_not_shown() {
        let (rows, looked_at) = searched(&question(None), &RENEWALS, &MORE);
        assert!(looked_at <= 3 * 40 && rows.len() <= 3 * MOST, "{looked_at}");
        // A day has fewer than 2^27 ms.
        let (rows, looked_at) = searched(&question(Some(3.0)), &RENEWALS, &MORE);
        assert!(looked_at <= 5 * (40 + 2 + 27), "{looked_at}");
        let settings: Vec<Setting> = rows.iter().map(|row| row.setting).collect();
        let twice = |setting: &&Setting| settings.iter().filter(|other| other == setting).count() > 1;
        assert_eq!(settings.iter().find(twice), None);
    }
}
