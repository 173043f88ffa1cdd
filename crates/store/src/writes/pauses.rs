//! The rows of pauses, and of what was sent to triggers.

use super::{Plan, Values, values};
use crate::batch::{Batch, PauseWrite, PayloadWrite};
use crate::sql::Param;
use crate::statements as sql;
use model::{Pause, TriggerPayload, limits};

impl<'a> Plan<'a> {
    pub(super) fn put_pauses(&mut self, batch: &'a Batch) {
        // One that is over makes room for the next of its trigger.
        let written = |w: &'a PauseWrite| w.expected.map(|expected| written_pause(&w.pause, expected));
        self.put(sql::WRITE_PAUSE, true, batch.pauses.iter().filter_map(written).collect());
        let new = batch.pauses.iter().filter(|w| w.expected.is_none());
        self.put(sql::INSERT_PAUSE, true, new.map(|w| new_pause(&w.pause)).collect());
        let payloads = || batch.trigger_payloads.iter();
        let new = || payloads().filter(|w| w.is_new).map(|w| &w.payload);
        self.put(sql::INSERT_TRIGGER_PAYLOAD, true, new().map(new_payload).collect());
        let judged = payloads().filter(|w: &&PayloadWrite| !w.is_new).map(|w| judged(&w.payload));
        self.put(sql::JUDGE_TRIGGER_PAYLOAD, true, judged.collect());
        let old = |p: &'a TriggerPayload| {
            Some(values![p.workflow.bytes(), p.number.checked_sub(limits::TRIGGERS_KEPT)?])
        };
        self.put(sql::FORGET_TRIGGER_PAYLOAD, false, new().filter_map(old).collect());
    }
}

/// For `insert_pause.sql`.
fn new_pause(p: &Pause) -> Values<'_> {
    values![
        p.workflow.bytes(),
        p.def,
        p.run,
        p.step.bytes(),
        &*p.step_key,
        if p.trigger.is_some() { "trigger" } else { "scheduled" },
        p.trigger.as_deref(),
        p.token.as_ref().map(|hash| hash.0.as_slice()),
        p.registered_at,
        p.timeout_at,
        p.resume_at,
        p.reminders,
        p.state.word(),
        p.ended_at,
        p.consumed,
    ]
}

/// For `write_pause.sql`.
fn written_pause(p: &Pause, expected: u64) -> Values<'_> {
    values![
        p.token.as_ref().map(|hash| hash.0.as_slice()),
        p.timeout_at,
        p.reminders,
        p.state.word(),
        p.ended_at,
        p.consumed,
        p.workflow.bytes(),
        p.def,
        p.run,
        expected,
    ]
}

/// For `insert_trigger_payload.sql`.
fn new_payload(p: &TriggerPayload) -> Values<'_> {
    values![
        p.workflow.bytes(),
        p.number,
        &*p.trigger,
        p.webhook_id.as_deref(),
        p.payload.as_deref(),
        p.received_at,
        p.source.as_deref(),
        &p.identity,
        p.verdict.word(),
        p.why.as_deref(),
        p.run,
    ]
}

/// For `judge_trigger_payload.sql`.
fn judged(p: &TriggerPayload) -> Values<'_> {
    values![p.verdict.word(), p.why.as_deref(), p.run, p.workflow.bytes(), p.number]
}
