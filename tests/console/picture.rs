//! Made-up snapshots, as a run would publish them, for the tests and the benchmark of the console.
#![allow(dead_code)] // each test binary uses its part

use std::sync::Arc;
use std::time::Duration;

use lockstorm_data::facts::{Event, EventKind, LockChange, OrderedBy, Step, Turn};
use lockstorm_data::history::{Belief, BeliefSale, DoubleHold, Holder, LostVote, Ruling};
use lockstorm_data::metrics::{Count, Entry, Figures, HitsPerExpiry, Latency, Metric, Point, Quantiles, Series, Time};
use lockstorm_data::model::{
    Action, Cause, Condition, Conditions, Fault, HostId, How, NoVote, Outcomes, ServerId, Target, Wait,
};
use lockstorm_data::scenario::{
    AccountLocks, ArmSpec, Arrivals, Balance, CacheFillSpec, CacheSpec, DatabaseSpec, DatabaseUrl, Expectation, Fence,
    Follow, InventorySpec, LabSpec, LockKind, OnLoss, OnOutage, Op, Popularity, Release, Renew, Scenario, ServiceTime,
    StockIn, SwarmSpec, Topology, Update, WorkloadSpec,
};
use lockstorm_lab::NodeStats;
use lockstorm_run::{ArmView, HostView, Knobs, LastLock, Live, Outlasted, Phase, ServerView, Snapshot};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn service(median: Duration) -> ServiceTime {
    ServiceTime { median, sigma: 0.6 }
}

pub fn arm(name: &str, lock: LockKind, update: Update) -> ArmSpec {
    ArmSpec {
        command: Vec::new(),
        topology: Topology::default(),
        follow: Follow::default(),
        wait_replicas: 0,
        hosts: None,
        wait_timeout: Duration::from_millis(200),
        name: name.to_owned(),
        lock,
        ttl: ms(2000),
        renew: Renew::Fraction(3),
        wait: Wait::FailFast,
        timeout: ms(5000),
        node_timeout: ms(100),
        host: HostId(1),
        update,
        fence: Fence::Off,
        serve_stale: false,
        second_look: true,
        on_loss: OnLoss::CarryOn,
        lifetime: None,
        on_outage: OnOutage::GiveUp,
        release: Release::AfterWrite,
        locks: AccountLocks::InOrder,
    }
}

fn expect(arm: &str, metric: Metric, op: Op, bound: f64, text: &str) -> Expectation {
    Expectation {
        arm: arm.to_owned(),
        metric,
        op,
        bound,
        text: text.to_owned(),
    }
}

/// The main scenario: five arms that sell a stock on three hosts.
pub fn inventory() -> Scenario {
    Scenario {
        name: "single-vs-redlock".to_owned(),
        title: "The node under the single lock dies and comes back empty".to_owned(),
        about: String::new(),
        caption: None,
        lesson: None,
        look_at: None,
        to_try: None,
        duration: ms(60_000),
        warmup: ms(2000),
        drain: None,
        seed: 42,
        lab: LabSpec::of(3),
        swarm: SwarmSpec {
            servers: 4,
            workers: 16,
            rate: Some(400.0),
            requests: None,
            ramp: Duration::ZERO,
            think: Duration::ZERO,
            turns: None,
            balance: Balance::RoundRobin,
            arrivals: Arrivals::Even,
        },
        workload: WorkloadSpec::Inventory(InventorySpec {
            products: 200,
            stock: 50,
            popularity: Popularity::Uniform,
            hold: service(ms(5)),
            stock_in: StockIn::Database,
        }),
        database: DatabaseSpec {
            url: DatabaseUrl::sqlite(),
            url_env: None,
            exposed: None,
            read: service(ms(2)),
            pool: 5,
        },
        arms: vec![
            arm("no lock", LockKind::None, Update::ReadWrite),
            arm("local", LockKind::Local, Update::ReadWrite),
            arm("single", LockKind::Single, Update::ReadWrite),
            arm("redlock", LockKind::Redlock, Update::ReadWrite),
            arm("atomic", LockKind::None, Update::Atomic),
        ],
        faults: Vec::new(),
        expect: vec![
            expect("redlock", Metric::Oversold, Op::Equal, 0.0, "== 0"),
            expect("single", Metric::Oversold, Op::Greater, 0.0, "> 0"),
            expect("redlock", Metric::AcquireP99, Op::Less, 50_000.0, "< 50ms"),
        ],
    }
}

