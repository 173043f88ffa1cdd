//! Actions that need no worker of one's own.

#[cfg(feature = "http")]
mod deliver;
mod exec;
mod fail;
#[cfg(feature = "http")]
mod http;
mod outcome;
mod sleep;

use crate::Registry;
use model::{Claim, Outcome};
use std::sync::Arc;

#[cfg(feature = "http")]
pub use deliver::{Signing, variable_part};
pub use exec::ExecAllow;
#[cfg(feature = "http")]
pub use http::{HttpAllow, NoClient};

/// The actions that touch nothing outside the engine.
pub fn register_builtin(registry: &mut Registry) {
    registry.raw("noop", |_: Claim| std::future::ready(Outcome::Complete { response: None }));
    registry.raw("echo", |claim: Claim| {
        std::future::ready(Outcome::Complete { response: Some(claim.arguments.to_string()) })
    });
    registry.raw("sleep", sleep::run);
    registry.raw("fail", |claim: Claim| std::future::ready(fail::run(&claim)));
}

/// `exec`, which starts programs. Registered also where it may start none, so that a step learns what is missing
/// instead of waiting for a worker.
pub fn register_exec(registry: &mut Registry, allow: &ExecAllow) {
    let exec = Arc::new(exec::Exec::new(allow.clone()));
    registry.raw("exec", move |claim: Claim| exec::run(claim, Arc::clone(&exec)));
}

/// `http`, which calls other servers.
#[cfg(feature = "http")]
pub fn register_http(registry: &mut Registry, allow: &HttpAllow) -> Result<(), NoClient> {
    let http = Arc::new(http::Http::new(allow.clone())?);
    registry.raw("http", move |claim: Claim| http::run(claim, Arc::clone(&http)));
    Ok(())
}

/// `deliver`, which hands steps to their targets. It goes where `http` may go.
#[cfg(feature = "http")]
pub fn register_deliver(
    registry: &mut Registry,
    allow: &HttpAllow,
    signing: &Signing,
) -> Result<(), NoClient> {
    let deliverer = deliver::Deliverer { http: http::Http::new(allow.clone())?, signing: signing.clone() };
    let deliverer = Arc::new(deliverer);
    registry.raw_in("deliver", move |context| {
        let deliverer = Arc::clone(&deliverer);
        async move { deliver::run(context, &deliverer).await }
    });
    Ok(())
}
