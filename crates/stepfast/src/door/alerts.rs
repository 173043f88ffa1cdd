//! What is stuck, and alerts, through the door.

use super::{Door, post, send, under};
use crate::Refused;
use anyhow::Result;
use engine::{DetectOrder, Remedies, Scope};
use model::Fault;
use server::{answers, convert};
use store::{Clock, SystemClock};
use wire::{
    AlertReviewBody, AlertView, DetectBody, DetectionView, StuckAutoBody, StuckRuleBody, StuckRuleView,
};

impl Door {
    /// Look for what is stuck, and do what follows from it.
    pub async fn detect(&self, body: &DetectBody) -> Result<DetectionView> {
        match self {
            Door::Local { local, .. } => {
                let by = body.by.clone().unwrap_or_default();
                let detection = local.engine.detect_for(order(body), by).await?;
                Ok(convert::detection_view(&detection))
            }
            Door::Remote { url, http } => post(http, &format!("{url}/v1/stuck/detect"), body).await,
        }
    }

    pub async fn review(&self, id: u64, verb: &str, mut body: AlertReviewBody) -> Result<AlertView> {
        match self {
            Door::Local { local, .. } => {
                let by = body.by.take().unwrap_or_default();
                let wanted =
                    server::review_of(verb, body).ok_or_else(|| Refused(format!("`{verb}` is not known")))?;
                let alert = local.engine.review(id, wanted, by).await?;
                Ok(convert::alert_view(&alert, SystemClock::default().now()))
            }
            Door::Remote { url, http } => post(http, &format!("{url}/v1/alerts/{id}/{verb}"), &body).await,
        }
    }

    /// Make a rule, or change the one of this name.
    pub async fn put_stuck_rule(&self, mut body: StuckRuleBody) -> Result<StuckRuleView> {
        let name = body.name.clone();
        match self {
            Door::Local { local, database } => {
                let by = body.by.take().unwrap_or_default();
                let is = answers::stuck_rule(&database.browse()?, &name)?;
                let rule = convert::stuck_rule(body, is).map_err(|faults| Refused(listed(&faults)))?;
                local.engine.put_stuck_rule(rule, by).await?;
                let rules = answers::stuck_rules(&database.browse()?)?.rules;
                let put = rules.into_iter().find(|view| view.rule.name == name);
                Ok(put.ok_or_else(|| Refused(format!("rule `{name}` was removed in the same moment")))?)
            }
            Door::Remote { url, http } => {
                let url = under(url, &["v1", "stuck", "rules", &name])?;
                send(http.put(url.clone()).json(&body), url.as_str()).await
            }
        }
    }

    pub async fn remove_stuck_rule(&self, name: &str, by: String) -> Result<()> {
        match self {
            Door::Local { local, .. } => match local.engine.remove_stuck_rule(name.into(), by).await? {
                true => Ok(()),
                false => Err(Refused(format!("no rule `{name}` is on record")).into()),
            },
            Door::Remote { url, http } => {
                let url = under(url, &["v1", "stuck", "rules", name])?;
                let body = serde_json::json!({ "by": by });
                let _: serde_json::Value = send(http.delete(url.clone()).json(&body), url.as_str()).await?;
                Ok(())
            }
        }
    }

    pub async fn set_stuck_auto(&self, remedies: Remedies, by: String) -> Result<()> {
        match self {
            Door::Local { local, .. } => Ok(local.engine.set_stuck_auto(remedies, by).await?),
            Door::Remote { url, http } => {
                let (url, body) = (
                    format!("{url}/v1/stuck/auto"),
                    StuckAutoBody { auto: remedies == Remedies::Apply, by: Some(by) },
                );
                let _: StuckAutoBody = send(http.put(&url).json(&body), &url).await?;
                Ok(())
            }
        }
    }
}

/// Everything that is wrong, each in a line of its own.
pub fn listed(faults: &[Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// What a look is to do.
pub fn order(body: &DetectBody) -> DetectOrder {
    let remedies = if body.auto_resolve { Remedies::Apply } else { Remedies::Leave };
    DetectOrder { remedies, scope: Scope::All }
}