/// One hot key that expires, under four arms.
pub fn stampede() -> Scenario {
    let cache = CacheSpec {
        name: "front-page".to_owned(),
        keys: 1,
        popularity: Popularity::Uniform,
        state_ttl: ms(2000),
        data_ttl: ms(10_000),
        pages: None,
        weight: 1.0,
    };
    Scenario {
        name: "stampede".to_owned(),
        title: "One hot key expires under a hundred readers".to_owned(),
        about: String::new(),
        caption: None,
        swarm: SwarmSpec {
            rate: None,
            workers: 25,
            think: ms(50),
            turns: None,
            balance: Balance::RoundRobin,
            arrivals: Arrivals::Even,
            ..inventory().swarm
        },
        workload: WorkloadSpec::CacheFill(CacheFillSpec { caches: vec![cache] }),
        arms: vec![
            arm("none", LockKind::None, Update::ReadWrite),
            arm("local", LockKind::Local, Update::ReadWrite),
            arm("single, stale", LockKind::Single, Update::ReadWrite),
            arm("redlock", LockKind::Redlock, Update::ReadWrite),
        ],
        expect: vec![expect("redlock", Metric::DbHitsPerExpiry, Op::Less, 1.5, "< 1.5")],
        ..inventory()
    }
}

/// A snapshot of a scenario after some seconds, with everything up and nothing wrong.
pub fn calm(scenario: Scenario, elapsed: f64) -> Snapshot {
    let hosts = (1..=scenario.lab.hosts).map(|number| HostView {
        id: HostId(number),
        conditions: Conditions::default(),
        affected: Vec::new(),
        port: 40_000 + u16::try_from(number).expect("few hosts"),
        stats: Some(NodeStats {
            ops_per_sec: 1_980,
            keys: 41,
            used_memory: 1_400_000,
            ping: Duration::from_micros(210),
        }),
        role: None,
        old_master: None,
        cluster_masters: None,
        leads_etcd: None,
        behind: None,
        single_arms: scenario
            .arms
            .iter()
            .filter(|arm| arm.lock == LockKind::Single && arm.host.0 == number)
            .map(|arm| arm.name.clone())
            .collect(),
        log: Arc::default(),
    });
    let servers = (1..=scenario.swarm.servers).map(|number| ServerView {
        id: ServerId(number),
        conditions: Conditions::default(),
        clients: None,
    });
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole seconds of a short run"
    )]
    let seconds = elapsed.max(0.0) as u64 + 1;
    let arms = scenario
        .arms
        .iter()
        .map(|spec| {
            let mut arm = arm_view(spec, &scenario, seconds);
            arm.live.per_second = 398.0;
            arm
        })
        .collect();
    let knobs = Knobs {
        ttl: Some(ms(2000)),
        workers: scenario.swarm.workers,
        rate: scenario.swarm.rate,
        hold: ms(5),
        turns: 0,
    };
    Snapshot {
        number: seconds * 10,
        server: "redis-server 7.0.15".into(),
        phase: Phase::Running,
        elapsed,
        hosts: hosts.collect(),
        servers: servers.collect(),
        arms,
        events: Arc::new(vec![
            event(0, -2.4, EventKind::Phase { step: Step::WarmUp }),
            event(
                1,
                0.0,
                EventKind::Phase {
                    step: Step::MeasureBegins,
                },
            ),
        ]),
        knobs,
        caption: None,
        act: None,
        next: None,
        held: false,
        ends_at: Some(scenario.duration.as_secs_f64()),
        gives_up_in: None,
        caveats: Vec::new(),
        processor_wait: None,
        used_by_others: None,
        partial: Vec::new(),
        scenario: Arc::new(scenario),
    }
}

