//! The few files a page needs, built into the program.

use crate::error::ApiError;
use axum::extract::Path;
use axum::http::header;
use axum::response::IntoResponse;

const FILES: [(&str, &str, &str); 8] = [
    ("page.css", "text/css; charset=utf-8", include_str!("../../assets/page.css")),
    ("step-dispatcher.js", "text/javascript; charset=utf-8", include_str!("../../assets/step-dispatcher.js")),
    ("message-group.js", "text/javascript; charset=utf-8", include_str!("../../assets/message-group.js")),
    ("workflows.js", "text/javascript; charset=utf-8", include_str!("../../assets/workflows.js")),
    ("alert.js", "text/javascript; charset=utf-8", include_str!("../../assets/alert.js")),
    ("page.js", "text/javascript; charset=utf-8", include_str!("../../assets/page.js")),
    ("forms.js", "text/javascript; charset=utf-8", include_str!("../../assets/forms.js")),
    ("mark.svg", "image/svg+xml", include_str!("../../assets/mark.svg")),
];

pub async fn file(Path(name): Path<String>) -> Result<impl IntoResponse, ApiError> {
    let found = FILES.iter().find(|(known, _, _)| *known == name);
    let (_, kind, text) = found.ok_or_else(|| ApiError::NotFound(format!("there is no asset `{name}`")))?;
    Ok(([(header::CONTENT_TYPE, *kind), (header::CACHE_CONTROL, "no-cache")], *text))
}

/// The looks of a graph on a page, with the colours of its steps.
pub async fn graph() -> impl IntoResponse {
    let headers = [(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")];
    (headers, format!("{}{}", definition::graph::STYLE, crate::drawing::STATES))
}
