//! Since when steps could start, where their rows do not say.
//!
//! Why    a child is made with its block and can start when its index has come, one that came back when its attempt was over, one in a line
//!        when the one before it is gone. A node remembers what it has decided; of what it does not know no wait is told.

use model::{BlockId, Name, State, Step, StepId, Timestamp, limits};
use rules::board::Changes;
use std::collections::HashMap;

#[derive(Default)]
pub struct Readiness {
    /// When the index of a block came that runs now.
    blocks: HashMap<BlockId, Timestamp>,
    /// When a step came back.
    steps: HashMap<StepId, Timestamp>,
    /// When the last one left a line.
    lines: HashMap<Name, Timestamp>,
}

impl Readiness {
    /// The next index of a block has come.
    pub fn opened(&mut self, block: BlockId, now: Timestamp) {
        self.blocks.insert(block, now);
    }

    /// What a turn gave back and ended.
    pub fn note(&mut self, changes: &Changes, now: Timestamp) {
        for (block, _) in changes.blocks.iter().filter(|(block, _)| block.is_at_rest()) {
            self.blocks.remove(&block.id);
        }
        for (step, change) in &changes.steps {
            let was_held = change.before.as_ref().is_some_and(Step::is_held);
            if step.state.is_terminal() {
                self.steps.remove(&step.id);
                self.lines.extend(step.line().map(|member| (member.group.clone(), now)));
            } else if was_held && step.state == State::Pending {
                self.steps.insert(step.id, now);
            }
        }
        self.forget();
    }

    /// Since when a step could start that is given away now; none where that is not known.
    pub fn since(&self, step: &Step, before: Option<&Step>) -> Option<Timestamp> {
        // One that was made and given away in the same turn could start at once.
        let Some(before) = before else { return Some(step.created_at) };
        let back = self.steps.get(&step.id).copied();
        if before.attempt > 0 {
            return before.wake_at.max(back);
        }
        let known = match step.block() {
            Some(block) => Some(*self.blocks.get(&block)?),
            None => None,
        };
        let line = step.line().and_then(|member| self.lines.get(&member.group).copied());
        Some(before.wake_at.unwrap_or(before.created_at)).max(known).max(line)
    }

    /// They are given to somebody.
    pub fn given(&mut self, step: StepId) {
        self.steps.remove(&step);
    }

    fn forget(&mut self) {
        let most = limits::READY_REMEMBERED_MAX;
        if self.blocks.len() > most {
            self.blocks.clear();
        }
        if self.steps.len() > most {
            self.steps.clear();
        }
        if self.lines.len() > most {
            self.lines.clear();
        }
    }
}
