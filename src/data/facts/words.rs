//! The English of events, caveats and the next step of a schedule. The first word of a sentence is in lower case, since it may follow something.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::caveat::{Caveat, ClientFault, GivenUp, Ledger, NodeChange, Order, TimedTurn, Turn, Unmet};
use super::checked::{CheckedExpectation, NotProven};
use super::effect::{ArmConsequence, NoEffect, Shortage, Unavailable};
use super::event::{Event, EventKind, LockChange, OrderedBy, Step};
use super::lacking::Lacking;
use super::misuse::{LateWork, Misuse};
use super::next_step::{Awaited, BlockedAct, NextStep};
use crate::metrics::units::{count, counted, micros, rounded, setting};
use crate::metrics::{Entry, Metric, figure};
use crate::model::{
    Action, Cause, ClusterNode, Condition, Fault, HostId, NoVote, Seat, Target, TargetKind, Targets, Verified, Way,
};
use crate::scenario::{Op, Persistence};

impl Event {
    /// One line: what happened, what it meant, and how it was proved. The consequence comes first, so that a line that is cut off loses only
    /// detail.
    pub fn text(&self) -> String {
        match &self.kind {
            EventKind::Fault {
                by,
                effect_at,
                proof,
                error,
                ..
            } => {
                let who = who(*by);
                let in_brackets = |who: &String| format!(" ({who})");
                let asked = || {
                    format!(
                        "{}{}",
                        self.headline(),
                        who.as_ref().map_or_else(String::new, in_brackets)
                    )
                };
                match (error, effect_at) {
                    (Some(late @ NoEffect::NotVerified { .. }), _) => format!("{}: {late}; still waiting", asked()),
                    (Some(error), _) => format!("{}: {error}", asked()),
                    (None, None) => asked(),
                    (None, Some(at)) => {
                        let proof = proof.clone();
                        let proved = Verified { at: *at, proof }.prose();
                        let after = format!("effective after {}", took((at - self.at).max(0.0)));
                        let details = [Some(proved).filter(|proved| !proved.is_empty()), Some(after), who];
                        let details: Vec<String> = details.into_iter().flatten().collect();
                        format!("{} ({})", self.meaning(), details.join(", "))
                    }
                }
            }
            EventKind::Failover { consequences, .. } => {
                let lost = consequences.iter().map(ArmConsequence::to_string);
                [self.headline()].into_iter().chain(lost).collect::<Vec<_>>().join("; ")
            }
            EventKind::Lock { arm, change } => format!("{arm}: {change}"),
            _ => self.headline(),
        }
    }

    /// What happened, without what it meant and how it was proved.
    pub fn headline(&self) -> String {
        match &self.kind {
            EventKind::Phase { step } => step.to_string(),
            EventKind::Fault {
                action,
                target,
                effect_at,
                error,
                returned_with,
                ..
            } => match (action, target, returned_with) {
                _ if effect_at.is_none() || error.is_some() => action.on(*target),
                _ if self.was_so() => format!("{}: nothing to do", action.on(*target)),
                (Action::Undo(_), Target::Host(host), Some(persistence)) => is_back(*host, *persistence),
                _ => action.done_to(*target),
            },
            EventKind::Proxy { adds_us } => format!(
                "the nodes are used through a proxy, which adds {} to a round trip",
                micros(*adds_us)
            ),
            EventKind::Failover {
                host, cluster_masters, ..
            } => match cluster_masters {
                None => format!("{host} has the master now"),
                Some(1) => format!("{host} has taken over slots: it has a master of the cluster now"),
                Some(masters) => format!("{host} has taken over slots: it has {masters} masters of the cluster now"),
            },
            EventKind::Demoted { host } => format!("{host} has the master no longer: its node is a replica now"),
            EventKind::Leader { host } => format!("{host} leads etcd now"),
            EventKind::Cluster { slots } => of_cluster(*slots),
            EventKind::Knob { turn } => turn.to_string(),
            EventKind::DoubleHold {
                arm,
                began_us,
                holders: [one, other],
                key,
            } => format!(
                "{arm}: first double hold at {:.3} s: {one} and {other} both hold {key}",
                *began_us as f64 / 1e6
            ),
            EventKind::Damage {
                arm,
                damage,
                product,
                units,
                by_stall,
            } => format!("{arm}: {}", damaged(*damage, product.zip(*units), *by_stall)),
            EventKind::Lock { arm, change } => match change {
                LockChange::AllRefused { .. } => format!("{arm}: all acquires failing"),
                LockChange::AcquiredAgain => format!("{arm}: {change}"),
            },
            EventKind::Caption { quoted, .. } => quoted.clone(),
            EventKind::Warning { caveat } => caveat.to_string(),
        }
    }

    /// Whether its target was in the wanted state before.
    fn was_so(&self) -> bool {
        use crate::model::Finding;
        let EventKind::Fault { proof, .. } = &self.kind else {
            return false;
        };
        proof
            .iter()
            .any(|proof| matches!(proof.finding, Finding::AlreadySo { .. }))
    }

