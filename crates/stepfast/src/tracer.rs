//! Sends spans to a collector: OTLP over HTTP, in batches, beside the work and never before it.

mod message;

use crate::config::Traces;
use anyhow::Result;
use engine::{Span, Spans};
use prost::Message;
use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// Turns that may wait for the collector; what is beyond them is dropped.
const TURNS_MAX: usize = 1_000;
/// Spans of one message.
const BATCH_MAX: usize = 512;
/// How long a span waits for others.
const GATHER: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(10);
const TRIES_MAX: u32 = 5;
/// What is still there at the end of the process has this long.
const FAREWELL: Duration = Duration::from_secs(2);

pub struct Tracer {
    close: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Tracer {
    /// Where the engine puts its spans, and who sends them.
    pub fn start(traces: &Traces, host: &str) -> Result<(Spans, Tracer)> {
        let http = reqwest::Client::builder().timeout(PATIENCE).default_headers(traces.headers.clone());
        let plain = traces.url.scheme() == "http";
        let http = if plain { http.tls_certs_only([]) } else { http }.build()?;
        let (spans, told) = Spans::channel(TURNS_MAX);
        let (close, closed) = oneshot::channel();
        let sender = Sender { http, traces: traces.clone(), host: host.into() };
        Ok((spans, Tracer { close, task: tokio::spawn(run(sender, told, closed)) }))
    }

    /// What was told until now is sent, if the collector is there.
    pub async fn stop(self) {
        let _ = self.close.send(());
        if timeout(FAREWELL, self.task).await.is_err() {
            eprintln!("the collector of traces does not answer; the last spans are lost");
        }
    }
}

async fn run(sender: Sender, mut told: mpsc::Receiver<Vec<Span>>, mut closed: oneshot::Receiver<()>) {
    let mut batch = Vec::new();
    let mut due = None;
    loop {
        let until = due.unwrap_or_else(|| Instant::now() + GATHER);
        tokio::select! {
            more = timeout_at(until, told.recv()) => match more {
                Ok(Some(spans)) => batch.extend(spans),
                Ok(None) => break,
                Err(_) => {}
            },
            _ = &mut closed => break,
        }
        due = (!batch.is_empty()).then_some(until);
        if batch.len() >= BATCH_MAX || due.is_some_and(|due| due <= Instant::now()) {
            sender.send_all(&std::mem::take(&mut batch)).await;
            due = None;
        }
    }
    told.close();
    while let Some(spans) = told.recv().await {
        batch.extend(spans);
    }
    sender.send_all(&batch).await;
}

struct Sender {
    http: reqwest::Client,
    traces: Traces,
    host: String,
}

impl Sender {
    async fn send_all(&self, spans: &[Span]) {
        for part in spans.chunks(BATCH_MAX) {
            self.send(part).await;
        }
    }

    /// Again and again for a while: spans are worth an effort, and no more than that.
    async fn send(&self, spans: &[Span]) {
        let body = message::of(spans, &self.traces.service, &self.host).encode_to_vec();
        let mut wait = Duration::from_millis(200);
        for last in (0..TRIES_MAX).rev() {
            let answer = self
                .http
                .post(self.traces.url.clone())
                .header(CONTENT_TYPE, "application/x-protobuf")
                .body(body.clone())
                .send()
                .await;
            let problem = match answer {
                Ok(answer) if answer.status().is_success() => return,
                Ok(answer) if !is_passing(answer.status()) || last == 0 => answer.status().to_string(),
                Err(problem) if last == 0 => problem.without_url().to_string(),
                _ => {
                    sleep(wait).await;
                    wait *= 4;
                    continue;
                }
            };
            tracing::warn!(spans = spans.len(), %problem, "the collector of traces does not take spans; they are dropped");
            return;
        }
    }
}

/// What OTLP says is worth another try.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}
