//! Faults that nodes are told to bring about, those of connections, and the loss of a disk, as another client sees them.

use std::collections::BTreeSet;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lockstorm_data::model::{Action, Condition, Direction, Fault, Finding, HostId, Link, ServerId};
use lockstorm_data::scenario::{LabSpec, Persistence};
use lockstorm_kit::beside;
use lockstorm_kit::lab::{KILL, PAUSE, RESTART, RESUME, ask, carry_out, connect, options};
use lockstorm_lab::{Lab, LabError, LabOptions};
use redis::Connection;

const H1: HostId = HostId(1);
const SLOW: Action = Action::Fault(Fault::SlowLink {
    bytes_per_second: 20_000,
});
const REPAIR: Action = Action::Undo(Condition::Degraded);

async fn lab(persistence: Persistence, proxy: bool) -> Lab {
    let spec = LabSpec {
        persistence,
        ..LabSpec::of(1)
    };
    Lab::up(&spec, LabOptions { proxy, ..options() })
        .await
        .expect("the lab comes up")
}

/// A connection as app servers have them.
fn session(lab: &Lab) -> Connection {
    connect(lab, entrance(lab))
}

fn entrance(lab: &Lab) -> u16 {
    lab.lock_nodes()[0].1.port()
}

fn set(session: &mut Connection, count: usize) {
    for n in 0..count {
        ask::<()>(
            session,
            &["SET", &format!("key{n}"), &format!("token{n}"), "PX", "600000"],
        );
    }
}

fn count(session: &mut Connection, keys: usize) -> usize {
    let kept = |n: &usize| ask::<bool>(session, &["EXISTS", &format!("key{n}")]);
    (0..keys).filter(kept).count()
}

/// What it answers to a write: the first word.
fn write(session: &mut Connection) -> String {
    let answer = redis::cmd("SET").arg("probe").arg("1").query::<String>(session);
    let said = answer.unwrap_or_else(|error| error.code().unwrap_or_default().to_owned());
    assert!(!said.is_empty(), "an answer");
    said
}

fn setting(session: &mut Connection, name: &str) -> String {
    ask::<Vec<String>>(session, &["CONFIG", "GET", name]).swap_remove(1)
}

fn info(session: &mut Connection, name: &str) -> String {
    let info: String = ask(session, &["INFO"]);
    let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.expect("a line of INFO").to_owned()
}

/// Says why this is refused.
async fn refused(lab: &Lab, action: Action) -> String {
    lab.apply(action, H1).await.expect_err("refused").to_string()
}

#[tokio::test]
async fn a_node_forgets_all_keys_or_one_in_so_many_and_goes_on() {
    let _one = beside();
    let lab = lab(Persistence::AofAlways, false).await;
    let mut session = session(&lab);
    let process = info(&mut session, "process_id");
    set(&mut session, 40);
    let some = carry_out(&lab, Fault::Forget { every: 10 }.into(), H1).await;
    assert_eq!(some.prose(), "it has lost 4 of its keys");
    assert_eq!(count(&mut session, 40), 36);
    let all = carry_out(&lab, Fault::Forget { every: 1 }.into(), H1).await;
    assert_eq!(all.prose(), "it has lost 36 of its keys");
    assert_eq!(count(&mut session, 40), 0);
    assert_eq!(info(&mut session, "process_id"), process);
    assert!(lab.state(H1).is_up(), "nothing is left to undo");
    ask::<()>(&mut session, &["SELECT", "7"]);
    set(&mut session, 3);
    carry_out(&lab, Fault::Forget { every: 1 }.into(), H1).await;
    assert_eq!(count(&mut session, 3), 0, "in each database");
    let none = carry_out(&lab, Fault::Forget { every: 1 }.into(), H1).await;
    assert_eq!(none.prose(), "it had no keys");
    lab.down().await;
}

#[tokio::test]
async fn keys_are_evicted_and_the_cache_that_filled_the_memory_is_gone() {
    let _one = beside();
    let lab = lab(Persistence::None, false).await;
    let mut session = session(&lab);
    set(&mut session, 50);
    let verified = carry_out(&lab, Fault::Evict.into(), H1).await;
    let Finding::Evicted { evicted, gone } = verified.proof[0].finding else {
        panic!("{verified:?}");
    };
    assert_eq!(info(&mut session, "evicted_keys"), evicted.to_string());
    assert_eq!(count(&mut session, 50) as u64, 50 - gone);
    assert!(evicted >= 200 && gone > 0, "{evicted} evicted, {gone} of 50");
    assert_eq!(ask::<u64>(&mut session, &["DBSIZE"]), 50 - gone);
    let after = ["maxmemory", "maxmemory-policy"].map(|name| setting(&mut session, name));
    assert_eq!(after, ["0", "noeviction"]);
    lab.down().await;
}

