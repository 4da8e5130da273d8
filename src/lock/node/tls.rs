//! TLS to a node: the authorities that we trust, the handshake, and the messages when it fails.

use std::sync::Arc;
use std::{fmt, io};

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{AlertDescription, CertificateError, ClientConfig, Error, InvalidMessage, RootCertStore};

/// Whom to trust over TLS, and what to present to nodes that ask for a certificate: for
/// [`NodeAddress::parse_with`](crate::NodeAddress::parse_with). Everything is text in PEM, as in the files that `openssl` makes.
///
/// ```no_run
/// use std::fs::read;
/// use lockstorm_lock::{NodeAddress, NodeOptions, Nodes, TlsOptions};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let tls = TlsOptions::new()
///     .authorities(read("/etc/redis/ca.pem")?)
///     .identity(read("/etc/redis/client.pem")?, read("/etc/redis/client.key")?);
/// let urls = ["rediss://10.0.0.1:6380", "rediss://10.0.0.2:6380", "rediss://10.0.0.3:6380"];
/// let addresses: Result<Vec<_>, _> = urls.iter().map(|url| NodeAddress::parse_with(url, &tls)).collect();
/// let nodes = Nodes::connect(&addresses?, NodeOptions::new());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct TlsOptions {
    authorities: Option<Vec<u8>>,
    /// The certificates, and the key of the first one.
    identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl TlsOptions {
    /// The authorities that this machine trusts, and no certificate of our own.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts these authorities, and no others.
    #[must_use]
    pub fn authorities(self, pem: impl Into<Vec<u8>>) -> Self {
        let authorities = Some(pem.into());
        Self { authorities, ..self }
    }

    /// Presents this certificate, with those between it and the authority behind it if there are any, to nodes that ask for one.
    #[must_use]
    pub fn identity(self, certificates: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        let identity = Some((certificates.into(), key.into()));
        Self { identity, ..self }
    }

    fn config(&self) -> Result<ClientConfig, String> {
        let mut roots = RootCertStore::empty();
        match &self.authorities {
            None => roots = authorities()?,
            Some(pem) => {
                for authority in certificates(pem, "authorities")? {
                    roots.add(authority).map_err(|error| error.to_string())?;
                }
            }
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots);
        let Some((chain, key)) = &self.identity else {
            return Ok(config.with_no_client_auth());
        };
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("the key of our own: {error}"))?;
        let config = config.with_client_auth_cert(certificates(chain, "certificate of our own")?, key);
        config.map_err(|error| format!("the certificate of our own and its key: {error}"))
    }
}

impl fmt::Debug for TlsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the key.
        f.debug_struct("TlsOptions").finish_non_exhaustive()
    }
}

/// The certificates in this text, of which there must be one at least.
fn certificates(pem: &[u8], of: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if all.is_empty() => Err(format!(
            "the {of}: there is no certificate in that text; it must be PEM"
        )),
        all => all.map_err(|error| format!("the {of}: {error}")),
    }
}

/// Verifies that a node is the one that its URL names.
#[derive(Clone)]
pub(crate) struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Tls {
    /// TLS for the node on `host`. Reads the authorities that this machine trusts, unless others are given; the error says why it
    /// can't.
    pub(crate) fn new(host: &str, options: &TlsOptions) -> Result<Self, String> {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        Ok(Self {
            connector: Arc::new(options.config()?).into(),
            name,
        })
    }

    /// TLS for the node on another host, with the authorities of this one. The error says why nothing can be verified under that
    /// name.
    pub(crate) fn at(&self, host: &str) -> Result<Self, String> {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        Ok(Self { name, ..self.clone() })
    }

    /// Performs the handshake, by `until` at the latest.
    pub(crate) async fn handshake(&self, stream: TcpStream, until: Instant) -> io::Result<TlsStream<TcpStream>> {
        let handshake = self.connector.connect(self.name.clone(), stream);
        match timeout_at(until, handshake).await {
            Ok(done) => done,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, Error::HandshakeNotComplete)),
        }
    }
}

/// The authorities in the file that `SSL_CERT_FILE` names (or the directories of `SSL_CERT_DIR`), or else the machine's own.
fn authorities() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Some of a machine's certificates may not parse; those are not trusted.
    roots.add_parsable_certificates(found.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    let why = found.errors.first().map(|error| format!(" ({error})"));
    Err(format!(
        "this machine has no certificates of authorities{}; name a file of them in SSL_CERT_FILE",
        why.unwrap_or_default()
    ))
}

/// A readable reason why TLS ended a connection; `None` if something else ended it.
pub(crate) fn reason(error: &io::Error) -> Option<String> {
    let error: &Error = error.get_ref()?.downcast_ref()?;
    Some(match error {
        // A bad signature comes from an authority with the name of a trusted one but another key.
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "this machine trusts no authority that signed the node's certificate; name that authority's file in SSL_CERT_FILE, or give it to TlsOptions::authorities".into()
        }
        // `openssl req -x509` makes such certificates. The type of the error is not public.
        Error::InvalidCertificate(CertificateError::Other(other))
            if other.to_string().contains("CaUsedAsEndEntity") =>
        {
            "the node uses an authority's certificate; it needs one of its own, signed by that authority".into()
        }
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => "the node does not speak TLS on this port".into(),
        // A Redis that does not speak TLS takes the handshake for a command, and waits for the rest of it.
        Error::HandshakeNotComplete => {
            "no answer to the handshake: the node is stopped, or does not speak TLS on this port".into()
        }
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "the node requires a client certificate: give TlsOptions::identity one, or set `tls-auth-clients no` on the node".into()
        }
        other => other.to_string(),
    })
}
