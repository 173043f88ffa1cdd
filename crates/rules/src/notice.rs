//! Which channels a notice is for, when it is sent, and what a receiver reads of it.
//!
//! Finds   a channel, what it was sent in the last minute, and when the same was told before.
//! Emits   whether the notice is sent, sent later, gathered with others into one, or not told again.
//! Why     a channel that is flooded is one that nobody reads: beyond its limit things are counted and told together, never dropped. What
//!         is meant for a user is told to that user: each waits until the channel takes it.

mod body;

pub use body::{Letter, letter};

use crate::subscription::{address, is_kind};
use model::{Audience, Channel, ChannelKind, Fault, Notice, Severity, Timestamp, Waiting, limits};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
/// What tells those that were more than a channel takes.
pub const GATHERED: &str = "notices.gathered";
/// What tells nothing but that the channel works.
pub const TEST: &str = "channel.test";
/// Beside the kinds that a summary names.
const OTHER: &str = "other";

/// What is known of a channel when something is to be told there.
pub struct View<'v> {
    pub channel: &'v Channel,
    /// When it was sent something in the last minute or will be, oldest first; more may be there.
    pub sends: &'v [Timestamp],
    /// When the same key was told last.
    pub told_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Send,
    /// Sent by itself, not before this instant.
    Delay(Timestamp),
    Gather,
    Quiet,
}

/// What becomes of a notice that the channel takes.
pub fn judge(view: &View, now: Timestamp) -> Verdict {
    if view.told_at.is_some_and(|at| at >= now || now.since(at) < view.channel.quiet) {
        return Verdict::Quiet;
    }
    match (opens_at(view.sends, view.channel.per_minute, now), view.channel.audience) {
        (Some(at), Audience::User) if at > now => Verdict::Delay(at),
        (Some(at), Audience::Admin) if at > now => Verdict::Gather,
        _ => Verdict::Send,
    }
}

/// When a channel takes the next one; none is at once. What waits to be sent counts as what was sent.
pub fn opens_at(sends: &[Timestamp], per_minute: u32, now: Timestamp) -> Option<Timestamp> {
    let recent = sends.iter().filter(|at| now.since(**at) < MINUTE).count();
    let most = per_minute.max(1) as usize;
    (recent >= most).then(|| sends[sends.len() - most] + MINUTE)
}

/// Nothing that was sent so early counts any more.
pub fn is_past(sent: Timestamp, now: Timestamp) -> bool {
    now.since(sent) >= MINUTE
}

/// Whether a channel takes a notice.
pub fn takes(channel: &Channel, notice: &Notice) -> bool {
    refusal(channel, notice).is_none()
}

/// Whether anything of this kind could be for a channel.
pub fn may_take(channel: &Channel, audience: Audience, kind: &str, severity: Severity) -> bool {
    channel.active
        && channel.audience == audience
        && severity >= channel.min_severity
        && is_wanted(&channel.kinds, kind)
}

/// Why a channel does not take a notice.
pub fn refusal(channel: &Channel, notice: &Notice) -> Option<String> {
    let has = |(name, value): (&String, &String)| notice.labels.get(name) == Some(value);
    let why = if !channel.active {
        "it is switched off".into()
    } else if channel.audience != notice.audience {
        format!("it is for the audience `{}`", channel.audience)
    } else if notice.severity < channel.min_severity {
        format!("it takes nothing below `{}`", channel.min_severity)
    } else if !is_wanted(&channel.kinds, &notice.kind) {
        format!("it takes only {}", channel.kinds.join(", "))
    } else if !channel.labels.iter().all(has) {
        "it takes only what has its labels".into()
    } else {
        return None;
    };
    Some(why)
}

fn is_wanted(kinds: &[String], kind: &str) -> bool {
    let is_kind = |wanted: &String| match wanted.strip_suffix('*') {
        Some(start) => kind.starts_with(start),
        None => kind == wanted,
    };
    // What belongs to the channel itself it always takes.
    kinds.is_empty() || [GATHERED, TEST].contains(&kind) || kinds.iter().any(is_kind)
}

/// One more that is told with others.
pub fn gather(waiting: Option<Waiting>, notice: &Notice, now: Timestamp) -> Waiting {
    let first = || Waiting { n: 0, kinds: BTreeMap::new(), severity: notice.severity, since: now };
    let mut waiting = waiting.unwrap_or_else(first);
    waiting.n += 1;
    waiting.severity = waiting.severity.max(notice.severity);
    count(&mut waiting.kinds, &notice.kind, 1);
    waiting
}

/// What two have counted, as one.
pub fn together(waiting: Option<Waiting>, more: Waiting) -> Waiting {
    let Some(mut waiting) = waiting else { return more };
    waiting.n += more.n;
    waiting.severity = waiting.severity.max(more.severity);
    waiting.since = waiting.since.min(more.since);
    for (kind, n) in more.kinds {
        count(&mut waiting.kinds, &kind, n);
    }
    waiting
}

