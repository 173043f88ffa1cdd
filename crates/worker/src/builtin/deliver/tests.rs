//! `deliver` against real servers in this process.

use super::{Deliverer, Signing, run};
use crate::builtin::http::tests::stage::{Server, Then, answer, claim, client, words};
use crate::context::Context;
use engine::Clock;
use model::{Claim, Delivery, DeliveryStatus, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const SECONDS: i64 = 1_614_265_330;

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(SECONDS * 1_000_000 + 999_999)
    }
}

fn signing() -> Signing {
    let mut signing = Signing::default();
    signing.set("orders", &[SECRET, "the next secret, taken as it is"]).unwrap();
    signing
}

/// One run, and what it puts on record.
async fn delivered(claim: Claim, deliverer: &Deliverer) -> (String, Delivery) {
    let context = Context::alone(claim, Vec::new(), Arc::new(Still));
    let outcome = run(context.clone(), deliverer).await;
    (words(&outcome), context.take_delivery().expect("every run is on record"))
}

fn asked(url: &str, mut arguments: Value) -> Claim {
    arguments["url"] = url.into();
    Claim { action: "deliver".into(), ..claim(&arguments.to_string()) }
}

fn open(server: &Server) -> Deliverer {
    Deliverer { http: client(&[format!("127.0.0.1:{}", server.port)], &[]), signing: signing() }
}

fn url(server: &Server) -> String {
    format!("http://127.0.0.1:{}/in?secret=1", server.port)
}

async fn sent(server: &Server, arguments: Value) -> (String, Delivery) {
    delivered(asked(&url(server), arguments), &open(server)).await
}

/// `FAILURE 500 HTTP_ERROR`, with a dash for what is not known.
fn record(delivery: &Delivery) -> String {
    let code = delivery.http_code.map_or("-".into(), |code| code.to_string());
    let error = delivery.error_type.map_or("-", |error| error.word());
    format!("{} {code} {error}", delivery.status)
}

