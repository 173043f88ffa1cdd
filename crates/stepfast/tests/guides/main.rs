//! The guides for people: what they show is run as it stands there.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod claims;
#[path = "../common/mod.rs"]
mod common;
#[path = "../pages/mod.rs"]
mod pages;
mod place;

use place::Place;

/// A page, and what it must have said when it was run.
type Guide = (&'static str, &'static [&'static str]);

/// Pages that start whatever they need, in an empty directory.
const ALONE: [Guide; 10] = [
    (
        "README.md",
        &["\"reserved\": 2", "no worker offers action `echo`", "\"hello\":\"world\"", "invariants hold"],
    ),
    (
        "docs/quickstart.md",
        &[
            "order@1.0.0 created",
            "no worker offers action `payments.charge`",
            "nobody lives there",
            "compensated",
        ],
    ),
    (
        "docs/steps.md",
        &[
            "It is not running because:",
            "\"hello\":\"world\"",
            "tell-customer",
            "no such address",
            "would move",
        ],
    ),
    (
        "docs/workflows.md",
        &[
            "\"greeted\": 2",
            "[hello ×n]",
            "~ step `rest` wait: 300ms → 5m",
            "greet@1.0.0 created",
            "greet@1.1.0 would be created",
            "greet: succeeded",
            "workflow.succeeded",
            "tenant=acme",
            "running -> paused",
            "would go: running -> cancelled",
            "running -> cancelled",
        ],
    ),
    (
        "docs/breaker.md",
        &[
            "by ann, because the bank is down, until",
            "dispatched 0 steps",
            "the breaker is off everywhere, switched off by ann (the bank is down), until",
            "safe to restart",
            "\"hello\":\"world\"",
        ],
    ),
    ("docs/router.md", &["DISPATCH-POOL  ACTIVE", "is suspended", "is active"]),
    ("docs/operations/one-box.md", &[]),
    ("docs/operations/upgrade.md", &["safe to restart", "the copy is sound"]),
    (
        "docs/operations/backup.md",
        &["the copy is sound", "echo", "dispatched 0 steps", "because this database is a copy of"],
    ),
    ("docs/operations/security.md", &["{\"steps\":[]", "builds", "revoked"]),
];

/// Pages that speak to a server; they share one.
const SERVED: [Guide; 12] = [
    ("docs/pools.md", &["pool card: 10 at once, 100/m"]),
    ("docs/message-groups.md", &["customer-12345 is waiting; 1 step in line", "{\"steps\":["]),
    ("docs/actions.md", &[]),
    (
        "docs/resolution.md",
        &[
            "parcel: failed",
            "is undone by echo",
            "1 went: ",
            "parcel: compensated",
            "nobody is asked any more",
        ],
    ),
    ("docs/polls.md", &["\"step_key\":\"paid\"", "no poll is astray"]),
    ("docs/pauses.md", &["purchase@1.0.0 created", "\"trigger\":\"manager-approval\""]),
    ("docs/webhooks.md", &["whsec_", "(shop) is changed", "is removed", "{\"attempts\":["]),
    ("docs/stuck.md", &["Stuck step", "admin told", "is closed, assigned to bo", "is off the record"]),
    ("docs/notifications.md", &["ops: the receiver answered 200", "room: the receiver answered 200"]),
    ("docs/api.md", &["{\"matched\":0", "this would retry 0 steps"]),
    (
        "docs/flows.md",
        &[
            r#""sentence":"It could not go on at wallet credit; 1 of 2 steps is done.""#,
            r#""event":"retry_asked""#,
            r#""sentence":"We try again""#,
            r#""state":"completed","previous_state":"running""#,
            r#""sentence":"Everything is done.""#,
            r#"{"flows":[{"id":"#,
            "Everything is done.",
        ],
    ),
    ("docs/progress.md", &[r#""kind":"step""#, r#""percent":0.0"#, r#"{"half_done":["#]),
];

/// Pages that play a worker themselves, on a server that has none.
const WORKERS: [Guide; 1] = [(
    "docs/worker-protocol.md",
    &["\"name\": \"Ada\"", "\"lost\":[]", "{\"answers\":[{\"answer\":\"applied\"}]}"],
)];

fn says(place: &Place, (page, parts): Guide) {
    let said = place.run(page);
    for part in parts {
        assert!(said.contains(part), "{page}: {part} in {said}");
    }
}

#[test]
fn guides_that_start_everything_run_as_they_stand() {
    // Most of their time they wait for something, so they do it together.
    std::thread::scope(|all| {
        let runs: Vec<_> = ALONE.iter().map(|guide| all.spawn(|| says(&Place::alone(), *guide))).collect();
        runs.into_iter().for_each(|run| run.join().unwrap());
    });
}

#[test]
fn guides_that_speak_to_a_server_run_as_they_stand() {
    let place = Place::served(&[]);
    SERVED.iter().for_each(|guide| says(&place, *guide));
    place.leave();
}

#[test]
fn the_worker_protocol_runs_as_it_stands() {
    let place = Place::served(&["--workers", "0"]);
    WORKERS.iter().for_each(|guide| says(&place, *guide));
    place.leave();
}

/// What the page of definitions shows of a fault is what the author of one sees.
#[test]
fn a_fault_is_told_as_the_page_shows() {
    let blocks = pages::blocks("docs/definitions.md");
    let (whole, fault) = (&blocks[0], blocks.iter().find(|block| block.language.is_empty()).unwrap());
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("order.yaml"), whole.text.replacen("action:", "actoin:", 1)).unwrap();
    let ran = common::command(&dir.path().join("steps.db"), &["validate", "order.yaml"]).output().unwrap();
    let told = common::text(&ran.stdout) + &common::text(&ran.stderr);
    assert!(told.contains(fault.text.trim_end()), "{told}");
}
