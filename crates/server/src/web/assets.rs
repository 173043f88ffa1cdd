//! The few files a page needs, built into the program.

use crate::describe::{Answers, Operation};
use crate::error::ApiError;
use crate::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use std::borrow::Cow;

const FILES: [(&str, &str, &str); 10] = [
    ("page.css", "text/css; charset=utf-8", include_str!("../../assets/page.css")),
    ("step-dispatcher.js", "text/javascript; charset=utf-8", include_str!("../../assets/step-dispatcher.js")),
    ("message-group.js", "text/javascript; charset=utf-8", include_str!("../../assets/message-group.js")),
    ("workflows.js", "text/javascript; charset=utf-8", include_str!("../../assets/workflows.js")),
    ("alert.js", "text/javascript; charset=utf-8", include_str!("../../assets/alert.js")),
    ("page.js", "text/javascript; charset=utf-8", include_str!("../../assets/page.js")),
    ("live.js", "text/javascript; charset=utf-8", include_str!("../../assets/live.js")),
    ("bulk.js", "text/javascript; charset=utf-8", include_str!("../../assets/bulk.js")),
    ("forms.js", "text/javascript; charset=utf-8", include_str!("../../assets/forms.js")),
    ("mark.svg", "image/svg+xml", include_str!("../../assets/mark.svg")),
];

pub async fn file(Path(name): Path<String>) -> Result<Asset, ApiError> {
    let found = FILES.iter().find(|(known, _, _)| *known == name);
    let (_, kind, text) = found.ok_or_else(|| ApiError::NotFound(format!("there is no asset `{name}`")))?;
    Ok(Asset { kind, text: (*text).into() })
}

/// The looks of a graph on a page, with the colours of its steps.
pub async fn graph() -> Asset {
    let text = format!("{}{}", definition::graph::STYLE, crate::drawing::STATES);
    Asset { kind: "text/css; charset=utf-8", text: text.into() }
}

/// A file, asked for again each time but sent once.
pub struct Asset {
    kind: &'static str,
    text: Cow<'static, str>,
}

impl IntoResponse for Asset {
    fn into_response(self) -> Response {
        let headers = [(header::CONTENT_TYPE, self.kind), (header::CACHE_CONTROL, "no-cache")];
        (headers, self.text).into_response()
    }
}

impl Answers for Asset {
    fn answer(about: &mut Operation) {
        let kinds = ["text/css", "text/javascript", "image/svg+xml"];
        about.answers(200, kinds.map(|kind| (kind, None)));
    }
}
