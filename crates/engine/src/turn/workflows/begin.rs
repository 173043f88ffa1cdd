//! Starts workflows: finds the definition, looks at the input, and begins, here or where it is decided.

use super::super::node::{Node, Turn};
use super::pauses::Pauses;
use super::secrets::hidden;
use super::{Changed, Entry};
use crate::EngineError;
use crate::request::{Reply, StartWorkflow, Started};
use crate::signal::{Arrived, Signal};
use model::definition::Definition;
use model::{DispatchGroup, Fault, Name, Pinned, Timestamp, Workflow, WorkflowId, WorkflowState, limits};
use rules::fifo;
use rules::workflow::progress::Progress;
use rules::workflow::{self, Answers, Data, Plan};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::workflows as record;
use store::{AuditEntry, Result, StoreError};

/// How long a node trusts its memory of which version of a definition is the newest.
const NEWEST_FOR: Duration = Duration::from_secs(1);

impl Node {
    pub(super) fn compile(&mut self, definition: &record::Definition) -> Result<Arc<Plan>> {
        if let Some(plan) = self.workflows.plans.get(&definition.pinned.hash) {
            return Ok(plan.clone());
        }
        let corrupt = |value: String| StoreError::Corrupt { table: "definitions", column: "text", value };
        let read: Definition =
            serde_json::from_str(&definition.text).map_err(|problem| corrupt(problem.to_string()))?;
        let plan = Plan::compile(read, Arc::new(definition.pinned.clone()))
            .map_err(|faults| corrupt(faults.first().map(ToString::to_string).unwrap_or_default()))?;
        if self.workflows.plans.len() >= limits::CACHED_DEFINITIONS_MAX {
            self.workflows.plans.clear();
        }
        let plan = Arc::new(plan);
        self.workflows.plans.insert(definition.pinned.hash.clone(), plan.clone());
        Ok(plan)
    }

    pub(super) fn plan_for(
        &mut self,
        key: &str,
        version: Option<&str>,
        now: Timestamp,
    ) -> Result<Option<Arc<Plan>>> {
        if version.is_none()
            && let Some((at, plan)) = self.workflows.newest.get(key)
            && now.since(*at) < NEWEST_FOR
        {
            return Ok(Some(plan.clone()));
        }
        let Some(found) = record::find(self.store.reader(), key, version)? else { return Ok(None) };
        let plan = self.compile(&found)?;
        if version.is_none() {
            self.workflows.newest.insert(key.into(), (now, plan.clone()));
        }
        Ok(Some(plan))
    }

    pub(in super::super) fn start_workflow(
        &mut self,
        turn: &mut Turn,
        start: StartWorkflow,
        reply: Reply<Started>,
        now: Timestamp,
    ) -> Result<()> {
        let Some(plan) = self.plan_for(&start.workflow, start.version.as_deref(), now)? else {
            turn.acts.refuse(reply, EngineError::NoDefinition(start.named()));
            return Ok(());
        };
        let workflow = match self.new_workflow(turn, &plan, &start, now)? {
            Ok(workflow) => workflow,
            Err(faults) => {
                turn.acts.refuse(reply, EngineError::Invalid(faults));
                return Ok(());
            }
        };
        turn.audit.extend(start.by.map(|who| AuditEntry {
            who,
            verb: "start".into(),
            target: format!("workflow {}", workflow.id),
            why: None,
            before: None,
            after: Some(format!("{} {}", plan.pinned.key, plan.pinned.version)),
        }));
        let started = Started {
            id: workflow.id,
            workflow: plan.pinned.key.to_string(),
            version: plan.pinned.version.to_string(),
            dispatch_group: workflow.dispatch_group.clone(),
        };
        self.put_workflow(turn, workflow, plan, now)?;
        turn.acts.reply(reply, started);
        Ok(())
    }

