//! Pauses of workflows in hand: how one begins, goes on or is dropped, and the rows that says so.
//!
//! Why    the end of a step and the beginning of its pause are one commit, as are the end of a pause and what follows. A step with
//!        a pause behind it has not passed on; how far a workflow is still follows from its rows.

use super::super::node::{Node, Turn};
use super::Entry;
use crate::triggers::PauseToken;
use model::definition::TriggerAuth;
use model::{
    Name, Pause, PauseState, PausedBy, State, StepId, Timestamp, TriggerPayload, Verdict, WorkflowId,
    WorkflowState,
};
use rules::workflow::pause::{self, Fit};
use rules::workflow::progress::Next;
use rules::workflow::{self, Data, End, hold};
use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, VecDeque};
use store::{PauseWrite, PayloadWrite, Result, StoreError};

/// Messages of a workflow whose ids are remembered until they are surely on disk.
const MESSAGES_MAX: usize = 64;

/// What a workflow in hand waits for, and what was sent to it.
#[derive(Default)]
pub(super) struct Pauses {
    /// By the step that they stand behind.
    pub waiting: BTreeMap<u32, Pause>,
    /// How the others of the current runs ended.
    pub over: BTreeMap<u32, PauseState>,
    /// What came before its pause, oldest first.
    pub early: Vec<TriggerPayload>,
    /// The number of the last that was sent, once it is known.
    pub last: Option<u64>,
    pub messages: VecDeque<(Name, String, Verdict)>,
}

/// Rows of pauses and payloads that a turn writes.
#[derive(Default)]
pub(super) struct PauseRows {
    pauses: BTreeMap<(WorkflowId, u32, u32), PauseWrite>,
    payloads: BTreeMap<(WorkflowId, u64), PayloadWrite>,
}

impl PauseRows {
    fn begun(&mut self, pause: &Pause) {
        let write = PauseWrite { pause: pause.clone(), expected: None };
        self.pauses.insert((pause.workflow, pause.def, pause.run), write);
    }
    /// Many changes of one row are one write, which names what the turn saw first.
    fn changed(&mut self, pause: &mut Pause) {
        match self.pauses.entry((pause.workflow, pause.def, pause.run)) {
            Slot::Occupied(mut slot) => slot.get_mut().pause = pause.clone(),
            Slot::Vacant(slot) => {
                let expected = Some(pause.version);
                pause.version += 1;
                slot.insert(PauseWrite { pause: pause.clone(), expected });
            }
        }
    }
    pub(super) fn sent(&mut self, payload: &TriggerPayload) {
        let write = PayloadWrite { payload: payload.clone(), is_new: true };
        self.payloads.insert((payload.workflow, payload.number), write);
    }
    /// What came early has a verdict.
    fn judged(&mut self, payload: &TriggerPayload) {
        match self.payloads.entry((payload.workflow, payload.number)) {
            Slot::Occupied(mut slot) => slot.get_mut().payload = payload.clone(),
            Slot::Vacant(slot) => {
                slot.insert(PayloadWrite { payload: payload.clone(), is_new: false });
            }
        }
    }
    pub(super) fn take(&mut self) -> (Vec<PauseWrite>, Vec<PayloadWrite>) {
        let pauses = std::mem::take(&mut self.pauses).into_values().collect();
        (pauses, std::mem::take(&mut self.payloads).into_values().collect())
    }
}

impl Pauses {
    pub(super) fn remember(&mut self, payload: &TriggerPayload) {
        let Some(id) = payload.webhook_id.clone() else { return };
        self.messages.push_back((payload.trigger.clone(), id, payload.verdict));
        if self.messages.len() > MESSAGES_MAX {
            self.messages.pop_front();
        }
    }
    /// How the pause behind a step stands, if there is one.
    pub(super) fn behind(&self, def: u32) -> Option<PauseState> {
        let waits = self.waiting.contains_key(&def).then_some(PauseState::Waiting);
        waits.or_else(|| self.over.get(&def).copied())
    }
    /// What it waits for, in words.
    pub(super) fn awaited(&self) -> String {
        let all: Vec<String> = self.waiting.values().map(Pause::awaits).collect();
        format!("it waits for {}", all.join(" and "))
    }
}

