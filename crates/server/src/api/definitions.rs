//! Definitions of workflows: store one, list and show them, and draw one.

use super::operate::How;
use crate::access::Caller;
use crate::answers::{self, Standing};
use crate::app::App;
use crate::drawing;
use crate::error::ApiError;
use crate::extract::{Params, PostedText, page_size};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use engine::{Applied, EngineError};
use model::definition::Definition;
use serde::Deserialize;
use std::sync::Arc;

/// What the text is called where something is wrong with it.
const NAME: &str = "definition";

pub async fn apply(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(How { dry_run }): Params<How>,
    PostedText(text): PostedText,
) -> Result<(StatusCode, Json<wire::DefinitionApplied>), ApiError> {
    let by = caller.signed(None)?;
    let read = tokio::task::spawn_blocking(move || definition::read(&text, NAME).map(|read| read.definition));
    let given_up = |_| ApiError::NotReady("the definition was not read to its end".into());
    let definition = read.await.map_err(given_up)?.map_err(ApiError::Definition)?;
    caller.covers_definition(&definition, app.site.engine.queues())?;
    let looked_at = definition.clone();
    let standing = app.read(move |browse| answers::standing(browse, &looked_at)).await?;
    let stored = answers::stored(&definition);
    let hash = stored.pinned.hash.to_string();
    let (applied, status) = match dry_run {
        true => (would_be(&definition, &hash, &standing)?, StatusCode::OK),
        false => match app.site.engine.apply_definition(stored, by).await? {
            Applied::Created => (Applied::Created, StatusCode::CREATED),
            Applied::Unchanged => (Applied::Unchanged, StatusCode::OK),
        },
    };
    Ok((status, Json(applied_view(definition, hash, applied, standing))))
}

/// What storing it would come to.
fn would_be(definition: &Definition, hash: &str, standing: &Standing) -> Result<Applied, EngineError> {
    match &standing.recorded {
        None => Ok(Applied::Created),
        Some(recorded) if recorded == hash => Ok(Applied::Unchanged),
        Some(_) => Err(EngineError::DefinitionDiffers {
            workflow: definition.workflow.clone(),
            version: definition.version.clone(),
        }),
    }
}

fn applied_view(
    definition: Definition,
    hash: String,
    applied: Applied,
    standing: Standing,
) -> wire::DefinitionApplied {
    let outcome = match applied {
        Applied::Created => "created",
        Applied::Unchanged => "unchanged",
    };
    wire::DefinitionApplied {
        workflow: definition.workflow,
        version: definition.version,
        hash,
        outcome: outcome.into(),
        changes: standing.changes,
        live: standing.live,
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    workflow: Option<String>,
    after: Option<String>,
    limit: Option<usize>,
}

pub async fn list(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::DefinitionPage>, ApiError> {
    let limit = page_size(wanted.limit)?;
    let strange = |text: &str| format!("after: `{text}` is no place in this list; send what `next` said");
    let after = wanted
        .after
        .as_deref()
        .map(|text| answers::definition_cursor(text).ok_or_else(|| ApiError::BadRequest(strange(text))));
    let after = after.transpose()?;
    let page = app
        .read(move |browse| answers::definitions(browse, wanted.workflow.as_deref(), after.as_ref(), limit));
    page.await.map(Json)
}

#[derive(Clone, Deserialize)]
pub struct Named {
    workflow: String,
    version: Option<String>,
}

async fn found(app: &App, named: Named) -> Result<(wire::DefinitionView, Definition), ApiError> {
    let Named { workflow, version } = named.clone();
    let found = app.read(move |browse| answers::definition(browse, &workflow, version.as_deref())).await?;
    let name = match named.version {
        Some(version) => format!("{} {version}", named.workflow),
        None => named.workflow,
    };
    found.ok_or(ApiError::Engine(EngineError::NoDefinition(name)))
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(named): Path<Named>,
) -> Result<Json<wire::DefinitionShow>, ApiError> {
    let (about, definition) = found(&app, named).await?;
    Ok(Json(wire::DefinitionShow { about, definition: answers::as_written(&definition) }))
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Drawn {
    format: drawing::Format,
}

pub async fn graph(
    State(app): State<Arc<App>>,
    Path(named): Path<Named>,
    Params(Drawn { format }): Params<Drawn>,
) -> Result<Response, ApiError> {
    let (_, definition) = found(&app, named).await?;
    drawing::definition(definition, format).await
}
