//! One direction of a connection.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;

use super::line::Line;
use crate::timer::Timer;

/// The most bytes that are read at once.
const CHUNK: usize = 16 * 1024;
/// The most bytes under way. With more, the sender has to wait, as at a socket whose buffer is full.
const MOST_UNDER_WAY: usize = 4 * 1024 * 1024;

/// Carries bytes from one end to the other, each chunk as late as `line` says when it is due, until one of them closes or
/// breaks. What is under way then is dropped: a dead machine resends nothing that the network has lost.
pub(super) async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut line: watch::Receiver<Line>,
    timer: &Timer,
) -> io::Result<()> {
    let mut under_way: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut size = 0;
    let mut chunk = vec![0; CHUNK];
    loop {
        let delay = line.borrow_and_update().delay;
        tokio::select! {
            // What is due goes first, so that a chunk without delay has arrived before its sender's close is seen.
            biased;
            () = arrival(&under_way, delay, timer) => {
                let Some((_, bytes)) = under_way.pop_front() else { continue };
                size -= bytes.len();
                to.write_all(&bytes).await?;
            }
            read = from.read(&mut chunk), if size < MOST_UNDER_WAY => {
                let length = read?;
                if length == 0 {
                    return Ok(());
                }
                under_way.push_back((Instant::now(), chunk[..length].to_vec()));
                size += length;
            }
            changed = line.changed() => changed.map_err(|_| io::ErrorKind::ConnectionAborted)?,
        }
    }
}

/// Waits until the first chunk is due; for ever without one.
async fn arrival(under_way: &VecDeque<(Instant, Vec<u8>)>, delay: Duration, timer: &Timer) {
    match under_way.front() {
        Some((sent, _)) => timer.sleep_until(*sent + delay).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex};
    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    /// A pump with this delay: its sender's end, its receiver's end, its line, and itself.
    fn pumping(
        delay: Duration,
    ) -> (
        DuplexStream,
        DuplexStream,
        watch::Sender<Line>,
        tokio::task::JoinHandle<()>,
    ) {
        let (here, from) = duplex(64);
        let (to, there) = duplex(64);
        let (line, state) = watch::channel(Line { delay });
        let task = tokio::spawn(async move {
            let _ = pump(from, to, state, &Timer::start()).await;
        });
        (here, there, line, task)
    }

    async fn received(there: &mut DuplexStream) -> String {
        let mut bytes = Vec::new();
        there.read_to_end(&mut bytes).await.unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[tokio::test]
    async fn without_delay_everything_arrives_in_order_before_the_close() {
        let (mut here, mut there, _line, _task) = pumping(Duration::ZERO);
        for _ in 0..50 {
            here.write_all(b"one two three ").await.unwrap();
            here.flush().await.unwrap();
            let mut piece = [0; 14];
            there.read_exact(&mut piece).await.unwrap();
            assert_eq!(&piece, b"one two three ");
        }
        here.write_all(b"the last").await.unwrap();
        drop(here);
        assert_eq!(received(&mut there).await, "the last");
    }

    #[tokio::test]
    async fn a_chunk_arrives_after_the_delay_and_not_before() {
        let delay = Duration::from_millis(80);
        let (mut here, mut there, _line, _task) = pumping(delay);
        let sent = Instant::now();
        here.write_all(b"late").await.unwrap();
        let mut bytes = [0; 4];
        there.read_exact(&mut bytes).await.unwrap();
        assert!(sent.elapsed() >= delay, "it took {:?}", sent.elapsed());
    }

    #[tokio::test]
    async fn what_is_under_way_when_its_sender_dies_is_dropped() {
        let (mut here, mut there, _line, task) = pumping(LONG);
        here.write_all(b"never").await.unwrap();
        drop(here);
        task.await.unwrap();
        assert_eq!(received(&mut there).await, "");
    }

    #[tokio::test]
    async fn the_end_of_a_delay_lets_everything_arrive_that_it_held_back() {
        let (mut here, mut there, line, _task) = pumping(LONG);
        here.write_all(b"held back").await.unwrap();
        let mut bytes = [0; 9];
        let early = timeout(Duration::from_millis(50), there.read_exact(&mut bytes)).await;
        assert!(early.is_err(), "it arrived early");
        line.send_replace(Line::default());
        there.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"held back");
    }
}
