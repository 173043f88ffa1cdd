//! The processing endpoint: where a router calls for a step whose message it received.
//!
//! Why    the answer is for a machine that knows nothing of steps: a status, and whether the message is done with. Retries are
//!        the engine's, so whatever was begun, refused or unknown is done with for the queue.

use crate::app::App;
use crate::describe::{Answers, Operation};
use crate::extract::PostedText;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

const BODY_BYTES_MAX: usize = 64 << 10;

pub async fn process(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    PostedText(body): PostedText,
) -> Answer {
    let Some(processing) = &app.site.processing else {
        let message =
            "nothing is dispatched over a queue here; see `[dispatch-scheduler]` of the configuration";
        return answer(StatusCode::SERVICE_UNAVAILABLE, false, message);
    };
    let read =
        serde_json::from_slice::<wire::ProcessBody>(&body).ok().filter(|_| body.len() <= BODY_BYTES_MAX);
    let Some(wire::ProcessBody { message_id }) = read else {
        return answer(StatusCode::BAD_REQUEST, true, "the body is not {\"messageId\": \"…\"}");
    };
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = token.and_then(|text| text.strip_prefix("Bearer ")).unwrap_or_default();
    let Processed { status, ack, message } = processing.clone().process(message_id, token.into()).await;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer(status, ack, &message)
}

fn answer(status: StatusCode, ack: bool, message: &str) -> Answer {
    let message = Some(message.to_string()).filter(|text| !text.is_empty());
    Answer(status, wire::ProcessView { ack, message, delay_seconds: None })
}

/// In the words of the router, with the status that it goes by.
pub struct Answer(StatusCode, wire::ProcessView);

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        (self.0, Json(self.1)).into_response()
    }
}

impl Answers for Answer {
    fn answer(about: &mut Operation) {
        for status in [200, 400, 401, 409, 500, 503] {
            about.answers_json::<wire::ProcessView>(status);
        }
        about.body = Some(about.schemas.read::<wire::ProcessBody>());
    }
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processed {
    pub status: u16,
    /// The message is done with.
    pub ack: bool,
    pub message: String,
}

/// Whoever runs what the queue outside sends somebody for.
pub trait Processing: Send + Sync {
    fn process(self: Arc<Self>, message_id: String, token: String) -> super::Later<Processed>;
    /// Why nothing can be published now.
    fn trouble(&self) -> Option<String>;
}
