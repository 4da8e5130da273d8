use super::super::kind::{Display, WorkloadWords};
use crate::metrics::Column::{Bound, Figure};
use crate::metrics::Shown::{self, Always};
use crate::metrics::units::{count, counted};
use crate::metrics::{Entry, Figures, Metric};

/// The columns about the stock.
const COLUMNS: &[Shown] = &[
    Always(Figure(Metric::Orders)),
    Always(Figure(Metric::SoldOut)),
    Always(Figure(Metric::LostUpdates)),
    Always(Figure(Metric::Oversold)),
    Always(Bound),
];

/// What is shown of the sale.
pub(super) const fn display() -> Display {
    Display {
        verdicts: &[Metric::Oversold, Metric::LostUpdates],
        table: "stock",
        columns: COLUMNS,
        console: &[(Metric::Orders, 8), (Metric::LostUpdates, 1), (Metric::Oversold, 0)],
        lanes: &[Metric::LostUpdates, Metric::Oversold, Metric::NoQuorum],
        cost: Metric::LostUpdates,
        words: WorkloadWords {
            without_lock: "all buy at once",
            own_mutex: "one mutex per server",
            guarded: "one buyer at a time",
            poor: "poor",
        },
    }
}

/// What an arm did with a stock of `stock` units, in clauses.
pub(super) fn clauses(stock: u64, figures: &Figures, is_doubted: bool) -> Vec<String> {
    let (number, oversold) = (figures.booked(Entry::Orders), figures.booked(Entry::Oversold));
    let (sold_out, lost) = (figures.sold_out_all, figures.booked(Entry::LostUpdatesPeak));
    let (orders, stock) = (counted(number, "order", "orders"), count(stock));
    let at_least = if figures.incomplete { "at least " } else { "" };
    let mut parts = vec![if number == 0 && figures.incomplete {
        "how many orders it took is not known".to_owned()
    } else if number == 0 {
        "took no order".to_owned()
    } else if oversold > 0 {
        let units = counted(oversold, "unit was", "units were");
        let left = if sold_out || figures.incomplete {
            ""
        } else {
            ", while other products are not sold out"
        };
        format!("took {at_least}{orders} for a stock of {stock}; {at_least}{units} oversold{left}")
    } else if figures.incomplete || (is_doubted && lost == 0) {
        let seen = if lost == 0 {
            "; no damage was seen, which proves nothing"
        } else {
            ""
        };
        format!("took {at_least}{orders} from its stock of {stock}{seen}")
    } else if sold_out && is_doubted {
        format!("took {orders} for a stock of {stock}")
    } else if sold_out {
        let bound = bound(number);
        format!("sold its stock of {stock} and not one unit more{bound}")
    } else if lost == 0 {
        let bound = bound(number);
        format!("took {orders} and lost no update of its stock{bound}")
    } else {
        format!("took {orders} from its stock of {stock}; oversold is not measurable until that is sold out")
    }];
    if lost > 0 {
        let made_up = lost.saturating_sub(figures.booked(Entry::LostUpdates));
        let lost = counted(lost, "update of the stock", "updates of the stock");
        parts.push(match made_up {
            // How many were made up for by the end is not known either.
            _ if figures.incomplete => format!("lost at least {lost}"),
            0 => format!("lost {lost}"),
            _ => {
                let made_up = count(made_up);
                format!("lost {lost} at worst, {made_up} of them made up for later")
            }
        });
    }
    parts
}

/// The rule of three: none seen in `n` trials means less than 3/n with 95 % confidence.
fn bound(n: u64) -> String {
    match n / 3 {
        // A weaker bound says nothing.
        0..10 => String::new(),
        one_in => format!(" (at 95 % confidence fewer than 1 in {} orders)", count(one_in)),
    }
}
