//! A bench as text: a table for each case, and the verdicts on the targets.

use std::collections::{BTreeMap, BTreeSet};

use super::paint::{Paint, Tone};
use super::table::{Cell, Head, Table};
use lockstorm_bench::{
    BenchRecord, CaseResult, Contender, Figures, Judged, LeftOut, LoadKind, Metric, Quartiles, Summary, Trouble,
};
use lockstorm_data::metrics::units::{counted, rate};

/// How a figure is written.
#[derive(Clone, Copy)]
enum As {
    Rate,
    Count,
    /// Microseconds, written as milliseconds.
    Millis,
    /// Nanoseconds a cycle, written as seconds for 100,000 cycles.
    Cpu,
    Digits(usize),
    Percent,
    Times,
}

/// In which cases a figure is meaningful; the record has all of them.
#[derive(Clone, Copy)]
enum When {
    Always,
    Healthy,
    /// Most nodes can be asked.
    Quorum,
    NoQuorum,
    /// Not everything was acquired, or that was in doubt.
    Refused,
    OneKey,
    /// Locks are held, or something is wrong.
    Grows,
    Holds,
}

/// All possible columns. A column without a figure for any contender is left out.
const COLUMNS: &[(&str, Metric, As, When)] = &[
    ("cycles/s", Metric::CyclesPerS, As::Rate, When::Quorum),
    ("acq p50", Metric::AcquireP50, As::Millis, When::Quorum),
    ("p99", Metric::AcquireP99, As::Millis, When::Quorum),
    ("p99.9", Metric::AcquireP999, As::Millis, When::Healthy),
    ("rel p50", Metric::ReleaseP50, As::Millis, When::Healthy),
    ("p99", Metric::ReleaseP99, As::Millis, When::Quorum),
    ("refused p50", Metric::RefusalP50, As::Millis, When::NoQuorum),
    ("max", Metric::RefusalMax, As::Millis, When::NoQuorum),
    ("acquired", Metric::AcquiredShare, As::Percent, When::Refused),
    ("of link", Metric::OfLink, As::Percent, When::Always),
    ("of healthy", Metric::OfHealthyCycles, As::Percent, When::Quorum),
    ("acq p99", Metric::OfHealthyAcquireP99, As::Times, When::Quorum),
    ("rel p99", Metric::OfHealthyReleaseP99, As::Times, When::Quorum),
    ("of ideal", Metric::IdealQueueRatio, As::Times, When::OneKey),
    ("Jain", Metric::Jain, As::Digits(3), When::OneKey),
    ("tries", Metric::AttemptsPerCycle, As::Digits(2), When::OneKey),
    ("commands", Metric::CommandsPerNodeAndCycle, As::Digits(2), When::Quorum),
    ("CPU", Metric::ClientCpu, As::Cpu, When::Quorum),
    ("% core", Metric::ClientCpuPercent, As::Digits(1), When::Holds),
    ("server", Metric::ServerCpu, As::Cpu, When::Quorum),
    ("MiB", Metric::GrowthMib, As::Digits(1), When::Grows),
    ("back", Metric::BackInUse, As::Millis, When::Always),
    ("survivor", Metric::SurvivorKeys, As::Count, When::Always),
    ("lost", Metric::LostLocks, As::Count, When::Always),
    ("orphans", Metric::OrphanKeys, As::Count, When::Always),
];

/// The summary, in colour if wanted.
pub fn render_bench(record: &BenchRecord, paint: Paint) -> String {
    let mut sections = vec![head(record, paint)];
    sections.extend(record.cases.iter().filter_map(|case| section(case, paint)));
    sections.extend(record.left_out.iter().map(|one| left_out(one, paint)));
    sections.push(legend(record, paint));
    if !record.targets.is_empty() {
        sections.push(targets(&record.targets, paint));
    }
    sections.join("\n")
}

