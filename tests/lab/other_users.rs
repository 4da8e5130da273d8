//! What other users of the machine can do to a lab: nothing.
//!
//! These tests act as another user, which needs root: `make test-root` runs them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use lockstorm_kit::lab::{Killed, runs};
use lockstorm_kit::scenario::TWO_ARMS;
use lockstorm_kit::turn::Turn;
use lockstorm_kit::{beside, ended, eventually, lockstorm, password, send};
use nix::sys::signal::Signal;
use nix::unistd::geteuid;
use tempfile::TempDir;

/// What makes of [`TWO_ARMS`] a scenario in which host 1 is killed and comes back.
const KILL: &str = r#"
fault = [{ at = "500ms", do = "kill", on = "host:1", for = "500ms" }]
"#;

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

/// A directory for temporary files that everybody can write to, without the sticky bit, which would protect us.
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

/// The exit code, and everything that is said.
fn says(temp_dir: &Path, args: &[&str]) -> (Option<i32>, String) {
    let (code, out, err) = ended(&mut lockstorm(temp_dir, args));
    (code, out + &err)
}

/// The commands that look at what is there.
const LOOK: [&[&str]; 2] = [&["lab", "down"], &["run", "stampede", "--duration", "1s", "--quiet"]];

/// A home directory with things in it whose names look like leftovers.
fn home() -> TempDir {
    let home = TempDir::with_prefix("ls-home-").expect("a directory");
    for name in ["run-1", "run-00000002", "new-00000003"] {
        fs::create_dir(home.path().join(name)).expect("a directory");
        fs::write(home.path().join(name).join("thesis"), "years of work").expect("a file");
    }
    fs::write(home.path().join("run-00000002/keeper.lock"), "").expect("a file");
    let year = SystemTime::now() - Duration::from_hours(8760);
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
    for args in LOOK {
        let (code, text) = says(temp_dir.path(), args);
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
    for args in LOOK {
        let (code, text) = says(temp_dir.path(), args);
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
    let (code, text) = says(temp_dir.path(), &["lab", "down"]);
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
    // It contains a lab of ours, so that the sweep does not remove it as empty.
    fs::create_dir(base.join("run-00000009")).expect("ours");
    fs::write(base.join("run-00000009/mine"), "").expect("ours");
    let script = format!(
        "while :; do mv -T {base} aside; ln -s {home} {base}; rm {base}; mv -T aside {base}; done",
        base = base.display(),
        home = home.path().display()
    );
    let swapper = shell(temp_dir.path(), &script)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let swapper = Killed(swapper.expect("a shell"));
    let mut refused = 0;
    for _ in 0..100 {
        let (code, text) = says(temp_dir.path(), &["lab", "down"]);
        assert!(code == Some(0) || code == Some(1), "{text}");
        refused += usize::from(text.contains("it is a link"));
        assert!(is_untouched(home.path()), "{text}");
    }
    drop(swapper);
    assert!(refused > 0, "the link never stood there when it mattered");
    assert_eq!(fs::read_dir(home.path()).expect("the home").count(), 3);
}

/// A lab of ours with three nodes, in a process of its own: a run that lasts until it is stopped.
struct Lab {
    dir: TempDir,
    run: Killed,
    _turn: Turn,
}

impl Lab {
    fn start(more: &[&str]) -> Self {
        let turn = beside();
        let dir = TempDir::with_prefix("ls-").expect("a directory");
        // Others may look: each file must be protected by itself.
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).expect("open to all");
        fs::write(
            dir.path().join("kill.toml"),
            KILL.to_owned() + &TWO_ARMS.replace("60s", "120s").replace("5ms", "20ms"),
        )
        .expect("the scenario");
        let own = [
            "run",
            "kill.toml",
            "--quiet",
            "--record",
            "out.json",
            "--log",
            "out.log",
        ];
        let run = lockstorm(dir.path(), &[&own, more].concat())
            .spawn()
            .expect("lockstorm");
        let lab = Self {
            dir,
            run: Killed(run),
            _turn: turn,
        };
        eventually("the lab is up", || {
            lab.run_dir().is_some_and(|dir| dir.join("lab.json").exists())
        });
        lab
    }

    fn run_dir(&self) -> Option<PathBuf> {
        runs(self.dir.path()).pop()
    }

    fn ports(&self) -> Vec<u16> {
        let card = fs::read_to_string(self.run_dir().expect("a run").join("lab.json")).expect("the card");
        let parts = card.split("127.0.0.1:").skip(1);
        parts
            .map(|part| part.chars().take_while(char::is_ascii_digit).collect::<String>())
            .map(|port| port.parse().expect("a port"))
            .collect()
    }

    fn cli(&self, args: &[&str]) -> (Option<i32>, String) {
        says(self.dir.path(), &[&["lab", "cli"], args].concat())
    }

    /// Ends the run in order, and returns its whole output.
    fn end(mut self) -> (TempDir, String) {
        send(self.run.0.id(), Signal::SIGINT);
        let mut text = String::new();
        for stream in [
            Box::new(self.run.0.stdout.take().expect("its stdout")) as Box<dyn std::io::Read>,
            Box::new(self.run.0.stderr.take().expect("its stderr")),
        ] {
            let mut stream = stream;
            stream.read_to_string(&mut text).expect("text");
        }
        assert_eq!(self.run.0.wait().expect("it ends").code(), Some(130), "{text}");
        (self.dir, text)
    }
}

/// What a node answers to the other user.
fn asked_by_nobody(port: u16, command: &str) -> String {
    let script = format!("timeout 20 redis-cli -p {port} {command} 2>&1");
    let output = as_nobody(Path::new("/"), &script);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "needs root: it acts as another user"]
fn nobody_else_gets_into_a_node_or_at_its_password() {
    let lab = Lab::start(&[]);
    let ports = lab.ports();
    assert_eq!(ports.len(), 4);
    for &port in &ports[1..] {
        for command in ["PING", "CONFIG SET dir /tmp", "FLUSHALL", "SHUTDOWN NOSAVE"] {
            let answer = asked_by_nobody(port, command);
            assert!(answer.contains("NOAUTH"), "{command}: {answer}");
        }
    }
    let run_dir = lab.run_dir().expect("a run");
    let conf = run_dir.join("nodes.conf");
    let password = password::in_dir(&run_dir).expect("a password");
    assert!(password.len() >= 32, "128 bits");
    assert_eq!(
        fs::metadata(&conf).expect("the file").permissions().mode() & 0o777,
        0o600
    );
    let peek = as_nobody(
        Path::new("/"),
        &format!("cat {conf}; cat {}/*", run_dir.display(), conf = conf.display()),
    );
    assert!(!peek.status.success() && peek.stdout.is_empty());

    // After host 1 was killed and started again.
    let log = run_dir.join("host-1/server.log");
    eventually("host 1 has started twice", || {
        fs::read_to_string(&log).is_ok_and(|text| text.matches(" is starting ").count() == 2)
    });
    eventually("host 1 is back", || lab.cli(&["1", "--", "PING"]).1 == "PONG\n");
    for node in ["1", "2", "3", "cache"] {
        assert_eq!(lab.cli(&[node, "--", "PING"]), (Some(0), "PONG\n".to_owned()));
    }
    assert_eq!(
        lab.cli(&["1", "--", "NO SUCH COMMAND"]).0.map(|code| code < 2),
        Some(true)
    );
    let (code, text) = lab.cli(&["4"]);
    assert!(
        code == Some(1) && text.contains("has no host 4: it has hosts 1 to 3 and cache"),
        "{text}"
    );
    let (code, text) = lab.cli(&["1", "--lab", "none"]);
    let id = run_dir
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .replace("run-", "");
    assert!(code == Some(1) && text.contains(&id), "{text}");

    // No process shows it, neither in its arguments nor in its environment.
    let mut seen = 0;
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        for file in ["cmdline", "environ"] {
            let bytes = fs::read(entry.path().join(file)).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            assert!(!text.contains(&password), "{}: {file}", entry.path().display());
            seen += usize::from(text.contains("redis-server") || text.contains("valkey-server"));
        }
    }
    assert!(seen >= 3, "the servers were looked at");

    let (dir, said) = lab.end();
    assert!(!said.contains(&password) && said.contains("redlock"), "{said}");
    for file in ["out.json", "out.log"] {
        let text = fs::read_to_string(dir.path().join(file)).unwrap_or_default();
        assert!(!text.contains(&password), "{file}");
    }
    let record = fs::read_to_string(dir.path().join("out.json")).expect("a record");
    assert!(record.contains("\"requirepass\":\"random\""), "{record}");
    assert!(record.contains("\"returned_with\":\"none\""), "{said}");
    let (code, text) = says(dir.path(), &["lab", "cli", "1"]);
    assert!(code == Some(1) && text.contains("no lab of yours is running"), "{text}");
}

