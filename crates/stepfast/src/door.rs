//! The way to whoever decides for a database: the server that has it, or this process itself.

mod alerts;
mod channels;
mod flows;
mod subscriptions;
mod workflows;

pub use alerts::{listed, order};
pub use workflows::DryRun;

use crate::config::Settings;
use crate::{Local, LocalConfig, Refused, Unavailable};
use anyhow::{Result, bail};
use engine::{Created, EngineError, ExecutionError, GroupOperation, OnceError, Operation, Removal, SeenStep};
use model::{Breaker, DispatchGroup, KeyId, NewKey, NewStep, PoolUse, StepId, Timestamp};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, IF_MATCH};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;
use store::{Asked, Clock, Database, Retained, Retaining, Retention, SystemClock};
use wire::{
    BreakerBody, BreakerView, CreatedView, ForgetBody, ForgottenView, GroupOperatedView, KeyBody,
    KeyMadeView, KeyView, OperateBody, OperatedView, PoolBody, PoolView, Problem, RetentionBody, StepShow,
};

/// How long a server is waited for that adds to what the database says.
const SOON: Duration = Duration::from_secs(2);

pub enum Door {
    Remote { url: String, http: reqwest::Client },
    Local { local: Box<Local>, database: Database },
}

impl Door {
    pub fn open(settings: &Settings, server: Option<&str>, doing: &str) -> Result<Door> {
        if let Some(url) = named_or_found(settings, server)? {
            let http = client(settings, &url)?;
            return Ok(Door::Remote { url: url.trim_end_matches('/').to_string(), http });
        }
        let config =
            LocalConfig { engine: settings.engine.clone(), doing: doing.into(), ..LocalConfig::default() };
        let local = Box::new(Local::open(&settings.database, config)?);
        Ok(Door::Local { local, database: settings.database.clone() })
    }

    pub async fn close(self) -> Result<()> {
        if let Door::Local { local, .. } = self {
            local.stop(Duration::ZERO).await?;
        }
        Ok(())
    }

    /// Create steps; with a key once, however often this is asked.
    pub async fn create(&self, steps: Vec<NewStep>, key: Option<&str>) -> Result<Vec<CreatedView>> {
        match self {
            Door::Local { local, .. } => {
                let made = match key {
                    None => local.engine.create(steps).await?,
                    Some(key) => local.engine.create_once(key, steps).await.map_err(not_once)?.answer,
                };
                Ok(made.iter().map(created).collect())
            }
            Door::Remote { url, http } => {
                #[derive(Serialize)]
                struct Body {
                    steps: Vec<NewStep>,
                }
                #[derive(serde::Deserialize)]
                struct Answer {
                    steps: Vec<CreatedView>,
                }
                let url = format!("{url}/v1/steps");
                let mut request = http.post(&url).json(&Body { steps });
                if let Some(key) = key {
                    request = request.header("Idempotency-Key", key);
                }
                let answer: Answer = send(request, &url).await?;
                Ok(answer.steps)
            }
        }
    }

    pub async fn operate(&self, operation: Operation) -> Result<OperatedView> {
        match self {
            Door::Local { local, .. } => {
                Ok(server::convert::operated_view(&local.engine.operate(operation).await?))
            }
            Door::Remote { url, http } => {
                let verb = operation.verb.map_or("retry", |v| v.word());
                let url = format!("{url}/v1/steps/{}/{verb}?dry_run={}", operation.step, operation.dry_run);
                let body = OperateBody { why: Some(operation.why), by: Some(operation.by) };
                let mut request = http.post(&url).json(&body);
                if let Some(SeenStep { version, attempt }) = operation.expected {
                    request = request.header(IF_MATCH, format!("\"{version}-{attempt}\""));
                }
                send(request, &url).await
            }
        }
    }

    pub async fn set_breaker(
        &self,
        scope: Option<DispatchGroup>,
        breaker: Breaker,
        by: &str,
        ttl: Option<u64>,
    ) -> Result<BreakerView> {
        match self {
            Door::Local { local, .. } => {
                let set = local.engine.set_breaker(scope.clone(), breaker, by).await?;
                Ok(server::convert::breaker_view(scope.as_ref(), &set, SystemClock::default().now()))
            }
            Door::Remote { url, http } => {
                let body = BreakerBody {
                    off: breaker.off,
                    why: breaker.why,
                    by: Some(by.into()),
                    ttl_seconds: ttl,
                    dispatch_group: scope.map(|g| g.to_string()),
                };
                post(http, &format!("{url}/v1/breaker"), &body).await
            }
        }
    }

