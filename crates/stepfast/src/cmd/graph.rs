//! `graph`: a definition as a picture, from its file or as it is on record.

use super::output;
use crate::cli::{Common, Graph, GraphFormat};
use crate::config::Settings;
use crate::window::Window;
use crate::{Refused, files, named};
use anyhow::Result;
use definition::graph;
use model::definition::Definition;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

pub async fn run(settings: &Settings, common: &Common, args: &Graph) -> Result<ExitCode> {
    let definition = definition_of(settings, common, &args.of).await?;
    let drawn = match args.format {
        GraphFormat::Text => graph::text(&definition),
        GraphFormat::Mermaid => graph::mermaid(&definition),
        GraphFormat::Svg => graph::svg(&definition),
    };
    let told =
        |faults: Vec<model::Fault>| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let drawn = drawn.map_err(|faults| Refused(told(faults)))?;
    if common.json {
        let (workflow, version) = (&definition.workflow, &definition.version);
        output::line(&json!({"workflow": workflow, "version": version, "graph": drawn}));
    } else {
        output::text(drawn.trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// What a file says, or what is on record under a key.
pub async fn definition_of(settings: &Settings, common: &Common, of: &str) -> Result<Definition> {
    if !named::is_file(of) {
        let named = named::Named::parse(of)?;
        return Window::open(settings, common)?.definition(&named).await;
    }
    let mut files = files::read_sound(&[PathBuf::from(of)])?;
    match (files.len(), files.pop()) {
        (1, Some(file)) => Ok(file.definition),
        (n, _) => Err(Refused(format!("{of} has {n} definitions; name one file")).into()),
    }
}
