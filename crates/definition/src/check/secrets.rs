//! What is secret is handed on and looked at by nobody but whoever runs a step.
//!
//! Why    a secret value is sealed before anything is stored, so an expression sees a text that stands for it. What is decided from
//!        that would be nonsense, and what is decided from the value itself would tell of it.

use super::Finding;
use super::expressions::{Read, find};
use expr::{Path, PathKey};
use model::definition::Definition;

/// What an expression is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Something is decided by it.
    Decision,
    /// The list of a fan-out.
    List,
    /// What a step is given.
    Gift,
}

/// How a way lies to a secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lies {
    Apart,
    Around,
    On,
    Within,
}

pub(super) fn check(definition: &Definition, read: &[Read]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for read in read {
        let purpose = purpose(&read.field);
        let wrong = read.references.paths.iter().find_map(|path| {
            let use_of = Use { purpose, read, path };
            definition.secrets.iter().find_map(|secret| use_of.wrong(secret)).map(|told| (path, told))
        });
        findings.extend(wrong.map(|(path, (problem, fix))| Finding {
            field: read.field.clone(),
            problem,
            fix,
            part: find(&read.text, &path.to_string()).or_else(|| find(&read.text, &path.variable)),
        }));
    }
    findings
}

fn purpose(field: &str) -> Purpose {
    let key = |n: usize| field.split('.').nth(n).and_then(|part| part.split('[').next());
    match (key(1).filter(|_| field.starts_with("steps[")), key(2)) {
        // Whoever is polled, or undoes a step, is given things as any other job is.
        (Some("arguments" | "input"), _) | (Some("poll" | "compensation"), Some("arguments")) => {
            Purpose::Gift
        }
        (Some("each"), _) => Purpose::List,
        _ => Purpose::Decision,
    }
}

struct Use<'r> {
    purpose: Purpose,
    read: &'r Read,
    path: &'r Path,
}

impl Use<'_> {
    /// What is wrong, and what to write.
    fn wrong(&self, secret: &str) -> Option<(String, String)> {
        let (path, references) = (self.path, &self.read.references);
        let lies = lies(path, secret);
        let looked_at = references.looked_at.contains(path);
        let handed_on = references.handed_on.contains(path);
        let what = match lies {
            Lies::Apart => return None,
            Lies::Around => format!("`{path}` holds `{secret}`, which is secret"),
            Lies::On => format!("`{path}` is secret"),
            Lies::Within => {
                let fix = format!(
                    "hand on `{secret}` as a whole with ${{{secret}}}, or list `{path}` in `secrets` instead"
                );
                return Some((format!("`{secret}` is secret, and `{path}` is a part of it"), fix));
            }
        };
        match self.purpose {
            _ if !looked_at && !handed_on => None,
            Purpose::Decision => {
                let fix = "decide from something that is not secret, or let an action look at it and answer what is needed";
                Some((format!("{what}: nothing can be decided from it"), fix.into()))
            }
            Purpose::List if looked_at || lies == Lies::On => {
                let fix =
                    format!("go over a list that only holds secrets, such as `input.users` for {EXAMPLE}");
                Some((format!("{what}: it cannot be gone over"), fix))
            }
            Purpose::Gift if looked_at => {
                let fix = format!("write ${{{path}}} with nothing else inside the braces");
                Some((format!("{what}: it can be handed on, and not looked at"), fix))
            }
            Purpose::List | Purpose::Gift => None,
        }
    }
}

const EXAMPLE: &str = "`secrets: [input.users.pin]`";

/// Lists on the way count for nothing: what is secret is so in each of their values.
fn lies(path: &Path, secret: &str) -> Lies {
    let mut names = secret.split('.');
    if names.next() != Some(path.variable.as_str()) {
        return Lies::Apart;
    }
    let keys = path.keys.iter().filter_map(|key| match key {
        PathKey::Name(name) => Some(name.as_str()),
        PathKey::Index(_) => None,
    });
    for key in keys {
        match names.next() {
            None => return Lies::Within,
            Some(name) if name == key => {}
            Some(_) => return Lies::Apart,
        }
    }
    if names.next().is_some() { Lies::Around } else { Lies::On }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Path {
        let mut parts = text.split('.');
        let variable = parts.next().unwrap_or_default().to_string();
        let key = |part: &str| part.parse().map_or_else(|_| PathKey::Name(part.into()), PathKey::Index);
        Path { variable, keys: parts.map(key).collect() }
    }

    #[test]
    fn a_job_is_given_things_and_everything_else_decides() {
        for (field, is_gift) in [
            ("steps[0].arguments.card", true),
            ("steps[0].input", true),
            ("steps[0].poll.arguments.card", true),
            ("steps[0].compensation.arguments", true),
            ("steps[0].poll.until", false),
            ("steps[0].compensation.message_group", false),
            ("steps[0].when", false),
            ("concurrency.arguments", false),
        ] {
            assert_eq!(purpose(field) == Purpose::Gift, is_gift, "{field}");
        }
    }

    #[test]
    fn a_way_lies_around_a_secret_on_it_or_within() {
        for (way, wanted) in [
            ("input", Lies::Around),
            ("input.card", Lies::Around),
            ("input.card.number", Lies::On),
            ("input.card.0.number", Lies::On),
            ("input.card.number.first", Lies::Within),
            ("input.cards", Lies::Apart),
            ("outputs.card.number", Lies::Apart),
        ] {
            assert_eq!(lies(&path(way), "input.card.number"), wanted, "{way}");
        }
    }
}
