//! `lockstorm doctor` on real servers: each planted fault is found, and nothing else.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use lockstorm_kit::lab::tells;
use lockstorm_kit::server::{calls_in, server_bin};
use lockstorm_kit::{RedisServer, beside, eventually, free_port, lab, program};
use serde_json::Value;
use tempfile::TempDir;

/// The password of the user `app`.
const PASSWORD: &str = "s3cret-of-app";
/// The options of a server that is as it should be.
const SOUND: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// A server on which only the user `app` is let in, and only to do this.
fn server(options: &[&str], rules: &[&str]) -> RedisServer {
    let mut all = SOUND.to_vec();
    all.extend(options);
    let server = RedisServer::start_with(&all);
    let mut user = redis::cmd("ACL");
    user.arg("SETUSER")
        .arg("app")
        .arg("on")
        .arg(format!(">{PASSWORD}"))
        .arg(rules);
    let _: String = server.query(&user);
    server
}

/// Closes the door to everybody without a password. The server can be asked as `app` only from then on.
fn shut(server: &RedisServer) {
    let _: String = server.query(redis::cmd("ACL").arg("SETUSER").arg("default").arg("off"));
}

fn sound() -> RedisServer {
    server(&[], &["~*", "&*", "+@all"])
}

/// So many that let in only those with the password, and their URLs.
fn sound_ones(count: usize) -> (Vec<RedisServer>, Vec<String>) {
    let servers: Vec<RedisServer> = (0..count).map(|_| sound()).collect();
    servers.iter().for_each(shut);
    let urls = servers.iter().map(|server| url(server.addr())).collect();
    (servers, urls)
}

fn url(address: SocketAddr) -> String {
    format!("redis://app:{PASSWORD}@{address}")
}

fn doctor(urls: &[String], arguments: &[&str]) -> Output {
    let output = Command::new(program())
        .args(["doctor", "--urls-env", "URLS"])
        .args(arguments)
        .env("URLS", urls.join(" "))
        .output()
        .unwrap();
    for printed in [&output.stdout, &output.stderr] {
        assert!(!String::from_utf8_lossy(printed).contains(PASSWORD), "{output:?}");
    }
    output
}

fn printed(urls: &[String], arguments: &[&str]) -> String {
    String::from_utf8(doctor(urls, arguments).stdout).unwrap()
}

