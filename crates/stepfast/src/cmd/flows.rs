//! `flows`: work that runs elsewhere and is tracked here.

use super::{output, whoever};
use crate::Refused;
use crate::cli::{AskFlow, Common, Flows, ListFlows, MarkFlow, StartFlow};
use crate::config::Settings;
use crate::door::Door;
use crate::screen::plain;
use crate::window::Window;
use anyhow::Result;
use engine::{FlowWish, Saying};
use model::{FlowId, FlowState, FlowStepState, UnknownWord};
use std::process::ExitCode;
use store::flows::FlowFilter;
use wire::{FlowBody, FlowNowView, FlowShow, FlowStepBody, FlowView};

pub async fn run(settings: &Settings, common: &Common, verb: Flows) -> Result<ExitCode> {
    match verb {
        Flows::List(args) => return list(settings, common, args).await,
        Flows::Show { id } => {
            show(&Window::open(settings, common)?.flow(flow_id(&id)?).await?, common.json);
            return Ok(ExitCode::SUCCESS);
        }
        _ => {}
    }
    let door = Door::open(settings, common.server.as_deref(), "flows")?;
    let done = said(&door, verb).await;
    door.close().await?;
    let done = done?;
    match common.json {
        true => output::line(&done),
        false => output::text(plain(&brief(&done))),
    }
    Ok(ExitCode::SUCCESS)
}

async fn said(door: &Door, verb: Flows) -> Result<FlowNowView> {
    match verb {
        Flows::Start(args) => door.start_flow(body(args)?).await,
        Flows::Complete(args) => mark(door, args, FlowStepState::Completed).await,
        Flows::Fail(args) => mark(door, args, FlowStepState::Failed).await,
        Flows::Skip(args) => mark(door, args, FlowStepState::Skipped).await,
        Flows::Update(args) => {
            let to = args.state.as_deref().map(state_of).transpose()?;
            door.update_flow(saying(&args.id, args.message, args.by)?, to).await
        }
        Flows::Finish(args) => {
            let to = state_of(&args.state)?;
            door.finish_flow(saying(&args.id, args.message, args.by)?, to).await
        }
        Flows::Retry(args) => ask(door, args, FlowWish::Retry).await,
        Flows::Cancel(args) => ask(door, args, FlowWish::Cancel).await,
        Flows::List(_) | Flows::Show { .. } => unreachable!("they only look"),
    }
}

async fn mark(door: &Door, args: MarkFlow, to: FlowStepState) -> Result<FlowNowView> {
    door.mark_flow(saying(&args.id, args.message, args.by)?, &args.step, to).await
}

async fn ask(door: &Door, args: AskFlow, wish: FlowWish) -> Result<FlowNowView> {
    door.ask_flow(saying(&args.id, args.why, args.by)?, wish, args.dry_run).await
}

fn saying(id: &str, message: Option<String>, by: Option<String>) -> Result<Saying> {
    Ok(Saying { flow: flow_id(id)?, message, by: whoever(by) })
}

fn flow_id(text: &str) -> Result<FlowId> {
    let strange = || Refused(format!("`{text}` is not the id of a flow; `stepfast flows list` shows them"));
    Ok(text.parse().map_err(|_| strange())?)
}

fn state_of(word: &str) -> Result<FlowState> {
    Ok(word.parse().map_err(|problem: UnknownWord| Refused(format!("--state: {problem}")))?)
}

/// `payment:123`
fn entity(text: Option<&str>) -> Result<(String, String)> {
    let Some(text) = text else { return Ok(Default::default()) };
    let strange = || Refused(format!("--entity {text} names nothing; write TYPE:ID, as payment:123"));
    let (kind, id) =
        text.split_once(':').filter(|(kind, id)| !kind.is_empty() && !id.is_empty()).ok_or_else(strange)?;
    Ok((kind.into(), id.into()))
}

