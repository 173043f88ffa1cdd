//! Makes a key of what somebody asks for, or says everything that is wrong with it.

use model::{Fault, Key, KeyId, NewKey, Role, Timestamp, limits};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// `others` is how many keys there are that are not revoked.
pub fn plan(new: &NewKey, id: KeyId, by: &str, others: usize, now: Timestamp) -> Result<Key, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut fault = |field: &str, problem: String, fix: String| {
        faults.push(Fault { field: field.into(), problem, fix });
    };
    if let Some(problem) = unfit(&new.name, limits::KEY_NAME_BYTES_MAX) {
        let fix = format!("say whose key it is, in 1 to {} bytes", limits::KEY_NAME_BYTES_MAX);
        fault("name", problem, fix);
    }
    let role: Result<Role, _> = new.role.parse();
    if let Err(problem) = &role {
        let words: Vec<&str> = Role::ALL.iter().map(|role| role.word()).collect();
        fault("role", problem.to_string(), format!("write one of {}", words.join(", ")));
    }
    if new.scope.len() > limits::KEY_SCOPE_MAX {
        let problem = format!("it names {} queues", new.scope.len());
        fault("scope", problem, format!("name at most {}, or none for all", limits::KEY_SCOPE_MAX));
    }
    for (i, queue) in new.scope.iter().enumerate() {
        if let Some(problem) = unfit(queue, limits::NAME_BYTES_MAX) {
            fault(&format!("scope[{i}]"), problem, "name a queue, or leave `scope` out for all".into());
        }
    }
    if let Some(days) = new.expires_days.filter(|days| !(1..=limits::KEY_DAYS_MAX).contains(days)) {
        let fix = format!("use 1 to {}, or leave it out for no end", limits::KEY_DAYS_MAX);
        fault("expires_days", format!("{days} is not a span"), fix);
    }
    if others >= limits::KEYS_MAX {
        fault("name", format!("there are {others} keys already"), "revoke what is not used any more".into());
    }
    match role {
        Ok(role) if faults.is_empty() => Ok(Key {
            id,
            name: new.name.trim().into(),
            role,
            scope: new.scope.iter().map(|queue| queue.as_str().into()).collect(),
            created_at: now,
            created_by: by.into(),
            expires_at: new.expires_days.map(|days| now + DAY * days),
            revoked_at: None,
            last_used_at: None,
        }),
        _ => Err(faults),
    }
}

/// A name stands in logs and in the audit, so it is one line of text.
fn unfit(name: &str, bytes_max: usize) -> Option<String> {
    match name.trim() {
        "" => Some("it is empty".into()),
        long if long.len() > bytes_max => Some(format!("it has {} bytes", long.len())),
        line if line.chars().any(char::is_control) => Some("it has control characters".into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(new: &NewKey, others: usize) -> Vec<String> {
        let planned = plan(new, KeyId::of(7), "anna", others, Timestamp(5));
        planned.err().unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    fn asked(name: &str, role: &str) -> NewKey {
        NewKey { name: name.into(), role: role.into(), ..NewKey::default() }
    }

    #[test]
    fn a_key_is_made_as_it_was_asked_for() {
        let new =
            NewKey { scope: vec!["slow".into()], expires_days: Some(2), ..asked(" deploy ", "operator") };
        let key = plan(&new, KeyId::of(7), "anna", 0, Timestamp(5)).unwrap();
        assert_eq!(
            (key.name.as_str(), key.role, key.created_by.as_str()),
            ("deploy", Role::Operator, "anna")
        );
        assert_eq!(key.expires_at, Some(Timestamp(5 + 2 * 86_400_000_000)));
        assert!(key.covers("slow") && !key.covers("default"));
        assert!(key.is_live(Timestamp(6)) && !key.is_live(Timestamp(5 + 2 * 86_400_000_000)));
        assert_eq!(key.signature(), "deploy (key 00000000-0000-0000-0000-000000000007)");
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let bad = NewKey { scope: vec!["".into()], expires_days: Some(0), ..asked("a\nb", "root") };
        assert_eq!(
            told(&bad, 0),
            [
                "name: it has control characters; say whose key it is, in 1 to 100 bytes",
                "role: `root` is not a role; expected one of viewer, operator, worker, admin; \
                 write one of viewer, operator, worker, admin",
                "scope[0]: it is empty; name a queue, or leave `scope` out for all",
                "expires_days: 0 is not a span; use 1 to 3650, or leave it out for no end",
            ]
        );
        assert_eq!(told(&asked(&"x".repeat(101), "admin"), 0).len(), 1);
        assert_eq!(
            told(&asked("one more", "admin"), limits::KEYS_MAX),
            ["name: there are 1000 keys already; revoke what is not used any more"]
        );
    }
}
