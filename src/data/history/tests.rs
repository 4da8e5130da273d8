//! Histories as text, and what their reader says of them.

use super::lines::HistoryError;
use super::operation::{Head, Line, Operation};
use super::reader::Reader;
use super::section::Sections;

const HEAD: &str = r#"{"history":1,"lockstorm":"0.0.0","clock":"CLOCK_MONOTONIC, ns","arms":["redlock"],"stock":10}"#;

const LINES: [&str; 5] = [
    r#"{"op":"acquire","client":"s1w0","arm":"redlock","key":"a","call":0,"return":10,"result":"ok","token":"t","until":19}"#,
    r#"{"op":"acquire","client":"s2w13","arm":"redlock","key":"a","call":12,"return":13,"result":"busy","warm_up":true}"#,
    r#"{"op":"sale","client":"s1w0","arm":"redlock","product":3,"order":1,"read":10,"written":9,"at":15}"#,
    r#"{"op":"release","client":"s1w0","arm":"redlock","key":"a","call":19,"return":22,"result":"unknown","token":"t","left":20}"#,
    r#"{"fault":"killed host 1","at":23}"#,
];

fn text(lines: &[&str]) -> String {
    let lines = lines.iter().map(|line| format!("{line}\n"));
    format!("{HEAD}\n{}", lines.collect::<String>())
}

fn read(text: &str) -> Result<Vec<Line>, HistoryError> {
    Reader::open(text.as_bytes())?.collect()
}

fn operation(line: &str) -> Operation {
    serde_json::from_str(line).unwrap()
}

#[test]
fn what_is_read_is_written_again() {
    let reader = Reader::open(text(&LINES).leak().as_bytes()).unwrap();
    assert_eq!(serde_json::to_string(&reader.head).unwrap(), HEAD);
    assert_eq!(reader.head.clock, Head::CLOCK);
    let lines: Vec<Line> = reader.map(Result::unwrap).collect();
    let written: Vec<String> = lines.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
    assert_eq!(written, LINES);
}

#[test]
fn a_mistake_is_told_with_its_line_and_its_cure() {
    let fails = |text: &str| read(text).unwrap_err().to_string();
    let with = |line: &str| fails(&text(&[LINES[0], line]));
    assert_eq!(
        fails(r#"{"format":4}"#),
        "line 1: missing field `history` at column 12; name a file that `lockstorm run --history` has written"
    );
    assert!(fails("").starts_with("line 1: EOF"));
    assert!(
        fails(r#"{"history":9}"#).starts_with("line 1: the history has format 9, and this lockstorm reads format 1;")
    );
    assert!(with("x").starts_with("line 3: expected value"));
    assert!(with(r#"{"op":"steal"}"#).starts_with("line 3: unknown variant `steal`"));
    assert!(with(r#"{"op":"release","client":"s1"}"#).contains("is not a worker of an app server"));
    assert!(with(&LINES[1].replace("12", "14")).starts_with("line 3: it returns before its call;"));
    assert!(with(&LINES[3].replace("22", "18")).starts_with("line 3: it returns before its call;"));
    assert!(with(&" ".repeat(70_000)).starts_with("line 3: it is longer than 64 KiB;"));
    assert!(with("{}").starts_with("line 3: missing field `fault`"));
    assert!(with("\u{1b}[2J").starts_with("line 3: expected value"));
}

#[test]
fn a_line_that_was_cut_off_ends_a_history() {
    let text = text(&LINES);
    assert_eq!(read(&text[..text.len() - 5]).unwrap().len(), LINES.len() - 1);
    assert_eq!(read(&text[..text.len() - 1]).unwrap().len(), LINES.len(), "it is whole");
}

#[test]
fn a_client_does_one_thing_at_a_time() {
    let (begins, ends) = (operation(LINES[0]), operation(LINES[3]));
    let mut sections = Sections::default();
    for other in [LINES[1], LINES[2]].map(operation) {
        assert_eq!(sections.take(other), Ok(None));
    }
    assert_eq!(sections.take(begins.clone()), Ok(None));
    assert_eq!(
        sections.take(begins.clone()).unwrap_err(),
        "s1w0 has not released \"a\" yet"
    );
    // It may hold another lock meanwhile, as payments do.
    let [other, its_end] = [LINES[0], LINES[3]].map(|line| operation(&line.replace("\"a\"", "\"b\"")));
    assert_eq!(sections.take(other), Ok(None));
    let section = sections.take(ends.clone()).unwrap().unwrap();
    assert_eq!(section.belief(), Some([10, 19]));
    assert_eq!(sections.take(its_end).unwrap().unwrap().acquire.key, "b");
    assert_eq!(sections.take(ends).unwrap_err(), "s1w0 does not hold \"a\" then");
    sections.take(begins).unwrap();
    let early = operation(&LINES[3].replace("19", "9"));
    assert_eq!(sections.take(early).unwrap_err(), "s1w0 does not hold \"a\" then");
}

#[test]
fn a_belief_that_was_over_when_it_began_is_none() {
    let belief = |[from, until]: [&str; 2]| {
        let mut sections = Sections::default();
        sections.take(operation(&LINES[0].replace("10", from))).unwrap();
        assert_eq!(sections.open().collect::<Vec<_>>(), ["redlock"]);
        let section = sections
            .take(operation(&LINES[3].replace("19", until)))
            .unwrap()
            .unwrap();
        assert_eq!(sections.open().count(), 0);
        section.belief()
    };
    assert_eq!(belief(["10", "19"]), Some([10, 19]));
    assert_eq!(belief(["19", "19"]), None);
}
