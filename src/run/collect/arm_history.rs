use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::under_test::HeldLock;
use crate::workload::{Happened, HoldNews, LiveHold};
use lockstorm_base::monotonic_ns;
use lockstorm_base::output::Stream;
use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::history::{Acquire, Answer, Fault, Head, Holder, Operation, Release};
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::scenario::{ArmSpec, Scenario};

/// How long after its validity and another TTL a key is gone in any case.
const MARGIN: Duration = Duration::from_secs(1);

/// Writes what the clients of one arm do to a history, in the order in which it was over.
#[derive(Debug)]
pub(crate) struct ArmHistory {
    stream: Stream,
    arm: Arc<ArmSpec>,
    /// The holds whose release was not answered, by client and number.
    open: BTreeMap<(Holder, u64), Open>,
    /// Lines with the time at which they were known, which are not written yet.
    known: Vec<(i64, Operation)>,
}

#[derive(Debug)]
struct Open {
    from: i64,
    /// Once it has ended.
    release: Option<Release>,
}

impl ArmHistory {
    /// Begins the history of an arm.
    pub fn new(stream: Stream, arm: Arc<ArmSpec>) -> Self {
        Self {
            stream,
            arm,
            open: BTreeMap::new(),
            known: Vec::new(),
        }
    }

    /// Takes in what has happened on an app server.
    pub fn note(&mut self, server: usize, news: &[HoldNews]) {
        for HoldNews { at, what, .. } in news {
            let at = monotonic_ns(*at);
            let client = |worker| Holder { server, worker };
            match what {
                Happened::Began(hold) => self.began(client(hold.worker), at, hold),
                Happened::Ended(hold) => self.ended(client(hold.worker), at, hold),
                Happened::GivenBack(hold, is_confirmed) => {
                    let open = self.open.remove(&(client(hold.worker), hold.number));
                    if let Some(mut release) = open.and_then(|open| open.release) {
                        if *is_confirmed {
                            (release.result, release.returned) = (Answer::Ok, at);
                        }
                        self.known.push((at, Operation::Release(release)));
                    }
                }
                Happened::Asked | Happened::Answered | Happened::NotGranted { .. } => {}
                Happened::Refused(refused) => {
                    let acquire = Acquire {
                        client: client(refused.worker),
                        arm: self.arm.name.clone(),
                        key: refused.key.clone(),
                        call: monotonic_ns(refused.asked),
                        returned: at,
                        result: if refused.busy { Answer::Busy } else { Answer::Unknown },
                        token: String::new(),
                        fence: None,
                        until: None,
                        warm_up: !refused.measured,
                    };
                    self.known.push((at, Operation::Acquire(acquire)));
                }
            }
        }
    }

    fn began(&mut self, client: Holder, from: i64, hold: &LiveHold) {
        // Its app server was killed before the reply came. What has not ended is the other lock of a payment.
        let of_client = self.open.range((client, 0)..=(client, u64::MAX));
        let ended = of_client
            .filter(|(_, open)| open.release.is_some())
            .map(|(place, _)| *place);
        for place in ended.collect::<Vec<_>>() {
            self.give_up(place, from);
        }
        let until = match hold.has_lock {
            true => hold.relied_until().map(monotonic_ns),
            false => Some(from),
        };
        let acquire = Acquire {
            client,
            arm: self.arm.name.clone(),
            key: hold.key().to_owned(),
            call: hold.lock.as_ref().map_or(from, |lock| monotonic_ns(lock.asked())),
            returned: from,
            result: Answer::Ok,
            token: token(hold),
            fence: hold.lock.as_ref().and_then(HeldLock::fence),
            until,
            warm_up: !hold.measured,
        };
        self.known.push((from, Operation::Acquire(acquire)));
        let open = Open { from, release: None };
        self.open.insert((client, hold.number), open);
    }

    fn ended(&mut self, client: Holder, left: i64, hold: &LiveHold) {
        let Some(open) = self.open.get_mut(&(client, hold.number)) else {
            return;
        };
        let until = match hold.has_lock {
            true => hold.relied_until().map_or(left, monotonic_ns),
            false => open.from,
        };
        let call = left.min(until).max(open.from);
        let gone = (self.arm.ttl + MARGIN).as_nanos();
        open.release = Some(Release {
            client,
            arm: self.arm.name.clone(),
            key: hold.key().to_owned(),
            call,
            returned: call.saturating_add(i64::try_from(gone).unwrap_or(i64::MAX)).max(left),
            result: Answer::Unknown,
            token: token(hold),
            left,
        });
    }

    /// Nobody will answer the release of this hold.
    fn give_up(&mut self, hold: (Holder, u64), at: i64) {
        let release = self.open.remove(&hold).and_then(|open| open.release);
        self.known
            .extend(release.map(|release| (at, Operation::Release(release))));
    }

    /// Writes what was known until then: nothing that is told later was known before.
    pub fn write(&mut self, until: i64) {
        self.known.sort_by_key(|(at, _)| *at);
        let known = self.known.partition_point(|(at, _)| *at <= until);
        for (_, line) in self.known.drain(..known) {
            put(&self.stream, &line);
        }
    }

    /// Writes the rest.
    pub fn close(mut self) {
        for hold in self.open.keys().copied().collect::<Vec<_>>() {
            self.give_up(hold, i64::MAX);
        }
        self.write(i64::MAX);
    }
}

fn token(hold: &LiveHold) -> String {
    hold.lock
        .as_ref()
        .map_or_else(String::new, |lock| lock.token().to_owned())
}

/// The first line of the history of a scenario.
pub(crate) fn head(scenario: &Scenario) -> Head {
    Head {
        history: Head::FORMAT,
        lockstorm: env!("CARGO_PKG_VERSION").to_owned(),
        clock: Head::CLOCK.to_owned(),
        arms: scenario.arms.iter().map(|arm| arm.name.clone()).collect(),
        stock: scenario.workload.about().ledger().map(|ledger| ledger.stock),
        clients: Vec::new(),
        damage: 0,
        doubt: None,
    }
}

/// Writes the faults that took effect; their times are seconds since `origin`.
pub(crate) fn tell_faults(stream: &Stream, origin: Instant, events: &[Event]) {
    for event in events {
        if let EventKind::Fault {
            effect_at: Some(at), ..
        } = event.kind
        {
            let (fault, since) = (event.text(), rounded(at.abs() * 1e9).cast_signed());
            let at = monotonic_ns(origin) + if at < 0.0 { -since } else { since };
            put(stream, &Fault { fault, at });
        }
    }
}

/// Writes a line of a history.
pub(crate) fn put(stream: &Stream, line: &impl serde::Serialize) {
    // It consists of numbers and texts, so it can be written as JSON.
    let text = serde_json::to_string(line).unwrap_or_default();
    stream.write(text + "\n");
}
