//! From the engine's types to those of the API.

mod alert;
mod channel;
mod check;
mod flow;
mod key;
mod message_group;
mod pause;
mod poll;
mod pool;
mod resolution;
mod stuck;
mod subscription;
pub mod worker;
mod workflow;

pub use alert::{alert_figures_view, alert_moment_view, alert_view};
pub use channel::{channel, channel_made_view, channel_view, notice_view, severity, telling_view};
pub use check::check_view;
pub use flow::{flow_now_view, flow_show, flow_view, start_flow};
pub use key::{key_made_view, key_view};
pub use message_group::{group_operated_view, message_group_view};
pub use pause::{pause_view, trigger_payload_view, triggered_view};
pub use poll::{poll_view, polling_view, polls_view};
pub use pool::{POOL_IN_USE, pool, pool_tag, pool_view};
pub use resolution::{compensation_view, decision, resolution_view, resolve_body};
pub use stuck::{detection_view, stuck_rule, stuck_rule_body, stuck_rule_view};
pub use subscription::{subscription, subscription_change, subscription_made_view, subscription_view};
pub use workflow::{
    cloud_event, decision_view, definition_fault, definition_view, event_note, item_counts, started_view,
    workflow_event_view, workflow_operated_view, workflow_view,
};

use engine::{Created, Operated, PauseToken, Why};
use model::{
    Block, Breaker, Counts, Delivery, DispatchGroup, DispatchMode, Fault, GroupStatus, LogLine, State,
    Status, Step, StepId, Timestamp, limits,
};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::Duration;
use store::{Attempt, AuditEntry, EventRow, NodeRow, Retained, SessionRow, StepRow, Tick};

/// RFC 3339 in UTC with microseconds.
pub fn instant(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.0) {
        Ok(at) => format!("{at:.6}"),
        Err(_) => format!("{} microseconds from 1970", at.0),
    }
}

fn maybe(at: Option<Timestamp>) -> Option<String> {
    at.map(instant)
}

fn millis(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

/// Stored text as JSON; text that is none becomes a JSON string.
pub fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.into())
        .or_else(|_| serde_json::value::to_raw_value(text))
        .unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// `parent` is the owner of the step's block.
/// The token of a pause is for whoever the notice goes to, and for nobody who looks on.
fn without_token(step: &Step) -> String {
    let arguments = step.arguments.to_string();
    if &*step.action != "deliver" || !arguments.contains(PauseToken::PREFIX) {
        return arguments;
    }
    let mut shown = String::with_capacity(arguments.len());
    let mut parts = arguments.split(PauseToken::PREFIX);
    shown.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let letters = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        match letters == PauseToken::LETTERS {
            true => shown.push_str(model::HIDDEN),
            false => shown.push_str(PauseToken::PREFIX),
        }
        shown.push_str(if letters == PauseToken::LETTERS { &part[letters..] } else { part });
    }
    shown
}

