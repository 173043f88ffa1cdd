//! Lists that end before what is there does say so.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Home, post};
use serde_json::json;

/// What a list says beside its rows.
fn noted(home: &Home, args: &[&str]) -> String {
    let ran = home.run(args);
    let told = common::text(&ran.stderr);
    assert!(ran.status.success(), "{args:?}: {told}");
    told
}

#[test]
fn a_list_that_is_cut_says_that_there_are_more() {
    let home = Home::new();
    let server = home.serve(&["--workers", "0"]);
    let steps: Vec<_> = (0..3).map(|_| json!({"action": "ghost"})).collect();
    assert_eq!(post(&format!("{}/v1/steps", server.url), &json!({ "steps": steps })).0, 201);
    for key in ["1", "2", "3"] {
        let begun = json!({"namespace": "pay", "key": key});
        assert!(post(&format!("{}/v1/executions/begin", server.url), &begun).0 < 300);
    }
    for list in ["steps", "executions"] {
        for more in [&[][..], &["--json"], &["--server", &server.url]] {
            let told = |option: &[&str]| noted(&home, &[&[list, "list"], option, more].concat());
            assert_eq!(told(&["--limit", "2"]), "there are more; see --limit or --all\n", "{list} {more:?}");
            assert_eq!(told(&["--limit", "3"]), "", "{list} {more:?}");
            assert_eq!(told(&["--all"]), "", "{list} {more:?}");
        }
    }
    server.stop();
}

/// It waits for somebody.
const ASK: &str = "workflow: ask
version: 1.0.0
steps:
  - { key: submit, action: echo, arguments: { n: 1 }, pause_after: { trigger: boss } }
  - { key: end, action: echo, arguments: {} }
";

#[test]
fn pauses_that_are_cut_say_so_too() {
    let home = Home::new();
    std::fs::write(home.dir.path().join("ask.yaml"), ASK).unwrap();
    let server = home.serve(&[]);
    home.ok(&["apply", "ask.yaml"]);
    home.ok(&["start", "ask"]);
    home.ok(&["start", "ask"]);
    common::until("both wait", || home.json(&["pauses", "--json"]).len() == 2);
    assert_eq!(noted(&home, &["pauses", "--limit", "1"]), "there are more; see --limit\n");
    assert_eq!(noted(&home, &["pauses", "--limit", "2"]), "");
    server.stop();
}
