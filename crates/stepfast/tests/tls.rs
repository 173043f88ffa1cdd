//! TLS with the real binary: what the configuration names is spoken with everybody but this machine.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Home, Server, text};
use std::path::PathBuf;

/// A home whose server speaks TLS as `localhost`, and its certificate.
fn home() -> (Home, PathBuf) {
    let home = Home::new();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_string()]).unwrap();
    let certificate = home.dir.path().join("chain.pem");
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(home.dir.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let config = "[tls]\ncertificate = \"chain.pem\"\nkey = \"key.pem\"\n";
    std::fs::write(home.dir.path().join("stepfast.toml"), config).unwrap();
    (home, certificate)
}

#[test]
fn s42_with_a_certificate_it_is_found_by_tls_and_by_this_machine() {
    let (home, certificate) = home();
    let server = Server::spawn(home.command(&["serve", "--port", "0"]));
    let port = server.url.strip_prefix("https://127.0.0.1:").unwrap_or_else(|| panic!("{}", server.url));
    // Commands find it beside the database, in clear.
    home.ok(&["steps", "create", "--action", "ghost"]);
    let by_tls = format!("https://localhost:{port}");
    let mut create = home.command(&["--server", &by_tls, "steps", "create", "--action", "ghost"]);
    let made = create.env("SSL_CERT_FILE", &certificate).output().unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert_eq!(home.states().len(), 2);
    let stranger = home.run(&["--server", &by_tls, "steps", "create", "--action", "ghost"]);
    assert_eq!(stranger.status.code(), Some(4), "nobody vouches for it: {}", text(&stranger.stderr));
    server.stop();
}

#[test]
fn s42_without_its_files_it_does_not_start() {
    let (home, certificate) = home();
    std::fs::remove_file(certificate).unwrap();
    let told = home.fails(3, &["serve", "--port", "0"]);
    assert!(told.contains("tls.certificate: cannot read chain.pem"), "{told}");
    // Who only asks needs no certificate.
    home.ok(&["migrate"]);
    home.ok(&["steps", "list"]);
}
