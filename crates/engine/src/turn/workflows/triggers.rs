//! Triggers: what is sent to a pause is judged, kept, and lets it go on.

use super::super::node::{Node, Turn};
use super::Entry;
use crate::EngineError;
use crate::request::{Forced, Reply, WorkflowOperation};
use crate::signal::Signal;
use crate::triggers::{TokenOrder, TriggerOrder, Triggered};
use model::definition::TriggerAuth;
use model::{Timestamp, TokenHash, TriggerAnswer, TriggerPayload, Verdict, WorkflowId, WorkflowState};
use rules::workflow::Data;
use rules::workflow::pause::{self, Fit, Standing};
use rules::workflow::progress::Next;
use std::net::IpAddr;
use store::pauses as record;
use store::{AuditEntry, Result};

impl Node {
    pub(in super::super) fn trigger(
        &mut self,
        turn: &mut Turn,
        order: TriggerOrder,
        reply: Reply<Triggered>,
        now: Timestamp,
    ) -> Result<()> {
        if let Some(group) = self.foreign_workflow(order.workflow)? {
            self.forward(turn, &group, &Signal::Trigger { order }, reply);
            return Ok(());
        }
        let (mut entry, def) = match self.listener(order.workflow, &order.trigger)? {
            Ok(found) => found,
            Err(refused) => {
                turn.acts.refuse(reply, refused);
                return Ok(());
            }
        };
        let answer = self.judge(&mut entry, def, &order)?;
        let payload = self.keep_payload(&mut entry, &order, &answer, now)?;
        self.tell_verdict(&entry, def, &payload, now);
        let workflow = order.workflow;
        match payload.verdict {
            Verdict::Accepted => {
                turn.audit.push(accepted(&order, entry.workflow.state));
                let next = self.resume_pause(&mut entry, def, (payload.number, order.payload), now)?;
                self.pauses_over(turn, entry, next, now)?;
            }
            _ => {
                if payload.verdict == Verdict::Early {
                    entry.pauses.early.push(payload);
                }
                self.workflows.put(entry);
            }
        }
        let state = self.state_of(workflow);
        turn.acts.reply(reply, Triggered { workflow, trigger: order.trigger, answer, state });
        Ok(())
    }

    fn state_of(&self, id: WorkflowId) -> WorkflowState {
        self.workflows.entries.get(&id).map_or(WorkflowState::Running, |entry| entry.workflow.state)
    }

    /// A workflow, and the step behind which it waits for this trigger at some time.
    fn listener(
        &mut self,
        id: WorkflowId,
        trigger: &str,
    ) -> Result<std::result::Result<(Entry, u32), EngineError>> {
        let Some(entry) = self.entry(id)? else { return Ok(Err(EngineError::NoWorkflow(id))) };
        if let Some(def) = entry.plan.awaits(trigger) {
            return Ok(Ok((entry, def)));
        }
        let steps = entry.plan.definition.steps.iter();
        let known = steps.filter_map(|step| step.pause_after.as_ref()?.trigger.clone()).collect();
        self.workflows.put(entry);
        Ok(Err(EngineError::NoTrigger { workflow: id, trigger: trigger.into(), known }))
    }

    fn judge(&mut self, entry: &mut Entry, def: u32, order: &TriggerOrder) -> Result<TriggerAnswer> {
        if let Some(before) = self.sent_before(entry, order)? {
            return Ok(before);
        }
        let standing = standing(entry, def, order.run);
        let value = serde_json::from_str(&order.payload).unwrap_or_default();
        let fit = match standing {
            Standing::Ahead => pause::has_shape(&entry.plan, def, &value),
            Standing::Waiting(_) => {
                pause::fits(&entry.plan, def, &value, &Data::new(&entry.plan, &entry.answers))
            }
            Standing::Over(_) | Standing::PassedBy => Fit::Yes,
        };
        Ok(pause::on_trigger(standing, fit, entry.pauses.early.len()))
    }

    /// The same message was there before and was taken: it is answered as it was then. One that was refused is judged anew.
    fn sent_before(&mut self, entry: &Entry, order: &TriggerOrder) -> Result<Option<TriggerAnswer>> {
        let Some(id) = &order.webhook_id else { return Ok(None) };
        let is_same = |(trigger, known, _): &&(model::Name, String, Verdict)| {
            **trigger == *order.trigger && known == id
        };
        let known = entry.pauses.messages.iter().find(is_same).map(|(_, _, verdict)| *verdict);
        let verdict = match known {
            Some(verdict) => Some(verdict),
            None => {
                let found = record::message(self.store.reader(), order.workflow, &order.trigger, id)?;
                found.map(|found| found.verdict)
            }
        };
        let consumed = || TriggerAnswer::Consumed("already consumed: this message was there before".into());
        Ok(verdict
            .filter(|verdict| matches!(verdict, Verdict::Accepted | Verdict::Early))
            .map(|_| consumed()))
    }

    /// Whatever was sent is kept, with what came of it.
    fn keep_payload(
        &mut self,
        entry: &mut Entry,
        order: &TriggerOrder,
        answer: &TriggerAnswer,
        now: Timestamp,
    ) -> Result<TriggerPayload> {
        let waiting = entry.plan.awaits(&order.trigger).and_then(|def| entry.pauses.waiting.get(&def));
        let verdict = answer.verdict();
        let payload = TriggerPayload {
            workflow: entry.workflow.id,
            number: self.next_number(entry)?,
            trigger: order.trigger.as_str().into(),
            webhook_id: order.webhook_id.clone(),
            payload: (verdict != Verdict::Duplicate).then(|| order.payload.clone()),
            received_at: now,
            source: order.source.clone(),
            identity: order.identity.clone(),
            verdict,
            why: answer.why().map(Into::into),
            run: waiting.map(|pause| pause.run),
        };
        self.workflows.pause_rows.sent(&payload);
        entry.pauses.remember(&payload);
        entry.pauses.last = Some(payload.number);
        Ok(payload)
    }

