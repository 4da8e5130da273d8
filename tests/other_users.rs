//! What other users of the machine can do to a lab: nothing.
//!
//! These tests act as another user, which takes root: `make test-root` runs them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nix::unistd::geteuid;
use tempfile::TempDir;

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

/// A directory for temporary files that everybody may write to, and without the sticky bit, which would protect us.
fn shared_temp_dir() -> TempDir {
    let dir = TempDir::with_prefix("ls-").expect("a directory");
    fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).expect("open to all");
    dir
}

fn base(temp_dir: &Path) -> PathBuf {
    temp_dir.join(format!("lockstorm-{}", geteuid()))
}

fn shell(directory: &Path, script: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .current_dir(directory)
        .uid(NOBODY)
        .gid(NOBODY)
        .stdin(Stdio::null());
    command
}

/// Runs a script as the other user.
fn as_nobody(directory: &Path, script: &str) -> Output {
    shell(directory, script).output().expect("a shell")
}

fn lockstorm(temp_dir: &Path, args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_lockstorm"))
        .args(args)
        .env("TMPDIR", temp_dir)
        .stdin(Stdio::null())
        .output()
        .expect("lockstorm");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// Somebody's home with things in it whose names look like those of leftovers.
fn home() -> TempDir {
    let home = TempDir::with_prefix("ls-home-").expect("a directory");
    for name in ["run-1", "run-00000002", "new-00000003"] {
        fs::create_dir(home.path().join(name)).expect("a directory");
        fs::write(home.path().join(name).join("thesis"), "years of work").expect("a file");
    }
    fs::write(home.path().join("run-00000002/keeper.lock"), "").expect("a file");
    let year = std::time::SystemTime::now() - std::time::Duration::from_secs(365 * 24 * 3600);
    let old = fs::File::open(home.path().join("new-00000003")).expect("opened");
    old.set_modified(year).expect("aged");
    home
}

fn is_untouched(home: &Path) -> bool {
    ["run-1", "run-00000002", "new-00000003"]
        .iter()
        .all(|name| home.join(name).join("thesis").exists())
}

#[test]
#[ignore = "needs root: it acts as another user"]
fn a_link_planted_as_our_directory_leads_nowhere() {
    let (temp_dir, home) = (shared_temp_dir(), home());
    let link = base(temp_dir.path());
    let planted = as_nobody(
        temp_dir.path(),
        &format!("ln -s {} {}", home.path().display(), link.display()),
    );
    assert!(planted.status.success());
    for args in [
        &["lab", "down"][..],
        &["run", "stampede", "--duration", "1s", "--quiet"],
    ] {
        let (code, text) = lockstorm(temp_dir.path(), args);
        assert_eq!(code, Some(1), "{args:?}: {text}");
        assert!(is_untouched(home.path()), "{args:?}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains(&format!("{}: it is a link", link.display())), "{text}");
        assert!(text.contains("set TMPDIR to another directory"), "{text}");
    }
    assert_eq!(fs::read_dir(home.path()).expect("the home").count(), 3);
}

#[test]
#[ignore = "needs root: it acts as another user"]
fn a_directory_of_somebody_else_is_neither_used_nor_swept() {
    let temp_dir = shared_temp_dir();
    let base = base(temp_dir.path());
    let script = format!(
        "mkdir -p {base}/run-00000001 && touch {base}/run-00000001/keeper.lock",
        base = base.display()
    );
    assert!(as_nobody(temp_dir.path(), &script).status.success());
    for args in [
        &["lab", "down"][..],
        &["run", "stampede", "--duration", "1s", "--quiet"],
    ] {
        let (code, text) = lockstorm(temp_dir.path(), args);
        assert_eq!(code, Some(1), "{args:?}: {text}");
        assert!(text.contains("it belongs to user 65534; set TMPDIR"), "{text}");
        assert!(base.join("run-00000001/keeper.lock").exists(), "{args:?}");
    }
}

#[test]
#[ignore = "needs root: it acts as another user"]
fn a_directory_that_others_can_write_to_is_refused() {
    let temp_dir = shared_temp_dir();
    let base = base(temp_dir.path());
    fs::create_dir(&base).expect("ours");
    fs::set_permissions(&base, Permissions::from_mode(0o777)).expect("open to all");
    let home = home();
    let script = format!("ln -s {}/run-1 {}/run-00000001", home.path().display(), base.display());
    assert!(as_nobody(temp_dir.path(), &script).status.success());
    let (code, text) = lockstorm(temp_dir.path(), &["lab", "down"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("others can write to it; set TMPDIR"), "{text}");
    assert!(is_untouched(home.path()));
}

#[test]
#[ignore = "needs root: it acts as another user"]
fn a_directory_that_is_swapped_while_we_look_deletes_nothing() {
    let (temp_dir, home) = (shared_temp_dir(), home());
    let base = base(temp_dir.path());
    fs::create_dir(&base).expect("ours");
    fs::set_permissions(&base, Permissions::from_mode(0o700)).expect("ours alone");
    // A lab of ours in it, so that the sweep does not remove it as empty.
    fs::create_dir(base.join("run-00000009")).expect("ours");
    fs::write(base.join("run-00000009/mine"), "").expect("ours");
    let script = format!(
        "while :; do mv -T {base} aside; ln -s {home} {base}; rm {base}; mv -T aside {base}; done",
        base = base.display(),
        home = home.path().display()
    );
    let mut swapper = shell(temp_dir.path(), &script)
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");
    let mut refused = 0;
    for _ in 0..100 {
        let (code, text) = lockstorm(temp_dir.path(), &["lab", "down"]);
        assert!(code == Some(0) || code == Some(1), "{text}");
        refused += usize::from(text.contains("it is a link"));
        assert!(is_untouched(home.path()), "{text}");
    }
    swapper.kill().expect("killed");
    swapper.wait().expect("reaped");
    assert!(refused > 0, "the link never stood there when it mattered");
    assert_eq!(fs::read_dir(home.path()).expect("the home").count(), 3);
}
