//! The actions that reach out of the process, through the real binary and its configuration.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Home, Server, until};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

fn configured(home: &Home, text: &str) {
    std::fs::write(home.dir.path().join("stepfast.toml"), text).unwrap();
}

/// Create a step, wait for its end and give its row.
fn ended(home: &Home, action: &str, arguments: &Value) -> Value {
    let made = home.ok(&["steps", "create", "--action", action, "--arguments", &arguments.to_string()]);
    let row =
        || home.json(&["steps", "list", "--all", "--json"]).into_iter().find(|r| r["id"] == made.trim());
    until("the step ends", || row().is_some_and(|r| r["completed_at"].is_string()));
    row().unwrap()
}

/// Answers one request, and gives its head.
fn answer_once(listener: TcpListener) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let said =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{\"paid\":7}";
        stream.write_all(said.as_bytes()).unwrap();
        head.join("\n")
    })
}

#[test]
fn http_goes_where_the_configuration_says_and_past_the_proxies_of_the_environment() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    configured(&home, &format!("[actions.http]\nallow = [\"127.0.0.1:{port}\"]\n"));
    let mut command = home.command(&["serve", "--port", "0"]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env(name, "http://127.0.0.1:1");
    }
    let server = Server::spawn(command);
    let asked = answer_once(listener);
    let row = ended(&home, "http", &serde_json::json!({"url": format!("http://127.0.0.1:{port}/pay")}));
    assert_eq!(row["state"], "completed", "{row}");
    assert_eq!(
        (&row["response"]["status"], &row["response"]["body"]["paid"]),
        (&200.into(), &7.into()),
        "{row}"
    );
    let head = asked.join().unwrap();
    assert!(head.starts_with("GET /pay HTTP/1.1\n"), "{head}");
    assert!(head.contains(&format!("idempotency-key: {}", row["id"].as_str().unwrap())), "{head}");
    let own = ended(&home, "http", &serde_json::json!({"url": format!("{}/livez", server.url)}));
    assert_eq!(own["state"], "failed", "{own}");
    let told = own["error_message"].as_str().unwrap();
    assert!(told.contains("127.0.0.1 is a loopback address; `http` goes there only if"), "{told}");
    home.ok(&["check"]);
    server.stop();
}

#[test]
fn exec_starts_what_the_configuration_names() {
    let home = Home::new();
    let echo = serde_json::json!({"argv": ["/bin/echo", "hello"]});
    let server = home.serve(&[]);
    let row = ended(&home, "exec", &echo);
    assert_eq!(row["state"], "failed", "{row}");
    assert!(
        row["error_message"].as_str().unwrap().contains("[actions.exec] allow = [\"/bin/echo\"]"),
        "{row}"
    );
    server.stop();
    configured(&home, "[actions.exec]\nallow = [\"/bin/echo\"]\n");
    let server = home.serve(&[]);
    let row = ended(&home, "exec", &echo);
    assert_eq!(
        (row["state"].as_str(), row["response"]["stdout"].as_str()),
        (Some("completed"), Some("hello\n"))
    );
    home.ok(&["check"]);
    server.stop();
}

#[test]
fn a_configuration_that_cannot_be_meant_is_refused() {
    let home = Home::new();
    configured(&home, "[actions.http]\nallow = [\"10.0.0.1/8\"]\n[actions.exec]\nallow = [\"convert\"]\n");
    let told = home.fails(3, &["serve", "--port", "0"]);
    assert!(told.contains("actions.http.allow: `10.0.0.1/8`"), "{told}");
    assert!(told.contains("actions.exec.allow: `convert` is not a whole path"), "{told}");
}
