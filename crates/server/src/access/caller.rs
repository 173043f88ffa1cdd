//! Who calls: somebody with a key, somebody on this machine, or nobody known.

use crate::error::ApiError;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use model::definition::{ActionDef, Definition, Work};
use model::{Fault, Key, Name, NewStep, Right, Role, limits};
use std::net::IpAddr;
use std::sync::Arc;
use store::BrowserHash;

/// Who acts when a call from this machine does not say so.
const HERE: &str = "loopback";

/// How a key was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// With the call itself.
    Bearer,
    /// By a browser that is signed in with it, which sends its token along whoever wrote the page.
    Cookie(BrowserHash),
}

#[derive(Clone, Debug)]
pub enum Caller {
    Key {
        key: Arc<Key>,
        shown: Shown,
        /// Where it came from, unless from this machine.
        from: Option<IpAddr>,
    },
    /// A process of this machine without a key, which could as well open the database.
    Loopback,
    /// Anybody; only what is open is answered.
    Nobody,
}

impl Caller {
    pub fn key(&self) -> Option<&Key> {
        match self {
            Caller::Key { key, .. } => Some(key),
            Caller::Loopback | Caller::Nobody => None,
        }
    }

    pub fn must(&self, right: Right) -> Result<(), ApiError> {
        let role = match self {
            Caller::Key { key, .. } => key.role,
            Caller::Loopback => Role::Admin,
            Caller::Nobody => return Err(ApiError::NoKey),
        };
        if role.may(right) {
            return Ok(());
        }
        let able: Vec<&str> = Role::ALL.iter().filter(|r| r.may(right)).map(|r| r.word()).collect();
        Err(ApiError::Forbidden(format!(
            "this call needs the right `{right}`, which a key with the role `{role}` does not have; \
             use one with the role {}",
            able.join(" or ")
        )))
    }

    /// Whoever may set it right is told what is wrong inside: paths, addresses, what the database said.
    pub fn learns_the_inside(&self) -> bool {
        self.must(Right::Operate).is_ok()
    }

    /// The key that acts, and from where.
    pub fn signature(&self) -> Option<String> {
        let Caller::Key { key, from, .. } = self else { return None };
        let key = key.signature();
        Some(from.map_or_else(|| key.clone(), |from| format!("{key} from {from}")))
    }

    /// Who acts, for the audit. With a key it is the key, whatever the body says.
    pub fn signed(&self, said: Option<String>) -> Result<String, ApiError> {
        if let Some(signature) = self.signature() {
            return Ok(signature);
        }
        let said = said.map(|by| by.trim().to_string()).filter(|by| !by.is_empty());
        let by = said.unwrap_or_else(|| HERE.into());
        if by.len() > limits::NAME_BYTES_MAX {
            let problem = format!("it has {} bytes", by.len());
            return Err(ApiError::fault("by", problem, format!("use at most {}", limits::NAME_BYTES_MAX)));
        }
        Ok(by)
    }

    /// A key with a scope makes steps for its own queues alone, and names them: nothing falls back to another queue.
    pub fn covers_steps(&self, steps: &[NewStep], known: &[Name]) -> Result<(), ApiError> {
        let Some(key) = self.key().filter(|key| !key.scope.is_empty()) else { return Ok(()) };
        let mut faults = Vec::new();
        for (i, step) in steps.iter().enumerate() {
            outside(key, known, step, format!("steps[{i}]"), &mut faults);
        }
        if faults.is_empty() { Ok(()) } else { Err(ApiError::OutOfScope(faults)) }
    }

    /// A key with a scope stores and starts what runs in its own queues alone. What another workflow does that a step starts is
    /// not known before, so such a step is outside of every scope.
    pub fn covers_definition(&self, definition: &Definition, known: &[Name]) -> Result<(), ApiError> {
        let Some(key) = self.key().filter(|key| !key.scope.is_empty()) else { return Ok(()) };
        let faults = beyond(key, known, definition);
        if faults.is_empty() { Ok(()) } else { Err(ApiError::OutOfScope(faults)) }
    }

    /// A key with a scope claims from its own queues alone.
    pub fn covers_queues<'a>(&self, queues: impl IntoIterator<Item = &'a str>) -> Result<(), ApiError> {
        let Some(key) = self.key() else { return Ok(()) };
        let outside = queues.into_iter().enumerate().filter(|(_, queue)| !key.covers(queue));
        let faults: Vec<Fault> =
            outside.map(|(i, queue)| fault(key, format!("queues[{i}]"), Some(queue))).collect();
        if faults.is_empty() { Ok(()) } else { Err(ApiError::OutOfScope(faults)) }
    }

    pub fn has_scope(&self) -> bool {
        self.key().is_some_and(|key| !key.scope.is_empty())
    }

    /// A key with a scope speaks for sessions of its own queues alone.
    pub fn covers_session(&self, queues: &[Name]) -> Result<(), ApiError> {
        let Some(key) = self.key() else { return Ok(()) };
        let outside = queues.iter().filter(|queue| !key.covers(queue));
        let fix = || format!("claim without `session` for one that serves {}", key.scope.join(", "));
        let faults: Vec<Fault> =
            outside.map(|queue| Fault { fix: fix(), ..fault(key, "session".into(), Some(queue)) }).collect();
        if faults.is_empty() { Ok(()) } else { Err(ApiError::OutOfScope(faults)) }
    }
}

