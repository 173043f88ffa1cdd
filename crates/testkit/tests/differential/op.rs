//! One thing that happens to both engines; steps, blocks and sessions are named by the order in which they were seen.

use engine::{Dispatch, GroupVerb, WorkflowVerb};
use model::{NewStep, Outcome, SessionOffer, State, Timestamp};
use rules::operator::Verb;
use rules::settle::Mode;
use std::fmt;
use std::time::Duration;
use store::Retention;

/// A step to ask for.
#[derive(Clone, Default)]
pub struct Sketch {
    /// All that needs no id of the engine's making.
    pub new: NewStep,
    pub parent: Option<usize>,
    pub block: Option<usize>,
    pub children: Vec<Sketch>,
}

impl fmt::Debug for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", serde_json::to_string(&self.new).unwrap_or_default())?;
        for (what, number) in [("parent", self.parent), ("block", self.block)] {
            if let Some(number) = number {
                write!(f, " {what}={number}")?;
            }
        }
        if self.children.is_empty() { Ok(()) } else { write!(f, " children={:?}", self.children) }
    }
}

/// A claim as a worker knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub session: usize,
    pub step: usize,
    pub attempt: u32,
}

#[derive(Clone, Debug)]
pub struct Told {
    pub held: Held,
    pub outcome: Outcome,
    /// Those of `Outcome::Children`.
    pub children: Vec<Sketch>,
}

#[derive(Clone, Debug)]
pub enum Op {
    Create(Vec<Sketch>),
    Report(Vec<Told>),
    Heartbeat {
        session: usize,
        received: u64,
        held: Vec<Held>,
    },
    Join(SessionOffer),
    /// Takes no more work.
    Pause(usize),
    /// Gives back what it holds.
    Leave(usize),
    /// Its process is gone without a word.
    Vanish(usize),
    Operate {
        step: usize,
        verb: Option<Verb>,
        dry_run: bool,
        why: String,
    },
    OperateGroup {
        group: &'static str,
        verb: GroupVerb,
        dry_run: bool,
        why: String,
    },
    /// Store every definition.
    Define,
    StartWorkflow {
        workflow: &'static str,
        input: String,
    },
    OperateWorkflow {
        workflow: usize,
        verb: WorkflowVerb,
        dry_run: bool,
        why: String,
    },
    /// Something is sent to a trigger of a workflow, with an id of its sender's or without.
    Trigger {
        workflow: usize,
        trigger: &'static str,
        payload: &'static str,
        message: Option<String>,
    },
    Breaker {
        scope: Option<String>,
        off: bool,
        until: Option<Timestamp>,
        why: String,
    },
    Tick {
        mode: Mode,
        dispatch: Dispatch,
        only: Option<String>,
    },
    /// Time goes on; with `beating` every session is heard of meanwhile.
    Pass {
        span: Duration,
        beating: bool,
    },
    /// The engines die, and others take their place when the leases are over.
    Crash,
    /// The engines stop in good order and start again.
    Restart,
    /// Several at once, decided in one turn; only the last may be a tick.
    Together(Vec<Op>),
    Retain {
        what: Retention,
        dry_run: bool,
    },
    List(Box<Listing>),
    Show(usize),
    Survey,
    /// The first and the second half of `Crash`.
    Halt,
    Start,
    /// Every row of every table.
    Rows,
    /// What `check` finds.
    Check,
}

/// What people may filter by.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    pub states: Vec<State>,
    pub action: Option<String>,
    pub queue: Option<String>,
    pub dispatch_group: Option<String>,
    pub step_key: Option<String>,
    pub block: Option<usize>,
    pub after: Option<usize>,
    pub ascending: bool,
    pub limit: usize,
}
