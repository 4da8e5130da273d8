//! The command line from outside: help, documentation, scenarios, and errors for bad input before anything starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lockstorm_kit::program::{printed, says, told};
use lockstorm_kit::{ended, lockstorm, parts_of, program};
use tempfile::TempDir;

fn file(directory: &TempDir, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = directory.path().join(name);
    fs::write(&path, content).unwrap();
    text(&path)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

fn embedded(name: &str) -> String {
    fs::read_to_string(root().join(format!("{name}.toml"))).unwrap()
}

/// Runs something headless that must be refused before anything starts.
fn refused(arguments: &[&str], parts: &[&str]) {
    program::refused(2, arguments, parts);
}

/// What is printed by a command that ends well and has nothing to complain about.
fn good(arguments: &[&str]) -> String {
    let (code, stdout, stderr) = told(arguments);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments:?}");
    stdout
}

#[test]
fn every_command_has_help_with_examples() {
    let commands = ",run,plan,recipes,sweep,scenarios,scenarios show,scenarios keys,view,record,record schema,judge,check,explain,bench,doctor,lab,lab up,lab status,lab kill,lab shutdown,lab pause,\
                    lab lag,lab cut,lab failover,lab bounce,lab restore,lab play,lab log,lab down,completions,man";
    for command in commands.split(',') {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        says(&good(&words), &["Examples:\n  lockstorm", "Usage: lockstorm"]);
    }
    let help = good(&["--help"]);
    assert!(
        help.lines()
            .any(|line| line.split_once("130 ").is_some_and(|(_, rest)| rest.contains("SIGINT"))),
        "{help}"
    );
    says(&good(&["run", "--help"]), &["arms[]"]);
}

#[test]
fn help_names_only_existing_commands() {
    let help = good(&["--help"]);
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = commands.lines().filter_map(|line| line.split_whitespace().next());
    assert_eq!(
        names.collect::<Vec<_>>().join(" "),
        "run scenarios check explain plan recipes view report compare record judge sweep bench selftest grade client lab doctor completions man help"
    );
}

#[test]
fn where_the_locale_has_no_utf_8_all_text_is_ascii() {
    let said = |locale: &str, arguments: &[&str]| {
        let mut command = Command::new(program::program());
        command
            .args(arguments)
            .env_remove("LC_ALL")
            .env_remove("LC_CTYPE")
            .env("LANG", locale);
        let (_, stdout, stderr) = lockstorm_kit::parts_of(command.output().unwrap());
        (stdout, stderr)
    };
    let on_stdout = [&["check", "stampede"][..], &["run", "--help"]];
    for arguments in on_stdout {
        assert!(!said("C.UTF-8", arguments).0.is_ascii(), "{arguments:?}");
        for (stdout, stderr) in [said("C", arguments), said("de_DE.ISO-8859-1", arguments)] {
            assert!(
                !stdout.is_empty() && stdout.is_ascii() && stderr.is_ascii(),
                "{arguments:?}: {stdout}"
            );
        }
        assert!(
            said("C.UTF-8", &[arguments, &["--ascii"]].concat()).0.is_ascii(),
            "{arguments:?}"
        );
    }
    let missing = ["check", "stämpede"];
    assert!(!said("C.UTF-8", &missing).1.is_ascii());
    for (_, stderr) in [
        said("POSIX", &missing),
        said("C.UTF-8", &["check", "stämpede", "--ascii"]),
    ] {
        assert!(!stderr.is_empty() && stderr.is_ascii(), "{stderr}");
    }
    // What programs read is what it is.
    let toml = ["scenarios", "show", "stampede"];
    assert_eq!(said("C", &toml), said("C.UTF-8", &toml));
}

