//! A definition: what the steps of a workflow are, as it is written, checked and pinned.
//!
//! Why    YAML, JSON and the Rust builder make the same value, and the value alone has a hash: two files that say the same are
//!        the same version, however they are laid out.

mod pause;

pub use pause::{Notify, PauseDef, PauseTimeout, Signed, TriggerAuth};

use crate::{DispatchMode, Priority, Success};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// A CEL expression, as it is written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Expression(pub String);

impl From<&str> for Expression {
    fn from(text: &str) -> Self {
        Expression(text.into())
    }
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Definition {
    /// The key of the workflow, in lower-case-kebab.
    pub workflow: String,
    /// major.minor.patch
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Shape>,
    /// How long the whole may take.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// How long it usually takes; beyond it somebody should look.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub expected_within: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Concurrency>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Values of the input that are never shown, each as the way to it: `input.card.number`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// What happens when it fails, beyond what its steps do by themselves.
    #[serde(skip_serializing_if = "Resolution::is_default")]
    pub on_failure: Resolution,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_cancel: Option<OnCancel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<OnTimeout>,
    pub steps: Vec<StepDef>,
}

impl Definition {
    /// Whether what was done is undone when it is cancelled; nobody has to say so where every failure is undone anyway.
    pub fn on_cancel(&self) -> OnCancel {
        let undoes = self.on_failure.strategy == Strategy::AutoCompensate;
        self.on_cancel.unwrap_or(if undoes { OnCancel::Compensate } else { OnCancel::Leave })
    }
    pub fn on_timeout(&self) -> OnTimeout {
        let undoes = self.on_failure.strategy == Strategy::AutoCompensate;
        self.on_timeout.unwrap_or(if undoes { OnTimeout::Compensate } else { OnTimeout::AwaitDecision })
    }
}

/// At most so many live workflows with the same key; the others wait for their turn.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Concurrency {
    pub key: Expression,
    pub limit: u32,
}

/// What a value must look like, as a JSON Schema.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shape {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

/// A step as it is written.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StepDef {
    pub key: String,
    pub work: Work,
    /// The steps it follows; without it, the one written before it. An empty list makes it a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<String>>,
    /// Unless this holds it is skipped, and those after it go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Expression>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminate_when: Option<Termination>,
    /// Those behind it wait for somebody, or for a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_after: Option<Box<PauseDef>>,
    /// What it must answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub produces: Option<Shape>,
    /// Steps whose answers it cannot do without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    pub on_failure: FailurePolicy,
    /// What undoes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compensation: Option<Compensation>,
    /// What people read while it is the one that is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
}

/// What a step does.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// A worker runs an action, once or once for each item of a list.
    Action(Box<ActionDef>),
    /// Nothing happens until then.
    Wait(Wait),
    /// It is decided which steps come next.
    Branch(Branch),
    /// Another workflow is started, and its end waited for.
    Workflow(SubWorkflow),
    /// A worker runs an action again and again, until it answers that what is waited for is there.
    Poll(Box<PollDef>),
}

impl Work {
    /// What a worker runs, once or again and again.
    pub fn action(&self) -> Option<&ActionDef> {
        match self {
            Work::Action(action) => Some(action),
            Work::Poll(poll) => Some(&poll.run),
            Work::Wait(_) | Work::Branch(_) | Work::Workflow(_) => None,
        }
    }
    pub fn poll(&self) -> Option<&PollDef> {
        match self {
            Work::Poll(poll) => Some(poll),
            _ => None,
        }
    }
}