    fn next_number(&mut self, entry: &Entry) -> Result<u64> {
        let last = match entry.pauses.last {
            Some(last) => last,
            None => record::last_number(self.store.reader(), entry.workflow.id)?,
        };
        Ok(last + 1)
    }

    /// All that it waits for is let go on by somebody who has the right to, with what they sent or nothing.
    pub(super) fn force_pauses(
        &mut self,
        entry: &mut Entry,
        operation: &WorkflowOperation,
        forced: &Forced,
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        let (mut next, waiting) = (Vec::new(), entry.pauses.waiting.clone());
        for (def, pause) in waiting {
            let Some(trigger) = pause.trigger else {
                next.extend(self.resume_by_itself(entry, def, now));
                continue;
            };
            let payload = forced.payload.clone().unwrap_or_else(|| "null".into());
            let sent = (&*trigger, payload, format!("forced: {}", operation.why));
            next.extend(self.accept_from_within(entry, def, &operation.by, sent, now)?);
        }
        Ok(next)
    }

    /// A pause goes on with something that did not come through its trigger.
    pub(super) fn accept_from_within(
        &mut self,
        entry: &mut Entry,
        def: u32,
        by: &str,
        (trigger, text, why): (&str, String, String),
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        let order = TriggerOrder::of(entry.workflow.id, trigger, text.clone(), by);
        let kept = self.keep_payload(entry, &order, &TriggerAnswer::Accepted, now)?;
        let payload = TriggerPayload { why: Some(why), ..kept };
        self.workflows.pause_rows.sent(&payload);
        self.tell_verdict(entry, def, &payload, now);
        self.resume_pause(entry, def, (payload.number, text), now)
    }

    pub(in super::super) fn pause_token(
        &mut self,
        turn: &mut Turn,
        (order, hash): (TokenOrder, TokenHash),
        reply: Reply<()>,
        now: Timestamp,
    ) -> Result<()> {
        let id = order.workflow;
        if let Some(group) = self.foreign_workflow(id)? {
            self.forward(turn, &group, &Signal::PauseToken { order, hash }, reply);
            return Ok(());
        }
        let (mut entry, def) = match self.listener(id, &order.trigger)? {
            Ok(found) => found,
            Err(refused) => {
                turn.acts.refuse(reply, refused);
                return Ok(());
            }
        };
        let by_token = entry.plan.pause(def).is_some_and(|pause| pause.auth == TriggerAuth::Token);
        let why = match entry.pauses.waiting.contains_key(&def) {
            _ if !by_token => Some("its definition does not ask for a token (`auth: token`)"),
            false => Some("it does not wait now"),
            true => None,
        };
        if let Some(why) = why {
            self.workflows.put(entry);
            let why = format!("there is no token for `{}`: {why}", order.trigger);
            turn.acts.refuse(reply, EngineError::WorkflowRefused { workflow: id, why });
            return Ok(());
        }
        let had = entry.pauses.waiting.get(&def).is_some_and(|pause| pause.token.is_some());
        self.change_pause(&mut entry, def, |pause| pause.token = Some(hash));
        let (verb, before) =
            ("token".into(), Some(if had { "it had a token" } else { "it had none" }.into()));
        let after = Some("a new token; none before it counts".into());
        turn.audit.push(AuditEntry { verb, before, after, ..audit(id, &order.trigger, &order.by) });
        self.settle_workflow(entry, now)?;
        turn.acts.reply(reply, ());
        Ok(())
    }
}

/// Where the pause of a trigger is, for whoever may speak to this run alone or to any.
fn standing(entry: &Entry, def: u32, run: Option<u32>) -> Standing<'_> {
    match (entry.pauses.waiting.get(&def), entry.pauses.over.get(&def)) {
        (Some(pause), _) if run.is_some_and(|run| run != pause.run) => Standing::PassedBy,
        (Some(pause), _) => Standing::Waiting(pause),
        (None, Some(state)) => Standing::Over(*state),
        (None, None) if !may_go_on(entry) => Standing::PassedBy,
        (None, None) if entry.progress.is_ahead(def) || entry.progress.is_begun(def) => Standing::Ahead,
        (None, None) => Standing::PassedBy,
    }
}

/// It is not over for good, and nothing of it is undone.
fn may_go_on(entry: &Entry) -> bool {
    match entry.workflow.state {
        WorkflowState::Pending | WorkflowState::Running | WorkflowState::Paused => true,
        WorkflowState::Failed => {
            entry.workflow.aftermath.as_ref().is_none_or(|after| after.resolved_at.is_none())
        }
        _ => false,
    }
}

fn audit(workflow: WorkflowId, trigger: &str, by: &str) -> AuditEntry {
    AuditEntry {
        who: by.into(),
        verb: "trigger".into(),
        target: format!("workflow {workflow} `{trigger}`"),
        why: None,
        before: None,
        after: None,
    }
}

/// Who sent it, from where, and what it found.
fn accepted(order: &TriggerOrder, found: WorkflowState) -> AuditEntry {
    let is_elsewhere = |from: &&String| from.parse::<IpAddr>().is_ok_and(|ip| !ip.is_loopback());
    let from = order.source.as_ref().filter(is_elsewhere);
    let from = from.filter(|from| !order.identity.ends_with(from.as_str()));
    let who = from.map_or(order.identity.clone(), |from| format!("{} from {from}", order.identity));
    let (before, after) = (Some(format!("{found}, waiting for it")), Some("accepted".into()));
    AuditEntry { before, after, ..audit(order.workflow, &order.trigger, &who) }
}
