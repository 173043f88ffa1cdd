//! Definitions of workflows: store one, list and show them, and draw one.

use crate::access::Caller;
use crate::answers::{self, Standing};
use crate::app::App;
use crate::bulk;
use crate::describe::{MadeOrThere, Tagged};
use crate::drawing::{self, Picture};
use crate::error::ApiError;
use crate::extract::{Params, Path, PostedDefinition, page_size};
use axum::Json;
use axum::extract::State;
use definition::Change;
use engine::{Applied, EngineError};
use model::definition::Definition;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use store::Browse;

/// What the text is called where something is wrong with it.
const NAME: &str = "definition";

/// The body is the definition, so what is said of the call stands in its address.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Said {
    dry_run: bool,
    /// Who asks, where the caller has no key.
    by: Option<String>,
}

pub async fn apply(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(Said { dry_run, by }): Params<Said>,
    PostedDefinition(text): PostedDefinition,
) -> Result<MadeOrThere<wire::DefinitionApplied>, ApiError> {
    let by = caller.signed(by)?;
    let read = tokio::task::spawn_blocking(move || definition::read(&text, NAME).map(|read| read.definition));
    let given_up = |_| ApiError::NotReady("the definition was not read to its end".into());
    let definition = read.await.map_err(given_up)?.map_err(ApiError::Definition)?;
    if definition.workflow == bulk::WORKFLOW {
        return Err(ApiError::Forbidden(
            "this definition is the server's own; give yours another name".into(),
        ));
    }
    caller.covers_definition(&definition, app.site.engine.queues())?;
    let (looked_at, scope) = (definition.clone(), caller.scope(&app));
    let read = move |browse: &Browse| {
        // Another version of it counts for whoever starts the newest.
        match scope {
            Some(scope) if !scope.versions(browse, &looked_at.workflow, None)? => {
                Ok(Err(scope.closed(&format!("the workflow `{}`", looked_at.workflow))))
            }
            _ => answers::standing(browse, &looked_at).map(Ok),
        }
    };
    let standing = app.read(read).await??;
    let stored = answers::stored(&definition);
    let hash = stored.pinned.hash.to_string();
    let applied = match dry_run {
        true => would_be(&definition, &hash, &standing)?,
        false => app.site.engine.apply_definition(stored, by).await?,
    };
    let is_new = !dry_run && matches!(applied, Applied::Created);
    if !dry_run {
        drawing::laid_out(&app.drawings, &hash, definition.clone()).await?;
    }
    let view = applied_view(definition, hash, applied, standing);
    Ok(if is_new { MadeOrThere::Made(view) } else { MadeOrThere::There(view) })
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

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    workflow: Option<String>,
    after: Option<String>,
    #[schemars(range(min = 1, max = model::limits::PAGE_ROWS_MAX))]
    limit: Option<usize>,
}

pub async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::DefinitionPage>, ApiError> {
    let limit = page_size(wanted.limit)?;
    let strange = |text: &str| format!("after: `{text}` is no place in this list; send what `next` said");
    let after = wanted
        .after
        .as_deref()
        .map(|text| answers::definition_cursor(text).ok_or_else(|| ApiError::BadRequest(strange(text))));
    let after = after.transpose()?;
    let scope = caller.scope(&app);
    let read = move |browse: &Browse| {
        let mut page = answers::definitions(browse, wanted.workflow.as_deref(), after.as_ref(), limit)?;
        if let Some(scope) = scope {
            let mut ours = Vec::new();
            for line in page.definitions {
                let found = answers::definition(browse, &line.workflow, Some(&line.version))?;
                ours.extend(found.filter(|(_, definition)| scope.definition(definition)).map(|_| line));
            }
            page.definitions = ours;
        }
        Ok(page)
    };
    app.read(read).await.map(Json)
}

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Named {
    workflow: String,
    version: Option<String>,
}

async fn found(
    app: &App,
    caller: &Caller,
    named: Named,
) -> Result<(wire::DefinitionView, Definition), ApiError> {
    let Named { workflow, version } = named.clone();
    let found = app.read(move |browse| answers::definition(browse, &workflow, version.as_deref())).await?;
    let scope = caller.scope(app);
    let found = found.filter(|(_, definition)| scope.is_none_or(|scope| scope.definition(definition)));
    let name = match named.version {
        Some(version) => format!("{} {version}", named.workflow),
        None => named.workflow,
    };
    found.ok_or(ApiError::Engine(EngineError::NoDefinition(name)))
}

/// The newest version.
pub async fn show(
    state: State<Arc<App>>,
    caller: Caller,
    named: Path<Named>,
) -> Result<Tagged<wire::DefinitionShow>, ApiError> {
    show_version(state, caller, named).await
}

