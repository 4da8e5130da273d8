//! What a new connection begins with: who we are, the database, the scripts, and what kind of server answers.

use std::io;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Instant, timeout_at},
};

#[cfg(feature = "tls")]
use crate::node::tls;
use crate::{
    Cause,
    clock::FOREVER,
    node::{
        address::NodeAddress,
        options::NodeOptions,
        reply::{Malformed, Reply},
        stream::Stream,
        wire::{self, DELETE, EXTEND, Native, RELEASE},
    },
};

/// A connection that is ready for locks.
pub(crate) struct Greeted {
    pub(crate) stream: Stream,
    /// How the node compares and deletes by itself, if it can.
    pub(crate) native: Option<Native>,
}

/// Why a connection is not ready.
#[derive(Debug)]
pub(crate) enum Failed {
    /// Nobody answers, or something that is no node.
    Io(#[allow(dead_code)] io::Error), // shown by Debug
    /// The node does not let us in.
    Denied(String),
    /// TLS was not agreed on.
    #[cfg(feature = "tls")]
    Tls(String),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        #[cfg(feature = "tls")]
        if let Some(why) = tls::reason(&error) {
            return Self::Tls(why);
        }
        Self::Io(error)
    }
}

/// Connects, greets and prepares for locks.
pub(crate) async fn greet(address: &NodeAddress, options: &NodeOptions) -> Result<Greeted, Failed> {
    let mut commands: Vec<_> = [&DELETE, &RELEASE, &EXTEND].map(|script| wire::load(script)).into();
    // Every user may run it, and it tells the version.
    commands.push(wire::pack(&["HELLO"]));
    let (stream, replies) = enter(address, options, &commands).await?;
    // The scripts are sent whole where they could not be loaded. A node that asks for a password says so here at last.
    if let Some(Reply::Error(text)) = replies.last()
        && text.starts_with("NOAUTH")
    {
        return Err(Failed::Denied(text.clone()));
    }
    let native = replies.last().and_then(native);
    Ok(Greeted { stream, native })
}

/// Connects, says who we are and which database is meant, and then `commands`, each packed; the replies to those. All of it
/// takes no longer than one attempt to connect may.
pub(crate) async fn enter(
    address: &NodeAddress,
    options: &NodeOptions,
    commands: &[Vec<u8>],
) -> Result<(Stream, Vec<Reply>), Failed> {
    let until = Instant::now() + options.connect_timeout.min(FOREVER);
    let mut stream = address.connect(options.give_up, until).await?;
    let introduced = timeout_at(until, introduce(&mut stream, address, commands)).await;
    let replies = introduced.map_err(io::Error::from)??;
    Ok((stream, replies))
}

async fn introduce(stream: &mut Stream, address: &NodeAddress, commands: &[Vec<u8>]) -> Result<Vec<Reply>, Failed> {
    let mut greeting = Vec::new();
    if let Some((user, password)) = address.credentials() {
        greeting.push(match user {
            Some(user) => wire::pack(&["AUTH", user, password]),
            None => wire::pack(&["AUTH", password]),
        });
    }
    if address.database() != 0 {
        greeting.push(wire::pack(&["SELECT", &address.database().to_string()]));
    }
    let required = greeting.len();
    greeting.extend_from_slice(commands);
    stream.write_all(&greeting.concat()).await?;
    stream.flush().await?;
    let mut replies = read(stream, greeting.len()).await?;
    for reply in replies.drain(..required) {
        if let Reply::Error(_) = reply {
            return Err(match reply.cause() {
                Cause::NoPermission(text) | Cause::Error(text) => Failed::Denied(text),
                _ => io::Error::from(io::ErrorKind::InvalidData).into(),
            });
        }
    }
    Ok(replies)
}

/// Reads as many replies.
async fn read(stream: &mut Stream, count: usize) -> io::Result<Vec<Reply>> {
    let (mut replies, mut input) = (Vec::new(), Vec::new());
    let mut start = 0;
    while replies.len() < count {
        match Reply::parse(&input[start..]).map_err(|Malformed| io::ErrorKind::InvalidData)? {
            Some((reply, length)) => {
                replies.push(reply);
                start += length;
            }
            None if input.len() > 1 << 16 => return Err(io::ErrorKind::InvalidData.into()),
            None => {
                if stream.read_buf(&mut input).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }
    Ok(replies)
}

/// What a `HELLO` says about compare-and-delete: Valkey has `DELIFEQ` since 9.0, Redis `DELEX` since 8.4.
fn native(hello: &Reply) -> Option<Native> {
    let Reply::Array(fields) = hello else { return None };
    let field = |name: &str| {
        let mut pairs = fields.chunks_exact(2);
        pairs.find_map(|pair| match pair {
            [Reply::Text(key), Reply::Text(value)] if key == name => Some(value.as_str()),
            _ => None,
        })
    };
    let mut numbers = field("version")?
        .split('.')
        .map(|number| number.parse::<u32>().unwrap_or(0));
    let version = (numbers.next()?, numbers.next().unwrap_or(0));
    match field("server")? {
        "valkey" if version >= (9, 0) => Some(Native::DelIfEq),
        "redis" if version >= (8, 4) => Some(Native::DelEx),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(server: &str, version: &str) -> Reply {
        let fields = ["server", server, "version", version];
        Reply::Array(fields.map(|text| Reply::Text(text.into())).into())
    }

    #[test]
    fn the_version_tells_what_a_node_can_do() {
        let cases = [
            ("redis", "7.0.15", None),
            ("redis", "8.2.9", None),
            ("redis", "8.4.0", Some(Native::DelEx)),
            ("redis", "255.255.255", Some(Native::DelEx)),
            ("valkey", "8.1.1", None),
            ("valkey", "9.0.0", Some(Native::DelIfEq)),
            ("valkey", "9.1.2", Some(Native::DelIfEq)),
            ("other", "99.0", None),
        ];
        for (server, version, expected) in cases {
            assert_eq!(native(&hello(server, version)), expected, "{server} {version}");
        }
        assert_eq!(native(&Reply::Error("ERR unknown command".into())), None);
    }
}
