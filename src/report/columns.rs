//! The columns of the summary's tables, as data: a title, and how an arm's cell is made.

use super::paint::Tone;
use super::table::{Cell, Table};
use crate::metrics::units::{count, micros, rate};
use crate::metrics::{Figures, NodeLoad, Quantiles, ServerLoad};
use crate::run::{ArmRecord, Record};
use crate::scenario::{ArmSpec, LockKind, WorkloadSpec};

/// What a cell is made from.
struct Arm<'a> {
    record: &'a ArmRecord,
    figures: &'a Figures,
    /// How many nodes its lock asks.
    nodes: usize,
    /// Whether it takes a lock at all.
    locks: bool,
    /// Whether its requests are due at a rate.
    dealt: bool,
}

/// One column.
struct Column {
    title: &'static str,
    /// Left out when no arm has anything but zero in it.
    optional: bool,
    /// None: the arm has no such figure.
    cell: fn(&Arm<'_>) -> Option<Cell>,
}

const fn column(title: &'static str, cell: fn(&Arm<'_>) -> Option<Cell>) -> Column {
    Column {
        title,
        optional: false,
        cell,
    }
}

const fn optional(title: &'static str, cell: fn(&Arm<'_>) -> Option<Cell>) -> Column {
    Column {
        title,
        optional: true,
        cell,
    }
}

/// Acquires refused for lack of nodes.
const NO_QUORUM: &str = "no quorum";

/// How the locks did.
const LOCKS: &[Column] = &[
    column("acquire p50", |arm| quantile(arm.figures.acquire_us, |q| q.p50)),
    column("p99", |arm| quantile(arm.figures.acquire_us, |q| q.p99)),
    column("max", |arm| quantile(arm.figures.acquire_us, |q| q.max)),
    column("acquired", |arm| locked(arm, arm.figures.outcomes.acquired)),
    column("contended", |arm| locked(arm, arm.figures.outcomes.contended)),
    optional("contended p99", |arm| {
        quantile(arm.figures.acquire_us_by.contended, |q| q.p99)
    }),
    column(NO_QUORUM, |arm| asked(arm, arm.figures.outcomes.no_quorum)),
    optional("refused p99", |arm| {
        quantile(arm.figures.acquire_us_by.no_quorum, |q| q.p99)
    }),
    optional("expired", |arm| asked(arm, arm.figures.outcomes.expired)),
    optional("unknown", |arm| asked(arm, arm.figures.outcomes.unknown)),
    optional("refused for", |arm| {
        asked(arm, arm.figures.refused_seconds).map(|cell| {
            Cell::new(
                cell.tone,
                match cell.text.as_str() {
                    "0" => "0".to_owned(),
                    seconds => format!("{seconds} s"),
                },
            )
        })
    }),
    column("attempts/acquire", attempts),
];

/// How the sections under the locks did.
const SECTIONS: &[Column] = &[
    column("votes at release", |arm| votes(arm, &arm.figures.votes_at_release)),
    column("in the end", |arm| votes(arm, &arm.figures.votes_in_the_end)),
    column("held p99", |arm| {
        arm.locks.then(|| quantile(arm.figures.hold_us, |q| q.p99)).flatten()
    }),
    optional("lost while held", |arm| asked(arm, arm.figures.locks_lost)),
    column("overran", overran),
    optional("aborted", |arm| asked(arm, arm.figures.aborted)),
];

/// How the load went, whatever the workload.
const LOAD: &[Column] = &[
    column("offered", |arm| number(arm.figures.offered)),
    column("completed", |arm| number(arm.figures.completed)),
    optional("dropped", |arm| doubtful(arm.figures.dropped)),
    optional("unfinished", |arm| doubtful(arm.figures.unfinished)),
    optional("never begun", |arm| doubtful(arm.figures.never_begun)),
    column("done/s", |arm| Some(Cell::plain(rate(arm.figures.throughput)))),
    optional("after the end", |arm| number(arm.record.after_end.completed)),
    optional("finished at", |arm| {
        Some(
            arm.figures
                .finish
                .map_or_else(|| Cell::plain("0"), |finish| Cell::plain(format!("{finish:.1} s"))),
        )
    }),
    column("late", |arm| arm.dealt.then(|| Cell::plain(count(arm.figures.late)))),
    column("response p50", |arm| quantile(arm.figures.response_us, |q| q.p50)),
    column("p99", |arm| quantile(arm.figures.response_us, |q| q.p99)),
    column("service p50", |arm| quantile(arm.figures.service_us, |q| q.p50)),
    column("p99", |arm| quantile(arm.figures.service_us, |q| q.p99)),
    column("lag p99", |arm| quantile(arm.figures.lag_us, |q| q.p99)),
    optional("gave up", |arm| number(arm.figures.gave_up)),
    optional("fenced", |arm| doubtful(arm.figures.fenced)),
    optional("errors", |arm| doubtful(arm.figures.errors)),
];

