//! The summary, the console and the record of one run show the same figures under the same titles.

use crate::picture;

use std::sync::Arc;

use lockstorm::console::{App, ConsoleOptions, Message, views};
use lockstorm::report::summary;
use lockstorm_data::history::Belief;
use lockstorm_data::metrics::{Metric, Unit, Value, units};
use lockstorm_kit::beside;
use lockstorm_kit::play::{arm_record, record};
use lockstorm_kit::recorded::recorded;
use lockstorm_run::{ArmRecord, ArmView, Record, RunOptions, Snapshot, start};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use strum::VariantArray;

/// The record of a run that ends as in this snapshot.
fn record_of(snapshot: &Snapshot) -> Record {
    let arm = |view: &ArmView| ArmRecord {
        series: view.series.as_ref().clone(),
        ..arm_record(&view.name, "", view.figures.clone())
    };
    let arms = snapshot.arms.iter().map(arm).collect();
    record(snapshot.scenario.as_ref().clone(), arms)
}

/// The console's screen after these keys, wide enough for every column.
fn screen_of(snapshot: Snapshot, keys: &str) -> String {
    let mut app = App::new(Vec::new(), &ConsoleOptions::default());
    app.launch(Box::new(snapshot.scenario.as_ref().clone()));
    app.update(Message::Snapshot(Arc::new(snapshot)));
    for key in keys.chars() {
        let code = if key == '\t' { KeyCode::Tab } else { KeyCode::Char(key) };
        app.update(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }
    let mut terminal = Terminal::new(TestBackend::new(240, 40)).expect("a test terminal");
    terminal.draw(|frame| views::render(frame, &app)).expect("a frame");
    let buffer = terminal.backend().buffer();
    let rows = buffer.content().chunks(usize::from(buffer.area.width));
    rows.map(|cells| cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>() + "\n")
        .collect()
}

/// The cells of a line, which are at least two columns apart.
fn cells(line: &str) -> Vec<String> {
    line.split("  ")
        .map(|cell| cell.trim_matches([' ', '│', '›']).to_owned())
        .filter(|cell| !cell.is_empty())
        .collect()
}

/// The full titles of a table head: `p99` after `acquire p50` means `acquire p99`.
fn titles(head: &[String]) -> Vec<String> {
    let mut of = String::new();
    let full = |title: &String| {
        let title = title.to_lowercase();
        let is_part = |word: &str| word == "max" || word.starts_with('p') && word[1..].parse::<f64>().is_ok();
        let title = if is_part(&title) {
            format!("{of} {title}")
        } else {
            title
        };
        let split = title.rsplit_once(' ').filter(|(_, last)| is_part(last));
        of = split.map_or_else(|| title.clone(), |(of, _)| of.to_owned());
        title
    };
    head.iter().map(full).collect()
}

/// The ways in which a figure may be written, in full and in short.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are not negative"
)]
fn written(metric: Metric, value: f64) -> [String; 2] {
    match metric.unit() {
        _ if matches!(metric.row().value, Value::Mean(..)) => [units::mean(value), units::mean(value)],
        Unit::Micros => [units::micros(value as u64), units::micros(value as u64)],
        Unit::PerSecond => [units::rate(value), units::short_rate(value)],
        Unit::Count => [units::count(value as u64), units::short_count(value as u64)],
    }
}

/// A cell without its mark and without any addition to the figure.
fn bare(cell: &str) -> &str {
    let figure = cell
        .trim_start_matches(['✔', '✖', '?', ' '])
        .trim_end_matches([' ', '…']);
    let figure = figure.split(" (").next().unwrap_or_default();
    figure.strip_suffix(", not sold out").unwrap_or(figure)
}

/// Compares all tables of arms in the text with the record. Returns which figures it found.
fn compare(text: &str, record: &Record, whose: &str) -> Vec<Metric> {
    let by_title = |title: &str| Metric::VARIANTS.iter().copied().find(|metric| metric.title() == title);
    let mut found = Vec::new();
    let mut head = Vec::new();
    for line in text.lines() {
        let cells = cells(line);
        let first = cells.first().map(String::as_str).unwrap_or_default();
        if matches!(first, "locks" | "sections" | "load" | "stock" | "cache" | "arm") && cells.len() > 1 {
            head = titles(&cells);
            continue;
        }
        let arm = record.arms.iter().find(|arm| arm.name == first);
        let Some(arm) = arm.filter(|_| cells.len() == head.len()) else {
            continue;
        };
        for (title, cell) in head.iter().zip(&cells).skip(1) {
            let Some(metric) = by_title(title) else { continue };
            if !matches!(cell.as_str(), "–" | "? not sold out") {
                let wanted = written(metric, metric.of(&arm.figures));
                assert!(
                    wanted.iter().any(|wanted| wanted == bare(cell)),
                    "{whose}: {first} has {cell:?} under {title:?}, the record {wanted:?}"
                );
                found.push(metric);
            }
        }
    }
    found.sort_by_key(|metric| metric.name());
    found.dedup();
    found
}

/// Asserts that the summary and the console have these.
fn have(printed: &[Metric], shown: &[Metric], metrics: &[Metric]) {
    for metric in metrics {
        assert!(printed.contains(metric), "the summary lacks {metric:?}: {printed:?}");
        assert!(shown.contains(metric), "the console lacks {metric:?}: {shown:?}");
    }
}

