//! The faults of a recorded run, again in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;

use super::compared::{Compared, Named};
use super::error::PlanError;
use super::question::Question;
use super::read::{FromRecord, holds_of_record, sum};
use super::setting::{Renewal, Setting};
use super::simulate::{End, play, settings};
use super::simulated::Simulated;
use super::spread::Spread;
use super::surroundings::Surroundings;
use super::worlds::{FromWorld, in_parallel, seed_of};
use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::metrics::{Count, Time, histogram};
use lockstorm_data::model::{Action, CheckResult, Condition, Direction, Fault, HostId, Link, Skew, Target};
use lockstorm_data::scenario::{ArmSpec, LockNodes, Persistence, Popularity, Renew, Scenario, WorkloadSpec};
use lockstorm_lock::simulation::{Order, Span, World};
use lockstorm_run::{ArmRecord, Record};

/// One arm of a recorded run with everything that broke in it, to be played again.
#[derive(Debug)]
pub struct Replay {
    /// The name of the arm.
    pub arm: String,
    question: Question,
    setting: Setting,
    surroundings: Surroundings,
    orders: Vec<(Duration, Order)>,
    /// How many units there are under each lock.
    stock: u64,
    length: Duration,
    /// What the arm did on real nodes.
    pub real: Replayed,
    /// What broke in the run, but can't be played: a sentence each.
    pub left_out: Vec<String>,
}

/// What an arm did on real nodes, or in one play.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Replayed {
    /// Sections that had work.
    pub sections: f64,
    /// Of these, the ones that outlasted their lock.
    pub overran: f64,
    /// Acquires that ended without the lock.
    pub refused: f64,
    /// Locks of dead app servers that somebody else got.
    pub takeovers: f64,
    /// The mean time from the death until then, in microseconds; `None` if there were none.
    pub takeover_mean_us: Option<f64>,
}

impl Replayed {
    fn of(simulated: &Simulated) -> Self {
        let takeovers = simulated.takeovers;
        Self {
            sections: simulated.sections as f64,
            overran: simulated.overran as f64,
            refused: simulated.refused as f64,
            takeovers: takeovers.count as f64,
            takeover_mean_us: (takeovers.count > 0).then(|| takeovers.mean() * 1e6),
        }
    }
}

/// A figure, and how it is read.
type Figure = (Named, fn(&Replayed) -> Option<f64>);

const FIGURES: [Figure; 5] = [
    (("sections", "sections", false), |did| Some(did.sections)),
    (("overran", "overran", false), |did| Some(did.overran)),
    (("refused", "refused", false), |did| Some(did.refused)),
    (("takeovers", "takeovers", false), |did| Some(did.takeovers)),
    (("takeover_mean_us", "takeover mean", true), |did| did.takeover_mean_us),
];

/// What the worlds of a replay gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// What each world gave.
    pub plays: Vec<Replayed>,
    /// What all worlds gave together.
    pub all: Simulated,
    /// Each time from an app server's death until somebody else got its lock.
    pub takeovers: Vec<Duration>,
}

/// A play may take so many events, and more where sections end: nodes may be away for long.
const MOST_EVENTS: u64 = 1_000_000_000;