    /// What happened to a target, and what that meant for the arms.
    fn meaning(&self) -> String {
        let done = self.headline();
        let EventKind::Fault {
            action,
            target,
            returned_with,
            consequences,
            unavailable,
            ..
        } = &self.kind
        else {
            return done;
        };
        let lost: Vec<String> = consequences.iter().map(ArmConsequence::to_string).collect();
        match action {
            _ if self.was_so() => done,
            _ if !lost.is_empty() => format!("{done}: {}", lost.join("; ")),
            Action::Undo(_) => match returned_with {
                Some(Persistence::None) => format!("{done}: it has forgotten no lock that is held"),
                _ => done,
            },
            Action::Fault(Fault::Failover { .. }) => done,
            Action::Fault(fault) => match target {
                Target::Host(_) => format!("{done}{}", shortage(unavailable)),
                Target::Link(_) => done,
                Target::Server(_) | Target::Client(_) => match fault.meaning_for(target.kind()) {
                    None | Some("") => done,
                    Some(meaning) => format!("{done}: {meaning}"),
                },
            },
        }
    }
}

/// That a host which was down is back, and whether it still knows what it had.
pub fn is_back(host: HostId, persistence: Persistence) -> String {
    let memory = match persistence {
        Persistence::None => "EMPTY",
        Persistence::Rdb | Persistence::AofEverysec | Persistence::AofAlways => "with what it kept",
    };
    format!("{host} is back {memory}")
}

/// What ordered a fault, unless it was a key.
fn who(by: OrderedBy) -> Option<String> {
    match by {
        OrderedBy::User => None,
        OrderedBy::Bounce => Some("bounce".to_owned()),
        OrderedBy::Fault(fault) => Some(format!("fault {fault}")),
        OrderedBy::EndOfFault(fault) => Some(format!("end of fault {fault}")),
    }
}

/// `12 ms`, `14.2 s`.
fn took(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1e3)
    } else {
        format!("{seconds:.1} s")
    }
}

/// For how many slots of the cluster a master takes writes.
fn of_cluster(usable: u16) -> String {
    let all = count(u64::from(ClusterNode::SLOTS));
    match ClusterNode::SLOTS - usable {
        0 => "cluster: every slot has a master that takes writes again".to_owned(),
        ClusterNode::SLOTS => "cluster down: none of its nodes takes writes (CLUSTERDOWN)".to_owned(),
        lost => format!(
            "cluster: no master takes writes for {} of its {all} slots",
            count(u64::from(lost))
        ),
    }
}

/// Damage of a kind; of what was sold too often with the worst product.
fn damaged(damage: Entry, worst: Option<(usize, u64)>, by_stall: bool) -> String {
    let what = match damage {
        Entry::MoneyMade => "money is made from nothing",
        Entry::MoneyLost => "money is lost",
        Entry::RunAgain => return "a job has run twice for one tick".to_owned(),
        Entry::Oversold => {
            let worst = worst.map(|(product, units)| format!(": of product {product}, {} too many", count(units)));
            return format!("more is sold than there is{}", worst.unwrap_or_default());
        }
        _ => "updates are lost",
    };
    match by_stall {
        true => format!("{what}: what was held up until its lock had expired overwrote others"),
        false => format!("{what}: one {} overwrote another", damage.made_by()),
    }
}

/// `: redlock has no quorum (1 of 3), single has no lock node`; empty if all arms can acquire locks.
fn shortage(unavailable: &[Unavailable]) -> String {
    if unavailable.is_empty() {
        return String::new();
    }
    let each: Vec<String> = unavailable.iter().map(Unavailable::to_string).collect();
    format!(": {}", each.join(", "))
}

impl fmt::Display for NoEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotVerified { within_s } => write!(f, "not verified within {within_s} s"),
            Self::Failed { quoted } => write!(f, "no effect: {quoted}"),
        }
    }
}

impl fmt::Display for CheckedExpectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expectation.with_value(self.value))?;
        let Some(reason) = &self.reason else { return Ok(()) };
        let metric = self.expectation.judged();
        f.write_str("; but ")?;
        match reason {
            NotProven::Doubted { caveat, is_void: false } => caveat.fmt(f),
            NotProven::Doubted { caveat, is_void: true } => write!(f, "{}, so it proves nothing", Brief(caveat)),
            NotProven::NothingToMeasure => f.write_str("there was nothing to measure"),
            NotProven::ByStalls { up_to } => write!(
                f,
                "up to {} of them come from sections that a stall held up until their lock had expired",
                figure(metric, *up_to)
            ),
            NotProven::StillUnavailable => f.write_str("a lock was still unavailable at the end"),
            NotProven::AllStillUnavailable => f.write_str("all locks were still unavailable at the end"),
            NotProven::Unjudged { double_holds } => {
                write!(f, "{} of the double holds could not be judged", count(*double_holds))
            }
            NotProven::StillWaiting { requests } => write!(
                f,
                "{} still waited at the end, and their times are not in it",
                counted(*requests, "request", "requests")
            ),
            NotProven::NotMeasurable => {
                let metric = self.expectation.metric;
                let until = metric.evidence().map_or("", |evidence| evidence.until);
                write!(f, "{} is not measurable until {until}", metric.title())
            }
        }
    }
}

/// A caveat that makes all figures worthless, without saying that it does.
struct Brief<'a>(&'a Caveat);

