//! The rows of a world with a pause, what its nodes think about them, and what is written.

use model::{PauseState as P, Timestamp, WorkflowState as W};
use std::cmp::Ordering;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PauseRow {
    pub state: P,
    pub timeout_at: Option<Timestamp>,
    pub resume_at: Option<Timestamp>,
    pub reminders: u32,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rows {
    pub workflow: W,
    pub pause: Option<PauseRow>,
    /// What came before its pause.
    pub early: Vec<Sent>,
    pub version: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sent {
    Good,
    Bad,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ask {
    /// The step before the pause completes.
    StepEnds,
    Send(Sent),
    /// Somebody looks at the clock.
    Look,
    Cancel,
    /// A person does not want to wait.
    Force,
    /// What is behind the pause is done.
    Finish,
}

/// What a node makes of what it read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Thought {
    pub ask: Ask,
    pub saw: Rows,
    pub rows: Rows,
    pub goes_on: bool,
    pub accepts: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pub now: i64,
    pub rows: Rows,
    pub nodes: [Option<Thought>; 2],
    /// What may still be sent, and how often somebody still has a mind to.
    pub good: u8,
    pub bad: u8,
    pub cancels: u8,
    pub forces: u8,
    /// For the properties: how often those behind the pause went on, what was accepted, and how it ended first.
    pub went_on: u8,
    pub accepted: u8,
    pub first_end: Option<P>,
}

impl Rows {
    /// What was changed is written, and nothing else.
    pub fn put(&mut self, saw: Rows, rows: Rows) {
        self.version += 1;
        if rows.workflow != saw.workflow {
            self.workflow = rows.workflow;
        }
        if rows.pause != saw.pause {
            self.pause = rows.pause;
        }
        match rows.early.len().cmp(&saw.early.len()) {
            Ordering::Less => drop(self.early.drain(..saw.early.len().min(self.early.len()))),
            Ordering::Equal => {}
            Ordering::Greater => self.early.extend(rows.early.last()),
        }
    }
}

impl State {
    pub fn write(&mut self, thought: Thought) {
        match thought.ask {
            Ask::Send(Sent::Good) => self.good -= 1,
            Ask::Send(Sent::Bad) => self.bad -= 1,
            Ask::Cancel => self.cancels -= 1,
            Ask::Force => self.forces -= 1,
            Ask::StepEnds | Ask::Look | Ask::Finish => {}
        }
        self.went_on += u8::from(thought.goes_on);
        self.accepted += u8::from(thought.accepts);
        self.rows.put(thought.saw, thought.rows);
        let state = self.rows.pause.map(|row| row.state).filter(|state| *state != P::Waiting);
        self.first_end = self.first_end.or(state);
    }

    pub fn pause(&self) -> Option<P> {
        self.rows.pause.map(|row| row.state)
    }
}
