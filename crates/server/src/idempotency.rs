//! The `Idempotency-Key` header: a POST that is sent again is answered again, not done again.
//!
//! Why    a client whose connection broke cannot know whether it was heard. The first request with a key runs on its own task, so
//!        that it ends and is recorded also when nobody waits for it any more. The body counts to the letter, with the address.

use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::BODY_BYTES_MAX;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::response::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use engine::{Ask, Begin, Begun, Executions};
use model::limits;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;

const HEADER: &str = "idempotency-key";
const REPLAYED: &str = "idempotency-replayed";
/// What the namespaces of the header begin with; the route follows.
pub const NAMESPACE: &str = "http ";
/// The largest answer that is looked at; those of the API are smaller.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// What these answer holds a secret that is shown once and kept nowhere: sent again, they are not done again, and say so.
const SHOWN_ONCE: [&str; 7] = [
    "/v1/keys",
    "/v1/subscriptions",
    "/v1/subscriptions/{id}",
    "/v1/channels",
    "/v1/workflows/{id}/triggers/{key}/token",
    "/v1/worker/claim",
    "/v1/worker/previous",
];
/// Forms of people.
const UNHEARD: [&str; 3] = ["/sign-in", "/sign-out", "/approve/{workflow_id}/{trigger_key}"];
/// Beside the body, in what is kept of an answer.
const AROUND_BYTES: usize = 512;
/// Of a header that is kept; those of the API are shorter.
const HEADER_BYTES_MAX: usize = 128;

/// Whether the header counts for this route.
pub fn is_heard(route: &str) -> bool {
    !UNHEARD.contains(&route)
}

pub async fn once(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    // Of somebody who has not shown yet who they are nothing is kept, and nothing that was kept is told to them.
    let known = !matches!(request.extensions().get::<Caller>(), None | Some(Caller::Nobody));
    let counts = known && *request.method() == Method::POST;
    let key = request.headers().get(HEADER).filter(|_| counts).cloned();
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_string());
    match key.zip(route.filter(|route| is_heard(route))) {
        None => next.run(request).await,
        Some((key, route)) => match keyed(&app, &key, &route, request, next).await {
            Ok(response) => response,
            Err(refused) => refused.into_response(),
        },
    }
}

async fn keyed(
    app: &App,
    key: &HeaderValue,
    route: &str,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let unreadable = |_| ApiError::BadRequest("Idempotency-Key: use visible ASCII characters".into());
    let key = key.to_str().map_err(unreadable)?.trim();
    let (parts, body) = request.into_parts();
    let too_large = |_| ApiError::TooLarge { max: BODY_BYTES_MAX };
    let body = to_bytes(body, BODY_BYTES_MAX).await.map_err(too_large)?;
    let place = parts.uri.path_and_query().map_or_else(|| parts.uri.path(), |p| p.as_str());
    let input = [place.as_bytes(), b"\n", &body].concat();
    // What one caller was answered is not told to another.
    let caller = parts.extensions.get::<Caller>().and_then(Caller::key);
    let by = caller.map(|key| format!(" by {}", key.id)).unwrap_or_default();
    let ask = Ask::new(format!("{NAMESPACE}POST {route}{by}"), key)
        .input_text(&input)
        .max_attempts(limits::ATTEMPTS_MAX);
    let executions = app.site.engine.executions().clone();
    match executions.begin(&ask).await? {
        Begin::Replay { answer } => replay(&ask, &answer),
        Begin::Run(begun) => {
            let request = Request::from_parts(parts, Body::from(body));
            let keep = if SHOWN_ONCE.contains(&route) { Keep::Status } else { Keep::Answer };
            let run = tokio::spawn(async move { run(&executions, (&begun, keep), request, next).await });
            run.await.map_err(|_| ApiError::NotReady("the request was given up".into()))?
        }
    }
}

async fn run(
    executions: &Executions,
    (begun, keep): (&Begun, Keep),
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let response = executions.hold(begun, next.run(request)).await?;
    let (parts, body) = response.into_parts();
    let unreadable = |e: axum::Error| ApiError::NotReady(format!("the answer could not be read: {e}"));
    let body = to_bytes(body, ANSWER_BYTES_MAX).await.map_err(unreadable)?;
    let recorded = if parts.status.is_server_error() {
        executions.fail(&begun.held, format!("answered {}", parts.status)).await
    } else {
        let kept = Kept::of(&parts, &body, keep);
        executions.complete(&begun.held, kept.text()).await
    };
    if let Err(problem) = recorded {
        // It was done, and whoever waits is told so; the key is free again once its lease is over.
        tracing::warn!(target: "server", %problem, "an answer was not kept: {problem}");
    }
    Ok(Response::from_parts(parts, Body::from(body)))
}

/// How much of an answer is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Answer,
    /// That it was done; a refusal has no secret and is kept whole.
    Status,
}

/// An answer as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    status: u16,
    content_type: Option<String>,
    /// Of what it shows, for whoever says next what they have seen.
    #[serde(default)]
    etag: Option<String>,
    /// None where there was none.
    body: Option<Box<RawValue>>,
    /// The size of a body that was too large.
    left_out: Option<usize>,
}

impl Kept {
    fn of(answer: &Parts, body: &Bytes, keep: Keep) -> Kept {
        let status = answer.status;
        let is_secret = keep == Keep::Status && status.is_success();
        let fits = body.len() + AROUND_BYTES <= limits::PAYLOAD_BYTES_MAX && !is_secret;
        let text = std::str::from_utf8(body).ok().filter(|_| fits);
        let raw = text.and_then(|text| RawValue::from_string(text.into()).ok());
        let left_out = (raw.is_none() && !body.is_empty()).then_some(body.len());
        let said = |name: HeaderName| {
            let said = answer.headers.get(name)?.to_str().ok()?;
            (said.len() <= HEADER_BYTES_MAX).then(|| said.to_string())
        };
        let (content_type, etag) = (said(header::CONTENT_TYPE), said(header::ETAG));
        Kept { status: status.as_u16(), content_type, etag, body: raw, left_out }
    }
    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn replay(ask: &Ask, answer: &str) -> Result<Response, ApiError> {
    let unreadable = |problem: String| {
        ApiError::Execution(engine::ExecutionError::Unreadable { name: ask.name.clone(), problem })
    };
    let kept: Kept = serde_json::from_str(answer).map_err(|e| unreadable(e.to_string()))?;
    if let Some(bytes) = kept.left_out {
        if bytes + AROUND_BYTES <= limits::PAYLOAD_BYTES_MAX {
            return Err(ApiError::ShownOnce(ask.name.to_string()));
        }
        let name = ask.name.clone();
        return Err(ApiError::Execution(engine::ExecutionError::AnswerTooLarge { name, bytes }));
    }
    let body = kept.body.map_or_else(Body::empty, |raw| Body::from(raw.get().to_string()));
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(kept.status).map_err(|e| unreadable(e.to_string()))?;
    let headers = response.headers_mut();
    for (name, said) in [(header::CONTENT_TYPE, kept.content_type), (header::ETAG, kept.etag)] {
        if let Some(said) = said.and_then(|said| HeaderValue::try_from(said).ok()) {
            headers.insert(name, said);
        }
    }
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}
