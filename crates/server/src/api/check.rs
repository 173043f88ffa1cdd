//! Looks for anything that must not be, over one moment of the whole database.

use crate::app::App;
use crate::error::ApiError;
use axum::Json;
use axum::extract::State;
use std::sync::Arc;
use store::Finding;

pub async fn check(State(app): State<Arc<App>>) -> Result<Json<wire::CheckView>, ApiError> {
    let now = app.now();
    let checked = app.read(move |browse| browse.check(now, false, |_, _| {})).await?;
    let view = |finding: &Finding| wire::FindingView {
        invariant: finding.invariant.into(),
        title: finding.title.into(),
        entity: finding.entity.clone(),
        problem: finding.problem.clone(),
    };
    Ok(Json(wire::CheckView {
        clean: checked.findings.is_empty(),
        invariants: checked.looked_at.len(),
        findings: checked.findings.iter().map(view).collect(),
    }))
}