pub async fn show_version(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(named): Path<Named>,
) -> Result<Tagged<wire::DefinitionShow>, ApiError> {
    let (about, definition) = found(&app, &caller, named).await?;
    let tag = about.hash.clone();
    Ok(Tagged { tag, view: wire::DefinitionShow { about, definition: answers::as_written(&definition) } })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Against {
    /// The other version.
    to: String,
}

pub async fn diff(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(named): Path<Named>,
    Params(Against { to }): Params<Against>,
) -> Result<Json<wire::DefinitionDiff>, ApiError> {
    let other = Named { version: Some(to), ..named.clone() };
    let ((_, from), (_, to)) = (found(&app, &caller, named).await?, found(&app, &caller, other).await?);
    Ok(Json(wire::DefinitionDiff { changes: definition::diff(&from, &to).iter().map(changed).collect() }))
}

fn changed(change: &Change) -> wire::DefinitionChange {
    let (word, step) = match change {
        Change::Added { step, .. } => ("added", Some(step.clone())),
        Change::Removed { step, .. } => ("removed", Some(step.clone())),
        Change::Moved { step, .. } => ("moved", Some(step.clone())),
        Change::Option { step, .. } => ("option", step.clone()),
    };
    let mut view = wire::DefinitionChange {
        change: word.into(),
        step,
        kind: None,
        behind: None,
        option: None,
        from: None,
        to: None,
        told: change.to_string(),
    };
    match change.clone() {
        Change::Added { kind, .. } | Change::Removed { kind, .. } => view.kind = Some(kind),
        Change::Moved { behind, .. } => view.behind = behind,
        Change::Option { option, from, to, .. } => {
            (view.option, view.from, view.to) = (Some(option), from, to);
        }
    }
    view
}

pub async fn schema() -> Json<serde_json::Value> {
    Json(definition::schema())
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Drawn {
    format: drawing::Format,
}

pub async fn graph(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(named): Path<Named>,
    Params(Drawn { format }): Params<Drawn>,
) -> Result<Picture, ApiError> {
    let (about, definition) = found(&app, &caller, named).await?;
    drawing::definition(&app.drawings, (&about.hash, definition), format).await
}

#[cfg(test)]
mod tests {
    use crate::Site;
    use axum::body::Body;
    use axum::extract::ConnectInfo;
    use axum::http::Request;
    use engine::Engine;
    use std::net::SocketAddr;
    use std::sync::Arc;
    use store::sqlite::Holder;
    use store::{Database, SystemClock};
    use tower::ServiceExt;

    fn site(engine: &Engine, database: &Database) -> Site {
        Site {
            engine: engine.clone(),
            database: database.clone(),
            clock: Arc::new(SystemClock::default()),
            version: "1.2.3",
            host: "here".into(),
            require_key: false,
            processing: None,
            routing: None,
            triggers: Vec::new(),
            network: crate::Network::default(),
        }
    }

    #[tokio::test]
    async fn a_definition_is_laid_out_when_it_is_applied_and_not_when_it_is_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        let database = Database::Sqlite(dir.path().join("steps.db"));
        let store = database.open(None, Holder::default()).unwrap();
        let (engine, thread) = Engine::start(store, engine::Config::default()).unwrap();
        let (router, app) = crate::built(site(&engine, &database));
        let ask = async |request: axum::http::request::Builder, body: &'static str| {
            let mut request = request.header("host", "localhost").body(Body::from(body)).unwrap();
            request.extensions_mut().insert(ConnectInfo::<SocketAddr>(([127, 0, 0, 1], 40000).into()));
            let answer = router.clone().oneshot(request).await.unwrap();
            let success = answer.status().is_success();
            let bytes = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
            assert!(success, "{}", String::from_utf8_lossy(&bytes));
            bytes
        };
        let post = |query: &str| {
            Request::post(format!("/v1/definitions{query}")).header("content-type", "application/yaml")
        };
        let yaml = "workflow: order\nversion: 1.0.0\nsteps: [{ key: pay, action: noop }]";
        let tried = ask(post("?dry_run=true"), yaml).await;
        let tried: serde_json::Value = serde_json::from_slice(&tried).unwrap();
        let hash = tried["hash"].as_str().unwrap();
        assert!(app.drawings.find(hash).is_none(), "it is only tried");
        ask(post(""), yaml).await;
        let drawing = app.drawings.find(hash).expect("it is laid out by now");
        ask(Request::get("/definitions/order/1.0.0"), "").await;
        assert!(Arc::ptr_eq(&drawing, &app.drawings.find(hash).unwrap()), "and not once more");
        engine.stop().await.unwrap();
        tokio::task::spawn_blocking(move || thread.join()).await.unwrap();
    }
}
