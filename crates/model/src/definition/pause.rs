//! A pause behind a step: what it waits for, for how long, and what then.

use super::{Definition, Expression, PollDef, PollTimeout, Shape, StepDef, Work, millis};
use crate::limits;
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
    /// It asks an action again and again, and goes on when `resume_when` holds for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<Box<PollDef>>,
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

impl Definition {
    /// With a step behind all others for each pause that polls, which is what polls there; and behind which step each of them stands.
    pub fn expanded(mut self) -> (Definition, Vec<u32>) {
        let (mut polls, mut behind) = (Vec::new(), Vec::new());
        for (n, step) in self.steps.iter_mut().enumerate() {
            let Some(pause) = step.pause_after.take_if(|pause| pause.poll.is_some()) else { continue };
            polls.push(asking(step, *pause));
            behind.push(n as u32);
        }
        self.steps.extend(polls);
        (self, behind)
    }
}

impl StepDef {
    /// The name under which others read what ended the pause behind it.
    pub fn resumed_with(&self) -> Option<String> {
        let pause = self.pause_after.as_ref()?;
        pause.trigger.clone().or_else(|| pause.poll.as_ref().map(|_| asks(&self.key)))
    }
}

/// The key of the step that polls behind another, and of its output. No step that is written can have it.
fn asks(step: &str) -> String {
    format!("{step}:poll")
}

/// It polls in the queue of the step that it stands behind.
fn asking(step: &StepDef, mut pause: PauseDef) -> StepDef {
    let mut poll = *pause.poll.take().unwrap_or_default();
    poll.run.queue = step.work.action().and_then(|action| action.queue.clone());
    let poll = PollDef {
        until: pause.resume_when.take(),
        max_duration: Some(pause.timeout.unwrap_or(limits::PAUSE_TIMEOUT_DEFAULT)),
        on_timeout: match pause.on_timeout {
            PauseTimeout::AutoApprove => PollTimeout::ContinueWithDefault,
            PauseTimeout::Fail | PauseTimeout::Remind | PauseTimeout::Extend => PollTimeout::Fail,
        },
        default: pause.default.take(),
        ..poll
    };
    StepDef { key: asks(&step.key), work: Work::Poll(Box::new(poll)), ..StepDef::default() }
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
