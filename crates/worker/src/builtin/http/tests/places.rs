//! Where `http` may go: what is refused is never connected to.

use super::stage::{Server, Then, answer, claim, client, trusting, words};
use crate::builtin::http::client::{Http, Lookup};
use crate::builtin::http::{HttpAllow, run};
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use serde_json::json;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio_rustls::TlsAcceptor;

async fn get(http: Http, url: &str) -> String {
    words(&run(claim(&json!({"url": url, "timeout_ms": 5_000}).to_string()), Arc::new(http)).await)
}

async fn listening() -> Server {
    Server::start(&answer("200 OK", "", ""), Then::Close).await
}

#[tokio::test]
async fn however_an_address_is_spelt_it_is_refused() {
    let server = listening().await;
    let spellings = "127.0.0.1 127.1 127.0.1 0x7f000001 0x7f.1 2130706433 017700000001 0177.0.0.1 127.0.0.1. 127.9.9.9
        %31%32%37.0.0.1 １２７.0.0.1 127。0。0。1 0 0.0.0.0 [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1]
        [0:0:0:0:0:ffff:7f00:0001] [::127.0.0.1] [64:ff9b::127.0.0.1] [2002:7f00:1::] [fe80::1] [fd00:ec2::254] [ff02::1]
        10.0.0.1 172.16.0.1 192.168.0.1 100.64.0.1 169.254.169.254 0xa9fea9fe 2852039166 224.0.0.1 255.255.255.255
        0x7F000001 0x7f.0x0.0x0.0x1 00000177.0.0.1 127.0.0.0x1 127.255.255.254 0x0 0000.0.0.0 10.1 0xa.0.0.1 012.0.0.1
        172.31.255.255 192.168.257 3232235777 100.127.255.254 169.254.170.2 198.18.0.1 192.0.0.1 240.0.0.1 239.255.255.250
        [0000:0000::1] [::ffff:10.0.0.1] [::ffff:a9fe:a9fe] [64:ff9b::a9fe:a9fe] [2002:a00:1::] [2002:c0a8:101::1] [fc00::1]
        [febf::1] [ff05::1] [::ffff:0.0.0.0] [64:ff9b::10.0.0.1]";
    assert!(spellings.split_whitespace().count() >= 60);
    for host in spellings.split_whitespace() {
        let got = get(client(&[], &["8.8.8.8"]), &format!("http://{host}:{}/", server.port)).await;
        assert!(got.starts_with("fail ") && got.contains("[actions.http] allow = [\""), "{host}: {got}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_is_refused() {
    let server = listening().await;
    let url = format!("http://innocent.test:{}/", server.port);
    for addresses in
        [&["127.0.0.1"][..], &["10.0.0.1"], &["::1"], &["8.8.8.8", "127.0.0.1"], &["::ffff:7f00:1"]]
    {
        let got = get(client(&[], addresses), &url).await;
        assert!(
            got.starts_with("fail ") && got.contains("`innocent.test` leads to "),
            "{addresses:?}: {got}"
        );
        assert!(got.contains("[actions.http] allow = [\"innocent.test\"]"), "{got}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn what_is_allowed_is_reached_on_that_port_only() {
    let (server, other) = (listening().await, listening().await);
    let (port, url) = (server.port, format!("http://inner.test:{}/", server.port));
    let outside = format!("http://inner.test:{}/", other.port);
    for entry in [[format!("inner.test:{port}")], [format!("127.0.0.1:{port}")]] {
        let got = get(client(&entry, &["127.0.0.1"]), &url).await;
        assert!(got.starts_with("complete "), "{entry:?}: {got}");
        let got = get(client(&entry, &["127.0.0.1"]), &outside).await;
        assert!(got.starts_with("fail "), "{entry:?}: {got}");
    }
    assert!(other.requests().is_empty());
    for entry in ["inner.test", "127.0.0.0/8"] {
        let got = get(client(&[entry.into()], &["127.0.0.1"]), &url).await;
        assert!(got.starts_with("complete "), "{entry}: {got}");
    }
    assert_eq!(server.requests().len(), 4);
}

/// A name that answers differently the second time is never asked a second time.
#[tokio::test]
async fn the_address_that_was_checked_is_the_one_connected_to() {
    let server = listening().await;
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let lookup: Lookup = Arc::new(move |_| {
        let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
        let address = if first { "127.0.0.1" } else { "10.0.0.1" };
        Box::pin(std::future::ready(Ok(vec![address.parse().unwrap()])))
    });
    let allow = HttpAllow::read(&[format!("127.0.0.1:{}", server.port)]).unwrap();
    let http = Http::with(allow, lookup, RootCertStore::empty()).unwrap();
    let got = get(http, &format!("http://rebinding.test:{}/", server.port)).await;
    assert!(got.starts_with("complete "), "{got}");
    assert_eq!((asked.load(Ordering::SeqCst), server.requests().len()), (1, 1));
}

#[tokio::test]
async fn a_name_that_is_not_found_is_looked_up_again_later() {
    let lookup: Lookup = Arc::new(|_| Box::pin(std::future::ready(Err(io::Error::other("no such name")))));
    let http = Http::with(HttpAllow::default(), lookup, RootCertStore::empty()).unwrap();
    let got = get(http, "http://nowhere.test/").await;
    assert_eq!(got, "retry GET http://nowhere.test/: no answer: no such name");
}

#[tokio::test]
async fn a_certificate_nobody_vouches_for_is_not_spoken_to() {
    let made = rcgen::generate_simple_self_signed(vec!["tls.test".to_string()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let tls = TlsAcceptor::from(Arc::new(tls));
    let server = Server::behind(Some(tls), &answer("200 OK", "", "hello"), Then::Close).await;
    let allow = [format!("127.0.0.1:{}", server.port)];
    let (url, wrong) =
        (format!("https://tls.test:{}/", server.port), format!("https://other.test:{}/", server.port));
    let mut roots = RootCertStore::empty();
    let got = get(trusting(&allow, &["127.0.0.1"], roots.clone()), &url).await;
    assert!(got.starts_with("retry ") && got.contains("invalid peer certificate"), "{got}");
    assert!(server.requests().is_empty());
    roots.add(made.cert.der().clone()).unwrap();
    let got = get(trusting(&allow, &["127.0.0.1"], roots.clone()), &wrong).await;
    assert!(got.starts_with("retry ") && got.contains("certificate not valid for name"), "{got}");
    let got = get(trusting(&allow, &["127.0.0.1"], roots), &url).await;
    assert!(got.starts_with("complete ") && got.ends_with("\"body\":\"hello\"}"), "{got}");
}
