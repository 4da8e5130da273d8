//! TLS to a node: the authorities that we trust, the handshake, and the messages when it fails.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{AlertDescription, CertificateError, ClientConfig, Error, InvalidMessage, RootCertStore};

/// Verifies that a node is the one that its URL names.
#[derive(Clone)]
pub(crate) struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Tls {
    /// TLS for the node on `host`. Reads the authorities that this machine trusts; the error says why it can't.
    pub(crate) fn new(host: &str) -> Result<Self, String> {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(authorities()?)
            .with_no_client_auth();
        Ok(Self {
            connector: Arc::new(config).into(),
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
            "this machine trusts no authority that signed the node's certificate; name that authority's file in SSL_CERT_FILE".into()
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
            "the node requires a client certificate, which we do not have; set `tls-auth-clients no` on the node".into()
        }
        other => other.to_string(),
    })
}
