//! Subscriptions: somebody outside is told of what happens to workflows, signed with a secret that only they and we know.

mod delivery;
mod secret;

pub(crate) use delivery::{Event, step};
pub use secret::SigningSecret;

use crate::request::Created;
use crate::{Engine, EngineError, Ids, Keyring, SealError};
use model::{Fault, NewSubscription, Subscription, SubscriptionId, limits};
use rules::subscription::{faults, plain_types};
use store::subscriptions::{self as record, Stored};
use store::{AuditEntry, Change, Store};

type Result<T> = std::result::Result<T, EngineError>;

/// Secrets that sign at once: the one in use, and the one before it while receivers change over.
const SECRETS_MAX: usize = 2;

/// What is to be different; the rest stays.
#[derive(Clone, Debug, Default)]
pub struct SubscriptionChange {
    pub asked: Option<NewSubscription>,
    pub secret: SecretChange,
    /// The revision that was looked at; if it is another by now, nothing is done.
    pub expected: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub enum SecretChange {
    #[default]
    Keep,
    /// A new one signs from now on, beside the one before it.
    Renew,
    /// Only the newest signs from now on.
    DropOld,
}

impl Engine {
    /// Make a subscription; what its deliveries are signed with is in the answer and can never be had again.
    pub async fn add_subscription(
        &self,
        asked: NewSubscription,
        secret: Option<String>,
        by: String,
    ) -> Result<(Subscription, SigningSecret)> {
        let keys = self.keys().clone();
        self.with_store(move |store| add(store, asked, secret, (by, &keys))).await?
    }

    /// Change it; none if there is no such subscription. A new secret is in the answer.
    pub async fn change_subscription(
        &self,
        id: SubscriptionId,
        change: SubscriptionChange,
        by: String,
    ) -> Result<Option<(Subscription, Option<SigningSecret>)>> {
        let keys = self.keys().clone();
        self.with_store(move |store| changed(store, id, change, (by, &keys))).await?
    }

    /// What was to be delivered already still is; whether there was such a subscription. Where a revision is given, it must be this one.
    pub async fn remove_subscription(
        &self,
        id: SubscriptionId,
        expected: Option<u64>,
        by: String,
    ) -> Result<bool> {
        self.with_store(move |store| remove(store, id, expected, by)).await?
    }

