//! Workflows and definitions through the door.

use super::{Door, not_once, post, send, under};
use crate::Refused;
use crate::files::File;
use anyhow::{Result, bail};
use engine::{
    Applied, Engine, EngineError, PollRecovery, StartWorkflow, TokenOrder, TriggerOrder, WorkflowOperation,
    WorkflowVerb,
};
use model::TriggerAnswer;
use reqwest::header::{CONTENT_TYPE, IF_MATCH};
use server::answers::{self, Standing};
use store::Browse;
use wire::{
    DefinitionApplied, RecoverBody, RecoveredView, ResolveBody, StartBody, StartedView, TokenView,
    TriggeredView, WorkflowOperateBody, WorkflowOperatedView,
};

/// Whether something is done, or only told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DryRun {
    Yes,
    No,
}

impl DryRun {
    pub fn of(asked: bool) -> DryRun {
        if asked { DryRun::Yes } else { DryRun::No }
    }
}

impl Door {
    /// Store a definition, or say what would come of it.
    pub async fn apply(&self, file: &File, dry_run: DryRun, by: &str) -> Result<DefinitionApplied> {
        match self {
            Door::Local { local, database } => {
                apply_here(&local.engine, &database.browse()?, file, (dry_run, by)).await
            }
            Door::Remote { url, http } => {
                let mut url = under(url, &["v1", "definitions"])?;
                let is_tried = (dry_run == DryRun::Yes).to_string();
                url.query_pairs_mut().append_pair("dry_run", &is_tried).append_pair("by", by);
                let kind = if file.name.ends_with(".json") { "application/json" } else { "application/yaml" };
                let request = http.post(url.clone()).header(CONTENT_TYPE, kind).body(file.text.clone());
                send(request, url.as_str()).await
            }
        }
    }

    /// Start a workflow; with a key once, however often this is asked.
    pub async fn start(&self, start: StartWorkflow, key: Option<&str>) -> Result<StartedView> {
        match self {
            Door::Local { local, .. } => {
                let started = match key {
                    None => local.engine.start_workflow(start).await?,
                    Some(key) => local.engine.start_workflow_once(key, start).await.map_err(not_once)?.answer,
                };
                Ok(server::convert::started_view(&started))
            }
            Door::Remote { url, http } => {
                let StartWorkflow { workflow, version, input, labels, .. } = start;
                let url = format!("{url}/v1/workflows");
                let mut request = http.post(&url).json(&StartBody { workflow, version, input, labels });
                if let Some(key) = key {
                    request = request.header("Idempotency-Key", key);
                }
                send(request, &url).await
            }
        }
    }

    pub async fn operate_workflow(&self, operation: WorkflowOperation) -> Result<WorkflowOperatedView> {
        match self {
            Door::Local { local, .. } => {
                let dry_run = operation.dry_run;
                let done = local.engine.operate_workflow(operation).await?;
                Ok(server::convert::workflow_operated_view(&done, dry_run))
            }
            Door::Remote { url, http } => {
                let WorkflowOperation { workflow, verb, by, why, dry_run, expected, force } = operation;
                let sent = force.as_ref().and_then(|forced| forced.payload.as_deref());
                let payload = sent.map(serde_json::from_str).transpose()?;
                let (why, by, force) = (Some(why), Some(by), force.is_some());
                let (verb, body) = match &verb {
                    WorkflowVerb::Resolve(decision) => {
                        let body = server::convert::resolve_body(decision);
                        ("resolve", serde_json::to_value(ResolveBody { why, dry_run, by, ..body })?)
                    }
                    verb => {
                        let body = WorkflowOperateBody { why, dry_run, by, force, payload };
                        (verb.word(), serde_json::to_value(body)?)
                    }
                };
                let url = format!("{url}/v1/workflows/{workflow}/{verb}");
                let mut request = http.post(&url).json(&body);
                if let Some(revision) = expected {
                    request = request.header(IF_MATCH, format!("\"{revision}\""));
                }
                send(request, &url).await
            }
        }
    }
}

