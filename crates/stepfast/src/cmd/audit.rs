//! `audit`: who changed what by hand, why, and what it was before.

use super::output;
use crate::cli::{Audit, Common};
use crate::config::Settings;
use crate::window::Window;
use anyhow::Result;
use model::limits;
use server::WantedAudit;
use std::process::ExitCode;
use wire::AuditView;

pub async fn run(settings: &Settings, common: &Common, args: &Audit) -> Result<ExitCode> {
    let page = Window::open(settings, common)?.audit(&wanted(args)).await?;
    if common.json {
        page.audit.iter().for_each(output::line);
    } else {
        let rows = page.audit.into_iter().map(cells).collect();
        output::table(&["at", "who", "did", "to", "why", "before", "after"], rows);
    }
    if let Some(next) = page.next {
        output::note(format_args!("there are more; see --after {next}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn wanted(args: &Audit) -> WantedAudit {
    WantedAudit {
        who: args.who.clone(),
        verb: args.verb.clone(),
        target: args.target.clone(),
        from: args.from.clone(),
        to: args.to.clone(),
        after: args.after.map(|number| number.to_string()),
        limit: Some(args.limit.clamp(1, limits::PAGE_ROWS_MAX)),
    }
}

fn cells(entry: AuditView) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    vec![
        output::instant(Some(&entry.at)),
        entry.who,
        entry.verb,
        entry.target,
        or_dash(entry.why),
        or_dash(entry.before),
        or_dash(entry.after),
    ]
}
