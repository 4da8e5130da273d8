//! A run under command: faults, knobs, speed, app servers, and what its record says about them.

use std::cell::Cell;
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lockstorm::report;
use lockstorm_data::facts::{Caveat, Event, EventKind};
use lockstorm_data::metrics::{ConsequenceKind, Count, Entry, Time};
use lockstorm_data::model::{
    Action, Cause, CauseKind, CheckResult, Condition, Conditions, Direction, Fault, HostId, How, Link, NoVote, OrderId,
    ReplicationRole, Target, Way,
};
use lockstorm_kit::lab::{ask, connect_to};
use lockstorm_kit::password;
use lockstorm_kit::play::{Run, effects, host, server, texts, told};
use lockstorm_kit::program::printed;
use lockstorm_kit::recorded::recorded;
use lockstorm_kit::{alone, beside};
use lockstorm_run::{Behind, Command, Health, Knob, Record, Snapshot};

const CLOSED: &str = r#"
title = "closed loop"
duration = "10m"
swarm = { servers = 2, workers = 4, think = "50ms" }
workload = { kind = "inventory", products = 50, stock = 100000, hold = "2ms", stock_in = "redis" }
[[arm]]
name = "redlock"
lock = "redlock"
"#;

/// Locks that are renewed while their work lasts longer than their TTL, and half of the workers wait.
const RENEWED: &str = r#"
title = "somebody flushes host 1"
duration = "10m"
lab = { hosts = 3 }
swarm = { servers = 3, workers = 8 }
workload = { kind = "inventory", products = 12, stock = 100000, hold = "1200ms" }
arm = [
    { name = "single", lock = "single", ttl = "900ms", renew = "ttl/3", timeout = "5s" },
    { name = "redlock", lock = "redlock", ttl = "900ms", renew = "ttl/3", timeout = "5s" },
]
"#;

/// Somebody else sends FLUSHALL to host 1 while locks are held there.
#[test]
fn keys_that_somebody_deletes_are_deleted_and_no_violation_of_our_lock() {
    let _alone = alone();
    let run = Run::start(RENEWED, &[]);
    let mut flushed = 0;
    while run.now().arms[0].figures.double_holds < 3 {
        run.until("locks are held", |now| now.arms[0].figures.holding >= 10);
        // So long that they were asked for before the node was asked how often it was flushed.
        sleep(Duration::from_millis(700));
        let url = password::url(&std::env::temp_dir(), run.now().hosts[0].port);
        let _: String = ask(&mut connect_to(&url), &["FLUSHALL"]);
        flushed += 1;
        assert!(flushed < 20, "nobody comes in");
        run.until("locks are held again", |now| now.arms[0].figures.holding >= 10);
    }
    let record = run.stop();
    let of = |arm: usize| {
        let figures = &record.arms[arm].figures;
        [figures.law_violations, figures.deleted]
    };
    let text = told(&record);
    assert!(of(0)[0] == 0 && of(0)[1] > 0, "{:?}: {text}", of(0));
    // One that had two votes of three may have lost one of them, and it is one that was enough.
    assert_eq!(of(1)[0], 0, "{text}");
    let named = texts(&record.warnings)
        .iter()
        .any(|warning| warning.contains("deleted from outside"));
    assert!(named, "{:?}", texts(&record.warnings));
    let place = tempfile::TempDir::new().unwrap();
    std::fs::write(place.path().join("r.json"), serde_json::to_vec(&record).unwrap()).unwrap();
    let csv = printed(
        0,
        &[
            "report",
            place.path().join("r.json").to_str().unwrap(),
            "--format",
            "csv",
        ],
    );
    for line in [
        "single,law_violations,0,".to_owned(),
        format!("single,deleted,{},", of(0)[1]),
    ] {
        assert!(csv.contains(&line), "{line}: {csv}");
    }
    let said = printed(
        0,
        &["record", "show", "-v", place.path().join("r.json").to_str().unwrap()],
    );
    assert!(said.contains("because its key was deleted from outside"), "{said}");
}

const OPEN: &str = r#"
title = "open loop"
duration = "10m"
swarm = { servers = 2, workers = 8, rate = "100/s" }
workload = { kind = "inventory", products = 50, stock = 100000, hold = "2ms", stock_in = "redis" }
arm = [
    { name = "atomic", lock = "none", update = "atomic" },
]
"#;

fn is_down(conditions: &Conditions<Duration>, how: How) -> bool {
    conditions
        .get(Condition::Down)
        .is_some_and(|down| down.how == Some(how))
}

fn conditions(snapshot: &Snapshot, id: usize) -> &Conditions<Duration> {
    &snapshot.hosts[id - 1].conditions
}

fn completed(snapshot: &Snapshot) -> u64 {
    snapshot.arms[0].figures.counts[Count::Completed]
}

fn acquired(snapshot: &Snapshot, arm: usize) -> u64 {
    snapshot.arms[arm].figures.outcomes.acquired
}

fn is_master(snapshot: &Snapshot, host: usize) -> bool {
    matches!(snapshot.hosts[host - 1].role, Some(ReplicationRole::Master { .. }))
}

fn is_said(snapshot: &Snapshot, wanted: &str) -> bool {
    snapshot.events.iter().any(|event| event.text().contains(wanted))
}

/// Whether the scenario does this next, at this second if that is known.
fn is_next(snapshot: &Snapshot, wanted: &str, at: Option<f64>) -> bool {
    let next = snapshot.next.as_ref();
    next.is_some_and(|next| next.step.to_string() == wanted && next.at == at)
}

/// The hosts of an arm's nodes.
fn hosts_of(record: &Record, arm: usize) -> Vec<Option<usize>> {
    let nodes = record.arms[arm].figures.nodes.iter();
    nodes.map(|node| node.host).collect()
}

/// Requests that ended in the last whole second.
fn last_second(snapshot: &Snapshot) -> u64 {
    snapshot.arms[0]
        .series
        .iter()
        .rev()
        .nth(1)
        .map_or(0, |point| point.counts[Count::Completed])
}

