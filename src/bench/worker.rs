//! One task of an app server: a closed loop of acquire and release, or a lock that is held until the load ends.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::Exp1;
use tokio::sync::watch;
use tokio::time::sleep;

use super::board::{Board, Moment, RoundStage, Seat};
use super::client::Client;
use super::tally::{Cycle, Recorder};

/// The pause of a task after a refusal, the same for all clients, so that no client spins.
pub(super) const AFTER_REFUSAL: Duration = Duration::from_millis(5);

/// One task, with its client.
pub(super) struct Worker<C> {
    pub client: C,
    pub key: String,
    pub hold: Duration,
    /// The mean of the exponentially distributed pause before an acquire.
    pub think: Duration,
    pub board: Arc<Board>,
    pub seat: Arc<Seat>,
    pub recorder: Arc<Recorder>,
    pub stage: watch::Receiver<RoundStage>,
    pub seed: u64,
}

impl<C: Client> Worker<C> {
    /// Acquires and releases until the load ends. The clock is read only around acquire and release.
    pub async fn cycle(self) {
        let mut rng = SmallRng::seed_from_u64(self.seed);
        while *self.stage.borrow() < RoundStage::Stop {
            if !self.think.is_zero() {
                sleep(self.think.mul_f64(rng.sample::<f64, _>(Exp1))).await;
            }
            let began = self.board.moment();
            let start = Instant::now();
            self.seat.begin(&self.board, start, began);
            let answer = self.client.acquire(&self.key).await;
            let acquired = Instant::now();
            self.seat.end();
            let answered = self.board.moment().times_of(began);
            let held = match answer {
                Ok(held) => held,
                Err(refused) => {
                    if let Some(phase) = answered {
                        self.recorder.refused(phase, acquired - start, refused);
                    }
                    sleep(AFTER_REFUSAL).await;
                    continue;
                }
            };
            let releasing = if self.hold.is_zero() {
                acquired
            } else {
                sleep(self.hold).await;
                Instant::now()
            };
            self.client.release(&self.key, held).await;
            let release = releasing.elapsed();
            let moment = self.board.moment();
            self.recorder.cycle(&Cycle {
                acquire: answered.map(|phase| (phase, acquired - start)),
                release: moment.times_of(began).map(|phase| (phase, release)),
                held: releasing - acquired,
                ended: moment.cycles_of(),
            });
            if moment == Moment::Measured {
                self.seat.count();
            }
        }
    }

    /// Holds one lock until the load ends. Returns whether it was lost.
    pub async fn hold(mut self) {
        let held = loop {
            match self.client.acquire(&self.key).await {
                Ok(held) => break held,
                Err(_) => sleep(AFTER_REFUSAL).await,
            }
        };
        self.board.holding.fetch_add(1, Relaxed);
        // If the driver is gone, this is the end too.
        let _ = self.stage.wait_for(|stage| *stage >= RoundStage::Stop).await;
        if C::is_lost(&held) {
            self.board.lost.fetch_add(1, Relaxed);
        }
        self.client.release(&self.key, held).await;
    }
}
