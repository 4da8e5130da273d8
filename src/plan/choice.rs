use serde::Serialize;

use super::question::Question;
use super::row::{Row, Shortfall};

/// Which setting is recommended, as a place in the rows of the plan; or what comes nearest, and why it does not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The shortest TTL that achieves the goal; of the same TTL, the setting with the fewest renewals.
    Best(usize),
    /// The risk is met, but no setting that meets it is short enough for takeovers; this is the shortest.
    TakeoverTooLong(usize),
    /// The risk is met by the fitted tail only; this is the shortest such setting.
    Unproven(usize),
    /// Only nodes that forget speak against this setting, the shortest such.
    TwoHolders(usize),
    /// No setting meets the risk; this one has the least.
    TooRisky(usize),
    /// Every TTL is too short for acquires to be granted.
    TooShort,
}

impl Choice {
    /// The place of the recommended setting; `None` if none is recommended.
    #[must_use]
    pub const fn best(self) -> Option<usize> {
        match self {
            Self::Best(place) => Some(place),
            _ => None,
        }
    }
}

pub(super) fn of(question: &Question, rows: &[Row]) -> Choice {
    let meets_risk = |row: &Row| !row.shortfalls.iter().any(|shortfall| *shortfall != Shortfall::Takeover);
    let unproven = |row: &Row| row.shortfalls.contains(&Shortfall::Unproven);
    let of_use = |row: &Row| !row.shortfalls.contains(&Shortfall::TooShort);
    let is_quick = |row: &Row| question.goal.takeover.is_none_or(|most| row.takeover_worst <= most);
    shortest(rows, Row::is_fit)
        .map(Choice::Best)
        // What can be proven by measuring more comes nearer than what can't be had.
        .or_else(|| shortest(rows, |row| unproven(row) && is_quick(row)).map(Choice::Unproven))
        .or_else(|| shortest(rows, meets_risk).map(Choice::TakeoverTooLong))
        .or_else(|| shortest(rows, |row| row.shortfalls == [Shortfall::TwoHolders]).map(Choice::TwoHolders))
        .or_else(|| shortest(rows, unproven).map(Choice::Unproven))
        .or_else(|| {
            let least = |a: &(usize, &Row), b: &(usize, &Row)| a.1.overrun.p.total_cmp(&b.1.overrun.p);
            let usable = rows.iter().enumerate().filter(|(_, row)| of_use(row));
            usable.min_by(least).map(|(place, _)| Choice::TooRisky(place))
        })
        .unwrap_or(Choice::TooShort)
}

fn shortest(rows: &[Row], fits: impl Fn(&Row) -> bool) -> Option<usize> {
    let fitting = rows.iter().enumerate().filter(|(_, row)| fits(row));
    let order = |a: &(usize, &Row), b: &(usize, &Row)| {
        let cost = |row: &Row| row.renewals_per_second;
        a.1.setting
            .ttl
            .cmp(&b.1.setting.ttl)
            .then(cost(a.1).total_cmp(&cost(b.1)))
    };
    fitting.min_by(order).map(|(place, _)| place)
}
