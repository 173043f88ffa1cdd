//! Message groups: steps that must be done one after another, and how a failure among them counts.

use crate::state::words;
use crate::{Name, StepId, Timestamp, UnknownWord};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words!(
    /// How a step keeps its place in its message group.
    DispatchMode, "dispatch mode" {
        /// Not in order, and never held back.
        Immediate = "immediate",
        /// In order; one that fails is passed over.
        NextOnError = "next_on_error",
        /// In order; one that fails holds back those behind it.
        BlockOnError = "block_on_error",
    }
);

impl DispatchMode {
    pub fn is_ordered(self) -> bool {
        self != DispatchMode::Immediate
    }
}

/// The group of a step that is to be done in order and names none.
pub const DEFAULT_MESSAGE_GROUP: &str = "default";
/// What comes in no special order comes late.
pub const DEFAULT_SEQUENCE: i32 = 99;

/// A step's part in a message group.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub group: Name,
    pub mode: DispatchMode,
    /// Lower goes first.
    pub sequence: i32,
    /// Whose place it has among equals: its own, or that of the step it was made anew for.
    pub place: StepId,
    /// It has been due and its block has come to it: from then on it is in the line.
    pub joined: bool,
}

/// Where a step stands in the line of its message group. Ids grow with time, so older ones go first.
pub type Rank = (i32, StepId);

impl Member {
    pub fn rank(&self) -> Rank {
        (self.sequence, self.place)
    }
}

/// The name under which a message group is known inside: the kind of work, and the group.
pub fn group_key(group: &str) -> String {
    format!("DISPATCH_JOB:{group}")
}

/// Something that holds a message group back.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupHold {
    pub group: Name,
    /// The step whose failure blocks it; none if a person paused it.
    pub blocked_by: Option<StepId>,
    pub at: Timestamp,
    pub by: Option<String>,
    pub why: Option<String>,
}
