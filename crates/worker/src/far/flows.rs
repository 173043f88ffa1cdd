//! Tracked flows over HTTP.

use super::until_told;
use crate::job::{JobError, JobResult};
use crate::remote::Remote;
use engine::{Saying, StartFlow};
use model::{FlowAction, FlowId, FlowState, FlowStepState};
use wire::{FlowActionBody, FlowBody, FlowNowView, FlowSayBody, FlowStateBody, FlowStepBody};

pub async fn start_flow(remote: &Remote, start: StartFlow) -> JobResult<FlowId> {
    let action = |action: FlowAction| {
        let FlowAction { action, queue, arguments } = action;
        FlowActionBody { action, queue, arguments }
    };
    let step = |step: model::NewFlowStep| FlowStepBody::Said { name: step.name, optional: step.optional };
    let body = FlowBody {
        kind: start.name.kind,
        key: start.name.key,
        entity_type: start.name.entity_type,
        entity_id: start.name.entity_id,
        user: start.user,
        steps: start.steps.into_iter().map(step).collect(),
        open: start.open,
        timeout_seconds: Some(start.timeout.as_secs()),
        message: start.message,
        retry: start.retry.map(action),
        cancel: start.cancel.map(action),
        again: Some(start.again.word().into()),
        by: Some(start.by),
    };
    let now: FlowNowView = until_told(|| remote.call("/v1/flows", &body)).await?;
    let strange = |_| JobError::msg(format!("the server called the flow `{}`, which is no id", now.flow.id));
    now.flow.id.parse().map_err(strange)
}

pub async fn mark_flow(remote: &Remote, saying: Saying, step: &str, to: FlowStepState) -> JobResult<()> {
    let verb = match to {
        FlowStepState::Failed => "fail",
        FlowStepState::Skipped => "skip",
        FlowStepState::Completed | FlowStepState::Pending => "complete",
    };
    let path = format!("/v1/flows/{}/steps/{}/{verb}", saying.flow, escaped(step));
    let body = FlowSayBody { message: saying.message, by: Some(saying.by) };
    let _: FlowNowView = until_told(|| remote.call(&path, &body)).await?;
    Ok(())
}

/// `state` or `finish`.
pub async fn tell_flow(remote: &Remote, saying: Saying, what: &str, to: Option<FlowState>) -> JobResult<()> {
    let path = format!("/v1/flows/{}/{what}", saying.flow);
    let state = to.map(|state| state.to_string());
    let body = FlowStateBody { state, message: saying.message, by: Some(saying.by) };
    let _: FlowNowView = until_told(|| remote.call(&path, &body)).await?;
    Ok(())
}

/// A name as a part of a path.
fn escaped(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let part = |byte: u8| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn a_step_may_be_called_anything() {
        assert_eq!(escaped("wallet_credit"), "wallet_credit");
        assert_eq!(escaped("a/b ü"), "a%2Fb%20%C3%BC");
    }
}