pub fn step_view(row: &StepRow, parent: Option<StepId>) -> wire::StepView {
    let (step, detail) = (&row.step, row.detail.clone());
    let ran = step.started_at.zip(step.completed_at).map(|(from, to)| to.since(from));
    wire::StepView {
        id: step.id.to_string(),
        step_key: detail.step_key,
        label: detail.label,
        action: step.action.to_string(),
        queue: step.queue.to_string(),
        priority: step.priority.to_string(),
        kind: step.kind.to_string(),
        dispatch_group: step.dispatch_group.to_string(),
        state: step.state.to_string(),
        reason: step.reason.map(|r| r.to_string()),
        block_id: step.block().map(|b| b.to_string()),
        index: step.index(),
        child_block_id: step.child_block.map(|b| b.to_string()),
        parent_step_id: parent.map(|p| p.to_string()),
        attempt: step.attempt,
        failed_attempts: step.failed_attempts,
        lost_attempts: step.lost_attempts,
        max_attempts: step.max_attempts,
        late_reports: detail.late_reports.unwrap_or(0),
        throttled: step.throttled,
        was_throttled: detail.was_throttled.unwrap_or(false),
        dispatch_after: maybe(step.wake_at),
        arguments: raw(&without_token(step)),
        response: detail.response.as_deref().map(raw),
        error_message: detail.error_message,
        error_stack_trace: detail.error_stack_trace,
        note: detail.note,
        relatable_type: detail.relatable_type,
        relatable_id: detail.relatable_id,
        pool: step.pool.as_ref().map(|p| p.to_string()),
        message_group: step.member.as_ref().map(|m| m.group.to_string()),
        sequence: step.member.as_ref().map(|m| m.sequence),
        mode: step.member.as_ref().map_or(DispatchMode::Immediate, |m| m.mode).to_string(),
        expires_at: maybe(step.expires_at),
        block_cleared_at: maybe(detail.block_cleared_at),
        block_cleared_by: detail.block_cleared_by,
        block_cleared_why: detail.block_cleared_why,
        status: Status::of(step.state, step.reason).to_string(),
        host: step.host.as_ref().map(|h| h.to_string()),
        session: step.session.map(|s| s.to_string()),
        tick_id: step.tick,
        superseded_by: detail.superseded_by.map(|s| s.to_string()),
        created_at: instant(step.created_at),
        dispatched_at: maybe(step.dispatched_at),
        started_at: maybe(step.started_at),
        completed_at: maybe(step.completed_at),
        duration_ms: ran.map(|span| millis(span.as_micros() as u64)),
        version: step.version,
        workflow_id: step.in_workflow.map(|part| part.workflow.to_string()),
        run: step.in_workflow.map(|part| part.run),
        item: step.in_workflow.and_then(|part| part.item),
        branch_key: detail.branch_key,
        retry_source: detail.retry_source.map(|source| source.to_string()),
    }
}

pub fn created_view(created: &Created) -> wire::CreatedView {
    wire::CreatedView {
        id: created.id.to_string(),
        state: created.state.to_string(),
        dispatch_group: created.dispatch_group.to_string(),
    }
}

pub fn operated_view(done: &Operated) -> wire::OperatedView {
    let moved = |(step, from, to): &(StepId, Option<State>, State)| wire::MoveView {
        step_id: step.to_string(),
        from: from.map(|s| s.to_string()),
        to: to.to_string(),
    };
    wire::OperatedView {
        step_id: done.step.to_string(),
        from: done.from.to_string(),
        to: done.to.to_string(),
        replaced_by: done.replaced_by.map(|s| s.to_string()),
        moves: done.moves.iter().map(moved).collect(),
    }
}

/// One reason to wait as a sentence, with the time it holds until where there is one.
pub fn why_sentence(why: &Why) -> String {
    match why {
        Why::DueLater { at, .. } | Why::PollLater { at, .. } => format!("{why}, at {}", instant(*at)),
        Why::Breaker { until: Some(until), .. } => format!("{why}, until {}", instant(*until)),
        Why::PoolRate { at, .. } => format!("{why}, at {}", instant(*at)),
        Why::Queued { since } => format!("{why}; it was queued at {}", instant(*since)),
        Why::Held { until, .. } => format!("{why}, with a lease until {}", instant(*until)),
        _ => why.to_string(),
    }
}

pub fn attempt_view(attempt: &Attempt) -> wire::AttemptView {
    wire::AttemptView {
        attempt: attempt.attempt,
        at: instant(attempt.at),
        outcome: attempt.outcome.clone(),
        message: attempt.message.clone(),
        host: attempt.host.as_ref().map(|h| h.to_string()),
        session: attempt.session.map(|s| s.to_string()),
        started_at: maybe(attempt.started_at),
        delivery: attempt.delivery.as_ref().map(delivery_view),
    }
}

fn delivery_view(delivery: &Delivery) -> wire::DeliveryView {
    wire::DeliveryView {
        status: delivery.status.to_string(),
        http_code: delivery.http_code,
        error_type: delivery.error_type.map(|error| error.to_string()),
        response_body: delivery.response_body.clone(),
        duration_ms: delivery.duration_ms,
    }
}

