//! `exec` with real programs.

use super::{Exec, ExecAllow, run};
use model::{Claim, Outcome, StepId};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Nothing here takes as long; what does has gone wrong.
const FOREVER: Duration = Duration::from_secs(60);

fn claim(arguments: &Value) -> Claim {
    Claim {
        step: StepId::of(7),
        attempt: 1,
        action: "exec".into(),
        queue: "default".into(),
        arguments: arguments.to_string().into(),
        failed_attempts: 0,
        max_attempts: 3,
        place: None,
        look: None,
        poll: None,
        trace: None,
        message_group: None,
        workflow: None,
        opens: Vec::new(),
    }
}

fn exec(allow: ExecAllow) -> Arc<Exec> {
    Arc::new(Exec { allow, grace: Duration::from_millis(100) })
}

async fn outcome(arguments: Value) -> Outcome {
    timeout(FOREVER, run(claim(&arguments), exec(ExecAllow::Any))).await.unwrap()
}

async fn shell(script: &str) -> Outcome {
    outcome(json!({"argv": ["/bin/sh", "-c", script]})).await
}

fn words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Complete { response } => format!("complete {}", response.clone().unwrap_or_default()),
        Outcome::Retry { failure, .. } => format!("retry {}", failure.clone().unwrap_or_default().message),
        Outcome::Fail { failure, .. } => format!("fail {}", failure.message),
        other => format!("{other:?}"),
    }
}

fn stdout(outcome: &Outcome) -> String {
    let Outcome::Complete { response: Some(response) } = outcome else { panic!("{outcome:?}") };
    serde_json::from_str::<Value>(response).unwrap()["stdout"].as_str().unwrap().to_string()
}

#[tokio::test]
async fn the_way_a_program_ends_decides_how_its_step_ends() {
    let table = [
        ("echo out; echo err >&2", json!([]), r#"complete {"status":0,"stdout":"out\n","stderr":"err\n"}"#),
        ("exit 3", json!([]), "fail `/bin/sh` ended with status 3"),
        (
            "echo out; echo no such order >&2; exit 3",
            json!([]),
            "fail `/bin/sh` ended with status 3: no such order",
        ),
        ("echo only out; exit 1", json!([]), "fail `/bin/sh` ended with status 1: only out"),
        ("exit 75", json!([]), "retry `/bin/sh` ended with status 75"),
        ("exit 3", json!([2, 3]), "retry `/bin/sh` ended with status 3"),
        ("exit 4", json!([2, 3]), "fail `/bin/sh` ended with status 4"),
        ("kill -9 $$", json!([]), "retry `/bin/sh` was killed by signal 9"),
        ("kill -TERM $$", json!([]), "retry `/bin/sh` was killed by signal 15"),
    ];
    for (script, retry_on, wanted) in table {
        let got = outcome(json!({"argv": ["/bin/sh", "-c", script], "retry_on": retry_on})).await;
        assert_eq!(words(&got), wanted, "{script}");
    }
}

#[tokio::test]
async fn what_a_program_complained_of_is_kept_with_its_failure() {
    let Outcome::Fail { failure, .. } = shell("printf 'one\\ntwo\\000\\n' >&2; exit 1").await else {
        panic!("it does not fail");
    };
    assert_eq!(failure.trace.as_deref(), Some("one\ntwo\u{fffd}\n"));
    assert_eq!(failure.message, "`/bin/sh` ended with status 1: one two");
}

#[tokio::test]
async fn there_is_no_shell_between_the_step_and_the_program() {
    let got = outcome(json!({"argv": ["/bin/echo", "$HOME; `id`", "*"]})).await;
    assert_eq!(stdout(&got), "$HOME; `id` *\n");
}

#[tokio::test]
async fn a_program_finds_no_environment_but_its_own() {
    let got = outcome(json!({"argv": ["/usr/bin/env"], "env": {"ORDER": "7", "LANG": "C"}})).await;
    let mut lines: Vec<String> = stdout(&got).lines().map(String::from).collect();
    lines.sort();
    let path = std::env::var("PATH").unwrap();
    assert_eq!(lines, ["LANG=C".to_string(), "ORDER=7".into(), format!("PATH={path}")]);
}

#[tokio::test]
async fn a_program_runs_where_it_is_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let got = outcome(json!({"argv": ["/bin/pwd"], "cwd": dir})).await;
    assert_eq!(stdout(&got).trim(), dir.to_str().unwrap());
    assert_eq!(stdout(&outcome(json!({"argv": ["/bin/pwd"]})).await), "/\n");
    let got = words(&outcome(json!({"argv": ["/bin/pwd"], "cwd": "/no/such"})).await);
    assert!(got.starts_with("fail `/bin/pwd` cannot be started in `/no/such`: "), "{got}");
}

