//! What a report says, whatever its form.

use std::collections::BTreeSet;
use std::time::Duration;

use super::figures::figures;
use super::group::Runs;
use super::sentences::{against_best, sentences};
use super::spread::confidence;
use super::times::{MEANS, times};
use super::verdicts::verdict_table;
use crate::report::columns::Arm;
use crate::report::figures::moment;
use crate::report::paint::Tone;
use crate::report::story::{happened, legend};
use crate::report::table::{Cell, Contents, Head, Table};
use lockstorm_data::metrics::Metric;
use lockstorm_data::metrics::units::{counted, setting};
use lockstorm_data::model::printable;
use lockstorm_data::scenario::Words as _;
use lockstorm_run::Record;

/// The parts of a report, as text and tables.
pub(super) struct Parts {
    pub title: String,
    /// What the runs have shown.
    pub sentences: Vec<(Tone, String)>,
    /// Which runs these are.
    pub subtitle: String,
    /// A row for each lock.
    pub verdicts: Table,
    /// What their columns mean.
    pub legend: String,
    /// How sure that is.
    pub sure: String,
    /// What faults did to the time that locks take, if there are lock nodes.
    pub times: Option<Table>,
    /// What its columns mean.
    pub times_legend: String,
    /// What happened in the first run.
    pub happened: Table,
    /// Of which run that is, if there are several.
    pub happened_in: String,
    /// The figures of all arms.
    pub figures: Vec<Table>,
    pub caveats: Vec<String>,
    /// How the scenario, in a file, is played again; `None` if it was not played here.
    pub again: Option<String>,
    pub scenario: String,
    pub versions: String,
}

impl Parts {
    /// The parts of a report on these runs.
    ///
    /// # Errors
    /// A text is not a histogram: another program wrote the record.
    pub fn of(runs: &Runs) -> Result<Self, String> {
        let (first, all) = (runs.first(), runs.all());
        let verdicts = verdict_table(runs);
        let legend = legend(&verdicts, &Arm::all_of_record(first), &runs.scenario().workload);
        let times = times(runs).map_err(|error| format!("a record can't be used: {error}"))?;
        let (times, alike) = times.map_or((None, all.len()), |(table, alike)| (Some(table), alike));
        let of_all = match all.len() - alike {
            0 if all.len() == 1 => String::new(),
            0 => format!(" · {alike} runs together"),
            _ => format!(
                " · {alike} of {} runs together, in which faults came in this order",
                all.len()
            ),
        };
        let caveats = caveats(runs);
        Ok(Self {
            title: printable(&first.scenario.title),
            sentences: sentences(runs),
            subtitle: subtitle(runs),
            verdicts,
            legend: [legend, locks(runs)]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(" · "),
            sure: sure(runs, &caveats),
            times,
            times_legend: format!("{MEANS}{of_all}"),
            happened: what_happened(runs),
            happened_in: if all.len() > 1 {
                format!(" in the run with {}", first.which())
            } else {
                String::new()
            },
            figures: figures(runs),
            caveats,
            again: first
                .reported
                .is_none()
                .then(|| format!("lockstorm run scenario.toml --repeat {} -o page.html", all.len().max(8))),
            scenario: first.scenario_toml.lines().map(|line| printable(line) + "\n").collect(),
            versions: versions(runs),
        })
    }
}

/// Which runs these are.
fn subtitle(runs: &Runs) -> String {
    let (first, all) = (runs.first(), runs.all());
    if let Some(reported) = &first.reported {
        let name = format!("{}, as {} tells", first.scenario.name, reported.source);
        return printable(&match all {
            [_] => format!("{name} · {:.1} s · {reported}", first.elapsed),
            _ => format!(
                "{} of the program · the first: {name} · {:.1} s · {reported}",
                counted(all.len() as u64, "run", "runs"),
                first.elapsed
            ),
        });
    }
    let length = setting(Duration::from_secs_f64(first.elapsed.round().max(0.0)));
    let runs = match all {
        [only] => format!("one run of {length}, seed {}", only.seed),
        [.., last] => format!("{} runs of {length}, seeds {} to {}", all.len(), first.seed, last.seed),
        [] => String::new(),
    };
    let lab = &first.scenario.lab;
    let mut all = vec![
        first.scenario.name.clone(),
        runs,
        counted(lab.hosts as u64, "host", "hosts"),
    ];
    let server = first.nodes.first().map(|node| format!("real {}", node.server));
    all.push(server.unwrap_or_else(|| "servers that are not ours".to_owned()));
    if lab.are_ours() {
        all.push(format!("persistence {}", lab.persistence.word()));
    }
    let ttls: BTreeSet<Duration> = first
        .arms
        .iter()
        .filter(|arm| arm.node_timeout.is_some())
        .map(|arm| arm.ttl)
        .collect();
    match (ttls.first(), ttls.last()) {
        (Some(one), Some(other)) if one == other => all.push(format!("TTL {}", setting(*one))),
        (Some(least), Some(most)) => all.push(format!("TTL {} to {}", setting(*least), setting(*most))),
        _ => {}
    }
    printable(&all.join(" · "))
}

