//! Reads what a request says, or says what is wrong with it.

use crate::error::ApiError;
use axum::body::Bytes;
use axum::extract::{self, FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use engine::SeenStep;
use model::{FlowId, KeyId, StepId, SubscriptionId, Timestamp, Trace, WorkflowId, limits};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use std::convert::Infallible;

/// The largest body that is read.
pub const BODY_BYTES_MAX: usize = 16 << 20;

const _: () = assert!(BODY_BYTES_MAX >= 8 * limits::PAYLOAD_BYTES_MAX);

/// A JSON body.
pub struct Posted<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Posted<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let PostedText(bytes) = PostedText::from_request(request, state).await?;
        serde_json::from_slice(&bytes).map(Posted).map_err(|problem| unreadable(&problem))
    }
}

/// A body as it was sent.
pub struct PostedText(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for PostedText {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = Bytes::from_request(request, state).await;
        bytes.map(PostedText).map_err(|refused| match refused.status() {
            StatusCode::PAYLOAD_TOO_LARGE => ApiError::TooLarge { max: BODY_BYTES_MAX },
            _ => ApiError::BadRequest(refused.body_text()),
        })
    }
}

/// A definition as its author wrote it, in YAML or JSON.
pub struct PostedDefinition(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for PostedDefinition {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        PostedText::from_request(request, state).await.map(|PostedText(bytes)| PostedDefinition(bytes))
    }
}

/// A body that says no more than who asks, where the caller has no key.
#[derive(serde::Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Signed {
    pub by: Option<String>,
}

/// serde's words for JSON that goes deeper than it follows.
const TOO_DEEP: &str = "recursion limit exceeded";

/// The message of serde ends with line and column.
fn unreadable(problem: &serde_json::Error) -> ApiError {
    let text = problem.to_string();
    if text.starts_with(TOO_DEEP) {
        let fix = "create the upper levels first and name them as `parent_step_id`";
        return ApiError::fault("body", format!("it is nested too deep to be read: {text}"), fix);
    }
    match problem.classify() {
        Category::Data => ApiError::fault("body", text, "correct that field"),
        _ => ApiError::Malformed(text),
    }
}

/// The `ETag` of what the caller has seen, from `If-Match`; none where it is left out, or is `*`.
pub struct Expected(Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for Expected {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Expected::read(&parts.headers))
    }
}

impl Expected {
    fn read(headers: &HeaderMap) -> Expected {
        let said = headers.get(header::IF_MATCH).map(|value| value.to_str().unwrap_or_default().trim());
        Expected(said.filter(|tag| *tag != "*").map(|tag| tag.trim_matches('"').to_string()))
    }

    /// As it was sent, of what is told by what it says.
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Of what counts how often it was written.
    pub fn revision(&self) -> Result<Option<u64>, ApiError> {
        self.0.as_deref().map(|tag| tag.parse().map_err(|_| strange_tag(tag, "3"))).transpose()
    }

    /// Of a step: how often it was written, and its attempt.
    pub fn step(&self) -> Result<Option<SeenStep>, ApiError> {
        let read = |tag: &str| {
            let (version, attempt) = tag.split_once('-')?;
            Some(SeenStep { version: version.parse().ok()?, attempt: attempt.parse().ok()? })
        };
        self.0.as_deref().map(|tag| read(tag).ok_or_else(|| strange_tag(tag, "3-1"))).transpose()
    }
}

fn strange_tag(tag: &str, such: &str) -> ApiError {
    let how = format!("send the `ETag` of what you have seen, such as \"{such}\"");
    ApiError::BadRequest(format!("If-Match: `{tag}` is not a revision; {how}"))
}

/// The parameters behind the question mark; an unknown one is refused with those that are known.
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let read = Query::<T>::try_from_uri(&parts.uri);
        read.map(|Query(params)| Params(params)).map_err(|refused| ApiError::BadRequest(refused.body_text()))
    }
}

/// The trace that the caller is in. A header that says something else is as none, as the standard asks.
pub struct Traced(pub Option<Trace>);

impl<S: Send + Sync> FromRequestParts<S> for Traced {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        // A state belongs to its parent: it is read behind it, and `parse` would take one that stands in the same header.
        let parent = text("traceparent").filter(|text| !text.contains(' '));
        let trace = parent.and_then(|parent| parent.parse::<Trace>().ok());
        Ok(Traced(trace.map(|trace| trace.with_state(text("tracestate")))))
    }
}

/// The step that the path names.
pub struct ThisStep(pub StepId);

impl<S: Send + Sync> FromRequestParts<S> for ThisStep {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        step_id(&named(parts, state).await?).map(ThisStep)
    }
}

/// The workflow that the path names.
pub struct ThisWorkflow(pub WorkflowId);

impl<S: Send + Sync> FromRequestParts<S> for ThisWorkflow {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        workflow_id(&named(parts, state).await?).map(ThisWorkflow)
    }
}

/// What stands in the path.
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let said = extract::Path::<T>::from_request_parts(parts, state).await;
        said.map(|extract::Path(said)| Path(said))
            .map_err(|refused| ApiError::BadRequest(refused.body_text()))
    }
}

