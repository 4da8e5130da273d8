//! One connection to one node: queued commands are written in order, and the replies are handed out.
//!
//! One ordered connection makes it safe to take a lock back: a compare-and-delete written behind a `SET` runs after it,
//! however long the node was stopped. Therefore a late reply never closes the connection, and if another one takes its place, deletes go
//! out on both.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::Sleep;

use super::greeting::forbids_scripts;
use super::job::{Done, Job, LockJob};
use super::options::NodeOptions;
use super::queue::Queue;
use super::replication::{self, Replication};
use super::reply::{Malformed, Reply};
use super::silent::Silent;
use super::wire::Native;
use crate::cause::Cause;
use crate::clock;
use crate::protocol::{Command, Pipeline, Time, WINDOW};

/// The most bytes collected for writing. Further commands stay in the queue, where they can still be withdrawn.
const OUTPUT_LIMIT: usize = 1 << 16;

/// The size of the buffer for replies; no reply may be longer.
const INPUT_SIZE: usize = 1 << 15;

/// The most connections that hang which are kept beside the one in use; the newest ones.
const MOST_SILENT: usize = 4;

pub(super) struct Connection<S> {
    stream: S,
    /// The address of its other end.
    server: Option<SocketAddr>,
    /// The node's own compare-and-delete command, if it has one.
    native: Option<Native>,
    input: Box<[u8]>,
    /// The number of bytes of `input` that hold an incomplete reply.
    filled: usize,
    output: Vec<u8>,
    /// The number of bytes of `output` that are written already.
    sent: usize,
    /// Commands that are not in the output yet.
    unwritten: VecDeque<Job>,
    /// Commands whose replies are outstanding.
    pipeline: Pipeline<Job>,
    /// Deletes that the node refused to run.
    refused: Vec<LockJob>,
    /// Fires when the refused deletes are to be tried again.
    retry: Pin<Box<Sleep>>,
    backoff: Duration,
    /// The wait for replicas, if votes need it.
    replication: Option<Replication>,
    /// Whether the node has said which command it could not read.
    accused: bool,
    /// Whether a command that a connection may have died on is under way, or waits until nothing else is.
    alone: bool,
    /// Fires when the node may have owed a reply for too long. It is set again only when it fires: a timer for each command
    /// would cost more than the commands.
    alarm: Pin<Box<Sleep>>,
    armed: bool,
    /// Whether it gives way before it takes what is queued. Where there are several threads, this task runs at once when the first
    /// of many callers has queued a command, and would write each alone.
    gathers: bool,
    /// Whether it has given way.
    gathered: bool,
    /// Connections that others took the place of, until nothing that was written there can run any more.
    silent: Vec<Silent<S>>,
}

/// The commands of a connection that has ended.
#[derive(Default)]
pub(super) struct Left {
    /// Those whose replies are outstanding.
    pub(super) written: VecDeque<Job>,
    pub(super) unwritten: VecDeque<Job>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// A new connection, maybe in the place of others that were `silent`.
    pub(super) fn new(
        stream: S,
        server: Option<SocketAddr>,
        native: Option<Native>,
        silent: Vec<Silent<S>>,
        options: &NodeOptions,
    ) -> Self {
        let now = clock::now();
        Self {
            stream,
            server,
            native,
            input: vec![0; INPUT_SIZE].into(),
            filled: 0,
            output: Vec::new(),
            sent: 0,
            unwritten: VecDeque::new(),
            pipeline: Pipeline::new(WINDOW, now),
            refused: Vec::new(),
            retry: Box::pin(clock::sleep_until(now)),
            backoff: options.reconnect_backoff,
            replication: options.wait_replicas.map(Replication::new),
            accused: false,
            alone: false,
            alarm: Box::pin(clock::sleep_until(now)),
            armed: false,
            gathers: Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread,
            gathered: false,
            silent,
        }
    }

    /// Its end: what was not answered and what was not written, and the connections that are left. Another connection takes its place, if
    /// it was `replaced`: then it is one of these.
    pub(super) fn end(mut self, replaced: bool) -> (Left, Vec<Silent<S>>) {
        let owed = self.pipeline.written().len() + usize::from(self.waiting_since().is_some());
        let mut unwritten = self.unwritten;
        unwritten.extend(self.refused.into_iter().map(Job::Lock));
        let run = self.replication.into_iter().flat_map(Replication::into_run);
        let written = run.chain(self.pipeline.into_written()).collect();
        if replaced {
            let (input, output) = ((self.input, self.filled), (self.output, self.sent));
            self.silent.truncate(MOST_SILENT - 1);
            self.silent.insert(0, Silent::new(self.stream, input, output, owed));
        }
        (Left { written, unwritten }, self.silent)
    }