impl Default for Work {
    fn default() -> Self {
        Work::Action(Box::default())
    }
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ActionDef {
    pub action: String,
    /// A JSON value in which `${ … }` stands for what an expression says; without it, the input of the workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<Each>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_group: Option<Expression>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<DispatchMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    #[serde(skip_serializing_if = "Timeout::is_none")]
    pub timeout: Timeout,
}

/// Fan-out: one step for each item of a list.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Each {
    pub items: Expression,
    /// How many items are in hand at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_parallel: Option<u32>,
    #[serde(default)]
    pub success: Success,
    #[serde(default)]
    pub gather: Gather,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gather {
    /// The answers in the order of the items, with `null` for an item that has none.
    #[default]
    List,
    /// The answers, which must be objects, in one; what a later item says wins.
    Merge,
    /// How many there were and how they ended, and no answers.
    Counts,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// Executions, the first included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// By what the wait grows each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<f64>,
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<Duration>,
    pub scope: RetryScope,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryScope {
    /// Each item by itself.
    #[default]
    FailedItems,
    /// The whole fan-out, when it has failed.
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timeout {
    /// How long one execution may take.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Duration>,
    /// How long the step may take, with all its executions and waits.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub step: Option<Duration>,
}

impl Timeout {
    pub fn is_none(&self) -> bool {
        *self == Timeout::default()
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    For(#[serde(with = "required_millis")] Duration),
    /// An expression for the time, as text (RFC 3339) or in seconds since 1970.
    Until(Expression),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchKind {
    /// Exactly one of them.
    #[default]
    Exclusive,
    /// One or more.
    Inclusive,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    #[serde(default)]
    pub kind: BranchKind,
    /// A branch key, or a list of them.
    pub choose: Expression,
    /// The steps of each branch: one follows the other unless `after` says otherwise.
    pub branches: BTreeMap<String, Vec<String>>,
    /// The branch that is taken when the expression names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
    /// The step at which the branches meet again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converge: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SubWorkflow {
    pub workflow: String,
    /// The newest, unless one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// As `arguments` of an action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

/// The whole ends here, when this holds after the step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Termination {
    #[serde(rename = "if")]
    pub condition: Expression,
    #[serde(default)]
    pub state: Ending,
    pub reason: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    #[default]
    Succeeded,
    Failed,
}

/// What the failure of a step means for its workflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailurePolicy {
    #[default]
    FailWorkflow,
    /// Somebody looks first.
    PauseWorkflow,
    /// As if it had not been there.
    SkipStep,
    /// Those after it work with what there is.
    ContinueWithPartial,
}

/// What happens when a workflow has failed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Resolution {
    pub strategy: Strategy,
    /// How often it is tried again by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// By what the wait grows each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<f64>,
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<Duration>,
    /// What happens when that did not help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// The steps that are undone by themselves; without it, all that were done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Vec<String>>,
}

impl Resolution {
    pub fn is_default(&self) -> bool {
        *self == Resolution::default()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// A person decides.
    #[default]
    AwaitDecision,
    /// The step that failed is done again, after a while.
    AutoRetry,
    /// What was done is undone.
    AutoCompensate,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    #[default]
    AwaitDecision,
    AutoCompensate,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCancel {
    Compensate,
    /// What was done stays done.
    #[serde(rename = "no_compensate")]
    Leave,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    Compensate,
    /// It has failed, and nobody is asked.
    Fail,
    AwaitDecision,
}

/// What undoes a step.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Compensation {
    pub run: Box<ActionDef>,
    pub when: UndoneWhen,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoneWhen {
    /// It was done.
    #[default]
    Completed,
    /// It was begun: nobody knows how far it came.
    Started,
}

/// An action that is asked again and again.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PollDef {
    /// What is run for each poll; it has no `each`.
    pub run: ActionDef,
    /// The wait before the second poll.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// By what the wait grows each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<f64>,
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub max_interval: Option<Duration>,
    /// How long it may go on, from the first poll that was answered.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub max_duration: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// The answer of a job that knows nothing of polls is the last if this holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Expression>,
    /// It fails at once if this holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abort_when: Option<Expression>,
    pub on_timeout: PollTimeout,
    /// What it answers when its time is over.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Polls that are kept on record, counted from the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_last: Option<u32>,
}

/// What it means that nothing came of the polls in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PollTimeout {
    /// The step has failed.
    #[default]
    Fail,
    /// Somebody looks first; resumed, it is polled again from the start.
    Pause,
    /// It answers what `default` says.
    ContinueWithDefault,
}

/// What is there is there, also if it is `null`.
fn present<'a, D: serde::Deserializer<'a>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// Durations as whole milliseconds.
mod millis {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    pub fn serialize<S: Serializer>(duration: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => to.serialize_u64(duration.as_millis() as u64),
            None => to.serialize_none(),
        }
    }
    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
    }
}

mod required_millis {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    pub fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(duration.as_millis() as u64)
    }
    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_again() {
        let step = StepDef {
            key: "pay".into(),
            work: Work::Action(Box::new(ActionDef {
                action: "payments.charge".into(),
                retry: Some(Retry { delay: Some(Duration::from_secs(1)), ..Retry::default() }),
                timeout: Timeout { attempt: Some(Duration::from_secs(60)), step: None },
                ..ActionDef::default()
            })),
            ..StepDef::default()
        };
        let wait = StepDef {
            key: "rest".into(),
            work: Work::Wait(Wait::For(Duration::from_millis(1_500))),
            ..StepDef::default()
        };
        let poll = StepDef {
            key: "paid".into(),
            work: Work::Poll(Box::new(PollDef {
                run: ActionDef { action: "payments.status".into(), ..ActionDef::default() },
                interval: Some(Duration::from_secs(5)),
                on_timeout: PollTimeout::ContinueWithDefault,
                default: Some(Value::Null),
                ..PollDef::default()
            })),
            ..StepDef::default()
        };
        let definition = Definition {
            workflow: "order".into(),
            version: "1.0.0".into(),
            timeout: Some(Duration::from_secs(60)),
            steps: vec![step, wait, poll],
            ..Definition::default()
        };
        let text = serde_json::to_string(&definition).expect("plain data");
        assert_eq!(
            text,
            concat!(
                r#"{"workflow":"order","version":"1.0.0","timeout":60000,"steps":["#,
                r#"{"key":"pay","work":{"action":{"action":"payments.charge","retry":{"delay":1000,"scope":"failed_items"},"#,
                r#""timeout":{"attempt":60000}}},"on_failure":"fail_workflow"},"#,
                r#"{"key":"rest","work":{"wait":{"for":1500}},"on_failure":"fail_workflow"},"#,
                r#"{"key":"paid","work":{"poll":{"run":{"action":"payments.status"},"interval":5000,"#,
                r#""on_timeout":"continue_with_default","default":null}},"on_failure":"fail_workflow"}]}"#
            )
        );
        assert_eq!(serde_json::from_str::<Definition>(&text).expect("it is read"), definition);
    }
}
