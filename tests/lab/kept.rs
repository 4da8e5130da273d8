//! `lockstorm lab up` and what follows: a lab that is kept for a program of the user's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lockstorm_base::monotonic_ns;
use lockstorm_data::metrics::units::count;
use lockstorm_kit::lab::{
    CLAIM, ask, connect_to, free_ports, installed, keeper_of, living_in, processes, script, signal, tells,
};
use lockstorm_kit::program::read_until;
use lockstorm_kit::scenario::TWO_ARMS;
use lockstorm_kit::turn::Turn;
use lockstorm_kit::{TEST_TIMEOUT, beside, ended, eventually, free_port, lab, lockstorm, parts_of, program, send};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::{Pid, getsid, mkfifo};
use redis::{Client, Connection};
use serde_json::Value;
use tempfile::TempDir;

/// The exit code of `lab status` if there is no lab.
const NONE: i32 = 3;

/// A directory for temporary files of its own, so that a test sees no other lab, and the turn to use the machine.
struct Place {
    directory: TempDir,
    labs: PathBuf,
    _turn: Turn,
}

impl Place {
    fn new() -> Self {
        Self::named("labs")
    }

    fn named(name: &str) -> Self {
        let turn = beside();
        let directory = tempfile::tempdir().expect("a temporary directory");
        let labs = directory.path().join(name);
        fs::create_dir(&labs).expect("an empty place");
        Self {
            directory,
            labs,
            _turn: turn,
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = lockstorm(self.directory.path(), arguments);
        command.env("TMPDIR", &self.labs);
        command
    }

    /// `lockstorm lab up --port 0 ARGUMENTS`, which has been started.
    fn coming_up(&self, arguments: &[&str]) -> Child {
        let up = self
            .command(&[&["lab", "up", "--port", "0"], arguments].concat())
            .spawn();
        up.expect("lockstorm")
    }

    /// `lockstorm lab ARGUMENTS`: the exit code, standard output, standard error. It returns only when nobody has its outputs
    /// open any more, as in a pipeline.
    fn lab(&self, arguments: &[&str]) -> (i32, String, String) {
        let (code, out, err) = ended(&mut self.command(&[&["lab"], arguments].concat()));
        (code.expect("an exit code"), out, err)
    }

    /// The same, for one that may not wait.
    fn soon(&self, arguments: &[&str]) -> (i32, String, String) {
        let command = self.command(&[&["lab"], arguments].concat());
        let output = assert_cmd::Command::from_std(command).timeout(TEST_TIMEOUT).output();
        let (code, out, err) = parts_of(output.expect("lockstorm"));
        let code = code.unwrap_or_else(|| panic!("{arguments:?} waits: {out}{err}"));
        (code, out, err)
    }

    /// The same for one that succeeds; returns what it prints.
    fn good(&self, arguments: &[&str]) -> String {
        let (code, out, err) = self.lab(arguments);
        assert_eq!(code, 0, "{arguments:?}: {out}{err}");
        out
    }

    /// Brings up three hosts; returns what is printed.
    fn up(&self) -> String {
        self.good(&["up", "--port", "0"])
    }

    /// Takes the lab down, and waits until nothing is left.
    fn down(&self) {
        self.good(&["down"]);
        self.is_clean();
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.good(&["status", "--json"])).expect("JSON")
    }

    fn service(&self) -> u32 {
        let process = self.status()["process"].as_u64();
        process.and_then(|pid| pid.try_into().ok()).expect("a process id")
    }

    /// The URLs with the password, as a program gets them from the line of the output that exports them.
    fn urls(output: &str, variable: &str) -> Vec<String> {
        let line = output
            .lines()
            .find(|line| line.contains(&format!("export {variable}=")));
        let script = format!(
            "{}; printf %s \"${variable}\"",
            line.expect("a line for a shell").trim()
        );
        let output = Command::new("sh").args(["-c", &script]).output().expect("a shell");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.split(',').map(str::to_owned).collect()
    }

    /// The processes that work below our directory for temporary files, or were started with it, and still run. A server writes
    /// over its environment, and works in the directory of its node.
    fn processes(&self) -> Vec<u32> {
        let ours = format!("TMPDIR={}", self.labs.display());
        let by_us = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|one| one == ours.as_bytes())
        };
        processes()
            .filter(by_us)
            .chain(living_in(&self.labs))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// The run directories.
    fn runs(&self) -> Vec<PathBuf> {
        lab::runs(&self.labs)
    }

    /// The run directory of the only lab.
    fn run(&self) -> PathBuf {
        self.runs().pop().expect("a run directory")
    }

    /// Waits until the first thing can be seen of a lab.
    fn begins(&self) {
        eventually("it starts", || !self.is_empty());
    }

    fn is_empty(&self) -> bool {
        fs::read_dir(&self.labs).is_ok_and(|mut left| left.next().is_none())
    }

    /// Waits until no process and no file of any lab is left.
    fn is_clean(&self) {
        eventually("no process is left", || self.processes().is_empty());
        eventually("no directory is left", || self.is_empty());
    }

    /// A server that is a shell script with this text.
    fn server(&self, body: &str) -> String {
        let path = script(self.directory.path().join("redis-server"), body);
        path.to_str().expect("a plain path").to_owned()
    }

    /// A program that claims to be a server and never answers.
    fn deaf_server(&self) -> String {
        self.server(&format!("{CLAIM}\nexec sleep 600"))
    }

    /// A server that takes its time to say its version.
    fn slow_server(&self) -> String {
        let real = installed().path;
        self.server(&format!(
            "[ \"$1\" = --version ] && sleep 0.5\nexec {} \"$@\"",
            real.display()
        ))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Only a test that fails leaves anything; its keeper ends its servers.
        for pid in self.processes() {
            signal(pid, Signal::SIGKILL);
        }
    }
}

fn ping(connection: &mut Connection) -> redis::RedisResult<String> {
    redis::cmd("PING").query(connection)
}

fn port_of(url: &str) -> u16 {
    url.rsplit(':').next().expect("a port").parse().expect("a port")
}

