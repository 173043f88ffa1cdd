//! Webhooks through the real binary, its configuration and its commands, to a receiver that verifies as the document shows.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Home, Server, get, until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A request as a receiver sees it.
#[derive(Clone, Debug)]
struct Heard {
    headers: Value,
    body: String,
}

/// Answers requests in turn, and the last answer for ever.
fn receiver(answers: &[&str]) -> (String, Arc<Mutex<Vec<Heard>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (place, heard) = (listener.local_addr().unwrap().to_string(), Arc::new(Mutex::new(Vec::new())));
    let (kept, answers) = (heard.clone(), answers.iter().map(ToString::to_string).collect::<Vec<_>>());
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut headers = json!({});
            let lines = reader.by_ref().lines().map(Result::unwrap);
            for line in lines.take_while(|line| !line.is_empty()).skip(1) {
                let (name, value) = line.split_once(": ").unwrap();
                headers[name.to_ascii_lowercase()] = value.into();
            }
            let mut body = vec![0; headers["content-length"].as_str().unwrap().parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            kept.lock().unwrap().push(Heard { headers, body: String::from_utf8(body).unwrap() });
            let answer = &answers[n.min(answers.len() - 1)];
            let head = "Connection: close\r\nContent-Length";
            let (status, body) = answer.split_once('|').unwrap();
            write!(stream, "HTTP/1.1 {status}\r\n{head}: {}\r\n\r\n{body}", body.len()).unwrap();
        }
    });
    (place, heard)
}

fn configured(home: &Home, place: &str) {
    let text = format!(
        "[actions.http]\nallow = [\"{place}\"]\n[signing.orders]\nsecret = [\"{SECRET}\", \"the secret that is going away\"]\n"
    );
    std::fs::write(home.dir.path().join("stepfast.toml"), text).unwrap();
}

fn created(home: &Home, arguments: &Value, more: &[&str]) -> String {
    let arguments = arguments.to_string();
    let mut args = vec!["steps", "create", "--action", "deliver", "--arguments", &arguments];
    args.extend(more);
    home.ok(&args).trim().to_string()
}

fn ended(home: &Home, id: &str) -> Value {
    let row =
        || home.json(&["steps", "list", "--all", "--json"]).into_iter().find(|r| r["id"] == id).unwrap();
    until("the step ends", || row()["completed_at"].is_string());
    row()
}

