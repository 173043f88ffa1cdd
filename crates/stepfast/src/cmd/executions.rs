//! `executions`: what is done once under a key, and what is forgotten of it.

use super::{output, whoever};
use crate::Refused;
use crate::cli::{Common, Executions, ForgetExecutions, ListExecutions};
use crate::config::Settings;
use crate::door::Door;
use anyhow::{Result, bail};
use model::{ExecutionName, limits};
use server::executions;
use std::process::ExitCode;
use store::Asked;
use store::executions::{ExecutionFilter, ExecutionLine};
use wire::ForgottenView;

const DAYS_MAX: f64 = 36_500.0;

pub async fn run(settings: &Settings, common: &Common, verb: Executions) -> Result<ExitCode> {
    match verb {
        Executions::List(args) => list(settings, &args, common.json),
        Executions::Show { namespace, key } => show(settings, ExecutionName { namespace, key }, common.json),
        Executions::Forget(args) => forget(settings, common, &args).await,
    }
}

fn list(settings: &Settings, args: &ListExecutions, json: bool) -> Result<ExitCode> {
    let browse = settings.database.browse()?;
    let unknown = |e: model::UnknownWord| Refused(format!("--state: {e}"));
    let mut filter = ExecutionFilter {
        namespace: args.namespace.clone(),
        state: args.state.as_ref().map(|word| word.parse().map_err(unknown)).transpose()?,
        after: None,
        limit: if args.all { limits::PAGE_ROWS_MAX } else { args.limit },
    };
    let mut rows = Vec::new();
    loop {
        let page = browse.executions(&filter)?;
        let more = args.all && page.len() == filter.limit;
        if json {
            page.iter().for_each(|line| output::line(&executions::line_view(line)));
        } else {
            rows.extend(page.iter().map(cells));
        }
        match page.last() {
            Some(last) if more => filter.after = Some((last.created_at, last.name.clone())),
            _ => break,
        }
    }
    if !json {
        output::table(&["namespace", "key", "state", "attempt", "failed", "begun", "kept until"], rows);
    }
    Ok(ExitCode::SUCCESS)
}

fn cells(line: &ExecutionLine) -> Vec<String> {
    vec![
        line.name.namespace.clone(),
        line.name.key.clone(),
        line.state.to_string(),
        line.attempt.to_string(),
        format!("{}/{}", line.failed_attempts, line.max_attempts),
        output::time(Some(line.created_at)),
        output::time(Some(line.keep_until)),
    ]
}

fn show(settings: &Settings, name: ExecutionName, json: bool) -> Result<ExitCode> {
    let browse = settings.database.browse()?;
    let Some(shown) = browse.execution(&name)? else {
        bail!(Refused(format!("there is no execution {name}")))
    };
    let view = executions::show_view(&shown);
    if json {
        output::line(&view);
        return Ok(ExitCode::SUCCESS);
    }
    let value = serde_json::to_value(&view.execution)?;
    for (name, value) in value.as_object().into_iter().flatten().filter(|(_, v)| !v.is_null()) {
        let value = value.as_str().map_or_else(|| value.to_string(), String::from);
        output::text(format_args!("{name:<18} {value}"));
    }
    output::text(format_args!("{:<18} {}", "input_hash", view.input_hash));
    if let Some(answer) = &view.answer {
        output::text(format_args!("{:<18} {answer}", "answer"));
    }
    for moment in &view.history {
        let error = moment.error.as_ref().map(|e| format!(": {e}")).unwrap_or_default();
        let head = format!("attempt {}", moment.attempt);
        output::text(format_args!("{head:<18} {} {} by …{}{error}", moment.at, moment.event, moment.owner));
    }
    Ok(ExitCode::SUCCESS)
}

async fn forget(settings: &Settings, common: &Common, args: &ForgetExecutions) -> Result<ExitCode> {
    if let Some(days) = args.days.filter(|days| !(0.0..=DAYS_MAX).contains(days)) {
        bail!(Refused(format!("--days {days} is out of range; write a number from 0 to {DAYS_MAX}")));
    }
    let asked = Asked { who: whoever(args.by.clone()), why: args.why.clone() };
    let door = Door::open(settings, common.server.as_deref(), "executions forget")?;
    let mut total = ForgottenView::default();
    let outcome = loop {
        match door.forget_executions(args.days, &asked, args.dry_run).await {
            Err(problem) => break Err(problem),
            Ok(page) => {
                total.executions += page.executions;
                if !page.more {
                    break Ok(());
                }
            }
        }
    };
    door.close().await?;
    outcome?;
    if common.json {
        output::line(&total);
    } else {
        let would = if args.dry_run { "would be " } else { "" };
        output::text(format_args!("{} executions {would}forgotten", total.executions));
    }
    Ok(ExitCode::SUCCESS)
}
