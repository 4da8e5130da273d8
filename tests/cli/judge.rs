//! `lockstorm judge`: what it makes of the events of another program.

use std::fs;
use std::io::{BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;

use lockstorm_kit::program::{read_until, says, send};
use lockstorm_kit::{ended, lockstorm};
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// The events of a file beside this one, judged: the exit code, and what is printed.
fn judged_file(name: &str) -> (i32, String) {
    let directory = TempDir::new().unwrap();
    let file = format!("{}/tests/cli/events/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let (code, out, err) = ended(&mut lockstorm(directory.path(), &["judge", &file]));
    assert_eq!(err, "");
    (code.unwrap(), out)
}

#[test]
fn who_removed_a_key_with_a_late_release_is_told() {
    let (code, out) = judged_file("late_release_chain");
    assert_eq!(code, 3, "{out}");
    says(
        &out,
        &[
            "\"k\": C got it at 10151000000 while B had it",
            "A released at 10150000000, after B had got it",
        ],
    );
    // One that had ended before anybody else came has removed nothing of theirs.
    let (code, found) = judged("a acquired 0, a released 3, b acquired 5, c acquired 7, b released 9, c released 9");
    assert_eq!(code, 3);
    assert!(!found["doubles"].to_string().contains("released at"), "{found}");
    let directory = TempDir::new().unwrap();
    let file = format!(
        "{}/tests/cli/events/late_release_chain.jsonl",
        env!("CARGO_MANIFEST_DIR")
    );
    ended(&mut lockstorm(
        directory.path(),
        &["judge", &file, "--record", "r.json"],
    ));
    let show = ["record", "show", "r.json", "--double-hold", "1"];
    let (_, out, err) = ended(&mut lockstorm(directory.path(), &show));
    assert!(out.contains("Who: A released at 0.150 s"), "{out}{err}");
}

#[test]
fn what_is_no_exclusive_lock_is_judged_as_one_and_that_is_said() {
    for name in ["readers_and_writer", "three_permits"] {
        let (code, out) = judged_file(name);
        assert_eq!(code, 3, "{out}");
        assert!(out.contains("Judged as exclusive locks"), "{out}");
    }
}

#[test]
fn fences_must_rise_and_tokens_must_tell_holders_apart() {
    let (code, out) = judged_file("fence_falls");
    assert_eq!(code, 3, "{out}");
    assert!(
        out.contains("\"k\": c3 got fence 1 at 10300000000, after 812 had been handed out"),
        "{out}"
    );
    let event = |client: &str, event: &str, t: i64, more: &str| {
        format!(r#"{{"event":"{event}","client":"{client}","key":"k","t":{t}{more}}}"#) + "\n"
    };
    let of = |[first, second]: [&str; 2], asked: i64| {
        let directory = TempDir::new().unwrap();
        let text = [
            event("a", "acquired", 10, first),
            event("a", "released", 20, ""),
            event("b", "asked", asked, ""),
            event("b", "acquired", 30, second),
            event("b", "released", 40, ""),
        ];
        fs::write(directory.path().join("e.jsonl"), text.concat()).unwrap();
        let judge = ["judge", "e.jsonl", "--json", "--record", "r.json"];
        let (code, out, err) = ended(&mut lockstorm(directory.path(), &judge));
        let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        for (count, field) in [("shared_tokens", "token"), ("fences_fallen", "fence")] {
            assert_eq!(found[count].is_null(), !first.contains(field), "{found}");
        }
        let counts = ["shared_tokens", "fences_fallen"].map(|count| found[count].as_u64().unwrap_or(0));
        let (_, out, _) = ended(&mut lockstorm(directory.path(), &["record", "show", "r.json"]));
        assert_eq!(out.contains("✔ safe"), code == Some(0), "{out}");
        (code, counts)
    };
    let fences = |one: u64, other: u64| [one, other].map(|fence| format!(r#","fence":{fence}"#));
    let of_fences = |one, other, asked| {
        let [one, other] = fences(one, other);
        of([one.as_str(), other.as_str()], asked)
    };
    assert_eq!(of_fences(7, 8, 15), (Some(0), [0, 0]));
    assert_eq!(of_fences(7, 7, 15), (Some(3), [0, 1]), "it repeats");
    assert_eq!(of_fences(7, 3, 15), (Some(3), [0, 1]), "it falls");
    assert_eq!(
        of_fences(7, 3, 5),
        (Some(0), [0, 0]),
        "it may have been granted before the other"
    );
    let of_tokens = |one: &str, other: &str| {
        of(
            [one, other]
                .map(|token| format!(r#","token":"{token}""#))
                .each_ref()
                .map(String::as_str),
            15,
        )
    };
    assert_eq!(of_tokens("x", "y"), (Some(0), [0, 0]));
    assert_eq!(of_tokens("x", "x"), (Some(3), [1, 0]));
    assert_eq!(
        of_tokens("", ""),
        (Some(3), [1, 0]),
        "an empty one does not tell them apart"
    );
    assert_eq!(of(["", ""], 15), (Some(0), [0, 0]), "there is none");
    // The first one to have had it shares it, too, once another one has.
    let turns = ["a", "b", "a"].into_iter().zip(1..).map(|(client, turn)| {
        event(client, "acquired", turn * 20, r#","token":"x""#) + &event(client, "released", turn * 20 + 10, "")
    });
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("e.jsonl"), turns.collect::<String>()).unwrap();
    let (_, out, _) = ended(&mut lockstorm(directory.path(), &["judge", "e.jsonl", "--json"]));
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["shared_tokens"], 2, "{found}");
}

#[test]
fn clients_that_are_never_there_at_once_may_have_other_clocks() {
    for (events, code) in [
        // One machine has been up for much longer than the other.
        ("a acquired 10, a released 20, b acquired 5000, b released 5010", 5),
        (
            "a acquired 10, b acquired 20, a released 15, b released 25, c acquired 5000, d acquired 5020, c released 5010, d released 5030",
            5,
        ),
        // They come one after the other, as pods of one deployment do.
        ("a acquired 10, a released 20, b acquired 25, b released 35", 0),
        (
            "a acquired 10, a released 20, b acquired 5000, b released 5010, a asked 5005",
            0,
        ),
        // What is found stands.
        (
            "a acquired 10, b acquired 15, a released 20, b released 25, c acquired 5000, c released 5010",
            3,
        ),
    ] {
        let (got, found) = judged(events);
        assert_eq!(got, code, "{events}: {found}");
        assert_eq!(
            found["clocks"].is_null(),
            !events.contains("5000") || events.contains("5005"),
            "{found}"
        );
    }
}

#[test]
fn what_is_no_field_is_ignored_with_a_note_and_so_is_a_byte_order_mark() {
    let directory = TempDir::new().unwrap();
    let text = lines("a acquired 0, a released 10, b acquired 20, b released 30");
    let more = text.replace("\"key\"", "\"host\":{\"name\":\"x\"},\"untill\":5,\"key\"");
    fs::write(directory.path().join("e.jsonl"), format!("\u{feff}{more}")).unwrap();
    let (code, _, err) = ended(&mut lockstorm(
        directory.path(),
        &["judge", "e.jsonl", "--history", "h.jsonl"],
    ));
    assert_eq!(code, Some(0), "{err}");
    for field in ["host", "untill"] {
        let note = format!("e.jsonl: \"{field}\" is no field of an event, and is ignored");
        assert_eq!(err.matches(&note).count(), 1, "{err}");
    }
    let history = fs::read_to_string(directory.path().join("h.jsonl")).unwrap();
    fs::write(directory.path().join("h.jsonl"), format!("\u{feff}{history}")).unwrap();
    let (code, _, err) = ended(&mut lockstorm(directory.path(), &["record", "judge", "h.jsonl"]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
}

#[test]
fn blank_lines_are_skipped_and_null_is_an_absent_field() {
    let directory = TempDir::new().unwrap();
    let run = |arguments: &[&str]| ended(&mut lockstorm(directory.path(), arguments));
    let text = lines("a acquired 0, a released 10, b acquired 20, b released 30");
    let optional = text.replace("\"t\"", "\"until\":null,\"token\":null,\"fence\":null,\"t\"");
    for text in [
        format!("\n{text}\n"),
        text.replace('\n', "\r\n \t\r\n"),
        format!("{text}  "),
        optional,
    ] {
        fs::write(directory.path().join("e.jsonl"), &text).unwrap();
        let (code, out, err) = run(&["judge", "e.jsonl", "--json", "--history", "h.jsonl"]);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{text}: {out}");
        let found: Value = serde_json::from_str(&out).unwrap();
        assert!(
            found["shared_tokens"].is_null() && found["fences_fallen"].is_null(),
            "{found}"
        );
    }
    let history = fs::read_to_string(directory.path().join("h.jsonl")).unwrap();
    fs::write(directory.path().join("h.jsonl"), history + "\n\n").unwrap();
    let (code, _, err) = run(&["record", "judge", "h.jsonl"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    fs::write(directory.path().join("lab.jsonl"), "\n").unwrap();
    let (code, _, err) = run(&["judge", "e.jsonl", "--record", "r.json", "--faults", "lab.jsonl"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
}

#[test]
fn a_history_in_which_nothing_could_show_is_not_praised() {
    let directory = TempDir::new().unwrap();
    let head = r#"{"history":1,"lockstorm":"0.0.0","clock":"CLOCK_MONOTONIC, ns","arms":["a"]}"#;
    let hold = |worker: u64, [from, until]: [u64; 2]| {
        let who = format!(r#""client":"s1w{worker}","arm":"a","key":"k""#);
        format!(
            "{{\"op\":\"acquire\",{who},\"call\":{from},\"return\":{from},\"result\":\"ok\"}}\n\
             {{\"op\":\"release\",{who},\"call\":{until},\"return\":{until},\"result\":\"ok\",\"left\":{until}}}\n"
        )
    };
    let year = 366 * 24 * 3600 * 1_000_000_000;
    for (holds, code, why) in [
        (vec![], 5, "no lock was acquired"),
        (
            vec![[10, 10], [20, 20]],
            5,
            "no client had reason to rely on a lock for any time",
        ),
        (vec![[10, 15], [20 + year, 25 + year]], 5, "more than a year apart"),
        (vec![[10, 15], [20, 25]], 0, ""),
        (vec![[10, 15], [20, 20]], 0, ""),
    ] {
        let lines: String = (0..).zip(&holds).map(|(worker, times)| hold(worker, *times)).collect();
        fs::write(directory.path().join("h.jsonl"), format!("{head}\n{lines}")).unwrap();
        let (got, out, err) = ended(&mut lockstorm(directory.path(), &["record", "judge", "h.jsonl"]));
        assert_eq!(got, Some(code), "{holds:?}: {out}{err}");
        assert!(
            err.contains(why) && err.is_empty() == why.is_empty(),
            "{holds:?}: {err}"
        );
    }
    // One worker alone meets no other one.
    fs::write(
        directory.path().join("h.jsonl"),
        format!("{head}\n{}{}", hold(0, [10, 15]), hold(0, [20, 25])),
    )
    .unwrap();
    let (code, _, err) = ended(&mut lockstorm(directory.path(), &["record", "judge", "h.jsonl"]));
    assert!(
        code == Some(5) && err.contains("no lock was held by two clients"),
        "{err}"
    );
    // Events of a year give no record, and the same code.
    let events = lines("a acquired 0, a released 1, b acquired 40000000000000000, b released 40000000000000001");
    fs::write(directory.path().join("e.jsonl"), events).unwrap();
    let (code, _, err) = ended(&mut lockstorm(
        directory.path(),
        &["judge", "e.jsonl", "--record", "r.json"],
    ));
    assert_eq!(code, Some(5), "{err}");
    assert!(
        err.contains("no record is written") && !directory.path().join("r.json").exists(),
        "{err}"
    );
}

/// Two clients, one after the other, who do everything that can be reported.
const FINE: &str = "a asked 0, a acquired 10 until 100, b asked 20, a entered 20, a write 40, a extended 50 until 200, a write 150, a left 160, \
                    a released 170, b acquired 190 until 300, b entered 200, b left 210, b lost 220, b released 240";

/// Lines of events, each written as `CLIENT EVENT TIME`, perhaps with `until TIME`.
fn lines(events: &str) -> String {
    let line = |event: &str| {
        let words: Vec<&str> = event.split_whitespace().collect();
        let until = words
            .get(4)
            .map_or_else(String::new, |until| format!(r#","until":{until}"#));
        let (client, event, t) = (words[0], words[1], words[2]);
        format!(r#"{{"event":"{event}","client":"{client}","key":"k","t":{t}{until}}}"#) + "\n"
    };
    events.split(", ").filter(|event| !event.is_empty()).map(line).collect()
}

/// What is found in these events, as JSON, and the exit code.
fn judged(events: &str) -> (i32, Value) {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("e.jsonl"), lines(events)).unwrap();
    let (code, out, err) = ended(&mut lockstorm(directory.path(), &["judge", "e.jsonl", "--json"]));
    let found = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{events}: {out}{err}"));
    (code.unwrap(), found)
}

/// The counts that say that something is broken, and that of holds without an end.
const COUNTS: [&str; 5] = ["double_holds", "double_uses", "late_writes", "overran", "cut_off"];

/// 0 for what no client has reported, which `what_nobody_reported_is_not_counted_as_none` tells from none.
fn counts(found: &Value) -> [u64; 5] {
    COUNTS.map(|count| {
        if found[count].is_null() {
            0
        } else {
            found[count].as_u64().unwrap()
        }
    })
}

#[test]
fn each_kind_of_damage_is_counted_and_nothing_else() {
    for (events, code, wanted) in [
        (FINE, 0, [0, 0, 0, 0, 0]),
        // The order of lines is that of arrival, and ends may touch beginnings.
        ("b released 30, a acquired 0, b acquired 10, a released 10", 0, [0; 5]),
        (
            "a acquired 0, b acquired 5, a released 10, b released 15",
            3,
            [1, 0, 0, 0, 0],
        ),
        // A validity that is over, or a loss that was told, ends a belief; a release after it changes nothing.
        (
            "a acquired 0 until 5, b acquired 5, a released 10, b released 15",
            0,
            [0; 5],
        ),
        (
            "a acquired 0, a lost 4, b acquired 5, a released 10, b released 15",
            0,
            [0; 5],
        ),
        (
            "a acquired 0 until 5, a extended 4 until 9, b acquired 5, b released 6, a released 10",
            3,
            [1, 0, 0, 0, 0],
        ),
        // Inside without a lock, though nobody has seen it leave; inside without a lock; and both of them at once.
        (
            "a acquired 0, a released 2, a entered 3, b acquired 5, b released 6",
            3,
            [0, 0, 0, 1, 1],
        ),
        (
            "a acquired 0, a entered 1, a released 2, a left 4, b acquired 5, b released 6",
            3,
            [0, 0, 0, 1, 0],
        ),
        (
            "a acquired 0 until 5, a entered 1, b acquired 6, b entered 7, b left 8, a left 9, b released 10",
            3,
            [0, 1, 0, 1, 0],
        ),
        (
            "a acquired 0 until 5, a write 5, a write 6, b acquired 6, b released 7",
            3,
            [0, 0, 1, 0, 0],
        ),
        (
            "b write 1, a acquired 2, a released 3, b acquired 4, b released 5",
            3,
            [0, 0, 1, 0, 0],
        ),
        // An extension that came too late leaves a gap.
        (
            "a acquired 0 until 5, a entered 1, a extended 6 until 20, a left 7, a released 8, b acquired 9, b released 10",
            3,
            [0, 0, 0, 1, 0],
        ),
        // A holder that nobody heard of again: it relied on its lock as long as it was heard, and nobody knows how long after that.
        ("a acquired 0, b acquired 5, b released 6", 5, [0, 0, 0, 0, 1]),
        (
            "a acquired 0, a write 4, b acquired 3, b released 6",
            3,
            [1, 0, 0, 0, 1],
        ),
        ("a acquired 0 until 5, b acquired 6, b released 7", 0, [0; 5]),
        // A hold without length in the middle of another one: a clock that is too coarse, or no hold at all.
        (
            "a acquired 0, b acquired 2, b write 2, b released 2, a released 4",
            5,
            [0; 5],
        ),
        ("a acquired 0, a released 2, b acquired 2, b released 2", 0, [0; 5]),
        // A section that nobody has left: while its client was heard others were inside, or its lock had ended.
        (
            "a acquired 0, a entered 0, a released 2, b acquired 3, b entered 3, b left 5, b released 5, a asked 6, a refused 7",
            5,
            [0, 0, 0, 0, 1],
        ),
        (
            "a acquired 0, a entered 1, b asked 2, b refused 3, b acquired 9, b released 9, a lost 8",
            5,
            [0, 0, 0, 0, 1],
        ),
        // Times at both ends of the clock.
        (
            "a acquired -9223372036854775807, a released -9223372036854775806, a write 9223372036854775807, b asked -9223372036854775808, \
             b refused 9223372036854775806, b acquired 1, b released 2",
            3,
            [0, 0, 1, 0, 0],
        ),
        // More than a year, which is no clock of a machine.
        (
            "a acquired 0, a released 1, b acquired 40000000000000000, b released 40000000000000001",
            5,
            [0; 5],
        ),
        // Nothing that could show it.
        ("", 5, [0; 5]),
        ("a acquired 0, a released 5, a acquired 6, a released 7", 5, [0; 5]),
        ("a acquired 0 until 0, b acquired 1 until 1", 5, [0; 5]),
    ] {
        let (got, found) = judged(events);
        assert_eq!((got, counts(&found)), (code, wanted), "{events}: {found}");
    }
}

#[test]
fn a_validity_is_an_end_and_no_extension_changes_the_past() {
    for (events, code, wanted) in [
        // The reply to an extension came so late that its validity was over: until then its client relied on the one before.
        (
            "a acquired 0 until 30, b acquired 5 until 35, b released 6, a extended 7 until 4, a released 8",
            3,
            [1, 0, 0, 0, 0],
        ),
        // A validity is an end, however long ago its client was heard; to the end of the events, at most.
        (
            "a acquired 0 until 10, b acquired 2 until 12, c acquired 20, c released 21",
            3,
            [1, 0, 0, 0, 0],
        ),
        ("a acquired 0 until 10, b acquired 2, b released 3", 3, [1, 0, 0, 0, 0]),
    ] {
        let (got, found) = judged(events);
        assert_eq!((got, counts(&found)), (code, wanted), "{events}: {found}");
    }
}

/// Such a client never held the lock, and what it does with it is late.
#[test]
fn a_validity_that_was_over_before_the_reply_makes_no_holder() {
    for (events, code, wanted) in [
        (
            "a acquired 0, a released 10, b acquired 20 until 15, b released 25",
            5,
            [0; 5],
        ),
        ("a acquired 10 until 5, b acquired 20 until 15", 5, [0; 5]),
        (
            "a acquired 0, b acquired 5 until 3, b released 6, a released 10, c acquired 12, c released 13",
            0,
            [0; 5],
        ),
        (
            "a acquired 0, a released 10, b acquired 20 until 15, b write 20, b released 25",
            3,
            [0, 0, 1, 0, 0],
        ),
        (
            "a acquired 0, b acquired 5 until 3, b extended 6 until 20, a released 10, b released 12",
            3,
            [1, 0, 0, 0, 0],
        ),
    ] {
        let (got, found) = judged(events);
        assert_eq!((got, counts(&found)), (code, wanted), "{events}: {found}");
    }
}

#[test]
fn down_for_is_the_longest_wait_for_what_nobody_held() {
    for (events, wanted) in [
        (
            "a acquired 0, a released 5, b acquired 100, b released 101",
            Value::Null,
        ),
        (
            "a acquired 0, b asked 10, a released 50, b acquired 80, b released 90",
            30.into(),
        ),
        // Its validity is over, whatever its holder does.
        (
            "a acquired 0 until 20, b asked 10, b acquired 80, a released 85, b released 90",
            60.into(),
        ),
        // Who gave up waited, too; who asked for what was held till the end did not.
        (
            "a asked 0, a refused 40, b asked 50, b acquired 60, b released 61",
            50.into(),
        ),
        ("a acquired 0, b asked 10, b refused 40, a released 50", 0.into()),
        // Who gives up and asks again waits for the same outage; time in which nobody waits does not count.
        (
            "a acquired 0, a released 10, b asked 10, b refused 20, b asked 25, c asked 27, b refused 35, c refused 45, b asked 50, b acquired 60",
            40.into(),
        ),
        ("a acquired 0, a released 5, b asked 10, a write 90", 80.into()),
        // A reply that came after the validity is no end of an outage.
        (
            "b asked 0, a acquired 20 until 15, b acquired 100, b released 110",
            100.into(),
        ),
    ] {
        assert_eq!(judged(events).1["unavailable_ns"], wanted, "{events}");
    }
}

#[test]
fn the_history_of_events_is_judged_alike() {
    let directory = TempDir::new().unwrap();
    let run = |arguments: &[&str]| ended(&mut lockstorm(directory.path(), arguments));
    fs::write(
        directory.path().join("e.jsonl"),
        lines("a acquired 0, b acquired 5, a entered 6, b entered 7, a left 8, b left 8, a released 10, b released 15"),
    )
    .unwrap();
    // A file that can't be written is refused before anything is read, and so is that of the events.
    for bad in ["e.jsonl", "./e.jsonl", "nowhere/h.jsonl", "."] {
        let (code, out, err) = run(&["judge", "e.jsonl", "--history", bad]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{bad}: {err}");
    }
    let (code, out, err) = run(&["judge", "e.jsonl", "--history", "h.jsonl"]);
    assert_eq!(code, Some(3), "{out}{err}");
    assert!(
        out.contains("\"k\": b got it at 5 while a had it: both relied on it for 0.000 ms"),
        "{out}"
    );
    let (code, out, err) = run(&["record", "judge", "h.jsonl"]);
    assert_eq!(code, Some(3), "{out}{err}");
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1], ["held", "2", "✖", "1", "–", "0"], "{out}");
    assert_eq!(rows[2], ["inside", "2", "–", "1", "0"], "{out}");
    let (code, out, err) = run(&["record", "history", "h.jsonl", "--to", "porcupine", "--out", "."]);
    assert_eq!((code, out.as_str()), (Some(0), "./held.json\n"), "{err}");
}

/// `record judge` comes to the conclusion of `judge` on what it was given by it.
#[test]
fn a_history_of_events_is_concluded_as_the_events_are() {
    let directory = TempDir::new().unwrap();
    for (events, code, uses) in [
        (FINE, 0, "0"),
        ("a acquired 0, a released 2, b acquired 3, b released 4", 0, "–"),
        // No client has reported who was inside.
        ("a acquired 0, b acquired 5, a released 10, b released 15", 3, "–"),
        // A double use without a double hold.
        (
            "a acquired 0 until 5, a entered 1, b acquired 6, b entered 7, b left 8, a left 9, b released 10",
            3,
            "1",
        ),
        // Late, and inside for too long.
        (
            "a acquired 0 until 5, a write 6, a write 7, b acquired 8, b released 9",
            3,
            "–",
        ),
        (
            "a acquired 0, a entered 1, a released 2, a left 4, b acquired 5, b released 6",
            3,
            "0",
        ),
        // Nothing could show, or perhaps did.
        ("", 5, "–"),
        ("a acquired 0, a released 5, a acquired 6, a released 7", 5, "–"),
        (
            "a acquired 0, a released 10, b acquired 20 until 15, b released 25",
            5,
            "–",
        ),
        ("a acquired 0, b acquired 5, b released 6", 5, "–"),
        ("a acquired 10, a released 20, b acquired 5000, b released 5010", 5, "–"),
        (
            "a acquired 0, a released 1, b acquired 2, b released 3, b asked 40000000000000000",
            5,
            "–",
        ),
    ] {
        fs::write(directory.path().join("e.jsonl"), lines(events)).unwrap();
        let run = |arguments: &[&str]| ended(&mut lockstorm(directory.path(), arguments));
        let (judged, _, err) = run(&["judge", "e.jsonl", "--history", "h.jsonl"]);
        assert_eq!(judged, Some(code), "{events}: {err}");
        let (again, out, err) = run(&["record", "judge", "h.jsonl"]);
        assert_eq!(again, Some(code), "{events}: {out}{err}");
        assert_eq!(err.contains("nothing was shown"), code == 5, "{events}: {err}");
        let of = |arm: &str| -> String {
            let row = out.lines().find_map(|line| line.strip_prefix(arm)).expect(&out);
            row.split_whitespace().rev().nth(1).unwrap().to_owned()
        };
        assert_eq!(["held", "inside"].map(of), ["–", uses], "{events}: {out}");
    }
    // What is left of a file that was cut off may have been anything, and tokens are no holds.
    let fine = lines(FINE);
    let shared =
        lines("a acquired 0, a released 1, b acquired 2, b released 3").replace("\"t\"", "\"token\":\"\",\"t\"");
    for (text, code) in [(&fine[..fine.len() - 5], 5), (&shared, 3)] {
        fs::write(directory.path().join("e.jsonl"), text).unwrap();
        for arguments in [
            &["judge", "e.jsonl", "--history", "h.jsonl"][..],
            &["record", "judge", "h.jsonl"],
        ] {
            let (got, out, err) = ended(&mut lockstorm(directory.path(), arguments));
            assert_eq!(got, Some(code), "{arguments:?}: {out}{err}");
        }
    }
}

/// Three seconds of three clients, in milliseconds: two that hold the lock at once, a loss and a late write after it, one that gives up while
/// somebody holds the lock, and one while nobody does.
const BUSY: &str = "a asked 0, a acquired 10, a entered 11, b asked 15, a left 40, a released 50, b acquired 65, b released 75, a asked 1000, \
                    a acquired 1002, b asked 1005, b acquired 1010, a released 1020, b released 1030, c asked 1040, c refused 1050, \
                    b asked 2000, b acquired 2001, c asked 2002, c refused 2012, b lost 2020, b write 2030, b released 2040";

/// A time that is written in milliseconds, in nanoseconds, and not from 0 on.
fn in_ms(events: &str) -> String {
    let word = |word: &str| {
        word.parse().map_or_else(
            |_| word.to_owned(),
            |ms: u64| (7_000_000_000 + ms * 1_000_000).to_string(),
        )
    };
    let event = |event: &str| event.split(' ').map(word).collect::<Vec<_>>().join(" ");
    events.split(", ").map(event).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_record_has_what_was_reported() {
    let directory = TempDir::new().unwrap();
    let run = |arguments: &[&str]| ended(&mut lockstorm(directory.path(), arguments));
    let recorded = |events: &str| -> Value {
        fs::write(directory.path().join("e.jsonl"), lines(&in_ms(events))).unwrap();
        let (_, _, err) = run(&["judge", "e.jsonl", "--record", "r.json"]);
        let text = fs::read_to_string(directory.path().join("r.json")).unwrap_or_else(|_| panic!("{events}: {err}"));
        serde_json::from_str(&text).unwrap()
    };
    let busy = recorded(BUSY);
    let arm = &busy["arms"][0];
    let figures = &arm["figures"];
    for (figure, wanted) in [
        ("offered", 7),
        ("completed", 7),
        ("unfinished", 0),
        ("answered", 5),
        ("gave_up", 2),
        ("acquired", 5),
        ("contended", 1),
        ("unknown", 1),
        ("locks_lost", 1),
        ("late_writes", 1),
        ("overran", 0),
        ("double_holds", 1),
        ("double_uses", 0),
        ("unguarded", 1),
        ("first_double_hold", 1_010_000),
        ("unavailable_ms", 15),
        ("sections", 5),
    ] {
        assert_eq!(figures[figure], wanted, "{figure}: {figures}");
    }
    // Three digits of a histogram.
    for (figure, ms) in [
        ("acquire_max", 50.0),
        ("contended_p99", 10.0),
        ("overlap_max", 10.0),
        ("response_max", 60.0),
    ] {
        let found = figures[figure].as_f64().unwrap() / 1000.0;
        assert!((found - ms).abs() < ms / 500.0, "{figure}: {found} and not {ms}");
    }
    assert_eq!(busy["elapsed_us"], 2_040_000);
    let outage = &arm["outages"][0];
    assert_eq!((&outage["at_us"], &outage["over"]), (&50_000.into(), &true.into()));
    // The points add up to the figures.
    let points = arm["series"]["points"].as_array().unwrap();
    let of = |name: &str| -> Vec<u64> { points.iter().map(|point| point[name].as_u64().unwrap_or(0)).collect() };
    assert_eq!(of("acquired"), [2, 2, 1]);
    assert_eq!(of("offered"), [2, 3, 2]);
    assert_eq!(of("answered"), [2, 2, 1]);
    assert_eq!(of("late_writes"), [0, 0, 1]);
    assert_eq!(of("double_holds"), [0, 1, 0]);
    assert_eq!(arm["evidence"][0]["second"]["name"], "b");
    assert_eq!(arm["evidence"][0]["second"]["from_us"], 1_010_000);

    let (code, out, err) = run(&["record", "show", "r.json", "-v"]);
    assert_eq!(code, Some(0), "{err}");
    says(
        &out,
        &[
            "e · 2.0 s · 23 events of 3 clients about 1 lock",
            "program  ✖ UNSAFE           ✖ 1        ✖ 1  two held it, 1 ×",
            "program: acquired 5 locks; 1 time two were inside at once, or one worked on without the lock;",
        ],
    );
    assert!(
        !out.contains("host") && !out.contains("seed") && !out.contains("worker"),
        "{out}"
    );
    let (code, out, err) = run(&["record", "show", "r.json", "--double-hold", "1"]);
    assert_eq!(code, Some(0), "{err}");
    says(
        &out,
        &[
            "1.010 s  b holds it too\n",
            "a and b both had reason to believe for 10 ms that the lock was theirs alone.",
        ],
    );
    let (code, out, err) = run(&["report", "r.json", "--format", "markdown"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("UNSAFE") && !out.contains("play it again") && !out.contains("seed"),
        "{out}"
    );
}

/// Runs of the same name are repeats; others are set side by side, and stand on one page.
#[test]
fn records_of_programs_are_compared_and_reported_together() {
    let directory = TempDir::new().unwrap();
    let run = |arguments: &[&str]| ended(&mut lockstorm(directory.path(), arguments));
    for (events, name, record) in [
        (BUSY, "busy", "busy.json"),
        (FINE, "naive", "1.json"),
        (FINE, "naive", "2.json"),
        (FINE, "fenced", "3.json"),
    ] {
        fs::write(directory.path().join("e.jsonl"), lines(&in_ms(events))).unwrap();
        run(&["judge", "e.jsonl", "--record", record, "--name", name]);
    }
    let (_, out, err) = run(&["compare", "busy.json", "--", "1.json", "2.json"]);
    says(&out, &["program   ✖ UNSAFE    ✔ 2 of 2", "program: unguarded"]);
    assert_eq!(err, "");
    let (code, out, err) = run(&["report", "1.json", "2.json", "3.json"]);
    assert_eq!(code, Some(0), "{err}");
    says(&out, &["lock naive", "lock fenced"]);
    let (code, _, err) = run(&["compare", "1.json", "3.json", "--", "2.json"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("lock = \"fenced\""), "{err}");
    fs::write(directory.path().join("lab.jsonl"), "").unwrap();
    for (again, why) in [
        (["--out", "./new.json"], "is used twice"),
        (["--faults", "./new.json"], "has the faults"),
    ] {
        fs::write(directory.path().join("new.json"), "").unwrap();
        if again[0] == "--out" {
            fs::remove_file(directory.path().join("new.json")).unwrap();
        }
        let (code, _, err) = run(&[&["judge", "e.jsonl", "--record", "new.json"], &again[..]].concat());
        assert!(code == Some(2) && err.contains(why), "{again:?}: {err}");
    }
    // A log without a fault in that time is no better than none.
    run(&["judge", "e.jsonl", "--record", "3.json", "--faults", "lab.jsonl"]);
    says(
        &run(&["record", "show", "3.json"]).1,
        &["nothing in the log of the lab (0 entries) took effect"],
    );
    // What was found is told although a file can't be written.
    let (code, out, _) = run(&["judge", "e.jsonl", "--history", "/dev/full"]);
    assert!(code == Some(2) || out.contains("double holds"), "{out}");
    for again in [["--out", "busy.json"], ["--history", "./busy.json"]] {
        let (code, _, err) = run(&[&["judge", "e.jsonl", "--record", "busy.json"], &again[..]].concat());
        assert!(code == Some(2) && err.contains("is used twice"), "{err}");
    }
}

/// By the clock of a lab that was broken meanwhile.
#[test]
fn faults_of_a_kept_lab_are_told_in_the_record() {
    let directory = TempDir::new().unwrap();
    let run = |arguments: &[&str]| ended(&mut lockstorm(directory.path(), arguments));
    let logged = |number: u64, us: u64, action: &str, effect: Option<u64>| {
        let log = serde_json::json!({
            "number": number, "time": "2026-11-29T11:22:49.458Z", "ordered_us": us, "effect_us": effect, "action": action, "kind": "host",
            "target": "2", "effect": "verified", "words": format!("host 2: {action}"),
        });
        format!("{log}\n")
    };
    let log = [
        // What was over before is left out, what lasted is not.
        logged(1, 6_000_000, "kill", Some(6_000_100)),
        logged(2, 6_500_000, "restart", Some(6_500_100)),
        logged(3, 6_900_000, "pause", Some(6_900_100)),
        logged(4, 7_000_500, "resume", Some(7_000_600)),
        logged(1, 7_000_900, "kill", Some(7_001_000)),
        logged(2, 7_001_500, "restart", Some(7_002_000)),
        // It had no effect, and this one came later.
        logged(3, 7_001_600, "pause", None),
        logged(4, 99_000_000, "pause", Some(99_000_100)),
    ];
    fs::write(directory.path().join("lab.jsonl"), log.concat()).unwrap();
    fs::write(directory.path().join("e.jsonl"), lines(&in_ms(BUSY))).unwrap();
    let (code, _, err) = run(&["judge", "e.jsonl", "--record", "r.json", "--faults", "lab.jsonl"]);
    assert_eq!(code, Some(3), "{err}");
    let record: Value = serde_json::from_str(&fs::read_to_string(directory.path().join("r.json")).unwrap()).unwrap();
    let events: Vec<_> = record["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (&event["kind"], &event["at_us"]))
        .collect();
    let [fault, double]: [Value; 2] = ["fault", "double_hold"].map(Into::into);
    let [paused, resumed, killed, restarted, held]: [Value; 5] = [-100_000, 500, 900, 1500, 1_010_000].map(Into::into);
    let faults = [&paused, &resumed, &killed, &restarted].map(|at| (&fault, at));
    assert_eq!(events, [&faults[..], &[(&double, &held)]].concat());
    assert_eq!(record["events"][2]["effect_at_us"], 1000);
    let ends = [1, 3].map(|event: usize| &record["events"][event]["ends"]);
    assert_eq!(ends, [0, 2]);
    let (_, out, _) = run(&["record", "show", "r.json"]);
    says(&out, &["host 2", "two held one lock at once → program"]);
    assert!(!out.contains("what was broken meanwhile is not known"), "{out}");
    fs::write(directory.path().join("lab.jsonl"), "{}\n").unwrap();
    let (code, _, err) = run(&["judge", "e.jsonl", "--record", "r.json", "--faults", "lab.jsonl"]);
    assert!(
        code == Some(2) && err.contains("line 1: missing field") && err.contains("lab log --json"),
        "{err}"
    );
}

/// Their names would make the first line of the history longer than a line may be.
#[test]
fn there_is_no_limit_to_the_number_of_clients() {
    let hold = |client: usize| {
        let name = format!("{client}{}", "x".repeat(1000));
        let [at, until] = [client * 10, client * 10 + 9];
        format!("{name} acquired {at}, {name} released {until}")
    };
    let (code, found) = judged(&(0..200).map(hold).collect::<Vec<_>>().join(", "));
    assert_eq!(
        (code, &found["clients"], &found["holds"]),
        (0, &200.into(), &200.into())
    );
}

/// What nobody has reported is not praised.
#[test]
fn a_record_says_nothing_good_of_what_could_not_show() {
    let directory = TempDir::new().unwrap();
    for (events, unguarded, verdict) in [
        (
            "a acquired 0, a released 5, b acquired 6, b released 7",
            Value::Null,
            "✔ safe           ✔ 0          –",
        ),
        (
            "a acquired 0, a entered 1, a left 2, a released 5",
            0.into(),
            "inconclusive",
        ),
        ("", Value::Null, "inconclusive"),
        // Nobody knows how long the last one held it.
        ("a acquired 0, b acquired 5, b released 6", Value::Null, "inconclusive"),
    ] {
        fs::write(directory.path().join("e.jsonl"), lines(events)).unwrap();
        ended(&mut lockstorm(
            directory.path(),
            &["judge", "e.jsonl", "--record", "r.json"],
        ));
        let record: Value =
            serde_json::from_str(&fs::read_to_string(directory.path().join("r.json")).unwrap()).unwrap();
        assert_eq!(record["arms"][0]["figures"]["unguarded"], unguarded, "{events}");
        let (code, out, err) = ended(&mut lockstorm(directory.path(), &["record", "show", "r.json"]));
        assert_eq!(code, Some(0), "{err}");
        assert!(out.contains(verdict), "{events}: {out}");
        assert_eq!(out.contains('✔'), verdict.contains('✔'), "{events}: {out}");
    }
}

/// What no client has reported is `–` or null, and not 0.
#[test]
fn what_nobody_reported_is_not_counted_as_none() {
    let directory = TempDir::new().unwrap();
    let run = |arguments: &[&str]| ended(&mut lockstorm(directory.path(), arguments));
    let holds = "a acquired 0, a released 10, b acquired 20, b released 30";
    let section = "a acquired 0, a entered 1, a left 9, a released 10, b acquired 20, b released 30";
    let write = "a acquired 0, a write 5, a released 10, b acquired 20, b released 30";
    for (events, is_entered, is_written) in [
        (holds, false, false),
        (section, true, false),
        (write, false, true),
        (FINE, true, true),
    ] {
        let of = |is_reported: bool, none: &str| if is_reported { "0" } else { none }.to_owned();
        let wanted = |none: &str| [is_entered, is_written, is_entered].map(|is_reported| of(is_reported, none));
        fs::write(directory.path().join("e.jsonl"), lines(events)).unwrap();
        let (_, out, err) = run(&["judge", "e.jsonl"]);
        let row: Vec<&str> = out.lines().nth(1).expect(&err).split_whitespace().collect();
        assert_eq!(row[4..7], wanted("–"), "{events}: {out}");
        let (_, out, _) = run(&["judge", "e.jsonl", "--json", "--record", "r.json"]);
        let found: Value = serde_json::from_str(&out).unwrap();
        let record: Value = serde_json::from_slice(&fs::read(directory.path().join("r.json")).unwrap()).unwrap();
        let names = ["double_uses", "late_writes", "overran"];
        for from in [&found, &record["arms"][0]["figures"]] {
            assert_eq!(
                names.map(|name| from[name].to_string()),
                wanted("null"),
                "{events}: {from}"
            );
        }
        let (_, out, err) = run(&["report", "r.json", "--format", "csv"]);
        let cell = |name: &str| {
            let line = out
                .lines()
                .find(|line| line.contains(&format!(",{name},")))
                .expect(&err);
            line.split(',').nth(4).unwrap().to_owned()
        };
        assert_eq!(names.map(cell), wanted(""), "{events}: {out}");
    }
}

/// What a killed program could not write may have been anything.
#[test]
fn a_last_line_that_was_cut_off_leaves_it_open_whether_all_is_well() {
    let directory = TempDir::new().unwrap();
    let code = |events: &str, cut: usize| {
        let events = lines(events);
        fs::write(directory.path().join("e.jsonl"), &events[..events.len() - cut]).unwrap();
        let (code, _, error) = ended(&mut lockstorm(directory.path(), &["judge", "e.jsonl"]));
        assert_eq!(error.contains("the last line was cut off"), cut > 1, "{error}");
        code.unwrap()
    };
    // Without its newline it is whole.
    assert_eq!([0, 1, 5].map(|cut| code(FINE, cut)), [0, 0, 5]);
    let doubled = "a acquired 10, b acquired 20, a released 30, b released 40, a asked 50";
    assert_eq!([0, 5].map(|cut| code(doubled, cut)), [3, 3]);
}

#[test]
fn what_can_not_be_is_told_with_its_place() {
    let directory = TempDir::new().unwrap();
    let refuses = |text: &str, part: &str| {
        fs::write(directory.path().join("e.jsonl"), text).unwrap();
        let (code, out, err) = ended(&mut lockstorm(directory.path(), &["judge", "e.jsonl"]));
        assert_eq!(
            (code, out.as_str(), err.lines().count()),
            (Some(2), "", 1),
            "{text}: {err}"
        );
        assert!(err.contains(part), "{text}: {err}");
    };
    refuses("{\n", "line 1: EOF while parsing an object at column 1;");
    refuses("[\"left\", \"a\", \"k\", 1]\n", "line 1: it is no object");
    refuses(&lines("a acquired 0, a stolen 1"), "line 2: unknown variant `stolen`");
    refuses(
        &lines("a acquired 0, a acquired 1"),
        "client \"a\", key \"k\", t 1: \"acquired\", but it holds this lock",
    );
    for alone in ["released", "left", "extended"] {
        refuses(&lines(&format!("a {alone} 1")), &format!("t 1: \"{alone}\", but it"));
    }
    refuses(
        &lines("a acquired 0, a entered 1, a entered 2"),
        "report its `left` before",
    );
    refuses(
        &lines("a acquired 0, a released 1, a extended 2"),
        "report its `acquired` before",
    );
    for (events, part) in [
        ("none.jsonl", "cannot read none.jsonl"),
        ("unix:", "unix: names no socket"),
    ] {
        let (code, _, err) = ended(&mut lockstorm(directory.path(), &["judge", events]));
        assert!(code == Some(2) && err.contains(part), "{err}");
    }
}

#[test]
fn clients_report_at_a_socket_until_a_signal() {
    let directory = TempDir::new().unwrap();
    let listening = || {
        let mut judge = lockstorm(directory.path(), &["judge", "unix:judge.sock"])
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(judge.stderr.take().unwrap());
        read_until(&mut stderr, "listening at judge.sock");
        (judge, stderr)
    };
    let connect = || UnixStream::connect(directory.path().join("judge.sock")).unwrap();
    let (judge, _stderr) = listening();
    let (mut one, mut other) = (connect(), connect());
    one.write_all(lines("a acquired 0, a released 10").as_bytes()).unwrap();
    // A last line that is not whole is no event.
    other
        .write_all(format!("{}{{\"event\":", lines("b acquired 5, b released 15")).as_bytes())
        .unwrap();
    // What was sent before the signal counts, although both stay connected.
    send(judge.id(), Signal::SIGTERM);
    let output = judge.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{out}");
    assert!(out.contains("b got it at 5 while a had it"), "{out}");
    assert!(!directory.path().join("judge.sock").exists());

    // A line that can't be read ends its connection; the others are judged, and nothing good is said of them.
    for (ends, code) in [
        ("a released 5, b acquired 6, b released 9", 5),
        ("b acquired 6, b released 9, a released 10", 3),
    ] {
        let (mut judge, mut stderr) = listening();
        let (mut bad, mut good) = (connect(), connect());
        bad.write_all(b"acquired\n").unwrap();
        read_until(&mut stderr, "a client's connection is closed: line 1: expected value");
        assert_eq!(
            bad.read(&mut [0]).unwrap(),
            0,
            "it is told by the end of its connection"
        );
        good.write_all(lines(&format!("a acquired 0, {ends}")).as_bytes())
            .unwrap();
        send(judge.id(), Signal::SIGTERM);
        assert_eq!(judge.wait().unwrap().code(), Some(code));
    }
    // What somebody else has put at the path stays, and a socket at which nobody listens any more is named as that.
    let (mut judge, _stderr) = listening();
    fs::remove_file(directory.path().join("judge.sock")).unwrap();
    fs::write(directory.path().join("judge.sock"), "precious").unwrap();
    send(judge.id(), Signal::SIGTERM);
    judge.wait().unwrap();
    assert_eq!(
        fs::read_to_string(directory.path().join("judge.sock")).unwrap(),
        "precious"
    );
    fs::remove_file(directory.path().join("judge.sock")).unwrap();
    let (mut judge, _stderr) = listening();
    send(judge.id(), Signal::SIGKILL);
    judge.wait().unwrap();
    let (code, _, err) = ended(&mut lockstorm(directory.path(), &["judge", "unix:judge.sock"]));
    assert!(
        code == Some(2) && err.contains("nobody listens there any more: remove it"),
        "{err}"
    );
    fs::remove_file(directory.path().join("judge.sock")).unwrap();
    let (mut judge, mut stderr) = listening();
    let (code, _, err) = ended(&mut lockstorm(directory.path(), &["judge", "unix:judge.sock"]));
    assert!(
        code == Some(2) && err.contains("name a path at which nothing is"),
        "{err}"
    );
    // Clients for whom there is no room are told, and nothing good is said.
    let limit = ["--nofile=20:20".to_owned(), format!("--pid={}", judge.id())];
    assert!(Command::new("prlimit").args(limit).status().unwrap().success());
    let _open: Vec<_> = (0..30).map(|_| connect()).collect();
    connect().write_all(lines(FINE).as_bytes()).unwrap();
    read_until(&mut stderr, "oo many open files");
    send(judge.id(), Signal::SIGTERM);
    assert_ne!(judge.wait().unwrap().code(), Some(0));
    let _ = fs::remove_file(directory.path().join("judge.sock"));
    // A path that is taken is left alone.
    fs::write(directory.path().join("judge.sock"), "mine").unwrap();
    let (code, _, err) = ended(&mut lockstorm(directory.path(), &["judge", "unix:judge.sock"]));
    assert!(
        code == Some(2) && err.contains("name a path at which nothing is"),
        "{err}"
    );
    assert_eq!(fs::read_to_string(directory.path().join("judge.sock")).unwrap(), "mine");
}

#[test]
fn the_page_draws_double_holds_to_scale_and_says_what_was_not_shown() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("e.jsonl");
    let page = |events: &str| {
        fs::write(&file, lines(events)).unwrap();
        let (code, ..) = ended(&mut lockstorm(
            directory.path(),
            &["judge", "e.jsonl", "-o", "found.html"],
        ));
        (code, fs::read_to_string(directory.path().join("found.html")).unwrap())
    };
    let (code, found) = page(
        "<a> acquired 0, b acquired 5000000, <a> released 10000000, b released 15000000, b acquired 16000000, b released 17000000",
    );
    assert_eq!(code, Some(3));
    // From -0.3 to 15.3 ms are 860 pixels from 80 on; both relied on it from 5 to 10 ms.
    assert!(
        found.contains(r##"<rect x="372.2" y="100" width="275.6" height="24" fill="#c00">"##),
        "{found}"
    );
    assert!(found.contains("&lt;a&gt;</text>") && !found.contains("<a>"), "{found}");
    assert_eq!(found.matches(">two at once<").count(), 1);
    let (code, found) = page(FINE);
    assert_eq!(code, Some(0));
    assert!(
        found.contains("no two clients relied on one lock at once") && !found.contains("#c00"),
        "{found}"
    );
    let (code, found) = page("a acquired 0, a released 10");
    assert_eq!(code, Some(5));
    assert!(
        found.contains("nothing was shown: no lock was held by two clients"),
        "{found}"
    );

    let before = fs::read(&file).unwrap();
    for arguments in [
        ["judge", "e.jsonl", "-o", "e.jsonl", "--json"],
        ["judge", "e.jsonl", "-ox", "--history", "x"],
    ] {
        let (code, _, err) = ended(&mut lockstorm(directory.path(), &arguments));
        assert!(
            code == Some(2) && err.contains("name another file"),
            "{arguments:?}: {err}"
        );
    }
    assert_eq!(fs::read(&file).unwrap(), before);
}