impl Replay {
    /// The arm of this name, or the first one that held locks.
    ///
    /// # Errors
    /// There is no such arm, or its lock or its work can't be played in virtual time.
    pub fn of(record: &Record, name: Option<&str>) -> Result<Self, PlanError> {
        let FromRecord { arm: name, hold, .. } = holds_of_record(record, name)?;
        let wrong = |why: &str| PlanError::new(format!("arm \"{name}\" can't be replayed: {why}"));
        let scenario = &record.scenario;
        // Both have the arm whose holds were read.
        let arm = record
            .arms
            .iter()
            .find(|arm| arm.name == name)
            .ok_or_else(|| wrong("the record has lost it"))?;
        let spec = scenario
            .arms
            .iter()
            .find(|arm| arm.name == name)
            .ok_or_else(|| wrong("its scenario has lost it"))?;
        match spec.nodes() {
            LockNodes::OneHost | LockNodes::EveryHost => {}
            LockNodes::Nowhere => return Err(wrong("it takes no lock on lock nodes; name one that does with --arm")),
            LockNodes::Master | LockNodes::FirstMaster | LockNodes::Cluster | LockNodes::ClusterMasters => {
                return Err(wrong(
                    "its lock is on replicated nodes or a cluster, and virtual time has neither replicas nor failovers: only locks \
                     on independent nodes are played; name one with --arm",
                ));
            }
        }
        let hosts = spec.hosts_in(&scenario.lab);
        let WorkloadSpec::Inventory(work) = &scenario.workload else {
            return Err(wrong(
                "it needs a run of the inventory workload, where each request takes a lock",
            ));
        };
        let (servers, workers) = (scenario.swarm.servers, scenario.swarm.workers);
        if servers.saturating_mul(workers) == 0 || servers.saturating_mul(workers) > 100_000 || work.products == 0 {
            return Err(wrong("its scenario has no workers, too many of them, or no products"));
        }
        let is_no_rate = |rate: f64| !rate.is_normal() || rate <= 0.0;
        if scenario.swarm.rate.is_some_and(is_no_rate) || !(record.elapsed > 0.0 && record.elapsed < 1e6) {
            return Err(wrong("its rate or its length makes no sense"));
        }
        let round_trip = round_trips(record, &hosts).map_err(|why| wrong(&why))?;
        let question = Question::new(hold, round_trip, hosts.len());
        let keys = usize::try_from(work.products).unwrap_or(usize::MAX);
        let (orders, mut left_out) = orders(record, &hosts);
        if work.popularity != Popularity::Uniform {
            left_out.push("the products' popularity: in virtual time all are bought equally often".to_owned());
        }
        let replay = Self {
            arm: arm.name.clone(),
            setting: Setting {
                ttl: spec.ttl,
                renewal: match spec.renew {
                    Renew::Off => Renewal::Off,
                    Renew::Fraction(n) => Renewal::Fraction(n),
                    Renew::Every(every) => Renewal::Every(every),
                },
            },
            surroundings: surroundings(scenario, spec, &question, keys.min(MOST_KEYS)),
            question,
            orders,
            // Of so many products none is sold out soon.
            stock: if keys > MOST_KEYS { u64::MAX } else { work.stock },
            // Of a fixed number of requests an arm may have done its own long before the others.
            length: Duration::from_secs_f64(arm.figures.finish.unwrap_or(record.elapsed).clamp(0.0, record.elapsed)),
            real: real(arm)?,
            left_out,
        };
        // A record that somebody has changed may ask for what no world can be.
        match World::new(settings(&replay.question, &replay.setting, &replay.surroundings), 0) {
            Ok(_) => Ok(replay),
            Err(why) => Err(wrong(&why.to_string())),
        }
    }

    /// How many orders there are.
    pub const fn orders(&self) -> usize {
        self.orders.len()
    }

    /// Each figure on real nodes beside those of the plays. If something could not be played, it may explain any difference, so
    /// nothing is decided.
    pub fn compared(&self, played: &Played) -> Vec<Compared> {
        let compare = |(name, of): Figure| {
            let compared = Compared::of(name, of(&self.real), played.plays.iter().map(of));
            match self.left_out.is_empty() {
                true => compared,
                false => Compared {
                    result: CheckResult::Inconclusive,
                    ..compared
                },
            }
        };
        FIGURES.map(compare).into()
    }

    /// Plays it so many times, each with its own seed, until `stop` is set, or until a play has taken a thousand million events
    /// without an end. `done` counts the plays.
    pub fn play(&self, times: u64, seed: u64, stop: &AtomicBool, done: &AtomicU64) -> Played {
        self.play_with(self.setting, times, seed, stop, done)
    }

    /// Plays it so many times with another setting than that of the run, each with its own seed, until `stop` is set. `done`
    /// counts the plays.
    pub fn play_with(&self, setting: Setting, times: u64, seed: u64, stop: &AtomicBool, done: &AtomicU64) -> Played {
        let settings = settings(&self.question, &setting, &self.surroundings);
        let played = in_parallel(times, stop, |number| {
            let mut world = World::new(settings.clone(), seed_of(seed, number)).ok()?;
            world.stock(self.stock);
            for (at, order) in &self.orders {
                world.order(*at, *order).ok()?;
            }
            let is_last = play(&mut world, End::Time(self.length), MOST_EVENTS, stop, |_| ());
            let what = match world.now() >= self.length {
                true => {
                    done.fetch_add(1, Ordering::Relaxed);
                    let samples = world.take_samples();
                    (Simulated::of(&world.report(), &samples, false), samples.takeovers)
                }
                // A part of a run can't be compared with it.
                false if is_last => (
                    Simulated {
                        ended_early: true,
                        ..Simulated::default()
                    },
                    Vec::new(),
                ),
                false => return None,
            };
            Some(FromWorld { what, is_last })
        });
        let whole = played.iter().filter(|given| !given.is_last);
        let all = played
            .iter()
            .fold(Simulated::default(), |sum, given| sum.with(given.what.0));
        Played {
            plays: whole.map(|given| Replayed::of(&given.what.0)).collect(),
            all,
            takeovers: played.into_iter().flat_map(|given| given.what.1).collect(),
        }
    }
}

/// How many times as long as half of the round trips one may take if what slowed a node down is in all that there are.
const MOST_MEDIANS: u64 = 10;

