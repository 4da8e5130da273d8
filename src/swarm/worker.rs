use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::Pacer;
use crate::metrics::{Count, Recorder};
use crate::workload::Workload;

/// A request that begins so long after its intended start counts as late.
const LATE: Duration = Duration::from_millis(10);

/// What the workers of one arm on one app server share.
#[derive(Debug)]
pub(super) struct Crew {
    pub workload: Workload,
    pub pacer: Arc<Pacer>,
    pub recorder: Arc<Recorder>,
    /// Workers numbered from this on end after the request they are at.
    pub wanted: AtomicUsize,
    /// Workers that have not ended; read by the run.
    pub active: Arc<AtomicUsize>,
    pub seed: u64,
}

/// Counts a worker as active until it ends in whichever way, the drop of its runtime included.
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
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        work(&crew, number).await;
    })
}

async fn work(crew: &Crew, number: usize) {
    let mut rng = SmallRng::seed_from_u64(mix(crew.seed, number as u64));
    while number < crew.wanted.load(Ordering::Relaxed) {
        let Some(intended) = crew.pacer.next(&mut rng).await else {
            break;
        };
        crew.recorder.count(Count::Started);
        if intended.elapsed() > LATE {
            crew.recorder.count(Count::Late);
        }
        crew.workload.request(&mut rng, number).await;
        crew.recorder.completed(intended.elapsed());
    }
}

/// One seed out of two numbers (`SplitMix64`), so that neighbours do not draw alike.
pub(super) const fn mix(a: u64, b: u64) -> u64 {
    let mut z = a
        .wrapping_add(b.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
