//! The circuit breaker: as it is, and the switch.

use super::operate::{Reason, explained};
use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Posted;
use crate::{answers, convert};
use axum::Json;
use axum::extract::State;
use model::{DispatchGroup, limits};
use std::sync::Arc;

pub async fn show(State(app): State<Arc<App>>) -> Result<Json<wire::BreakersView>, ApiError> {
    let now = app.now();
    Ok(Json(app.read(move |browse| answers::breakers(browse, now)).await?))
}

pub async fn switch(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(mut body): Posted<wire::BreakerBody>,
) -> Result<Json<wire::BreakerView>, ApiError> {
    let by = caller.signed(body.by.take())?;
    check_span(&body)?;
    body.why = match body.off {
        true => Some(Reason::Needed.said(body.why.take())?),
        false => explained(body.why.take())?,
    };
    let now = app.now();
    let scope = body.dispatch_group.as_deref().map(DispatchGroup::new);
    let wanted = convert::breaker(&body, &by, now);
    let set = app.site.engine.set_breaker(scope.clone(), wanted, &by).await?;
    Ok(Json(convert::breaker_view(scope.as_ref(), &set, now)))
}

fn check_span(body: &wire::BreakerBody) -> Result<(), ApiError> {
    let longest = limits::WAIT_MAX.as_secs();
    match body.ttl_seconds {
        Some(_) if !body.off => {
            Err(ApiError::fault("ttl_seconds", "a breaker that is on does not expire", "leave it out"))
        }
        Some(seconds) if seconds == 0 || seconds > longest => {
            let fix = format!("use 1 to {longest}, or leave it out for no end");
            Err(ApiError::fault("ttl_seconds", format!("{seconds} is not a span"), fix))
        }
        _ => Ok(()),
    }
}
