//! `http`: one call to another server, and what its answer means for the step.
//!
//! Why    a step may run more than once, so every call carries the step's id as `Idempotency-Key`. A redirect is not
//!        followed: it would lead a call, with its headers and body, to a place nobody wrote down.

pub(super) mod allow;
pub(super) mod answer;
pub(super) mod call;
mod client;
mod network;
#[cfg(test)]
pub(super) mod tests;
pub(super) mod verdict;

pub use allow::HttpAllow;
pub use client::{Http, NoClient};

use super::outcome::{again, complete, failed, one_line};
use allow::Refused;
use answer::{Answer, Broken};
use call::Call;
use model::{Claim, Outcome};
use reqwest::Response;
use reqwest::header::LOCATION;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::warn;
use verdict::{Verdict, judge, retry_after};

/// Of an answer that is no good, so much is read, and for so long.
const BEGINNING_BYTES_MAX: usize = 2_048;
pub(super) const BEGINNING_WAIT: Duration = Duration::from_secs(1);
const BEGINNING_CHARS_MAX: usize = 500;

pub async fn run(claim: Claim, http: Arc<Http>) -> Outcome {
    let call = match Call::read(&claim) {
        Ok(call) => call,
        Err(outcome) => return outcome,
    };
    let client = match http.client(&call.url) {
        Ok(client) => client,
        Err(refused) => return not_allowed(&claim, &call, &refused),
    };
    let mut request = client.request(call.method.clone(), call.url.clone()).headers(call.headers.clone());
    if let Some(body) = &call.body {
        request = request.body(body.clone());
    }
    let deadline = Instant::now() + call.timeout;
    match timeout_at(deadline, request.send()).await {
        Err(_) => too_slow(&call),
        Ok(Err(problem)) => match cause::<Refused>(&problem) {
            Some(refused) => not_allowed(&claim, &call, refused),
            None => not_reached(&call, problem),
        },
        Ok(Ok(response)) => decide(&call, response, deadline).await,
    }
}

async fn decide(call: &Call, mut response: Response, deadline: Instant) -> Outcome {
    let status = response.status().as_u16();
    let verdict = judge(status, &call.retry_on, &call.fail_on, retry_after(response.headers()));
    match verdict {
        Verdict::Complete => take(call, response, deadline).await,
        Verdict::Throttle(after) => Outcome::Throttle { after },
        Verdict::Retry(after) => again(told(call, &mut response).await, after),
        Verdict::Fail => failed(told(call, &mut response).await),
    }
}

async fn take(call: &Call, mut response: Response, deadline: Instant) -> Outcome {
    match timeout_at(deadline, answer::body(&mut response, call.response_bytes_max)).await {
        Err(_) => too_slow(call),
        Ok(Err(Broken::Cut(problem))) => {
            again(format!("{}: the answer broke off: {}", call.place(), root(problem)), None)
        }
        Ok(Err(Broken::TooLong)) => failed(format!(
            "{}: the answer is longer than {} bytes; ask for less, or write a larger `max_response_bytes`, up to {}",
            call.place(),
            call.response_bytes_max,
            call::RESPONSE_BYTES_MAX
        )),
        Ok(Ok(body)) => complete("http", &Answer::new(response.status().as_u16(), response.headers(), &body)),
    }
}

/// The answer in words, with how its body begins.
async fn told(call: &Call, response: &mut Response) -> String {
    let mut body = Vec::new();
    if !(response.status().is_redirection() && response.headers().contains_key(LOCATION)) {
        // Whatever came by then is told; the status is what counts.
        let _ = timeout(BEGINNING_WAIT, answer::beginning(response, BEGINNING_BYTES_MAX, &mut body)).await;
    }
    words(&call.place(), response, &body)
}

pub(super) fn words(place: &str, response: &Response, body: &[u8]) -> String {
    let status = response.status();
    if status.is_redirection()
        && let Some(location) = response.headers().get(LOCATION)
    {
        let location = one_line(&String::from_utf8_lossy(location.as_bytes()), 300);
        return format!(
            "{place} answered {status} and points to {location}; redirects are not followed, so write the address \
             that is meant as `url`"
        );
    }
    match one_line(&String::from_utf8_lossy(body), BEGINNING_CHARS_MAX) {
        nothing if nothing.is_empty() => format!("{place} answered {status}"),
        begins => format!("{place} answered {status}: {begins}"),
    }
}

fn too_slow(call: &Call) -> Outcome {
    again(format!("{}: no whole answer within {} ms", call.place(), call.timeout.as_millis()), None)
}

fn not_reached(call: &Call, problem: reqwest::Error) -> Outcome {
    again(format!("{}: no answer: {}", call.place(), root(problem)), None)
}

fn not_allowed(claim: &Claim, call: &Call, refused: &Refused) -> Outcome {
    warn!(target: "worker", step = %claim.step, "http is not allowed to go there: {refused}");
    failed(format!("{}: {refused}", call.place()))
}

/// What lies at the bottom of it, without the address: that may hold a secret.
pub(super) fn root(problem: reqwest::Error) -> String {
    let problem = problem.without_url();
    let mut at: &dyn Error = &problem;
    while let Some(deeper) = at.source() {
        at = deeper;
    }
    one_line(&at.to_string(), BEGINNING_CHARS_MAX)
}

pub(super) fn cause<'a, E: Error + 'static>(problem: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut at = Some(problem);
    while let Some(problem) = at {
        if let Some(found) = problem.downcast_ref::<E>() {
            return Some(found);
        }
        at = problem.source();
    }
    None
}