fn head(record: &BenchRecord, paint: Paint) -> String {
    let machine = &record.machine;
    let server = record.nodes.first().map_or("no server", |node| node.server.as_str());
    let cut = if record.interrupted { " (interrupted)" } else { "" };
    let processor = record.cpu_model.as_deref().unwrap_or(&machine.arch);
    format!(
        "{}\n{}{cut} of {} s · {} nodes, {server} · {} of {processor} · {} · lockstorm {}\n",
        paint.apply(Tone::Strong, "bench · the lock engine beside its peers"),
        counted(record.rounds as u64, "round", "rounds"),
        record.time.as_secs_f64(),
        hosts(&record.cases),
        counted(machine.cpus as u64, "core", "cores"),
        machine.os,
        record.lockstorm,
    )
}

/// The numbers of nodes: `3`, or `3 and 5`.
fn hosts(cases: &[CaseResult]) -> String {
    let numbers: BTreeSet<usize> = cases.iter().map(|case| case.hosts).collect();
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    if numbers.is_empty() {
        "no".to_owned()
    } else {
        numbers.join(" and ")
    }
}

fn section(case: &CaseResult, paint: Paint) -> Option<String> {
    let columns = COLUMNS
        .iter()
        .filter(|(_, metric, _, when)| is_shown(case, *metric, *when));
    let columns: Vec<_> = columns.collect();
    let has_ratio = case.trouble == Trouble::None && case.load == LoadKind::OwnKeys && !case.ratios.is_empty();
    let mut head = vec![Head::new("contender")];
    head.extend(columns.iter().map(|(title, ..)| Head::new(*title)));
    if has_ratio {
        head.push(Head::new("engine is"));
    }
    let mut rows = Vec::new();
    let mut failures = String::new();
    for summary in &case.summary {
        if let Some(why) = &summary.error {
            let name = summary.contender;
            failures += &format!("{name} could not be measured in every round: {why}\n");
        }
        if summary.metrics.is_empty() {
            continue;
        }
        let mut row = vec![Cell::plain(summary.contender.name())];
        row.extend(columns.iter().map(|(_, metric, how, _)| cell(summary, *metric, *how)));
        if has_ratio {
            row.push(ratio(case, summary.contender));
        }
        rows.push(row);
    }
    if rows.is_empty() && failures.is_empty() {
        return None;
    }
    if case.trouble == Trouble::None {
        failures.extend(
            case.summary
                .iter()
                .filter_map(|summary| refusals(case, summary.contender)),
        );
    }
    let title = format!("{} · {}", case.name, case.title);
    let table = Table { head, rows }.render(paint);
    Some(format!("{}\n{table}{failures}", paint.apply(Tone::Strong, &title)))
}

/// How often a contender was refused in all rounds, and why.
fn refusals(case: &CaseResult, contender: Contender) -> Option<String> {
    let figures = || {
        let runs = case.rounds.iter().filter_map(|round| round.of(contender));
        runs.filter_map(|run| run.figures.as_ref())
    };
    let sum = |counts: fn(&Figures) -> &BTreeMap<String, u64>| {
        let mut sums = BTreeMap::<_, u64>::new();
        for (name, n) in figures().flat_map(counts) {
            *sums.entry(name.replace('_', " ")).or_default() += n;
        }
        let sums: Vec<String> = sums.iter().map(|(name, n)| format!("{name} {n}")).collect();
        (!sums.is_empty()).then(|| sums.join(", "))
    };
    let causes = sum(|figures| &figures.causes).map_or_else(String::new, |causes| format!("; nodes: {causes}"));
    Some(format!(
        "{contender} was refused: {}{causes}\n",
        sum(|figures| &figures.refused)?
    ))
}

/// Whether a figure is there and meaningful in this case.
fn is_shown(case: &CaseResult, metric: Metric, when: When) -> bool {
    let spreads = || case.summary.iter().filter_map(|summary| summary.metrics.get(&metric));
    let healthy = case.trouble == Trouble::None;
    let quorum = !matches!(case.trouble, Trouble::MostKilled | Trouble::MostPaused);
    let holds = case.load == LoadKind::Renewal;
    let is_meaningful = match when {
        When::Always => true,
        When::Healthy => healthy,
        When::Quorum => quorum,
        When::NoQuorum => !quorum,
        When::Refused => !healthy || spreads().any(|spread| spread.min < 1.0),
        When::OneKey => case.load == LoadKind::OneKey,
        When::Grows => !healthy || holds,
        When::Holds => holds,
    };
    is_meaningful && spreads().next().is_some()
}

