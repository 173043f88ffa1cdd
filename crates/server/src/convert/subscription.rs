//! Subscriptions as the API speaks of them; the secret once.

use super::instant;
use engine::{SecretChange, SigningSecret, SubscriptionChange};
use model::{Fault, NewSubscription, Subscription};
use wire::{SubscriptionBody, SubscriptionChangeBody, SubscriptionMadeView, SubscriptionView};

pub fn subscription(body: SubscriptionBody) -> (NewSubscription, Option<String>) {
    let SubscriptionBody { name, url, types, workflow, labels, active, ordered, secret, .. } = body;
    let (active, ordered) = (active.unwrap_or(true), ordered.unwrap_or(false));
    (NewSubscription { name, url, types, workflow, labels, active, ordered }, secret)
}

/// What a subscription is asked to become, from what it is.
pub fn subscription_change(
    body: SubscriptionChangeBody,
    is: NewSubscription,
) -> Result<SubscriptionChange, Fault> {
    let SubscriptionChangeBody { name, url, types, workflow, labels, active, ordered, secrets, .. } = body;
    let secret = match secrets.as_deref() {
        None => SecretChange::Keep,
        Some("renew") => SecretChange::Renew,
        Some("drop_old") => SecretChange::DropOld,
        Some(other) => {
            let problem = format!("`{other}` is not known");
            let fix = "write `renew` or `drop_old`".into();
            return Err(Fault { field: "secrets".into(), problem, fix });
        }
    };
    let asked = NewSubscription {
        name: name.unwrap_or(is.name),
        url: url.unwrap_or(is.url),
        types: types.unwrap_or(is.types),
        workflow: workflow.map_or(is.workflow, |key| Some(key).filter(|key| !key.is_empty())),
        labels: labels.unwrap_or(is.labels),
        active: active.unwrap_or(is.active),
        ordered: ordered.unwrap_or(is.ordered),
    };
    Ok(SubscriptionChange { asked: Some(asked), secret, expected: None })
}

pub fn subscription_view(subscription: &Subscription) -> SubscriptionView {
    let Subscription { id, asked, created_at, created_by, revision } = subscription.clone();
    let NewSubscription { name, url, types, workflow, labels, active, ordered } = asked;
    SubscriptionView {
        id: id.to_string(),
        name,
        url,
        types,
        workflow,
        labels,
        active,
        ordered,
        created_at: instant(created_at),
        created_by,
        revision,
    }
}

/// The one time a secret is shown.
pub fn subscription_made_view(
    subscription: &Subscription,
    secret: Option<&SigningSecret>,
) -> SubscriptionMadeView {
    let secret = secret.map(|secret| secret.reveal().to_string());
    SubscriptionMadeView { secret, about: subscription_view(subscription) }
}