#[test]
fn hosts_are_killed_paused_and_brought_back_on_command_from_another_port_if_theirs_was_taken() {
    let _lab = beside();
    let run = Run::start(CLOSED, &[]);
    let all = run.until("three of three votes", |s| s.arms[0].votes == Some((3, 3)));
    let taken = all.hosts[0].port;
    run.fault(Fault::Kill, host(1));
    run.until("host 1 is down", |s| is_down(conditions(s, 1), How::By(Fault::Kill)));
    let before = run.until("two of three votes", |s| s.arms[0].votes == Some((2, 3)));
    let squatter = TcpListener::bind((Ipv4Addr::LOCALHOST, taken)).expect("the port is free");
    run.until("locks are granted with two hosts", |s| {
        completed(s) > completed(&before) + 50
    });
    run.fault(Fault::Kill, host(1));
    run.until("a host is not killed twice", |s| {
        s.events
            .iter()
            .any(|e| matches!(&e.kind, EventKind::Fault { error: Some(why), .. } if why.to_string().contains("down")))
    });
    run.undo(Condition::Down, host(1));
    let up = run.until("host 1 is up", |s| conditions(s, 1).is_up() && s.hosts[0].port != taken);
    let port = up.hosts[0].port;
    run.until("three of three votes again", |s| s.arms[0].votes == Some((3, 3)));
    run.until("its statistics", |s| s.hosts[0].stats.is_some());
    run.fault(Fault::Pause, host(2));
    run.until("host 2 is paused", |s| conditions(s, 2).has(Condition::Paused));
    run.undo(Condition::Paused, host(2));
    run.until("host 2 is up", |s| conditions(s, 2).is_up());
    run.fault(Fault::Shutdown, host(3));
    run.until("host 3 is down", |s| {
        is_down(conditions(s, 3), How::By(Fault::Shutdown))
    });
    let record = run.stop();
    drop(squatter);
    assert!(record.interrupted);
    let told = format!("host 1 listens on port {port} now: another process has taken port {taken}");
    let times = record.events.iter().filter(|event| event.text() == told).count();
    assert_eq!(times, 1, "{:?}", record.events);
    assert_eq!(record.nodes[0].address, format!("127.0.0.1:{port}"));
    let effects: Vec<_> = effects(&record)
        .into_iter()
        .map(|(action, _, [ordered, effect])| (action, effect >= ordered))
        .collect();
    let expected = [
        Fault::Kill.into(),
        Action::Undo(Condition::Down),
        Fault::Pause.into(),
        Action::Undo(Condition::Paused),
        Fault::Shutdown.into(),
    ];
    assert_eq!(effects, expected.map(|action| (action, true)));
}

const BY_HAND: &str = r#"
fault = [
    { at = "3s", do = "kill", on = "host:1", for = "1s" },
    { when = "redlock.holding >= 5000", do = "kill", on = "host:2" },
]
"#;

#[test]
fn a_scheduled_fault_whose_target_is_down_by_hand_has_taken_effect() {
    let _lab = beside();
    let run = Run::start(&format!("{BY_HAND}{CLOSED}"), &[]);
    run.until("what comes next is announced", |s| {
        is_next(s, "host 1 bounces", Some(3.0))
    });
    run.fault(Fault::Kill, host(1));
    run.until("host 1 is down by hand", |s| is_said(s, "host 1 killed"));
    run.until("the scheduled kill has taken effect", |s| {
        is_said(
            s,
            "kill host 1: nothing to do (it was already down (killed), effective after",
        )
    });
    run.until("it is undone", |s| conditions(s, 1).is_up());
    run.until("then comes the other one", |s| {
        is_next(s, "host 2 dies when redlock has 5,000 held", None)
    });
    let record = run.stop();
    assert_eq!(
        texts(&record.inconclusive).len(),
        1,
        "{:?}",
        texts(&record.inconclusive)
    );
    let never = texts(&record.inconclusive).remove(0);
    assert!(
        never.starts_with("fault 2 never fired: redlock.holding reached ") && never.ends_with(" of 5,000"),
        "{never}"
    );
}

/// Sends a command to a node on a new connection, and returns that connection.
fn send(port: u16, command: &str) -> TcpStream {
    let mut node = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it accepts");
    node.write_all(command.as_bytes()).expect("it listens");
    node
}

#[test]
fn a_key_that_nobody_holds_and_that_never_expires_is_stuck() {
    let _turn = alone();
    // It is tried only after a load that was not stopped.
    let run = Run::start(CLOSED, &["lab.password=off", "arm.redlock.ttl=500ms", "duration=3s"]);
    run.until("it works", |s| completed(s) > 20);
    for host in &run.now().hosts[..2] {
        let _sent = send(host.port, "SET redlock:product:7 planted\r\n");
    }
    // On one of three nodes a key is in nobody's way.
    let _sent = send(run.now().hosts[2].port, "SET redlock:product:8 planted\r\n");
    let record = run.finish();
    assert_eq!(record.arms[0].figures.stuck, Some(1));
}

/// More workers than products, so that every lock is held and somebody waits for it.
const CROWDED: &str = r#"
title = "crowded"
duration = "10m"
swarm = { servers = 2, workers = 32 }
workload = { kind = "inventory", products = 16, stock = 100000, hold = "200ms", stock_in = "redis" }
arm = [
    { name = "redlock", lock = "redlock", ttl = "5s", renew = "off" },
    { name = "single", lock = "single", ttl = "5s", renew = "off" },
]
"#;

#[test]
fn locks_of_a_killed_app_server_are_taken_over_when_their_keys_expire() {
    let _lab = beside();
    let run = Run::start(CROWDED, &[]);
    // What befalls a host orphans no lock.
    run.fault(Fault::Kill, host(3));
    run.until("host 3 is down", |s| is_down(conditions(s, 3), How::By(Fault::Kill)));
    let before = run.until("every lock is wanted", |s| {
        completed(s) > 50 && s.arms.iter().all(|arm| arm.figures.holding >= 12)
    });
    for arm in &before.arms {
        let takeovers = arm.figures.times[Time::Takeover].count;
        assert_eq!((arm.figures.orphaned, takeovers), (0, 0), "{}", arm.name);
    }
    run.fault(Fault::Kill, server(1));
    run.until("all its locks are taken over", |s| {
        let all = |arm: &lockstorm_run::ArmView| arm.figures.times[Time::Takeover].count == arm.figures.orphaned;
        s.arms.iter().all(|arm| arm.figures.orphaned > 0 && all(arm))
    });
    // Once more, and nobody dies twice.
    run.fault(Fault::Kill, server(1));
    let refused = |event: &Event| matches!(&event.kind, EventKind::Fault { error: Some(_), .. });
    run.until("the second kill is refused", |s| s.events.iter().any(refused));
    let record = run.stop();
    for arm in &record.arms {
        let (figures, took) = (&arm.figures, arm.figures.times[Time::Takeover]);
        assert_eq!(took.count, figures.orphaned, "{}", arm.name);
        assert!((1..=32).contains(&took.count), "{}: {took:?}", arm.name);
        // Most sections were young, and nobody could release their locks. The bounds are wide for slow machines.
        assert!(
            took.p50 >= 2_000_000 && took.max <= 60_000_000,
            "{}: {took:?}",
            arm.name
        );
        let histogram = arm.histogram(Time::Takeover).expect("our own histogram");
        assert_eq!(histogram.len(), took.count);
    }
    let summary = report::summary(&record);
    assert!(summary.contains("takeover p50"), "{summary}");
}

