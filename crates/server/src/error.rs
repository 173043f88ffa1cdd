//! The one place where a refusal gets its HTTP status and its stable code.

use crate::throttle::Wrong;
use axum::Json;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use definition::Diagnostic;
use engine::{EngineError, ExecutionError, FlowError, FlowRefusal, Refusal};
use model::Fault;
use std::time::Duration;
use store::StoreError;
use thiserror::Error;

/// How a key is sent.
pub const CHALLENGE: &str = "Bearer realm=\"stepfast\"";

#[derive(Debug, Error)]
pub enum ApiError {
    #[error("the body is not JSON: {0}")]
    Malformed(String),
    /// The address or its parameters are not understood.
    #[error("{0}")]
    BadRequest(String),
    #[error("the body is understood but cannot be carried out; see `faults`")]
    Invalid(Vec<Fault>),
    #[error("{}", definition_told(.0))]
    Definition(Vec<Diagnostic>),
    #[error("{0}")]
    NotFound(String),
    /// Not as things are now.
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    NotAllowed(String),
    #[error("{0}")]
    Forbidden(String),
    #[error("this needs a key; send it as `Authorization: Bearer sf_…`, or sign in at /sign-in")]
    NoKey,
    /// Which of these it is, is nobody's business.
    #[error("the key is not valid: it is unknown, revoked or expired")]
    BadKey,
    /// Which of these it is, is nobody's business.
    #[error(
        "it is not shown who sends this: there is no such trigger, or the signature, token or key is not right"
    )]
    NotShown,
    /// What was sent to a trigger has another shape.
    #[error("{0}")]
    Unfit(String),
    #[error("it is too late: {0}")]
    Gone(String),
    #[error("{0}")]
    TooMany(String),
    #[error("too many {what}; try again in {} s", seconds(.retry_after))]
    TooOften { what: &'static str, retry_after: Duration },
    #[error("the key may not do this in these queues; see `faults`")]
    OutOfScope(Vec<Fault>),
    #[error("the body is larger than {max} bytes; send less at once")]
    TooLarge { max: usize },
    #[error("the body did not arrive within {} s; send it without a break, or less at once", .within.as_secs_f64())]
    TooSlow { within: Duration },
    #[error(
        "the body must be JSON; send `Content-Type: application/json` (a form is taken by /sign-in alone)"
    )]
    MediaType,
    #[error("the body must be YAML or JSON; send `Content-Type: application/yaml` or `application/json`")]
    TextType,
    #[error("{0}")]
    NotReady(String),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Execution(#[from] ExecutionError),
    #[error(transparent)]
    Flow(FlowError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<FlowError> for ApiError {
    /// What is not about flows is told as everywhere.
    fn from(problem: FlowError) -> ApiError {
        match problem {
            FlowError::Invalid(faults) => ApiError::Invalid(faults),
            FlowError::Engine(problem) => ApiError::Engine(problem),
            FlowError::Unavailable(problem) => ApiError::Store(problem),
            refused @ FlowError::Refused { .. } => ApiError::Flow(refused),
        }
    }
}

/// The status of an answer, its code, and its title.
type Class = (StatusCode, &'static str, &'static str);

const INVALID: Class = (StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", "Invalid request");
const NOT_FOUND: Class = (StatusCode::NOT_FOUND, "not_found", "Not found");
const REFUSED: Class = (StatusCode::CONFLICT, "refused", "Refused");
const UNAVAILABLE: Class = (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Try again later");

fn engine_class(problem: &EngineError) -> Class {
    match problem {
        EngineError::Invalid(_) | EngineError::NoGroup(_) => INVALID,
        EngineError::NoStep(_)
        | EngineError::NoWorkflow(_)
        | EngineError::NoDefinition(_)
        | EngineError::NoChannel(_)
        | EngineError::NoAlert(_) => NOT_FOUND,
        EngineError::DefinitionDiffers { .. } => {
            (StatusCode::CONFLICT, "definition_differs", "This version says something else")
        }
        EngineError::WorkflowChanged { .. } => {
            (StatusCode::PRECONDITION_FAILED, "changed", "It has changed since")
        }
        EngineError::NoTrigger { .. } => (StatusCode::CONFLICT, "no_such_trigger", "It never waits for this"),
        EngineError::NoSession => (StatusCode::CONFLICT, "no_session", "The session is over"),
        EngineError::Refused { .. }
        | EngineError::GroupRefused { .. }
        | EngineError::WorkflowRefused { .. }
        | EngineError::SubscriptionChanged(_)
        | EngineError::AlertRefused { .. }
        | EngineError::StuckRuleChanged(_)
        | EngineError::Apart
        | EngineError::Undone => REFUSED,
        EngineError::Unstorable(_) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "not_storable", "The database refuses it")
        }
        EngineError::Unavailable(problem) => store_class(problem),
        EngineError::Stopping => UNAVAILABLE,
    }
}

fn store_class(problem: &StoreError) -> Class {
    match problem {
        StoreError::Corrupt { .. } => {
            (StatusCode::INTERNAL_SERVER_ERROR, "corrupt", "A row is not understood")
        }
        _ => UNAVAILABLE,
    }
}

impl ApiError {
    /// One fault in a body that could be read.
    pub fn fault(field: &str, problem: impl Into<String>, fix: impl Into<String>) -> ApiError {
        ApiError::Invalid(vec![Fault { field: field.into(), problem: problem.into(), fix: fix.into() }])
    }

    fn class(&self) -> Class {
        match self {
            ApiError::Malformed(_) => (StatusCode::BAD_REQUEST, "malformed_json", "Malformed JSON"),
            ApiError::BadRequest(_) => (StatusCode::BAD_REQUEST, "invalid_request", "Invalid request"),
            ApiError::Invalid(_) => INVALID,
            ApiError::Definition(_) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "invalid_definition", "Invalid definition")
            }
            ApiError::NotFound(_) => NOT_FOUND,
            ApiError::NotAllowed(_) => {
                (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "Method not allowed")
            }
            ApiError::NoKey | ApiError::BadKey | ApiError::NotShown => {
                (StatusCode::UNAUTHORIZED, "unauthorized", "Unauthorized")
            }
            ApiError::Forbidden(_) | ApiError::OutOfScope(_) => {
                (StatusCode::FORBIDDEN, "forbidden", "Forbidden")
            }
            ApiError::Unfit(_) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "payload_rejected", "Not what is waited for")
            }
            ApiError::Gone(_) => (StatusCode::GONE, "late", "Too late"),
            ApiError::TooMany(_) | ApiError::TooOften { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, "too_many", "Too many")
            }
            ApiError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "too_large", "Too large"),
            ApiError::TooSlow { .. } => (StatusCode::REQUEST_TIMEOUT, "too_slow", "Too slow"),
            ApiError::MediaType | ApiError::TextType => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", "Unsupported media type")
            }
            ApiError::Conflict(_) => REFUSED,
            ApiError::Engine(problem) => engine_class(problem),
            ApiError::Execution(problem) => execution_class(problem),
            ApiError::Flow(problem) => flow_class(problem),
            ApiError::Store(problem) => store_class(problem),
            ApiError::NotReady(_) => (StatusCode::SERVICE_UNAVAILABLE, "not_ready", "Not ready"),
        }
    }

    fn faults(&self) -> Vec<wire::Fault> {
        match self {
            ApiError::Invalid(faults)
            | ApiError::OutOfScope(faults)
            | ApiError::Engine(EngineError::Invalid(faults))
            | ApiError::Execution(ExecutionError::Invalid(faults)) => {
                faults.iter().map(crate::convert::fault).collect()
            }
            ApiError::Engine(EngineError::NoGroup(_)) => vec![wire::Fault {
                field: "dispatch_group".into(),
                problem: self.to_string(),
                fix: "name one that `GET /v1/groups` lists".into(),
            }],
            _ => Vec::new(),
        }
    }

    fn errors(&self) -> Vec<wire::DefinitionFault> {
        match self {
            ApiError::Definition(found) => found.iter().map(crate::convert::definition_fault).collect(),
            _ => Vec::new(),
        }
    }

    fn problem(&self) -> wire::Problem {
        let (status, code, title) = self.class();
        wire::Problem {
            kind: format!("urn:stepfast:problem:{code}"),
            title: title.into(),
            status: status.as_u16(),
            detail: self.to_string(),
            code: code.into(),
            faults: self.faults(),
            errors: self.errors(),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code, _) = self.class();
        if status.is_server_error() {
            tracing::warn!(target: "server", code, problem = %self, "a request was not answered: {self}");
        }
        let mut response = (status, Json(self.problem())).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let ApiError::Execution(ExecutionError::InProgress { retry_after, .. }) = &self {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds(retry_after)));
        } else if let ApiError::TooOften { retry_after, .. } = &self {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds(retry_after)));
        } else if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if status == StatusCode::REQUEST_TIMEOUT {
            // What may still come of the body is not waited for.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if matches!(self, ApiError::BadKey | ApiError::NotShown) {
            response.extensions_mut().insert(Wrong);
        }
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(CHALLENGE));
        }
        response
    }
}

