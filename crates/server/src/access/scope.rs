//! What a key with a scope may see and move: the work of its queues, and nothing else.
//!
//! Why    a scope is a wall between those who share a server. So a route is closed to such a key until it says what it is about
//!        (decision 0029), and whatever lies beyond the wall is answered as if it were not there: by one look, before the route is
//!        called, so that what exists elsewhere and what does not exist cannot be told apart. A key without a scope is not looked at.

use super::Caller;
use super::caller::beyond;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{flow_id, step_id, workflow_id};
use crate::secrets::Known;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use engine::EngineError;
use model::definition::Definition;
use model::{Fault, Key, Name, NewStep, Outcome, Pinned, Report, StepId, WorkflowId, limits};
use std::sync::Arc;
use store::{Browse, Result};

/// What a route is about, for a key with a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Within {
    /// More than any scope: it is refused.
    #[default]
    Closed,
    /// Nobody's work.
    Nothing,
    /// The step that the path names.
    Step,
    /// The workflow that the path names.
    Workflow,
    /// The alert that the path names, which is about a step or a workflow.
    Alert,
    /// The flow that the path names.
    Flow,
    /// Several things; the route looks at each.
    Each,
}

/// Whose step a report is about.
pub enum Reported {
    Ours,
    Elsewhere,
    Refused(String),
}

/// The scope of a key that has one.
#[derive(Clone)]
pub struct Scope {
    key: Arc<Key>,
    known: Arc<[Name]>,
}

impl Caller {
    /// None for whoever may see everything.
    pub fn scope(&self, app: &App) -> Option<Scope> {
        match self {
            Caller::Key { key, .. } if !key.scope.is_empty() => {
                Some(Scope { key: key.clone(), known: app.site.engine.queues().into() })
            }
            _ => None,
        }
    }

    /// The queues of a key with a scope; none for whoever may see all.
    pub fn queues(&self) -> Vec<String> {
        let scope = self.key().map(|key| key.scope.iter());
        scope.into_iter().flatten().map(ToString::to_string).collect()
    }

    pub fn covers_all(&self, queues: &[String]) -> bool {
        self.key().is_none_or(|key| queues.iter().all(|queue| key.covers(queue)))
    }

    /// A key with a scope uses names that begin with one of its queues: they are all that tells whose something is that runs in none.
    pub fn covers_name(&self, field: &str, name: &str) -> std::result::Result<(), ApiError> {
        let Some(key) = self.key().filter(|key| !key.scope.is_empty() && !is_named_after(key, name)) else {
            return Ok(());
        };
        let problem = format!("`{name}` is outside of the scope of this key");
        let fix = format!("begin it with the name of a queue and a dot, such as `{}.{name}`", key.scope[0]);
        Err(ApiError::OutOfScope(vec![Fault { field: field.into(), problem, fix }]))
    }
}

fn is_named_after(key: &Key, name: &str) -> bool {
    let is_of = |queue: &Name| match name.strip_prefix(&**queue) {
        Some(rest) => rest.is_empty() || rest.starts_with(['.', ':', '/']),
        None => false,
    };
    key.scope.iter().any(is_of)
}

impl Scope {
    /// Before a route is called.
    pub async fn admit(
        self,
        app: &App,
        within: Within,
        request: &mut Parts,
    ) -> std::result::Result<(), ApiError> {
        match within {
            Within::Closed => return Err(self.closed("this call")),
            Within::Nothing | Within::Each => return Ok(()),
            Within::Step | Within::Workflow | Within::Alert | Within::Flow => {}
        }
        let params = RawPathParams::from_request_parts(request, &()).await;
        let params = params.map_err(|refused| ApiError::BadRequest(refused.body_text()))?;
        let named = params.iter().find(|(name, _)| matches!(*name, "id" | "workflow_id"));
        let id = named.map(|(_, id)| id.to_string()).unwrap_or_default();
        let (is_ours, missing) = match within {
            Within::Step => {
                let id = step_id(&id)?;
                (app.read(move |browse| self.step(browse, id)).await?, EngineError::NoStep(id).into())
            }
            Within::Workflow => {
                let id = workflow_id(&id)?;
                (app.read(move |browse| self.workflow(browse, id)).await?, EngineError::NoWorkflow(id).into())
            }
            Within::Alert => {
                let strange = |_| ApiError::BadRequest(format!("`{id}` is not the number of an alert"));
                let id: u64 = id.parse().map_err(strange)?;
                (app.read(move |browse| self.alert(browse, id)).await?, EngineError::NoAlert(id).into())
            }
            _ => {
                let id = flow_id(&id)?;
                let read = move |browse: &Browse| {
                    Ok(browse.flow(id)?.is_some_and(|flow| is_named_after(&self.key, &flow.flow.name.kind)))
                };
                (app.read(read).await?, crate::api::missing_flow(id))
            }
        };
        if is_ours { Ok(()) } else { Err(missing) }
    }

    /// What is about more than these queues.
    pub fn closed(&self, what: &str) -> ApiError {
        let scope = self.key.scope.join(", ");
        ApiError::Forbidden(format!(
            "this key has a scope ({scope}), and {what} is about more than these queues; use a key without a scope"
        ))
    }

