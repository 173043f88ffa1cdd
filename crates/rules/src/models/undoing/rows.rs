//! The rows of a world in which something is undone, and what becomes of a step on the board.

use super::STEPS;
use crate::board::Board;
use crate::check::blank;
use crate::workflow::machine;
use model::{
    CompensationState as C, Effect, Event, Move, SessionId, State as S, Step, StepId, Timestamp,
    WorkflowState as W,
};
use std::collections::BTreeSet;

/// A step, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Row {
    pub state: S,
    pub attempt: u32,
    pub failed: u32,
    pub lost: u32,
    pub ended: u8,
}

pub const NEW: Row = Row { state: S::Pending, attempt: 0, failed: 0, lost: 0, ended: 0 };

/// Whose work it is: a step's own, or undoing it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Which {
    Step(usize),
    Undo(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Line {
    pub def: usize,
    pub state: C,
    pub row: Option<Row>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pub workflow: W,
    pub steps: [Row; STEPS],
    /// It is undone: whether whoever runs has had its time, and the plan, once there is one.
    pub waited: bool,
    pub plan: Option<Vec<Line>>,
    /// Jobs that have not answered, also of attempts that do not hold their step any more.
    pub jobs: BTreeSet<(Which, u32)>,
    /// How many have ended.
    pub ends: u8,
    pub losses: u8,
    /// What people still have a mind to.
    pub minds: Vec<Mind>,
    /// For the properties: how often each was undone, how what was taken back ended, and whether a stranger's answer counted.
    pub undone: [u8; STEPS],
    pub taken: [Option<S>; STEPS],
    pub was_late: bool,
    pub stranger: bool,
    /// How the whole ended for good.
    pub last: Option<W>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mind {
    Compensate,
    Cancel,
    Retry,
    SkipOne,
    SkipAll,
}

pub fn step_of(which: Which, row: Row) -> Step {
    let id = match which {
        Which::Step(n) => StepId::of(1 + n as u64),
        Which::Undo(n) => StepId::of(11 + n as u64),
    };
    let held = matches!(row.state, S::Dispatched | S::Running);
    Step {
        state: row.state,
        attempt: row.attempt,
        failed_attempts: row.failed,
        lost_attempts: row.lost,
        session: held.then_some(SessionId::of(1)),
        max_attempts: 2,
        ..blank(id)
    }
}

/// A step as the board leaves it.
pub fn on_board(which: Which, row: Row, act: impl FnOnce(&mut Board, StepId) -> bool) -> Option<Row> {
    let step = step_of(which, row);
    let id = step.id;
    let mut board = Board::at(Timestamp(0));
    board.load_step(step);
    if !act(&mut board, id) {
        return None;
    }
    let step = board.step(id)?;
    let (failed, lost) = (step.failed_attempts, step.lost_attempts);
    Some(Row { state: step.state, attempt: step.attempt, failed, lost, ended: row.ended })
}

impl State {
    pub fn row(&self, which: Which) -> Option<Row> {
        match which {
            Which::Step(n) => self.steps.get(n).copied(),
            Which::Undo(n) => self.plan.as_ref()?.iter().find(|line| line.def == n)?.row,
        }
    }

    pub fn put(&mut self, which: Which, mut row: Row) {
        if row.state.is_terminal() && row.ended == 0 {
            self.ends += 1;
            row.ended = self.ends;
        }
        match which {
            Which::Step(n) => self.steps[n] = row,
            Which::Undo(n) => {
                let lines = self.plan.iter_mut().flatten();
                lines.filter(|line| line.def == n).for_each(|line| line.row = Some(row));
            }
        }
    }

    pub fn moves(&mut self, to: W) -> bool {
        let may = machine::next(self.workflow, to).is_ok();
        if may {
            self.workflow = to;
            self.last = matches!(to, W::Cancelled | W::Compensated).then_some(to).or(self.last);
        }
        may
    }

    pub fn is_live(&self) -> bool {
        self.steps.iter().any(|row| !row.state.is_terminal())
    }

    /// Taken from whoever has it.
    pub fn take_back(&mut self, which: Which) {
        let Some(row) = self.row(which).filter(|row| !row.state.is_terminal()) else { return };
        let wanted = |id| Effect::MoveStep(Box::new(Move::new(id, Event::ParentCancelled)));
        let Some(row) = on_board(which, row, |board, id| board.apply(wanted(id)).is_ok()) else { return };
        self.put(which, row);
        if let Which::Step(n) = which {
            self.taken[n] = Some(row.state);
        }
    }

    pub fn take_all_back(&mut self) {
        (0..STEPS).for_each(|n| self.take_back(Which::Step(n)));
    }

    /// What runs may end.
    pub fn call_off_what_waits(&mut self) {
        let waiting = (0..STEPS).filter(|n| self.steps[*n].state == S::Pending);
        waiting.collect::<Vec<_>>().into_iter().for_each(|n| self.take_back(Which::Step(n)));
    }
}
