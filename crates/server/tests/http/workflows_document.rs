//! Every `curl` line of `docs/workflows-api.md` is done here, in its order.

use crate::place::{Place, peer};
use axum::body::Body;
use axum::http::Request;
use serde_json::Value;
use tower::ServiceExt;

const DOCUMENT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workflows-api.md"));

/// The text between a fence with this name and its end.
fn fenced(name: &str) -> Vec<&'static str> {
    let fence = format!("```{name}\n");
    let blocks = DOCUMENT.split(&fence).skip(1);
    blocks.map(|block| block.split("```").next().unwrap()).collect()
}

/// A line in words; what is quoted is one word.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (n, part) in line.split('\'').enumerate() {
        match n % 2 {
            0 => words.extend(part.split_whitespace().map(String::from)),
            _ => words.push(part.into()),
        }
    }
    words
}

/// What `curl` would send.
fn request(line: &str, file: &str) -> Request<Body> {
    let (mut path, mut method, mut body) = (String::new(), "GET", String::new());
    let mut headers = Vec::new();
    let mut words = words(line).into_iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-N" => {}
            "-X" => assert_eq!(words.next().unwrap(), "POST"),
            "-H" => headers.push(words.next().unwrap()),
            "-d" | "--data-binary" => {
                let text = words.next().unwrap();
                (method, body) = ("POST", if text == "@order.yaml" { file.into() } else { text });
            }
            url => path = url.strip_prefix("localhost:7837").expect("an address").into(),
        }
    }
    let mut request = Request::builder().method(method).uri(path).header("host", "localhost:7837");
    for header in &headers {
        let (name, value) = header.split_once(": ").unwrap();
        request = request.header(name, value);
    }
    request.extension(peer("127.0.0.1:40000")).body(Body::from(body)).unwrap()
}

#[tokio::test]
async fn every_line_of_the_document_works() {
    let place = Place::open();
    let file = fenced("yaml")[0];
    let lines = fenced("sh").into_iter().flat_map(str::lines).filter(|line| line.starts_with("curl "));
    let mut id = String::new();
    let mut done = Vec::new();
    for line in lines {
        let line = line.replace("$ID", &id);
        if line.contains("-N") {
            // It never ends.
            let response = place.router.clone().oneshot(request(&line, file)).await.unwrap();
            assert_eq!(response.status(), 200, "{line}");
            continue;
        }
        let answer = place.send(request(&line, file)).await;
        assert!(answer.status.is_success(), "{line}: {} {}", answer.status, answer.text());
        if let Ok(Value::Object(told)) = serde_json::from_slice(&answer.bytes)
            && told.contains_key("dispatch_group")
            && id.is_empty()
        {
            id = told["id"].as_str().unwrap().to_string();
        }
        done.push(line);
    }
    assert!(done.len() >= 15, "{done:#?}");
    place.close().await;
}

#[test]
fn every_route_of_workflows_is_in_the_document() {
    for route in stepfast_server::routes() {
        let is_ours = ["/v1/definitions", "/v1/workflows", "/v1/events"]
            .iter()
            .any(|start| route.path.starts_with(start));
        let named = format!("`{} {}`", route.method, route.path);
        assert!(!is_ours || DOCUMENT.contains(&named), "{named} is not in the document");
    }
}
