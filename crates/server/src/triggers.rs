//! Who may trigger: everybody is nobody until they have shown who they are.
//!
//! Why    the address of a trigger is known to whoever was ever told of it. So nothing is said about a workflow, not even whether it
//!        exists, before a key, a signature or a token was shown; and what is shown is compared in a time that tells nothing.

mod signed;

pub use signed::TriggerSecrets;

use crate::access::{Caller, Shown};
use crate::app::App;
use crate::error::ApiError;
use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use engine::{EngineError, PauseToken};
use model::definition::{Definition, PauseDef, TriggerAuth};
use model::{Pause, Right, Timestamp, WorkflowId};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use store::{Browse, StoreError};

/// What came with a trigger, for whoever is to tell who sent it.
pub struct TriggerShown<'a> {
    pub workflow: WorkflowId,
    /// The key of the definition.
    pub definition: &'a str,
    pub trigger: &'a str,
    /// What the definition asks for.
    pub auth: TriggerAuth,
    pub headers: &'a HeaderMap,
    /// The body as it was sent.
    pub body: &'a [u8],
    pub now: Timestamp,
}

/// A way to show who one is, beside keys and tokens.
pub trait TriggerAuthenticator: Send + Sync {
    /// Who sent it; none where that is not shown.
    fn identify(&self, shown: &TriggerShown) -> Option<String>;
}

/// A workflow as far as a trigger needs it.
pub struct Listener {
    pub definition: Definition,
    /// The step behind which the trigger is waited for; none if it never is.
    pub def: Option<usize>,
    /// The pauses that were made for it, the last run last.
    pub pauses: Vec<Pause>,
}

impl Listener {
    pub fn read(browse: &Browse, id: WorkflowId, trigger: &str) -> Result<Option<Listener>, StoreError> {
        let Some(workflow) = browse.workflow(id)? else { return Ok(None) };
        let (key, version) = (&workflow.definition.key, &workflow.definition.version);
        let Some((_, definition)) = crate::answers::definition(browse, key, Some(version))? else {
            return Ok(None);
        };
        let is_it = |pause: &PauseDef| pause.trigger.as_deref() == Some(trigger);
        let def = definition.steps.iter().position(|step| step.pause_after.as_deref().is_some_and(is_it));
        let pauses = browse.workflow_pauses(id)?.into_iter();
        let pauses = pauses.filter(|pause| pause.trigger.as_deref() == Some(trigger)).collect();
        Ok(Some(Listener { definition, def, pauses }))
    }

    pub fn pause(&self) -> Option<&PauseDef> {
        self.def.and_then(|n| self.definition.steps[n].pause_after.as_deref())
    }

    /// The pause that a token was made for.
    pub fn by_token(&self, token: &str) -> Option<&Pause> {
        let asks = self.pause().is_some_and(|pause| pause.auth == TriggerAuth::Token);
        let token = PauseToken::of(token);
        let is = |pause: &&Pause| pause.token.as_ref().is_some_and(|kept| token.is(kept));
        self.pauses.iter().rfind(is).filter(|_| asks)
    }
}

/// Who sent something, and the run of the step that they may speak to.
pub struct Sender {
    pub identity: String,
    pub run: Option<u32>,
    /// The definition whose secret the message is signed with.
    pub signed_for: Option<String>,
}

/// Who sends this, or nothing at all.
pub async fn sender(
    app: &App,
    (id, trigger): (Option<WorkflowId>, &str),
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Sender, ApiError> {
    let shown = bearer(headers);
    if let Some(key) = shown.filter(|text| text.starts_with("sf_")) {
        let key = app.keys.recognise(key, app.now()).await?;
        app.pace.call(key.id, app.now())?;
        app.keys.note_use(&app.site.engine, &key, app.now());
        let identity = key.signature();
        // Where a trigger came from is kept beside it.
        let caller = Caller::Key { key, shown: Shown::Bearer, from: None };
        caller.must(Right::Operate)?;
        if let (Some(scope), Some(id)) = (caller.scope(app), id)
            && !app.read(move |browse| scope.workflow(browse, id)).await?
        {
            return Err(EngineError::NoWorkflow(id).into());
        }
        return Ok(Sender { identity, run: None, signed_for: None });
    }
    let listener = match id {
        Some(id) => {
            let trigger = trigger.to_string();
            app.read_for_stranger(move |browse| Listener::read(browse, id, &trigger)).await?
        }
        None => None,
    };
    let (Some(id), Some(listener)) = (id, listener) else { return Err(ApiError::NotShown) };
    if let Some(pause) = shown.and_then(|token| listener.by_token(token)) {
        let identity = format!("token of `{trigger}`");
        return Ok(Sender { identity, run: Some(pause.run), signed_for: None });
    }
    let shown = TriggerShown {
        workflow: id,
        definition: &listener.definition.workflow,
        trigger,
        // Whoever signs for the definition may hear that there is no such trigger.
        auth: listener.pause().map_or(TriggerAuth::Hmac, |pause| pause.auth),
        headers,
        body,
        now: app.now(),
    };
    let known = app.site.triggers.iter().find_map(|way| way.identify(&shown));
    let signed_for = (shown.auth == TriggerAuth::Hmac).then(|| listener.definition.workflow.clone());
    known.map(|identity| Sender { identity, run: None, signed_for }).ok_or(ApiError::NotShown)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| rest.trim())
}

/// The address that something came from, for the record; none where it is not known.
pub struct Source(Option<IpAddr>);

impl Source {
    pub fn text(&self) -> Option<String> {
        self.0.map(|from| from.to_string())
    }

    /// Unless it is this machine.
    pub fn elsewhere(&self) -> Option<IpAddr> {
        self.0.filter(|from| !from.is_loopback())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Source {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        Ok(Source(peer.map(|peer| peer.0.ip().to_canonical())))
    }
}