/// What of a definition runs elsewhere, or may.
pub(super) fn beyond(key: &Key, known: &[Name], definition: &Definition) -> Vec<Fault> {
    let mut faults = Vec::new();
    let (whole, polls) = definition.clone().expanded();
    let written = definition.steps.len();
    let run = |action: &ActionDef, at: &str, faults: &mut Vec<Fault>| {
        let runs = NewStep { queue: action.queue.clone(), ..NewStep::default() };
        outside(key, known, &runs, at.into(), faults);
    };
    for (i, step) in whole.steps.iter().enumerate() {
        let at = match i.checked_sub(written) {
            Some(poll) => format!("steps[{}].pause_after.poll", polls[poll]),
            None => format!("steps[{i}]"),
        };
        if let Some(action) = step.work.action() {
            run(action, &at, &mut faults);
        }
        if let Some(undo) = &step.compensation {
            run(&undo.run, &format!("{at}.compensation"), &mut faults);
        }
        if let Work::Workflow(sub) = &step.work
            && faults.len() < FAULTS_MAX
        {
            faults.push(Fault {
                field: format!("{at}.workflow"),
                problem: format!("workflow `{}` may use any queue, and this key has a scope", sub.workflow),
                fix: "use a key without a scope".into(),
            });
        }
    }
    faults
}

/// More than a few help nobody.
const FAULTS_MAX: usize = 20;

/// Faults of one step and of all below it.
fn outside(key: &Key, known: &[Name], step: &NewStep, path: String, faults: &mut Vec<Fault>) {
    if faults.len() >= FAULTS_MAX {
        return;
    }
    let queue = step.queue.as_deref();
    let is_known = |queue: &str| known.iter().any(|name| &**name == queue);
    match queue {
        Some(queue) if key.covers(queue) && is_known(queue) => {}
        Some(queue) if key.covers(queue) => faults.push(Fault {
            field: format!("{path}.queue"),
            problem: format!(
                "queue `{queue}` is not known here, and this key may not use the one in its place"
            ),
            fix: "add it to `queues` in the configuration".into(),
        }),
        _ => faults.push(fault(key, format!("{path}.queue"), queue)),
    }
    for (i, child) in step.children.iter().enumerate() {
        outside(key, known, child, format!("{path}.children[{i}]"), faults);
    }
}

fn fault(key: &Key, field: String, queue: Option<&str>) -> Fault {
    let problem = match queue {
        Some(queue) => format!("queue `{queue}` is outside of the scope of this key"),
        None => "no queue is named, and this key has a scope".into(),
    };
    Fault { field, problem, fix: format!("name one of {}", key.scope.join(", ")) }
}

/// The guard puts it there; where it did not, nobody is known.
impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get::<Caller>().cloned().ok_or(ApiError::NoKey)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use model::{KeyId, Timestamp};

    pub fn caller(role: Role, scope: &[&str]) -> Caller {
        let key = Key {
            id: KeyId::of(7),
            name: "deploy".into(),
            role,
            scope: scope.iter().map(|q| (*q).into()).collect(),
            created_at: Timestamp(0),
            created_by: "anna".into(),
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        };
        Caller::Key { key: Arc::new(key), shown: Shown::Bearer, from: None }
    }

    fn step(queue: Option<&str>, children: Vec<NewStep>) -> NewStep {
        NewStep { queue: queue.map(Into::into), children, ..NewStep::of("x") }
    }

    fn fields(refused: Result<(), ApiError>) -> Vec<String> {
        match refused {
            Ok(()) => Vec::new(),
            Err(ApiError::OutOfScope(faults)) => faults.into_iter().map(|f| f.field).collect(),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn a_scope_holds_for_every_step_of_a_tree() {
        let known: Vec<Name> = vec!["default".into(), "slow".into()];
        let scoped = caller(Role::Operator, &["slow", "gone"]);
        let good = step(Some("slow"), vec![step(Some("slow"), vec![])]);
        assert_eq!(fields(scoped.covers_steps(std::slice::from_ref(&good), &known)), [""; 0]);
        let bad = step(Some("slow"), vec![step(None, vec![]), step(Some("default"), vec![])]);
        assert_eq!(
            fields(scoped.covers_steps(&[good, bad, step(Some("gone"), vec![])], &known)),
            ["steps[1].children[0].queue", "steps[1].children[1].queue", "steps[2].queue"]
        );
        let free = caller(Role::Operator, &[]);
        assert!(free.covers_steps(&[step(None, vec![])], &known).is_ok());
        assert_eq!(fields(scoped.covers_queues(["slow", "default"])), ["queues[1]"]);
        assert_eq!(fields(scoped.covers_session(&known)), ["session"]);
        assert!(scoped.covers_session(&known[1..]).is_ok() && free.covers_session(&known).is_ok());
        assert!(free.covers_queues(["default"]).is_ok() && Caller::Loopback.covers_queues(["x"]).is_ok());
    }

    #[test]
    fn a_key_signs_for_itself() {
        let signed = caller(Role::Viewer, &[]).signed(Some("the boss".into())).unwrap();
        assert_eq!(signed, "deploy (key 00000000-0000-0000-0000-000000000007)");
        assert_eq!(Caller::Loopback.signed(Some(" anna ".into())).unwrap(), "anna");
        assert_eq!(Caller::Loopback.signed(None).unwrap(), "loopback");
    }

    #[test]
    fn what_is_missing_is_named() {
        let told = caller(Role::Viewer, &[]).must(Right::Operate).unwrap_err().to_string();
        assert!(told.contains("the right `operate`") && told.contains("operator or admin"), "{told}");
        assert!(Caller::Loopback.must(Right::Administer).is_ok());
        assert!(matches!(Caller::Nobody.must(Right::View), Err(ApiError::NoKey)));
    }
}
