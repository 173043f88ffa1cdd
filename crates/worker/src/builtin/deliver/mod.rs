//! `deliver`: hands a step to its target as a webhook, and puts on record what came of it.
//!
//! Why    a receiver must be able to tell who sent it and whether it had it before, so every delivery carries the step's id and,
//!        if the step names a key, a signature. One that cannot be signed is not sent: a receiver that once takes it
//!        unsigned always will. Where it may go is decided by the client of `http`.

mod order;
mod signing;
#[cfg(test)]
mod tests;
mod verdict;

pub use engine::variable_part;
pub use signing::Signing;

use super::http::allow::Refused;
use super::http::answer::most;
use super::http::call::place;
use super::http::verdict::retry_after;
use super::http::{BEGINNING_WAIT, Http, cause, root, words};
use super::outcome::{again, failed, one_line};
use crate::context::Context;
use model::{Claim, Delivery, DeliveryError, DeliveryStatus, Outcome, Timestamp, limits};
use order::{Keys, Order, WEBHOOK_SIGNATURE, WEBHOOK_TIMESTAMP};
use reqwest::header::HeaderValue;
use reqwest::{Client, Method, Response};
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::warn;
use verdict::{Verdict, judge};

/// What secrets are called that come with the step itself.
const GIVEN: &str = "given";

pub struct Deliverer {
    pub http: Http,
    pub signing: Signing,
}

/// What came of one delivery, but for how long it took.
struct Came {
    outcome: Outcome,
    http_code: Option<u16>,
    error: Option<DeliveryError>,
    body: Option<Vec<u8>>,
}

impl Came {
    fn without_answer(error: DeliveryError, outcome: Outcome) -> Came {
        Came { outcome, http_code: None, error: Some(error), body: None }
    }
}

pub async fn run(context: Context, deliverer: &Deliverer) -> Outcome {
    let (started_at, begun) = (context.now(), Instant::now());
    let came = deliver(context.claim(), deliverer, started_at).await;
    let duration_ms = begun.elapsed().as_millis() as u64;
    let (status, outcome) = match came.outcome {
        Outcome::Complete { .. } => {
            let response = serde_json::json!({"status": came.http_code, "ms": duration_ms}).to_string();
            (DeliveryStatus::Success, Outcome::Complete { response: Some(response) })
        }
        Outcome::Throttle { after } => (DeliveryStatus::Deferred, Outcome::Throttle { after }),
        other => (DeliveryStatus::Failure, other),
    };
    context.delivered(Delivery {
        status,
        http_code: came.http_code,
        error_type: came.error,
        response_body: came.body.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        started_at,
        duration_ms,
    });
    outcome
}

async fn deliver(claim: &Claim, deliverer: &Deliverer, now: Timestamp) -> Came {
    let (order, client) = match prepared(claim, deliverer, now) {
        Ok(prepared) => prepared,
        Err(outcome) => return Came::without_answer(DeliveryError::Validation, outcome),
    };
    let place = place(&Method::POST, &order.url);
    let deadline = Instant::now() + order.timeout;
    let request = client.post(order.url).headers(order.headers).body(order.body);
    match timeout_at(deadline, request.send()).await {
        Err(_) => too_slow(&place, order.timeout),
        Ok(Err(problem)) => not_reached(claim, &place, problem),
        Ok(Ok(response)) => {
            let answer = Answer { place: &place, response, deadline, timeout: order.timeout };
            answer.judged(deferrals(claim)).await
        }
    }
}

/// How often the step was put off: the runs before this one that did not fail.
fn deferrals(claim: &Claim) -> u32 {
    claim.attempt.saturating_sub(1).saturating_sub(claim.failed_attempts)
}

/// All that can be said before anything is sent.
fn prepared<'a>(
    claim: &Claim,
    deliverer: &'a Deliverer,
    now: Timestamp,
) -> Result<(Order, &'a Client), Outcome> {
    let mut order = Order::read(claim)?;
    let client = deliverer.http.client(&order.url).map_err(|refused| {
        warn!(target: "worker", step = %claim.step, "deliver is not allowed to go there: {refused}");
        failed(format!("{}: {refused}", place(&Method::POST, &order.url)))
    })?;
    let seconds = now.0.div_euclid(1_000_000);
    order.headers.insert(WEBHOOK_TIMESTAMP, seconds.into());
    if let Some(keys) = &order.signing {
        let signature = signature(keys, deliverer, &order, seconds)?;
        order.headers.insert(WEBHOOK_SIGNATURE, signature);
    }
    Ok((order, client))
}

