//! What remains of a run that is killed, with the real program.

use std::fs;
use std::time::Duration;

use lockstorm::report::RecordFile;
use lockstorm_data::facts::Event;
use lockstorm_data::metrics::{Count, Time};
use lockstorm_kit::place::Place;
use lockstorm_kit::play::texts;
use lockstorm_kit::program::{says, under_way};
use lockstorm_kit::recorded::recorded_in;
use lockstorm_kit::scenario::TWO_ARMS;
use lockstorm_kit::{ended, eventually, send};
use nix::sys::signal::Signal;
use nix::time::{ClockId, clock_gettime};

fn place() -> Place {
    Place::new("two-arms.toml", TWO_ARMS)
}

/// The last second that each arm of a journal has, and how much later it is now.
fn newest(place: &Place) -> Option<(i64, f64)> {
    let record = RecordFile::read(&place.at("out.json.journal")).ok()?;
    let zero = record.second_zero.expect("the load is on").monotonic_us;
    let now = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).ok()?).as_secs_f64();
    let last = |arm: &lockstorm_run::ArmRecord| arm.series.newest().map(|point| point.time);
    let newest = record.arms.iter().map(last).min()??;
    Some((
        newest,
        now - Duration::from_micros(zero.unsigned_abs()).as_secs_f64() - (newest + 1) as f64,
    ))
}

#[test]
fn a_killed_run_leaves_all_but_its_last_two_seconds() {
    let place = place();
    let arguments = ["--duration", "10min", "--record", "out.json"];
    let (mut run, _stderr) = under_way(&mut place.command(&arguments));
    let mut before = 0;
    eventually("three seconds, and all but the last two", || match newest(&place) {
        Some((newest, late)) => {
            before = newest;
            newest >= 2 && late <= 2.0
        }
        None => false,
    });
    send(run.id(), Signal::SIGKILL);
    run.wait().expect("our own child");
    assert!(!place.at("out.json").exists());
    let record = RecordFile::read(&place.at("out.json.journal")).expect("a journal");
    assert!(
        record.interrupted && texts(&record.partial)[0].contains("was killed"),
        "{:?}",
        texts(&record.partial)
    );
    assert!(record.elapsed > 2.0 && !record.nodes.is_empty(), "{}", record.elapsed);
    let begins = |event: &Event| event.text() == "the measured part begins";
    assert!(record.events.iter().any(begins), "{:#?}", record.events);
    for arm in &record.arms {
        let seconds: Vec<i64> = arm.series.iter().map(|point| point.time).collect();
        let whole: Vec<i64> = (seconds[0]..=*seconds.last().expect("a second")).collect();
        assert!(seconds == whole && seconds.contains(&before), "{seconds:?}");
        let counted = |count: Count| {
            let measured = arm.series.iter().filter(|point| point.time >= 0);
            measured.map(|point| point.counts[count]).sum::<u64>()
        };
        // The figures may be a second newer than the newest point.
        assert!(counted(Count::Completed) > 0 && counted(Count::Completed) <= arm.figures.counts[Count::Completed]);
        assert!(arm.figures.times[Time::Response].p50 > 0);
    }
    // The keeper of the killed run cleans up before the next one begins.
    place.wait_for_labs(0);

    let killed = fs::read(place.at("out.json.journal")).expect("a journal");
    let (code, _, stderr) = ended(&mut place.command(&["--duration", "1s", "--record", "out.json"]));
    assert!(matches!(code, Some(0 | 5)), "{stderr}");
    says(&stderr, &["an earlier run was killed", "out.json.journal.old1"]);
    assert_eq!(
        fs::read(place.at("out.json.journal.old1")).expect("the old one"),
        killed
    );
    assert!(!recorded_in(place.at("out.json")).interrupted);
    assert!(!place.at("out.json.journal").exists(), "there is a record");
}

#[test]
fn a_run_that_is_stopped_leaves_a_record_and_no_journal() {
    let place = place();
    let (mut run, mut stderr) = under_way(&mut place.command(&["--duration", "10min", "--record", "out.json"]));
    eventually("a journal", || place.at("out.json.journal").exists());
    send(run.id(), Signal::SIGINT);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut said).expect("text");
    run.wait().expect("our own child");
    assert!(recorded_in(place.at("out.json")).interrupted, "{said}");
    let mut others = place.others();
    others.sort();
    assert_eq!(others, ["out.json"], "{said}");
}
