//! Who may call what: what each route asks for, who a caller is, and the keys that say so.

mod caller;
mod heard;
mod keyring;
mod looking;
mod pace;
mod refusals;
mod routes;
mod scope;
mod way;

#[cfg(test)]
pub use caller::tests::caller;
pub use caller::{Caller, Shown};
pub use heard::Heard;
pub use keyring::Keyring;
pub use looking::{is_open, looking};
pub use pace::Pace;
pub use refusals::Refusals;
pub use routes::{Routes, Table, delete, form, get, post, put, text};
pub use scope::{Reported, Scope, Within};
pub use way::{Cookies, Page, Way};

use crate::describe::Operation;
use axum::http::Method;
use model::Right;
use std::sync::OnceLock;

/// What a route asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing: probes, and the way in.
    Open,
    /// A token of its own, which the route looks at.
    Token,
    Needs(Right),
}

impl From<Right> for Access {
    fn from(right: Right) -> Access {
        Access::Needs(right)
    }
}

/// One method of one path, as it was declared.
#[derive(Clone)]
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    pub body: Takes,
    /// What it is about, for a key with a scope.
    pub within: Within,
    /// What its handler is called in the document.
    pub name: String,
    /// What its handler takes and answers.
    pub(crate) describe: fn(&mut Operation),
    pub(crate) heard: OnceLock<Heard>,
}

/// The body of a call that changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Json,
    /// YAML or JSON: whatever a form cannot send.
    Text,
    /// What a page without a script can send; only the way in takes it.
    Form,
}