/// Text without its line breaks.
fn in_a_row(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The findings that are not good, as "check verdict", each once and in order; the exit code.
fn found(urls: &[String]) -> (Vec<String>, i32) {
    // A busy machine must not make a slow server of a fast one.
    found_with(urls, &["--node-timeout", "9s"])
}

fn found_with(urls: &[String], arguments: &[&str]) -> (Vec<String>, i32) {
    let output = doctor(urls, &[&["--json"], arguments].concat());
    let diagnosis: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let mut found: Vec<String> = Vec::new();
    for finding in diagnosis["findings"].as_array().unwrap() {
        let word = |field: &str| finding[field].as_str().unwrap();
        let is_good = !finding["cure"].is_string();
        let verdict = match word("result") {
            "held" => "warning",
            "inconclusive" => "unknown",
            "failed" => "bad",
            other => panic!("{other}"),
        };
        assert!(
            !is_good || verdict == "warning",
            "what is not good has a cure: {finding}"
        );
        let text = format!("{} {verdict}", word("check"));
        if !is_good && !found.contains(&text) {
            found.push(text);
        }
    }
    found.sort();
    (found, output.status.code().unwrap())
}

/// One finding, and the exit code.
fn only(what: &str, code: i32) -> (Vec<String>, i32) {
    (vec![what.to_owned()], code)
}

/// That of a server that gives no vote, so that no other may fail.
fn voteless(what: &str) -> (Vec<String>, i32) {
    let mut found = vec![what.to_owned(), "number warning".to_owned()];
    found.sort();
    (found, 3)
}

/// The trio with this server in place of its third, which everybody may ask.
fn found_beside(third: &str) -> (Vec<String>, i32) {
    let (_pair, mut urls) = sound_ones(2);
    urls.push(third.to_owned());
    found(&urls)
}

/// What a server answers to the user `app`.
fn ask<T: redis::FromRedisValue>(server: &RedisServer, words: &[&str]) -> T {
    lab::ask(&mut lab::connect_to(&url(server.addr())), words)
}

fn keys(server: &RedisServer) -> usize {
    ask(server, &["DBSIZE"])
}

#[test]
fn a_sound_trio_is_fit_and_no_key_is_left() {
    let _turn = beside();
    let (trio, urls) = sound_ones(3);
    assert_eq!(found(&urls), (vec![], 0));
    assert!(trio.iter().all(|server| keys(server) == 0));
    let text = printed(&urls, &["--node-timeout", "9s"]);
    assert!(text.ends_with("✔ Fit for locks.\n"), "{text}");
    assert_eq!(
        text.matches("a lock was acquired, extended and released").count(),
        3,
        "{text}"
    );
    assert!(printed(&urls, &["--ascii"]).is_ascii());
}

#[test]
fn each_planted_fault_is_found_by_its_own_check() {
    let _turn = beside();
    let all = ["~*", "&*", "+@all"];
    let beside = |options: &[&str], rules: &[&str]| {
        let third = server(options, rules);
        shut(&third);
        let found = found_beside(&url(third.addr()));
        if rules.contains(&"+@all") {
            assert_eq!(keys(&third), 0, "{options:?}");
        }
        found
    };
    let most = |less| ["~*", "&*", "+@all", less];
    for (options, finding, code) in [
        (
            &["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"][..],
            "eviction bad",
            3,
        ),
        (&["--maxmemory-policy", "allkeys-lru"], "eviction warning", 0),
        (&["--appendfsync", "everysec"], "persistence warning", 0),
        (&["--no-appendfsync-on-rewrite", "yes"], "persistence warning", 0),
        (&["--appendonly", "no"], "persistence warning", 0),
        (&["--cluster-enabled", "yes"], "kind bad", 3),
    ] {
        assert_eq!(beside(options, &all), only(finding, code), "{options:?}");
    }
    let limited = beside(&["--maxmemory", "100mb"], &all);
    assert_eq!(limited, (vec![], 0), "a limit alone is none");
    let (found, code) = beside(&["--appendfsync", "no"], &all);
    assert_eq!((found, code), only("persistence warning", 0));
    for (rules, finding, code) in [
        (&most("-@scripting")[..], "permission bad", 3),
        (&["~other:*", "&*", "+@all"], "permission bad", 3),
        (&most("-publish"), "permission warning", 0),
        (&most("-subscribe"), "permission warning", 0),
        (&most("-config"), "persistence unknown", 5),
        (&most("-time"), "clock unknown", 5),
        // No extension shortens what a key has left.
        (&most("-pttl"), "permission bad", 3),
    ] {
        let wanted = match finding {
            "permission bad" => voteless(finding),
            _ => only(finding, code),
        };
        assert_eq!(beside(&[], rules), wanted, "{rules:?}");
    }
    let without_info = ["kind", "twice", "version"].map(|check| format!("{check} unknown"));
    assert_eq!(beside(&[], &most("-info")), (without_info.into(), 5));
}

#[test]
fn what_the_readme_says_a_user_needs_is_enough() {
    let _turn = beside();
    let rules = "~locks:* resetchannels &lockstorm:released:* +set +get +del +pexpire +pttl +eval +evalsha +script|load +publish \
                 +subscribe +unsubscribe +ping";
    let asked = ["+info", "+config|get", "+time"];
    let third = server(&[], &rules.split_whitespace().chain(asked).collect::<Vec<_>>());
    shut(&third);
    let arguments = ["--node-timeout", "9s", "--prefix", "locks:"];
    assert_eq!(found_with(&[url(third.addr())], &arguments), only("number warning", 0));
}

#[test]
fn who_else_may_come_in_and_how_many_there_are_is_told() {
    let _turn = beside();
    let third = sound();
    let open = only("access warning", 0);
    assert_eq!(
        found_beside(&url(third.addr())),
        open,
        "the default user needs no password"
    );
    assert_eq!(keys(&third), 0);
    // It lets everybody ask whether it is there, or what it has.
    for rules in [
        &["resetkeys", "-@all", "+ping"][..],
        &["allkeys", "-@all", "+@read", "+ping"],
    ] {
        ask::<()>(&third, &[&["ACL", "SETUSER", "default"], rules].concat());
        assert_eq!(found_beside(&url(third.addr())), (vec![], 0), "{rules:?}");
    }
    let (pair, urls) = sound_ones(2);
    assert_eq!(found(&urls), only("number warning", 0));
    assert_eq!(found(&urls[..1]), only("number warning", 0));
    // The same server by two names.
    let again = format!("redis://app:{PASSWORD}@localhost:{}", pair[0].port());
    let three = [urls, vec![again]].concat();
    assert_eq!(
        found(&three),
        (vec!["number warning".to_owned(), "twice bad".to_owned()], 3)
    );
    let told = ["they are only 2 different servers, so no other may fail"];
    tells(&in_a_row(&printed(&three, &[])), &told);
    // Nor is it measured as two.
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("m.json");
    let output = doctor(&three, &["--measure", file.to_str().unwrap(), "--for", "1s"]);
    let refused = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), file.exists()), (Some(1), false), "{refused}");
    tells(
        &refused,
        &["the same server more than once: 127.0.0.1:", " = localhost:"],
    );
}

