//! What becomes of a workflow that failed: by its strategy, or by what a person decides.

use super::super::node::{Node, Turn};
use super::Entry;
use crate::EngineError;
use crate::request::{Reply, WorkflowOperated, WorkflowOperation};
use model::{CompensationScope, Decision, ResolutionDecision, RetrySource, StepId, Timestamp, WorkflowState};
use rules::workflow::resolution::{self, Follow, Refused, Verdict, View};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use store::{AuditEntry, Result};

/// How long a retry waits for items that are still being ended, and then looks again.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Who decides where nobody was asked.
const STRATEGY: &str = "strategy";

/// A decision that can be carried out, and what that does.
struct Weighed {
    verdict: Verdict,
    /// Fan-outs that keep the items that succeeded, by their last runs.
    spared: BTreeMap<u32, StepId>,
    effects: Vec<String>,
}

impl Node {
    /// It has failed: somebody is asked, or its strategy goes on.
    pub(super) fn fail_workflow(
        &mut self,
        entry: &mut Entry,
        message: String,
        (follow, exhausted): (Follow, bool),
        now: Timestamp,
    ) -> Result<()> {
        self.move_workflow(entry, WorkflowState::Failed, Some(message.clone()), now)?;
        if exhausted {
            let retries = entry.aftermath().auto_retries;
            let data = serde_json::json!({"retries": retries}).to_string();
            self.workflows.tell(&entry.workflow, now, "auto_retry.exhausted", None, Some(data));
        }
        self.tell_failed(entry, &message, &follow, now);
        match follow {
            Follow::Await => {
                self.workflows.tell(&entry.workflow, now, "workflow.awaiting_resolution", None, None)
            }
            Follow::End => {}
            Follow::RetryAt(at) => {
                let after = entry.aftermath();
                after.auto_retry_at = Some(at);
                let data = serde_json::json!({"at": at.0, "retry": after.auto_retries + 1}).to_string();
                // It is not over.
                entry.workflow.completed_at = None;
                self.workflows.tell(&entry.workflow, now, "auto_retry.scheduled", None, Some(data));
            }
            Follow::Compensate(scope) => {
                self.record(entry, Decision::Compensate { scope: scope.clone() }, (STRATEGY, &message), now);
                self.enter_undoing(entry, scope, message, None, now)?;
            }
        }
        Ok(())
    }

    /// The time of the whole is over.
    pub(super) fn took_too_long(&mut self, mut entry: Entry, message: String, now: Timestamp) -> Result<()> {
        let (follow, asks_nobody) = resolution::on_timeout(entry.plan.definition.on_timeout());
        self.fail_workflow(&mut entry, message, (follow, false), now)?;
        if asks_nobody {
            self.cancel_pauses(&mut entry, now);
            entry.aftermath().resolved_at = Some(now);
        }
        self.settle_workflow(entry, now)
    }

    pub(super) fn retry_by_itself(
        &mut self,
        turn: &mut Turn,
        mut entry: Entry,
        now: Timestamp,
    ) -> Result<()> {
        match self.spared_by_itself(&entry)? {
            Ok(spared) => entry.spared = spared,
            // Only when all items have ended is known which of them are done again.
            Err(_) => {
                entry.aftermath().auto_retry_at = Some(now + LOOK_AGAIN);
                self.note_change(&mut entry);
                return self.put_away(entry, now);
            }
        }
        let broken: BTreeSet<u32> = entry.broken.keys().copied().collect();
        self.record(&mut entry, Decision::RETRY, (STRATEGY, "auto_retry"), now);
        self.restart(turn, entry, broken, RetrySource::AutoRetry, now)
    }

    fn record(&mut self, entry: &mut Entry, decision: Decision, (by, why): (&str, &str), now: Timestamp) {
        // That it is cancelled while it goes on is told by that alone.
        if entry.workflow.state.is_over() || !matches!(decision, Decision::Cancel { .. }) {
            let data = serde_json::json!({"decision": decision, "by": by, "why": why}).to_string();
            self.workflows.tell(&entry.workflow, now, "resolution.decided", None, Some(data));
        }
        let (workflow, by, why) = (entry.workflow.id, by.into(), why.into());
        self.workflows.resolutions.push(ResolutionDecision { workflow, decision, by, why, at: now });
    }

