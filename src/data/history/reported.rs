//! What a program reports of its locks, as a history. Time goes in as numbers and no clock is read here.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::event::{Event, EventWord};
use super::holder::Holder;
use super::load::Load;
use super::operation::{Acquire, Answer, Head, Operation, Release};
use crate::facts::{Caveat, LateWork, Misuse, with_text};
use crate::metrics::{Count, Outage, Time};
use crate::model::{Outcome, printable};

/// The arm of a history that has when each holder had reason to rely on its lock.
pub const HELD: &str = "held";
/// The arm of a history that has when each was inside. Nobody believes in its locks: only double uses are to be found in it.
pub const INSIDE: &str = "inside";

/// What a program has reported: the history, and what it shows without a judge. Times are nanoseconds.
#[derive(Debug, Default, Serialize)]
pub struct Reported {
    /// The history, as `record judge` and `record history` read it: an object for each line.
    #[serde(skip)]
    pub history: String,
    /// Clients by name: the first one is app server 1 of the history.
    #[serde(skip)]
    pub clients: Vec<String>,
    /// How many events there were.
    pub events: usize,
    /// How many locks were held by more than one client: only of these an overlap can show.
    pub shared_keys: usize,
    /// Writes of clients that had no reason to rely on their lock; `None` if no `write` was reported.
    pub late_writes: Option<u64>,
    /// Sections that began or went on while their client had no reason to rely on its lock; `None` if no `entered` was reported.
    pub overran: Option<u64>,
    /// The first of both.
    #[serde(serialize_with = "with_text")]
    pub late: Vec<Misuse>,
    /// Holds and sections of which nobody has reported the end. Holds count until the last that was heard of their client.
    pub cut_off: u64,
    /// Those of them that may have overlapped with another one, and holds without any length that met another one.
    pub doubtful: u64,
    /// The longest time until somebody got a lock in which clients waited for it and nobody held it; `None` if nobody has reported that it
    /// asked.
    pub unavailable_ns: Option<i64>,
    /// The same, with its beginning since the first event, and whether it had an end.
    #[serde(skip)]
    pub outage: Outage,
    /// Acquires with a token that another client has had for the same lock: each can release the other's. `None` if no token was reported.
    pub shared_tokens: Option<u64>,
    /// Acquires with a fence that had been handed out before, or that is not above one that was handed out before the client asked; `None`
    /// if no fence was reported.
    pub fences_fallen: Option<u64>,
    /// The first of both.
    #[serde(serialize_with = "with_text")]
    pub handed_out: Vec<Misuse>,
    /// By key and time of an acquire that another client's hold should have prevented: the client whose late release came in between, and
    /// when it released.
    #[serde(skip)]
    pub overtaken: BTreeMap<(String, i64), (usize, i64)>,
    /// That the times of some clients may be by another clock, and why.
    pub clocks: Option<Caveat>,
    /// Whether all that was reported could be read.
    #[serde(skip)]
    pub is_whole: bool,
    /// How many locks there were.
    #[serde(skip)]
    pub keys: usize,
    /// What clients did over time.
    #[serde(skip)]
    pub load: Load,
}

/// For so many bytes of names there is room in the first line of a history: a line has 64 KiB at most.
const NAMES: usize = 60 * 1024;

/// So many characters of a doubt are in that line, too.
const DOUBT: usize = 400;

/// How many late writes and sections, tokens and fences are told.
const TOLD: usize = 10;

/// A lock.
#[derive(Debug, Default)]
struct Lock {
    /// Its number, from 0.
    number: usize,
    /// The last hold of each client.
    holds: BTreeMap<usize, Hold>,
    /// The clients whose locks were not over when they got them.
    holders: BTreeSet<usize>,
    inside: BTreeMap<usize, Inside>,
    /// When each client was the last to enter.
    entered: BTreeMap<usize, i64>,
    /// Since when each client waits.
    waiting: BTreeMap<usize, i64>,
    /// How long clients have waited since somebody held it.
    missed: i64,
    /// When that began, and until when it is counted.
    missing: [i64; 2],
    /// The first client that had each token, and the last other one, or itself if there was none.
    tokens: BTreeMap<String, [usize; 2]>,
    /// All fences that were handed out.
    fences: BTreeSet<u64>,
    /// The highest fence so far, each time that one was handed out.
    highest: Vec<(i64, u64)>,
    /// The last release of a client while another one held the lock that had come later, and when.
    overtaken: Option<(usize, i64)>,
}