/// What stands in the path for `{id}`.
async fn named<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<String, ApiError> {
    #[derive(serde::Deserialize)]
    struct Named {
        id: String,
    }
    let Path(Named { id }) = Path::from_request_parts(parts, state).await?;
    Ok(id)
}

pub fn workflow_id(text: &str) -> Result<WorkflowId, ApiError> {
    let strange = || {
        format!("`{text}` is not the id of a workflow; they are UUIDs, and `GET /v1/workflows` lists them")
    };
    text.parse().map_err(|_| ApiError::BadRequest(strange()))
}

/// The flow that the path names.
pub struct ThisFlow(pub FlowId);

impl<S: Send + Sync> FromRequestParts<S> for ThisFlow {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        flow_id(&named(parts, state).await?).map(ThisFlow)
    }
}

pub fn flow_id(text: &str) -> Result<FlowId, ApiError> {
    let strange =
        || format!("`{text}` is not the id of a flow; they are UUIDs, and `GET /v1/flows` lists them");
    text.parse().map_err(|_| ApiError::BadRequest(strange()))
}

/// The subscription that the path names.
pub struct ThisSubscription(pub SubscriptionId);

impl<S: Send + Sync> FromRequestParts<S> for ThisSubscription {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        subscription_id(&named(parts, state).await?).map(ThisSubscription)
    }
}

pub fn subscription_id(text: &str) -> Result<SubscriptionId, ApiError> {
    let strange = || format!("`{text}` is not the id of a subscription; `GET /v1/subscriptions` lists them");
    text.parse().map_err(|_| ApiError::BadRequest(strange()))
}

/// The key that the path names.
pub struct ThisKey(pub KeyId);

impl<S: Send + Sync> FromRequestParts<S> for ThisKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(id) = Path::<String>::from_request_parts(parts, state).await?;
        // It is not repeated: it may be a whole key that somebody put there.
        let strange =
            "this is not the id of a key; `GET /v1/keys` lists them, and the key itself belongs nowhere else";
        id.parse().map(ThisKey).map_err(|_| ApiError::BadRequest(strange.into()))
    }
}

pub fn step_id(text: &str) -> Result<StepId, ApiError> {
    text.parse().map_err(|_| ApiError::BadRequest(format!("`{text}` is not a step id; step ids are UUIDs")))
}

/// An instant that a parameter says.
pub fn instant(name: &str, text: &str) -> Result<Timestamp, ApiError> {
    let read: Result<jiff::Timestamp, _> = text.parse();
    let strange = |_| format!("{name}: `{text}` is not an instant; write one such as 2027-01-15T08:00:00Z");
    read.map(|at| Timestamp(at.as_microsecond())).map_err(|problem| ApiError::BadRequest(strange(problem)))
}

/// Rows of a list when a request does not say.
const ROWS_DEFAULT: usize = 50;

/// How many rows of a list are wanted.
pub fn page_size(limit: Option<usize>) -> Result<usize, ApiError> {
    let limit = limit.unwrap_or(ROWS_DEFAULT);
    if (1..=limits::PAGE_ROWS_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(ApiError::BadRequest(format!("limit: {limit} is not between 1 and {}", limits::PAGE_ROWS_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(body: &str) -> String {
        match serde_json::from_str::<wire::BreakerBody>(body).map_err(|e| unreadable(&e)) {
            Ok(_) => "ok".into(),
            Err(ApiError::Invalid(faults)) => faults[0].to_string(),
            Err(other) => other.to_string(),
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        assert_eq!(
            told("{\n  \"off\": tru"),
            "the body is not JSON: EOF while parsing a value at line 2 column 12"
        );
        assert!(told("{\"of\": true}").starts_with("body: unknown field `of`, expected one of `off`, `why`"));
        assert!(
            told("{\"off\": 3}").contains("invalid type: integer `3`, expected a boolean at line 1 column 9")
        );
    }

    fn expected(text: &'static str) -> Expected {
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_MATCH, axum::http::HeaderValue::from_static(text));
        Expected::read(&headers)
    }

    #[test]
    fn a_revision_is_read_as_it_was_sent() {
        assert_eq!(Expected::read(&HeaderMap::new()).revision().unwrap(), None);
        let read = |text| expected(text).revision().map_err(|refused| refused.to_string());
        assert_eq!((read("\"17\""), read("17"), read("*")), (Ok(Some(17)), Ok(Some(17)), Ok(None)));
        for bad in ["W/\"17\"", "\"1\", \"2\"", "x", "", "17-1"] {
            assert!(read(bad).unwrap_err().contains("is not a revision"), "{bad}");
        }
        assert_eq!(expected("\"3-1\"").step().unwrap(), Some(SeenStep { version: 3, attempt: 1 }));
        assert!(expected("\"3\"").step().is_err() && expected("*").step().unwrap().is_none());
    }

    #[test]
    fn a_tree_that_is_too_deep_is_refused_with_a_way_out() {
        let body = "{\"children\":[".repeat(70);
        let problem = serde_json::from_str::<model::NewStep>(&body).unwrap_err();
        let ApiError::Invalid(faults) = unreadable(&problem) else { panic!("{problem}") };
        assert!(faults[0].fix.contains("parent_step_id"));
    }
}
