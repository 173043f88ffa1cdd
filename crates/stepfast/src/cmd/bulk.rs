//! `bulk`: the same done to many steps or workflows by the server, counted and tried before, and watched until it is over.

use super::{output, whoever};
use crate::Refused;
use crate::cli::{Bulk, BulkRun, Common};
use crate::config::Settings;
use crate::door::{ask_server, ask_with, server_of};
use crate::screen::plain;
use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, to_value};
use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;
use wire::{BulkBody, BulkFilter, BulkPage, BulkPreview, BulkView, OperateBody, ResolveBody};

/// How often it is looked at.
const EVERY: Duration = Duration::from_millis(250);
const LABEL: &str = "label.";

pub async fn run(settings: &Settings, common: &Common, verb: Bulk) -> Result<ExitCode> {
    let server = Server { settings, common };
    match verb {
        Bulk::Run(args) => server.carry_out(args).await,
        Bulk::List { limit, after } => server.list(limit, after).await,
        Bulk::Show { id } => {
            tell(&server.ask(&["v1", "bulk", &id], None).await?, common.json);
            Ok(ExitCode::SUCCESS)
        }
        Bulk::Cancel { id, why, by } => {
            let body = to_value(OperateBody { why: Some(why), by: Some(whoever(by)) })?;
            tell(&server.ask(&["v1", "bulk", &id, "cancel"], Some(body)).await?, common.json);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Whoever does it: it goes on when nobody watches, so it is never this process.
struct Server<'a> {
    settings: &'a Settings,
    common: &'a Common,
}

impl Server<'_> {
    async fn ask<T: DeserializeOwned>(&self, path: &[&str], body: Option<Value>) -> Result<T> {
        let answer = ask_server(self.settings, self.common.server.as_deref(), path, body).await?;
        Ok(serde_json::from_value(answer)?)
    }

    async fn carry_out(&self, args: BulkRun) -> Result<ExitCode> {
        let body = BulkBody {
            what: args.what.clone(),
            filter: filter(&args.filter)?,
            verb: args.verb.clone(),
            decision: args
                .decision
                .clone()
                .map(|decision| ResolveBody { decision, ..ResolveBody::default() }),
            why: args.why.clone(),
            dry_run: true,
            per_second: args.per_second,
            by: Some(whoever(args.by.clone())),
            ..BulkBody::default()
        };
        let preview: BulkPreview = self.ask(&["v1", "bulk"], Some(to_value(&body)?)).await?;
        if args.dry_run && self.common.json {
            output::line(&preview);
        } else {
            foretell(&args, &preview).iter().for_each(|line| match args.dry_run {
                true => output::text(line),
                false => output::note(line),
            });
        }
        if args.dry_run || preview.matched == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        if !args.yes && !is_agreed(&args, &preview)? {
            return Ok(ExitCode::FAILURE);
        }
        // As many as were told, and no more.
        let body = BulkBody { dry_run: false, confirm: Some(preview.matched), ..body };
        let running: BulkView = self.ask(&["v1", "bulk"], Some(to_value(&body)?)).await?;
        if args.detach {
            tell(&running, self.common.json);
            return Ok(ExitCode::SUCCESS);
        }
        let over = self.watch(running).await?;
        tell(&over, self.common.json);
        Ok(match over.state.as_str() {
            "succeeded" if over.progress.refused == 0 => ExitCode::SUCCESS,
            "succeeded" => ExitCode::from(3),
            _ => ExitCode::FAILURE,
        })
    }

    async fn watch(&self, mut view: BulkView) -> Result<BulkView> {
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {per_sec} {eta}");
        let bar =
            ProgressBar::new(view.matched).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        while view.completed_at.is_none() {
            tokio::time::sleep(EVERY).await;
            view = self.ask(&["v1", "bulk", &view.id.clone()], None).await?;
            bar.set_position(view.progress.looked);
        }
        bar.finish_and_clear();
        Ok(view)
    }

    async fn list(&self, limit: usize, after: Option<String>) -> Result<ExitCode> {
        let mut query = vec![("limit", limit.to_string())];
        query.extend(after.map(|after| ("after", after)));
        let (settings, server) = (self.settings, self.common.server.as_deref());
        let server = server_of(settings, server)?;
        let page = ask_with(settings, &server, &["v1", "bulk"], &query).await?;
        let page: BulkPage = serde_json::from_value(page)?;
        if self.common.json {
            page.bulk.iter().for_each(output::line);
        } else {
            let row = |view: &BulkView| {
                let progress = format!("{}/{}", view.progress.looked, view.matched);
                let refused = view.progress.refused.to_string();
                let what = format!("{} {}", view.verb, view.what);
                vec![
                    view.state.clone(),
                    what,
                    progress,
                    refused,
                    view.by.clone(),
                    view.why.clone(),
                    view.id.clone(),
                ]
            };
            let heads = ["state", "what", "looked at", "refused", "by", "why", "id"];
            output::table(&heads, page.bulk.iter().map(row).collect());
        }
        if let Some(next) = page.next {
            output::note(format_args!("there are more; see --after {next}"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What people write, as the API takes it.
fn filter(parts: &[String]) -> Result<BulkFilter> {
    let (mut said, mut labels) = (Map::new(), Map::new());
    for part in parts {
        let Some((name, value)) = part.split_once('=') else {
            bail!(Refused(format!("--filter: `{part}` is none; write NAME=VALUE, such as state=failed")));
        };
        match name.strip_prefix(LABEL) {
            Some(label) => drop(labels.insert(label.into(), value.into())),
            None if name == "state" => drop(said.insert(name.into(), value.split(',').collect())),
            None => drop(said.insert(name.into(), value.into())),
        }
    }
    if !labels.is_empty() {
        said.insert("labels".into(), labels.into());
    }
    serde_json::from_value(said.into()).map_err(|problem| Refused(format!("--filter: {problem}")).into())
}

/// What is done to each.
fn word(args: &BulkRun) -> &str {
    args.verb.as_deref().or(args.decision.as_deref()).unwrap_or_default()
}

/// How many, and what would become of a few.
fn foretell(args: &BulkRun, preview: &BulkPreview) -> Vec<String> {
    let more = if preview.more { "more than " } else { "" };
    let mut lines =
        vec![format!("this would {} {more}{} {}", word(args).replace('_', " "), preview.matched, args.what)];
    for sample in &preview.sample {
        let refused = if sample.refused { "refused: " } else { "" };
        lines.push(format!("  {}  {refused}{}", sample.id, plain(&sample.would)));
    }
    lines
}

fn is_agreed(args: &BulkRun, preview: &BulkPreview) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!(Refused("write --yes to do it, or --dry-run to look".into()));
    }
    eprint!("{} {} {}? [y/N] ", word(args), preview.matched, args.what);
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn tell(view: &BulkView, json: bool) {
    if json {
        return output::line(view);
    }
    let BulkView { verb, what, id, state, progress, matched, .. } = view;
    output::text(format_args!("{verb} {what}, {state}: {id}"));
    output::text(format_args!(
        "  {} of {matched} looked at, {} done, {} refused",
        progress.looked, progress.done, progress.refused
    ));
    progress
        .refusals
        .iter()
        .for_each(|refusal| output::text(format_args!("  {}  {}", refusal.id, plain(&refusal.why))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(parts: &[&str]) -> Result<Value> {
        let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
        Ok(to_value(filter(&parts)?)?)
    }

    #[test]
    fn what_is_written_is_what_is_meant() {
        let said = read(&["state=failed,stopped", "workflow=order", "label.team=a=b"]).unwrap();
        assert_eq!(
            said,
            json!({"state": ["failed", "stopped"], "workflow": "order", "labels": {"team": "a=b"}})
        );
        for (bad, told) in
            [("failed", "`failed` is none; write NAME=VALUE"), ("colour=red", "unknown field `colour`")]
        {
            let refused = read(&[bad]).unwrap_err().to_string();
            assert!(refused.contains(told), "{refused}");
        }
    }
}
