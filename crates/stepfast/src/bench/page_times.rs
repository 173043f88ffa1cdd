//! How long every page takes to answer beside n steps on record: most of them done, some failed, in line, or waiting for nobody.

use super::figures::{Figures, rate};
use super::rig::{Rig, counting};
use super::served::Served;
use super::workflow::{start_each, store};
use anyhow::{Context, Result, bail};
use engine::{StartWorkflow, Stopwatch};
use model::NewStep;
use serde_json::Value;
use std::time::Duration;
use stepfast::builder::{Definition, Step};
use worker::{Claim, Outcome, Registry};

const NAME: &str = "page_times";
/// Each page is asked for so often, once around before that.
const ROUNDS: usize = 20;
/// No page may take longer.
const LONGEST: Duration = Duration::from_millis(50);
/// Steps made in one call.
const BULK: usize = 1_000;
const WORKFLOWS: usize = 500;

/// What a person can open; a step and a workflow are put in where their ids belong.
const PAGES: [&str; 25] = [
    "/step-dispatcher",
    "/step-dispatcher/api",
    "/step-dispatcher/steps",
    "/step-dispatcher/steps?state=failed",
    "/step-dispatcher/steps?state=completed",
    "/step-dispatcher/steps/STEP",
    "/workflows",
    "/workflows?state=failed",
    "/workflows/WORKFLOW",
    "/bulk",
    "/flows",
    "/alerts",
    "/waiting",
    "/progress",
    "/notifications",
    "/message-groups",
    "/message-groups/line-1",
    "/pools",
    "/executions",
    "/definitions",
    "/nodes",
    "/settings",
    "/keys",
    "/audit",
    "/metrics",
];

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let mut served = Served::open(rig, NAME).await?;
    store(&served.local, Definition::of("order", "1.0.0").step(Step::action("pay", "break"))).await?;
    let (mut jobs, count) = counting();
    breaking(&mut jobs);
    served.local.run(jobs, rig.concurrency).await?;
    let watch = Stopwatch::start();
    let mut done = 0;
    for from in (0..n).step_by(BULK) {
        let steps = mixed(BULK.min(n - from));
        done += steps.iter().filter(|step| &*step.action == "noop").count();
        served.local.engine.create(steps).await?;
    }
    let workflows = start_each(&served.local, (0..WORKFLOWS).map(|_| Ok(StartWorkflow::of("order")))).await;
    workflows.context("workflows start")?;
    rig.wait_completed(NAME, &count, done).await?;
    let per_s = rate(n, watch.elapsed());
    let http = reqwest::Client::builder().tls_certs_only([]).build()?;
    let pages = addresses(&http, &served.url).await?;
    let mut samples = vec![Vec::with_capacity(ROUNDS); pages.len()];
    for round in 0..=ROUNDS {
        for (page, samples) in pages.iter().zip(&mut samples) {
            let took = open(&http, page).await?;
            samples.extend((round > 0).then_some(took));
        }
    }
    served.stop(Duration::from_secs(5)).await?;
    let mut figures = Figures::new("page-times", n, per_s);
    let (mut slowest, mut over) = (Duration::ZERO, 0);
    for (name, samples) in PAGES.iter().zip(&mut samples) {
        samples.sort_unstable();
        let longest = samples[ROUNDS - 1];
        if longest > LONGEST {
            over += 1;
            eprintln!("{name} took {} ms, and {} are the most", longest.as_millis(), LONGEST.as_millis());
        }
        slowest = slowest.max(longest);
        figures = figures.with(name, samples[ROUNDS / 2].as_secs_f64() * 1e3);
    }
    let all = samples.into_iter().flatten().collect();
    Ok(figures
        .with_samples(all)
        .with("slowest_ms", slowest.as_secs_f64() * 1e3)
        .with("over_50_ms", f64::from(over)))
}

/// Steps of which most are done, some fail, some stand in line, and some wait for a worker that never comes.
fn mixed(n: usize) -> Vec<NewStep> {
    let one = |i: usize| match i % 100 {
        0 => NewStep { max_attempts: Some(1), ..NewStep::of("break") },
        20 => NewStep::of("nobody"),
        40 | 60 => NewStep {
            message_group: Some(format!("line-{}", i % 7)),
            mode: Some("next_on_error".into()),
            ..NewStep::of("noop")
        },
        _ => NewStep::of("noop"),
    };
    (0..n).map(one).collect()
}

fn breaking(jobs: &mut Registry) {
    jobs.raw("break", |_: Claim| {
        std::future::ready(Outcome::Fail { failure: Default::default(), notify: false })
    });
}

async fn addresses(http: &reqwest::Client, url: &str) -> Result<Vec<String>> {
    let first = async |list: &str, field: &str| -> Result<String> {
        let text = http.get(format!("{url}{list}")).send().await?.error_for_status()?.text().await?;
        let found: Value = serde_json::from_str(&text)?;
        found[field][0]["id"].as_str().map(str::to_owned).with_context(|| format!("{list} is empty"))
    };
    let step = first("/v1/steps?limit=1", "steps").await?;
    let workflow = first("/v1/workflows?limit=1", "workflows").await?;
    let place = |page: &&str| format!("{url}{}", page.replace("STEP", &step).replace("WORKFLOW", &workflow));
    Ok(PAGES.iter().map(place).collect())
}

async fn open(http: &reqwest::Client, page: &str) -> Result<Duration> {
    let watch = Stopwatch::start();
    let answer = http.get(page).send().await?;
    let status = answer.status();
    let text = answer.text().await?;
    if !status.is_success() {
        bail!("{page} answered {status}: {}", text.chars().take(500).collect::<String>());
    }
    Ok(watch.elapsed())
}
