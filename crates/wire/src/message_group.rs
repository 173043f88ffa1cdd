//! Message groups: their lines, what holds them back, and what was done about it.

use crate::StepView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One message group that has something to do, or is held back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageGroupView {
    pub message_group: String,
    pub dispatch_group: String,
    /// `running`, `waiting`, `paused` or `blocked`.
    #[schemars(extend("enum" = ["running", "waiting", "paused", "blocked"]))]
    pub state: String,
    /// Steps that stand in line; at most 1,000 are counted.
    pub waiting: usize,
    /// The step that a worker has, or that waits for another try.
    pub head: Option<String>,
    /// Whether a worker has the head.
    pub in_flight: bool,
    /// The mode of the head; each step has its own.
    pub mode: Option<String>,
    pub holds: Vec<HoldView>,
}

/// What holds a message group back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HoldView {
    /// The step whose failure blocks it; none if it was paused.
    pub blocked_by: Option<String>,
    pub at: String,
    pub by: Option<String>,
    pub why: Option<String>,
}

/// Message groups by name; `next` is the `after` of the following page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageGroupPage {
    pub message_groups: Vec<MessageGroupView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A message group with the front of its line, the first one first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MessageGroupShow {
    #[serde(flatten)]
    pub group: MessageGroupView,
    pub queue: Vec<StepView>,
}

/// What was done to a message group, or would be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupOperatedView {
    pub message_group: String,
    pub verb: String,
    /// Steps whose failure holds nobody back any more.
    pub forgiven: Vec<String>,
    pub replaced: Vec<ReplacedView>,
    pub moved: Vec<GroupMoveView>,
    /// One call did not end all of it; the same again goes on.
    pub more: bool,
}

/// A step that was made anew, and what took its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplacedView {
    pub step_id: String,
    pub by: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupMoveView {
    pub step_id: String,
    pub to: String,
}