#[test]
fn a_replica_and_its_master_are_told() {
    let _turn = beside();
    let (master, replica) = (sound(), sound());
    let _: String = replica.query(redis::cmd("REPLICAOF").arg("127.0.0.1").arg(master.port()));
    eventually("the replica follows", || {
        let info: String = replica.query(redis::cmd("INFO").arg("replication"));
        info.contains("master_link_status:up")
    });
    [&master, &replica].into_iter().for_each(shut);
    assert_eq!(found_beside(&url(replica.addr())), voteless("replication bad"));
    let said = || in_a_row(&printed(&[url(replica.addr())], &[]));
    tells(&said(), &["it is a replica, which takes no writes"]);
    ask::<()>(&replica, &["CONFIG", "SET", "replica-read-only", "no"]);
    tells(&said(), &["its master never has them"]);
    assert!(!said().contains("takes no writes"));
    assert_eq!(found_beside(&url(master.addr())), only("replication warning", 0));
}

/// Passes connections on, each to the next of these servers, and holds every reply back for a while.
fn relay(servers: Vec<SocketAddr>, delay: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (client, server) in listener.incoming().zip(servers.into_iter().cycle()) {
            let Ok(client) = client else { return };
            let server = TcpStream::connect(server).unwrap();
            let copy = |mut from: TcpStream, mut to: TcpStream, delay| {
                thread::spawn(move || {
                    let mut buffer = vec![0; 65_536];
                    while let Ok(n @ 1..) = from.read(&mut buffer) {
                        thread::sleep(delay);
                        if to.write_all(&buffer[..n]).is_err() {
                            return;
                        }
                    }
                })
            };
            copy(client.try_clone().unwrap(), server.try_clone().unwrap(), Duration::ZERO);
            copy(server, client, delay);
        }
    });
    address
}

#[test]
fn what_stands_in_front_of_a_server_is_told() {
    let _turn = beside();
    let (behind, _) = sound_ones(2);
    let balancer = relay(behind.iter().map(RedisServer::addr).collect(), Duration::ZERO);
    assert_eq!(found_beside(&url(balancer)), only("kind bad", 3));
    let one = relay(vec![behind[0].addr()], Duration::ZERO);
    assert_eq!(found_beside(&url(one)), only("kind warning", 0));
    let text = in_a_row(&printed(&[url(one)], &[]));
    tells(
        &text,
        &[&format!("it listens on port {} by its own account", behind[0].port())],
    );
    // Far away: each reply takes 60 ms, and the default timeout is 40.
    let far = relay(vec![behind[0].addr()], Duration::from_millis(60));
    let found = found_with(&[url(far)], &[]).0;
    assert!(found.contains(&"round_trip bad".to_owned()), "{found:?}");
}

#[test]
fn a_server_that_is_far_but_near_enough_is_fit() {
    let _turn = beside();
    let (server, _) = sound_ones(1);
    let far = relay(vec![server[0].addr()], Duration::from_millis(100));
    let found = found_with(&[url(far)], &["--node-timeout", "600ms"]);
    assert_eq!(found, (vec!["kind warning".to_owned(), "number warning".to_owned()], 0));
    assert_eq!(keys(&server[0]), 0);
}

