//! The connection to a client: orders go out in batches, and answers come in whenever the client has them.

use std::collections::HashMap;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, oneshot, watch};

use super::clock::Clock;
use super::complaints::{Complaints, Whose};
use super::message::{Answer, Can, Heard, Hello, Is, Order, Start, Wrong};
use crate::under_test::{Granted, OtherHold};
use lockstorm_data::facts::{self, ClientFault};
use lockstorm_data::model::printable;
use lockstorm_lock::Refusal;
use percent_encoding::percent_decode_str;

/// The longest line of a client, in bytes.
const LONGEST: usize = 64 * 1024;
/// A client that has said so much nonsense is not listened to any more.
const MOST_WRONG: usize = 1_000;
/// How many wrong lines are told.
const TOLD: usize = 3;
/// What to do about a line that is no JSON.
const HINT: &str = "; stdout is for answers only: print to stderr, or talk at the socket that LOCKSTORM_SOCKET names";
/// How much of a wrong line is shown, in characters.
const SHOWN: usize = 120;
/// How often a client's clock is asked for.
const PINGS: usize = 9;

/// A connection to a client of one app server. Its clones are the same one.
#[derive(Debug, Clone)]
pub struct Link(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    whose: Whose,
    start: Start,
    complaints: Arc<Complaints>,
    hello: watch::Sender<Option<Hello>>,
    /// How many connections have ended, and why the last one did.
    ended: watch::Sender<(u64, End)>,
    state: Mutex<State>,
}

/// Why a connection to a client has ended.
#[derive(Debug, Clone, thiserror::Error)]
pub enum End {
    /// The client has closed it.
    #[error("has closed its end")]
    Closed,
    /// The client's process has ended.
    #[error("has ended")]
    Exited,
    /// It failed.
    #[error("{0}")]
    Failed(Arc<io::Error>),
    /// There was too much nonsense.
    #[error(
        "has said {} things that are no messages, and is not listened to any more",
        MOST_WRONG
    )]
    Nonsense,
    /// A line was too long.
    #[error("has sent a line of more than {} bytes, and is not listened to any more", LONGEST)]
    LongLine,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the present connection; those before it are not listened to.
    connection: u64,
    is_open: bool,
    /// What the client of this connection says of itself, and whether it takes orders: it has started, and its clock is known if it
    /// promises anything.
    greeting: Hello,
    is_ready: bool,
    last_id: u64,
    out: Vec<u8>,
    wake: Arc<Notify>,
    asked: HashMap<u64, Asked>,
    /// By the numbers of their acquires.
    held: HashMap<u64, Arc<OtherHold>>,
    clock: Option<Clock>,
    wrong: usize,
    /// What was said before `started` that is no message.
    noise: Option<String>,
}

/// An order that is not answered yet.
#[derive(Debug)]
enum Asked {
    Acquire(Granted, oneshot::Sender<Result<Arc<OtherHold>, Refusal>>),
    /// And when it was written.
    Extend(u64, Instant, oneshot::Sender<Is>),
    Release(oneshot::Sender<Is>),
    /// With how many more to ask.
    Clock(Instant, usize),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Failed(Arc::new(error))
    }
}