#[test]
fn version() {
    let version = format!("lockstorm {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(good(&["--version"]), version);
}

#[test]
fn scenarios_are_listed_and_shown_as_they_are() {
    let list = good(&["scenarios"]);
    let files = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.map(|path| text(Path::new(path.file_stem().unwrap()))).collect();
    let mut listed: Vec<_> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(
        list.lines().all(|line| line.split_whitespace().count() > 2),
        "a name and a title: {list}"
    );
    files.sort();
    listed.sort_unstable();
    assert_eq!(listed, files);
    for name in listed {
        assert_eq!(good(&["scenarios", "show", name]), embedded(name));
        assert!(printed(0, &["check", name]).starts_with(&format!("✔ {name}: ")));
    }
    refused(&["scenarios", "show", "stampde"], &["stampde", "\"stampede\""]);
}

#[test]
fn words_are_explained_wherever_they_come_from() {
    says(
        &good(&["explain", "lost_updates"]),
        &["figure, inventory", "whose write another one overwrote"],
    );
    says(
        &good(&["explain", "Acquire p99.9"]),
        &["acquire_p999", "waiting included"],
    );
    says(&good(&["explain", "stampede"]), &["(scenario)"]);
    says(&good(&["explain", "quorum"]), &["vote, quorum: one node's"]);
    says(&good(&["explain", "kill"]), &["SIGKILL"]);
    says(
        &good(&["explain", "on_loss"]),
        &["(key, [[arm]]; \"carry-on\", \"abort\")", "left out: \"carry-on\""],
    );
    says(&good(&["explain"]), &["\nacquired\n", "\nfailover\n", "\nvoter\n"]);
    refused(&["explain", "qourum"], &["\"qourum\"", "did you mean \"quorum\"?"]);
}

#[test]
fn keys_are_printed_for_all_tables_or_one() {
    says(
        &good(&["scenarios", "keys"]),
        &[
            "\n[swarm]\n",
            "\nservers = whole number, 1 to 64   (left out: 4)\n    app servers\n",
        ],
    );
    let of_database = good(&["scenarios", "keys", "database"]);
    assert!(
        of_database.starts_with("[database]\n") && !of_database.contains("[[arm]]"),
        "{of_database}"
    );
    refused(&["scenarios", "keys", "databse"], &["did you mean \"database\"?"]);
}

#[test]
fn check_lists_all_mistakes() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, "good.toml", embedded("stampede"));
    assert!(good(&["check", &path]).starts_with("✔ good: "));
    let bad = embedded("stampede")
        .replacen("duration", "duratoin", 1)
        .replacen("seed", "sede", 1);
    let (code, stdout, stderr) = told(&["check", &file(&directory, "bad.toml", bad)]);
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    says(&stderr, &["\"duration\"", "\"seed\""]);
    let of_a_line = |line: &str| {
        let place = line
            .strip_prefix("lockstorm: ")
            .and_then(|line| line.split_once("bad.toml:"));
        place.is_some_and(|(_, place)| {
            place
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .starts_with(": duratoin")
        })
    };
    assert!(stderr.lines().any(of_a_line), "{stderr}");
}

#[test]
fn bad_scenarios_start_nothing() {
    let directory = tempfile::tempdir().unwrap();
    refused(&["run", "stampde"], &["stampde", "\"stampede\""]);
    refused(&["stampde"], &["\"stampede\""]);
    refused(
        &["run", &file(&directory, "empty.toml", "")],
        &["empty.toml", "is empty"],
    );
    refused(
        &["run", &file(&directory, "latin.toml", b"title = \"\xe9\"")],
        &["latin.toml:1", "UTF-8"],
    );
    refused(&["run", &text(directory.path())], &["directory"]);
    refused(
        &["run", "stampede", "--set", "arm.redlok.ttl=1s"],
        &["--set arm.redlok.ttl=1s", "\"redlock\""],
    );
    refused(
        &["run", "stampede", "--set", "swarm.worker=4"],
        &["--set swarm.worker=4", "\"workers\""],
    );
    refused(&["run", "stampede", "--duration", "0s"], &["--duration 0s"]);
}