    pub fn step(&self, browse: &Browse, id: StepId) -> Result<bool> {
        Ok(browse.step_queue(id)?.is_some_and(|queue| self.queue(&queue)))
    }

    pub fn queue(&self, queue: &str) -> bool {
        self.key.covers(queue)
    }

    pub fn workflow(&self, browse: &Browse, id: WorkflowId) -> Result<bool> {
        let found = browse.workflow(id)?;
        found.map_or(Ok(false), |workflow| self.pinned(browse, &workflow.definition, &mut Known::default()))
    }

    /// Of a workflow that is pinned to this definition.
    pub fn pinned(&self, browse: &Browse, pinned: &Pinned, known: &mut Known) -> Result<bool> {
        Ok(self.definition(&*known.definition(browse, pinned)?))
    }

    pub fn definition(&self, definition: &Definition) -> bool {
        beyond(&self.key, &self.known, definition).is_empty()
    }

    /// Every version of a definition that is on record, or the one that is named: whoever may have all of them done something to, or
    /// may put another beside them.
    pub fn versions(&self, browse: &Browse, workflow: &str, version: Option<&str>) -> Result<bool> {
        let lines = browse.definitions(Some(workflow), None, limits::PAGE_ROWS_MAX)?;
        if lines.len() == limits::PAGE_ROWS_MAX {
            // Some are not looked at.
            return Ok(false);
        }
        for line in lines.iter().filter(|line| version.is_none_or(|version| line.version == version)) {
            let found = crate::answers::definition(browse, &line.key, Some(&line.version))?;
            if !found.is_some_and(|(_, definition)| self.definition(&definition)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn alert(&self, browse: &Browse, id: u64) -> Result<bool> {
        let found = browse.alert(id)?;
        found.map_or(Ok(false), |alert| self.entity(browse, &alert.entity, &alert.entity_id))
    }

    /// What an alert is about.
    pub fn entity(&self, browse: &Browse, entity: &str, id: &str) -> Result<bool> {
        // Behind a slash stands a part of it.
        let id = id.split('/').next().unwrap_or_default();
        match entity {
            "step" => id.parse().map_or(Ok(false), |id| self.step(browse, id)),
            "workflow" | "compensation" | "pause" => {
                id.parse().map_or(Ok(false), |id| self.workflow(browse, id))
            }
            _ => Ok(false),
        }
    }

    /// What a run tells of its step, and what its children join.
    pub fn reported(&self, browse: &Browse, report: &Report) -> Result<Reported> {
        if !self.step(browse, report.step)? {
            return Ok(Reported::Elsewhere);
        }
        let Outcome::Children { children, .. } = &report.outcome else { return Ok(Reported::Ours) };
        let faults = self.joined(browse, children, "children")?;
        Ok(faults.first().map_or(Reported::Ours, |fault| Reported::Refused(fault.to_string())))
    }

    /// What new steps name beside their queues: a step or a block that they join.
    pub fn joined(&self, browse: &Browse, steps: &[NewStep], path: &str) -> Result<Vec<Fault>> {
        let (mut faults, queues) =
            (Vec::new(), self.key.scope.iter().map(ToString::to_string).collect::<Vec<_>>());
        for (i, step) in steps.iter().enumerate() {
            let at = format!("{path}[{i}]");
            let mut fault = |field: &str| {
                faults.push(Fault {
                    field: format!("{at}.{field}"),
                    problem: "nothing of this id is in the queues of this key".into(),
                    fix: "name one that is, or use a key without a scope".into(),
                });
            };
            if let Some(parent) = step.parent_step_id
                && !self.step(browse, parent)?
            {
                fault("parent_step_id");
            }
            for (field, block) in [("block_id", step.block_id), ("child_block_id", step.child_block_id)] {
                let Some(block) = block else { continue };
                let owner = browse.block(block)?.and_then(|block| block.owner);
                let is_ours = owner.map_or(Ok(true), |owner| self.step(browse, owner))?;
                if !is_ours || browse.block_reaches_beyond(block, &queues)? {
                    fault(field);
                }
            }
            faults.extend(self.joined(browse, &step.children, &format!("{at}.children"))?);
        }
        Ok(faults)
    }
}

#[cfg(test)]
mod tests {
    use super::super::caller::tests::caller;
    use model::Role;

    #[test]
    fn a_name_tells_whose_it_is() {
        let scoped = caller(Role::Worker, &["mail", "slow"]);
        for good in ["mail", "mail.send", "slow:1", "mail/x"] {
            assert!(scoped.covers_name("namespace", good).is_ok(), "{good}");
        }
        for bad in ["", "mailing", "mai", "other.mail", "Mail.send"] {
            assert!(scoped.covers_name("namespace", bad).is_err(), "{bad}");
        }
        assert!(caller(Role::Worker, &[]).covers_name("namespace", "anything").is_ok());
        assert_eq!(
            (scoped.queues(), caller(Role::Admin, &[]).queues().len()),
            (vec!["mail".into(), "slow".into()], 0)
        );
    }
}