/// A server that everybody may ask, whose clock runs at this rate; `None` without a C compiler.
struct Clocked {
    child: Child,
    port: u16,
    dir: TempDir,
}

impl Clocked {
    fn start(rate: &str) -> Option<Self> {
        let dir = TempDir::new().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab/shim/clock.c");
        let shim = dir.path().join("clock.so");
        let made = Command::new("cc")
            .args(["-O1", "-fPIC", "-shared", "-o"])
            .args([&shim, &source])
            .output()
            .ok()?;
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        let child = Command::new(server_bin())
            .args(["--bind", "127.0.0.1", "--save", "", "--port", &port.to_string()])
            .args(SOUND)
            .arg("--dir")
            .arg(dir.path())
            .env("LD_PRELOAD", &shim)
            .env("LOCKSTORM_CLOCK_RATE", rate)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let clocked = Self { child, port, dir };
        eventually("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(clocked)
    }
}

impl Drop for Clocked {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_clock_that_stands_still_or_runs_at_another_rate_is_bad() {
    let _turn = beside();
    for (rate, said) in [
        ("0", Some("it stands still")),
        ("2", Some("it runs at least")),
        ("0.5", Some("it runs at most")),
        ("1", None),
    ] {
        let Some(server) = Clocked::start(rate) else { return };
        let urls = [format!("redis://127.0.0.1:{}", server.port)];
        let (found, code) = found(&urls);
        let bad = found.contains(&"clock bad".to_owned());
        assert_eq!(
            (bad, code),
            (said.is_some(), if said.is_some() { 3 } else { 0 }),
            "{rate}: {found:?}"
        );
        if let Some(said) = said {
            tells(
                &in_a_row(&printed(&urls, &[])),
                &[said, "keys live longer or shorter than their TTL"],
            );
        }
        if !["0", "1"].contains(&rate) {
            continue;
        }
        // It is measured, and no plan is made of it.
        let file = server.dir.path().join("m.json");
        let file = file.to_str().unwrap();
        let output = doctor(&urls, &["--measure", file, "--for", "4s"]);
        let text = in_a_row(&String::from_utf8_lossy(&output.stdout));
        let plan = Command::new(program())
            .args([
                "plan", "--from", file, "--hold", "20ms", "--ttl", "1s", "--risk", "1e9/day",
            ])
            .output()
            .unwrap();
        let refused = String::from_utf8_lossy(&plan.stderr).into_owned();
        if said.is_none() {
            assert!(output.status.success() && !text.contains("Not fit"), "{text}");
            // 3: no TTL may meet the goal with what was measured.
            assert!(matches!(plan.status.code(), Some(0 | 3)), "{refused}");
            continue;
        }
        assert_eq!(
            (output.status.code(), plan.status.code()),
            (Some(3), Some(2)),
            "{text}{refused}"
        );
        tells(&text, &["Not fit for locks: the clock of 127.0.0.1:"]);
        tells(&refused, &["so no TTL holds there", "measure again"]);
    }
}

#[test]
fn a_server_that_is_nearly_full_is_not_good() {
    let _turn = beside();
    let server = sound();
    let used = |server: &RedisServer| {
        let info: String = ask(server, &["INFO", "memory"]);
        let line = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
        line.trim().parse::<usize>().unwrap()
    };
    shut(&server);
    ask::<()>(&server, &["SET", "filler", &"x".repeat(50_000_000)]);
    // What it is asked takes some memory, too.
    let full = (used(&server) * 20 / 19).to_string();
    ask::<()>(&server, &["CONFIG", "SET", "maxmemory", &full]);
    assert_eq!(found_beside(&url(server.addr())), only("eviction warning", 0));
    tells(
        &in_a_row(&printed(&[url(server.addr())], &[])),
        &["noeviction, and 9", "a server that is full sets no key"],
    );
    ask::<()>(&server, &["CONFIG", "SET", "maxmemory", "200000000"]);
    assert_eq!(found_beside(&url(server.addr())), (vec![], 0));
}

#[test]
fn what_can_be_lost_is_told_as_it_is_and_advice_works_there() {
    let _turn = beside();
    let of = |options: &[&str]| {
        let server = server(options, &["~*", "&*", "+@all"]);
        shut(&server);
        in_a_row(&printed(&[url(server.addr())], &["--node-timeout", "9s"]))
    };
    let lost = of(&["--appendfsync", "no"]);
    tells(&lost, &["appendfsync no: what the kernel has not written yet"]);
    assert!(!lost.contains("the last second"), "{lost}");
    tells(&of(&["--appendfsync", "everysec"]), &["the last second is lost"]);
    // As in what `plan` prints for a TTL of 10 s.
    let forgets = of(&["--appendonly", "no"]);
    tells(&forgets, &["ExecStartPre=/bin/sleep 11", "TimeoutStartSec=infinity"]);
    assert!(!forgets.contains("RestartSec"), "{forgets}");
    let renamed = of(&[
        "--maxmemory",
        "100mb",
        "--maxmemory-policy",
        "allkeys-lru",
        "--rename-command",
        "CONFIG",
        "",
    ]);
    tells(
        &renamed,
        &[
            "it has no CONFIG command",
            "the command is renamed or switched off there",
        ],
    );
    assert!(
        !renamed.contains("ACL SETUSER …") && !renamed.contains("CONFIG SET"),
        "{renamed}"
    );
}

#[test]
fn commands_that_a_lock_lacks_are_named() {
    let _turn = beside();
    for name in ["SET", "GET", "DEL", "PEXPIRE", "PTTL", "EVAL"] {
        let server = server(&["--rename-command", name, ""], &["~*", "&*", "+@all"]);
        let text = in_a_row(&printed(&[url(server.addr())], &["--node-timeout", "9s"]));
        tells(
            &text,
            &[
                &format!("a lock needs {name}, which the server does not know"),
                &format!("remove `rename-command` of {name}"),
            ],
        );
    }
}

#[test]
fn a_server_that_accepts_and_does_not_reply_is_not_searched_for_at_another_address() {
    let _turn = beside();
    let server = sound();
    let _: String = server.query(redis::cmd("CLIENT").arg("PAUSE").arg(4_000));
    let text = in_a_row(&printed(&[url(server.addr())], &[]));
    let expected = [
        "it accepts the connection, and does not reply within 1s",
        "the server is stalled or paused",
    ];
    tells(&text, &expected);
    assert!(!text.contains("check the address"), "{text}");
}

#[test]
fn a_socket_is_on_this_machine() {
    let _turn = beside();
    let place = TempDir::new().unwrap();
    let socket = place.path().join("s");
    let socket = socket.to_str().unwrap();
    let server = server(&["--unixsocket", socket], &["~*", "&*", "+@all"]);
    let url = [format!("unix://{socket}?user=app&pass={PASSWORD}")];
    let open = ["access warning", "number warning"].map(str::to_owned);
    assert_eq!(found(&url), (open.into(), 0));
    shut(&server);
    assert_eq!(found(&url), only("number warning", 0));
}

#[test]
fn a_server_that_has_no_place_for_another_client_says_so() {
    let _turn = beside();
    let server = server(&[], &["~*", "&*", "+@all"]);
    ask::<()>(&server, &["CONFIG", "SET", "maxclients", "1"]);
    let _other = TcpStream::connect(server.addr()).unwrap();
    let text = in_a_row(&printed(&[format!("redis://{}", server.addr())], &[]));
    tells(&text, &["max number of clients reached", "raise maxclients there"]);
}

#[test]
fn a_server_that_can_not_save_is_not_told_to_change_its_users() {
    let _turn = beside();
    let gone = TempDir::new().unwrap();
    let dir = gone.path().to_str().unwrap();
    let third = server(
        &["--appendonly", "no", "--save", "3600 1", "--dir", dir],
        &["~*", "&*", "+@all"],
    );
    shut(&third);
    drop(gone);
    ask::<()>(&third, &["SET", "key", "value"]);
    let _: Result<String, _> = redis::cmd("BGSAVE").query(&mut lab::connect_to(&url(third.addr())));
    eventually("it can't save", || {
        let info: String = ask(&third, &["INFO", "persistence"]);
        info.contains("rdb_last_bgsave_status:err")
    });
    let text = in_a_row(&printed(&[url(third.addr())], &["--node-timeout", "9s"]));
    tells(&text, &["MISCONF", "it can't save, perhaps because its disk is full"]);
    assert!(!text.contains("ACL SETUSER …"), "{text}");
}

/// Passes connections on to a server, and each command as this makes it from the original and the number of SETs on the connection.
fn liar(server: SocketAddr, lie: fn(Vec<String>, usize) -> Vec<String>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let mut server = TcpStream::connect(server).unwrap();
            let (mut replies, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || {
                let _ = std::io::copy(&mut replies, &mut to_client);
                let _ = to_client.shutdown(Shutdown::Both);
            });
            thread::spawn(move || {
                let (mut commands, mut sets) = (BufReader::new(client), 0);
                while let Some(command) = read_command(&mut commands) {
                    sets += usize::from(command[0] == "SET");
                    let command = lie(command, sets);
                    let mut packed = format!("*{}\r\n", command.len());
                    for word in command {
                        packed += &format!("${}\r\n{word}\r\n", word.len());
                    }
                    if server.write_all(packed.as_bytes()).is_err() {
                        break;
                    }
                }
                let _ = server.shutdown(Shutdown::Both);
            });
        }
    });
    address
}

