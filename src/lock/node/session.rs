//! A connection for questions, for programs that want to know more of a node than whether it grants a lock.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::node::address::NodeAddress;
use crate::node::greeting::{self, REPLIES_LIMIT, SessionError};
use crate::node::options::NodeOptions;
use crate::node::reply::Reply;
use crate::node::stream::Stream;
use crate::node::wire;

/// A connection of its own to a node, which waits for the replies to what it has asked.
#[allow(missing_debug_implementations)]
pub struct Session {
    stream: Stream,
    /// What has come and was not read yet.
    unread: Vec<u8>,
    /// How many replies have not been read, those included that nobody waits for any more.
    owed: usize,
    limit: Duration,
}

impl Session {
    /// Connects, authenticates and selects the database.
    ///
    /// # Errors
    /// That took longer than `connect_timeout`, or was refused.
    pub async fn open(address: &NodeAddress, options: &NodeOptions) -> Result<Self, SessionError> {
        Ok(Self::asking(address, options, &[]).await?.0)
    }

    /// The same, and sends these commands at once; returns the replies to those.
    pub(crate) async fn asking(
        address: &NodeAddress,
        options: &NodeOptions,
        commands: &[&[&str]],
    ) -> Result<(Self, Vec<Reply>), SessionError> {
        let (stream, replies) = greeting::enter(address, options, commands, REPLIES_LIMIT).await?;
        Ok((Self::new(stream, options), replies))
    }

    /// Authenticates and selects the database over a connection to that node which the caller has just opened, perhaps from an
    /// address of its choice.
    ///
    /// # Errors
    /// Those of [`Session::open`].
    pub async fn on(stream: TcpStream, address: &NodeAddress, options: &NodeOptions) -> Result<Self, SessionError> {
        let until = greeting::until(options);
        let (stream, _) =
            greeting::enter_over(Stream::Plain(stream), until, address, options, &[], REPLIES_LIMIT).await?;
        Ok(Self::new(stream, options))
    }

    const fn new(stream: Stream, options: &NodeOptions) -> Self {
        Self {
            stream,
            unread: Vec::new(),
            owed: 0,
            limit: options.connect_timeout,
        }
    }

    /// Sends a command that has to succeed, and returns the reply.
    ///
    /// # Errors
    /// The node's error, after which the session works on, and those of [`Session::ask`].
    pub async fn order(&mut self, command: &[&str]) -> Result<Reply, SessionError> {
        match self.ask(command).await? {
            Reply::Error(error) => Err(SessionError::Answer(error)),
            reply => Ok(reply),
        }
    }

    /// Sends a command and returns the reply, which may be the node's error. After an error of this function the session is of no
    /// more use. Whoever has waited long enough may drop this and ask again: the reply is skipped when it comes.
    ///
    /// # Errors
    /// No reply within `connect_timeout`, or the connection broke.
    pub async fn ask(&mut self, command: &[&str]) -> Result<Reply, SessionError> {
        // There are as many replies as commands.
        Ok(self.ask_all(&[command]).await?.swap_remove(0))
    }

    /// Sends several commands at once, and returns the reply to each.
    ///
    /// # Errors
    /// Those of [`Session::ask`].
    pub async fn ask_all(&mut self, commands: &[&[&str]]) -> Result<Vec<Reply>, SessionError> {
        let packed: Vec<u8> = commands.iter().flat_map(|command| wire::pack(command)).collect();
        // Before anything is sent: if this is dropped meanwhile, no reply is taken for that of another command.
        self.owed += commands.len();
        let mut replies = self.exchange(&packed, 0).await?;
        Ok(replies.split_off(replies.len() - commands.len()))
    }

    /// Waits for something that the node says without being asked: a message, once it was asked to `SUBSCRIBE`.
    ///
    /// # Errors
    /// None comes within `connect_timeout`, or the connection broke.
    pub async fn hear(&mut self) -> Result<Reply, SessionError> {
        let mut replies = self.exchange(&[], 1).await?;
        // The last of at least one.
        Ok(replies.swap_remove(replies.len() - 1))
    }

    /// Sends this, and reads all that is owed, and so many more.
    async fn exchange(&mut self, packed: &[u8], more: usize) -> Result<Vec<Reply>, SessionError> {
        let exchanged = async {
            self.stream.write_all(packed).await?;
            self.stream.flush().await?;
            greeting::read(&mut self.stream, &mut self.unread, self.owed + more, REPLIES_LIMIT).await
        };
        let replies = match timeout(self.limit, exchanged).await {
            Ok(replies) => replies,
            Err(late) => Err(late.into()),
        };
        let replies = replies.map_err(SessionError::Io)?;
        self.owed = 0;
        Ok(replies)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    /// A session with a server that sends the first of these texts when it is asked for the second time, and then the others.
    async fn session(texts: [&'static [u8]; 2]) -> Session {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = 0;
            while asked < 2 {
                let mut bytes = [0; 256];
                let length = stream.read(&mut bytes).await.unwrap();
                asked += String::from_utf8_lossy(&bytes[..length]).matches('*').count();
            }
            for text in texts {
                stream.write_all(text).await.unwrap();
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        let stream = TcpStream::connect(address).await.unwrap();
        Session::on(stream, &address.into(), &NodeOptions::default())
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn a_reply_that_nobody_waits_for_any_more_is_skipped() {
        let mut session = session([b"$1\r\na\r\n$1\r", b"\nb\r\n"]).await;
        let early = timeout(Duration::from_millis(20), session.ask(&["PING", "a"])).await;
        assert!(early.is_err(), "{early:?}");
        let reply = session.ask(&["PING", "b"]).await.unwrap();
        assert_eq!(reply.text(), Some("b"));
    }

    #[tokio::test]
    async fn messages_that_come_with_a_reply_are_kept_until_they_are_heard() {
        let mut session = session([b"+OK\r\n:1\r\n+first\r\n+sec", b"ond\r\n-ERR no\r\n"]).await;
        let replies = session.ask_all(&[&["PING"], &["SUBSCRIBE", "x"]]).await.unwrap();
        assert_eq!(replies, [Reply::Ok, Reply::Int(1)]);
        for text in ["first", "second"] {
            assert_eq!(session.hear().await.unwrap().text(), Some(text));
        }
        assert!(matches!(session.hear().await.unwrap(), Reply::Error(_)));
    }
}