/// What became of the stock.
const INVENTORY: &[Column] = &[
    column("orders", orders),
    column("told sold out", |arm| number(arm.figures.sold_out)),
    column("lost updates", lost_updates),
    column("oversold", oversold),
    column("95 % bound", bound),
];

/// What became of the database behind the cache.
const CACHE_FILL: &[Column] = &[
    column("hits", |arm| number(arm.figures.hits)),
    column("stale", |arm| number(arm.figures.stale_reads)),
    column("db hits", |arm| number(arm.figures.db_hits)),
    column("expiries", |arm| number(arm.figures.db_hits_per_expiry.expiries)),
    column("db hits/expiry", |arm| {
        expired(arm, format!("{:.2}", arm.figures.db_hits_per_expiry.mean))
    }),
    column("worst", |arm| expired(arm, count(arm.figures.db_hits_per_expiry.max))),
    optional("duplicate pages", |arm| Some(damage(arm, arm.figures.duplicate_pages))),
    optional("missing pages", |arm| Some(damage(arm, arm.figures.missing_pages))),
];

/// The table of the locks; none when no arm takes one.
pub(super) fn locks(record: &Record) -> Option<Table> {
    let arms = arms(record);
    let mut table = arms
        .iter()
        .any(|arm| arm.locks)
        .then(|| table("locks", LOCKS.iter(), &arms))?;
    // A quorum is of several nodes.
    if arms.iter().map(|arm| arm.nodes).max() == Some(1) {
        for title in table.head.iter_mut().filter(|title| *title == NO_QUORUM) {
            "node unreachable".clone_into(title);
        }
    }
    Some(table)
}

/// The table of the sections under the locks; none without nodes.
pub(super) fn sections(record: &Record) -> Option<Table> {
    let arms = arms(record);
    let any = arms.iter().any(|arm| arm.nodes > 0);
    any.then(|| table("sections", SECTIONS.iter(), &arms))
}

/// The table of the load.
pub(super) fn load(record: &Record) -> Table {
    table("load", LOAD.iter(), &arms(record))
}

/// What each lock node was sent for each arm, and why it gave no vote; none without nodes.
pub(super) fn lock_nodes(record: &Record) -> Option<Table> {
    let head = ["nodes", "sets", "extensions", "deletes", "why it gave no vote"];
    let row = |(arm, node): (&ArmRecord, &NodeLoad)| {
        let causes: Vec<String> = node
            .causes
            .iter()
            .map(|(cause, n)| format!("{} × {cause}", count(*n)))
            .collect();
        vec![
            Cell::plain(format!("{}, host {}", arm.name, node.host)),
            Cell::plain(count(node.sets)),
            Cell::plain(count(node.extends)),
            Cell::plain(count(node.deletes)),
            Cell::new(Tone::Doubt, causes.join(", ")),
        ]
    };
    let rows: Vec<_> = record
        .arms
        .iter()
        .flat_map(|arm| arm.figures.nodes.iter().map(move |node| (arm, node)))
        .map(row)
        .collect();
    (!rows.is_empty()).then(|| Table {
        head: head.map(str::to_owned).to_vec(),
        rows,
    })
}

