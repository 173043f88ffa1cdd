//! What a worker in a process of its own serves: flags over `[worker]` of the file over defaults.

use super::unknown;
use crate::cli;
use model::limits;
use serde::Deserialize;
use std::collections::BTreeMap;
use stepfast::RunnerConfig;

pub const KEYS: [&str; 3] = ["concurrency", "prefetch", "queues"];
const PRIORITY: &str = "priority";

/// A queue, and how many of its jobs run at once; 0 leaves `priority` out.
pub type QueueLimit = (String, usize);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RawWorker {
    concurrency: Option<usize>,
    prefetch: Option<usize>,
    queues: BTreeMap<String, usize>,
}

/// What the file says of it.
#[derive(Debug, Clone, Default)]
pub struct Worker {
    concurrency: Option<usize>,
    prefetch: Option<usize>,
    limited: Vec<QueueLimit>,
}

/// Keys that are not settings.
pub fn strange(table: &toml::Table) -> Vec<String> {
    match table.get("worker") {
        None => Vec::new(),
        Some(toml::Value::Table(worker)) => unknown(worker, &KEYS, "worker."),
        Some(_) => vec!["worker holds settings, as [worker]; did you mean `workers`?".into()],
    }
}

impl Worker {
    pub fn check(raw: RawWorker, faults: &mut Vec<String>) -> Worker {
        let RawWorker { concurrency, prefetch, queues } = raw;
        let limited: Vec<QueueLimit> = queues.into_iter().collect();
        let bad = limited.iter().filter_map(fault);
        faults.extend(bad.map(|fault| format!("worker.queues: {fault}")));
        Worker { concurrency, prefetch, limited }
    }

    /// With what the command line says. Queues that are named there take the place of those in the file.
    pub fn runner(&self, args: &cli::Worker) -> Result<RunnerConfig, String> {
        let is_named = !args.queues.is_empty() || !args.limited.is_empty();
        let limited = if is_named { &args.limited } else { &self.limited };
        let config = match limited.is_empty() {
            true => RunnerConfig { queues: names(&args.queues), ..RunnerConfig::default() },
            false => of_limited(limited, &args.queues)?,
        };
        Ok(RunnerConfig {
            concurrency: args.concurrency.or(self.concurrency).unwrap_or(config.concurrency),
            prefetch: args.prefetch.or(self.prefetch).unwrap_or(config.prefetch),
            ..config
        })
    }
}

fn names(queues: &[String]) -> Vec<model::Name> {
    queues.iter().map(|queue| queue.as_str().into()).collect()
}

/// Queues with a limit each, and `priority`, unless others are to share the rest.
fn of_limited(limited: &[QueueLimit], shared: &[String]) -> Result<RunnerConfig, String> {
    for (at, (name, _)) in limited.iter().enumerate() {
        if limited[..at].iter().any(|(other, _)| other == name) {
            return Err(format!("queue `{name}` has two limits; write --queue {name}=N once"));
        }
        if shared.contains(name) {
            return Err(format!("queue `{name}` has a limit of its own; leave it out of --queues"));
        }
    }
    let places = limited.iter().filter(|(_, n)| *n > 0);
    let config = RunnerConfig::for_queues(places.map(|(name, n)| (name.as_str(), *n)));
    let is_left_out = limited.iter().any(|(_, n)| *n == 0);
    if config.limited.is_empty() && shared.is_empty() {
        return Err("priority=0 leaves no queue; name another, as --queue email=4".into());
    }
    match (shared.is_empty(), is_left_out) {
        (false, _) => {
            let concurrency = RunnerConfig::default().concurrency;
            Ok(RunnerConfig { queues: names(shared), concurrency, ..config })
        }
        (true, true) => Ok(RunnerConfig { queues: Vec::new(), ..config }),
        (true, false) => Ok(config),
    }
}

