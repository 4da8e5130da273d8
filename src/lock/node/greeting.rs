//! The first exchange on a new connection: authentication, database, scripts, and the kind of server.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use crate::cause::Cause;
use crate::clock::FOREVER;
use crate::node::address::{self, NodeAddress};
use crate::node::options::NodeOptions;
use crate::node::reply::{Malformed, Reply};
use crate::node::stream::Stream;
#[cfg(feature = "tls")]
use crate::node::tls;
use crate::node::wire::{self, DELETE, EXTEND, Native, RELEASE};

/// The most bytes of replies that are read at once. The slots of a cluster can take more than a megabyte, if they are dealt out
/// one by one.
pub(crate) const REPLIES_LIMIT: usize = 1 << 23;

/// The same of what goes on beside locks: a node that trickles a long reply must not keep the thread busy with reading it again and
/// again.
pub(crate) const GREETING_LIMIT: usize = 1 << 16;

/// Why nothing is asked of somebody who answers in another way than a node does.
const NO_SERVER: &str = "what listens there is no Redis or Valkey server";

/// A connection that is ready for locks.
pub(crate) struct Greeted {
    pub(crate) stream: Stream,
    /// The node's own compare-and-delete command, if it has one.
    pub(crate) native: Option<Native>,
    /// What the server calls itself until it ends, if it was asked and says so.
    pub(crate) server_id: Option<String>,
}

/// Why a session did not open, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Nobody answers in time, the connection broke, or what answers is not a node.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// The node refused the user, the password or the database; its own words.
    #[error("{0}")]
    Denied(String),
    /// The TLS handshake failed.
    #[error("TLS: {0}")]
    Tls(String),
    /// The node's answer to an [order](crate::Session::order) is this error; or it can't be used at this time, and says so.
    #[error("{0}")]
    Answer(String),
}

impl SessionError {
    /// What it is to those who want to ask the node.
    pub(crate) fn cause(self) -> Cause {
        match self {
            Self::Io(error) => match (tls_reason(&error), error.kind()) {
                (Some(why), _) => Cause::Tls(why),
                (None, _) if address::is_unknown_name(&error) => Cause::Unreachable(error.to_string()),
                (None, io::ErrorKind::InvalidData) => Cause::Unreachable(NO_SERVER.to_owned()),
                (None, io::ErrorKind::TimedOut) => Cause::Unreachable("no answer in time".to_owned()),
                (None, _) => Cause::Refused,
            },
            Self::Denied(text) => Cause::NoPermission(text),
            Self::Tls(text) => Cause::Tls(text),
            Self::Answer(text) => Cause::of_error(text),
        }
    }
}

impl From<io::Error> for SessionError {
    fn from(error: io::Error) -> Self {
        match tls_reason(&error) {
            Some(why) => Self::Tls(why),
            None => Self::Io(error),
        }
    }
}

/// Why TLS ended a connection; `None` if something else ended it.
fn tls_reason(error: &io::Error) -> Option<String> {
    #[cfg(feature = "tls")]
    return tls::reason(error);
    #[cfg(not(feature = "tls"))]
    return error.get_ref().and(None);
}

/// Connects, authenticates and prepares the connection for locks. If the node must be a master, one that says that it is a
/// replica is refused. If it shall `identify` itself, it is asked which server it is.
pub(crate) async fn greet(
    address: &NodeAddress,
    must_be_master: bool,
    identify: bool,
    options: &NodeOptions,
) -> Result<Greeted, Cause> {
    let scripts = [&DELETE, &RELEASE, &EXTEND].map(|script| ["SCRIPT", "LOAD", script.body]);
    let mut commands: Vec<&[&str]> = vec![&["EVAL", "return 1", "0"]];
    commands.extend(scripts.iter().map(|load| &load[..]));
    if identify {
        commands.push(&["INFO", "server"]);
    }
    // Every user may run it, and its reply has the version.
    commands.push(&["HELLO"]);
    let entered = enter(address, options, &commands, GREETING_LIMIT).await;
    let (stream, replies) = entered.map_err(SessionError::cause)?;
    // Errors of `SCRIPT LOAD` are ignored: scripts that are not loaded are sent whole later. A node that requires a password
    // and was given none says so in its reply to `HELLO`.
    if let Some(Reply::Error(text)) = replies.last()
        && text.starts_with("NOAUTH")
    {
        return Err(Cause::NoPermission(text.clone()));
    }
    // Nobody may acquire on a node what can't be released there.
    if let Some(Reply::Error(text)) = replies.first()
        && forbids_scripts(text)
    {
        return Err(Cause::NoPermission(text.clone()));
    }
    if replies
        .first()
        .is_some_and(|reply| !matches!(reply, Reply::Int(1) | Reply::Error(_)))
    {
        return Err(Cause::Unreachable(NO_SERVER.to_owned()));
    }
    if must_be_master && replies.last().is_some_and(is_replica) {
        return Err(Cause::NoMaster);
    }
    let native = replies.last().and_then(native);
    let server_id = replies.iter().find_map(server_id);
    Ok(Greeted {
        stream,
        native,
        server_id,
    })
}

