//! The address of a node, and the credentials for it.

use std::net::SocketAddr;
use std::time::Duration;
use std::{fmt, io};

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::node::listener;
use crate::node::stream::Stream;
#[cfg(feature = "tls")]
use crate::node::tls::{Tls, TlsOptions};
use crate::node::url::{self, Url, UrlPart};

/// How long an answer is waited for before a node is dialled once more.
const DIAL_AGAIN: Duration = Duration::from_millis(250);

/// A node's address that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{url}: {why}")]
#[non_exhaustive]
pub struct BadAddress {
    /// The address as given, without its password.
    pub url: String,
    /// Which part of it is bad.
    pub part: UrlPart,
    /// Why it can't be used, and what to write instead.
    pub why: String,
}

impl BadAddress {
    /// The error for `url`, which is kept without its password.
    pub(crate) fn new(url: &str, part: UrlPart, why: impl Into<String>) -> Self {
        Self {
            url: url::hide_password(url),
            part,
            why: why.into(),
        }
    }
}

/// One node's address, user, password and database, and how to verify the node. `Debug` and `Display` leave the password
/// out, and it is never serialized.
#[derive(Clone)]
pub struct NodeAddress {
    host: String,
    port: u16,
    user: Option<String>,
    password: Option<String>,
    database: u32,
    /// Whether the node must be a process of this user.
    of_this_user: bool,
    /// `None` means plain TCP.
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

/// That a name could not be looked up, and why.
#[derive(Debug, thiserror::Error)]
#[error("its name is not known ({0})")]
struct UnknownName(io::Error);

impl UnknownName {
    fn of(error: io::Error) -> io::Error {
        io::Error::other(Self(error))
    }
}

/// Whether an attempt to connect failed because of that.
pub(super) fn is_unknown_name(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<UnknownName>)
}

impl fmt::Debug for NodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the password.
        write!(f, "NodeAddress({self})")
    }
}

impl fmt::Display for NodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            _ if url::is_socket(&self.host) => f.write_str(&self.host),
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl From<SocketAddr> for NodeAddress {
    fn from(addr: SocketAddr) -> Self {
        Self::new(addr, None)
    }
}

impl NodeAddress {
    /// A node at `addr`, over plain TCP, with this password.
    #[must_use]
    pub fn new(addr: SocketAddr, password: Option<&str>) -> Self {
        Self {
            host: addr.ip().to_string(),
            port: addr.port(),
            user: None,
            password: password.map(str::to_owned),
            database: 0,
            of_this_user: false,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Reads `redis://[user[:password]@]host[:port][/database]`, or `rediss://` for TLS; `valkey://` and `valkeys://` mean
    /// the same. A socket of this machine is `unix:///path?db=0&user=me&pass=secret`. In the user and the password, `%` and two hexadecimal digits stand for a byte. The port defaults to 6379
    /// and the database to 0. For TLS, this reads the authorities that the machine trusts.
    ///
    /// # Errors
    /// If `url` is not such a URL, or if it asks for TLS and TLS is not built in or the machine trusts no authorities.
    pub fn parse(url: &str) -> Result<Self, BadAddress> {
        Self::read(
            url,
            #[cfg(feature = "tls")]
            &TlsOptions::new(),
        )
        .map_err(|(part, why)| BadAddress::new(url, part, why))
    }

    /// Reads the same URLs, with authorities and a certificate of our own for TLS.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse), and if a certificate or the key can't be used.
    #[cfg(feature = "tls")]
    pub fn parse_with(url: &str, tls: &TlsOptions) -> Result<Self, BadAddress> {
        Self::read(url, tls).map_err(|(part, why)| BadAddress::new(url, part, why))
    }

    fn read(url: &str, #[cfg(feature = "tls")] options: &TlsOptions) -> Result<Self, (UrlPart, String)> {
        let Url {
            tls,
            host,
            port,
            user,
            password,
            database,
        } = url::read(url).map_err(|(part, why)| (part, why.to_owned()))?;
        if cfg!(not(feature = "tls")) && tls {
            let why = "TLS is not built in: it needs the feature `tls`";
            return Err((UrlPart::Scheme, why.to_owned()));
        }
        if cfg!(not(unix)) && url::is_socket(&host) {
            return Err((UrlPart::Scheme, "this system has no such sockets".to_owned()));
        }
        Ok(Self {
            #[cfg(feature = "tls")]
            tls: tls
                .then(|| Tls::new(&host, options))
                .transpose()
                .map_err(|why| (UrlPart::Whole, why))?,
            host,
            port,
            user,
            password,
            database,
            of_this_user: false,
        })
    }

    /// The user, password and database of this one at another address, over plain TCP.
    #[must_use]
    pub fn at(&self, addr: SocketAddr) -> Self {
        Self {
            #[cfg(feature = "tls")]
            tls: None,
            ..self.through(addr)
        }
    }

    /// The address of this node as it is reached through what listens at `addr` and passes on every byte: a tunnel or a proxy.
    /// Over TLS the node must still have a certificate for its own host.
    #[must_use]
    pub fn through(&self, addr: SocketAddr) -> Self {
        Self {
            host: addr.ip().to_string(),
            port: addr.port(),
            ..self.clone()
        }
    }

    /// The user, password and database of this one on another host, over TLS if this one is.
    ///
    /// # Errors
    /// If nothing can be verified under that name.
    #[cfg_attr(
        not(feature = "tls"),
        expect(clippy::unnecessary_wraps, reason = "only TLS verifies names")
    )]
    pub(crate) fn moved_to(&self, host: &str, port: u16) -> Result<Self, String> {
        Ok(Self {
            #[cfg(feature = "tls")]
            tls: self.tls.as_ref().map(|tls| tls.at(host)).transpose()?,
            host: host.to_owned(),
            port,
            ..self.clone()
        })
    }

