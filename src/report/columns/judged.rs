//! Figures with their marks, for the printed tables and the whole console.

use super::arm::Arm;
use crate::report::paint::Tone;
use crate::report::table::Cell;
use lockstorm_data::metrics::units::{mean, micros, rate, short_rate};
use lockstorm_data::metrics::{Metric, Value};
use lockstorm_data::model::CheckResult;
pub(crate) use lockstorm_judge::Mark;
use lockstorm_judge::Outcome;

/// What a figure says for or against an arm.
pub(crate) fn judge(metric: Metric, arm: &Arm<'_>) -> Mark {
    match arm.has(metric.row().group) {
        true => arm.judged.mark(metric, arm.figures, arm.is_stuck()),
        false => Mark::new(metric, None),
    }
}

/// The figure in the style of this table, without a mark; `None` if the arm has no such figure.
pub(crate) fn written(metric: Metric, arm: &Arm<'_>) -> Option<String> {
    let (row, figures) = (metric.row(), arm.figures);
    if !arm.has(row.group) || !metric.is_known(figures) {
        return None;
    }
    Some(match row.value {
        Value::Counted(count) => arm.count(figures.counts[count]),
        Value::Booked(entry) => arm.count(figures.booked(entry)),
        Value::Number(read) | Value::Level(read) | Value::Largest(read, _) => arm.count(read(figures)),
        Value::Mean(read, _) => mean(read(figures)),
        Value::PerSecond(read) if arm.is_narrow => short_rate(read(figures)),
        Value::PerSecond(read) => rate(read(figures)),
        Value::Duration(read, quantile) => micros(read(figures).get(quantile)),
        Value::Moment(read) => micros(read(figures)?.max(0).cast_unsigned()),
    })
}

/// The figure with its mark, as a cell.
pub(in crate::report) fn judged(metric: Metric, arm: &Arm<'_>) -> Option<Cell> {
    // Where there is room for one number, it is the worst: what was made up for later was lost all the same.
    let text = if arm.is_narrow {
        written(metric.peak(), arm)?
    } else {
        in_full(metric, arm, written(metric, arm)?)
    };
    Some(marked(sign(judge(metric, arm)), text, arm.is_narrow))
}

/// Adds what else is known about damage, for which only the printed tables have room: that there is more than was counted,
/// and its largest value.
fn in_full(metric: Metric, arm: &Arm<'_>, text: String) -> String {
    let peak = metric.peak();
    if !metric.is_proven(arm.figures) {
        return text;
    }
    let most = written(peak, arm).unwrap_or_default();
    if arm.figures.incomplete {
        format!("≥ {most}")
    } else if peak.of(arm.figures) > metric.of(arm.figures) {
        format!("{text} (peak {most})")
    } else {
        text
    }
}

/// How a result looks: its tone, and a symbol of one character. What is open is faint.
pub(crate) type Sign = (Tone, &'static str);

/// How damage looks.
pub(crate) const DAMAGE: Sign = (Tone::Bad, "✖");
/// How an open result looks.
pub(crate) const OPEN: Sign = (Tone::Faint, "…");
const GOOD: Sign = (Tone::Good, "✔");
const POOR: Sign = (Tone::Doubt, "✖");
const NONE: Sign = (Tone::Plain, " ");

/// How a figure looks.
pub(crate) fn sign(mark: Mark) -> Sign {
    match mark.result() {
        None => NONE,
        Some(CheckResult::Held) => GOOD,
        Some(CheckResult::Inconclusive) => OPEN,
        Some(CheckResult::Failed) if mark.is_damage() => DAMAGE,
        Some(CheckResult::Failed) if mark.is_notice() => (Tone::Doubt, "!"),
        Some(CheckResult::Failed) => POOR,
    }
}

/// How the outcome of an arm looks.
pub(crate) const fn badge(outcome: Outcome) -> Sign {
    match outcome {
        Outcome::Control => NONE,
        Outcome::Held => GOOD,
        Outcome::Damage => DAMAGE,
        Outcome::Stuck | Outcome::FreesLate | Outcome::Poor => POOR,
        Outcome::NotShown => OPEN,
    }
}

/// A text with its sign: `✖ 214`, `✔ 0`. What is open is `0 …` in the console, where it may still change, and `? 0` in print.
pub(crate) fn marked((tone, symbol): Sign, text: String, is_narrow: bool) -> Cell {
    match tone {
        Tone::Plain => Cell::plain(text),
        Tone::Faint if is_narrow => Cell::new(tone, format!("{text} {symbol}")),
        Tone::Faint => Cell::new(Tone::Doubt, format!("? {text}")),
        _ => Cell::new(tone, format!("{symbol} {text}")),
    }
}

#[cfg(test)]
mod tests {
    use lockstorm_data::metrics::{Entry, Figures, Group, Quantiles};

    use super::*;

    #[test]
    fn an_arm_has_the_figures_of_its_workload_and_lock_alone() {
        let mut figures = Figures {
            ledger: [(Entry::Orders, 3)].into(),
            pipe_us: Quantiles {
                count: 1,
                p99: 80,
                ..Quantiles::default()
            },
            ..Figures::default()
        };
        figures.outcomes.acquired = 3;
        let has = |metric, lacks: &[Group]| {
            let arm = Arm {
                lacks: lacks.to_vec(),
                ..Arm::of_figures(&figures)
            };
            written(metric, &arm).is_some()
        };
        assert!(has(Metric::SoldPerSecond, &[Group::Job]));
        assert!(!has(Metric::SoldPerSecond, &[Group::Inventory]), "a job sells nothing");
        assert!(has(Metric::PipeP99, &[Group::Inventory]));
        assert!(!has(Metric::PipeP99, &[Group::Clients]));
    }
}