/// What each lock is whose name does not say it, and how rows of several runs are read.
fn locks(runs: &Runs) -> String {
    let arms = runs.first().arms.iter().filter(|arm| arm.name != arm.lock);
    let mut all: Vec<String> = arms
        .map(|arm| format!("{}: {}", printable(&arm.name), printable(&arm.lock)))
        .collect();
    if runs.all().len() > 1 {
        let unavailable = Metric::UnavailableMs.title();
        all.push(format!(
            "{unavailable}: the longest time in which a lock was unavailable"
        ));
        all.push("a mark is that of the worst run".to_owned());
    }
    all.join(" · ")
}

/// How sure the verdicts are.
fn sure(of: &Runs, caveats: &[String]) -> String {
    let runs = of.all().len();
    let sure = match confidence(runs) {
        None => "One run is one sample: what others would show is not known".to_owned(),
        Some(percent) => {
            // Rounded down, so that nothing becomes certain.
            let shown = (percent * 10.0).floor() / 10.0;
            let few = if percent < 95.0 { " (six runs give 96.8 %)" } else { "" };
            format!(
                "Median of {runs} runs (least – most): with {shown} % confidence the range has the median of all such runs{few}"
            )
        }
    };
    // What weighs most comes first.
    let care = match caveats {
        [] => String::new(),
        [only] => format!(" Read with care: {only}."),
        [first, more @ ..] => {
            let more = counted(more.len() as u64, "caveat", "caveats");
            format!(" Read with care: {first}; {more} more at the end.")
        }
    };
    let best = against_best(of).map_or_else(String::new, |said| format!(" {said}"));
    format!("{sure}.{best}{care}")
}

fn what_happened(runs: &Runs) -> Table {
    let first = runs.first();
    let lines = happened(&first.events, &Arm::all_of_record(first), &runs.scenario().workload);
    let row = |(at, tone, words): (f64, Tone, String)| {
        vec![
            Cell::plain(format!("{} s", moment(at))),
            Cell::new(tone, printable(&words)),
        ]
    };
    Table {
        head: vec![Head::new("at"), Head::new("what").of(Contents::Sentences)],
        rows: lines.into_iter().map(row).collect(),
    }
}

fn caveats(runs: &Runs) -> Vec<String> {
    let mut all: Vec<(String, Vec<&Record>)> = Vec::new();
    for record in runs.all() {
        let interrupted = record
            .interrupted
            .then(|| format!("the run was interrupted after {:.1} s", record.elapsed));
        let texts = [&record.partial, &record.inconclusive, &record.warnings];
        let texts = texts.into_iter().flatten().map(|caveat| printable(&caveat.to_string()));
        for text in interrupted.into_iter().chain(texts) {
            match all.iter_mut().find(|(known, _)| *known == text) {
                Some((_, of)) if of.last().is_some_and(|last| std::ptr::eq(*last, record)) => {}
                Some((_, of)) => of.push(record),
                None => all.push((text, vec![record])),
            }
        }
    }
    let of_run = |(text, of): (String, Vec<&Record>)| match (runs.all().len(), &of[..]) {
        (1, _) => text,
        (_, [only]) => format!("{}: {text}", only.which()),
        (count, of) if of.len() == count => format!("all {count} runs: {text}"),
        (count, of) => format!("{} of {count} runs: {text}", of.len()),
    };
    all.into_iter().map(of_run).collect()
}

/// What ran on what, when.
fn versions(runs: &Runs) -> String {
    let first = runs.first();
    if first.reported.is_some() {
        return printable(&format!("lockstorm {} · judged {}", first.lockstorm, first.started));
    }
    let servers: BTreeSet<&str> = first.nodes.iter().map(|node| node.server.as_str()).collect();
    let mut all = vec![format!("lockstorm {}", first.lockstorm)];
    all.extend(servers.into_iter().map(str::to_owned));
    all.push(format!("{}, {}", first.machine.os, first.machine.arch));
    all.push(counted(first.machine.cpus as u64, "processor", "processors"));
    all.push(format!("begun {}", first.started));
    printable(&all.join(" · "))
}
