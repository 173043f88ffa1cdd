//! `events`: what happens to workflows, as a server tells it while it happens.

use super::output;
use crate::cli::{Common, Events};
use crate::config::Settings;
use crate::door::{accepted, client, server_of, under};
use crate::{Refused, Unavailable};
use anyhow::{Result, bail};
use std::process::ExitCode;
use std::time::Duration;
use wire::CloudEvent;

/// Nobody is silent for so long: a server shows every few seconds that it is there.
const PATIENCE: Duration = Duration::from_secs(365 * 86_400);
/// Bytes of one event, more than any has.
const EVENT_BYTES_MAX: usize = 16 << 20;

pub async fn run(settings: &Settings, common: &Common, args: &Events) -> Result<ExitCode> {
    let server = server_of(settings, common.server.as_deref())?;
    let mut url = under(server.trim_end_matches('/'), &["v1", "events"])?;
    let kinds = Some(args.types.join(",")).filter(|kinds| !kinds.is_empty());
    let asked = [("type", &kinds), ("workflow_id", &args.workflow), ("after", &args.after)];
    for (name, value) in asked.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        url.query_pairs_mut().append_pair(name, value);
    }
    let request = client(settings, &server)?.get(url.clone()).timeout(PATIENCE);
    let mut answer = accepted(request, url.as_str()).await?;
    let (mut stream, mut left) = (Stream::default(), args.limit);
    while left != Some(0) {
        let away = |problem| Unavailable(format!("the server at {server} is gone: {problem}"));
        let Some(bytes) = answer.chunk().await.map_err(away)? else {
            let last = stream.last.map(|id| format!("; --after '{id}' goes on")).unwrap_or_default();
            bail!(Unavailable(format!("the server at {server} has ended it{last}")));
        };
        for event in stream.take(&bytes)?.into_iter().take(left.unwrap_or(usize::MAX)) {
            left = left.map(|left| left - 1);
            tell(&event, common.json)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(text: &str, json: bool) -> Result<()> {
    let event: CloudEvent = serde_json::from_str(text)?;
    if json {
        output::line(&event);
        return Ok(());
    }
    let workflow = event.source.rsplit('/').next().unwrap_or_default();
    let (at, step) = (output::instant(Some(&event.time)), event.subject.as_deref().unwrap_or_default());
    let kind = event.kind.strip_prefix("stepfast.").unwrap_or(&event.kind);
    let line = format!("{at}  {workflow}  {kind} {step}");
    output::text(line.trim_end());
    Ok(())
}

/// Server-sent events, put together from the pieces in which they arrive.
#[derive(Default)]
struct Stream {
    rest: Vec<u8>,
    data: String,
    last: Option<String>,
}

impl Stream {
    /// The events that are whole with these bytes.
    fn take(&mut self, bytes: &[u8]) -> Result<Vec<String>> {
        self.rest.extend_from_slice(bytes);
        if self.rest.len() + self.data.len() > EVENT_BYTES_MAX {
            bail!(Refused("the server tells an event that is too large".into()));
        }
        let mut events = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\r', '\n']);
            if let Some(data) = line.strip_prefix("data:") {
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            } else if let Some(id) = line.strip_prefix("id:") {
                self.last = Some(id.trim().into());
            } else if line.is_empty() && !self.data.is_empty() {
                events.push(std::mem::take(&mut self.data));
            }
        }
        Ok(events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_from_any_pieces() {
        let told = b": here\n\nid: alpha=1\ndata: {\"a\":1}\n\nevent: x\nid: alpha=2\r\ndata:{}\r\n\r\n";
        for size in [1, 2, 7, told.len()] {
            let mut stream = Stream::default();
            let events: Vec<String> = told.chunks(size).flat_map(|part| stream.take(part).unwrap()).collect();
            assert_eq!(events, ["{\"a\":1}", "{}"], "in pieces of {size}");
            assert_eq!(stream.last.as_deref(), Some("alpha=2"));
        }
    }
}
