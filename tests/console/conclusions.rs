//! Every figure that can fail a run: a failing value changes the badge, the summary, the page, a comparison and the exit code.

use lockstorm::console::{App, ConsoleOptions, Message, views};
use lockstorm::report::{Paint, Settings, summary};
use lockstorm_data::metrics::{
    Alarm, Consequence, ConsequenceKind, Count, Entry, Figures, Metric, NodeLoad, Outage, Time, Value,
};
use lockstorm_data::model::CheckResult;
use lockstorm_data::scenario::{ArmSpec, Expectation, Op, Overrides, Scenario, Source, builtin, parse};
use lockstorm_judge::Outcome;
use lockstorm_kit::play::{arm_record, record};
use lockstorm_plan::compare::{Compared, Comparison};
use lockstorm_run::{ArmView, Record};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::Value as Json;
use std::sync::Arc;
use strum::VariantArray;

use super::picture;

/// What an arm did whose lock was wanted by several clients at once, and tested by a fault, and held.
fn good() -> Figures {
    let mut figures = Figures {
        counts: [(Count::Completed, 1_000), (Count::Hits, 1_000)].into(),
        ledger: [(Entry::Orders, 1_000), (Entry::Runs, 1_000), (Entry::Payments, 1_000)].into(),
        contested: 9,
        offered: 1_000,
        answered: 1_000,
        throughput: 30.0,
        sold_out_all: true,
        stuck: Some(0),
        zombie_keys: Some(0),
        new_masters: 1,
        nodes: vec![NodeLoad::default()],
        outages: vec![Outage {
            over: true,
            all_over: true,
            ..Outage::default()
        }],
        consequences: vec![Consequence {
            at: 1.0,
            event: None,
            kind: ConsequenceKind::Refused { attempts: 1 },
        }],
        ..Figures::default()
    };
    for entry in Entry::VARIANTS {
        figures.ledger[*entry].get_or_insert(0);
    }
    (figures.outcomes.acquired, figures.outcomes.contended) = (2_000, 9);
    (figures.acquire_us.count, figures.pipe_us.count) = (200_000, 2_000);
    for time in Time::VARIANTS {
        figures.times[*time].count = 200_000;
    }
    let expiries = &mut figures.db_hits_per_expiry;
    (expiries.expiries, expiries.mean, expiries.max) = (9, 1.0, 1);
    figures
}

/// A count, as a figure has it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bounds are small and not negative"
)]
fn whole(value: f64) -> u64 {
    value as u64
}

/// The paths of all numbers in a value.
fn numbers(value: &Json, path: &str, all: &mut Vec<String>) {
    match value {
        Json::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| numbers(value, &format!("{path}/{name}"), all)),
        Json::Array(values) => values
            .iter()
            .enumerate()
            .for_each(|(place, value)| numbers(value, &format!("{path}/{place}"), all)),
        Json::Number(_) => all.push(path.to_owned()),
        _ => {}
    }
}

/// The figures with the one change that makes the expectation hold, or fail.
fn changed(figures: &Figures, expectation: &Expectation, is_kept: bool) -> Figures {
    let Expectation { metric, op, bound, .. } = *expectation;
    let is_so =
        |figures: &Figures| metric.is_known(figures) && op.holds(expectation.judged().of(figures), bound) == is_kept;
    if is_so(figures) {
        return figures.clone();
    }
    let candidates = [
        0.0,
        1.0,
        bound,
        bound + 7.0,
        (bound * 3.0).round() + 10.0,
        (bound / 2.0).floor(),
    ];
    for value in candidates.into_iter().chain([bound * 1000.0, bound * 2000.0 + 9000.0]) {
        let mut figures = figures.clone();
        match metric.row().value {
            // Zeros are left out of the JSON of these.
            _ if metric == Metric::NoQuorum => figures.outcomes.no_quorum = whole(value),
            _ if metric == Metric::Unknown => figures.outcomes.unknown = whole(value),
            _ if metric == Metric::Expired => figures.outcomes.expired = whole(value),
            Value::Counted(count) => figures.counts[count] = whole(value),
            Value::Booked(entry) => {
                figures.ledger[entry] = Some(whole(value));
                if let Some(peak) = entry.peak() {
                    figures.ledger[peak] = Some(whole(value));
                }
            }
            _ => continue,
        }
        if is_so(&figures) {
            return figures;
        }
    }
    let json = serde_json::to_value(figures).expect("plain data");
    let mut paths = Vec::new();
    numbers(&json, "", &mut paths);
    // Those that have the name of the figure first, so that the change is the one that is meant.
    let name = metric.name().split("_p").next().unwrap_or_default().to_owned();
    paths.sort_by_key(|path| !path.contains(&name));
    for path in paths {
        for value in candidates.into_iter().chain([bound * 1000.0, bound * 2000.0 + 9000.0]) {
            for value in [Json::from(whole(value)), Json::from(value)] {
                let mut json = json.clone();
                *json.pointer_mut(&path).expect("it is there") = value;
                if let Ok(figures) = serde_json::from_value(json)
                    && is_so(&figures)
                {
                    return figures;
                }
            }
        }
    }
    panic!("no single number makes {} be {is_kept}", expectation.as_written());
}

/// The record of a run with these figures for one arm, and good ones for the others.
fn played(scenario: &Scenario, name: &str, figures: &Figures, seed: u64) -> Record {
    let arm = |spec: &ArmSpec| {
        let mut figures = if spec.name == name { figures.clone() } else { good() };
        figures.lacks = scenario.lacks(spec);
        arm_record(&spec.name, "", figures)
    };
    let mut record = record(scenario.clone(), scenario.arms.iter().map(arm).collect());
    record.seed = seed;
    record.started = format!("2026-01-02T03:04:{seed:02}Z");
    record.concluded()
}

