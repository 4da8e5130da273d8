//! Wrong wall clocks of hosts: what servers show, and when their keys expire.

use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lockstorm_data::model::{Action, Condition, Fault, Finding, HostId, Observer, Skew};
use lockstorm_data::scenario::LabSpec;
use lockstorm_kit::lab::{KILL, RESTART, ask, carry_out, connect, options, options_with, script};
use lockstorm_lab::{Lab, NodeName, Role, ServerBinary};
use redis::Connection;

const H1: HostId = HostId(1);
const CORRECT: Action = Action::Undo(Condition::Skewed);

const fn skew(ahead_ms: i64, times: u32) -> Action {
    Action::Fault(Fault::Clock(Skew {
        ahead_ms,
        rate_ppm: times * Skew::TRUE_RATE,
    }))
}

async fn lab_with_clocks() -> Lab {
    let mut options = options();
    options.preload = true;
    Lab::up(&LabSpec::of(3), options).await.expect("the lab comes up")
}

fn session(lab: &Lab, host: usize) -> Connection {
    let name = NodeName {
        role: Role::Lock,
        host: Some(HostId(host)),
    };
    connect(lab, lab.address(name).expect("the node").port())
}

/// How far a node is ahead of us, in milliseconds, by its own account; the round trip makes it a little less.
fn ahead_ms(connection: &mut Connection) -> f64 {
    let (seconds, micros): (u64, u64) = ask(connection, &["TIME"]);
    let ours = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    (Duration::from_secs(seconds) + Duration::from_micros(micros)).as_secs_f64() * 1e3 - ours.as_secs_f64() * 1e3
}

/// Whether it is that, or as much less as a busy machine makes a round trip longer.
fn is_about(ahead: f64, expected: f64) -> bool {
    (expected - 500.0..=expected + 5.0).contains(&ahead)
}

fn pttl(connection: &mut Connection, key: &str) -> i64 {
    ask(connection, &["PTTL", key])
}

#[tokio::test]
async fn a_clock_that_jumps_ends_keys_and_one_that_is_set_back_prolongs_them() {
    let lab = lab_with_clocks().await;
    let [mut one, mut two] = [1, 2].map(|host| session(&lab, host));
    for (key, px) in [("short", "60000"), ("long", "6000000")] {
        ask::<()>(&mut one, &["SET", key, "1", "PX", px]);
        ask::<()>(&mut two, &["SET", key, "1", "PX", px]);
    }
    let verified = carry_out(&lab, skew(120_000, 1), H1).await;
    let proof = &verified.proof[0];
    assert!(
        matches!(proof.finding, Finding::Clock { ahead_us } if ahead_us.abs_diff(120_000_000) < 500_000),
        "{proof:?}"
    );
    assert_eq!(proof.by, Observer::Time);
    assert!(is_about(ahead_ms(&mut one), 120_000.0));
    assert_eq!(
        (pttl(&mut one, "short"), ask::<u8>(&mut one, &["EXISTS", "short"])),
        (-2, 0)
    );
    assert!(pttl(&mut one, "long") <= 6_000_000 - 120_000);
    // A clock is one host's.
    assert!(is_about(ahead_ms(&mut two), 0.0) && pttl(&mut two, "short") > 0);
    // It is as wrong after a restart as before.
    carry_out(&lab, KILL, H1).await;
    carry_out(&lab, RESTART, H1).await;
    let mut one = session(&lab, 1);
    assert!(is_about(ahead_ms(&mut one), 120_000.0));
    let again = lab.apply(skew(1, 1), H1).await.expect_err("it is skewed").to_string();
    assert!(
        again.contains("it is skewed (120 s ahead); correct it first"),
        "{again}"
    );
    let verified = carry_out(&lab, CORRECT, H1).await;
    assert_eq!(verified.prose(), "its clock is right");
    assert!(is_about(ahead_ms(&mut one), 0.0));
    assert!(lab.state(H1).is_up());

    ask::<()>(&mut one, &["SET", "back", "1", "PX", "5000"]);
    carry_out(&lab, skew(-60_000, 1), H1).await;
    assert!(is_about(ahead_ms(&mut one), -60_000.0));
    assert!(pttl(&mut one, "back") > 60_000 - 5_000);
    assert_eq!(
        ask::<Vec<String>>(&mut one, &["KEYS", "lockstorm:*"]),
        [""; 0],
        "nothing of ours is left"
    );
    lab.down().await;
}

#[tokio::test]
async fn a_clock_that_stands_still_ends_no_key_and_one_that_runs_fast_ends_them_early() {
    let lab = lab_with_clocks().await;
    let mut one = session(&lab, 1);
    carry_out(&lab, skew(0, 0), H1).await;
    ask::<()>(&mut one, &["SET", "key", "1", "PX", "50"]);
    let before: (u64, u64) = ask(&mut one, &["TIME"]);
    sleep(Duration::from_millis(300));
    let after: (u64, u64) = ask(&mut one, &["TIME"]);
    // Valkey 9 lets it run for a millisecond, and begins again.
    let [before, after] = [before, after].map(|(s, us)| s * 1_000_000 + us);
    assert!(before.abs_diff(after) <= 1_000, "{before} {after}");
    assert_eq!(ask::<u8>(&mut one, &["EXISTS", "key"]), 1);
    carry_out(&lab, CORRECT, H1).await;
    assert_eq!(ask::<u8>(&mut one, &["EXISTS", "key"]), 0);

    carry_out(&lab, skew(0, 5), H1).await;
    let start = Instant::now();
    ask::<()>(&mut one, &["SET", "key", "1", "PX", "10000"]);
    sleep(Duration::from_millis(400));
    let left = pttl(&mut one, "key");
    let most = 10_000 - 5 * 400;
    assert!(left <= most, "{left} after {:?}", start.elapsed());
    lab.down().await;
}

#[tokio::test]
async fn a_clock_is_refused_where_servers_have_that_of_the_machine() {
    let lab = Lab::up(&LabSpec::of(1), options()).await.expect("the lab comes up");
    let refused = lab.apply(skew(2_000, 1), H1).await.expect_err("refused").to_string();
    assert!(
        refused.contains("its servers were started without our library"),
        "{refused}"
    );
    lab.down().await;

    // As one that is linked statically, this one does not load our library.
    let directory = tempfile::tempdir().expect("a directory");
    let found = ServerBinary::find(None).expect("a server is installed");
    let body = format!("unset LD_PRELOAD\nexec {} \"$@\"", found.path.display());
    let server = script(directory.path().join("server"), &body);
    let mut options = options_with(ServerBinary::find(Some(&server)).expect("it is a server"));
    options.preload = true;
    let refused = Lab::up(&LabSpec::of(1), options)
        .await
        .expect_err("refused")
        .to_string();
    assert!(
        refused.contains("faults of clocks and power are not possible with"),
        "{refused}"
    );
}
