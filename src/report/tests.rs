//! What the summary of a record looks like, and how its file is treated.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::file::RecordFile;
use super::paint::Paint;
use super::text::{render, summary};
use lockstorm_data::facts::{
    Caveat, CheckedExpectation, Event, EventKind, GivenUp, NoEffect, NotProven, OrderedBy, Unmet,
};
use lockstorm_data::history::{Belief, DoubleHold, Holder, Ruling};
use lockstorm_data::metrics::{
    Count, Counts, Entry, Figures, HistogramText, HitsPerExpiry, Latency, Metric, NodeLoad, PhaseTimes, Point,
    Quantiles, Series, ServerLoad, Time,
};
use lockstorm_data::model::{Action, CheckResult, Condition, Fault, HostId, Outcomes, Target};
use lockstorm_data::scenario::{Expectation, Op, Scenario};
use lockstorm_kit::{eventually, play};
use lockstorm_run::{ArmRecord, JournalLine, Record};
use serde_json::Value;
use strum::VariantArray;

fn scenario(name: &str) -> Scenario {
    let mut scenario = lockstorm_kit::scenario::builtin(name, &[]);
    // What the built-in files say may change; what this test shows may not.
    scenario.title = "A title".to_owned();
    scenario.duration = Duration::from_secs(30);
    scenario.seed = 42;
    (scenario.swarm.servers, scenario.swarm.workers) = (4, 16);
    scenario
}

fn record(scenario: &Scenario, figures: impl Fn(&str) -> Figures) -> Record {
    let arms = scenario
        .arms
        .iter()
        .map(|arm| play::arm_record(&arm.name, "lock", figures(&arm.name)));
    play::record(scenario.clone(), arms.collect())
}

fn quantiles(p50: u64, p99: u64, max: u64) -> Quantiles {
    Quantiles {
        count: 1000,
        p50,
        p90: p99,
        p99,
        p999: max,
        max,
    }
}

/// A fault on host 1.
fn fault(id: u64, at: f64, action: Action, effect_at: Option<f64>, error: Option<NoEffect>) -> Event {
    let mut kind = EventKind::fault(action, Target::Host(HostId(1)), OrderedBy::User, effect_at);
    if let EventKind::Fault { error: why, .. } = &mut kind {
        *why = error;
    }
    Event { id, at, kind }
}

fn sales() -> Record {
    let mut scenario = scenario("flash-sale");
    scenario
        .arms
        .retain(|arm| ["none", "single", "redlock"].contains(&arm.name.as_str()));
    let mut record = record(&scenario, |name| {
        let mut figures = Figures {
            counts: [(Count::Completed, 1600), (Count::SoldOut, 1400)].into(),
            offered: 1600,
            answered: 1600,
            throughput: 398.4,
            times: [(Time::Response, quantiles(4_200, 31_000, 120_000))].into(),
            ledger: [(Entry::Orders, 200)].into(),
            ..Figures::default()
        };
        match name {
            "none" => {
                figures.ledger[Entry::Orders] = Some(414);
                figures.ledger[Entry::Oversold] = Some(214);
                figures.ledger[Entry::LostUpdates] = Some(214);
                figures.ledger[Entry::LostUpdatesPeak] = Some(214);
            }
            "single" => {
                figures.ledger[Entry::Orders] = Some(180);
                figures.acquire_us = quantiles(420, 2_149, 61_000);
                figures.outcomes = Outcomes {
                    acquired: 1580,
                    contended: 20,
                    ..Outcomes::default()
                };
                figures.votes_at_release = vec![0, 1580];
                figures.votes_in_the_end = vec![0, 1580];
                figures.attempts = 1760;
                figures.counts[Count::Overran] = 12;
                figures.times[Time::Hold] = quantiles(5_000, 12_300, 14_000);
            }
            _ => {
                figures.acquire_us = quantiles(950, 61_000, 1_300_000);
                figures.outcomes = Outcomes {
                    acquired: 1500,
                    contended: 4,
                    no_quorum: 90,
                    unknown: 6,
                    ..Outcomes::default()
                };
                figures.votes_at_release = vec![0, 0, 300, 1200];
                figures.votes_in_the_end = vec![0, 0, 0, 1500];
                (figures.counts[Count::LocksLost], figures.counts[Count::Fenced]) = (2, 2);
            }
        }
        figures.sold_out_all = name != "single";
        figures
    });
    record.events = vec![
        fault(0, 8.0, Fault::Kill.into(), Some(8.003), None),
        fault(
            1,
            16.0,
            Action::Undo(Condition::Down),
            None,
            Some(NoEffect::Failed {
                quoted: "it does not answer".to_owned(),
            }),
        ),
        fault(
            2,
            17.0,
            Fault::Shutdown.into(),
            None,
            Some(NoEffect::NotVerified { within_s: 10 }),
        ),
    ];
    let checked = |arm: &str, value, result| CheckedExpectation {
        expectation: Expectation {
            arm: arm.to_owned(),
            metric: Metric::Oversold,
            op: Op::Equal,
            bound: 0.0,
            text: "== 0".to_owned(),
        },
        value: Some(value),
        result,
        reason: (result == CheckResult::Inconclusive).then_some(NotProven::NotMeasurable),
    };
    record.expectations = vec![
        checked("redlock", 0.0, CheckResult::Held),
        checked("none", 214.0, CheckResult::Failed),
        checked("single", 0.0, CheckResult::Inconclusive),
    ];
    let arms = vec!["single".to_owned()];
    record.warnings = vec![Caveat::Unsold { arms }];
    record
}