    /// What a person decides, tried or done.
    pub(super) fn resolve(
        &mut self,
        turn: &mut Turn,
        mut entry: Entry,
        (operation, decision): (WorkflowOperation, Decision),
        reply: Reply<WorkflowOperated>,
        now: Timestamp,
    ) -> Result<()> {
        let id = entry.workflow.id;
        let Weighed { verdict, spared, effects } = match self.weighed(&entry, &decision)? {
            Ok(judged) => judged,
            Err(Refused(why)) => {
                self.workflows.put(entry);
                turn.acts.refuse(reply, EngineError::WorkflowRefused { workflow: id, why });
                return Ok(());
            }
        };
        let (from, to) = (entry.workflow.state, verdict.leads_to());
        let operated = WorkflowOperated { workflow: id, from, to, version: entry.version() + 1, effects };
        if operation.dry_run {
            self.workflows.put(entry);
            turn.acts.reply(reply, operated);
            return Ok(());
        }
        turn.audit.push(AuditEntry {
            who: operation.by.clone(),
            verb: decision.word().into(),
            target: format!("workflow {id}"),
            why: Some(operation.why.clone()),
            before: Some(from.to_string()),
            after: Some(to.to_string()),
        });
        self.record(&mut entry, decision.clone(), (&operation.by, &operation.why), now);
        if matches!(verdict, Verdict::Restart { .. }) {
            entry.spared = spared;
        }
        self.carry_out_verdict(turn, entry, (verdict, decision, operation.why), now)?;
        turn.acts.reply(reply, operated);
        Ok(())
    }

    fn weighed(
        &mut self,
        entry: &Entry,
        decision: &Decision,
    ) -> Result<std::result::Result<Weighed, Refused>> {
        let broken: BTreeSet<u32> = entry.broken.keys().copied().collect();
        let view = View {
            plan: &entry.plan,
            state: entry.workflow.state,
            is_resolved: entry.workflow.aftermath.as_ref().is_some_and(|after| after.resolved_at.is_some()),
            progress: &entry.progress,
            broken: &broken,
            cut: &entry.cut,
        };
        let verdict = match resolution::judge(&view, decision) {
            Ok(verdict) => verdict,
            Err(refused) => return Ok(Err(refused)),
        };
        if let Some(refused) = self.cannot_run(entry, &verdict)? {
            return Ok(Err(refused));
        }
        let mut effects = Vec::new();
        if let Verdict::Undo { scope, .. } = &verdict {
            let (runs, live) = (self.order_of_undoing(entry, scope)?, entry.live.len());
            if runs.is_empty() && live == 0 && !matches!(decision, Decision::Cancel { .. }) {
                return Ok(Err(Refused("none of the steps that were done says how it is undone".into())));
            }
            if live > 0 {
                effects
                    .push(format!("{live} of its steps still run: they are waited for, and then taken back"));
            }
            effects.extend(
                runs.iter().map(|run| format!("step `{}` is undone by {}", run.step_key, run.action)),
            );
        }
        effects.extend(verdict.tell(&view));
        let (spared, told) = match self.spared(entry, decision, &verdict)? {
            Ok(spared) => spared,
            Err(refused) => return Ok(Err(refused.into())),
        };
        effects.extend(told);
        Ok(Ok(Weighed { verdict, spared, effects }))
    }

