use crate::metrics::units::{count, counted, micros};
use crate::metrics::{Count, Figures};
use crate::scenario::{ArmSpec, InventorySpec, LockKind, LockNodes, WorkloadSpec};

/// What one arm did, in one sentence for people. `sold_out`: whether all of its stock was sold (`inventory` only). `doubted`:
/// whether nothing good can be said of it.
#[must_use]
pub fn sentence(arm: &ArmSpec, figures: &Figures, workload: &WorkloadSpec, sold_out: bool, doubted: bool) -> String {
    let mut parts = match workload {
        WorkloadSpec::Inventory(spec) => inventory(figures, spec, sold_out, doubted),
        WorkloadSpec::CacheFill { .. } => cache_fill(figures),
    };
    parts.extend(trouble(figures, arm.lock));
    format!("{}: {}.", arm.name, parts.join("; "))
}

fn inventory(figures: &Figures, spec: &InventorySpec, sold_out: bool, doubted: bool) -> Vec<String> {
    let stock = spec.products.saturating_mul(spec.stock);
    let orders = figures.orders;
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
    } else if figures.incomplete || (doubted && figures.lost_updates_peak == 0) {
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
    } else if sold_out && doubted {
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
        let made_up = figures.lost_updates_peak - figures.lost_updates;
        parts.push(match made_up {
            // What was made up for by the end is not known either.
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

fn cache_fill(figures: &Figures) -> Vec<String> {
    let per_expiry = figures.db_hits_per_expiry;
    let expiries = counted(per_expiry.expiries, "expiry", "expiries");
    let mut parts = vec![match (per_expiry.expiries, per_expiry.max) {
        (0, _) => format!(
            "asked the database {} while nothing expired",
            counted(figures.counts[Count::DbHits], "time", "times")
        ),
        (_, 1) => format!("asked the database exactly once at each of {expiries}"),
        (_, max) => format!(
            "asked the database {:.1} times per expiry, {} at worst, over {expiries}",
            per_expiry.mean,
            count(max)
        ),
    }];
    if figures.response_us.count > 0 {
        parts.push(format!(
            "99 % of the reads took at most {}",
            micros(figures.response_us.p99)
        ));
    }
    if figures.duplicate_pages + figures.missing_pages > 0 {
        parts.push(format!(
            "lists said to be complete held {} and lacked {}",
            counted(figures.duplicate_pages, "page twice", "pages twice"),
            count(figures.missing_pages),
        ));
    }
    if figures.counts[Count::StaleReads] > 0 {
        parts.push(format!(
            "{} stale",
            counted(figures.counts[Count::StaleReads], "read was", "reads were")
        ));
    }
    parts
}

fn trouble(figures: &Figures, lock: LockKind) -> Vec<String> {
    let mut parts = Vec::new();
    if figures.outcomes.no_quorum > 0 {
        let refused = figures.outcomes.no_quorum;
        parts.push(if lock.nodes() == LockNodes::OneHost {
            format!(
                "{} the lock node unreachable",
                counted(refused, "acquire found", "acquires found")
            )
        } else {
            format!(
                "{} refused for lack of a quorum",
                counted(refused, "acquire was", "acquires were")
            )
        });
    }
    if figures.outcomes.unknown > 0 {
        parts.push(format!(
            "{} unknown",
            counted(figures.outcomes.unknown, "acquire ended", "acquires ended")
        ));
    }
    if figures.counts[Count::LocksLost] > 0 {
        parts.push(format!(
            "{} lost while held",
            counted(figures.counts[Count::LocksLost], "lock was", "locks were")
        ));
    }
    if figures.counts[Count::Fenced] > 0 {
        parts.push(format!(
            "{} refused by the fence",
            counted(figures.counts[Count::Fenced], "request was", "requests were")
        ));
    }
    if figures.counts[Count::GaveUp] > 0 {
        parts.push(format!(
            "{} up",
            counted(figures.counts[Count::GaveUp], "request gave", "requests gave")
        ));
    }
    if figures.counts[Count::Errors] > 0 {
        parts.push(format!(
            "{} failed",
            counted(figures.counts[Count::Errors], "request", "requests")
        ));
    }
    parts
}

#[cfg(test)]
mod tests {
    use crate::scenario::CacheFillSpec;
    use std::time::Duration;

    use super::*;
    use crate::metrics::{HitsPerExpiry, Quantiles};
    use crate::model::Outcomes;
    use crate::scenario::{Overrides, Popularity, ServiceTime, Source, StockIn, parse};

    fn arm(name: &str) -> ArmSpec {
        let source = Source::open("flash-sale").expect("it is built in");
        let mut scenario = parse(&source, &Overrides::default()).expect("it is valid");
        let lock = if name == "single" {
            LockKind::Single
        } else {
            LockKind::Redlock
        };
        ArmSpec {
            name: name.to_owned(),
            lock,
            ..scenario.arms.remove(0)
        }
    }

    fn stock(products: u64, stock: u64) -> WorkloadSpec {
        WorkloadSpec::Inventory(InventorySpec {
            products,
            stock,
            popularity: Popularity::Uniform,
            hold: ServiceTime {
                median: Duration::ZERO,
                sigma: 0.0,
            },
            stock_in: StockIn::Database,
        })
    }

    #[test]
    fn damage_is_said_in_figures() {
        let figures = Figures {
            orders: 414,
            oversold: 214,
            lost_updates: 214,
            lost_updates_peak: 214,
            ..Figures::default()
        };
        assert_eq!(
            sentence(&arm("no lock"), &figures, &stock(1, 200), true, false),
            "no lock: took 414 orders for a stock of 200; 214 units were oversold; lost 214 updates of the stock."
        );
    }

    #[test]
    fn a_zero_carries_its_bound() {
        let figures = Figures {
            orders: 10_000,
            outcomes: Outcomes {
                no_quorum: 1,
                ..Outcomes::default()
            },
            ..Figures::default()
        };
        assert_eq!(
            sentence(&arm("redlock"), &figures, &stock(200, 50), true, false),
            "redlock: sold its stock of 10,000 and not one unit more (at 95 % confidence fewer than 1 in 3,333 orders); \
             1 acquire was refused for lack of a quorum."
        );
    }

    #[test]
    fn a_single_lock_has_no_quorum_to_lack() {
        let figures = Figures {
            orders: 1,
            outcomes: Outcomes {
                no_quorum: 1_200,
                ..Outcomes::default()
            },
            ..Figures::default()
        };
        let said = sentence(&arm("single"), &figures, &stock(1, 1), true, false);
        assert!(
            said.ends_with("; 1,200 acquires found the lock node unreachable."),
            "{said}"
        );
    }

    #[test]
    fn refusals_are_said_by_who_refused() {
        let mut figures = Figures {
            counts: [(Count::LocksLost, 2)].into(),
            orders: 3,
            ..Figures::default()
        };
        let said = |figures: &Figures| sentence(&arm("redlock"), figures, &stock(1, 3), true, false);
        let sold = "redlock: sold its stock of 3 and not one unit more; 2 locks were lost while held";
        assert_eq!(said(&figures), format!("{sold}."));
        figures.counts[Count::Fenced] = 1;
        assert_eq!(said(&figures), format!("{sold}; 1 request was refused by the fence."));
    }

    #[test]
    fn a_stock_that_is_left_is_judged_by_its_updates() {
        let mut figures = Figures {
            orders: 1_655,
            ..Figures::default()
        };
        assert_eq!(
            sentence(&arm("single"), &figures, &stock(64, 1_000), false, false),
            "single: took 1,655 orders and lost no update of its stock (at 95 % confidence fewer than 1 in 551 orders)."
        );
        figures.lost_updates = 1;
        figures.lost_updates_peak = 1;
        assert_eq!(
            sentence(&arm("single"), &figures, &stock(64, 1_000), false, false),
            "single: took 1,655 orders from its stock of 64,000; oversold is not measurable until that is sold out; \
             lost 1 update of the stock."
        );
    }

    #[test]
    fn a_cache_is_judged_by_its_expiries() {
        let mut figures = Figures {
            counts: [(Count::DbHits, 59), (Count::StaleReads, 1_200)].into(),
            db_hits_per_expiry: HitsPerExpiry {
                expiries: 58,
                mean: 1.0,
                max: 1,
            },
            response_us: Quantiles {
                count: 9,
                p99: 30_000,
                ..Quantiles::default()
            },
            ..Figures::default()
        };
        let workload = WorkloadSpec::CacheFill(CacheFillSpec { caches: Vec::new() });
        assert_eq!(
            sentence(&arm("single"), &figures, &workload, false, false),
            "single: asked the database exactly once at each of 58 expiries; 99 % of the reads took at most 30 ms; \
             1,200 reads were stale."
        );
        figures.db_hits_per_expiry = HitsPerExpiry {
            expiries: 58,
            mean: 86.25,
            max: 100,
        };
        assert!(
            sentence(&arm("none"), &figures, &workload, false, false).contains("86.2 times per expiry, 100 at worst")
        );
    }

    #[test]
    fn nothing_good_is_said_of_what_is_in_doubt_or_was_not_read() {
        let mut figures = Figures {
            orders: 100,
            ..Figures::default()
        };
        let said = |figures: &Figures, sold_out, doubted| {
            let said = sentence(&arm("single"), figures, &stock(1, 100), sold_out, doubted);
            said.strip_prefix("single: ").expect("its name").to_owned()
        };
        let nothing = "took 100 orders from its stock of 100; no damage was seen, which proves nothing.";
        assert_eq!(said(&figures, true, true), nothing);
        assert_eq!(said(&figures, false, true), nothing);
        figures.incomplete = true;
        let at_least = nothing.replace("took", "took at least");
        assert_eq!(said(&figures, true, true), at_least);
        assert_eq!(said(&figures, false, true), at_least);
        figures.lost_updates_peak = 7;
        assert_eq!(
            said(&figures, true, true),
            "took at least 100 orders from its stock of 100; lost at least 7 updates of the stock."
        );
        figures.oversold = 1;
        assert_eq!(
            said(&figures, false, true),
            "took at least 100 orders for a stock of 100; at least 1 unit was oversold; lost at least 7 updates of the stock."
        );
        assert_eq!(
            said(
                &Figures {
                    incomplete: true,
                    ..Figures::default()
                },
                false,
                true
            ),
            "how many orders it took is not known."
        );
    }
}