#[test]
fn a_misspelled_command_gets_a_suggestion() {
    refused(&["scenario"], &["scenario:", "`lockstorm scenarios`"]);
    refused(&["chek", "my.toml"], &["\"chek\"", "`lockstorm check`"]);
    refused(&["run"], &["<SCENARIO>", "--help"]);
    refused(&["run", "stampede", "--recrod", "x"], &["--recrod", "--record"]);
    refused(&["run", "stampede", "--duration", "ten"], &["30s"]);
    refused(&["run", "stampede", "--duration", "-5s"], &["-5s"]);
    refused(&["run", "stampede", "--seed", "-1"], &["whole number"]);
    refused(&["--theme", "drak"], &["drak", "dark, light, high-contrast"]);
    refused(
        &["failover", "--step"],
        &["--step holds the schedule", "needs the console"],
    );
    refused(&["--seed", "1", "run", "stampede"], &["--seed", "after the command"]);
    printed(0, &["--color", "never", "scenarios"]);
}

#[test]
fn a_record_that_cannot_be_written_is_an_error_before_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| text(&directory.path().join(name));
    let below_a_file = file(&directory, "plain", "x") + "/out.json";
    for (path, parts) in [
        (at("no/such/out.json"), &["out.json", "no directory", "create it"][..]),
        (at(""), &["is a directory"]),
        (String::new(), &["record"]),
        (below_a_file, &["out.json"]),
    ] {
        refused(&["run", "stampede", "--record", &path], parts);
    }
}

#[test]
fn a_missing_server_is_named_with_its_cure_and_the_old_record_stays() {
    let directory = tempfile::tempdir().unwrap();
    let record = file(&directory, "old.json", "old");
    let server = ["--server-bin", "/no/such/redis-server"];
    program::refused(
        1,
        &[&["run", "stampede", "--record", &record], &server[..]].concat(),
        &server[1..],
    );
    assert_eq!(fs::read_to_string(record).unwrap(), "old");
    assert_eq!(
        fs::read_dir(directory.path()).unwrap().count(),
        1,
        "the check of the path left something behind"
    );
}

