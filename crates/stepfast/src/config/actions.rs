//! `[actions]`: how far the built-in actions may reach out of this process.

use serde::Deserialize;
use stepfast::{
    ExecAllow, HttpAllow, NoClient, Registry, Signing, register_builtin, register_deliver, register_exec,
    register_http,
};

pub const KEYS: [&str; 2] = ["exec", "http"];
pub const ACTION_KEYS: [&str; 1] = ["allow"];

/// Exactly what the file said.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RawActions {
    http: RawAction,
    exec: RawAction,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawAction {
    allow: RawAllow,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "`allow` is a list of texts, or one word")]
enum RawAllow {
    List(Vec<String>),
    Word(String),
}

impl Default for RawAllow {
    fn default() -> Self {
        RawAllow::List(Vec::new())
    }
}

#[derive(Clone, Debug, Default)]
pub struct Actions {
    pub http: HttpAllow,
    pub exec: ExecAllow,
    /// What deliveries are signed with.
    pub signing: Signing,
}

impl Actions {
    pub fn check(raw: &RawActions, faults: &mut Vec<String>) -> Actions {
        let http = match &raw.http.allow {
            RawAllow::List(list) => HttpAllow::read(list),
            RawAllow::Word(word) => Err(vec![format!("write a list, [\"{word}\"]")]),
        };
        let exec = match &raw.exec.allow {
            RawAllow::List(list) => ExecAllow::only(list),
            RawAllow::Word(word) if word == "any" => Ok(ExecAllow::Any),
            RawAllow::Word(word) => Err(vec![format!("write a list, [\"{word}\"], or \"any\"")]),
        };
        Actions {
            http: told("http", http, faults),
            exec: told("exec", exec, faults),
            signing: Signing::default(),
        }
    }

    /// Every built-in action.
    pub fn register(&self, registry: &mut Registry) -> Result<(), NoClient> {
        self.register_all_but_deliver(registry)?;
        register_deliver(registry, &self.http, &self.signing)
    }

    /// Where deliveries go over a queue.
    pub fn register_all_but_deliver(&self, registry: &mut Registry) -> Result<(), NoClient> {
        register_builtin(registry);
        register_exec(registry, &self.exec);
        register_http(registry, &self.http)
    }
}

fn told<T: Default>(action: &str, read: Result<T, Vec<String>>, faults: &mut Vec<String>) -> T {
    read.unwrap_or_else(|found| {
        faults.extend(found.iter().map(|fault| format!("actions.{action}.allow: {fault}")));
        T::default()
    })
}
