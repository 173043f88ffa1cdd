//! Channels as the API and the configuration speak of them; a secret once.

use super::instant;
use engine::{ChannelOrder, SigningSecret};
use model::{Audience, Channel, ChannelKind, ChannelSends, Fault, Severity, Telling, limits};
use std::str::FromStr;
use store::channels::{NoticeRow, Stored};
use wire::{ChannelBody, ChannelMadeView, ChannelView, NoticeView, TellingView};

/// What somebody wants a channel to be, or everything that is wrong with the words; the rest is looked at where it is stored.
pub fn channel(body: ChannelBody) -> Result<ChannelOrder, Vec<Fault>> {
    let mut faults = Vec::new();
    let kind = word(Some(&body.kind), "kind", ChannelKind::Webhook, &mut faults);
    let audience = word(body.audience.as_ref(), "audience", Audience::Admin, &mut faults);
    let min_severity = word(body.min_severity.as_ref(), "min_severity", Severity::Low, &mut faults);
    let quiet = body.quiet.as_deref().map_or(Ok(limits::NOTICE_KEEP), definition::read_duration);
    let quiet = quiet.unwrap_or_else(|fix| {
        faults.push(Fault { field: "quiet".into(), problem: "is no span of time".into(), fix });
        limits::NOTICE_KEEP
    });
    if !faults.is_empty() {
        return Err(faults);
    }
    let channel = Channel {
        name: body.name,
        kind,
        url: body.url,
        audience,
        min_severity,
        kinds: body.kinds,
        labels: body.labels,
        per_minute: body.per_minute.unwrap_or(limits::NOTICES_PER_MINUTE_DEFAULT),
        quiet,
        active: body.active.unwrap_or(true),
    };
    Ok(ChannelOrder { channel, secrets: body.secrets })
}

fn word<T: FromStr<Err = model::UnknownWord>>(
    text: Option<&String>,
    field: &str,
    usual: T,
    faults: &mut Vec<Fault>,
) -> T {
    let Some(text) = text else { return usual };
    text.parse().unwrap_or_else(|unknown: model::UnknownWord| {
        let (problem, fix) = (format!("`{text}` is not known"), format!("write one of {}", unknown.expected));
        faults.push(Fault { field: field.into(), problem, fix });
        usual
    })
}

/// How grave a test is.
pub fn severity(text: &str) -> Result<Severity, Fault> {
    let mut faults = Vec::new();
    let severity = word(Some(&text.to_string()), "severity", Severity::Low, &mut faults);
    faults.into_iter().next().map_or(Ok(severity), Err)
}

pub fn channel_view(stored: &Stored, sends: &ChannelSends) -> ChannelView {
    let Stored { channel, secrets, created_at, created_by, revision } = stored;
    ChannelView {
        name: channel.name.clone(),
        kind: channel.kind.to_string(),
        url: channel.shown_url(),
        audience: channel.audience.to_string(),
        min_severity: channel.min_severity.to_string(),
        kinds: channel.kinds.clone(),
        labels: channel.labels.clone(),
        per_minute: channel.per_minute,
        quiet: definition::write_duration(channel.quiet),
        active: channel.active,
        secrets: secrets.len(),
        created_at: instant(*created_at),
        created_by: created_by.clone(),
        revision: *revision,
        told: sends.told,
        gathered: sends.gathered,
        waiting: sends.waiting.as_ref().map_or(0, |waiting| waiting.n),
    }
}

/// The one time a secret is shown.
pub fn channel_made_view(about: ChannelView, secret: Option<&SigningSecret>) -> ChannelMadeView {
    ChannelMadeView { secret: secret.map(|secret| secret.reveal().to_string()), about }
}

pub fn telling_view(channel: &str, telling: Telling) -> TellingView {
    let (became, step_id, why) = match telling {
        Telling::Sent { step } => ("sent", Some(step.to_string()), None),
        Telling::Delayed { step, until } => {
            let why =
                format!("it was sent as much as it takes in a minute; it is sent at {}", instant(until));
            ("delayed", Some(step.to_string()), Some(why))
        }
        Telling::Gathered => {
            ("gathered", None, Some("it was sent as much as it takes in a minute".to_string()))
        }
        Telling::Quiet => ("quiet", None, Some("the same was told already".to_string())),
        Telling::Refused { why } => ("refused", None, Some(why)),
    };
    TellingView { channel: channel.into(), became: became.into(), step_id, why }
}

pub fn notice_view(row: NoticeRow) -> NoticeView {
    NoticeView {
        channel: row.channel,
        key: row.key,
        told_at: instant(row.told_at),
        step_id: row.step.map(|step| step.to_string()),
        kind: row.kind,
        severity: row.severity.to_string(),
        entity_type: row.entity_type,
        entity_id: row.entity_id,
        title: row.title,
    }
}