#[derive(Debug)]
struct Hold {
    asked: Option<i64>,
    from: i64,
    until: Option<i64>,
    /// When it was lost or given back, the earlier.
    ended: Option<i64>,
    /// Whether its end is in the history.
    is_closed: bool,
    /// Whether somebody else had reason to rely on the lock when one of both began.
    met: bool,
    token: Option<String>,
}

#[derive(Debug)]
struct Inside {
    from: i64,
    overran: bool,
}

impl Hold {
    /// The end of its holder's belief, as far as it is known: before `from` if the reply came too late.
    fn end(&self) -> Option<i64> {
        self.until.into_iter().chain(self.ended).min()
    }

    /// Whether its validity was over when the reply came: its client never held the lock.
    fn came_too_late(&self) -> bool {
        self.until.is_some_and(|until| until <= self.from)
    }

    fn lasts_at(&self, t: i64) -> bool {
        self.end().is_none_or(|end| t < end)
    }

    /// Whether it met another one, and has no length: the judge leaves it out.
    fn is_doubtful(&self, end: i64) -> bool {
        self.met && end <= self.from
    }

    fn covers(&self, t: i64) -> bool {
        self.from <= t && self.end().is_none_or(|end| t <= end)
    }
}

impl Reported {
    /// Makes a history of these events, which may be in any order. `is_whole`: whether all that was reported could be read.
    ///
    /// # Errors
    /// A client can't have done that; says which and when.
    pub fn of(mut events: Vec<Event>, is_whole: bool) -> Result<Self, String> {
        // Of the same instant what was told first comes first.
        events.sort_by_key(|event| event.t);
        let [first, last] = [events.first(), events.last()].map(|event| event.map_or(0, |event| event.t));
        let mut made = Self {
            events: events.len(),
            is_whole,
            load: Load::of([first, last]),
            ..Self::default()
        };
        let (mut locks, mut numbers, mut heard) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let mut spans: Vec<[i64; 2]> = Vec::new();
        let mut lines = String::new();
        for event in events {
            let next = made.clients.len();
            let client = *numbers.entry(event.client.clone()).or_insert(next);
            if client == next {
                made.clients.push(event.client.clone());
                heard.push(event.t);
                spans.push([event.t; 2]);
            }
            spans[client][1] = spans[client][1].max(event.until.unwrap_or(event.t)).max(event.t);
            heard[client] = event.t;
            let number = locks.len();
            let new = || Lock {
                number,
                ..Lock::default()
            };
            let lock: &mut Lock = locks.entry(event.key.clone()).or_insert_with(new);
            made.take(client, lock, &event, &mut lines)?;
        }
        made.keys = locks.len();
        made.clocks = made.other_clocks(&spans);
        for (key, mut lock) in locks {
            made.shared_keys += usize::from(lock.holders.len() > 1);
            made.waited(&mut lock, last, false);
            for (&client, inside) in &lock.inside {
                let met = |(&other, &t): (&usize, &i64)| other != client && t >= inside.from;
                let outlived = lock.holds.get(&client).is_none_or(|hold| !hold.lasts_at(last));
                made.cut_off += 1;
                made.doubtful += u64::from(outlived || lock.entered.iter().any(met));
                if inside.overran {
                    made.overran(last);
                    let who = made.clients.get(client).map_or("", String::as_str);
                    let late = Misuse::Late {
                        key: printable(&key),
                        client: printable(who),
                        work: LateWork::Section,
                        at_ns: inside.from,
                        late_ns: None,
                    };
                    made.late.extend((made.late.len() < TOLD).then_some(late));
                }
            }
            let mut holds = std::mem::take(&mut lock.holds);
            for (&client, hold) in holds.iter_mut().filter(|(_, hold)| !hold.is_closed) {
                // Its client may not have been there any more, and the lock was promised to it all the same.
                let known = hold.end().map(|end| end.min(last));
                if known.is_none() {
                    made.cut_off += 1;
                    made.doubtful += u64::from(hold.met);
                }
                made.doubtful += u64::from(known.is_some_and(|end| hold.is_doubtful(end)));
                let end = known.unwrap_or_else(|| heard[client].max(hold.from));
                if known.is_some() {
                    made.hold_ended(hold, end, last);
                }
                put(&mut lines, &hold.release(holder(client, &lock), &key, end, None));
            }
        }
        made.load.at(last).counts[Count::CutOff] = made.cut_off;
        made.load.close();
        let mut room = NAMES;
        let mut has_room = |name: &str| {
            let takes = serde_json::to_string(name).map_or(NAMES, |name| name.len() + 1);
            room = room.saturating_sub(takes);
            room > 0
        };
        let head = Head {
            history: Head::FORMAT,
            lockstorm: env!("CARGO_PKG_VERSION").to_owned(),
            clock: Head::REPORTED_CLOCK.to_owned(),
            arms: [HELD, INSIDE].map(str::to_owned).to_vec(),
            stock: None,
            clients: made.clients.iter().filter(|name| has_room(name)).cloned().collect(),
            damage: made.unguarded().unwrap_or(0) + made.handed_out_twice(),
            // A line has no room for long names of clients.
            doubt: made
                .doubt()
                .map(|doubt| doubt.to_string().chars().take(DOUBT).collect()),
        };
        put(&mut made.history, &head);
        made.history += &lines;
        Ok(made)
    }

