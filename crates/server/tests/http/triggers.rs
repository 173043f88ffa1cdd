//! Triggers: who may send, what they are told, and in which order that is found out.

use crate::place::{Answer, Place, ask, peer};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request};
use base64::Engine as _;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use std::sync::Arc;
use stepfast_server::{self as server, Site, TriggerAuthenticator, TriggerSecrets, TriggerShown};
use store::{Clock, SystemClock};

const SECRET: &str = "a secret that is long enough to sign";

fn yaml(workflow: &str, auth: &str) -> String {
    format!(
        "workflow: {workflow}
version: 1.0.0
steps:
  - key: ask
    action: echo
    arguments: {{ least: 3 }}
    pause_after:
      trigger: boss
      auth: {auth}
      payload: {{ schema: {{ type: object, required: [ok] }} }}
      resume_when: payload.ok == true
  - {{ key: end, action: echo, arguments: \"${{outputs.boss}}\" }}
"
    )
}

/// A server with secrets, and a workflow that waits.
async fn waiting(auth: &str) -> (Place, Router, String) {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let router = fresh(&place);
    place.define(yaml(&auth.replace('_', "-"), auth)).await.ok();
    let id = place.start(&auth.replace('_', "-"), json!({})).await;
    place.until_workflow(&id, "paused").await;
    (place, router, id)
}

/// A server that has not heard anything wrong yet.
fn fresh(place: &Place) -> Router {
    let mut secrets = TriggerSecrets::default();
    secrets.set("hmac", &[SECRET, "another secret that is on its way out"]).unwrap();
    server::router(Site { triggers: vec![Arc::new(secrets)], ..place.site() })
}

/// From elsewhere.
async fn send(router: &Router, path: &str, headers: &HeaderMap, body: &str) -> Answer {
    let mut request = Request::post(path)
        .header("host", "steps.example")
        .header("content-type", "application/json")
        .extension(peer("203.0.113.9:40000"))
        .body(Body::from(body.to_string()))
        .unwrap();
    request.headers_mut().extend(headers.clone());
    ask(router, request).await
}

fn signed(id: &str, body: &str, secret: &str) -> HeaderMap {
    let seconds = SystemClock::default().now().0 / 1_000_000;
    let mut mac: Hmac<sha2::Sha256> = Hmac::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{id}.{seconds}.{body}").as_bytes());
    let signature = base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes());
    let pairs = [
        ("webhook-id", id.to_string()),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", format!("v1,{signature}")),
    ];
    pairs.into_iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

fn bearer(key: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", format!("Bearer {key}").parse().unwrap());
    headers
}

#[tokio::test]
async fn a_signed_trigger_is_taken_once_and_every_status_is_told() {
    let (place, router, id) = waiting("hmac").await;
    let path = format!("/trigger/{id}/boss");
    let post =
        async |message: &str, body: &str| send(&router, &path, &signed(message, body, SECRET), body).await;
    let unfit = post("m1", "{}").await.refused(422, "payload_rejected");
    assert_eq!(unfit["detail"], "the payload does not fit: \"ok\" is a required property");
    let waits = post("m2", r#"{"ok": false}"#).await;
    assert_eq!((waits.status.as_u16(), &waits.json()["verdict"]), (202, &json!("rejected")));
    post("m3", "{").await.refused(400, "malformed_json");
    let taken = post("m4", r#"{"ok": true, "by": "ada"}"#).await;
    assert_eq!((taken.status.as_u16(), &taken.json()["verdict"]), (200, &json!("accepted")));
    for message in ["m4", "m5"] {
        let again = post(message, r#"{"ok": true}"#).await;
        assert_eq!((again.status.as_u16(), &again.json()["verdict"]), (200, &json!("duplicate")));
        assert!(again.json()["why"].as_str().unwrap().starts_with("already consumed"));
    }
    let done = place.until_workflow(&id, "succeeded").await;
    assert_eq!(done["output"], json!({"ok": true, "by": "ada"}));
    let sent = place.get(&format!("/v1/workflows/{id}/triggers")).await.ok();
    let lines: Vec<String> = sent["triggers"].as_array().unwrap().iter().rev().map(in_short).collect();
    assert_eq!(
        lines,
        [
            "m1 rejected signature of `hmac` 203.0.113.9",
            "m2 rejected signature of `hmac` 203.0.113.9",
            "m4 accepted signature of `hmac` 203.0.113.9",
            "m4 duplicate signature of `hmac` 203.0.113.9",
            "m5 duplicate signature of `hmac` 203.0.113.9",
        ]
    );
    place.close().await;
}

fn in_short(sent: &Value) -> String {
    let text = |field: &str| sent[field].as_str().unwrap_or_default().to_string();
    format!("{} {} {} {}", text("webhook_id"), text("verdict"), text("identity"), text("source"))
}

#[tokio::test]
async fn until_it_is_known_who_asks_nothing_is_told() {
    let (place, router, id) = waiting("hmac").await;
    let yes = r#"{"ok": true}"#;
    let ended = place.start("hmac", json!({})).await;
    place.post(&format!("/v1/workflows/{ended}/cancel"), r#"{"why": "for the test"}"#).await.ok();
    let paths = [
        format!("/trigger/{id}/boss"),
        format!("/trigger/{id}/nobody"),
        format!("/trigger/{ended}/boss"),
        "/trigger/00000000-0000-0000-0000-000000000001/boss".to_string(),
        "/trigger/what/boss".to_string(),
    ];
    let unsigned = HeaderMap::new();
    let forged = signed("m", yes, "not the secret, but as long");
    for shown in [unsigned, forged, bearer("sf_wrong"), bearer("pt_wrong")] {
        let (mut told, router) = (Vec::new(), fresh(&place));
        for path in &paths {
            let answer = send(&router, path, &shown, yes).await;
            answer.refused(401, "unauthorized");
            told.push((answer.headers.clone(), answer.text().to_string()));
        }
        assert!(told.iter().all(|one| *one == told[0]), "all are answered alike: {told:?}");
    }
    send(&router, &paths[0], &signed("m", "{}", SECRET), yes).await.refused(401, "unauthorized");
    let wrong =
        send(&router, &paths[1], &signed("m", yes, SECRET), yes).await.refused(409, "no_such_trigger");
    assert!(wrong["detail"].as_str().unwrap().contains("it waits for `boss`"), "{wrong}");
    // The address of this machine is worth nothing here.
    let here =
        Request::post(&paths[0]).header("host", "localhost:7837").header("content-type", "application/json");
    let here = here.extension(peer("127.0.0.1:40000")).body(Body::from(yes)).unwrap();
    ask(&router, here).await.refused(401, "unauthorized");
    assert_eq!(place.until_workflow(&id, "paused").await["message"], "it waits for the trigger `boss`");
    place.close().await;
}

/// Whatever stands where a signature should be: it is none, and nothing falls over it.
#[tokio::test]
async fn s21_a_signature_that_cannot_be_read_is_none() {
    let (place, _, id) = waiting("hmac").await;
    let (path, yes) = (format!("/trigger/{id}/boss"), r#"{"ok": true}"#);
    let good = signed("m1", yes, SECRET);
    let signature = good["webhook-signature"].to_str().unwrap().to_string();
    let short = &signature[..signature.len() - 5];
    let many = "v1,AAAA ".repeat(1_000);
    let bad: [(&str, &[u8]); 16] = [
        ("webhook-signature", b""),
        ("webhook-signature", b"v1"),
        ("webhook-signature", b"v1,"),
        ("webhook-signature", b"v1,=="),
        ("webhook-signature", b"v1,\xff\xfe"),
        ("webhook-signature", b"v1,not base64!"),
        ("webhook-signature", short.as_bytes()),
        ("webhook-signature", many.as_bytes()),
        ("webhook-signature", &signature.as_bytes()[3..]),
        ("webhook-id", b""),
        ("webhook-id", b"m2"),
        ("webhook-id", b"\xff"),
        ("webhook-timestamp", b""),
        ("webhook-timestamp", b"soon"),
        ("webhook-timestamp", b"-1"),
        ("webhook-timestamp", b"99999999999999999999999999"),
    ];
    for (name, value) in bad {
        let router = fresh(&place);
        let mut headers = good.clone();
        headers.insert(HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap());
        send(&router, &path, &headers, yes).await.refused(401, "unauthorized");
        headers.remove(name);
        send(&router, &path, &headers, yes).await.refused(401, "unauthorized");
    }
    assert_eq!(send(&fresh(&place), &path, &good, yes).await.ok()["verdict"], "accepted");
    place.close().await;
}

/// What was signed are the bytes, whatever they are read as: the same data in other signs is another message.
#[tokio::test]
async fn s23_the_very_bytes_are_verified_and_read_once() {
    let (place, router, id) = waiting("hmac").await;
    let path = format!("/trigger/{id}/boss");
    let alike = [r#"{"ok":true}"#, r#"{ "ok" : true }"#, r#"{"\u006fk": true}"#, "{\"ok\": true}\n"];
    for other in alike {
        let message = signed("m1", r#"{"ok": true}"#, SECRET);
        send(&router, &path, &message, other).await.refused(401, "unauthorized");
    }
    // What is written twice counts as it is read by whoever decides and by whoever gets it: once, the last.
    let odd = " {\t\"\\u006fk\" :\n false, \"ok\": true } ";
    let answer = send(&router, &path, &signed("m2", odd, SECRET), odd).await.ok();
    assert_eq!(answer["verdict"], "accepted");
    let done = place.until(&format!("/v1/workflows/{id}"), |shown| shown["state"] == "succeeded").await;
    assert_eq!(done["output"].to_string(), r#"{"ok":true}"#);
    let shown = place.get(&format!("/v1/workflows/{id}")).await;
    assert!(!shown.text().contains("u006fk"), "it is not read a second time: {}", shown.text());
    place.close().await;
}

#[tokio::test]
async fn s42_a_forwarded_address_is_not_on_record() {
    let (place, router, id) = waiting("hmac").await;
    let body = r#"{"ok": true}"#;
    let mut headers = signed("m1", body, SECRET);
    headers.insert("x-forwarded-for", "198.51.100.7".parse().unwrap());
    headers.insert("forwarded", "for=198.51.100.7".parse().unwrap());
    send(&router, &format!("/trigger/{id}/boss"), &headers, body).await.ok();
    let sent = place.get(&format!("/v1/workflows/{id}/triggers")).await;
    assert_eq!(in_short(&sent.ok()["triggers"][0]), "m1 accepted signature of `hmac` 203.0.113.9");
    assert!(!sent.text().contains("198.51.100.7"), "{}", sent.text());
    place.close().await;
}

#[tokio::test]
async fn an_api_key_that_may_operate_is_always_taken() {
    let (place, router, id) = waiting("hmac").await;
    let (operator, _) = place.key("operator").await;
    let (viewer, _) = place.key("viewer").await;
    let (path, yes) = (format!("/trigger/{id}/boss"), r#"{"ok": true}"#);
    send(&router, &path, &bearer(&viewer), yes).await.refused(403, "forbidden");
    let nowhere = "/trigger/00000000-0000-0000-0000-000000000001/boss";
    send(&router, nowhere, &bearer(&operator), yes).await.refused(404, "not_found");
    send(&router, "/trigger/what/boss", &bearer(&operator), yes).await.refused(404, "not_found");
    assert_eq!(send(&router, &path, &bearer(&operator), yes).await.ok()["verdict"], "accepted");
    let sent = place.get(&format!("/v1/workflows/{id}/triggers")).await.ok();
    assert!(sent["triggers"][0]["identity"].as_str().unwrap().starts_with("the operator (key "));
    place.close().await;
}

#[tokio::test]
async fn a_token_is_for_its_own_pause_and_a_new_one_takes_its_place() {
    let (place, router, id) = waiting("token").await;
    let (path, yes) = (format!("/trigger/{id}/boss"), r#"{"ok": true}"#);
    let fresh = async || {
        let made = place.post(&format!("/v1/workflows/{id}/triggers/boss/token"), "{}").await.ok();
        assert_eq!(made["page"], format!("/approve/{id}/boss?token={}", made["token"].as_str().unwrap()));
        made["token"].as_str().unwrap().to_string()
    };
    let (first, second) = (fresh().await, fresh().await);
    send(&router, &path, &bearer(&first), yes).await.refused(401, "unauthorized");
    send(&router, &path, &signed("m", yes, SECRET), yes).await.refused(401, "unauthorized");
    assert_eq!(send(&router, &path, &bearer(&second), yes).await.ok()["verdict"], "accepted");
    assert_eq!(send(&router, &path, &bearer(&second), yes).await.ok()["verdict"], "duplicate");
    place.close().await;
}

#[tokio::test]
async fn early_and_late_are_told_apart() {
    let (place, router, _) = waiting("hmac").await;
    let yaml = yaml("hmac", "hmac").replace("version: 1.0.0", "version: 2.0.0");
    let yaml = yaml.replace("action: echo\n    arguments: { least: 3 }", "wait: 300ms");
    place.define(yaml).await.ok();
    let id = place.start("hmac", json!({})).await;
    let (path, yes) = (format!("/trigger/{id}/boss"), r#"{"ok": true}"#);
    let early = send(&router, &path, &signed("m1", yes, SECRET), yes).await;
    assert_eq!((early.status.as_u16(), &early.json()["verdict"]), (202, &json!("early")));
    place.until_workflow(&id, "succeeded").await;
    let gone = place.start("hmac", json!({})).await;
    place.post(&format!("/v1/workflows/{gone}/cancel"), r#"{"why": "x"}"#).await.ok();
    let path = format!("/trigger/{gone}/boss");
    send(&router, &path, &signed("m2", yes, SECRET), yes).await.refused(410, "late");
    place.close().await;
}

#[tokio::test]
async fn whoever_sends_more_than_waits_for_a_pause_is_told_when_to_come_again() {
    let place = Place::open();
    place.define(yaml("hmac", "hmac")).await.ok();
    // Nobody works, so the pause does not begin.
    let id = place.start("hmac", json!({})).await;
    let send = async || place.post(&format!("/v1/workflows/{id}/triggers/boss"), r#"{"ok": true}"#).await;
    for _ in 0..16 {
        assert_eq!(send().await.status, 202);
    }
    let more = send().await;
    more.refused(429, "too_many");
    assert_eq!(more.headers["retry-after"], "30");
    place.close().await;
}

struct Word;

impl TriggerAuthenticator for Word {
    fn identify(&self, shown: &TriggerShown) -> Option<String> {
        let word = shown.headers.get("x-word")?.to_str().ok()?;
        (word == "sesame").then(|| format!("{} knows the word", shown.trigger))
    }
}

#[tokio::test]
async fn whoever_embeds_the_server_adds_a_way_of_their_own() {
    let (place, _, id) = waiting("api_key").await;
    let router = server::router(Site { triggers: vec![Arc::new(Word)], ..place.site() });
    let path = format!("/trigger/{id}/boss");
    let mut headers = HeaderMap::new();
    headers.insert("x-word", "mellon".parse().unwrap());
    send(&router, &path, &headers, r#"{"ok": true}"#).await.refused(401, "unauthorized");
    headers.insert("x-word", "sesame".parse().unwrap());
    assert_eq!(send(&router, &path, &headers, r#"{"ok": true}"#).await.ok()["verdict"], "accepted");
    place.close().await;
}

#[tokio::test]
async fn what_is_waited_for_is_listed_and_a_person_may_force_it() {
    let (place, _, id) = waiting("api_key").await;
    let pauses = place.get("/v1/pauses").await.ok()["pauses"].clone();
    let pause = &pauses[0];
    assert_eq!(
        (&pause["workflow_id"], &pause["trigger"], &pause["step"]),
        (&json!(id), &json!("boss"), &json!("ask"))
    );
    assert_eq!(
        (&pause["kind"], &pause["state"], &pause["workflow_state"]),
        (&json!("trigger"), &json!("waiting"), &json!("paused"))
    );
    assert_eq!(place.get("/v1/pauses?due_within=60").await.ok()["pauses"], json!([]));
    assert_eq!(place.get("/v1/pauses?due_within=700000").await.ok()["pauses"], pauses);
    assert_eq!(place.get(&format!("/v1/pauses?workflow={id}")).await.ok()["pauses"], pauses);
    assert_eq!(place.get(&format!("/v1/workflows/{id}")).await.ok()["pauses"], pauses);
    assert_eq!(place.get(&format!("/v1/workflows/{id}")).await.ok()["paused_by"], "trigger");
    let resume = format!("/v1/workflows/{id}/resume");
    let refused = place.post(&resume, "{}").await.refused(409, "refused");
    assert!(refused["detail"].as_str().unwrap().contains("--force"), "{refused}");
    place.post(&resume, r#"{"payload": {}}"#).await.refused(422, "invalid_request");
    place.post(&resume, r#"{"force": true, "payload": {}}"#).await.refused(409, "refused");
    place.post(&resume, r#"{"force": true, "payload": {"ok": 7}, "why": "the boss is away"}"#).await.ok();
    assert_eq!(place.until_workflow(&id, "succeeded").await["output"], json!({"ok": 7}));
    let sent = place.get(&format!("/v1/workflows/{id}/triggers")).await.ok();
    assert_eq!(sent["triggers"][0]["why"], "forced: the boss is away");
    place.close().await;
}

#[tokio::test]
async fn a_token_in_a_notice_is_shown_to_nobody() {
    let place = Place::open();
    let yaml = "workflow: told\nversion: 1.0.0\nsteps:\n  - { key: a, wait: 1ms, pause_after: { trigger: go, auth: token, notify: \"https://example.com/x\" } }\n";
    place.define(yaml).await.ok();
    let id = place.start("told", json!({})).await;
    place.until_workflow(&id, "paused").await;
    let steps = place.get("/v1/steps?action=deliver").await.ok();
    let body = &steps["steps"][0]["arguments"]["body"];
    assert_eq!(
        (&body["token"], &body["page"]),
        (&json!("[secret]"), &json!(format!("/approve/{id}/go?token=[secret]")))
    );
    assert_eq!(body["answer"], format!("/trigger/{id}/go"));
    place.close().await;
}

/// A signature says nothing of the place: whoever recorded one approval could have sent it to every other run that waits.
#[tokio::test]
async fn a_signed_trigger_counts_where_it_came_first_and_nowhere_else() {
    let (place, router, id) = waiting("hmac").await;
    let other = place.start("hmac", json!({})).await;
    place.until_workflow(&other, "paused").await;
    let body = r#"{"ok": true}"#;
    let message = signed("m1", body, SECRET);
    let sent = async |id: &str, trigger: &str| {
        send(&router, &format!("/trigger/{id}/{trigger}"), &message, body).await
    };
    assert_eq!(sent(&id, "boss").await.ok()["verdict"], "accepted");
    sent(&other, "boss").await.refused(401, "unauthorized");
    sent(&id, "chief").await.refused(401, "unauthorized");
    // Nor at a node that has just started.
    let anew = send(&fresh(&place), &format!("/trigger/{other}/boss"), &message, body).await;
    anew.refused(401, "unauthorized");
    assert_eq!(sent(&id, "boss").await.ok()["verdict"], "duplicate", "the same again is the same");
    let waits = place.get(&format!("/v1/workflows/{other}")).await.ok();
    assert_eq!(waits["state"], "paused");
    place.close().await;
}

/// A key of somebody nobody knows would stand in the way of the one who may use it, and be kept for months.
#[tokio::test]
async fn before_it_is_known_who_asks_no_key_of_theirs_counts() {
    let (place, router, id) = waiting("hmac").await;
    let path = format!("/trigger/{id}/boss");
    let body = r#"{"ok": true}"#;
    let mut stranger = HeaderMap::new();
    stranger.insert("idempotency-key", "order-7".parse().unwrap());
    send(&router, &path, &stranger, body).await.refused(401, "unauthorized");
    send(&router, "/api/dispatch/process", &stranger, body).await;
    let kept = place.get("/v1/executions").await.ok();
    assert_eq!(kept["executions"], json!([]));
    let mut headers = signed("m1", body, SECRET);
    headers.extend(stranger);
    assert_eq!(send(&router, &path, &headers, body).await.ok()["verdict"], "accepted");
    place.close().await;
}

/// What a token opens is told to whoever may operate, once, and kept nowhere.
#[tokio::test]
async fn a_token_asked_for_under_a_key_is_kept_nowhere() {
    let (place, _, id) = waiting("token").await;
    let asked = async || {
        let request = Request::post(format!("/v1/workflows/{id}/triggers/boss/token"))
            .header("host", "localhost:7837")
            .header("content-type", "application/json")
            .header("idempotency-key", "k");
        place.send(request.body(Body::from("{}")).unwrap()).await
    };
    let token = asked().await.ok()["token"].as_str().unwrap().to_string();
    asked().await.refused(409, "answer_not_kept");
    let executions = place.site().database.browse().unwrap();
    let kept = executions
        .execution(&model::ExecutionName::new("http POST /v1/workflows/{id}/triggers/{key}/token", "k"));
    assert!(!format!("{:?}", kept.unwrap().unwrap()).contains(&token), "the token is on no record");
    place.close().await;
}

struct Falls;

impl TriggerAuthenticator for Falls {
    fn identify(&self, _: &TriggerShown) -> Option<String> {
        panic!("at /somewhere/inside")
    }
}

#[tokio::test]
async fn a_request_that_falls_over_is_answered_and_says_nothing_of_the_inside() {
    let (place, _, id) = waiting("api_key").await;
    let router = server::router(Site { triggers: vec![Arc::new(Falls)], ..place.site() });
    for _ in 0..2 {
        let fell = send(&router, &format!("/trigger/{id}/boss"), &HeaderMap::new(), "{}").await;
        fell.refused(503, "unavailable");
        assert!(!fell.text().contains("inside"), "{}", fell.text());
    }
    place.close().await;
}
