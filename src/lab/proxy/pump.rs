//! One direction of a connection.

use std::collections::VecDeque;
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::line::Line;
use super::network::Hindrance;
use lockstorm_base::timer::Timer;

/// The most bytes that are read at once.
const CHUNK: usize = 16 * 1024;
/// The most bytes under way. With more, the sender has to wait, as at a socket whose buffer is full.
const MOST_UNDER_WAY: usize = 4 * 1024 * 1024;

/// Why a pump has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// Its sender has closed the connection or broken it, the network has lost a part of it, or the proxy is closing.
    Over,
    /// Its receiver takes nothing any more.
    ReceiverGone,
}

/// Carries bytes from one end to the other, each chunk as late as `line` says when it is due, until one of them closes or
/// breaks. What is under way then is dropped: a dead machine resends nothing that the network has lost.
///
/// While the line is cut nothing arrives, not even that the sender has closed. A connection that has lost something is over
/// when the cut is: no stream goes on with a hole in it. One on which nobody said anything lives on.
pub(super) async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    mut line: Line,
    timer: &Timer,
) -> Ended {
    let mut under_way: VecDeque<UnderWay> = VecDeque::new();
    let mut size = 0;
    let mut chunk = vec![0; CHUNK];
    let (mut lost, mut closed) = (false, false);
    loop {
        let state = line.state();
        if state.cut {
            lost |= !under_way.is_empty();
            under_way.clear();
            size = 0;
        } else if lost || closed {
            return Ended::Over;
        }
        tokio::select! {
            // What has changed holds for what is read after it. What is due goes before what is read, so that a chunk without
            // delay has arrived before its sender's close is seen.
            biased;
            changed = line.changed() => if !changed {
                return Ended::Over;
            },
            () = arrival(&under_way, state, timer) => {
                let Some(UnderWay { bytes, .. }) = under_way.pop_front() else { continue };
                size -= bytes.len();
                if to.write_all(&bytes).await.is_err() {
                    return Ended::ReceiverGone;
                }
                line.count(bytes.len());
            }
            read = from.read(&mut chunk), if size < MOST_UNDER_WAY && !closed => match read {
                Ok(length @ 1..) if state.cut => lost |= length > 0,
                Ok(length @ 1..) => {
                    let sent = Instant::now();
                    under_way.push_back(UnderWay {
                        sent,
                        passed: state.speed.map_or(sent, |speed| line.lane.book(length, speed)),
                        bytes: chunk[..length].to_vec(),
                    });
                    size += length;
                }
                // Whether that can be heard is seen above.
                Ok(0) | Err(_) => closed = true,
            },
        }
    }
}

/// A chunk that has not arrived yet.
struct UnderWay {
    sent: Instant,
    /// When it has passed a slow link.
    passed: Instant,
    bytes: Vec<u8>,
}

