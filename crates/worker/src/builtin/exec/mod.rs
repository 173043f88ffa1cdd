//! `exec`: one program, without a shell, in a process group that does not outlive its step.

mod allow;
mod group;
mod output;
mod task;
#[cfg(test)]
mod tests;

pub use allow::ExecAllow;

use super::outcome::{again, complete, failed, one_line};
use group::Group;
use model::{Claim, Failure, Outcome};
use output::{Passed, Pipes};
use serde::Serialize;
use std::io::{Error, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use task::Task;

/// How long a program may take to end once it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How long what a program wrote is waited for once its whole group is gone: one that left the group may hold the pipe.
const REST_WAIT: Duration = Duration::from_secs(1);
/// "Try again later", as programs have said it since sendmail.
const EX_TEMPFAIL: i32 = 75;
const MESSAGE_BYTES_MAX: usize = 500;
const TRACE_BYTES_MAX: usize = 16 << 10;

pub struct Exec {
    allow: ExecAllow,
    grace: Duration,
}

impl Exec {
    pub fn new(allow: ExecAllow) -> Exec {
        Exec { allow, grace: GRACE }
    }
}

/// How a program was left.
enum Left {
    Ended(ExitStatus),
    TooSlow,
    TooMuch,
    Lost(Error),
}

#[derive(Serialize)]
struct Response<'a> {
    status: i32,
    stdout: &'a str,
    stderr: &'a str,
}

pub async fn run(claim: Claim, exec: Arc<Exec>) -> Outcome {
    let mut task = match Task::read(&claim, &exec.allow) {
        Ok(task) => task,
        Err(outcome) => return outcome,
    };
    let mut group = match Group::start(&task, exec.grace) {
        Ok(group) => group,
        Err(problem) => return not_started(&task, &problem),
    };
    let mut pipes = Pipes::new(group.pipes(), task.stdin.take());
    let left = watch(&mut group, &mut pipes, &task).await;
    decide(
        &task,
        left,
        &String::from_utf8_lossy(&pipes.written_out),
        &String::from_utf8_lossy(&pipes.written_err),
    )
}

/// Until the program has ended, by itself or because it had to. Then nothing of its group is left.
async fn watch(group: &mut Group, pipes: &mut Pipes, task: &Task) -> Left {
    let until_it_ends = async {
        tokio::select! {
            Passed::TooMuch = pipes.pass(task.output_bytes_max) => Ok(Passed::TooMuch),
            ended = group.ended() => ended.map(|()| Passed::Closed),
        }
    };
    let passed = match tokio::time::timeout(task.timeout, until_it_ends).await {
        Ok(Ok(Passed::Closed)) => {
            group.kill();
            tokio::time::timeout(REST_WAIT, pipes.pass(task.output_bytes_max)).await.unwrap_or(Passed::Closed)
        }
        Ok(Ok(Passed::TooMuch)) => Passed::TooMuch,
        Ok(Err(problem)) => {
            group.end().await;
            return Left::Lost(problem);
        }
        Err(_) => {
            group.end().await;
            return Left::TooSlow;
        }
    };
    match passed {
        Passed::Closed => group.reap().await.map_or_else(Left::Lost, Left::Ended),
        Passed::TooMuch => {
            group.end().await;
            Left::TooMuch
        }
    }
}

fn decide(task: &Task, left: Left, stdout: &str, stderr: &str) -> Outcome {
    let program = &task.program;
    let told = |message| Failure { message, trace: trace(stderr) };
    let again = |message| Outcome::Retry { after: None, failure: Some(told(message)) };
    let failed = |message| Outcome::Fail { failure: told(message), notify: true };
    let status = match left {
        Left::Ended(status) => status,
        Left::TooSlow => {
            return again(format!(
                "`{program}` did not end within {} ms and was killed",
                task.timeout.as_millis()
            ));
        }
        Left::TooMuch => {
            return failed(format!(
                "`{program}` wrote more than {} bytes and was killed; make it write less, or write a larger \
                 `max_output_bytes`, up to {}",
                task.output_bytes_max,
                task::OUTPUT_BYTES_MAX
            ));
        }
        Left::Lost(problem) => return again(format!("`{program}` could not be watched: {problem}")),
    };
    let said = last_words(stdout, stderr);
    match (status.code(), status.signal()) {
        (Some(0), _) => complete("exec", &Response { status: 0, stdout, stderr }),
        (Some(code), _) if code == EX_TEMPFAIL || task.retry_on.contains(&code) => {
            again(format!("`{program}` ended with status {code}{said}"))
        }
        (Some(code), _) => failed(format!("`{program}` ended with status {code}{said}")),
        (None, signal) => {
            again(format!("`{program}` was killed by signal {}{said}", signal.unwrap_or_default()))
        }
    }
}

/// A program that is not there will not be there next time; a machine that is full may be less so.
fn not_started(task: &Task, problem: &Error) -> Outcome {
    let message = format!("`{}` cannot be started in `{}`: {problem}", task.program, task.cwd.display());
    match problem.kind() {
        ErrorKind::WouldBlock | ErrorKind::OutOfMemory | ErrorKind::ExecutableFileBusy => {
            again(message, None)
        }
        _ if matches!(problem.raw_os_error(), Some(EMFILE | ENFILE)) => again(message, None),
        _ => failed(message),
    }
}

/// Too many open files, in the process and on the machine.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// The end of what it complained of, or else of what it wrote, on one line.
fn last_words(stdout: &str, stderr: &str) -> String {
    let words = |text| one_line(tail(text, MESSAGE_BYTES_MAX), MESSAGE_BYTES_MAX);
    match [words(stderr), words(stdout)].into_iter().find(|words| !words.is_empty()) {
        Some(words) => format!(": {words}"),
        None => String::new(),
    }
}

fn trace(stderr: &str) -> Option<String> {
    Some(tail(stderr, TRACE_BYTES_MAX).replace('\0', "\u{fffd}")).filter(|trace| !trace.is_empty())
}

fn tail(text: &str, bytes_max: usize) -> &str {
    let from = text.len().saturating_sub(bytes_max);
    &text[(from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(from)..]
}
