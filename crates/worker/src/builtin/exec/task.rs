//! What a step asks `exec` to do, checked before anything is started.

use super::allow::ExecAllow;
use crate::builtin::outcome::{bad_arguments, failed};
use model::{Claim, Outcome, limits};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLE: &str = r#"{"argv": ["/usr/bin/convert", "in.png", "out.jpg"], "cwd": "/srv/images"}"#;
const ARGV_MAX: usize = 1_000;
const ENV_MAX: usize = 256;
const STATUSES_MAX: usize = 100;
const TIMEOUT_MS: u64 = 300_000;
const TIMEOUT_MS_MAX: u64 = 24 * 3_600_000;
/// The rest of a step's room is for what JSON adds to text.
pub const OUTPUT_BYTES_MAX: usize = limits::PAYLOAD_BYTES_MAX - (64 << 10);
/// Where programs run that are told no place: one where nothing of ours lies.
const ROOT: &str = "/";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    argv: Vec<String>,
    stdin: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    timeout_ms: Option<u64>,
    max_output_bytes: Option<usize>,
    #[serde(default)]
    retry_on: Vec<i32>,
}

#[derive(Debug)]
pub struct Task {
    pub program: String,
    pub arguments: Vec<String>,
    pub stdin: Option<String>,
    pub env: BTreeMap<String, String>,
    pub cwd: PathBuf,
    pub timeout: Duration,
    pub output_bytes_max: usize,
    pub retry_on: Vec<i32>,
}

impl Task {
    /// Every fault is told at once.
    pub fn read(claim: &Claim, allow: &ExecAllow) -> Result<Task, Outcome> {
        let wrong = |problem: &dyn std::fmt::Display| bad_arguments("exec", EXAMPLE, problem);
        let arguments: Arguments = serde_json::from_str(&claim.arguments).map_err(|e| wrong(&e))?;
        let faults = faults(&arguments, allow);
        if !faults.is_empty() {
            return Err(wrong(&faults.join("; ")));
        }
        let Arguments { argv, stdin, env, cwd, timeout_ms, max_output_bytes, retry_on } = arguments;
        let mut argv = argv.into_iter();
        let program = argv.next().unwrap_or_default();
        allow.check(&program).map_err(failed)?;
        Ok(Task {
            program,
            arguments: argv.collect(),
            stdin,
            env,
            cwd: cwd.unwrap_or_else(|| ROOT.into()).into(),
            timeout: Duration::from_millis(timeout_ms.unwrap_or(TIMEOUT_MS)),
            output_bytes_max: max_output_bytes.unwrap_or(OUTPUT_BYTES_MAX),
            retry_on,
        })
    }
}

fn faults(arguments: &Arguments, allow: &ExecAllow) -> Vec<String> {
    let mut faults = Vec::new();
    let Arguments { argv, env, cwd, timeout_ms, max_output_bytes, retry_on, .. } = arguments;
    if argv.first().is_none_or(String::is_empty) || argv.len() > ARGV_MAX {
        faults.push(format!("argv: write the program, and then its arguments, at most {ARGV_MAX} in all"));
    }
    let texts = argv.iter().chain(env.values()).chain(cwd);
    if texts.into_iter().any(|text| text.contains('\0')) {
        faults.push("no argument, value or path may hold a NUL character; take it out".into());
    }
    if env.len() > ENV_MAX {
        faults.push(format!("env: write at most {ENV_MAX} names"));
    }
    for name in env.keys() {
        if name.is_empty() || name.contains(['=', '\0']) {
            faults.push(format!("env: {name:?} is no name; use letters, digits and `_`"));
        } else if let Err(fault) = allow.check_name(name) {
            faults.push(format!("env: {fault}"));
        }
    }
    if cwd.as_ref().is_some_and(|cwd| !cwd.starts_with('/')) {
        faults.push("cwd: write a whole path, for example `/srv/images`".into());
    }
    if timeout_ms.is_some_and(|ms| !(1..=TIMEOUT_MS_MAX).contains(&ms)) {
        faults.push(format!("timeout_ms: write 1 to {TIMEOUT_MS_MAX}"));
    }
    if max_output_bytes.is_some_and(|bytes| bytes > OUTPUT_BYTES_MAX) {
        faults.push(format!("max_output_bytes: write at most {OUTPUT_BYTES_MAX}"));
    }
    if retry_on.len() > STATUSES_MAX || retry_on.iter().any(|status| !(1..=255).contains(status)) {
        faults.push(format!("retry_on: write statuses from 1 to 255, at most {STATUSES_MAX}"));
    }
    faults
}
