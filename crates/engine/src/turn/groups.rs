//! What people do to message groups: hold them, let them go on, deal with what failed; fenced, audited, and tried without a write.

use super::node::{Node, Turn};
use crate::EngineError;
use crate::request::{GroupOperated, GroupOperation, Operation, Reply};
use crate::signal::Signal;
use model::{Count, DispatchGroup, GroupHold, Name, State, Step, StepId, Timestamp, limits};
use rules::board::Held;
use rules::fifo::{self, GroupAct, GroupVerb};
use rules::operator::Verb;
use rules::outbox;
use store::{AuditEntry, Result, StoreError, message_groups};

impl Node {
    pub(super) fn operate_group(
        &mut self,
        turn: &mut Turn,
        operation: GroupOperation,
        reply: Reply<GroupOperated>,
        now: Timestamp,
    ) -> Result<()> {
        let group = operation.message_group.clone();
        let home = fifo::home(&group, &self.config.groups);
        if !self.owns(&home) {
            self.forward(turn, &home, &Signal::OperateGroup { operation }, reply);
            return Ok(());
        }
        let held = self.board.lines.held(&group).cloned().unwrap_or_default();
        let live = match operation.verb {
            GroupVerb::SkipHead | GroupVerb::Cancel => self.live_of(&group, &home)?,
            GroupVerb::Pause => self.queued_of(&group),
            _ => Vec::new(),
        };
        let more = live.len() > limits::GROUP_STEPS_PER_CALL;
        let live = &live[..live.len().min(limits::GROUP_STEPS_PER_CALL)];
        let before = told(&held, live.len());
        let decided = fifo::decide(operation.verb, &held, live);
        let acts = match decided.and_then(|acts| fifo::still(operation.head, &acts).map(|()| acts)) {
            Ok(acts) => acts,
            Err(refused) => {
                let why = refused.to_string();
                turn.acts.refuse(reply, EngineError::GroupRefused { message_group: group.to_string(), why });
                return Ok(());
            }
        };
        let mut done = GroupOperated { more, ..GroupOperated::default() };
        for act in acts {
            self.act_on_group(turn, &operation, act, &mut done, now)?;
        }
        if !operation.dry_run {
            let after = serde_json::to_string(&done).expect("an answer is plain data");
            turn.audit.push(AuditEntry {
                who: operation.by,
                verb: operation.verb.word().into(),
                target: format!("message group {group}"),
                why: Some(operation.why),
                before: Some(before),
                after: Some(after),
            });
        }
        turn.acts.reply(reply, done);
        Ok(())
    }

    fn act_on_group(
        &mut self,
        turn: &mut Turn,
        operation: &GroupOperation,
        act: GroupAct,
        done: &mut GroupOperated,
        now: Timestamp,
    ) -> Result<()> {
        let GroupOperation { message_group: group, by, why, dry_run, .. } = operation;
        let home = fifo::home(group, &self.config.groups);
        match act {
            GroupAct::Forgive(id) => done.forgiven.push(id),
            GroupAct::Skip(id) => done.moved.push((id, State::Skipped)),
            GroupAct::Cancel(id) => done.moved.push((id, State::Cancelled)),
            GroupAct::PutBack(id) => done.moved.push((id, State::Pending)),
            GroupAct::Retry(_) | GroupAct::Pause | GroupAct::Resume => {}
        }
        match act {
            GroupAct::Retry(id) if *dry_run => done.replaced.push((id, None)),
            _ if *dry_run => {}
            GroupAct::Pause => self.board.hold_group(GroupHold {
                group: group.clone(),
                blocked_by: None,
                at: now,
                by: Some(by.clone()),
                why: Some(why.clone()),
            }),
            GroupAct::Resume => drop(self.board.release_group(group, &home, None)),
            GroupAct::PutBack(id) => {
                if self.bring(id)? {
                    let effect = self.board.step(id).and_then(outbox::paused);
                    self.put_back(id, effect, now)?;
                }
            }
            GroupAct::Forgive(id) => self.forgive(operation, id, now)?,
            GroupAct::Retry(id) => {
                let made = self.requeue(turn, operation, id, now)?;
                done.replaced.push((id, made));
            }
            GroupAct::Skip(id) => self.end_in_line(id, Verb::Skip, why)?,
            GroupAct::Cancel(id) => self.end_in_line(id, Verb::Cancel, why)?,
        }
        Ok(())
    }