    pub async fn operate_group(&self, operation: GroupOperation) -> Result<GroupOperatedView> {
        let (name, verb) = (operation.message_group.clone(), operation.verb);
        match self {
            Door::Local { local, .. } => {
                let done = local.engine.operate_group(operation).await?;
                Ok(server::convert::group_operated_view(&name, verb, &done))
            }
            Door::Remote { url, http } => {
                let mut url = under(url, &["v1", "message-groups", &name, verb.word()])?;
                url.query_pairs_mut().append_pair("dry_run", &operation.dry_run.to_string());
                if let Some(head) = operation.head {
                    url.query_pairs_mut().append_pair("head", &head.to_string());
                }
                let body = OperateBody { why: Some(operation.why), by: Some(operation.by) };
                post(http, url.as_str(), &body).await
            }
        }
    }

    pub async fn set_pool(&self, body: PoolBody) -> Result<PoolView> {
        match self {
            Door::Local { local, .. } => {
                let pool = server::convert::pool(&body).map_err(|fault| Refused(fault.to_string()))?;
                let view = PoolUse { pool: pool.clone(), used: 0, full_until: Timestamp(0) };
                local.engine.put_pool(pool, body.by.unwrap_or_default()).await?;
                Ok(server::convert::pool_view(&view, SystemClock::default().now()))
            }
            Door::Remote { url, http } => post(http, &format!("{url}/v1/pools"), &body).await,
        }
    }

    pub async fn remove_pool(&self, name: &str, asked: Asked) -> Result<()> {
        match self {
            Door::Local { local, .. } => match local.engine.remove_pool(name.into(), None, asked).await? {
                Removal::Removed => Ok(()),
                Removal::Changed => {
                    bail!(Refused(format!("pool `{name}` was changed in the same moment; try again")))
                }
                Removal::Unknown => bail!(Refused(format!("there is no pool `{name}`"))),
                Removal::InUse => bail!(Refused(server::convert::POOL_IN_USE.into())),
            },
            Door::Remote { url, http } => {
                let url = under(url, &["v1", "pools", name, "remove"])?;
                let body = OperateBody { why: asked.why, by: Some(asked.who) };
                let _: serde_json::Value = post(http, url.as_str(), &body).await?;
                Ok(())
            }
        }
    }

    pub async fn create_key(&self, new: NewKey, by: String) -> Result<KeyMadeView> {
        match self {
            Door::Local { local, .. } => {
                let (key, secret) = local.engine.add_key(new, by).await?;
                Ok(server::convert::key_made_view(&key, &secret, key.created_at))
            }
            Door::Remote { url, http } => {
                let NewKey { name, role, scope, expires_days } = new;
                let body = KeyBody { name, role, scope, expires_days, by: Some(by) };
                post(http, &format!("{url}/v1/keys"), &body).await
            }
        }
    }

    pub async fn revoke_key(&self, id: KeyId, by: String) -> Result<KeyView> {
        match self {
            Door::Local { local, .. } => match local.engine.revoke_key(id, by).await? {
                Some(key) => {
                    let now = key.revoked_at.unwrap_or(key.created_at);
                    Ok(server::convert::key_view(&key, now))
                }
                None => bail!(Refused(format!("there is no key {id}"))),
            },
            Door::Remote { url, http } => {
                let body = serde_json::json!({ "by": by });
                post(http, &format!("{url}/v1/keys/{id}/revoke"), &body).await
            }
        }
    }

    pub async fn retain(&self, what: Retention, how: Retaining) -> Result<Retained> {
        match self {
            Door::Local { local, .. } => {
                Ok(local.engine.with_store(move |store| store.retain(what, how)).await??)
            }
            Door::Remote { url, http } => {
                let dry_run = how == Retaining::Tried;
                let url = format!("{url}/v1/retention?dry_run={dry_run}");
                post(http, &url, &retention(what, how)).await
            }
        }
    }
}

/// What a server is asked for.
fn retention(what: Retention, how: Retaining) -> RetentionBody {
    let (why, by) = match how {
        Retaining::Tried => (None, None),
        Retaining::Done(Asked { who, why }) => (why, Some(who)),
    };
    match what {
        Retention::Archive { before } => RetentionBody::Archive { before: before.0, why, by },
        Retention::Purge { before, only_archive, ticks } => {
            RetentionBody::Purge { before: before.0, only_archive, ticks, why, by }
        }
    }
}

/// A step as a server shows it, if that answers soon.
pub async fn shown(settings: &Settings, url: &str, step: StepId) -> Result<StepShow> {
    let url = format!("{}/v1/steps/{step}", url.trim_end_matches('/'));
    let answer = client(settings, &url)?.get(&url).timeout(SOON).send().await?;
    Ok(answer.error_for_status()?.json().await?)
}

/// Whoever asks shows the key with every call.
pub fn client(settings: &Settings, url: &str) -> Result<reqwest::Client> {
    let mut headers = HeaderMap::new();
    if let Some(key) = &settings.key {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.reveal()))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let http = reqwest::Client::builder().timeout(Duration::from_secs(60)).default_headers(headers);
    // A plain address needs nobody's certificates: reading them takes time, and a small container has none.
    Ok(if url.starts_with("https://") { http } else { http.tls_certs_only([]) }.build()?)
}