/// Whole seconds, and at least one.
fn seconds(wait: &Duration) -> u64 {
    wait.as_secs_f64().ceil().max(1.0) as u64
}

/// The first of what is wrong, and how much more there is.
fn definition_told(found: &[Diagnostic]) -> String {
    let Some(Diagnostic { line, column, message, fix, .. }) = found.first() else {
        return "the definition cannot be read".into();
    };
    let more = match found.len() {
        1 => String::new(),
        n => format!(" ({} more, see `errors`)", n - 1),
    };
    format!("line {line}, column {column}: {message}; {fix}{more}")
}

fn flow_class(problem: &FlowError) -> (StatusCode, &'static str, &'static str) {
    match problem {
        FlowError::Refused { why: FlowRefusal::NotThere, .. } => {
            (StatusCode::NOT_FOUND, "not_found", "Not found")
        }
        FlowError::Refused { why: FlowRefusal::UnknownStep { .. }, .. } => {
            (StatusCode::CONFLICT, "unknown_step", "The flow has no such step")
        }
        _ => (StatusCode::CONFLICT, "refused", "Refused"),
    }
}

fn execution_class(problem: &ExecutionError) -> (StatusCode, &'static str, &'static str) {
    match problem {
        ExecutionError::Invalid(_) => {
            (StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", "Invalid request")
        }
        ExecutionError::InProgress { .. } => (StatusCode::CONFLICT, "in_progress", "In progress"),
        ExecutionError::Conflict { .. } => {
            (StatusCode::UNPROCESSABLE_ENTITY, "key_conflict", "The key was used for something else")
        }
        ExecutionError::GivenUp { .. } => (StatusCode::CONFLICT, "given_up", "Given up"),
        ExecutionError::Refused { why: Refusal::NotThere, .. } => {
            (StatusCode::NOT_FOUND, "not_found", "Not found")
        }
        ExecutionError::Refused { why: Refusal::Lost { .. }, .. } => {
            (StatusCode::CONFLICT, "lease_lost", "The lease was lost")
        }
        ExecutionError::Refused { why: Refusal::Ended, .. } => {
            (StatusCode::CONFLICT, "already_ended", "It has ended already")
        }
        ExecutionError::AnswerTooLarge { .. } => {
            (StatusCode::CONFLICT, "answer_not_kept", "The answer was not kept")
        }
        ExecutionError::Unreadable { .. } | ExecutionError::Unavailable(StoreError::Corrupt { .. }) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "corrupt", "A row is not understood")
        }
        ExecutionError::Unavailable(StoreError::Unfit(_)) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "not_storable", "The database refuses it")
        }
        ExecutionError::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Try again later"),
    }
}

pub async fn no_such_page(uri: Uri) -> ApiError {
    ApiError::NotFound(format!("there is nothing at {}", uri.path()))
}

pub async fn no_such_method(method: Method, uri: Uri) -> ApiError {
    ApiError::NotAllowed(format!("{} does not answer {method}", uri.path()))
}