/// The console's screen at the end of a run with these figures.
fn screen(record: &Record) -> String {
    let mut snapshot = picture::finished(picture::calm(record.scenario.clone(), 30.0));
    let arm = |(view, arm): (&ArmView, &lockstorm_run::ArmRecord)| ArmView {
        figures: arm.figures.clone(),
        ..view.clone()
    };
    snapshot.arms = snapshot.arms.iter().zip(&record.arms).map(arm).collect();
    let mut app = App::new(Vec::new(), &ConsoleOptions::default());
    app.launch(Box::new(record.scenario.clone()));
    app.update(Message::Snapshot(Arc::new(snapshot)));
    let mut terminal = Terminal::new(TestBackend::new(160, 50)).expect("a test terminal");
    terminal.draw(|frame| views::render(frame, &app)).expect("a frame");
    let cells = terminal.backend().buffer().content().iter();
    cells.map(ratatui::buffer::Cell::symbol).collect()
}

/// The page on one run, as text.
fn page(record: &Record) -> String {
    let runs = Settings::of(vec![("record.json".to_owned(), record.clone())]).expect("a run");
    runs.text(true, 120, Paint::Off).expect("a page")
}

/// Fails if a failing value of the figure does not change everything.
fn assert_changes_everything(mut scenario: Scenario, expectation: &Expectation) {
    scenario.expect = vec![expectation.clone()];
    let (name, what) = (
        expectation.arm.as_str(),
        format!("{}: {}", scenario.name, expectation.as_written()),
    );
    let figures = [true, false].map(|is_kept| changed(&good(), expectation, is_kept));
    let records = figures.each_ref().map(|figures| played(&scenario, name, figures, 1));
    let results = records.each_ref().map(|record| record.judge().result());
    assert_eq!(results, [CheckResult::Held, CheckResult::Failed], "{what}");

    let place = scenario.arms.iter().position(|arm| arm.name == name).expect("an arm");
    let [kept, failed] = records.each_ref().map(|record| record.judge().arms[place].outcome);
    assert_ne!(failed, Outcome::Held, "{what}");
    if kept == Outcome::Held {
        let is_damage = expectation.metric.is_damage() && expectation.is_from_above();
        let expected = match is_damage {
            true => Outcome::Damage,
            false => failed,
        };
        assert_eq!(failed, expected, "{what}");
    }
    let [kept, failed] = records.each_ref().map(screen);
    assert!(
        kept != failed && failed.contains("0 of 1 predictions"),
        "{what}:\n{failed}"
    );
    let [kept, failed] = records.each_ref().map(summary);
    assert!(kept != failed && failed.contains('≠'), "{what}:\n{failed}");
    let [kept, failed] = records.each_ref().map(page);
    assert!(
        kept != failed && failed.contains("0 of 1 predictions"),
        "{what}:\n{failed}"
    );

    let group =
        |figures: &Figures| -> Vec<Record> { (1..=8).map(|seed| played(&scenario, name, figures, seed)).collect() };
    let [kept, failed] = figures.each_ref().map(group);
    let comparison = Comparison::of_groups(["kept", "failed"], [&kept, &failed]);
    let judged = expectation.metric.peak();
    let row = comparison
        .rows
        .iter()
        .find(|row| row.arm == name && row.figure == Compared::Run(judged));
    let row = row.unwrap_or_else(|| panic!("{what}: it is not compared"));
    let is_worse = row.is_primary && expectation.metric.is_damage() && expectation.is_from_above();
    assert!(row.differs && !row.is_of_the_machine(), "{what}: {row:?}");
    assert!(!row.is_better() || !expectation.is_from_above(), "{what}: {row:?}");
    assert!(!is_worse || row.is_worse(), "{what}: {row:?}");
}

fn scenarios() -> impl Iterator<Item = Scenario> {
    builtin::ALL.iter().map(|builtin| {
        let source = Source::open(builtin.name).expect("it is built in");
        parse(&source, &Overrides::default()).expect("it is valid")
    })
}

#[test]
fn each_expectation_that_fails_changes_badge_summary_page_comparison_and_exit_code() {
    let mut checked = 0;
    for scenario in scenarios() {
        for expectation in scenario.expect.clone() {
            // A comparison of two runs says nothing of the moment.
            assert_changes_everything(scenario.clone(), &expectation);
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn each_figure_with_an_alarm_changes_badge_summary_page_comparison_and_exit_code() {
    let mut missing: Vec<Metric> = Metric::VARIANTS
        .iter()
        .copied()
        .filter(|metric| matches!(metric.row().alarm, Alarm::Damage(_) | Alarm::Poor(_)))
        .collect();
    for scenario in scenarios() {
        let locked = scenario.arms.iter().find(|arm| arm.lock.uses_nodes());
        let Some(arm) = locked else { continue };
        let has = |metric: &Metric| !scenario.lacks(arm).contains(&metric.row().group);
        let of_arm: Vec<Metric> = missing.iter().copied().filter(has).collect();
        for metric in of_arm {
            let bound = match metric.row().alarm {
                Alarm::Poor(most) => most,
                _ => 0.0,
            };
            let expectation = Expectation {
                arm: arm.name.clone(),
                metric,
                op: Op::AtMost,
                bound,
                text: format!("<= {bound}"),
            };
            assert_changes_everything(scenario.clone(), &expectation);
            missing.retain(|other| *other != metric);
        }
    }
    // What no scenario can have: it is of reported events.
    assert_eq!(missing, [Metric::Unguarded]);
}