fn cell(summary: &Summary, metric: Metric, how: As) -> Cell {
    let Some(spread) = summary.metrics.get(&metric) else {
        return Cell::none();
    };
    // A single leftover key in a single round must show.
    let figure = match metric {
        Metric::OrphanKeys | Metric::SurvivorKeys | Metric::LostLocks => spread.max,
        _ => spread.median,
    };
    Cell::plain(match how {
        As::Count => format!("{figure:.0}"),
        As::Rate => rate(figure),
        As::Millis => millis(figure),
        As::Cpu => format!("{:.2}", figure / 1e4),
        As::Digits(digits) => format!("{figure:.digits$}"),
        As::Percent => percent(figure),
        As::Times => format!("{figure:.2}×"),
    })
}

/// A share in percent; less than all is never shown as 100 %.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if share < 1.0 && percent >= 99.9 {
        "99.9 %".to_owned()
    } else {
        format!("{percent:.1} %")
    }
}

/// Microseconds as milliseconds, with three significant digits.
fn millis(micros: f64) -> String {
    let millis = micros / 1e3;
    match millis {
        ..10.0 => format!("{millis:.3}"),
        10.0..1000.0 => format!("{millis:.1}"),
        _ => format!("{millis:.0}"),
    }
}

/// How many times as fast the engine is: the median of the rounds, and the quartiles.
fn ratio(case: &CaseResult, peer: Contender) -> Cell {
    let ratio = case.ratios.iter().find(|ratio| ratio.peer == peer);
    match ratio.and_then(|ratio| ratio.metrics.get(&Metric::CyclesPerS)) {
        Some(Quartiles { median, q1, q3, .. }) => Cell::plain(format!("{median:.2}× ({q1:.2}–{q3:.2})")),
        None => Cell::none(),
    }
}

fn left_out(one: &LeftOut, paint: Paint) -> String {
    format!("{} was left out: {}\n", paint.apply(Tone::Strong, &one.name), one.why)
}

fn legend(record: &BenchRecord, paint: Paint) -> String {
    let mut lines = vec![
        "Medians of the rounds; times in ms; CPU and server: processor seconds of the client and of all nodes for 100,000 cycles.",
        "Closed loops: a waiting task asks for nothing meanwhile. Orphans: keys nobody holds, the most of any round.",
    ];
    if !record.peers {
        lines.push("This build has no peers: `cargo run --release --features peers -- bench` measures them too.");
    }
    lines
        .iter()
        .map(|line| format!("{}\n", paint.apply(Tone::Faint, line)))
        .collect()
}

fn targets(judged: &[Judged], paint: Paint) -> String {
    let mut text = format!("{}\n", paint.apply(Tone::Strong, "targets"));
    for one in judged {
        let (tone, mark, verdict) = match one.reached {
            true => (Tone::Good, '✔', "reached"),
            false => (Tone::Bad, '✖', "missed"),
        };
        let value = match one.value.fract() == 0.0 {
            true => one.value.to_string(),
            false => format!("{:.3}", one.value),
        };
        let line = format!("{mark} {}: {}: {value}, {verdict} ({})", one.case, one.words, one.asked);
        text += &format!("  {}\n", paint.apply(tone, &line));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_less_than_all_is_never_printed_as_all() {
        assert_eq!(
            [1.0, 0.999_99, 0.9512, 0.0].map(percent),
            ["100.0 %", "99.9 %", "95.1 %", "0.0 %"]
        );
    }

    #[test]
    fn milliseconds_keep_three_digits() {
        assert_eq!(
            [62.4, 1500.0, 61_400.0, 1_300_000.0].map(millis),
            ["0.062", "1.500", "61.4", "1300"]
        );
    }
}