/// Connects, authenticates, selects the database, and sends `commands`; returns the replies to those. All of it together takes
/// no longer than `connect_timeout`. More than `limit` bytes are no replies.
pub(crate) async fn enter(
    address: &NodeAddress,
    options: &NodeOptions,
    commands: &[&[&str]],
    limit: usize,
) -> Result<(Stream, Vec<Reply>), SessionError> {
    let until = until(options);
    let dialled = timeout_at(until, address.dial()).await.map_err(io::Error::from)??;
    enter_over(dialled, until, address, options, commands, limit).await
}

/// When an attempt to connect that begins now has taken too long.
pub(crate) fn until(options: &NodeOptions) -> Instant {
    Instant::now() + options.connect_timeout.min(FOREVER)
}

/// Authenticates, selects the database, and sends `commands` over a connection that has just been opened; returns the replies to
/// those. All of it together ends by `until`.
pub(crate) async fn enter_over(
    dialled: Stream,
    until: Instant,
    address: &NodeAddress,
    options: &NodeOptions,
    commands: &[&[&str]],
    limit: usize,
) -> Result<(Stream, Vec<Reply>), SessionError> {
    let mut stream = address.over(dialled, options.give_up, until).await?;
    let introduced = timeout_at(until, introduce(&mut stream, address, commands, limit)).await;
    let replies = introduced.map_err(io::Error::from)??;
    Ok((stream, replies))
}

async fn introduce(
    stream: &mut Stream,
    address: &NodeAddress,
    commands: &[&[&str]],
    limit: usize,
) -> Result<Vec<Reply>, SessionError> {
    let mut greeting = Vec::new();
    let credentials = address.credentials();
    if let Some((user, password)) = credentials {
        greeting.push(match user {
            Some(user) => wire::pack(&["AUTH", user, password]),
            None => wire::pack(&["AUTH", password]),
        });
    }
    if address.database() != 0 {
        greeting.push(wire::pack(&["SELECT", &address.database().to_string()]));
    }
    let required = greeting.len();
    greeting.extend(commands.iter().map(|command| wire::pack(command)));
    stream.write_all(&greeting.concat()).await?;
    stream.flush().await?;
    let mut replies = read(stream, &mut Vec::new(), greeting.len(), limit).await?;
    for (place, reply) in replies.drain(..required).enumerate() {
        if let Reply::Error(text) = &reply {
            if place == 0 && credentials.is_some() {
                return Err(SessionError::Denied(auth_refused(text)));
            }
            return Err(match reply.cause() {
                Cause::NoPermission(text) | Cause::Error(text) => SessionError::Denied(text),
                Cause::NotReady(text) => SessionError::Answer(text),
                _ => io::Error::from(io::ErrorKind::InvalidData).into(),
            });
        }
    }
    Ok(replies)
}

/// What servers say of an `AUTH` that they refuse, or of a connection before they read anything.
const AUTH_REFUSED: [&str; 8] = [
    "WRONGPASS invalid username-password pair",
    "ERR invalid password",
    "ERR AUTH <password> called without any password configured",
    "ERR Client sent AUTH, but no password is set",
    // Before Redis 6 there are no users.
    "ERR wrong number of arguments for 'auth' command",
    "ERR max number of clients",
    "DENIED Redis is running in protected mode",
    "DENIED Running in protected mode",
];

