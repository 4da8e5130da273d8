//! The machine's limit: a driver that sends the commands of a lock in batches and counts the votes, and does nothing else.
//!
//! It has no TLS, timeouts, validity, suspicion or general parser, it never reconnects, and takes nothing back. Who holds a
//! lock by it holds nothing; but no client of these nodes on this machine can be faster than by what it leaves out.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, Write};
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

use super::client::{Client, Refused, Setup};
use lockstorm_lock::NodeAddress;

/// Deletes the key if it still holds the token.
const DELETE: &str = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";

/// One connection to each node, each owned by a task.
#[derive(Clone)]
pub(super) struct Bare {
    lines: Arc<[Arc<Mutex<Line>>]>,
    /// What stands before the key and behind the token, by kind of command.
    around: Arc<[(String, String); 2]>,
}

/// The kinds of commands, as positions.
const SET: usize = 0;
const RELEASE: usize = 1;

/// What callers leave for the task of a connection.
#[derive(Default)]
struct Line {
    output: Vec<u8>,
    asked: VecDeque<Asked>,
    task: Option<Waker>,
}

/// Who gets a reply, and for which of its commands.
type Asked = (Arc<Ask>, usize);

/// One lock: its votes and deletes.
pub(super) struct Ask {
    token: [u8; 32],
    state: Mutex<Answers>,
}

/// The answers so far, by kind of command.
#[derive(Default)]
struct Answers {
    yes: [usize; 2],
    all: [usize; 2],
    waiter: Option<Waker>,
}

impl Answers {
    fn is_over(&self, kind: usize, nodes: usize) -> bool {
        self.yes[kind] > nodes / 2 || self.all[kind] == nodes
    }
}

impl Client for Bare {
    type Held = Arc<Ask>;

    async fn connect(setup: &Setup) -> Result<Self, String> {
        let (mut lines, mut hash) = (Vec::new(), String::new());
        for node in &setup.nodes {
            let (stream, hash_there) = greet(node).await.map_err(|error| error.to_string())?;
            hash = hash_there;
            let line = Arc::<Mutex<Line>>::default();
            tokio::spawn(drive(stream, Arc::clone(&line), setup.nodes.len()));
            lines.push(line);
        }
        let ttl = setup.ttl.as_millis().to_string();
        let set = (
            "*6\r\n$3\r\nSET\r\n".to_owned(),
            format!("$2\r\nPX\r\n${}\r\n{ttl}\r\n$2\r\nNX\r\n", ttl.len()),
        );
        let delete = (
            format!("*5\r\n$7\r\nEVALSHA\r\n$40\r\n{hash}\r\n$1\r\n1\r\n"),
            String::new(),
        );
        Ok(Self {
            lines: lines.into(),
            around: Arc::new([set, delete]),
        })
    }

    async fn acquire(&self, key: &str) -> Result<Arc<Ask>, Refused> {
        let ask = Arc::new(Ask {
            token: rand::random(),
            state: Mutex::default(),
        });
        if self.ask(&ask, SET, key).await {
            return Ok(ask);
        }
        self.release(key, ask).await;
        Err(Refused::new("refused", "no quorum of votes"))
    }

    async fn release(&self, key: &str, ask: Arc<Ask>) {
        self.ask(&ask, RELEASE, key).await;
    }
}

impl Bare {
    /// Leaves a command for all nodes, and waits until a quorum has said yes or all have answered. Returns whether it was a quorum.
    async fn ask(&self, ask: &Arc<Ask>, kind: usize, key: &str) -> bool {
        let ((start, end), nodes, mut command) = (&self.around[kind], self.lines.len(), Vec::with_capacity(256));
        // Writing to a vector can't fail.
        let _ = write!(command, "{start}${}\r\n{key}\r\n$32\r\n", key.len());
        command.extend_from_slice(&ask.token);
        let _ = write!(command, "\r\n{end}");
        for line in &*self.lines {
            let mut line = lock(line);
            line.output.extend_from_slice(&command);
            line.asked.push_back((Arc::clone(ask), kind));
            if let Some(task) = line.task.take() {
                task.wake();
            }
        }
        poll_fn(|cx| {
            let mut state = lock(&ask.state);
            if state.is_over(kind, nodes) {
                return Poll::Ready(state.yes[kind] > nodes / 2);
            }
            state.waiter = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked ends the measurement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Connects, and loads the script. Returns its hash too.
async fn greet(node: &NodeAddress) -> io::Result<(TcpStream, String)> {
    let mut stream = TcpStream::connect((node.host(), node.port())).await?;
    stream.set_nodelay(true)?;
    let password = node.credentials().map_or("", |(_, password)| password);
    let load = format!(
        "*2\r\n$4\r\nAUTH\r\n${}\r\n{password}\r\n*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n${}\r\n{DELETE}\r\n",
        password.len(),
        DELETE.len()
    );
    stream.write_all(load.as_bytes()).await?;
    let mut reply = [0; b"+OK\r\n$40\r\n\r\n".len() + 40];
    stream.read_exact(&mut reply).await?;
    let hash = reply
        .strip_prefix(b"+OK\r\n$40\r\n")
        .ok_or(io::ErrorKind::PermissionDenied)?;
    Ok((stream, String::from_utf8_lossy(hash).trim_end().to_owned()))
}

/// Writes what callers leave and hands out the replies, until the connection breaks.
async fn drive(mut stream: TcpStream, line: Arc<Mutex<Line>>, nodes: usize) -> io::Result<()> {
    let (mut input, mut filled) = (vec![0; 1 << 15], 0);
    let (mut output, mut sent) = (Vec::new(), 0);
    let mut asked = VecDeque::new();
    poll_fn(|cx| {
        loop {
            let mut buffer = ReadBuf::new(&mut input[filled..]);
            if Pin::new(&mut stream).poll_read(cx, &mut buffer)?.is_pending() {
                break;
            }
            if buffer.filled().is_empty() {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            filled += buffer.filled().len();
            let done = answer(&input[..filled], &mut asked, nodes);
            input.copy_within(done..filled, 0);
            filled -= done;
        }
        loop {
            if sent == output.len() {
                output.clear();
                sent = 0;
                let mut line = lock(&line);
                mem::swap(&mut output, &mut line.output);
                asked.append(&mut line.asked);
                if output.is_empty() {
                    line.task = Some(cx.waker().clone());
                    return Poll::Pending;
                }
            }
            sent += ready!(Pin::new(&mut stream).poll_write(cx, &output[sent..]))?;
        }
    })
    .await
}

/// Wakes those whose last needed reply is in the input. Returns the length of the whole replies.
fn answer(input: &[u8], asked: &mut VecDeque<Asked>, nodes: usize) -> usize {
    let mut rest = input;
    // Each of these replies is one line, and a node sends none without a command.
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n')
        && let Some((ask, kind)) = asked.pop_front()
    {
        let yes = rest[0] == b'+' || rest.starts_with(b":1");
        rest = &rest[end + 1..];
        let mut state = lock(&ask.state);
        let was_over = state.is_over(kind, nodes);
        state.yes[kind] += usize::from(yes);
        state.all[kind] += 1;
        if !was_over
            && state.is_over(kind, nodes)
            && let Some(waiter) = state.waiter.take()
        {
            waiter.wake();
        }
    }
    input.len() - rest.len()
}
