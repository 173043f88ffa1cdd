//! The way in for people from elsewhere: a key, entered once and kept by the browser until it is closed.
//!
//! Why    a browser cannot send a key with a link. The cookie holds the key itself, so what becomes of the key becomes of it,
//!        on every node and within the same second; no script can read it, and no other site can have it sent.

use super::layout::{Frame, bare as framed};
use crate::access::{Caller, Shown};
use crate::app::App;
use crate::error::{ApiError, CHALLENGE};
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use model::{Key, Right};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// Under TLS the first, which a browser takes from the very host alone; without TLS the second.
pub const COOKIES: [&str; 2] = ["__Host-stepfast_key", "stepfast_key"];

/// A form needs to be sent, and to say where from.
const POLICIES: [(header::HeaderName, &str); 2] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'",
    ),
    (header::REFERRER_POLICY, "same-origin"),
];

/// Not to be printed.
#[derive(Deserialize, JsonSchema)]
pub struct Entered {
    key: String,
}

pub async fn page(State(app): State<Arc<App>>, caller: Caller) -> Response {
    match caller {
        Caller::Key { key, shown: Shown::Cookie } => shown(&app, StatusCode::OK, signed_in(&key)),
        _ => shown(&app, StatusCode::OK, entry(None)),
    }
}

/// What somebody without a key sees in place of a page.
pub fn instead(app: &App, refused: &ApiError) -> Response {
    let mut response = shown(app, StatusCode::UNAUTHORIZED, entry(Some(&refused.to_string())));
    let challenge = header::HeaderValue::from_static(CHALLENGE);
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    response
}

pub async fn enter(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    entered: Result<Form<Entered>, FormRejection>,
) -> Response {
    let Ok(Form(Entered { key: text })) = entered else {
        return shown(&app, StatusCode::UNPROCESSABLE_ENTITY, entry(Some("Enter a key.")));
    };
    let text = text.trim();
    let found = app.keys.recognise(text, app.now()).await;
    let may_look = found.and_then(|key| Caller::Key { key, shown: Shown::Cookie }.must(Right::View));
    match may_look {
        Ok(()) => {
            let set = (header::SET_COOKIE, set_cookie(text, is_encrypted(&headers)));
            (AppendHeaders([set]), Redirect::to("/step-dispatcher")).into_response()
        }
        Err(refused @ ApiError::BadKey) => {
            app.keys.refuse(None);
            instead(&app, &refused)
        }
        Err(refused @ ApiError::Forbidden(_)) => {
            shown(&app, StatusCode::FORBIDDEN, entry(Some(&refused.to_string())))
        }
        Err(problem) => problem.into_response(),
    }
}

pub async fn leave() -> Response {
    let gone = COOKIES.map(|name| {
        let secure = if name.starts_with("__Host-") { "; Secure" } else { "" };
        (header::SET_COOKIE, format!("{name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0{secure}"))
    });
    (AppendHeaders(gone), Redirect::to("/sign-in")).into_response()
}

/// A key is letters of its own alone, so it needs no quoting.
fn set_cookie(key: &str, encrypted: bool) -> String {
    let (name, secure) = if encrypted { (COOKIES[0], "; Secure") } else { (COOKIES[1], "") };
    format!("{name}={key}; Path=/; HttpOnly; SameSite=Strict{secure}")
}

/// Whether the browser came by TLS, which ends before this server: the guard has compared the rest of the origin.
fn is_encrypted(headers: &HeaderMap) -> bool {
    headers.get(header::ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"))
}

fn shown(app: &App, status: StatusCode, body: Markup) -> Response {
    let frame = Frame {
        title: "Sign in",
        version: app.site.version,
        host: &app.site.host,
        script: None,
        controls: html! {},
    };
    (status, POLICIES, framed(frame, body)).into_response()
}

fn entry(problem: Option<&str>) -> Markup {
    html! {
        h1 { "Sign in" }
        @if let Some(problem) = problem { p.notice role="alert" { (problem) } }
        form.sign-in method="post" action="/sign-in" {
            label for="key" { "API key" }
            input #key type="password" name="key" autocomplete="current-password" spellcheck="false" required autofocus;
            button.button type="submit" { "Sign in" }
        }
        p.aside { "It begins with sf_ and is kept by this browser until it is closed. An administrator makes one with "
            code { "stepfast keys create" } "." }
    }
}

fn signed_in(key: &Key) -> Markup {
    html! {
        h1 { "Signed in" }
        p { "With the key " b { (key.name) } ", which has the role " (key.role) "." }
        form.sign-in method="post" action="/sign-out" { button.button type="submit" { "Sign out" } }
        p { a href="/step-dispatcher" { "Step dispatcher" } }
    }
}

#[cfg(test)]
mod tests {
    use super::set_cookie;

    #[test]
    fn a_cookie_is_for_this_host_and_for_no_script() {
        assert_eq!(set_cookie("sf_1", false), "stepfast_key=sf_1; Path=/; HttpOnly; SameSite=Strict");
        assert_eq!(
            set_cookie("sf_1", true),
            "__Host-stepfast_key=sf_1; Path=/; HttpOnly; SameSite=Strict; Secure"
        );
    }
}
