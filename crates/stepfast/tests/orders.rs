//! What workers and people write is read by commands, and is no order to the terminal of whoever reads it.
#![allow(clippy::unwrap_used)]

mod common;

use common::Home;

/// It would clear the screen, and break a row of a table.
const ORDER: &str = "a\u{1b}[2Jb\nc";

/// Everything that was printed for somebody who reads it, on both ways out.
fn read(home: &Home, args: &[&str]) -> String {
    let ran = home.run(args);
    let all = common::text(&ran.stdout) + &common::text(&ran.stderr);
    assert!(ran.status.success(), "{args:?}: {all:?}");
    assert!(!all.contains('\u{1b}'), "{args:?}: {all:?}");
    all
}

#[test]
fn what_a_step_failed_with_gives_no_order_to_a_terminal() {
    let home = Home::new();
    let arguments = serde_json::json!({ "message": ORDER }).to_string();
    let create = ["steps", "create", "--action", "fail", "--max-attempts", "1", "--arguments", &arguments];
    let line = ["--message-group", "line", "--mode", "block_on_error"];
    let id = home.ok(&[&create[..], &line].concat());
    home.ok(&[&["steps", "create", "--action", "ghost"][..], &line].concat());
    home.ok(&["dispatch", "--once"]);
    let shown = read(&home, &["steps", "show", id.trim()]);
    assert!(shown.contains("a [2Jb c"), "{shown}");
    assert!(
        shown.lines().any(|line| line.starts_with("attempt 1 ") && line.ends_with("a [2Jb c")),
        "{shown}"
    );
    let attempts = read(&home, &["steps", "attempts", id.trim()]);
    assert_eq!(attempts.lines().count(), 2, "a head and a row: {attempts}");
    for args in [
        &["steps", "list", "--all"][..],
        &["message-groups", "list"],
        &["message-groups", "show", "line"],
        &["progress"],
        &["status"],
        &["check", "--verbose"],
    ] {
        read(&home, args);
    }
}

#[test]
fn what_somebody_gave_as_a_reason_gives_none_either() {
    let home = Home::new();
    home.ok(&["migrate"]);
    home.ok(&["breaker", "off", "--why", ORDER]);
    let status = read(&home, &["breaker", "status"]);
    assert!(status.contains("because a [2Jb c"), "{status}");
    read(&home, &["status"]);
    let audit = read(&home, &["audit", "--verb", "breaker off"]);
    assert!(audit.lines().count() == 2 && audit.contains("a [2Jb c"), "{audit}");
}

#[test]
fn programs_read_what_was_written() {
    let home = Home::new();
    home.ok(&["migrate"]);
    let why = "a\u{9b}2Jb\u{7f}";
    home.ok(&["breaker", "off", "--why", why]);
    let printed = home.ok(&["audit", "--verb", "breaker off", "--json"]);
    assert!(!printed.contains(['\u{9b}', '\u{7f}']), "{printed:?}");
    let entry: serde_json::Value = serde_json::from_str(printed.trim()).unwrap();
    assert_eq!(entry["why"], why, "{printed}");
}
