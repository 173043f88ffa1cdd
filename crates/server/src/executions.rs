//! Executions as the API shows them, and the cursor of their list.

use crate::convert::instant;
use crate::idempotency;
use model::{Execution, ExecutionMoment, ExecutionName, Standing, Timestamp};
use serde_json::value::RawValue;
use store::executions::{ExecutionFilter, ExecutionLine, ExecutionShown};
use store::{Browse, Result};

/// Characters of an owner that are shown: enough to tell two apart, too few to end something in its name.
const OWNER_SHOWN: usize = 12;

/// Up to `filter.limit` executions, newest first, and the cursor of the next page when there is one.
pub fn page(browse: &Browse, filter: &ExecutionFilter) -> Result<wire::ExecutionPage> {
    page_of(filter, &|filter| browse.executions(filter))
}

pub fn page_of(
    filter: &ExecutionFilter,
    read: &dyn Fn(&ExecutionFilter) -> Result<Vec<ExecutionLine>>,
) -> Result<wire::ExecutionPage> {
    let limit = filter.limit.max(1);
    // One row more than wanted tells whether there is a next page.
    let mut lines = read(&ExecutionFilter { limit: limit + 1, ..filter.clone() })?;
    let more = lines.len() > limit;
    lines.truncate(limit);
    let next = lines.last().filter(|_| more).map(|line| cursor(line.created_at, &line.name));
    Ok(wire::ExecutionPage { executions: lines.iter().map(line_view).collect(), next })
}

pub fn line_view(line: &ExecutionLine) -> wire::ExecutionView {
    wire::ExecutionView {
        namespace: line.name.namespace.clone(),
        key: line.name.key.clone(),
        state: line.state.to_string(),
        attempt: line.attempt,
        failed_attempts: line.failed_attempts,
        max_attempts: line.max_attempts,
        lease_ends_at: line.lease_ends_at.map(instant),
        error: line.error.clone(),
        created_at: instant(line.created_at),
        updated_at: instant(line.updated_at),
        keep_until: instant(line.keep_until),
    }
}

pub fn show_view(shown: &ExecutionShown) -> wire::ExecutionShow {
    let execution = &shown.execution;
    let answer = match &execution.standing {
        // What a caller was answered is theirs: it may be more than whoever looks may see.
        Standing::Done { answer } if !execution.name.namespace.starts_with(idempotency::NAMESPACE) => {
            RawValue::from_string(answer.clone()).ok()
        }
        _ => None,
    };
    wire::ExecutionShow {
        execution: line_view(&line_of(execution)),
        input_hash: execution.input.to_string(),
        answer,
        history: shown.history.iter().map(moment_view).collect(),
    }
}

fn line_of(execution: &Execution) -> ExecutionLine {
    let (lease_ends_at, error) = match &execution.standing {
        Standing::InProgress { lease_ends_at } => (Some(*lease_ends_at), None),
        Standing::Done { .. } => (None, None),
        Standing::Failed { error } => (None, Some(error.clone())),
    };
    ExecutionLine {
        name: execution.name.clone(),
        state: execution.standing.state(),
        attempt: execution.attempt,
        failed_attempts: execution.failed_attempts,
        max_attempts: execution.max_attempts,
        lease_ends_at,
        error,
        created_at: execution.created_at,
        updated_at: execution.updated_at,
        keep_until: execution.keep_until,
    }
}

fn moment_view(moment: &ExecutionMoment) -> wire::MomentView {
    let owner = moment.owner.to_string();
    wire::MomentView {
        at: instant(moment.at),
        attempt: moment.attempt,
        event: moment.event.to_string(),
        owner: owner[owner.len() - OWNER_SHOWN..].into(),
        error: moment.error.clone(),
    }
}

pub fn cursor(at: Timestamp, name: &ExecutionName) -> String {
    let text = serde_json::json!([at.0, name.namespace, name.key]).to_string();
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// What `cursor` wrote.
pub fn read_cursor(text: &str) -> Option<(Timestamp, ExecutionName)> {
    let digits = text.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> =
        digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    let (at, namespace, key): (i64, String, String) = serde_json::from_slice(&bytes?).ok()?;
    Some((Timestamp(at), ExecutionName { namespace, key }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let (at, name) = (Timestamp(7), ExecutionName::new("a/b", "ü \n&"));
        assert_eq!(read_cursor(&cursor(at, &name)), Some((at, name)));
        for bad in ["", "7", "zz", "5b5d"] {
            assert_eq!(read_cursor(bad), None, "{bad}");
        }
    }
}
