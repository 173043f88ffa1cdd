//! A broker that greets whoever comes, and then says nothing more.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

const GREETING: &str = "CONNECTED\nversion:1.2\nsession:ID:fake\nheart-beat:500,500\n\n\0";

pub struct Fake {
    port: u16,
    heard: watch::Receiver<String>,
    directory: tempfile::TempDir,
}

impl Fake {
    pub async fn start() -> Fake {
        Fake::saying(GREETING).await
    }

    pub async fn saying(greeting: &'static str) -> Fake {
        Fake::listening(greeting, None).await
    }

    pub async fn with_tls() -> Fake {
        let certified = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)
            .unwrap();
        let fake = Fake::listening(GREETING, Some(TlsAcceptor::from(Arc::new(config)))).await;
        std::fs::write(fake.authority(), certified.cert.pem()).unwrap();
        fake
    }

    async fn listening(greeting: &'static str, tls: Option<TlsAcceptor>) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (told, heard) = watch::channel(String::new());
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (told, tls) = (told.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, greeting, told).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, greeting, told).await;
                            }
                        }
                    }
                });
            }
        });
        Fake { port, heard, directory: tempfile::tempdir().unwrap() }
    }

    pub async fn port_of_nobody() -> u16 {
        TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
    }

    pub fn url(&self, options: &str) -> String {
        format!("stomp://127.0.0.1:{}/steps?{options}", self.port)
    }

    pub fn tls_url(&self, options: &str) -> String {
        format!("stomp+ssl://localhost:{}/steps?heart-beat-ms=500&{options}", self.port)
    }

    pub fn authority(&self) -> PathBuf {
        Path::new(self.directory.path()).join("authority.pem")
    }

    /// All it heard, up to two heart-beats.
    pub async fn heard(&self) -> String {
        let mut heard = self.heard.clone();
        let beats = heard.wait_for(|heard| heard.contains("\0\n\n"));
        tokio::time::timeout(Duration::from_secs(20), beats).await.expect("a heart beats").unwrap().clone()
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, greeting: &str, told: watch::Sender<String>) {
    let mut part = [0; 4096];
    let n = stream.read(&mut part).await.unwrap();
    told.send_modify(|heard| heard.push_str(&String::from_utf8_lossy(&part[..n])));
    stream.write_all(greeting.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    // It is left when the other side has had enough.
    while let Ok(n) = stream.read(&mut part).await
        && n > 0
    {
        told.send_modify(|heard| heard.push_str(&String::from_utf8_lossy(&part[..n])));
    }
}
