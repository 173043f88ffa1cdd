//! How often something wrong may be tried, and how often a key may call.

use crate::place::{Answer, Place, ask, peer};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use std::sync::Arc;
use std::time::Duration;
use stepfast_server::{self as server, Network, Site};
use store::{Clock, SimClock, SystemClock};

const WRONG: &str =
    "sf_00000000000000000000000000000001_0000000000000000000000000000000000000000000000000000000000000000";

async fn get(router: &Router, from: &str, key: &str) -> Answer {
    let request = Request::get("/v1/groups")
        .header("host", if from.starts_with("127.") { "localhost" } else { "steps.example" })
        .header("authorization", format!("Bearer {key}"))
        .extension(peer(from));
    ask(router, request.body(Body::empty()).unwrap()).await
}

fn at_a_clock(place: &Place, network: Network) -> (Router, Arc<SimClock>) {
    let clock = Arc::new(SimClock::at(SystemClock::default().now()));
    (server::router(Site { clock: clock.clone(), network, ..place.site() }), clock)
}

#[tokio::test]
async fn s4_of_1000_wrong_keys_a_few_are_looked_at_and_a_right_one_always() {
    let place = Place::open();
    let (right, _) = place.key("viewer").await;
    let (router, clock) = at_a_clock(&place, Network::default());
    let attacker = "203.0.113.9:40000";
    let mut statuses = Vec::new();
    for _ in 0..1_000 {
        statuses.push(get(&router, attacker, WRONG).await.status.as_u16());
    }
    assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 20);
    assert!(statuses[20..].iter().all(|status| *status == 429));
    let waits = get(&router, attacker, WRONG).await;
    assert_eq!(waits.headers["retry-after"], "3");
    let told = waits.refused(429, "too_many");
    assert!(told["detail"].as_str().unwrap().ends_with("came from this address; try again in 3 s"), "{told}");
    assert_eq!(get(&router, attacker, &right).await.status, 200, "a right key passes from there too");
    assert_eq!(get(&router, "203.0.113.10:40000", WRONG).await.status, 401, "others have their own");
    for _ in 0..30 {
        assert_eq!(
            get(&router, "127.0.0.1:40000", WRONG).await.status,
            401,
            "this machine waits for nothing"
        );
    }
    clock.advance(Duration::from_secs(3));
    assert_eq!(get(&router, attacker, WRONG).await.status, 401);
    assert_eq!(get(&router, attacker, WRONG).await.status, 429);
    place.close().await;
}

#[tokio::test]
async fn s4_a_network_of_version_6_is_one_address() {
    let place = Place::open();
    let (router, _) = at_a_clock(&place, Network::default());
    for n in 0..20 {
        assert_eq!(get(&router, &format!("[2001:db8::{n:x}]:1"), WRONG).await.status, 401);
    }
    assert_eq!(get(&router, "[2001:db8::ffff]:1", WRONG).await.status, 429);
    assert_eq!(get(&router, "[2001:db8:0:1::1]:1", WRONG).await.status, 401);
    place.close().await;
}

/// Nobody is asked whom a proxy speaks for, so nobody can say so either.
#[tokio::test]
async fn s42_who_names_another_address_is_counted_by_their_own() {
    let place = Place::open();
    let (router, _) = at_a_clock(&place, Network::default());
    let mut statuses = Vec::new();
    for n in 0..40 {
        let (name, value) = match n % 4 {
            0 => ("x-forwarded-for", format!("198.51.100.{n}")),
            1 => ("forwarded", format!("for=198.51.100.{n}")),
            2 => ("x-real-ip", format!("198.51.100.{n}")),
            _ => ("x-forwarded-for", "127.0.0.1".to_string()),
        };
        let request = Request::get("/v1/groups")
            .header("host", "steps.example")
            .header("authorization", format!("Bearer {WRONG}"))
            .header(name, value)
            .extension(peer("203.0.113.9:40000"));
        statuses.push(ask(&router, request.body(Body::empty()).unwrap()).await.status.as_u16());
    }
    assert_eq!((&statuses[..20], &statuses[20..]), (&[401; 20][..], &[429; 20][..]));
    assert_eq!(get(&router, "198.51.100.4:1", WRONG).await.status, 401, "who was named waits for nothing");
    place.close().await;
}