    /// A failure holds nobody back any more; the step says since when, by whom and why.
    fn forgive(&mut self, operation: &GroupOperation, id: StepId, now: Timestamp) -> Result<()> {
        let home = fifo::home(&operation.message_group, &self.config.groups);
        if self.bring(id)? {
            self.board.edit(id, |_, detail| {
                detail.block_cleared_at = Some(now);
                detail.block_cleared_by = Some(operation.by.clone());
                detail.block_cleared_why = Some(operation.why.clone());
            });
        }
        self.board.release_group(&operation.message_group, &home, Some(id));
        Ok(())
    }

    /// A step that cannot be made anew is forgiven instead: nothing of it is left to wait for. One of a block elsewhere is made anew
    /// there, and blocks until that is done.
    fn requeue(
        &mut self,
        turn: &mut Turn,
        operation: &GroupOperation,
        id: StepId,
        now: Timestamp,
    ) -> Result<Option<StepId>> {
        let GroupOperation { by, why, .. } = operation;
        let operation_on_step = Operation {
            step: id,
            by: by.clone(),
            why: why.clone(),
            verb: None,
            dry_run: false,
            expected: None,
        };
        if let Some(home) = self.foreign_block(id)? {
            self.tell_owner(turn, &home, &Signal::Operate { operation: operation_on_step });
            return Ok(None);
        }
        if self.put_off(turn, &operation_on_step, now)? {
            return Ok(None);
        }
        let made = if self.bring(id)? { self.retry(turn, &operation_on_step, now)? } else { Ok(None) };
        match made {
            Ok(Some(new)) => Ok(Some(new)),
            Ok(None) | Err(_) => {
                self.forgive(operation, id, now)?;
                Ok(None)
            }
        }
    }

    fn end_in_line(&mut self, id: StepId, verb: Verb, why: &str) -> Result<()> {
        if !self.bring(id)? {
            return Ok(());
        }
        let step = self.board.step(id).expect("it was just brought");
        let children = step.child_block.and_then(|block| self.board.block(block));
        // One that ended meanwhile is where it was wanted.
        if let Ok(effect) = rules::operator::decide(step, children, verb, why) {
            self.board.apply(effect).map_err(|e| StoreError::Lost { what: e.to_string() })?;
        }
        Ok(())
    }

    /// The step of a line whose message is in the queue outside; there is one at most.
    fn queued_of(&self, group: &Name) -> Vec<StepId> {
        let of_line = |step: &&Step| step.line().is_some_and(|member| member.group == *group);
        // Whatever is in flight is in hand.
        self.board
            .steps()
            .filter(|step| outbox::is_queued(step))
            .filter(of_line)
            .map(|step| step.id)
            .collect()
    }

    /// Steps of a line that wait or run, the first one first; one more than a call ends tells that there are more.
    fn live_of(&mut self, group: &Name, home: &DispatchGroup) -> Result<Vec<StepId>> {
        let limit = limits::GROUP_STEPS_PER_CALL + 1;
        let page = message_groups::line(self.store.reader(), home, group, false, limit)?;
        let mut steps: Vec<Step> =
            page.into_iter().filter(|step| self.board.step(step.id).is_none()).collect();
        let of_line = |step: &&Step| {
            let joined = step.line().is_some_and(|member| member.group == *group && member.joined);
            joined && (step.is_held() || rules::eligible::waits(step))
        };
        steps.extend(self.board.steps().filter(of_line).cloned());
        let rank = |step: &Step| (step.attempt == 0, step.line().map(|member| member.rank()));
        steps.sort_unstable_by_key(rank);
        steps.truncate(limit);
        Ok(steps.into_iter().map(|step| step.id).collect())
    }
}

/// What held a group back, and how many of its steps were meant, for the audit.
fn told(held: &Held, live: usize) -> String {
    let paused = if held.paused { "paused" } else { "not paused" };
    let failed = Count(held.blocked_by.len(), "failed step");
    format!("{paused}, held back by {failed}, {} meant", Count(live, "step"))
}
