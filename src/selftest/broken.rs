use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use rand::seq::index::sample;
use redis::{Cmd, RedisResult, cmd};
use tokio::time::sleep;

use super::flaw::Flaw;
use super::node::Node;
use lockstorm_lock::{AcquireOptions, Cause, Refusal, Wait};
use lockstorm_run::under_test::{Granted, OtherHold, OtherLock, Reply};

/// Deletes a key if it has this value.
const DELETE: &str = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0";
/// Extends a key if it has this value.
const EXTEND: &str =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) end return 0";
/// How long after its grant a lock is released that does not wait for its section.
const EARLY: Duration = Duration::from_millis(5);
/// How long a hidden retry waits for an answer.
const RETRY: Duration = Duration::from_millis(100);
/// How often a wall clock is set back.
const SET_BACK_EVERY: Duration = Duration::from_millis(500);
/// By how much.
const SET_BACK: Duration = Duration::from_secs(1);

/// A plain quorum lock, right but for its flaw.
#[derive(Debug, Clone)]
pub(crate) struct Broken {
    flaw: Flaw,
    nodes: Arc<[Node]>,
    /// Since when its clock goes.
    since: Instant,
}

impl OtherLock for Broken {
    fn acquire<'a>(&'a self, key: &'a str, options: &'a AcquireOptions) -> Reply<'a, Result<Arc<OtherHold>, Refusal>> {
        Box::pin(async move {
            let until = Instant::now() + options.timeout;
            loop {
                let refusal = match self.attempt(key, options).await {
                    Ok(hold) => return Ok(hold),
                    Err(refusal) => refusal,
                };
                let pause = match options.wait {
                    Wait::Retry { delay, jitter, .. } => delay + jitter.mul_f64(rand::random()),
                    Wait::FailFast | Wait::Queue => return Err(refusal),
                };
                if Instant::now() + pause >= until {
                    return Err(refusal);
                }
                sleep(pause).await;
            }
        })
    }

    fn release<'a>(&'a self, hold: &'a OtherHold) -> Reply<'a, bool> {
        if self.flaw != Flaw::EarlyRelease {
            let (lock, granted) = (self.clone(), hold.granted.clone());
            tokio::spawn(async move { lock.free(&granted).await });
        }
        Box::pin(async { false })
    }
}

impl Broken {
    pub fn new(flaw: Flaw, nodes: Vec<Node>) -> Self {
        let (nodes, since) = (nodes.into(), Instant::now());
        Self { flaw, nodes, since }
    }

    async fn attempt(&self, key: &str, options: &AcquireOptions) -> Result<Arc<OtherHold>, Refusal> {
        let (ttl, asked) = (options.ttl, Instant::now());
        let token = format!("{:032x}", rand::random::<u128>());
        let mut set = cmd("SET");
        set.arg(key).arg(&token).arg("PX").arg(millis(ttl));
        if self.flaw != Flaw::NoNx {
            set.arg("NX");
        }
        let limit = match self.flaw {
            Flaw::NoValidityCheck | Flaw::EarlyClock | Flaw::HiddenRetry => options.timeout,
            _ => options.reply_timeout.unwrap_or(options.timeout),
        };
        let answers: Vec<RedisResult<Option<String>>> = self.ask_all(&set, limit).await;
        let fails_open = self.flaw == Flaw::FailOpen && answers.iter().all(Result::is_err);
        let voted = |(node, answer): (&Node, &RedisResult<Option<String>>)| {
            matches!(answer, Ok(Some(_))).then(|| node.server()).flatten()
        };
        let voters: Vec<SocketAddr> = self.nodes.iter().zip(&answers).filter_map(voted).collect();
        let quorum = if self.flaw == Flaw::QuorumOfOne {
            1
        } else {
            self.nodes.len() / 2 + 1
        };
        if voters.len() < quorum && !fails_open {
            self.take_back(key, &token).await;
            let causes = answers
                .iter()
                .map(|answer| answer.is_err().then_some(Cause::Timeout))
                .collect();
            let failed = answers.iter().any(Result::is_err);
            return Err(if failed {
                Refusal::Unknown { causes }
            } else {
                Refusal::Contended
            });
        }
        let elapsed = if self.flaw == Flaw::EarlyClock {
            Duration::ZERO
        } else {
            asked.elapsed()
        };
        let valid = ttl.mul_f64(0.99).saturating_sub(Duration::from_millis(2) + elapsed);
        if valid.is_zero() && self.flaw != Flaw::NoValidityCheck {
            self.take_back(key, &token).await;
            let votes = voters.len();
            return Err(Refusal::Expired { votes, elapsed });
        }
        let fence = match self.flaw {
            Flaw::MaxIncr => self.fence(key, limit).await,
            _ => None,
        };
        let granted = Granted {
            key: key.to_owned(),
            token,
            number: 0,
            asked,
            voters,
            nodes: self.nodes.len(),
            fence,
            ttl: None,
            is_renewed: false,
        };
        let hold = Arc::new(OtherHold::new(granted, Some(Instant::now() + valid)));
        self.look_after(&hold, options);
        Ok(hold)
    }