/// What each app server did for each arm, where requests are dealt to them; none in a closed loop.
pub(super) fn servers(record: &Record) -> Option<Table> {
    record.scenario.swarm.rate?;
    let head = [
        "app servers",
        "offered",
        "completed",
        "dropped",
        "late",
        "orders",
        "response p50",
        "p99",
    ];
    let row = |(arm, load): (&ArmRecord, &ServerLoad)| {
        let times = |which| quantile(load.response_us, which).unwrap_or_else(Cell::none);
        vec![
            Cell::plain(format!("{}, {}", arm.name, load.server)),
            Cell::plain(count(load.offered)),
            Cell::plain(count(load.completed)),
            Cell::plain(count(load.dropped)),
            Cell::plain(count(load.late)),
            counted_orders(load.orders, &arm.figures),
            times(|q| q.p50),
            times(|q| q.p99),
        ]
    };
    let rows = record
        .arms
        .iter()
        .flat_map(|arm| arm.figures.servers.iter().map(move |load| (arm, load)))
        .map(row)
        .collect();
    Some(Table {
        head: head.map(str::to_owned).to_vec(),
        rows,
    })
}

/// The table of what the workload came to.
pub(super) fn results(record: &Record) -> Table {
    let (title, columns) = match record.scenario.workload {
        WorkloadSpec::Inventory(_) => ("stock", INVENTORY),
        WorkloadSpec::CacheFill { .. } => ("cache", CACHE_FILL),
    };
    table(title, columns.iter(), &arms(record))
}

fn arms(record: &Record) -> Vec<Arm<'_>> {
    // Both are in the scenario's order.
    let specs = &record.scenario.arms;
    record
        .arms
        .iter()
        .zip(specs)
        .map(|(arm, spec)| Arm {
            record: arm,
            figures: &arm.figures,
            nodes: nodes(spec, record.scenario.lab.hosts),
            locks: spec.lock != LockKind::None,
            dealt: record.scenario.swarm.rate.is_some(),
        })
        .collect()
}

const fn nodes(spec: &ArmSpec, hosts: usize) -> usize {
    match spec.lock {
        LockKind::None | LockKind::Local => 0,
        LockKind::Single => 1,
        LockKind::Redlock => hosts,
    }
}

fn table<'a>(title: &str, columns: impl Iterator<Item = &'a Column>, arms: &[Arm<'_>]) -> Table {
    let mut table = Table {
        head: vec![title.to_owned()],
        rows: arms.iter().map(|arm| vec![Cell::plain(&arm.record.name)]).collect(),
    };
    for column in columns {
        let cells: Vec<_> = arms.iter().map(column.cell).collect();
        if column.optional
            && cells
                .iter()
                .flatten()
                .all(|cell| matches!(cell.text.as_str(), "0" | "✔ 0" | "? 0"))
        {
            continue;
        }
        table.head.push(column.title.to_owned());
        for (row, cell) in table.rows.iter_mut().zip(cells) {
            row.push(cell.unwrap_or_else(Cell::none));
        }
    }
    table
}

#[allow(clippy::unnecessary_wraps)] // the shape of a column
fn number(n: u64) -> Option<Cell> {
    Some(Cell::plain(count(n)))
}

#[allow(clippy::unnecessary_wraps)] // the shape of a column
fn doubtful(n: u64) -> Option<Cell> {
    Some(Cell::new(if n == 0 { Tone::Plain } else { Tone::Doubt }, count(n)))
}

fn locked(arm: &Arm<'_>, n: u64) -> Option<Cell> {
    arm.locks.then(|| Cell::plain(count(n)))
}

fn asked(arm: &Arm<'_>, n: u64) -> Option<Cell> {
    (arm.nodes > 0).then(|| Cell::new(if n == 0 { Tone::Plain } else { Tone::Doubt }, count(n)))
}

fn expired(arm: &Arm<'_>, text: String) -> Option<Cell> {
    (arm.figures.db_hits_per_expiry.expiries > 0).then(|| Cell::plain(text))
}

fn quantile(quantiles: Quantiles, which: fn(Quantiles) -> u64) -> Option<Cell> {
    (quantiles.count > 0).then(|| Cell::plain(micros(which(quantiles))))
}

#[allow(clippy::unnecessary_wraps)] // the shape of a column
fn orders(arm: &Arm<'_>) -> Option<Cell> {
    Some(counted_orders(arm.figures.orders, arm.figures))
}

/// Orders of an arm with these figures, all of them or those of one app server.
fn counted_orders(orders: u64, figures: &Figures) -> Cell {
    if figures.incomplete {
        Cell::new(Tone::Doubt, format!("≥ {}", count(orders)))
    } else {
        Cell::plain(count(orders))
    }
}