fn arm_view(spec: &ArmSpec, scenario: &Scenario, seconds: u64) -> ArmView {
    let nodes = match spec.lock {
        LockKind::Single => 1,
        LockKind::Redlock => scenario.lab.hosts,
        _ => 0,
    };
    let slow = if nodes > 1 { 2 } else { 1 };
    let mut series = Series::default();
    for second in 0..seconds {
        // A wave, to give the lines a shape.
        let wave = (second * 7) % 11;
        let locks = spec.lock != LockKind::None;
        let time = i64::try_from(second).expect("few seconds");
        *series.at(time).expect("room") = Point {
            counts: [
                (Count::Completed, 398),
                (Count::DbHits, if second % 3 == 0 { 4 } else { 0 }),
            ]
            .into(),
            time,
            outcomes: if locks {
                Outcomes {
                    acquired: 371 + wave,
                    contended: 9,
                    ..Outcomes::default()
                }
            } else {
                Outcomes::default()
            },
            times: [
                (
                    Time::Acquired,
                    if locks {
                        latency((400 + wave * 12) * slow, (2_100 + wave * 400) * slow)
                    } else {
                        Latency::default()
                    },
                ),
                (Time::Response, latency(7_400 + wave * 100, 21_000 + wave * 900)),
            ]
            .into(),
            ledger: [(Entry::Orders, 160)].into(),
            ..Point::default()
        };
    }
    let locks = spec.lock != LockKind::None;
    let acquire_us = Quantiles {
        count: 371 * seconds,
        p50: 420 * slow,
        p90: 900 * slow,
        p99: 2_100 * slow,
        p999: 9_000,
        max: 12_000,
    };
    let response = Quantiles {
        count: 398 * seconds,
        p50: 7_400,
        p90: 12_000,
        p99: 21_000,
        p999: 40_000,
        max: 50_000,
    };
    ArmView {
        name: spec.name.clone(),
        figures: Figures {
            counts: [(Count::Completed, 398 * seconds)].into(),
            outcomes: if locks {
                Outcomes {
                    acquired: 371 * seconds,
                    contended: 9 * seconds,
                    ..Outcomes::default()
                }
            } else {
                Outcomes::default()
            },
            acquire_us: if locks { acquire_us } else { Quantiles::default() },
            times: [(Time::Response, response)].into(),
            answered: 398 * seconds,
            throughput: 398.0,
            ledger: [(Entry::Orders, 160 * seconds)].into(),
            contested: 9 * seconds,
            ..Figures::default()
        },
        series: Arc::new(series),
        recent_tenths: Arc::default(),
        last_locks: Vec::new(),
        double_holds: Vec::new(),
        votes: (nodes > 0).then_some((nodes, nodes)),
        lacking: Vec::new(),
        outlasted: if nodes > 0 {
            outlasted(spec.ttl, 371 * seconds)
        } else {
            Outlasted::default()
        },
        done: false,
        live: Live::default(),
        first_error: None,
        later: Vec::new(),
    }
}

/// Sections half of which outlast 10 ms, a quarter 20 ms, and so on.
fn outlasted(ttl: Duration, sections: u64) -> Outlasted {
    let ladder = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000];
    let mut ttls: Vec<Duration> = ladder.map(ms).into_iter().chain([ttl]).collect();
    ttls.sort_unstable();
    ttls.dedup();
    let outlasting = |place: usize| sections >> (place + 1);
    Outlasted {
        sections,
        by_ttl: ttls
            .into_iter()
            .enumerate()
            .map(|(place, ttl)| (ttl, outlasting(place)))
            .collect(),
    }
}

const fn event(id: u64, at: f64, kind: EventKind) -> Event {
    Event { id, at, kind }
}

fn fault(id: u64, at: f64, action: Action, target: Target, effect: Option<f64>) -> Event {
    let effect_at = effect.map(|after| at + after);
    event(id, at, EventKind::fault(action, target, OrderedBy::User, effect_at))
}

/// The main scenario after a kill, a restart and another kill: damage in three arms, host 3 paused.
pub fn storm() -> Snapshot {
    let mut now = calm(inventory(), 47.3);
    now.hosts[1].conditions = Conditions::only(Condition::Down, Some(How::By(Fault::Kill)), ms(6_200));
    now.hosts[1].stats = None;
    now.hosts[0].log = Arc::from(["lock node: * Ready to accept connections".to_owned()]);
    now.hosts[2].conditions = Conditions::only(Condition::Paused, None, ms(1_800));
    now.hosts[2].stats = None;
    now.servers[2].conditions = Conditions::only(Condition::Paused, None, ms(2_100));
    let single = "single".to_owned();
    let redlock = "redlock".to_owned();
    let (ttl, were_us) = (ms(2_000), None);
    let turn = Turn::Ttl { ttl, were_us };
    let (kill, restart) = (Action::Fault(Fault::Kill), Action::Undo(Condition::Down));
    Arc::make_mut(&mut now.events).extend([
        fault(2, 22.0, kill, Target::Host(HostId(1)), Some(0.003)),
        fault(3, 23.1, restart, Target::Host(HostId(1)), Some(0.012)),
        event(
            4,
            23.4,
            EventKind::Damage {
                arm: single,
                damage: Entry::Oversold,
                product: Some(7),
                units: Some(14),
                by_stall: false,
            },
        ),
        event(5, 30.2, EventKind::Knob { turn }),
        fault(6, 41.1, kill, Target::Host(HostId(2)), Some(0.002)),
        fault(7, 45.5, Fault::Pause.into(), Target::Host(HostId(3)), Some(0.001)),
        event(
            8,
            45.6,
            EventKind::Lock {
                arm: redlock,
                change: LockChange::AllRefused { lacking: None },
            },
        ),
        fault(9, 47.2, restart, Target::Host(HostId(2)), None),
    ]);
    for (index, oversold) in [(0, 214), (1, 96), (2, 14)] {
        damaged(&mut now.arms[index], oversold);
    }
    for arm in &mut now.arms[2..] {
        arm.figures.sold_out_all = true;
    }
    let redlock = &mut now.arms[3];
    redlock.lacking = vec![no_vote(2, Cause::Refused), no_vote(3, Cause::Timeout)];
    redlock.votes = Some((2, 3));
    redlock.figures.outcomes.no_quorum = 1_312;
    redlock.figures.acquire_us.p99 = 61_000;
    change(redlock, 45.., |point| {
        point.outcomes.acquired = 0;
        point.outcomes.no_quorum = 312 + u64::try_from(point.time).expect("not negative") * 20;
        point.times[Time::Acquired] = Latency::default();
        point.times[Time::NoQuorum] = latency(100_400, 210_000);
    });
    now
}

