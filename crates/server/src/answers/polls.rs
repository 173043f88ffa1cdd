//! Steps that wait for their next poll, for people.

use crate::convert;
use model::{StepId, Timestamp, WorkflowId};
use std::collections::HashMap;
use store::{Browse, PollFilter, Result};

/// Up to `filter.limit` of them, the one that is due first in front, and the cursor of the next page when there is one.
pub fn polls(browse: &Browse, filter: &PollFilter, now: Timestamp) -> Result<wire::PollPage> {
    let limit = filter.limit.max(1);
    let mut rows = browse.polling(&PollFilter { limit: limit + 1, ..filter.clone() })?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().and_then(|row| Some((row.step.wake_at?, row.step.id)));
    let mut names: HashMap<WorkflowId, Option<String>> = HashMap::new();
    let mut polls = Vec::with_capacity(rows.len());
    for row in &rows {
        let workflow = match row.step.in_workflow {
            Some(part) => name(browse, part.workflow, &mut names)?,
            None => None,
        };
        polls.push(convert::polling_view(row, workflow, now));
    }
    Ok(wire::PollPage { polls, next: last.filter(|_| more).map(cursor) })
}

fn name(
    browse: &Browse,
    id: WorkflowId,
    names: &mut HashMap<WorkflowId, Option<String>>,
) -> Result<Option<String>> {
    if let Some(known) = names.get(&id) {
        return Ok(known.clone());
    }
    let found = browse.workflow(id)?.map(|workflow| workflow.definition.key.to_string());
    names.insert(id, found.clone());
    Ok(found)
}

fn cursor((at, id): (Timestamp, StepId)) -> String {
    format!("{}.{id}", at.0)
}

/// What `next` of a page said; none if it is something else.
pub fn read_poll_cursor(text: &str) -> Option<(Timestamp, StepId)> {
    let (at, id) = text.split_once('.')?;
    Some((Timestamp(at.parse().ok()?), id.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_again() {
        let place = (Timestamp(-7), StepId::of(9));
        assert_eq!(read_poll_cursor(&cursor(place)), Some(place));
        assert_eq!(read_poll_cursor("soon"), None);
        assert_eq!(read_poll_cursor("1.x"), None);
    }
}
