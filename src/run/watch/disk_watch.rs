//! Watches the disk of the run's directory: when it is full, the database fails every request.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::needs::free_disk;
use lockstorm_data::facts::Caveat;

const EVERY: Duration = Duration::from_secs(2);
/// With fewer free bytes than this, the disk is nearly full.
const LITTLE: u64 = 64 << 20;
/// It is also nearly full if it will be full within this time, at the average pace since the run began.
const SOON: Duration = Duration::from_mins(1);

/// The free bytes as last measured.
#[derive(Debug)]
pub(crate) struct DiskWatch {
    looks: mpsc::Receiver<u64>,
    first: Option<(Instant, u64)>,
    reported: bool,
}

impl DiskWatch {
    /// Starts measuring again and again, on a thread of its own: a file system that hangs must not hang the run.
    pub fn start(directory: PathBuf) -> Self {
        let (found, looks) = mpsc::channel(1);
        tokio::spawn(async move {
            loop {
                let directory = directory.clone();
                let free = tokio::task::spawn_blocking(move || free_disk(&directory)).await;
                if let Ok(Some(free)) = free
                    && found.send(free).await.is_err()
                {
                    return;
                }
                tokio::time::sleep(EVERY).await;
            }
        });
        Self {
            looks,
            first: None,
            reported: false,
        }
    }

    /// A warning about the newest measurement; returned once.
    pub fn warning(&mut self) -> Option<Caveat> {
        let free = self.looks.try_recv().ok()?;
        let now = Instant::now();
        let (since, at_first) = *self.first.get_or_insert((now, free));
        let soon = left(free, at_first.saturating_sub(free), now - since).is_some_and(|left| left < SOON);
        if self.reported || !(soon || free < LITTLE) {
            return None;
        }
        self.reported = true;
        Some(Caveat::DiskNearlyFull { left_mib: free >> 20 })
    }
}

/// How long the free bytes last if `gone` of them went within `took`; `None` if the pace is not known yet.
fn left(free: u64, gone: u64, took: Duration) -> Option<Duration> {
    if gone == 0 || took < EVERY * 4 {
        return None;
    }
    let times = free as f64 / gone as f64;
    Duration::try_from_secs_f64(took.as_secs_f64() * times).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_says_how_long_the_space_lasts() {
        let seconds = Duration::from_secs;
        assert_eq!(left(300, 100, seconds(10)), Some(seconds(30)));
        assert_eq!(left(300, 0, seconds(10)), None, "nothing was written");
        assert_eq!(left(300, 100, seconds(1)), None, "too short to know the pace");
    }

    #[tokio::test]
    async fn a_disk_that_is_nearly_full_is_reported_once() {
        let (found, looks) = mpsc::channel(4);
        let mut watch = DiskWatch {
            looks,
            first: None,
            reported: false,
        };
        assert_eq!(watch.warning(), None, "nobody has looked");
        for free in [LITTLE, LITTLE - 1, LITTLE - 2] {
            found.send(free).await.expect("it is there");
        }
        assert_eq!(watch.warning(), None);
        assert_eq!(watch.warning(), Some(Caveat::DiskNearlyFull { left_mib: 63 }));
        assert_eq!(watch.warning(), None);
    }
}