/// Sections of which some outlast their lock.
const RACE: &str = r#"
title = "race"
duration = "10m"
swarm = { servers = 2, workers = 4 }
arm = [
    { name = "redlock", lock = "redlock", ttl = "50ms", renew = "off" },
    { name = "atomic", lock = "none", update = "atomic" },
]
[workload]
kind = "inventory"
products = 50
stock = 100000
hold = { median = "30ms", sigma = 0.6 }
stock_in = "redis""#;

#[test]
fn sections_tell_which_ttl_they_would_outlast() {
    let _lab = beside();
    let ms = Duration::from_millis;
    let run = Run::start(RACE, &[]);
    let many = run.until("some overran", |s| {
        let arm = &s.arms[0];
        arm.outlasted.sections > 300 && arm.figures.counts[Count::Overran] > 10
    });
    let (redlock, atomic) = (&many.arms[0], &many.arms[1]);
    assert_eq!(atomic.outlasted, lockstorm_run::Outlasted::default());
    let outlasting = |ttl: u64| {
        let known = redlock.outlasted.by_ttl.iter().find(|(known, _)| *known == ms(ttl));
        known.expect("a step of the knob").1
    };
    // The estimate for the present TTL is what happened with it; the two are counted one after the other.
    let (overran, sections) = (redlock.figures.counts[Count::Overran], redlock.outlasted.sections);
    assert!(
        overran.abs_diff(outlasting(50)) <= sections / 20,
        "{overran} overran, {} should have, of {sections}",
        outlasting(50)
    );
    assert!(outlasting(10) > outlasting(50) && outlasting(50) > outlasting(500_000));
    run.order(Command::Turn(Knob::Ttl(ms(70))));
    let turned = |s: &Snapshot| s.arms[0].outlasted.part(ms(70)).is_some();
    run.until("the present TTL is among those", turned);
    run.stop();
}

const SHUTDOWN: &str = r#"
fault = [{ at = "2s", do = "shutdown", on = "host:3", for = "2s" }]
"#;

#[test]
fn a_fault_that_is_late_counts_when_it_comes_true() {
    let _lab = beside();
    let run = Run::start(&format!("{SHUTDOWN}{CLOSED}"), &["lab.password=off"]);
    // A node that runs a script can't end, like one that takes long to save.
    let port = run.now().hosts[2].port;
    let _busy = send(port, "EVAL \"while true do end\" 0\r\n");
    run.until("it is late", |s| {
        is_said(s, "shut down host 3 (fault 1): not verified within 10 s")
    });
    assert!(conditions(&run.now(), 3).is_up());
    let _end = send(port, "SCRIPT KILL\r\n");
    run.until("it comes true", |s| is_said(s, "host 3 shut down (its process is gone"));
    run.until("it is undone that long after its effect", |s| {
        is_said(s, "host 3 is back EMPTY")
    });
    let record = run.stop();
    // A busy machine may hold the whole run up, which is no doubt about the fault.
    let mut doubts = record.inconclusive.iter();
    assert!(
        doubts.all(|why| matches!(why, Caveat::RunStalled { .. })),
        "{:?}",
        texts(&record.inconclusive)
    );
    let times = effects(&record);
    let [(shutdown, _, [ordered, down]), (undo, _, [undone, _])] = times[..] else {
        panic!("it counts, and was undone: {times:?}");
    };
    assert_eq!(
        (shutdown, undo),
        (Fault::Shutdown.into(), Action::Undo(Condition::Down))
    );
    assert!(down - ordered >= 10.0, "{ordered} {down}");
    assert!(undone - down >= 2.0, "{down} {undone}");
}

#[test]
fn a_bounce_says_what_it_did_to_held_locks() {
    let _lab = beside();
    let run = Run::start(CLOSED, &["workload.hold=3s", "arm.redlock.lock=single"]);
    let before = run.until("locks are held", |s| s.arms[0].figures.holding >= 4);
    assert_eq!(before.arms[0].live.health, Health::Well);
    run.order(Command::Bounce {
        host: HostId(1),
        order: OrderId(7),
    });
    let after = run.until("host 1 is back", |s| is_said(s, "host 1 is back EMPTY: "));
    let event = after
        .events
        .iter()
        .find(|e| e.text().contains("EMPTY"))
        .expect("it is there");
    // Acquires that met the dead host may have been refused.
    let all = after.arms[0].figures.consequences.iter();
    let lost: Vec<_> = all
        .filter(|one| !matches!(one.kind, ConsequenceKind::Refused { .. }))
        .collect();
    let [consequence] = lost[..] else {
        panic!("{:?}", after.arms[0].figures.consequences);
    };
    let ConsequenceKind::Forgot { locks } = consequence.kind else {
        panic!("{consequence:?}");
    };
    assert!((1..=8).contains(&locks), "{consequence:?}");
    assert_eq!(consequence.event, Some(event.id));
    assert!(
        event.text().contains(&format!(": redlock {}", consequence.kind)),
        "{}",
        event.text()
    );
    let carried_out = |event: &Event| match &event.kind {
        EventKind::Fault { action, order, .. } => Some((*action, order.expect("it carries out an order"))),
        _ => None,
    };
    let steps = [Action::Fault(Fault::Kill), Action::Undo(Condition::Down)];
    assert_eq!(
        after.events.iter().filter_map(carried_out).collect::<Vec<_>>(),
        steps.map(|step| (step, OrderId(7)))
    );
    run.stop();
}