    /// Writes and reads until the connection breaks, or until nobody uses it any more; the latter is not an error.
    pub(super) async fn drive(&mut self, node: &Queue) -> io::Result<()> {
        let driven = poll_fn(|cx| self.poll(node, cx)).await;
        // What has arrived counts, although nothing can be written any more. Behind what is not a reply nothing counts.
        if let Err(error) = &driven
            && error.kind() != io::ErrorKind::InvalidData
        {
            poll_fn(|cx| {
                while let Poll::Ready(Ok(())) = self.poll_read(node, cx) {}
                Poll::Ready(())
            })
            .await;
        }
        driven
    }

    /// The other end broke the connection, maybe because of the command to which it owed the next reply. A delete that this
    /// happens to twice is given up: written again and again, it would take the locks of everybody with it.
    pub(super) fn blame(&mut self, node: &Queue) {
        // A node that has owed replies for long was stopped or cut off, whatever it was asked.
        let due = self.pipeline.next_timeout(self.oldest(), node.node_timeout());
        if !self.accused
            && due.is_some_and(|due| clock::now() < due)
            && let Some((Job::Lock(job), _)) = self.pipeline.written_mut().front_mut()
        {
            job.deaths += 1;
        }
        let written = self.pipeline.written_mut();
        let before = written.len() + self.refused.len();
        written.retain(|(job, _)| !matches!(job, Job::Lock(job) if job.is_given_up()));
        self.refused.retain(|job| !job.is_given_up());
        node.finished(before - written.len() - self.refused.len());
    }

