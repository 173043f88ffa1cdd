//! What every request shares: the site, the keys, and connections to read with.

use crate::Site;
use crate::access::{Caller, Keyring, Pace, Refusals, Table};
use crate::answers;
use crate::bulk::Bulk;
use crate::describe::document;
use crate::drawing::{self, Drawings};
use crate::error::ApiError;
use crate::kept::Kept;
use crate::listen::Listeners;
use crate::live::Live;
use crate::looks::{Age, Looks};
use crate::readers::Readers;
use crate::seats::Seats;
use crate::secrets::Known;
use definition::graph::Drawing;
use engine::possible::{self, Offers};
use engine::{EngineError, Plan};
use model::definition::Definition;
use model::{Pinned, Progress, State, StepId, Timestamp, Workflow, WorkflowId};
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use store::Browse;
use store::StoreError;

/// Strangers who are read for at once.
const STRANGERS_MAX: usize = 2;

pub struct App {
    pub site: Site,
    pub seats: Seats,
    pub keys: Keyring,
    pub pace: Pace,
    pub refusals: Refusals,
    /// What every route asks of its caller.
    pub table: Table,
    pub listeners: Listeners,
    pub live: Live,
    pub bulk: Bulk,
    /// Laid out when they are applied, and after a restart when they are first looked at.
    pub drawings: Drawings,
    plans: Kept<Plan>,
    readers: Readers,
    looks: Looks,
    document: OnceLock<Value>,
    /// Strangers are read for one after another, so that a flood of them leaves everybody else their connections.
    strangers: Readers,
}

impl App {
    pub fn new(site: Site, table: Table) -> App {
        let readers = Readers::new(site.database.clone());
        let strangers = Readers::with_places(site.database.clone(), STRANGERS_MAX);
        let pace = Pace::new(site.network.key_rate);
        let keys = Keyring::new(site.database.clone());
        let (seats, listeners, document) = (Seats::default(), Listeners::default(), OnceLock::new());
        let refusals = Refusals::default();
        let (bulk, live) = (Bulk::new(site.engine.clone(), site.database.clone()), Live::default());
        let (drawings, plans) = (Drawings::default(), Kept::default());
        App {
            site,
            keys,
            pace,
            refusals,
            table,
            readers,
            looks: Looks::default(),
            strangers,
            seats,
            listeners,
            document,
            bulk,
            live,
            drawings,
            plans,
        }
    }

    pub fn now(&self) -> Timestamp {
        self.site.clock.now()
    }

    /// Whether somebody who was let in still would be: a key may have been revoked since, or a browser signed out.
    pub async fn still_knows(&self, caller: &Caller) -> Result<bool, ApiError> {
        match caller {
            Caller::Key { key, shown, .. } => self.keys.is_live(key.id, *shown, self.now()).await,
            Caller::Loopback | Caller::Nobody => Ok(true),
        }
    }

    /// The description of the API, made when it is first asked for.
    pub fn document(&self) -> &Value {
        self.document.get_or_init(|| document(self.table.routes(), self.site.version))
    }

    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Browse) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ApiError> {
        Ok(self.readers.read(work).await?)
    }

    /// The same for somebody who has shown nothing yet.
    pub async fn read_for_stranger<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Browse) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ApiError> {
        Ok(self.strangers.read(work).await?)
    }

    /// One step with all that is known about it, and how far its job says it is.
    pub async fn show(&self, id: StepId) -> Result<wire::StepShow, ApiError> {
        let now = self.now();
        let found = self.read(move |browse| answers::step(browse, id, now)).await?;
        let mut shown = found.ok_or(ApiError::Engine(EngineError::NoStep(id)))?;
        let session = shown.step.session.as_ref().and_then(|session| session.parse().ok());
        let running = session.filter(|_| shown.step.state == State::Running.word());
        let progress = running.and_then(|session| self.site.engine.progress(session, id, shown.step.attempt));
        // What a job says that was given a secret may hold it, and is on no record on which it could be covered.
        let tells = !shown.step.arguments.get().contains(model::HIDDEN);
        shown.progress = progress.map(|Progress { done, of, word }| wire::ProgressView {
            done,
            of,
            word: word.filter(|_| tells),
        });
        Ok(shown)
    }

    /// One workflow with its steps.
    pub async fn workflow(&self, id: WorkflowId) -> Result<wire::WorkflowShow, ApiError> {
        let now = self.now();
        let found = self.read(move |browse| answers::workflow(browse, id, now)).await?;
        found.ok_or(ApiError::Engine(EngineError::NoWorkflow(id)))
    }

    /// The row of a workflow.
    pub async fn workflow_row(&self, id: WorkflowId) -> Result<Workflow, ApiError> {
        let found = self.read(move |browse| browse.workflow(id)).await?;
        found.ok_or(ApiError::Engine(EngineError::NoWorkflow(id)))
    }

    /// The definition that a workflow is pinned to.
    async fn definition(&self, pinned: &Pinned) -> Result<Definition, ApiError> {
        let pinned = pinned.clone();
        let read = move |browse: &Browse| Ok((*Known::default().definition(browse, &pinned)?).clone());
        self.read(read).await
    }

    /// The same, laid out.
    pub async fn drawing(&self, pinned: &Pinned) -> Result<Arc<Drawing>, ApiError> {
        match self.drawings.find(&pinned.hash) {
            Some(found) => Ok(found),
            None => drawing::laid_out(&self.drawings, &pinned.hash, self.definition(pinned).await?).await,
        }
    }

    /// What can be done about a workflow as things stand.
    pub async fn possible(&self, workflow: Workflow) -> Result<Offers, ApiError> {
        let pinned = workflow.definition.clone();
        let plan = match self.plans.find(&pinned.hash) {
            Some(found) => found,
            None => {
                let definition = self.definition(&pinned).await?;
                let hash = pinned.hash.clone();
                self.plans.keep(&hash, drawing::made(move || Plan::compile(definition, pinned)).await?)
            }
        };
        self.read(move |browse| possible::for_workflow(browse, &plan, &workflow)).await
    }

    /// Whether the file is still there and can be read, by a connection that has not seen it yet.
    pub async fn read_afresh(&self, age: Age) -> Result<(), StoreError> {
        let database = self.site.database.clone();
        self.looks.ask(age, move || database.browse()?.breaker().map(drop)).await
    }
}
