//! Every example runs as it is, on its own lab and on the nodes of others.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs};

use lockstorm_kit::{RedisServer, beside, eventually};
use tempfile::TempDir;

/// The names of the examples, and the last thing that each prints after success.
const EXAMPLES: [(&str, &str); 4] = [
    ("acquire", "without nodes it is an outage: no quorum: node 1 refused"),
    ("keep", "the next one gets the lock: true"),
    ("queue", "given up after 50ms: somebody else holds the lock"),
    ("fence", "ann wakes up and writes with token 1: false"),
];

/// `cargo test` builds the examples with the tests, in the directory above this test's; `cargo test --test examples` alone
/// does not.
fn program(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    let program = profile.join("examples").join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.rs"));
    let time = |file: &Path| fs::metadata(file).and_then(|data| data.modified()).ok();
    let hint = "is not built, or not since it changed: `cargo build --examples`";
    assert!(time(&program) >= time(&source), "{} {hint}", program.display());
    program
}

/// Runs an example, and any lab that it starts, in a directory of its own.
fn run(name: &str, arguments: &[String]) -> (Output, TempDir) {
    let labs = tempfile::tempdir().unwrap();
    let output = Command::new(program(name))
        .args(arguments)
        .env("TMPDIR", labs.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output, labs)
}

fn said(output: &Output, name: &str, line: &str) {
    let (said, error) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{name}: {said}{error}");
    assert!(said.contains("3 of 3 nodes are connected"), "{name}: {said}");
    assert!(said.contains(line), "{name}: {said}");
}

#[test]
fn every_example_runs_on_a_lab_of_its_own_and_leaves_nothing() {
    let _turn = beside();
    for (name, line) in EXAMPLES {
        let (output, labs) = run(name, &[]);
        said(&output, name, line);
        eventually("its directory is gone", || {
            fs::read_dir(labs.path()).unwrap().count() == 0
        });
    }
}

#[test]
fn an_example_runs_on_the_nodes_that_are_given() {
    let _turn = beside();
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let urls: Vec<_> = servers
        .iter()
        .map(|server| format!("redis://{}", server.addr()))
        .collect();
    let (output, _labs) = run("fence", &urls);
    said(&output, "fence", "bob writes with token 2: true");
    assert!(servers.iter().filter(|server| server.calls("set") > 0).count() >= 2);
    let (output, _labs) = run("acquire", &["127.0.0.1:6379".to_owned()]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("write it like redis://"), "{error}");
}

#[test]
fn every_example_is_in_this_test_and_in_the_docs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_to_string(root.join("docs/library.md")).unwrap();
    let mut files: Vec<_> = fs::read_dir(root.join("examples"))
        .unwrap()
        .filter_map(|file| Some(file.unwrap().file_name().to_str()?.strip_suffix(".rs")?.to_owned()))
        .collect();
    files.sort();
    let mut names = EXAMPLES.map(|(name, _)| name);
    names.sort_unstable();
    assert_eq!(files, names);
    for name in names {
        assert!(docs.contains(&format!("`{name}`")), "{name} is not in docs/library.md");
    }
}
