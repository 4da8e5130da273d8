//! The renewals of a section, which come at each whole interval that it lasts.

use super::measured::Bound;
use super::question::Question;
use super::spread::Spread;

/// So many renewals of a section are looked at one by one; the rest are taken together.
const MANY: u32 = 2000;
/// What is less probable does not count.
const NEVER: f64 = 1e-14;

/// How many renewals a section has on average: E[⌊hold / interval⌋].
pub(super) fn mean(question: &Question, interval: f64) -> f64 {
    // Nothing adds up to −0.
    each(question, interval).sum::<f64>() + after_many(question, interval) + 0.0
}

/// The probability that at least one renewal of a section fails, if each does with this one.
pub(super) fn some_fails(question: &Question, interval: f64, fails: f64) -> f64 {
    /// What rounding leaves of a sum of weights.
    const NOTHING: f64 = 1e-15;
    // The first to fail is one of them.
    let (mut some, mut none_before) = (0.0, 1.0);
    for comes in each(question, interval) {
        some += comes * none_before * fails;
        none_before *= 1.0 - fails;
    }
    let lasts = question.hold.beyond_at(f64::from(MANY) * interval, Bound::Mid);
    some += none_before * lasts.min(fails * after_many(question, interval));
    if some < NOTHING { 0.0 } else { some }
}

/// For each of the first renewals the probability that a section lasts so long.
fn each(question: &Question, interval: f64) -> impl Iterator<Item = f64> {
    let lasts = move |renewal: u32| match question.hold {
        // One at the very end counts.
        Spread::Constant(hold) => f64::from(u8::from(hold >= f64::from(renewal) * interval)),
        _ => question.hold.beyond_at(f64::from(renewal) * interval, Bound::Mid),
    };
    (1..=MANY).map(lasts).take_while(|probability| *probability > NEVER)
}

/// How many renewals come after the first [`MANY`] on average: the sum of such probabilities is their integral, from the middle on.
fn after_many(question: &Question, interval: f64) -> f64 {
    question.hold.excess((f64::from(MANY) + 0.5) * interval, Bound::Mid) / interval
}
