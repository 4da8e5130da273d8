//! Watches the disk that the run's directory is on: a database that finds it full fails every request.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::needs::free_disk;

const EVERY: Duration = Duration::from_secs(2);
/// With less than this it is nearly full.
const LITTLE: u64 = 64 << 20;
/// So is what will be full within this time, at the pace since the run began.
const SOON: Duration = Duration::from_mins(1);

/// The free bytes as they were last seen.
#[derive(Debug)]
pub(super) struct DiskWatch {
    looks: mpsc::Receiver<u64>,
    first: Option<(Instant, u64)>,
    told: bool,
}

impl DiskWatch {
    /// Looks again and again, beside the present runtime: a file system that hangs must not hang the run.
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
            told: false,
        }
    }

    /// What is to be said of the newest look, once.
    pub fn news(&mut self) -> Option<String> {
        let free = self.looks.try_recv().ok()?;
        let now = Instant::now();
        let (since, at_first) = *self.first.get_or_insert((now, free));
        let soon = left(free, at_first.saturating_sub(free), now - since).is_some_and(|left| left < SOON);
        if self.told || !(soon || free < LITTLE) {
            return None;
        }
        self.told = true;
        Some(format!(
            "the disk of the run's directory is nearly full, {} MiB are left: the database will fail when it is; end the run, or \
             make room below TMPDIR",
            free >> 20
        ))
    }
}

/// How long the free bytes last if `gone` of them went within `took`; none while nothing can be told of the pace.
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
    fn the_time_that_is_left_follows_from_the_pace() {
        let seconds = Duration::from_secs;
        assert_eq!(left(300, 100, seconds(10)), Some(seconds(30)));
        assert_eq!(left(300, 0, seconds(10)), None, "nothing was written");
        assert_eq!(left(300, 100, seconds(1)), None, "a moment tells nothing");
    }

    #[tokio::test]
    async fn a_disk_that_is_nearly_full_is_told_of_once() {
        let (found, looks) = mpsc::channel(4);
        let mut watch = DiskWatch {
            looks,
            first: None,
            told: false,
        };
        assert_eq!(watch.news(), None, "nobody has looked");
        for free in [LITTLE, LITTLE - 1, LITTLE - 2] {
            found.send(free).await.expect("it is there");
        }
        assert_eq!(watch.news(), None);
        assert!(watch.news().is_some_and(|text| text.contains("63 MiB are left")));
        assert_eq!(watch.news(), None);
    }
}