fn body(args: StartFlow) -> Result<FlowBody> {
    let (entity_type, entity_id) = entity(args.entity.as_deref())?;
    let step = |name: String| match name.strip_suffix('?') {
        Some(name) => FlowStepBody::Said { name: name.into(), optional: true },
        None => FlowStepBody::Name(name),
    };
    let action = |option: &str, text: Option<String>| {
        let wrong = |e: serde_json::Error| Refused(format!("{option}: {e}; write {{\"action\": \"NAME\"}}"));
        text.map(|text| serde_json::from_str(&text).map_err(wrong)).transpose()
    };
    Ok(FlowBody {
        kind: args.kind,
        key: args.flow_key,
        entity_type,
        entity_id,
        user: args.user,
        steps: args.steps.into_iter().map(step).collect(),
        open: args.open,
        timeout_seconds: Some(args.timeout),
        message: args.message,
        retry: action("--retry", args.retry)?,
        cancel: action("--cancel", args.cancel)?,
        again: Some(if args.new { "new" } else { "resume" }.into()),
        by: Some(whoever(args.by)),
    })
}

fn brief(now: &FlowNowView) -> String {
    let made = now.step_id.as_ref().map(|id| format!(" · step {id}")).unwrap_or_default();
    format!("{} {} · {} % · {}{made}", now.flow.id, now.flow.state, now.percent, now.sentence)
}

async fn list(settings: &Settings, common: &Common, args: ListFlows) -> Result<ExitCode> {
    let (entity_type, entity_id) = entity(args.entity.as_deref())?;
    let filter = FlowFilter {
        kind: args.kind,
        key: args.flow_key,
        entity_type: Some(entity_type).filter(|text| !text.is_empty()),
        entity_id: Some(entity_id).filter(|text| !text.is_empty()),
        user: args.user,
        state: args.state.as_deref().map(state_of).transpose()?,
        live: args.live,
        after: args.after.as_deref().map(flow_id).transpose()?,
        limit: args.limit.clamp(1, model::limits::PAGE_ROWS_MAX),
    };
    let page = Window::open(settings, common)?.flows(&filter).await?;
    match common.json {
        true => page.flows.iter().for_each(output::line),
        false => {
            let rows = page.flows.iter().map(row).collect();
            output::table(&["state", "type", "of", "run", "user", "last said", "id"], rows);
        }
    }
    if let Some(next) = page.next {
        output::note(format_args!("there are more; see --after {next}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn row(flow: &FlowView) -> Vec<String> {
    let parts = [&flow.key, &flow.entity_type, &flow.entity_id].into_iter().filter(|part| !part.is_empty());
    let of: Vec<&str> = parts.map(String::as_str).collect();
    vec![
        flow.state.clone(),
        flow.kind.clone(),
        of.join(" "),
        flow.run.to_string(),
        flow.user.clone().unwrap_or_else(|| "-".into()),
        output::instant(Some(&flow.updated_at)),
        flow.id.clone(),
    ]
}

fn show(shown: &FlowShow, json: bool) {
    if json {
        return output::line(shown);
    }
    let flow = &shown.flow;
    output::text(plain(&format!("{} · {} %", row(flow)[..3].join(" "), shown.percent)));
    output::text(plain(&shown.sentence));
    for (name, value) in [
        ("error", flow.error.clone()),
        ("state before", flow.previous_state.clone()),
        ("started", Some(format!("{} by {}", output::instant(Some(&flow.started_at)), flow.started_by))),
        ("expected by", Some(output::instant(Some(&flow.timeout_at)))),
        ("finished", flow.finished_at.as_ref().map(|at| output::instant(Some(at)))),
    ] {
        if let Some(value) = value {
            output::fact(13, name, value);
        }
    }
    for step in &shown.steps {
        let at = step.at.as_ref().map(|at| output::instant(Some(at))).unwrap_or_default();
        let optional = if step.optional { " (optional)" } else { "" };
        let message = step.message.as_deref().unwrap_or_default();
        let line = format!("  {:<10} {}{optional}  {at}  {message}", step.state, step.name);
        output::text(plain(&line).trim_end());
    }
    for said in &shown.history {
        let step = said.step.as_ref().map(|step| format!(" {step}")).unwrap_or_default();
        let message = said.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
        let (at, event) = (output::instant(Some(&said.at)), said.event.replace('_', " "));
        output::text(plain(&format!("  {at}  {event}{step} by {}{message}", said.by)));
    }
}