impl Entry {
    /// All that is left of it waits for triggers and dates.
    pub(super) fn awaits(&self) -> bool {
        hold::awaits(self.workflow.state, self.workflow.paused_by) && self.ends.is_none()
    }
    /// Something of it is done, or waited for.
    pub(super) fn is_under_way(&self) -> bool {
        self.is_going_on() || self.awaits()
    }
}

impl Node {
    /// A step completed and has a pause behind it; the steps whose turn has come if what it waits for is there already.
    pub(super) fn begin_pause(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        (def, step): (u32, StepId),
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        let plan = entry.plan.clone();
        let Some(asked) = plan.pause(def) else { return Ok(Vec::new()) };
        let pause::Times { timeout_at, resume_at } = pause::enter(asked, now);
        let token = match asked.auth {
            TriggerAuth::Token => Some(fresh_token()?),
            TriggerAuth::ApiKey | TriggerAuth::Hmac => None,
        };
        let pause = Pause {
            workflow: entry.workflow.id,
            def,
            run: entry.run(def),
            step,
            step_key: plan.name(def),
            trigger: asked.trigger.as_deref().map(Into::into),
            token: token.as_ref().map(PauseToken::hash),
            registered_at: now,
            timeout_at,
            resume_at,
            reminders: 0,
            state: PauseState::Waiting,
            ended_at: None,
            consumed: None,
            version: 0,
        };
        self.workflows.pause_rows.begun(&pause);
        if entry.workflow.state == WorkflowState::Compensating {
            // It was being done when the undoing began.
            entry.pauses.waiting.insert(def, pause);
            self.cancel_pauses(entry, now);
            return Ok(Vec::new());
        }
        let data =
            serde_json::json!({"trigger": pause.trigger, "timeout_at": timeout_at, "resume_at": resume_at});
        let (key, data) = (plan.name(def), Some(data.to_string()));
        self.workflows.tell(&entry.workflow, now, "workflow.awaiting_trigger", Some(&key), data);
        entry.pauses.waiting.insert(def, pause);
        if let Some(number) = self.look_at_early(entry, def, now) {
            return self.resume_pause(entry, def, number, now);
        }
        self.notify_begun(turn, entry, def, token, now)?;
        Ok(Vec::new())
    }

    /// What came before this pause is looked at in its order; the number and text of the first that lets it go on.
    fn look_at_early(&mut self, entry: &mut Entry, def: u32, now: Timestamp) -> Option<(u64, String)> {
        let plan = entry.plan.clone();
        let (trigger, run) = (entry.pauses.waiting.get(&def)?.trigger.clone()?, Some(entry.run(def)));
        let is_for = |payload: &TriggerPayload| payload.trigger == trigger;
        let (mine, others) = std::mem::take(&mut entry.pauses.early).into_iter().partition(is_for);
        entry.pauses.early = others;
        let mut found = None;
        let mine: Vec<TriggerPayload> = mine;
        for mut payload in mine {
            let text = payload.payload.clone().unwrap_or_default();
            let value = serde_json::from_str(&text).unwrap_or_default();
            let fit = pause::fits(&plan, def, &value, &Data::new(&plan, &entry.answers));
            (payload.verdict, payload.why) = match (&found, fit) {
                (Some(_), _) => (Verdict::Duplicate, Some("another that came before it was accepted".into())),
                (None, Fit::Yes) => (Verdict::Accepted, Some("it came before its pause".into())),
                (None, Fit::No(why) | Fit::NotYet(why)) => (Verdict::Rejected, Some(why)),
            };
            payload.run = run;
            if payload.verdict == Verdict::Accepted {
                found = Some((payload.number, text));
            }
            self.tell_verdict(entry, def, &payload, now);
            self.workflows.pause_rows.judged(&payload);
        }
        found
    }

    pub(super) fn tell_verdict(&mut self, entry: &Entry, def: u32, payload: &TriggerPayload, now: Timestamp) {
        let kind = match payload.verdict {
            Verdict::Accepted | Verdict::Early => "trigger.received",
            Verdict::Rejected | Verdict::Late => "trigger.rejected",
            Verdict::Duplicate => return,
        };
        let data = serde_json::json!({
            "trigger": payload.trigger, "verdict": payload.verdict, "why": payload.why, "by": payload.identity,
            "number": payload.number,
        });
        let key = entry.plan.name(def);
        self.workflows.tell(&entry.workflow, now, kind, Some(&key), Some(data.to_string()));
    }

