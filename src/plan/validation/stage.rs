use std::fmt::Write as _;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::Exp1;
use serde::Serialize;

use crate::setting::{Renewal, Setting};
use lockstorm_data::model::{in_us, setting};

/// App servers where nothing breaks, and the workers of each.
const CALM: [u32; 2] = [8, 4];
/// App servers that pause: each has one worker, so that a pause hits one section of each lock.
const PAUSING: u32 = 24;
/// App servers of which most die, one after another; they do not come back. Each has one worker. They play several times, since
/// more at once would keep two processors busy.
const DYING: u32 = 32;
/// How many of them die.
const DEATHS: usize = 20;
/// The locks of a stage with crashes: so few that somebody waits for nearly every one, also when most have died.
const SHARED: u32 = 12;
/// The time between two pauses, of all app servers together.
const PAUSE_EVERY: Duration = Duration::from_millis(120);
/// An app server that paused is left alone for so long.
const REST: Duration = Duration::from_millis(300);
/// The longest that an acquire may take where locks are shared.
pub(super) const TIMEOUT: Duration = Duration::from_secs(2);
/// The mean time from the end of a section to the next acquire.
pub(super) const THINK: Duration = Duration::from_millis(5);

/// What breaks while the sections are played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Breaks {
    /// Nothing.
    Nothing,
    /// App servers pause.
    Pauses,
    /// App servers die while they hold locks that others wait for.
    Crashes,
}

/// A kind of lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlayedLock {
    /// A lock on one node.
    Single,
    /// A lock on three nodes.
    Redlock,
}

impl PlayedLock {
    /// Both kinds of lock.
    pub const ALL: [Self; 2] = [Self::Single, Self::Redlock];

    /// How many nodes it has.
    pub const fn nodes(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Redlock => 3,
        }
    }

    /// Its name, which is that of its arm.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Redlock => "redlock",
        }
    }
}

/// What is played on real nodes: a cell of the table for each [`PlayedLock`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stage {
    /// The TTL and its renewal.
    pub setting: Setting,
    /// What breaks.
    pub breaks: Breaks,
    /// The length of the measured part of a run.
    #[serde(rename = "length_us", with = "in_us")]
    pub length: Duration,
    /// How many runs it is played in, each with a seed of its own.
    pub runs: u64,
}

/// Two cells, in half a minute.
pub fn quick() -> Vec<Stage> {
    vec![calm(50)]
}

/// All cells, in about seven minutes. The first stages give the holds and round trips that those with pauses are compared with.
pub fn whole() -> Vec<Stage> {
    let breaking = |ttl, renewal, breaks, (length, runs)| Stage {
        setting: Setting {
            ttl: Duration::from_millis(ttl),
            renewal,
        },
        breaks,
        length: Duration::from_secs(length),
        runs,
    };
    vec![
        calm(30),
        calm(50),
        calm(80),
        calm(120),
        breaking(60, Renewal::Fraction(3), Breaks::Pauses, (60, 1)),
        breaking(80, Renewal::Off, Breaks::Pauses, (60, 1)),
        breaking(120, Renewal::Off, Breaks::Crashes, (12, 12)),
    ]
}

fn calm(ttl: u64) -> Stage {
    Stage {
        setting: Setting {
            ttl: Duration::from_millis(ttl),
            renewal: Renewal::Off,
        },
        breaks: Breaks::Nothing,
        length: Duration::from_secs(20),
        runs: 1,
    }
}

impl Stage {
    /// App servers, and workers on each.
    pub const fn swarm(&self) -> [u32; 2] {
        match self.breaks {
            Breaks::Nothing => CALM,
            Breaks::Pauses => [PAUSING, 1],
            Breaks::Crashes => [DYING, 1],
        }
    }

    /// The locks that the workers share; `None` if nobody waits for anybody.
    pub const fn shared(&self) -> Option<u32> {
        match self.breaks {
            Breaks::Nothing | Breaks::Pauses => None,
            Breaks::Crashes => Some(SHARED),
        }
    }

    /// How long a node may take to answer.
    pub fn node_timeout(&self) -> Duration {
        self.setting.ttl / 2
    }

    /// The scenario that plays it.
    pub fn scenario(&self, seed: u64) -> String {
        let [servers, workers] = self.swarm();
        let (products, wait) = match self.shared() {
            // So many that two workers hardly ever want the same one.
            None => (20_000, "\"fail-fast\""),
            Some(keys) => (keys, "\"queue\""),
        };
        let mut text = format!(
            "title = \"validation: TTL {ttl}, {renewal}\"\n\
             duration = \"{length}\"\nwarmup = \"1s\"\nseed = {seed}\n\
             [lab]\nhosts = 3\n\
             [swarm]\nservers = {servers}\nworkers = {workers}\nthink = \"{think}\"\n\
             [workload]\nkind = \"inventory\"\nproducts = {products}\nstock = 1000000\n\
             hold = {{ median = \"20ms\", sigma = 0.6 }}\n",
            ttl = setting(self.setting.ttl),
            renewal = self.setting.renewal,
            length = setting(self.length),
            think = setting(THINK),
        );
        for kind in PlayedLock::ALL {
            // `write!` to a String can't fail.
            let _ = writeln!(
                text,
                "[[arm]]\nname = \"{name}\"\nlock = \"{name}\"\nttl = \"{ttl}\"\nrenew = \"{renewal}\"\nwait = {wait}\n\
                 timeout = \"{timeout}\"\nnode_timeout = \"{node_timeout}\"",
                name = kind.name(),
                ttl = setting(self.setting.ttl),
                renewal = self.setting.renewal,
                timeout = setting(TIMEOUT),
                node_timeout = setting(self.node_timeout()),
            );
        }
        self.faults(seed, &mut text);
        text
    }

    /// Pauses or crashes at random times, so that they meet sections in any phase.
    fn faults(&self, seed: u64, text: &mut String) {
        let mut random = StdRng::seed_from_u64(seed);
        let mut fault = |at: Duration, what: &str, server: usize, lasts: Option<Duration>| {
            let (at, server) = (at.as_micros(), server + 1);
            let _ = writeln!(
                text,
                "[[fault]]\nat = \"{at}us\"\ndo = \"{what}\"\non = \"server:{server}\""
            );
            if let Some(lasts) = lasts {
                let _ = writeln!(text, "for = \"{}\"", setting(lasts));
            }
        };
        let last = self.length.saturating_sub(Duration::from_secs(1));
        match self.breaks {
            Breaks::Nothing => {}
            Breaks::Pauses => {
                let mut free_from = [Duration::ZERO; PAUSING as usize];
                let mut at = PAUSE_EVERY;
                while at < last {
                    let server = random.random_range(0..free_from.len());
                    // 40 to 160 ms: some end before the lock does, and some don't.
                    let lasts = Duration::from_millis(random.random_range(40..=160));
                    if free_from[server] <= at {
                        free_from[server] = at + lasts + REST;
                        fault(at, "pause", server, Some(lasts));
                    }
                    at += PAUSE_EVERY.mul_f64(random.sample(Exp1));
                }
            }
            Breaks::Crashes => {
                let mut servers: Vec<usize> = (0..DYING as usize).collect();
                servers.shuffle(&mut random);
                let mut times: Vec<Duration> = (0..DEATHS).map(|_| last.mul_f64(random.random())).collect();
                times.sort_unstable();
                for (at, server) in times.into_iter().zip(servers) {
                    fault(at, "kill", server, None);
                }
            }
        }
    }
}