impl fmt::Display for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Caveat::ClockStepped { .. } => f.write_str("the machine's wall clock stepped"),
            Caveat::ProgramStopped { time, .. } => write!(f, "this program was stopped for {}", in_s(*time)),
            Caveat::RunStalled { time } => write!(f, "the run itself stood still for {}", in_s(*time)),
            other => other.fmt(f),
        }
    }
}

/// `2.1 s`.
fn in_s(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

impl fmt::Display for ArmConsequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.arm, self.kind)
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arm = &self.arm;
        match self.why {
            Shortage::NoNode => write!(f, "{arm} has no lock node"),
            Shortage::NoMaster => write!(f, "{arm} has no master"),
            Shortage::ClusterDown => write!(f, "{arm} is down"),
            Shortage::NoQuorum { up, of } => write!(f, "{arm} has no quorum ({up} of {of})"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WarmUp => f.write_str("warm-up: not counted"),
            Self::MeasureBegins => f.write_str("the measured part begins"),
            Self::LoadEnded => f.write_str("the load has ended"),
            Self::WaitsForRequests { at_most_s } => write!(
                f,
                "requests are still under way: the run waits as long as some of them end, at most {at_most_s} s"
            ),
            Self::TriesLocks { at_most_s } => write!(f, "checking for stuck locks, for up to {at_most_s} s"),
            Self::SoldOut { arm } => write!(f, "{arm}: sold out: from now on buyers find nothing left"),
            Self::ScheduleHeld => f.write_str("the schedule is held"),
            Self::ScheduleResumed => f.write_str("the schedule goes on"),
            Self::Stopped => f.write_str("stopped"),
            Self::Finished => f.write_str("finished"),
        }
    }
}

impl fmt::Display for LockChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllRefused { lacking: None } => f.write_str("all acquires failing: no lock was granted for a second"),
            Self::AllRefused { lacking: Some(lacking) } => write!(f, "all acquires failing: {lacking}"),
            Self::AcquiredAgain => f.write_str("locks are granted again"),
        }
    }
}

/// For example `host 1 down (connection refused), host 2 silent (no reply in time)`, and for a lock on a single node `no vote from host 1:
/// down (connection refused)`.
impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only the masters of a cluster keep keys on other nodes.
        if self.only.is_none() && self.nodes.iter().all(|node| node.cause == Cause::Moved) {
            return write!(
                f,
                "never a quorum: {} nodes answer that the key is another node's (MOVED); a Cluster counts as one node",
                self.nodes.len()
            );
        }
        let each = self.nodes.iter().map(|NoVote { node, cause }| match self.only {
            Some(_) => state(cause),
            None => format!("host {node} {}", state(cause)),
        });
        let each = each.collect::<Vec<_>>().join(", ");
        match self.only {
            Some(only) => write!(f, "no vote from {only}: {each}"),
            None => f.write_str(&each),
        }
    }
}

fn state(cause: &Cause) -> String {
    match cause {
        Cause::Refused => "down (connection refused)".to_owned(),
        Cause::Timeout => "silent (no reply in time)".to_owned(),
        Cause::Suspect => "silent (it owes replies)".to_owned(),
        Cause::Disconnected => "gone (the connection broke)".to_owned(),
        Cause::Busy => "busy (too many commands wait)".to_owned(),
        Cause::Overloaded => "overloaded (its queue is longer than callers wait)".to_owned(),
        Cause::TooMany => "not asked (too many locks are held)".to_owned(),
        Cause::Duplicate { of } => format!("the same server as host {}", of + 1),
        Cause::ReadOnly => "a replica (it takes no writes)".to_owned(),
        Cause::Moved => "not the key's node (its cluster keeps the key on another)".to_owned(),
        Cause::NoMaster => "without a master (Sentinels name none)".to_owned(),
        Cause::NotReady(text) => format!("not ready ({text})"),
        Cause::Unreplicated { replicas, of } => format!("not replicated (confirmed by {replicas} of {of} replicas)"),
        _ => format!("refuses ({cause})"),
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_us = |us: u64| setting(Duration::from_micros(us));
        match *self {
            Self::Ttl {
                were_us: Some([least, most]),
                ..
            } => write!(
                f,
                "{} for all arms (was {} to {})",
                self.short(),
                of_us(least),
                of_us(most)
            ),
            Self::Ttl { .. } => f.write_str(&self.short()),
            Self::Workers { workers } => {
                let workers = counted(workers as u64, "worker", "workers");
                write!(f, "{workers} on each app server for each arm")
            }
            Self::Rate { rate } => {
                let requests = counted(rounded(rate), "request", "requests");
                write!(f, "{requests} a second for each arm")
            }
            Self::Hold { .. } => write!(f, "median {}", self.short()),
        }
    }
}

impl Turn {
    /// `TTL 10 s`, `workers 5`, `rate 200/s`, `hold 2 ms`.
    fn short(&self) -> String {
        match *self {
            Self::Ttl { ttl, .. } => format!("TTL {}", setting(ttl)),
            Self::Workers { workers } => format!("workers {}", count(workers as u64)),
            Self::Rate { rate } => format!("rate {}/s", count(rounded(rate))),
            Self::Hold { median } => format!("hold {}", setting(median)),
        }
    }
}