/// The storm, in which the lock of this arm was held by two at once, twice; and what it gave back last.
pub fn double_held(arm: usize) -> Snapshot {
    let mut now = storm();
    let belief = |worker, [from, until]: [i64; 2]| Belief {
        holder: Holder { server: 1, worker },
        name: None,
        token: format!("token {worker}"),
        asked_us: Some(from - 400),
        from_us: from,
        until_us: Some(until),
        relied_until_us: Some(from + 2_000_000),
        votes: vec![1],
        nodes: 1,
        sale: Some(BeliefSale {
            at_us: until - 900,
            left: 36,
        }),
    };
    let double = |number, from| DoubleHold {
        number,
        key: format!("product:{number}"),
        first: belief(6, [from, from + 1_400_000]),
        second: belief(20, [from + 900_000, from + 2_300_000]),
        overlap_us: Some(500_000),
        lost: vec![LostVote {
            host: Some(1),
            event: Some(3),
            new_master: None,
            old_master: None,
        }],
        ruling: Some(Ruling::Explained),
        removed_by: None,
    };
    let view = &mut now.arms[arm];
    view.double_holds = vec![double(1, 21_500_000), double(2, 22_400_000)];
    view.last_locks = vec![LastLock {
        key: "product:9".to_owned(),
        belief: belief(3, [46_900_000, 46_905_300]),
    }];
    now
}

fn latency(p50: u64, p99: u64) -> Latency {
    Latency::from(Quantiles {
        p50,
        p99,
        ..Quantiles::default()
    })
}

fn no_vote(node: usize, cause: Cause) -> NoVote {
    NoVote { node, cause }
}

fn damaged(arm: &mut ArmView, oversold: u64) {
    arm.figures.ledger[Entry::Oversold] = Some(oversold);
    arm.figures.ledger[Entry::LostUpdates] = Some(oversold);
    arm.figures.ledger[Entry::LostUpdatesPeak] = Some(oversold);
    arm.figures.ledger[Entry::Orders] = Some(10_000 + oversold);
    arm.figures.sold_out_all = true;
    change(arm, 23..29, |point| {
        point.ledger[Entry::Oversold] = u64::try_from(point.time).expect("not negative") - 21;
        point.ledger[Entry::LostUpdates] = 3;
        point.times[Time::Acquired].p99 *= 30;
    });
}

fn change(arm: &mut ArmView, seconds: impl std::ops::RangeBounds<i64>, how: impl Fn(&mut Point)) {
    let mut series = Series::default();
    for point in arm.series.iter() {
        let mut point = *point;
        if seconds.contains(&point.time) {
            how(&mut point);
        }
        *series.at(point.time).expect("room") = point;
    }
    arm.series = Arc::new(series);
}

/// A stampede after some expiries.
pub fn stampeded() -> Snapshot {
    let mut now = calm(stampede(), 33.0);
    for (arm, (mean, max)) in now.arms.iter_mut().zip([(86.25, 92), (4.0, 4), (1.0, 1), (1.0, 1)]) {
        arm.figures.db_hits_per_expiry = HitsPerExpiry {
            expiries: 16,
            mean,
            max,
        };
        arm.figures.counts[Count::Hits] = 61_234;
    }
    now.arms[2].figures.counts[Count::StaleReads] = 3_120;
    now
}

/// The same snapshot, finished.
pub fn finished(mut snapshot: Snapshot) -> Snapshot {
    snapshot.phase = Phase::Finished { interrupted: false };
    snapshot.elapsed = snapshot.scenario.duration.as_secs_f64();
    snapshot
}

/// A full history: one hour of five arms.
pub fn full_history() -> Snapshot {
    let mut now = calm(inventory(), 3_599.0);
    let events = Arc::make_mut(&mut now.events);
    for id in 2..500_u64 {
        let at = id as f64 * 7.0;
        events.push(fault(id, at, Fault::Kill.into(), Target::Host(HostId(1)), Some(0.002)));
    }
    now
}
