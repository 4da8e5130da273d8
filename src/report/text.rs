//! A record as text, in short or whole: what was run, tables of the locks, of the load and of its results, a sentence for each arm, faults,
//! expectations, what is missing, warnings.

use textwrap::core::display_width;

use super::columns::Arm;
use super::figures::{moment, time};
use super::paint::{Paint, Tone};
use super::sentence::sentence;
use super::story::{conclusion, counted, happened, legend, lesson, tally, verdicts};
use super::tables;
use super::wrap::fold;
use lockstorm_data::facts::{Caveat, CheckedExpectation, Event, EventKind};
use lockstorm_data::metrics::units::{counted as number, rate};
use lockstorm_data::model::{CheckResult, Finding, Proof, printable, setting};
use lockstorm_data::scenario::{ArmSpec, Scenario};
use lockstorm_judge::rate_not_kept;
use lockstorm_run::{Record, Snapshot};

/// Heads what a record lacks.
const PARTIAL: &str = "partial: closed with what was known at the end, since";

/// Heads the arms whose load was another one than the scenario asks for.
const NOT_KEPT: &str = "not all requests were served";

/// The summary as plain text.
pub fn summary(record: &Record) -> String {
    render(record, Paint::Off)
}

/// What a run proved, in some 25 lines of at most `columns`: the verdict on each lock, what happened, the predictions that did not hold.
pub fn brief(record: &Record, columns: usize, paint: Paint) -> String {
    let (scenario, arms) = (&record.scenario, Arm::all_of_record(record));
    let cut = if record.interrupted { " (interrupted)" } else { "" };
    let which = match &record.reported {
        Some(reported) => reported.to_string(),
        None => format!("seed {}", record.seed),
    };
    let name = format!(
        "{} · {}{cut} · {which}",
        printable(&scenario.name),
        span(record.elapsed)
    );
    let tally = tally(record.expectations.iter().map(|checked| checked.result));
    let tally = tally.map_or_else(String::new, |(tone, words)| {
        let gap = columns
            .saturating_sub(display_width(&name) + display_width(&words))
            .max(2);
        format!("{}{}", " ".repeat(gap), paint.apply(tone, &words))
    });
    let first = format!("{}{tally}\n", paint.apply(Tone::Strong, &name));
    let title = format!("{}\n", fold("", &printable(&scenario.title), columns));
    let conclusion = conclusion(scenario, &arms, &record.events).map(|said| format!("{}\n", fold("", &said, columns)));
    let verdicts = verdicts(scenario, &arms, counted(scenario), columns);
    let mut table = verdicts.render(paint);
    let legend = legend(&verdicts, &arms, &scenario.workload);
    if !legend.is_empty() {
        table += &format!("{}\n", paint.apply(Tone::Faint, &fold("", &legend, columns)));
    }
    let not_kept = not_kept(record);
    let care = |caveat: &Caveat| (Tone::Doubt, "  ! ".to_owned(), caveat.to_string());
    let mut sections = vec![first + &title];
    sections.extend(folded(NOT_KEPT, not_kept.iter().map(care), columns, paint));
    sections.push(table);
    let results = record.expectations.iter().map(|checked| checked.result);
    let lesson = lesson(scenario, results).map(|text| fold("", &printable(text), columns) + "\n");
    sections.extend(conclusion.map(|said| said + &lesson.unwrap_or_default()));
    for (title, result) in [
        ("not as predicted", CheckResult::Failed),
        ("predictions that are not decided", CheckResult::Inconclusive),
    ] {
        let checked = record.expectations.iter().filter(|checked| checked.result == result);
        let lines = checked.map(expectation);
        let lines = lines.map(|(tone, words)| (tone, "  ".to_owned(), words));
        sections.extend(folded(title, lines, columns, paint));
    }
    let told = happened(&record.events, &arms, &scenario.workload).into_iter();
    let told = told.map(|(at, tone, words)| (tone, format!("{:>6}  ", moment(at)), words));
    sections.extend(folded("what happened", told, columns, paint));
    sections.extend(folded(PARTIAL, record.partial.iter().map(care), columns, paint));
    let mut shown: Vec<&Caveat> = record.partial.iter().chain(&not_kept).collect();
    let before = shown.len();
    for caveat in record.inconclusive.iter().chain(&record.warnings) {
        if !shown.contains(&caveat) {
            shown.push(caveat);
        }
    }
    let doubts = shown.into_iter().skip(before).map(care);
    sections.extend(folded("read this with care", doubts, columns, paint));
    sections.join("\n")
}

