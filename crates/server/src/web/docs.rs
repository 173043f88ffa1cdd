//! What errors mean: the page of each code, at the address that a problem names as its `type`.

use super::layout::{Frame, page as framed};
use super::markdown;
use crate::app::App;
use crate::codes;
use crate::error::ApiError;
use crate::extract::Path;
use axum::extract::State;
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::sync::Arc;

pub async fn error(State(app): State<Arc<App>>, Path(code): Path<String>) -> Result<Markup, ApiError> {
    let none = || ApiError::NotFound(format!("there is no code `{code}`; /docs/errors lists them"));
    let found = codes::named(&code).ok_or_else(none)?;
    // Its first line is the code, which stands here with its title.
    let said = found.page.split_once('\n').map_or("", |(_, said)| said);
    let page = html! {
        nav.crumbs aria-label="Above it" { ol { li { a href="/docs/errors" { "Errors" } } } }
        h1 { (found.word) " " span.state { (found.title) } }
        (markdown::render(said))
    };
    Ok(shown(&app, found.title, page))
}

pub async fn errors(State(app): State<Arc<App>>) -> Markup {
    let mut rows: BTreeMap<&str, (Vec<String>, &str)> = BTreeMap::new();
    for code in codes::ALL {
        let row = rows.entry(code.word).or_insert((Vec::new(), code.title));
        row.0.push(code.status.as_u16().to_string());
    }
    let table = html! {
        h1 { "Errors" }
        p { "A refused request is answered as RFC 9457 says. A program compares " code { "code" } ", which never changes." }
        table.codes {
            thead { tr { th { "Code" } th { "Status" } th { "Meaning" } } }
            tbody { @for (word, (statuses, title)) in rows {
                tr { td.word { a href={ "/docs/errors/" (word) } { (word) } } td { (statuses.join(", ")) } td { (title) } }
            } }
        }
    };
    shown(&app, "Errors", table)
}

pub fn shown(app: &App, title: &str, body: Markup) -> Markup {
    let (version, host) = (app.site.version, app.site.host.as_str());
    framed(Frame { title, version, host, script: None, controls: html! {} }, body)
}