fn refuses(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

fn state(status: &Value, host: usize) -> &str {
    status["hosts"][host - 1]["nodes"][0]["state"]
        .as_str()
        .expect("a state")
}

#[test]
fn a_program_uses_a_lab_and_others_see_no_password() {
    // Too long for a socket, and with characters that mean something to a shell.
    let place = Place::named(&format!("it's $HOME {}", "long ".repeat(20)));
    let (code, out, err) = place.lab(&["up", "--port", "0"]);
    assert_eq!(code, 0, "{err}");
    let urls = Place::urls(&out, "REDIS_URLS");
    assert_eq!(urls.len(), 3, "{out}");
    let password = urls[0].split(['@', ':']).nth(2).expect("a password").to_owned();
    assert_eq!(password.len(), 64, "{password}");
    for (host, url) in urls.iter().enumerate() {
        let shown = format!("host {}  redis://127.0.0.1:{}\n", host + 1, port_of(url));
        assert!(out.contains(&shown), "{out}");
    }
    let run = place.run();
    let mode = |path: PathBuf| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(run.clone()), mode(run.join("urls"))), (0o700, 0o600));
    for url in &urls {
        let mut connection = connect_to(url);
        ask::<()>(&mut connection, &["SET", "key", url]);
        assert_eq!(ask::<String>(&mut connection, &["GET", "key"]), *url);
    }
    let open = Client::open(format!("redis://127.0.0.1:{}", port_of(&urls[0]))).expect("a URL");
    let denied = open
        .get_connection_with_timeout(TEST_TIMEOUT)
        .and_then(|mut connection| ping(&mut connection));
    assert!(denied.is_err_and(|error| error.to_string().contains("NOAUTH")));

    let mut said = out + &err;
    let file = run.join("urls").to_string_lossy().into_owned();
    for (arguments, part) in [
        (&["kill", "1"][..], "host 1 killed"),
        (&["status"], "down (killed)"),
        (&["status", "--json"], &file),
        (&["restore", "1"], "host 1 is back"),
        (&["up", "--port", "0"], "a lab is kept already"),
    ] {
        let (code, out, err) = place.lab(arguments);
        assert!(code == 0 && out.contains(part), "{arguments:?}: {out}{err}");
        said += &(out + &err);
        for pid in place.processes() {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&words).contains(&password), "process {pid}");
        }
    }
    let out = place.good(&["down"]);
    assert!(out.starts_with("the kept lab is down: its processes are gone"), "{out}");
    assert!(place.runs().is_empty() && urls.iter().all(|url| refuses(port_of(url))));
    place.is_clean();
    assert!(!(said + &out).contains(&password));
}

#[test]
fn what_breaks_is_verified_and_told() {
    let place = Place::new();
    let urls = Place::urls(&place.up(), "REDIS_URLS");
    let ports: Vec<u16> = urls.iter().map(|url| port_of(url)).collect();
    let lab = |arguments: &[&str]| {
        let (code, out, err) = place.lab(arguments);
        (code, out + &err)
    };
    let answers = |arguments: &[&str], text: &str| assert_eq!(lab(arguments), (0, format!("{text}\n")));
    let refused = format!("port {} refuses", ports[0]);
    answers(
        &["kill", "1"],
        &format!("host 1 killed: its process is gone and {refused}"),
    );
    assert!(refuses(ports[0]) && !refuses(ports[1]));
    let status = place.status();
    assert_eq!((state(&status, 1), state(&status, 2)), ("down (killed)", "up"));
    assert_eq!(
        (&status["hosts"][0]["up"], &status["hosts"][1]["up"]),
        (&false.into(), &true.into())
    );
    let table = place.good(&["status"]);
    let row = |host: &str| {
        table
            .lines()
            .find(|line| line.starts_with(host))
            .expect("a row")
            .to_owned()
    };
    assert!(
        row("1 ").contains("down (killed)") && row("2 ").contains(" up "),
        "{table}"
    );

    // Obstacles.
    answers(
        &["kill", "1"],
        "kill host 1: nothing to do: it is already down (killed)",
    );
    let first = "cannot pause host 1: it is down (killed); restart it first with `lockstorm lab restore 1`";
    assert_eq!(lab(&["pause", "1"]), (1, format!("lockstorm: {first}\n")));
    answers(&["restore", "2"], "host 2 is up: nothing to restore");

    // It comes back where it was, and has forgotten everything.
    let get = |url: &str| ask::<Option<u8>>(&mut connect_to(url), &["GET", "key"]);
    let back = format!("host 1 is back EMPTY: it answers on port {}", ports[0]);
    answers(&["restore", "1"], &back);
    ask::<()>(&mut connect_to(&urls[0]), &["SET", "key", "1"]);
    assert_eq!(get(&urls[0]), Some(1));
    assert_eq!(lab(&["kill", "1"]).0, 0);
    answers(&["restore", "1"], &back);
    assert_eq!(get(&urls[0]), None);

    // A host that is paused says nothing.
    let mut connection = connect_to(&urls[1]);
    assert_eq!(ping(&mut connection).expect("it answers"), "PONG");
    answers(&["pause", "2"], "host 2 paused: its process is stopped");
    connection
        .set_read_timeout(Some(Duration::from_millis(300)))
        .expect("a timeout");
    assert!(ping(&mut connection).expect_err("it is paused").is_timeout());
    assert_eq!(state(&place.status(), 2), "paused");
    let resumed = format!("host 2 resumed: it answers on port {}", ports[1]);
    answers(
        &["restore", "2,3"],
        &format!("{resumed}\nhost 3 is up: nothing to restore"),
    );
    assert_eq!(ping(&mut connect_to(&urls[1])).expect("it answers"), "PONG");

    // Several at once.
    let (code, text) = lab(&["kill", "majority"]);
    assert!(
        code == 0 && text.lines().count() == 2 && text.contains("host 2 killed: "),
        "{text}"
    );
    assert!(refuses(ports[0]) && refuses(ports[1]) && !refuses(ports[2]));
    assert_eq!(lab(&["restore", "all"]).0, 0);
    place.down();
}

#[test]
fn without_a_lab_there_is_advice() {
    let place = Place::new();
    let none = "lockstorm: no lab is kept: start one with `lockstorm lab up`; labs of another TMPDIR are not seen\n";
    assert_eq!(place.lab(&["status"]), (NONE, String::new(), none.to_owned()));
    assert_eq!(
        place.lab(&["status", "--json"]),
        (NONE, "null\n".to_owned(), none.to_owned())
    );
    assert_eq!(place.lab(&["kill", "1"]), (1, String::new(), none.to_owned()));
    // A user who may not use the engine of this machine is told that.
    let out = place.good(&["down"]);
    assert!(out.starts_with("no lab left anything behind"), "{out}");
    place.is_clean();
}