impl Door {
    /// Forget one page of executions, or count all that would be.
    pub async fn forget_executions(
        &self,
        days: Option<f64>,
        asked: &Asked,
        dry_run: bool,
    ) -> Result<ForgottenView> {
        match self {
            Door::Local { local, .. } => {
                let span = days.map(|days| Duration::from_secs_f64(days * 86_400.0));
                let before = span.map(|span| SystemClock::default().now() - span);
                let all = local.engine.executions();
                let done = match dry_run {
                    true => all.count_forgotten(before).await?,
                    false => all.forget(before, asked.clone()).await?,
                };
                Ok(ForgottenView { executions: done.executions, more: done.more })
            }
            Door::Remote { url, http } => {
                let url = format!("{url}/v1/executions/forget?dry_run={dry_run}");
                let (why, by) = (asked.why.clone(), Some(asked.who.clone()));
                post(http, &url, &ForgetBody { older_than_days: days, why, by }).await
            }
        }
    }
}

/// A path below the server's address; its parts may hold any character.
pub fn under(url: &str, parts: &[&str]) -> Result<reqwest::Url> {
    let mut url = reqwest::Url::parse(url)?;
    url.path_segments_mut().map_err(|()| Refused("the server has no path".into()))?.extend(parts);
    Ok(url)
}

/// The server that is named, else the one that has the database. Whoever names one may not have the database.
fn named_or_found(settings: &Settings, named: Option<&str>) -> Result<Option<String>> {
    match named {
        Some(named) => Ok(Some(named.into())),
        None => Ok(settings.database.decider()?.and_then(|holder| holder.url)),
    }
}

/// The address of the server that is named or has the database.
pub fn server_of(settings: &Settings, named: Option<&str>) -> Result<String> {
    match named_or_found(settings, named)? {
        Some(server) => Ok(server),
        None => bail!(Unavailable("no server runs on this database; name one with --server".into())),
    }
}

/// What only a server answers, that is named or has the database.
pub async fn ask_server(
    settings: &Settings,
    server: Option<&str>,
    path: &[&str],
    body: Option<serde_json::Value>,
) -> Result<serde_json::Value> {
    let server = server_of(settings, server)?;
    let (http, url) = (client(settings, &server)?, under(server.trim_end_matches('/'), path)?);
    match body {
        Some(body) => post(&http, url.as_str(), &body).await,
        None => send(http.get(url.clone()), url.as_str()).await,
    }
}

/// What a server answers to a question with parameters.
pub async fn ask_with(
    settings: &Settings,
    server: &str,
    path: &[&str],
    query: &[(&str, String)],
) -> Result<serde_json::Value> {
    let (http, mut url) = (client(settings, server)?, under(server.trim_end_matches('/'), path)?);
    for (name, value) in query {
        url.query_pairs_mut().append_pair(name, value);
    }
    send(http.get(url.clone()), url.as_str()).await
}

fn created(created: &Created) -> CreatedView {
    server::convert::created_view(created)
}

/// Why steps were not made under a key.
fn not_once(problem: OnceError<EngineError>) -> anyhow::Error {
    match problem {
        OnceError::Operation(refused) => refused.into(),
        OnceError::Execution(away @ ExecutionError::Unavailable(_)) => away.into(),
        OnceError::Execution(refused) => Refused(refused.to_string()).into(),
    }
}

async fn post<B: Serialize, T: DeserializeOwned>(http: &reqwest::Client, url: &str, body: &B) -> Result<T> {
    send(http.post(url).json(body), url).await
}

pub async fn send<T: DeserializeOwned>(request: reqwest::RequestBuilder, url: &str) -> Result<T> {
    let answer = accepted(request, url).await?;
    let strange =
        |problem| Unavailable(format!("the server at {url} answers in another language: {problem}"));
    Ok(answer.json().await.map_err(strange)?)
}

/// An answer that is no refusal.
pub async fn accepted(request: reqwest::RequestBuilder, url: &str) -> Result<reqwest::Response> {
    let answer = match request.send().await {
        Ok(answer) => answer,
        Err(problem) => bail!(Unavailable(format!("the server at {url} does not answer: {problem}"))),
    };
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let text = answer.text().await.unwrap_or_default();
    let told = match serde_json::from_str::<Problem>(&text) {
        Ok(problem) => {
            let faults = problem.faults.iter().map(|f| format!("{}: {}; {}", f.field, f.problem, f.fix));
            let errors =
                problem.errors.iter().map(|e| format!("{}:{}: {}; {}", e.line, e.column, e.message, e.fix));
            let told: Vec<String> = faults.chain(errors).collect();
            if told.is_empty() { problem.detail } else { told.join("\n") }
        }
        Err(_) => text,
    };
    if status.is_server_error() {
        bail!(Unavailable(told));
    }
    bail!(Refused(told))
}
