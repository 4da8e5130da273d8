use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::task::TaskTracker;

use super::cache::Cache;
use super::failed::Failed;
use super::held_locks::HeldLocks;
use super::hurry::Hurry;
use super::live_settings::LiveSettings;
use super::stalls::Stalls;
use super::under_way::UnderWay;
use crate::store::Store;
use crate::under_test::Lock;
use lockstorm_base::timer::Timer;
use lockstorm_data::metrics::{Counter, Part, Time};
use lockstorm_data::model::ServerId;
use lockstorm_data::scenario::ArmSpec;

/// What the workers of one app server and arm share.
#[derive(Debug)]
pub struct Tools {
    /// The arm.
    pub arm: Arc<ArmSpec>,
    /// What the keys of its locks begin with.
    pub key_prefix: Arc<str>,
    /// Its lock, on the connections of this app server: one that counts for the warm-up, and one for the measured part.
    pub locks: [Lock; 2],
    /// Its tables, on the connections of this app server.
    pub store: Store,
    /// Its part of the cache node.
    pub cache: Cache,
    /// When each acquire began that has not ended yet.
    pub waiting: Arc<UnderWay<Instant>>,
    /// The locks that its workers hold.
    pub held_locks: Arc<HeldLocks>,
    /// The knobs of the run.
    pub live_settings: Arc<LiveSettings>,
    /// How long the thread of its workers has stood still.
    pub stalls: Arc<Stalls>,
    /// The timer for simulated times.
    pub timer: Timer,
    /// Gives up waiting acquires, or simulated work too.
    pub hurry: Hurry,
    /// Tasks that go on for a moment after their request has ended.
    pub after: TaskTracker,
    /// The app server.
    pub server: ServerId,
}

impl Tools {
    /// Spends some simulated time.
    pub(super) async fn spend(&self, time: Duration, counter: Counter<'_>) -> Result<(), Failed> {
        if !time.is_zero() {
            let start = Instant::now();
            tokio::select! {
                biased;
                () = self.timer.sleep(time) => {}
                () = self.hurry.all.cancelled() => return Err(Failed::Cancelled),
            }
            counter.time(Time::Overshoot, start.elapsed().saturating_sub(time));
        }
        Ok(())
    }

    /// The lock that counts for this part of the run.
    pub(super) const fn lock(&self, part: Part) -> &Lock {
        match part {
            Part::WarmUp => &self.locks[0],
            Part::Measured => &self.locks[1],
        }
    }
}