/// The next command of a client; `None` when it has gone.
fn read_command(from: &mut impl BufRead) -> Option<Vec<String>> {
    let number = |from: &mut dyn BufRead| {
        let mut line = String::new();
        from.read_line(&mut line).ok()?;
        line.trim_end().get(1..)?.parse::<usize>().ok()
    };
    let words = number(from)?;
    let word = |_| {
        let length = number(from)?;
        let mut word = vec![0; length + 2];
        from.read_exact(&mut word).ok()?;
        word.truncate(length);
        String::from_utf8(word).ok()
    };
    (0..words).map(word).collect()
}

/// What became of a `SET key value NX PX ttl`.
fn changed(command: Vec<String>, change: impl FnOnce(&mut Vec<String>)) -> Vec<String> {
    let mut command = command;
    if command[0] == "SET" {
        change(&mut command);
    }
    command
}

#[test]
fn a_server_that_does_not_keep_keys_as_it_says_is_unfit() {
    let _turn = beside();
    let server = sound();
    shut(&server);
    // That it listens elsewhere is told of each.
    let beside = |lie| {
        let (mut found, code) = found_beside(&url(liar(server.addr(), lie)));
        found.retain(|finding| finding != "kind warning");
        (found, code)
    };
    assert_eq!(beside(|command, _| command), (vec![], 0));
    // A KeyDB whose other side grants locks, too.
    let active = |command: Vec<String>, _| {
        let words = ["EVAL", "return {'active-replica', 'yes'}", "0"].map(str::to_owned);
        if command.last().is_some_and(|word| word == "active-replica") {
            words.into()
        } else {
            command
        }
    };
    assert_eq!(beside(active), only("replication bad", 3));
    assert_eq!(keys(&server), 0);
    let bad = only("keys bad", 3);
    // NX means nothing; PX means nothing; PX is divided by 50; every tenth key is lost.
    let without_nx = |command, _| changed(command, |set| set.retain(|word| word != "NX"));
    assert_eq!(beside(without_nx), bad);
    let without_px = |command, _| {
        changed(command, |set| {
            let px = set.iter().position(|word| word == "PX").unwrap();
            set.drain(px..=px + 1);
        })
    };
    assert_eq!(beside(without_px), bad);
    let short = |command, _| {
        changed(command, |set| {
            let px = set.iter().position(|word| word == "PX").unwrap();
            set[px + 1] = (set[px + 1].parse::<u64>().unwrap() / 50).to_string();
        })
    };
    let (found, code) = beside(short);
    assert!(found.contains(&"keys bad".to_owned()) && code == 3, "{found:?}");
    let loses = |command, sets| changed(command, |set| set[1] += if sets % 10 == 0 { ":lost" } else { "" });
    assert_eq!(beside(loses), bad);
    let liars = [url(liar(server.addr(), loses))];
    let text = printed(&liars, &["--node-timeout", "9s"]);
    assert!(text.contains("of 100 keys 10 were gone"), "{text}");
}