    /// Deliver something of no meaning; none if there is no such subscription.
    pub async fn test_subscription(&self, id: SubscriptionId, by: String) -> Result<Option<Created>> {
        let found = self.with_store(move |store| {
            let at = store.now();
            record::find(store.reader(), id).map(|found| (found, at))
        });
        let (Some(stored), at) = found.await?? else { return Ok(None) };
        let event = Event {
            id: format!("test/{}", SubscriptionId::from_bytes(Ids::default().row(at))),
            source: format!("/v1/subscriptions/{id}"),
            kind: "subscription.test",
            subject: None,
            at,
            data: Some(serde_json::json!({"name": stored.subscription.asked.name}).to_string()),
        };
        let secrets = open_all(&stored, self.keys()).map_err(unsealed)?;
        let step = step(&stored.subscription, &secrets, &event, self.keys()).map_err(unsealed)?;
        let made = self.create_by(vec![step], by).await?;
        Ok(made.into_iter().next())
    }
}

/// What signs, in clear.
pub(crate) fn open_all(stored: &Stored, keys: &Keyring) -> std::result::Result<Vec<String>, SealError> {
    stored.secrets.iter().map(|text| keys.open_text(stored.subscription.id.0, text)).collect()
}

pub(crate) fn unsealed(problem: SealError) -> EngineError {
    let problem = problem.to_string();
    let (field, what) = ("secret".into(), "cannot be sealed or opened".into());
    EngineError::Invalid(vec![Fault { field, problem: what, fix: problem }])
}

fn sound(asked: &NewSubscription) -> Result<()> {
    let faults = faults(asked);
    if faults.is_empty() { Ok(()) } else { Err(EngineError::Invalid(faults)) }
}

fn add(
    store: &mut dyn Store,
    asked: NewSubscription,
    secret: Option<String>,
    (by, keys): (String, &Keyring),
) -> Result<(Subscription, SigningSecret)> {
    let asked = NewSubscription { types: plain_types(asked.types), ..asked };
    sound(&asked)?;
    let secret = secret.map_or_else(SigningSecret::fresh, |text| SigningSecret::given(&text))?;
    if record::all(store.reader())?.len() >= limits::SUBSCRIPTIONS_MAX {
        return Err(EngineError::Invalid(vec![Fault {
            field: "name".into(),
            problem: format!("there are {} subscriptions already", limits::SUBSCRIPTIONS_MAX),
            fix: "remove one that nobody needs".into(),
        }]));
    }
    let at = store.now();
    let id = SubscriptionId::from_bytes(Ids::default().row(at));
    let sealed = keys.seal(id.0, secret.reveal().as_bytes()).map_err(unsealed)?;
    let subscription = Subscription { id, asked, created_at: at, created_by: by.clone(), revision: 0 };
    let entry = record_of("add subscription", &subscription, &by);
    let added = Stored { subscription: subscription.clone(), secrets: vec![sealed] };
    let entry = AuditEntry { after: Some(told(&added)), ..entry };
    store.change(vec![Change::AddSubscription(added), Change::Audit { at, entry }])?;
    Ok((subscription, secret))
}

fn changed(
    store: &mut dyn Store,
    id: SubscriptionId,
    change: SubscriptionChange,
    (by, keys): (String, &Keyring),
) -> Result<Option<(Subscription, Option<SigningSecret>)>> {
    let Some(before) = record::find(store.reader(), id)? else { return Ok(None) };
    seen(&before, change.expected)?;
    let mut after = before.clone();
    if let Some(asked) = change.asked {
        after.subscription.asked = NewSubscription { types: plain_types(asked.types), ..asked };
        sound(&after.subscription.asked)?;
    }
    let (secret, became) = match change.secret {
        SecretChange::Keep => (None, ""),
        SecretChange::DropOld => {
            after.secrets.truncate(1);
            (None, ", the old one dropped")
        }
        SecretChange::Renew => {
            let secret = SigningSecret::fresh()?;
            after.secrets.insert(0, keys.seal(id.0, secret.reveal().as_bytes()).map_err(unsealed)?);
            after.secrets.truncate(SECRETS_MAX);
            (Some(secret), ", with a new one")
        }
    };
    let at = store.now();
    let entry = AuditEntry {
        before: Some(told(&before)),
        after: Some(told(&after) + became),
        ..record_of("change subscription", &after.subscription, &by)
    };
    let found = store.change(vec![Change::ChangeSubscription(after), Change::Audit { at, entry }])?;
    if found.starts_with(&[0]) {
        return Err(EngineError::SubscriptionChanged(id));
    }
    Ok(record::find(store.reader(), id)?.map(|stored| (stored.subscription, secret)))
}

/// What somebody decided about another revision is not done.
fn seen(stored: &Stored, expected: Option<u64>) -> Result<()> {
    let Subscription { id, revision, .. } = &stored.subscription;
    if expected.is_some_and(|expected| expected != *revision) {
        return Err(EngineError::changed(format!("subscription {id}"), *revision));
    }
    Ok(())
}

fn remove(store: &mut dyn Store, id: SubscriptionId, expected: Option<u64>, by: String) -> Result<bool> {
    let Some(before) = record::find(store.reader(), id)? else { return Ok(false) };
    seen(&before, expected)?;
    let at = store.now();
    let entry = record_of("remove subscription", &before.subscription, &by);
    let entry = AuditEntry { before: Some(told(&before)), ..entry };
    let gone = Change::RemoveSubscription { id, revision: before.subscription.revision };
    let removed = store.change(vec![gone, Change::Audit { at, entry }])?;
    if removed.starts_with(&[0]) && record::find(store.reader(), id)?.is_some() {
        return Err(EngineError::SubscriptionChanged(id));
    }
    Ok(!removed.starts_with(&[0]))
}

fn record_of(verb: &str, subscription: &Subscription, by: &str) -> AuditEntry {
    let target = format!("subscription {} ({})", subscription.id, subscription.asked.name);
    AuditEntry { who: by.into(), verb: verb.into(), target, why: None, before: None, after: None }
}

/// What it asks for and how many secrets sign it, for the audit. A secret itself is nobody's to read.
fn told(stored: &Stored) -> String {
    let NewSubscription { name, url, types, workflow, labels, active, ordered } = &stored.subscription.asked;
    let of = workflow.as_ref().map(|key| format!(" of {key}")).unwrap_or_default();
    let labels: Vec<String> = labels.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    let state = if *active { "" } else { ", not active" };
    let order = if *ordered { ", one after another" } else { "" };
    let secrets = stored.secrets.len();
    let s = if secrets == 1 { "" } else { "s" };
    let types = types.join(" ");
    format!("`{name}`: {types}{of}{} to {url}{order}{state}, {secrets} secret{s}", labels.concat())
}
