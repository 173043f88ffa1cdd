//! Deliveries as a worker in another process reports them, and as people list them.

use crate::place::Place;
use serde_json::{Value, json};

async fn call(place: &Place, call: &str, body: Value) -> Value {
    place.post(&format!("/v1/worker/{call}"), body.to_string()).await.ok()
}

/// Hand the step out again and report this of it.
async fn deliver(place: &Place, session: &mut Value, received: &mut u64, item: Value) -> Value {
    let ask = json!({"session": session, "actions": ["hook"], "capacity": 1, "received": received, "wait_ms": 5000});
    let page = call(place, "claim", ask).await;
    (*session, *received) = (page["session"].clone(), page["number"].as_u64().unwrap());
    let mut item = item;
    (item["step"], item["attempt"]) =
        (page["claims"][0]["step"].clone(), page["claims"][0]["attempt"].clone());
    let told = call(place, "report", json!({"session": session, "reports": [item]})).await;
    told["answers"][0].clone()
}

#[tokio::test]
async fn every_delivery_is_listed_page_by_page() {
    let place = Place::open();
    let id = place.create(r#"[{"action": "hook", "max_attempts": 9, "message_group": "a"}]"#).await.remove(0);
    let (mut session, mut received) = (Value::Null, 0);
    let retry = |n: usize| {
        let delivery = json!({"status": "FAILURE", "http_code": 500, "error_type": "HTTP_ERROR",
            "response_body": "x".repeat(n), "duration_ms": 12});
        json!({"outcome": "retry", "after_ms": 0, "message": "it answered 500", "delivery": delivery})
    };
    for n in [10, 100_000] {
        assert_eq!(deliver(&place, &mut session, &mut received, retry(n)).await["answer"], "applied");
    }
    let waits = json!({"outcome": "throttle", "after_ms": 1, "delivery": {"status": "DEFERRED", "http_code": 429, "duration_ms": 3}});
    deliver(&place, &mut session, &mut received, waits).await;
    let done = json!({"outcome": "complete", "delivery": {"status": "SUCCESS", "http_code": 200, "started_at": 7, "duration_ms": 5}});
    deliver(&place, &mut session, &mut received, done).await;
    let shown = place.until_state(&id, "completed").await;
    let words = |attempts: &Value| -> Vec<String> {
        let word = |a: &Value| {
            let d = &a["delivery"];
            let body = d["response_body"].as_str().map_or(0, str::len);
            format!("{} {} {} {} {body}", a["attempt"], a["outcome"], d["status"], d["http_code"])
                .replace('"', "")
        };
        attempts.as_array().unwrap().iter().map(word).collect()
    };
    let glance = words(&shown["attempts"]);
    assert_eq!(
        glance,
        [
            "1 retried FAILURE 500 10",
            "2 retried FAILURE 500 1000",
            "3 throttled DEFERRED 429 0",
            "4 completed SUCCESS 200 0"
        ]
    );
    assert_eq!(shown["failed_attempts"], 2);
    assert_eq!(shown["attempts"][0]["message"], "it answered 500");
    assert_eq!(shown["attempts"][3]["started_at"], "1970-01-01T00:00:00.000007Z");
    let first = place.get(&format!("/v1/steps/{id}/attempts?limit=2")).await.ok();
    assert_eq!(words(&first["attempts"]), ["1 retried FAILURE 500 10", "2 retried FAILURE 500 65536"]);
    let next = first["next"].as_str().unwrap();
    let second = place.get(&format!("/v1/steps/{id}/attempts?after={next}")).await.ok();
    assert_eq!((words(&second["attempts"]), &second["next"]), (glance[2..].to_vec(), &Value::Null));
    let page = place.get(&format!("/step-dispatcher/steps/{id}")).await;
    assert!(page.text().contains("DEFERRED 429 in 3 ms"), "{}", page.text());
    place.close().await;
}

#[tokio::test]
async fn a_delivery_that_cannot_be_read_is_refused_and_nothing_of_it_applied() {
    let place = Place::open();
    let id = place.create(r#"[{"action": "hook"}]"#).await.remove(0);
    let (mut session, mut received) = (Value::Null, 0);
    let odd = json!({"outcome": "complete", "delivery": {"status": "well", "duration_ms": 3}});
    let told = deliver(&place, &mut session, &mut received, odd).await;
    assert_eq!(
        (told["answer"].as_str(), told["detail"].as_str()),
        (Some("refused"), Some("delivery.status: `well` is not understood")),
        "{told}"
    );
    assert_eq!(place.step(&id).await["state"], "running");
    place.close().await;
}

#[tokio::test]
async fn a_list_of_attempts_says_what_is_wrong_with_the_question() {
    let place = Place::open();
    let id = place.create(r#"[{"action": "hook"}]"#).await.remove(0);
    let path = format!("/v1/steps/{id}/attempts");
    assert_eq!(place.get(&path).await.ok(), json!({"attempts": []}));
    let nobody = "/v1/steps/00000000-0000-0000-0000-000000000001/attempts";
    place.get(nobody).await.refused(404, "not_found");
    let told = place.get(&format!("{path}?after=seven")).await.refused(400, "invalid_request");
    assert!(
        told["detail"].as_str().unwrap().contains("`seven` is not the `next` of a page before"),
        "{told}"
    );
    place.get(&format!("{path}?limit=0")).await.refused(400, "invalid_request");
    place.get(&format!("{path}?order=asc")).await.refused(400, "invalid_request");
    place.post(&path, "{}").await.refused(405, "method_not_allowed");
    place.close().await;
}
