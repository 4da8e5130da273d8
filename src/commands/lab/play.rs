//! `lockstorm lab play`: the faults of a scenario on the kept lab, by the schedule of runs.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use lockstorm_base::{Stop, Stops, monotonic_ns};
use lockstorm_data::model::{Action, Condition, Fault, HostId, Link, Seat, Seats, Target, Targets};
use lockstorm_data::scenario::{FaultSpec, FaultStart};
use lockstorm_lab::kept::{Acted, Answer, Choice, Deed, Effect, Kept, LabOrder, NodeStatus, Request, Status};
use lockstorm_run::{Due, Schedule};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::interval;

use super::act::{ask, exit, kept};
use super::refused::{failure, no_answer};
use crate::cli::{Changes, LabPlayArgs, Look};
use crate::commands::load::load_faults;
use crate::commands::print::{print_for_people, signalled};
use crate::commands::server::wait_for;
use crate::failure::{Failure, tell};

/// How often it is looked what is due.
const TICK: Duration = Duration::from_millis(10);
/// How often the nodes are asked who is the master, if a fault is on that one.
const LOOK: Duration = Duration::from_millis(200);

/// Plays the faults of a scenario to their end.
pub fn play(args: &LabPlayArgs, look: Look) -> Result<ExitCode, Failure> {
    let changes = Changes {
        set: args.set.clone(),
        client: None,
        seed: None,
        duration: None,
    };
    let scenario = load_faults(&args.scenario, &changes).map_err(Failure::usage)?;
    let kept = Arc::new(kept()?);
    let why = obstacles(&scenario.faults, &status(&kept)?.order);
    if !why.is_empty() {
        return Err(Failure::usage(why.join("\n")));
    }
    wait_for(Player::new(kept, &scenario.faults, look).play())?
}

fn status(kept: &Kept) -> Result<Status, Failure> {
    match kept.ask(&Request::Status).map_err(failure)? {
        Answer::Status(status) => Ok(*status),
        _ => Err(no_answer()),
    }
}

/// Why a lab can't play these faults: a line for each of them that it can't.
fn obstacles(faults: &[FaultSpec], order: &LabOrder) -> Vec<String> {
    if faults.is_empty() {
        return vec!["the scenario has no faults: there is nothing to play on a kept lab".to_owned()];
    }
    let hosts = order.hosts;
    let obstacle = |fault: &FaultSpec| -> Result<(), String> {
        if let FaultStart::When(trigger) = &fault.start {
            let text = &trigger.text;
            return Err(format!(
                "when = \"{text}\" waits for a figure that only a run has: give it a time, like --set fault.1.at=5s"
            ));
        }
        match &fault.targets {
            Targets::By(_) if !order.replicated => {
                Err("it is on a master or replica: start the lab with `lockstorm lab up --replicated`".to_owned())
            }
            Targets::By(Seat::Replicas) if matches!(fault.action, Action::Fault(one) if one.is_for_one()) => {
                Err("which replica is the most advanced only a run knows: name a host".to_owned())
            }
            Targets::By(_) => order.can(fault.action, Target::Host(HostId(1))),
            Targets::Named(targets) => targets.iter().try_for_each(|target| {
                let last = match target {
                    Target::Host(host) | Target::Link(Link::Between(host, _)) if host.0 > hosts => Some(host),
                    Target::Link(Link::Between(_, host)) if host.0 > hosts => Some(host),
                    _ => None,
                };
                match last {
                    Some(host) => Err(format!("there is no {host}: the lab has {hosts}")),
                    None => order.can(fault.action, *target),
                }
            }),
        }
    };
    let why =
        |(index, fault): (usize, &FaultSpec)| obstacle(fault).err().map(|why| format!("fault {}: {why}", index + 1));
    faults.iter().enumerate().filter_map(why).collect()
}

/// What was asked for by the schedule, or to restore what was broken, and what became of it.
type Done = (Option<Due>, Action, Target, Result<Vec<Acted>, Failure>);

struct Player {
    kept: Arc<Kept>,
    schedule: Schedule,
    /// Whether a fault is on whoever is the master when it starts.
    asks_for_seats: bool,
    look: Look,
    begin: Instant,
    /// What was broken here and not mended.
    broken: BTreeSet<(Target, Condition)>,
    /// What went wrong.
    bad: Vec<Effect>,
    under_way: usize,
    tell: UnboundedSender<Done>,
    done: UnboundedReceiver<Done>,
}

impl Player {
    fn new(kept: Arc<Kept>, faults: &[FaultSpec], look: Look) -> Self {
        let (tell, done) = unbounded_channel();
        Self {
            kept,
            schedule: Schedule::new(faults),
            asks_for_seats: faults.iter().any(|fault| matches!(fault.targets, Targets::By(_))),
            look,
            begin: Instant::now(),
            broken: BTreeSet::new(),
            bad: Vec::new(),
            under_way: 0,
            tell,
            done,
        }
    }

