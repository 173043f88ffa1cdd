//! Subscriptions on the command line, on the database itself and through a server.
#![allow(clippy::unwrap_used)]

mod common;

use common::Home;

const ADD: [&str; 8] = [
    "subscriptions",
    "add",
    "--name",
    "shop",
    "--url",
    "https://example.com/hooks",
    "--type",
    "workflow.failed,step.*",
];

fn all_verbs(home: &Home) {
    let made = &home.json(&[&ADD[..], &["--label", "team=a", "--json"]].concat())[0];
    let (id, secret) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    assert!(secret.starts_with("whsec_"), "{made}");
    let listed = home.json(&["subscriptions", "list", "--json"]);
    assert_eq!(
        (listed.len(), &listed[0]["id"], &listed[0]["secret"]),
        (1, &made["id"], &serde_json::Value::Null)
    );
    let table = home.ok(&["subscriptions", "list"]);
    assert!(table.contains("workflow.failed step.*") && table.contains("team=a"), "{table}");
    let shown = home.ok(&["subscriptions", "show", id]);
    assert!(shown.contains("https://example.com/hooks") && !shown.contains("whsec_"), "{shown}");
    let renewed = home.ok(&["subscriptions", "change", id, "--renew-secret"]);
    assert!(renewed.trim().starts_with("whsec_") && renewed.trim() != secret, "{renewed}");
    let paused = &home.json(&["subscriptions", "change", id, "--pause", "--json"])[0];
    assert_eq!(paused["active"], false);
    let step = home.ok(&["subscriptions", "test", id]);
    let step = &home.json(&["steps", "show", step.trim(), "--json"])[0];
    assert_eq!((&step["action"], &step["relatable_id"]), (&"deliver".into(), &made["id"]));
    home.ok(&["subscriptions", "remove", id]);
    let told = home.fails(3, &["subscriptions", "remove", id]);
    assert!(told.contains("there is no subscription"), "{told}");
    let told = home.fails(3, &["subscriptions", "show", "nobody"]);
    assert!(told.contains("stepfast subscriptions list"), "{told}");
    let told = home.fails(3, &[&ADD[..4], &["--url", "ftp://x", "--type", "*"]].concat());
    assert!(told.contains("write a whole address"), "{told}");
}

#[test]
fn every_verb_works_without_a_server() {
    all_verbs(&Home::new());
}

#[test]
fn every_verb_works_with_a_server() {
    let home = Home::new();
    let server = home.serve(&["--workers", "0"]);
    all_verbs(&home);
    server.stop();
}
