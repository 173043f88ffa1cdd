//! What a refused request answers: RFC 9457 with a stable code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing wrong with a request: where, what, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// The path of the field, for example `steps[3].children[0].index`.
    pub field: String,
    pub problem: String,
    pub fix: String,
}

/// `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    pub detail: String,
    /// What a program may compare; it never changes.
    pub code: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// What is wrong with a definition, with the place in its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<crate::DefinitionFault>,
}

/// What `/readyz` answers when it is green.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadyView {
    pub ready: bool,
}
