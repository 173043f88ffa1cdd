//! From the worker protocol to the engine's types and back.

use super::raw;
use crate::error::ApiError;
use engine::Told;
use model::{
    Claim, Delivery, DeliveryError, DeliveryStatus, Failure, ForWorkflow, LogLine, LookAt, NewStep, Outcome,
    Progress, Report, SessionId, StepId, Success, Timestamp, limits,
};
use serde_json::value::RawValue;
use std::str::FromStr;
use std::time::Duration;
use wire::{
    ClaimView, DeliveryItem, ForWorkflowView, Held, LookView, PollClaimView, PreviousView, ProgressItem,
    ReportItem,
};

pub fn claim_view(claim: Claim) -> ClaimView {
    let trace = claim.place_in_trace();
    ClaimView {
        step: claim.step.to_string(),
        attempt: claim.attempt,
        action: claim.action.to_string(),
        queue: claim.queue.to_string(),
        arguments: raw(&claim.arguments),
        failed_attempts: claim.failed_attempts,
        max_attempts: claim.max_attempts,
        block_id: claim.place.map(|place| place.block.to_string()),
        index: claim.place.map(|place| place.index),
        look: claim
            .look
            .map(|look| LookView { at: look.at.to_string(), response: look.response.as_deref().map(raw) }),
        message_group: claim.message_group.map(|group| group.to_string()),
        workflow: claim.workflow.as_deref().map(for_workflow),
        poll: claim
            .poll
            .map(|poll| PollClaimView { number: poll.number, previous: poll.previous.as_deref().map(raw) }),
        traceparent: Some(trace.parent()),
        tracestate: trace.state.map(|state| state.to_string()),
    }
}

fn for_workflow(of: &ForWorkflow) -> ForWorkflowView {
    ForWorkflowView {
        id: of.id.to_string(),
        workflow: of.definition.to_string(),
        version: of.version.to_string(),
        step_key: of.step_key.to_string(),
        run: of.run,
        item: of.item,
    }
}

pub fn step(text: &str, field: &str) -> Result<StepId, ApiError> {
    let strange = |_| ApiError::fault(field, format!("`{text}` is not a step id"), "send it as claimed");
    text.parse().map_err(strange)
}

pub fn held(named: &[Held]) -> Result<Vec<(StepId, u32)>, ApiError> {
    named.iter().map(|held| Ok((step(&held.step, "held.step")?, held.attempt))).collect()
}

pub fn held_views(pairs: Vec<(StepId, u32)>) -> Vec<Held> {
    pairs.into_iter().map(|(step, attempt)| Held { step: step.to_string(), attempt }).collect()
}

pub fn previous_view(answers: &[String]) -> PreviousView {
    PreviousView { answers: answers.iter().map(|text| raw(text)).collect() }
}

pub fn progress(items: Vec<ProgressItem>) -> Result<Vec<Told>, ApiError> {
    let told = |item: ProgressItem| {
        let progress = Progress::new(item.done, item.of, item.word);
        Ok((step(&item.step, "progress.step")?, item.attempt, progress))
    };
    items.into_iter().map(told).collect()
}

/// One item of a report, or what is wrong with it.
pub fn report(text: &str, session: SessionId, now: Timestamp) -> Result<Report, String> {
    let mut item: ReportItem = serde_json::from_str(text).map_err(|problem| problem.to_string())?;
    let step = word::<StepId>("step", &item.step)?;
    let log = std::mem::take(&mut item.log).into_iter().map(|text| LogLine { at: now, text }).collect();
    let delivery = item.delivery.take().map(|item| delivery(item, now)).transpose()?;
    let attempt = item.attempt;
    Ok(Report { session, step, attempt, outcome: outcome(item)?, log, delivery })
}

fn delivery(item: DeliveryItem, now: Timestamp) -> Result<Delivery, String> {
    let DeliveryItem { status, http_code, error_type, response_body, started_at, duration_ms } = item;
    let error_type =
        error_type.map(|text| word::<DeliveryError>("delivery.error_type", &text)).transpose()?;
    let status = word::<DeliveryStatus>("delivery.status", &status)?;
    let took = Duration::from_millis(duration_ms).min(limits::WAIT_MAX);
    let started_at = started_at.map_or(now - took, Timestamp);
    Ok(Delivery { status, http_code, error_type, response_body, started_at, duration_ms })
}

fn outcome(item: ReportItem) -> Result<Outcome, String> {
    let after = item.after_ms.map(Duration::from_millis);
    let response = item.response.as_deref().map(|raw: &RawValue| raw.get().to_string());
    let why = || item.why.clone().unwrap_or_default();
    let failure = item.message.clone().map(|message| Failure { message, trace: item.trace.clone() });
    Ok(match item.outcome.as_str() {
        "complete" if item.children.is_empty() => Outcome::Complete { response },
        "complete" => {
            let children = item.children.iter().map(|raw| serde_json::from_str::<NewStep>(raw.get()));
            let children: Result<Vec<NewStep>, _> = children.collect();
            let success = item.success.as_deref().map(|text| word::<Success>("success", text)).transpose()?;
            Outcome::Children {
                response,
                children: children.map_err(|problem| format!("children: {problem}"))?,
                success: success.unwrap_or_default(),
            }
        }
        "retry" => Outcome::Retry { after, failure },
        "throttle" => Outcome::Throttle { after: after.ok_or("`throttle` needs `after_ms`")? },
        "skip" => Outcome::Skip { why: why() },
        "stop" => Outcome::Stop { why: why() },
        "end" => Outcome::End { why: why() },
        "resolved" => Outcome::Resolved { note: why() },
        "fail" => Outcome::Fail {
            failure: failure.ok_or("`fail` needs a `message`")?,
            notify: item.notify.unwrap_or(true),
        },
        "look_again" => {
            let at = item.at.as_deref().ok_or("`look_again` needs `at`: `verify N` or `confirm`")?;
            Outcome::LookAgain { at: word::<LookAt>("at", at)?, response, after, failure }
        }
        "continue" => Outcome::Continue { data: response, after },
        "abort" => Outcome::Abort { why: why() },
        other => {
            return Err(format!(
                "`{other}` is not an outcome; write complete, retry, throttle, skip, stop, end, fail, resolved or look_again, and \
                 of a poll also continue or abort"
            ));
        }
    })
}

fn word<T: FromStr>(field: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{field}: `{text}` is not understood"))
}
