//! The page of runs.

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};

use super::chart::chart;
use super::curves::Curves;
use super::group::Runs;
use super::phases::phases;
use super::spread::{confidence, spread};
use crate::report::columns::{Arm, marked};
use crate::report::lanes::{ShownHold, svg};
use crate::report::page::{class, page, tabled};
use crate::report::paint::Tone;
use crate::report::story::{
    Verdict, conclusion, counted, happened, is_control, legend, lesson, order, tally, verdicts, whys,
};
use crate::report::table::{Cell, Table};
use lockstorm_data::metrics::Metric;
use lockstorm_data::metrics::units::{counted as number, setting};
use lockstorm_data::model::{CheckResult, printable};
use lockstorm_run::{ArmRecord, Record};

/// The page of these runs. It is a function of the records alone.
///
/// # Errors
/// A record has a text that is no histogram, or a chart could not be drawn, which is a bug.
pub fn runs_page(runs: &Runs) -> Result<String, String> {
    let (first, scenario) = (runs.first(), runs.scenario());
    let names: Vec<&str> = first.arms.iter().map(|arm| arm.name.as_str()).collect();
    let broken = |error: lockstorm_data::metrics::NotAHistogram| format!("a record can't be used: {error}");
    let mut charts = Vec::new();
    let by_percentile = Curves::by_percentile(runs.all()).map_err(broken)?;
    let over_time = Curves::over_time(first, counted(scenario));
    for curves in over_time
        .iter()
        .chain(Some(&by_percentile).filter(|curves| !curves.lines.is_empty()))
    {
        charts.push(chart(curves, &names)?);
    }
    let phases = phases(first).map_err(broken)?;
    let title = format!("{} · lockstorm report", printable(&scenario.name));
    let body = html! {
        h1 { (printable(&scenario.title)) }
        @for (tone, sentence) in sentences(runs) {
            p class={ "verdict " (class(tone)) } { span { (sentence) } }
        }
        p.made { (subtitle(runs)) }
        (tabled(&verdict_table(runs)))
        p.made { (explained(runs)) }
        h2 { "What happened" @if runs.all().len() > 1 { " in the run with seed " (first.seed) } }
        (what_happened(first))
        @for curves in &charts { (curves) }
        @if let Some(phases) = &phases {
            h2 { "Time to get a lock between faults" }
            (tabled(phases))
            p.made { "p50 · p99 · p99.9 of the locks that were granted; – where fewer than ten of them took longer." }
        }
        (evidence(first))
        h2 { "Read this with care" }
        (caveats(runs))
        h2 { "To play it again" }
        p {
            "Write the scenario to a file, and: "
            code { "lockstorm sweep FILE --repeat " (runs.all().len().max(8)) " --records runs/ && lockstorm report runs/ -o page.html" }
        }
        details { summary { "the scenario" } pre { (printable_lines(&first.scenario_toml)) } }
        footer {
            "lockstorm " (first.lockstorm) " · " (first.machine.os) ", " (first.machine.arch) ", "
            (number(first.machine.cpus as u64, "processor", "processors")) " · begun " (first.started)
        }
    };
    Ok(page(&title, &body))
}

fn verdict(runs: &Runs, record: &Record, index: usize) -> Option<Verdict> {
    let arms = Arm::all_of_record(record);
    let arm = arms.get(index)?;
    Some(Verdict::of(
        arm,
        is_control(runs.scenario(), index),
        &runs.scenario().workload,
    ))
}

