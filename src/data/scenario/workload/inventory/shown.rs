use super::super::display::{Bars, Display};
use crate::metrics::Column::{Bound, Figure};
use crate::metrics::Shown::{self, Always};
use crate::metrics::units::{count, counted};
use crate::metrics::{Figures, Metric};

/// The columns about the stock.
const COLUMNS: &[Shown] = &[
    Always(Figure(Metric::Orders)),
    Always(Figure(Metric::SoldOut)),
    Always(Figure(Metric::LostUpdates)),
    Always(Figure(Metric::Oversold)),
    Always(Bound),
];

/// What is shown of the sale of `stock` units.
pub(super) fn display(stock: u64) -> Display {
    Display {
        verdicts: &[Metric::Oversold, Metric::LostUpdates],
        table: "stock",
        columns: COLUMNS,
        console: &[(Metric::Orders, 8), (Metric::LostUpdates, 1), (Metric::Oversold, 0)],
        lanes: &[Metric::LostUpdates, Metric::Oversold, Metric::NoQuorum],
        bars: Bars {
            figure: Metric::Orders,
            note: format!("for a stock of {}", count(stock)),
            full: Some(stock),
            damage: Some(Metric::Oversold),
        },
    }
}

/// What an arm did with a stock of `stock` units, in clauses.
pub(super) fn clauses(stock: u64, figures: &Figures, is_doubted: bool) -> Vec<String> {
    let (orders, sold_out) = (figures.orders, figures.sold_out_all);
    let at_least = if figures.incomplete { "at least " } else { "" };
    let mut parts = Vec::new();
    if orders == 0 && figures.incomplete {
        parts.push("how many orders it took is not known".to_owned());
    } else if orders == 0 {
        parts.push("took no order".to_owned());
    } else if figures.oversold > 0 {
        let units = counted(figures.oversold, "unit was", "units were");
        let left = if sold_out || figures.incomplete {
            ""
        } else {
            ", while other products are not sold out"
        };
        parts.push(format!(
            "took {at_least}{} for a stock of {}; {at_least}{units} oversold{left}",
            counted(orders, "order", "orders"),
            count(stock),
        ));
    } else if figures.incomplete || (is_doubted && figures.lost_updates_peak == 0) {
        let seen = if figures.lost_updates_peak == 0 {
            "; no damage was seen, which proves nothing"
        } else {
            ""
        };
        parts.push(format!(
            "took {at_least}{} from its stock of {}{seen}",
            counted(orders, "order", "orders"),
            count(stock),
        ));
    } else if sold_out && is_doubted {
        parts.push(format!(
            "took {} for a stock of {}",
            counted(orders, "order", "orders"),
            count(stock),
        ));
    } else if sold_out {
        parts.push(format!(
            "sold its stock of {} and not one unit more{}",
            count(stock),
            bound(orders)
        ));
    } else if figures.lost_updates_peak == 0 {
        let orders_taken = counted(orders, "order", "orders");
        parts.push(format!(
            "took {orders_taken} and lost no update of its stock{}",
            bound(orders)
        ));
    } else {
        parts.push(format!(
            "took {} from its stock of {}; oversold is not measurable until that is sold out",
            counted(orders, "order", "orders"),
            count(stock),
        ));
    }
    if figures.lost_updates_peak > 0 {
        let lost = counted(figures.lost_updates_peak, "update of the stock", "updates of the stock");
        let made_up = figures.lost_updates_peak.saturating_sub(figures.lost_updates);
        parts.push(match made_up {
            // How many were made up for by the end is not known either.
            _ if figures.incomplete => format!("lost at least {lost}"),
            0 => format!("lost {lost}"),
            _ => format!(
                "lost {lost} at the peak, {} made up for by later stale writes",
                count(made_up)
            ),
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