fn caches() -> Record {
    let mut scenario = scenario("stampede");
    scenario.arms.truncate(2);
    let first = scenario.arms[0].name.clone();
    record(&scenario, |name| {
        let worst = if name == first { 100 } else { 1 };
        Figures {
            counts: [
                (Count::Completed, 47_990),
                (Count::Late, 12),
                (Count::Hits, 40_000),
                (Count::DbHits, 58 * worst + 1),
                (Count::StaleReads, 7),
                (Count::GaveUp, 3),
            ]
            .into(),
            offered: 48_000,
            throughput: 1599.7,
            times: [(Time::Response, quantiles(420, 104_000, 210_000))].into(),
            db_hits_per_expiry: HitsPerExpiry {
                expiries: 58,
                mean: worst as f64,
                max: worst,
            },
            ..Figures::default()
        }
    })
}

#[test]
fn a_summary_of_sales() {
    insta::assert_snapshot!(summary(&sales()));
}

#[test]
fn what_proves_nothing_is_not_praised() {
    let mut record = sales();
    let why = Unmet::NeverHeld {
        arm: "single".to_owned(),
        figure: Metric::Holding,
        best: 31.0,
        op: Op::AtLeast,
        bound: 48.0,
    };
    let unmet = Caveat::FaultUnmet { fault: 1, why };
    let reason = "fault 1 never fired: single.holding reached 31 of 48";
    record.warnings.push(unmet);
    record.scenario.expect.clear();
    let text = summary(&record.concluded());
    assert!(!text.contains('✔'), "{text}");
    assert!(text.contains("? 0") && text.contains("✖ 214"), "{text}");
    assert_eq!(text.matches(reason).count(), 1, "it is said once: {text}");
    assert!(text.contains(&format!("inconclusive\n  ? {reason}\n")), "{text}");
}

#[test]
fn what_was_counted_in_part_is_told_as_a_part() {
    let mut record = sales();
    record.scenario.expect.clear();
    record.warnings.clear();
    let whole = summary(&record);
    assert!(
        whole.contains("414") && whole.contains("✖ 214") && !whole.contains('≥'),
        "{whole}"
    );
    for arm in &mut record.arms {
        arm.figures.incomplete = true;
        record.warnings.push(Caveat::LedgerUnreadable {
            arm: arm.name.clone(),
            quoted: "disk I/O error".to_owned(),
        });
    }
    let part = summary(&record);
    assert!(part.contains("≥ 414") && part.contains("✖ ≥ 214"), "{part}");
    assert!(
        whole.contains("not sold out") && !part.contains("not sold out"),
        "{part}"
    );
}

#[test]
fn a_figure_has_one_title_whatever_the_locks() {
    let mut record = sales();
    assert!(summary(&record).contains("no quorum"));
    // Redlock is the last one.
    record.scenario.arms.pop();
    record.arms.pop();
    let text = summary(&record);
    assert!(
        text.contains("no quorum") && !text.contains("node unreachable"),
        "{text}"
    );
}

#[test]
fn a_summary_of_caches() {
    insta::assert_snapshot!(summary(&caches()));
}

#[test]
fn colour_adds_nothing_but_colour() {
    let painted = render(&sales(), Paint::On);
    assert!(painted.contains("\u{1b}[1;31m✖ 214\u{1b}[0m"), "damage is red");
    assert!(!summary(&sales()).contains('\u{1b}'));
    let mut plain = String::new();
    for piece in painted.split('\u{1b}') {
        plain.push_str(
            piece
                .strip_prefix('[')
                .map_or(piece, |code| code.split_once('m').map_or("", |(_, text)| text)),
        );
    }
    assert_eq!(plain, summary(&sales()));
}

