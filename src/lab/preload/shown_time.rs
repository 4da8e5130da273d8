//! What time a server shows, and by which it expires keys.

use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::time::sleep;

use super::control::Control;
use crate::server::sessions::{self, words};
use lockstorm_data::model::Skew;
use lockstorm_lock::{NodeAddress, Reply, Session};

/// How long connecting may take, and each answer.
const TIMEOUT: Duration = Duration::from_secs(1);
/// A clock is right, or as wrong as it should be, within this and the round trip.
const TOLERANCE_US: i64 = 2_000;
/// The key by which it is seen that keys expire by the same clock, and how long it may live.
const CANARY: &str = "lockstorm:clock";
const CANARY_MS: i64 = 60_000;
const CANARY_SLACK_MS: i64 = 5;
/// How far a clock is set to see whether anybody reads it.
const TRIAL: Skew = Skew {
    ahead_ms: 3_600_000,
    rate_ppm: Skew::TRUE_RATE,
};

/// A server's clock as it was read.
struct Shown {
    /// How far it is ahead of ours, in microseconds.
    ahead_us: i64,
    /// That is right within so many.
    within_us: i64,
    /// What it shows, in milliseconds since 1970.
    ms: i64,
}

impl Control {
    /// Checks that a server reads this clock: its process has mapped it, and if it tells the time, that is the clock's.
    pub(crate) async fn check(&self, address: Option<&NodeAddress>) -> Result<(), String> {
        let text = |error: io::Error| error.to_string();
        let why = "does not read the clock that it was given, as a program that is linked statically";
        if self.reader().map_err(text)?.is_none() {
            return Err(why.to_owned());
        }
        let Some(address) = address else { return Ok(()) };
        self.set(TRIAL).map_err(text)?;
        sleep(Self::KEPT).await;
        let tried = self.shown(address, TRIAL, false).await;
        self.set(Skew::NONE).map_err(text)?;
        sleep(Self::KEPT).await;
        match tried? {
            Some(_) => Ok(()),
            None => Err(why.to_owned()),
        }
    }

    /// Whether a clock that was so far ahead of ours then is what this skew makes of the time, and can be told from the right time.
    pub(crate) fn agrees(&self, skew: Skew, ahead_us: i64, then: SystemTime) -> io::Result<bool> {
        let set = self.since()?.unwrap_or(then);
        let expected = skew.ahead_us_after(then.duration_since(set).unwrap_or_default());
        let is_told = skew == Skew::NONE || expected.abs() > 2 * TOLERANCE_US;
        Ok(is_told && (ahead_us - expected).abs() <= TOLERANCE_US)
    }

    /// Since when a server has shown what this skew makes of the time, and by how much it is ahead of ours now, in microseconds; `None` if it
    /// does not, or can't be told from the right time yet. If it `expires` keys of its own, they must follow.
    pub(crate) async fn shown(
        &self,
        address: &NodeAddress,
        skew: Skew,
        expires: bool,
    ) -> Result<Option<(Instant, i64)>, String> {
        let set = self
            .since()
            .map_err(|error| error.to_string())?
            .unwrap_or_else(SystemTime::now);
        let mut session = sessions::open(address, TIMEOUT).await.map_err(|error| words(&error))?;
        let asked = Instant::now();
        let shown = read(&mut session).await?;
        let (now, wall) = (Instant::now(), SystemTime::now());
        let age = wall.duration_since(set).unwrap_or_default();
        let (expected, within) = (skew.ahead_us_after(age), shown.within_us + TOLERANCE_US);
        let is_so = (shown.ahead_us - expected).abs() <= within;
        let is_told = skew == Skew::NONE || expected.abs() > 2 * within;
        if !is_so || !is_told || expires && !canary_follows(&mut session, shown.ms, asked).await? {
            return Ok(None);
        }
        let since = now.checked_sub(age).filter(|_| skew != Skew::NONE).unwrap_or(now);
        // What can't be told from the right time is right.
        let ahead_us = if skew == Skew::NONE { 0 } else { shown.ahead_us };
        Ok(Some((since, ahead_us)))
    }
}

/// Asks a server for the time.
async fn read(session: &mut Session) -> Result<Shown, String> {
    let before = since_epoch();
    let time = session.order(&["TIME"]).await.map_err(|error| words(&error))?;
    let took = since_epoch() - before;
    let number = |reply: &Reply| reply.text()?.parse::<i64>().ok();
    let us = match time.parts() {
        [seconds, micros] => number(seconds).zip(number(micros)).map(|(s, us)| s * 1_000_000 + us),
        _ => None,
    };
    let us = us.ok_or("it does not answer TIME with two numbers")?;
    Ok(Shown {
        ahead_us: us - (before + took / 2),
        within_us: took / 2 + 1,
        ms: us / 1000,
    })
}

/// Whether a key that is to expire a minute after `ms`, which the server's clock showed after `asked`, has a minute to live.
async fn canary_follows(session: &mut Session, ms: i64, asked: Instant) -> Result<bool, String> {
    let at = (ms + CANARY_MS).to_string();
    let mut ask = async |command: &[&str]| session.order(command).await.map_err(|error| words(&error));
    ask(&["SET", CANARY, "1", "PXAT", &at]).await?;
    let left = ask(&["PTTL", CANARY]).await?;
    ask(&["DEL", CANARY]).await?;
    let Reply::Int(left) = left else {
        return Err("it does not answer PTTL with a number".to_owned());
    };
    // Less what has passed since then, by the fastest clock that there can be.
    let passed = asked.elapsed() * Skew::FASTEST;
    let passed = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
    Ok((CANARY_MS - passed - CANARY_SLACK_MS..=CANARY_MS + CANARY_SLACK_MS).contains(&left))
}

/// Microseconds since 1970 by our clock.
fn since_epoch() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