/// Of which arms more than a few requests were never begun.
fn not_kept(record: &Record) -> Vec<Caveat> {
    let arms = record.arms.iter();
    arms.filter_map(|arm| rate_not_kept(&arm.name, &arm.figures)).collect()
}

/// A section whose lines are folded behind their heads; `None` without any.
fn folded(
    title: &str,
    lines: impl Iterator<Item = (Tone, String, String)>,
    columns: usize,
    paint: Paint,
) -> Option<String> {
    let line = |(tone, head, words): (Tone, String, String)| {
        let folded = fold(&head, &printable(&words), columns);
        format!("{}\n", paint.apply(tone, &folded))
    };
    let lines = lines.map(line);
    let lines: String = lines.collect();
    (!lines.is_empty()).then(|| format!("{}\n{lines}", paint.apply(Tone::Strong, title)))
}

/// The summary with all tables, in colour if wanted.
pub fn render(record: &Record, paint: Paint) -> String {
    let arms = Arm::all_of_record(record);
    let not_kept = not_kept(record);
    let mut sections = vec![head(record, paint)];
    let warning = |caveat: &Caveat| (Tone::Doubt, format!("! {caveat}"));
    let first = not_kept.iter().map(warning);
    sections.extend(list(NOT_KEPT, first, paint));
    sections.extend(tables::locks(&arms).map(|table| table.render(paint)));
    sections.extend(tables::sections(&arms).map(|table| table.render(paint)));
    sections.extend(tables::holds(&arms).map(|table| table.render(paint)));
    sections.extend(tables::lock_nodes(record).map(|table| table.render(paint)));
    sections.push(tables::load(&arms).render(paint));
    sections.extend(tables::servers(record, &arms).map(|table| table.render(paint)));
    sections.extend(tables::results(&record.scenario.workload, &arms).map(|table| table.render(paint)));
    sections.push(sentences(&record.scenario, &arms));
    sections.extend(list("faults", record.events.iter().filter_map(fault), paint));
    sections.extend(list(
        "predictions (= as predicted, ≠ not)",
        record.expectations.iter().map(expectation),
        paint,
    ));
    let doubtful = |caveat: &Caveat| (Tone::Doubt, format!("? {caveat}"));
    let missing = record.partial.iter().map(doubtful);
    sections.extend(list(PARTIAL, missing, paint));
    let inconclusive = record.inconclusive.iter();
    let inconclusive = inconclusive.filter(|caveat| !record.partial.contains(caveat));
    sections.extend(list("inconclusive", inconclusive.map(doubtful), paint));
    let warnings = record.warnings.iter();
    let shown = [&record.inconclusive, &record.partial, &not_kept];
    let warnings = warnings.filter(|caveat| !shown.iter().any(|caveats| caveats.contains(caveat)));
    sections.extend(list("warnings", warnings.map(warning), paint));
    sections.join("\n")
}

/// The results so far of a run under way, as plain text.
pub(crate) fn so_far(snapshot: &Snapshot) -> String {
    let arms = Arm::all_of_snapshot(snapshot);
    let workload = &snapshot.scenario.workload;
    let tables = [
        tables::locks(&arms),
        tables::sections(&arms),
        tables::holds(&arms),
        Some(tables::load(&arms)),
        tables::results(workload, &arms),
    ];
    let mut sections: Vec<String> = tables.iter().flatten().map(|table| table.render(Paint::Off)).collect();
    sections.push(sentences(&snapshot.scenario, &arms));
    sections.join("\n")
}