/// Lets the thread of this process with this name stand still, as a machine does that has no time for it: in a handler of a signal.
#[cfg(target_os = "linux")]
fn hold_up(thread: &str) {
    use nix::libc;
    use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

    extern "C" fn stand_still(_: libc::c_int) {
        sleep(Duration::from_millis(400));
    }
    let action = SigAction::new(SigHandler::Handler(stand_still), SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler only sleeps, which a handler may do (signal-safety(7): nanosleep), and nobody else uses this signal.
    unsafe { sigaction(Signal::SIGUSR1, &action) }.expect("a handler");
    let tasks = std::fs::read_dir("/proc/self/task").expect("the threads of this process");
    let id = tasks.flatten().find_map(|task| {
        let is_it = std::fs::read_to_string(task.path().join("comm")).ok()?.trim() == thread;
        is_it.then(|| task.file_name().to_str()?.parse::<libc::pid_t>().ok())?
    });
    let id = id.expect("a thread of this name");
    // SAFETY: it only sends a signal, to a thread of this process.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), id, libc::SIGUSR1) };
}

/// Two workers whose sections are near to their TTL.
const ONE_PRODUCT: [&str; 5] = [
    "workload.products=1",
    "workload.hold=60ms",
    "swarm.workers=1",
    "arm.redlock.ttl=300ms",
    "swarm.think=5ms",
];

#[cfg(target_os = "linux")]
#[test]
fn what_a_starved_machine_does_to_a_lock_is_not_the_locks_fault() {
    let _turn = alone();
    let run = Run::start(CLOSED, &ONE_PRODUCT);
    let last = Cell::new(Instant::now());
    let seen = run.until("a sale is lost to it", |s| {
        if last.get().elapsed() > Duration::from_secs(1) {
            last.set(Instant::now());
            hold_up("app-server-1");
        }
        s.arms[0].figures.counts[Count::Stalled] > 0 && s.arms[0].figures.booked(Entry::LostUpdatesPeak) > 0
    });
    assert!(is_said(&seen, "redlock: a section was held up"));
    let record = run.stop();
    let arm = &record.arms[0];
    assert!(
        arm.figures.lost_by_stalls >= arm.figures.booked(Entry::LostUpdatesPeak)
            && arm.figures.double_uses_by_stalls > 0,
        "{:#?}",
        arm.figures
    );
    assert!(
        matches!(arm.doubt, Some(Caveat::DamageByStalls { .. })),
        "{:?}",
        texts(&record.inconclusive)
    );
}

/// The same by a pause that was ordered is what the run is about.
#[test]
fn a_pause_that_was_ordered_is_no_stall_of_the_machine() {
    let _lab = beside();
    let run = Run::start(CLOSED, &ONE_PRODUCT);
    let server = server(1);
    run.until("a section was paused beyond its TTL", |s| {
        let conditions = &s.servers[0].conditions;
        if conditions.has(Condition::Paused) {
            sleep(Duration::from_millis(400));
            run.undo(Condition::Paused, server);
        } else if s.arms[0].figures.counts[Count::Overran] == 0 {
            run.fault(Fault::Pause, server);
            sleep(Duration::from_millis(100));
        }
        s.arms[0].figures.counts[Count::Overran] > 0
    });
    let record = run.stop();
    assert_eq!(
        record.arms[0].figures.counts[Count::Stalled],
        0,
        "{:#?}",
        record.arms[0].figures
    );
    assert_eq!(record.arms[0].doubt, None);
}

/// Nobody knows how long they would have taken.
#[test]
fn sections_that_the_end_cuts_off_are_counted_apart() {
    let _lab = beside();
    let run = Run::start(CLOSED, &["workload.hold=10m"]);
    run.until("locks are held", |s| s.arms[0].figures.holding >= 2);
    let record = run.stop();
    let figures = &record.arms[0].figures;
    assert!(figures.counts[Count::CutOff] >= 2, "{figures:#?}");
    assert_eq!(
        (figures.sections(), figures.times[Time::Needed].count),
        (0, 0),
        "{figures:#?}"
    );
    assert_eq!(
        (figures.counts[Count::Overran], figures.booked(Entry::Orders)),
        (0, 0),
        "{figures:#?}"
    );
}

/// It has no other answer to go by, and no hold is too long to be waited for.
#[test]
fn a_section_that_outlasts_the_load_by_seconds_ends() {
    let _lab = beside();
    let run = Run::start(
        CLOSED,
        &[
            "duration=1s",
            "swarm.workers=1",
            "swarm.servers=1",
            "workload.hold=6500ms",
            "arm.redlock.ttl=20s",
        ],
    );
    let record = run.finish();
    let figures = &record.arms[0].figures;
    assert_eq!(
        (figures.counts[Count::Completed], figures.unfinished),
        (1, 0),
        "{:?}",
        texts(&record.warnings)
    );
    assert_eq!((record.partial.len(), figures.booked(Entry::Orders)), (0, 1));
}

#[test]
fn an_arm_without_its_nodes_says_so_at_once() {
    let _lab = beside();
    // They wait for so long that no acquire ends.
    let run = Run::start(CLOSED, &["arm.redlock.timeout=5m", "arm.redlock.wait=queue"]);
    run.until("it answers", |s| {
        s.arms[0].live.per_second > 10.0 && s.arms[0].live.health == Health::Well
    });
    run.fault(Fault::Pause, host(1));
    run.fault(Fault::Kill, host(2));
    let lacking = run.until("it has no quorum", |s| {
        s.arms[0].live.health == Health::NoQuorum { up: 1, of: 3 }
    });
    run.until("attempts fail and the oldest waits", |s| {
        let live = &s.arms[0].live;
        live.failed_attempts > 0 && live.oldest_wait.is_some_and(|wait| wait > Duration::from_secs(2))
    });
    run.until("nobody is answered", |s| s.arms[0].live.per_second < 0.1);
    let now = run.now();
    assert!(now.elapsed > lacking.elapsed);
    assert_eq!(now.arms[0].figures.outcomes.no_quorum, 0, "no acquire has ended");
    run.undo(Condition::Paused, host(1));
    run.until("the arm is well", |s| {
        s.arms[0].live.health == Health::Well && s.arms[0].live.per_second > 1.0
    });
    run.stop();
}

const ON_FIVE: &str = r#"
[[arm]]
name = "on three"
lock = "redlock"
hosts = 3
"#;

#[test]
fn a_redlock_on_three_of_five_hosts_uses_no_others() {
    let _lab = beside();
    let run = Run::start(&format!("{CLOSED}{ON_FIVE}"), &["lab.hosts=5"]);
    let [all, three] = [0, 1];
    run.until("each has the votes of all its hosts", |s| {
        s.arms[all].votes == Some((5, 5)) && s.arms[three].votes == Some((3, 3))
    });
    for id in [4, 5] {
        run.fault(Fault::Kill, host(id));
    }
    run.until("only one arm lacks votes", |s| {
        s.arms[all].votes == Some((3, 5)) && s.arms[three].votes == Some((3, 3))
    });
    for id in [2, 3] {
        run.fault(Fault::Kill, host(id));
    }
    run.until("both lack a quorum, each its own", |s| {
        s.arms[all].live.health == Health::NoQuorum { up: 1, of: 5 }
            && s.arms[three].live.health == Health::NoQuorum { up: 1, of: 3 }
    });
    for id in [2, 3] {
        run.undo(Condition::Down, host(id));
    }
    run.until("three hosts are enough for both", |s| {
        s.arms[all].votes == Some((3, 5)) && s.arms[three].votes == Some((3, 3))
    });
    let record = run.stop();
    assert_eq!(
        [all, three].map(|arm| record.arms[arm].lock.as_str()),
        ["redlock", "redlock, 3 hosts"]
    );
    let nodes = &record.arms[three].figures.nodes;
    assert_eq!(nodes.len(), 3);
    assert!(nodes.iter().all(|node| node.sets > 0));
}

const REPLICATED: &str = r#"
[lab.replicated]
down_after = "2s"
[[arm]]
name = "sentinel"
lock = "single"
topology = "replicated"
[[arm]]
name = "fixed"
lock = "single"
topology = "replicated"
follow = "fixed"
wait = "fail-fast"
"#;

#[test]
fn a_lock_that_follows_sentinels_survives_the_death_of_the_master_and_one_that_stays_does_not() {
    let _turn = alone();
    let run = Run::start(&format!("{CLOSED}{REPLICATED}"), &["arm.sentinel.timeout=1s"]);
    let [redlock, sentinel, fixed] = [0, 1, 2];
    let first = HostId(1);
    let role = |s: &Snapshot, host: usize| s.hosts[host - 1].role;
    run.until("all work, and the roles are seen", |s| {
        let arms_on_first = ["sentinel".to_owned(), "fixed".to_owned()];
        [redlock, sentinel, fixed].iter().all(|&arm| acquired(s, arm) > 20)
            && is_master(s, 1)
            && matches!(role(s, 2), Some(ReplicationRole::Replica { connected: true, .. }))
            && s.hosts[0].single_arms == arms_on_first
    });
    run.fault(Fault::Kill, Target::Host(first));
    let dead = run.until("two arms lack a master", |s| {
        s.arms[sentinel].live.health == Health::NoMaster && s.arms[fixed].live.health == Health::NodeDown(first)
    });
    // What was acquired before is counted a little later.
    let no_quorum = |s: &Snapshot| s.arms[fixed].figures.outcomes.no_quorum;
    let dead = run.until("only refusals are counted", |s| no_quorum(s) > no_quorum(&dead) + 20);
    run.until("it is said", |s| {
        is_said(s, "host 1 killed: sentinel has no master, fixed has no lock node")
    });
    let back = run.until("a new master is followed", |s| {
        let on_new_host =
            |host: usize| is_master(s, host) && s.hosts[host - 1].single_arms.contains(&"sentinel".to_owned());
        s.arms[sentinel].live.health == Health::Well
            && acquired(s, sentinel) > acquired(&dead, sentinel) + 50
            && (on_new_host(2) || on_new_host(3))
    });
    assert!(acquired(&back, fixed) < acquired(&dead, fixed) + 5, "nobody answers it");
    assert!(
        acquired(&back, redlock) > acquired(&dead, redlock) + 50,
        "two votes are enough"
    );

    // The old master comes back as a master, grants locks to whoever knows only it, and then becomes a replica.
    run.undo(Condition::Down, Target::Host(first));
    let old_master = |s: &Snapshot| s.hosts[0].old_master;
    let granting = run.until("the old master grants locks", |s| {
        acquired(s, fixed) > acquired(&back, fixed) + 20 && old_master(s).is_some_and(|old| old.still_grants)
    });
    assert_eq!(old_master(&back), None, "it was away");
    assert!(granting.hosts[1..].iter().all(|host| host.old_master.is_none()));
    run.until("it is a replica, and says that it is read-only", |s| {
        let read_only = |no_vote: &NoVote| no_vote.cause == Cause::ReadOnly;
        matches!(role(s, 1), Some(ReplicationRole::Replica { .. }))
            && old_master(s).is_none()
            && s.arms[fixed].lacking.iter().any(read_only)
    });
    run.until("it is marked as unable to work", |s| {
        s.arms[fixed].live.health == Health::NoVote(CauseKind::ReadOnly) && s.arms[sentinel].live.health == Health::Well
    });
    let record = run.stop();
    let demoted = |event: &&Event| event.kind == EventKind::Demoted { host: first };
    assert_eq!(record.events.iter().filter(demoted).count(), 1, "{:#?}", record.events);
    let last = |arm: usize| record.arms[arm].figures.outages.last().expect("the demotion").over;
    assert_eq!((last(sentinel), last(fixed)), (true, false));
    assert_eq!(
        (hosts_of(&record, sentinel), hosts_of(&record, fixed)),
        (vec![None], vec![Some(1)])
    );
    assert!(record.arms[sentinel].figures.nodes[0].sets > 100);
    assert_eq!(
        (record.arms[sentinel].lock.as_str(), record.arms[fixed].lock.as_str()),
        ("single, by Sentinel", "single, first master")
    );
    let text = report::summary(&record);
    assert!(text.contains("sentinel, the master"), "{text}");
}

const ON_THE_PRIMARY: &str = r#"
fault = [
    { at = "3s", do = "kill", on = "primary" },
    { after = "fault:1 + 100ms", do = "pause", on = "primary" },
    { when = "sentinel.acquired >= 900", do = "pause", on = "primary", for = "1s" },
]
expect = { "redlock.completed" = ">= 0" }
"#;

#[test]
fn the_primary_is_whoever_has_the_master_when_the_fault_starts() {
    let _turn = alone();
    let run = Run::start(&format!("{ON_THE_PRIMARY}{CLOSED}{REPLICATED}"), &[]);
    run.until("it is announced without a name", |s| {
        is_next(s, "the primary dies", Some(3.0))
    });
    // Eight workers that think for 50 ms cannot have acquired 900 locks after three seconds, so the third fault comes after the failover.
    run.until("the new master was paused and goes on", |s| {
        let resumed = |event: &Event| match &event.kind {
            EventKind::Fault { action, effect_at, .. } => action.word() == "resume" && effect_at.is_some(),
            _ => false,
        };
        s.events.iter().any(resumed)
    });
    let record = run.stop();
    let hit: Vec<(&str, Target)> = record
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Fault { action, target, .. } => Some((action.word(), *target)),
            _ => None,
        })
        .collect();
    let new = record.events.iter().find_map(|event| match event.kind {
        EventKind::Failover { host, .. } => Some(Target::Host(host)),
        _ => None,
    });
    let (first, new) = (host(1), new.expect("a failover"));
    assert_eq!(hit, [("kill", first), ("pause", new), ("resume", new)]);
    let missed = "fault 2 had no effect: no node was known to be the master when it was due";
    assert!(record.events.iter().any(|event| event.text() == missed));
    assert_eq!(record.expectations[0].result, CheckResult::Inconclusive);
    assert!(
        record.expectations[0].to_string().contains(missed),
        "{}",
        record.expectations[0]
    );
}

