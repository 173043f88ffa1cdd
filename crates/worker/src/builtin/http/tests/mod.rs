//! `http` against real servers in this process.

mod places;
pub mod stage;

use model::Outcome;
use serde_json::{Value, json};
use stage::{Server, Then, answer, answered, call, claim, client, words};
use std::sync::Arc;

#[tokio::test]
async fn an_answer_is_kept_with_its_status_its_useful_headers_and_its_body() {
    let said = answer(
        "201 Created",
        "Content-Type: application/json\r\nSet-Cookie: secret=1\r\nETag: \"7\"\r\n",
        "{\"id\":12345678901234567890123}",
    );
    let Outcome::Complete { response: Some(response) } = answered(&said, json!({})).await else {
        panic!("it does not complete");
    };
    assert_eq!(
        response,
        r#"{"status":201,"headers":{"content-type":"application/json","etag":"\"7\""},"body":{"id":12345678901234567890123}}"#
    );
    let text = answered(&answer("200 OK", "Content-Type: text/plain\r\n", "42"), json!({})).await;
    assert!(words(&text).ends_with(r#""body":"42"}"#), "{}", words(&text));
    let nothing = answered("HTTP/1.1 204 No Content\r\n\r\n", json!({"method": "delete"})).await;
    assert_eq!(words(&nothing), r#"complete {"status":204,"headers":{},"body":null}"#);
}

#[tokio::test]
async fn a_call_carries_what_the_step_says_and_the_steps_id() {
    let server = Server::start(&answer("200 OK", "", ""), Then::Close).await;
    call(&server, json!({})).await;
    let place = format!("127.0.0.1:{}", server.port);
    let written =
        format!(r#"{{"url": "http://{place}/in", "body": {{"b": 1.0, "a": 12345678901234567890123}}}}"#);
    super::run(claim(&written), Arc::new(client(&[place], &[]))).await;
    call(&server, json!({"method": "PUT", "body": "plain", "headers": {"X-One": "1", "user-agent": "me"}}))
        .await;
    let own = json!({"Idempotency-Key": "mine", "Content-Type": "application/x-ndjson"});
    call(&server, json!({"method": "PATCH", "body": "{}\n{}", "headers": own})).await;
    let requests: Vec<String> = server.requests().iter().map(|r| r.replace('\r', "")).collect();
    let key = format!("idempotency-key: {}\n", claim("{}").step);
    let has = |n: usize, parts: &[&str]| {
        for part in parts {
            assert!(requests[n].contains(part), "{part:?} is not in {:?}", requests[n]);
        }
    };
    let agent = concat!("user-agent: stepfast/", env!("CARGO_PKG_VERSION"), "\n");
    has(0, &["GET /in?secret=1 HTTP/1.1\n", &key, agent, &format!("host: 127.0.0.1:{}\n", server.port)]);
    has(
        1,
        &[
            "POST /in",
            "content-type: application/json\n",
            "\n\n{\"b\": 1.0, \"a\": 12345678901234567890123}",
            &key,
        ],
    );
    has(
        2,
        &[
            "PUT /in",
            "content-type: text/plain; charset=utf-8\n",
            "x-one: 1\n",
            "user-agent: me\n",
            "\n\nplain",
        ],
    );
    has(3, &["PATCH /in", "idempotency-key: mine\n", "content-type: application/x-ndjson\n", "\n\n{}\n{}"]);
    assert!(!requests[0].contains("accept-encoding"), "nothing is unpacked, so nothing packed is asked for");
    assert!(!requests[3].contains(&key) && !requests[2].contains(agent), "what the step sets is sent once");
}

#[tokio::test]
async fn every_kind_of_status_ends_the_step_its_way() {
    let table = [
        (
            "400 Bad Request",
            "",
            json!({}),
            "fail GET http://127.0.0.1:PORT/in answered 400 Bad Request: no good",
        ),
        ("404 Not Found", "", json!({}), "fail GET http://127.0.0.1:PORT/in answered 404 Not Found: no good"),
        ("404 Not Found", "", json!({"retry_on": [404]}), "retry GET http://127.0.0.1:PORT/in answered 404"),
        ("408 Request Timeout", "", json!({}), "retry GET http://127.0.0.1:PORT/in answered 408"),
        ("429 Too Many Requests", "", json!({}), "retry GET http://127.0.0.1:PORT/in answered 429"),
        ("429 Too Many Requests", "Retry-After: 7\r\n", json!({}), "throttle 7"),
        ("429 Too Many Requests", "Retry-After: 7\r\n", json!({"retry_on": [429]}), "retry 7 GET"),
        ("429 Too Many Requests", "Retry-After: 7\r\n", json!({"fail_on": [429]}), "fail GET"),
        (
            "500 Internal Server Error",
            "",
            json!({}),
            "retry GET http://127.0.0.1:PORT/in answered 500 Internal",
        ),
        ("500 Internal Server Error", "Retry-After: 7\r\n", json!({}), "retry 7 GET"),
        ("502 Bad Gateway", "", json!({"fail_on": [502]}), "fail GET http://127.0.0.1:PORT/in answered 502"),
        ("503 Service Unavailable", "", json!({}), "retry GET http://127.0.0.1:PORT/in answered 503"),
        ("503 Service Unavailable", "Retry-After: 999999999\r\n", json!({}), "throttle 86400"),
        (
            "503 Service Unavailable",
            "Date: Mon, 16 Nov 2026 07:00:00 GMT\r\nRetry-After: Mon, 16 Nov 2026 07:01:30 GMT\r\n",
            json!({}),
            "throttle 90",
        ),
        ("202 Accepted", "", json!({"retry_on": [202]}), "retry GET http://127.0.0.1:PORT/in answered 202"),
    ];
    for (status, headers, arguments, wanted) in table {
        let server = Server::start(&answer(status, headers, "no\r\n good"), Then::Close).await;
        let got = words(&call(&server, arguments).await);
        assert!(
            got.starts_with(&wanted.replace("PORT", &server.port.to_string())),
            "{status} {headers}: {got}"
        );
        assert!(!got.contains("secret"), "what follows the question mark is not told: {got}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_says_where_it_leads() {
    let elsewhere = Server::start(&answer("200 OK", "", ""), Then::Close).await;
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let location = format!("Location: http://127.0.0.1:{}/there\r\n", elsewhere.port);
        let got = words(&answered(&answer(status, &location, ""), json!({})).await);
        assert!(got.starts_with("fail "), "{got}");
        assert!(
            got.contains(&format!("points to http://127.0.0.1:{}/there; redirects", elsewhere.port)),
            "{got}"
        );
    }
    let bare = words(&answered("HTTP/1.1 304 Not Modified\r\n\r\n", json!({})).await);
    assert!(bare.starts_with("fail ") && bare.ends_with("answered 304 Not Modified"), "{bare}");
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_slow_server_is_left_when_the_time_is_up() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
    for said in ["", "HTTP/1.1 200 OK\r\n", head, &format!("{head}some of it")] {
        let server = Server::start(said, Then::Hang).await;
        let got = words(&call(&server, json!({"timeout_ms": 80})).await);
        assert!(
            got.starts_with("retry ") && got.ends_with("no whole answer within 80 ms"),
            "{said:?}: {got}"
        );
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_status_counts_even_if_its_body_never_ends() {
    let slow = Server::start("HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\nnot h", Then::Hang).await;
    let got = words(&call(&slow, json!({})).await);
    assert!(got.starts_with("fail ") && got.ends_with("answered 404 Not Found: not h"), "{got}");
    let chunked = "HTTP/1.1 500 Internal Server Error\r\nTransfer-Encoding: chunked\r\n\r\n";
    let endless = Server::start(chunked, Then::GoOn).await;
    let got = words(&call(&endless, json!({})).await);
    assert!(got.starts_with("retry ") && got.ends_with("xxx…") && got.len() < 800, "{got}");
}

#[tokio::test]
async fn no_more_is_read_than_the_step_asked_for() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let endless = Server::start(chunked, Then::GoOn).await;
    for arguments in [json!({}), json!({"max_response_bytes": 10_000})] {
        let max = arguments["max_response_bytes"].as_u64().unwrap_or(983_040);
        let got = words(&call(&endless, arguments).await);
        assert!(got.starts_with("fail "), "{got}");
        assert!(got.contains(&format!("the answer is longer than {max} bytes; ask for less")), "{got}");
    }
    // What is announced as too long is not read at all.
    let announced = Server::start("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", Then::Hang).await;
    let got = words(&call(&announced, json!({"max_response_bytes": 100})).await);
    assert!(got.contains("longer than 100 bytes"), "{got}");
    let just = answered(&answer("200 OK", "", &"1".repeat(100)), json!({"max_response_bytes": 100})).await;
    assert!(words(&just).starts_with("complete "), "{}", words(&just));
}

#[tokio::test]
async fn an_answer_that_breaks_off_or_never_comes_is_tried_again() {
    let short = answered("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", json!({})).await;
    assert!(words(&short).contains("the answer broke off: "), "{}", words(&short));
    assert!(words(&short).starts_with("retry "));
    for said in ["", "nonsense\r\n\r\n"] {
        let got = words(&answered(said, json!({})).await);
        assert!(got.starts_with("retry ") && got.contains("no answer: "), "{said:?}: {got}");
    }
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let arguments = json!({"url": format!("http://{nobody}/")}).to_string();
    let got = words(&super::run(claim(&arguments), Arc::new(client(&[nobody.to_string()], &[]))).await);
    assert!(got.starts_with("retry ") && got.contains("Connection refused"), "{got}");
}

/// What a step with these arguments is told, and that nothing was sent.
async fn refused(arguments: Value) -> String {
    let server = Server::start(&answer("200 OK", "", ""), Then::Close).await;
    let got = words(&call(&server, arguments).await);
    assert!(server.requests().is_empty(), "{got}");
    assert!(got.starts_with("fail `http` does not understand its arguments: "), "{got}");
    assert!(got.contains("; write for example {\"method\": \"POST\","), "{got}");
    got
}

#[tokio::test]
async fn no_header_can_smuggle_another_or_steer_the_connection() {
    for value in ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "a\u{7f}", "\u{1}"] {
        let got = refused(json!({"headers": {"X-Note": value}})).await;
        assert!(got.contains("headers: the value of `X-Note` has a line break"), "{got}");
    }
    for name in ["X Note", "X-Note\r\nX-Evil", "", "X:Y", "ż"] {
        let got = refused(json!({"headers": {name: "1"}})).await;
        assert!(got.contains("is no header's name; use letters, digits and `-`"), "{got}");
    }
    let steering = "Host Content-Length Transfer-Encoding Connection Keep-Alive Upgrade TE Trailer Expect
        Proxy-Authorization Proxy-Authenticate Proxy-Connection hOsT";
    for name in steering.split_whitespace() {
        let got = refused(json!({"headers": {name: "1"}})).await;
        assert!(got.contains(&format!("`{name}` is set by the client itself; leave it out")), "{got}");
    }
    let got = refused(json!({"headers": {"X-A": "1", "x-a": "2"}})).await;
    assert!(got.contains("is written twice"), "{got}");
}

#[tokio::test]
async fn bad_arguments_are_told_all_at_once_with_what_to_write() {
    let many: serde_json::Map<_, _> = (0..65).map(|n| (format!("x-{n}"), "1".into())).collect();
    let table = [
        (json!({"methud": "GET"}), "unknown field `methud`"),
        (json!({"method": "CONNECT"}), "method: write GET, POST"),
        (json!({"method": "GE T"}), "method: write GET, POST"),
        (json!({"timeout_ms": 0}), "timeout_ms: write 1 to 3600000"),
        (json!({"timeout_ms": 3_600_001}), "timeout_ms: write 1 to 3600000"),
        (json!({"max_response_bytes": 2_000_000}), "max_response_bytes: write at most 983040"),
        (json!({"retry_on": [99]}), "retry_on: 99 is no status of an answer; write 200 to 599"),
        (json!({"fail_on": [1000]}), "fail_on: 1000 is no status of an answer"),
        (json!({"retry_on": [500], "fail_on": [500]}), "500 is in retry_on and in fail_on"),
        (json!({"headers": many}), "headers: write at most 64"),
        (json!({"headers": {"x": 1}}), "expected a string"),
    ];
    for (arguments, wanted) in table {
        let got = refused(arguments).await;
        assert!(got.contains(wanted), "{wanted} is not in {got}");
    }
    let both = refused(json!({"timeout_ms": 0, "fail_on": [1]})).await;
    assert!(both.contains("fail_on: 1 is no status") && both.contains("; timeout_ms: "), "{both}");
}

#[tokio::test]
async fn only_whole_http_addresses_without_a_user_are_called() {
    let table = [
        ("ftp://example.com/x", "url: `ftp` is not spoken here; write `http://` or `https://`"),
        ("file:///etc/passwd", "url: `file` is not spoken here"),
        ("gopher://127.0.0.1:70/_x", "url: `gopher` is not spoken here"),
        ("/orders", "write a whole address, for example `https://example.com/orders`"),
        ("http://", "write a whole address"),
        ("http://a b/", "write a whole address"),
        ("http://me:secret@example.com/", "write them as the header `Authorization`"),
        ("http://me@example.com/", "write them as the header `Authorization`"),
    ];
    let http = Arc::new(client(&[], &[]));
    for (url, wanted) in table {
        let got = words(&super::run(claim(&json!({"url": url}).to_string()), http.clone()).await);
        assert!(got.starts_with("fail `http` does not understand its arguments: url: "), "{got}");
        assert!(got.contains(wanted) && !got.contains("secret"), "{wanted} is not in {got}");
    }
    let long = format!("http://example.com/{}", "x".repeat(9_000));
    let got = words(&super::run(claim(&json!({"url": long}).to_string()), http).await);
    assert!(got.contains("url: it has 9019 bytes; write at most 8192"), "{got}");
}

/// Parts of answers in any order: whatever a server makes of them, the step ends and keeps no more than it may.
#[tokio::test]
async fn s41_whatever_comes_back_the_step_ends_and_keeps_no_more_than_it_may() {
    let deep = "[".repeat(100_000);
    let long = "x".repeat(200_000);
    let parts = [
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 429 Later\r\n",
        "HTTP/1.1 999 What\r\n",
        "HTTP/9.9 200 OK\r\n",
        "HTTP/1.1 200\r\n",
        "Content-Type: application/json\r\n",
        "Content-Length: 5\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 99999999999999999999999\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Content-Encoding: gzip\r\n",
        "Retry-After: 99999999999999\r\n",
        "Location: http://169.254.169.254/\r\n",
        "X-\u{0}: \u{1b}[2J\r\n",
        "\r\n",
        "\r\n\r\n",
        "{\"a\": 1, \"a\": 2}",
        "ffffffffffffffff\r\n",
        "5\r\nhello\r\n0\r\n\r\n",
        "é\u{feff}\u{202e}",
        deep.as_str(),
        long.as_str(),
    ];
    // The same every time; each number chooses a few parts, which mostly begin as an answer does.
    let mut seed: usize = 41;
    let mut dice = |sides: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % sides
    };
    let mut kinds = std::collections::BTreeMap::new();
    for _ in 0..300 {
        let mut said = parts[dice(6)].to_string();
        (0..dice(6)).for_each(|_| said.push_str(parts[dice(parts.len())]));
        let outcome = answered(&said, json!({"timeout_ms": 5_000})).await;
        let told = words(&outcome);
        assert!(told.len() < (1 << 20) + 1_000, "{} bytes of {}", told.len(), said.len());
        if let Outcome::Complete { response: Some(text) } = &outcome {
            assert!(
                serde_json::from_str::<Value>(text).is_ok(),
                "what is kept can be read again: {text:.200}"
            );
        }
        if let Outcome::Throttle { after } | Outcome::Retry { after: Some(after), .. } = &outcome {
            assert!(after.as_secs() <= 86_400, "{told}");
        }
        *kinds.entry(told.split(' ').next().unwrap_or_default().to_string()).or_insert(0) += 1;
    }
    println!("{kinds:?}");
    assert!(kinds.len() > 1 && kinds.contains_key("complete"), "{kinds:?}");
}