pub fn log_view((attempt, line): &(u32, LogLine)) -> wire::LogView {
    wire::LogView { attempt: *attempt, at: instant(line.at), text: line.text.clone() }
}

pub fn event_view((at, event): &(Timestamp, EventRow)) -> wire::EventView {
    wire::EventView {
        at: instant(*at),
        from: event.from.map(|s| s.to_string()),
        event: event.event.map(|e| e.to_string()),
        to: event.to.to_string(),
        attempt: event.attempt,
    }
}

pub fn children_view(block: &Block) -> wire::ChildrenView {
    let told = |counts: &Counts| -> BTreeMap<String, u32> {
        let word = |s: State| if s.is_hot() { "live".to_string() } else { s.to_string() };
        let all = Counts::COUNTED.iter().map(|s| (word(*s), counts.of(*s)));
        all.filter(|(_, n)| *n > 0).collect()
    };
    wire::ChildrenView {
        block_id: block.id.to_string(),
        success: block.success.to_string(),
        current_index: block.index_now(model::StepKind::Default),
        last_index: block.last_index(),
        steps: told(&block.steps),
        resolvers: told(&block.resolvers),
    }
}

/// A breaker as it is now: an expired one is on, and says nothing.
pub fn breaker_view(scope: Option<&DispatchGroup>, breaker: &Breaker, now: Timestamp) -> wire::BreakerView {
    let off = breaker.is_off(now);
    let expired = breaker.off && !off;
    let said = if expired { Breaker::default() } else { breaker.clone() };
    wire::BreakerView {
        dispatch_group: scope.map(|g| g.to_string()),
        off,
        can_dispatch_steps: !off,
        why: said.why,
        by: said.by,
        since: maybe(said.since),
        until: maybe(said.until),
    }
}

pub fn group_view(
    group: &GroupStatus,
    everywhere: &Breaker,
    steps: wire::Figures,
    now: Timestamp,
) -> wire::GroupView {
    wire::GroupView {
        dispatch_group: group.dispatch_group.to_string(),
        owner: group.owner.map(|n| n.to_string()),
        epoch: group.epoch,
        lease_ends_at: maybe(group.lease_ends_at),
        can_dispatch_steps: !everywhere.is_off(now) && !group.breaker.is_off(now),
        breaker: breaker_view(Some(&group.dispatch_group), &group.breaker, now),
        last_selected_at: maybe(group.last_selected_at),
        current_tick_id: group.current_tick,
        last_tick_completed_at: maybe(group.last_tick_completed_at),
        steps,
    }
}

/// A node with what it decides for and who works for it, out of all groups and sessions.
pub fn node_view(
    node: &NodeRow,
    groups: &[GroupStatus],
    sessions: &[SessionRow],
    now: Timestamp,
) -> wire::NodeView {
    let owned: Vec<&GroupStatus> = groups.iter().filter(|g| g.owner == Some(node.id)).collect();
    let since = owned.iter().map(|g| (g.dispatch_group.to_string(), maybe(g.owned_since)));
    let mine = sessions.iter().filter(|s| s.node == node.id);
    wire::NodeView {
        id: node.id.to_string(),
        host: node.host.clone(),
        pid: node.pid,
        url: node.url.clone(),
        version: node.version.clone(),
        live: node.ended_at.is_none() && now < node.seen_at + limits::GROUP_LEASE,
        started_at: instant(node.started_at),
        seen_at: instant(node.seen_at),
        ended_at: maybe(node.ended_at),
        dispatch_groups: owned.iter().map(|g| g.dispatch_group.to_string()).collect(),
        owned_since: since.collect(),
        leader: groups.iter().find_map(|g| g.owner) == Some(node.id),
        standby: node.standby,
        sessions: mine.map(|s| session_view(s, now)).collect(),
    }
}