#[test]
fn a_record_survives_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.json");
    let file = RecordFile::check(&path).unwrap();
    assert!(!path.exists(), "the check changes nothing");
    file.write(&sales()).unwrap();
    assert_eq!(RecordFile::read(&path).unwrap(), sales().concluded());
    RecordFile::check(&path).unwrap().write(&caches()).unwrap();
    assert_eq!(RecordFile::read(&path).unwrap(), caches().concluded());
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing but the record");
}

#[test]
fn a_record_of_another_format_is_refused_and_so_is_what_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.json");
    let refusal = |text: &str| {
        fs::write(&path, text).unwrap();
        RecordFile::read(&path).unwrap_err().to_string()
    };
    let old = refusal(r#"{ "format": 1, "lockstorm": "0.1.0" }"#);
    assert!(
        old.contains("old.json is a record of format 1, and this lockstorm reads format 5"),
        "{old}"
    );
    for none in ["", "{}", "[5]", r#"{ "format": 5 }"#] {
        let text = refusal(none);
        assert!(text.contains("is not a record of lockstorm"), "{none}: {text}");
    }
    let missing = RecordFile::read(&directory.path().join("no.json")).unwrap_err();
    assert!(missing.to_string().starts_with("cannot read"), "{missing}");
}

/// The journal of `sales`, as far as a run that was killed has written it.
fn journal(record: &Record) -> String {
    let point = |time| Point {
        time,
        ledger: [(Entry::Orders, 5)].into(),
        ..Point::default()
    };
    let seconds = (0..3).map(|second| JournalLine::Second(vec![point(second); record.arms.len()]));
    let mut lines = vec![JournalLine::Header(Box::new(Record {
        interrupted: true,
        ..record.clone()
    }))];
    lines.extend(seconds);
    let mut event = fault(0, 1.5, Fault::Kill.into(), None, None);
    lines.push(JournalLine::Event(event.clone()));
    if let EventKind::Fault { effect_at, .. } = &mut event.kind {
        *effect_at = Some(1.6);
    }
    lines.push(JournalLine::Event(event));
    let belief = || Belief {
        holder: Holder { server: 1, worker: 2 },
        name: None,
        token: String::new(),
        asked_us: None,
        from_us: 1,
        until_us: None,
        relied_until_us: None,
        votes: Vec::new(),
        nodes: 1,
        sale: None,
    };
    for ruling in [None, Some(Ruling::Explained)] {
        let evidence = Box::new(DoubleHold {
            number: 7,
            key: "product:1".to_owned(),
            first: belief(),
            second: belief(),
            overlap_us: Some(300),
            lost: Vec::new(),
            ruling,
            removed_by: None,
        });
        lines.push(JournalLine::DoubleHold { arm: 1, evidence });
    }
    lines.push(JournalLine::Figures {
        elapsed: 3.5,
        arms: record
            .arms
            .iter()
            .map(|_| serde_json::json!({ "orders": 15 }))
            .collect(),
    });
    let lines = lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n");
    lines.collect()
}

#[test]
fn a_journal_is_read_like_a_record_whatever_was_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.json.journal");
    let mut record = sales();
    record.events.clear();
    let whole = journal(&record);
    for torn in ["", "{\"second\":[{\"sec", "\0\0\0\n"] {
        fs::write(&path, format!("{whole}{torn}")).unwrap();
        let read = RecordFile::read(&path).unwrap();
        assert!(
            read.interrupted && read.partial == [Caveat::Killed { until_s: 4 }],
            "{:?}",
            read.partial
        );
        assert_eq!(
            (read.elapsed, read.events.len(), read.events[0].came_true_at()),
            (3.5, 1, 1.6)
        );
        let evidence = &read.arms[1].evidence;
        assert_eq!((evidence.len(), evidence[0].ruling), (1, Some(Ruling::Explained)));
        for arm in &read.arms {
            assert_eq!((arm.series.iter().count(), arm.figures.booked(Entry::Orders)), (3, 15));
        }
    }
    let refusal = |text: &str| {
        fs::write(&path, text).unwrap();
        RecordFile::read(&path).unwrap_err().to_string()
    };
    let broken = whole.replacen("{\"second\":[", "{\"second\":x", 1);
    let twice = format!("{whole}{whole}");
    let old = whole.replacen("\"format\":5", "\"format\":6", 1);
    for (text, said) in [
        (broken.as_str(), "is not a record of lockstorm: line 2: "),
        (&twice, "line 10: a second header"),
        (&old, "is a record of format 6"),
        (&whole[..500], "is not a record of lockstorm: EOF"),
    ] {
        let error = refusal(text);
        assert!(error.contains(said) && error.lines().count() == 1, "{said}: {error}");
    }
}

