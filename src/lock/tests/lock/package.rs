//! The lock engine is a package of its own, light enough for a program that only wants a lock.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// With TLS, and counting the engine itself.
const MOST_PACKAGES: usize = 45;

/// Packages that belong to the lab and the console.
const OF_OTHERS: [&str; 5] = ["clap", "ratatui", "redis", "sqlx", "url"];

/// Where the package is now: a program that was built from it elsewhere may be used again.
pub fn root() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from)
}

/// The packages that `lockstorm-lock` needs to run or to be built.
fn packages() -> BTreeSet<String> {
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["tree", "--offline", "--locked", "--package", "lockstorm-lock"])
        .args(["--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .current_dir(root())
        .output()
        .expect("cargo, which has built this, runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    // `name v1.2.3`, sometimes with a path, a note that it is a macro, or a note that it was listed before.
    let package = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    tree.lines().map(package).collect()
}

#[test]
fn the_lock_engine_needs_few_packages_and_none_of_the_lab() {
    let packages = packages();
    assert!(
        packages.iter().any(|package| package.starts_with("tokio v")),
        "{packages:?}"
    );
    assert!(
        packages.len() <= MOST_PACKAGES,
        "{} packages: {packages:#?}",
        packages.len()
    );
    for package in &packages {
        let name = package.split(' ').next().unwrap();
        // With the packages that they consist of: sqlx-core, clap_builder.
        let other = OF_OTHERS
            .iter()
            .find(|&&other| name.split(['-', '_']).next() == Some(other));
        assert_eq!(other, None, "{package}");
    }
}

/// Packs the package and unpacks it here; returns where.
fn unpack(root: &Path, to: &Path) -> PathBuf {
    let run = |command: &mut Command| {
        let output = command.current_dir(root).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["package", "--offline", "--no-verify", "--allow-dirty"])
        .args(["--package", "lockstorm-lock", "--target-dir"])
        .arg(to));
    let packed = to.join(concat!("package/lockstorm-lock-", env!("CARGO_PKG_VERSION"), ".crate"));
    run(Command::new("tar").arg("-xzf").arg(packed).arg("-C").arg(to));
    to.join(concat!("lockstorm-lock-", env!("CARGO_PKG_VERSION")))
}

#[test]
fn the_package_has_its_licences_in_full_and_a_whole_readme() {
    let (root, to) = (root(), tempfile::tempdir().unwrap());
    let unpacked = match root.join("Cargo.toml.orig").exists() {
        // This is the package, unpacked.
        true => root,
        false => unpack(&root, to.path()),
    };
    let read = |name: &str| fs::read_to_string(unpacked.join(name)).unwrap();
    assert!(read("LICENSE-MIT").contains("THE SOFTWARE IS PROVIDED"));
    assert!(read("LICENSE-APACHE").contains("END OF TERMS AND CONDITIONS"));
    for example in ["worker", "using", "blocking"] {
        assert!(read(&format!("examples/{example}.rs")).contains("fn main"));
    }
    // A paragraph ends with the end of a sentence, or leads to what stands below.
    let readme = read("README.md");
    let prose = readme.split("```").step_by(2).flat_map(|part| part.split("\n\n"));
    for paragraph in prose.filter(|text| text.starts_with(char::is_alphanumeric)) {
        assert!(paragraph.trim_end().ends_with(['.', ':']), "{paragraph}");
    }
}