    /// The address of this node with these credentials, or with none.
    pub(crate) fn with_credentials(&self, credentials: Option<(Option<&str>, &str)>) -> Self {
        Self {
            user: credentials.and_then(|(user, _)| user.map(str::to_owned)),
            password: credentials.map(|(_, password)| password.to_owned()),
            ..self.clone()
        }
    }

    /// The address of this node with another database.
    pub(crate) fn with_database(self, database: u32) -> Self {
        Self { database, ..self }
    }

    /// Declares the node to be a process of this user on this machine. When it is gone, another user may listen on its port; the
    /// password is then not sent. On Linux the kernel says whose process listens; elsewhere, and for a `unix://` socket, which its
    /// directory protects, this is not checked.
    #[must_use]
    pub const fn of_this_user(mut self) -> Self {
        self.of_this_user = true;
        self
    }

    /// The node's host name or IP address; an IPv6 address has no brackets. Of a `unix://` socket its path.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether both addresses name the same server, judged by host and port. The databases of one server fail together.
    pub(crate) fn is_same_node(&self, other: &Self) -> bool {
        self.host.eq_ignore_ascii_case(&other.host) && self.port == other.port
    }

    /// Whether connections to both addresses are the same in every way. Over TLS the authorities are not compared.
    pub(crate) fn is_equal(&self, other: &Self) -> bool {
        self.is_same_node(other)
            && self.user == other.user
            && self.password == other.password
            && self.database == other.database
            && self.of_this_user == other.of_this_user
            && self.uses_tls() == other.uses_tls()
    }

    /// The node's port; 0 for a `unix://` socket.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Checks that the process that listens there may be sent the password.
    ///
    /// # Errors
    /// If the node must be a process of this user, and nobody or another user listens there now.
    pub fn check(&self) -> io::Result<()> {
        if self.of_this_user && !url::is_socket(&self.host) {
            listener::check(self.port)
        } else {
            Ok(())
        }
    }