#[test]
fn a_journal_that_a_crash_has_left_is_moved_away_and_one_in_use_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.json");
    let left = directory.path().join("out.json.journal");
    let file = RecordFile::check(&path).unwrap();
    let open = || file.journal().unwrap().unwrap();
    assert_eq!(open().end(false), None, "nothing was written");
    assert!(!left.exists());
    fs::write(&left, "first").unwrap();
    let journal = open();
    let old = journal.moved.clone().unwrap();
    assert_eq!(fs::read_to_string(&old).unwrap(), "first");
    let busy = file.journal().unwrap_err().to_string();
    assert!(busy.contains("a run that goes on writes there"), "{busy}");
    journal.stream().unwrap().write("second");
    eventually("it is written", || fs::read_to_string(&left).unwrap() == "second");
    assert_eq!(journal.end(false).as_deref(), Some(left.as_path()));
    // Another process: the stream of this one still has the lock.
    fs::rename(&left, directory.path().join("away")).unwrap();
    fs::write(&left, "third").unwrap();
    assert_ne!(open().moved, Some(old.clone()), "nothing is overwritten");
    assert_eq!(fs::read_to_string(&old).unwrap(), "first");
    let journal = open();
    assert_eq!((journal.end(true), left.exists()), (None, false));
    assert!(
        RecordFile::check("/dev/null".as_ref())
            .unwrap()
            .journal()
            .unwrap()
            .is_none()
    );
}

#[test]
fn files_of_any_size_are_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large.json");
    for (beginning, said) in [
        ("{", "it is larger than 256 MB"),
        ("{\"header\":", "line 1 is larger than 256 MB"),
    ] {
        fs::write(&path, beginning).unwrap();
        fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .set_len(1 << 30)
            .unwrap();
        let error = RecordFile::read(&path).unwrap_err().to_string();
        assert!(error.contains(said) && error.lines().count() == 1, "{error}");
    }
}

/// An hour of six arms with 5,000 locks a second, a fault every other minute, and all that a record has.
fn busy_hour() -> Record {
    let mut record = sales();
    let mut arm = record.arms[1].clone();
    let histogram = || {
        let mut sum = lockstorm_data::metrics::histogram();
        (0..10_000_u64).for_each(|n| sum.record(100 + n * n % 90_000).unwrap());
        HistogramText::of(&sum)
    };
    arm.histograms = Time::VARIANTS.iter().map(|time| (*time, histogram())).collect();
    let phase = |n: u32| PhaseTimes {
        from: f64::from(n) * 110.0,
        events: vec![n.into()],
        histograms: arm.histograms.clone(),
    };
    arm.phases = (0..32).map(phase).collect();
    for second in 0..3600_i64 {
        let n = second.unsigned_abs();
        let latency = Latency { p50: 412, p99: 21_000 };
        let mut counts = Counts::default();
        Count::VARIANTS
            .iter()
            .take(8)
            .for_each(|count| counts[*count] = 5000 + n);
        *arm.series.at(second).unwrap() = Point {
            time: second,
            counts,
            outcomes: Outcomes {
                acquired: 5000,
                contended: 1200,
                no_quorum: n % 3,
                ..Outcomes::default()
            },
            times: Time::OF_A_POINT.map(|time| (time, latency)).into(),
            offered: 5000,
            answered: 5000,
            ledger: [(Entry::Orders, 4000)].into(),
            ..Point::default()
        };
    }
    record.scenario.arms = vec![record.scenario.arms[1].clone(); 6];
    record.arms = vec![arm; 6];
    record.events = (0..120)
        .map(|n: u32| {
            fault(
                n.into(),
                f64::from(n) * 30.0,
                Fault::Kill.into(),
                Some(f64::from(n) * 30.0),
                None,
            )
        })
        .collect();
    record
}

#[test]
fn the_record_of_a_busy_hour_is_small() {
    let record = busy_hour();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hour.json");
    RecordFile::check(&path).unwrap().write(&record).unwrap();
    let size = fs::metadata(&path).unwrap().len();
    let start = Instant::now();
    let read = RecordFile::read(&path).unwrap();
    println!("{size} bytes, read in {:?}", start.elapsed());
    assert!(size < 20_000_000, "{size} bytes");
    assert!(read == record.concluded());
}