/// The net count, and its peak where it was more.
#[allow(clippy::unnecessary_wraps)] // the shape of a column
fn lost_updates(arm: &Arm<'_>) -> Option<Cell> {
    let (now, peak) = (arm.figures.lost_updates, arm.figures.lost_updates_peak);
    if arm.figures.incomplete {
        return Some(damage(arm, peak));
    }
    if peak > now {
        let text = format!("✖ {} (peak {})", count(now), count(peak));
        return Some(Cell::new(Tone::Bad, text));
    }
    Some(damage(arm, now))
}

fn damage(arm: &Arm<'_>, n: u64) -> Cell {
    match (n, &arm.record.doubt) {
        (0, None) => Cell::new(Tone::Good, "✔ 0"),
        // It could not have shown.
        (0, Some(_)) => Cell::new(Tone::Doubt, "? 0"),
        _ if arm.figures.incomplete => Cell::new(Tone::Bad, format!("✖ ≥ {}", count(n))),
        _ => Cell::new(Tone::Bad, format!("✖ {}", count(n))),
    }
}

/// While units are left overselling cannot show, but the updates that would lead to it do.
#[allow(clippy::unnecessary_wraps)] // the shape of a column
fn oversold(arm: &Arm<'_>) -> Option<Cell> {
    let figures = arm.figures;
    Some(match (figures.oversold, arm.record.sold_out_all) {
        // Whether it is sold out is not known.
        (0, _) if figures.incomplete => damage(arm, 0),
        (0, false) if figures.lost_updates == 0 => Cell::plain("0, not sold out"),
        (0, false) => Cell::new(Tone::Doubt, "? not sold out"),
        (oversold, _) => damage(arm, oversold),
    })
}

/// Beside zeros their upper bound: none in n orders means fewer than 3 in n, at 95 % confidence (the rule of three).
#[allow(clippy::cast_precision_loss)] // two digits are printed
fn bound(arm: &Arm<'_>) -> Option<Cell> {
    let figures = arm.figures;
    let none =
        figures.oversold == 0 && figures.lost_updates_peak == 0 && figures.orders > 3 && arm.record.doubt.is_none();
    none.then(|| Cell::plain(format!("{:.2} %", 300.0 / figures.orders as f64)))
}

/// The mean number of attempts that an acquire took.
#[allow(clippy::cast_precision_loss)] // one digit is printed
fn attempts(arm: &Arm<'_>) -> Option<Cell> {
    let acquires = arm.figures.outcomes.total();
    (arm.nodes > 0 && acquires > 0)
        .then(|| Cell::plain(format!("{:.1}", arm.figures.attempts as f64 / acquires as f64)))
}

/// Sections that outlasted their validity, as a share of all; none among n means fewer than 3 in n.
#[allow(clippy::cast_precision_loss)] // two digits are printed
fn overran(arm: &Arm<'_>) -> Option<Cell> {
    let (overran, sections) = (arm.figures.overran, arm.figures.hold_us.count);
    if arm.nodes == 0 || sections == 0 {
        return None;
    }
    let percent = |n: u64| n as f64 * 100.0 / sections as f64;
    Some(if overran == 0 && sections < 30 {
        Cell::plain("0")
    } else if overran == 0 {
        Cell::plain(format!("0 (< {:.2} %)", percent(3)))
    } else {
        Cell::new(Tone::Doubt, format!("{} ({:.2} %)", count(overran), percent(overran)))
    })
}

/// The mean votes that locks were held with, of the nodes that are asked: `3/3`, `2.4/3`.
#[allow(clippy::cast_precision_loss)] // one digit is printed
fn votes(arm: &Arm<'_>, counts: &[u64]) -> Option<Cell> {
    // A record that somebody else wrote may have any counts.
    let acquired: u128 = counts.iter().copied().map(u128::from).sum();
    if arm.nodes == 0 || acquired == 0 {
        return None;
    }
    let votes: u128 = counts
        .iter()
        .zip(0..)
        .map(|(count, votes): (&u64, u128)| u128::from(*count) * votes)
        .sum();
    if votes == acquired * arm.nodes as u128 {
        return Some(Cell::plain(format!("{0}/{0}", arm.nodes)));
    }
    // Rounded down: full votes are only said when every acquire had them.
    let mean = (votes as f64 / acquired as f64 * 10.0).floor() / 10.0;
    Some(Cell::plain(format!("{mean:.1}/{}", arm.nodes)))
}
