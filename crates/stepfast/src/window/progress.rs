//! How far things are, and tracked flows, as people look at them.

use super::Window;
use crate::Refused;
use anyhow::Result;
use model::{FlowId, StepId, WorkflowId};
use server::answers;
use store::flows::FlowFilter;
use store::{Clock, SystemClock};
use wire::{FlowPage, FlowShow, ProgressPage, ProgressShow};

impl Window {
    /// How far a workflow, a step or a flow is, whichever has the id.
    pub async fn progress(&self, id: &str) -> Result<ProgressShow> {
        let strange = || Refused(format!("`{id}` is not the id of a workflow, a step or a flow"));
        let uuid: WorkflowId = id.parse().map_err(|_| strange())?;
        match self {
            Window::Database(browse) => {
                let (now, bytes) = (SystemClock::default().now(), *uuid.bytes());
                let none = || Refused(format!("there is no workflow, step or flow {id}"));
                if let Some(found) = answers::workflow_progress(browse, uuid, now)? {
                    return Ok(found);
                }
                if let Some(found) = answers::flow_progress(browse, FlowId::from_bytes(bytes))? {
                    return Ok(found);
                }
                Ok(answers::step_progress(browse, StepId::from_bytes(bytes), now)?.ok_or_else(none)?)
            }
            Window::Server { .. } => {
                let mut last = None;
                for noun in ["workflows", "flows", "steps"] {
                    match self.ask(&["v1", noun, id, "progress"], &[]).await {
                        Ok(found) => return Ok(found),
                        // What is not there may be something else; anything else is what it is.
                        Err(problem) if problem.downcast_ref::<Refused>().is_some() => last = Some(problem),
                        Err(problem) => return Err(problem),
                    }
                }
                Err(last.unwrap_or_else(|| strange().into()))
            }
        }
    }

    pub async fn half_done(&self, after: Option<&str>, limit: usize) -> Result<ProgressPage> {
        match self {
            Window::Database(browse) => {
                let strange = |text| Refused(format!("--after {text} is not what a page before told"));
                let after = after.map(|text| text.parse::<StepId>().map_err(|_| strange(text)));
                let after = after.transpose()?.map(|id| *id.bytes());
                Ok(answers::half_done(browse, after, limit, SystemClock::default().now())?)
            }
            Window::Server { .. } => {
                let mut query = vec![("half_done", "true".into()), ("limit", limit.to_string())];
                query.extend(after.map(|after| ("after", after.to_string())));
                self.ask(&["v1", "progress"], &query).await
            }
        }
    }

    pub async fn flows(&self, filter: &FlowFilter) -> Result<FlowPage> {
        match self {
            Window::Database(browse) => Ok(answers::flows(browse, filter)?),
            Window::Server { .. } => self.ask(&["v1", "flows"], &query(filter)).await,
        }
    }

    pub async fn flow(&self, id: FlowId) -> Result<FlowShow> {
        match self {
            Window::Database(browse) => {
                let none = || Refused(format!("there is no flow {id}; `stepfast flows list` shows them"));
                Ok(answers::flow(browse, id)?.ok_or_else(none)?)
            }
            Window::Server { .. } => self.ask(&["v1", "flows", &id.to_string()], &[]).await,
        }
    }
}

fn query(filter: &FlowFilter) -> Vec<(&'static str, String)> {
    let mut query = vec![("limit", filter.limit.to_string()), ("live", filter.live.to_string())];
    query.extend(filter.kind.clone().map(|kind| ("type", kind)));
    query.extend(filter.key.clone().map(|key| ("key", key)));
    query.extend(filter.entity_type.clone().map(|kind| ("entity_type", kind)));
    query.extend(filter.entity_id.clone().map(|id| ("entity_id", id)));
    query.extend(filter.user.clone().map(|user| ("user", user)));
    query.extend(filter.state.map(|state| ("state", state.to_string())));
    query.extend(filter.after.map(|id| ("after", id.to_string())));
    query
}
