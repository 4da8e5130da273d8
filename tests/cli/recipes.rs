//! `lockstorm recipes` from outside, and what its scenarios do on real nodes.

use std::fs;

use lockstorm_kit::alone;
use lockstorm_kit::program::{self, told};
use serde_json::Value;
use tempfile::TempDir;

fn printed(arguments: &[&str]) -> String {
    program::printed(0, &[&["recipes"], arguments].concat())
}

fn json(nodes: &str) -> Vec<Value> {
    serde_json::from_str(&printed(&["--nodes", nodes, "--json"])).unwrap()
}

#[test]
fn the_recipes_for_three_nodes() {
    insta::assert_snapshot!(printed(&[]));
}

#[test]
fn a_scenario_of_a_recipe() {
    insta::assert_snapshot!(printed(&["--scenario", "1"]));
}

#[test]
fn json_has_the_losses_of_each_recipe_and_those_that_the_law_asks_for() {
    for (nodes, count) in [("3", 9), ("5", 18)] {
        let recipes = json(nodes);
        assert_eq!(recipes.len(), count);
        for (n, recipe) in recipes.iter().enumerate() {
            assert_eq!(recipe["number"], n + 1);
            assert_eq!(recipe["lost"], recipe["needed"]);
            assert_eq!(recipe["lost"].is_null(), recipe["kind"] == "after-validity");
        }
    }
}

#[test]
fn a_directory_gets_every_scenario_and_they_are_valid() {
    let directory = TempDir::new().unwrap();
    let out = directory.path().join("new");
    printed(&["--nodes", "5", "--out", out.to_str().unwrap()]);
    let files: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 22, "{files:?}");
    for file in files {
        program::printed(0, &["check", file.to_str().unwrap()]);
    }
}

/// Refused with this exit code, in one line that contains all of `parts`.
fn refused(arguments: &[&str], code: i32, parts: &[&str]) {
    program::refused(code, &[&["recipes"], arguments].concat(), parts);
}

#[test]
fn bad_input_is_refused_in_one_line() {
    for nodes in ["4", "7", "1", "0", "-3", "three", "3.0"] {
        refused(&["--nodes", nodes], 2, &["--nodes", nodes, "3 or 5"]);
    }
    refused(&["--scenario", "99"], 2, &["no recipe 99", "1 to 9"]);
    refused(&["--scenario", "0"], 2, &["no recipe 0"]);
    let virtual_only = json("3").iter().find(|recipe| recipe["scenario"].is_null()).unwrap()["number"].to_string();
    refused(&["--scenario", &virtual_only], 2, &["has no scenario", "message"]);
    refused(&["--control"], 2, &["--scenario"]);
    refused(&["--scenario", "1", "--json"], 2, &["--json"]);
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    for out in [file.clone(), file.join("below")] {
        refused(
            &["--out", out.to_str().unwrap()],
            1,
            &["cannot write", out.to_str().unwrap()],
        );
    }
}

/// Plays the scenario of the first recipe for so many nodes whose title is this, and that of its control, on real nodes: their
/// expectations are the test.
fn does_what_it_says(nodes: &str, title: &str) {
    let recipes = json(nodes);
    let recipe = recipes.iter().find(|recipe| recipe["title"] == title);
    let recipe = recipe.unwrap_or_else(|| panic!("no recipe {title}: {recipes:#?}"));
    let directory = TempDir::new().unwrap();
    for (name, lost) in [("scenario", 1), ("control", 0)] {
        let file = directory.path().join(format!("{name}.toml"));
        fs::write(&file, recipe[name].as_str().unwrap()).unwrap();
        let (code, stdout, stderr) = {
            let _turn = alone();
            told(&["run", file.to_str().unwrap(), "--quiet", "--json"])
        };
        let record: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{name}: {stderr}"));
        let said = format!(
            "{title}, {name}: {stderr}\n{:#}\n{:#}",
            record["expectations"], record["events"]
        );
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(record["arms"][0]["lost_updates"], lost, "{said}");
    }
}

#[test]
#[ignore = "slow: .ci/long recipes"]
fn every_recipe_that_real_nodes_can_follow_does_what_it_says_and_its_control_does_not() {
    let mut played = 0;
    for nodes in ["3", "5"] {
        for recipe in json(nodes).iter().filter(|recipe| recipe["scenario"].is_string()) {
            does_what_it_says(nodes, recipe["title"].as_str().unwrap());
            played += 1;
        }
    }
    assert_eq!(played, 18);
}

#[test]
fn two_clocks_that_jump_by_the_ttl_make_two_holders_on_real_nodes() {
    does_what_it_says("3", "the clocks of nodes 1 and 2 jump forward");
}

#[test]
fn two_votes_and_one_loss_make_two_holders_on_real_nodes() {
    does_what_it_says("3", "node 3 is away at the acquire, node 1 forgets");
}

#[test]
fn a_holder_that_sleeps_through_its_ttl_is_not_alone_on_real_nodes() {
    does_what_it_says("3", "the holder pauses for longer than its TTL");
}
