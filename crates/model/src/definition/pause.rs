//! A pause behind a step: what it waits for, for how long, and what then.

use super::{Expression, Shape, millis};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// Those behind a step wait until somebody lets them go on, or until a time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PauseDef {
    /// The key that is triggered; what is sent with it is an output of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// It goes on by itself after so long, and listens to no one.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub resume_after: Option<Duration>,
    /// How long it waits before something is done about it.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    pub on_timeout: PauseTimeout,
    /// How often it is reminded of before it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reminders: Option<u32>,
    /// What stands for the payload where nobody sent one in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Unless this holds for a payload, it keeps waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_when: Option<Expression>,
    /// What a payload must look like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Shape>,
    pub auth: TriggerAuth,
    /// Where it is told that it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<Notify>,
}

/// Where something is told, and the key that signs it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Notify {
    Url(String),
    Signed(Signed),
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    pub url: String,
    pub signing: String,
}

impl Notify {
    pub fn url(&self) -> &str {
        match self {
            Notify::Url(url) | Notify::Signed(Signed { url, .. }) => url,
        }
    }
    pub fn signing(&self) -> Option<&str> {
        match self {
            Notify::Url(_) => None,
            Notify::Signed(signed) => Some(&signed.signing),
        }
    }
}

/// What is done when nobody came in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseTimeout {
    #[default]
    Fail,
    /// It is told again, and waits as long again.
    Remind,
    /// It goes on with `default`.
    AutoApprove,
    /// It waits as long again, once.
    Extend,
}

/// How whoever triggers it shows who they are. A key with the right to operate always does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerAuth {
    #[default]
    ApiKey,
    /// Signed with a secret of the definition, as Standard Webhooks has it.
    Hmac,
    /// With the token that was made for this very pause.
    Token,
}