#[tokio::test]
async fn without_memory_writes_are_refused_until_it_is_repaired_or_started_anew() {
    let _one = beside();
    let lab = lab(Persistence::AofAlways, false).await;
    let mut session = session(&lab);
    set(&mut session, 1);
    let full = Action::from(Fault::Full);
    assert_eq!(refused(&lab, REPAIR).await, "cannot repair host 1: it is not degraded");
    let verified = carry_out(&lab, full, H1).await;
    assert_eq!(verified.prose(), "it refuses a write (OOM)");
    assert_eq!(write(&mut session), "OOM");
    assert_eq!(count(&mut session, 1), 1, "it can be read");
    assert_eq!(
        refused(&lab, full).await,
        "cannot fill host 1: it is already degraded (OOM)"
    );
    let other = refused(&lab, Fault::Misconf.into()).await;
    assert!(other.ends_with("it is degraded (OOM); repair it first"), "{other}");
    assert_eq!(carry_out(&lab, REPAIR, H1).await.prose(), "it takes a write");
    assert_eq!(
        (
            write(&mut session).as_str(),
            setting(&mut session, "maxmemory").as_str()
        ),
        ("OK", "0")
    );
    carry_out(&lab, full, H1).await;
    carry_out(&lab, KILL, H1).await;
    carry_out(&lab, RESTART, H1).await;
    assert!(lab.state(H1).is_up(), "it has its own settings again");
    assert_eq!(write(&mut self::session(&lab)), "OK");
    lab.down().await;
}

#[tokio::test]
async fn without_snapshots_writes_are_refused_and_none_is_left_that_should_not_be() {
    let _one = beside();
    for persistence in [Persistence::None, Persistence::Rdb, Persistence::AofEverysec] {
        let lab = lab(persistence, false).await;
        let mut session = session(&lab);
        set(&mut session, 3);
        if persistence == Persistence::Rdb {
            ask::<()>(&mut session, &["SAVE"]);
        }
        let misconf = Action::from(Fault::Misconf);
        let before = setting(&mut session, "save");
        for _ in 0..2 {
            assert_eq!(
                carry_out(&lab, misconf, H1).await.prose(),
                "it refuses a write (MISCONF)"
            );
            assert_eq!(write(&mut session), "MISCONF");
            assert_eq!(count(&mut session, 3), 3, "it can be read");
            assert_eq!(carry_out(&lab, REPAIR, H1).await.prose(), "it takes a write");
            assert_eq!(write(&mut session), "OK");
            assert_eq!(setting(&mut session, "save"), before);
        }
        carry_out(&lab, misconf, H1).await;
        let forget = refused(&lab, Fault::Forget { every: 1 }.into()).await;
        assert!(forget.contains("(MISCONF)"), "{forget}");
        carry_out(&lab, Fault::Reset.into(), H1).await;
        carry_out(&lab, PAUSE, H1).await;
        let first = refused(&lab, REPAIR).await;
        assert!(first.ends_with("it is paused; resume it first"), "{first}");
        // It refuses even PING now.
        carry_out(&lab, RESUME, H1).await;
        carry_out(&lab, KILL, H1).await;
        carry_out(&lab, RESTART, H1).await;
        let mut session = self::session(&lab);
        assert_eq!(write(&mut session), "OK");
        let kept = if persistence == Persistence::None { 0 } else { 3 };
        assert_eq!(count(&mut session, 3), kept, "{persistence:?}");
        carry_out(&lab, misconf, H1).await;
        carry_out(&lab, Fault::DiskLoss.into(), H1).await;
        carry_out(&lab, RESTART, H1).await;
        assert_eq!(count(&mut self::session(&lab), 3), 0, "{persistence:?}");
        lab.down().await;
    }
}

