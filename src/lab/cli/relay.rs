//! Carries the connections of redis-cli to a node, and notes what they write.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::commands::{Commands, Words};
use super::writes::{self, ManualWrite};
use crate::server::node_name::NodeName;
use crate::server::sessions;
use lockstorm_base::monotonic_ns;
use lockstorm_lock::{NodeAddress, Reply, Session, SessionError};

/// The scripting commands that may write; Redis does not count them to those that do.
const SCRIPTS: [&str; 3] = ["eval", "evalsha", "fcall"];
/// How long a node may take to say how many keys a command names.
const KEYS_TIMEOUT: Duration = Duration::from_secs(1);
/// Of longer commands nobody asks that.
const LONGEST_ASKED: usize = 64 * 1024;
/// The most bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// What connects a redis-cli with a node.
#[derive(Debug, Clone)]
pub(super) struct Relay {
    pub node: NodeName,
    /// Where the node is, with the lab's password.
    pub address: NodeAddress,
    pub run_dir: PathBuf,
}

impl Relay {
    /// Carries all connections that are made to the listener until redis-cli is `over`, and returns when all is noted.
    pub(super) async fn serve(self, listener: TcpListener, mut over: oneshot::Receiver<()>) {
        let mut carried = JoinSet::new();
        loop {
            tokio::select! {
                Ok((client, _)) = listener.accept() => {
                    let relay = self.clone();
                    // How a connection ends is seen by redis-cli.
                    carried.spawn_local(async move { drop(relay.carry(client).await) });
                }
                _ = &mut over => break,
            }
        }
        carried.join_all().await;
    }

    async fn carry(&self, client: TcpStream) -> Result<(), SessionError> {
        let node = TcpStream::connect((self.address.host(), self.address.port())).await?;
        let mut asking = sessions::open(&self.address, Duration::MAX).await?;
        let told = asking.order(&["ACL", "CAT", "write"]).await?;
        let named = told
            .parts()
            .iter()
            .filter_map(|part| part.text().map(str::to_lowercase));
        let talk = RefCell::new(Talk::new(named.collect()));
        for stream in [&client, &node] {
            stream.set_nodelay(true)?;
        }
        let ((mut from_client, mut to_client), (mut from_node, mut to_node)) = (client.into_split(), node.into_split());
        let there = async {
            let mut bytes = vec![0; CHUNK];
            while let length @ 1.. = from_client.read(&mut bytes).await? {
                talk.borrow_mut().sent(&bytes[..length]);
                to_node.write_all(&bytes[..length]).await?;
            }
            Ok(())
        };
        let back = async {
            let mut bytes = vec![0; CHUNK];
            while let length @ 1.. = from_node.read(&mut bytes).await? {
                let done = talk.borrow_mut().answered(&bytes[..length]);
                // Before redis-cli has the answer, and may end.
                self.note(done, true, &mut asking).await?;
                to_client.write_all(&bytes[..length]).await?;
            }
            Ok(())
        };
        let ended: io::Result<()> = tokio::select! {
            ended = there => ended,
            ended = back => ended,
        };
        let open = talk.borrow_mut().end();
        self.note(open, false, &mut asking).await?;
        Ok(ended?)
    }

    async fn note(&self, sent: Vec<Sent>, is_done: bool, asking: &mut Session) -> io::Result<()> {
        let done_us = is_done.then(|| monotonic_ns(Instant::now()) / 1000);
        // Who reads in a file by `--pipe` has not done a thousand things.
        for same in sent.chunk_by(|one, next| one.name == next.name) {
            let (first, times) = (&same[0], same.len());
            let write = ManualWrite {
                node: self.node,
                command: first.name.replace('|', " ").to_uppercase(),
                times,
                keys: match is_done && times == 1 {
                    true => keys(&first.words, asking).await,
                    false => None,
                },
                sent_us: first.at_us,
                done_us,
            };
            writes::note(&self.run_dir, &write)?;
        }
        Ok(())
    }
}

/// How many keys a command names, as the node says.
async fn keys(words: &Words, asking: &mut Session) -> Option<usize> {
    let words: Vec<&str> = words
        .iter()
        .map(|word| std::str::from_utf8(word))
        .collect::<Result<_, _>>()
        .ok()?;
    if words.iter().map(|word| word.len()).sum::<usize>() > LONGEST_ASKED {
        return None;
    }
    let question = [&["COMMAND", "GETKEYS"], &words[..]].concat();
    match timeout(KEYS_TIMEOUT, asking.ask(&question)).await.ok()?.ok()? {
        Reply::Array(keys) => Some(keys.len()),
        // It has none.
        _ => Some(0),
    }
}

/// A command that was sent.
#[derive(Debug)]
struct Sent {
    /// The name in lower case by which it counts as a write; empty if it does not.
    name: String,
    words: Words,
    at_us: i64,
}

