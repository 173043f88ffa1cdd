//! Pauses and triggers on the command line, with a server and without one.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Home, until};
use serde_json::json;

const ASK: &str = "workflow: ask
version: 1.0.0
steps:
  - key: submit
    action: echo
    arguments: { n: 1 }
    pause_after:
      trigger: boss
      payload: { schema: { type: object, required: [ok] } }
      resume_when: payload.ok == true
  - { key: end, action: echo, arguments: \"${outputs.boss}\" }
";

fn file(home: &Home, text: &str) -> String {
    let path = home.dir.path().join("ask.yaml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn state(home: &Home, id: &str) -> String {
    home.json(&["show", id, "--json"])[0]["state"].as_str().unwrap().into()
}

#[test]
fn a_trigger_is_sent_and_what_is_waited_for_is_listed() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.ok(&["apply", &file(&home, ASK)]);
    let id = home.ok(&["start", "ask"]).trim().to_string();
    until("it waits", || state(&home, &id) == "paused");
    let listed = home.ok(&["pauses"]);
    assert!(listed.contains("boss") && listed.contains("waiting") && listed.contains(&id), "{listed}");
    assert!(!home.ok(&["pauses", "--due"]).contains(&id), "not within a day");
    assert!(home.ok(&["pauses", "--due", "8d"]).contains(&id));
    let refused = home.fails(3, &["resume", &id]);
    assert!(refused.contains("it waits for the trigger `boss`"), "{refused}");
    assert!(
        home.fails(3, &["trigger", &id, "boss", "--payload", "{}"]).contains("the payload does not fit: ")
    );
    assert!(home.fails(3, &["trigger", &id, "nobody"]).contains("it waits for `boss`"));
    assert!(home.fails(3, &["trigger", &id, "boss", "--payload", "{"]).contains("--payload is not JSON"));
    let no = home.fails(1, &["trigger", &id, "boss", "--payload", r#"{"ok": false}"#]);
    assert!(no.contains("boss rejected") && no.contains("is paused"), "{no}");
    let yes = home.dir.path().join("yes.yaml");
    std::fs::write(&yes, "{ ok: true, by: ada }").unwrap();
    let sent = format!("@{}", yes.display());
    let taken =
        home.json(&["trigger", &id, "boss", "--payload", &sent, "--id", "m1", "--by", "ada", "--json"]);
    assert_eq!(taken[0]["verdict"], "accepted");
    assert!(home.ok(&["trigger", &id, "boss", "--payload", &sent, "--id", "m1"]).contains("boss duplicate"));
    home.ok(&["watch", &id]);
    let shown = &home.json(&["show", &id, "--json"])[0];
    assert_eq!(shown["output"], json!({"ok": true, "by": "ada"}));
    assert_eq!(shown["pauses"][0]["state"], "resumed");
    assert!(home.ok(&["pauses", &id]).contains("resumed"));
    server.stop();
    home.ok(&["check"]);
}

#[test]
fn without_a_server_it_is_done_here_and_forced_where_somebody_means_it() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.ok(&["apply", &file(&home, ASK)]);
    let ids: Vec<String> = (0..2).map(|_| home.ok(&["start", "ask"]).trim().to_string()).collect();
    until("they wait", || ids.iter().all(|id| state(&home, id) == "paused"));
    server.stop();
    let early = home.ok(&["trigger", &ids[0], "boss", "--payload", r#"{"ok": true}"#]);
    assert!(early.contains("boss accepted"), "{early}");
    assert!(
        home.ok(&["resume", "--all", "--yes"]).is_empty(),
        "what waits for a trigger is not resumed with the rest"
    );
    let dry = home.ok(&["resume", &ids[1], "--force", "--dry-run"]);
    assert!(dry.contains("would go: paused -> running"), "{dry}");
    home.ok(&["resume", &ids[1], "--force", "--payload", r#"{"ok": "forced"}"#, "--why", "the boss is away"]);
    let server = home.serve(&[]);
    for id in &ids {
        home.ok(&["watch", id]);
    }
    assert_eq!(home.json(&["show", &ids[1], "--json"])[0]["output"], json!({"ok": "forced"}));
    assert!(home.fails(3, &["trigger", &ids[1], "nobody"]).contains("never waits"));
    server.stop();
    home.ok(&["check"]);
}

#[test]
fn a_run_follows_what_goes_on_by_itself_and_ends_at_what_waits_for_somebody() {
    let home = Home::new();
    let by_itself = "workflow: ask\nversion: 1.0.0\nsteps:\n  - { key: a, action: echo, pause_after: { resume_after: 300ms } }\n  - { key: b, action: echo, arguments: 7 }\n";
    let run = |text: &str| {
        let mut command = home.command(&["run", &file(&home, text)]);
        let ran = command.env_remove("STEPFAST_DB").output().unwrap();
        (ran.status.code(), common::text(&ran.stdout), common::text(&ran.stderr))
    };
    let (code, out, err) = run(by_itself);
    assert_eq!((code, out.trim()), (Some(0), "7"), "{err}");
    let approved = by_itself.replace(
        "resume_after: 300ms",
        "trigger: boss, timeout: 300ms, on_timeout: auto_approve, default: { ok: true }",
    );
    assert_eq!(run(&approved).0, Some(0));
    let (code, _, err) = run(ASK);
    assert_eq!(code, Some(1), "{err}");
}