#[test]
fn an_engine_that_can_not_be_asked_leaves_a_doubt() {
    let place = Place::new();
    let socket = |name: &str| place.directory.path().join(name);
    let down = |host: &str| ended(place.command(&["lab", "down"]).env("DOCKER_HOST", host));
    // Nobody listens any more; somebody says nothing; somebody says something else; there is none.
    drop(UnixListener::bind(socket("dead")).expect("a socket"));
    let _hangs = UnixListener::bind(socket("hangs")).expect("a socket");
    let other = UnixListener::bind(socket("other")).expect("a socket");
    thread::spawn(move || {
        for mut stream in other.incoming().flatten() {
            let _ = stream.write_all(b"-ERR unknown command\r\n");
        }
    });
    for name in ["dead", "hangs", "other", "absent"] {
        let (code, out, err) = down(&format!("unix://{}", socket(name).display()));
        assert_eq!(
            (code, out.as_str()),
            (Some(1), "nothing was removed\n"),
            "{name}: {err}"
        );
        assert!(
            err.contains("can't be told whether containers are left") && err.lines().count() == 1,
            "{name}: {err}"
        );
    }
    // What was done is told all the same.
    place.up();
    let (code, out, err) = down(&format!("unix://{}", socket("dead").display()));
    assert!(code == Some(1) && out.starts_with("the kept lab is down"), "{out}{err}");
    place.is_clean();
}

#[test]
fn a_lab_that_is_just_being_started_is_taken_down_when_it_is_up() {
    let place = Place::new();
    for foreground in [&[][..], &["--foreground"]] {
        let server = place.slow_server();
        let up = place.coming_up(&[&["--server-bin", &server][..], foreground].concat());
        place.begins();
        let (code, out, err) = place.lab(&["down"]);
        assert!(code == 0 && out.starts_with("the kept lab is down"), "{out}{err}");
        assert_eq!(err, "lockstorm: a lab is just being started: waiting until it is up\n");
        let (code, out, err) = parts_of(up.wait_with_output().expect("it ends"));
        assert!(code == Some(0) && out.contains("is up: 3 hosts"), "{out}{err}");
        place.is_clean();
    }
    // One that does not come up leaves nothing, either.
    let server = place.deaf_server();
    let up = place.coming_up(&["--server-bin", &server]);
    place.begins();
    let out = place.good(&["down"]);
    assert!(out.starts_with("no lab left anything behind"), "{out}");
    let (code, out, err) = parts_of(up.wait_with_output().expect("it ends"));
    assert!(
        code == Some(1) && out.is_empty() && err.contains("did not answer"),
        "{out}{err}"
    );
    place.is_clean();
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let place = Place::new();
    let refused = |arguments: &[&str], part: &str| {
        let (code, out, err) = place.lab(arguments);
        assert_eq!(
            (code, out.as_str(), err.lines().count()),
            (2, "", 1),
            "{arguments:?}: {err}"
        );
        assert!(err.contains(part), "{arguments:?}: {err}");
    };
    refused(&["kill", "one"], "\"one\" is not a host; write the numbers of hosts");
    refused(&["kill"], "<HOST>");
    refused(&["kil", "1"], "kill");
    refused(&["up", "--hosts", "10"], "--hosts");
    refused(
        &["up", "--persistence", "some"],
        "write one of none, rdb, aof-everysec, aof-always",
    );
    refused(&["up", "--port", "65535"], "--port 65535 leaves no room for 4 ports");
    refused(&["up", "--replicated", "--hosts", "2"], "--replicated needs 3 hosts");
    let (code, out, err) = place.lab(&["up", "--server-bin", "/no/such/redis-server"]);
    assert!(
        code == 1 && out.is_empty() && err.contains("/no/such/redis-server"),
        "{err}"
    );
    place.is_clean();
    place.good(&["up", "--hosts", "2", "--port", "0"]);
    refused(&["kill", "9"], "there is no host 9: the lab has hosts 1 to 2");
    refused(&["pause", "minority"], "2 hosts have no minority");
    place.down();
}

#[test]
fn a_port_that_is_taken_is_named_with_its_option() {
    let place = Place::new();
    let port = free_port();
    let _taken = std::net::TcpListener::bind(("127.0.0.1", port)).expect("it is free");
    let (code, _, err) = place.lab(&["up", "--port", &port.to_string()]);
    assert_eq!(code, 1, "{err}");
    tells(&err, &[&format!("port {port} for host 1 is taken"), "--port"]);
    place.is_clean();
}

#[test]
fn one_lab_is_kept_at_a_time() {
    let place = Place::new();
    let started: Vec<Child> = (0..3).map(|_| place.coming_up(&[])).collect();
    let mut nodes = Vec::new();
    for up in started {
        let (code, out, err) = parts_of(up.wait_with_output().expect("it ends"));
        assert_eq!(code, Some(0), "{out}{err}");
        nodes.push(Place::urls(&out, "REDIS_URLS"));
    }
    assert!(nodes.iter().all(|urls| *urls == nodes[0]), "they all have the same lab");
    eventually("one lab is left", || place.runs().len() == 1);
    let service = place.service();
    // The same again changes nothing.
    assert!(place.up().starts_with("a lab is kept already\n"));
    // Another one is not what was asked for.
    let (code, out, err) = place.lab(&["up", "--port", "0", "--persistence", "rdb"]);
    assert!(code == 1 && out.is_empty(), "{out}");
    tells(
        &err,
        &["ordered in another way (3 hosts on free ports, persistence none, with a password, "],
    );
    assert_eq!(place.service(), service);
    place.down();
}

#[test]
fn a_pipeline_ends_although_the_lab_goes_on() {
    let place = Place::new();
    let script = format!("'{}' lab up --port 0 | cat", program());
    let mut shell = Command::new("sh");
    let piped = shell.args(["-c", &script]).env("TMPDIR", &place.labs).output();
    assert!(String::from_utf8_lossy(&piped.expect("a shell").stdout).contains("export REDIS_URLS="));
    assert_eq!(place.status()["hosts"].as_array().map(Vec::len), Some(3));
    place.down();
}