    /// Those behind it go on, with what was sent.
    pub(super) fn resume_pause(
        &mut self,
        entry: &mut Entry,
        def: u32,
        (number, text): (u64, String),
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        if entry.plan.reads(entry.plan.payload_of(def)) {
            entry.answers.put(entry.plan.payload_of(def), text.as_str());
        }
        self.end_pause(entry, def, (PauseState::Resumed, Some(number)), now);
        Ok(pass_on(entry, def))
    }

    /// A pause is over; what that means for the workflow is up to the caller.
    pub(super) fn end_pause(
        &mut self,
        entry: &mut Entry,
        def: u32,
        (state, consumed): (PauseState, Option<u64>),
        now: Timestamp,
    ) {
        let Some(mut pause) = entry.pauses.waiting.remove(&def) else { return };
        debug_assert!(pause::next(pause.state, state).is_ok(), "what is over stays over");
        (pause.state, pause.ended_at, pause.consumed) = (state, Some(now), consumed);
        self.workflows.pause_rows.changed(&mut pause);
        entry.pauses.over.insert(def, state);
    }

    /// It waits on, and its row says how.
    pub(super) fn change_pause(&mut self, entry: &mut Entry, def: u32, change: impl FnOnce(&mut Pause)) {
        let Some(pause) = entry.pauses.waiting.get_mut(&def) else { return };
        change(pause);
        self.workflows.pause_rows.changed(pause);
    }

    /// Nothing of it is waited for any more. Should the workflow go on after all, the steps before are done again.
    pub(super) fn cancel_pauses(&mut self, entry: &mut Entry, now: Timestamp) {
        let waiting: Vec<u32> = entry.pauses.waiting.keys().copied().collect();
        for def in waiting {
            self.end_pause(entry, def, (PauseState::Cancelled, None), now);
            entry.cut.insert(def);
        }
    }

    /// The step before it is done anew: what was sent to its pause counts no more.
    pub(super) fn forget_pause(&mut self, entry: &mut Entry, def: u32, now: Timestamp) {
        self.end_pause(entry, def, (PauseState::Cancelled, None), now);
        entry.pauses.over.remove(&def);
        entry.answers.remove(entry.plan.payload_of(def));
    }

    /// Pauses are over: what follows from that, unless the workflow is held.
    pub(super) fn pauses_over(
        &mut self,
        turn: &mut Turn,
        mut entry: Entry,
        next: Vec<Next>,
        now: Timestamp,
    ) -> Result<()> {
        if entry.awaits() && (!next.is_empty() || entry.progress.is_over()) {
            self.move_workflow(&mut entry, WorkflowState::Running, None, now)?;
        }
        self.go_on(turn, entry, next.into(), now)
    }

    /// If all that is left waits for triggers and dates, the workflow is paused and says for what.
    pub(super) fn await_triggers(&mut self, entry: &mut Entry, now: Timestamp) -> Result<()> {
        if entry.pauses.waiting.is_empty() || !entry.is_under_way() {
            return Ok(());
        }
        let message = entry.pauses.awaited();
        if entry.awaits() && entry.workflow.message.as_ref() != Some(&message) {
            entry.workflow.message = Some(message);
            self.note_change(entry);
        } else if entry.workflow.state == WorkflowState::Running && entry.live.is_empty() {
            self.move_workflow(entry, WorkflowState::Paused, Some(message), now)?;
            entry.workflow.paused_by = Some(PausedBy::Trigger);
        }
        Ok(())
    }
}

/// Those behind a step whose pause is over.
pub(super) fn pass_on(entry: &mut Entry, def: u32) -> Vec<Next> {
    let plan = entry.plan.clone();
    let end = End { state: State::Completed, reason: None, error: None };
    let passed = workflow::passed_on(&plan, def, end, &Data::new(&plan, &entry.answers));
    passed.map(|passed| entry.progress.pass(&plan.graph, def, passed)).unwrap_or_default()
}

fn fresh_token() -> Result<PauseToken> {
    PauseToken::fresh().map_err(|problem| StoreError::Down(problem.to_string()))
}