impl fmt::Display for TimedTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // For the record it matters too that the arms had TTLs of their own.
        let turn = match self.turn {
            Turn::Ttl { .. } => self.turn.to_string(),
            _ => self.turn.short(),
        };
        match self.at < 0.0 {
            true => write!(f, "{turn} in the warm-up"),
            false => write!(f, "{turn} at {:.1} s", self.at),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Acquire => "an acquire",
            Self::Extend => "an extension",
            Self::Release => "a release",
        })
    }
}

impl fmt::Display for ClientFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { quoted } => f.write_str(quoted),
            Self::NotAnswered { to, waited, limit } => {
                write!(f, "has not answered {to} ")?;
                let limit = setting(*limit);
                match to {
                    Order::Acquire => {
                        write!(f, "in {}, although its timeout is {limit}", in_s(*waited))
                    }
                    Order::Extend | Order::Release => write!(f, "within {limit}"),
                }
            }
        }
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Database => "its database",
            Self::CacheNode => "the cache node",
        })
    }
}

impl fmt::Display for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ToldNotToWait => f.write_str("the run was told not to wait"),
            Self::TooLong { limit_s } => write!(f, "{limit_s} s were not enough"),
            Self::NoneEnded { for_s } => write!(
                f,
                "none ended for {for_s} s, so the database or the cache node hangs or is too slow"
            ),
        }
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held => f.write_str("was not played: the schedule was held"),
            Self::NotDue { due } => write!(f, "never fired: it was due at {}", setting(*due)),
            Self::WaitedFor { other } => write!(f, "never fired: it waited for fault {other}"),
            Self::NeverWhole { quoted } => write!(f, "never fired: \"{quoted}\" never held as a whole"),
            Self::NeverChecked { arm, figure } => write!(f, "never fired: {arm}.{} was never checked", figure.name()),
            Self::NeverHeld {
                arm,
                figure: metric,
                best,
                op,
                bound,
            } => {
                let (name, best, bound) = (metric.name(), figure(*metric, *best), figure(*metric, *bound));
                match op {
                    Op::AtLeast | Op::Greater => write!(f, "never fired: {arm}.{name} reached {best} of {bound}"),
                    op => write!(
                        f,
                        "never fired: {arm}.{name} was {best} at best, not {} {bound}",
                        op.sign()
                    ),
                }
            }
            Self::NotVerified { error: None } => f.write_str("was not verified before the end"),
            Self::NotVerified { error: Some(error) } => write!(f, "was {error}"),
            Self::NoEffect { error: None } => f.write_str("had no effect"),
            Self::NoEffect {
                error: Some(NoEffect::Failed { quoted }),
            } => write!(f, "had no effect: {quoted}"),
            Self::NoEffect { error: Some(error) } => write!(f, "had no effect: {error}"),
            Self::NoTarget { seat } => {
                let role = match seat {
                    Seat::Primary => "the master",
                    Seat::Replicas => "a replica",
                };
                write!(f, "had no effect: no node was known to be {role} when it was due")
            }
        }
    }
}

impl fmt::Display for NodeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Killed => "died: killed by a signal from outside",
            Self::ShutDown => "ended: shut down from outside",
            Self::Ended { quoted } => quoted.as_deref().unwrap_or("ended"),
            Self::Stopped => "was stopped by a signal from outside",
            Self::StoppedBriefly => "was stopped for a moment by signals from outside",
            Self::ResumedBriefly => "went on for a moment and was stopped again, by signals from outside",
            Self::Resumed => "was resumed by a signal from outside",
            Self::Unreachable { quoted: None } => "can't be asked any more",
            Self::Unreachable { quoted: Some(why) } => return write!(f, "can't be asked any more: {why}"),
            Self::Silent => "does not answer any more",
            Self::AnswersAgain => "answers again",
            Self::IsBack => "is back; whether it still has its locks is not known",
            Self::WasDown => "was away for a moment; whether it still has its locks is not known",
        };
        f.write_str(text)
    }
}

/// For how much of the offered load `missing` requests stand.
fn not_kept(f: &mut fmt::Formatter<'_>, arm: &str, [never_begun, waiting, offered, ended]: [u64; 4]) -> fmt::Result {
    let missing = never_begun.saturating_add(waiting);
    let share = missing as f64 / offered.max(1) as f64;
    let digits = usize::from(share < 0.1);
    let (why, cure) = match (never_begun, waiting) {
        (_, 0) => (
            "were due and never begun, since no worker was free".to_owned(),
            ". Lower the rate, or add workers",
        ),
        (0, _) => ("still waited at the end of the run".to_owned(), ""),
        _ => (
            format!(
                "still waited at the end of the run, and {} of them never began",
                count(never_begun)
            ),
            ". Lower the rate, or add workers",
        ),
    };
    write!(
        f,
        "{arm}: {} of {} requests ({:.digits$} %) {why}: times and percentiles cover only the {} that ended{cure}",
        count(missing),
        count(offered),
        share * 100.0,
        count(ended),
    )
}

