//! Alerts: list, show, the figures, and what people do to them.

use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::convert;
use crate::describe::Tagged;
use crate::error::ApiError;
use crate::extract::{Expected, Params, Path, Posted, page_size};
use crate::pages::ours;
use axum::Json;
use axum::extract::State;
use engine::{EngineError, Review};
use model::Severity;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use store::{AlertFilter, Browse};

#[derive(Deserialize, Default, Clone, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    /// `open` (usual), `closed` or `all`.
    #[schemars(extend("enum" = ["open", "closed", "all"]))]
    pub state: Option<String>,
    /// Only those that wait for a person.
    pub queue: bool,
    #[schemars(extend("enum" = ["low", "medium", "high", "critical"]))]
    pub severity: Option<String>,
    /// A name; empty for those that are nobody's.
    pub assigned: Option<String>,
    pub entity: Option<String>,
    pub entity_id: Option<String>,
    pub rule: Option<String>,
    /// `next` of the page before.
    #[serde(rename = "after", alias = "before")]
    pub before: Option<u64>,
    #[schemars(range(min = 1, max = model::limits::PAGE_ROWS_MAX))]
    pub limit: Option<usize>,
}

impl Wanted {
    pub fn filter(&self) -> Result<AlertFilter, ApiError> {
        let open = match self.state.as_deref() {
            None | Some("open") => Some(true),
            Some("closed") => Some(false),
            Some("all") => None,
            Some(other) => {
                let how = "write `open`, `closed` or `all`";
                return Err(ApiError::BadRequest(format!("state: `{other}` is not known; {how}")));
            }
        };
        let severity = self.severity.as_deref().map(str::parse::<Severity>).transpose();
        Ok(AlertFilter {
            open,
            in_review: self.queue,
            severity: severity.map_err(|problem| ApiError::BadRequest(format!("severity: {problem}")))?,
            assigned_to: self.assigned.clone(),
            entity: self.entity.clone(),
            entity_id: self.entity_id.clone(),
            rule: self.rule.clone(),
            before: self.before,
            limit: page_size(self.limit)?,
        })
    }
}

pub async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::AlertPage>, ApiError> {
    let (filter, now, scope) = (wanted.filter()?, app.now(), caller.scope(&app));
    let read = move |browse: &Browse| {
        let mut page = answers::alerts(browse, &filter, now)?;
        if let Some(scope) = scope {
            page.alerts = ours(page.alerts, |alert| scope.entity(browse, &alert.entity, &alert.entity_id))?;
        }
        Ok(page)
    };
    app.read(read).await.map(Json)
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<u64>,
) -> Result<Tagged<wire::AlertShow>, ApiError> {
    let now = app.now();
    let found = app.read(move |browse| answers::alert(browse, id, now)).await?;
    let shown = found.ok_or(ApiError::Engine(EngineError::NoAlert(id)))?;
    Ok(Tagged::revision(shown.alert.revision, shown))
}

pub async fn figures(State(app): State<Arc<App>>) -> Result<Json<wire::AlertFiguresView>, ApiError> {
    let now = app.now();
    Ok(Json(app.read(move |browse| answers::alert_figures(browse, now)).await?))
}

/// What a verb means with what was said.
pub fn review_of(verb: &str, body: wire::AlertReviewBody) -> Option<Review> {
    let text = body.text.unwrap_or_default();
    Some(match verb {
        "ack" => Review::Acknowledge,
        "assign" => Review::Assign { to: body.to.filter(|to| !to.trim().is_empty()) },
        "note" => Review::Note { text },
        "resolve" => Review::Resolve { notes: text },
        "reopen" => Review::Reopen { why: text },
        _ => return None,
    })
}

#[derive(Deserialize, JsonSchema)]
pub struct Named {
    id: u64,
    #[schemars(extend("enum" = ["ack", "assign", "note", "resolve", "reopen"]))]
    verb: String,
}

pub async fn review(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(Named { id, verb }): Path<Named>,
    expected: Expected,
    Posted(mut body): Posted<wire::AlertReviewBody>,
) -> Result<Json<wire::AlertView>, ApiError> {
    let by = caller.signed(body.by.take())?;
    let strange = || {
        format!("`{verb}` is nothing that is done to an alert; write ack, assign, note, resolve or reopen")
    };
    let wanted = review_of(&verb, body).ok_or_else(|| ApiError::NotFound(strange()))?;
    let alert = app.site.engine.review_seen((id, expected.revision()?), wanted, by).await?;
    Ok(Json(convert::alert_view(&alert, app.now())))
}