#[test]
fn without_a_server_on_path_the_install_command_is_named() {
    // If a server is installed in a usual directory outside PATH, this can't be tested.
    let places = ["/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"];
    let programs = ["redis-server", "valkey-server"];
    if places
        .iter()
        .any(|place| programs.iter().any(|program| Path::new(place).join(program).exists()))
    {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let manager = file(&directory, "apt-get", "#!/bin/sh\n");
    fs::set_permissions(manager, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut run = lockstorm(directory.path(), &["run", "stampede"]);
    let (code, stdout, stderr) = ended(run.env("PATH", directory.path()));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    says(&stderr, &["apt-get install", "--server-bin"]);
    assert!(stderr.ends_with('\n') && stderr.lines().count() == 1, "{stderr}");
}

#[test]
fn documents_for_shells_and_readers() {
    for (shell, part) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef lockstorm"),
        ("fish", "complete -c lockstorm"),
    ] {
        says(&good(&["completions", shell]), &[part]);
    }
    let (code, _, stderr) = told(&["completions", "tcsh"]);
    assert_eq!(code, Some(2));
    says(&stderr, &["fish"]);
    says(&printed(0, &["man"]), &[".TH lockstorm 1", "Examples:"]);
    says(&printed(0, &["man", "run"]), &["record"]);
    says(&printed(0, &["man", "scenarios", "show"]), &["show"]);
    refused(&["man", "rnu"], &["rnu", "run"]);
}

/// Runs this text of a shell: the exit code, standard output, standard error.
fn bash(script: &str) -> (Option<i32>, String, String) {
    parts_of(Command::new("bash").args(["-c", script]).output().unwrap())
}

/// What the completion script for bash offers for the last of these words.
fn offered(words: &[&str]) -> String {
    let last = words.len() - 1;
    let script = format!(
        "source <('{}' completions bash); COMP_WORDS=({}); COMP_CWORD={last}; _lockstorm lockstorm '{}' '{}'; echo ${{COMPREPLY[@]}}",
        program(),
        words.join(" "),
        words[last],
        words[last - 1],
    );
    bash(&script).1.trim().to_owned()
}

#[test]
fn completion_knows_scenarios_and_cases_and_a_file_is_still_taken() {
    assert_eq!(offered(&["lockstorm", "flash"]), "flash-sale");
    assert_eq!(offered(&["lockstorm", "run", "stam"]), "stampede");
    assert_eq!(offered(&["lockstorm", "check", "quorum"]), "quorum-loss");
    assert_eq!(offered(&["lockstorm", "scenarios", "show", "fen"]), "fencing");
    let cases = offered(&["lockstorm", "bench", "--case", "own"]);
    assert!(cases.split(' ').any(|case| case == "own-64"), "{cases}");
    // Where no name fits, bash falls back to files; the other shells must be told to.
    assert_eq!(offered(&["lockstorm", "run", "./my"]), "");
    for (shell, parts) in [
        ("bash", ["-o default lockstorm", "stampede"]),
        ("zsh", ["_lockstorm_scenarios()", "'files:file:_files'"]),
        (
            "fish",
            ["using_subcommand run\" -a \"failover ", "using_subcommand check\" -a"],
        ),
    ] {
        let script = printed(0, &["completions", shell]);
        says(&script, &parts);
        says(&script, &["own-64"]);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, "my own.toml", embedded("stampede"));
    printed(0, &["check", &path]);
    assert!(!printed(0, &["run", "--help"]).contains("possible values: single"));
}

/// Characters that change the direction of writing, break lines or have no width.
const UNSEEN: [char; 4] = ['\u{202e}', '\u{2028}', '\u{200b}', '\u{1b}'];

#[test]
fn no_title_and_no_name_is_printed_raw() {
    let directory = tempfile::tempdir().unwrap();
    let named = |name: &str, title: &str| {
        let text = embedded("stampede");
        let old = text.lines().find(|line| line.starts_with("title")).unwrap();
        file(&directory, name, text.replace(old, &format!("title = \"{title}\"")))
    };
    let path = named("a\u{202e}b\u{200b}.toml", "up\u{202e}down \u{2028} two\u{200b}lines");
    let bad = file(&directory, "bad\u{202e}\u{200b}.toml", "sead = 1\n\"x\u{202e}y\" = 2");
    for (command, path) in [("check", &path), ("check", &bad), ("run", &bad)] {
        let (_, stdout, stderr) = told(&[command, path]);
        let said = stdout + &stderr;
        assert!(said.contains('\u{fffd}') && !said.contains(UNSEEN), "{said:?}");
        assert!(said.lines().all(|line| line.starts_with(['✔', 'l'])), "{said:?}");
    }
    refused(&["run", "no\u{202e}such"], &["no\u{fffd}such"]);
}

#[test]
fn a_flag_that_contradicts_the_file_is_named_and_no_line_of_it() {
    // The scenario's ramp is longer than that.
    refused(
        &["run", "single-vs-redlock", "--duration", "5s"],
        &["lockstorm: --duration 5s: swarm.ramp: a ramp of 6s is longer"],
    );
    refused(
        &["run", "single-vs-redlock", "--set", "swarm.rate=100/s", "--seed", "3"],
        &["lockstorm: --set swarm.rate=100/s: swarm.think: contradicts rate"],
    );
}

#[test]
fn a_reader_that_leaves_early_is_not_an_error() {
    let script = format!(
        "'{}' scenarios show stampede | true; exit ${{PIPESTATUS[0]}}",
        program()
    );
    let (code, _, stderr) = bash(&script);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
}

#[test]
fn lab_down_has_nothing_to_do() {
    assert_eq!(printed(0, &["lab", "down"]), "no lab left anything behind\n");
    let (code, _, stderr) = told(&["lab"]);
    assert_eq!(code, Some(2));
    says(&stderr, &["down"]);
}
