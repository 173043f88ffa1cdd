//! A server that answers as it is told to, and a step that calls it.

use crate::builtin::http::client::{Http, Lookup};
use crate::builtin::http::{HttpAllow, run};
use model::{Claim, Outcome, StepId};
use rustls::RootCertStore;
use serde_json::Value;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What follows the head and body that a server sends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    Close,
    /// Hold the connection and say nothing more.
    Hang,
    /// Send more for as long as anyone reads.
    GoOn,
}

pub struct Server {
    pub port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// A server on the loopback address.
    pub async fn start(said: &str, then: Then) -> Server {
        Server::behind(None, said, then).await
    }

    pub async fn behind(tls: Option<TlsAcceptor>, said: &str, then: Then) -> Server {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (heard, said) = (requests.clone(), said.to_string());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (heard, said, tls) = (heard.clone(), said.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => talk(stream, &said, then, &heard).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => talk(stream, &said, then, &heard).await,
                            Err(_) => Ok(()),
                        },
                    }
                });
            }
        });
        Server { port, requests }
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn talk(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    said: &str,
    then: Then,
    heard: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let request = hear(&mut stream).await?;
    heard.lock().unwrap().push(request);
    stream.write_all(said.as_bytes()).await?;
    stream.flush().await?;
    match then {
        Then::Close => stream.shutdown().await,
        Then::Hang => std::future::pending().await,
        Then::GoOn => loop {
            stream.write_all(b"1000\r\n").await?;
            stream.write_all(&[b'x'; 0x1000]).await?;
            stream.write_all(b"\r\n").await?;
        },
    }
}

/// One request, with as much body as it says it has.
async fn hear(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<String> {
    let mut heard = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&heard).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Ok(text);
            }
        }
        if stream.read_buf(&mut heard).await? == 0 {
            return Ok(text);
        }
    }
}

/// A whole answer.
pub fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

pub fn claim(arguments: &str) -> Claim {
    Claim {
        step: StepId::of(7),
        attempt: 1,
        action: "http".into(),
        queue: "default".into(),
        arguments: arguments.into(),
        failed_attempts: 0,
        max_attempts: 3,
        place: None,
        look: None,
        poll: None,
        trace: None,
        message_group: None,
        workflow: None,
        opens: Vec::new(),
    }
}

/// A client that may go to these places, and to whom every name leads to these addresses.
pub fn client(allow: &[String], addresses: &[&str]) -> Http {
    trusting(allow, addresses, RootCertStore::empty())
}

pub fn trusting(allow: &[String], addresses: &[&str], roots: RootCertStore) -> Http {
    let addresses: Vec<IpAddr> = addresses.iter().map(|a| a.parse().unwrap()).collect();
    let lookup: Lookup = Arc::new(move |_| Box::pin(std::future::ready(Ok(addresses.clone()))));
    Http::with(HttpAllow::read(allow).unwrap(), lookup, roots).unwrap()
}

/// Call this server with these arguments besides the address.
pub async fn call(server: &Server, mut arguments: Value) -> Outcome {
    arguments["url"] = format!("http://127.0.0.1:{}/in?secret=1", server.port).into();
    let http = client(&[format!("127.0.0.1:{}", server.port)], &[]);
    run(claim(&arguments.to_string()), Arc::new(http)).await
}

/// Call a server that says this.
pub async fn answered(said: &str, arguments: Value) -> Outcome {
    call(&Server::start(said, Then::Close).await, arguments).await
}

/// An outcome in a few words: `complete {…}`, `throttle 7`, `retry 7 …`, `retry …`, `fail …`.
pub fn words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Complete { response } => format!("complete {}", response.clone().unwrap_or_default()),
        Outcome::Throttle { after } => format!("throttle {}", after.as_secs()),
        Outcome::Retry { after, failure } => {
            let after = after.map(|after| format!("{} ", after.as_secs())).unwrap_or_default();
            format!("retry {after}{}", failure.clone().unwrap_or_default().message)
        }
        Outcome::Fail { failure, .. } => format!("fail {}", failure.message),
        other => format!("{other:?}"),
    }
}