#[test]
fn the_background_has_nothing_of_the_terminal() {
    let place = Place::new();
    let streams = ["in", "out", "err"].map(|name| place.directory.path().join(name));
    let [input, out, err] = streams
        .each_ref()
        .map(|path| fs::File::create_new(path).expect("a file"));
    let mut up = place.command(&["lab", "up", "--port", "0"]);
    let status = up.stdin(input).stdout(out).stderr(err).status().expect("lockstorm");
    assert!(status.success());
    // The process that keeps it, its keeper, and four servers.
    let living = place.processes();
    assert_eq!(living.len(), 6, "{living:?}");
    for pid in &living {
        let open = fs::read_dir(format!("/proc/{pid}/fd"))
            .expect("our own process")
            .flatten();
        let open: Vec<PathBuf> = open.filter_map(|fd| fs::read_link(fd.path()).ok()).collect();
        assert!(
            !open.iter().any(|path| streams.contains(path)),
            "process {pid}: {open:?}"
        );
    }
    let service = Pid::from_raw(place.service().cast_signed());
    assert_eq!(getsid(Some(service)), Ok(service), "a Ctrl-C would reach it");
    place.down();
}

#[test]
fn a_process_that_is_killed_leaves_nothing() {
    let place = Place::new();
    for with_keeper in [false, true] {
        place.up();
        // A host that is paused must end, too.
        place.good(&["pause", "2"]);
        let service = place.service();
        let keeper = keeper_of(&place.run());
        if with_keeper {
            // First the keeper, so that it can't clean up.
            send(service, Signal::SIGSTOP);
            send(keeper, Signal::SIGKILL);
        }
        send(service, Signal::SIGKILL);
        eventually("the process is gone", || !place.processes().contains(&service));
        // Whatever is going on, one of these waits for its end.
        assert_eq!(place.lab(&["status"]).0, NONE);
        let (code, out, err) = place.lab(&["down"]);
        assert_eq!(code, 0, "{err}");
        assert_eq!(out.contains("removed 1 run directory"), with_keeper, "{out}");
        place.is_clean();
    }
}

#[test]
fn a_keeper_that_is_killed_ends_the_lab() {
    let place = Place::new();
    place.up();
    let keeper = keeper_of(&place.run());
    send(keeper, Signal::SIGKILL);
    place.is_clean();
    assert_eq!(place.lab(&["status"]).0, NONE);
}

#[test]
fn a_lab_whose_run_directory_is_removed_ends() {
    let place = Place::new();
    place.up();
    let (service, keeper) = (place.service(), keeper_of(&place.run()));
    fs::remove_dir_all(place.run()).expect("it is there");
    eventually("both processes are gone", || {
        let alive: Vec<u32> = processes().collect();
        !alive.contains(&service) && !alive.contains(&keeper)
    });
    place.is_clean();
}

#[test]
fn a_start_that_is_interrupted_leaves_nothing() {
    let place = Place::new();
    let server = place.deaf_server();
    for (signal, code) in [
        (Signal::SIGINT, Some(130)),
        (Signal::SIGTERM, Some(143)),
        (Signal::SIGKILL, None),
    ] {
        for foreground in [&[][..], &["--foreground"]] {
            let up = place.coming_up(&[&["--server-bin", &server][..], foreground].concat());
            // Four servers and the keeper.
            let is_server = |pid: &u32| fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name == b"sleep\n");
            eventually("its servers run", || {
                place.processes().iter().filter(|pid| is_server(pid)).count() == 4
            });
            send(up.id(), signal);
            let (ended, out, err) = parts_of(up.wait_with_output().expect("it ends"));
            assert_eq!(ended, code, "{out}{err}");
            assert!(out.is_empty(), "{out}");
            place.is_clean();
        }
    }
}

#[test]
fn a_lab_in_the_foreground_ends_by_a_signal_or_when_asked() {
    let place = Place::new();
    for by_signal in [true, false] {
        let up = place.coming_up(&["--foreground"]);
        eventually("it is up", || place.lab(&["status"]).0 == 0);
        assert_eq!(place.service(), up.id());
        if by_signal {
            send(up.id(), Signal::SIGINT);
        } else {
            place.good(&["down"]);
        }
        let (code, out, err) = parts_of(up.wait_with_output().expect("it ends"));
        assert_eq!(code, Some(0), "{err}");
        assert!(
            out.contains("export REDIS_URLS=") && err.ends_with("lockstorm: the lab is down\n"),
            "{out}{err}"
        );
        place.is_clean();
    }
}

#[test]
fn a_process_that_does_not_answer_is_named() {
    let place = Place::new();
    place.up();
    let service = place.service();
    send(service, Signal::SIGSTOP);
    let (code, _, err) = place.lab(&["status"]);
    assert_eq!(code, 1, "{err}");
    tells(&err, &["does not answer", &format!("kill -CONT {service}")]);
    send(service, Signal::SIGCONT);
    assert_eq!(place.service(), service);
    // Nobody can tell how the hosts are while their keeper is stopped.
    let keeper = keeper_of(&place.run());
    send(keeper, Signal::SIGSTOP);
    // The lab learns of it a moment later.
    eventually("nobody can tell", || place.lab(&["status"]).0 == 5);
    let (code, out, err) = place.lab(&["status"]);
    assert_eq!(code, 5, "{out}{err}");
    assert!(err.contains("stopped the lab's keeper"), "{err}");
    let (code, out, err) = place.lab(&["kill", "1"]);
    assert_eq!(code, 5, "{out}{err}");
    tells(&err, &["kill host 1: not verified within 10s; it may still come"]);
    send(keeper, Signal::SIGCONT);
    eventually("it came", || state(&place.status(), 1) == "down (killed)");
    place.down();
}

