//! How the server meets the network: encrypted or not, with how many at once, and for how long it waits for whoever is slow.
//!
//! Why    a connection costs little to hold open and a place to be held. So there are only so many places, this machine has its
//!        own, and whoever says nothing, or too little, loses theirs.

mod connection;
mod tls;

pub use connection::Encrypted;
pub use tls::Tls;

use axum::Router;
use connection::Terms;
use model::{Rate, limits};
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::sleep;

/// How long nobody is taken in when the system has no more connections to give.
const BREATH: Duration = Duration::from_secs(1);

/// Whoever speaks plain HTTP can read it.
const FULL: &str =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

#[derive(Clone, Debug)]
pub struct Network {
    /// What to speak TLS with; without it the server speaks plain HTTP.
    pub tls: Option<Tls>,
    /// A proxy before this server speaks TLS.
    pub https: bool,
    /// Connections at once of this machine, and as many of all others.
    pub connections: usize,
    pub patience: Patience,
    /// How often one key may call; none is as often as it likes.
    pub key_rate: Option<Rate>,
}

impl Default for Network {
    fn default() -> Network {
        Network {
            tls: None,
            https: false,
            connections: limits::CONNECTIONS_DEFAULT,
            patience: Patience::default(),
            key_rate: None,
        }
    }
}

/// How long is waited for a client.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// To agree on TLS.
    pub handshake: Duration,
    /// For the first request of a connection, up to its body.
    pub head: Duration,
    /// For a whole body.
    pub body: Duration,
    /// For another request.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            handshake: limits::HANDSHAKE_WITHIN,
            head: limits::HEAD_WITHIN,
            body: limits::BODY_WITHIN,
            idle: limits::CONNECTION_IDLE,
        }
    }
}

/// Serve until `shutdown` is ready, then finish what is under way.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    network: &Network,
    shutdown: impl Future<Output = ()>,
) {
    let (ending, told) = watch::channel(());
    take_in(&listener, Terms::new(router, network), network, &told, shutdown).await;
    drop((listener, told));
    ending.send_replace(());
    ending.closed().await;
}

/// Serve until something is there, and leave the listener to whoever serves next. Nobody who is slow is waited for.
pub async fn serve_meanwhile<T>(
    listener: &TcpListener,
    router: Router,
    network: &Network,
    coming: impl Future<Output = T>,
) -> T {
    let (ending, told) = watch::channel(());
    let came = take_in(listener, Terms::new(router, network), network, &told, coming).await;
    ending.send_replace(());
    came
}

/// Whoever comes is served on their own, until `end` is ready.
async fn take_in<T>(
    listener: &TcpListener,
    terms: Terms,
    network: &Network,
    told: &watch::Receiver<()>,
    end: impl Future<Output = T>,
) -> T {
    let (places, terms) = (Places::of(network.connections), Arc::new(terms));
    let mut end = pin!(end);
    loop {
        let (stream, peer) = tokio::select! {
            biased;
            ended = &mut end => return ended,
            accepted = accept(listener) => accepted,
        };
        match places.take(peer.ip()) {
            Some(place) => {
                let served = terms.clone().serve(stream, peer, told.clone());
                tokio::spawn(async move {
                    served.await;
                    drop(place);
                });
            }
            None => turn_away(stream, peer, network),
        }
    }
}

/// The next connection. What is wrong with one of them is the matter of its client.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(problem)
                if matches!(problem.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) => {}
            Err(problem) => {
                tracing::warn!(target: "server", %problem, "no connection can be taken: {problem}");
                sleep(BREATH).await;
            }
        }
    }
}

struct Places {
    here: Arc<Semaphore>,
    elsewhere: Arc<Semaphore>,
}

impl Places {
    fn of(connections: usize) -> Places {
        let places = || Arc::new(Semaphore::new(connections));
        Places { here: places(), elsewhere: places() }
    }

    /// A flood from elsewhere leaves this machine its own.
    fn take(&self, peer: IpAddr) -> Option<OwnedSemaphorePermit> {
        let places = if peer.to_canonical().is_loopback() { &self.here } else { &self.elsewhere };
        places.clone().try_acquire_owned().ok()
    }
}

/// Without waiting for them: they would be one more who is waited for.
fn turn_away(stream: TcpStream, peer: SocketAddr, network: &Network) {
    tracing::debug!(target: "server", %peer, "{peer} was turned away: all connections are taken");
    if network.tls.is_none()
        && let Ok(mut stream) = stream.into_std()
    {
        // Whoever does not hear it sees the connection end.
        let _ = stream.write(FULL.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn this_machine_has_places_of_its_own() {
        let places = Places::of(1);
        let stranger = places.take([203, 0, 113, 9].into()).unwrap();
        assert!(places.take([203, 0, 113, 10].into()).is_none());
        let own = places.take("::ffff:127.0.0.1".parse().unwrap()).unwrap();
        assert!(places.take([127, 0, 0, 1].into()).is_none());
        drop((stranger, own));
        assert!(
            places.take([203, 0, 113, 10].into()).is_some() && places.take([127, 0, 0, 1].into()).is_some()
        );
    }
}
