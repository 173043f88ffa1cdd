//! Steps, their attempts, what is done once under a key, and lines, as people look at them.

use super::{Window, now};
use crate::Refused;
use anyhow::Result;
use model::{ExecutionName, StepId, limits};
use server::answers::{self, GroupFilter};
use server::{attempts, executions};
use store::Filter;
use store::executions::ExecutionFilter;
use wire::{
    AttemptPage, ExecutionPage, ExecutionShow, MessageGroupPage, MessageGroupShow, StepPage, StepShow,
};

impl Window {
    /// A page of steps, and where the next begins.
    pub async fn steps(&self, filter: &Filter) -> Result<StepPage> {
        match self {
            Window::Database(browse) => Ok(answers::steps(browse, filter)?),
            Window::Server { .. } => self.ask(&["v1", "steps"], &query(filter)).await,
        }
    }

    pub async fn step(&self, id: StepId) -> Result<StepShow> {
        match self {
            Window::Database(browse) => {
                let found = answers::step(browse, id, now())?;
                Ok(found.ok_or_else(|| no_step(id))?)
            }
            Window::Server { .. } => self.ask(&["v1", "steps", &id.to_string()], &[]).await,
        }
    }

    /// A page of what the attempts of a step came to, oldest first.
    pub async fn attempts(&self, id: StepId, after: Option<&str>) -> Result<AttemptPage> {
        match self {
            Window::Database(browse) => {
                let after = after.and_then(attempts::read_cursor);
                let found = attempts::page(browse, id, after.as_ref(), limits::PAGE_ROWS_MAX)?;
                Ok(found.ok_or_else(|| no_step(id))?)
            }
            Window::Server { .. } => {
                let mut query = vec![("limit", limits::PAGE_ROWS_MAX.to_string())];
                query.extend(after.map(|after| ("after", after.to_string())));
                self.ask(&["v1", "steps", &id.to_string(), "attempts"], &query).await
            }
        }
    }

    /// A page of executions, newest first.
    pub async fn executions(&self, filter: &ExecutionFilter, after: Option<&str>) -> Result<ExecutionPage> {
        match self {
            Window::Database(browse) => {
                let after = after.and_then(executions::read_cursor);
                Ok(executions::page(browse, &ExecutionFilter { after, ..filter.clone() })?)
            }
            Window::Server { .. } => {
                let mut query = vec![("limit", filter.limit.to_string())];
                query.extend(filter.namespace.clone().map(|namespace| ("namespace", namespace)));
                query.extend(filter.state.map(|state| ("state", state.to_string())));
                query.extend(after.map(|after| ("after", after.to_string())));
                self.ask(&["v1", "executions"], &query).await
            }
        }
    }

    pub async fn execution(&self, name: &ExecutionName) -> Result<ExecutionShow> {
        match self {
            Window::Database(browse) => {
                let none = || Refused(format!("there is no execution {name}"));
                Ok(executions::show_view(&browse.execution(name)?.ok_or_else(none)?))
            }
            Window::Server { .. } => self.ask(&["v1", "executions", &name.namespace, &name.key], &[]).await,
        }
    }

    /// Message groups with something to do, or held back, by name.
    pub async fn message_groups(&self, filter: &GroupFilter) -> Result<MessageGroupPage> {
        let limit = filter.limit.clamp(1, limits::PAGE_ROWS_MAX);
        match self {
            Window::Database(browse) => {
                Ok(answers::message_groups(browse, &GroupFilter { limit, ..filter.clone() })?)
            }
            Window::Server { .. } => {
                let GroupFilter { begins, held, after, .. } = filter;
                let mut query = vec![("limit", limit.to_string()), ("name", begins.clone())];
                query.extend(held.map(|held| ("held", held.word().to_string())));
                query.extend(after.clone().map(|after| ("after", after)));
                self.ask(&["v1", "message-groups"], &query).await
            }
        }
    }

    /// One of them with the front of its line.
    pub async fn message_group(&self, name: &str, limit: usize) -> Result<MessageGroupShow> {
        let limit = limit.clamp(1, limits::PAGE_ROWS_MAX);
        match self {
            Window::Database(browse) => {
                let idle =
                    || Refused(format!("message group `{name}` has nothing to do and is not held back"));
                Ok(answers::message_group(browse, name, limit)?.ok_or_else(idle)?)
            }
            Window::Server { .. } => {
                self.ask(&["v1", "message-groups", name], &[("limit", limit.to_string())]).await
            }
        }
    }
}

fn no_step(id: StepId) -> Refused {
    Refused(format!("there is no step {id}"))
}

fn query(filter: &Filter) -> Vec<(&'static str, String)> {
    let mut query = vec![("limit", filter.limit.clamp(1, limits::PAGE_ROWS_MAX).to_string())];
    let listed = |words: Vec<String>| Some(words.join(",")).filter(|words| !words.is_empty());
    query.extend(listed(filter.states.iter().map(|s| s.to_string()).collect()).map(|s| ("state", s)));
    query.extend(listed(filter.statuses.iter().map(|s| s.to_string()).collect()).map(|s| ("status", s)));
    let texts = [
        ("action", &filter.action),
        ("queue", &filter.queue),
        ("dispatch_group", &filter.dispatch_group),
        ("step_key", &filter.step_key),
        ("relatable_type", &filter.relatable_type),
        ("relatable_id", &filter.relatable_id),
        ("message_group", &filter.message_group),
        ("pool", &filter.pool),
    ];
    query.extend(texts.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))));
    query.extend(filter.block.map(|id| ("block_id", id.to_string())));
    query.extend(filter.workflow.map(|id| ("workflow_id", id.to_string())));
    query.extend(filter.after.map(|id| ("after", id.to_string())));
    if filter.ascending {
        query.push(("ascending", "true".into()));
    }
    query
}
