//! Links of a limited rate in front of the nodes of a case, as a token bucket in each direction, on a thread of their own.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use lockstorm_base::timer::Timer;
use lockstorm_lock::NodeAddress;

/// The most bytes that pass at once: a packet.
const PACKET: usize = 1460;

/// What a link that was idle carries at once, as the time that it would take. It is longer than the thread of the links may have
/// to wait for a core, which would be lost otherwise.
const BURST: Duration = Duration::from_millis(5);

/// One direction of a link, shared by all connections over it.
#[derive(Debug)]
struct Way {
    /// Bytes a second.
    rate: u64,
    /// When it has carried all that it was given.
    free: Mutex<Instant>,
    carried: AtomicU64,
}

impl Way {
    /// Carries so many bytes. Returns when they have arrived.
    async fn carry(&self, length: usize, timer: &Timer) {
        let takes = Duration::from_nanos(length as u64 * 1_000_000_000 / self.rate);
        let now = Instant::now();
        let earliest = now.checked_sub(BURST).unwrap_or(now);
        let arrival = {
            // An instant is valid whatever panicked.
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            *free = earliest.max(*free) + takes;
            *free
        };
        timer.sleep_until(arrival).await;
        self.carried.fetch_add(length as u64, Relaxed);
    }
}

/// The links to all nodes, there and back.
#[derive(Debug, Clone)]
pub(super) struct Ways(Arc<[[Way; 2]]>);

impl Ways {
    /// The bytes that each has carried so far, in each direction.
    pub fn carried(&self) -> Vec<u64> {
        self.0.iter().flatten().map(|way| way.carried.load(Relaxed)).collect()
    }
}

/// A link to each node. Dropping this closes all connections over them.
pub(super) struct Links {
    /// Where the nodes are reached over the links.
    pub nodes: Vec<NodeAddress>,
    pub ways: Ways,
    /// Their thread, which ends when the sender is gone.
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Links {
    /// Opens a link of `rate` bytes a second in each direction to each of these nodes.
    pub fn open(nodes: &[NodeAddress], rate: u64) -> io::Result<Self> {
        let way = || Way {
            rate,
            free: Mutex::new(Instant::now()),
            carried: AtomicU64::new(0),
        };
        let ways = Ways(nodes.iter().map(|_| [way(), way()]).collect());
        let (mut doors, mut reached) = (Vec::new(), Vec::new());
        for node in nodes {
            let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            door.set_nonblocking(true)?;
            reached.push(node.through(door.local_addr()?));
            doors.push((door, node.port()));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ((open, closed), all) = (oneshot::channel::<()>(), ways.clone());
        let thread = thread::Builder::new().name("bench-links".to_owned()).spawn(move || {
            runtime.block_on(async {
                let timer = Timer::start();
                for (link, (door, port)) in doors.into_iter().enumerate() {
                    tokio::spawn(serve(door, port, all.clone(), link, timer.clone()));
                }
                // The sender is only ever dropped.
                let _ = closed.await;
            });
        })?;
        Ok(Self {
            nodes: reached,
            ways,
            running: Some((open, thread)),
        })
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        if let Some((open, thread)) = self.running.take() {
            drop(open);
            // If it panicked, no contender got an answer.
            let _ = thread.join();
        }
    }
}

/// Accepts connections for the node on this port, until the door breaks.
async fn serve(door: TcpListener, port: u16, ways: Ways, link: usize, timer: Timer) -> io::Result<()> {
    let door = tokio::net::TcpListener::from_std(door)?;
    loop {
        let (caller, _) = door.accept().await?;
        let (ways, timer) = (ways.clone(), timer.clone());
        // How a connection ends is seen by both of its ends.
        tokio::spawn(async move {
            let callee = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
            for stream in [&caller, &callee] {
                stream.set_nodelay(true)?;
            }
            let ((from, to), (from_node, to_node)) = (caller.into_split(), callee.into_split());
            let [there, back] = &ways.0[link];
            tokio::select! {
                ended = pump(from, to_node, there, &timer) => ended,
                ended = pump(from_node, to, back, &timer) => ended,
            }
        });
    }
}

/// Carries bytes until one end closes.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    way: &Way,
    timer: &Timer,
) -> io::Result<()> {
    let mut packet = [0; PACKET];
    loop {
        let length = from.read(&mut packet).await?;
        if length == 0 {
            return Ok(());
        }
        way.carry(length, timer).await;
        to.write_all(&packet[..length]).await?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_link_carries_its_rate_and_counts_what_it_carried() {
        let echo = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let node = NodeAddress::new(echo.local_addr().unwrap(), None);
        thread::spawn(move || {
            let (mut stream, _) = echo.accept().unwrap();
            let mut back = stream.try_clone().unwrap();
            io::copy(&mut stream, &mut back)
        });
        let links = Links::open(&[node], 1_000_000).unwrap();
        let mut stream = std::net::TcpStream::connect((links.nodes[0].host(), links.nodes[0].port())).unwrap();
        let (sent, start) = (vec![7; 100_000], Instant::now());
        let mut sender = stream.try_clone().unwrap();
        let writer = thread::spawn(move || sender.write_all(&sent));
        let mut received = vec![0; 100_000];
        stream.read_exact(&mut received).unwrap();
        writer.join().unwrap().unwrap();
        // There and back overlap, so a tenth of a second at the earliest, less the burst.
        assert!(start.elapsed() >= Duration::from_millis(94), "{:?}", start.elapsed());
        assert_eq!(links.ways.carried(), [100_000, 100_000]);
        drop(links);
        assert_eq!(stream.read(&mut received).unwrap_or(0), 0, "closed with its link");
    }
}
