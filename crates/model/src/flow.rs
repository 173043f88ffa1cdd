//! A tracked flow: steps that run elsewhere, and how far they are on record. Nothing of it runs here.

use crate::state::{UnknownWord, words};
use crate::{Fault, FlowId, Timestamp, limits};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

words!(
    /// Where a flow is.
    FlowState, "state of a flow" {
        /// Started, and nothing of it has happened.
        Pending = "pending",
        Running = "running",
        /// A step that it needs failed, or somebody said so; it may still go on.
        Failed = "failed",
        Completed = "completed",
        Cancelled = "cancelled",
        /// Another run of it was started instead.
        Superseded = "superseded",
    }
);

impl FlowState {
    /// Nothing leads out of it.
    pub fn is_over(self) -> bool {
        matches!(self, FlowState::Completed | FlowState::Cancelled | FlowState::Superseded)
    }
}

words!(
    /// Where a step of a flow is.
    FlowStepState, "state of a step of a flow" {
        Pending = "pending",
        Completed = "completed",
        Failed = "failed",
        Skipped = "skipped",
    }
);

words!(
    /// What happened to a flow.
    FlowEvent, "event of a flow" {
        Started = "started",
        StateUpdated = "state_updated",
        StepCompleted = "step_completed",
        StepFailed = "step_failed",
        StepSkipped = "step_skipped",
        Finished = "finished",
        RetryAsked = "retry_asked",
        CancelAsked = "cancel_asked",
        Superseded = "superseded",
    }
);

words!(
    /// What a second start means while a run is not over.
    FlowAgain, "way to start again" {
        /// It is the same run.
        Resume = "resume",
        /// That one is superseded.
        New = "new",
    }
);

/// Which flow; its runs are numbered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FlowName {
    /// The kind of flow, for example `payment_processing`.
    pub kind: String,
    /// Which of its kind; may be empty where the entity says enough.
    pub key: String,
    /// What it is about, in the words of whoever tracks it; may be empty.
    pub entity_type: String,
    pub entity_id: String,
}

impl fmt::Display for FlowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        [&self.key, &self.entity_type, &self.entity_id]
            .into_iter()
            .filter(|part| !part.is_empty())
            .try_for_each(|part| write!(f, " {part}"))
    }
}

/// A step that is made when somebody asks for it, on behalf of a flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowAction {
    pub action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
}

impl PartialEq for FlowAction {
    fn eq(&self, other: &FlowAction) -> bool {
        let text = |action: &FlowAction| action.arguments.as_ref().map(|raw| raw.get().to_string());
        (&self.action, &self.queue, text(self)) == (&other.action, &other.queue, text(other))
    }
}

/// A step as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFlowStep {
    pub name: String,
    /// The flow is whole without it.
    pub optional: bool,
}

/// What somebody says who starts a flow. The id is made by the caller, so that asking again after a lost answer finds its own start.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowAsk {
    pub id: FlowId,
    pub name: FlowName,
    pub user: Option<String>,
    pub steps: Vec<NewFlowStep>,
    /// Steps may be named later that were not declared.
    pub open: bool,
    pub timeout: Duration,
    pub message: Option<String>,
    pub retry: Option<FlowAction>,
    pub cancel: Option<FlowAction>,
    pub again: FlowAgain,
    pub by: String,
}

/// A flow as it is on record.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    pub id: FlowId,
    pub name: FlowName,
    pub run: u32,
    pub user: Option<String>,
    pub state: FlowState,
    /// Where it was before it came where it is.
    pub previous_state: Option<FlowState>,
    /// What the one whom it is done for may read.
    pub message: Option<String>,
    /// What went wrong, for those who look after it.
    pub error: Option<String>,
    pub open: bool,
    pub retry: Option<FlowAction>,
    pub cancel: Option<FlowAction>,
    pub started_at: Timestamp,
    pub started_by: String,
    /// When something was said about it last.
    pub updated_at: Timestamp,
    /// When a step of it was completed, skipped or failed last.
    pub progressed_at: Option<Timestamp>,
    /// Somebody should look if it is not over by then.
    pub timeout_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    /// When somebody finished it as failed: what is said of its steps since is late, and it stays failed until somebody goes on with it.
    pub given_up_at: Option<Timestamp>,
    /// How often it was written; every write names the one it saw, and each is one line of its history.
    pub version: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowStep {
    pub name: String,
    pub position: u32,
    pub optional: bool,
    pub state: FlowStepState,
    /// When it came to where it is.
    pub at: Option<Timestamp>,
    pub message: Option<String>,
}

/// One line of a flow's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowMoment {
    pub number: u64,
    pub at: Timestamp,
    pub event: FlowEvent,
    /// The step that it was said of; where a retry or a cancellation was asked for, the one that does it.
    pub step: Option<String>,
    pub state: FlowState,
    pub by: String,
    pub message: Option<String>,
}