    /// Sections and writes of clients that had no reason to rely on their lock; `None` if nobody has reported what was done inside one.
    pub fn unguarded(&self) -> Option<u64> {
        let counts = [self.late_writes, self.overran];
        counts.into_iter().flatten().reduce(|one, other| one + other)
    }

    /// Acquires with a token or a fence that does not tell holders apart.
    pub fn handed_out_twice(&self) -> u64 {
        self.shared_tokens.unwrap_or(0) + self.fences_fallen.unwrap_or(0)
    }

    /// Why nothing can be shown, if that is known without a judge.
    pub fn doubt(&self) -> Option<Caveat> {
        Some(if self.events == 0 {
            Caveat::NoEvents
        } else if !self.load.is_of_one_clock() {
            Caveat::MoreThanAYear
        } else if self.shared_keys == 0 {
            Caveat::NoSharedLock
        } else if let Some(clocks) = &self.clocks {
            clocks.clone()
        } else if self.doubtful > 0 {
            Caveat::EndsMissing { holds: self.doubtful }
        } else if !self.is_whole {
            Caveat::NotAllRead
        } else {
            return None;
        })
    }

    /// Takes in the next event of a client and a lock.
    fn take(&mut self, client: usize, lock: &mut Lock, event: &Event, lines: &mut String) -> Result<(), String> {
        let (t, who) = (event.t, holder(client, lock));
        let can_not = |why: &str| {
            let word = serde_json::to_string(&event.event).unwrap_or_default();
            Err(format!(
                "client \"{}\", key \"{}\", t {t}: {word}, but {why}",
                event.client, event.key
            ))
        };
        let before = lock.holds.get(&client);
        let covered = before.is_some_and(|hold| hold.covers(t));
        let came_too_late = before.is_some_and(Hold::came_too_late);
        match event.event {
            EventWord::Asked => {
                if let Entry::Vacant(place) = lock.waiting.entry(client) {
                    place.insert(t);
                    self.load.at(t).counts[Count::Begun] += 1;
                }
                self.unavailable_ns.get_or_insert(0);
            }
            EventWord::Refused => self.refused(client, lock, t),
            EventWord::Extended if covered && !came_too_late => {
                if let Some(hold) = lock.holds.get_mut(&client) {
                    // Its client has relied on the earlier end so far, however late the reply came.
                    hold.until = event.until.map(|until| until.max(t));
                }
            }
            EventWord::Extended if lock.holds.get(&client).is_none_or(|hold| hold.is_closed) => {
                return can_not("it does not hold this lock: report its `acquired` before");
            }
            EventWord::Acquired | EventWord::Extended => {
                let before = lock.holds.get_mut(&client).filter(|hold| !hold.is_closed);
                if let Some(hold) = before {
                    let Some(end) = hold.end().filter(|end| *end <= t) else {
                        return can_not(
                            "it holds this lock: report its `released` or `lost` before, and a renewal as `extended`; a client that \
                             was started anew needs a name of its own",
                        );
                    };
                    self.doubtful += u64::from(hold.is_doubtful(end));
                    self.hold_ended(hold, end, t);
                    put(lines, &hold.release(who, &event.key, end, None));
                }
                self.begin(client, lock, event, lines);
            }
            EventWord::Lost => {
                // One that was given back, or never acquired, can't be lost any more.
                if let Some(hold) = lock.holds.get_mut(&client).filter(|hold| hold.ended.is_none()) {
                    hold.ended = Some(t);
                    self.load.at(t).counts[Count::LocksLost] += 1;
                }
            }
            EventWord::Released if !self.released(client, lock, event, lines) => {
                return can_not("it does not hold this lock: report its `acquired` before");
            }
            EventWord::Released => {}
            EventWord::Entered => {
                let overran = !covered;
                self.overran.get_or_insert(0);
                lock.entered.insert(client, t);
                if lock.inside.insert(client, Inside { from: t, overran }).is_some() {
                    return can_not("it is inside: report its `left` before");
                }
                put(lines, &acquire(INSIDE, who, event, t, Some(t)));
            }
            EventWord::Write => {
                let late_writes = self.late_writes.get_or_insert(0);
                if covered {
                    return Ok(());
                }
                if let Some(inside) = lock.inside.get_mut(&client) {
                    inside.overran = true;
                }
                *late_writes += 1;
                self.load.at(t).counts[Count::LateWrites] += 1;
                self.tell_late(lock, client, event, LateWork::Write);
            }
            EventWord::Left => {
                let Some(inside) = lock.inside.remove(&client) else {
                    return can_not("it is not inside: report its `entered` before");
                };
                if inside.overran || !covered {
                    self.overran(t);
                    self.tell_late(lock, client, event, LateWork::Section);
                }
                let release = Release {
                    client: who,
                    arm: INSIDE.to_owned(),
                    key: event.key.clone(),
                    call: inside.from,
                    returned: t,
                    result: Answer::Ok,
                    token: String::new(),
                    left: t,
                };
                put(lines, &Operation::Release(release));
            }
        }
        Ok(())
    }

