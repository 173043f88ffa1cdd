//! Pauses, and what was sent to triggers, for people.

use crate::convert;
use crate::secrets::Known;
use model::{Pause, Workflow, WorkflowId, limits};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use store::pauses::Waiting;
use store::{Browse, Result};

/// Those that wait, of all workflows or of one.
pub fn pauses(
    browse: &Browse,
    (of, which): (Option<WorkflowId>, Waiting),
    limit: usize,
) -> Result<wire::PausePage> {
    let found = match of {
        None => browse.pauses(which, limit)?,
        Some(id) => browse.workflow_pauses(id)?.into_iter().take(limit).collect(),
    };
    let mut known: HashMap<WorkflowId, Option<Workflow>> = HashMap::new();
    let mut pauses = Vec::with_capacity(found.len());
    for pause in &found {
        let workflow = match known.entry(pause.workflow) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(browse.workflow(pause.workflow)?),
        };
        pauses.extend(workflow.as_ref().map(|workflow| convert::pause_view(pause, workflow)));
    }
    Ok(wire::PausePage { pauses })
}

/// All of one workflow, in the order of its definition.
pub(super) fn of_workflow(browse: &Browse, workflow: &Workflow) -> Result<Vec<wire::PauseView>> {
    let pauses: Vec<Pause> = browse.workflow_pauses(workflow.id)?;
    Ok(pauses.iter().map(|pause| convert::pause_view(pause, workflow)).collect())
}

/// What was sent to a workflow, the newest first.
pub fn triggers(browse: &Browse, id: WorkflowId) -> Result<Option<wire::TriggerPayloadPage>> {
    let Some(workflow) = browse.workflow(id)? else { return Ok(None) };
    let secrets = Known::default().secrets(browse, &workflow)?;
    let sent = browse.trigger_payloads(id, limits::PAGE_ROWS_MAX)?;
    let view = |sent: &model::TriggerPayload| {
        let mut view = convert::trigger_payload_view(sent);
        view.payload = view.payload.map(|payload| secrets.hide(payload));
        view.why = view.why.map(|why| secrets.hide_text(why));
        view
    };
    Ok(Some(wire::TriggerPayloadPage { triggers: sent.iter().map(view).collect() }))
}