    /// Asks all nodes at once.
    async fn ask_all<T: redis::FromRedisValue>(&self, command: &Cmd, limit: Duration) -> Vec<RedisResult<T>> {
        join_all(self.nodes.iter().map(|node| node.ask(command, limit))).await
    }

    /// Deletes the keys that have this token. Without an answer they expire.
    async fn take_back(&self, key: &str, token: &str) {
        let mut delete = cmd("EVAL");
        delete.arg(DELETE).arg(1).arg(key).arg(token);
        self.ask_all::<i64>(&delete, RETRY).await;
    }

    /// Frees a lock that was granted.
    async fn free(&self, granted: &Granted) {
        if !matches!(self.flaw, Flaw::PlainDel | Flaw::HiddenRetry) {
            return self.take_back(&granted.key, &granted.token).await;
        }
        let mut delete = cmd("DEL");
        delete.arg(&granted.key);
        while self.ask_all::<i64>(&delete, RETRY).await.iter().any(Result::is_err) && self.flaw == Flaw::HiddenRetry {}
    }

    /// Draws a number for the holder from two of the nodes.
    async fn fence(&self, key: &str, limit: Duration) -> Option<u64> {
        let mut incr = cmd("INCR");
        incr.arg(format!("{key}:fence"));
        let two = sample(&mut rand::rng(), self.nodes.len(), 2).into_vec();
        let numbers = join_all(two.into_iter().map(|node| self.nodes[node].ask(&incr, limit))).await;
        numbers.into_iter().filter_map(Result::ok).max()
    }

    /// What goes on while it is held.
    fn look_after(&self, hold: &Arc<OtherHold>, options: &AcquireOptions) {
        let (lock, held) = (self.clone(), Arc::clone(hold));
        match self.flaw {
            Flaw::EarlyRelease => drop(tokio::spawn(async move {
                sleep(EARLY).await;
                held.lose(Instant::now());
                lock.free(&held.granted).await;
            })),
            // By a clock that is set back, what is valid stays valid for longer.
            Flaw::WallClock => drop(tokio::spawn(async move {
                let micros = SET_BACK_EVERY.as_micros() - lock.since.elapsed().as_micros() % SET_BACK_EVERY.as_micros();
                sleep(Duration::from_micros(u64::try_from(micros).unwrap_or_default())).await;
                if let Some(until) = held.relied_until().filter(|_| !held.is_lost()) {
                    held.rely_until(until + SET_BACK);
                }
            })),
            _ => {}
        }
        if let Some(every) = options.renew {
            tokio::spawn(self.clone().renew(Arc::clone(hold), every, options.ttl));
        }
    }

    async fn renew(self, hold: Arc<OtherHold>, every: Duration, ttl: Duration) {
        let Granted { key, token, .. } = &hold.granted;
        let mut extend = cmd("EVAL");
        extend.arg(EXTEND).arg(1).arg(key).arg(token).arg(millis(ttl));
        if self.flaw == Flaw::ExtendCreates {
            extend = cmd("SET");
            extend.arg(key).arg(token).arg("PX").arg(millis(ttl));
        }
        loop {
            sleep(every).await;
            if hold.is_over() {
                return;
            }
            let asked = Instant::now();
            let answers: Vec<RedisResult<redis::Value>> = self.ask_all(&extend, ttl).await;
            let extended = answers
                .iter()
                .flatten()
                .filter(|answer| **answer != redis::Value::Int(0))
                .count();
            if extended > self.nodes.len() / 2 {
                hold.rely_until(asked + ttl.mul_f64(0.99));
            }
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
