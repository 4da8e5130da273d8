//! The renewals of a section, which come at each whole interval that it lasts.

use super::measured::Bound;
use super::question::Question;
use super::spread::Spread;

/// Sections of more renewals are taken together: a few hundred of their lengths are exact enough.
const MANY: f64 = 300.0;

/// How many renewals a section has on average: E[⌊hold / interval⌋].
pub(super) fn mean(question: &Question, interval: f64) -> f64 {
    if let Some(renewals) = each(question, interval) {
        // Nothing adds up to −0.
        return renewals.sum::<f64>() + 0.0;
    }
    match question.hold {
        Spread::Constant(hold) => (hold / interval).floor(),
        // The place of the end in the last interval is equally likely anywhere.
        _ => question.hold.mean() / interval - 0.5,
    }
}

/// The probability that at least one renewal of a section fails, if each does with this one.
pub(super) fn some_fails(question: &Question, interval: f64, fails: f64) -> f64 {
    /// What rounding leaves of a sum of weights.
    const NOTHING: f64 = 1e-15;
    let all: f64 = match each(question, interval) {
        // The first to fail is one of them.
        Some(renewals) => {
            let (mut some, mut none_before) = (0.0, 1.0);
            for comes in renewals {
                some += comes * none_before * fails;
                none_before *= 1.0 - fails;
            }
            some
        }
        None => {
            let some = |&(hold, weight): &(f64, f64)| (1.0 - (1.0 - fails).powf((hold / interval).floor())) * weight;
            question.holds.iter().map(some).sum()
        }
    };
    if all < NOTHING { 0.0 } else { all }
}

/// For each renewal, from the first on, the probability that a section lasts so long; `None` if there would be too many.
fn each(question: &Question, interval: f64) -> Option<impl Iterator<Item = f64>> {
    /// What is less probable does not count.
    const NEVER: f64 = 1e-14;
    let is_few = question.hold.mean() / interval < MANY && !matches!(question.hold, Spread::Constant(_));
    is_few.then(|| {
        let lasts = move |renewal: u32| question.hold.beyond_at(f64::from(renewal) * interval, Bound::Mid);
        (1..).map(lasts).take_while(|probability| *probability > NEVER)
    })
}