/// The error with which a node answered `AUTH`, without what it may quote of that: a server that does not know the command
/// repeats its arguments.
fn auth_refused(text: &str) -> String {
    match AUTH_REFUSED.iter().find(|known| text.starts_with(*known)) {
        Some(known) => (*known).to_owned(),
        None => "AUTH was refused; the answer is left out, since it may repeat the password".to_owned(),
    }
}

/// Reads `count` replies from `input` and from what comes then; what has come behind them stays in `input`. If this is dropped
/// or fails, everything that has come is still there. More than `limit` bytes are no replies.
pub(crate) async fn read(
    stream: &mut Stream,
    input: &mut Vec<u8>,
    count: usize,
    limit: usize,
) -> io::Result<Vec<Reply>> {
    let (mut replies, mut start) = (Vec::new(), 0);
    while replies.len() < count {
        match Reply::parse(&input[start..]).map_err(|Malformed| io::ErrorKind::InvalidData)? {
            Some((reply, length)) => {
                replies.push(reply);
                start += length;
            }
            None if input.len() > limit => return Err(io::ErrorKind::InvalidData.into()),
            None => {
                if stream.read_buf(input).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }
    input.drain(..start);
    Ok(replies)
}

/// Whether the error says that the node runs no script for this user, whatever the key.
pub(super) fn forbids_scripts(error: &str) -> bool {
    let is_refused = error.starts_with("NOPERM") || error.starts_with("ERR unknown command");
    is_refused && error.to_ascii_lowercase().contains("'eval'")
}

/// Whether the server that sent this `HELLO` reply is a replica. A server that does not know the command may be one too: its
/// refusals will tell.
fn is_replica(hello: &Reply) -> bool {
    let Reply::Array(fields) = hello else { return false };
    Reply::field(fields, "role").is_some_and(|role| role != "master")
}

/// What a server calls itself, by its reply to `INFO`. A user may not be allowed to ask.
fn server_id(info: &Reply) -> Option<String> {
    // Its paths may be no text.
    let info = String::from_utf8_lossy(info.bytes()?);
    let id = info.lines().find_map(|line| line.strip_prefix("run_id:"))?;
    Some(id.to_owned())
}

/// The compare-and-delete command of the server that sent this `HELLO` reply: Valkey has `DELIFEQ` since 9.0, Redis `DELEX`
/// since 8.4.
fn native(hello: &Reply) -> Option<Native> {
    let Reply::Array(fields) = hello else { return None };
    let mut numbers = Reply::field(fields, "version")?
        .split('.')
        .map(|number| number.parse::<u32>().unwrap_or(0));
    let version = (numbers.next()?, numbers.next().unwrap_or(0));
    match Reply::field(fields, "server")? {
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
    fn an_answer_to_auth_that_may_repeat_the_password_is_left_out() {
        for (text, shown) in [
            (
                "WRONGPASS invalid username-password pair or user is disabled.",
                "WRONGPASS invalid username-password pair",
            ),
            ("ERR invalid password", "ERR invalid password"),
            ("ERR max number of clients reached", "ERR max number of clients"),
        ] {
            assert_eq!(auth_refused(text), shown);
        }
        for text in [
            "ERR unknown command 'AUTH', with args beginning with: 's3cret' ",
            "ERR unknown command `AUTH`, with args beginning with: `me`, `s3cret`, ",
            "WRONGPASS s3cret is wrong",
            "s3cret",
        ] {
            assert!(!auth_refused(text).contains("s3cret"), "{text}");
        }
    }

    #[test]
    fn a_server_identifies_itself() {
        let info = |text: &str| server_id(&Reply::Text(text.into()));
        assert_eq!(
            info("# Server\r\nredis_version:7.0.15\r\nrun_id:ab12\r\n"),
            Some("ab12".into())
        );
        assert_eq!(info("fab5aabdaac7aab1eaa85bbed1724dee07d7744a"), None);
        assert_eq!(server_id(&Reply::Error("NOPERM".into())), None);
    }

    #[test]
    fn a_replica_says_so() {
        let role = |role: &str| {
            let fields = ["server", "redis", "role", role];
            Reply::Array(fields.map(|text| Reply::Text(text.into())).into())
        };
        assert!(is_replica(&role("replica")) && !is_replica(&role("master")));
        assert!(!is_replica(&hello("redis", "7.0.15")) && !is_replica(&Reply::Error("ERR unknown command".into())));
    }

    #[test]
    fn the_version_determines_the_native_command() {
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