#[tokio::test]
async fn s4_every_way_in_counts() {
    let place = Place::open();
    let (right, _) = place.key("viewer").await;
    let (router, _) = at_a_clock(&place, Network::default());
    let id = "00000000-0000-0000-0000-000000000001";
    let try_one = async |n: usize| {
        let from = |request: axum::http::request::Builder| {
            request.header("host", "steps.example").extension(peer("203.0.113.9:40000"))
        };
        let request = match n % 4 {
            0 => from(Request::post(format!("/trigger/{id}/approve")))
                .header("content-type", "application/json")
                .header("authorization", "Bearer pt_wrong"),
            1 => from(Request::get(format!("/approve/{id}/approve?token=wrong"))),
            2 => from(Request::get("/v1/groups")).header("cookie", "stepfast_session=wrong"),
            _ => from(Request::post("/sign-in")).header("content-type", "application/x-www-form-urlencoded"),
        };
        let body = if n % 4 == 3 { format!("key={WRONG}") } else { String::new() };
        ask(&router, request.body(Body::from(body)).unwrap()).await.status.as_u16()
    };
    for n in 0..20 {
        assert_eq!(try_one(n).await, 401, "{n}");
    }
    for n in 20..24 {
        assert_eq!(try_one(n).await, 429, "{n}");
    }
    // A person sees the page all the same, and gets in with the right key.
    let enter = async |key: &str| {
        let request = Request::post("/sign-in")
            .header("host", "steps.example")
            .header("accept", "text/html")
            .header("content-type", "application/x-www-form-urlencoded")
            .extension(peer("203.0.113.9:40000"));
        ask(&router, request.body(Body::from(format!("key={key}"))).unwrap()).await
    };
    let again = enter(WRONG).await;
    assert_eq!((again.status.as_u16(), again.headers.contains_key("retry-after")), (429, true));
    assert!(again.text().contains("the key is not valid"), "{}", again.text());
    assert_eq!(enter(&right).await.status, 303);
    place.close().await;
}

#[tokio::test]
async fn s31_a_key_calls_as_often_as_the_configuration_says() {
    let place = Place::open();
    let (noisy, _) = place.key("viewer").await;
    let (quiet, _) = place.key("viewer").await;
    let network = Network { key_rate: Some("10/s".parse().unwrap()), ..Network::default() };
    let network =
        Network { key_rate: network.key_rate.map(|rate| model::Rate { burst: 30, ..rate }), ..network };
    let (router, clock) = at_a_clock(&place, network);
    let elsewhere = "203.0.113.9:40000";
    let mut good = 0;
    for _ in 0..100 {
        let answer = get(&router, elsewhere, &noisy).await;
        match answer.status.as_u16() {
            200 => good += 1,
            _ => {
                let told = answer.refused(429, "too_many");
                assert!(told["detail"].as_str().unwrap().contains("calls were made with this key"), "{told}");
                assert_eq!(answer.headers["retry-after"], "1");
            }
        }
    }
    assert_eq!(good, 30);
    assert_eq!(get(&router, elsewhere, &quiet).await.status, 200, "another key is not meant");
    assert_eq!(get(&router, "127.0.0.1:1", &noisy).await.status, 200, "nor is this machine");
    clock.advance(Duration::from_secs(1));
    let mut more = 0;
    for _ in 0..100 {
        more += usize::from(get(&router, elsewhere, &noisy).await.status == 200);
    }
    assert_eq!(more, 10);
    place.close().await;
}
