//! The way to whoever decides for a database: the server that has it, or this process itself.

use crate::config::Settings;
use crate::{Local, LocalConfig, Refused, Unavailable};
use anyhow::{Result, bail};
use engine::{Created, Operation};
use model::{Breaker, DispatchGroup, NewStep};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;
use store::{Clock, Retained, Retention, SystemClock};
use wire::{BreakerBody, CreatedView, ForgetBody, ForgottenView, OperateBody, OperatedView, Problem};

pub enum Door {
    Remote { url: String, http: reqwest::Client },
    Local(Box<Local>),
}

impl Door {
    pub fn open(settings: &Settings, server: Option<&str>, doing: &str) -> Result<Door> {
        let found = settings.database.decider()?;
        if let Some(url) = server.map(String::from).or_else(|| found.as_ref().and_then(|h| h.url.clone())) {
            let http = reqwest::Client::builder().timeout(Duration::from_secs(60)).build()?;
            return Ok(Door::Remote { url: url.trim_end_matches('/').to_string(), http });
        }
        let config =
            LocalConfig { engine: settings.engine.clone(), doing: doing.into(), ..LocalConfig::default() };
        Ok(Door::Local(Box::new(Local::open(&settings.database, config)?)))
    }

    pub async fn close(self) -> Result<()> {
        if let Door::Local(local) = self {
            local.stop(Duration::ZERO).await?;
        }
        Ok(())
    }

    pub async fn create(&self, steps: Vec<NewStep>) -> Result<Vec<CreatedView>> {
        match self {
            Door::Local(local) => Ok(local.engine.create(steps).await?.iter().map(created).collect()),
            Door::Remote { url, http } => {
                #[derive(Serialize)]
                struct Body {
                    steps: Vec<NewStep>,
                }
                #[derive(serde::Deserialize)]
                struct Answer {
                    steps: Vec<CreatedView>,
                }
                let answer: Answer = post(http, &format!("{url}/v1/steps"), &Body { steps }).await?;
                Ok(answer.steps)
            }
        }
    }

    pub async fn operate(&self, operation: Operation) -> Result<OperatedView> {
        match self {
            Door::Local(local) => Ok(server::convert::operated_view(&local.engine.operate(operation).await?)),
            Door::Remote { url, http } => {
                let verb = operation.verb.map_or("retry", |v| v.word());
                let url = format!("{url}/v1/steps/{}/{verb}?dry_run={}", operation.step, operation.dry_run);
                post(http, &url, &OperateBody { why: Some(operation.why), by: Some(operation.by) }).await
            }
        }
    }

    pub async fn set_breaker(
        &self,
        scope: Option<DispatchGroup>,
        breaker: Breaker,
        by: &str,
        ttl: Option<u64>,
    ) -> Result<()> {
        match self {
            Door::Local(local) => {
                local.engine.set_breaker(scope, breaker, by).await?;
                Ok(())
            }
            Door::Remote { url, http } => {
                let body = BreakerBody {
                    off: breaker.off,
                    why: breaker.why,
                    by: Some(by.into()),
                    ttl_seconds: ttl,
                    dispatch_group: scope.map(|g| g.to_string()),
                };
                let _: serde_json::Value = post(http, &format!("{url}/v1/breaker"), &body).await?;
                Ok(())
            }
        }
    }

    pub async fn retain(&self, what: Retention, dry_run: bool) -> Result<Retained> {
        match self {
            Door::Local(local) => {
                Ok(local.engine.with_store(move |store| store.retain(what, dry_run)).await??)
            }
            Door::Remote { url, http } => {
                post(http, &format!("{url}/v1/retention?dry_run={dry_run}"), &what).await
            }
        }
    }
}

impl Door {
    /// Forget one page of executions, or count all that would be.
    pub async fn forget_executions(&self, days: Option<f64>, dry_run: bool) -> Result<ForgottenView> {
        match self {
            Door::Local(local) => {
                let span = days.map(|days| Duration::from_secs_f64(days * 86_400.0));
                let before = span.map(|span| SystemClock::default().now() - span);
                let all = local.engine.executions();
                let done =
                    if dry_run { all.count_forgotten(before).await } else { all.forget(before).await }?;
                Ok(ForgottenView { executions: done.executions, more: done.more })
            }
            Door::Remote { url, http } => {
                let url = format!("{url}/v1/executions/forget?dry_run={dry_run}");
                post(http, &url, &ForgetBody { older_than_days: days }).await
            }
        }
    }
}

fn created(created: &Created) -> CreatedView {
    server::convert::created_view(created)
}

async fn post<B: Serialize, T: DeserializeOwned>(http: &reqwest::Client, url: &str, body: &B) -> Result<T> {
    let answer = match http.post(url).json(body).send().await {
        Ok(answer) => answer,
        Err(problem) => bail!(Unavailable(format!("the server at {url} does not answer: {problem}"))),
    };
    let status = answer.status();
    if status.is_success() {
        return Ok(answer.json().await?);
    }
    let text = answer.text().await?;
    let told = match serde_json::from_str::<Problem>(&text) {
        Ok(problem) => {
            let faults: Vec<String> =
                problem.faults.iter().map(|f| format!("{}: {}; {}", f.field, f.problem, f.fix)).collect();
            if faults.is_empty() { problem.detail } else { faults.join("\n") }
        }
        Err(_) => text,
    };
    if status.is_server_error() {
        bail!(Unavailable(told));
    }
    bail!(Refused(told))
}