#[test]
fn sentinels_name_the_master_of_a_replicated_lab() {
    let place = Place::new();
    let out = place.good(&["up", "--port", "0", "--replicated", "--persistence", "aof-always"]);
    assert!(out.contains("export SENTINEL_MASTER=lockstorm\n"), "{out}");
    let sentinels = Place::urls(&out, "SENTINEL_URLS");
    assert_eq!(sentinels.len(), 3);
    let mut master = Value::Null;
    // On a busy machine a node may not say its role in time.
    eventually("the master is told", || {
        master = place.status()["hosts"][0]["nodes"][1].take();
        (&master["role"], &master["state"], &master["is_master"]) == (&"master".into(), &"up".into(), &true.into())
    });
    let which = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "lockstorm"];
    for sentinel in &sentinels {
        let [ip, port]: [String; 2] = ask(&mut connect_to(sentinel), &which);
        assert_eq!(format!("{ip}:{port}"), master["address"].as_str().expect("an address"));
    }
    assert_eq!(
        place.good(&["kill", "1"]),
        "host 1 killed: 3 processes are gone and 3 ports refuse\n"
    );
    assert_eq!(
        place.good(&["restore", "1"]),
        "host 1 is back with what it kept: 3 nodes answer\n"
    );
    place.down();
}

#[test]
fn without_a_password_the_urls_are_whole() {
    let place = Place::new();
    let port = free_ports(2);
    let out = place.good(&["up", "--hosts", "1", "--port", &port.to_string(), "--no-password"]);
    tells(&out, &[&format!("export REDIS_URLS=redis://127.0.0.1:{port}\n")]);
    assert!(!place.runs()[0].join("urls").exists());
    let url = Place::urls(&out, "REDIS_URLS").remove(0);
    assert_eq!(ping(&mut connect_to(&url)).expect("it answers"), "PONG");
    place.down();
}

#[test]
fn a_run_is_left_alone() {
    let place = Place::new();
    let scenario = TWO_ARMS.replace("60s", "10m");
    fs::write(place.directory.path().join("small.toml"), scenario).expect("written");
    let run = place
        .command(&["run", "small.toml", "--quiet"])
        .spawn()
        .expect("lockstorm");
    eventually("the run has a lab", || {
        place.runs().iter().any(|run| run.join("lab.json").exists())
    });
    // It is no kept lab.
    assert_eq!(place.lab(&["status"]).0, NONE);
    place.up();
    assert_eq!(place.runs().len(), 2);
    let out = place.good(&["down"]);
    tells(&out, &["the kept lab is down", "1 lab is running and was left alone"]);
    assert_eq!(place.runs().len(), 1);
    send(run.id(), Signal::SIGINT);
    let (code, out, err) = parts_of(run.wait_with_output().expect("it ends"));
    assert_eq!(code, Some(130), "{out}{err}");
    place.is_clean();
}

/// Whatever has the names of our files, nobody waits for it and nothing is done with it.
#[test]
fn what_only_looks_like_a_lab_keeps_nobody_waiting() {
    type Plant = fn(&Path);
    let plants: [(&str, Plant); 4] = [
        ("keeper.lock", |file| mkfifo(file, Mode::S_IRWXU).expect("a pipe")),
        ("keeper.lock", |file| symlink("/dev/tty", file).expect("a link")),
        ("keeper.lock", |file| fs::create_dir(file).expect("a directory")),
        ("docker", |file| {
            fs::write(file.with_file_name("keeper.lock"), "").expect("a file");
            mkfifo(file, Mode::S_IRWXU).expect("a pipe");
        }),
    ];
    for (name, plant) in plants {
        let place = Place::new();
        place.up();
        let base = place.runs()[0].parent().expect("the directory of all labs").to_owned();
        let planted = base.join("run-00000001");
        fs::create_dir(&planted).expect("a directory");
        plant(&planted.join(name));
        let file = planted.join(name).display().to_string();

        assert_eq!(place.soon(&["status"]).0, 0, "{file}");
        assert_eq!(place.soon(&["up", "--port", "0"]).0, 0, "{file}");
        let (code, _, err) = place.soon(&["down"]);
        assert!(code == 1 && err.lines().count() == 1, "{err}");
        assert!(err.contains(&file) && err.contains("remove it"), "{err}");
        assert_eq!(place.soon(&["status"]).0, NONE, "the kept lab is down");
        assert_eq!(place.runs(), std::slice::from_ref(&planted));
        fs::remove_dir_all(planted).expect("removed");
        assert_eq!(place.soon(&["down"]).0, 0, "{file}");
    }
}

/// A keeper that holds its lock, but whose card nobody can read.
#[test]
fn a_card_that_is_a_pipe_is_no_lab() {
    let place = Place::new();
    place.up();
    let service = place.service();
    let run = place.run();
    let card = run.join("lab.json");
    fs::remove_file(&card).expect("removed");
    mkfifo(&card, Mode::S_IRWXU).expect("a pipe");
    assert_eq!(place.soon(&["status"]).0, NONE);
    send(service, Signal::SIGTERM);
    place.is_clean();
}

/// What a kept lab was told to do, by its log.
#[test]
fn what_lasts_for_a_time_leaves_alone_what_others_have_done_since() {
    let place = Place::new();
    place.up();
    let first = place.command(&["lab", "full", "1", "--for", "4s"]);
    let first = std::thread::spawn(move || { first }.output().expect("lockstorm"));
    eventually("it refuses writes", || {
        state(&place.status(), 1).starts_with("degraded")
    });
    place.good(&["restore", "1"]);
    place.good(&["full", "1"]);
    let output = first.join().expect("no panic");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("somebody else has undone that meanwhile"), "{said}");
    assert!(state(&place.status(), 1).starts_with("degraded"));
    place.good(&["full", "2", "--for", "50ms"]);
    assert_eq!(state(&place.status(), 2), "up");
}

