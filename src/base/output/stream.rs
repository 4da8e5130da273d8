//! A stream whose writers never wait: bytes go into a queue, and the stream's own thread writes them out.
//!
//! A pipe that nobody reads, a stopped terminal and a file on a disk that hangs all block a writer. Here they block only
//! the stream's thread, and [`Stream::settle`] waits for it as long as the reader makes progress.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::write;

/// How long a reader may take nothing before we give it up.
pub const READER_TIMEOUT: Duration = Duration::from_secs(10);
/// The bytes that a writable pipe takes in one write (`PIPE_BUF` on Linux; POSIX guarantees 512).
const PIECE: usize = 4096;
/// How often a waiting thread checks for progress.
const LOOK: u16 = 50;
/// Progress and messages beyond this are dropped: a reader that lags so far behind will not read them later either.
const BACKLOG: usize = 256 << 10;

/// A stream that can be written to without waiting for its reader.
#[derive(Debug, Clone)]
pub struct Stream {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<StreamState>,
    changed: Condvar,
    /// The most bytes that may be queued.
    backlog: usize,
    /// What becomes of text before it is queued.
    filter: OnceLock<fn(&str) -> String>,
}

#[derive(Debug)]
struct StreamState {
    waiting: VecDeque<u8>,
    /// When the reader last took something, or the queue was last empty.
    moved: Instant,
    /// Why nothing is written any more.
    end: Option<End>,
    /// Writes that were dropped.
    lost: u64,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Unread,
    Failed(Errno),
}

/// Standard output. Its queue has no limit, so a record of any size fits.
pub fn stdout() -> &'static Stream {
    static STDOUT: OnceLock<Stream> = OnceLock::new();
    STDOUT.get_or_init(|| Stream::unbounded(io::stdout()))
}

/// Standard error. It keeps the first 256 KiB of what nobody reads and drops the rest.
pub fn stderr() -> &'static Stream {
    static STDERR: OnceLock<Stream> = OnceLock::new();
    STDERR.get_or_init(|| Stream::bounded(io::stderr()))
}

impl Stream {
    /// A stream to `target` without a limit.
    pub fn unbounded(target: impl AsFd + Send + 'static) -> Self {
        Self::new(target, usize::MAX)
    }

    /// A stream to `target` that drops writes while 256 KiB are queued.
    pub fn bounded(target: impl AsFd + Send + 'static) -> Self {
        Self::new(target, BACKLOG)
    }