    async fn play(mut self) -> Result<ExitCode, Failure> {
        let cannot = |error| Failure::error(format!("cannot listen for signals: {error}"));
        let mut stops = Stops::listen().map_err(cannot)?;
        let mut seats = self.seats();
        let (mut tick, mut stopped): (_, Option<Stop>) = (interval(TICK), None);
        loop {
            tokio::select! {
                // Not before it is known who is the master, if somebody is to ask.
                _ = tick.tick(), if stopped.is_none() && (!self.asks_for_seats || self.begin_known()) => self.due(),
                Some(found) = seats.recv() => self.know(found),
                Some(done) = self.done.recv() => self.take(done)?,
                stop = stops.next() => {
                    if stopped.replace(stop).is_some() {
                        tell("what was broken may stay so: `lockstorm lab restore all`");
                        return Ok(signalled(stop));
                    }
                }
            }
            match stopped {
                _ if self.under_way > 0 => {}
                None if self.schedule.is_over() => return Ok(self.end()),
                None => {}
                // One after the other: a host that is cut off is first connected again.
                Some(stop) => match self.broken.pop_last() {
                    Some((target, condition)) => self.order(None, Action::Undo(condition), target),
                    None => return Ok(signalled(stop)),
                },
            }
        }
    }

    fn begin_known(&self) -> bool {
        self.schedule.seats != Seats::default()
    }

    fn know(&mut self, found: Seats) {
        if !self.begin_known() {
            self.begin = Instant::now();
        }
        self.schedule.seats = found;
    }

    /// Who is the master and who replicas, over and over, if a fault needs to know.
    fn seats(&self) -> UnboundedReceiver<Seats> {
        let (tell, seats) = unbounded_channel();
        let (kept, is_needed) = (Arc::clone(&self.kept), self.asks_for_seats);
        // A thread: asking blocks. It ends once nobody listens, or the lab is gone.
        thread::spawn(move || {
            while is_needed && let Ok(status) = status(&kept) {
                let with = |is_master| {
                    let has = |node: &NodeStatus| node.is_master == Some(is_master);
                    let hosts = status.hosts.iter().filter(move |host| host.nodes.iter().any(has));
                    hosts.map(|host| host.host).collect::<Vec<_>>()
                };
                let primary = match with(true)[..] {
                    [one] => Some(one),
                    _ => None,
                };
                let replicas = with(false);
                if tell.send(Seats { primary, replicas }).is_err() {
                    return;
                }
                thread::sleep(LOOK);
            }
        });
        seats
    }

    fn due(&mut self) {
        let due = self.schedule.due(self.begin.elapsed(), |_, _| 0.0);
        for (fault, why) in self.schedule.missed() {
            tell(&format!("fault {fault} had no effect: {why}"));
            self.bad.push(Effect::Late);
        }
        for due in due {
            self.order(Some(due), due.action, due.target);
        }
    }

    /// Asks for an action on a thread of its own: the answer comes once it is verified.
    fn order(&mut self, due: Option<Due>, action: Action, target: Target) {
        if let Some(condition) = brings(action) {
            self.broken.insert((target, condition));
        }
        self.under_way += 1;
        let on = match target {
            Target::Link(link) => Choice::Link(link),
            // The others are refused beforehand.
            Target::Host(HostId(number)) => Choice::Numbers(vec![number]),
            Target::Server(_) | Target::Client(_) => Choice::Numbers(Vec::new()),
        };
        let (kept, tell) = (Arc::clone(&self.kept), self.tell.clone());
        thread::spawn(move || {
            let deed = Deed::Do { action, lasts: None };
            // If nobody listens, a second signal has come.
            let _ = tell.send((due, action, target, ask(&kept, &Request::Act { deed, on })));
        });
    }

    fn take(&mut self, (due, action, target, done): Done) -> Result<(), Failure> {
        self.under_way -= 1;
        for acted in done? {
            let now = self.begin.elapsed();
            let begin = monotonic_ns(self.begin) / 1000;
            let effect = acted
                .effect_us
                .and_then(|at| u64::try_from(at - begin).ok())
                .map(Duration::from_micros);
            // What is late may still come: then it is to be undone like the others.
            let at = (acted.effect != Effect::Failed).then(|| effect.unwrap_or(now));
            if let Some(due) = due {
                self.schedule.reported(due, at);
            }
            if let Action::Undo(condition) = action
                && acted.is_well()
            {
                self.broken.remove(&(target, condition));
            }
            if let Some(condition) = brings(action)
                && matches!(acted.effect, Effect::Already | Effect::Failed)
            {
                // Somebody else's.
                self.broken.remove(&(target, condition));
            }
            let words = format!("{:9.3} s  {}", at.unwrap_or(now).as_secs_f64(), acted.words);
            if acted.is_well() {
                print_for_people(words + "\n", self.look)?;
            } else {
                self.bad.push(acted.effect);
                tell(words.trim_start());
            }
        }
        Ok(())
    }

    /// Tells what stays broken.
    fn end(self) -> ExitCode {
        for (target, condition) in &self.broken {
            tell(&format!(
                "{target} stays {}: `lockstorm lab restore all` undoes it",
                condition.word()
            ));
        }
        exit(self.bad.into_iter())
    }
}

/// The condition that an action brings, if it can be undone.
fn brings(action: Action) -> Option<Condition> {
    match action {
        Action::Fault(fault) => Fault::brings(fault),
        Action::Undo(_) => None,
    }
}
