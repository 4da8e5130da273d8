//! Holds the shape of the library: a module uses only modules below it.

use std::fs;
use std::path::{Path, PathBuf};

/// From the top to the bottom. Modules of one line are peers and do not use each other.
const LAYERS: &[&[&str]] = &[
    &["console", "report"],
    &["bench"],
    &["run"],
    &["swarm"],
    &["workload"],
    &["oracle"],
    &["fault"],
    &["lab"],
    &["lock"],
    &["store"],
    &["metrics", "needs"],
    &["scenario"],
    &["model", "output", "timer"],
];

/// The program, which may use all of the library and does so by its name.
const PROGRAM: &[&str] = &["main.rs", "cli.rs", "commands", "failure.rs", "log.rs"];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The modules of the library that a line of code names: after `crate::`, also in a list `crate::{a, b::c}`.
fn used(line: &str) -> Vec<String> {
    let code = line.split("//").next().unwrap_or_default();
    let word = |text: &str| {
        text.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect::<String>()
    };
    let mut found = Vec::new();
    for (at, path) in code.match_indices("crate::") {
        // `$crate::`, `othercrate::`
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + path.len()..];
        match rest.strip_prefix('{') {
            None => found.push(word(rest)),
            Some(list) => {
                let mut depth = 0;
                let top: String = list
                    .chars()
                    .filter(|c| {
                        depth += i32::from(*c == '{') - i32::from(*c == '}');
                        depth == 0
                    })
                    .collect();
                found.extend(top.split(',').map(|item| word(item.trim())));
            }
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

/// `use` items may span lines; then a list is only complete when they are joined.
fn statements(text: &str) -> Vec<String> {
    let mut joined = Vec::new();
    let mut open = String::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default();
        if open.is_empty() && !line.contains("crate::{") {
            joined.push(line.to_owned());
            continue;
        }
        open.push_str(line.trim());
        if line.contains(';') {
            joined.push(std::mem::take(&mut open));
        }
    }
    joined
}

#[test]
fn modules_depend_only_downward() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for file in sources(&root) {
        let inner = file.strip_prefix(&root).unwrap();
        let first = inner.components().next().unwrap().as_os_str().to_str().unwrap();
        if PROGRAM.contains(&first) || first == "lib.rs" {
            continue;
        }
        let module = first.trim_end_matches(".rs");
        let Some(own) = layer(module) else {
            wrong.push(format!(
                "{}: the module {module} has no layer in tests/layers.rs",
                inner.display()
            ));
            continue;
        };
        for statement in statements(&fs::read_to_string(&file).unwrap()) {
            for name in used(&statement) {
                seen += 1;
                let below = layer(&name).is_some_and(|other| other > own);
                if name != module && !below {
                    wrong.push(format!(
                        "{}: {module} may not use {name}: {}",
                        inner.display(),
                        statement.trim()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(seen > 50, "only {seen} uses found: the test looks in the wrong place");
}

#[test]
fn every_module_of_the_library_has_a_layer() {
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let mut modules: Vec<_> = lib
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub mod ")?.strip_suffix(';'))
        .collect();
    let mut layers: Vec<_> = LAYERS.iter().flat_map(|layer| layer.iter().copied()).collect();
    modules.sort_unstable();
    layers.sort_unstable();
    assert_eq!(modules, layers);
}

#[test]
fn the_reader_of_this_test_finds_what_is_used() {
    assert_eq!(used("use crate::model::Outcome;"), ["model"]);
    assert_eq!(
        used("pub use crate::{lab::{self, Host}, model, run::Record};"),
        ["lab", "model", "run"]
    );
    assert_eq!(
        used("fn f(x: crate::lock::Guard) -> crate::store::Row {"),
        ["lock", "store"]
    );
    assert_eq!(used("// use crate::console;"), Vec::<String>::new());
    assert_eq!(used("super::suggest()"), Vec::<String>::new());
    assert_eq!(
        statements("use crate::{\n    a,\n    b::{c, d},\n};\nlet x = 1;").len(),
        2
    );
}
