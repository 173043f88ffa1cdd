//! One connection: agreed on TLS where it is asked for, served request by request, and left when it is silent.
//!
//! Why    commands, workers and the router of this machine go on by plain HTTP under TLS: what they say leaves the machine by no
//!        wire, and a certificate names no loopback address. Whoever comes from elsewhere speaks TLS or is not understood.

use super::{Network, Patience};
use axum::Router;
use axum::extract::ConnectInfo;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tower::ServiceExt;

/// The first byte of whoever wants to agree on TLS; no method begins with it.
const HANDSHAKE: u8 = 0x16;

/// With a request that came by TLS.
#[derive(Clone, Copy, Debug)]
pub struct Encrypted;

/// What holds for every connection.
pub struct Terms {
    router: Router,
    tls: Option<TlsAcceptor>,
    patience: Patience,
}

enum Met {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

impl Terms {
    pub fn new(router: Router, network: &Network) -> Terms {
        let tls = network.tls.as_ref().map(|tls| tls.acceptor());
        Terms { router, tls, patience: network.patience }
    }

    pub async fn serve(self: Arc<Self>, stream: TcpStream, peer: SocketAddr, told: watch::Receiver<()>) {
        // Nothing but speed is at stake.
        let _ = stream.set_nodelay(true);
        match timeout(self.patience.handshake, self.meet(stream, peer)).await {
            Ok(Ok(Met::Plain(stream))) => self.talk(stream, peer, None, told).await,
            Ok(Ok(Met::Encrypted(stream))) => self.talk(stream, peer, Some(Encrypted), told).await,
            Ok(Err(problem)) => {
                tracing::debug!(target: "server", %peer, %problem, "{peer} does not speak TLS with us: {problem}");
            }
            Err(_) => {
                tracing::debug!(target: "server", %peer, "{peer} was left: it took too long to agree on TLS")
            }
        }
    }

    async fn meet(&self, stream: TcpStream, peer: SocketAddr) -> io::Result<Met> {
        let Some(tls) = &self.tls else { return Ok(Met::Plain(stream)) };
        if peer.ip().to_canonical().is_loopback() {
            let mut first = [HANDSHAKE];
            stream.peek(&mut first).await?;
            if first != [HANDSHAKE] {
                return Ok(Met::Plain(stream));
            }
        }
        Ok(Met::Encrypted(Box::new(tls.accept(stream).await?)))
    }

    async fn talk(
        &self,
        io: impl AsyncRead + AsyncWrite + Unpin,
        peer: SocketAddr,
        encrypted: Option<Encrypted>,
        mut told: watch::Receiver<()>,
    ) {
        let has_asked = AtomicBool::new(false);
        let service = service_fn(|mut request: Request<Incoming>| {
            has_asked.store(true, Ordering::Relaxed);
            request.extensions_mut().insert(ConnectInfo(peer));
            if let Some(encrypted) = encrypted {
                request.extensions_mut().insert(encrypted);
            }
            self.router.clone().oneshot(request)
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(self.patience.idle);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
        let mut first = pin!(sleep(self.patience.head));
        let (mut is_new, mut goes_on) = (true, true);
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(problem) = ended {
                        tracing::debug!(target: "server", %peer, %problem, "a connection of {peer} ended: {problem}");
                    }
                    return;
                }
                _ = told.changed(), if goes_on => {
                    goes_on = false;
                    connection.as_mut().graceful_shutdown();
                }
                () = &mut first, if is_new => {
                    is_new = false;
                    if !has_asked.load(Ordering::Relaxed) {
                        tracing::debug!(target: "server", %peer, "{peer} was left: it asked for nothing");
                        return;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Tls;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    /// How somebody is met who begins in clear and comes from here.
    async fn met(terms: &Terms, peer: &str) -> io::Result<Met> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        terms.meet(stream, peer.parse().unwrap()).await
    }

    #[tokio::test]
    async fn under_tls_this_machine_alone_is_understood_in_clear() {
        let dir = tempfile::tempdir().unwrap();
        let [certificate, key] = ["c.pem", "k.pem"].map(|name| dir.path().join(name));
        let made = rcgen::generate_simple_self_signed(vec!["steps.example".to_string()]).unwrap();
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let tls = Some(Tls::read(&certificate, &key).unwrap());
        let terms = Terms::new(Router::new(), &Network { tls, ..Network::default() });
        for own in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(matches!(met(&terms, own).await, Ok(Met::Plain(_))), "{own}");
        }
        for other in ["203.0.113.9:1", "10.0.0.5:1", "[2001:db8::1]:1"] {
            assert!(met(&terms, other).await.is_err(), "{other}");
        }
        let plain = Terms::new(Router::new(), &Network::default());
        assert!(matches!(met(&plain, "203.0.113.9:1").await, Ok(Met::Plain(_))));
    }
}