    /// A client gives its lock back; returns false if it has none.
    fn released(&mut self, client: usize, lock: &mut Lock, event: &Event, lines: &mut String) -> bool {
        let (t, who) = (event.t, holder(client, lock));
        let Some(hold) = lock.holds.get_mut(&client).filter(|hold| !hold.is_closed) else {
            return false;
        };
        // A client whose lock was over may remove the key of the next one.
        let over = hold.end();
        hold.ended.get_or_insert(t);
        let end = hold.end().unwrap_or(t);
        self.hold_ended(hold, t, t);
        self.doubtful += u64::from(hold.is_doubtful(end));
        put(lines, &hold.release(who, &event.key, end, Some(t)));
        let mut others = lock.holds.iter().filter(|(other, _)| **other != client);
        if others.any(|(_, other)| over.is_some_and(|over| over <= other.from) && other.lasts_at(t)) {
            lock.overtaken = Some((client, t));
        }
        true
    }

    /// A client gives up.
    fn refused(&mut self, client: usize, lock: &mut Lock, t: i64) {
        self.waited(lock, t, true);
        let since = lock.waiting.remove(&client);
        let counts = &mut self.load.at(t).counts;
        counts[Count::Begun] += u64::from(since.is_none());
        counts[Count::GaveUp] += 1;
        let is_held = lock
            .holds
            .iter()
            .any(|(other, hold)| *other != client && hold.lasts_at(t));
        // Why else it was refused nobody has reported.
        let outcome = if is_held { Outcome::Contended } else { Outcome::Unknown };
        self.load.acquire(outcome, since, t);
        self.load.completed(since, t, t);
    }