#[tokio::test]
async fn a_node_that_runs_a_long_script_answers_nobody_until_it_is_over() {
    let _one = beside();
    let lab = lab(Persistence::None, false).await;
    let mut session = session(&lab);
    let length = Duration::from_millis(1_500);
    let verified = carry_out(&lab, Fault::Stall { length }.into(), H1).await;
    let Finding::Silence { for_us } = verified.proof[0].finding else {
        panic!("{verified:?}");
    };
    assert!(for_us >= 200_000, "{for_us}");
    // It is said before it is over, and it is over without anybody's doing.
    let stats: String = ask(&mut session, &["INFO", "commandstats"]);
    let took = stats
        .split("cmdstat_eval:calls=1,usec=")
        .nth(1)
        .and_then(|rest| rest.split(',').next());
    let took: u64 = took.and_then(|took| took.parse().ok()).expect("the time of the script");
    assert!(took >= 1_500_000, "{took}");
    assert!(lab.state(H1).is_up());
    lab.down().await;
}

#[tokio::test]
async fn a_reset_closes_open_connections_and_new_ones_work() {
    let _one = beside();
    let lab = lab(Persistence::None, false).await;
    let mut before: Vec<Connection> = (0..3).map(|_| session(&lab)).collect();
    let verified = carry_out(&lab, Fault::Reset.into(), H1).await;
    let Finding::Disconnected { connections } = verified.proof[0].finding else {
        panic!("{verified:?}");
    };
    assert!(connections >= 3, "{connections}");
    let pong = |session: &mut Connection| redis::cmd("PING").query::<String>(session).is_ok();
    assert!(!before.iter_mut().any(pong));
    assert!(pong(&mut session(&lab)));
    lab.down().await;
}

#[tokio::test]
async fn new_connections_are_refused_and_those_that_are_open_work_on() {
    let _one = beside();
    let lab = lab(Persistence::None, true).await;
    let mut before = session(&lab);
    let connects = || TcpStream::connect(("127.0.0.1", entrance(&lab))).is_ok();
    let refuse = Action::from(Fault::Refuse);
    for end in [REPAIR, RESTART] {
        assert!(connects());
        let verified = carry_out(&lab, refuse, H1).await;
        assert_eq!(verified.prose(), format!("port {} refuses", entrance(&lab)));
        assert!(!connects());
        ask::<()>(&mut before, &["PING"]);
        if end == RESTART {
            carry_out(&lab, KILL, H1).await;
        }
        carry_out(&lab, end, H1).await;
        assert!(lab.state(H1).is_up());
    }
    assert!(connects());
    let (delay, direction) = (Duration::from_millis(20), Direction::Both);
    let lag = Action::from(Fault::Lag { delay, direction });
    carry_out(&lab, refuse, H1).await;
    let first = refused(&lab, lag).await;
    assert!(first.ends_with("(refuses connections); repair it first"), "{first}");
    carry_out(&lab, REPAIR, H1).await;
    for (slow, undone) in [(lag, "its proxy delays nothing"), (SLOW, "its proxy delays nothing")] {
        carry_out(&lab, slow, H1).await;
        carry_out(&lab, refuse, H1).await;
        // Nobody can measure it without a new connection.
        let unlag = carry_out(&lab, Action::Undo(Condition::Lagging), H1).await;
        assert_eq!(unlag.prose(), undone);
        carry_out(&lab, REPAIR, H1).await;
    }
    assert!(connects() && lab.state(H1).is_up());
    lab.down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_link_is_proved_and_undone_beside_more_than_it_can_carry() {
    let _one = beside();
    let lab = lab(Persistence::None, true).await;
    let mut busy = session(&lab);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let payload = "x".repeat(100_000);
            while !over.load(Ordering::Relaxed) {
                let _ = redis::cmd("ECHO").arg(&payload).query::<String>(&mut busy);
            }
        });
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                carry_out(&lab, SLOW, H1).await;
                carry_out(&lab, Action::Undo(Condition::Lagging), H1).await;
                over.store(true, Ordering::Relaxed);
            });
        });
    });
    lab.down().await;
}

#[tokio::test]
async fn a_slow_link_carries_so_many_bytes_a_second_for_all_together() {
    let _one = beside();
    let lab = lab(Persistence::None, true).await;
    let bytes_per_second = 20_000;
    let payload = "x".repeat(2_000);
    let took = |connections: usize| {
        let mut all: Vec<Connection> = (0..connections).map(|_| session(&lab)).collect();
        let start = Instant::now();
        std::thread::scope(|scope| {
            for connection in &mut all {
                scope.spawn(|| ask::<String>(connection, &["ECHO", &payload]));
            }
        });
        start.elapsed()
    };
    carry_out(&lab, Fault::SlowLink { bytes_per_second }.into(), H1).await;
    // There and back: each takes a tenth of a second.
    assert!(took(1) >= Duration::from_millis(200));
    // The last of four has waited for the others on its way there.
    assert!(took(4) >= Duration::from_millis(500));
    let unlag = carry_out(&lab, Action::Undo(Condition::Lagging), H1).await;
    assert!(
        unlag.prose().starts_with("2000 bytes there and back take "),
        "{}",
        unlag.prose()
    );
    assert!(lab.state(H1).is_up());
    lab.down().await;
}

