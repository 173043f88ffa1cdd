//! `definitions`: what is on record, by key and from the newest version on.

use super::output;
use crate::cli::{Common, Definitions};
use crate::config::Settings;
use crate::named::Named;
use crate::window::Window;
use anyhow::Result;
use server::answers;
use std::process::ExitCode;
use wire::DefinitionView;

pub async fn run(settings: &Settings, common: &Common, args: &Definitions) -> Result<ExitCode> {
    let window = Window::open(settings, common)?;
    if let Some(one) = args.key.as_deref().filter(|key| key.contains('@')) {
        let definition = window.definition(&Named::parse(one)?).await?;
        let written = answers::as_written(&definition);
        match common.json {
            true => output::line(&written),
            false => output::pretty(&written),
        }
        return Ok(ExitCode::SUCCESS);
    }
    let found = window.definitions(args.key.as_deref()).await?;
    if common.json {
        found.iter().for_each(output::line);
    } else {
        let head = ["workflow", "version", "live", "created", "by", "hash"];
        output::table(&head, found.iter().map(cells).collect());
    }
    if let (true, Some(key)) = (found.is_empty(), &args.key) {
        output::note(format_args!("there is no definition `{key}`; store one with `stepfast apply`"));
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn cells(view: &DefinitionView) -> Vec<String> {
    vec![
        view.workflow.clone(),
        view.version.clone(),
        view.live.to_string(),
        output::instant(Some(&view.created_at)),
        view.created_by.clone(),
        view.hash.chars().take(12).collect(),
    ]
}