#[tokio::test]
async fn every_kind_of_answer_ends_the_run_its_way_and_is_on_record() {
    let table = [
        ("200 OK", "", "", "complete {", "SUCCESS 200 -"),
        ("204 No Content", "", "", "complete {", "SUCCESS 204 -"),
        ("200 OK", "", "thanks", "complete {", "SUCCESS 200 -"),
        ("200 OK", "", "{\"ack\":true}", "complete {", "SUCCESS 200 -"),
        ("200 OK", "", "{\"ack\":false}", "throttle 5", "DEFERRED 200 -"),
        ("202 Accepted", "", "{\"ack\":false,\"delaySeconds\":90}", "throttle 90", "DEFERRED 202 -"),
        ("429 Too Many Requests", "", "slowly", "throttle 30", "DEFERRED 429 HTTP_ERROR"),
        ("429 Too Many Requests", "Retry-After: 7\r\n", "", "throttle 7", "DEFERRED 429 HTTP_ERROR"),
        (
            "429 Too Many Requests",
            "Date: Mon, 16 Nov 2026 07:00:00 GMT\r\nRetry-After: Mon, 16 Nov 2026 07:01:30 GMT\r\n",
            "",
            "throttle 90",
            "DEFERRED 429 HTTP_ERROR",
        ),
        (
            "400 Bad Request",
            "",
            "no",
            "retry POST http://127.0.0.1:PORT/in answered 400 Bad Request: no",
            "FAILURE 400 HTTP_ERROR",
        ),
        (
            "404 Not Found",
            "",
            "",
            "retry POST http://127.0.0.1:PORT/in answered 404 Not Found",
            "FAILURE 404 HTTP_ERROR",
        ),
        ("410 Gone", "", "", "retry POST", "FAILURE 410 HTTP_ERROR"),
        (
            "500 Internal Server Error",
            "",
            "oh",
            "retry POST http://127.0.0.1:PORT/in answered 500 Internal Server Error: oh",
            "FAILURE 500 HTTP_ERROR",
        ),
        ("503 Service Unavailable", "Retry-After: 7\r\n", "", "retry POST", "FAILURE 503 HTTP_ERROR"),
        ("301 Moved Permanently", "", "", "retry POST", "FAILURE 301 HTTP_ERROR"),
    ];
    for (status, headers, body, wanted, on_record) in table {
        let server = Server::start(&answer(status, headers, body), Then::Close).await;
        let (got, delivery) = sent(&server, json!({"body": {"n": 1}})).await;
        assert!(got.starts_with(&wanted.replace("PORT", &server.port.to_string())), "{status}: {got}");
        assert_eq!(record(&delivery), on_record, "{status}");
        assert_eq!(delivery.response_body.as_deref(), Some(body), "{status}");
        assert_eq!(delivery.started_at, Still.now());
        assert!(!got.contains("secret"), "what follows the question mark is not told: {got}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_success_answers_with_no_more_than_its_status_and_how_long_it_took() {
    let server = Server::start(&answer("201 Created", "", "{\"much\": \"more\"}"), Then::Close).await;
    let (got, delivery) = sent(&server, json!({})).await;
    assert_eq!(got, format!("complete {{\"ms\":{},\"status\":201}}", delivery.duration_ms));
}

#[tokio::test]
async fn a_delivery_carries_its_id_its_time_its_attempt_and_its_signatures() {
    let server = Server::start(&answer("200 OK", "", ""), Then::Close).await;
    let own = json!({"body": {"b": 1.0}, "signing": "orders", "headers": {"X-One": "1"}});
    sent(&server, own).await;
    sent(&server, json!({"body": "<a/>", "content_type": "text/xml"})).await;
    let requests: Vec<String> = server.requests().iter().map(|r| r.replace('\r', "")).collect();
    let id = claim("{}").step.to_string();
    let signature = signing().sign("orders", &id, SECONDS, b"{\"b\":1.0}").unwrap();
    assert_eq!(signature.matches("v1,").count(), 2, "both secrets sign");
    for part in [
        "POST /in?secret=1 HTTP/1.1\n".to_string(),
        format!("webhook-id: {id}\n"),
        format!("webhook-timestamp: {SECONDS}\n"),
        format!("webhook-signature: {signature}\n"),
        "stepfast-attempt: 1\n".into(),
        "content-type: application/json\n".into(),
        "x-one: 1\n".into(),
        "\n\n{\"b\":1.0}".into(),
    ] {
        assert!(requests[0].contains(&part), "{part:?} is not in {:?}", requests[0]);
    }
    assert!(
        requests[1].contains("content-type: text/xml\n") && requests[1].ends_with("\n\n<a/>"),
        "{}",
        requests[1]
    );
    assert!(!requests[1].contains("webhook-signature"), "{}", requests[1]);
}

#[tokio::test]
async fn a_delivery_may_bring_its_own_id_and_what_signs_it() {
    let server = Server::start(&answer("200 OK", "", ""), Then::Close).await;
    let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let (got, _) =
        sent(&server, json!({"id": "alpha/12", "secrets": [SECRET, other], "body": {"n": 1}})).await;
    assert!(got.starts_with("complete"), "{got}");
    let request = server.requests()[0].replace('\r', "");
    let mut both = Signing::default();
    both.set("both", &[SECRET, other]).unwrap();
    let signature = both.sign("both", "alpha/12", SECONDS, b"{\"n\":1}").unwrap();
    assert!(request.contains("webhook-id: alpha/12\n"), "{request}");
    assert!(request.contains(&format!("webhook-signature: {signature}\n")), "{request}");
    let sealed = model::Sealed::written("k1", model::StepId::of(1).0, "AAAA");
    for (arguments, part) in [
        (json!({"id": "a\nb"}), "id: write 1 to 255 visible ASCII characters"),
        (json!({"id": ""}), "id: write 1 to 255 visible ASCII characters"),
        (json!({"secrets": [sealed]}), "secrets: one of them was not opened"),
        (json!({"secrets": ["hunter2"]}), "secrets: a secret has 7 bytes"),
        (json!({"secrets": []}), "secrets: write 1 to 8 secrets"),
        (json!({"secrets": [SECRET], "signing": "orders"}), "signing, secrets: write one of them"),
    ] {
        let (got, delivery) = sent(&server, arguments).await;
        assert!(got.starts_with("fail ") && got.contains(part) && !got.contains("hunter2"), "{got}");
        assert_eq!(record(&delivery), "FAILURE - VALIDATION");
    }
    assert_eq!(server.requests().len(), 1, "what cannot be signed is not sent");
}

#[tokio::test]
async fn an_envelope_says_what_it_is_and_whose() {
    let server = Server::start(&answer("200 OK", "", ""), Then::Close).await;
    let full =
        json!({"body": {"n": 7}, "envelope": true, "type": "order.paid", "source": "shop", "subject": "7"});
    let grouped =
        Claim { message_group: Some("customer-1".into()), attempt: 3, ..asked(&url(&server), full) };
    delivered(grouped, &open(&server)).await;
    sent(&server, json!({"body": "text", "envelope": true})).await;
    let id = claim("{}").step;
    let body = |n: usize| server.requests()[n].split_once("\r\n\r\n").unwrap().1.to_string();
    assert_eq!(
        body(0),
        format!(
            "{{\"id\":\"{id}\",\"type\":\"order.paid\",\"source\":\"shop\",\"subject\":\"7\",\"data\":{{\"n\":7}},\
             \"messageGroup\":\"customer-1\",\"attemptNumber\":3}}"
        )
    );
    assert_eq!(
        body(1),
        format!(
            "{{\"id\":\"{id}\",\"type\":\"deliver\",\"data\":\"text\",\"messageGroup\":null,\"attemptNumber\":1}}"
        )
    );
}

#[tokio::test]
async fn what_cannot_be_signed_is_not_sent() {
    let server = Server::start(&answer("200 OK", "", ""), Then::Close).await;
    let (got, delivery) = sent(&server, json!({"signing": "invoices-eu"})).await;
    assert_eq!(
        got,
        "fail there is no signing key `invoices-eu` here, so nothing was sent; write `[signing.invoices-eu]` with \
         `secret = \"whsec_…\"` into the configuration, or set STEPFAST_SIGNING_INVOICES_EU, wherever `deliver` runs"
    );
    assert_eq!(record(&delivery), "FAILURE - VALIDATION");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_target_that_hangs_is_left_when_the_time_is_up() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
    for (said, on_record) in [
        ("", "FAILURE - TIMEOUT"),
        ("HTTP/1.1 200 OK\r\n", "FAILURE - TIMEOUT"),
        (&format!("{head}some of it"), "FAILURE 200 TIMEOUT"),
    ] {
        let server = Server::start(said, Then::Hang).await;
        let (got, delivery) = sent(&server, json!({"timeout_ms": 80})).await;
        assert!(got.starts_with("retry ") && got.ends_with("no whole answer within 80 ms"), "{got}");
        assert_eq!(record(&delivery), on_record);
        assert!((80..5_000).contains(&delivery.duration_ms), "{}", delivery.duration_ms);
    }
    let slow = Server::start("HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\nnot h", Then::Hang).await;
    let (got, delivery) = sent(&slow, json!({})).await;
    assert!(got.ends_with("answered 404 Not Found: not h"), "{got}");
    assert_eq!(
        (record(&delivery), delivery.response_body.as_deref()),
        ("FAILURE 404 HTTP_ERROR".into(), Some("not h"))
    );
}

#[tokio::test]
async fn of_an_answer_without_end_the_beginning_is_kept() {
    for (status, wanted) in [("200 OK", "SUCCESS 200 -"), ("500 Oh", "FAILURE 500 HTTP_ERROR")] {
        let said = format!("HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\n\r\n");
        let server = Server::start(&said, Then::GoOn).await;
        let (got, delivery) = sent(&server, json!({})).await;
        assert_eq!(record(&delivery), wanted);
        assert_eq!(delivery.response_body.map(|body| body.len()), Some(64 << 10));
        assert!(got.len() < 800, "{got}");
    }
    let announced = Server::start("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n", Then::Close).await;
    let (got, delivery) = sent(&announced, json!({})).await;
    assert!(got.contains("the answer broke off: "), "{got}");
    assert_eq!(record(&delivery), "FAILURE 200 CONNECTION");
}

#[tokio::test]
async fn nobody_there_and_nonsense_are_failures_of_the_connection() {
    for said in ["", "nonsense\r\n\r\n"] {
        let server = Server::start(said, Then::Close).await;
        let (got, delivery) = sent(&server, json!({})).await;
        assert!(got.starts_with("retry ") && got.contains("no answer: "), "{said:?}: {got}");
        assert_eq!(record(&delivery), "FAILURE - CONNECTION");
    }
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let deliverer = Deliverer { http: client(&[nobody.to_string()], &[]), signing: signing() };
    let (got, delivery) = delivered(asked(&format!("http://{nobody}/"), json!({})), &deliverer).await;
    assert!(got.starts_with("retry ") && got.contains("Connection refused"), "{got}");
    assert_eq!(record(&delivery), "FAILURE - CONNECTION");
}

#[tokio::test]
async fn no_way_leads_to_a_private_address() {
    let inside = Server::start(&answer("200 OK", "", ""), Then::Close).await;
    let shut = Deliverer { http: client(&[], &["127.0.0.1"]), signing: signing() };
    for host in ["127.0.0.1", "[::1]", "169.254.169.254", "10.0.0.1", "2130706433", "innocent.test"] {
        let to = format!("http://{host}:{}/", inside.port);
        let (got, delivery) = delivered(asked(&to, json!({})), &shut).await;
        assert!(got.starts_with("fail ") && got.contains("[actions.http] allow = [\""), "{host}: {got}");
        assert_eq!(record(&delivery), "FAILURE - VALIDATION", "{host}");
    }
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let location = format!("Location: http://127.0.0.1:{}/there\r\n", inside.port);
        let server = Server::start(&answer(status, &location, ""), Then::Close).await;
        let (got, delivery) = sent(&server, json!({})).await;
        assert!(got.starts_with("retry ") && got.contains("/there; redirects are not followed"), "{got}");
        assert_eq!(delivery.status, DeliveryStatus::Failure);
    }
    assert!(inside.requests().is_empty());
}

#[tokio::test]
async fn a_target_that_always_asks_for_patience_gets_it_at_no_cost() {
    let server = Server::start(&answer("200 OK", "", "{\"ack\":false}"), Then::Close).await;
    let mut waits = Vec::new();
    for attempt in [3, 4, 5, 6, 7, 8, 900] {
        let claim = Claim { attempt, failed_attempts: 2, ..asked(&url(&server), json!({})) };
        waits.push(delivered(claim, &open(&server)).await.0);
    }
    let wanted = [5, 10, 20, 40, 60, 60, 60].map(|seconds| format!("throttle {seconds}"));
    assert_eq!(waits, wanted);
}

#[tokio::test]
async fn bad_arguments_are_told_all_at_once_and_nothing_is_sent() {
    let server = Server::start(&answer("200 OK", "", ""), Then::Close).await;
    let table = [
        (json!({"bdy": 1}), "unknown field `bdy`"),
        (json!({"timeout_ms": 0}), "timeout_ms: write 1 to 3600000"),
        (
            json!({"headers": {"Webhook-Id": "1"}}),
            "headers: `webhook-id` is set by `deliver` itself; leave it out",
        ),
        (json!({"headers": {"stepfast-attempt": "1"}}), "`stepfast-attempt` is set by `deliver` itself"),
        (json!({"headers": {"x": "a\r\nb: c"}}), "has a line break"),
        (
            json!({"content_type": "a\nb"}),
            "content_type: `a b` cannot be sent; write for example `application/json`",
        ),
        (json!({"content_type": "a/b", "headers": {"Content-Type": "c/d"}}), "write it once"),
        (json!({"type": "order.paid"}), "write `\"envelope\": true`"),
    ];
    for (arguments, wanted) in table {
        let (got, delivery) = sent(&server, arguments).await;
        assert!(got.starts_with("fail `deliver` does not understand its arguments: "), "{got}");
        assert!(got.contains(wanted), "{wanted} is not in {got}");
        assert_eq!(record(&delivery), "FAILURE - VALIDATION");
    }
    for (to, wanted) in [
        ("ftp://example.com/x", "url: `ftp` is not spoken here; write `http://` or `https://`"),
        ("file:///etc/passwd", "url: `file` is not spoken here"),
        ("http://me:secret@example.com/", "write them as the header `Authorization`"),
    ] {
        let (got, _) = delivered(asked(to, json!({"timeout_ms": 0})), &open(&server)).await;
        assert!(got.contains(wanted) && got.contains("; timeout_ms: ") && !got.contains("secret"), "{got}");
    }
    assert!(server.requests().is_empty());
}
