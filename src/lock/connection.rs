//! The task that owns the connection to one node: it writes what callers queued, in order, and hands out the replies.
//!
//! One ordered connection is what makes taking a lock back safe: a compare-and-delete written behind a `SET` runs
//! after it, however long the node was stopped. So a late reply never closes the connection.

use std::{collections::VecDeque, io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    net::TcpStream,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::{
    NodeOptions,
    job::{Job, Purpose},
    node::Node,
    reply::{Malformed, Reply},
};

/// Bytes collected for writing before the rest stays in the queue, where it can still be withdrawn.
const OUTPUT_LIMIT: usize = 1 << 16;

/// The least room for each read.
const READ_SIZE: usize = 1 << 14;

/// Marks the node as ended when its task ends, also when the runtime is dropped.
struct EndOnDrop<'a>(&'a Node);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Keeps a connection to `addr` until nobody uses it.
pub(super) async fn run(node: Arc<Node>, addr: SocketAddr, options: NodeOptions) {
    let _end = EndOnDrop(&node);
    loop {
        let mut written = VecDeque::new();
        if let Ok(Ok(stream)) = timeout(options.connect_timeout, TcpStream::connect(addr)).await {
            // Without it a lone small command may wait for the acknowledgement of the one before; with it refused the
            // connection is slower, not wrong.
            let _ = stream.set_nodelay(true);
            node.connected();
            let mut connection = Connection::new(stream, options.reconnect_backoff);
            if connection.drive(&node).await.is_ok() {
                return;
            }
            node.owe(connection.refused);
            written = connection.written;
        }
        node.disconnected(written.into_iter().map(|(job, _)| job));
        if node.is_abandoned() && !node.is_owing() {
            return;
        }
        sleep(options.reconnect_backoff).await;
    }
}

struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Commands that owe a reply, in order, and when they were written.
    written: VecDeque<(Job, Instant)>,
    /// Deletes that the node refused to run.
    refused: Vec<Job>,
    /// When they are tried again.
    retry_at: Instant,
    backoff: Duration,
    last_reply: Instant,
    suspect: bool,
}

impl Connection {
    fn new(stream: TcpStream, backoff: Duration) -> Self {
        Self {
            stream,
            input: Vec::new(),
            output: Vec::new(),
            written: VecDeque::new(),
            refused: Vec::new(),
            retry_at: Instant::now(),
            backoff,
            last_reply: Instant::now(),
            suspect: false,
        }
    }

    /// Writes and reads until the connection breaks, or, without an error, until nobody uses it any more.
    async fn drive(&mut self, node: &Node) -> io::Result<()> {
        // Reset only when it fires: a timer per command would cost more than the commands.
        let alarm = sleep_until(Instant::now());
        tokio::pin!(alarm);
        let mut armed = false;
        loop {
            self.fill(node);
            self.flush()?;
            if node.is_abandoned() && self.written.is_empty() && self.refused.is_empty() {
                return Ok(());
            }
            if !armed
                && !self.suspect
                && let Some(at) = self.suspect_at()
            {
                alarm.as_mut().reset(at);
                armed = true;
            }
            // Replies first: after a pause of this whole process they are there, and the node is not to blame.
            tokio::select! {
                biased;
                ready = self.stream.readable() => {
                    ready?;
                    self.read(node)?;
                }
                ready = self.stream.writable(), if !self.output.is_empty() => ready?,
                () = node.wake.notified(), if self.output.len() < OUTPUT_LIMIT => {}
                () = sleep_until(self.retry_at), if !self.refused.is_empty() => node.owe(self.refused.drain(..)),
                () = &mut alarm, if armed => {
                    armed = false;
                    if self.suspect_at().is_some_and(|at| at <= Instant::now()) {
                        self.set_suspect(node, true);
                    }
                }
            }
        }
    }

    /// Moves commands from the queue to the output.
    fn fill(&mut self, node: &Node) {
        let now = Instant::now();
        while self.output.len() < OUTPUT_LIMIT {
            let Some(job) = node.pop() else { break };
            if let Purpose::Vote { ballot, index } = &job.purpose
                && !ballot.write(*index)
            {
                continue;
            }
            self.output.extend_from_slice(&job.command);
            self.written.push_back((job, now));
        }
    }

    /// Writes as much of the output as the socket takes now.
    fn flush(&mut self) -> io::Result<()> {
        let mut done = 0;
        while done < self.output.len() {
            match self.stream.try_write(&self.output[done..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(length) => done += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.output.drain(..done);
        Ok(())
    }

    /// Reads what is there and hands out the replies in it.
    fn read(&mut self, node: &Node) -> io::Result<()> {
        self.input.reserve(READ_SIZE);
        match self.stream.try_read_buf(&mut self.input) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        let mut done = 0;
        while let Some((reply, length)) =
            Reply::parse(&self.input[done..]).map_err(|Malformed| io::ErrorKind::InvalidData)?
        {
            let (job, _) = self.written.pop_front().ok_or(io::ErrorKind::InvalidData)?;
            if let Some(owed) = job.reply(reply) {
                if self.refused.is_empty() {
                    self.retry_at = Instant::now() + self.backoff;
                }
                self.refused.push(owed);
            }
            done += length;
        }
        if done > 0 {
            self.input.drain(..done);
            self.last_reply = Instant::now();
            self.set_suspect(node, false);
        }
        Ok(())
    }

    /// When the node has owed a reply for too long.
    fn suspect_at(&self) -> Option<Instant> {
        self.written
            .front()
            .map(|(job, since)| self.last_reply.max(*since) + job.timeout)
    }

    fn set_suspect(&mut self, node: &Node, suspect: bool) {
        if self.suspect != suspect {
            self.suspect = suspect;
            node.set_suspect(suspect);
        }
    }
}