    fn new(target: impl AsFd + Send + 'static, backlog: usize) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::new(StreamState {
                waiting: VecDeque::new(),
                moved: Instant::now(),
                end: None,
                lost: 0,
            }),
            changed: Condvar::new(),
            backlog,
            filter: OnceLock::new(),
        });
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || own.bring_out(&target));
        if thread.is_err() {
            // The machine has no more threads. Without one a write could hang, so nothing is written.
            shared.state().end = Some(End::Failed(Errno::EAGAIN));
        }
        Self { shared }
    }

    /// Has text go through this first, from now on. The first filter stays.
    pub fn filter(&self, filter: fn(&str) -> String) {
        let _ = self.shared.filter.set(filter);
    }

    /// Queues the bytes. They are dropped if the stream has ended or its queue is full.
    pub fn write(&self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        let filter = self.shared.filter.get();
        let filtered = filter.and_then(|filter| str::from_utf8(bytes).ok().map(filter));
        let bytes = filtered.as_ref().map_or(bytes, |text| text.as_bytes());
        let mut state = self.shared.state();
        if state.end.is_some() || state.waiting.len().saturating_add(bytes.len()) > self.shared.backlog {
            state.lost += 1;
            return;
        }
        if state.waiting.is_empty() {
            state.moved = Instant::now();
        }
        state.waiting.extend(bytes);
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Waits until everything is written, as long as the reader takes something at least every ten seconds.
    ///
    /// # Errors
    /// The system's error, or `TimedOut` if nobody reads. The stream has then ended.
    pub fn settle(&self) -> io::Result<()> {
        let mut state = self.shared.state();
        loop {
            match state.end {
                Some(end) => return Err(end.into()),
                None if state.waiting.is_empty() => return Ok(()),
                None if state.moved.elapsed() >= READER_TIMEOUT => state.end = Some(End::Unread),
                None => {
                    let wait = Duration::from_millis(LOOK.into());
                    let waited = self.shared.changed.wait_timeout(state, wait);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    /// How many bytes are queued.
    pub fn waiting(&self) -> usize {
        self.shared.state().waiting.len()
    }

    /// How many writes were dropped, because nobody read or because they failed.
    pub fn lost(&self) -> u64 {
        self.shared.state().lost
    }

    /// Why nothing is written any more; `None` while the stream works.
    pub fn end(&self) -> Option<io::Error> {
        self.shared.state().end.map(io::Error::from)
    }
}

impl From<End> for io::Error {
    fn from(end: End) -> Self {
        match end {
            End::Unread => Self::new(
                io::ErrorKind::TimedOut,
                format!("nobody has read from it for {} s", READER_TIMEOUT.as_secs()),
            ),
            End::Failed(errno) => errno.into(),
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, StreamState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread: writes the queue, piece by piece, until the stream ends.
    fn bring_out(&self, target: &impl AsFd) {
        let target = target.as_fd();
        while let Some(piece) = self.next_piece() {
            if !self.wait_for_room(target) {
                return;
            }
            let written = write(target, &piece);
            let mut state = self.state();
            match written {
                Ok(written) => {
                    state.waiting.drain(..written);
                    state.moved = Instant::now();
                }
                Err(Errno::EINTR | Errno::EAGAIN) => {}
                Err(errno) => {
                    state.end.get_or_insert(End::Failed(errno));
                    state.lost += 1;
                    state.waiting.clear();
                }
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Waits for the first piece in the queue; `None` when the stream has ended.
    fn next_piece(&self) -> Option<Vec<u8>> {
        let mut state = self.state();
        loop {
            if state.end.is_some() {
                return None;
            }
            if !state.waiting.is_empty() {
                return Some(state.waiting.iter().take(PIECE).copied().collect());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until the target takes a piece, and notes when the reader takes something; false when the stream has ended.
    fn wait_for_room(&self, target: BorrowedFd<'_>) -> bool {
        let mut unread = unread(target);
        loop {
            let mut fds = [PollFd::new(target, PollFlags::POLLOUT)];
            match poll(&mut fds, PollTimeout::from(LOOK)) {
                // It is also ready when it has failed or its reader has gone; the write reports which.
                Ok(1..) => return true,
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return true,
            }
            let now = self::unread(target);
            let mut state = self.state();
            if state.end.is_some() {
                return false;
            }
            if now != unread {
                unread = now;
                state.moved = Instant::now();
            }
        }
    }
}

/// The bytes in a pipe that its reader has not taken yet. A slow reader frees a page only now and then, so this shows its
/// progress.
fn unread(target: BorrowedFd<'_>) -> Option<u64> {
    let mode = SFlag::from_bits_truncate(fstat(target).ok()?.st_mode);
    if mode & SFlag::S_IFMT == SFlag::S_IFIFO {
        rustix::io::ioctl_fionread(target).ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write, pipe};

    use super::*;

    #[test]
    fn everything_written_comes_out_in_order() {
        let (mut reader, writer) = pipe().unwrap();
        let stream = Stream::unbounded(writer);
        let all: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let wanted = all.clone();
        let read = thread::spawn(move || {
            let mut got = vec![0; wanted.len()];
            reader.read_exact(&mut got).unwrap();
            assert!(got == wanted);
        });
        all.chunks(777).for_each(|part| stream.write(part));
        stream.settle().unwrap();
        read.join().unwrap();
    }

    #[test]
    fn a_reader_that_has_gone_is_an_error_and_not_a_panic() {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let stream = Stream::unbounded(writer);
        stream.write("hello");
        assert_eq!(stream.settle().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert!(stream.end().is_some());
        stream.write("again");
        assert_eq!(stream.lost(), 2);
    }

    #[test]
    fn nobody_waits_for_a_reader_that_takes_nothing() {
        let (mut reader, writer) = pipe().unwrap();
        let mut filler = writer.try_clone().unwrap();
        filler.write_all(&vec![b'x'; 65_536]).unwrap();
        let stream = Stream::bounded(writer);
        let begin = Instant::now();
        for _ in 0..1000 {
            stream.write([b'y'; 1024]);
        }
        assert!(stream.lost() > 0 && stream.waiting() <= BACKLOG);
        let error = stream.settle().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(begin.elapsed() >= READER_TIMEOUT);
        // Given up for good: the queued bytes are not written later.
        let mut taken = vec![0; 65_536];
        reader.read_exact(&mut taken).unwrap();
        assert!(taken.iter().all(|byte| *byte == b'x'));
    }

    #[test]
    fn a_reader_that_is_slow_is_served_to_the_end() {
        let (mut reader, writer) = pipe().unwrap();
        let mut filler = writer.try_clone().unwrap();
        filler.write_all(&vec![b'x'; 65_536]).unwrap();
        let stream = Stream::unbounded(writer);
        stream.write("the end");
        let slow = thread::spawn(move || {
            // Less than a page in more than the timeout: only the bytes in the pipe show the progress.
            for _ in 0..14 {
                thread::sleep(Duration::from_millis(900));
                reader.read_exact(&mut [0; 10]).unwrap();
            }
            let mut rest = vec![0; 65_536 - 140 + 7];
            reader.read_exact(&mut rest).unwrap();
            rest
        });
        stream.settle().unwrap();
        assert!(slow.join().unwrap().ends_with(b"the end"));
    }
}
