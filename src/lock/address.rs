//! Where a node is, and as whom to talk to it.

use std::{fmt, io, net::SocketAddr, time::Duration};

use redis::{ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};

use super::stream::Stream;
#[cfg(feature = "tls")]
use super::tls::Tls;

/// A node's address that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{url}: {why}; write it like redis://user:password@host:6379/0")]
pub struct BadAddress {
    /// What was given, without its password.
    pub url: String,
    /// What is wrong with it.
    pub why: String,
}

/// One node's address, user, password and database, and how to make sure that it is that node.
#[derive(Clone)]
pub(super) struct Address {
    host: String,
    port: u16,
    settings: RedisConnectionInfo,
    /// None: plain TCP.
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the password.
        write!(f, "Address({}:{})", self.host, self.port)
    }
}

impl From<SocketAddr> for Address {
    fn from(addr: SocketAddr) -> Self {
        Self::plain(addr.ip().to_string(), addr.port(), RedisConnectionInfo::default())
    }
}

impl Address {
    const fn plain(host: String, port: u16, settings: RedisConnectionInfo) -> Self {
        Self {
            host,
            port,
            settings,
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
    pub(super) fn credentials(&self) -> Option<(Option<&str>, &str)> {
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
        let address = Address::parse("redis://me:secret@localhost:7000/3").unwrap();
        assert_eq!(address.credentials(), Some((Some("me"), "secret")));
        assert_eq!(address.database(), 3);
        assert!(!format!("{address:?}").contains("secret"));
        let plain = Address::from(SocketAddr::from(([127, 0, 0, 1], 6379)));
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
            let error = Address::parse(url).unwrap_err().to_string();
            assert!(!error.contains("secret") && error.contains("redis://"), "{error}");
        }
    }

    #[test]
    #[cfg(not(feature = "tls"))]
    fn without_tls_the_feature_that_brings_it_is_named() {
        let error = Address::parse("rediss://me:secret@host").unwrap_err().to_string();
        assert!(error.contains("the feature `tls`"), "{error}");
    }
}