const FAILOVERS: &str = r#"
fault = [
    { at = "3s", do = "failover", by = "sentinel" },
    { after = "fault:1 + 3s", do = "failover", by = "hand" },
]
"#;

#[test]
fn a_lock_that_follows_sentinels_follows_a_failover_on_order_too() {
    let _turn = alone();
    let run = Run::start(
        &format!("{FAILOVERS}{CLOSED}{REPLICATED}"),
        &["arm.sentinel.timeout=1s"],
    );
    let sentinel = 1;
    let acquired = |s: &Snapshot| acquired(s, sentinel);
    let is_only_master = |s: &Snapshot, master: HostId| (1..=3).all(|host| is_master(s, host) == (host == master.0));
    let moved = |s: &Snapshot| -> Vec<HostId> {
        let moved = |event: &Event| match event.kind {
            EventKind::Fault {
                action: Action::Fault(Fault::Failover { .. }),
                target: Target::Host(host),
                effect_at: Some(_),
                ..
            } => Some(host),
            _ => None,
        };
        s.events.iter().filter_map(moved).collect()
    };
    run.until("the first is announced", |s| {
        is_next(s, "a Sentinel chooses another master", Some(3.0))
    });
    run.until("the second is announced", |s| {
        let next = s.next.as_ref();
        next.is_some_and(|next| {
            next.step.to_string() == "the most advanced replica becomes the master" && next.at.is_some()
        })
    });
    let done = run.until("both are done", |s| moved(s).len() == 2);
    let [first, second] = moved(&done)[..] else {
        panic!("two")
    };
    assert!(first != HostId(1) && second != first, "{first} {second}");
    for host in [first, second] {
        let said = format!("{host} has the master");
        let proof = format!("(the replicated node of {host} accepted a write as the master, effective after");
        assert!(
            done.events
                .iter()
                .any(|e| e.text().starts_with(&said) && e.text().contains(&proof))
        );
    }
    run.until("the roles are seen", |s| is_only_master(s, second));
    run.until("the arm goes on", |s| acquired(s) > acquired(&done) + 50);
    run.fault(Fault::Failover { by: Way::Hand }, host(1));
    let back = run.until("it is back on host 1", |s| {
        is_only_master(s, HostId(1)) && moved(s).len() == 3
    });
    run.until("the arm goes on there", |s| acquired(s) > acquired(&back) + 50);
    run.fault(Fault::Failover { by: Way::Hand }, host(1));
    run.until("it can't move to where it is", |s| {
        is_said(
            s,
            "fail over to host 1 by hand: no effect: there was no failover: host 1 has the master already",
        )
    });
    run.stop();
}