#[test]
fn servers_that_are_far_away_are_asked_less_often() {
    let _turn = beside();
    let (servers, _) = sound_ones(3);
    let far = |server: &RedisServer| url(relay(vec![server.addr()], Duration::from_millis(300)));
    let urls: Vec<String> = servers.iter().map(far).collect();
    assert_eq!(
        found_with(&urls, &[]),
        (vec!["kind warning".to_owned(), "round_trip bad".to_owned()], 3)
    );
    for server in &servers {
        let stats: String = ask(server, &["INFO", "commandstats"]);
        let calls = |command| calls_in(&stats, command);
        assert!((1..10).contains(&calls("ping")) && calls("time") < 8, "{stats}");
    }
    assert!(servers.iter().all(|server| keys(server) == 0));
}

#[test]
fn how_long_the_keys_of_the_trial_live_is_told_as_it_is() {
    let lives = humantime::format_duration(lockstorm_lab::doctor::TRIAL_TTL).to_string();
    let help = Command::new(program()).args(["doctor", "--help"]).output().unwrap();
    let help = in_a_row(&String::from_utf8(help.stdout).unwrap());
    assert!(help.contains(&format!("expire after {lives} in any case")), "{help}");
    let docs = [
        include_str!("../../docs/doctor.md"),
        include_str!("../../docs/nodes.md"),
    ]
    .map(in_a_row);
    let seconds = lockstorm_lab::doctor::TRIAL_TTL.as_secs();
    assert!(docs[0].contains(&format!("expire after {seconds} s in any case")));
    assert!(docs[1].contains(&format!("live for {seconds} s at most")));
}

