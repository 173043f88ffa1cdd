//! Subscriptions: list, show, make, change, try and remove them.

use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::convert;
use crate::describe::{Created, Tagged};
use crate::error::ApiError;
use crate::extract::{Expected, Params, Posted, Signed, ThisSubscription, page_size, subscription_id};
use axum::Json;
use axum::extract::State;
use engine::SubscriptionChange;
use model::{Subscription, SubscriptionId};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    after: Option<String>,
    #[schemars(range(min = 1, max = model::limits::PAGE_ROWS_MAX))]
    limit: Option<usize>,
}

pub async fn list(
    State(app): State<Arc<App>>,
    Params(Wanted { after, limit }): Params<Wanted>,
) -> Result<Json<wire::SubscriptionPage>, ApiError> {
    let (limit, after) = (page_size(limit)?, after.as_deref().map(subscription_id).transpose()?);
    app.read(move |browse| answers::subscriptions(browse, after, limit)).await.map(Json)
}

fn missing(id: SubscriptionId) -> ApiError {
    ApiError::NotFound(format!("there is no subscription {id}"))
}

async fn found(app: &App, id: SubscriptionId) -> Result<Subscription, ApiError> {
    app.read(move |browse| browse.subscription(id)).await?.ok_or_else(|| missing(id))
}

pub async fn show(
    State(app): State<Arc<App>>,
    ThisSubscription(id): ThisSubscription,
) -> Result<Tagged<wire::SubscriptionView>, ApiError> {
    let view = convert::subscription_view(&found(&app, id).await?);
    Ok(Tagged::revision(view.revision, view))
}

/// The answer holds the secret, for the only time.
pub async fn create(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(mut body): Posted<wire::SubscriptionBody>,
) -> Result<Created<wire::SubscriptionMadeView>, ApiError> {
    let by = caller.signed(body.by.take())?;
    let (asked, secret) = convert::subscription(body);
    let (made, secret) = app.site.engine.add_subscription(asked, secret, by).await?;
    Ok(Created(convert::subscription_made_view(&made, Some(&secret))))
}

/// What is left out stays as it is. A new secret is in the answer.
pub async fn change(
    State(app): State<Arc<App>>,
    caller: Caller,
    ThisSubscription(id): ThisSubscription,
    expected: Expected,
    Posted(mut body): Posted<wire::SubscriptionChangeBody>,
) -> Result<Json<wire::SubscriptionMadeView>, ApiError> {
    let by = caller.signed(body.by.take())?;
    let is = found(&app, id).await?.asked;
    let change = convert::subscription_change(body, is).map_err(|fault| ApiError::Invalid(vec![fault]))?;
    let change = SubscriptionChange { expected: expected.revision()?, ..change };
    let changed = app.site.engine.change_subscription(id, change, by).await?;
    let (changed, secret) = changed.ok_or_else(|| missing(id))?;
    Ok(Json(convert::subscription_made_view(&changed, secret.as_ref())))
}

pub async fn remove(
    State(app): State<Arc<App>>,
    caller: Caller,
    ThisSubscription(id): ThisSubscription,
    expected: Expected,
    Posted(Signed { by }): Posted<Signed>,
) -> Result<Json<wire::RemovedView>, ApiError> {
    let by = caller.signed(by)?;
    match app.site.engine.remove_subscription(id, expected.revision()?, by).await? {
        true => Ok(Json(wire::RemovedView { removed: id.to_string() })),
        false => Err(missing(id)),
    }
}

/// Deliver something of no meaning, to see whether it arrives.
pub async fn test(
    State(app): State<Arc<App>>,
    caller: Caller,
    ThisSubscription(id): ThisSubscription,
    Posted(Signed { by }): Posted<Signed>,
) -> Result<Created<wire::SubscriptionTestView>, ApiError> {
    let by = caller.signed(by)?;
    let made = app.site.engine.test_subscription(id, by).await?.ok_or_else(|| missing(id))?;
    Ok(Created(wire::SubscriptionTestView { step_id: made.id.to_string() }))
}