const CLUSTER: &str = r#"
[lab.cluster]
node_timeout = "2s"
[[arm]]
name = "cluster"
lock = "cluster"
[[arm]]
name = "masters"
lock = "redlock"
topology = "cluster"
wait = "fail-fast"
"#;

#[test]
fn a_cluster_counts_as_one_node() {
    let _turn = alone();
    let run = Run::start(&format!("{CLOSED}{CLUSTER}"), &["arm.cluster.timeout=1s"]);
    let [redlock, cluster, masters] = [0, 1, 2];
    let masters_on = |s: &Snapshot| -> Vec<Option<usize>> { s.hosts.iter().map(|host| host.cluster_masters).collect() };
    run.until("each host has a master, and the cluster grants locks", |s| {
        masters_on(s) == [Some(1); 3] && acquired(s, cluster) > 20 && acquired(s, redlock) > 20
    });
    // Two of the three masters say that the key is another one's.
    run.until("the redlock over its masters has no quorum", |s| {
        let arm = &s.arms[masters];
        arm.figures.outcomes.no_quorum > 20
            && arm.live.health == Health::NoQuorum { up: 1, of: 3 }
            && arm.lacking.iter().all(|lacking| lacking.cause == Cause::Moved)
    });
    run.fault(Fault::Kill, host(1));
    let dead = run.until("slots have lost their master", |s| {
        let lost = |kind: &EventKind| matches!(kind, EventKind::Cluster { slots } if *slots < 16_384);
        s.events.iter().any(|event| lost(&event.kind))
    });
    let back = run.until("a replica has taken over, and locks are granted", |s| {
        let taken = |kind: &EventKind| matches!(kind, EventKind::Failover { host: HostId(2), .. });
        masters_on(s) == [None, Some(2), Some(1)]
            && s.events.iter().any(|event| taken(&event.kind))
            && is_said(s, "cluster: every slot has a master that takes writes again")
            && acquired(s, cluster) > acquired(&dead, cluster) + 50
    });
    assert_eq!(back.arms[cluster].live.health, Health::Well);
    run.undo(Condition::Down, host(1));
    run.until("it comes back with replicas only", |s| {
        masters_on(s) == [Some(0), Some(2), Some(1)]
    });
    let record = run.stop();
    assert_eq!(record.arms[masters].figures.outcomes.acquired, 0);
    assert_eq!(
        (hosts_of(&record, cluster), hosts_of(&record, masters)),
        (vec![None], vec![Some(1), Some(2), Some(3)])
    );
    assert!(record.arms[cluster].figures.nodes[0].sets > 50);
    let text = report::summary(&record);
    for said in [
        "cluster, the cluster",
        "masters, host 3",
        "masters: took no order",
        "never had a quorum: 2 of its 3 nodes",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

const LINKS: &str = r#"
[lab.replicated]
down_after = "10m"
[[arm]]
name = "sentinel"
lock = "single"
topology = "replicated"
[[fault]]
at = "1s"
do = "lag"
on = "replication"
delay = "400ms"
direction = "there"
"#;

#[test]
fn replicas_that_lag_or_are_cut_off_are_shown_so() {
    let _turn = alone();
    let run = Run::start(&format!("{CLOSED}{LINKS}"), &[]);
    run.until("the proxy's cost is told", |s| {
        let cost = |event: &Event| matches!(event.kind, EventKind::Proxy { .. });
        s.events.iter().any(cost)
    });
    let (all, one) = (
        Target::Link(Link::Replication),
        Target::Link(Link::Between(HostId(1), HostId(3))),
    );
    run.until("the lag is in effect", |s| {
        is_said(s, "replication lagged by 400 ms from the master to its replicas (")
    });
    let behind = |s: &Snapshot, host: usize| s.hosts[host - 1].behind;
    run.until("both replicas are as late as that", |s| {
        [2, 3].iter().all(|&host| {
            let near = |behind: Behind| behind.time.abs_diff(Duration::from_millis(400)) < Duration::from_millis(150);
            behind(s, host).is_some_and(|behind| near(behind) && !behind.stands_still)
        })
    });
    run.undo(Condition::Lagging, all);
    run.until("it ends", |s| {
        is_said(s, "replication unlagged (") && behind(s, 2).is_none()
    });
    let direction = Direction::Both;
    run.fault(Fault::Cut { direction }, one);
    run.until("one replica is cut off, and only that", |s| {
        is_said(s, "the link of hosts 1 and 3 cut (3 connections are silent")
            && behind(s, 3).is_some_and(|behind| behind.stands_still)
            && behind(s, 2).is_none()
    });
    run.undo(Condition::Cut, one);
    run.until("it is in step again", |s| {
        is_said(s, "the link of hosts 1 and 3 uncut (") && behind(s, 3).is_none()
    });
    let record = run.stop();
    assert_eq!(
        record.arms[0].figures.outcomes.no_quorum, 0,
        "lock nodes are on no link"
    );
}

const LAGGING: &str = r#"
[[arm]]
name = "single"
lock = "single"
[[fault]]
at = "3s"
do = "lag"
on = "host:1"
delay = "60ms"
[[fault]]
when = "redlock.acquired >= 1000000"
do = "unlag"
on = "host:1"
"#;

#[test]
fn a_host_that_lags_beyond_the_node_timeout_gives_no_vote_until_it_is_undone() {
    let _lab = beside();
    let run = Run::start(&format!("{CLOSED}{LAGGING}"), &["arm.single.wait=fail-fast"]);
    run.until("it is announced with its delay", |s| {
        is_next(s, "host 1 is lagged by 60 ms", Some(3.0))
    });
    run.until("it is in effect", |s| {
        is_said(s, "host 1 lagged by 60 ms (a round trip on port ")
    });
    let lagging = run.until("the one node answers too late, and two votes are enough", |s| {
        let lacking = |arm: usize| s.arms[arm].lacking.iter().any(|no_vote| no_vote.node == 1);
        conditions(s, 1).has(Condition::Lagging) && lacking(1) && s.arms[0].votes == Some((2, 3))
    });
    run.until("redlock goes on", |s| acquired(s, 0) > acquired(&lagging, 0) + 100);
    let failed = run.now().arms[1].live.failed_attempts;
    run.until("single does not", |s| s.arms[1].live.failed_attempts > failed + 10);
    assert_eq!(
        conditions(&run.now(), 2).iter().count(),
        0,
        "host 2 has its own network"
    );
    run.undo(Condition::Lagging, host(1));
    let back = run.until("it is undone", |s| is_said(s, "host 1 unlagged (a round trip on port "));
    run.until("single goes on", |s| acquired(s, 1) > acquired(&back, 1) + 50);
    let record = run.stop();
    let lag = record.events.iter().find_map(|event| match &event.kind {
        EventKind::Fault { action, proof, .. } if action.word() == "lag" => Some((*action, proof.len())),
        _ => None,
    });
    let delay = Duration::from_millis(60);
    assert_eq!(
        lag,
        Some((
            Action::Fault(Fault::Lag {
                delay,
                direction: Direction::Both
            }),
            1
        ))
    );
    // In JSON times are whole microseconds.
    let json = serde_json::to_value(&record).expect("JSON");
    let again: Record = recorded(&serde_json::to_vec(&json).expect("JSON"));
    assert_eq!(serde_json::to_value(&again.events).expect("JSON"), json["events"]);
    assert!(
        record.scenario_toml.contains("do = \"lag\"\ndelay = \"60ms\""),
        "{}",
        record.scenario_toml
    );
}

#[test]
fn a_stalled_arm_says_for_how_long() {
    let _lab = beside();
    // All want the same lock, so that somebody always waits.
    let run = Run::start(
        CLOSED,
        &["workload.products=1", "workload.hold=300ms", "arm.redlock.wait=queue"],
    );
    run.until("it answers", |s| {
        s.arms[0].live.per_second > 0.5 && s.arms[0].live.oldest_wait.is_some()
    });
    for id in [1, 2] {
        run.fault(Fault::Pause, server(id));
    }
    run.until(
        "it stands still",
        |s| matches!(s.arms[0].live.health, Health::Stalled(time) if time > Duration::from_secs(2)),
    );
    for id in [1, 2] {
        run.undo(Condition::Paused, server(id));
    }
    run.until("the arm is well", |s| s.arms[0].live.health == Health::Well);
    let record = run.stop();
    assert!(
        record.events.iter().any(|event| event
            .text()
            .starts_with("app server 1 paused: its timers and renewals stand still (")),
        "{:?}",
        record.events
    );
}

#[test]
fn a_pause_longer_than_the_ttl_is_a_consequence_even_if_the_load_ends_meanwhile_and_a_shorter_one_is_none() {
    let _lab = beside();
    for (ttl, counts) in [("1s", true), ("10m", false)] {
        let ttl = format!("arm.redlock.ttl={ttl}");
        let run = Run::start(CLOSED, &["workload.hold=300ms", "arm.redlock.wait=queue", &ttl]);
        run.until("locks are held", |s| s.arms[0].figures.holding >= 2);
        for id in [1, 2] {
            run.fault(Fault::Pause, server(id));
        }
        let paused = |s: &Snapshot| s.servers.iter().all(|one| one.conditions.has(Condition::Paused));
        let since = run.until("both are paused", paused).elapsed;
        run.until("a while later", |s| s.elapsed > since + 1.2);
        let record = run.stop();
        let found = &record.arms[0].figures.consequences;
        let is_past = |kind| matches!(kind, ConsequenceKind::PausedPastTtl { locks: 1.. });
        assert_eq!(!found.is_empty(), counts, "{ttl}: {found:?}");
        assert!(
            found.iter().all(|one| is_past(one.kind) && one.event.is_some()),
            "{found:?}"
        );
    }
}

const OPEN_EXPECTATIONS: &str = r#"
[expect]
"redlock.lost_updates" = "== 0"
"redlock.orders" = ">= 1000000"
"#;

#[test]
fn app_servers_are_paused_and_killed_without_the_others_and_a_stopped_run_leaves_open_what_could_still_have_shown() {
    let _lab = beside();
    let run = Run::start(&format!("{CLOSED}{OPEN_EXPECTATIONS}"), &[]);
    let first = server(1);
    run.fault(Fault::Pause, first);
    run.until("it is paused", |s| s.servers[0].conditions.has(Condition::Paused));
    let before = run.now();
    run.until("the other one works on", |s| completed(s) > completed(&before) + 50);
    run.undo(Condition::Paused, first);
    run.until("it works again", |s| s.servers[0].conditions.is_up());
    run.fault(Fault::Kill, first);
    run.until("it is dead", |s| s.servers[0].conditions.has(Condition::Down));
    let before = run.now();
    run.until("the other one works on", |s| completed(s) > completed(&before) + 50);
    run.fault(Fault::Pause, server(2));
    run.until("it is paused", |s| s.servers[1].conditions.has(Condition::Paused));
    run.fault(Fault::Kill, server(2));
    run.until("a paused one can be killed", |s| {
        s.servers[1].conditions.has(Condition::Down)
    });
    let record = run.stop();
    let results: Vec<_> = record.expectations.iter().map(|checked| checked.result).collect();
    assert_eq!(results, [CheckResult::Inconclusive; 2]);
    let figures = &record.arms[0].figures;
    assert_eq!(
        (figures.booked(Entry::LostUpdates), figures.counts[Count::Errors]),
        (0, 0),
        "a kill looks like no damage by the lock"
    );
}

#[test]
fn knobs_turn_while_it_runs() {
    let _lab = beside();
    let run = Run::start(OPEN, &["arm.atomic.lock=redlock", "arm.atomic.update=read-write"]);
    run.order(Command::Turn(Knob::Rate(20.0)));
    run.until("a lower rate", |s| (15..=25).contains(&last_second(s)));
    run.order(Command::Turn(Knob::Rate(150.0)));
    run.until("a higher rate", |s| last_second(s) > 100);
    run.order(Command::Turn(Knob::Hold(Duration::from_millis(80))));
    run.until("a longer hold", |s| {
        s.arms[0]
            .series
            .newest()
            .is_some_and(|point| point.times[Time::Response].p50 > 70_000)
    });
    let ttl = Duration::from_secs(7);
    run.order(Command::Turn(Knob::Ttl(ttl)));
    run.order(Command::Turn(Knob::Workers(1)));
    run.until("fewer workers than the rate needs: work is late", |s| {
        s.arms[0].figures.counts[Count::Late] > 20
    });
    run.order(Command::Turn(Knob::Workers(40)));
    let knobs = run.until("more workers", |s| s.knobs.workers == 40).knobs;
    assert_eq!(
        (knobs.ttl, knobs.rate, knobs.hold),
        (Some(ttl), Some(150.0), Duration::from_millis(80))
    );
    let record = run.stop();
    let turns: Vec<String> = record
        .events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Knob { .. }))
        .map(Event::text)
        .collect();
    assert_eq!(turns.len(), 6, "{turns:?}");
    assert!(
        ["TTL 7 s", "median hold 80 ms"]
            .iter()
            .all(|one| turns.iter().any(|turn| turn == one)),
        "{turns:?}"
    );
    let warnings = turn_warnings(&record);
    assert!(
        warnings.len() == 1
            && warnings[0].starts_with("changed by key (the last 3 of 6 changes): TTL 7 s at ")
            && warnings[0].ends_with(" s; figures mix all settings"),
        "{warnings:?}"
    );
    assert!(report::summary(&record).contains(&warnings[0]));
}