#[test]
fn a_server_that_wants_a_password_or_has_no_place_says_so() {
    let _turn = beside();
    let third = sound();
    let _: String = third.query(redis::cmd("CONFIG").arg("SET").arg("requirepass").arg(PASSWORD));
    let text = printed(&[format!("redis://{}", third.addr())], &[]);
    tells(&text, &["NOAUTH", "put user and password into the URL"]);
    assert!(!text.contains("ACL SETUSER"), "{text}");
    let fourth = server(&[], &["~*", "&*", "+@all", "-del"]);
    shut(&fourth);
    let text = printed(&[url(fourth.addr())], &[]);
    assert!(text.contains("NOPERM") && text.contains("+del"), "{text}");
}

#[test]
fn a_server_that_cannot_be_used_is_told_with_the_reason() {
    let _turn = beside();
    let third = sound();
    shut(&third);
    let wrong = format!("redis://app:wr0ng@{}", third.addr());
    assert_eq!(found_beside(&wrong).1, 3);
    let text = printed(&[wrong], &[]);
    assert!(text.contains("WRONGPASS") && !text.contains("wr0ng"), "{text}");

    let nobody = format!("redis://127.0.0.1:{}", free_port());
    let text = printed(&[nobody], &[]);
    assert!(text.contains("refused"), "{text}");
    tells(
        &text,
        &["1 server: 1 vote is needed, and 1 can't vote now, so no lock can be acquired"],
    );
    let (_pair, mut trio) = sound_ones(2);
    trio.push(format!("redis://127.0.0.1:{}", free_port()));
    let text = printed(&trio, &[]);
    tells(
        &text,
        &["3 servers: 2 votes are needed, and 1 can't vote now, so no other may fail"],
    );

    let web = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = web.local_addr().unwrap();
    thread::spawn(move || {
        for stream in web.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let output = doctor(&[format!("redis://{address}")], &[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("not a Redis"),
        "{output:?}"
    );
}

#[test]
fn bad_input_is_named_in_one_line() {
    let refused = |arguments: &[&str], words: &str| {
        let output = Command::new(program()).arg("doctor").args(arguments).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), told.lines().count()),
            (Some(2), 1),
            "{arguments:?}: {told}"
        );
        assert_eq!(told.matches(words).count(), 1, "{words}: {told}");
    };
    refused(&["http://:pass-w0rd@127.0.0.1"], "write it like redis://");
    refused(&["--urls-env", "LOCKSTORM_NO_SUCH_URLS"], "LOCKSTORM_NO_SUCH_URLS");
    refused(&["redis://127.0.0.1", "--ttl", "soon"], "--ttl");
    refused(&["redis://127.0.0.1", "--ttl", "0s"], "--ttl");
    let output = doctor(&[format!("redis://app:a {PASSWORD} b@127.0.0.1")], &[]);
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("URL 1: "),
        "{output:?}"
    );
    assert_eq!(output.status.code(), Some(2));
    refused(&[], "URL");
}