#[tokio::test]
async fn a_program_reads_what_the_step_gives_it_or_does_not() {
    let long = "żółw\n".repeat(60_000);
    assert_eq!(stdout(&outcome(json!({"argv": ["/bin/cat"], "stdin": long})).await), long);
    assert_eq!(stdout(&outcome(json!({"argv": ["/bin/cat"]})).await), "");
    assert_eq!(stdout(&outcome(json!({"argv": ["/bin/echo", "a"], "stdin": long})).await), "a\n");
    let got = shell("printf 'a\\377b\\000'").await;
    assert_eq!(stdout(&got), "a\u{fffd}b\0", "what is no text is told as well as it can be");
}

#[tokio::test]
async fn a_program_that_is_not_allowed_is_not_started() {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("mark");
    let touch = json!({"argv": ["/usr/bin/touch", mark]});
    let only = ExecAllow::only(&["/bin/true".into()]).unwrap();
    let off = words(&run(claim(&touch), exec(ExecAllow::Nothing)).await);
    assert!(
        off.starts_with("fail `exec` starts no programs here; an operator can allow this one with "),
        "{off}"
    );
    assert!(off.contains("[actions.exec] allow = [\"/usr/bin/touch\"]"), "{off}");
    let other = words(&run(claim(&touch), exec(only.clone())).await);
    assert!(other.starts_with("fail `/usr/bin/touch` is not among the programs `exec` may start"), "{other}");
    let loader = json!({"argv": ["/bin/true"], "env": {"LD_PRELOAD": "/tmp/x.so"}});
    let loader = words(&run(claim(&loader), exec(only.clone())).await);
    assert!(loader.contains("env: `LD_PRELOAD` can make an allowed program run another one"), "{loader}");
    assert!(!mark.exists());
    let allowed = run(claim(&json!({"argv": ["/bin/true"]})), exec(only)).await;
    assert_eq!(words(&allowed), r#"complete {"status":0,"stdout":"","stderr":""}"#);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_failure() {
    let got = words(&outcome(json!({"argv": ["/no/such/program"]})).await);
    assert!(got.starts_with("fail `/no/such/program` cannot be started in `/`: No such file"), "{got}");
    let got = words(&outcome(json!({"argv": ["/etc/passwd"]})).await);
    assert!(got.starts_with("fail `/etc/passwd` cannot be started in `/`: Permission denied"), "{got}");
}

#[tokio::test]
async fn bad_arguments_are_told_all_at_once_with_what_to_write() {
    let table = [
        (json!({}), "missing field `argv`"),
        (json!({"argv": []}), "argv: write the program"),
        (json!({"argv": [""]}), "argv: write the program"),
        (json!({"argv": "ls -l"}), "expected a sequence"),
        (json!({"argv": ["/bin/true", "a\0b"]}), "may hold a NUL character"),
        (json!({"argv": ["/bin/true"], "shell": true}), "unknown field `shell`"),
        (json!({"argv": ["/bin/true"], "env": {"A=B": "1"}}), "env: \"A=B\" is no name"),
        (json!({"argv": ["/bin/true"], "cwd": "here"}), "cwd: write a whole path"),
        (json!({"argv": ["/bin/true"], "timeout_ms": 0}), "timeout_ms: write 1 to 86400000"),
        (
            json!({"argv": ["/bin/true"], "max_output_bytes": 2_000_000}),
            "max_output_bytes: write at most 983040",
        ),
        (json!({"argv": ["/bin/true"], "retry_on": [0]}), "retry_on: write statuses from 1 to 255"),
        (json!({"argv": vec!["a"; 1_001]}), "at most 1000 in all"),
    ];
    for (arguments, wanted) in table {
        let got = words(&outcome(arguments).await);
        assert!(got.starts_with("fail `exec` does not understand its arguments: "), "{got}");
        assert!(got.contains(wanted), "{wanted} is not in {got}");
        assert!(got.ends_with("\"cwd\": \"/srv/images\"}"), "{got}");
    }
}

#[tokio::test]
async fn a_program_that_writes_without_end_is_killed() {
    for script in ["yes", "yes >&2", "yes & yes >&2 & wait"] {
        let arguments = json!({"argv": ["/bin/sh", "-c", script], "max_output_bytes": 100_000});
        let got = words(&outcome(arguments).await);
        assert!(got.starts_with("fail `/bin/sh` wrote more than 100000 bytes and was killed"), "{got}");
    }
    let arguments =
        json!({"argv": ["/bin/sh", "-c", "printf 12345; printf 12345 >&2"], "max_output_bytes": 10});
    assert!(words(&outcome(arguments).await).starts_with("complete "));
}

/// A pipe with a name: whoever holds its other end is alive.
struct Holders {
    _dir: tempfile::TempDir,
    path: PathBuf,
    started: oneshot::Receiver<String>,
    gone: oneshot::Receiver<String>,
}

impl Holders {
    fn new() -> Holders {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("held");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let (say_started, started) = oneshot::channel();
        let (say_gone, gone) = oneshot::channel();
        let from = path.clone();
        std::thread::spawn(move || {
            let mut pipe = BufReader::new(std::fs::File::open(from).unwrap());
            let (mut first, mut rest) = (String::new(), String::new());
            pipe.read_line(&mut first).unwrap();
            let _ = say_started.send(first.trim().to_string());
            // Comes to an end when the last process that could write has ended.
            pipe.read_to_string(&mut rest).unwrap();
            let _ = say_gone.send(rest);
        });
        Holders { _dir: dir, path, started, gone }
    }
}

/// A program with a child of its own; both hold the pipe, and the child does not listen when it is asked to end.
fn family(held: &Path, leader: &str) -> Value {
    let child = "(trap '' TERM; exec sleep 1000) &";
    let script = format!("exec >'{}'; {child} {leader}; echo $$; wait; wait", held.display());
    json!({"argv": ["/bin/sh", "-c", script], "timeout_ms": 1_500})
}

async fn said(words: oneshot::Receiver<String>) -> String {
    timeout(FOREVER, words).await.unwrap().unwrap()
}

#[tokio::test]
async fn when_the_time_is_up_the_whole_family_is_killed_and_reaped() {
    for leader in ["trap '' TERM", ":"] {
        let held = Holders::new();
        let got = words(&outcome(family(&held.path, leader)).await);
        assert_eq!(got, "retry `/bin/sh` did not end within 1500 ms and was killed");
        let number: i32 = said(held.started).await.parse().unwrap();
        assert_eq!(said(held.gone).await, "");
        let reaped = waitid(
            WaitId::Pid(Pid::from_raw(number).unwrap()),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
        );
        assert_eq!(reaped.err(), Some(rustix::io::Errno::CHILD), "no dead child is left behind");
    }
}

#[tokio::test]
async fn a_program_that_is_asked_to_end_may_clean_up() {
    let held = Holders::new();
    let script = "trap 'echo cleaned; exit' TERM; echo started; while :; do :; done";
    let script = format!("exec >'{}'; {script}", held.path.display());
    let patient = Arc::new(Exec { allow: ExecAllow::Any, grace: FOREVER });
    let job = tokio::spawn(run(claim(&json!({"argv": ["/bin/sh", "-c", script]})), patient));
    assert_eq!(said(held.started).await, "started");
    job.abort();
    assert_eq!(said(held.gone).await, "cleaned\n");
}

#[tokio::test]
async fn when_the_step_is_cancelled_the_whole_family_is_killed() {
    for leader in ["trap '' TERM", ":"] {
        let held = Holders::new();
        let mut arguments = family(&held.path, leader);
        arguments["timeout_ms"] = 3_600_000.into();
        let job = tokio::spawn(run(claim(&arguments), exec(ExecAllow::Any)));
        said(held.started).await;
        job.abort();
        assert!(job.await.unwrap_err().is_cancelled());
        assert_eq!(said(held.gone).await, "");
    }
}

#[test]
fn when_the_process_stops_the_whole_family_is_killed() {
    let held = Holders::new();
    let mut arguments = family(&held.path, "trap '' TERM");
    arguments["timeout_ms"] = 3_600_000.into();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let patient = Arc::new(Exec { allow: ExecAllow::Any, grace: FOREVER });
        tokio::spawn(run(claim(&arguments), patient));
        said(held.started).await;
    });
    drop(runtime);
    assert_eq!(held.gone.blocking_recv().unwrap(), "");
}

#[tokio::test]
async fn what_a_program_leaves_running_ends_with_it() {
    let held = Holders::new();
    let script = format!("exec 3>'{}'; echo started >&3; sleep 1000 & echo done", held.path.display());
    assert_eq!(stdout(&shell(&script).await), "done\n");
    assert_eq!(said(held.gone).await, "");
}
