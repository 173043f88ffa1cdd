//! What people look at: the database itself, or the server that was named.
//!
//! Why    whoever has the database needs nobody to read it, also while no server runs. Whoever names a server may not have it.

mod engine;
mod progress;
mod steps;

use crate::cli::{Common, Polls};
use crate::config::Settings;
use crate::door::{client, send, under};
use crate::named::{Named, workflow_id};
use crate::screen::Shown;
use crate::{Refused, Unavailable};
use anyhow::{Result, bail};
use model::definition::Definition;
use model::{Timestamp, WorkflowId, limits};
use serde::Serialize;
use serde::de::DeserializeOwned;
use server::{answers, convert};
use std::collections::HashMap;
use std::time::Duration;
use store::pauses::Waiting;
use store::{Browse, Clock, PollFilter, SystemClock, WorkflowFilter};
use wire::{
    DefinitionPage, DefinitionShow, DefinitionView, PausePage, PollPage, WorkflowEventPage,
    WorkflowEventView, WorkflowPage, WorkflowShow,
};

/// Workflows inside each other that are shown in one tree, and how deep.
const SHOWN_BELOW_MAX: usize = 100;
const SHOWN_DEPTH_MAX: usize = 8;
/// Pages that are read for one answer.
const PAGES_MAX: usize = 100;

pub enum Window {
    Database(Box<Browse>),
    Server { url: String, http: reqwest::Client },
}

impl Window {
    pub fn open(settings: &Settings, common: &Common) -> Result<Window> {
        match &common.server {
            Some(url) => {
                let url = url.trim_end_matches('/').to_string();
                Ok(Window::Server { http: client(settings, &url)?, url })
            }
            None => Ok(Window::Database(Box::new(settings.database.browse()?))),
        }
    }

    /// A page of workflows, newest first, and where the next begins.
    pub async fn workflow_page(&self, filter: &WorkflowFilter) -> Result<WorkflowPage> {
        match self {
            Window::Database(browse) => Ok(answers::workflows(browse, filter)?),
            Window::Server { .. } => self.ask(&["v1", "workflows"], &query(filter)).await,
        }
    }

    pub async fn workflow(&self, id: WorkflowId) -> Result<WorkflowShow> {
        match self {
            Window::Database(browse) => {
                let found = answers::workflow(browse, id, SystemClock::default().now())?;
                Ok(found.ok_or_else(|| Refused(format!("there is no workflow {id}")))?)
            }
            Window::Server { .. } => self.ask(&["v1", "workflows", &id.to_string()], &[]).await,
        }
    }

    /// What workflows wait for, or what one waits and waited for.
    pub async fn pauses(
        &self,
        of: Option<WorkflowId>,
        within: Option<Duration>,
        limit: usize,
    ) -> Result<PausePage> {
        let limit = limit.clamp(1, limits::PAGE_ROWS_MAX);
        match self {
            Window::Database(browse) => {
                let due = |span| Waiting::DueBy(SystemClock::default().now() + span);
                let which = within.map_or(Waiting::All, due);
                Ok(answers::pauses(browse, (of, which), limit)?)
            }
            Window::Server { .. } => {
                let mut query = vec![("limit", limit.to_string())];
                query.extend(of.map(|id| ("workflow", id.to_string())));
                query.extend(within.map(|span| ("due_within", span.as_secs().to_string())));
                self.ask(&["v1", "pauses"], &query).await
            }
        }
    }

    /// Steps that wait for their next poll.
    pub async fn polls(&self, wanted: &Polls) -> Result<PollPage> {
        let (due, limit, after) = (wanted.due, wanted.limit, wanted.after.as_deref());
        match self {
            Window::Database(browse) => {
                let strange = |text: &str| Refused(format!("--after {text} is not what a page before told"));
                let after = after.map(|text| answers::read_poll_cursor(text).ok_or_else(|| strange(text)));
                let now = SystemClock::default().now();
                let filter = PollFilter { due_at: due.then_some(now), after: after.transpose()?, limit };
                Ok(answers::polls(browse, &filter, now)?)
            }
            Window::Server { .. } => {
                let mut query = vec![("due", due.to_string()), ("limit", limit.to_string())];
                query.extend(after.map(|after| ("after", after.to_string())));
                self.ask(&["v1", "polls"], &query).await
            }
        }
    }

    /// A workflow with those that its steps started.
    pub async fn tree(&self, id: WorkflowId) -> Result<Shown> {
        let mut left = SHOWN_BELOW_MAX;
        self.below(id, 0, &mut left).await
    }

    async fn below(&self, id: WorkflowId, depth: usize, left: &mut usize) -> Result<Shown> {
        let workflow = self.workflow(id).await?;
        let mut below = HashMap::new();
        for step in workflow.steps.iter().filter(|_| depth < SHOWN_DEPTH_MAX) {
            if let (Some(inner), true) = (&step.below, *left > 0) {
                *left -= 1;
                let inner = Box::pin(self.below(workflow_id(inner)?, depth + 1, left)).await?;
                below.insert(step.key.clone(), inner);
            }
        }
        Ok(Shown { workflow, below })
    }

