//! Pauses, and what was sent to triggers, for people.

use crate::convert;
use crate::pages::cut;
use crate::secrets::Known;
use model::{Pause, Timestamp, Workflow, WorkflowId};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use store::pauses::Waiting;
use store::{Browse, PausePlace, Result};

/// The first of those that wait, or of those of one workflow.
pub fn pauses(
    browse: &Browse,
    (of, which): (Option<WorkflowId>, Waiting),
    limit: usize,
) -> Result<wire::PausePage> {
    pauses_behind(browse, (of, which), None, limit)
}

/// Those that wait, of all workflows or of one, behind a place.
pub fn pauses_behind(
    browse: &Browse,
    (of, which): (Option<WorkflowId>, Waiting),
    after: Option<PausePlace>,
    limit: usize,
) -> Result<wire::PausePage> {
    let mut found = match of {
        None => browse.pauses_behind(which, after, limit + 1)?,
        // In the order of its definition, and there the run stands where a time would.
        Some(id) => {
            let place = |pause: &Pause| (pause.def, i64::from(pause.run));
            let is_behind = |pause: &Pause| after.is_none_or(|(run, _, def)| place(pause) > (def, run.0));
            browse.workflow_pauses(id)?.into_iter().filter(is_behind).take(limit + 1).collect()
        }
    };
    let time = |pause: &Pause| match which {
        _ if of.is_some() => Timestamp(pause.run.into()),
        Waiting::All => pause.registered_at,
        Waiting::DueBy(_) => pause.timeout_at.or(pause.resume_at).unwrap_or_default(),
    };
    let next = cut(&mut found, limit, |pause| format!("{} {} {}", time(pause).0, pause.workflow, pause.def));
    let mut known: HashMap<WorkflowId, Option<Workflow>> = HashMap::new();
    let mut pauses = Vec::with_capacity(found.len());
    for pause in &found {
        let workflow = match known.entry(pause.workflow) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(browse.workflow(pause.workflow)?),
        };
        pauses.extend(workflow.as_ref().map(|workflow| convert::pause_view(pause, workflow)));
    }
    Ok(wire::PausePage { pauses, next })
}

/// All of one workflow, in the order of its definition.
pub(super) fn of_workflow(browse: &Browse, workflow: &Workflow) -> Result<Vec<wire::PauseView>> {
    let pauses: Vec<Pause> = browse.workflow_pauses(workflow.id)?;
    Ok(pauses.iter().map(|pause| convert::pause_view(pause, workflow)).collect())
}

/// What was sent to a workflow, the newest first.
pub fn triggers(
    browse: &Browse,
    id: WorkflowId,
    after: Option<u64>,
    limit: usize,
) -> Result<Option<wire::TriggerPayloadPage>> {
    let Some(workflow) = browse.workflow(id)? else { return Ok(None) };
    let secrets = Known::default().secrets(browse, &workflow)?;
    let mut sent = browse.trigger_payloads_behind(id, after, limit + 1)?;
    let next = cut(&mut sent, limit, |sent| sent.number.to_string());
    let view = |sent: &model::TriggerPayload| {
        let mut view = convert::trigger_payload_view(sent);
        view.payload = view.payload.map(|payload| secrets.hide(payload));
        view.why = view.why.map(|why| secrets.hide_text(why));
        view
    };
    Ok(Some(wire::TriggerPayloadPage { triggers: sent.iter().map(view).collect(), next }))
}