    /// Others of its key are done, or it is part of another that has gone on without it.
    fn cannot_run(&mut self, entry: &Entry, verdict: &Verdict) -> Result<Option<Refused>> {
        let runs =
            matches!(verdict, Verdict::Restart { .. } | Verdict::Undo { then_retry_from: Some(_), .. });
        if !runs {
            return Ok(None);
        }
        if let Some(parent) = entry.workflow.parent
            && self.bring(parent)?
            && self.board.step(parent).is_some_and(|step| step.state.is_terminal())
        {
            let why = "the workflow that it is part of has gone on without it; decide about that one";
            return Ok(Some(Refused(why.into())));
        }
        let (Some(name), Some(most)) = (&entry.workflow.concurrency_key, &entry.plan.definition.concurrency)
        else {
            return Ok(None);
        };
        let is_over = entry.workflow.state.is_over() && entry.auto_retry_at().is_none();
        if is_over && !self.has_place(name, most.limit)? {
            let why = format!(
                "as many as may are running with the key `{name}`; try again when one of them is over"
            );
            return Ok(Some(Refused(why)));
        }
        Ok(None)
    }

    fn carry_out_verdict(
        &mut self,
        turn: &mut Turn,
        mut entry: Entry,
        (verdict, decision, why): (Verdict, Decision, String),
        now: Timestamp,
    ) -> Result<()> {
        match verdict {
            Verdict::Restart { again, source } => {
                self.take_place(&entry)?;
                let from = match &decision {
                    Decision::RetryFromStep { step, .. } => Some(step),
                    _ => None,
                };
                if let Some(step) = from {
                    self.workflows.tell(&entry.workflow, now, "retry_from.initiated", Some(step), None);
                }
                self.rewind(&mut entry, &again, source, now)?;
                if let Some(step) = from {
                    self.workflows.tell(&entry.workflow, now, "retry_from.completed", Some(step), None);
                }
                let next = entry.progress.due(&entry.plan.graph);
                self.go_on(turn, entry, next.into(), now)
            }
            Verdict::Undo { scope, then_retry_from } => {
                if let Some(step) = &then_retry_from {
                    self.workflows.tell(&entry.workflow, now, "retry_from.initiated", Some(step), None);
                }
                if matches!(decision, Decision::Cancel { .. }) {
                    entry.aftermath().cancel_requested_at = Some(now);
                }
                self.enter_undoing(&mut entry, scope, why, then_retry_from, now)?;
                if let (Decision::RetryFromStep { items, .. }, Some(undo)) =
                    (decision, &mut entry.aftermath().undo)
                {
                    undo.then_items = items;
                }
                self.settle_workflow(entry, now)
            }
            Verdict::Cancel => {
                let why = (!why.is_empty()).then_some(why);
                self.move_workflow(&mut entry, WorkflowState::Cancelled, why, now)?;
                self.settle_workflow(entry, now)
            }
            Verdict::Resolve => {
                let after = entry.aftermath();
                (after.resolved_at, after.auto_retry_at) = (Some(now), None);
                let was_open = entry.workflow.completed_at.is_none();
                entry.workflow.completed_at = entry.workflow.completed_at.or(Some(now));
                self.cancel_pauses(&mut entry, now);
                self.note_change(&mut entry);
                self.workflows.tell(&entry.workflow, now, "workflow.resolved", None, None);
                if was_open { self.settle_workflow(entry, now) } else { self.put_away(entry, now) }
            }
            Verdict::RetryUndo => self.undo_again(turn, entry, now),
            Verdict::SkipUndo { all } => self.skip_undoing(turn, entry, all, now),
        }
    }

    fn put_away(&mut self, mut entry: Entry, now: Timestamp) -> Result<()> {
        self.reckon(&mut entry, now);
        self.workflows.put(entry);
        Ok(())
    }

    /// Nobody wants it any more: what its definition says of that is done.
    pub(super) fn cancel_or_undo(
        &mut self,
        entry: &mut Entry,
        message: String,
        now: Timestamp,
    ) -> Result<()> {
        let has_begun = entry.workflow.state != WorkflowState::Pending;
        match entry.plan.definition.on_cancel() {
            model::definition::OnCancel::Compensate if has_begun => {
                self.record(entry, Decision::Cancel { on_cancel: None }, (STRATEGY, &message), now);
                entry.aftermath().cancel_requested_at = Some(now);
                self.enter_undoing(entry, CompensationScope::Full, message, None, now)
            }
            _ => self.move_workflow(entry, WorkflowState::Cancelled, Some(message), now),
        }
    }
}
