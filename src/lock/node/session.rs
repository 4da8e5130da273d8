//! A connection for questions, for programs that want to know more of a node than whether it grants a lock.

use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use crate::node::address::NodeAddress;
use crate::node::greeting::{self, Failed};
use crate::node::options::NodeOptions;
use crate::node::reply::Reply;
use crate::node::stream::Stream;
use crate::node::wire;

/// Why a session did not open, or ended.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Nobody answers in time, the connection broke, or what answers is not a node.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The node refused the user, the password or the database; its own words.
    #[error("{0}")]
    Denied(String),
    /// The TLS handshake failed.
    #[error("TLS: {0}")]
    Tls(String),
}

impl From<Failed> for SessionError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Io(error) => Self::Io(error),
            Failed::Denied(text) => Self::Denied(text),
            // A session asks no node to be a master.
            Failed::NoMaster => Self::Denied("it is no master".to_owned()),
            #[cfg(feature = "tls")]
            Failed::Tls(why) => Self::Tls(why),
        }
    }
}

/// A connection of its own to a node, which waits for the replies to what it has asked.
#[allow(missing_debug_implementations)]
pub struct Session {
    stream: Stream,
    limit: Duration,
}

impl Session {
    /// Connects, authenticates and selects the database.
    ///
    /// # Errors
    /// That took longer than `connect_timeout`, or was refused.
    pub async fn open(address: &NodeAddress, options: &NodeOptions) -> Result<Self, SessionError> {
        let (stream, _) = greeting::enter(address, options, &[]).await?;
        let limit = options.connect_timeout;
        Ok(Self { stream, limit })
    }

    /// Sends a command and returns the reply, which may be the node's error. After an error of this function the session is of no
    /// more use.
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
        let asked = async {
            self.stream.write_all(&packed).await?;
            self.stream.flush().await?;
            greeting::read(&mut self.stream, commands.len()).await
        };
        Ok(timeout(self.limit, asked).await.map_err(io::Error::from)??)
    }
}
