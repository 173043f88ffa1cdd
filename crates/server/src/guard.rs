//! Lets a request through to its route, or not, and sends every answer with headers that keep a browser strict.
//!
//! Why    from elsewhere a key is asked for. On this machine none is, and there a server is still reachable by any page a
//!        person visits: by a name that resolves to 127.0.0.1 (so the Host is checked) and by a form (so Origin and
//!        Content-Type are).

use crate::access::{Access, Caller, Page, Shown, Takes, Way, looking};
use crate::app::App;
use crate::body;
use crate::codes::Code;
use crate::error::{ApiError, Inside};
use crate::web;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// What any page can have a browser send without asking first.
const FORM_KINDS: [&str; 4] = ["", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];

/// A proxy on this machine speaks for somebody elsewhere; these, and whatever begins with `x-forwarded-`, say so.
const FORWARDED: [&str; 3] = ["forwarded", "via", "x-real-ip"];

const HARD_HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Under TLS a browser is told to come by nothing else for a year.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

pub async fn admit(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let access = app.table.find(&parts).map(|route| route.access);
    let caller = match standing(who(&app, &parts, access)).await.flatten() {
        Ok(caller) => caller,
        Err(refused) => return turned_away(&app, &parts, refused).await,
    };
    let answer = async {
        match standing(check(&app, &caller, &mut parts)).await.flatten() {
            Ok(()) => answered(&app, &caller, Request::from_parts(parts, body), next).await,
            Err(refused) => turned_away(&app, &parts, refused).await,
        }
    };
    looking(caller.clone(), answer).await
}

async fn answered(app: &App, caller: &Caller, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    parts.extensions.insert(caller.clone());
    let is_page = wants_page(&parts) && is_for_people(parts.uri.path());
    let mut answer = match body::whole(app, &parts, body).await {
        Ok(body) => {
            let answer = standing(next.run(Request::from_parts(parts, body))).await;
            answer.unwrap_or_else(ApiError::into_response)
        }
        Err(refused) => refused.into_response(),
    };
    let inside = answer.extensions().get::<Inside>().copied();
    if let Some(Inside(code)) = inside.filter(|_| !caller.learns_the_inside()) {
        answer = hidden(caller, code).into_response();
    }
    if is_page { web::problem_instead(app, answer).await } else { answer }
}

async fn turned_away(app: &App, request: &Parts, refused: ApiError) -> Response {
    if matches!(refused, ApiError::NoKey | ApiError::BadKey) && wants_page(request) {
        return web::sign_in_instead(app, &refused);
    }
    if matches!(refused, ApiError::Forbidden(_) | ApiError::Engine(_) | ApiError::Flow(_))
        && wants_page(request)
        && is_for_people(request.uri.path())
    {
        return web::problem_instead(app, refused.into_response()).await;
    }
    let answer = refused.into_response();
    // Keys that cannot be read make everybody a stranger.
    let is_inside = answer.extensions().get::<Inside>().is_some() && !is_here(request);
    if is_inside { ApiError::nobodys_business().into_response() } else { answer }
}

/// One request that falls over is answered too, and takes nobody with it.
async fn standing<T>(work: impl Future<Output = T>) -> Result<T, ApiError> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|_| {
        tracing::error!(target: "server", "a request fell over");
        ApiError::Fell
    })
}

/// What is wrong inside is the business of whoever keeps it running: others learn that it is, strangers not even where.
fn hidden(caller: &Caller, code: &'static Code) -> ApiError {
    match caller {
        Caller::Nobody => ApiError::nobodys_business(),
        _ => ApiError::Unsaid(code),
    }
}

/// This machine waits for nothing: it could as well open the database.
fn wrong(app: &App, request: &Parts) -> Result<(), ApiError> {
    if is_here(request) { Ok(()) } else { app.pace.wrong(peer(request), app.now()) }
}