fn signature(
    keys: &Keys,
    deliverer: &Deliverer,
    order: &Order,
    seconds: i64,
) -> Result<HeaderValue, Outcome> {
    let (name, signing) = match keys {
        Keys::Named(name) => (name.as_str(), &deliverer.signing),
        Keys::Given(secrets) => {
            let mut given = Signing::default();
            given
                .set(GIVEN, secrets)
                .map_err(|fault| failed(format!("nothing was sent: secrets: {fault}")))?;
            return signed(&given, GIVEN, order, seconds).ok_or_else(|| no_key(GIVEN));
        }
    };
    signed(signing, name, order, seconds).ok_or_else(|| no_key(name))
}

fn signed(signing: &Signing, name: &str, order: &Order, seconds: i64) -> Option<HeaderValue> {
    let text = signing.sign(name, &order.id, seconds, order.body.as_bytes())?;
    HeaderValue::from_str(&text).ok()
}

fn no_key(name: &str) -> Outcome {
    let (name, variable) = (one_line(name, 60), one_line(&variable_part(name), 60));
    failed(format!(
        "there is no signing key `{name}` here, so nothing was sent; write `[signing.{name}]` with `secret = \"whsec_…\"` \
         into the configuration, or set STEPFAST_SIGNING_{variable}, wherever `deliver` runs"
    ))
}

fn too_slow(place: &str, patience: Duration) -> Came {
    let message = format!("{place}: no whole answer within {} ms", patience.as_millis());
    Came::without_answer(DeliveryError::Timeout, again(message, None))
}

fn not_reached(claim: &Claim, place: &str, problem: reqwest::Error) -> Came {
    if let Some(refused) = cause::<Refused>(&problem) {
        warn!(target: "worker", step = %claim.step, "deliver is not allowed to go there: {refused}");
        return Came::without_answer(DeliveryError::Validation, failed(format!("{place}: {refused}")));
    }
    let error = match &problem {
        problem if problem.is_timeout() => DeliveryError::Timeout,
        problem if problem.is_builder() || problem.is_decode() => DeliveryError::Unknown,
        _ => DeliveryError::Connection,
    };
    Came::without_answer(error, again(format!("{place}: no answer: {}", root(problem)), None))
}

/// An answer whose head is here.
struct Answer<'a> {
    place: &'a str,
    response: Response,
    deadline: Instant,
    timeout: Duration,
}

impl Answer<'_> {
    async fn judged(mut self, deferrals: u32) -> Came {
        let (status, mut body) = (self.response.status(), Vec::new());
        let mut is_whole = true;
        if status.is_success() {
            match timeout_at(self.deadline, self.read(&mut body)).await {
                Err(_) => {
                    return Came { body: Some(body), ..self.answered(too_slow(self.place, self.timeout)) };
                }
                Ok(Err(problem)) => {
                    let message = format!("{}: the answer broke off: {}", self.place, root(problem));
                    let came = Came::without_answer(DeliveryError::Connection, again(message, None));
                    return Came { body: Some(body), ..self.answered(came) };
                }
                Ok(Ok(whole)) => is_whole = whole,
            }
        } else {
            // Whatever came by then is kept; the status is what counts.
            let wait = BEGINNING_WAIT.min(self.deadline.saturating_duration_since(Instant::now()));
            let _ = timeout(wait, self.read(&mut body)).await;
        }
        let asked = retry_after(self.response.headers());
        let (error, outcome) = match judge(status.as_u16(), asked, is_whole.then_some(&body), deferrals) {
            Verdict::Complete => (None, Outcome::Complete { response: None }),
            Verdict::Defer(after) => {
                ((!status.is_success()).then_some(DeliveryError::HttpError), Outcome::Throttle { after })
            }
            Verdict::Fail => {
                (Some(DeliveryError::HttpError), again(words(self.place, &self.response, &body), None))
            }
        };
        self.answered(Came { outcome, http_code: None, error, body: Some(body) })
    }

    async fn read(&mut self, body: &mut Vec<u8>) -> Result<bool, reqwest::Error> {
        most(&mut self.response, limits::DELIVERY_BODY_BYTES_MAX, body).await
    }

    fn answered(&self, came: Came) -> Came {
        Came { http_code: Some(self.response.status().as_u16()), ..came }
    }
}
