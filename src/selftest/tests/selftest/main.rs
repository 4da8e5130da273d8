//! Broken locks on real nodes.

use lockstorm_kit::{beside, keeper};
use lockstorm_run::RunOptions;
use lockstorm_selftest::{Flaw, SelfTest, names, selftest};

/// Plays the triggers of these broken locks.
fn play(names: &[&str]) -> SelfTest {
    let wanted: Result<Vec<Flaw>, String> = names.iter().map(|name| Flaw::find(name)).collect();
    let options = RunOptions {
        keeper: Some(keeper()),
        ..RunOptions::default()
    };
    let played = selftest(&wanted.expect("they are known"), &options, |title| eprintln!("{title}"));
    let (result, stop) = played.expect("it can be played");
    assert_eq!(stop, None);
    result
}

#[test]
fn one_broken_lock_plays_with_the_right_ones_alone() {
    let _lab = beside();
    let result = play(&["no-nx"]);
    assert!(result.passed, "{result:#?}");
    assert_eq!(result.rows.len(), 3);
}

#[test]
fn a_broken_lock_that_nobody_knows_is_named_with_a_hint() {
    let error = Flaw::find("no-nex").expect_err("there is none");
    assert_eq!(error, "there is no broken lock \"no-nex\"; did you mean \"no-nx\"?");
}

#[test]
fn the_documents_list_all_of_them() {
    let documents = include_str!("../../../../docs/figures.md");
    let rows: Vec<&str> = documents.lines().filter(|line| line.starts_with("| `")).collect();
    for name in names() {
        let count = rows
            .iter()
            .filter(|row| row.starts_with(&format!("| `{name}` |")))
            .count();
        assert_eq!(count, 1, "{name}");
    }
}