/// What the runs have shown, in a sentence or two.
fn sentences(runs: &Runs) -> Vec<(Tone, String)> {
    let (scenario, all) = (runs.scenario(), runs.all());
    let mut said = Vec::new();
    if let [only] = all {
        said.extend(conclusion(scenario, &Arm::all_of_record(only)).map(|said| (Tone::Plain, said)));
    } else {
        let of = all.len();
        let arms = order(scenario)
            .into_iter()
            .filter(|index| !is_control(scenario, *index));
        let (mut held, mut failed, mut open) = (Vec::new(), Vec::new(), Vec::new());
        for arm in arms {
            let verdicts = all.iter().filter_map(|record| verdict(runs, record, arm));
            let (mut safe, mut unsafe_in) = (0, 0);
            for verdict in verdicts {
                match verdict {
                    Verdict::Safe => safe += 1,
                    Verdict::Unsafe | Verdict::Poor(_) => unsafe_in += 1,
                    Verdict::Control | Verdict::Unproven | Verdict::Inconclusive => {}
                }
            }
            let name = name(scenario, arm);
            match (safe, unsafe_in) {
                (safe, 0) if safe == of => held.push(name),
                (safe, 0) => open.push(format!("{name} in {} of {of}", of - safe)),
                (_, failures) => failed.push(format!("{name} in {failures} of {of}")),
            }
        }
        for (tone, head, names) in [
            (Tone::Good, format!("Held in all {of} runs"), held),
            (Tone::Bad, "Did not hold".to_owned(), failed),
            (Tone::Doubt, "Not shown".to_owned(), open),
        ] {
            if !names.is_empty() {
                said.push((tone, format!("{head}: {}", names.join(", "))));
            }
        }
    }
    let cut_short = all.iter().filter(|record| record.interrupted).count();
    if cut_short > 0 {
        let runs = number(cut_short as u64, "run was", "runs were");
        said.push((
            Tone::Doubt,
            format!("{runs} interrupted: what came later has not been put to the test"),
        ));
    }
    let results = |record: &Record| -> Vec<CheckResult> {
        let all = record.expectations.iter();
        all.map(|checked| checked.result).collect()
    };
    let lessons = all.iter().map(|record| lesson(scenario, results(record).into_iter()));
    let lesson = lessons.collect::<Option<Vec<_>>>().and_then(|all| all.first().copied());
    said.extend(lesson.map(|lesson| (Tone::Plain, printable(lesson))));
    said.extend(tally(all.iter().flat_map(results)));
    said
}

fn name(scenario: &lockstorm_data::scenario::Scenario, arm: usize) -> String {
    printable(&scenario.arms[arm].name)
}

/// Which runs these are.
fn subtitle(runs: &Runs) -> String {
    let (first, all) = (runs.first(), runs.all());
    let length = setting(std::time::Duration::from_secs_f64(first.elapsed.round().max(0.0)));
    let runs = match all {
        [only] => format!("one run of {length}, seed {}", only.seed),
        [.., last] => format!("{} runs of {length}, seeds {} to {}", all.len(), first.seed, last.seed),
        [] => String::new(),
    };
    format!("{} · {runs}", printable(&first.scenario.name))
}