impl fmt::Display for Caveat {
    #[expect(clippy::too_many_lines, reason = "a sentence for each kind")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClockStepped { by_ms } => write!(
                f,
                "this machine's wall clock stepped by {by_ms} ms: keys expire by it, so this run proves nothing"
            ),
            Self::ProgramStopped { is_long: true, .. } => write!(
                f,
                "{}: locks expired meanwhile, so the run proves nothing",
                Brief(self)
            ),
            Self::ProgramStopped { is_long: false, .. } => {
                write!(f, "{}, and its app servers with it", Brief(self))
            }
            Self::RunStalled { .. } => write!(
                f,
                "{}, without processor time, or frozen: locks expired meanwhile, so it proves nothing",
                Brief(self)
            ),
            Self::MachineBusy { percent } => write!(
                f,
                "this machine is too busy: it let the app servers wait for {percent} % of the time, so a failure may be its own"
            ),
            Self::MachineShared { percent } => write!(
                f,
                "other programs used {percent} % of this machine's processor time, so long times and little progress may be their doing"
            ),
            Self::DiskNearlyFull { left_mib } => write!(
                f,
                "the disk of the run's directory is nearly full, {left_mib} MiB are left; when it is full, the database fails: end the run or \
                 make room below TMPDIR"
            ),
            Self::SectionStalled { arm } => write!(
                f,
                "{arm}: a section was held up until its lock had expired, since this machine is too busy or this program was stopped: damage \
                 from now on may come from that"
            ),
            Self::DamageByStalls {
                arm,
                sections,
                figure: metric,
                up_to,
                is_stopped,
            } => {
                let sections = counted(*sections, "section", "sections");
                let (by, so) = match is_stopped {
                    true => ("a stop of this program", "they prove nothing"),
                    false => ("this machine", "it is too busy for a verdict"),
                };
                let (up_to, title) = (figure(*metric, *up_to as f64), metric.title());
                write!(
                    f,
                    "{arm}: {sections} outlasted their lock because {by} stalled them; this may explain up to {up_to} of its {title}: {so}"
                )
            }
            Self::NodeChanged {
                node,
                change,
                unavailable,
                ..
            } => write!(f, "{node} {change}{}", shortage(unavailable)),
            Self::PortTaken { node, before, now } => write!(
                f,
                "{node} listens on port {now} now: another process has taken port {before}"
            ),
            Self::KeeperStopped => {
                f.write_str("a signal from outside stopped the keeper process: changes to hosts can't be seen")
            }
            Self::KeeperResumed => f.write_str("the keeper process was resumed"),
            Self::KeeperGone { quoted, with_hosts } => {
                let hosts = if *with_hosts { "all hosts and " } else { "" };
                write!(
                    f,
                    "the keeper process is gone ({quoted}), and {hosts}the cache node with it: the load ends"
                )
            }
            Self::TwoMasters { host, others } => {
                let others: Vec<String> = others.iter().map(HostId::to_string).collect();
                let others = others.join(", ");
                write!(f, "{host} says that it has the master, and so does {others}")
            }
            Self::NewMasterSilent { arm, node } => {
                write!(f, "{node} became a master and did not answer which locks of \"{arm}\" it has")
            }
            Self::ClusterMasterLacks { lost } => lost.fmt(f),
            Self::KeysDeleted { node } => write!(
                f,
                "{node}: all keys were deleted from outside (FLUSHALL, FLUSHDB or SWAPDB): two may hold a lock now, and no lock is to blame \
                 for that"
            ),
            Self::ManualWrite {
                node,
                command,
                times,
                keys,
                is_answered,
            } => {
                let keys = match keys {
                    None | Some(0) => String::new(),
                    Some(keys) => format!(" of {}", counted(*keys as u64, "key", "keys")),
                };
                let times = match times {
                    0 | 1 => String::new(),
                    times => format!("{} × ", count(*times as u64)),
                };
                let doubt = if *is_answered { "" } else { ", which was not answered" };
                write!(f, "{node}: {times}{command}{keys} by `lockstorm lab cli`{doubt}")
            }
            Self::NoQuorumAtEnd { arm, hosts } => {
                let hosts: Vec<String> = hosts.iter().map(HostId::to_string).collect();
                write!(
                    f,
                    "{arm}: no quorum at the end: {} went down without an order, and did not come back",
                    hosts.join(", ")
                )
            }
            Self::NoLockAtEnd { arm, lacking } => write!(f, "{arm}: no lock could be acquired at the end: {lacking}"),
            Self::KeysStay { node, quoted } => write!(
                f,
                "{node}: keys that are left can't be removed at the end ({quoted}); they expire within their TTL. Its user needs SCAN"
            ),
            Self::KeysLeft { node, quoted } => write!(
                f,
                "{node}: keys of this run may be left there ({quoted}); they expire within their TTL"
            ),
            Self::DatabaseLost { arm, quoted } => write!(f, "{arm}: its database was lost in mid-run: {quoted}"),
            Self::LedgerUnreadable { arm, quoted } => write!(f, "{arm}: its ledger can't be read: {quoted}"),
            Self::LedgerSilent { arm, ledger, for_s } => write!(f, "{arm}: {ledger} has not answered for {for_s} s"),
            Self::LedgerAnswers { arm, ledger } => write!(f, "{arm}: {ledger} answers again"),
            Self::SchemaLeft { quoted: Some(quoted) } => f.write_str(quoted),
            Self::SchemaLeft { quoted: None } => {
                f.write_str("schemas may be left in the database: the next run there drops them")
            }
            Self::DifferentNodes { arm } => write!(
                f,
                "{arm}: its clients ask different nodes for the same lock: while two held it, the nodes had different keys of it, and no node \
                 had lost one. All clients must be given the same nodes"
            ),
            Self::RequestFails { arm, quoted } => write!(f, "{arm}: requests fail: {quoted}"),
            Self::RequestsFailed {
                arm,
                failed,
                of,
                quoted,
            } => {
                let of = counted(*of, "request", "requests");
                let first = quoted
                    .as_ref()
                    .map_or_else(String::new, |first| format!(", the first: {first}"));
                write!(f, "{arm}: {} of {of} failed{first}", count(*failed))
            }
            Self::RateNotKept {
                arm,
                never_begun,
                waiting,
                offered,
                ended,
            } => not_kept(f, arm, [*never_begun, *waiting, *offered, *ended]),
            Self::LateStarts { p99_us, is_stopped } => {
                let why = match is_stopped {
                    true => "this program was stopped meanwhile",
                    false => "this machine is too busy for the load",
                };
                write!(
                    f,
                    "requests began up to {} (p99) later than they were due, and not because of the locks: {why}, so don't trust the times",
                    micros(*p99_us)
                )
            }
            Self::Unanswered { arm, requests, why } => {
                let were = if *requests == 1 { "was" } else { "were" };
                let requests = counted(*requests, "request", "requests");
                write!(
                    f,
                    "{arm}: {requests} under way at the end had no answer and {were} given up: {why}"
                )
            }
            Self::ServerHangs { server } => write!(f, "{server} did not end: its thread hangs"),
            Self::Unsold { arms } => {
                let arms: Vec<String> = arms.iter().map(|arm| format!("\"{arm}\"")).collect();
                write!(
                    f,
                    "{}: oversold is not measurable until sold out, lost updates are measurable",
                    arms.join(", ")
                )
            }
            Self::Client { arm, server, fault } => write!(f, "{arm}: the client of {server} {fault}"),
            Self::ClientError {
                arm,
                server,
                to,
                quoted,
            } => write!(f, "{arm}: the client of {server}: {to} ended with: {quoted}"),
            Self::LateRelease { arm, client, at_us } => write!(
                f,
                "{arm}: {client} released at {:.3} s, when its lock had ended, and most likely removed the key of the next holder: its client \
                 must compare the token before it deletes a key",
                *at_us as f64 / 1e6
            ),
            Self::FaultUnmet { fault, why } => write!(f, "fault {fault} {why}"),
            Self::Untested => f.write_str(
                "no fault tested a lock: no node came back without a key that was held, no holder outlived its validity, and no acquire was \
                 refused or delayed through a fault; let hosts come back while locks are held (longer sections: workload.hold), or break more \
                 of them",
            ),
            Self::StoppedEarly => f.write_str("the run was stopped before its end"),
            Self::ScheduleHeld { lasted_s, planned_s } => {
                let instead = if lasted_s > planned_s { "instead of" } else { "of" };
                write!(
                    f,
                    "the schedule was held: the load lasted {lasted_s} s {instead} {planned_s} s, and what is counted with it"
                )
            }
            Self::Turned { last, all, again } => {
                let which = match last.len() < *all {
                    true => format!(" (the last {} of {all} changes)", last.len()),
                    false => String::new(),
                };
                let meaning = match last.last() {
                    Some(turn) if turn.at < 0.0 => "figures are of the changed settings",
                    _ if *again => "figures mix all settings",
                    _ => "figures mix both settings",
                };
                let last: Vec<String> = last.iter().map(TimedTurn::to_string).collect();
                write!(f, "changed by key{which}: {}; {meaning}", last.join(", "))
            }
            Self::ManyPhases { most } => write!(
                f,
                "faults began and ended so often that the last of the {most} phases of each arm may consist of several"
            ),
            Self::Killed { until_s } => write!(
                f,
                "the run was killed before it had made its record: this is what its journal says until second {until_s}"
            ),
            Self::KnownAtEnd { figure } => write!(f, "{}: told at the end of the record", figure.title()),
            Self::NoEvents => f.write_str("there was no event"),
            Self::NoHolds => f.write_str("no client held a lock for any time: report `acquired` and `released`"),
            Self::MoreThanAYear => f.write_str(
                "the first event and the last one are more than a year apart, so their times are not those of one clock",
            ),
            Self::NoSharedLock => f.write_str("no lock was held by two clients, so no overlap could show"),
            Self::OtherClocks {
                before,
                ended_ns,
                after,
                began_ns,
            } => write!(
                f,
                "the times of {before} end at {ended_ns}, and those of {after} and all later ones begin at {began_ns}: that is longer than any \
                 client was heard. They are by different clocks, or ran one after the other"
            ),
            Self::EndsMissing { holds } => write!(
                f,
                "of {holds} of the holds and sections the end was not reported, or they had no length: those may have overlapped with others"
            ),
            Self::NotAllRead => f.write_str("not all of what came could be read"),
            Self::LabLog { quoted } => f.write_str(quoted),
            Self::Reported { misuse } => misuse.fmt(f),
            Self::FaultsUnknown => {
                f.write_str("what was broken meanwhile is not known: that a lock has held says nothing of faults")
            }
            Self::FaultsOutside { entries } => write!(
                f,
                "nothing in the log of the lab ({}) took effect between the first event and the last: nothing was broken meanwhile, or the \
                 clocks differ",
                counted(*entries, "entry", "entries")
            ),
        }
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late {
                key,
                client,
                work,
                at_ns,
                late_ns,
            } => {
                let did = match work {
                    LateWork::Write => "wrote",
                    LateWork::Section => "was inside",
                };
                write!(f, "\"{key}\": {client} {did} at {at_ns}, ")?;
                match late_ns {
                    None => f.write_str("without a lock that it could rely on all the time"),
                    Some(ns) => {
                        let ms = *ns as f64 / 1e6;
                        write!(f, "{ms:.3} ms after its reason to rely on its lock had ended")
                    }
                }
            }
            Self::SharedToken {
                key,
                client,
                at_ns,
                before,
            } => write!(
                f,
                "\"{key}\": {client} got it at {at_ns} with the token of {before}: each can release the other's lock"
            ),
            Self::FenceRepeated {
                key,
                client,
                at_ns,
                fence,
            } => write!(
                f,
                "\"{key}\": {client} got fence {fence} at {at_ns}, which had been handed out before"
            ),
            Self::FenceFallen {
                key,
                client,
                at_ns,
                fence,
                highest,
            } => write!(
                f,
                "\"{key}\": {client} got fence {fence} at {at_ns}, after {highest} had been handed out"
            ),
        }
    }
}

