//! The server on a real socket: with whoever is slow, greedy or unclear, and encrypted.

use crate::place::{Answer, Place, ask, peer};
use axum::body::Body;
use axum::http::Request;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use stepfast_server::{self as server, Network, Patience, Site, Tls};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Nothing that a test waits for takes this long.
const PATIENCE: Duration = Duration::from_secs(30);
/// As short as the one thing that a test waits for is to be.
const SOON: Duration = Duration::from_millis(50);

/// Whoever waits for anything but what the test is about waits long.
fn waiting() -> Patience {
    Patience { handshake: PATIENCE, head: PATIENCE, body: PATIENCE, idle: PATIENCE }
}

async fn listen(site: Site) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(server::serve(listener, site, std::future::pending()));
    address
}

async fn with(place: &Place, patience: Patience) -> SocketAddr {
    listen(Site { network: Network { patience, ..Network::default() }, ..place.site() }).await
}

/// Say this, and hear everything until the end.
async fn heard(mut stream: impl AsyncRead + AsyncWrite + Unpin, said: &str) -> String {
    stream.write_all(said.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = timeout(PATIENCE / 2, stream.read_to_end(&mut answer)).await;
    let ended = read.expect("the connection never ended");
    // Who is cut off while something of theirs is still unread sees a reset.
    assert!(ended.is_ok() || !answer.is_empty() || said.is_empty(), "{ended:?}");
    String::from_utf8(answer).unwrap()
}

async fn said(address: SocketAddr, text: &str) -> String {
    heard(TcpStream::connect(address).await.unwrap(), text).await
}

const LIVEZ: &str = "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn s32_who_does_not_end_a_head_is_left() {
    let place = Place::open();
    let address = with(&place, Patience { head: SOON, ..waiting() }).await;
    assert_eq!(said(address, "GET /livez HTTP/1.1\r\nHost: loc").await, "");
    assert_eq!(said(address, "").await, "", "nor who says nothing at all");
    assert!(said(address, LIVEZ).await.starts_with("HTTP/1.1 200 OK"));
    place.close().await;
}

#[tokio::test]
async fn s32_a_connection_that_is_not_used_again_ends() {
    let place = Place::open();
    let address = with(&place, Patience { idle: SOON, ..waiting() }).await;
    let answer = said(address, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("ok\n"), "{answer}");
    place.close().await;
}

#[tokio::test]
async fn s32_a_body_that_does_not_come_is_not_waited_for() {
    let place = Place::open();
    let address = with(&place, Patience { body: SOON, ..waiting() }).await;
    let head = "POST /v1/steps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let answer = said(address, &format!("{head}Content-Length: 100\r\n\r\n{{\"steps\": [")).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("\"code\":\"too_slow\"") && answer.contains("within 0.05 s"), "{answer}");
    let chunked = said(address, &format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\n{{\"ste\r\n")).await;
    assert!(chunked.starts_with("HTTP/1.1 408 "), "{chunked}");
    place.close().await;
}

#[tokio::test]
async fn s32_there_are_only_so_many_connections() {
    let place = Place::open();
    let network = Network { connections: 2, patience: waiting(), ..Network::default() };
    let address = listen(Site { network, ..place.site() }).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        let mut first = [0; 15];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200 OK");
        held.push(stream);
    }
    let turned_away = said(address, "").await;
    assert!(
        turned_away.starts_with("HTTP/1.1 503 ") && turned_away.contains("Retry-After: 1"),
        "{turned_away}"
    );
    held.clear();
    let served = async {
        loop {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let mut answer = String::new();
            let asked = stream.write_all(LIVEZ.as_bytes()).await;
            if asked.is_ok() && stream.read_to_string(&mut answer).await.is_ok() && answer.ends_with("ok\n") {
                return;
            }
        }
    };
    timeout(PATIENCE, served).await.expect("a place that is left is taken again");
    place.close().await;
}