/// What was said on a connection.
struct Talk {
    /// The commands that write, in lower case, with their subcommands: `xgroup|create`.
    writing: BTreeSet<String>,
    commands: Commands,
    /// What has not been answered.
    open: VecDeque<Sent>,
    /// The writes of a transaction that was not run yet.
    queued: Vec<Sent>,
}

impl Talk {
    fn new(mut writing: BTreeSet<String>) -> Self {
        writing.extend(SCRIPTS.map(str::to_owned));
        Self {
            writing,
            commands: Commands::default(),
            open: VecDeque::new(),
            queued: Vec::new(),
        }
    }

    fn sent(&mut self, bytes: &[u8]) {
        let at_us = monotonic_ns(Instant::now()) / 1000;
        for words in self.commands.take(bytes) {
            let name = self.name_of(&words);
            self.open.push_back(Sent { name, words, at_us });
        }
    }

    /// The name by which a command counts as a write.
    fn name_of(&self, words: &Words) -> String {
        let word = |at: usize| words.get(at).map(|word| String::from_utf8_lossy(word).to_lowercase());
        let name = word(0).unwrap_or_default();
        let full = format!("{name}|{}", word(1).unwrap_or_default());
        let found = [full, name].into_iter().find(|name| self.writing.contains(name));
        found.unwrap_or_default()
    }

    /// The writes that the node has run when it sends these bytes.
    fn answered(&mut self, bytes: &[u8]) -> Vec<Sent> {
        let is_write = |sent: &Sent| !sent.name.is_empty();
        if self.open.len() > 1 {
            // Which answer belongs to which is not told: what was sent without waiting counts as run.
            return self.open.drain(..).filter(is_write).collect();
        }
        // What comes without a question is the rest of an answer, or a message.
        let Some(sent) = self.open.pop_front() else {
            return Vec::new();
        };
        let ends = |name: &str| {
            sent.words
                .first()
                .is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
        };
        if ends("exec") || ends("discard") {
            let queued = std::mem::take(&mut self.queued);
            // Nothing else than an array is the answer to a transaction that was run.
            let is_run = ends("exec") && bytes.starts_with(b"*") && !bytes.starts_with(b"*-1");
            return if is_run { queued } else { Vec::new() };
        }
        match (is_write(&sent), bytes.first()) {
            (false, _) | (_, Some(b'-')) => Vec::new(),
            _ if bytes.starts_with(b"+QUEUED") => {
                self.queued.push(sent);
                Vec::new()
            }
            _ => vec![sent],
        }
    }

    /// The writes that nobody has answered when the connection ends.
    fn end(&mut self) -> Vec<Sent> {
        self.open.drain(..).filter(|sent| !sent.name.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk() -> Talk {
        Talk::new(["set", "del", "xgroup|create"].map(str::to_owned).into())
    }

    /// The names of the writes that were run when these commands were answered so, one after the other.
    fn run(said: &[(&str, &str)]) -> Vec<String> {
        let mut talk = talk();
        let answered = said.iter().flat_map(|(command, answer)| {
            talk.sent(format!("{command}\r\n").as_bytes());
            talk.answered(answer.as_bytes())
        });
        answered.map(|sent| sent.name).collect()
    }

    #[test]
    fn what_a_node_has_run_is_a_write_and_nothing_else() {
        assert_eq!(run(&[("SET k v", "+OK\r\n"), ("del k", ":1\r\n")]), ["set", "del"]);
        assert_eq!(
            run(&[("eval s 0", "$-1\r\n"), ("XGROUP CREATE k g $", "+OK\r\n")]),
            ["eval", "xgroup|create"]
        );
        let none = [
            ("GET k", "$1\r\nv\r\n"),
            ("AUTH secret", "+OK\r\n"),
            ("XGROUP DESTROY k g", ":0\r\n"),
        ];
        assert!(run(&none).is_empty());
        assert!(run(&[("SET k", "-ERR wrong number\r\n")]).is_empty(), "it was refused");
    }

    #[test]
    fn a_transaction_writes_when_it_is_run() {
        let begin = [("MULTI", "+OK\r\n"), ("SET k v", "+QUEUED\r\n")];
        let with = |end| run(&[begin[0], begin[1], end]);
        assert_eq!(with(("EXEC", "*1\r\n+OK\r\n")), ["set"]);
        for end in [("EXEC", "*-1\r\n"), ("EXEC", "-EXECABORT\r\n"), ("DISCARD", "+OK\r\n")] {
            assert!(with(end).is_empty(), "{end:?}");
        }
    }

    #[test]
    fn what_was_sent_without_waiting_counts_as_run_and_without_an_answer_it_is_open() {
        let mut talk = talk();
        talk.sent(b"SET a 1\r\nGET a\r\nDEL a\r\n");
        assert_eq!(talk.answered(b"+OK\r\n").len(), 2);
        talk.sent(b"DEL b\r\n");
        assert_eq!(talk.end().len(), 1);
        assert!(talk.answered(b":1\r\n").is_empty());
    }
}
