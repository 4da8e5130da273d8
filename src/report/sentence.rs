use lockstorm_data::metrics::units::{counted, micros};
use lockstorm_data::metrics::{Count, Figures, NodeLoad};
use lockstorm_data::model::CauseKind;
use lockstorm_data::scenario::{ArmSpec, LockNodes, WorkloadSpec};

/// An outage that is worth a clause, in microseconds.
const LONG_US: u64 = 1_000_000;

/// What one arm did, in one sentence. `is_doubted`: whether nothing good can be said about it.
pub fn sentence(arm: &ArmSpec, figures: &Figures, workload: &WorkloadSpec, is_doubted: bool) -> String {
    let mut parts = workload.about().clauses(figures, is_doubted);
    parts.extend(double_holds(figures));
    parts.extend(never(figures));
    parts.extend(trouble(figures, arm.nodes()));
    parts.extend(outage(figures));
    format!("{}: {}.", arm.name, parts.join("; "))
}

/// That two holders had one lock at once, and whether it is known why.
fn double_holds(figures: &Figures) -> Option<String> {
    let found = figures.double_holds;
    let times = (found > 0).then(|| counted(found, "time", "times"))?;
    let explained = found
        .saturating_sub(figures.law_violations)
        .saturating_sub(figures.unjudged)
        .saturating_sub(figures.expired_holds)
        .saturating_sub(figures.deleted);
    let causes = [
        (
            figures.law_violations,
            "although a quorum of nodes should have kept its key",
        ),
        (
            figures.expired_holds,
            "because its TTL was over, of which its client hears nothing",
        ),
        (figures.deleted, "because its key was deleted from outside"),
        (figures.unjudged, "without a known cause"),
        (explained, "because nodes had lost its key"),
    ];
    let mut whys: Vec<String> = Vec::new();
    if !figures.nodes.is_empty() {
        let known = causes.into_iter().filter(|(number, _)| *number > 0);
        whys.extend(known.map(|(number, why)| match number == found {
            true => format!(", each time {why}"),
            false => format!(", {} {why}", counted(number, "time", "times")),
        }));
    }
    Some(format!("let two hold one lock at once {times}{}", whys.concat()))
}

/// How long its lock was unavailable after a fault or a change of the master, if that was long.
fn outage(figures: &Figures) -> Option<String> {
    let longest = figures.longest_outage();
    (longest.lasted_us >= LONG_US).then(|| {
        let time = micros(longest.lasted_us);
        if longest.over {
            format!("its lock was unavailable for {time}")
        } else {
            format!("its lock was unavailable for the last {time}")
        }
    })
}

/// Why no acquire could ever get a quorum, if most nodes of the lock answered that the key is another node's.
fn never(figures: &Figures) -> Option<String> {
    let of = figures.nodes.len();
    let moved = |node: &NodeLoad| node.causes.get(&CauseKind::Moved).copied().unwrap_or(0);
    let sum: u64 = figures.nodes.iter().map(moved).sum();
    let refused = figures.outcomes.no_quorum;
    (of > 1 && refused > 0 && figures.outcomes.acquired == 0 && sum >= refused).then(|| {
        format!(
            "never had a quorum: {} of its {of} nodes answer that a key is another node's (MOVED), since a Cluster counts as one \
             node",
            of - 1
        )
    })
}