impl Door {
    /// Put back polls that somebody should have made, or say which they are.
    pub async fn recover_polls(&self, recovery: PollRecovery) -> Result<RecoveredView> {
        match self {
            Door::Local { local, .. } => {
                let dry_run = recovery.dry_run;
                let steps = local.engine.recover_polls(recovery).await?;
                Ok(RecoveredView { steps: steps.iter().map(ToString::to_string).collect(), dry_run })
            }
            Door::Remote { url, http } => {
                let PollRecovery { older, by, dry_run } = recovery;
                let body = RecoverBody { older_seconds: Some(older.as_secs()), by: Some(by) };
                post(http, &format!("{url}/v1/polls/recover?dry_run={dry_run}"), &body).await
            }
        }
    }
}

impl Door {
    /// Send something to a trigger.
    pub async fn trigger(&self, order: TriggerOrder) -> Result<TriggeredView> {
        match self {
            Door::Local { local, .. } => {
                let triggered = local.engine.trigger(order).await?;
                match &triggered.answer {
                    TriggerAnswer::Unfit(why) => bail!(Refused(format!("the payload does not fit: {why}"))),
                    TriggerAnswer::Late(why) => bail!(Refused(why.clone())),
                    TriggerAnswer::TooMany => {
                        bail!(Refused(triggered.answer.why().unwrap_or_default().into()))
                    }
                    _ => Ok(server::convert::triggered_view(&triggered)),
                }
            }
            Door::Remote { url, http } => {
                let id = order.workflow.to_string();
                let mut url = under(url, &["v1", "workflows", &id, "triggers", &order.trigger])?;
                url.query_pairs_mut().append_pair("by", &order.identity);
                let mut request =
                    http.post(url.clone()).header(CONTENT_TYPE, "application/json").body(order.payload);
                if let Some(webhook_id) = &order.webhook_id {
                    request = request.header("webhook-id", webhook_id);
                }
                send(request, url.as_str()).await
            }
        }
    }
}

impl Door {
    /// A new token for what a workflow waits for, shown this once.
    pub async fn pause_token(&self, order: TokenOrder) -> Result<TokenView> {
        let TokenOrder { workflow, trigger, by } = order;
        match self {
            Door::Local { local, .. } => {
                let page = format!("/approve/{workflow}/{trigger}");
                let token = local.engine.pause_token(TokenOrder { workflow, trigger, by }).await?;
                let token = token.reveal().to_string();
                Ok(TokenView { page: format!("{page}?token={token}"), token })
            }
            Door::Remote { url, http } => {
                let id = workflow.to_string();
                let url = under(url, &["v1", "workflows", &id, "triggers", &trigger, "token"])?;
                post(http, url.as_str(), &serde_json::json!({ "by": by })).await
            }
        }
    }
}

/// As the server does it.
async fn apply_here(
    engine: &Engine,
    browse: &Browse,
    file: &File,
    (dry_run, by): (DryRun, &str),
) -> Result<DefinitionApplied> {
    let stored = answers::stored(&file.definition);
    let (workflow, version) = (stored.pinned.key.to_string(), stored.pinned.version.to_string());
    let hash = stored.pinned.hash.to_string();
    let Standing { recorded, changes, live } = answers::standing(browse, &file.definition)?;
    let outcome = match (recorded, dry_run) {
        (Some(known), _) if known != hash => {
            return Err(EngineError::DefinitionDiffers { workflow, version }.into());
        }
        (Some(_), DryRun::Yes) => Applied::Unchanged,
        (None, DryRun::Yes) => Applied::Created,
        (_, DryRun::No) => engine.apply_definition(stored, by.into()).await?,
    };
    let outcome = match outcome {
        Applied::Created => "created",
        Applied::Unchanged => "unchanged",
    };
    Ok(DefinitionApplied { workflow, version, hash, outcome: outcome.into(), changes, live })
}
