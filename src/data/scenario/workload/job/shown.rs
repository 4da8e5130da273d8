use super::super::kind::{Display, WorkloadWords};
use crate::metrics::Column::Figure;
use crate::metrics::Shown::{self, Always};
use crate::metrics::units::{count, counted};
use crate::metrics::{Entry, Figures, Metric};

/// The columns about runs.
const COLUMNS: &[Shown] = &[
    Always(Figure(Metric::Runs)),
    Always(Figure(Metric::AlreadyRun)),
    Always(Figure(Metric::RunAgain)),
    Always(Figure(Metric::Missed)),
];

/// What is shown of the jobs.
pub(super) const fn display() -> Display {
    Display {
        verdicts: &[Metric::RunAgain],
        table: "runs of jobs",
        columns: COLUMNS,
        console: &[(Metric::Runs, 8), (Metric::Missed, 1), (Metric::RunAgain, 0)],
        lanes: &[Metric::RunAgain, Metric::NoQuorum],
        cost: Metric::RunAgain,
        words: WorkloadWords {
            without_lock: "every server runs it",
            own_mutex: "one run per server",
            guarded: "one run at a time",
            poor: "poor",
        },
    }
}

/// What an arm did with its ticks, in clauses.
pub(super) fn clauses(figures: &Figures, is_doubted: bool) -> Vec<String> {
    let at_least = if figures.incomplete { "at least " } else { "" };
    let [runs, again, missed] = [Entry::Runs, Entry::RunAgain, Entry::Missed].map(|entry| figures.booked(entry));
    let ran = counted(runs.saturating_sub(again), "tick", "ticks");
    let again = match again {
        0 if figures.incomplete || is_doubted => "no second run was seen, which proves nothing".to_owned(),
        0 => "none twice".to_owned(),
        more => format!("{at_least}{} beyond the first", counted(more, "run", "runs")),
    };
    let missed = match missed {
        0 => "none was missed".to_owned(),
        _ if figures.incomplete => "how many were missed is not known".to_owned(),
        missed => format!("{} never ran", count(missed)),
    };
    vec![format!("ran {at_least}{ran}; {again}; {missed}")]
}
