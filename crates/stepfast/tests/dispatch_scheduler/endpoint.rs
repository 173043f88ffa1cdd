//! The processing endpoint: whoever calls it must have been sent, for this attempt, and is told whether the message is done with.

use crate::common::{Server, client, get};
use crate::receiver::Receiver;
use crate::scene::{SECRET, Scene, create};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use transport::token::{TokenKey, sign};

fn call(server: &Server, body: &str, token: Option<&str>) -> (u16, Value) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url = format!("{}/api/dispatch/process", server.url);
    let mut request = client().post(url).header("content-type", "application/json").body(body.to_string());
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    runtime.block_on(async {
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    })
}

#[expect(clippy::disallowed_methods, reason = "a token has to be good now")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn only_whoever_was_sent_for_this_attempt_gets_through() {
    let scene = Scene::new(Receiver::glad(), "");
    let server = scene.serve();
    scene.home.ok(&["router", "suspend", "DISPATCH-POOL"]);
    create(&server, &[scene.letter("a", "a", 1)]);
    scene.until_status(&server, "a", "QUEUED");
    let (_, page) = get(&format!("{}/v1/steps?step_key=a", server.url));
    let id = page["steps"][0]["id"].as_str().unwrap();
    let key = TokenKey::new(SECRET.as_bytes()).unwrap();
    let other = TokenKey::new(&[7; 32]).unwrap();
    let body = json!({ "messageId": id }).to_string();
    let token = |attempt, expires_at| sign(&key, id, attempt, expires_at);
    let later = now() + 600;
    let told = |token: Option<&str>| {
        let (status, answer) = call(&server, &body, token);
        (status, answer["ack"].as_bool().unwrap())
    };
    assert_eq!(told(None), (401, false), "without a token");
    assert_eq!(told(Some("1.2.3")), (401, false), "none of ours");
    assert_eq!(told(Some(&sign(&other, id, 1, later))), (401, false), "forged");
    assert_eq!(told(Some(&token(1, now() - 1))), (401, false), "expired");
    assert_eq!(told(Some(&sign(&key, "another step", 1, later))), (401, false), "of another step");
    assert_eq!(told(Some(&token(2, later))), (200, true), "of an attempt that is not queued");
    let nobody = "00000000-0000-7000-8000-000000000007";
    let unknown =
        call(&server, &json!({ "messageId": nobody }).to_string(), Some(&sign(&key, nobody, 1, later)));
    assert_eq!((unknown.0, &unknown.1["message"]), (200, &json!("there is no such step")));
    assert_eq!(call(&server, "{\"messageId\": 7}", None).0, 400);
    assert!(scene.receiver.heard().is_empty(), "nothing was delivered");
    assert_eq!(told(Some(&token(1, later))), (200, true));
    scene.until_status(&server, "a", "COMPLETED");
    assert_eq!(told(Some(&token(1, later))), (200, true), "replayed");
    scene.home.ok(&["router", "activate", "DISPATCH-POOL"]);
    scene.home.ok(&["check"]);
    assert_eq!(scene.receiver.heard().len(), 1, "its own message came too late");
    server.stop();
}

#[test]
fn without_a_scheduler_there_is_no_endpoint() {
    let home = crate::common::Home::new();
    let server = home.serve(&[]);
    let (status, answer) = call(&server, "{}", None);
    assert_eq!((status, &answer["ack"]), (503, &json!(false)), "another node may have one: {answer}");
    assert!(home.fails(3, &["router", "status"]).contains("no router runs in this process"));
    server.stop();
}