#[tokio::test]
async fn a_lost_disk_has_nothing_of_what_a_kill_keeps() {
    let _one = beside();
    let lab = lab(Persistence::AofAlways, false).await;
    set(&mut session(&lab), 5);
    carry_out(&lab, KILL, H1).await;
    assert!(lab.has_files(H1));
    carry_out(&lab, RESTART, H1).await;
    assert_eq!(count(&mut session(&lab), 5), 5);
    carry_out(&lab, KILL, H1).await;
    for fault in [Fault::DiskLoss, Fault::Kill] {
        let said = refused(&lab, fault.into()).await;
        let is_so = if fault == Fault::Kill {
            "already down (killed)"
        } else {
            "down (killed); restart it first"
        };
        assert!(said.ends_with(is_so), "{said}");
    }
    carry_out(&lab, RESTART, H1).await;
    let verified = carry_out(&lab, Fault::DiskLoss.into(), H1).await;
    assert!(verified.prose().contains("of its files"), "{}", verified.prose());
    assert!(!lab.has_files(H1));
    carry_out(&lab, RESTART, H1).await;
    assert_eq!(count(&mut session(&lab), 5), 0);
    lab.down().await;
}

#[tokio::test]
async fn one_app_server_is_cut_off_from_one_host_one_way_or_both() {
    let _one = beside();
    let options = LabOptions {
        proxy: true,
        routes: 2,
        ..options()
    };
    let lab = Lab::up(&LabSpec::of(2), options).await.expect("the lab comes up");
    let port = |server, host: usize| lab.lock_nodes_from(Some(ServerId(server)))[host - 1].1.port();
    let all: BTreeSet<u16> = [port(1, 1), port(1, 2), port(2, 1), port(2, 2), entrance(&lab)].into();
    assert_eq!(all.len(), 5, "each has a door of its own");
    let name = lab.names().find(|name| name.host == Some(H1)).expect("a node");
    assert_eq!(
        lab.servers(name).len(),
        4,
        "itself, the door of all, and one for each of two"
    );
    let hears = |port| {
        let mut connection = connect(&lab, port);
        connection
            .set_read_timeout(Some(Duration::from_millis(300)))
            .expect("a limit");
        redis::cmd("PING").query::<String>(&mut connection).is_ok()
    };
    let counted = |key: &str| ask::<Option<u64>>(&mut session(&lab), &["GET", key]);
    let link = Link::Route(ServerId(1), H1);
    for (direction, key, arrives) in [
        (Direction::Back, "back", Some(1)),
        (Direction::There, "there", None),
        (Direction::Both, "both", None),
    ] {
        let mut before = connect(&lab, port(1, 1));
        let cut = Action::Fault(Fault::Cut { direction });
        let verified = lab.apply_to_link(cut, link).await.expect("it is cut");
        assert!(
            matches!(verified.proof[0].finding, Finding::Silence { .. }),
            "{verified:?}"
        );
        before
            .set_read_timeout(Some(Duration::from_millis(300)))
            .expect("a limit");
        assert!(
            redis::cmd("INCR").arg(key).query::<u64>(&mut before).is_err(),
            "no reply"
        );
        assert_eq!(counted(key), arrives, "{key}");
        assert!(hears(port(2, 1)) && hears(port(1, 2)) && hears(entrance(&lab)));
        lab.apply_to_link(Action::Undo(Condition::Cut), link)
            .await
            .expect("it heals");
        assert!(hears(port(1, 1)));
        assert_eq!(counted(key), arrives, "what was lost stays lost");
    }
    let unknown = Link::Route(ServerId(3), H1);
    let direction = Direction::Both;
    let refused = lab
        .apply_to_link(Action::Fault(Fault::Cut { direction }), unknown)
        .await;
    assert!(
        matches!(refused, Err(LabError::Unmeasurable { .. })),
        "it uses the door of all"
    );
    lab.down().await;
}