/// What a record says about turned knobs.
fn turn_warnings(record: &Record) -> Vec<String> {
    let warnings = record.warnings.iter();
    let turned = warnings.filter(|caveat| matches!(caveat, Caveat::Turned { .. }));
    turned.map(Caveat::to_string).collect()
}

#[test]
fn late_work_is_done_and_counted_from_its_intended_start_and_a_knob_that_was_not_moved_leaves_no_trace() {
    let _lab = beside();
    let run = Run::start(OPEN, &[]);
    let before = run.until("it has done some", |s| completed(s) > 100);
    let (late_before, knobs) = (before.arms[0].figures.counts[Count::Late], before.knobs);
    run.order(Command::Turn(Knob::Workers(knobs.workers)));
    run.until("the order is carried out", |s| s.knobs.turns == knobs.turns + 1);
    let both = [server(1), server(2)];
    for server in both {
        run.fault(Fault::Pause, server);
    }
    let paused = run.until("all are paused", |s| {
        s.servers.iter().all(|server| server.conditions.has(Condition::Paused))
    });
    run.until("a second has passed", |s| s.elapsed > paused.elapsed + 1.0);
    for server in both {
        run.undo(Condition::Paused, server);
    }
    let after = run.until("it has caught up", |s| {
        let figures = &s.arms[0].figures;
        figures.offered > 300 && figures.offered.abs_diff(figures.counts[Count::Completed]) < 20
    });
    let figures = &after.arms[0].figures;
    assert!(figures.counts[Count::Late] >= late_before + 80, "{figures:?}");
    assert!(figures.times[Time::Response].max >= 900_000, "{figures:?}");
    let record = run.stop();
    assert!(
        !record
            .events
            .iter()
            .any(|event| matches!(event.kind, EventKind::Knob { .. }))
    );
    assert!(turn_warnings(&record).is_empty(), "{:?}", texts(&record.warnings));
}