#[tokio::test]
async fn s32_what_can_be_read_in_two_ways_is_refused() {
    let place = Place::open();
    let address = with(&place, waiting()).await;
    let head = "POST /v1/steps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    for lengths in [
        "Content-Length: 2\r\nContent-Length: 3",
        "Content-Length: +2",
        "Transfer-Encoding: chunked, identity",
    ] {
        let answer = said(address, &format!("{head}{lengths}\r\n\r\n{{}}")).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{lengths}: {answer}");
    }
    // Of two lengths the chunks count, and nothing is read behind them: a proxy may have seen another end.
    let both =
        format!("{head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n{LIVEZ}");
    let answer = said(address, &both).await;
    assert!(answer.starts_with("HTTP/1.1 422 ") && answer.contains("connection: close"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    let trace = said(address, "TRACE /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    assert!(trace.starts_with("HTTP/1.1 4"), "{trace}");
    place.close().await;
}

#[tokio::test]
async fn s26a_of_a_strangers_body_no_more_is_read_than_a_payload_may_have() {
    let place = Place::open();
    let post = |path: &str, body: Body, bytes: Option<usize>| {
        let request =
            Request::post(path).header("host", "steps.example").extension(peer("203.0.113.9:40000"));
        let kind = if path == "/sign-in" { "application/x-www-form-urlencoded" } else { "application/json" };
        let request = request.header("content-type", kind);
        let request = bytes.into_iter().fold(request, |request, n| request.header("content-length", n));
        request.body(body).unwrap()
    };
    let id = "00000000-0000-0000-0000-000000000001";
    for (path, max) in [(format!("/trigger/{id}/approve"), 1 << 20), ("/sign-in".to_string(), 4 << 10)] {
        let refused = |answer: Answer| {
            let told = answer.refused(413, "too_large");
            assert_eq!(told["detail"], format!("the body is larger than {max} bytes; send less at once"));
        };
        refused(ask(&place.router, post(&path, Body::from(vec![b' '; max + 1]), None)).await);
        // Whoever says beforehand that it is too much is told before anything is read.
        let endless = Body::from_stream(futures_util::stream::pending::<std::io::Result<Vec<u8>>>());
        refused(ask(&place.router, post(&path, endless, Some(max + 1))).await);
        let fits = ask(&place.router, post(&path, Body::from(vec![b' '; max]), None)).await;
        assert_ne!(fits.status, 413);
    }
    place.close().await;
}

/// A certificate for `steps.example`, as files for the server and as a client that trusts it.
fn certified(place: &Place) -> (Tls, TlsConnector) {
    let made = rcgen::generate_simple_self_signed(vec!["steps.example".to_string()]).unwrap();
    let (certificate, key) = (place.dir.path().join("c.pem"), place.dir.path().join("k.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (Tls::read(&certificate, &key).unwrap(), trusting(made.cert.der().clone()))
}

fn trusting(certificate: CertificateDer<'static>) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(client))
}

async fn by_tls(connector: &TlsConnector, address: SocketAddr, text: &str) -> String {
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("steps.example").unwrap();
    heard(connector.connect(name, stream).await.unwrap(), text).await
}

#[tokio::test]
async fn s42_with_a_certificate_it_speaks_tls_and_browsers_come_by_nothing_else() {
    let place = Place::open();
    let (viewer, _) = place.key("viewer").await;
    let (tls, connector) = certified(&place);
    let network = Network { tls: Some(tls), patience: waiting(), ..Network::default() };
    let address = listen(Site { network, require_key: true, ..place.site() }).await;
    let get = "GET /livez HTTP/1.1\r\nHost: steps.example\r\nConnection: close\r\n\r\n";
    let hsts = "strict-transport-security: max-age=31536000";
    let answer = by_tls(&connector, address, get).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains(hsts), "{answer}");
    // No browser needs to say where it comes from for its cookie to be one of TLS alone.
    let form = format!("key={viewer}");
    let enter = format!(
        "POST /sign-in HTTP/1.1\r\nHost: steps.example\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\nConnection: close\r\n",
        form.len()
    );
    let entered = by_tls(&connector, address, &format!("{enter}\r\n{form}")).await;
    let cookie = entered.lines().find(|line| line.starts_with("set-cookie: ")).unwrap_or_default();
    assert!(cookie.starts_with("set-cookie: __Host-stepfast_") && cookie.ends_with("; Secure"), "{entered}");
    let elsewhere = format!("{enter}Origin: http://steps.example\r\n\r\n{form}");
    let refused = by_tls(&connector, address, &elsewhere).await;
    assert!(refused.starts_with("HTTP/1.1 403 "), "a page in clear is not ours: {refused}");
    // Commands and workers of this machine need no certificate that names it.
    let here = said(address, LIVEZ).await;
    assert!(here.starts_with("HTTP/1.1 200 OK") && !here.contains("strict-transport"), "{here}");
    // And no name of this machine is tied to TLS for all of its ports.
    let local = by_tls(&connector, address, LIVEZ).await;
    assert!(local.starts_with("HTTP/1.1 200 OK") && !local.contains("strict-transport"), "{local}");
    place.close().await;
}

#[tokio::test]
async fn s42_who_begins_tls_and_does_not_go_on_is_left() {
    let place = Place::open();
    let (tls, connector) = certified(&place);
    let patience = Patience { handshake: SOON, ..waiting() };
    let network = Network { tls: Some(tls), patience, ..Network::default() };
    let address = listen(Site { network, ..place.site() }).await;
    assert_eq!(said(address, "\u{16}\u{3}\u{1}").await, "");
    assert_eq!(said(address, "").await, "");
    let answer = by_tls(&connector, address, LIVEZ).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    place.close().await;
}

#[tokio::test]
async fn s15_behind_a_proxy_with_tls_the_configuration_says_so() {
    let place = Place::open();
    let (viewer, _) = place.key("viewer").await;
    let network = Network { https: true, ..Network::default() };
    let router = server::router(Site { network, ..place.site() });
    let enter = async |origin: Option<&str>| {
        let request = Request::post("/sign-in")
            .header("host", "steps.example")
            .header("content-type", "application/x-www-form-urlencoded")
            .extension(peer("203.0.113.9:40000"));
        let request = origin.into_iter().fold(request, |request, origin| request.header("origin", origin));
        ask(&router, request.body(Body::from(format!("key={viewer}"))).unwrap()).await
    };
    let entered = enter(None).await;
    assert!(entered.headers["set-cookie"].to_str().unwrap().ends_with("; Secure"));
    assert_eq!(entered.headers["strict-transport-security"], "max-age=31536000");
    assert_eq!(enter(Some("https://steps.example")).await.status, 303);
    enter(Some("http://steps.example")).await.refused(403, "forbidden");
    let plain = ask(&place.router, Request::get("/livez").body(Body::empty()).unwrap()).await;
    assert!(!plain.headers.contains_key("strict-transport-security"), "not where nobody speaks TLS");
    place.close().await;
}
