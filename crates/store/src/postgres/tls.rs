//! Whom a connection trusts, as libpq's `sslmode` has it.

use crate::{Result, StoreError};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

pub enum Trust {
    /// Nobody reads along, but it is not asked who answers.
    Anyone,
    /// Whoever has a certificate of this authority.
    SignedBy(PathBuf),
    /// And it is the host that was called.
    SignedByForHost(PathBuf),
}

pub fn connector(trust: Trust) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(ring::default_provider());
    let guard = Guard {
        provider: provider.clone(),
        authority: match &trust {
            Trust::Anyone => None,
            Trust::SignedBy(root) | Trust::SignedByForHost(root) => Some(authority(root, &provider)?),
        },
        asks_name: matches!(trust, Trust::SignedByForHost(_)),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| StoreError::Refused(format!("TLS cannot be used: {e}")))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(guard))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

#[derive(Debug)]
struct Authority {
    certificates: Vec<CertificateDer<'static>>,
    verifier: Arc<WebPkiServerVerifier>,
}

fn authority(path: &Path, provider: &Arc<CryptoProvider>) -> Result<Authority> {
    let wrong = |why: String| StoreError::Refused(format!("sslrootcert={}: {why}", path.display()));
    let certificates: Vec<CertificateDer<'static>> =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(|e| wrong(e.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|e| wrong(e.to_string()))?;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|e| wrong(e.to_string()))?;
    Ok(Authority { certificates, verifier })
}

#[derive(Debug)]
struct Guard {
    provider: Arc<CryptoProvider>,
    authority: Option<Authority>,
    asks_name: bool,
}

impl ServerCertVerifier for Guard {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, Error> {
        let Some(Authority { certificates, verifier }) = &self.authority else {
            return Ok(ServerCertVerified::assertion());
        };
        use CertificateError as Wrong;
        match verifier.verify_server_cert(certificate, between, host, stapled, now) {
            Err(Error::InvalidCertificate(Wrong::NotValidForName | Wrong::NotValidForNameContext { .. }))
                if !self.asks_name =>
            {
                Ok(ServerCertVerified::assertion())
            }
            // A server that is its own authority, as `openssl req -x509` makes it: the very certificate that is trusted.
            Err(Error::InvalidCertificate(Wrong::Other(_))) if certificates.contains(certificate) => {
                if self.asks_name {
                    verify_server_name(&ParsedCertificate::try_from(certificate)?, host)?;
                }
                Ok(ServerCertVerified::assertion())
            }
            told => told,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