    /// A client has got a lock, or extended it too late.
    fn begin(&mut self, client: usize, lock: &mut Lock, event: &Event, lines: &mut String) {
        let t = event.t;
        if let Some(inside) = lock.inside.get_mut(&client) {
            inside.overran = true;
        }
        let mut hold = Hold {
            asked: None,
            from: t,
            until: event.until,
            ended: None,
            is_closed: false,
            met: false,
            token: event.token.clone(),
        };
        let is_held = !hold.came_too_late();
        self.waited(lock, t, is_held);
        if is_held {
            lock.missed = 0;
            lock.holders.insert(client);
        }
        let asked = lock.waiting.remove(&client);
        hold.asked = asked;
        self.load.at(t).counts[Count::Begun] += u64::from(asked.is_none());
        if event.event == EventWord::Acquired {
            self.load.acquire(Outcome::Acquired, asked, t);
            self.handed_out(client, lock, event, asked.unwrap_or(t));
        }
        for (_, other) in lock.holds.iter_mut().filter(|(other, _)| **other != client) {
            let is_met = is_held && other.lasts_at(t);
            if let Some(release) = lock.overtaken.filter(|(_, at)| is_met && other.from <= *at) {
                self.overtaken.insert((event.key.clone(), t), release);
            }
            other.met |= is_met;
            hold.met |= is_met;
        }
        let called = asked.unwrap_or(t);
        put(lines, &acquire(HELD, holder(client, lock), event, called, event.until));
        lock.holds.insert(client, hold);
    }

    /// A client that has `asked` then has got a token and a fence.
    fn handed_out(&mut self, client: usize, lock: &mut Lock, event: &Event, asked: i64) {
        let at_ns = event.t;
        let [key, who] = [&event.key, &event.client].map(|name| printable(name));
        let mut found = Vec::new();
        if let Some(token) = &event.token {
            let shared_tokens = self.shared_tokens.get_or_insert(0);
            let [first, last] = lock.tokens.entry(token.clone()).or_insert([client; 2]);
            let before = if *first == client { *last } else { *first };
            if *first != client {
                *last = client;
            }
            if before != client {
                let other = self.clients.get(before).map_or("", String::as_str);
                *shared_tokens += 1;
                found.push(Misuse::SharedToken {
                    key: key.clone(),
                    client: who.clone(),
                    at_ns,
                    before: printable(other),
                });
            }
        }
        if let Some(fence) = event.fence {
            let fences_fallen = self.fences_fallen.get_or_insert(0);
            // A reply may be late, so that only those count that others had before this one asked.
            let before = lock.highest.partition_point(|(at, _)| *at <= asked);
            let highest = before.checked_sub(1).map(|place| lock.highest[place].1);
            let repeats = !lock.fences.insert(fence);
            if repeats || highest.is_some_and(|highest| fence <= highest) {
                *fences_fallen += 1;
                found.push(match highest.filter(|_| !repeats) {
                    None => Misuse::FenceRepeated {
                        key,
                        client: who,
                        at_ns,
                        fence,
                    },
                    Some(highest) => Misuse::FenceFallen {
                        key,
                        client: who,
                        at_ns,
                        fence,
                        highest,
                    },
                });
            }
            let highest = lock.highest.last().map_or(fence, |(_, highest)| fence.max(*highest));
            lock.highest.push((at_ns, highest));
        }
        let room = TOLD.saturating_sub(self.handed_out.len());
        self.handed_out.extend(found.into_iter().take(room));
    }