/// A page that needs other rules than the others says so itself.
pub async fn harden(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    // It would hold for every port of a name, and a loopback name is everybody's.
    let is_ours = !is_loopback(text(request.headers(), header::HOST).unwrap_or_default());
    let by_tls = is_ours && Way::of(&app.site.network, request.extensions()).is_encrypted();
    let mut response = standing(next.run(request)).await.unwrap_or_else(|_| {
        // Outside of the guard nobody is known.
        ApiError::nobodys_business().into_response()
    });
    let headers = response.headers_mut();
    if by_tls {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HSTS);
    }
    for (name, value) in HARD_HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn check(app: &App, caller: &Caller, request: &mut Parts) -> Result<(), ApiError> {
    let route = app.table.find(request);
    let (access, within) = (route.map(|route| route.access), route.map(|route| route.within));
    let way = Way::of(&app.site.network, &request.extensions);
    match route {
        Some(_) if is_read(request) => own_page(request, caller, way)?,
        Some(route) => {
            same_origin(request, caller, way)?;
            fitting_body(request, route.body)?;
        }
        None => {}
    }
    storable(request)?;
    if let Some(Access::Needs(right)) = access {
        caller.must(right)?;
        route.map_or(Ok(()), |route| route.hears(request))?;
        if let Some(scope) = caller.scope(app) {
            scope.admit(app, within.unwrap_or_default(), request).await?;
        }
    }
    Ok(())
}

/// A key that was sent with the call must be right. What a browser kept may be old: it counts as none.
async fn who(app: &App, request: &Parts, access: Option<Access>) -> Result<Caller, ApiError> {
    if access == Some(Access::Token) {
        return Ok(Caller::Nobody);
    }
    let now = app.now();
    let found = match (bearer(&request.headers)?, cookie(&request.headers)) {
        (Some(text), _) => Some((app.keys.recognise(text, now).await?, Shown::Bearer)),
        (None, Some(text)) => match app.keys.recognise_browser(text, now).await {
            Ok((key, browser)) => {
                app.keys.note_browser_use(&app.site.engine, &browser, now);
                Some((key, Shown::Cookie(browser.hash)))
            }
            Err(ApiError::BadKey) => {
                app.keys.refuse(peer(request));
                // A person is shown the way in all the same.
                if access != Some(Access::Open) && !wants_page(request) {
                    wrong(app, request)?;
                }
                None
            }
            Err(problem) => return Err(problem),
        },
        (None, None) => None,
    };
    if let Some((key, shown)) = found {
        if !is_here(request) {
            app.pace.call(key.id, now)?;
        }
        app.keys.note_use(&app.site.engine, &key, now);
        let from = peer(request).filter(|from| !from.is_loopback());
        return Ok(Caller::Key { key, shown, from });
    }
    if is_here(request) && !app.site.require_key {
        own_name(request)?;
        return Ok(Caller::Loopback);
    }
    match access {
        Some(Access::Open) => Ok(Caller::Nobody),
        _ => Err(ApiError::NoKey),
    }
}

pub fn peer(request: &Parts) -> Option<IpAddr> {
    request.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip().to_canonical())
}

/// From this machine itself; where it is not known, it is not.
pub fn is_here(request: &Parts) -> bool {
    let mut names = request.headers.keys().map(HeaderName::as_str);
    let is_forwarded = names.any(|name| FORWARDED.contains(&name) || name.starts_with("x-forwarded-"));
    !is_forwarded && peer(request).is_some_and(|ip| ip.is_loopback())
}

/// Not every database keeps the character zero in a text, so none is asked for one.
fn storable(request: &Parts) -> Result<(), ApiError> {
    let address = request.uri.path_and_query().map_or("", |address| address.as_str());
    if address.contains("%00") {
        return Err(ApiError::BadRequest("the address holds a NUL character; remove it".into()));
    }
    Ok(())
}

pub fn own_name(request: &Parts) -> Result<(), ApiError> {
    let named = request.uri.authority().map(Authority::as_str);
    for name in std::iter::once(host(request)).chain(named) {
        if !is_loopback(name) {
            let problem = format!(
                "`{name}` is not this server; without a key it answers as localhost, 127.0.0.1 and [::1] alone"
            );
            return Err(ApiError::Forbidden(problem));
        }
    }
    Ok(())
}

fn is_read(request: &Parts) -> bool {
    matches!(request.method, Method::GET | Method::HEAD)
}

