//! A multi-threaded runtime, which one of the peers is measured on.

use std::io;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use tokio::runtime::{Builder, Runtime};

use super::super::tally;

/// A runtime with this many threads, each with its own share of the recorders.
pub(crate) fn runtime(workers: usize) -> io::Result<Runtime> {
    let threads = AtomicUsize::new(0);
    Builder::new_multi_thread()
        .worker_threads(workers)
        .on_thread_start(move || tally::take_share(threads.fetch_add(1, Relaxed)))
        .enable_all()
        .build()
}
