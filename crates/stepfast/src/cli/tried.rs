//! What changes something can be tried first, or stands here with the reason why not.

use super::{command, paths};
use clap::Command;

/// These only look.
const READS: [&str; 44] = [
    "validate",
    "schema",
    "graph",
    "diff",
    "definitions",
    "list",
    "show",
    "watch",
    "pauses",
    "events",
    "bulk list",
    "bulk show",
    "steps list",
    "steps show",
    "steps attempts",
    "executions list",
    "executions show",
    "groups",
    "breaker status",
    "ticks",
    "nodes",
    "message-groups list",
    "message-groups show",
    "polls",
    "pools list",
    "subscriptions list",
    "subscriptions show",
    "progress",
    "flows list",
    "flows show",
    "notify list",
    "notify show",
    "stuck rules",
    "alerts list",
    "alerts show",
    "alerts figures",
    "keys list",
    "audit",
    "check",
    "bench",
    "status",
    "completions",
    "router status",
    "backup",
];

/// These change something and cannot be tried.
const UNTRIED: [(&str, &str); 37] = [
    ("serve", "runs until it is stopped"),
    ("worker", "runs until it is stopped"),
    ("router", "runs until it is stopped"),
    ("demo", "has a database of its own"),
    ("run", "has a database of its own unless one is named; `validate` looks at the file"),
    ("dispatch", "decides what is there to decide"),
    ("migrate", "has --check"),
    ("trigger", "what does not fit is refused and changes nothing"),
    ("bulk cancel", "what was done stays done, and the rest can be asked for again"),
    ("breaker on", "`breaker off` takes it back"),
    ("breaker off", "`breaker on` takes it back"),
    ("router reset-breakers", "a target that is still away is spared again"),
    ("router suspend", "`router activate` takes it back"),
    ("router activate", "`router suspend` takes it back"),
    ("pools set", "what it was is in the audit"),
    ("subscriptions add", "`subscriptions remove` takes it back"),
    ("subscriptions change", "what it was is in the audit"),
    (
        "subscriptions remove",
        "what was to be delivered still is; `subscriptions change --pause` can be taken back",
    ),
    ("subscriptions test", "is a trial itself"),
    ("flows start", "is on record and does nothing"),
    ("flows complete", "says what has happened elsewhere"),
    ("flows fail", "says what has happened elsewhere"),
    ("flows skip", "says what has happened elsewhere"),
    ("flows update", "says what has happened elsewhere"),
    ("flows finish", "says what has happened elsewhere"),
    ("notify set", "`notify test` tries it"),
    ("notify test", "is a trial itself"),
    ("notify remove", "what it was is in the audit"),
    ("stuck set-rule", "`stuck detect --dry-run` says what it finds"),
    ("stuck remove-rule", "what it was is in the audit"),
    ("stuck auto", "the other word takes it back"),
    ("alerts ack", "is on record and does nothing"),
    ("alerts assign", "is on record and does nothing"),
    ("alerts note", "is on record and does nothing"),
    ("alerts resolve", "`alerts reopen` takes it back"),
    ("alerts reopen", "`alerts resolve` takes it back"),
    ("keys create", "`keys revoke` takes it back"),
];

fn found<'a>(command: &'a Command, path: &str) -> Option<&'a Command> {
    path.split(' ').try_fold(command, |at, name| at.find_subcommand(name))
}

#[test]
fn whatever_changes_something_can_be_tried_or_says_why_not() {
    let (command, all) = (command(), paths(&command()));
    let is_noun = |path: &String| all.iter().any(|other| other.starts_with(&format!("{path} ")));
    let acts = |path: &&String| !is_noun(path) || matches!(path.as_str(), "polls" | "router");
    let can_be_tried = |path: &str| {
        let arguments = found(&command, path).into_iter().flat_map(Command::get_arguments);
        arguments.into_iter().any(|arg| arg.get_id() == "dry_run")
    };
    for path in all.iter().filter(acts) {
        let named = [
            can_be_tried(path),
            READS.contains(&path.as_str()),
            UNTRIED.iter().any(|(name, _)| name == path),
        ];
        let n = named.iter().filter(|is_so| **is_so).count();
        assert_eq!(n, 1, "`{path}` has --dry-run, only reads, or says why neither; one of these");
    }
    let names = READS.iter().chain(UNTRIED.iter().map(|(name, _)| name));
    for name in names {
        assert!(all.iter().any(|path| path == name), "`{name}` is no command");
    }
}