fn head(record: &Record, paint: Paint) -> String {
    let scenario = &record.scenario;
    let swarm = &scenario.swarm;
    let load = match (swarm.rate, swarm.requests) {
        (Some(per_second), None) => format!("{}/s per arm", rate(per_second)),
        (None, None) => "closed loop".to_owned(),
        (Some(per_second), Some(n)) => {
            format!("{} per arm at {}/s", number(n, "request", "requests"), rate(per_second))
        }
        (None, Some(n)) => format!("{} per arm", number(n, "request", "requests")),
    };
    let server = match scenario.lab.are_ours() {
        true => record.nodes.first().map_or("no server", |node| node.server.as_str()),
        false => "servers that are not ours",
    };
    // Another program may have written the record.
    let title = printable(&format!("{} · {}", scenario.name, scenario.title));
    if let Some(reported) = &record.reported {
        let (title, elapsed) = (paint.apply(Tone::Strong, &title), span(record.elapsed));
        return format!("{title}\n{elapsed} · {reported} · lockstorm {}\n", record.lockstorm);
    }
    let replicated = scenario.lab.replicated.as_ref();
    let hurried = replicated
        .and_then(|spec| spec.sentinel_period)
        .map_or_else(String::new, |period| {
            format!(
                "Sentinels ask and publish every {} (SENTINEL DEBUG): no real deployment fails over or heals like this\n",
                setting(period)
            )
        });
    let cut = if record.interrupted {
        format!(" of {} (interrupted)", span(scenario.duration.as_secs_f64()))
    } else {
        String::new()
    };
    format!(
        "{}\n{}{cut} · {load} · {} × {} · {} · seed {} · {server} · lockstorm {}\n{hurried}",
        paint.apply(Tone::Strong, &title),
        span(record.elapsed),
        number(swarm.servers as u64, "app server", "app servers"),
        number(swarm.workers as u64, "worker", "workers"),
        number(scenario.lab.hosts as u64, "host", "hosts"),
        record.seed,
        record.lockstorm,
    )
}

fn span(seconds: f64) -> String {
    format!("{seconds:.1} s")
}

fn sentences(scenario: &Scenario, arms: &[Arm<'_>]) -> String {
    let said =
        |(arm, spec): (&Arm<'_>, &ArmSpec)| sentence(spec, arm.figures, &scenario.workload, arm.is_doubted()) + "\n";
    arms.iter().zip(&scenario.arms).map(said).collect()
}

/// A section with these lines; `None` without any.
fn list(title: &str, lines: impl Iterator<Item = (Tone, String)>, paint: Paint) -> Option<String> {
    let lines = lines.map(|(tone, line)| format!("  {}\n", paint.apply(tone, &printable(&line))));
    let lines: String = lines.collect();
    (!lines.is_empty()).then(|| format!("{}\n{lines}", paint.apply(Tone::Strong, title)))
}

fn fault(event: &Event) -> Option<(Tone, String)> {
    let EventKind::Fault {
        action,
        target,
        effect_at,
        error,
        proof,
        ..
    } = &event.kind
    else {
        return None;
    };
    let already = |proof: &&Proof<f64>| matches!(proof.finding, Finding::AlreadySo { .. });
    let (tone, effect) = match (proof.iter().find(already), effect_at, error) {
        (Some(already), ..) => (Tone::Doubt, format!("nothing to do: {}", already.finding)),
        (None, Some(effect_at), _) => {
            let took = time((effect_at - event.at).max(0.0));
            (Tone::Plain, format!("in effect {took} after it was ordered"))
        }
        (None, None, Some(error)) => (Tone::Doubt, format!("? {error}")),
        (None, None, None) => (Tone::Doubt, "? not verified before the end".to_owned()),
    };
    let at = moment(event.came_true_at());
    Some((tone, format!("{at:>6} s  {}: {effect}", action.on(*target))))
}

fn expectation(checked: &CheckedExpectation) -> (Tone, String) {
    match checked.result {
        CheckResult::Held => (Tone::Good, format!("= {checked}")),
        CheckResult::Failed => (Tone::Bad, format!("≠ {checked}")),
        CheckResult::Inconclusive => (Tone::Doubt, format!("? {checked}")),
    }
}