    fn poll(&mut self, node: &Queue, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Replies are read first: after a pause of this whole process they have arrived, and the node must not be blamed.
        while self.poll_read(node, cx)?.is_ready() {}
        self.pipeline.on_looked(clock::lately());
        if self.gathers && !mem::replace(&mut self.gathered, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.gathered = false;
        if !self.refused.is_empty() && self.retry.as_mut().poll(cx).is_ready() {
            self.unwritten.extend(self.refused.drain(..).map(Job::Lock));
        }
        let mut is_over;
        loop {
            is_over = node.take(&mut self.unwritten, &self.pipeline, cx.waker());
            let withdrawn = self.fill(node);
            // Where commands were withdrawn there is room for those that are still queued.
            if self.poll_flush(cx)?.is_pending() || !(self.can_fill() || withdrawn > 0) {
                break;
            }
        }
        if is_over && self.oldest().is_none() && self.refused.is_empty() && self.unwritten.is_empty() {
            return Poll::Ready(Ok(()));
        }
        self.poll_alarm(node, cx);
        self.silent.retain_mut(|silent| silent.poll(cx).is_pending());
        Poll::Pending
    }

    fn can_fill(&self) -> bool {
        !self.unwritten.is_empty()
            && self.output.len() < OUTPUT_LIMIT
            && self.pipeline.room() > 0
            && self.waiting_since().is_none()
            && !self.alone
    }

    /// Since when the node has been waiting for replicas, if it is.
    fn waiting_since(&self) -> Option<Time> {
        self.replication.as_ref().and_then(Replication::since)
    }

    /// Moves commands to the output, and returns how many were withdrawn.
    fn fill(&mut self, node: &Queue) -> usize {
        if !self.can_fill() {
            return 0;
        }
        let now = clock::lately();
        // A caller that asks again at once after a timeout may get here before the alarm fires.
        self.suspect_if_overdue(node, now);
        let (mut withdrawn, mut voting) = (0, false);
        while self.can_fill() {
            let Some(job) = self.unwritten.pop_front() else {
                break;
            };
            // Written alone, so that the connection dies on nothing else.
            let alone = matches!(&job, Job::Lock(job) if job.deaths > 0);
            if alone && self.pipeline.oldest().is_some() {
                self.unwritten.push_front(job);
                self.alone = true;
                break;
            }
            if job.write(&mut self.output, self.native, now) {
                voting |= Replication::concerns(&job);
                if job.route().asking {
                    self.pipeline.on_written(Job::Asking, now);
                }
                if let Job::Lock(job) = &job
                    && job.command == Command::Delete
                {
                    for silent in &mut self.silent {
                        silent.delete(job, node.redirector().is_some());
                    }
                }
                self.pipeline.on_written(job, now);
                self.alone = alone;
            } else {
                withdrawn += 1;
            }
        }
        if voting && let Some(replication) = &mut self.replication {
            replication.write(&mut self.output, now);
        }
        node.finished(withdrawn);
        withdrawn
    }

    /// Writes as much of the output as the socket takes.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.output.len() {
            match ready!(Pin::new(&mut self.stream).poll_write(cx, &self.output[self.sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent => self.sent += sent,
            }
        }
        self.output.clear();
        self.sent = 0;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Reads what is there and hands out the replies in it.
    fn poll_read(&mut self, node: &Queue, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut buffer = ReadBuf::new(&mut self.input[self.filled..]);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
        let length = buffer.filled().len();
        if length == 0 {
            // The node closed the connection, or a reply is longer than the buffer.
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        self.filled += length;
        // The clock is read after the replies: a vote in them counts from this time at the earliest.
        let (now, hook) = (clock::now(), node.round_trip_hook());
        let (mut done, mut finished, mut last, mut leave) = (0, 0, None, None);
        while let Some((reply, length)) =
            Reply::parse(&self.input[done..self.filled]).map_err(|Malformed| io::ErrorKind::InvalidData)?
        {
            done += length;
            let Some((job, since)) = self.pipeline.pop() else {
                // Nothing is written behind a WAIT.
                let replication = self.replication.as_mut();
                let confirmed = replication.and_then(|replication| replication.confirm(reply, self.server, now));
                for done in confirmed.ok_or(io::ErrorKind::InvalidData)? {
                    finished += self.settle(done);
                }
                continue;
            };
            self.alone = false;
            last = Some(since);
            if let Some(hook) = hook {
                hook(now - since);
            }
            let job = match &reply {
                Reply::Error(error) => match self.on_error(job, error, node, &mut leave) {
                    Some(job) => job,
                    None => continue,
                },
                _ => job,
            };
            match (&mut self.replication, job) {
                (Some(replication), Job::Lock(job)) if replication::is_vote(job.command, &reply) => {
                    replication.keep(job, reply);
                }
                (_, job) => finished += self.settle(job.reply(reply, self.server, now)),
            }
        }
        self.input.copy_within(done..self.filled, 0);
        self.filled -= done;
        if done > 0 {
            node.finished(finished);
            if self.pipeline.on_answers(last, node.node_timeout(), now) {
                node.trust();
            }
        }
        if let Some(why) = leave {
            self.accused = true;
            return Poll::Ready(Err(why.into()));
        }
        Poll::Ready(Ok(()))
    }

    /// The reply to a job is an error. Sets why to leave this connection, if there is a reason, and returns the job, unless another node
    /// of the cluster gets it.
    #[cold]
    fn on_error(&mut self, mut job: Job, error: &str, node: &Queue, leave: &mut Option<io::ErrorKind>) -> Option<Job> {
        if let Job::Lock(job) = &mut job {
            if Cause::is_unreadable(error) {
                // It closes the connection behind this.
                job.deaths += 1;
                self.accused = true;
            }
            if job.spelled_out && forbids_scripts(error) {
                // A new connection will find that too, and be given up.
                *leave = Some(io::ErrorKind::PermissionDenied);
            }
        }
        match node.redirector() {
            Some(redirector) => return redirector.redirect(job, error),
            // It was demoted. A new connection may lead to the master: names are looked up again.
            None if Cause::is_read_only(error) => *leave = Some(io::ErrorKind::ReadOnlyFilesystem),
            None => {}
        }
        Some(job)
    }

    /// Does what remains to be done for a job after its reply. Returns how many attempts are finished by it.
    fn settle(&mut self, done: Done) -> usize {
        match done {
            Done::Finished => return 1,
            Done::Kept => {}
            Done::Again(job) => {
                if job.command == Command::Delete && !job.announce {
                    // The server has the native command, but our user may not run it.
                    self.native = None;
                }
                self.unwritten.push_back(Job::Lock(job));
            }
            Done::Owed(delete) => self.postpone(delete),
        }
        0
    }

    /// Keeps a delete that the node refused to run now, to try it again a little later.
    fn postpone(&mut self, delete: LockJob) {
        if self.refused.is_empty() {
            clock::reset(self.retry.as_mut(), clock::now() + self.backoff);
        }
        self.refused.push(delete);
    }

    fn poll_alarm(&mut self, node: &Queue, cx: &mut Context<'_>) {
        loop {
            if !self.armed {
                let Some(at) = self.pipeline.next_timeout(self.oldest(), node.node_timeout()) else {
                    return;
                };
                clock::reset(self.alarm.as_mut(), at);
                self.armed = true;
            }
            if self.alarm.as_mut().poll(cx).is_pending() {
                return;
            }
            self.armed = false;
            self.suspect_if_overdue(node, clock::now());
        }
    }

    /// If the node has owed a reply for too long by `now`, nothing but deletes is written until it replies.
    fn suspect_if_overdue(&mut self, node: &Queue, now: Time) {
        let oldest = self.oldest();
        if self.pipeline.on_timeout(oldest, node.node_timeout(), now) {
            node.suspect(&mut self.unwritten);
        }
    }

    /// When the oldest command without a reply was written.
    fn oldest(&self) -> Option<Time> {
        self.pipeline.oldest().or_else(|| self.waiting_since())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, join, sink};

    use super::*;

    #[tokio::test]
    async fn a_reply_counts_once_although_something_else_follows() {
        let (said, later) = (&b"+OK\r\n?\r\n"[..], &b"+OK\r\n"[..]);
        let stream = join(said.chain(later), sink());
        let mut connection = Connection::new(stream, None, None, Vec::new(), &NodeOptions::default());
        for job in [Job::Asking, Job::Asking, Job::Asking] {
            connection.pipeline.on_written(job, clock::now());
        }
        let node = Queue::new(Duration::from_secs(1));
        connection.drive(&node).await.expect_err("a ? is no reply");
        assert_eq!(connection.pipeline.written().len(), 2);
    }
}