/// As it is written on the command line.
pub fn queue_limit(text: &str) -> Result<QueueLimit, String> {
    let most = limits::SESSION_CAPACITY_MAX;
    let how = || format!("write a queue and how many of its jobs run at once, 1 to {most}, as email=4");
    let (name, n) = text.rsplit_once('=').ok_or_else(how)?;
    let limit = (name.trim().to_string(), n.trim().parse().map_err(|_| how())?);
    fault(&limit).map_or(Ok(limit), Err)
}

fn fault((name, n): &QueueLimit) -> Option<String> {
    let most = limits::SESSION_CAPACITY_MAX;
    if name.trim().is_empty() || name.len() > limits::NAME_BYTES_MAX {
        return Some(format!("`{name}` is no name for a queue; use 1 to {} bytes", limits::NAME_BYTES_MAX));
    }
    match *n {
        0 if name == PRIORITY => None,
        0 => Some(format!("`{name}` would run no job; write 1 to {most}, as {name}=4, or leave it out")),
        n if n > most => Some(format!("`{name}` cannot run {n} jobs at once; write 1 to {most}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(file: &str, limited: &[&str], queues: &[&str]) -> Result<String, String> {
        let raw: RawWorker = toml::from_str(file).map_err(|e| e.to_string())?;
        let mut faults = Vec::new();
        let worker = Worker::check(raw, &mut faults);
        if !faults.is_empty() {
            return Err(faults.join("\n"));
        }
        let limited = limited.iter().map(|text| queue_limit(text)).collect::<Result<_, _>>()?;
        let queues = queues.iter().map(ToString::to_string).collect();
        let config = worker.runner(&cli::Worker { concurrency: None, queues, limited, prefetch: None })?;
        let own: Vec<String> = config.limited.iter().map(|(name, n)| format!("{name}={n}")).collect();
        let shared = config.queues.join("+");
        Ok(format!("{shared} {} | {} | {}", config.concurrency, own.join(" "), config.prefetch))
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_defaults() {
        let file = "concurrency = 9\nprefetch = 2\n[queues]\nemail = 4";
        assert_eq!(told("", &[], &[]).unwrap(), " 64 |  | 0");
        assert_eq!(told("", &[], &["a", "b"]).unwrap(), "a+b 64 |  | 0");
        assert_eq!(told(file, &[], &[]).unwrap(), "priority 9 | email=4 | 2");
        assert_eq!(told(file, &[], &["a"]).unwrap(), "a 9 |  | 2");
        assert_eq!(told(file, &["reports=1"], &[]).unwrap(), "priority 9 | reports=1 | 2");
    }

    #[test]
    fn queues_with_limits_come_with_priority_or_with_what_is_named_beside_them() {
        let limited = ["email=4", "reports=1"];
        assert_eq!(told("", &limited, &[]).unwrap(), "priority 4 | email=4 reports=1 | 0");
        assert_eq!(told("", &limited, &["default"]).unwrap(), "default 64 | email=4 reports=1 | 0");
        assert_eq!(told("", &["email=4", "priority=2"], &[]).unwrap(), " 4 | email=4 priority=2 | 0");
        assert_eq!(told("", &["email=4", "priority=0"], &[]).unwrap(), " 4 | email=4 | 0");
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_to_write() {
        for (limited, part) in [
            (vec!["email"], "1 to 10000, as email=4"),
            (vec!["email=many"], "as email=4"),
            (vec!["=4"], "is no name for a queue"),
            (vec!["email=0"], "write 1 to 10000, as email=4, or leave it out"),
            (vec!["email=10001"], "cannot run 10001 jobs at once; write 1 to 10000"),
            (vec!["email=1", "email=2"], "write --queue email=N once"),
            (vec!["a=1"], "leave it out of --queues"),
        ] {
            let refused = told("", &limited, &["a"]).unwrap_err();
            assert!(refused.contains(part), "{limited:?}: {refused}");
        }
        assert!(told("", &["priority=0"], &[]).unwrap_err().contains("name another"));
        let refused = told("[queues]\nemail = 0", &[], &[]).unwrap_err();
        assert!(refused.starts_with("worker.queues: `email` would run no job"), "{refused}");
    }
}
