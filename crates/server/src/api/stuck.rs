//! What is stuck: look for it now, the rules, and the switch for remedies.

use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::convert;
use crate::error::ApiError;
use crate::extract::{Params, Path, Posted, Signed};
use crate::pages::{Order, Wanted, part};
use axum::Json;
use axum::extract::State;
use engine::{DetectOrder, Remedies, Scope, dry_detect};
use std::sync::Arc;

/// The order of a request.
pub fn order_of(body: &wire::DetectBody) -> DetectOrder {
    let remedies = if body.auto_resolve { Remedies::Apply } else { Remedies::Leave };
    DetectOrder { remedies, scope: Scope::All }
}

pub async fn detect(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(mut body): Posted<wire::DetectBody>,
) -> Result<Json<wire::DetectionView>, ApiError> {
    let by = caller.signed(body.by.take())?;
    let order = order_of(&body);
    let detection = if body.dry_run {
        let (now, policy) = (app.now(), app.site.engine.stuck_policy());
        app.read(move |browse| dry_detect(browse, policy, order, now)).await?
    } else {
        app.site.engine.detect_for(order, by).await?
    };
    Ok(Json(convert::detection_view(&detection)))
}

pub async fn rules(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::StuckRulePage>, ApiError> {
    let wire::StuckRulePage { auto, rules, .. } = app.read(answers::stuck_rules).await?;
    let (rules, next) = part(rules, &wanted, Order::Rising, |view| &view.rule.name)?;
    Ok(Json(wire::StuckRulePage { auto, rules, next }))
}

pub async fn rule(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Json<wire::StuckRuleView>, ApiError> {
    let page = app.read(answers::stuck_rules).await?;
    let found = page.rules.into_iter().find(|view| view.rule.name == name);
    found.map(Json).ok_or_else(|| ApiError::NotFound(format!("there is no rule `{name}`")))
}

/// The same call makes a rule and changes one; what is left out stays as it is.
pub async fn put_rule(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
    Posted(mut body): Posted<wire::StuckRuleBody>,
) -> Result<Json<wire::StuckRuleView>, ApiError> {
    let by = caller.signed(body.by.take())?;
    if !body.name.is_empty() && body.name != name {
        let fix = "leave it out, or write the name of the address";
        return Err(ApiError::fault("name", format!("`{}` is not `{name}`", body.name), fix));
    }
    body.name = name.clone();
    let named = name.clone();
    let is = app.read(move |browse| answers::stuck_rule(browse, &named)).await?;
    let rule = convert::stuck_rule(body, is).map_err(ApiError::Invalid)?;
    app.site.engine.put_stuck_rule(rule, by).await?;
    let page = app.read(answers::stuck_rules).await?;
    let put = page.rules.into_iter().find(|view| view.rule.name == name);
    put.map(Json).ok_or_else(|| ApiError::NotFound(format!("rule `{name}` was removed in the same moment")))
}

/// A rule that is there from the start is as it was from then on.
pub async fn remove_rule(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
    Posted(Signed { by }): Posted<Signed>,
) -> Result<Json<wire::RemovedView>, ApiError> {
    let by = caller.signed(by)?;
    match app.site.engine.remove_stuck_rule(name.clone(), by).await? {
        true => Ok(Json(wire::RemovedView { removed: name })),
        false => Err(ApiError::NotFound(format!(
            "no rule `{name}` is on record; one from the start can be switched off"
        ))),
    }
}

pub async fn switch(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(body): Posted<wire::StuckAutoBody>,
) -> Result<Json<wire::StuckAutoBody>, ApiError> {
    let by = caller.signed(body.by)?;
    let remedies = if body.auto { Remedies::Apply } else { Remedies::Leave };
    app.site.engine.set_stuck_auto(remedies, by).await?;
    Ok(Json(wire::StuckAutoBody { auto: body.auto, by: None }))
}
