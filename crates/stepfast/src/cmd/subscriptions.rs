//! `subscriptions`: who is told of what happens to workflows. A secret is printed once, when it is made.

use super::{output, whoever};
use crate::Refused;
use crate::cli::{Common, SubscriptionAdd, SubscriptionChange, Subscriptions};
use crate::config::Settings;
use crate::door::{Door, ask_server};
use anyhow::{Context, Result};
use model::{SubscriptionId, limits};
use server::answers;
use server::convert::subscription_view;
use std::collections::BTreeMap;
use std::process::ExitCode;
use wire::{
    SubscriptionBody, SubscriptionChangeBody, SubscriptionMadeView, SubscriptionPage, SubscriptionView,
};

pub async fn run(settings: &Settings, common: &Common, verb: Subscriptions) -> Result<ExitCode> {
    match verb {
        Subscriptions::Add(args) => add(settings, common, args).await,
        Subscriptions::List => list(settings, common).await,
        Subscriptions::Show { id } => show(settings, common, this(&id)?).await,
        Subscriptions::Change(args) => change(settings, common, args).await,
        Subscriptions::Remove { id, by } => remove(settings, common, this(&id)?, whoever(by)).await,
        Subscriptions::Test { id, by } => test(settings, common, this(&id)?, whoever(by)).await,
    }
}

fn this(id: &str) -> Result<SubscriptionId> {
    let strange = "is not the id of a subscription; `stepfast subscriptions list` shows the ids";
    Ok(id.parse().map_err(|_| Refused(format!("`{id}` {strange}")))?)
}

async fn add(settings: &Settings, common: &Common, args: SubscriptionAdd) -> Result<ExitCode> {
    let SubscriptionAdd { name, url, types, workflow, label, ordered, by } = args;
    let body = SubscriptionBody {
        name,
        url,
        types,
        workflow,
        labels: labels(&label)?,
        ordered: Some(ordered),
        by: Some(whoever(by)),
        ..SubscriptionBody::default()
    };
    let door = Door::open(settings, common.server.as_deref(), "subscriptions add")?;
    let made = door.add_subscription(body).await;
    door.close().await?;
    told(&made?, common.json)
}

fn labels(texts: &[String]) -> Result<BTreeMap<String, String>> {
    let pair = |text: &String| {
        let (name, value) =
            text.split_once('=').ok_or_else(|| Refused(format!("--label: write `{text}` as NAME=VALUE")))?;
        Ok((name.to_string(), value.to_string()))
    };
    texts.iter().map(pair).collect()
}

fn told(made: &SubscriptionMadeView, json: bool) -> Result<ExitCode> {
    if json {
        output::line(made);
        return Ok(ExitCode::SUCCESS);
    }
    let about = &made.about;
    match &made.secret {
        Some(secret) => {
            output::note(format_args!(
                "subscription {} ({}); keep its secret now, it is not shown again:",
                about.id, about.name
            ));
            output::text(secret);
        }
        None => output::text(format_args!("subscription {} ({}) is changed", about.id, about.name)),
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(settings: &Settings, common: &Common) -> Result<ExitCode> {
    let page: SubscriptionPage = match common.server.as_deref() {
        Some(server) => {
            // There are fewer than one page holds.
            let found = ask_server(settings, Some(server), &["v1", "subscriptions"], None).await?;
            serde_json::from_value(found).context("the server answers in another language")?
        }
        None => answers::subscriptions(&settings.database.browse()?, None, limits::SUBSCRIPTIONS_MAX)?,
    };
    if common.json {
        page.subscriptions.iter().for_each(output::line);
        return Ok(ExitCode::SUCCESS);
    }
    let head = ["id", "name", "types", "of", "url", "active"];
    output::table(&head, page.subscriptions.into_iter().map(row).collect());
    Ok(ExitCode::SUCCESS)
}

fn row(view: SubscriptionView) -> Vec<String> {
    let labels = view.labels.iter().map(|(name, value)| format!("{name}={value}"));
    let of: Vec<String> = view.workflow.clone().into_iter().chain(labels).collect();
    let of = if of.is_empty() { "all".into() } else { of.join(" ") };
    let active = if view.active { "yes" } else { "no" };
    vec![view.id, view.name, view.types.join(" "), of, view.url, active.into()]
}

async fn show(settings: &Settings, common: &Common, id: SubscriptionId) -> Result<ExitCode> {
    let view: SubscriptionView = match common.server.as_deref() {
        Some(server) => {
            let path = ["v1", "subscriptions", &id.to_string()];
            let found = ask_server(settings, Some(server), &path, None).await?;
            serde_json::from_value(found).context("the server answers in another language")?
        }
        None => {
            let found = settings.database.browse()?.subscription(id)?;
            subscription_view(&found.ok_or_else(|| Refused(format!("there is no subscription {id}")))?)
        }
    };
    if common.json {
        output::line(&view);
    } else {
        output::pretty(&view);
    }
    Ok(ExitCode::SUCCESS)
}

async fn change(settings: &Settings, common: &Common, args: SubscriptionChange) -> Result<ExitCode> {
    let id = this(&args.id)?;
    let secrets = match (args.renew_secret, args.drop_old_secrets) {
        (true, _) => Some("renew".to_string()),
        (_, true) => Some("drop_old".to_string()),
        _ => None,
    };
    let body = SubscriptionChangeBody {
        name: args.name,
        url: args.url,
        types: Some(args.types).filter(|types| !types.is_empty()),
        active: (args.pause || args.resume).then_some(args.resume),
        secrets,
        by: Some(whoever(args.by)),
        ..SubscriptionChangeBody::default()
    };
    let door = Door::open(settings, common.server.as_deref(), "subscriptions change")?;
    let changed = door.change_subscription(id, body).await;
    door.close().await?;
    told(&changed?, common.json)
}

async fn remove(settings: &Settings, common: &Common, id: SubscriptionId, by: String) -> Result<ExitCode> {
    let door = Door::open(settings, common.server.as_deref(), "subscriptions remove")?;
    let removed = door.remove_subscription(id, by).await;
    door.close().await?;
    removed?;
    if common.json {
        output::line(&serde_json::json!({ "removed": id.to_string() }));
    } else {
        output::text(format_args!("subscription {id} is removed"));
    }
    Ok(ExitCode::SUCCESS)
}

async fn test(settings: &Settings, common: &Common, id: SubscriptionId, by: String) -> Result<ExitCode> {
    let door = Door::open(settings, common.server.as_deref(), "subscriptions test")?;
    let made = door.test_subscription(id, by).await;
    door.close().await?;
    let made = made?;
    if common.json {
        output::line(&made);
    } else {
        output::text(&made.step_id);
    }
    Ok(ExitCode::SUCCESS)
}
