//! The columns of the summary's tables, as data: a title, and how an arm's cell is made.

use super::paint::Tone;
use super::table::{Cell, Table};
use crate::metrics::units::{count, micros, rate};
use crate::metrics::{Figures, Quantiles};
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
    column(NO_QUORUM, |arm| asked(arm, arm.figures.outcomes.no_quorum)),
    optional("expired", |arm| asked(arm, arm.figures.outcomes.expired)),
    optional("unknown", |arm| asked(arm, arm.figures.outcomes.unknown)),
    column("votes", votes),
    column("held p99", |arm| {
        arm.locks.then(|| quantile(arm.figures.hold_us, |q| q.p99)).flatten()
    }),
    optional("lost while held", |arm| asked(arm, arm.figures.locks_lost)),
    optional("dropped work", |arm| asked(arm, arm.figures.aborted)),
];

/// How the load went, whatever the workload.
const LOAD: &[Column] = &[
    column("offered", |arm| number(arm.figures.offered)),
    column("achieved", |arm| number(arm.figures.completed)),
    column("per second", |arm| Some(Cell::plain(rate(arm.figures.throughput)))),
    column("late", |arm| number(arm.figures.late)),
    column("response p50", |arm| quantile(arm.figures.response_us, |q| q.p50)),
    column("p99", |arm| quantile(arm.figures.response_us, |q| q.p99)),
    optional("gave up", |arm| number(arm.figures.gave_up)),
    optional("fenced", |arm| doubtful(arm.figures.fenced)),
    optional("errors", |arm| doubtful(arm.figures.errors)),
];

/// What became of the stock.
const INVENTORY: &[Column] = &[
    column("orders", |arm| number(arm.figures.orders)),
    column("told sold out", |arm| number(arm.figures.sold_out)),
    column("lost updates", |arm| Some(damage(arm, arm.figures.lost_updates))),
    column("oversold", oversold),
    column("at most (95 %)", bound),
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

/// The table of the load.
pub(super) fn load(record: &Record) -> Table {
    table("load", LOAD.iter(), &arms(record))
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

fn damage(arm: &Arm<'_>, n: u64) -> Cell {
    match (n, &arm.record.doubt) {
        (0, None) => Cell::new(Tone::Good, "✔ 0"),
        // It could not have shown.
        (0, Some(_)) => Cell::new(Tone::Doubt, "? 0"),
        _ => Cell::new(Tone::Bad, format!("✖ {}", count(n))),
    }
}

/// While units are left overselling cannot show, but the updates that would lead to it do.
#[allow(clippy::unnecessary_wraps)] // the shape of a column
fn oversold(arm: &Arm<'_>) -> Option<Cell> {
    let figures = arm.figures;
    Some(match (figures.oversold, arm.record.sold_out_all) {
        (0, false) if figures.lost_updates == 0 => Cell::plain("0, not sold out"),
        (0, false) => Cell::new(Tone::Doubt, "? not sold out"),
        (oversold, _) => damage(arm, oversold),
    })
}

/// Beside zeros their upper bound: none in n orders means fewer than 3 in n, at 95 % confidence (the rule of three).
#[allow(clippy::cast_precision_loss)] // two digits are printed
fn bound(arm: &Arm<'_>) -> Option<Cell> {
    let figures = arm.figures;
    let none = figures.oversold == 0 && figures.lost_updates == 0 && figures.orders > 3 && arm.record.doubt.is_none();
    none.then(|| Cell::plain(format!("{:.2} %", 300.0 / figures.orders as f64)))
}

/// The mean votes that locks were held with, of the nodes that are asked: `3/3`, `2.4/3`.
#[allow(clippy::cast_precision_loss)] // one digit is printed
fn votes(arm: &Arm<'_>) -> Option<Cell> {
    let counts = &arm.figures.votes;
    let acquired: u64 = counts.iter().sum();
    if arm.nodes == 0 || acquired == 0 {
        return None;
    }
    let votes: u64 = counts
        .iter()
        .zip(0..)
        .map(|(count, votes): (&u64, u64)| count * votes)
        .sum();
    if votes == acquired * arm.nodes as u64 {
        return Some(Cell::plain(format!("{0}/{0}", arm.nodes)));
    }
    // Rounded down: full votes are only said when every acquire had them.
    let mean = (votes as f64 / acquired as f64 * 10.0).floor() / 10.0;
    Some(Cell::plain(format!("{mean:.1}/{}", arm.nodes)))
}
