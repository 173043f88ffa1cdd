//! The way in for people from elsewhere: a key, entered once, for which the browser is given a token of its own.
//!
//! Why    a browser cannot send a key with a link. It does not keep the key: its token ends with the key on every node and within
//!        the same second, and by itself when somebody signs out or is away. No script can read it, and no other site can have
//!        it sent.

use super::layout::{Frame, bare as framed};
use crate::access::{Caller, Cookies, Shown};
use crate::app::App;
use crate::error::{ApiError, CHALLENGE};
use crate::throttle::Wrong;
use crate::triggers::Source;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::{StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use engine::BrowserToken;
use maud::{Markup, html};
use model::{Key, Right};
use schemars::JsonSchema;
use serde::Deserialize;
use std::net::IpAddr;
use std::sync::Arc;

/// Under TLS the first, which a browser takes from the very host alone; without TLS the second.
pub const COOKIES: [&str; 2] = ["__Host-stepfast_session", "stepfast_session"];

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
        Caller::Key { key, shown: Shown::Cookie(_), .. } => shown(&app, StatusCode::OK, signed_in(&key)),
        _ => shown(&app, StatusCode::OK, entry(None)),
    }
}

/// What somebody without a key sees in place of a page.
pub fn instead(app: &App, refused: &ApiError) -> Response {
    let mut response = shown(app, StatusCode::UNAUTHORIZED, entry(Some(&refused.to_string())));
    let challenge = header::HeaderValue::from_static(CHALLENGE);
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    if matches!(refused, ApiError::BadKey) {
        response.extensions_mut().insert(Wrong);
    }
    response
}

pub async fn enter(
    State(app): State<Arc<App>>,
    cookies: Cookies,
    caller: Caller,
    source: Source,
    entered: Result<Form<Entered>, FormRejection>,
) -> Response {
    let Ok(Form(Entered { key: text })) = entered else {
        return shown(&app, StatusCode::UNPROCESSABLE_ENTITY, entry(Some("Enter a key.")));
    };
    match admitted(&app, text.trim(), &caller, source.elsewhere()).await {
        Ok((token, key)) => {
            let first = if key.scope.is_empty() { "/step-dispatcher" } else { "/step-dispatcher/steps" };
            let set = (header::SET_COOKIE, set_cookie(token.reveal(), cookies));
            (AppendHeaders([set]), Redirect::to(first)).into_response()
        }
        Err(refused @ ApiError::BadKey) => instead(&app, &refused),
        Err(refused @ ApiError::Forbidden(_)) => {
            shown(&app, StatusCode::FORBIDDEN, entry(Some(&refused.to_string())))
        }
        Err(problem) => problem.into_response(),
    }
}

/// A new token for whoever may look; what the browser held before is worth nothing any more.
async fn admitted(
    app: &App,
    text: &str,
    before: &Caller,
    from: Option<IpAddr>,
) -> Result<(BrowserToken, Arc<Key>), ApiError> {
    let key = app.keys.recognise(text, app.now()).await?;
    let caller = Caller::Key { key: key.clone(), shown: Shown::Bearer, from };
    caller.must(Right::View)?;
    sign_out(app, before).await?;
    let token = app.site.engine.sign_in(key.id, caller.signed(None)?, app.now()).await?;
    app.keys.forget().await;
    Ok((token, key))
}

pub async fn leave(State(app): State<Arc<App>>, caller: Caller) -> Response {
    if let Err(problem) = sign_out(&app, &caller).await {
        return problem.into_response();
    }
    let gone = COOKIES.map(|name| {
        let secure = if name.starts_with("__Host-") { "; Secure" } else { "" };
        (header::SET_COOKIE, format!("{name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0{secure}"))
    });
    (AppendHeaders(gone), Redirect::to("/sign-in")).into_response()
}

/// Whatever becomes of the cookie: nobody gets in by it on any node. A token that is none costs the database nothing.
async fn sign_out(app: &App, caller: &Caller) -> Result<(), ApiError> {
    let Caller::Key { shown: Shown::Cookie(browser), .. } = caller else { return Ok(()) };
    app.site.engine.sign_out(*browser, caller.signed(None)?).await?;
    app.keys.forget().await;
    Ok(())
}

/// A token is letters and digits alone, so it needs no quoting.
fn set_cookie(token: &str, cookies: Cookies) -> String {
    let (name, secure) = match cookies {
        Cookies::ByTlsAlone => (COOKIES[0], "; Secure"),
        Cookies::InClear => (COOKIES[1], ""),
    };
    format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict{secure}")
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
            button.button.strong type="submit" { "Sign in" }
        }
        p.aside { "It begins with sf_, and this browser does not keep it: you stay signed in until you sign out, close the browser, or are away "
            "for 12 hours. An administrator makes one with "
            code { "stepfast keys create" } "." }
    }
}

fn signed_in(key: &Key) -> Markup {
    html! {
        h1 { "Signed in" }
        p { "With the key " b { (key.name) } ", which has the role " (key.role) "." }
        form.sign-in method="post" action="/sign-out" { button.button type="submit" { "Sign out" } }
        p { a href="/" { "To the pages" } }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cookies, set_cookie};

    #[test]
    fn a_cookie_is_for_this_host_and_for_no_script() {
        assert_eq!(
            set_cookie("sfb_1", Cookies::InClear),
            "stepfast_session=sfb_1; Path=/; HttpOnly; SameSite=Strict"
        );
        assert_eq!(
            set_cookie("sfb_1", Cookies::ByTlsAlone),
            "__Host-stepfast_session=sfb_1; Path=/; HttpOnly; SameSite=Strict; Secure"
        );
    }
}