impl FlowAsk {
    /// Everything that is wrong with it.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = name_faults(&self.name);
        let mut add =
            |field: String, problem: String, fix: String| faults.push(Fault { field, problem, fix });
        if self.steps.len() > limits::FLOW_STEPS_MAX {
            let problem = format!("there are {}", self.steps.len());
            add("steps".into(), problem, format!("declare at most {}", limits::FLOW_STEPS_MAX));
        }
        for (i, step) in self.steps.iter().enumerate() {
            if self.steps[..i].iter().any(|other| other.name == step.name) {
                let problem = format!("`{}` is declared twice", step.name);
                add(format!("steps[{i}]"), problem, "give every step a name of its own".into());
            }
        }
        if !(limits::FLOW_TIMEOUT_MIN..=limits::WAIT_MAX).contains(&self.timeout) {
            let fix =
                format!("use {} to {} s", limits::FLOW_TIMEOUT_MIN.as_secs(), limits::WAIT_MAX.as_secs());
            add("timeout_seconds".into(), "is out of range".into(), fix);
        }
        let names = self.steps.iter().enumerate().map(|(i, step)| (format!("steps[{i}]"), &step.name));
        faults.extend(names.filter_map(|(field, name)| text_fault(field, name)));
        faults.extend(self.user.as_ref().and_then(|user| text_fault("user".into(), user)));
        faults.extend(message_fault("message", self.message.as_deref()));
        for (field, action) in [("retry", &self.retry), ("cancel", &self.cancel)] {
            faults.extend(action.iter().flat_map(|action| action_faults(field, action)));
        }
        faults
    }
}

/// What is wrong with the name of a flow.
pub fn name_faults(name: &FlowName) -> Vec<Fault> {
    let mut faults: Vec<Fault> = text_fault("type".into(), &name.kind).into_iter().collect();
    for (field, text) in
        [("key", &name.key), ("entity_type", &name.entity_type), ("entity_id", &name.entity_id)]
    {
        if !text.is_empty() {
            faults.extend(text_fault(field.into(), text));
        }
    }
    if name.key.is_empty() && name.entity_id.is_empty() {
        let problem = "it is not said which one".into();
        let fix = "write `key`, or `entity_type` and `entity_id`".into();
        faults.push(Fault { field: "key".into(), problem, fix });
    }
    faults
}

/// What is wrong with a name that must be there.
pub fn text_fault(field: String, text: &str) -> Option<Fault> {
    if text.trim().is_empty() {
        return Some(Fault { field, problem: "is empty".into(), fix: "write a name".into() });
    }
    if text.len() > limits::NAME_BYTES_MAX {
        let problem = format!("is {} bytes long", text.len());
        return Some(Fault { field, problem, fix: format!("use at most {} bytes", limits::NAME_BYTES_MAX) });
    }
    text.contains('\0').then(|| Fault::nul(field))
}

/// What is wrong with words that may be there.
pub fn message_fault(field: &str, text: Option<&str>) -> Option<Fault> {
    let text = text?;
    if text.len() > limits::FLOW_MESSAGE_BYTES_MAX {
        let problem = format!("is {} bytes long", text.len());
        let fix = format!("use at most {} bytes", limits::FLOW_MESSAGE_BYTES_MAX);
        return Some(Fault { field: field.into(), problem, fix });
    }
    text.contains('\0').then(|| Fault::nul(field))
}

fn action_faults(field: &str, action: &FlowAction) -> Vec<Fault> {
    let mut faults: Vec<Fault> = text_fault(format!("{field}.action"), &action.action).into_iter().collect();
    faults.extend(action.queue.as_ref().and_then(|queue| text_fault(format!("{field}.queue"), queue)));
    let bytes = action.arguments.as_ref().map_or(0, |raw| raw.get().len());
    if bytes > limits::FLOW_ARGUMENTS_BYTES_MAX {
        let fix = format!("use at most {} bytes", limits::FLOW_ARGUMENTS_BYTES_MAX);
        let (field, problem) = (format!("{field}.arguments"), format!("are {bytes} bytes long"));
        faults.push(Fault { field, problem, fix });
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(ask: &FlowAsk) -> String {
        ask.faults().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    fn ask() -> FlowAsk {
        let name = FlowName {
            kind: "payment".into(),
            key: String::new(),
            entity_type: "payment".into(),
            entity_id: "123".into(),
        };
        let step = |name: &str| NewFlowStep { name: name.into(), optional: false };
        FlowAsk {
            id: FlowId::of(1),
            name,
            user: None,
            steps: vec![step("debited"), step("credited")],
            open: false,
            timeout: limits::FLOW_TIMEOUT_DEFAULT,
            message: None,
            retry: None,
            cancel: None,
            again: FlowAgain::Resume,
            by: "shop".into(),
        }
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        assert_eq!(told(&ask()), "");
        let nameless =
            FlowName { kind: " ".into(), key: String::new(), entity_id: String::new(), ..ask().name };
        let twice = vec![ask().steps[0].clone(), ask().steps[0].clone()];
        let long = Some("x".repeat(limits::FLOW_MESSAGE_BYTES_MAX + 1));
        let wrong = FlowAsk { name: nameless, steps: twice, timeout: Duration::ZERO, message: long, ..ask() };
        let told = told(&wrong);
        for field in ["type", "key", "steps[1]", "timeout_seconds", "message"] {
            assert!(told.contains(&format!("{field}: ")), "{field} in\n{told}");
        }
    }

    #[test]
    fn a_flow_is_called_by_the_parts_of_its_name_that_are_there() {
        assert_eq!(ask().name.to_string(), "payment payment 123");
    }
}
