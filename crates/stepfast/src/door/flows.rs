//! Tracked flows through the door.

use super::{Door, post, under};
use crate::Refused;
use anyhow::Result;
use engine::{FlowError, FlowNow, FlowRefusal, FlowWish, Saying, flow_action};
use model::{FlowId, FlowState, FlowStepState};
use server::convert;
use wire::{FlowBody, FlowNowView, FlowSayBody, FlowStateBody, OperateBody};

/// What is refused is told as such; what is away, as that.
fn told(problem: FlowError) -> anyhow::Error {
    match problem {
        FlowError::Engine(problem) => problem.into(),
        FlowError::Unavailable(problem) => problem.into(),
        refused => Refused(refused.to_string()).into(),
    }
}

impl Door {
    pub async fn start_flow(&self, mut body: FlowBody) -> Result<FlowNowView> {
        match self {
            Door::Local { local, .. } => {
                let by = body.by.take().unwrap_or_default();
                let start = convert::start_flow(body, by).map_err(|fault| Refused(fault.to_string()))?;
                let now = local.engine.flows().start(start).await.map_err(told)?;
                Ok(convert::flow_now_view(&now, None))
            }
            Door::Remote { url, http } => post(http, &format!("{url}/v1/flows"), &body).await,
        }
    }

    pub async fn mark_flow(&self, saying: Saying, step: &str, to: FlowStepState) -> Result<FlowNowView> {
        match self {
            Door::Local { local, .. } => {
                let now = local.engine.flows().mark(saying, step, to).await.map_err(told)?;
                Ok(convert::flow_now_view(&now, None))
            }
            Door::Remote { url, http } => {
                let verb = match to {
                    FlowStepState::Failed => "fail",
                    FlowStepState::Skipped => "skip",
                    FlowStepState::Completed | FlowStepState::Pending => "complete",
                };
                let url = under(url, &["v1", "flows", &saying.flow.to_string(), "steps", step, verb])?;
                let body = FlowSayBody { message: saying.message, by: Some(saying.by) };
                post(http, url.as_str(), &body).await
            }
        }
    }

    pub async fn update_flow(&self, saying: Saying, to: Option<FlowState>) -> Result<FlowNowView> {
        match self {
            Door::Local { local, .. } => {
                let now = local.engine.flows().update(saying, to).await.map_err(told)?;
                Ok(convert::flow_now_view(&now, None))
            }
            Door::Remote { url, http } => tell(http, url, ("state", to), saying).await,
        }
    }

    pub async fn finish_flow(&self, saying: Saying, to: FlowState) -> Result<FlowNowView> {
        match self {
            Door::Local { local, .. } => {
                let now = local.engine.flows().finish(saying, to).await.map_err(told)?;
                Ok(convert::flow_now_view(&now, None))
            }
            Door::Remote { url, http } => tell(http, url, ("finish", Some(to)), saying).await,
        }
    }

    /// Have it retried or cancelled; a dry run says whether that can be asked.
    pub async fn ask_flow(&self, saying: Saying, wish: FlowWish, dry_run: bool) -> Result<FlowNowView> {
        match self {
            Door::Local { database, .. } if dry_run => {
                let missing = || told(refused(saying.flow, FlowRefusal::NotThere));
                let shown = database.browse()?.flow(saying.flow)?.ok_or_else(missing)?;
                flow_action(&shown.flow, wish).map_err(|why| told(refused(saying.flow, why)))?;
                let now = FlowNow { flow: shown.flow, steps: shown.steps, changed: false };
                Ok(convert::flow_now_view(&now, None))
            }
            Door::Local { local, .. } => {
                let asked = local.engine.ask_flow(saying, wish).await.map_err(told)?;
                Ok(convert::flow_now_view(&asked.now, asked.step))
            }
            Door::Remote { url, http } => {
                let verb = match wish {
                    FlowWish::Retry => "retry",
                    FlowWish::Cancel => "cancel",
                };
                let url = format!("{url}/v1/flows/{}/{verb}?dry_run={dry_run}", saying.flow);
                post(http, &url, &OperateBody { why: saying.message, by: Some(saying.by) }).await
            }
        }
    }
}

fn refused(flow: FlowId, why: FlowRefusal) -> FlowError {
    FlowError::Refused { flow, why }
}

async fn tell(
    http: &reqwest::Client,
    url: &str,
    (what, to): (&str, Option<FlowState>),
    saying: Saying,
) -> Result<FlowNowView> {
    let url = format!("{url}/v1/flows/{}/{what}", saying.flow);
    let state = to.map(|state| state.to_string());
    post(http, &url, &FlowStateBody { state, message: saying.message, by: Some(saying.by) }).await
}