/// Waits until the first chunk is due; for ever without one.
async fn arrival(under_way: &VecDeque<UnderWay>, state: Hindrance, timer: &Timer) {
    match under_way.front() {
        Some(chunk) => {
            let passed = if state.speed.is_some() {
                chunk.passed
            } else {
                chunk.sent
            };
            timer.sleep_until(passed + state.delay).await;
        }
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::io::{DuplexStream, duplex};
    use tokio::sync::watch;
    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    use super::super::network::{Network, OneWay};
    use super::*;
    use crate::server::node_name::{NodeName, Role};
    use lockstorm_data::model::{Direction, Fault, HostId, Target};

    const LONG: Duration = Duration::from_hours(1);
    /// The target of the faults, of which the pump is the way there.
    const HOST: Target = Target::Host(HostId(1));

    fn lag(delay: Duration) -> Network {
        let mut network = Network::default();
        let direction = Direction::Both;
        network.enter(HOST, Fault::Lag { delay, direction });
        network
    }

    fn cut(direction: Direction) -> Network {
        let mut network = Network::default();
        network.enter(HOST, Fault::Cut { direction });
        network
    }

    /// A pump in this network: its sender's end, its receiver's end, the network, and itself.
    fn pumping(network: Network) -> (DuplexStream, DuplexStream, watch::Sender<Network>, JoinHandle<Ended>) {
        let (here, mut from) = duplex(64);
        let (mut to, there) = duplex(64);
        let network = watch::Sender::new(network);
        let line = Line {
            network: network.subscribe(),
            path: OneWay {
                caller: None,
                server: None,
                callee: NodeName::on(HostId(1), Role::Lock),
                is_back: false,
            },
            lane: Arc::default(),
            carried: None,
        };
        let task = tokio::spawn(async move { pump(&mut from, &mut to, line, &Timer::start()).await });
        (here, there, network, task)
    }

    /// Whether nothing arrives, not even a close.
    async fn is_silent(there: &mut DuplexStream) -> bool {
        timeout(Duration::from_millis(50), there.read_u8()).await.is_err()
    }

    async fn received(there: &mut DuplexStream) -> String {
        let mut bytes = Vec::new();
        there.read_to_end(&mut bytes).await.unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[tokio::test]
    async fn without_delay_everything_arrives_in_order_before_the_close() {
        let (mut here, mut there, _line, _task) = pumping(Network::default());
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
        let (mut here, mut there, _line, _task) = pumping(lag(delay));
        let sent = Instant::now();
        here.write_all(b"late").await.unwrap();
        let mut bytes = [0; 4];
        there.read_exact(&mut bytes).await.unwrap();
        assert!(sent.elapsed() >= delay, "it took {:?}", sent.elapsed());
    }

    #[tokio::test]
    async fn what_is_under_way_when_its_sender_dies_is_dropped() {
        let (mut here, mut there, _line, task) = pumping(lag(LONG));
        here.write_all(b"never").await.unwrap();
        drop(here);
        task.await.unwrap();
        assert_eq!(received(&mut there).await, "");
    }

    #[tokio::test]
    async fn the_end_of_a_delay_lets_everything_arrive_that_it_held_back() {
        let (mut here, mut there, network, _task) = pumping(lag(LONG));
        here.write_all(b"held back").await.unwrap();
        let mut bytes = [0; 9];
        let early = timeout(Duration::from_millis(50), there.read_exact(&mut bytes)).await;
        assert!(early.is_err(), "it arrived early");
        network.send_replace(Network::default());
        there.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"held back");
    }

    #[tokio::test]
    async fn a_cut_drops_what_is_under_way_and_the_connection_ends_with_it() {
        let (mut here, mut there, network, task) = pumping(lag(LONG));
        here.write_all(b"under way").await.unwrap();
        assert!(is_silent(&mut there).await);
        network.send_replace(cut(Direction::There));
        assert!(is_silent(&mut there).await);
        network.send_replace(Network::default());
        assert_eq!(task.await.unwrap(), Ended::Over);
        assert_eq!(received(&mut there).await, "");
    }

    #[tokio::test]
    async fn what_is_sent_during_a_cut_never_arrives() {
        let (mut here, mut there, network, task) = pumping(Network::default());
        here.write_all(b"before").await.unwrap();
        let mut bytes = [0; 6];
        there.read_exact(&mut bytes).await.unwrap();
        network.send_replace(cut(Direction::Both));
        // More than both buffers hold: it is taken, as by a network that loses it.
        for _ in 0..50 {
            here.write_all(b"during the cut").await.unwrap();
        }
        assert!(is_silent(&mut there).await);
        network.send_replace(Network::default());
        assert_eq!(task.await.unwrap(), Ended::Over);
        assert_eq!(received(&mut there).await, "");
    }

    #[tokio::test]
    async fn a_connection_that_was_quiet_during_a_cut_lives_on() {
        let (mut here, mut there, network, _task) = pumping(cut(Direction::There));
        assert!(is_silent(&mut there).await);
        network.send_replace(Network::default());
        here.write_all(b"after").await.unwrap();
        let mut bytes = [0; 5];
        there.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"after");
    }

    #[tokio::test]
    async fn nobody_hears_of_a_close_during_a_cut() {
        let (here, mut there, network, task) = pumping(cut(Direction::There));
        drop(here);
        assert!(is_silent(&mut there).await);
        network.send_replace(Network::default());
        assert_eq!(task.await.unwrap(), Ended::Over);
        assert_eq!(received(&mut there).await, "");
    }

    #[tokio::test]
    async fn a_cut_of_the_other_way_changes_nothing() {
        let (mut here, mut there, _network, task) = pumping(cut(Direction::Back));
        here.write_all(b"one way").await.unwrap();
        let mut bytes = [0; 7];
        there.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"one way");
        drop(there);
        here.write_all(b"to nobody").await.unwrap();
        assert_eq!(task.await.unwrap(), Ended::ReceiverGone);
    }
}
