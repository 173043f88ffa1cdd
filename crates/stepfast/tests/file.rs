//! The command line where the database is a file.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Home, until};

#[test]
fn a_second_server_is_refused_and_commands_find_the_first() {
    let home = Home::new();
    let server = home.serve(&[]);
    let told = home.fails(4, &["serve", "--port", "0"]);
    assert!(told.contains("is in use by process") && told.contains(&server.url), "{told}");
    home.ok(&["steps", "create", "--action", "noop"]);
    until("the step ends", || home.states() == ["completed"]);
    home.ok(&["check"]);
    server.stop();
    home.ok(&["check"]);
}

#[test]
fn a_backup_is_a_sound_copy() {
    let home = Home::new();
    home.ok(&["steps", "create", "--action", "noop"]);
    let copy = home.dir.path().join("copy.db");
    home.ok(&["backup", copy.to_str().unwrap()]);
    let output = common::command(&copy, &["steps", "list", "--all", "--json"]).output().unwrap();
    assert_eq!(common::text(&output.stdout).lines().count(), 1);
    home.fails(3, &["backup", copy.to_str().unwrap()]);
    // What is in them is for their owner alone.
    for file in [home.db(), copy] {
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

#[test]
fn a_newer_database_is_refused() {
    let home = Home::new();
    home.ok(&["migrate"]);
    home.ok(&["migrate", "--check"]);
    let connection = rusqlite::Connection::open(home.db()).unwrap();
    connection.execute("insert into migrations values (99, '0099_future', 'x', 0)", []).unwrap();
    let told = home.fails(3, &["steps", "list"]);
    assert!(told.contains("does not know"), "{told}");
}

#[test]
fn moves_by_hand_are_fenced_audited_and_previewed() {
    let home = Home::new();
    let id = home.ok(&["steps", "create", "--action", "noop"]);
    let id = id.trim();
    assert!(home.ok(&["steps", "skip", id, "--dry-run"]).contains("would move: pending -> skipped"));
    assert_eq!(home.states(), ["pending"]);
    home.ok(&["steps", "cancel", id, "--why", "not needed", "--by", "anna"]);
    assert!(home.fails(3, &["steps", "complete", id, "--why", "x"]).contains("that is an end"));
    let again = home.ok(&["steps", "retry", id, "--by", "anna"]);
    assert!(again.contains("takes its place"), "{again}");
    assert_eq!(home.states(), ["superseded", "pending"]);
    let connection = rusqlite::Connection::open(home.db()).unwrap();
    let told: i64 = connection
        .query_row("select count(*) from audit where who = 'anna' and target like 'step %'", [], |r| r.get(0))
        .unwrap();
    assert_eq!(told, 2);
    home.ok(&["check"]);
}

#[test]
fn a_server_on_a_restored_copy_waits_until_somebody_confirms() {
    let mut home = Home::new();
    home.ok(&["steps", "create", "--action", "noop"]);
    let kept = tempfile::tempdir().unwrap();
    let copy = kept.path().join("steps.db");
    home.ok(&["backup", copy.to_str().unwrap()]);
    assert!(!home.ok(&["breaker", "status"]).contains("off"), "only the copy is one");
    home.dir = kept;
    let told = home.run(&["check"]);
    assert!(common::text(&told.stderr).contains("this database is a copy of"), "{told:?}");
    let server = home.serve(&[]);
    for _ in 0..3 {
        // Each is stored by a turn that would have handed out what is ready.
        home.ok(&["steps", "create", "--action", "noop"]);
    }
    assert_eq!(home.states(), ["pending"; 4]);
    let status = home.ok(&["breaker", "status"]);
    assert!(status.contains("off") && status.contains("because this database is a copy of"), "{status}");
    home.ok(&["breaker", "on", "--why", "looked at it"]);
    until("all have ended", || home.states() == ["completed"; 4]);
    let told = home.run(&["check"]);
    assert_eq!(common::text(&told.stderr), "", "it is no copy any more");
    server.stop();
    home.ok(&["check"]);
}

/// Without a server too: what throws something away says why, and who did it is on record.
#[test]
fn what_is_thrown_away_without_a_server_needs_a_reason_and_is_on_record() {
    let home = Home::new();
    let id = home.ok(&["steps", "create", "--action", "noop"]);
    let id = id.trim();
    home.ok(&["pools", "set", "card", "--concurrency", "1"]);
    home.ok(&["steps", "create", "--action", "noop", "--idempotency-key", "k-1", "--delay-ms", "3600000"]);
    for command in [
        &["steps", "cancel", id][..],
        &["cancel", id],
        &["compensate", id],
        &["skip-compensation", id],
        &["message-groups", "cancel", "a"],
        &["message-groups", "skip-head", "a"],
        &["message-groups", "ignore", "a"],
        &["flows", "cancel", id],
        &["breaker", "off"],
        &["pools", "remove", "card"],
        &["archive", "--days", "0"],
        &["purge", "--days", "0"],
        &["executions", "forget", "--days", "0"],
        &["bulk", "run", "steps", "cancel", "--filter", "queue=x"],
    ] {
        let told = home.fails(2, command);
        assert!(told.contains("--why <WHY>") && told.contains("required"), "{command:?}: {told}");
        let empty = home.fails(2, &[command, &["--why", " "]].concat());
        assert!(empty.contains("say why; it goes on record"), "{command:?}: {empty}");
    }
    assert!(home.fails(3, &["drain"]).contains("say why with --why"));
    assert!(home.fails(3, &["resolve", id, "--decision", "cancel"]).contains("say why with --why"));
    home.ok(&["steps", "cancel", id, "--why", "ordered twice", "--by", "anna"]);
    home.ok(&["breaker", "off", "--why", "deploy", "--by", "anna"]);
    home.ok(&["pools", "remove", "card", "--why", "sold", "--by", "anna"]);
    home.ok(&["executions", "forget", "--days", "0", "--why", "gone", "--by", "anna"]);
    home.ok(&["archive", "--days", "0", "--why", "old", "--by", "anna"]);
    home.ok(&["purge", "--days", "0", "--only-archive", "--why", "older", "--by", "anna"]);
    home.ok(&["stuck", "detect", "--by", "anna"]);
    let connection = rusqlite::Connection::open(home.db()).unwrap();
    let mut rows = connection
        .prepare("select verb || ': ' || coalesce(why, '') from audit where who = 'anna' order by id")
        .unwrap();
    let told: Vec<String> = rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(
        told,
        [
            "cancel: ordered twice",
            "breaker off: deploy",
            "remove pool: sold",
            "forget executions: gone",
            "archive: old",
            "purge: older",
            "look: "
        ]
    );
    home.ok(&["check"]);
}