    /// Begin it, or let it wait for its turn, or leave it to whoever decides about it.
    fn put_workflow(
        &mut self,
        turn: &mut Turn,
        mut workflow: Workflow,
        plan: Arc<Plan>,
        now: Timestamp,
    ) -> Result<()> {
        if !self.owns(&workflow.dispatch_group) {
            workflow.state = WorkflowState::Pending;
            let arrived = Arrived { workflows: vec![workflow.id], ..Arrived::default() };
            let home = workflow.dispatch_group.clone();
            self.tell_owner(turn, &home, &Signal::Arrived(arrived));
            self.workflows.abroad.push(workflow);
            return Ok(());
        }
        if !self.may_begin(&workflow, &plan)? {
            workflow.state = WorkflowState::Pending;
            self.wait_for_key(&workflow);
            let entry = self.new_entry(workflow, plan, Progress::default());
            self.workflows.changed.push(entry.workflow.id);
            self.workflows.put(entry);
            return Ok(());
        }
        self.begin_workflow(turn, workflow, plan, now)
    }

    fn new_workflow(
        &mut self,
        turn: &mut Turn,
        plan: &Plan,
        start: &StartWorkflow,
        now: Timestamp,
    ) -> Result<std::result::Result<Workflow, Vec<Fault>>> {
        let input = start.input.as_ref().map_or("{}", |raw| raw.get());
        let mut faults = looked_at(plan, input, &start.labels);
        let id = self.new_workflow_id(now);
        let input: Arc<str> = match self.sealed_input(plan, input, id) {
            Ok(sealed) if faults.is_empty() => sealed,
            sealed => {
                faults.extend(sealed.err());
                return Ok(Err(faults));
            }
        };
        let key = concurrency_key(plan, &input).unwrap_or_else(|fault| {
            faults.push(fault);
            None
        });
        if !faults.is_empty() {
            return Ok(Err(faults));
        }
        let dispatch_group = match &key {
            Some(key) => fifo::home(key, &self.config.groups),
            None => self.next_root(turn)?,
        };
        let mut labels = plan.definition.labels.clone();
        labels.extend(start.labels.clone());
        let workflow = Workflow {
            id,
            labels: labels.into_iter().collect(),
            concurrency_key: key,
            trace: start.trace.clone().map(Arc::new),
            ..self.blank_workflow(plan, input, dispatch_group, now)
        };
        Ok(Ok(workflow))
    }

    pub(super) fn blank_workflow(
        &mut self,
        plan: &Plan,
        input: Arc<str>,
        dispatch_group: DispatchGroup,
        now: Timestamp,
    ) -> Workflow {
        Workflow {
            id: self.new_workflow_id(now),
            definition: plan.pinned.clone(),
            dispatch_group,
            state: WorkflowState::Running,
            paused_by: None,
            message: None,
            parent: None,
            depth: 0,
            input,
            output: None,
            labels: Arc::new([]),
            trace: None,
            concurrency_key: None,
            expected_at: plan.definition.expected_within.map(|span| now + span),
            created_at: now,
            started_at: None,
            completed_at: None,
            wake_at: None,
            aftermath: None,
            version: 0,
        }
    }

    fn new_entry(&self, workflow: Workflow, plan: Arc<Plan>, progress: Progress) -> Entry {
        Entry {
            answers: Answers::of(workflow.input.clone()),
            counted: None,
            workflow,
            plan,
            progress,
            live: BTreeMap::new(),
            broken: BTreeMap::new(),
            runs: BTreeMap::new(),
            pauses: Pauses::default(),
            replaced: BTreeMap::new(),
            spared: BTreeMap::new(),
            cut: Default::default(),
            undoing: Vec::new(),
            ends: None,
            change: Some(Changed::Made),
            turn: self.turn_number,
        }
    }

    pub(super) fn begin_workflow(
        &mut self,
        turn: &mut Turn,
        workflow: Workflow,
        plan: Arc<Plan>,
        now: Timestamp,
    ) -> Result<()> {
        let (progress, next) = Progress::start(&plan.graph);
        let workflow = Workflow { state: WorkflowState::Running, started_at: Some(now), ..workflow };
        self.workflows.tell(&workflow, now, "workflow.started", None, None);
        self.workflows.changed.push(workflow.id);
        let entry = self.new_entry(workflow, plan, progress);
        self.go_on(turn, entry, next.into(), now)
    }

