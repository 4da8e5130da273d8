//! The command line from outside: help, documentation, scenarios, and errors for bad input before anything starts.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::{contains, is_empty, is_match, starts_with};
use tempfile::TempDir;

fn lockstorm() -> Command {
    let mut command = Command::cargo_bin("lockstorm").unwrap();
    command
        .env_remove("NO_COLOR")
        .timeout(std::time::Duration::from_mins(1));
    command
}

/// A directory that takes the place of the labs' base directory, so that nobody else's run is seen.
fn temp() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn file(directory: &TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

fn embedded(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scenarios")
        .join(format!("{name}.toml"));
    fs::read_to_string(path).unwrap()
}

/// Runs something headless that must be refused: exit code 2, one line on standard error that contains all of `parts`,
/// nothing on standard output, and no directory of a lab.
fn refused(arguments: &[&str], parts: &[&str]) {
    let labs = temp();
    let output = lockstorm().args(arguments).env("TMPDIR", labs.path()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
    assert!(stderr.starts_with("lockstorm: "), "{arguments:?}: {stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{arguments:?} does not say {part:?}: {stderr}");
    }
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert_eq!(
        fs::read_dir(labs.path()).unwrap().count(),
        0,
        "{arguments:?} started a lab"
    );
}

#[test]
fn every_command_has_help_with_examples() {
    let commands: [&[&str]; 19] = [
        &[],
        &["run"],
        &["plan"],
        &["recipes"],
        &["sweep"],
        &["scenarios"],
        &["scenarios", "show"],
        &["check"],
        &["bench"],
        &["doctor"],
        &["lab"],
        &["lab", "up"],
        &["lab", "status"],
        &["lab", "kill"],
        &["lab", "pause"],
        &["lab", "restore"],
        &["lab", "down"],
        &["completions"],
        &["man"],
    ];
    for command in commands {
        let shown = lockstorm()
            .args(command)
            .arg("--help")
            .assert()
            .success()
            .stderr(is_empty());
        shown
            .stdout(contains("Examples:\n  lockstorm"))
            .stdout(contains("Usage: lockstorm"));
    }
    lockstorm()
        .arg("--help")
        .assert()
        .stdout(is_match("130 .*SIGINT").unwrap());
    lockstorm().args(["run", "--help"]).assert().stdout(contains("arms[]"));
}

#[test]
fn help_names_only_existing_commands() {
    let help = lockstorm().arg("--help").output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<_> = commands
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(
        names,
        [
            "run",
            "scenarios",
            "check",
            "plan",
            "recipes",
            "sweep",
            "bench",
            "lab",
            "doctor",
            "completions",
            "man",
            "help"
        ]
    );
}

#[test]
fn version() {
    lockstorm()
        .arg("--version")
        .assert()
        .success()
        .stdout(format!("lockstorm {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn scenarios_are_listed_and_shown_as_they_are() {
    let output = lockstorm().arg("scenarios").output().unwrap();
    let list = String::from_utf8(output.stdout).unwrap();
    let mut files: Vec<_> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let mut listed: Vec<_> = list
        .lines()
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect();
    assert!(
        list.lines().all(|line| line.split_whitespace().count() > 2),
        "a name and a title: {list}"
    );
    files.sort();
    listed.sort();
    assert_eq!(listed, files);
    for name in listed {
        lockstorm()
            .args(["scenarios", "show", &name])
            .assert()
            .success()
            .stdout(embedded(&name));
        lockstorm()
            .args(["check", &name])
            .assert()
            .success()
            .stdout(starts_with(format!("✔ {name}: ")));
    }
    refused(&["scenarios", "show", "stampde"], &["stampde", "\"stampede\""]);
}

#[test]
fn check_lists_all_mistakes() {
    let directory = temp();
    let good = file(&directory, "good.toml", embedded("stampede"));
    lockstorm()
        .arg("check")
        .arg(good)
        .assert()
        .success()
        .stdout(starts_with("✔ good: "));
    let bad = embedded("stampede")
        .replacen("duration", "duratoin", 1)
        .replacen("seed", "sede", 1);
    let bad = file(&directory, "bad.toml", bad);
    let shown = lockstorm().arg("check").arg(&bad).assert().code(2).stdout(is_empty());
    shown
        .stderr(contains("\"duration\"").and(contains("\"seed\"")))
        .stderr(is_match(r"(?m)^lockstorm: .*bad\.toml:\d+: duratoin").unwrap());
}

#[test]
fn bad_scenarios_start_nothing() {
    let directory = temp();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    refused(&["run", "stampde"], &["stampde", "\"stampede\""]);
    refused(&["stampde"], &["\"stampede\""]);
    refused(
        &["run", &path(&file(&directory, "empty.toml", ""))],
        &["empty.toml", "is empty"],
    );
    refused(
        &["run", &path(&file(&directory, "latin.toml", b"title = \"\xe9\""))],
        &["latin.toml:1", "UTF-8"],
    );
    refused(&["run", &path(directory.path())], &["directory"]);
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
    refused(&["--seed", "1", "run", "stampede"], &["--seed", "after the command"]);
    lockstorm().args(["--color", "never", "scenarios"]).assert().success();
}

#[test]
fn a_record_that_cannot_be_written_is_an_error_before_the_run() {
    let directory = temp();
    let missing = directory.path().join("no/such/out.json");
    refused(
        &["run", "stampede", "--record", missing.to_str().unwrap()],
        &["out.json", "no directory", "create it"],
    );
    refused(
        &["run", "stampede", "--record", directory.path().to_str().unwrap()],
        &["is a directory"],
    );
    refused(&["run", "stampede", "--record", ""], &["record"]);
    let below_a_file = file(&directory, "plain", "x").join("out.json");
    refused(
        &["run", "stampede", "--record", below_a_file.to_str().unwrap()],
        &["out.json"],
    );
}

#[test]
fn a_missing_server_is_named_with_its_cure_and_the_old_record_stays() {
    let directory = temp();
    let labs = temp();
    let record = file(&directory, "old.json", "old");
    let shown = lockstorm()
        .args(["run", "stampede", "--server-bin", "/no/such/redis-server", "--record"])
        .arg(&record)
        .env("TMPDIR", labs.path())
        .assert()
        .code(1)
        .stdout(is_empty());
    shown.stderr(is_match(r"^lockstorm: .*/no/such/redis-server.*\n$").unwrap());
    assert_eq!(fs::read_to_string(record).unwrap(), "old");
    assert_eq!(
        fs::read_dir(directory.path()).unwrap().count(),
        1,
        "the check of the path left something behind"
    );
    assert_eq!(fs::read_dir(labs.path()).unwrap().count(), 0);
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
    let directory = temp();
    let manager = file(&directory, "apt-get", "#!/bin/sh\n");
    fs::set_permissions(&manager, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let shown = lockstorm()
        .args(["run", "stampede"])
        .env("PATH", directory.path())
        .assert()
        .code(1)
        .stdout(is_empty());
    shown.stderr(
        contains("apt-get install")
            .and(contains("--server-bin"))
            .and(is_match(r"^[^\n]*\n$").unwrap()),
    );
}

#[test]
fn documents_for_shells_and_readers() {
    for (shell, part) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef lockstorm"),
        ("fish", "complete -c lockstorm"),
    ] {
        lockstorm()
            .args(["completions", shell])
            .assert()
            .success()
            .stdout(contains(part))
            .stderr(is_empty());
    }
    lockstorm()
        .args(["completions", "tcsh"])
        .assert()
        .code(2)
        .stderr(contains("fish"));
    lockstorm()
        .arg("man")
        .assert()
        .success()
        .stdout(contains(".TH lockstorm 1").and(contains("Examples:")));
    lockstorm()
        .args(["man", "run"])
        .assert()
        .success()
        .stdout(contains("record"));
    lockstorm()
        .args(["man", "scenarios", "show"])
        .assert()
        .success()
        .stdout(contains("show"));
    refused(&["man", "rnu"], &["rnu", "run"]);
}

/// What the completion script for bash offers for the last of these words.
fn offered(words: &[&str]) -> String {
    let program = assert_cmd::cargo::cargo_bin("lockstorm");
    let last = words.len() - 1;
    let script = format!(
        "source <('{}' completions bash); COMP_WORDS=({}); COMP_CWORD={last}; _lockstorm lockstorm '{}' '{}'; echo ${{COMPREPLY[@]}}",
        program.display(),
        words.join(" "),
        words[last],
        words[last - 1],
    );
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
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
            [
                "using_subcommand run\" -a \"single-vs-redlock ",
                "using_subcommand check\" -a",
            ],
        ),
    ] {
        let script = lockstorm().args(["completions", shell]).output().unwrap().stdout;
        let script = String::from_utf8(script).unwrap();
        assert!(parts.iter().all(|part| script.contains(part)), "{shell}: {script}");
        assert!(script.contains("own-64"), "{shell}");
    }
    let directory = temp();
    let path = file(&directory, "my own.toml", embedded("stampede"));
    lockstorm().arg("check").arg(path).assert().success();
    lockstorm()
        .args(["run", "--help"])
        .assert()
        .stdout(contains("possible values: single").not());
}

/// Characters that change the direction of writing, break lines or have no width.
const UNSEEN: [char; 4] = ['\u{202e}', '\u{2028}', '\u{200b}', '\u{1b}'];

#[test]
fn no_title_and_no_name_is_printed_raw() {
    let directory = temp();
    let named = |name: &str, title: &str| {
        let text = embedded("stampede");
        let old = text.lines().find(|line| line.starts_with("title")).unwrap();
        file(&directory, name, text.replace(old, &format!("title = \"{title}\"")))
    };
    let path = named("a\u{202e}b\u{200b}.toml", "up\u{202e}down \u{2028} two\u{200b}lines");
    let bad = file(&directory, "bad\u{202e}\u{200b}.toml", "sead = 1\n\"x\u{202e}y\" = 2");
    for (command, path) in [("check", &path), ("check", &bad), ("run", &bad)] {
        let output = lockstorm().arg(command).arg(path).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
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
        &["lockstorm: --duration 5s: swarm.ramp: a ramp of 8s is longer"],
    );
    refused(
        &["run", "single-vs-redlock", "--set", "swarm.rate=100/s", "--seed", "3"],
        &["lockstorm: --set swarm.rate=100/s: swarm.think: contradicts rate"],
    );
}

#[test]
fn a_reader_that_leaves_early_is_not_an_error() {
    let program = assert_cmd::cargo::cargo_bin("lockstorm");
    let script = format!(
        "'{}' scenarios show stampede | true; exit ${{PIPESTATUS[0]}}",
        program.display()
    );
    Command::new("bash")
        .args(["-c", &script])
        .assert()
        .success()
        .stderr(is_empty());
}

#[test]
fn lab_down_has_nothing_to_do() {
    let labs = temp();
    lockstorm()
        .args(["lab", "down"])
        .env("TMPDIR", labs.path())
        .assert()
        .success()
        .stdout("no lab left anything behind\n");
    lockstorm().arg("lab").assert().code(2).stderr(contains("down"));
}
