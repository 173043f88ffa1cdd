//! What a job asks on the way, for a worker in another process: execute-once, and what came before, over HTTP.

mod flows;

pub use flows::{mark_flow, start_flow, tell_flow};

use crate::job::{JobError, JobResult};
use crate::remote::{Refusal, Remote};
use model::{OwnerToken, SessionId, StepId, limits};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use std::pin::pin;
use std::time::Duration;
use wire::{BeginBody, BegunView, CompleteBody, FailBody, PreviousBody, PreviousView, RenewBody};

/// How often the right to do it is renewed; it lasts 60 seconds.
const RENEW_EVERY: Duration = Duration::from_secs(15);
/// After a server that did not answer.
const ASK_AGAIN: Duration = Duration::from_millis(500);

pub async fn once<T, F>(
    remote: &Remote,
    namespace: &str,
    key: &str,
    owner: OwnerToken,
    operation: impl FnOnce() -> F,
) -> JobResult<T>
where
    T: Serialize + DeserializeOwned,
    F: Future<Output = JobResult<T>>,
{
    let (namespace, key, owner) = (namespace.to_string(), key.to_string(), owner.to_string());
    let begin = BeginBody {
        namespace: namespace.clone(),
        key: key.clone(),
        owner: Some(owner.clone()),
        ..BeginBody::default()
    };
    let begun: BegunView = until_told(|| remote.call("/v1/executions/begin", &begin)).await?;
    if begun.verdict == "replay" {
        let answer = begun.answer.as_deref().map_or("null", RawValue::get);
        return Ok(serde_json::from_str(answer)?);
    }
    let renew = RenewBody {
        namespace: namespace.clone(),
        key: key.clone(),
        owner: owner.clone(),
        ..RenewBody::default()
    };
    match held(remote, &renew, operation()).await {
        Ok(answer) => {
            // What cannot be kept is done all the same: the record says so, and whoever asks again learns no more.
            let raw = to_raw_value(&answer).ok().filter(|raw| raw.get().len() <= limits::PAYLOAD_BYTES_MAX);
            let raw = raw.unwrap_or_else(|| RawValue::NULL.to_owned());
            let body = CompleteBody { namespace, key, owner, answer: Some(raw) };
            let _: serde_json::Value = until_told(|| remote.call("/v1/executions/complete", &body)).await?;
            Ok(answer)
        }
        Err(error) => {
            let body = FailBody { namespace, key, owner, error: format!("{error:#}") };
            let told: JobResult<serde_json::Value> =
                until_told(|| remote.call("/v1/executions/fail", &body)).await;
            if let Err(problem) = told {
                // Its lease will run out; whoever asked is told what really went wrong.
                tracing::warn!(target: "worker", %problem, "a failure was not recorded");
            }
            Err(error)
        }
    }
}

pub async fn previous(
    remote: &Remote,
    session: SessionId,
    step: StepId,
    attempt: u32,
) -> JobResult<Vec<String>> {
    let body = PreviousBody { session: session.to_string(), step: step.to_string(), attempt };
    let told: PreviousView = until_told(|| remote.call("/v1/worker/previous", &body)).await?;
    Ok(told.answers.iter().map(|answer| answer.get().to_string()).collect())
}

/// Run it while the right to is kept.
async fn held<T>(
    remote: &Remote,
    renew: &RenewBody,
    operation: impl Future<Output = JobResult<T>>,
) -> JobResult<T> {
    let mut operation = pin!(operation);
    loop {
        tokio::select! {
            done = &mut operation => return done,
            () = tokio::time::sleep(RENEW_EVERY) => {
                let told: Result<serde_json::Value, Refusal> = remote.call("/v1/executions/renew", renew).await;
                match told {
                    Err(Refusal::Told { code, detail, .. }) if code == "lease_lost" => {
                        return Err(JobError::msg(detail));
                    }
                    Err(problem) => tracing::warn!(target: "worker", %problem, "a lease was not renewed"),
                    Ok(_) => {}
                }
            }
        }
    }
}

/// Whoever does it now is waited for, and so is a server that is away.
async fn until_told<T, F>(mut call: impl FnMut() -> F) -> JobResult<T>
where
    F: Future<Output = Result<T, Refusal>>,
{
    loop {
        let wait = match call().await {
            Ok(told) => return Ok(told),
            Err(Refusal::Away(problem)) => {
                tracing::warn!(target: "worker", problem, "the server is away; asking again");
                ASK_AGAIN
            }
            Err(Refusal::Told { code, retry_after, .. }) if code == "in_progress" => {
                retry_after.unwrap_or(ASK_AGAIN)
            }
            Err(refused) => return Err(JobError::new(refused)),
        };
        tokio::time::sleep(wait).await;
    }
}