    /// One that is on record and was not begun yet.
    pub(super) fn begin_pending(&mut self, turn: &mut Turn, id: WorkflowId, now: Timestamp) -> Result<()> {
        let Some(mut entry) = self.entry(id)? else { return Ok(()) };
        if entry.workflow.state != WorkflowState::Pending {
            self.workflows.put(entry);
            return Ok(());
        }
        let (progress, next) = Progress::start(&entry.plan.graph);
        entry.progress = progress;
        entry.workflow.state = WorkflowState::Running;
        entry.workflow.started_at = Some(now);
        self.note_change(&mut entry);
        self.workflows.tell(&entry.workflow, now, "workflow.started", None, None);
        self.go_on(turn, entry, next.into(), now)
    }

    /// The next dispatch group in the round.
    fn next_root(&mut self, turn: &mut Turn) -> Result<DispatchGroup> {
        if self.roots.is_empty() {
            self.roots.extend(self.store.take_roots(1)?);
            turn.took_roots = true;
        }
        let place = self.roots.pop_front().unwrap_or_default();
        let groups = &self.config.groups;
        Ok(groups[(place % groups.len() as u64) as usize].clone())
    }
}

fn fault(field: impl Into<String>, problem: String, fix: impl Into<String>) -> Fault {
    Fault { field: field.into(), problem, fix: fix.into() }
}

/// Everything that is wrong with what a workflow is started with.
fn looked_at(plan: &Plan, input: &str, labels: &BTreeMap<String, String>) -> Vec<Fault> {
    let mut faults = Vec::new();
    if input.len() > limits::PAYLOAD_BYTES_MAX {
        let fix = format!("send at most {} bytes; keep large data elsewhere", limits::PAYLOAD_BYTES_MAX);
        return vec![fault("input", format!("is {} bytes long", input.len()), fix)];
    }
    if input.contains("\\u0000") || input.contains('\0') {
        faults.push(Fault::nul("input"));
    }
    if let Some(fault) = Fault::json("input", input) {
        faults.push(fault);
        return faults;
    }
    if let Some(shape) = &plan.input {
        let value = serde_json::from_str(input).unwrap_or_default();
        for (at, problem) in shape.complaints(&value) {
            let fix = format!("write what the input schema of `{}` asks for", plan.pinned.key);
            let problem = hidden(problem, plan, input);
            faults.push(fault(format!("input{}", at.replace('/', ".")), problem, fix));
        }
    }
    if labels.len() > limits::LABELS_MAX {
        let fix = format!("write at most {}", limits::LABELS_MAX);
        faults.push(fault("labels", format!("there are {}", labels.len()), fix));
    }
    for (name, value) in labels {
        if name.is_empty() || name.len() > limits::NAME_BYTES_MAX || value.len() > limits::NAME_BYTES_MAX {
            let fix = format!(
                "use 1 to {} bytes for a name and at most as many for a value",
                limits::NAME_BYTES_MAX
            );
            faults.push(fault(format!("labels.{name}"), "is too long, or has no name".into(), fix));
        }
        if name.contains('\0') || value.contains('\0') {
            faults.push(Fault::nul(format!("labels.{name}")));
        }
    }
    faults
}

/// Everything for which a workflow would not be started with this; nothing is started.
pub fn start_faults(definition: Definition, pinned: Arc<Pinned>, start: &StartWorkflow) -> Vec<Fault> {
    let plan = match Plan::compile(definition, pinned) {
        Ok(plan) => plan,
        Err(faults) => return faults,
    };
    let input = start.input.as_ref().map_or("{}", |raw| raw.get());
    let mut faults = looked_at(&plan, input, &start.labels);
    faults.extend(concurrency_key(&plan, input).err());
    faults
}

/// The key of which only so many are done at once, with the definition's own.
fn concurrency_key(plan: &Plan, input: &str) -> std::result::Result<Option<Name>, Fault> {
    let answers = Answers::of(input.into());
    let data = Data::new(plan, &answers);
    let key = workflow::concurrency_key(plan, &data).map_err(|failure| {
        fault(
            "input",
            format!("the concurrency key cannot be told: {}", failure.message),
            "send what it asks for",
        )
    })?;
    match key {
        Some(key) if key.len() > limits::NAME_BYTES_MAX => {
            let problem = format!("the concurrency key is {} bytes long", key.len());
            Err(fault("input", problem, format!("make it at most {} bytes", limits::NAME_BYTES_MAX)))
        }
        key => Ok(key.map(Into::into)),
    }
}