/// Facts as JSON that is shown has them: each with its sentence beside it.
///
/// # Errors
/// The serializer has one.
pub fn with_text<T: Serialize + fmt::Display, S: Serializer>(facts: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct WithText<'a, T> {
        #[serde(flatten)]
        fact: &'a T,
        text: String,
    }
    serializer.collect_seq(facts.iter().map(|fact| WithText {
        fact,
        text: fact.to_string(),
    }))
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoadEnds => f.write_str("the load ends"),
            Self::Blocked(act) => act.fmt(f),
            Self::Fault {
                action,
                targets,
                is_bounce,
                waits_for,
            } => {
                f.write_str(&happens(*action, targets, *is_bounce))?;
                waits_for.as_ref().map_or(Ok(()), |awaited| write!(f, " {awaited}"))
            }
        }
    }
}

/// An action as something that happens: `host 1 dies`.
fn happens(action: Action, targets: &Targets, is_bounce: bool) -> String {
    let is_one = match targets {
        Targets::Named(targets) => targets.len() == 1,
        Targets::By(seat) => *seat == Seat::Primary,
    };
    let verb = |one: &'static str, many: &'static str| if is_one { one } else { many };
    let said = match action {
        Action::Fault(Fault::Failover { by: Way::Sentinel }) => return "a Sentinel chooses another master".to_owned(),
        Action::Fault(Fault::Failover { by: Way::Hand }) => {
            return match targets {
                Targets::Named(_) => format!("{targets} becomes the master"),
                Targets::By(_) => "the most advanced replica becomes the master".to_owned(),
            };
        }
        Action::Fault(Fault::Kill) if is_bounce => Some(verb("bounces", "bounce")),
        Action::Fault(fault) => fault.happens(is_one),
        Action::Undo(Condition::Down) => Some(verb("returns", "return")),
        Action::Undo(Condition::Paused) => Some(verb("goes on", "go on")),
        Action::Undo(Condition::Cut) => Some(verb("is connected again", "are connected again")),
        Action::Undo(Condition::Lagging) => Some(verb("lags no more", "lag no more")),
        Action::Undo(Condition::Degraded) => Some(verb("works again", "work again")),
        Action::Undo(Condition::Skewed) => Some(verb("has the right time again", "have the right time again")),
    };
    targets.with(|target| match said {
        Some(said) => format!(" {said}{}", action.details(|direction| target.course(direction))),
        None => format!(" {} {}", verb("is", "are"), action.done(target)),
    })
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Condition { quoted } => write!(f, "when {quoted}"),
            Self::Fault { fault, delay } => write!(f, "{} after fault {fault}", setting(*delay)),
            Self::Figure {
                arm,
                figure: metric,
                op,
                bound,
            } => {
                let arm = arm.as_deref().unwrap_or("each lock");
                let shown = figure(*metric, *bound);
                match (metric, op) {
                    (Metric::Holding, Op::AtLeast) => write!(f, "when {arm} has {shown} held"),
                    (Metric::Acquired, Op::AtLeast) => write!(f, "when {arm} has been granted {shown} locks"),
                    (Metric::Partial, Op::Equal) if *bound == 0.0 => {
                        write!(f, "at the moment when all locks of {arm} have all votes")
                    }
                    _ => write!(f, "when {arm}.{} {} {shown}", metric.name(), op.sign()),
                }
            }
        }
    }
}

