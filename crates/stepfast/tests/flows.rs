//! Progress and tracked flows on the command line, with a server and without one.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Home, until};
use serde_json::{Value, json};

fn one(lines: Vec<Value>) -> Value {
    lines.into_iter().next().unwrap()
}

fn start(home: &Home, args: &[&str]) -> String {
    let mut all = vec!["flows", "start", "payment_processing", "--json"];
    all.extend(args);
    one(home.json(&all))["flow"]["id"].as_str().unwrap().into()
}

fn a_flow_from_its_start_to_its_end(home: &Home) {
    let steps =
        ["--entity", "payment:123", "--user", "ann", "--steps", "debited,credited,mailed?", "--by", "shop"];
    let id = start(home, &steps);
    assert_eq!(start(home, &steps), id, "it is gone on with");
    let told = home.ok(&["flows", "complete", &id, "debited"]);
    assert!(told.contains("running · 50 % · 1 of 2 steps is done; next: credited."), "{told}");
    let half = home.ok(&["progress", "--half-done"]);
    assert!(
        half.contains(&id) && half.contains("flow payment_processing") && half.contains("payment 123"),
        "{half}"
    );
    let unknown = home.fails(3, &["flows", "complete", &id, "refunded"]);
    assert!(
        unknown.contains("it has no step `refunded`; it has `debited`, `credited`, `mailed`"),
        "{unknown}"
    );
    let missing = home.fails(3, &["flows", "finish", &id]);
    assert!(missing.contains("`credited` is not done"), "{missing}");
    home.ok(&["flows", "fail", &id, "credited", "--message", "the bank is away"]);
    let failed = one(home.json(&["progress", &id, "--json"]));
    assert_eq!(
        (&failed["state"], &failed["failed"][0]["notes"][0]),
        (&json!("failed"), &json!("the bank is away"))
    );
    home.fails(1, &["progress", &id, "--watch"]);
    assert!(home.fails(3, &["flows", "retry", &id]).contains("nothing is declared that would retry it"));
    home.ok(&["flows", "update", &id, "--state", "running", "--message", "We try again"]);
    home.ok(&["flows", "complete", &id, "credited"]);
    home.ok(&["flows", "skip", &id, "mailed"]);
    let shown = home.ok(&["flows", "show", &id]);
    for part in [
        "completed payment_processing payment 123 · 100 %",
        "Everything is done.",
        "mailed (optional)",
        "state updated by",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(home.ok(&["progress", &id, "--watch"]).contains("100 % completed"));
    assert!(home.ok(&["progress"]).contains("nothing is half done"));
    let new = start(home, &["--entity", "payment:123", "--new"]);
    assert_ne!(new, id);
    assert!(home.ok(&["flows", "cancel", &new, "--dry-run"]).contains("pending"));
    assert!(home.ok(&["flows", "cancel", &new, "--why", "x"]).contains("cancelled"));
    let listed = home.ok(&["flows", "list", "--entity", "payment:123"]);
    assert!(listed.contains(&id) && listed.contains(&new), "{listed}");
    let live = home.ok(&["flows", "list", "--live"]);
    assert!(!live.contains(&id) && !live.contains(&new), "{live}");
}

#[test]
fn without_a_server() {
    let home = Home::new();
    a_flow_from_its_start_to_its_end(&home);
    home.ok(&["check"]);
    let purged = one(home.json(&["purge", "--days", "0", "--why", "x", "--json"]));
    assert_eq!(purged["flows"], 2, "{purged}");
    assert!(!home.ok(&["flows", "list"]).contains("payment_processing"));
}

#[test]
fn with_a_server() {
    let home = Home::new();
    let server = home.serve(&[]);
    a_flow_from_its_start_to_its_end(&home);
    let retry = r#"{"action": "echo", "arguments": {"n": 1}}"#;
    let id = start(&home, &["--flow-key", "7", "--steps", "a", "--retry", retry]);
    let asked = one(home.json(&["flows", "retry", &id, "--why", "again", "--json"]));
    let step = asked["step_id"].as_str().unwrap().to_string();
    until("the retry ran", || one(home.json(&["steps", "show", &step, "--json"]))["state"] == "completed");
    let far = home.ok(&["progress", &id, "--server", &server.url]);
    assert!(far.contains("flow payment_processing") && far.contains("pending    a"), "{far}");
    home.ok(&["flows", "list", "--server", &server.url, "--flow-key", "7"]);
    home.fails(3, &["progress", "00000000-0000-0000-0000-000000000001", "--server", &server.url]);
    server.stop();
    home.ok(&["check"]);
}

#[test]
fn what_cannot_be_typed_is_refused() {
    let home = Home::new();
    let start = ["flows", "start", "payment"];
    assert!(home.fails(3, &start).contains("key: it is not said which one"));
    let odd = [&start[..], &["--entity", "payment"]].concat();
    assert!(home.fails(3, &odd).contains("write TYPE:ID"));
    let retry = [&start[..], &["--flow-key", "1", "--retry", "echo"]].concat();
    assert!(home.fails(3, &retry).contains("--retry"));
    assert!(home.fails(3, &["flows", "show", "seven"]).contains("is not the id of a flow"));
    assert!(home.fails(3, &["flows", "list", "--state", "perhaps"]).contains("--state"));
    assert!(home.fails(3, &["progress", "seven"]).contains("is not the id of a workflow, a step or a flow"));
    assert!(home.fails(3, &["progress", "--limit", "0"]).contains("--limit 0 is not between 1 and 200"));
    home.fails(2, &["progress", "--watch"]);
}

const WAITS: &str = "workflow: pay
version: 1.0.0
expected_within: 1h
steps:
  - { key: debit, action: echo, arguments: {}, pause_after: { trigger: bank } }
  - { key: credit, action: echo, arguments: {} }
";

#[test]
fn a_workflow_says_what_it_waits_for() {
    let home = Home::new();
    let server = home.serve(&[]);
    let file = home.dir.path().join("pay.yaml");
    std::fs::write(&file, WAITS).unwrap();
    home.ok(&["apply", &file.display().to_string()]);
    let id = home.ok(&["start", "pay"]).trim().to_string();
    until("it waits", || one(home.json(&["progress", &id, "--json"]))["waits_for"].is_array());
    let shown = home.ok(&["progress", &id]);
    for part in
        ["50 %", "1 of 2 steps is done; next: credit.", "trigger `bank` behind step `debit`", "expected by"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    home.ok(&["trigger", &id, "bank"]);
    assert!(home.ok(&["progress", &id, "--watch"]).contains("Everything is done."));
    server.stop();
}
