//! The atlas (docs/atlas.md): each incident has its parts, and its commands name what exists. A long part runs them all.

use std::fs;
use std::path::Path;

use lockstorm_data::scenario::builtin;
use lockstorm_grade::names;
use lockstorm_kit::alone;
use lockstorm_kit::program::{example, told};

/// What stands in a command for a reader's own client.
const OWN_CLIENT: [&str; 2] = ["python3", "mine.py"];

/// An incident: its title, its text, and the words of its commands after `lockstorm`.
struct Incident {
    title: String,
    text: String,
    commands: Vec<Vec<String>>,
}

fn incidents() -> Vec<Incident> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/atlas.md")).unwrap();
    let sections = page.split("\n## ").skip(1);
    let incident = |section: &str| {
        let (title, text) = section.split_once('\n').expect("a text below the title");
        let lines = text.lines().filter_map(|line| line.strip_prefix("lockstorm "));
        let words = |line: &str| {
            let command = line.split(" #").next().unwrap_or(line);
            command.split_whitespace().map(str::to_owned).collect()
        };
        Incident {
            title: title.to_owned(),
            text: text.to_owned(),
            commands: lines.map(words).collect(),
        }
    };
    sections.map(incident).collect()
}

#[test]
fn every_incident_has_its_parts_and_its_commands_name_what_exists() {
    let all = incidents();
    assert!(all.len() >= 15, "{} incidents", all.len());
    for Incident { title, text, commands } in &all {
        for part in ["**Threads:** [", "**You see:** ", "**Cure:** ", "https://github.com/"] {
            assert!(text.contains(part), "{title}: {part}");
        }
        let lines = text.lines().filter(|line| !line.is_empty()).count();
        assert!((6..=12).contains(&lines), "{title}: {lines} lines");
        assert!(!commands.is_empty(), "{title} has no command");
        for command in commands {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            match words.as_slice() {
                ["run", scenario, ..] => {
                    assert!(builtin::find(scenario).is_some(), "{title}: no scenario {scenario}");
                    let (code, said, error) = told(&["check", scenario]);
                    assert_eq!(code, Some(0), "{title}: {said}{error}");
                }
                ["grade", "--only", act, "--", client @ ..] => {
                    assert!(names().contains(act), "{title}: no act {act}");
                    assert_eq!(*client, OWN_CLIENT, "{title}");
                }
                // tests/products/docs.rs runs these.
                ["plan", ..] => {}
                other => panic!("{title}: nothing runs {other:?}"),
            }
        }
    }
}

#[test]
#[ignore = "slow: .ci/long atlas"]
fn every_command_of_the_atlas_does_what_it_says() {
    let _turn = alone();
    let planted = example("planted_client");
    for Incident { title, commands, .. } in incidents() {
        for command in commands {
            let own = command.iter().position(|word| word == OWN_CLIENT[0]);
            let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
            if let Some(own) = own {
                words.truncate(own);
                // A right client on one node.
                words.extend([planted.as_str(), "plain"]);
            }
            let (code, said, error) = told(&words);
            assert_eq!(code, Some(0), "{title}: {words:?}: {said}{error}");
        }
    }
}
