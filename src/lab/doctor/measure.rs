//! Measures servers and this process over some time, with next to no load.

use std::future::pending;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hdrhistogram::Histogram;
use tokio::time::{MissedTickBehavior, interval};

use super::checks::{repeated, same_servers};
use super::clock::{clock_of, since_epoch};
use super::examine::run_id;
use crate::server::sessions;
use lockstorm_data::metrics::{Clock, MeasuredClock, MeasuredNode, Measurement, histogram, in_micros};
use lockstorm_lock::{NodeAddress, NodeOptions, Reply, Session, SessionError};

/// How many commands a second each server is sent.
const COMMANDS_PER_SECOND: u64 = 10;
/// The time from one to the next.
const INTERVAL: Duration = Duration::from_millis(1000 / COMMANDS_PER_SECOND);
/// How often this process sees whether it stood still.
const TICK: Duration = Duration::from_millis(2);

/// Asks each of the servers for its time, over and over, until `end` is there, which is returned too. `asked` is how long that is
/// meant to take. Nothing is changed on the servers.
///
/// # Errors
/// A server can't be asked at the start: a line for each that can't, with its host and port. Or one is named more than once.
pub async fn measure<T>(
    addresses: &[NodeAddress],
    asked: Duration,
    end: impl Future<Output = T>,
) -> Result<(Measurement, T), String> {
    let start = Start {
        at: Instant::now(),
        ours: since_epoch(),
    };
    let mut all = join_all(addresses.iter().map(|address| Watched::open(address, start))).await;
    let refused: Vec<String> = all
        .iter_mut()
        .filter_map(|watched| watched.as_mut().err().map(std::mem::take))
        .collect();
    if !refused.is_empty() {
        return Err(refused.join("\n"));
    }
    let mut all: Vec<Watched<'_>> = all.into_iter().flatten().collect();
    // Who does not say which server it is, is known by its address.
    let names: Vec<String> = all.iter().map(|watched| watched.address.to_string()).collect();
    let ids = all.iter().map(|watched| watched.run_id.as_ref());
    let named = names.iter().zip(ids).map(|(name, id)| (&**name, &**id.unwrap_or(name)));
    let repeated = repeated(named);
    if !repeated.is_empty() {
        return Err(format!("{}; name each server once", same_servers(&repeated)));
    }
    let (over, is_over) = channel();
    let stalls = thread::spawn(move || stalls(&is_over));
    let begun = Instant::now();
    let asking = async {
        join_all(all.iter_mut().map(Watched::ask_on)).await;
        pending().await
    };
    let ended = tokio::select! {
        ended = end => ended,
        ended = asking => ended,
    };
    let seconds = begun.elapsed().as_secs_f64();
    drop(over);
    // It can't panic.
    let stalls = stalls.join().unwrap_or_else(|_| histogram());
    let measurement = Measurement {
        measurement_format: Measurement::FORMAT,
        seconds,
        asked_seconds: asked.as_secs_f64(),
        commands_per_second: COMMANDS_PER_SECOND,
        nodes: all.into_iter().map(Watched::summed_up).collect(),
        stalls_us: (&stalls).into(),
    };
    Ok((measurement, ended))
}

/// How long this process stood still, each time that it did, until the other side of the channel is gone.
fn stalls(is_over: &Receiver<()>) -> Histogram<u64> {
    let (mut stalls, mut due) = (histogram(), Instant::now() + TICK);
    while is_over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let now = Instant::now();
        let late = now.saturating_duration_since(due);
        if late > Measurement::STALL {
            // It resizes itself, so no value is out of range.
            let _ = stalls.record(in_micros(late));
        }
        due = now + TICK;
    }
    stalls
}

/// When it began, by the clock that never jumps, and by the other.
#[derive(Clone, Copy)]
struct Start {
    at: Instant,
    ours: Duration,
}

/// A server, and what was seen of it.
struct Watched<'a> {
    address: &'a NodeAddress,
    start: Start,
    session: Option<Session>,
    /// What the server calls itself, if it says so.
    run_id: Option<String>,
    answers: u64,
    failures: u64,
    last_failure: Option<String>,
    /// Since when it has not answered, while it is waited for.
    silent_since: Option<Instant>,
    longest_silence: Duration,
    round_trips: Histogram<u64>,
    /// For each second, the comparison of clocks with the shortest round trip.
    clocks: Vec<(f64, Clock)>,
}

impl<'a> Watched<'a> {
    async fn open(address: &'a NodeAddress, start: Start) -> Result<Self, String> {
        let session = Session::open(address, &NodeOptions::default()).await;
        let mut session = session.map_err(|error| format!("{address}: {}", sessions::words(&error)))?;
        let run_id = run_id(&mut session).await;
        Ok(Self {
            address,
            start,
            // After an error it is of no more use.
            session: run_id.is_ok().then_some(session),
            run_id: run_id.unwrap_or_default(),
            answers: 0,
            failures: 0,
            last_failure: None,
            silent_since: None,
            longest_silence: Duration::ZERO,
            round_trips: histogram(),
            clocks: Vec::new(),
        })
    }

    /// Asks for ever.
    async fn ask_on(&mut self) {
        let mut due = interval(INTERVAL);
        due.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            due.tick().await;
            self.silent_since.get_or_insert_with(Instant::now);
            match self.ask().await {
                Ok(()) => {
                    self.answers += 1;
                    self.break_silence();
                }
                Err(error) => {
                    self.session = None;
                    self.failures += 1;
                    self.last_failure = Some(sessions::words(&error));
                }
            }
        }
    }

    async fn ask(&mut self) -> Result<(), SessionError> {
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(Session::open(self.address, &NodeOptions::default()).await?),
        };
        let asked = Instant::now();
        let reply = session.ask(&["TIME"]).await?;
        let took = asked.elapsed();
        let since = asked.duration_since(self.start.at);
        let clock = clock_of(&reply, self.start.ours + since, took);
        match &reply {
            // It answers, but not this user.
            Reply::Error(why) if why.starts_with("NOPERM") => {}
            Reply::Error(why) => return Err(SessionError::Answer(why.clone())),
            _ if clock.is_none() => {
                return Err(SessionError::Answer(
                    "it does not tell the time as a Redis does".to_owned(),
                ));
            }
            _ => {}
        }
        // It resizes itself, so no value is out of range.
        let _ = self.round_trips.record_correct(in_micros(took), in_micros(INTERVAL));
        if let Some(clock) = clock {
            let at = since.as_secs_f64();
            match self.clocks.last_mut() {
                Some(best) if best.0.floor() >= at.floor() => {
                    if clock.within_us < best.1.within_us {
                        *best = (at, clock);
                    }
                }
                _ => self.clocks.push((at, clock)),
            }
        }
        Ok(())
    }

    fn break_silence(&mut self) {
        let silence = self.silent_since.take().map_or(Duration::ZERO, |since| since.elapsed());
        self.longest_silence = self.longest_silence.max(silence);
    }

    fn summed_up(mut self) -> MeasuredNode {
        self.break_silence();
        MeasuredNode {
            node: self.address.to_string(),
            answers: self.answers,
            failures: self.failures,
            last_failure: self.last_failure,
            longest_silence_us: u64::try_from(self.longest_silence.as_micros()).unwrap_or(u64::MAX),
            round_trips_us: (&self.round_trips).into(),
            clock: MeasuredClock::of(&self.clocks),
        }
    }
}
