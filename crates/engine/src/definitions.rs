//! Definitions on record: a version is stored once and stays as it is.

use crate::{Engine, EngineError};
use model::definition::Definition;
use model::{Fault, Pinned};
use rules::workflow::Plan;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::workflows::{self as record, Definition as Stored};
use store::{AuditEntry, Change, Store};

type Result<T> = std::result::Result<T, EngineError>;

/// What became of a definition that was to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Applied {
    Created,
    /// This version is on record, and says the same.
    Unchanged,
}

impl Engine {
    /// Store a version of a definition, in the form that has its hash.
    pub async fn apply_definition(&self, definition: Stored, by: String) -> Result<Applied> {
        self.with_store(move |store| apply(store, definition, by)).await?
    }
}

fn apply(store: &mut dyn Store, definition: Stored, by: String) -> Result<Applied> {
    let Pinned { key, version, hash } = &definition.pinned;
    let fault = |problem: String| Fault {
        field: "definition".into(),
        problem,
        fix: "store it with `stepfast apply`, which looks at it first".into(),
    };
    let read: Definition = serde_json::from_str(&definition.text)
        .map_err(|problem| EngineError::Invalid(vec![fault(format!("cannot be read: {problem}"))]))?;
    if *read.workflow != **key || *read.version != **version {
        return Err(EngineError::Invalid(vec![fault("is stored under another name".into())]));
    }
    Plan::compile(read, Arc::new(definition.pinned.clone())).map_err(EngineError::Invalid)?;
    if let Some(found) = record::find(store.reader(), key, Some(version))? {
        return same(&found, &definition);
    }
    let entry = AuditEntry {
        who: by.clone(),
        verb: "apply".into(),
        target: format!("definition {key} {version}"),
        why: None,
        before: None,
        after: Some(hash.to_string()),
    };
    let at = store.now();
    let put = Change::PutDefinition { definition: definition.clone(), at, by };
    if store.change(vec![put, Change::Audit { at, entry }])?.starts_with(&[0]) {
        // Somebody else stored it in between.
        let found = record::find(store.reader(), key, Some(version))?;
        return found.map_or(Ok(Applied::Unchanged), |found| same(&found, &definition));
    }
    Ok(Applied::Created)
}

fn same(found: &Stored, asked: &Stored) -> Result<Applied> {
    let Pinned { key, version, hash } = &asked.pinned;
    match found.pinned.hash == *hash {
        true => Ok(Applied::Unchanged),
        false => {
            Err(EngineError::DefinitionDiffers { workflow: key.to_string(), version: version.to_string() })
        }
    }
}