#[test]
fn warm_up_is_not_counted_and_a_limit_is_kept_exactly() {
    let _lab = beside();
    let run = Run::start(CLOSED, &["warmup=2s", "swarm.requests=200", "swarm.think=5ms"]);
    let record = run.finish();
    let figures = &record.arms[0].figures;
    assert!(!record.interrupted);
    assert_eq!(figures.stuck, Some(0), "nothing was planted");
    // Requests that were under way when the measured part began count in it; there are 8 workers.
    assert!((200..=208).contains(&figures.counts[Count::Completed]), "{figures:?}");
    assert!(
        figures.booked(Entry::Orders).abs_diff(figures.counts[Count::Completed]) <= 8,
        "{figures:?}"
    );
    assert!(
        record.arms[0]
            .series
            .iter()
            .any(|point| point.time < 0 && point.counts[Count::Completed] > 0)
    );
}

#[test]
fn a_ramp_brings_the_workers_one_after_the_other() {
    let _lab = beside();
    let run = Run::start(OPEN, &["swarm.ramp=4s", "swarm.rate=200"]);
    let record = {
        run.until("the ramp is over", |s| s.elapsed > 6.0);
        run.stop()
    };
    let at = |second| {
        record.arms[0]
            .series
            .iter()
            .find(|p| p.time == second)
            .map_or(0, |p| p.counts[Count::Completed])
    };
    // n(t) = 200 t² / 8: 25 in the first second, 175 in the fourth, then 200.
    assert!(at(0) < at(3), "{} in the first second, {} in the fourth", at(0), at(3));
    assert!(at(0) < 100, "{} in the first second", at(0));
}

#[test]
fn ten_thousand_workers_start_and_run() {
    let _lab = beside();
    let run = Run::start(
        CLOSED,
        &[
            "swarm.servers=4",
            "swarm.workers=2500",
            "swarm.think=2s",
            "workload.products=20000",
        ],
    );
    run.until("each has had a turn, on the average", |s| completed(s) >= 10_000);
    let record = run.stop();
    assert_eq!(record.arms[0].figures.counts[Count::Errors], 0);
}
