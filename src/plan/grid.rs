//! The settings that are worth looking at.

use std::time::Duration;

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

/// For each of these renewals settings with round TTLs: two steps further than the first one whose risk is low enough, proven or not,
/// and that survives a pause as long as it should; where a takeover was asked for, one step further than that. If there would be too many, the longer ones. Without renewal no TTL is shorter than the
/// median of a section, since half of the sections would outlast it; a lock that is renewed may be much shorter than its section.
pub fn grid(question: &Question, renewals: &[Renewal]) -> Vec<Setting> {
    let mut settings: Vec<Vec<Setting>> = renewals.iter().map(|renewal| of_renewal(question, *renewal)).collect();
    if !settings.iter().flatten().any(|setting| will_do(question, setting)) {
        for (settings, renewal) in settings.iter_mut().zip(renewals) {
            settings.extend(between(question, *renewal));
            settings.sort_by_key(|setting| setting.ttl);
        }
    }
    settings.concat()
}

fn of_renewal(question: &Question, renewal: Renewal) -> Vec<Setting> {
    let shortest = match renewal {
        Renewal::Off => question.hold.quantile(0.5),
        Renewal::Fraction(_) => 0.0,
        Renewal::Every(interval) => interval.as_secs_f64(),
    };
    let (mut settings, mut fits, mut found) = (Vec::new(), false, None);
    for ttl in round_ttls().filter(|ttl| ttl.as_secs_f64() > shortest) {
        let setting = Setting { ttl, renewal };
        let row = row::of(question, setting);
        settings.push(setting);
        if may_do(&row) {
            fits = true;
            if !row.lacks.contains(&Wish::Pause) {
                found.get_or_insert(settings.len());
            }
        }
        let is_enough = match question.goal.takeover {
            // Up to the longest that may be waited the longer ones are cheaper; one more is shown.
            Some(most) => fits && ttl.as_secs_f64() > most,
            None => found.is_some_and(|found| settings.len() >= found + 2),
        };
        if is_enough {
            break;
        }
    }
    settings.split_off(settings.len().saturating_sub(MOST))
}

/// What a table of round TTLs would miss: one a little shorter than the longest that may be waited.
fn between(question: &Question, renewal: Renewal) -> Option<Setting> {
    let most = question.goal.takeover?;
    let part = |tenths: u64| Setting {
        ttl: Duration::from_millis(rounded(most * 100.0 * tenths as f64)),
        renewal,
    };
    [9, 8].map(part).into_iter().find(|setting| will_do(question, setting))
}

/// Whether its risk is low enough, and its takeover short enough.
fn will_do(question: &Question, setting: &Setting) -> bool {
    let row = row::of(question, *setting);
    may_do(&row) && question.goal.takeover.is_none_or(|most| row.longest_wait() <= most)
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