    /// What happened to a workflow, from the beginning.
    pub async fn events(&self, id: WorkflowId) -> Result<Vec<WorkflowEventView>> {
        let (mut events, mut after) = (Vec::new(), 0);
        for _ in 0..PAGES_MAX {
            let page = self.events_after(id, after).await?;
            events.extend(page.events);
            match page.next.as_deref().map(str::parse) {
                None => return Ok(events),
                Some(Ok(next)) => after = next,
                Some(Err(_)) => {
                    bail!(Unavailable("the server answered with a page that has no number".into()))
                }
            }
        }
        crate::cmd::note(format_args!("there are more events; these are the first {}", events.len()));
        Ok(events)
    }

    async fn events_after(&self, id: WorkflowId, after: u64) -> Result<WorkflowEventPage> {
        match self {
            Window::Database(browse) => {
                let page = answers::events(browse, id, after, limits::PAGE_ROWS_MAX)?;
                Ok(page.ok_or_else(|| Refused(format!("there is no workflow {id}")))?)
            }
            Window::Server { .. } => {
                let query = [("after", after.to_string())];
                self.ask(&["v1", "workflows", &id.to_string(), "events"], &query).await
            }
        }
    }

    pub async fn definitions(&self, key: Option<&str>) -> Result<Vec<DefinitionView>> {
        let (mut all, mut after) = (Vec::new(), None::<String>);
        for _ in 0..PAGES_MAX {
            let page = self.definitions_after(key, after.as_deref()).await?;
            all.extend(page.definitions);
            match page.next {
                None => return Ok(all),
                next => after = next,
            }
        }
        crate::cmd::note(format_args!("there are more definitions; these are the first {}", all.len()));
        Ok(all)
    }

    async fn definitions_after(&self, key: Option<&str>, after: Option<&str>) -> Result<DefinitionPage> {
        match self {
            Window::Database(browse) => {
                let after = after.and_then(answers::definition_cursor);
                Ok(answers::definitions(browse, key, after.as_ref(), limits::PAGE_ROWS_MAX)?)
            }
            Window::Server { .. } => {
                let mut query = vec![("limit", limits::PAGE_ROWS_MAX.to_string())];
                query.extend(key.map(|key| ("workflow", key.into())));
                query.extend(after.map(|after| ("after", after.into())));
                self.ask(&["v1", "definitions"], &query).await
            }
        }
    }

    /// What a definition on record says.
    pub async fn definition(&self, named: &Named) -> Result<Definition> {
        match self {
            Window::Database(browse) => {
                let found = answers::definition(browse, &named.key, named.version.as_deref())?;
                let none =
                    || Refused(format!("there is no definition `{named}`; store one with `stepfast apply`"));
                Ok(found.ok_or_else(none)?.1)
            }
            Window::Server { .. } => {
                let mut path = vec!["v1", "definitions", &named.key];
                path.extend(named.version.as_deref());
                let shown: DefinitionShow = self.ask(&path, &[]).await?;
                read(&shown)
            }
        }
    }

    /// What a server says would come of a call.
    pub async fn try_out<T: DeserializeOwned>(&self, path: &[&str], body: &impl Serialize) -> Result<T> {
        let Window::Server { url, http } = self else { bail!("only a server is asked") };
        let mut url = under(url, path)?;
        url.query_pairs_mut().append_pair("dry_run", "true");
        send(http.post(url.clone()).json(body), url.as_str()).await
    }

    /// What a server answers.
    async fn ask<T: DeserializeOwned>(&self, path: &[&str], query: &[(&str, String)]) -> Result<T> {
        let Window::Server { url, http } = self else { bail!("only a server is asked") };
        let mut url = under(url, path)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        send(http.get(url.clone()), url.as_str()).await
    }
}

fn now() -> Timestamp {
    SystemClock::default().now()
}

/// As authors write it, or as it is stored.
fn read(shown: &DefinitionShow) -> Result<Definition> {
    let text = serde_json::to_vec(&shown.definition)?;
    match definition::read(&text, &shown.about.workflow) {
        Ok(read) => Ok(read.definition),
        Err(_) => Ok(serde_json::from_value(shown.definition.clone())?),
    }
}

fn query(filter: &WorkflowFilter) -> Vec<(&'static str, String)> {
    let mut query = vec![("limit", filter.limit.to_string())];
    if !filter.states.is_empty() {
        let states: Vec<&str> = filter.states.iter().map(|state| state.word()).collect();
        query.push(("state", states.join(",")));
    }
    let instant = |at: Option<Timestamp>| at.map(convert::instant);
    query.extend(filter.definition.clone().map(|key| ("workflow", key)));
    query.extend(filter.version.clone().map(|version| ("version", version)));
    query.extend(filter.labels.iter().map(|(name, value)| ("label", format!("{name}:{value}"))));
    query.extend(instant(filter.created_from).map(|at| ("from", at)));
    query.extend(instant(filter.created_to).map(|at| ("to", at)));
    query.extend(instant(filter.quiet_since).map(|at| ("quiet_since", at)));
    query.extend(filter.after.map(|id| ("after", id.to_string())));
    if filter.nested {
        query.push(("nested", "true".into()));
    }
    query
}
