//! Specification 002: the statuses of a job from its making to its end, and its table of errors.

use crate::common::{get, post, until};
use crate::receiver::Receiver;
use crate::scene::{Scene, create};
use serde_json::{Value, json};
use std::net::TcpListener;

fn breaker(url: &str, off: bool) {
    let (status, answer) = post(&format!("{url}/v1/breaker"), &json!({ "off": off, "why": "a test" }));
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn a_job_is_pending_queued_processing_and_completed() {
    let scene = Scene::new(Receiver::glad(), "");
    let server = scene.serve();
    breaker(&server.url, true);
    create(&server, &[scene.letter("a", "a", 1)]);
    assert_eq!(scene.status(&server, "a"), "PENDING");
    let (status, answer) = post(&format!("{}/v1/router/pools/DISPATCH-POOL/suspend", server.url), &json!({}));
    assert_eq!(status, 200, "{answer}");
    breaker(&server.url, false);
    scene.until_status(&server, "a", "QUEUED");
    let shown = scene.home.ok(&["steps", "list", "--json"]);
    let id = serde_json::from_str::<Value>(shown.lines().next().unwrap()).unwrap()["id"].clone();
    let (_, shown) = get(&format!("{}/v1/steps/{}", server.url, id.as_str().unwrap()));
    assert!(shown["why"].to_string().contains("its message is in the queue"), "{shown}");
    scene.receiver.shut(true);
    let activated = scene.home.json(&["router", "activate", "DISPATCH-POOL", "--json"]);
    assert_eq!(activated, [json!({"code": "DISPATCH-POOL", "active": true})]);
    scene.until_status(&server, "a", "PROCESSING");
    scene.receiver.shut(false);
    scene.until_status(&server, "a", "COMPLETED");
    assert_eq!(scene.receiver.heard().len(), 1);
    let table = scene.home.ok(&["router", "status"]);
    assert!(table.contains("DISPATCH-POOL") && table.contains("processed 1"), "{table}");
    let status = &scene.home.json(&["router", "status", "--json"])[0];
    let pool = &status["pools"][0];
    assert_eq!((&pool["code"], &pool["status"]), (&json!("DISPATCH-POOL"), &json!("ACTIVE")), "{status}");
    assert_eq!((&status["counters"]["processed"], status["held"].is_number()), (&json!(1), true), "{status}");
    scene.home.ok(&["check"]);
    server.stop();
}

#[test]
fn a_job_ends_in_error_cancelled_or_expired() {
    let scene = Scene::new(Receiver::new(|_, _| (500, "no".into())), "");
    let server = scene.serve();
    create(&server, &[scene.letter("error", "x", 1)]);
    scene.until_status(&server, "error", "ERROR");
    let attempts: Vec<u32> = scene.receiver.heard().iter().map(|heard| heard.attempt).collect();
    assert_eq!(attempts, [1, 2, 3], "the engine alone retries");
    scene.home.ok(&["router", "suspend", "DISPATCH-POOL"]);
    let mut expires = scene.letter("expired", "x", 2);
    expires["expires_ms"] = 300.into();
    let made = scene.home.dir.path().join("expired.json");
    std::fs::write(&made, json!({"steps": [scene.letter("cancelled", "x", 3)]}).to_string()).unwrap();
    let id = scene.home.ok(&["steps", "create", "--file", "expired.json"]).trim().to_string();
    scene.until_status(&server, "cancelled", "QUEUED");
    scene.home.ok(&["steps", "cancel", &id, "--why", "x"]);
    assert_eq!(scene.status(&server, "cancelled"), "CANCELLED");
    let arguments = expires["arguments"].to_string();
    let args = [
        "steps",
        "create",
        "--action",
        "deliver",
        "--step-key",
        "expired",
        "--expires-ms",
        "300",
        "--arguments",
    ];
    scene.home.ok(&[&args[..], &[&arguments]].concat());
    scene.until_status(&server, "expired", "EXPIRED");
    assert_eq!(scene.receiver.heard().len(), 3, "nobody was sent for what is over");
    scene.home.ok(&["check"]);
    server.stop();
}

#[test]
fn orders_of_a_customer_go_in_order_and_a_failing_customer_blocks_only_itself() {
    let scene = Scene::new(
        Receiver::new(
            |path, body| if path == "/bob" && body == "2" { (500, "no".into()) } else { (200, "".into()) },
        ),
        "",
    );
    let server = scene.serve();
    let mut orders = Vec::new();
    for n in 1..=20 {
        for who in ["ann", "bob", "cleo"] {
            orders.push(scene.ordered(&format!("{who}{n}"), who, n));
        }
    }
    create(&server, &orders);
    scene.until_status(&server, "ann20", "COMPLETED");
    scene.until_status(&server, "cleo20", "COMPLETED");
    scene.until_status(&server, "bob2", "ERROR");
    let came = |who: &str| -> Vec<String> {
        let heard = scene.receiver.heard();
        heard.iter().filter(|h| h.path == who).map(|h| h.body.clone()).collect()
    };
    let all: Vec<String> = (1..=20).map(|n| n.to_string()).collect();
    assert_eq!((came("/ann"), came("/cleo")), (all.clone(), all));
    assert_eq!(came("/bob"), ["1", "2", "2", "2"]);
    assert_eq!(scene.status(&server, "bob3"), "PENDING");
    scene.home.ok(&["message-groups", "ignore", "bob", "--why", "known"]);
    scene.until_status(&server, "bob20", "COMPLETED");
    scene.home.ok(&["check"]);
    server.stop();
}

/// Specification 002: the publisher cannot start, or its broker goes away: it runs on, and says so.
#[test]
fn without_its_broker_a_server_runs_on_and_says_so() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let scheduler = format!("queue-type = \"ACTIVEMQ\"\nqueue-url = \"stomp://u:p@{nobody}/q\"\n");
    let scene = Scene::new(Receiver::glad(), &scheduler);
    let server = scene.serve();
    create(&server, &[scene.letter("a", "a", 1), json!({"step_key": "other", "action": "noop"})]);
    scene.until_status(&server, "other", "COMPLETED");
    scene.until_status(&server, "a", "QUEUED");
    until("it says that the queue is away", || {
        let (status, answer) = get(&format!("{}/readyz", server.url));
        status == 503 && answer.to_string().contains("the queue (activemq) cannot be reached")
    });
    scene.home.ok(&["check"]);
    server.stop();
}