/// The verdict on each lock. Of one run it is the table of its summary.
fn verdict_table(runs: &Runs) -> Table {
    let (scenario, all) = (runs.scenario(), runs.all());
    let headline = counted(scenario);
    if let [only] = all {
        return verdicts(scenario, &Arm::all_of_record(only), headline, usize::MAX);
    }
    let mut metrics = vec![headline];
    let others = scenario.workload.about().display().verdicts.iter().copied();
    metrics.extend(others.chain([Metric::DoubleHolds, Metric::UnavailableMs, Metric::AcquireP99]));
    let mut seen = Vec::new();
    metrics.retain(|metric| {
        let is_new = !seen.contains(metric);
        seen.push(*metric);
        is_new
    });
    let mut head = vec!["lock".to_owned(), "held".to_owned()];
    head.extend(metrics.iter().map(|metric| metric.title().to_owned()));
    head.push("why".to_owned());
    let row = |index: usize| {
        let arms = runs.arm(index);
        let of_all = all.iter().filter_map(|record| verdict(runs, record, index));
        let verdicts: Vec<Verdict> = of_all.collect();
        let held = verdicts.iter().filter(|verdict| **verdict == Verdict::Safe).count();
        let fails = |verdict: &&Verdict| matches!(verdict, Verdict::Unsafe | Verdict::Poor(_));
        let is_open = |verdict: &&Verdict| **verdict != Verdict::Safe;
        // One run in which it broke outweighs those that have shown nothing.
        let worst = verdicts.iter().find(fails).or_else(|| verdicts.iter().find(is_open));
        let mark = worst.map_or(Verdict::Safe, |worst| *worst).mark();
        let text = match worst {
            Some(Verdict::Control) => Verdict::Control.word().to_owned(),
            _ => format!("{held} of {}", verdicts.len()),
        };
        let mut cells = vec![
            Cell::new(Tone::Strong, name(scenario, index)),
            marked(mark, text, false),
        ];
        cells.extend(metrics.iter().map(|metric| spread(*metric, &arms)));
        let mut causes: Vec<String> = Vec::new();
        for arm in &arms {
            let cause = whys(&scenario.arms[index], arm, &scenario.workload).into_iter().next();
            // The numbers differ from run to run.
            let cause = cause.map(|why| {
                why.words
                    .trim_start_matches(|c: char| c.is_ascii_digit() || c == ',')
                    .trim()
                    .to_owned()
            });
            causes.extend(cause.filter(|cause| !causes.contains(cause)));
        }
        cells.push(Cell::plain(causes.join("; ")));
        cells
    };
    Table {
        head,
        rows: order(scenario).into_iter().map(row).collect(),
    }
}

/// What the columns mean.
fn explained(runs: &Runs) -> String {
    let arms = Arm::all_of_record(runs.first());
    let mut said = legend(&verdict_table(runs), &arms, &runs.scenario().workload);
    if let Some(percent) = confidence(runs.all().len()) {
        let of = runs.all().len();
        said = format!(
            "{said}{}median of {of} runs (least – most): with {percent:.3} % confidence the range has the median of all such runs",
            if said.is_empty() { "" } else { " · " }
        );
    }
    said
}

fn what_happened(record: &Record) -> Markup {
    let lines = happened(&record.events, &Arm::all_of_record(record), &record.scenario.workload);
    html! {
        div.wide {
            table.words {
                @for (at, tone, words) in lines {
                    tr { th { (format!("{at:.1} s")) } td class=(class(tone)) { (printable(&words)) } }
                }
            }
        }
    }
}

/// The first double hold of each arm that has one.
fn evidence(record: &Record) -> Markup {
    let with: Vec<(&ArmRecord, _)> = record
        .arms
        .iter()
        .filter_map(|arm| Some((arm, arm.evidence.first()?)))
        .collect();
    html! {
        @if !with.is_empty() {
            h2 { "Two at once" }
            p { "The first time that two held one lock, of each lock to which it happened: who held it, what the nodes forgot, who came in." }
            @for (place, (arm, double)) in with.into_iter().enumerate() {
                details open[place == 0] {
                    summary { (arm.name) }
                    figure.lanes { (PreEscaped(svg(&ShownHold::of(record, arm, double)))) }
                }
            }
        }
    }
}

fn caveats(runs: &Runs) -> Markup {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for record in runs.all() {
        let of_run = if runs.all().len() > 1 {
            format!("seed {}: ", record.seed)
        } else {
            String::new()
        };
        if record.interrupted {
            all.push(format!("{of_run}the run was interrupted after {:.1} s", record.elapsed));
        }
        let texts = record
            .partial
            .iter()
            .chain(&record.inconclusive)
            .chain(&record.warnings);
        for text in texts.filter(|text| seen.insert(text.as_str())) {
            all.push(format!("{of_run}{}", printable(text)));
        }
    }
    let alone = runs.all().len() == 1;
    html! {
        ul {
            @if alone { li { "One run is one sample: the commands below play it with other seeds." } }
            @for text in all { li { (text) } }
        }
    }
}

/// The text with its lines.
fn printable_lines(text: &str) -> String {
    text.lines().map(|line| printable(line) + "\n").collect()
}