/// As if nearly every number changed all the time.
#[test]
fn the_journal_of_a_busy_hour_is_small() {
    use Time::{Acquired, Contended, Lag, Needed, Overshoot, Response, Service};
    let mut record = busy_hour();
    let times = quantiles(412, 21_000, 91_000);
    let node = NodeLoad {
        sets: 1,
        deletes: 1,
        ..NodeLoad::default()
    };
    let server = ServerLoad {
        offered: 1,
        completed: 1,
        late: 1,
        orders: 1,
        response_us: times,
        ..ServerLoad::default()
    };
    for arm in &mut record.arms {
        let figures = &mut arm.figures;
        for time in [Acquired, Contended, Response, Service, Lag, Overshoot, Needed] {
            figures.times[time] = times;
        }
        (figures.nodes, figures.servers) = (vec![node.clone(); 3], vec![server.clone(); 4]);
    }
    let line = |line: &JournalLine| serde_json::to_string(line).unwrap() + "\n";
    let json = |arm: &ArmRecord| serde_json::to_value(&arm.figures).unwrap();
    let mut written: Vec<Value> = record.arms.iter().map(json).collect();
    let (mut grown, mut text, mut next) = (written.clone(), String::new(), 0);
    for second in 0..3600 {
        let points = |arm: &ArmRecord| *arm.series.iter().nth(second).unwrap();
        text += &line(&JournalLine::Second(record.arms.iter().map(points).collect()));
        if second >= next {
            next = second + second.div_ceil(300).max(1);
            grown.iter_mut().for_each(grow);
            let figures = grown.iter().map(|grown| serde_json::from_value(grown.clone()).unwrap());
            text += &line(&JournalLine::figures(1.0, figures, &mut written));
        }
    }
    assert!(text.len() < 20_000_000, "{} bytes", text.len());
    let size = text.len();
    record.arms.iter_mut().for_each(|arm| arm.series = Series::default());
    text.insert_str(0, &line(&JournalLine::Header(Box::new(record))));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hour.json.journal");
    fs::write(&path, text).unwrap();
    let start = Instant::now();
    let read = RecordFile::read(&path).unwrap();
    println!("{size} bytes, read in {:?}", start.elapsed());
    assert_eq!(json(&read.arms[5]), grown[5]);
}

/// Numbers that are not zero grow, of quantiles every other one.
fn grow(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let grows = |name: &str| !["host", "server", "p50", "p999", "max"].contains(&name);
            let fields = fields.iter_mut().filter(|(name, _)| grows(name));
            fields.for_each(|(_, value)| grow(value));
        }
        Value::Array(list) => list.iter_mut().for_each(grow),
        Value::Number(n) => match n.as_u64() {
            Some(0) => {}
            Some(n) => *value = (n + 5000).into(),
            None => *value = 4_999.123_456_789.into(),
        },
        _ => {}
    }
}

#[test]
fn a_link_leads_to_its_file_and_a_device_stays_one() {
    let directory = tempfile::tempdir().unwrap();
    let (file, link) = (directory.path().join("out.json"), directory.path().join("link.json"));
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    RecordFile::check(&link).unwrap().write(&sales()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&file).unwrap().starts_with('{'));
    RecordFile::check("/dev/null".as_ref())
        .unwrap()
        .write(&sales())
        .unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn places_where_no_record_can_be() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |path: &Path, why: &str| {
        let error = RecordFile::check(path).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refused(directory.path(), ": it is a directory; name a file in it");
    refused(&directory.path().join("no/out.json"), ": there is no directory ");
    refused(Path::new(""), ": there is no directory .; create it first");
}

#[test]
fn a_partial_record_says_what_is_missing_once() {
    let missing = "redlock: 3 requests under way at the end had no answer and were given up: none ended for 5 s, so the database or the \
                   cache node hangs or is too slow";
    let mut record = sales();
    let unanswered = Caveat::Unanswered {
        arm: "redlock".to_owned(),
        requests: 3,
        why: GivenUp::NoneEnded { for_s: 5 },
    };
    record.partial = vec![unanswered.clone()];
    record.warnings = vec![Caveat::KeeperStopped, unanswered];
    let text = summary(&record.concluded());
    let wanted = format!("partial: closed with what was known at the end, since\n  ? {missing}\n");
    assert!(text.contains(&wanted), "{text}");
    assert_eq!(text.matches(missing).count(), 1, "{text}");
    assert!(
        text.contains(
            "inconclusive\n  ? a signal from outside stopped the keeper process: changes to hosts can't be seen\n"
        ),
        "{text}"
    );
}