#[test]
#[ignore = "needs root: it acts as another user"]
fn without_a_password_everybody_is_let_in() {
    let lab = Lab::start(&["--set", "lab.password=off"]);
    assert!(asked_by_nobody(lab.ports()[1], "PING").contains("PONG"));
    assert!(!lab.run_dir().expect("a run").join("nodes.conf").exists());
    assert_eq!(lab.cli(&["2", "--", "PING"]).1, "PONG\n");
    lab.end();
}

#[test]
#[ignore = "needs root: it acts as another user"]
fn a_stranger_on_the_port_of_a_killed_node_gets_no_password() {
    // Host 1 stays down.
    let lab = Lab::start(&["--set", "fault.1.for=100s"]);
    let port = lab.ports()[0];
    let heard = lab.dir.path().join("heard");
    fs::create_dir(&heard).expect("a directory");
    fs::set_permissions(&heard, Permissions::from_mode(0o777)).expect("open to all");
    // Writes down everything that clients send.
    let stranger = format!(
        "import socket,time\ns=socket.socket()\ns.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1)\n\
         while True:\n try:\n  s.bind(('127.0.0.1',{port})); break\n except OSError: time.sleep(.01)\n\
         s.listen(100)\nn=0\nout=open('heard','wb',0)\nwhile True:\n c,_=s.accept(); c.settimeout(1); n+=1; open('count','w').write(str(n))\n \
         try: out.write(c.recv(4096))\n except OSError: pass\n c.close()\n"
    );
    fs::write(heard.join("stranger.py"), stranger).expect("written");
    let stranger = Killed(shell(&heard, "exec python3 stranger.py").spawn().expect("a shell"));
    let count = || -> usize {
        let text = fs::read_to_string(heard.join("count")).unwrap_or_default();
        text.parse().unwrap_or(0)
    };
    eventually("clients came to the stranger", || count() >= 8);
    drop(stranger);
    let heard_text = fs::read(heard.join("heard")).expect("what was heard");
    assert_eq!(String::from_utf8_lossy(&heard_text), "");
    lab.end();
}
