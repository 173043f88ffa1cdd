//! The certificate and the key of the server, as files have them now.
//!
//! Why    a certificate is renewed every few weeks, and nobody wants to stop a server for it. So the files are read again now and
//!        then; while they are not whole, what was read before holds.

use engine::Stopwatch;
use model::limits;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

/// What to speak TLS 1.2 and 1.3 with. Nothing of it is printed.
#[derive(Clone)]
pub struct Tls(Arc<ServerConfig>);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(..)")
    }
}

impl Tls {
    /// The chain, the server's own first, and its key, both as PEM; or what is wrong with them.
    pub fn read(certificate: &Path, key: &Path) -> Result<Tls, String> {
        let certified = Certified::read(certificate, key, limits::CERTIFICATE_READ_EVERY)?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|problem| format!("tls: {problem}"))?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(certified));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls(Arc::new(config)))
    }

    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.0.clone())
    }
}

struct Certified {
    certificate: PathBuf,
    key: PathBuf,
    every: Duration,
    /// When the files were looked at, and what they last were.
    last: Mutex<(Stopwatch, Arc<CertifiedKey>)>,
}

impl fmt::Debug for Certified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certified(..)")
    }
}

impl Certified {
    fn read(certificate: &Path, key: &Path, every: Duration) -> Result<Certified, String> {
        let last = Mutex::new((Stopwatch::start(), Arc::new(certified(certificate, key)?)));
        Ok(Certified { certificate: certificate.into(), key: key.into(), every, last })
    }

    fn now(&self) -> Arc<CertifiedKey> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0.elapsed() >= self.every {
            last.0 = Stopwatch::start();
            match certified(&self.certificate, &self.key) {
                Ok(read) => last.1 = Arc::new(read),
                Err(problem) => {
                    tracing::warn!(target: "server", problem, "the certificate was not read again: {problem}");
                }
            }
        }
        last.1.clone()
    }
}

impl ResolvesServerCert for Certified {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.now())
    }
}

fn certified(certificate: &Path, key: &Path) -> Result<CertifiedKey, String> {
    let chain = chain(certificate)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|problem| match problem {
        pem::Error::NoItemsFound => {
            format!("tls.key: {} holds no private key; write the path of a PEM file with one", key.display())
        }
        problem => format!("tls.key: cannot read {}: {problem}", key.display()),
    })?;
    CertifiedKey::from_der(chain, private, &ring::default_provider()).map_err(|problem| {
        format!(
            "tls: {} and {} do not fit: {problem}; name a certificate and the key that it was made for",
            certificate.display(),
            key.display()
        )
    })
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let unreadable =
        |problem: pem::Error| format!("tls.certificate: cannot read {}: {problem}", path.display());
    let found: Vec<_> = CertificateDer::pem_file_iter(path)
        .map_err(unreadable)?
        .collect::<Result<_, _>>()
        .map_err(unreadable)?;
    if found.is_empty() {
        let problem = format!("tls.certificate: {} holds no certificate", path.display());
        return Err(format!("{problem}; write the path of a PEM file, the server's own first"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["steps.example".to_string()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    fn files(parts: [&str; 2]) -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let [certificate, key] = ["c.pem", "k.pem"].map(|name| dir.path().join(name));
        std::fs::write(&certificate, parts[0]).unwrap();
        std::fs::write(&key, parts[1]).unwrap();
        (dir, certificate, key)
    }

    fn refused(parts: [&str; 2]) -> String {
        let (_dir, certificate, key) = files(parts);
        Tls::read(&certificate, &key).unwrap_err()
    }

    #[test]
    fn whatever_is_wrong_with_the_files_is_told_and_the_key_is_not() {
        let ((certificate, key), (_, other)) = (made(), made());
        let (_dir, c, k) = files([&certificate, &key]);
        assert_eq!(format!("{:?}", Tls::read(&c, &k).unwrap()), "Tls(..)");
        assert!(Tls::read(&k.join("none"), &k).unwrap_err().starts_with("tls.certificate: cannot read "));
        assert!(Tls::read(&c, &k.join("none")).unwrap_err().starts_with("tls.key: cannot read "));
        assert!(refused([&key, &key]).contains("holds no certificate"));
        assert!(refused([&certificate, &certificate]).contains("holds no private key"));
        let unfit = refused([&certificate, &other]);
        assert!(unfit.contains("do not fit") && !unfit.contains("PRIVATE"), "{unfit}");
    }

    #[test]
    fn a_renewed_certificate_is_shown_once_both_files_are_there() {
        let ((first, first_key), (second, second_key)) = (made(), made());
        let (_dir, c, k) = files([&first, &first_key]);
        let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        let often = Certified::read(&c, &k, Duration::ZERO).unwrap();
        let seldom = Certified::read(&c, &k, Duration::from_secs(3_600)).unwrap();
        assert_eq!(often.now().cert, [der(&first)]);
        std::fs::write(&c, &second).unwrap();
        assert_eq!(often.now().cert, [der(&first)], "half of it is worth nothing");
        std::fs::write(&k, &second_key).unwrap();
        assert_eq!(often.now().cert, [der(&second)]);
        assert_eq!(seldom.now().cert, [der(&first)], "it is not read with every connection");
        std::fs::remove_file(&k).unwrap();
        assert_eq!(often.now().cert, [der(&second)], "what was read holds");
    }
}
