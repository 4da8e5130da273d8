//! What the documents say can be done and found: their commands are understood, and their links lead somewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lockstorm::report::RecordFile;
use lockstorm_data::metrics::{Consequence, ConsequenceKind};
use lockstorm_kit::program::{ended, lockstorm, told};

/// The documents, with their text.
fn documents() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |dir: PathBuf| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let all = read(root.to_owned()).chain(read(root.join("docs")));
    all.filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect()
}

/// The words of each `lockstorm …` in blocks of shell commands.
fn commands(text: &str) -> Vec<Vec<String>> {
    let blocks = text.split("```").skip(1).step_by(2);
    let blocks = blocks.filter_map(|block| block.strip_prefix("sh\n").or_else(|| block.strip_prefix("console\n")));
    let lines = blocks.flat_map(|block| block.lines().map(|line| line.split(" #").next().unwrap_or(line)));
    let commands = lines.flat_map(|line| line.split("&& "));
    let ours = commands.filter_map(|command| command.trim().trim_start_matches("$ ").strip_prefix("lockstorm "));
    ours.map(words).collect()
}

/// The words of a command up to its first redirection or pipe, without their quotes.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for c in command.chars() {
        match c {
            '"' | '\'' => quoted = !quoted,
            '>' | '|' if !quoted => break,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().expect("it has one").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn every_command_in_the_documents_is_understood() {
    let mut seen = 0;
    for (path, text) in documents() {
        for command in commands(&text) {
            // What comes before it is read first; then help is all that happens.
            let own = command.iter().position(|word| word == "--").unwrap_or(command.len());
            let mut arguments: Vec<&str> = command[..own].iter().map(String::as_str).collect();
            arguments.push("--help");
            let (code, _, error) = told(&arguments);
            assert_eq!(code, Some(0), "{}: {command:?}: {error}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen} commands were found");
}

/// The names of the commands below this one.
fn commands_below(help: &str) -> Vec<String> {
    let list = help.split("Commands:\n").nth(1).unwrap_or_default();
    let list = list.split("\n\n").next().unwrap_or_default().lines();
    // What a name means may take several lines.
    let named = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = named.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// What the examples of a help type, without what is said of them.
fn examples(help: &str) -> Vec<Vec<String>> {
    let list = help.split("Examples:\n").nth(1).unwrap_or_default();
    let (mut whole, mut before) = (String::new(), "");
    for line in list.lines().take_while(|line| !line.trim().is_empty()) {
        // A line is wrapped if the first word of the next one had no room.
        let is_wrapped = before.len() > 80 && !line.trim().starts_with("lockstorm ");
        whole += if is_wrapped { " " } else { "\n" };
        whole += line.trim();
        before = line;
    }
    let ours = whole.lines().filter_map(|line| line.strip_prefix("lockstorm"));
    let typed = ours.filter_map(|line| line.split("  ").next()?.split("&&").next());
    typed.map(words).collect()
}

#[test]
fn every_example_in_every_help_is_understood() {
    let (mut todo, mut seen) = (vec![Vec::<String>::new()], 0);
    while let Some(command) = todo.pop() {
        let of_help = |words: &[String]| {
            let own = words.iter().position(|word| word == "--").unwrap_or(words.len());
            let own = words[..own].iter().map(String::as_str);
            let (code, help, error) = told(&own.chain(["--help"]).collect::<Vec<_>>());
            assert_eq!(code, Some(0), "help of {command:?}: {words:?}: {error}");
            help
        };
        let help = of_help(&command);
        for example in examples(&help) {
            of_help(&example);
            seen += 1;
        }
        todo.extend(
            commands_below(&help)
                .into_iter()
                .map(|name| [&command[..], &[name]].concat()),
        );
    }
    assert!(seen > 60, "{seen} examples were found");
}

/// Commands that end by themselves within seconds.
const QUICK: [&str; 5] = ["check", "explain", "plan", "recipes", "scenarios"];

#[test]
fn commands_in_the_documents_that_take_seconds_do_what_they_say() {
    let mut seen = 0;
    for (path, text) in documents() {
        // The others need a file, write some, or simulate for long.
        let is_alone = |word: &String| {
            ![".csv", ".json", ".toml", "--out", "--simulate"]
                .iter()
                .any(|part| word.contains(part))
        };
        let quick = |command: &Vec<String>| QUICK.contains(&command[0].as_str()) && command.iter().all(is_alone);
        for command in commands(&text).into_iter().filter(quick) {
            let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
            let (code, said, error) = told(&arguments);
            // 3 says that no TTL of a plan meets its goal.
            assert!(
                matches!(code, Some(0 | 3)),
                "{}: {command:?}: {code:?} {error}",
                path.display()
            );
            assert!(!said.is_empty(), "{}: {command:?} says nothing", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 4, "{seen} commands were run");
}

/// The `jq …` lines of a document, in blocks and within sentences.
fn filters(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices("jq ").map(|(at, _)| at);
    starts.filter_map(|at| match text[..at].chars().next_back() {
        Some('`') => text[at..].split('`').next(),
        Some('\n') => text[at..].lines().next(),
        _ => None,
    })
}

#[test]
fn every_jq_line_in_the_documents_finds_what_it_asks_for_in_a_record() {
    if Command::new("jq").arg("--version").output().is_err() {
        eprintln!("skipped: jq is not installed");
        return;
    }
    let seed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/record/short-run.json");
    let mut record = RecordFile::read(&seed).unwrap();
    for arm in &mut record.arms {
        let kind = ConsequenceKind::Forgot { locks: 3 };
        arm.figures.consequences = vec![Consequence {
            at: 1.0,
            event: None,
            kind,
        }];
    }
    let place = tempfile::tempdir().unwrap();
    for name in ["a.json", "b.json", "out.json"] {
        fs::write(place.path().join(name), serde_json::to_vec(&record).unwrap()).unwrap();
    }
    let mut report = lockstorm(place.path(), &["report", "out.json", "-o", "runs.json"]);
    assert_eq!(ended(&mut report).0, Some(0));
    let mut seen = 0;
    for (path, text) in documents() {
        for filter in filters(&text) {
            let (code, said, error) = ended(
                Command::new("sh")
                    .args(["-c", filter])
                    .current_dir(place.path())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped()),
            );
            assert_eq!(code, Some(0), "{}: {filter}: {error}", path.display());
            let said = match filter.split_once(" > ") {
                Some((_, file)) => fs::read_to_string(place.path().join(file)).unwrap(),
                None => said,
            };
            // What is not there is null, or nothing between two tabs.
            let has_all =
                !said.trim().is_empty() && !said.contains("null") && !said.contains("\t\t") && !said.contains("\t\n");
            assert!(has_all, "{}: {filter}: {said}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 3, "{seen} lines were found");
}

#[test]
fn every_link_leads_to_a_file_and_every_page_is_in_the_book() {
    let summary = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/SUMMARY.md")).unwrap();
    for (path, text) in documents() {
        let links = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.is_empty() && !link.starts_with("http")) {
            assert!(path.with_file_name(link).exists(), "{}: {link}", path.display());
        }
        let page = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let is_page = path.parent().is_some_and(|dir| dir.ends_with("docs")) && page != "SUMMARY.md";
        assert!(
            !is_page || summary.contains(&format!("({page})")),
            "{page} is not in docs/SUMMARY.md"
        );
    }
}