/// The round trips of the nodes on these hosts, as they would have been without the faults that are played again: those of nodes that none
/// of these has slowed down, if need be on other hosts of the lab, which are the same machine.
fn round_trips(record: &Record, hosts: &[HostId]) -> Result<Spread, String> {
    let slowed = slowed(record);
    let all_of = |is_wanted: &dyn Fn(HostId) -> bool| {
        let nodes = record.round_trips.iter();
        let wanted = nodes.filter(|node| is_wanted(HostId::from_index(node.host.saturating_sub(1))));
        sum(wanted.map(|node| &node.histogram))
    };
    let own = all_of(&|host| hosts.contains(&host) && !slowed.contains(&host))?;
    let elsewhere = all_of(&|host| !slowed.contains(&host))?;
    let unslowed = if own.is_empty() { elsewhere } else { own };
    let found = match unslowed.is_empty() {
        false => unslowed,
        true => {
            let all = all_of(&|host| hosts.contains(&host))?;
            let most = all.value_at_quantile(0.5).saturating_mul(MOST_MEDIANS);
            let mut usual = histogram();
            for value in all.iter_recorded().filter(|value| value.value_iterated_to() <= most) {
                // The histogram resizes itself, so no value is out of range.
                let _ = usual.record_n(value.value_iterated_to(), value.count_at_value());
            }
            usual
        }
    };
    Spread::of_micros(&found).map_err(|why| format!("the round trips of its nodes: {why}"))
}

/// The hosts whose nodes a fault has slowed down.
fn slowed(record: &Record) -> BTreeSet<HostId> {
    let of_event = |event: &Event| match event.kind {
        EventKind::Fault {
            action: Action::Fault(Fault::Pause | Fault::Stall { .. } | Fault::Lag { .. } | Fault::SlowLink { .. }),
            target: Target::Host(host) | Target::Link(Link::Route(_, host)),
            ..
        } => Some(host),
        _ => None,
    };
    record.events.iter().filter_map(of_event).collect()
}

/// More locks than this are hardly ever wanted twice at the same time.
const MOST_KEYS: usize = 20_000;

fn surroundings(scenario: &Scenario, arm: &ArmSpec, question: &Question, keys: usize) -> Surroundings {
    let swarm = &scenario.swarm;
    let workers = (swarm.servers * swarm.workers) as f64;
    let think = match swarm.rate {
        // So many workers that are busy for so long do as many requests as were asked for.
        Some(rate) => (workers / rate - question.hold.mean()).max(0.0),
        None => swarm.think.as_secs_f64(),
    };
    let least = Duration::from_micros(1);
    Surroundings {
        clients: swarm.servers,
        workers: swarm.workers,
        keys: Some(keys.max(1)),
        wait: arm.wait,
        timeout: Some(arm.timeout),
        node_timeout: Some(arm.node_timeout),
        think: Span {
            least,
            most: Duration::from_secs_f64(think * 2.0).max(least),
        },
        // A section of a run is a sleep.
        pauses_stop_work: false,
        // The lab's nodes.
        share_machine: true,
        ..Surroundings::default()
    }
}

fn real(arm: &ArmRecord) -> Result<Replayed, PlanError> {
    let takeovers = arm
        .histogram(Time::Takeover)
        .map_err(|error| PlanError::new(error.to_string()))?;
    let outcomes = &arm.figures.outcomes;
    Ok(Replayed {
        sections: arm.figures.sections() as f64,
        overran: arm.figures.counts[Count::Overran] as f64,
        refused: (outcomes.contended + outcomes.no_quorum + outcomes.expired + outcomes.unknown) as f64,
        takeovers: takeovers.len() as f64,
        takeover_mean_us: (!takeovers.is_empty()).then(|| takeovers.mean()),
    })
}

