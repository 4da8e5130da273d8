use super::super::kind::{Display, WorkloadWords};
use crate::metrics::Column::Figure;
use crate::metrics::Shown::{self, Always};
use crate::metrics::units::{count, counted};
use crate::metrics::{Entry, Figures, Metric};

/// The columns about money.
const COLUMNS: &[Shown] = &[
    Always(Figure(Metric::Payments)),
    Always(Figure(Metric::Unanswered)),
    Always(Figure(Metric::NoMoney)),
    Always(Figure(Metric::MoneyMade)),
    Always(Figure(Metric::MoneyLost)),
];

/// What is shown of the payments.
pub(super) const fn display() -> Display {
    Display {
        verdicts: &[Metric::MoneyMade, Metric::MoneyLost, Metric::Unanswered],
        table: "accounts",
        columns: COLUMNS,
        console: &[
            (Metric::Payments, 9),
            (Metric::Unanswered, 8),
            (Metric::MoneyLost, 1),
            (Metric::MoneyMade, 0),
        ],
        lanes: &[Metric::MoneyMade, Metric::MoneyLost, Metric::NoQuorum],
        cost: Metric::MoneyMade,
        words: WorkloadWords {
            without_lock: "all pay at once",
            own_mutex: "one mutex per server",
            guarded: "one payer at a time",
            poor: "standstill",
        },
    }
}

/// What an arm did with its accounts, which had `money` in all, in clauses.
pub(super) fn clauses(money: u64, figures: &Figures, is_doubted: bool) -> Vec<String> {
    let at_least = if figures.incomplete { "at least " } else { "" };
    let [paid, made, lost] = [Entry::Payments, Entry::MoneyMade, Entry::MoneyLost].map(|entry| figures.booked(entry));
    let paid = format!("made {at_least}{}", counted(paid, "payment", "payments"));
    let sum = match (made, lost) {
        (0, 0) if figures.incomplete || is_doubted => "no wrong balance was seen, which proves nothing".to_owned(),
        (0, 0) => format!("no money was made or lost, of {}", count(money)),
        _ => format!(
            "{at_least}{} made and {} lost of {}",
            count(made),
            count(lost),
            count(money)
        ),
    };
    vec![format!("{paid}; {sum}")]
}
