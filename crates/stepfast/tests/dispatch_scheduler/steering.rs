//! What is asked of a router that runs: inside a server, and in a process of its own.

use crate::common::{Home, Server, client, get, post, until};
use crate::receiver::Receiver;
use crate::scene::Scene;
use serde_json::{Value, json};

fn codes(pools: &Value) -> Vec<&str> {
    pools.as_array().unwrap().iter().map(|pool| pool["code"].as_str().unwrap()).collect()
}

#[test]
fn pools_and_breakers_of_a_servers_router_are_set_while_it_runs() {
    let scene =
        Scene::new(Receiver::glad(), "[router.pools.mail]\nconcurrency = 2\nstatus = \"SUSPENDED\"\n");
    let server = scene.serve();
    let at = |path: &str| format!("{}/v1/router{path}", server.url);
    let (_, status) = get(&at(""));
    assert_eq!(codes(&status["pools"]), ["DISPATCH-POOL", "mail"], "{status}");
    assert_eq!(status["pools"][1]["status"], "SUSPENDED");
    let (done, pools) = post(&at("/pools"), &json!({"pools": [{"code": "slow", "rate_per_minute": 60}]}));
    assert_eq!((done, codes(&pools)), (200, vec!["DISPATCH-POOL", "slow"]), "{pools}");
    let refused = [
        post(&at("/pools"), &json!({"pools": [{"code": 7}]})).0,
        post(&at("/pools/nobody/suspend"), &json!({})).0,
        post(&at("/pools/slow/stop"), &json!({})).0,
        post(&at("/breakers/reset"), &json!({"target": "http://nobody"})).0,
    ];
    assert_eq!(refused, [422, 404, 404, 404]);
    assert_eq!(post(&at("/breakers/reset"), &json!({})).0, 200);
    server.stop();
}

#[test]
fn a_router_of_its_own_answers_this_machine_alone_and_reads_its_pools_again() {
    let home = Home::new();
    let file = home.dir.path().join("stepfast.toml");
    let write =
        |code: &str| std::fs::write(&file, format!("[router.pools.{code}]\nconcurrency = 2\n")).unwrap();
    write("first");
    let args =
        ["router", "--queue-url", "stomp://u:p@127.0.0.1:1/q", "--target", "http://127.0.0.1:1", "--bind"];
    let refused = home.fails(3, &[&args[..], &["0.0.0.0:0"]].concat());
    assert!(refused.contains("on this machine alone"), "{refused}");
    let router = Server::spawn(home.command(&[&args[..], &["127.0.0.1:0"]].concat()));
    let shown = || get(&format!("{}/v1/router", router.url)).1;
    assert_eq!(codes(&shown()["pools"]), ["DISPATCH-POOL", "first"]);
    // What a page could make a browser send.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url = format!("{}/v1/router/pools/first/suspend", router.url);
    let form = client().post(&url).header("content-type", "application/x-www-form-urlencoded").body("");
    let stranger = client().post(&url).header("origin", "http://elsewhere").json(&json!({}));
    let other_name = client().get(format!("{}/v1/router", router.url)).header("host", "rebound.example");
    let told = runtime.block_on(async {
        let mut told = Vec::new();
        for request in [form, stranger, other_name] {
            told.push(request.send().await.unwrap().status().as_u16());
        }
        told
    });
    assert_eq!(told, [415, 403, 403]);
    let asked = |verb: &[&str]| home.json(&[&["--server", &router.url, "--json", "router"], verb].concat());
    assert_eq!(asked(&["suspend", "first"]), [json!({"code": "first", "active": false})]);
    assert_eq!(asked(&["reset-breakers"]), [json!({ "reset": null })]);
    assert_eq!(shown()["pools"][1]["status"], "SUSPENDED");
    write("second");
    until("it listens to signals", || {
        router.signal("HUP");
        codes(&shown()["pools"]) == ["DISPATCH-POOL", "second"]
    });
    write("third=");
    router.signal("HUP");
    assert_eq!(codes(&shown()["pools"]), ["DISPATCH-POOL", "second"], "a file with a fault changes nothing");
    router.stop();
}

/// Issue 5: a server on every address told routers on other machines to call their own.
#[test]
fn with_a_broker_a_server_on_every_address_has_to_say_where_it_is_found() {
    let broker = "queue-type = \"ACTIVEMQ\"\nqueue-url = \"stomp://u:p@127.0.0.1:1/q\"\n";
    let scene = Scene::new(Receiver::glad(), broker);
    let refused = scene.home.fails(3, &["serve", "--bind", "0.0.0.0:0"]);
    assert!(
        refused.contains("dispatch-scheduler.processing-endpoint: the server listens on every address"),
        "{refused}"
    );
    assert!(!refused.contains("u:p"), "{refused}");
}