/// What went wrong or was refused, in any workload.
fn trouble(figures: &Figures, nodes: LockNodes) -> Vec<String> {
    let no_quorum = match nodes {
        LockNodes::OneHost | LockNodes::FirstMaster => ["acquire got", "acquires got", "no vote from the lock node"],
        LockNodes::Master => ["acquire got", "acquires got", "no vote from a master"],
        LockNodes::Cluster => ["acquire got", "acquires got", "no vote from the cluster"],
        LockNodes::Nowhere | LockNodes::EveryHost | LockNodes::ClusterMasters => {
            ["acquire was", "acquires were", "refused for lack of a quorum"]
        }
    };
    let troubles = [
        (figures.outcomes.no_quorum, no_quorum),
        (figures.outcomes.unknown, ["acquire ended", "acquires ended", "unknown"]),
        (
            figures.counts[Count::LocksLost],
            ["lock was", "locks were", "lost while held"],
        ),
        (
            figures.lost_at_failover,
            ["held lock was", "held locks were", "missing on a new master"],
        ),
        (
            figures.granted_by_old_master,
            ["lock was", "locks were", "granted by an old master beside the new one"],
        ),
        (
            figures.stuck.unwrap_or(0),
            [
                "key",
                "keys",
                "could not be locked at the end, although nobody held them",
            ],
        ),
        (
            figures.counts[Count::Fenced],
            ["request was", "requests were", "refused by the fence"],
        ),
        (figures.counts[Count::GaveUp], ["request gave", "requests gave", "up"]),
        (figures.counts[Count::Errors], ["request", "requests", "failed"]),
    ];
    let said = |(n, [one, many, what]): (u64, [&str; 3])| format!("{} {what}", counted(n, one, many));
    troubles.into_iter().filter(|(n, _)| *n > 0).map(said).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use lockstorm_data::metrics::{Entry, HitsPerExpiry, Quantiles, Time};
    use lockstorm_data::model::Outcomes;
    use lockstorm_data::scenario::{
        CacheFillSpec, InventorySpec, LockKind, Overrides, PaymentSpec, Popularity, ServiceTime, Source, StockIn, parse,
    };

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
            ledger: [
                (Entry::Orders, 414),
                (Entry::Oversold, 214),
                (Entry::LostUpdates, 214),
                (Entry::LostUpdatesPeak, 214),
            ]
            .into(),
            sold_out_all: true,
            ..Figures::default()
        };
        assert_eq!(
            sentence(&arm("no lock"), &figures, &stock(1, 200), false),
            "no lock: took 414 orders for a stock of 200; 214 units were oversold; lost 214 updates of the stock."
        );
    }

    #[test]
    fn a_zero_carries_its_bound() {
        let figures = Figures {
            ledger: [(Entry::Orders, 10_000)].into(),
            sold_out_all: true,
            outcomes: Outcomes {
                no_quorum: 1,
                ..Outcomes::default()
            },
            ..Figures::default()
        };
        assert_eq!(
            sentence(&arm("redlock"), &figures, &stock(200, 50), false),
            "redlock: sold its stock of 10,000 and not one unit more (at 95 % confidence fewer than 1 in 3,333 orders); \
             1 acquire was refused for lack of a quorum."
        );
    }

    #[test]
    fn a_single_lock_has_no_quorum_to_lack() {
        let figures = Figures {
            ledger: [(Entry::Orders, 1)].into(),
            sold_out_all: true,
            outcomes: Outcomes {
                no_quorum: 1_200,
                ..Outcomes::default()
            },
            ..Figures::default()
        };
        let said = sentence(&arm("single"), &figures, &stock(1, 1), false);
        assert!(
            said.ends_with("; 1,200 acquires got no vote from the lock node."),
            "{said}"
        );
    }

    #[test]
    fn refusals_are_said_by_who_refused() {
        let mut figures = Figures {
            counts: [(Count::LocksLost, 2)].into(),
            ledger: [(Entry::Orders, 3)].into(),
            sold_out_all: true,
            ..Figures::default()
        };
        let said = |figures: &Figures| sentence(&arm("redlock"), figures, &stock(1, 3), false);
        let sold = "redlock: sold its stock of 3 and not one unit more; 2 locks were lost while held";
        assert_eq!(said(&figures), format!("{sold}."));
        figures.counts[Count::Fenced] = 1;
        assert_eq!(said(&figures), format!("{sold}; 1 request was refused by the fence."));
    }

    #[test]
    fn a_stock_that_is_left_is_judged_by_its_updates() {
        let mut figures = Figures {
            ledger: [(Entry::Orders, 1_655)].into(),
            ..Figures::default()
        };
        assert_eq!(
            sentence(&arm("single"), &figures, &stock(64, 1_000), false),
            "single: took 1,655 orders and lost no update of its stock (at 95 % confidence fewer than 1 in 551 orders)."
        );
        figures.ledger[Entry::LostUpdates] = Some(1);
        figures.ledger[Entry::LostUpdatesPeak] = Some(1);
        assert_eq!(
            sentence(&arm("single"), &figures, &stock(64, 1_000), false),
            "single: took 1,655 orders from its stock of 64,000; oversold is not measurable until that is sold out; \
             lost 1 update of the stock."
        );
    }

    #[test]
    fn a_cache_is_judged_by_its_expiries() {
        let response = Quantiles {
            count: 9,
            p99: 30_000,
            ..Quantiles::default()
        };
        let mut figures = Figures {
            counts: [(Count::DbHits, 59), (Count::StaleReads, 1_200)].into(),
            db_hits_per_expiry: HitsPerExpiry {
                expiries: 58,
                mean: 1.0,
                max: 1,
            },
            times: [(Time::Response, response)].into(),
            ..Figures::default()
        };
        let workload = WorkloadSpec::CacheFill(CacheFillSpec { caches: Vec::new() });
        assert_eq!(
            sentence(&arm("single"), &figures, &workload, false),
            "single: asked the database exactly once at each of 58 expiries; 99 % of the reads took at most 30 ms; \
             1,200 reads were stale."
        );
        figures.db_hits_per_expiry = HitsPerExpiry {
            expiries: 58,
            mean: 86.25,
            max: 100,
        };
        assert!(sentence(&arm("none"), &figures, &workload, false).contains("86.2 times per expiry, 100 at worst"));
    }

    #[test]
    fn payments_are_judged_by_the_money_of_all_accounts() {
        let workload = WorkloadSpec::Payment(PaymentSpec {
            accounts: 8,
            money: 1_000,
            hold: ServiceTime::constant(Duration::from_millis(1)),
        });
        let said = |money_made, money_lost, incomplete, is_doubted| {
            let figures = Figures {
                ledger: [
                    (Entry::Payments, 300),
                    (Entry::MoneyMade, money_made),
                    (Entry::MoneyLost, money_lost),
                ]
                .into(),
                incomplete,
                ..Figures::default()
            };
            let said = sentence(&arm("single"), &figures, &workload, is_doubted);
            said.strip_prefix("single: made ").expect("payments").to_owned()
        };
        assert_eq!(
            said(0, 0, false, false),
            "300 payments; no money was made or lost, of 8,000."
        );
        let nothing = "300 payments; no wrong balance was seen, which proves nothing.";
        assert_eq!(said(0, 0, false, true), nothing);
        assert_eq!(said(0, 0, true, false), format!("at least {nothing}"));
        assert_eq!(said(3, 0, false, true), "300 payments; 3 made and 0 lost of 8,000.");
        let counted_in_part = said(0, 7, true, true);
        assert_eq!(
            counted_in_part,
            "at least 300 payments; at least 0 made and 7 lost of 8,000."
        );
    }

    #[test]
    fn nothing_good_is_said_of_what_is_in_doubt_or_was_not_read() {
        let mut figures = Figures {
            ledger: [(Entry::Orders, 100)].into(),
            ..Figures::default()
        };
        let said = |figures: &Figures, sold_out_all, is_doubted| {
            let figures = Figures {
                sold_out_all,
                ..figures.clone()
            };
            let said = sentence(&arm("single"), &figures, &stock(1, 100), is_doubted);
            said.strip_prefix("single: ").expect("its name").to_owned()
        };
        let nothing = "took 100 orders from its stock of 100; no damage was seen, which proves nothing.";
        assert_eq!(said(&figures, true, true), nothing);
        assert_eq!(said(&figures, false, true), nothing);
        figures.incomplete = true;
        let at_least = nothing.replace("took", "took at least");
        assert_eq!(said(&figures, true, true), at_least);
        assert_eq!(said(&figures, false, true), at_least);
        figures.ledger[Entry::LostUpdatesPeak] = Some(7);
        assert_eq!(
            said(&figures, true, true),
            "took at least 100 orders from its stock of 100; lost at least 7 updates of the stock."
        );
        figures.ledger[Entry::Oversold] = Some(1);
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