/// Run the receiver's function of the document over what was heard.
fn verified(heard: &Heard, secret: &str) -> String {
    let document = include_str!("../../../docs/webhooks.md");
    let code = document.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let ask = "\nimport json, sys\nsecret, headers, body = json.load(sys.stdin)\nprint(verify(secret, headers, body.encode()))\n";
    let mut python = Command::new("python3");
    python.args(["-c", &(code.to_string() + ask)]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = python.spawn().unwrap();
    let told = json!([secret, heard.headers, heard.body]).to_string();
    child.stdin.take().unwrap().write_all(told.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn a_receiver_verifies_what_it_is_sent_as_the_document_shows() {
    let home = Home::new();
    let (place, heard) = receiver(&["200 OK|thanks"]);
    configured(&home, &place);
    let server = home.serve(&[]);
    let arguments = json!({"url": format!("http://{place}/hook"), "body": {"order": 7}, "signing": "orders"});
    let id = created(&home, &arguments, &[]);
    let row = ended(&home, &id);
    assert_eq!((&row["state"], &row["response"]["status"]), (&json!("completed"), &json!(200)), "{row}");
    let mut first = heard.lock().unwrap()[0].clone();
    assert_eq!(first.headers["webhook-id"], id.as_str());
    assert_eq!(verified(&first, SECRET), "True\n");
    assert_eq!(verified(&first, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), "False\n");
    first.body.push(' ');
    assert_eq!(verified(&first, SECRET), "False\n");
    home.ok(&["check"]);
    server.stop();
}

#[test]
fn deliveries_go_in_order_through_patience_and_failure_and_are_listed() {
    let home = Home::new();
    let busy = "429 Too Many Requests\r\nRetry-After: 1|later";
    let (place, heard) = receiver(&[busy, "500 Oh|no", "200 OK|{\"ack\":true}"]);
    configured(&home, &place);
    let server = home.serve(&[]);
    let step = |n: u32| {
        json!({"action": "deliver", "message_group": "customer-1", "mode": "block_on_error", "retry_delay_ms": 10,
               "arguments": {"url": format!("http://{place}/hook"), "body": n, "envelope": true, "type": "order.paid"}})
    };
    let file = json!({"steps": (1..=3).map(step).collect::<Vec<_>>()}).to_string();
    std::fs::write(home.dir.path().join("steps.json"), file).unwrap();
    let made: Vec<String> =
        home.ok(&["steps", "create", "--file", "steps.json"]).lines().map(String::from).collect();
    made.iter().for_each(|id| assert_eq!(ended(&home, id)["state"], "completed"));
    let bodies: Vec<Value> =
        heard.lock().unwrap().iter().map(|h| serde_json::from_str(&h.body).unwrap()).collect();
    let order: Vec<(i64, i64)> =
        bodies.iter().map(|b| (b["data"].as_i64().unwrap(), b["attemptNumber"].as_i64().unwrap())).collect();
    assert_eq!(order, [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1)]);
    assert_eq!(
        (&bodies[0]["type"], &bodies[0]["messageGroup"]),
        (&json!("order.paid"), &json!("customer-1"))
    );
    let listed = home.json(&["steps", "attempts", &made[0], "--json"]);
    let words = |a: &Value| {
        let d = &a["delivery"];
        format!("{} {} {} {}", a["outcome"], d["status"], d["http_code"], d["response_body"]).replace('"', "")
    };
    assert_eq!(
        listed.iter().map(words).collect::<Vec<_>>(),
        ["throttled DEFERRED 429 later", "retried FAILURE 500 no", "completed SUCCESS 200 {\\ack\\:true}"]
    );
    let table = home.ok(&["steps", "attempts", &made[0]]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    let head: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(head, ["attempt", "started", "outcome", "delivery", "code", "error", "ms", "message"]);
    for (line, parts) in [
        (1, "throttled DEFERRED 429 HTTP_ERROR"),
        (2, "retried FAILURE 500 HTTP_ERROR"),
        (3, "completed SUCCESS 200 -"),
    ] {
        let words = lines[line].split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(parts), "{parts} in {words}");
    }
    assert!(lines[2].contains("answered 500 Internal Server Error: no"), "{table}");
    let shown = home.ok(&["steps", "show", &made[0]]);
    assert!(
        shown.contains(" retried FAILURE 500 HTTP_ERROR in ") && shown.contains(" completed SUCCESS 200 in "),
        "{shown}"
    );
    let (status, page) = get(&format!("{}/v1/steps/{}/attempts", server.url, made[0]));
    assert_eq!((status, page["attempts"].as_array().unwrap().len()), (200, 3));
    home.ok(&["check"]);
    server.stop();
}

#[test]
fn keys_come_from_the_environment_too_and_without_one_nothing_is_sent() {
    let home = Home::new();
    let (place, heard) = receiver(&["200 OK|"]);
    configured(&home, &place);
    let mut command = home.command(&["serve", "--port", "0"]);
    command.env("STEPFAST_SIGNING_BILLS_EU", SECRET);
    let server = Server::spawn(command);
    let to = |name: &str| json!({"url": format!("http://{place}/hook"), "signing": name});
    let signed = created(&home, &to("bills-eu"), &[]);
    assert_eq!(ended(&home, &signed)["state"], "completed");
    assert_eq!(verified(&heard.lock().unwrap()[0].clone(), SECRET), "True\n");
    let refused = created(&home, &to("nobodys"), &["--max-attempts", "5"]);
    let row = ended(&home, &refused);
    assert_eq!((&row["state"], &row["attempt"]), (&json!("failed"), &json!(1)), "{row}");
    let told = row["error_message"].as_str().unwrap();
    assert!(told.contains("no signing key `nobodys`") && told.contains("STEPFAST_SIGNING_NOBODYS"), "{told}");
    assert_eq!(heard.lock().unwrap().len(), 1);
    let listed = home.json(&["steps", "attempts", &refused, "--json"]);
    assert_eq!(listed[0]["delivery"]["error_type"], "VALIDATION");
    let nobody = home.fails(3, &["steps", "attempts", "0199c0de-0000-7000-8000-000000000000"]);
    assert!(nobody.contains("there is no step 0199c0de"), "{nobody}");
    server.stop();
    let mut short = home.command(&["serve", "--port", "0"]);
    let output = short.env("STEPFAST_SIGNING_BILLS_EU", "hunter2").output().unwrap();
    let said = common::text(&output.stderr);
    assert!(
        !output.status.success() && said.contains("STEPFAST_SIGNING_BILLS_EU: a secret has 7 bytes"),
        "{said}"
    );
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn a_subscriber_is_told_of_a_workflow_and_verifies_it_as_the_document_shows() {
    let home = Home::new();
    let (place, heard) = receiver(&["200 OK|thanks"]);
    configured(&home, &place);
    let server = home.serve(&[]);
    let url = format!("http://{place}/hook");
    let add =
        ["subscriptions", "add", "--name", "shop", "--url", &url, "--type", "workflow.succeeded", "--json"];
    let secret = home.json(&add)[0]["secret"].as_str().unwrap().to_string();
    let file = home.dir.path().join("one.yaml");
    std::fs::write(&file, "workflow: one\nversion: 1.0.0\nsteps:\n  - { key: a, action: noop }\n").unwrap();
    home.ok(&["run", file.to_str().unwrap()]);
    until("it is told", || !heard.lock().unwrap().is_empty());
    let came = heard.lock().unwrap()[0].clone();
    let event: Value = serde_json::from_str(&came.body).unwrap();
    assert_eq!(
        (&event["type"], &event["id"]),
        (&json!("stepfast.workflow.succeeded"), &came.headers["webhook-id"])
    );
    assert_eq!(verified(&came, &secret), "True\n");
    assert_eq!(verified(&came, SECRET), "False\n");
    home.ok(&["check"]);
    server.stop();
}
