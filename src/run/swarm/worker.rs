use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::intake::Intake;
use crate::workload::{Done, Hurry, Workload};
use lockstorm_base::timer::Timer;
use lockstorm_data::metrics::Recorder;

/// A request that begins later than this after its intended start counts as late.
const LATE: Duration = Duration::from_millis(10);

/// What the workers of one arm on one app server share.
#[derive(Debug)]
pub(super) struct Crew {
    pub workload: Workload,
    pub intake: Intake,
    pub recorder: Arc<Recorder>,
    pub timer: Timer,
    /// When waiting requests are given up, workers that have not begun yet never will.
    pub hurry: Hurry,
    /// Workers with this number or a higher one end after their present request.
    pub wanted: AtomicUsize,
    /// Workers that have not ended. The run reads it.
    pub active: Arc<AtomicUsize>,
    pub seed: u64,
}

/// Counts a worker as active until it ends in any way, even by the drop of its runtime.
struct Active(Arc<AtomicUsize>);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Starts worker `number` after `delay`.
pub(super) fn spawn(crew: &Arc<Crew>, number: usize, delay: Duration) -> tokio::task::JoinHandle<()> {
    crew.active.fetch_add(1, Ordering::Relaxed);
    let active = Active(crew.active.clone());
    let crew = crew.clone();
    tokio::spawn(async move {
        let _active = active;
        tokio::select! {
            biased;
            () = crew.timer.sleep(delay) => work(&crew, number).await,
            () = crew.hurry.waiting.cancelled() => {}
        }
    })
}

async fn work(crew: &Crew, number: usize) {
    let mut rng = SmallRng::seed_from_u64(mix(crew.seed, number as u64));
    while number < crew.wanted.load(Ordering::Relaxed) {
        let Some(begin) = crew.intake.next(&crew.timer, &mut rng).await else {
            break;
        };
        let started = Instant::now();
        let counter = crew.recorder.of(begin.part);
        counter.started(begin.lag, started.saturating_duration_since(begin.intended) > LATE);
        let Done::Ended(failure) = crew.workload.request(counter, &mut rng, number, begin.number).await else {
            break;
        };
        counter.ended(begin.intended, started, failure);
        if let Intake::Open(queue) = &crew.intake {
            queue.ended_one();
        }
    }
}

/// Mixes two numbers into one seed (`SplitMix64`), so that neighbours don't draw alike.
pub(super) const fn mix(a: u64, b: u64) -> u64 {
    let mut z = a
        .wrapping_add(b.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