    /// Whether some clients were heard so long after all others that their times may be by another clock: the pause is longer than any
    /// client was heard.
    fn other_clocks(&self, spans: &[[i64; 2]]) -> Option<Caveat> {
        let longest = spans.iter().map(|[from, until]| from.abs_diff(*until)).max()?;
        let mut order: Vec<usize> = (0..spans.len()).collect();
        order.sort_by_key(|client| spans[*client][0]);
        let mut last = *order.first()?;
        for next in order {
            let ([_, end], [begin, _]) = (spans[last], spans[next]);
            if begin > end && begin.abs_diff(end) > longest {
                let [before, after] =
                    [last, next].map(|client| printable(self.clients.get(client).map_or("", String::as_str)));
                return Some(Caveat::OtherClocks {
                    before,
                    ended_ns: end,
                    after,
                    began_ns: begin,
                });
            }
            if spans[next][1] > end {
                last = next;
            }
        }
        None
    }

    /// A section has ended that its client's lock did not cover.
    fn overran(&mut self, t: i64) {
        *self.overran.get_or_insert(0) += 1;
        self.load.at(t).counts[Count::Overran] += 1;
    }

    /// A hold has ended, which is known at `t`.
    fn hold_ended(&mut self, hold: &Hold, end: i64, t: i64) {
        let end = end.max(hold.from);
        self.load.took(Time::Hold, hold.from, end, t);
        self.load.completed(hold.asked, end, t);
    }

    /// Whoever waits did so until `t`: how much of that nobody held the lock.
    fn waited(&mut self, lock: &mut Lock, t: i64, over: bool) {
        let Some(since) = lock.waiting.values().min().copied() else {
            return;
        };
        if lock.holds.values().any(|hold| hold.lasts_at(t)) {
            return;
        }
        let free = lock.holds.values().filter_map(Hold::end).fold(since, i64::max);
        if lock.missed == 0 {
            lock.missing = [free; 2];
        }
        let [from, until] = lock.missing;
        lock.missed = lock.missed.saturating_add(t.saturating_sub(free.max(until)));
        lock.missing = [from, t];
        if self.unavailable_ns < Some(lock.missed) {
            self.unavailable_ns = Some(lock.missed);
            self.outage = Outage {
                at: from.saturating_sub(self.load.span[0]) as f64 / 1e9,
                event: None,
                lasted_us: lock.missed.cast_unsigned() / 1000,
                over,
                ..Outage::default()
            };
        }
    }

    fn tell_late(&mut self, lock: &Lock, client: usize, event: &Event, work: LateWork) {
        if self.late.len() == TOLD {
            return;
        }
        let end = lock.holds.get(&client).and_then(Hold::end).filter(|end| *end < event.t);
        self.late.push(Misuse::Late {
            key: printable(&event.key),
            client: printable(&event.client),
            work,
            at_ns: event.t,
            late_ns: end.map(|end| event.t.saturating_sub(end)),
        });
    }
}

impl Hold {
    /// Its end, which is in the history from now on; `answered` when that was confirmed.
    fn release(&mut self, client: Holder, key: &str, end: i64, answered: Option<i64>) -> Operation {
        self.is_closed = true;
        self.ended.get_or_insert(end);
        let end = end.max(self.from);
        Operation::Release(Release {
            client,
            arm: HELD.to_owned(),
            key: key.to_owned(),
            call: end,
            returned: answered.unwrap_or(end),
            result: if answered.is_some() {
                Answer::Ok
            } else {
                Answer::Unknown
            },
            token: self.token.clone().unwrap_or_default(),
            left: end,
        })
    }
}

/// A client has one lock at a time in a history, and any number here: each lock is another worker of it.
const fn holder(client: usize, lock: &Lock) -> Holder {
    Holder {
        server: client + 1,
        worker: lock.number,
    }
}

fn acquire(arm: &str, client: Holder, event: &Event, asked: i64, until: Option<i64>) -> Operation {
    Operation::Acquire(Acquire {
        client,
        arm: arm.to_owned(),
        key: event.key.clone(),
        call: asked,
        returned: event.t,
        result: Answer::Ok,
        token: event.token.clone().unwrap_or_default(),
        fence: event.fence,
        until,
        warm_up: false,
    })
}

/// Adds a line. It consists of numbers and texts, so it can be written as JSON.
fn put(history: &mut String, line: &impl Serialize) {
    *history += &serde_json::to_string(line).unwrap_or_default();
    history.push('\n');
}