impl fmt::Display for BlockedAct {
    /// `act 2 kills host 1, which is down already: r …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { act, target, is, .. } = self;
        let cure = match target.kind() {
            kind if !is.is_undone_on(kind) => "it does not come back, so R starts anew",
            TargetKind::Link | TargetKind::Route => "the story goes on after that",
            TargetKind::Host | TargetKind::Server | TargetKind::Client if is.answers() => {
                "r restores it and the story goes on"
            }
            TargetKind::Host | TargetKind::Server | TargetKind::Client => "r brings it back and the story goes on",
        };
        let verb = match self.action.verbs()[0] {
            _ if self.is_bounce => "bounces".to_owned(),
            verb => match verb.split_once(' ') {
                Some((verb, rest)) => format!("{verb}s {rest}"),
                None => format!("{verb}s"),
            },
        };
        write!(f, "act {act} {verb} {target}, which is {} already: {cure}", is.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Direction, Finding, Link, Observer, OrderId, Proof};

    const HOST: Target = Target::Host(HostId(1));

    fn event(kind: EventKind) -> Event {
        Event { id: 0, at: 4.0, kind }
    }

    #[test]
    fn the_slots_of_a_cluster() {
        assert_eq!(
            [0, 10_923, 16_384].map(|slots| event(EventKind::Cluster { slots }).text()),
            [
                "cluster down: none of its nodes takes writes (CLUSTERDOWN)",
                "cluster: no master takes writes for 5,461 of its 16,384 slots",
                "cluster: every slot has a master that takes writes again"
            ]
        );
    }