/// A page of another origin could not read the answer, but would have it made, and keep a stream open for nobody.
fn own_page(request: &Parts, caller: &Caller, way: Way) -> Result<(), ApiError> {
    let says_where = request.headers.contains_key(header::ORIGIN);
    if says_where && !matches!(caller, Caller::Nobody) { same_origin(request, caller, way) } else { Ok(()) }
}

/// What a browser sends along by itself is not enough to change anything: the page must be ours.
pub fn same_origin(request: &Parts, caller: &Caller, way: Way) -> Result<(), ApiError> {
    let by_proxy = if is_here(request) { Page::Either } else { Page::Elsewhere };
    let (page, must) = match caller {
        Caller::Key { shown: Shown::Bearer, .. } => return Ok(()),
        Caller::Key { shown: Shown::Cookie(_), .. } => (by_proxy, true),
        Caller::Nobody => (by_proxy, false),
        Caller::Loopback => (Page::Here, false),
    };
    let schemes = way.schemes(page);
    let is_ours = match request.headers.get(header::ORIGIN) {
        None => !must,
        Some(origin) => schemes
            .iter()
            .any(|scheme| origin.as_bytes() == format!("{scheme}://{}", host(request)).as_bytes()),
    };
    if is_ours {
        return Ok(());
    }
    Err(ApiError::Forbidden("a page of another origin may not ask for anything here".into()))
}

pub fn fitting_body(request: &Parts, takes: Takes) -> Result<(), ApiError> {
    let kind = text(&request.headers, header::CONTENT_TYPE).unwrap_or_default();
    match takes {
        Takes::Json if !is_kind(kind, "application/json") => Err(ApiError::MediaType),
        Takes::Form if !is_kind(kind, "application/x-www-form-urlencoded") => Err(ApiError::MediaType),
        Takes::Text if FORM_KINDS.iter().any(|form| is_kind(kind, form)) => Err(ApiError::TextType),
        Takes::Json | Takes::Form | Takes::Text => Ok(()),
    }
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let text = value.to_str().map_err(|_| ApiError::BadKey)?;
    let (scheme, key) = text.split_once(' ').ok_or(ApiError::BadKey)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(Some(key.trim())) } else { Err(ApiError::BadKey) }
}

/// What a browser was given when it signed in.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = pairs.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| web::COOKIES.contains(name)).map(|(_, token)| token)
}

/// A person who follows a link, not a program.
fn wants_page(request: &Parts) -> bool {
    request.method == Method::GET && accepts_page(request)
}

pub fn accepts_page(request: &Parts) -> bool {
    text(&request.headers, header::ACCEPT).is_some_and(|accepts| accepts.contains("text/html"))
}

/// Not what programs call, whoever looks at it.
fn is_for_people(path: &str) -> bool {
    !["/v1/", "/api/", "/metrics", "/trigger/", "/assets/", "/step-dispatcher/api"]
        .iter()
        .any(|start| path.starts_with(start))
}

fn host(request: &Parts) -> &str {
    text(&request.headers, header::HOST).unwrap_or_default()
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn is_kind(content_type: &str, wanted: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case(wanted)
}

/// A loopback name, with or without a port.
fn is_loopback(host: &str) -> bool {
    LOOPBACK_NAMES.iter().any(|name| {
        let Some((head, rest)) = host.split_at_checked(name.len()) else { return false };
        let is_port = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        head.eq_ignore_ascii_case(name) && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
    })
}

#[cfg(test)]
mod tests {
    use super::{is_kind, is_loopback};

    #[test]
    fn only_loopback_names_are_this_server() {
        for good in ["localhost", "LocalHost:7837", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:7837"] {
            assert!(is_loopback(good), "{good}");
        }
        let bad = [
            "",
            "evil.example",
            "localhost.evil.example",
            "localhost:",
            "localhost:80@evil.example",
            "127.0.0.1.nip.io",
            "127.0.0.12",
            "::1",
            "0.0.0.0:7837",
            "ᅟlocalhost",
        ];
        for bad in bad {
            assert!(!is_loopback(bad), "{bad}");
        }
    }

    #[test]
    fn only_json_is_json() {
        let is_json = |kind| is_kind(kind, "application/json");
        assert!(is_json("application/json") && is_json("Application/JSON; charset=utf-8"));
        assert!(!is_json("text/plain") && !is_json("application/jsonp") && !is_json(""));
    }
}
