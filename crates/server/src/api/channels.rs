//! Channels: list, put, remove and try them; and what they were told.

use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::convert;
use crate::describe::Tagged;
use crate::error::ApiError;
use crate::extract::{Expected, Params, Path, Posted, Signed, page_size};
use crate::pages::{Order, Wanted, part, place_in_time};
use axum::Json;
use axum::extract::State;
use engine::EngineError;
use model::Severity;
use std::sync::Arc;

pub async fn list(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::ChannelPage>, ApiError> {
    let all = app.read(answers::channels).await?.channels;
    let (channels, next) = part(all, &wanted, Order::Rising, |channel| &channel.name)?;
    Ok(Json(wire::ChannelPage { channels, next }))
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Tagged<wire::ChannelView>, ApiError> {
    let view = found(&app, &name).await?;
    Ok(Tagged::revision(view.revision, view))
}

async fn found(app: &App, name: &str) -> Result<wire::ChannelView, ApiError> {
    let wanted = name.to_string();
    let found = app.read(move |browse| answers::channel(browse, &wanted)).await?;
    found.ok_or_else(|| ApiError::Engine(EngineError::NoChannel(name.into())))
}

/// The same call makes a channel and changes one. A secret that was made is in the answer, for the only time.
pub async fn put(
    State(app): State<Arc<App>>,
    caller: Caller,
    expected: Expected,
    Posted(mut body): Posted<wire::ChannelBody>,
) -> Result<Json<wire::ChannelMadeView>, ApiError> {
    let by = caller.signed(body.by.take())?;
    let order = convert::channel(body).map_err(ApiError::Invalid)?;
    let (put, secret) = app.site.engine.put_channel(order, expected.revision()?, by).await?;
    let about = found(&app, &put.name).await?;
    Ok(Json(convert::channel_made_view(about, secret.as_ref())))
}

pub async fn remove(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
    expected: Expected,
    Posted(Signed { by }): Posted<Signed>,
) -> Result<Json<wire::RemovedView>, ApiError> {
    let by = caller.signed(by)?;
    match app.site.engine.remove_channel(name.clone(), expected.revision()?, by).await? {
        true => Ok(Json(wire::RemovedView { removed: name })),
        false => Err(ApiError::Engine(EngineError::NoChannel(name))),
    }
}

/// Tell it something of no meaning, to see whether it arrives.
pub async fn test(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
    Posted(mut body): Posted<wire::ChannelTestBody>,
) -> Result<Json<wire::TellingView>, ApiError> {
    let by = caller.signed(body.by.take())?;
    let least = found(&app, &name).await?.min_severity;
    let severity = convert::severity(body.severity.as_deref().unwrap_or(&least));
    let severity: Severity = severity.map_err(|fault| ApiError::Invalid(vec![fault]))?;
    let telling = app.site.engine.test_channel(&name, severity, &by).await?;
    Ok(Json(convert::telling_view(&name, telling)))
}

pub async fn notices(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::NoticePage>, ApiError> {
    let (limit, after) = (page_size(wanted.limit)?, place_in_time(wanted.after.as_deref())?);
    app.read(move |browse| answers::notices_behind(browse, after.as_ref(), limit)).await.map(Json)
}