impl Link {
    /// Awaits the client at `listener`, and greets it each time that it comes; the newest connection counts. `who` is its name in
    /// complaints.
    pub fn listen(listener: UnixListener, whose: Whose, start: Start, complaints: Arc<Complaints>) -> Self {
        let shared = Arc::new(Shared {
            whose,
            start,
            complaints,
            hello: watch::Sender::new(None),
            ended: watch::Sender::new((0, End::Exited)),
            state: Mutex::default(),
        });
        let link = Self(Arc::clone(&shared));
        // It ends with the runtime.
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (number, wake) = shared.begin();
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    let why = shared.talk(stream, number, &wake).await;
                    shared.end(number, why.unwrap_or_else(End::from));
                });
            }
        });
        link
    }

    /// What the client says of itself, once it has started.
    pub async fn hello(&self) -> Hello {
        let mut hello = self.0.hello.subscribe();
        // It can't fail: we hold the sender.
        let _ = hello.wait_for(Option::is_some).await;
        hello.borrow().clone().unwrap_or_default()
    }

    /// What a client has said that has not started: something that is no message.
    pub fn noise(&self) -> Option<String> {
        self.0.state().noise.clone()
    }

    /// Waits until more than `so_many` connections have ended, and returns how many have and why the last one did.
    pub async fn ended(&self, so_many: u64) -> (u64, End) {
        let mut ended = self.0.ended.subscribe();
        // It can't fail: we hold the sender.
        let _ = ended.wait_for(|(number, _)| *number > so_many).await;
        ended.borrow().clone()
    }

    /// Does not listen to the present connection any more, whose client has ended.
    pub fn close(&self) {
        let number = self.0.state().connection;
        self.0.end(number, End::Exited);
    }

    /// Whether the client is there and takes orders.
    pub fn is_open(&self) -> bool {
        let state = self.0.state();
        state.is_open && state.is_ready
    }

    /// Asks for a lock; its number is that of the acquire. If the future is dropped, a lock that comes later is released.
    ///
    /// # Errors
    /// Why it was not acquired.
    pub async fn acquire(&self, granted: Granted, wait: Duration) -> Result<Arc<OtherHold>, Refusal> {
        let (send, answer) = oneshot::channel();
        let (key, wait_ms) = (granted.key.clone(), u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        self.0
            .ask(Asked::Acquire(granted, send), |id| Order::Acquire { id, key, wait_ms });
        answer.await.unwrap_or_else(|_| Err(unknown()))
    }

    /// Has a lock extended.
    pub async fn extend(&self, of: u64) -> Is {
        let (send, answer) = oneshot::channel();
        if !self.0.state().held.contains_key(&of) {
            // It went with the client that had it.
            return Is::Lost;
        }
        self.0
            .ask(Asked::Extend(of, Instant::now(), send), |id| Order::Extend { id, of });
        answer.await.unwrap_or(Is::Unknown)
    }

    /// Has a lock released.
    pub async fn release(&self, of: u64) -> Is {
        let (send, answer) = oneshot::channel();
        self.0.state().release(of, send);
        answer.await.unwrap_or(Is::Unknown)
    }

    /// Tells the client that it may end.
    pub fn stop(&self) {
        self.0.state().put(&Order::Stop);
    }

    /// Adds a complaint about the client: what it sent, or how it ended.
    pub fn complain(&self, why: &str) {
        self.0.failed(self.hidden(why));
    }

    /// Adds that it has not answered an order in time.
    pub fn complain_of_silence(&self, to: facts::Order, waited: Duration, limit: Duration) {
        let fault = ClientFault::NotAnswered { to, waited, limit };
        self.0.complaints.add(self.0.whose.clone(), fault);
    }

    /// Text, such as the client's log, without the passwords that it was told.
    pub fn hidden(&self, text: &str) -> String {
        self.0.hidden(text)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new connection begins: those before it are not listened to any more.
    fn begin(&self) -> (u64, Arc<Notify>) {
        let state = &mut *self.state();
        state.connection += 1;
        state.wake.notify_one();
        state.wake = Arc::default();
        (state.is_open, state.out) = (true, Vec::new());
        (state.clock, state.noise, state.is_ready) = (None, None, false);
        // It is another one, or has begun anew.
        state.abandon();
        state.asked = HashMap::new();
        state.put(&Order::Start(self.start.clone()));
        (state.connection, Arc::clone(&state.wake))
    }

    /// A connection has ended, and with it all that was asked over it.
    fn end(&self, number: u64, why: End) {
        let asked = {
            let state = &mut *self.state();
            if state.connection != number || !state.is_open {
                return;
            }
            state.is_open = false;
            state.abandon();
            mem::take(&mut state.asked)
        };
        drop(asked);
        self.ended.send_modify(|ended| *ended = (ended.0 + 1, why));
    }

    /// Exchanges messages until the connection ends, and returns why it did.
    async fn talk(&self, stream: UnixStream, number: u64, wake: &Notify) -> io::Result<End> {
        let (read, write) = stream.into_split();
        tokio::select! {
            why = self.hear_all(read, number) => why,
            error = self.say_all(write, number, wake) => error,
        }
    }

    async fn say_all(&self, mut write: OwnedWriteHalf, number: u64, wake: &Notify) -> io::Result<End> {
        let mut batch = Vec::new();
        loop {
            wake.notified().await;
            if !self.take_out(&mut batch, number) {
                // It may still print something there, which is read and left alone.
                return std::future::pending().await;
            }
            write.write_all(&batch).await?;
        }
    }

    /// Takes what is to be written. Returns false if another connection has come.
    fn take_out(&self, batch: &mut Vec<u8>, number: u64) -> bool {
        let state = &mut *self.state();
        if state.connection != number {
            return false;
        }
        batch.clear();
        mem::swap(batch, &mut state.out);
        true
    }

    async fn hear_all(&self, mut read: OwnedReadHalf, number: u64) -> io::Result<End> {
        let mut buffer = Vec::with_capacity(LONGEST);
        loop {
            if read.read_buf(&mut buffer).await? == 0 {
                return Ok(End::Closed);
            }
            let mut rest = &buffer[..];
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                if !self.hear(&rest[..end], number) {
                    return Ok(End::Nonsense);
                }
                rest = &rest[end + 1..];
            }
            if rest.len() > LONGEST {
                return Ok(End::LongLine);
            }
            let read = buffer.len() - rest.len();
            buffer.drain(..read);
        }
    }

    /// Takes in a line. Returns false if there was too much nonsense.
    fn hear(&self, line: &[u8], number: u64) -> bool {
        let line = line.trim_ascii();
        let mut state = self.state();
        if line.is_empty() || state.connection != number {
            return true;
        }
        let Err(why) = Heard::read(line).and_then(|heard| self.take(&mut state, heard)) else {
            return true;
        };
        state.wrong += 1;
        let is_new = state.wrong <= TOLD;
        let hint = if line.starts_with(b"{") { "" } else { HINT };
        let text = self.shown(&String::from_utf8_lossy(line));
        if self.hello.borrow().is_none() {
            state.noise.get_or_insert_with(|| format!("{text} ({why}{hint})"));
        } else if is_new {
            self.failed(format!("said {text}: {why}{hint}"));
        }
        state.wrong < MOST_WRONG
    }

    /// Text of a client, fit to be shown: short, printable, and without the passwords that it was told.
    fn shown(&self, text: &str) -> String {
        printable(&self.hidden(text)).chars().take(SHOWN).collect()
    }

    /// Text without the passwords that the client was told.
    fn hidden(&self, text: &str) -> String {
        let start = &self.start;
        let urls = start.nodes.iter().chain(&start.sentinels).chain(&start.cluster);
        let secrets = urls.filter_map(|url| url.split_once("://")?.1.rsplit_once('@')?.0.split_once(':'));
        let secrets: Vec<String> = secrets
            .flat_map(|(_, secret)| {
                [
                    secret.to_owned(),
                    percent_decode_str(secret).decode_utf8_lossy().into_owned(),
                ]
            })
            .filter(|secret| !secret.is_empty())
            .collect();
        let lines = text.split('\n').map(|line| {
            secrets
                .iter()
                .fold(line.to_owned(), |line, secret| without(&line, secret))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn take(&self, state: &mut State, heard: Heard) -> Result<(), Wrong> {
        match heard {
            Heard::Started(hello) => {
                state.greeting = Hello {
                    name: self.shown(&hello.name),
                    version: self.shown(&hello.version),
                    language: self.shown(&hello.language),
                    ..hello
                };
                match state.greeting.can.contains(&Can::Validity) {
                    true => state.ask(Asked::Clock(Instant::now(), PINGS), |id| Order::Clock { id }),
                    false => self.is_ready(state),
                }
                Ok(())
            }
            Heard::Lost(of) => {
                // The lock may just have been released.
                if let Some(hold) = state.held.get(&of) {
                    hold.lose(Instant::now());
                }
                Ok(())
            }
            Heard::Extended(of, until) => state.extend(of, None, until),
            Heard::Clock(id, t) => match state.asked.remove(&id) {
                Some(Asked::Clock(asked, left)) => {
                    let clock = Clock::new(asked, asked.elapsed(), t);
                    state.clock = Some(state.clock.map_or(clock, |before| before.better(clock)));
                    match left.saturating_sub(1) {
                        0 => self.is_ready(state),
                        left => state.ask(Asked::Clock(Instant::now(), left), |id| Order::Clock { id }),
                    }
                    Ok(())
                }
                other => state.wrongly_answered(id, other, None),
            },
            Heard::Replied(id, is, answer) => self.replied(state, id, is, &answer),
        }
    }

    fn replied(&self, state: &mut State, id: u64, is: Is, answer: &Answer) -> Result<(), Wrong> {
        match (state.asked.remove(&id), is) {
            (Some(Asked::Acquire(granted, send)), Is::Held) => {
                let until = answer.until.zip(state.clock).map(|(until, clock)| clock.ours(until));
                let fence = answer.fence;
                let hold = Arc::new(OtherHold::new(
                    Granted {
                        fence,
                        number: id,
                        ..granted
                    },
                    until,
                ));
                state.held.insert(id, Arc::clone(&hold));
                if send.send(Ok(hold)).is_err() {
                    // Nobody waits for it any more.
                    let (send, _) = oneshot::channel();
                    state.release(id, send);
                }
                match (answer.until, state.greeting.can.contains(&Can::Validity)) {
                    (Some(_), false) => Err(Wrong::Promises),
                    (None, true) => Err(Wrong::NoPromise),
                    _ => Ok(()),
                }
            }
            (Some(Asked::Acquire(_, send)), Is::Busy | Is::Outage | Is::Unknown | Is::Error) => {
                if is == Is::Error {
                    self.error(facts::Order::Acquire, answer);
                }
                let _ = send.send(Err(match is {
                    Is::Busy => Refusal::Contended,
                    Is::Outage => missing(),
                    Is::Error if answer.definite == Some(true) => missing(),
                    _ => unknown(),
                }));
                Ok(())
            }
            (Some(Asked::Extend(of, asked, send)), Is::Extended | Is::Lost | Is::Unknown | Is::Error) => {
                if is == Is::Extended {
                    state.extend(of, Some(asked), answer.until)?;
                } else if is == Is::Lost
                    && let Some(hold) = state.held.get(&of)
                {
                    hold.lose(Instant::now());
                }
                if is == Is::Error {
                    self.error(facts::Order::Extend, answer);
                }
                let _ = send.send(is);
                Ok(())
            }
            (Some(Asked::Release(send)), Is::Released | Is::Lost | Is::Unknown | Is::Error) => {
                if is == Is::Error {
                    self.error(facts::Order::Release, answer);
                }
                let _ = send.send(is);
                Ok(())
            }
            (other, is) => state.wrongly_answered(id, other, Some(is)),
        }
    }

    fn error(&self, to: facts::Order, answer: &Answer) {
        let text = self.shown(answer.text.as_deref().unwrap_or("no text"));
        self.complaints.error(self.whose.clone(), to, text);
    }

    fn failed(&self, quoted: String) {
        self.complaints.add(self.whose.clone(), ClientFault::Failed { quoted });
    }

    /// The client takes orders from now on.
    fn is_ready(&self, state: &mut State) {
        state.is_ready = true;
        self.hello.send_replace(Some(state.greeting.clone()));
    }

    /// Writes an order, if the client takes any, and keeps what is asked until it is answered.
    fn ask(&self, asked: Asked, order: impl FnOnce(u64) -> Order) {
        let state = &mut *self.state();
        if state.is_open && state.is_ready {
            state.ask(asked, order);
        }
    }
}

impl State {
    /// Writes an order, and keeps what is asked until it is answered.
    fn ask(&mut self, asked: Asked, order: impl FnOnce(u64) -> Order) {
        self.last_id += 1;
        self.asked.insert(self.last_id, asked);
        self.put(&order(self.last_id));
    }

    fn release(&mut self, of: u64, answer: oneshot::Sender<Is>) {
        if self.held.remove(&of).is_none() || !self.is_open {
            return;
        }
        self.ask(Asked::Release(answer), |id| Order::Release { id, of });
    }

    /// The client has gone, and what it held with it.
    fn abandon(&mut self) {
        for (_, hold) in self.held.drain() {
            hold.abandon();
        }
    }

    /// Writes an order.
    fn put(&mut self, order: &Order) {
        // A vector takes everything, and orders have no maps with other keys than texts.
        let _ = serde_json::to_writer(&mut self.out, order);
        self.out.push(b'\n');
        self.wake.notify_one();
    }

    /// A lock was extended, which was `asked` for then, if it was.
    fn extend(&mut self, of: u64, asked: Option<Instant>, until: Option<i64>) -> Result<(), Wrong> {
        // The lock may just have been released.
        let Some(hold) = self.held.get(&of) else {
            return Ok(());
        };
        hold.extended(asked);
        let Some(until) = until else {
            return Ok(());
        };
        let clock = self.clock.ok_or(Wrong::Promises)?;
        hold.rely_until(clock.ours(until));
        Ok(())
    }

    /// Says what is wrong with an answer, and keeps waiting for the right one.
    fn wrongly_answered(&mut self, id: u64, asked: Option<Asked>, with: Option<Is>) -> Result<(), Wrong> {
        let Some(asked) = asked else {
            return Err(Wrong::NotAsked(id));
        };
        let order = match &asked {
            Asked::Acquire(..) => "acquire",
            Asked::Extend(..) => "extend",
            Asked::Release(_) => "release",
            Asked::Clock(..) => "clock",
        };
        self.asked.insert(id, asked);
        Err(Wrong::Mismatched { order, id, with })
    }
}

/// The line without this secret, nor the beginning of it where the line was cut off, nor its end where the line begins with that.
fn without(line: &str, secret: &str) -> String {
    let line = line.replace(secret, "***");
    let cut = secret.char_indices().skip(4).map(|(end, _)| &secret[..end]);
    let line = match cut.filter_map(|start| line.strip_suffix(start)).last() {
        Some(before) => format!("{before}***"),
        None => line,
    };
    let ends = secret.char_indices().map(|(at, _)| &secret[at..]);
    let mut ends = ends.filter(|end| end.chars().count() > 3);
    match ends.find_map(|end| line.strip_prefix(end)) {
        Some(after) => format!("***{after}"),
        None => line,
    }
}

/// The refusal of a client that could not say more. Which node is to blame nobody knows.
pub(super) fn unknown() -> Refusal {
    Refusal::Unknown { causes: Vec::new() }
}

/// The refusal when servers, or the client, are missing.
pub(super) fn missing() -> Refusal {
    Refusal::NoQuorum { causes: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_left_out_of_a_line_also_where_it_was_cut_off() {
        for (line, shown) in [
            ("at redis://:s3cret99@h and s3cret99", "at redis://:***@h and ***"),
            ("at redis://:s3cre", "at redis://:***"),
            ("a short s3c", "a short s3c"),
            ("cret99 and more", "*** and more"),
            ("t99, and short", "t99, and short"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(without(line, "s3cret99"), shown);
        }
    }
}
