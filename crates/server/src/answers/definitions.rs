//! Definitions on record, and what a new version would mean beside them.

use crate::convert;
use model::definition::Definition;
use model::{Pinned, State, WorkflowState, limits};
use std::collections::BTreeSet;
use store::workflows::Definition as Stored;
use store::{Browse, DefinitionKey, DefinitionLine, Result, StoreError, WorkflowFilter};

/// Versions and, of each, workflows that are compared with a new version.
const LIVE_VERSIONS_MAX: usize = 20;
const LIVE_WORKFLOWS_MAX: usize = 20;
/// What would break, of one version.
const BREAKS_MAX: usize = 50;

/// Definitions by name, the newest version of each first, behind `name version`.
pub fn definitions(
    browse: &Browse,
    workflow: Option<&str>,
    after: Option<&DefinitionKey>,
    limit: usize,
) -> Result<wire::DefinitionPage> {
    // One row more than wanted tells whether there is a next page.
    let mut lines = browse.definitions(workflow, after, limit + 1)?;
    let more = lines.len() > limit;
    lines.truncate(limit);
    Ok(wire::DefinitionPage {
        definitions: lines.iter().map(convert::definition_view).collect(),
        next: lines.last().filter(|_| more).map(cursor),
    })
}

/// What a page says comes next; none if it is nothing that a page says.
pub fn definition_cursor(text: &str) -> Option<DefinitionKey> {
    let (key, version) = text.split_once(' ')?;
    let numbers: Option<Vec<u64>> = version.split('.').map(|part| part.parse().ok()).collect();
    let fits = |n: &u64| i64::try_from(*n).is_ok();
    let version = numbers.filter(|all| all.iter().all(fits))?.try_into().ok()?;
    Some(DefinitionKey { key: key.into(), version }).filter(|at| !at.key.contains('\0'))
}

fn cursor(line: &DefinitionLine) -> String {
    format!("{} {}", line.key, line.version)
}

/// A version of a definition, or its newest, with what it says.
pub fn definition(
    browse: &Browse,
    key: &str,
    version: Option<&str>,
) -> Result<Option<(wire::DefinitionView, Definition)>> {
    let Some(stored) = browse.definition(key, version)? else { return Ok(None) };
    let line = browse.definition_line(key, &stored.pinned.version)?;
    let missing = || corrupt(format!("{key} {} is not listed", stored.pinned.version));
    let view = line.as_ref().map(convert::definition_view).ok_or_else(missing)?;
    Ok(Some((view, read(&stored)?)))
}

fn corrupt(value: String) -> StoreError {
    StoreError::Corrupt { table: "definitions", column: "text", value }
}

fn read(stored: &Stored) -> Result<Definition> {
    serde_json::from_str(&stored.text).map_err(|problem| corrupt(problem.to_string()))
}

/// A definition in the form that is stored.
pub fn stored(definition: &Definition) -> Stored {
    let pinned = Pinned {
        key: definition.workflow.as_str().into(),
        version: definition.version.as_str().into(),
        hash: definition::hash(definition).into(),
    };
    Stored { pinned, text: definition::canonical(definition) }
}

/// A definition as JSON, in the form that is stored.
pub fn as_written(definition: &Definition) -> serde_json::Value {
    serde_json::to_value(definition).unwrap_or_default()
}

/// What a definition is beside those on record.
pub struct Standing {
    /// The hash under which this version is on record.
    pub recorded: Option<String>,
    /// What it says differently from the newest version before it.
    pub changes: Vec<String>,
    pub live: Vec<wire::LiveVersion>,
}

pub fn standing(browse: &Browse, new: &Definition) -> Result<Standing> {
    let lines = browse.definitions(Some(&new.workflow), None, limits::PAGE_ROWS_MAX)?;
    let recorded = browse.definition_line(&new.workflow, &new.version)?.map(|line| line.hash);
    let before = lines.iter().find(|line| parts(&line.version) < parts(&new.version));
    let changes = match before {
        Some(line) if recorded.is_none() => {
            let old = version(browse, line)?;
            definition::diff(&old, new).iter().map(ToString::to_string).collect()
        }
        _ => Vec::new(),
    };
    let others = lines.iter().filter(|line| line.live > 0 && line.version != new.version);
    let live = others.take(LIVE_VERSIONS_MAX).map(|line| live_version(browse, line, new));
    Ok(Standing { recorded, changes, live: live.collect::<Result<_>>()? })
}

fn parts(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or_default()).collect()
}

fn version(browse: &Browse, line: &DefinitionLine) -> Result<Definition> {
    let found = browse.definition(&line.key, Some(&line.version))?;
    read(&found.ok_or_else(|| corrupt(format!("{} {} is gone", line.key, line.version)))?)
}

/// What would break if workflows of that version went on with the new one; the newest of them are looked at.
fn live_version(browse: &Browse, line: &DefinitionLine, new: &Definition) -> Result<wire::LiveVersion> {
    let old = version(browse, line)?;
    let filter = WorkflowFilter {
        states: WorkflowState::ALL.iter().copied().filter(|state| is_live(*state)).collect(),
        definition: Some(line.key.clone()),
        version: Some(line.version.clone()),
        nested: true,
        limit: LIVE_WORKFLOWS_MAX,
        ..WorkflowFilter::default()
    };
    let mut broken = BTreeSet::new();
    for workflow in browse.workflows(&filter)? {
        let runs = super::workflows::runs(browse.workflow_steps(workflow.id)?);
        let begun: Vec<(&str, State)> = runs
            .iter()
            .filter_map(|(n, rows)| Some((old.steps.get(*n as usize)?.key.as_str(), rows.last()?.step.state)))
            .collect();
        broken.extend(definition::breaks(&old, new, &begun));
    }
    Ok(wire::LiveVersion {
        version: line.version.clone(),
        running: line.live,
        would_break: broken.into_iter().take(BREAKS_MAX).collect(),
    })
}

fn is_live(state: WorkflowState) -> bool {
    !matches!(state, WorkflowState::Succeeded | WorkflowState::Cancelled)
}
