//! TLS to a node: whom we trust, the handshake, and what to say when it fails.

use std::{io, sync::Arc};

use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        AlertDescription, CertificateError, ClientConfig, Error, InvalidMessage, RootCertStore, crypto::ring,
        pki_types::ServerName,
    },
};

/// How to make sure that a node is the one that its URL names.
#[derive(Clone)]
pub(crate) struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Tls {
    /// For the node on `host`. Reads whom this machine trusts; if it can't, says why.
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

    /// Agrees on TLS, if the node does so until then.
    pub(crate) async fn handshake(&self, stream: TcpStream, until: Instant) -> io::Result<TlsStream<TcpStream>> {
        let handshake = self.connector.connect(self.name.clone(), stream);
        match timeout_at(until, handshake).await {
            Ok(done) => done,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, Error::HandshakeNotComplete)),
        }
    }
}

/// The authorities in the file that SSL_CERT_FILE names (or the directories of SSL_CERT_DIR), or else the machine's own.
fn authorities() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Of those of a machine some may be too odd for us. Then we do not trust them.
    roots.add_parsable_certificates(found.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    let why = found.errors.first().map(|error| format!(" ({error})"));
    Err(format!(
        "no certificates of authorities here{}; name a file of them in SSL_CERT_FILE",
        why.unwrap_or_default()
    ))
}

/// What a person can make of a connection that TLS ended. None if something else did.
pub(crate) fn reason(error: &io::Error) -> Option<String> {
    let error: &Error = error.get_ref()?.downcast_ref()?;
    Some(match error {
        // The latter from an authority that has the name of one that is trusted, and another key.
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "nobody whom this machine trusts signed the node's certificate; SSL_CERT_FILE may name its authority".into()
        }
        // What `openssl req -x509` makes. Its type is not public.
        Error::InvalidCertificate(CertificateError::Other(other))
            if other.to_string().contains("CaUsedAsEndEntity") =>
        {
            "the node's certificate is that of an authority; it needs one of its own, signed by it".into()
        }
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => "the node does not speak TLS on this port".into(),
        // A Redis that does not speak TLS waits for the rest of what it takes for a command.
        Error::HandshakeNotComplete => {
            "no answer to the handshake: the node is stopped, or does not speak TLS on this port".into()
        }
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "the node asks for a certificate of ours, and we have none; it needs `tls-auth-clients no`".into()
        }
        other => other.to_string(),
    })
}
