//! What handlers answer: replies whose type says their status, and what each says of itself.

use super::{Answers, Operation};
use crate::codes;
use crate::error::ApiError;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::Markup;
use schemars::JsonSchema;
use serde::Serialize;

/// Something new: 201.
pub struct Created<T>(pub T);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}

impl<T: JsonSchema> Answers for Created<T> {
    fn answer(about: &mut Operation) {
        about.answers_json::<T>(201);
    }
}

/// Something new, or what was there already: 201 or 200.
pub enum MadeOrThere<T> {
    Made(T),
    There(T),
}

impl<T: Serialize> IntoResponse for MadeOrThere<T> {
    fn into_response(self) -> Response {
        match self {
            MadeOrThere::Made(view) => Created(view).into_response(),
            MadeOrThere::There(view) => Json(view).into_response(),
        }
    }
}

impl<T: JsonSchema> Answers for MadeOrThere<T> {
    fn answer(about: &mut Operation) {
        about.answers_json::<T>(200);
        about.answers_json::<T>(201);
    }
}

/// Something new, or what a dry run says of it: 201 or 200.
pub enum MadeOrTried<T, W> {
    Made(T),
    Tried(W),
}

impl<T: Serialize, W: Serialize> IntoResponse for MadeOrTried<T, W> {
    fn into_response(self) -> Response {
        match self {
            MadeOrTried::Made(view) => Created(view).into_response(),
            MadeOrTried::Tried(view) => Json(view).into_response(),
        }
    }
}

impl<T: JsonSchema, W: JsonSchema> Answers for MadeOrTried<T, W> {
    fn answer(about: &mut Operation) {
        about.answers_json::<W>(200);
        about.answers_json::<T>(201);
    }
}

/// Something that took effect, or is kept until it does: 200 or 202.
pub enum TakenOrKept<T> {
    Taken(T),
    Kept(T),
}

impl<T: Serialize> IntoResponse for TakenOrKept<T> {
    fn into_response(self) -> Response {
        match self {
            TakenOrKept::Taken(view) => Json(view).into_response(),
            TakenOrKept::Kept(view) => (StatusCode::ACCEPTED, Json(view)).into_response(),
        }
    }
}

impl<T: JsonSchema> Answers for TakenOrKept<T> {
    fn answer(about: &mut Operation) {
        about.answers_json::<T>(200);
        about.answers_json::<T>(202);
    }
}

/// Done, and nothing to say about it: 204.
pub struct Empty;

impl IntoResponse for Empty {
    fn into_response(self) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

impl Answers for Empty {
    fn answer(about: &mut Operation) {
        about.answers(204, []);
    }
}

/// Something that changes, with the `ETag` of what it is now.
pub struct Tagged<T> {
    pub tag: String,
    pub view: T,
}

impl<T> Tagged<T> {
    /// By how often it was written.
    pub fn revision(revision: u64, view: T) -> Tagged<T> {
        Tagged { tag: revision.to_string(), view }
    }
}

impl<T: Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.view).into_response();
        if let Ok(tag) = HeaderValue::try_from(format!("\"{}\"", self.tag)) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }
}

impl<T: JsonSchema> Answers for Tagged<T> {
    fn answer(about: &mut Operation) {
        about.answers_json::<T>(200);
        about.is_tagged = true;
    }
}

impl<T: JsonSchema> Answers for Json<T> {
    fn answer(about: &mut Operation) {
        about.answers_json::<T>(200);
    }
}

impl<T: Answers> Answers for Result<T, ApiError> {
    fn answer(about: &mut Operation) {
        T::answer(about);
        // Whatever asks the database may hear these.
        for code in
            [codes::UNAVAILABLE, codes::NOT_READY, codes::INTERNAL, codes::CORRUPT, codes::NOT_STORABLE]
        {
            about.refuses(code);
        }
    }
}

impl Answers for Markup {
    fn answer(about: &mut Operation) {
        about.answers(200, [("text/html", None)]);
    }
}

impl Answers for &'static str {
    fn answer(about: &mut Operation) {
        about.answers(200, [("text/plain", None)]);
    }
}

impl Answers for Redirect {
    fn answer(about: &mut Operation) {
        about.answers(303, []);
    }
}

/// A page that is shown with the status it chooses.
impl Answers for Response {
    fn answer(about: &mut Operation) {
        for status in [200, 202, 401, 403, 404, 410, 422, 429] {
            about.answers(status, [("text/html", None)]);
        }
        about.answers(303, []);
        about.refuses(codes::UNAVAILABLE);
    }
}
