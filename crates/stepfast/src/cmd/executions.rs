//! `executions`: what is done once under a key, and what is forgotten of it.

use super::{CUT, output, whoever};
use crate::Refused;
use crate::cli::{Common, Executions, ForgetExecutions, ListExecutions};
use crate::config::Settings;
use crate::door::Door;
use crate::window::Window;
use anyhow::{Result, bail};
use model::{ExecutionName, limits};
use std::process::ExitCode;
use store::Asked;
use store::executions::ExecutionFilter;
use wire::{ExecutionView, ForgottenView};

const DAYS_MAX: f64 = 36_500.0;
/// Columns of the names of facts.
const NAME: usize = 18;

pub async fn run(settings: &Settings, common: &Common, verb: Executions) -> Result<ExitCode> {
    match verb {
        Executions::List(args) => list(settings, common, &args).await,
        Executions::Show { namespace, key } => {
            show(settings, common, &ExecutionName { namespace, key }).await
        }
        Executions::Forget(args) => forget(settings, common, &args).await,
    }
}

async fn list(settings: &Settings, common: &Common, args: &ListExecutions) -> Result<ExitCode> {
    let window = Window::open(settings, common)?;
    let unknown = |e: model::UnknownWord| Refused(format!("--state: {e}"));
    let mut filter = ExecutionFilter {
        namespace: args.namespace.clone(),
        state: args.state.as_ref().map(|word| word.parse().map_err(unknown)).transpose()?,
        ..ExecutionFilter::default()
    };
    let (mut left, mut after) = (if args.all { usize::MAX } else { args.limit.max(1) }, None);
    let (mut rows, mut is_cut) = (Vec::new(), false);
    while left > 0 {
        filter.limit = left.min(limits::PAGE_ROWS_MAX);
        let page = window.executions(&filter, after.as_deref()).await?;
        left = left.saturating_sub(page.executions.len());
        match common.json {
            true => page.executions.iter().for_each(output::line),
            false => rows.extend(page.executions.into_iter().map(cells)),
        }
        is_cut = page.next.is_some();
        match page.next {
            None => break,
            next => after = next,
        }
    }
    if !common.json {
        output::table(&["namespace", "key", "state", "attempt", "failed", "begun", "kept until"], rows);
    }
    if is_cut {
        output::note(CUT);
    }
    Ok(ExitCode::SUCCESS)
}

fn cells(line: ExecutionView) -> Vec<String> {
    vec![
        line.namespace,
        line.key,
        line.state,
        line.attempt.to_string(),
        format!("{}/{}", line.failed_attempts, line.max_attempts),
        output::instant(Some(&line.created_at)),
        output::instant(Some(&line.keep_until)),
    ]
}

async fn show(settings: &Settings, common: &Common, name: &ExecutionName) -> Result<ExitCode> {
    let view = Window::open(settings, common)?.execution(name).await?;
    if common.json {
        output::line(&view);
        return Ok(ExitCode::SUCCESS);
    }
    output::facts(NAME, &view.execution);
    output::fact(NAME, "input_hash", &view.input_hash);
    if let Some(answer) = &view.answer {
        output::fact(NAME, "answer", answer);
    }
    for moment in &view.history {
        let error = moment.error.as_ref().map(|e| format!(": {e}")).unwrap_or_default();
        let head = format!("attempt {}", moment.attempt);
        let told = format_args!("{} {} by …{}{error}", moment.at, moment.event, moment.owner);
        output::fact(NAME, &head, told);
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