    /// Prepares a connection to this node that has just been opened, by `until` at the latest. It breaks if the peer acknowledges
    /// nothing for `give_up` although something was sent to it. The kernel of a stopped node still acknowledges.
    #[cfg_attr(
        not(feature = "tls"),
        expect(unused_variables, clippy::unused_async, reason = "only TLS talks and takes time")
    )]
    pub(crate) async fn over(&self, stream: Stream, give_up: Duration, until: Instant) -> io::Result<Stream> {
        let Stream::Plain(stream) = stream else {
            return Ok(stream);
        };
        // Checked at once, so that the listener found is the one that accepted the connection.
        self.check()?;
        // Errors are ignored: without these options the connection is slower, or takes longer to break, but it works.
        let _ = stream.set_nodelay(true);
        let socket = SockRef::from(&stream);
        // The kernel counts whole seconds, from 1 on.
        let second = Duration::from_secs(1);
        let probes = TcpKeepalive::new()
            .with_time((give_up / 3).max(second))
            .with_interval((give_up / 6).max(second));
        let _ = socket.set_tcp_keepalive(&probes);
        #[cfg(target_os = "linux")]
        let _ = socket.set_tcp_user_timeout(Some(give_up));
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return Ok(Stream::Tls(tls.handshake(stream, until).await?.into()));
        }
        Ok(Stream::Plain(stream))
    }

    /// Dials, and once more beside it whenever there is no answer for a while; the first answer counts. A packet that was lost,
    /// because the machine was just down or the network cut, is repeated by the kernel only after a second: until then a node that
    /// is back would be missed. (The same idea for several addresses is RFC 8305.)
    pub(crate) async fn dial(&self) -> io::Result<Stream> {
        #[cfg(unix)]
        if url::is_socket(&self.host) {
            return tokio::net::UnixStream::connect(&self.host).await.map(Stream::Unix);
        }
        let mut dials = JoinSet::new();
        loop {
            let (host, port) = (self.host.clone(), self.port);
            dials.spawn(async move {
                let found = lookup_host((host.as_str(), port)).await.map_err(UnknownName::of)?;
                TcpStream::connect(&*found.collect::<Vec<_>>()).await
            });
            if let Ok(Some(answer)) = timeout(DIAL_AGAIN, dials.join_next()).await {
                return answer.map_err(io::Error::other)?.map(Stream::Plain);
            }
        }
    }

    /// The arguments of `AUTH`: user, if given, and password. `None` without a password, even if there is a user.
    #[must_use]
    pub fn credentials(&self) -> Option<(Option<&str>, &str)> {
        Some((self.user.as_deref(), self.password.as_deref()?))
    }

    /// The number of the database.
    #[must_use]
    pub const fn database(&self) -> u32 {
        self.database
    }

    /// Whether the node is reached over TLS.
    #[must_use]
    pub const fn uses_tls(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_user_password_and_database() {
        let address = NodeAddress::parse("redis://me:secret@localhost:7000/3").unwrap();
        assert_eq!(address.credentials(), Some((Some("me"), "secret")));
        assert_eq!(address.database(), 3);
        assert!(!format!("{address:?}").contains("secret"));
        let known = NodeAddress::new(SocketAddr::from(([127, 0, 0, 1], 6379)), Some("secret"));
        assert_eq!(known.credentials(), Some((None, "secret")));
        assert_eq!(
            format!("{known} {known:?}"),
            "127.0.0.1:6379 NodeAddress(127.0.0.1:6379)"
        );
        assert_eq!(
            NodeAddress::parse("redis://[::1]:7000").unwrap().to_string(),
            "[::1]:7000"
        );
        let socket = NodeAddress::parse("unix:///run/redis.sock?db=3&pass=secret").unwrap();
        assert_eq!(
            (socket.to_string(), socket.credentials(), socket.database()),
            ("/run/redis.sock".to_owned(), Some((None, "secret")), 3)
        );
        let plain = NodeAddress::from(SocketAddr::from(([127, 0, 0, 1], 6379)));
        assert_eq!((plain.credentials(), plain.database()), (None, 0));
    }

    #[test]
    fn an_invalid_address_is_reported_without_its_password() {
        for url in [
            "",
            "localhost:6379",
            "http://me:secret@host",
            "unix://me:secret/tmp/x",
            "redis://me:secret@host:x",
            "rediss://me:secret@host#insecure",
            "rediss://me:secret@host#else",
        ] {
            let error = NodeAddress::parse(url).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    #[cfg(not(feature = "tls"))]
    fn without_tls_the_feature_that_brings_it_is_named() {
        let error = NodeAddress::parse("rediss://me:secret@host").unwrap_err().to_string();
        assert!(error.contains("the feature `tls`"), "{error}");
    }
}
