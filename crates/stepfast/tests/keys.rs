//! Keys and listening beyond loopback, with the real binary.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Home, Server, first_line, get, text};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::process::{Command, Stdio};

/// Ask with a key; status and body.
fn get_with(url: &str, key: &str) -> (u16, Value) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let answer = common::client().get(url).bearer_auth(key).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap_or(Value::Null))
    })
}

fn made(home: &Home, args: &[&str]) -> (String, String) {
    let made = &home.json(&[&["keys", "create", "--json"], args].concat())[0];
    (made["key"].as_str().unwrap().into(), made["id"].as_str().unwrap().into())
}

fn serve(home: &Home, args: &[&str]) -> Command {
    home.command(&[&["serve", "--workers", "0"], args].concat())
}

#[test]
fn s2_with_nothing_configured_it_listens_on_loopback_alone() {
    let home = Home::new();
    let server = home.serve(&[]);
    assert!(server.url.starts_with("http://127.0.0.1:"), "{}", server.url);
    let port: u16 = server.url.rsplit_once(':').unwrap().1.parse().unwrap();
    // Another loopback address of the same port is free: nothing listens on all of them.
    TcpListener::bind(("127.0.0.2", port)).unwrap();
    server.stop();
}

#[test]
fn s2_beyond_loopback_it_does_not_start_without_an_admin_key() {
    let home = Home::new();
    let told = home.fails(3, &["serve", "--bind", "0.0.0.0:0"]);
    assert!(told.contains("no live key with the role admin"), "{told}");
    assert!(told.contains("stepfast keys create --name NAME --role admin"), "{told}");
    made(&home, &["--name", "w", "--role", "worker"]);
    home.fails(3, &["serve", "--bind", "0.0.0.0:0"]);
    let (key, id) = made(&home, &["--name", "boss", "--role", "admin"]);
    let server = Server::spawn(serve(&home, &["--bind", "0.0.0.0:0"]));
    assert!(server.url.starts_with("http://127.0.0.1:"), "where this machine finds it: {}", server.url);
    assert_eq!(get_with(&format!("{}/v1/keys", server.url), &key).0, 200);
    home.ok(&["keys", "revoke", &id]);
    assert_eq!(get_with(&format!("{}/v1/keys", server.url), &key).0, 401);
    server.stop();
    home.fails(3, &["serve", "--bind", "[::]:0"]);
    let told = home.fails(3, &["serve", "--bind", "everywhere"]);
    assert!(told.contains("write one like 0.0.0.0:7837"), "{told}");
    home.fails(2, &["serve", "--bind", "127.0.0.1:0", "--port", "1"]);
}

#[test]
fn commands_show_their_key_to_the_server() {
    let home = Home::new();
    std::fs::write(home.dir.path().join("stepfast.toml"), "require_key = true\nqueues = [\"slow\"]").unwrap();
    let (admin, _) = made(&home, &["--name", "boss", "--role", "admin"]);
    let (maker, maker_id) =
        made(&home, &["--name", "maker", "--role", "operator", "--scope", "slow,priority"]);
    let server = Server::spawn(serve(&home, &["--port", "0"]));
    assert_eq!(get(&format!("{}/v1/steps", server.url)).0, 401);
    let create = |more: &[&str]| home.run(&[&["steps", "create", "--action", "ghost"], more].concat());
    let refused = create(&[]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(text(&refused.stderr).contains("this needs a key"), "{}", text(&refused.stderr));
    let refused = text(&create(&["--key", &maker]).stderr);
    assert!(refused.contains("steps[0].queue: no queue is named, and this key has a scope"), "{refused}");
    let step = create(&["--key", &maker, "--queue", "slow"]);
    assert!(step.status.success(), "{}", text(&step.stderr));
    let step = text(&step.stdout);
    home.ok(&["steps", "cancel", step.trim(), "--by", "the boss", "--why", "x", "--key", &maker]);
    let audit = get_with(&format!("{}/v1/audit", server.url), &admin).1;
    assert_eq!(audit["audit"][0]["who"], format!("maker (key {maker_id})"));
    let refused =
        text(&home.run(&["keys", "create", "--name", "x", "--role", "admin", "--key", &maker]).stderr);
    assert!(refused.contains("the right `administer`"), "{refused}");
    let listed = home.json(&["keys", "list", "--json"]);
    let told: Vec<_> = listed.iter().map(|k| json!([k["name"], k["role"], k["scope"], k["state"]])).collect();
    assert_eq!(
        told,
        [json!(["maker", "operator", ["slow", "priority"], "live"]), json!(["boss", "admin", [], "live"])]
    );
    home.ok(&["check"]);
    server.stop();
}

#[test]
fn a_key_is_in_no_log_and_in_no_message() {
    let home = Home::new();
    let (admin, id) = made(&home, &["--name", "boss", "--role", "admin"]);
    let mut command = serve(&home, &["--port", "0"]);
    command.env("RUST_LOG", "trace").stdout(Stdio::piped());
    let log = home.dir.path().join("log");
    let mut child = command.stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    let url = first_line(child.stdout.take().unwrap()).trim().replace("listening on ", "");
    let server = Server { child, url };
    let other = if admin.ends_with('0') { '1' } else { '0' };
    let wrong = format!("{}{other}", &admin[..admin.len() - 1]);
    for key in [&admin, &wrong] {
        for path in ["/v1/keys", "/v1/audit", "/nothing", "/v1/keys/x/revoke"] {
            get_with(&format!("{}{path}", server.url), key);
        }
        home.run(&["steps", "create", "--action", "ghost", "--key", key]);
    }
    let revoked = home.run(&["keys", "revoke", &admin]);
    assert_eq!(revoked.status.code(), Some(3));
    let listed = home.ok(&["keys", "list"]);
    home.ok(&["keys", "revoke", &id, "--key", &admin]);
    server.stop();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("with a key that is not valid"), "wrong keys are told: {log}");
    let secret = &admin[admin.len() - 60..admin.len() - 1];
    for shown in [log, text(&revoked.stderr), listed, home.ok(&["keys", "list"])] {
        assert!(!shown.contains(secret), "{shown}");
    }
    let human = home.run(&["keys", "create", "--name", "n", "--role", "viewer", "--expires", "2"]);
    assert!(text(&human.stdout).starts_with("sf_") && text(&human.stdout).lines().count() == 1);
    assert!(!text(&human.stderr).contains("sf_"), "talk is not data");
}
