//! What open overview pages cost a server that is busy: its processor time with n of them beside the same work with none.

use super::figures::{Figures, rate};
use super::rig::{Rig, noops};
use anyhow::{Context, Result, bail};
use engine::Stopwatch;
use serde_json::json;
use std::process::Stdio;
use std::time::Duration;
use store::Database;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// Steps made and done in a second, in this many calls.
const STEPS_PER_S: usize = 1_000;
const CALLS_PER_S: usize = 10;
/// How long each of both is looked at, after a while to settle.
const SPAN: Duration = Duration::from_secs(10);
const SETTLES: Duration = Duration::from_secs(2);
/// A page reads its charts again this often.
const CHARTS_EVERY: Duration = Duration::from_secs(30);

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let server = Server::start(&rig.database("pages")?).await?;
    let http = reqwest::Client::builder().tls_certs_only([]).build()?;
    let without = server.busy(&http).await?;
    let mut pages = JoinSet::new();
    for i in 0..n {
        let from = CHARTS_EVERY.mul_f64(i as f64 / n.max(1) as f64);
        pages.spawn(page(http.clone(), server.url.clone(), from));
    }
    let with = server.busy(&http).await?;
    if let Some(ended) = pages.try_join_next() {
        bail!("a page ended: {:?}", ended?);
    }
    pages.shutdown().await;
    Ok(Figures::new("pages", n, with.steps_per_s)
        .with("core_without", without.core)
        .with("core_with", with.core)
        .with("core_of_pages", with.core - without.core))
}

struct Busy {
    steps_per_s: f64,
    /// Processor time in parts of one core.
    core: f64,
}

/// A server in a process of its own, so that what the pages do themselves is not counted.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    async fn start(database: &Database) -> Result<Server> {
        let mut command = Command::new(std::env::current_exe().context("the program has a path")?);
        command.args(["serve", "--bind", "127.0.0.1:0", "--workers", "16"]).env_remove("STEPFAST_SERVER");
        match database {
            Database::Sqlite(file) => command.env("STEPFAST_DB", format!("sqlite:{}", file.display())),
            Database::Postgres(url) => command.env("STEPFAST_DB", url),
        };
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let stdout = child.stdout.take().context("its output is piped")?;
        let line = BufReader::new(stdout).lines().next_line().await?.unwrap_or_default();
        match line.strip_prefix("listening on ") {
            Some(url) => Ok(Server { url: url.into(), child }),
            None => bail!("`stepfast serve` said `{line}`"),
        }
    }

    /// The same work for a while: how much of it was done, and what it cost.
    async fn busy(&self, http: &reqwest::Client) -> Result<Busy> {
        self.work(http, SETTLES).await?;
        let (before, watch) = (self.processor_time()?, Stopwatch::start());
        let made = self.work(http, SPAN).await?;
        let span = watch.elapsed();
        let spent = self.processor_time()? - before;
        Ok(Busy { steps_per_s: rate(made, span), core: spent.as_secs_f64() / span.as_secs_f64() })
    }

    async fn work(&self, http: &reqwest::Client, span: Duration) -> Result<usize> {
        let body = serde_json::to_string(&json!({ "steps": noops(STEPS_PER_S / CALLS_PER_S) }))?;
        let mut every = tokio::time::interval(Duration::from_secs(1) / CALLS_PER_S as u32);
        let (watch, mut made) = (Stopwatch::start(), 0);
        while watch.elapsed() < span {
            every.tick().await;
            let call = http.post(format!("{}/v1/steps", self.url)).header("content-type", "application/json");
            call.body(body.clone()).send().await?.error_for_status()?.bytes().await?;
            made += STEPS_PER_S / CALLS_PER_S;
        }
        Ok(made)
    }

    /// What the kernel has counted for the process, in ticks of 10 ms.
    fn processor_time(&self) -> Result<Duration> {
        let id = self.child.id().context("the server has ended")?;
        let text = std::fs::read_to_string(format!("/proc/{id}/stat"))
            .context("processor time is read from /proc, which only Linux has")?;
        let behind_name = text.rsplit_once(')').context("the name of a process is in brackets")?.1;
        let fields: Vec<&str> = behind_name.split_whitespace().collect();
        let ticks = |i: usize| fields.get(i).and_then(|field| field.parse::<u64>().ok());
        let (user, system) = ticks(11).zip(ticks(12)).context("the kernel told no times")?;
        Ok(Duration::from_millis(10 * (user + system)))
    }
}

/// One that is looked at: it listens for figures, and reads its charts again now and then.
async fn page(http: reqwest::Client, url: String, first_charts: Duration) -> Result<()> {
    let listens = async {
        loop {
            let mut figures =
                http.get(format!("{url}/step-dispatcher/live")).send().await?.error_for_status()?;
            while figures.chunk().await?.is_some() {}
        }
    };
    let reads = async {
        tokio::time::sleep(first_charts).await;
        loop {
            http.get(format!("{url}/step-dispatcher")).send().await?.error_for_status()?.bytes().await?;
            tokio::time::sleep(CHARTS_EVERY).await;
        }
    };
    tokio::select! {
        ended = listens => ended,
        ended = reads => ended,
    }
}