    #[test]
    fn a_fault_says_what_it_meant_before_how_it_was_proved() {
        let mut kill = event(EventKind::fault(Fault::Kill.into(), HOST, OrderedBy::Fault(2), None));
        assert_eq!(kill.text(), "kill host 1 (fault 2)");
        let text_of = |event: &mut Event, change: &dyn Fn(&mut EventKind)| {
            change(&mut event.kind);
            event.text()
        };
        let failed = text_of(&mut kill, &|kind| {
            if let EventKind::Fault { error, .. } = kind {
                *error = Some(NoEffect::NotVerified { within_s: 10 });
            }
        });
        assert_eq!(failed, "kill host 1 (fault 2): not verified within 10 s; still waiting");
        let done = text_of(&mut kill, &|kind| {
            if let EventKind::Fault {
                error,
                effect_at,
                proof,
                unavailable,
                ..
            } = kind
            {
                (*error, *effect_at) = (None, Some(4.012));
                proof.push(Proof {
                    finding: Finding::ProcessGone,
                    by: Observer::Keeper,
                    of: "host 1".to_owned(),
                    at: 4.012,
                });
                unavailable.push(Unavailable {
                    arm: "single".to_owned(),
                    why: Shortage::NoNode,
                });
            }
        });
        assert_eq!(
            done,
            "host 1 killed: single has no lock node (its process is gone, effective after 12 ms, fault 2)"
        );
        assert_eq!(kill.headline(), "host 1 killed");
        let mut back = event(EventKind::fault(
            Action::Undo(Condition::Down),
            HOST,
            OrderedBy::User,
            Some(4.5),
        ));
        let nothing = text_of(&mut back, &|kind| {
            if let EventKind::Fault {
                order, returned_with, ..
            } = kind
            {
                (*order, *returned_with) = (Some(OrderId(1)), Some(Persistence::None));
            }
        });
        assert_eq!(
            nothing,
            "host 1 is back EMPTY: it has forgotten no lock that is held (effective after 500 ms)"
        );
    }

    #[test]
    fn no_lock_event_has_an_empty_cause() {
        let change = LockChange::AllRefused { lacking: None };
        let arm = "redlock".to_owned();
        let text = event(EventKind::Lock { arm, change }).text();
        assert_eq!(text, "redlock: all acquires failing: no lock was granted for a second");
    }

    #[test]
    fn what_happens_is_said_in_plain_words() {
        let one = |action, targets| happens(action, &targets, false);
        let hosts = |all: &[usize]| Targets::Named(all.iter().map(|host| Target::Host(HostId(*host))).collect());
        let delay = Duration::from_millis(60);
        let direction = Direction::Both;
        let lag = Action::from(Fault::Lag { delay, direction });
        let link = Targets::Named(vec![Target::Link(Link::Replication)]);
        let sentinel = Action::from(Fault::Failover { by: Way::Sentinel });
        let hand = Action::from(Fault::Failover { by: Way::Hand });
        for (said, expected) in [
            (one(Fault::Kill.into(), hosts(&[1, 2])), "host 1 and host 2 die"),
            (one(Fault::Kill.into(), Targets::By(Seat::Primary)), "the primary dies"),
            (one(Fault::Kill.into(), Targets::By(Seat::Replicas)), "the replicas die"),
            (one(Action::Undo(Condition::Down), hosts(&[2])), "host 2 returns"),
            (one(Action::Undo(Condition::Paused), hosts(&[2])), "host 2 goes on"),
            (one(Fault::Pause.into(), hosts(&[1])), "host 1 is paused"),
            (
                one(Fault::Shutdown.into(), hosts(&[1, 3])),
                "host 1 and host 3 are shut down",
            ),
            (one(lag, hosts(&[1])), "host 1 is lagged by 60 ms"),
            (one(Fault::Cut { direction }.into(), link), "replication is cut"),
            (
                one(sentinel, Targets::By(Seat::Replicas)),
                "a Sentinel chooses another master",
            ),
            (
                one(hand, Targets::By(Seat::Replicas)),
                "the most advanced replica becomes the master",
            ),
            (one(hand, hosts(&[2])), "host 2 becomes the master"),
        ] {
            assert_eq!(said, expected);
        }
    }
}
