//! The description of this API, for programs.

use crate::app::App;
use crate::describe::{Answers, Operation};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::sync::Arc;

pub struct Document(String);

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, "application/json")], self.0).into_response()
    }
}

impl Answers for Document {
    fn answer(about: &mut Operation) {
        about.answers(200, [("application/json", Some(json!({ "type": "object" })))]);
    }
}

pub async fn show(State(app): State<Arc<App>>) -> Document {
    Document(app.document().to_string())
}
