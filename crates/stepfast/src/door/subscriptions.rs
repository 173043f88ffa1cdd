//! Subscriptions through the door.

use super::{Door, post};
use crate::Refused;
use anyhow::Result;
use model::SubscriptionId;
use server::convert;
use wire::{SubscriptionBody, SubscriptionChangeBody, SubscriptionMadeView, SubscriptionTestView};

fn missing(id: SubscriptionId) -> Refused {
    Refused(format!("there is no subscription {id}"))
}

impl Door {
    pub async fn add_subscription(&self, mut body: SubscriptionBody) -> Result<SubscriptionMadeView> {
        match self {
            Door::Local { local, .. } => {
                let by = body.by.take().unwrap_or_default();
                let (asked, secret) = convert::subscription(body);
                let (made, secret) = local.engine.add_subscription(asked, secret, by).await?;
                Ok(convert::subscription_made_view(&made, Some(&secret)))
            }
            Door::Remote { url, http } => post(http, &format!("{url}/v1/subscriptions"), &body).await,
        }
    }

    pub async fn change_subscription(
        &self,
        id: SubscriptionId,
        mut body: SubscriptionChangeBody,
    ) -> Result<SubscriptionMadeView> {
        match self {
            Door::Local { local, database } => {
                let by = body.by.take().unwrap_or_default();
                let is = database.browse()?.subscription(id)?.ok_or_else(|| missing(id))?.asked;
                let change = convert::subscription_change(body, is).map_err(|f| Refused(f.to_string()))?;
                let changed = local.engine.change_subscription(id, change, by).await?;
                let (changed, secret) = changed.ok_or_else(|| missing(id))?;
                Ok(convert::subscription_made_view(&changed, secret.as_ref()))
            }
            Door::Remote { url, http } => post(http, &format!("{url}/v1/subscriptions/{id}"), &body).await,
        }
    }

    pub async fn remove_subscription(&self, id: SubscriptionId, by: String) -> Result<()> {
        match self {
            Door::Local { local, .. } => match local.engine.remove_subscription(id, None, by).await? {
                true => Ok(()),
                false => Err(missing(id).into()),
            },
            Door::Remote { url, http } => {
                let body = serde_json::json!({ "by": by });
                let url = format!("{url}/v1/subscriptions/{id}/remove");
                let _: serde_json::Value = post(http, &url, &body).await?;
                Ok(())
            }
        }
    }

    pub async fn test_subscription(&self, id: SubscriptionId, by: String) -> Result<SubscriptionTestView> {
        match self {
            Door::Local { local, .. } => {
                let made = local.engine.test_subscription(id, by).await?.ok_or_else(|| missing(id))?;
                Ok(SubscriptionTestView { step_id: made.id.to_string() })
            }
            Door::Remote { url, http } => {
                let body = serde_json::json!({ "by": by });
                post(http, &format!("{url}/v1/subscriptions/{id}/test"), &body).await
            }
        }
    }
}