fn count(kinds: &mut BTreeMap<String, u64>, kind: &str, n: u64) {
    let is_named = kinds.contains_key(kind) || kinds.len() < limits::NOTICE_KINDS_GATHERED_MAX;
    *kinds.entry(if is_named { kind } else { OTHER }.to_string()).or_default() += n;
}

/// The notice that tells all of them.
pub fn summary(channel: &Channel, waiting: &Waiting, now: Timestamp) -> Notice {
    let kinds: Vec<String> = waiting.kinds.iter().map(|(kind, n)| format!("{n} × {kind}")).collect();
    let (n, most) = (waiting.n, channel.per_minute);
    let noun = if n == 1 { "notice" } else { "notices" };
    Notice {
        kind: GATHERED.into(),
        audience: channel.audience,
        severity: waiting.severity,
        entity_type: "channel".into(),
        entity_id: channel.name.clone(),
        user: None,
        labels: BTreeMap::new(),
        title: format!("and {n} more {noun}"),
        text: match channel.audience {
            Audience::Admin => {
                format!(
                    "{}. They came when this channel had been sent {most} within a minute.",
                    kinds.join(", ")
                )
            }
            Audience::User => format!("There is news about {n} more."),
        },
        key: format!("{GATHERED}/{}", now.0),
        at: now,
        data: serde_json::json!({"n": n, "kinds": waiting.kinds, "since": waiting.since}),
    }
}

/// A notice that fits wherever it goes.
pub fn bounded(notice: Notice) -> Notice {
    let cut = |text: String, most: usize| match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        None => text,
    };
    let data = if notice.data.to_string().len() > limits::NOTICE_DATA_BYTES_MAX {
        serde_json::json!({"left_out": "it is too long to be told"})
    } else {
        notice.data
    };
    Notice {
        title: cut(notice.title, limits::NOTICE_TITLE_CHARS_MAX),
        text: cut(notice.text, limits::NOTICE_TEXT_CHARS_MAX),
        key: short(notice.key),
        data,
        ..notice
    }
}

/// A key that is too long for a row is known by its hash.
fn short(key: String) -> String {
    if key.len() <= limits::NAME_BYTES_MAX && !key.contains('\0') {
        return key;
    }
    Sha256::digest(key.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Everything that is wrong with a channel.
pub fn faults(channel: &Channel) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut fault = |field: &str, problem: String, fix: String| {
        faults.push(Fault { field: field.into(), problem, fix });
    };
    let most = limits::NAME_BYTES_MAX;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if channel.name.is_empty()
        || channel.name.len() > limits::KEY_NAME_BYTES_MAX
        || !channel.name.chars().all(is_plain)
    {
        let fix = format!("use 1 to {} letters, digits, `-`, `_` and `.`", limits::KEY_NAME_BYTES_MAX);
        fault("name", "is no name for a channel".into(), fix);
    }
    if let Some(problem) = address(&channel.url) {
        fault("url", problem, "write a whole address, such as https://example.com/hooks/ops".into());
    } else if channel.kind == ChannelKind::Chat && channel.url.contains(['?', '#']) {
        let fix = "write the address that the chat gave out, which has nothing behind its path";
        fault("url", "goes on behind its path, and would be told in errors".into(), fix.into());
    }
    if channel.kinds.len() > limits::SUBSCRIPTION_TYPES_MAX {
        let fix = format!("name at most {}", limits::SUBSCRIPTION_TYPES_MAX);
        fault("kinds", format!("{} kinds are named", channel.kinds.len()), fix);
    }
    for (n, kind) in channel.kinds.iter().enumerate().filter(|(_, kind)| !is_kind(kind)) {
        let fix = "write a whole kind such as `step.failed`, or the beginning of some as `workflow.*`";
        fault(&format!("kinds[{n}]"), format!("`{kind}` is no kind of notice"), fix.into());
    }
    let is_long =
        |(name, value): (&String, &String)| name.is_empty() || name.len() > most || value.len() > most;
    let strange = |(name, value): (&String, &String)| name.contains('\0') || value.contains('\0');
    if channel.labels.len() > limits::LABELS_MAX || channel.labels.iter().any(|l| is_long(l) || strange(l)) {
        let fix =
            format!("write at most {} with names and values of at most {most} bytes", limits::LABELS_MAX);
        fault("labels", "there are too many, or one is too long or has no name".into(), fix);
    }
    if !(1..=limits::NOTICES_PER_MINUTE_MAX).contains(&channel.per_minute) {
        let fix = format!("write 1 to {}", limits::NOTICES_PER_MINUTE_MAX);
        fault("per_minute", format!("is {}", channel.per_minute), fix);
    }
    if channel.quiet > limits::NOTICE_KEEP {
        let days = limits::NOTICE_KEEP.as_secs() / 86_400;
        fault("quiet", "is longer than a notice is on record".into(), format!("write at most `{days}d`"));
    }
    faults
}

#[cfg(test)]
mod tests;
