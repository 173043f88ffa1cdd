//! The one place where a refusal gets its HTTP status and its stable code.

use crate::codes::{self, Code};
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
    /// It was done, and what was answered is told once.
    #[error("{0} is done; its answer holds a secret, which is shown once and kept nowhere")]
    ShownOnce(String),
    /// Not what the caller has seen.
    #[error("{0}")]
    Changed(String),
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
    /// There is room again when something else has happened.
    #[error("{why}")]
    TooMany { why: String, retry_after: Duration },
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
    #[error("this request could not be carried out; the log says why")]
    Fell,
    /// What it is stands in the log, and is told to whoever may operate.
    #[error("this cannot be answered now; the log of the server says why")]
    Unsaid(&'static Code),
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

type Class = &'static Code;

fn engine_class(problem: &EngineError) -> Class {
    match problem {
        EngineError::Invalid(_) | EngineError::NoGroup(_) => codes::INVALID,
        EngineError::NoStep(_)
        | EngineError::NoWorkflow(_)
        | EngineError::NoDefinition(_)
        | EngineError::NoChannel(_)
        | EngineError::NoAlert(_) => codes::NOT_FOUND,
        EngineError::DefinitionDiffers { .. } => codes::DEFINITION_DIFFERS,
        EngineError::WorkflowChanged { .. } | EngineError::Changed { .. } => codes::CHANGED,
        EngineError::NoTrigger { .. } => codes::NO_TRIGGER,
        EngineError::NoSession => codes::NO_SESSION,
        EngineError::Refused { .. }
        | EngineError::GroupRefused { .. }
        | EngineError::WorkflowRefused { .. }
        | EngineError::SubscriptionChanged(_)
        | EngineError::AlertRefused { .. }
        | EngineError::StuckRuleChanged(_)
        | EngineError::Apart
        | EngineError::Undone => codes::REFUSED,
        EngineError::Unstorable(_) => codes::NOT_STORABLE,
        EngineError::Unavailable(problem) => store_class(problem),
        EngineError::Stopping => codes::UNAVAILABLE,
    }
}

fn store_class(problem: &StoreError) -> Class {
    match problem {
        StoreError::Corrupt { .. } => codes::CORRUPT,
        _ => codes::UNAVAILABLE,
    }
}

impl ApiError {
    /// One fault in a body that could be read.
    pub fn fault(field: &str, problem: impl Into<String>, fix: impl Into<String>) -> ApiError {
        ApiError::Invalid(vec![Fault { field: field.into(), problem: problem.into(), fix: fix.into() }])
    }

    /// What a stranger is told of whatever is wrong inside.
    pub fn nobodys_business() -> ApiError {
        ApiError::Unsaid(codes::UNAVAILABLE)
    }

    fn class(&self) -> Class {
        match self {
            ApiError::Malformed(_) => codes::MALFORMED,
            ApiError::BadRequest(_) => codes::BAD_REQUEST,
            ApiError::Invalid(_) => codes::INVALID,
            ApiError::Definition(_) => codes::INVALID_DEFINITION,
            ApiError::NotFound(_) => codes::NOT_FOUND,
            ApiError::NotAllowed(_) => codes::NOT_ALLOWED,
            ApiError::NoKey | ApiError::BadKey | ApiError::NotShown => codes::UNAUTHORIZED,
            ApiError::Forbidden(_) | ApiError::OutOfScope(_) => codes::FORBIDDEN,
            ApiError::Unfit(_) => codes::PAYLOAD_REJECTED,
            ApiError::Gone(_) => codes::LATE,
            ApiError::TooMany { .. } | ApiError::TooOften { .. } => codes::TOO_MANY,
            ApiError::TooLarge { .. } => codes::TOO_LARGE,
            ApiError::TooSlow { .. } => codes::TOO_SLOW,
            ApiError::MediaType | ApiError::TextType => codes::MEDIA_TYPE,
            ApiError::Conflict(_) => codes::REFUSED,
            ApiError::Changed(_) => codes::CHANGED,
            ApiError::ShownOnce(_) => codes::ANSWER_NOT_KEPT,
            ApiError::Engine(problem) => engine_class(problem),
            ApiError::Execution(problem) => execution_class(problem),
            ApiError::Flow(problem) => flow_class(problem),
            ApiError::Store(problem) => store_class(problem),
            ApiError::Fell => codes::INTERNAL,
            ApiError::Unsaid(code) => code,
            ApiError::NotReady(_) => codes::NOT_READY,
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
        let code = self.class();
        wire::Problem {
            kind: code.address(),
            title: code.title.into(),
            status: code.status.as_u16(),
            detail: self.to_string(),
            code: code.word.into(),
            faults: self.faults(),
            errors: self.errors(),
        }
    }
}

/// Goes with an answer that says what is wrong inside.
#[derive(Clone, Copy)]
pub struct Inside(pub &'static Code);

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let class = self.class();
        let Code { status, word: code, .. } = *class;
        if status.is_server_error() && !matches!(self, ApiError::Unsaid(_)) {
            tracing::warn!(target: "server", code, problem = %self, "a request was not answered: {self}");
        }
        let mut response = (status, Json(self.problem())).into_response();
        if status.is_server_error() && !matches!(self, ApiError::NotReady(_)) {
            response.extensions_mut().insert(Inside(class));
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let ApiError::Execution(ExecutionError::InProgress { retry_after, .. }) = &self {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds(retry_after)));
        } else if let ApiError::TooOften { retry_after, .. } | ApiError::TooMany { retry_after, .. } = &self {
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

fn flow_class(problem: &FlowError) -> Class {
    match problem {
        FlowError::Refused { why: FlowRefusal::NotThere, .. } => codes::NOT_FOUND,
        FlowError::Refused { why: FlowRefusal::UnknownStep { .. }, .. } => codes::UNKNOWN_STEP,
        _ => codes::REFUSED,
    }
}

fn execution_class(problem: &ExecutionError) -> Class {
    match problem {
        ExecutionError::Invalid(_) => codes::INVALID,
        ExecutionError::InProgress { .. } => codes::IN_PROGRESS,
        ExecutionError::Conflict { .. } => codes::KEY_CONFLICT,
        ExecutionError::GivenUp { .. } => codes::GIVEN_UP,
        ExecutionError::Refused { why: Refusal::NotThere, .. } => codes::NOT_FOUND,
        ExecutionError::Refused { why: Refusal::Lost { .. }, .. } => codes::LEASE_LOST,
        ExecutionError::Refused { why: Refusal::Ended, .. } => codes::ALREADY_ENDED,
        ExecutionError::AnswerTooLarge { .. } => codes::ANSWER_NOT_KEPT,
        ExecutionError::Unreadable { .. } | ExecutionError::Unavailable(StoreError::Corrupt { .. }) => {
            codes::CORRUPT
        }
        ExecutionError::Unavailable(StoreError::Unfit(_)) => codes::NOT_STORABLE,
        ExecutionError::Unavailable(_) => codes::UNAVAILABLE,
    }
}

pub async fn no_such_page(uri: Uri) -> ApiError {
    ApiError::NotFound(format!("there is nothing at {}", uri.path()))
}

pub async fn no_such_method(method: Method, uri: Uri) -> ApiError {
    ApiError::NotAllowed(format!("{} does not answer {method}", uri.path()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Caller, caller};
    use model::{ExecutionName, Right, Role};

    fn named(namespace: &str) -> ExecutionName {
        ExecutionName { namespace: namespace.into(), key: "order-7".into() }
    }

    /// What a page shows is what is answered.
    fn shows(problem: impl Into<ApiError>) {
        let problem = problem.into();
        let detail = format!("\"detail\": {}", serde_json::json!(problem.to_string()));
        let code = problem.class();
        assert!(code.page.contains(&detail), "the page of {} does not show {detail}", code.word);
    }

    #[test]
    fn the_examples_of_the_pages_are_real_answers() {
        shows(caller(Role::Viewer, &[]).must(Right::Operate).unwrap_err());
        shows(Caller::Nobody.must(Right::View).unwrap_err());
        shows(ApiError::ShownOnce("http POST /v1/keys:deploy-7".into()));
        let retry_after = Duration::from_millis(300);
        shows(ApiError::TooOften { what: "calls were made with this key", retry_after });
        let name = named("payments.credit");
        let error = "the card was declined".into();
        shows(ExecutionError::InProgress { name: name.clone(), retry_after: Duration::from_secs(8) });
        shows(ExecutionError::GivenUp { name: name.clone(), failures: 3, error });
        shows(ExecutionError::Refused { name: name.clone(), why: Refusal::Lost { attempt: 2 } });
        shows(ExecutionError::Refused { name, why: Refusal::Ended });
        shows(ExecutionError::Conflict { name: named("http POST /v1/steps") });
    }
}
