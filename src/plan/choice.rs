use serde::Serialize;

use super::question::Question;
use super::row::{Row, Shortfall};
use super::wish::Wish;
use lockstorm_data::model::in_us;

/// Which setting is recommended, as a place in the rows of the plan; or what comes nearest, and why it does not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The setting that is recommended: of those that achieve the goal the one that [`Why`] says.
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
    pub const fn best(self) -> Option<usize> {
        match self {
            Self::Best(place) => Some(place),
            _ => None,
        }
    }
}

/// Why the recommended setting, and not another one that achieves the goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Why {
    /// How many settings achieve the goal.
    pub fits: usize,
    /// What it has. Settings without were left out.
    pub has: Vec<Wish>,
    /// What none of the remaining settings has.
    pub lacks: Vec<Wish>,
    /// What [`Wish::Pause`] asks for, in seconds.
    #[serde(rename = "pause_us", with = "in_us")]
    pub pause: f64,
    /// Of the settings that remain, whether it is the one with the fewest renewals, and not the shortest: where a takeover was asked for,
    /// a shorter one is worth nothing.
    pub cheapest: bool,
}

/// The choice among these rows, and why, if one is recommended.
pub(super) fn of(question: &Question, rows: &[Row]) -> (Choice, Option<Why>) {
    let Some((best, why)) = best(question, rows) else {
        return (nearest(question, rows), None);
    };
    (Choice::Best(best), Some(why))
}

fn best(question: &Question, rows: &[Row]) -> Option<(usize, Why)> {
    let mut fits: Vec<usize> = (0..rows.len()).filter(|place| rows[*place].is_fit()).collect();
    let mut why = Why {
        fits: fits.len(),
        has: Vec::new(),
        lacks: Vec::new(),
        pause: question.pause_with_room(),
        cheapest: question.goal.takeover.is_some(),
    };
    for wish in <Wish as strum::IntoEnumIterator>::iter() {
        let (with, without): (Vec<usize>, Vec<usize>) =
            fits.iter().partition(|place| !rows[**place].lacks.contains(&wish));
        if with.is_empty() {
            fits = without;
            why.lacks.push(wish);
        } else {
            fits = with;
            why.has.push(wish);
        }
    }
    let remain = |place: &usize| fits.contains(place);
    let best = first(rows, |place, _| remain(&place), why.cheapest)?;
    Some((best, why))
}

fn nearest(question: &Question, rows: &[Row]) -> Choice {
    let meets_risk = |row: &Row| !row.shortfalls.iter().any(|shortfall| *shortfall != Shortfall::Takeover);
    let unproven = |row: &Row| row.shortfalls.contains(&Shortfall::Unproven);
    let of_use = |row: &Row| !row.shortfalls.contains(&Shortfall::TooShort);
    let is_quick = |row: &Row| question.goal.takeover.is_none_or(|most| row.longest_wait() <= most);
    let shortest = |fits: &dyn Fn(&Row) -> bool| first(rows, |_, row| fits(row), false);
    // What can be proven by measuring more comes nearer than what can't be had.
    shortest(&|row| unproven(row) && is_quick(row))
        .map(Choice::Unproven)
        .or_else(|| shortest(&meets_risk).map(Choice::TakeoverTooLong))
        .or_else(|| shortest(&|row| row.shortfalls == [Shortfall::TwoHolders]).map(Choice::TwoHolders))
        .or_else(|| shortest(&unproven).map(Choice::Unproven))
        .or_else(|| {
            let least = |a: &(usize, &Row), b: &(usize, &Row)| a.1.overrun.p.total_cmp(&b.1.overrun.p);
            let usable = rows.iter().enumerate().filter(|(_, row)| of_use(row));
            usable.min_by(least).map(|(place, _)| Choice::TooRisky(place))
        })
        .unwrap_or(Choice::TooShort)
}

/// Of the rows that fit, the one with the shortest TTL, or the cheapest one; the other of both decides between equals.
fn first(rows: &[Row], fits: impl Fn(usize, &Row) -> bool, cheapest: bool) -> Option<usize> {
    let fitting = rows.iter().enumerate().filter(|(place, row)| fits(*place, row));
    let order = |(_, a): &(usize, &Row), (_, b): &(usize, &Row)| {
        let (ttl, cost) = (
            a.setting.ttl.cmp(&b.setting.ttl),
            a.renewals_per_second.total_cmp(&b.renewals_per_second),
        );
        if cheapest { cost.then(ttl) } else { ttl.then(cost) }
    };
    fitting.min_by(order).map(|(place, _)| place)
}
