//! Servers that speak TLS, and the authority that signs their certificates.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

use super::server::{RedisServer, free_port, server_bin};

/// Fails if the server has no TLS. Such a server refuses its first TLS option, any other the second, so it never runs.
pub fn needs_tls() {
    let output = Command::new(server_bin())
        .args(["--tls-port", "0", "--port", "none"])
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let has_tls = !String::from_utf8_lossy(&said).contains("tls-port");
    assert!(has_tls, "{} is built without TLS", server_bin().display());
}

/// An authority that signs certificates, with its files.
pub struct Authority {
    dir: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("authority.pem"), issuer.pem()).unwrap();
        Self { dir, issuer }
    }

    pub fn file(&self) -> PathBuf {
        self.dir.path().join("authority.pem")
    }

    /// A certificate for a client, and its key, in PEM.
    pub fn client(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["client".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// A server with a certificate for `name`, and its TLS port. Its other port speaks plain text.
    pub fn server(&self, name: &str, options: &[&str]) -> (RedisServer, u16) {
        self.server_with(&CertificateParams::new([name.to_owned()]).unwrap(), options)
    }

    pub fn server_with(&self, params: &CertificateParams, options: &[&str]) -> (RedisServer, u16) {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let port = free_port();
        let file = |ending: &str, text: String| {
            let path = self.dir.path().join(format!("{port}.{ending}"));
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (certificate, key) = (file("pem", certificate.pem()), file("key", key.serialize_pem()));
        let authority = self.file();
        let tls_port = port.to_string();
        let mut all = vec!["--tls-port", &tls_port, "--tls-cert-file", &certificate];
        all.extend([
            "--tls-key-file",
            &key,
            "--tls-ca-cert-file",
            authority.to_str().unwrap(),
        ]);
        all.extend(["--tls-auth-clients", "no"]);
        all.extend(options);
        (RedisServer::start_with(&all), port)
    }
}