#[test]
fn one_run_has_the_same_figures_everywhere() {
    for (snapshot, rate, result) in [
        (picture::storm(), Metric::SoldPerSecond, Metric::Oversold),
        (picture::stampeded(), Metric::Throughput, Metric::DbHitsPerExpiry),
    ] {
        // The columns of the last five seconds are replaced by those of the whole run.
        let snapshot = picture::finished(snapshot);
        let json = serde_json::to_string(&record_of(&snapshot)).expect("JSON");
        let record = recorded(json.as_bytes());
        let printed = compare(&summary(&record), &record, "the summary");
        let shown = compare(&screen_of(snapshot, "\t"), &record, "the console");
        let metrics = [Metric::AcquireP50, Metric::AcquireP99, rate, Metric::Contended, result];
        have(&printed, &shown, &metrics);
        assert!(printed.len() >= 14, "{printed:?}");
        assert!(shown.len() >= 7, "{shown:?}");
    }
}

/// Plays a scenario of some seconds on real servers; returns what the console was told last, and the record.
fn play(scenario: &str) -> (Snapshot, Record) {
    let scenario = lockstorm_kit::scenario::scenario(scenario, &[]);
    let options = RunOptions {
        keeper: Some(lockstorm_kit::program().into()),
        ..RunOptions::default()
    };
    let run = start(scenario, options);
    let snapshots = run.snapshots.clone();
    let record = run.finish().unwrap_or_else(|error| panic!("{error}"));
    let last = Arc::clone(&snapshots.borrow());
    (last.as_ref().clone(), record)
}

const HEAD: &str = r#"
title = "Titles"
duration = "2s"
swarm = { servers = 2, workers = 4, think = "5ms" }
"#;

const SALE: &str = r#"
[workload]
kind = "inventory"
products = 8
stock = 20
hold = "1ms"
"#;

const CACHE: &str = r#"
[workload]
kind = "cache-fill"
[[workload.cache]]
name = "catalogue"
keys = 4
state_ttl = "100ms"
data_ttl = "400ms"
"#;

const ARMS: &str = r#"
[[arm]]
name = "no lock"
lock = "none"
[[arm]]
name = "single"
lock = "single"
[[arm]]
name = "redlock"
lock = "redlock"
"#;

#[test]
fn a_real_run_has_the_same_figures_everywhere() {
    let _turn = beside();
    for (workload, rate, result) in [
        (SALE, Metric::SoldPerSecond, Metric::Orders),
        (CACHE, Metric::Throughput, Metric::DbHitsPerExpiry),
    ] {
        let (snapshot, record) = play(&[HEAD, workload, ARMS].concat());
        let printed = compare(&summary(&record), &record, "the summary");
        let shown = compare(&screen_of(snapshot, "\t"), &record, "the console");
        have(&printed, &shown, &[Metric::AcquireP99, rate, result]);
    }
}

/// The figure whose title the text begins with.
fn titled(text: &str) -> Option<Metric> {
    let begins = |metric: &&Metric| {
        text.strip_prefix(metric.title())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '│']))
    };
    let found = Metric::VARIANTS.iter().filter(begins);
    found.max_by_key(|metric| metric.title().len()).copied()
}

/// Each app server has a mutex of its own, so two hold each lock at once, and no node tells how often.
const LOCAL: &str = r#"
[[arm]]
name = "local"
lock = "local"
"#;

#[test]
fn what_a_run_shows_of_its_locks_and_hosts_is_what_the_record_has() {
    let _turn = beside();
    let (snapshot, record) = play(&[HEAD, SALE, ARMS, LOCAL].concat());
    for (shown, arm) in snapshot.arms.iter().zip(&record.arms) {
        let (doubles, evidence) = (&shown.double_holds, &arm.evidence);
        assert_eq!(!doubles.is_empty(), arm.name == "local", "{}: {doubles:?}", arm.name);
        assert_eq!(doubles.first(), evidence.first(), "{}", arm.name);
        assert_eq!(shown.last_locks.len(), 10, "{}", arm.name);
        let beliefs = || shown.last_locks.iter().map(|last| &last.belief);
        let ends: Vec<_> = beliefs().map(|belief| belief.until_us).collect();
        assert!(ends.is_sorted() && !ends.contains(&None), "{ends:?}");
        let is_quorum = |belief: &Belief| belief.nodes == 0 || belief.votes.len() > belief.nodes / 2;
        assert!(beliefs().all(is_quorum), "{:?}", shown.last_locks);
    }
    for host in &snapshot.hosts {
        assert!(
            host.log.iter().any(|line| line.starts_with("lock node: ")),
            "{:?}",
            host.log
        );
    }
}

#[test]
fn every_picture_calls_a_figure_by_its_title() {
    for (snapshot, lanes, headline) in [
        (
            picture::storm(),
            vec![Metric::LostUpdates, Metric::Oversold, Metric::NoQuorum],
            Metric::Oversold,
        ),
        (
            picture::stampeded(),
            vec![Metric::NoQuorum, Metric::DbHits, Metric::StaleReads],
            Metric::DbHitsPerExpiry,
        ),
    ] {
        let screen = screen_of(snapshot.clone(), "\t");
        let shown: Vec<Option<Metric>> = screen
            .lines()
            .map(|line| line.trim_matches([' ', '│', '✖']))
            .skip_while(|line| !line.starts_with("faults"))
            .skip(1)
            .take_while(|line| !line.starts_with('╵'))
            .map(titled)
            .collect();
        assert_eq!(shown, lanes.into_iter().map(Some).collect::<Vec<_>>(), "{screen}");
        let board = screen_of(snapshot, "v").to_lowercase();
        let named: Vec<Option<Metric>> = board
            .lines()
            .nth(1)
            .map(|line| line.split(" · ").map(|title| titled(title.trim())).collect())
            .unwrap_or_default();
        assert_eq!(named, [Some(headline)], "{board}");
    }
}
