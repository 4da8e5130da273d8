//! Losses of power: what servers have after one is what they had synced.

use std::thread::sleep;
use std::time::Duration;

use lockstorm_data::model::{Fault, Finding, HostId, Verified};
use lockstorm_data::scenario::{LabSpec, Persistence};
use lockstorm_kit::eventually;
use lockstorm_kit::lab::{KILL, RESTART, ask, carry_out, connect, options};
use lockstorm_lab::{Lab, NodeName, Role};
use redis::Connection;

const H1: HostId = HostId(1);

async fn lab(persistence: Persistence) -> Lab {
    let mut options = options();
    options.preload = true;
    let spec = LabSpec {
        persistence,
        ..LabSpec::of(1)
    };
    Lab::up(&spec, options).await.expect("the lab comes up")
}

fn session(lab: &Lab) -> Connection {
    let name = NodeName {
        role: Role::Lock,
        host: Some(H1),
    };
    connect(lab, lab.address(name).expect("the node").port())
}

/// Sets so many keys, one after the other, and waits until the server has written them: while a sync is under way, it keeps them back for up
/// to two seconds after its answer.
fn set(lab: &Lab, prefix: &str, count: usize) {
    let mut session = session(lab);
    for n in 0..count {
        ask::<()>(&mut session, &["SET", &format!("{prefix}{n:03}"), "1"]);
    }
    eventually("all is written", || {
        let info: String = ask(&mut session, &["INFO", "persistence"]);
        !info.contains("aof_enabled:1") || info.contains("aof_buffer_length:0")
    });
}

/// The keys of this prefix.
fn kept(lab: &Lab, prefix: &str) -> Vec<String> {
    let mut all: Vec<String> = ask(&mut session(lab), &["KEYS", &format!("{prefix}*")]);
    all.sort_unstable();
    all
}

async fn power_off_and_on(lab: &Lab) -> u64 {
    let verified = carry_out(lab, Fault::PowerLoss.into(), H1).await;
    carry_out(lab, RESTART, H1).await;
    lost(&verified)
}

/// How many bytes were lost.
fn lost(verified: &Verified<std::time::Instant>) -> u64 {
    let unsynced = verified.proof.iter().find_map(|proof| match proof.finding {
        Finding::Unsynced { bytes } => Some(bytes),
        _ => None,
    });
    unsynced.expect("the bytes that were lost")
}

#[tokio::test]
async fn what_was_synced_before_each_answer_is_all_kept() {
    let lab = lab(Persistence::AofAlways).await;
    for round in ["a", "b"] {
        set(&lab, round, 50);
        assert_eq!(power_off_and_on(&lab).await, 0);
        assert_eq!(kept(&lab, round).len(), 50);
    }
    assert_eq!(kept(&lab, "a").len(), 50, "of the first life, too");
    lab.down().await;
}

#[tokio::test]
async fn what_was_not_synced_yet_is_lost_and_a_kill_loses_nothing() {
    let lab = lab(Persistence::AofEverysec).await;
    set(&lab, "old", 20);
    sleep(Duration::from_millis(2_500));
    set(&lab, "new", 20);
    carry_out(&lab, KILL, H1).await;
    carry_out(&lab, RESTART, H1).await;
    assert_eq!((kept(&lab, "old").len(), kept(&lab, "new").len()), (20, 20));
    // A server syncs what it has written itself, and with that what was in the file before.
    set(&lab, "sync", 1);
    sleep(Duration::from_millis(2_500));
    // The sync of each second may come between two of these keys.
    let mut is_lost = false;
    for round in 0..5 {
        let prefix = format!("late{round}");
        set(&lab, &prefix, 50);
        let bytes = power_off_and_on(&lab).await;
        let all = kept(&lab, &prefix);
        let first: Vec<String> = (0..all.len()).map(|n| format!("{prefix}{n:03}")).collect();
        assert_eq!(all, first, "the oldest are kept");
        assert_eq!(bytes > 0, all.len() < 50, "{bytes} bytes lost, {} keys left", all.len());
        is_lost |= all.len() < 50;
    }
    assert!(is_lost);
    assert_eq!(
        (kept(&lab, "old").len(), kept(&lab, "new").len()),
        (20, 20),
        "those were synced"
    );
    lab.down().await;
}

#[tokio::test]
async fn a_snapshot_is_kept_and_what_came_after_it_is_not() {
    let lab = lab(Persistence::Rdb).await;
    set(&lab, "saved", 20);
    ask::<()>(&mut session(&lab), &["SAVE"]);
    set(&lab, "later", 20);
    power_off_and_on(&lab).await;
    assert_eq!((kept(&lab, "saved").len(), kept(&lab, "later").len()), (20, 0));
    lab.down().await;
}
