//! Workflows on the command line, with a server and without one.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Home, until};
use serde_json::{Value, json};
use std::path::PathBuf;

const ORDER: &str = "workflow: order
version: 1.0.0
secrets: [input.card]
steps:
  - { key: check, action: echo, arguments: { id: \"${input.id}\", card: \"${input.card}\" } }
  - { key: gift, action: echo, when: has(input.gift) }
  - { key: pack, action: noop, each: input.items, gather: counts }
  - { key: end, action: echo, arguments: { packed: \"${outputs.pack.completed}\" } }
";
const INPUT: &str = r#"{"id": 7, "card": "4111-1111", "items": [1, 2, 3]}"#;
const FAULTY: &str = "workflow: faulty\nversion: 1.0.0\nsteps:\n  - { key: a, actoin: noop }\n";
const WAITS: &str = "workflow: waits\nversion: 1.0.0\nsteps:\n  - { key: rest, wait: 1h }\n";

impl Home {
    fn file(&self, name: &str, text: &str) -> String {
        let path: PathBuf = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
    fn started(&self, args: &[&str]) -> String {
        self.ok(&[&["start"], args].concat()).trim().to_string()
    }
    fn states_of(&self, id: &str) -> Vec<String> {
        let show = &self.json(&["show", id, "--json"])[0];
        let steps = show["steps"].as_array().unwrap();
        steps
            .iter()
            .map(|s| format!("{} {}", s["key"].as_str().unwrap(), s["state"].as_str().unwrap()))
            .collect()
    }
}

/// `run` takes a database of its own only where none is named.
fn run_alone(home: &Home, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = home.command(&[&["run"], args].concat());
    let ran = command.env_remove("STEPFAST_DB").output().unwrap();
    (ran.status.code(), common::text(&ran.stdout), common::text(&ran.stderr))
}

#[test]
fn a_file_is_run_from_nothing_to_its_answer() {
    let home = Home::new();
    let order = home.file("order.yaml", ORDER);
    let (code, out, err) = run_alone(&home, &[&order, "--input", INPUT]);
    assert_eq!((code, serde_json::from_str(&out).ok()), (Some(0), Some(json!({"packed": 3}))), "{err}");
    assert!(err.contains("order · gift: skipped: condition_false"), "{err}");
    assert!(err.contains("order: succeeded"), "{err}");
    let (code, out, _) = run_alone(&home, &[&order, "--input", INPUT, "--json"]);
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &shown["state"], &shown["output"]),
        (Some(0), &json!("succeeded"), &json!({"packed": 3}))
    );
    assert_eq!(shown["steps"][2]["items"]["completed"], 3);
    assert!(!out.contains("4111-1111"), "a secret is not shown: {out}");
    assert!(!home.dir.path().join("stepfast.db").exists(), "it left nothing behind");
}

#[test]
fn a_run_that_fails_or_stands_still_ends_with_one() {
    let home = Home::new();
    let fails = home.file("fails.yaml", "workflow: fails\nversion: 1.0.0\nsteps:\n  - { key: a, action: fail, arguments: { message: broken } }\n");
    let (code, _, err) = run_alone(&home, &[&fails]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("fails · a: failed") && err.contains("broken"), "{err}");
    let paused = home.file("paused.yaml", "workflow: paused\nversion: 1.0.0\nsteps:\n  - { key: a, action: fail, on_failure: pause_workflow }\n  - { key: b, action: noop }\n");
    let (code, out, err) = run_alone(&home, &[&paused, "--json"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(out.contains("\"state\":\"paused\""), "{out}");
    let strange = home.file(
        "strange.yaml",
        "workflow: strange\nversion: 1.0.0\nsteps:\n  - { key: a, action: payments.charge }\n",
    );
    let (code, _, err) = run_alone(&home, &[&strange]);
    assert_eq!(code, Some(3), "{err}");
    assert!(
        err.contains("step `a` needs a worker for `payments.charge`") && err.contains("--server"),
        "{err}"
    );
}

#[test]
fn a_kept_database_can_be_looked_at() {
    let home = Home::new();
    let order = home.file("order.yaml", ORDER);
    let (code, _, err) = run_alone(&home, &[&order, "--input", INPUT, "--keep"]);
    assert_eq!(code, Some(0), "{err}");
    let db =
        err.lines().find_map(|line| line.strip_prefix("kept; look at it with: export STEPFAST_DB=")).unwrap();
    let listed = home.ok(&["list", "--db", db]);
    assert!(listed.contains("order@1.0.0") && listed.contains("succeeded"), "{listed}");
    let file = PathBuf::from(db.strip_prefix("sqlite:").unwrap());
    std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
}

#[test]
fn every_fault_of_every_file_is_told_and_nothing_is_stored() {
    let home = Home::new();
    home.ok(&["migrate"]);
    home.file("defs/order.yaml", ORDER);
    home.file("defs/inner/faulty.yaml", FAULTY);
    home.file("defs/more.yml", "workflow: Wrong Name\nversion: 1\nsteps: []\n");
    let told = home.fails(1, &["validate", "defs"]);
    for part in [
        "defs/inner/faulty.yaml:4:15: unknown key `actoin` in a step",
        "= write `action`",
        "defs/more.yml:1:",
        " faults",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert!(!told.contains('\u{1b}'), "no colour where nobody looks");
    let rows = home.run(&["validate", "defs", "--json"]);
    let faults: Vec<Value> =
        common::text(&rows.stdout).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!((faults[0]["line"].as_i64(), faults[0]["fix"].as_str()), (Some(4), Some("write `action`")));
    let refused = home.fails(3, &["apply", "defs"]);
    assert!(refused.contains("nothing was done") && refused.contains("faulty.yaml:4:15"), "{refused}");
    assert_eq!(home.json(&["definitions", "--json"]).len(), 0, "not even the sound one");
    assert!(home.ok(&["validate", "defs/order.yaml"]).is_empty());
}

#[test]
fn a_version_is_stored_once_and_the_next_is_compared_with_it() {
    let home = Home::new();
    let order = home.file("order.yaml", ORDER);
    assert!(home.ok(&["apply", &order, "--dry-run"]).contains("order@1.0.0 would be created"));
    assert_eq!(home.json(&["definitions", "--json"]).len(), 0);
    assert!(home.ok(&["apply", &order]).contains("order@1.0.0 created"));
    assert!(home.ok(&["apply", &order]).contains("order@1.0.0 unchanged"));
    let other = home.file("other.yaml", &ORDER.replace("action: noop", "action: sleep"));
    let waits = home.file("waits.yaml", WAITS);
    let refused = home.fails(3, &["apply", &waits, &other]);
    assert!(refused.contains("version 1.0.0 of `order` is on record and says something else"), "{refused}");
    assert!(
        home.fails(1, &["definitions", "waits"]).contains("there is no definition `waits`"),
        "the sound one waits for the other"
    );
    let next =
        home.file("next.yaml", &ORDER.replace("1.0.0", "1.1.0").replace("action: noop", "action: sleep"));
    let id = home.started(&["order", "--input", INPUT]);
    let told = home.ok(&["apply", &next, "--dry-run"]);
    for part in
        ["order@1.1.0 would be created", "~ step `pack` action: noop → sleep", "still on 1.0.0: 1 live run"]
    {
        assert!(told.contains(part), "{part} in {told}");
    }
    let applied = &home.json(&["apply", &next, "--json"])[0];
    assert_eq!((&applied["outcome"], &applied["live"][0]["running"]), (&json!("created"), &json!(1)));
    let listed = home.json(&["definitions", "order", "--json"]);
    assert_eq!((&listed[0]["version"], &listed[1]["live"]), (&json!("1.1.0"), &json!(1)));
    home.ok(&["cancel", &id, "--why", "x"]);
}

#[test]
fn definitions_are_drawn_and_compared() {
    let home = Home::new();
    let order = home.file("order.yaml", ORDER);
    home.ok(&["apply", &order]);
    for of in [order.as_str(), "order", "order@1.0.0"] {
        let drawn = home.ok(&["graph", of]);
        assert!(drawn.contains("[check]") && drawn.contains("[pack ×n]"), "{drawn}");
    }
    assert!(home.ok(&["graph", "order", "--format", "mermaid"]).starts_with("flowchart"));
    assert!(home.ok(&["graph", "order", "--format", "svg"]).starts_with("<svg"));
    assert!(home.fails(3, &["graph", "nothing"]).contains("there is no definition `nothing`"));
    let next = home.file(
        "next.yaml",
        &ORDER
            .replace("1.0.0", "2.0.0")
            .replace("  - { key: gift, action: echo, when: has(input.gift) }\n", ""),
    );
    let told = home.fails(1, &["diff", "order@1.0.0", &next]);
    assert!(
        told.contains("- step `gift`: action echo") && told.contains("~ version: 1.0.0 → 2.0.0"),
        "{told}"
    );
    assert!(home.ok(&["diff", "order", &order]).is_empty());
    let changes = home.run(&["diff", "order", &next, "--json"]);
    assert!(common::text(&changes.stdout).contains(r#""change":"removed""#));
    let schema: Value = serde_json::from_str(&home.ok(&["schema"])).unwrap();
    assert_eq!(
        schema,
        serde_json::from_str::<Value>(include_str!("../../../docs/definition.schema.json")).unwrap()
    );
}

#[test]
fn from_start_to_end_on_a_server() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.ok(&["apply", &home.file("order.yaml", ORDER)]);
    let input = format!("@{}", home.file("input.yaml", "id: 7\ncard: 4111-1111\nitems: [a, b]\n"));
    let key = ["order@1.0.0", "--input", &input, "--label", "tenant=acme", "--idempotency-key", "order-7"];
    let id = home.started(&key);
    assert_eq!(home.started(&key), id, "once under a key");
    let told = home.ok(&["watch", &id]);
    assert!(told.contains("order: succeeded"), "{told}");
    assert_eq!(home.states_of(&id), ["check completed", "gift skipped", "pack completed", "end completed"]);
    let shown = home.ok(&["show", &id, "--timeline"]);
    for part in [
        "order 1.0.0 · succeeded · 100 %",
        "✔ check",
        "– gift",
        "[████████████████████] 2/2",
        "workflow.started",
        "step.skipped gift",
        "step.completed end",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    for shows in [&["show", id.as_str(), "--json"][..], &["steps", "list", "--all", "--json"]] {
        assert!(!home.ok(shows).contains("4111-1111"), "a secret is not shown");
    }
    let listed = |args: &[&str]| home.json(&[&["list", "--json"], args].concat()).len();
    assert_eq!(
        [listed(&["--label", "tenant=acme", "--since", "1h"]), listed(&["--label", "tenant=x"])],
        [1, 0]
    );
    assert_eq!([listed(&["--state", "succeeded"]), listed(&["--state", "running,failed"])], [1, 0]);
    assert_eq!(
        [
            listed(&["--workflow", "order@1.0.0"]),
            listed(&["--workflow", "order@2.0.0"]),
            listed(&["--after", &id])
        ],
        [1, 0, 0]
    );
    home.ok(&["check"]);
    server.stop();
}

#[test]
fn whoever_names_a_server_needs_no_database() {
    let home = Home::new();
    let server = home.serve(&[]);
    let order = home.file("order.yaml", ORDER);
    let far = |args: &[&str]| {
        let mut command = home.command(args);
        let ran = command
            .env("STEPFAST_DB", "sqlite:elsewhere.db")
            .args(["--server", &server.url])
            .output()
            .unwrap();
        (ran.status.code(), common::text(&ran.stdout) + &common::text(&ran.stderr))
    };
    let told = far(&["apply", &order, "--dry-run"]);
    assert_eq!((told.0, told.1.contains("order@1.0.0 would be created")), (Some(0), true), "{}", told.1);
    let ran = far(&["run", &order, "--input", INPUT, "--json", "--label", "tenant=acme"]);
    assert_eq!((ran.0, ran.1.contains("\"state\":\"succeeded\"")), (Some(0), true), "{}", ran.1);
    let listed = far(&["list", "--json", "--label", "tenant=acme", "--since", "1h", "--state", "succeeded"]);
    let row: Value = serde_json::from_str(&listed.1).unwrap_or_else(|e| panic!("{e}: {}", listed.1));
    let id = row["id"].as_str().unwrap();
    for (args, part) in [
        (&["show", id, "--timeline"][..], "workflow.succeeded"),
        (&["watch", id], "order: succeeded"),
        (&["definitions"], "order"),
        (&["graph", "order@1.0.0"], "[check]"),
        (&["diff", "order", &order], "they say the same"),
    ] {
        let told = far(args);
        assert_eq!((told.0, told.1.contains(part)), (Some(0), true), "{args:?}: {}", told.1);
    }
    let refused = far(&["cancel", id, "--if-revision", "1", "--why", "x"]);
    assert_eq!(
        (refused.0, refused.1.contains("it succeeded, so it cannot be cancelled")),
        (Some(3), true),
        "{}",
        refused.1
    );
    assert!(!home.dir.path().join("elsewhere.db").exists());
    server.stop();
}

/// What is asked of a server by somebody who has another database, or none.
struct Far<'a> {
    home: &'a Home,
    url: &'a str,
}

impl Far<'_> {
    fn ask(&self, args: &[&str]) -> (Option<i32>, String) {
        let mut command = self.home.command(args);
        command.env("STEPFAST_DB", "sqlite:elsewhere.db").args(["--server", self.url]);
        let ran = command.output().unwrap();
        (ran.status.code(), common::text(&ran.stdout) + &common::text(&ran.stderr))
    }
    fn ok(&self, args: &[&str]) -> String {
        let (code, told) = self.ask(args);
        assert_eq!(code, Some(0), "{args:?}: {told}");
        told
    }
    fn json(&self, args: &[&str]) -> Value {
        let told = self.ok(&[args, &["--json"]].concat());
        let line = told.lines().next().unwrap_or_default();
        serde_json::from_str(line).unwrap_or_else(|e| panic!("{args:?}: {e}: {told}"))
    }
    fn made(&self, args: &[&str]) -> String {
        self.json(args)["id"].as_str().unwrap().to_string()
    }
}

#[test]
fn whoever_names_a_server_reads_everything_from_it() {
    let home = Home::new();
    let server = home.serve(&[]);
    let far = Far { home: &home, url: &server.url };
    let ghost = far.made(&["steps", "create", "--action", "ghost", "--idempotency-key", "k-1"]);
    let line = ["--message-group", "line-7", "--mode", "block_on_error"];
    far.ok(&[&["steps", "create", "--action", "ghost"], &line[..]].concat());
    let fails = far.made(&["steps", "create", "--action", "fail", "--max-attempts", "1"]);
    until("it failed", || far.json(&["steps", "show", &fails])["state"] == "failed");
    far.ok(&["pools", "set", "card", "--concurrency", "2"]);
    far.ok(&["keys", "create", "--name", "ops", "--role", "viewer"]);
    until("there was a tick", || far.ok(&["ticks", "--json"]).contains("dispatch_group"));
    let once = far.json(&["executions", "list"]);
    let [namespace, key] = ["namespace", "key"].map(|field| once[field].as_str().unwrap());
    for (args, part) in [
        (&["steps", "list"][..], ghost.as_str()),
        (&["steps", "list", "--all", "--json"], &ghost),
        (&["steps", "list", "--state", "failed", "--action", "fail"], &fails),
        (&["steps", "show", &ghost], "no worker offers action `ghost`"),
        (&["steps", "attempts", &fails], "failed"),
        (&["groups"], "kappa"),
        (&["groups", "--json"], "capped_with_left_over"),
        (&["nodes"], "lives"),
        (&["nodes", "--json"], "\"leader\":true"),
        (&["ticks", "--limit", "3"], "phases that acted"),
        (&["ticks", "--json"], "\"us\":"),
        (&["check", "--verbose"], "clean: "),
        (&["executions", "list", "--all"], key),
        (&["executions", "show", namespace, key], "input_hash"),
        (&["message-groups", "list"], "line-7"),
        (&["message-groups", "show", "line-7"], "1 step in line"),
        (&["pools", "list"], "card"),
        (&["keys", "list"], "ops"),
        (&["breaker", "status"], "everywhere: on"),
        (&["status"], "dispatching  on"),
        (&["progress"], ""),
        (&["list"], ""),
        (&["definitions"], ""),
        (&["pauses"], ""),
        (&["polls"], ""),
        (&["flows", "list"], ""),
        (&["alerts", "list"], ""),
        (&["alerts", "figures"], "Review queue"),
        (&["stuck", "rules"], "older than"),
        (&["notify", "list"], ""),
        (&["subscriptions", "list"], ""),
        (&["bulk", "list"], ""),
    ] {
        let told = far.ok(args);
        assert!(told.contains(part), "{args:?}: {part} in {told}");
    }
    assert!(!home.dir.path().join("elsewhere.db").exists());
    server.stop();
}

#[test]
fn a_drain_is_about_the_server_that_is_named() {
    let home = Home::new();
    let server = home.serve(&[]);
    let far = Far { home: &home, url: &server.url };
    far.ok(&["steps", "create", "--action", "sleep", "--arguments", "{\"ms\": 600000}"]);
    until("it runs", || home.states() == ["running"]);
    let (code, told) = far.ask(&["drain", "--dry-run"]);
    let words = "not safe: work is dispatched, and 1 step dispatched or running";
    assert_eq!((code, told.trim()), (Some(1), words));
    assert!(home.ok(&["breaker", "status"]).contains("everywhere: on"), "only looked at");
    let (code, told) = far.ask(&["drain", "--why", "deploy"]);
    assert_eq!((code, told.contains("not safe: 1 step")), (Some(1), true), "{told}");
    assert!(home.ok(&["breaker", "status"]).contains("because deploy"));
    let alone = far.ok(&["breaker", "off", "--group", "alpha", "--why", "late"]);
    assert!(alone.starts_with("alpha: off") && alone.lines().count() == 1, "{alone}");
    assert_eq!(far.ok(&["breaker", "on"]).trim(), "everywhere: on");
    let (code, told) = far.ask(&["drain", "--group", "omega", "--why", "deploy"]);
    assert_eq!((code, told.contains("omega")), (Some(3), true), "{told}");
    let told = far.ok(&["cancel", "--stuck", "--yes", "--why", "quiet"]);
    assert!(told.contains("nothing to cancel"), "none is so quiet: {told}");
    assert!(!home.dir.path().join("elsewhere.db").exists());
    server.kill();
}

const REFUSED: &str = "workflow: refused
version: 1.0.0
steps:
  - { key: pay, action: fail, arguments: { message: declined }, retry: { attempts: 1 } }
";
const ASKS: &str = "workflow: asks
version: 1.0.0
input: { schema: { type: object, required: [n], properties: { n: { type: integer } } } }
steps:
  - { key: ask, action: noop, pause_after: { trigger: boss, auth: token } }
";

#[test]
fn what_the_api_can_do_can_be_typed() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.ok(&["apply", &home.file("refused.yaml", REFUSED), &home.file("asks.yaml", ASKS)]);
    let text: Value = serde_json::from_str(&home.ok(&["definitions", "refused@1.0.0"])).unwrap();
    assert_eq!(text["steps"][0]["key"], "pay", "{text}");
    home.fails(3, &["definitions", "refused@2.0.0"]);
    let id = home.started(&["refused"]);
    until("it failed", || home.states_of(&id) == ["pay failed"]);
    let decide = ["bulk", "run", "workflows", "--decision", "mark_resolved", "--filter", "workflow=refused"];
    let done = &home.json(&[&decide[..], &["--why", "paid by hand", "--yes", "--json"]].concat())[0];
    assert_eq!((&done["progress"]["done"], &done["verb"]), (&json!(1), &json!("mark_resolved")), "{done}");
    let told = home.ok(&["events", "--workflow", &id, "--after", "alpha=0", "--limit", "2"]);
    assert!(told.lines().count() == 2 && told.contains(&id), "{told}");
    let audit = home.ok(&["audit", "--json"]);
    assert!(audit.contains("paid by hand"), "{audit}");

    let ghost = home.json(&["steps", "create", "--action", "ghost", "--json"])[0]["id"].clone();
    let skip = ["steps", "skip", ghost.as_str().unwrap(), "--why", "x", "--if-revision"];
    assert!(home.fails(3, &[&skip[..], &["3"]].concat()).contains("such as 3-1"));
    assert!(home.fails(3, &[&skip[..], &["99-0"]].concat()).contains("changed"));
    let shown = &home.json(&["steps", "show", ghost.as_str().unwrap(), "--json"])[0];
    let seen = format!("{}-{}", shown["version"], shown["attempt"]);
    home.ok(&[&skip[..], &[&seen]].concat());

    assert!(home.fails(3, &["start", "asks", "--input", "{}", "--dry-run"]).contains("input"));
    assert_eq!(
        home.ok(&["start", "asks", "--input", "{\"n\": 1}", "--dry-run"]).trim(),
        "asks@1.0.0 would be started"
    );
    assert_eq!(home.json(&["list", "--workflow", "asks", "--json"]).len(), 0);
    let id = home.started(&["asks", "--input", "{\"n\": 1}"]);
    until("it waits", || home.json(&["pauses", "--json"]).len() == 1);
    let token = home.ok(&["trigger", &id, "boss", "--token"]);
    assert!(token.starts_with("pt_"), "{token}");
    let rule = ["stuck", "set-rule", "slow", "--entity", "step", "--state", "pending", "--older-than", "2h"];
    let set = &home.json(&[&rule[..], &["--severity", "high", "--json"]].concat())[0];
    assert_eq!((&set["source"], &set["severity"]), (&json!("api"), &json!("high")), "{set}");
    let channel = ["notify", "set", "ops", "--kind", "webhook", "--url", "https://127.0.0.1:9/hook"];
    assert!(home.ok(&channel).starts_with("whsec_"), "its secret is shown once");
    assert!(home.ok(&["notify", "show", "ops"]).contains("https://127.0.0.1:9/hook"));
    server.stop();
}

#[test]
fn workflows_are_paused_resumed_and_cancelled() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.ok(&["apply", &home.file("waits.yaml", WAITS)]);
    let [a, b] = [home.started(&["waits"]), home.started(&["waits"])];
    until("both run", || home.json(&["list", "--state", "running", "--json"]).len() == 2);
    assert!(home.ok(&["pause", &a, "--dry-run"]).contains("would go: running -> paused"));
    assert_eq!(home.json(&["show", &a, "--json"])[0]["state"], "running");
    let done = home.json(&["pause", &a, &b, "--why", "lunch", "--json"]);
    assert_eq!((done.len(), &done[1]["to"]), (2, &json!("paused")));
    assert_eq!(home.json(&["list", "--quiet", "0s", "--json"]).len(), 2);
    let far = Far { home: &home, url: &server.url };
    assert!(
        far.ok(&["list", "--quiet", "0s"]).contains(&b) && !far.ok(&["list", "--quiet", "1h"]).contains(&b)
    );
    let refused = home.fails(3, &["pause", &a]);
    assert!(refused.contains(&a), "{refused}");
    let stale = home.fails(3, &["resume", &a, "--if-revision", "99"]);
    assert!(stale.contains("has changed since"), "{stale}");
    let revision = home.json(&["show", &a, "--json"])[0]["revision"].to_string();
    assert!(home.ok(&["resume", &a, "--if-revision", &revision]).contains("paused -> running"));
    assert!(home.fails(3, &["resume", "--all"]).contains("write --yes"), "nobody can be asked");
    assert!(home.ok(&["resume", "--all", "--yes"]).contains(&b));
    assert!(
        home.ok(&["cancel", "--stuck", "--stuck-hours", "1", "--yes", "--why", "x"]).is_empty(),
        "none is so quiet"
    );
    let both = home.fails(3, &["cancel", &a, &a, &b, "--why", "x"]);
    assert_eq!(
        both.matches("running -> cancelled").count(),
        2,
        "what is refused for one does not hold up the others: {both}"
    );
    assert!(home.fails(3, &["show", "42"]).contains("is not the id of a workflow"));
    home.ok(&["check"]);
    server.stop();
}

#[test]
fn a_nested_workflow_stands_below_its_step() {
    let home = Home::new();
    let outer = home
        .file("outer.yaml", "workflow: outer\nversion: 1.0.0\nsteps:\n  - { key: sub, workflow: waits }\n");
    let waits = home.file("waits.yaml", WAITS);
    let server = home.serve(&[]);
    home.ok(&["apply", &outer, &waits]);
    let id = home.started(&["outer"]);
    until("it waits", || home.ok(&["show", &id]).contains("rest"));
    let shown = home.ok(&["show", &id]);
    assert!(shown.contains("▶ sub") && shown.contains("  └ waits 1.0.0 · running"), "{shown}");
    assert_eq!(home.json(&["list", "--json"]).len(), 1);
    assert_eq!(home.json(&["list", "--nested", "--json"]).len(), 2);
    home.ok(&["cancel", &id, "--why", "x"]);
    server.stop();
}

#[test]
fn the_examples_are_sound() {
    for folder in ["workflows", "polls"] {
        let examples = format!("{}/../../examples/{folder}", env!("CARGO_MANIFEST_DIR"));
        Home::new().ok(&["validate", &examples]);
    }
}

const PAID: &str = "workflow: paid
version: 1.0.0
steps:
  - { key: paid, poll: { action: echo, arguments: open, interval: 1h, until: answer == 'paid' } }
";

#[test]
fn polls_are_listed_shown_and_recovered_with_a_server_and_without_one() {
    let home = Home::new();
    let file = home.file("paid.yaml", PAID);
    let server = home.serve(&[]);
    home.ok(&["apply", &file]);
    let id = home.started(&["paid"]);
    until("it was polled", || home.states_of(&id) == ["paid polling"]);
    let shown = home.ok(&["show", &id]);
    assert!(shown.contains("○ paid  echo ↻  polling  polled once"), "{shown}");
    assert!(shown.contains("because its poll 2 is due later, at "), "{shown}");
    for server in [&["polls"][..], &["polls", "--server", &server.url]] {
        let listed = home.ok(server);
        assert!(listed.contains(&id) && listed.contains("paid"), "{listed}");
        assert_eq!(home.ok(&[server, &["--due", "--json"]].concat()), "");
    }
    let poll = &home.json(&["polls", "--json"])[0];
    assert_eq!(
        (&poll["workflow_id"], &poll["polls"], &poll["is_due"]),
        (&json!(id), &json!(1), &json!(false))
    );
    let step = poll["step_id"].as_str().unwrap();
    assert!(home.ok(&["steps", "show", step]).contains("poll 1"), "its polls are told");
    assert_eq!(home.ok(&["polls", "recover", "--dry-run"]).trim(), "no poll is astray");
    home.fails(3, &["polls", "--after", "soon"]);
    server.stop();
    assert_eq!(
        home.json(&["polls", "recover", "--older", "1", "--json"]),
        [json!({"steps": [], "dry_run": false})]
    );
    home.ok(&["cancel", &id, "--why", "x"]);
    assert_eq!(home.json(&["polls", "--json"]), [] as [Value; 0]);
    home.ok(&["check"]);
}

#[test]
fn a_secret_is_in_no_file_and_its_key_is_beside_the_database() {
    let home = Home::new();
    let order = home.file("order.yaml", ORDER);
    let log = home.ok(&["run", &order, "--input", INPUT, "--json"]);
    assert!(!log.contains("4111-1111"), "{log}");
    let copy = home.dir.path().join("copy.db");
    home.ok(&["backup", copy.to_str().unwrap()]);
    let mut keys = 0;
    for entry in std::fs::read_dir(home.dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        let holds = |what: &[u8]| bytes.windows(what.len()).any(|part| part == what);
        assert!(!holds(b"4111-1111"), "{} holds it", path.display());
        if path.extension().is_some_and(|end| end == "key") {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            keys += 1;
        }
        if path == copy {
            assert!(holds(b"sealed:v1:k1:"), "the copy holds what stands for it");
        }
    }
    assert_eq!(keys, 1);
}