fn session_view(session: &SessionRow, now: Timestamp) -> wire::SessionView {
    let names = |names: &[model::Name]| names.iter().map(|n| n.to_string()).collect();
    wire::SessionView {
        id: session.id.to_string(),
        host: session.offer.host.to_string(),
        live: is_live(session, now),
        queues: names(&session.offer.queues),
        actions: names(&session.offer.actions),
        capacity: session.offer.capacity,
        started_at: instant(session.started_at),
        lease_ends_at: instant(session.lease_ends_at),
    }
}

pub fn is_live(session: &SessionRow, now: Timestamp) -> bool {
    session.ended_at.is_none() && now < session.lease_ends_at
}

pub fn tick_view(tick: &Tick) -> wire::TickView {
    let phase = |(phase, rows, micros): &(String, u64, u64)| wire::PhaseView {
        phase: phase.clone(),
        rows: *rows,
        duration_ms: millis(*micros),
    };
    wire::TickView {
        id: tick.id,
        dispatch_group: tick.dispatch_group.to_string(),
        started_at: instant(tick.started_at),
        completed_at: instant(tick.completed_at),
        duration_ms: millis(tick.duration_us),
        turns: tick.turns,
        progress: tick.progress,
        steps_dispatched: tick.steps_dispatched,
        capped: tick.capped,
        left_over: tick.left_over,
        phases: tick.phases.iter().map(phase).collect(),
    }
}

pub fn audit_view((at, entry): &(Timestamp, AuditEntry)) -> wire::AuditView {
    wire::AuditView {
        at: instant(*at),
        who: entry.who.clone(),
        verb: entry.verb.clone(),
        target: entry.target.clone(),
        why: entry.why.clone(),
        before: entry.before.clone(),
        after: entry.after.clone(),
    }
}

pub fn retained_view(retained: &Retained) -> wire::RetainedView {
    let Retained { trees, steps, blocks, ticks, workflows, flows, more } = *retained;
    wire::RetainedView { trees, steps, blocks, ticks, workflows, flows, more }
}

pub fn fault(fault: &Fault) -> wire::Fault {
    wire::Fault { field: fault.field.clone(), problem: fault.problem.clone(), fix: fault.fix.clone() }
}

/// A breaker from what a request asks for.
pub fn breaker(body: &wire::BreakerBody, by: &str, now: Timestamp) -> Breaker {
    Breaker {
        off: body.off,
        why: body.why.clone(),
        by: Some(by.into()),
        since: Some(now),
        until: body.ttl_seconds.map(|seconds| now + Duration::from_secs(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_have_microseconds() {
        assert_eq!(instant(Timestamp(1_800_000_000_000_000)), "2027-01-15T08:00:00.000000Z");
        assert_eq!(instant(Timestamp(1_800_000_000_000_001)), "2027-01-15T08:00:00.000001Z");
        assert_eq!(instant(Timestamp(i64::MAX)), "9223372036854775807 microseconds from 1970");
    }

    #[test]
    fn stored_text_is_json_or_becomes_it() {
        assert_eq!(raw("{\"b\":1.10,\"a\":2}").get(), "{\"b\":1.10,\"a\":2}");
        assert_eq!(raw("not \"json\"").get(), r#""not \"json\"""#);
    }

    #[test]
    fn an_expired_breaker_is_on_and_silent() {
        let body = wire::BreakerBody {
            off: true,
            ttl_seconds: Some(60),
            why: Some("deploy".into()),
            ..Default::default()
        };
        let (now, later) = (Timestamp(0), Timestamp(60_000_000));
        let breaker = breaker(&body, "anna", now);
        let view = breaker_view(None, &breaker, now);
        assert_eq!((view.off, view.why.as_deref(), view.by.as_deref()), (true, Some("deploy"), Some("anna")));
        let view = breaker_view(None, &breaker, later);
        assert_eq!((view.off, view.can_dispatch_steps, view.why), (false, true, None));
    }

    #[test]
    fn a_reason_says_until_when_it_holds() {
        let why = Why::DueLater { at: Timestamp(1_800_000_000_000_000), throttled: true };
        assert_eq!(why_sentence(&why), "it was throttled and is due later, at 2027-01-15T08:00:00.000000Z");
    }
}