/// What broke and was mended, with the time of its effect; and what can't be played.
fn orders(record: &Record, hosts: &[HostId]) -> (Vec<(Duration, Order)>, Vec<String>) {
    let servers = record.scenario.swarm.servers;
    let forgets = |fault| match record.scenario.lab.persistence {
        Persistence::None => true,
        // A snapshot is made at a shutdown.
        Persistence::Rdb => fault == Fault::Kill,
        Persistence::AofEverysec | Persistence::AofAlways => false,
    };
    let (mut orders, mut left_out) = (Vec::new(), Vec::new());
    // How far the clocks of nodes are ahead.
    let mut ahead = BTreeMap::new();
    for event in &record.events {
        let EventKind::Fault {
            action,
            target,
            effect_at: Some(effect),
            ..
        } = event.kind
        else {
            continue;
        };
        let at = Duration::from_secs_f64(effect.clamp(0.0, 1e6));
        let found = match target {
            // A host without a node of this lock does not matter to it.
            Target::Host(host) => match hosts.iter().position(|there| *there == host) {
                Some(node) => match action {
                    Action::Undo(Condition::Skewed) => ahead.remove(&node).map(|ms: i64| vec![jump(node, -ms)]),
                    _ => of_node(action, node, servers, forgets),
                },
                None => continue,
            },
            Target::Server(server) => of_app_server(action, server.index()).map(|order| vec![order]),
            Target::Link(Link::Route(server, host)) => match hosts.iter().position(|there| *there == host) {
                Some(node) => of_route(action, server.index(), node),
                None => continue,
            },
            Target::Link(_) | Target::Client(_) => None,
        };
        match found {
            Some(found) => {
                for order in &found {
                    match order {
                        Order::Jump { node, by } => ahead.insert(*node, millis(*by)),
                        Order::JumpBack { node, by } => ahead.insert(*node, -millis(*by)),
                        _ => None,
                    };
                }
                orders.extend(found.into_iter().map(|order| (at, order)));
                orders.extend(end_of_stall(action, at, target, hosts));
            }
            None => left_out.push(event.text()),
        }
    }
    orders.sort_by_key(|(at, _)| *at);
    (orders, left_out)
}

/// What is done to a node; `None` if it can't be played.
fn of_node(action: Action, node: usize, servers: usize, forgets: impl Fn(Fault) -> bool) -> Option<Vec<Order>> {
    let delayed = |there: Duration, back: Duration| {
        let order = |app_server| Order::Delay {
            app_server,
            node,
            there,
            back,
        };
        (0..servers).map(order).collect()
    };
    Some(match action {
        Action::Fault(fault @ (Fault::Kill | Fault::Shutdown | Fault::DiskLoss)) => vec![Order::Crash {
            node,
            forgets: fault == Fault::DiskLoss || forgets(fault),
        }],
        Action::Fault(Fault::Forget { every: 1 }) => {
            let crash = Order::Crash { node, forgets: true };
            vec![crash, Order::Restart { node }]
        }
        Action::Fault(Fault::Pause | Fault::Stall { .. }) => vec![Order::Pause { node }],
        // One that runs at another rate can't be played, and what a correction undoes has to be a jump.
        Action::Fault(Fault::Clock(skew)) if skew.rate_ppm == Skew::TRUE_RATE => vec![jump(node, skew.ahead_ms)],
        Action::Fault(Fault::Lag { delay, direction }) => match direction {
            Direction::Both => delayed(delay, delay),
            Direction::There => delayed(delay, Duration::ZERO),
            Direction::Back => delayed(Duration::ZERO, delay),
        },
        Action::Undo(Condition::Down) => vec![Order::Restart { node }],
        Action::Undo(Condition::Paused) => vec![Order::Resume { node }],
        Action::Undo(Condition::Lagging) => delayed(Duration::ZERO, Duration::ZERO),
        _ => return None,
    })
}

/// Milliseconds of a clock, which is off by less than a day.
fn millis(by: Duration) -> i64 {
    i64::try_from(by.as_millis()).unwrap_or(i64::MAX)
}

/// A jump of a node's clock, ahead or back.
const fn jump(node: usize, ahead_ms: i64) -> Order {
    let by = Duration::from_millis(ahead_ms.unsigned_abs());
    match ahead_ms {
        0.. => Order::Jump { node, by },
        _ => Order::JumpBack { node, by },
    }
}

/// What is done to the connections of an app server to a node; `None` if it can't be played.
fn of_route(action: Action, app_server: usize, node: usize) -> Option<Vec<Order>> {
    let [there, back] = match action {
        Action::Fault(Fault::Lag { delay, direction }) => {
            [Direction::There, Direction::Back].map(|way| if direction.includes(way) { delay } else { Duration::ZERO })
        }
        Action::Undo(Condition::Lagging) => [Duration::ZERO; 2],
        _ => return None,
    };
    Some(vec![Order::Delay {
        app_server,
        node,
        there,
        back,
    }])
}

/// A stall is over by itself.
fn end_of_stall(action: Action, at: Duration, target: Target, hosts: &[HostId]) -> Option<(Duration, Order)> {
    let (Action::Fault(Fault::Stall { length }), Target::Host(host)) = (action, target) else {
        return None;
    };
    let node = hosts.iter().position(|there| *there == host)?;
    Some((at + length, Order::Resume { node }))
}

/// What is done to an app server; `None` if it can't be played.
const fn of_app_server(action: Action, app_server: usize) -> Option<Order> {
    Some(match action {
        Action::Fault(Fault::Kill) => Order::Kill { app_server },
        Action::Fault(Fault::Pause) => Order::Freeze { app_server },
        Action::Undo(Condition::Down) => Order::Replace { app_server },
        Action::Undo(Condition::Paused) => Order::Thaw { app_server },
        _ => return None,
    })
}
