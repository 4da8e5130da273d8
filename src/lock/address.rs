//! Where a node is, and as whom to talk to it.

use std::{fmt, io, net::SocketAddr, time::Duration};

use redis::{Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo, RedisResult};
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};

#[cfg(feature = "tls")]
use super::tls::Tls;
use super::{listener, stream::Stream};

/// A node's address that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{url}: {why}; write it like redis://user:password@host:6379/0")]
pub struct BadAddress {
    /// What was given, without its password.
    pub url: String,
    /// What is wrong with it.
    pub why: String,
}

/// One node's address, user, password and database, and how to make sure that it is that node. It shows itself without the
/// password, and is written nowhere.
#[derive(Clone)]
pub struct NodeAddress {
    host: String,
    port: u16,
    settings: RedisConnectionInfo,
    /// Whether a listener of another user is no such node.
    of_this_user: bool,
    /// None: plain TCP.
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

impl fmt::Debug for NodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the password.
        write!(f, "NodeAddress({self})")
    }
}

impl fmt::Display for NodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl From<SocketAddr> for NodeAddress {
    fn from(addr: SocketAddr) -> Self {
        Self::new(addr, None)
    }
}

impl NodeAddress {
    /// A node at `addr`, by plain TCP, that asks for this password.
    #[must_use]
    pub fn new(addr: SocketAddr, password: Option<&str>) -> Self {
        let settings = RedisConnectionInfo::default();
        let settings = match password {
            Some(password) => settings.set_password(password),
            None => settings,
        };
        Self::plain(addr.ip().to_string(), addr.port(), settings)
    }

    /// The same node, of which it is known that it is a process of this user on this machine: when it is gone, somebody else
    /// may listen on its port, and is not told the password. Linux tells who listens; elsewhere nothing is made sure of.
    #[must_use]
    pub const fn of_this_user(mut self) -> Self {
        self.of_this_user = true;
        self
    }

    /// The node's port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Makes sure that who listens there may be told the password.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.of_this_user {
            listener::check(self.port)
        } else {
            Ok(())
        }
    }

    /// For clients of the redis crate. TLS is left out: only nodes of a lab are talked to by that crate.
    pub(crate) fn connection_info(&self) -> RedisResult<ConnectionInfo> {
        let info = ConnectionAddr::Tcp(self.host.clone(), self.port).into_connection_info()?;
        Ok(info.set_redis_settings(self.settings.clone()))
    }

    /// A client of the redis crate, for whoever listens there if he may be told the password.
    pub(crate) fn client(&self) -> RedisResult<Client> {
        self.check()?;
        Client::open(self.connection_info()?)
    }

    const fn plain(host: String, port: u16, settings: RedisConnectionInfo) -> Self {
        Self {
            host,
            port,
            settings,
            of_this_user: false,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Reads `redis://[user[:password]@]host[:port][/database]`, or `rediss://` for TLS.
    pub(super) fn parse(url: &str) -> Result<Self, BadAddress> {
        let bad = |why: String| BadAddress {
            url: hide_password(url),
            why,
        };
        if cfg!(not(feature = "tls")) && ["rediss://", "valkeys://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(bad("TLS is not built in, which takes the feature `tls`".into()));
        }
        let info = url.into_connection_info().map_err(|error| bad(error.to_string()))?;
        let settings = info.redis_settings().clone();
        match info.addr() {
            ConnectionAddr::Tcp(host, port) => Ok(Self::plain(host.clone(), *port, settings)),
            #[cfg(feature = "tls")]
            ConnectionAddr::TcpTls { insecure: true, .. } => Err(bad(
                "#insecure is refused; to trust a certificate, name the file of its authority in SSL_CERT_FILE".into(),
            )),
            #[cfg(feature = "tls")]
            ConnectionAddr::TcpTls { host, port, .. } => Ok(Self {
                tls: Some(Tls::new(host).map_err(bad)?),
                ..Self::plain(host.clone(), *port, settings)
            }),
            _ => Err(bad("only TCP can be used".into())),
        }
    }

    /// Connects until then. A peer that is not heard of for `give_up` although something was sent to it is given up: the
    /// connection breaks then. A node that is stopped is heard of: its kernel answers.
    pub(super) async fn connect(&self, give_up: Duration, until: Instant) -> io::Result<Stream> {
        let connect = TcpStream::connect((self.host.as_str(), self.port));
        let stream = timeout_at(until, connect).await??;
        // At once, so that who is found to listen is who has accepted.
        self.check()?;
        // Without these the connection is slower, or takes longer to break; it is not wrong.
        let _ = stream.set_nodelay(true);
        let socket = SockRef::from(&stream);
        let probes = TcpKeepalive::new().with_time(give_up / 3).with_interval(give_up / 6);
        let _ = socket.set_tcp_keepalive(&probes);
        #[cfg(target_os = "linux")]
        let _ = socket.set_tcp_user_timeout(Some(give_up));
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return Ok(Stream::Tls(tls.handshake(stream, until).await?.into()));
        }
        Ok(Stream::Plain(stream))
    }

    /// User and password, if the node asks for any.
    pub(crate) fn credentials(&self) -> Option<(Option<&str>, &str)> {
        Some((self.settings.username(), self.settings.password()?))
    }

    /// The number of the database.
    pub(super) fn database(&self) -> i64 {
        self.settings.db()
    }
}

fn hide_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let Some((credentials, host)) = rest.rsplit_once('@') else {
        return url.to_owned();
    };
    let user = credentials.split(':').next().unwrap_or_default();
    format!("{scheme}://{user}:***@{host}")
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
        let plain = NodeAddress::from(SocketAddr::from(([127, 0, 0, 1], 6379)));
        assert_eq!((plain.credentials(), plain.database()), (None, 0));
    }

    #[test]
    fn what_is_no_address_is_said_without_its_password() {
        for url in [
            "",
            "localhost:6379",
            "http://me:secret@host",
            "unix:///tmp/x",
            "redis://me:secret@host:x",
            "rediss://me:secret@host#insecure",
            "rediss://me:secret@host#else",
        ] {
            let error = NodeAddress::parse(url).unwrap_err().to_string();
            assert!(!error.contains("secret") && error.contains("redis://"), "{error}");
        }
    }

    #[test]
    #[cfg(not(feature = "tls"))]
    fn without_tls_the_feature_that_brings_it_is_named() {
        let error = NodeAddress::parse("rediss://me:secret@host").unwrap_err().to_string();
        assert!(error.contains("the feature `tls`"), "{error}");
    }
}