fn logged(place: &Place) -> Vec<Value> {
    let lines = place.good(&["log", "--json"]);
    lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn what_was_done_is_logged_with_its_effect_by_a_clock_of_all_processes() {
    let place = Place::new();
    let urls = Place::urls(&place.up(), "REDIS_URLS");
    assert_eq!((place.good(&["log"]), logged(&place).len()), (String::new(), 0));
    let now = || monotonic_ns(Instant::now()) / 1000;
    let begin = now();
    ask::<()>(&mut connect_to(&urls[0]), &["SET", "key", "1"]);
    let out = place.good(&["bounce", "1", "--for", "50ms"]);
    assert!(
        out.starts_with("host 1 killed: ") && out.contains("; host 1 is back EMPTY: "),
        "{out}"
    );
    assert_eq!(ask::<Option<u8>>(&mut connect_to(&urls[0]), &["GET", "key"]), None);
    place.good(&["shutdown", "2"]);
    assert_eq!(state(&place.status(), 2), "down (shut down)");
    place.good(&["shutdown", "2"]);
    assert_eq!(place.lab(&["pause", "2"]).0, 1);
    let (code, _, err) = place.lab(&["bounce", "2"]);
    assert!(
        code == 1 && err.contains("and stays so until `lockstorm lab restore 2`"),
        "{err}"
    );
    let log = logged(&place);
    let words: Vec<[&str; 3]> = log
        .iter()
        .map(|entry| ["action", "target", "effect"].map(|key| entry[key].as_str().expect("a word")))
        .collect();
    assert_eq!(
        words,
        [
            ["kill", "1", "verified"],
            ["restart", "1", "verified"],
            ["shutdown", "2", "verified"],
            ["shutdown", "2", "already"],
            ["pause", "2", "failed"],
            ["kill", "2", "already"],
        ]
    );
    let at = |entry: &Value, key: &str| entry[key].as_i64();
    for entry in &log[..3] {
        let times = [
            Some(begin),
            at(entry, "ordered_us"),
            at(entry, "effect_us"),
            Some(now()),
        ];
        assert!(times.is_sorted(), "{times:?} {entry}");
    }
    assert!(at(&log[1], "effect_us") >= at(&log[0], "effect_us").map(|at| at + 50_000));
    assert!(log[3]["effect_us"].is_null() && log[4]["effect_us"].is_null());
    // Whoever follows it is told what comes, and that the lab is down.
    let mut follow = place.command(&["lab", "log", "--follow"]).spawn().expect("lockstorm");
    let mut lines = BufReader::new(follow.stdout.take().expect("it is piped"));
    read_until(&mut lines, "cannot pause host 2");
    place.good(&["pause", "3"]);
    read_until(&mut lines, "host 3 paused");
    place.down();
    assert_eq!(follow.wait().expect("it ends").code(), Some(0));
}

#[test]
fn what_is_written_by_hand_is_logged_without_what_it_was() {
    let place = Place::new();
    place.up();
    let cli = |words: &[&str]| place.good(&[&["cli", "1", "--"], words].concat());
    assert_eq!(cli(&["SET", "mine", "hunter2"]), "OK\n");
    // None of these writes, or none was run.
    assert_eq!(cli(&["GET", "mine"]), "hunter2\n");
    cli(&["CONFIG", "SET", "masterauth", "hunter2"]);
    cli(&["EVAL_RO", "return 'hunter2'", "0"]);
    let refused = place.lab(&["cli", "1", "--", "-e", "SET", "mine"]);
    assert!(refused.0 == 1 && refused.2.contains("wrong number"), "{refused:?}");
    place.good(&["bounce", "2"]);
    // A script may write; what is typed counts as what is an argument, and a transaction once it is run.
    cli(&["EVAL", "return redis.call('set', KEYS[1], 'hunter2')", "1", "mine"]);
    let typed = "MULTI\nSET a hunter2\nDISCARD\nMULTI\nDEL a mine other\nEXEC\nFLUSHALL\nPING\n";
    let mut command = place.command(&["lab", "cli", "3"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("lockstorm");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(typed.as_bytes()).expect("it is read");
    drop(stdin);
    let (code, out, err) = parts_of(child.wait_with_output().expect("it ends"));
    assert!(code == Some(0) && out.ends_with("OK\nPONG\n"), "{out}{err}");
    place.good(&["cli", "cache", "--", "SET", "mine", "hunter2"]);

    let log = logged(&place);
    let words: Vec<&str> = log
        .iter()
        .map(|entry| entry["words"].as_str().expect("words"))
        .collect();
    let by = "by `lockstorm lab cli`";
    assert!(
        words[1].starts_with("host 2 killed") && words[2].starts_with("host 2 is back"),
        "{words:?}"
    );
    assert_eq!(words[0], format!("host 1: SET of 1 key {by}"));
    let later = [
        format!("host 1: EVAL of 1 key {by}"),
        format!("host 3: DEL of 3 keys {by}"),
        format!("host 3: FLUSHALL {by}"),
        format!("the cache node: SET of 1 key {by}"),
    ];
    assert_eq!(words[3..], later);
    let flush = &log[5];
    assert_eq!(
        (&flush["action"], &flush["kind"], &flush["target"], &flush["effect"]),
        (&"write".into(), &"host".into(), &"3".into(), &"verified".into())
    );
    assert!(flush["effect_us"].as_i64() >= flush["ordered_us"].as_i64(), "{flush}");
    let times: Vec<i64> = log
        .iter()
        .map(|entry| entry["ordered_us"].as_i64().expect("a time"))
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    let text = place.good(&["log"]) + &place.good(&["log", "--json"]);
    assert!(text.contains(&later[2]) && !text.contains("hunter2"), "{text}");

    // What is read in from a file is one event for many commands.
    let mut command = place.command(&["lab", "cli", "3", "--", "--pipe"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("lockstorm");
    let mut stdin = child.stdin.take().expect("it is piped");
    let sets: String = (0..1000).map(|number| format!("SET key{number} hunter2\r\n")).collect();
    stdin.write_all(sets.as_bytes()).expect("it is read");
    drop(stdin);
    let (code, out, err) = parts_of(child.wait_with_output().expect("it ends"));
    assert!(code == Some(0) && out.contains("replies: 1000"), "{out}{err}");
    let more = logged(&place).len() - log.len();
    assert!((1..500).contains(&more), "{more}");
    tells(&place.good(&["log"]), &[" × SET by `lockstorm lab cli`"]);

    // To a host that is down nothing is sent, and one that is paused may still run what it was sent.
    place.good(&["kill", "2"]);
    let (code, out, err) = place.lab(&["cli", "2", "--", "FLUSHALL"]);
    assert!(code == 1 && err.contains("cannot connect to host 2"), "{out}{err}");
    place.good(&["restore", "2"]);
    let mut waiting = place.command(&["lab", "cli", "2"]);
    let mut child = waiting.stdin(Stdio::piped()).spawn().expect("lockstorm");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(b"SET first 1\n").expect("it is read");
    let last = || logged(&place).pop().expect("an entry");
    eventually("it is connected", || {
        last()["words"] == format!("host 2: SET of 1 key {by}")
    });
    place.good(&["pause", "2"]);
    stdin.write_all(b"FLUSHALL\n").expect("it is read");
    thread::sleep(Duration::from_millis(200));
    send(child.id(), Signal::SIGTERM);
    assert_eq!(
        child.wait().expect("it ends").code(),
        Some(128 + Signal::SIGTERM as i32)
    );
    let open = last();
    assert_eq!((&open["effect"], &open["effect_us"]), (&"late".into(), &Value::Null));
    assert_eq!(open["words"], format!("host 2: FLUSHALL {by}, which was not answered"));
    place.down();
}

#[test]
fn the_network_of_a_lab_is_broken_if_it_was_started_for_that() {
    let place = Place::new();
    let refused = |arguments: &[&str], part: &str| {
        let (code, out, err) = place.lab(arguments);
        assert_eq!(
            (code, out.as_str(), err.lines().count()),
            (2, "", 1),
            "{arguments:?}: {err}"
        );
        assert!(err.contains(part), "{arguments:?}: {err}");
    };
    place.up();
    refused(
        &["lag", "1", "--delay", "50ms"],
        "cannot lag host 1 by 50 ms: the lab has no proxy",
    );
    refused(&["cut", "1"], "a host that is a process can't be cut off");
    refused(&["cut", "link:1-2"], "independent nodes say nothing to each other");
    refused(
        &["failover", "2"],
        "the lab has no replicated nodes: start it with `lockstorm lab up --replicated`",
    );
    refused(&["lag", "1"], "--delay");
    // No round trip could tell a shorter one from none.
    for delay in ["0s", "1us", "249us", "2h"] {
        refused(&["lag", "1", "--delay", delay], "it must be 250us to 1m");
    }
    refused(
        &["lag", "1", "--delay", "1ms", "--direction", "up"],
        "both or there or back",
    );
    assert!(logged(&place).is_empty(), "nothing was done");
    place.good(&["down"]);

    let out = place.good(&["up", "--port", "0", "--replicated", "--network"]);
    let urls = Place::urls(&out, "REDIS_URLS");
    let took = |url: &str| {
        let mut connection = connect_to(url);
        let begin = Instant::now();
        ping(&mut connection).expect("it answers");
        begin.elapsed()
    };
    let said = place.good(&["lag", "1", "--delay", "50ms"]);
    assert!(said.starts_with("host 1 lagged by 50 ms: "), "{said}");
    let later = Duration::from_millis(100);
    assert!(took(&urls[0]) >= later);
    let said = place.good(&["cut", "replication"]);
    assert!(said.starts_with("replication cut: "), "{said}");
    let states = || {
        let status = place.good(&["status"]);
        let row = |words: [&str; 2]| status.lines().any(|line| words.iter().all(|word| line.contains(word)));
        [["lagging", "50 ms each way"], ["replication", "cut"]].map(row)
    };
    assert_eq!(states(), [true, true]);
    refused(&["pause", "replication"], "replication can't be paused: it is a link");
    refused(&["failover", "1", "2"], "only one host can have the master");
    let said = place.good(&["restore", "all"]);
    tells(
        &said,
        &[
            "host 1 unlagged: ",
            "host 2 is up: nothing to restore",
            "replication uncut: ",
        ],
    );
    assert_eq!(states(), [false, false]);
    let said = place.good(&["failover", "2", "--by", "hand"]);
    assert!(said.starts_with("host 2 has the master: "), "{said}");
    place.down();
}

#[test]
fn a_door_is_as_its_node_is_and_counts_what_clients_send_through_it() {
    let place = Place::new();
    let out = place.good(&["up", "--port", "0", "--network"]);
    let urls = Place::urls(&out, "REDIS_URLS");
    let ports: Vec<u16> = urls.iter().map(|url| port_of(url)).collect();
    let bytes = |host: usize| {
        let node = &place.status()["hosts"][host - 1]["nodes"][0];
        node["client_bytes"].as_u64().expect("a number")
    };

    // The shortest lag is verified and undone, and what that takes is not the work of clients.
    let said = place.good(&["lag", "1", "--delay", "250us"]);
    assert!(said.starts_with("host 1 lagged by 0.25 ms: "), "{said}");
    place.good(&["restore", "1"]);
    assert_eq!(state(&place.status(), 1), "up");
    assert_eq!([1, 2, 3].map(bytes), [0, 0, 0]);

    // A client that goes around the proxy is noticed.
    let through = &urls[0];
    let (behind, _, _) = place.lab(&["cli", "1", "--", "SET", "around", "the proxy"]);
    assert_eq!((behind, bytes(1)), (0, 0));
    ask::<()>(&mut connect_to(through), &["SET", "key", &"x".repeat(10_000)]);
    assert!(bytes(1) > 10_000 && bytes(2) == 0, "{}", bytes(1));
    let table = place.good(&["status"]);
    assert!(
        table.contains("bytes of clients") && table.contains(&count(bytes(1))),
        "{table}"
    );

    // A dead host refuses, and is back at the same door.
    place.good(&["kill", "1"]);
    assert!(refuses(ports[0]) && !refuses(ports[1]));
    let killed = place.good(&["status"]);
    assert!(killed.contains("down (killed)"), "{killed}");
    place.good(&["restore", "1"]);
    assert_eq!(ping(&mut connect_to(through)).expect("it answers"), "PONG");
    place.good(&["shutdown", "1"]);
    assert!(refuses(ports[0]));
    place.good(&["bounce", "2"]);
    place.good(&["restore", "1"]);
    for url in &urls {
        assert_eq!(ping(&mut connect_to(url)).expect("it answers"), "PONG");
    }

    // A paused one accepts, and says nothing.
    place.good(&["pause", "3"]);
    let mut stream = TcpStream::connect(("127.0.0.1", ports[2])).expect("the kernel accepts");
    stream.write_all(b"PING\r\n").expect("its buffer takes it");
    let patience = Some(Duration::from_millis(300));
    stream.set_read_timeout(patience).expect("a timeout");
    let silent = stream.read(&mut [0; 8]).expect_err("it is paused");
    assert_eq!(silent.kind(), ErrorKind::WouldBlock);
    place.good(&["restore", "3"]);
    place.down();
}

#[test]
fn the_examples_of_each_order_work_in_the_lab_that_they_name() {
    let place = Place::new();
    let orders = [
        "kill", "shutdown", "pause", "lag", "cut", "failover", "bounce", "restore",
    ];
    let mut by_lab: BTreeMap<Vec<String>, Vec<Vec<String>>> = BTreeMap::new();
    for order in orders {
        let help = place.good(&[order, "--help"]);
        assert!(
            !help.contains("uncut") && !help.contains("unlag"),
            "no such orders: {help}"
        );
        let examples = help.split("Examples:\n").nth(1).expect("examples");
        for line in examples.lines().take_while(|line| !line.is_empty()) {
            let line = line.trim().strip_prefix("lockstorm lab ").expect("an order");
            let (example, needs) = line.split_once("  ").unwrap_or((line, ""));
            let options = needs.split("lab up ").nth(1).unwrap_or_default().trim_end_matches('`');
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
            by_lab.entry(words(options)).or_default().push(words(example));
        }
    }
    // Not every machine has an engine.
    by_lab.retain(|options, _| !options.iter().any(|word| word == "docker"));
    assert_eq!(by_lab.len(), 4, "{by_lab:?}");
    for (options, examples) in by_lab {
        let up = ["up", "--port", "0"]
            .into_iter()
            .chain(options.iter().map(String::as_str));
        place.good(&up.collect::<Vec<_>>());
        for example in examples {
            place.good(&example.iter().map(String::as_str).collect::<Vec<_>>());
            place.good(&["restore", "all"]);
        }
        place.good(&["down"]);
    }
}

/// A scenario whose arms and load mean nothing to a kept lab.
fn with_faults(faults: &str) -> String {
    format!("{faults}\n{}", TWO_ARMS.replace("60s", "10m"))
}

#[test]
fn a_file_of_faults_alone_can_be_played() {
    let place = Place::new();
    place.up();
    // `--set` gives a time to a fault that waits for something.
    let faults = r#"
        [[fault]]
        when = "mine.holding >= 1"
        do = "kill"
        on = "host:1"
        for = "10ms"
    "#;
    fs::write(place.directory.path().join("bare.toml"), faults).expect("written");
    let (code, out, err) = place.lab(&["play", "bare.toml", "--set", "fault.1.at=0s"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("host 1 is back"), "{out}");

    fs::write(place.directory.path().join("none.toml"), "duration = \"1s\"").expect("written");
    let (code, _, err) = place.lab(&["play", "none.toml"]);
    assert!(code == 2 && err.contains("the scenario has no faults"), "{err}");
    place.down();
}

#[test]
fn the_faults_of_a_scenario_are_played_at_their_times() {
    let place = Place::new();
    place.up();
    let file = |name: &str, faults: &str| {
        fs::write(place.directory.path().join(name), with_faults(faults)).expect("written");
    };
    file(
        "all.toml",
        r#"
fault = [
    { at = "0s", do = "kill", on = "host:1", for = "100ms" },
    { after = "fault:1 + 200ms", do = "pause", on = "host:2,3", for = "50ms" },
    { after = "fault:1 + 2s", do = "shutdown", on = "host:1" },
]
"#,
    );
    let (code, out, err) = place.lab(&["play", "all.toml"]);
    assert_eq!(code, 0, "{out}{err}");
    for (deed, times) in [
        ("host 1 killed", 1),
        ("host 1 is back", 1),
        ("paused", 2),
        ("resumed", 2),
        ("shut down", 1),
    ] {
        assert_eq!(out.matches(deed).count(), times, "{deed}: {out}");
    }
    assert_eq!(
        err,
        "lockstorm: host 1 stays down: `lockstorm lab restore all` undoes it\n"
    );
    let log = logged(&place);
    assert_eq!(log.len(), 7, "{log:?}");
    let at = |action: &str| {
        let entry = log.iter().find(|entry| entry["action"] == action);
        entry.and_then(|entry| entry["effect_us"].as_i64()).expect(action)
    };
    assert!(
        at("restart") >= at("kill") + 100_000,
        "as long as it lasts, from its effect on"
    );
    place.good(&["restore", "all"]);

    // What it can't do is told before anything is done.
    let before = logged(&place).len();
    for (faults, part) in [
        (
            r#"fault = [{ when = "redlock.holding >= 1", do = "kill", on = "host:1" }]"#,
            "fault 1: when = \"redlock.holding >= 1\"",
        ),
        (
            r#"fault = [{ at = "0s", do = "kill", on = "host:1" }, { at = "1s", do = "pause", on = "server:1" }]"#,
            "fault 2: app server 1: a kept lab",
        ),
        (
            r#"fault = [{ at = "0s", do = "lag", on = "host:1", delay = "1ms" }]"#,
            "fault 1: cannot lag host 1",
        ),
        ("", "the scenario has no faults"),
    ] {
        file("not.toml", faults);
        let (code, out, err) = place.lab(&["play", "not.toml"]);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{faults}: {err}");
        assert!(err.contains(part), "{faults}: {err}");
    }
    assert_eq!(logged(&place).len(), before);

    // A signal restores what it broke, and nothing else.
    place.good(&["pause", "3"]);
    file(
        "long.toml",
        r#"
fault = [
    { at = "0s", do = "kill", on = "host:1" },
    { at = "0s", do = "pause", on = "host:2,3" },
    { at = "9m", do = "kill", on = "host:2" },
]
"#,
    );
    let play = place.command(&["lab", "play", "long.toml"]).spawn().expect("lockstorm");
    eventually("all are broken", || {
        let status = place.status();
        state(&status, 1) == "down (killed)" && state(&status, 2) == "paused" && logged(&place).len() == before + 4
    });
    send(play.id(), Signal::SIGINT);
    let (code, out, err) = parts_of(play.wait_with_output().expect("it ends"));
    assert_eq!(code, Some(130), "{out}{err}");
    let status = place.status();
    assert_eq!(
        [1, 2, 3].map(|host| state(&status, host)),
        ["up", "up", "paused"],
        "{out}{err}"
    );
    place.down();
}
