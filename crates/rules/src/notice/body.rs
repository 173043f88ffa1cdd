//! What a receiver is sent: a CloudEvent for a webhook, text and blocks for a chat, one sentence for a user.
//!
//! Why    an administrator needs all that is known; a user is told in one sentence, without the inner life of the work. What is
//!        sealed is told to nobody.

use crate::subscription::{Happened, cloud_event};
use model::{Audience, Channel, ChannelKind, Notice, Timestamp, hide_sealed};
use serde_json::{Value, json};

/// What is sent, and as what.
pub struct Letter {
    pub content_type: &'static str,
    /// JSON, just as it is sent.
    pub body: String,
}

/// The notice as a channel is told it, under an id that is the same however often it is tried.
pub fn letter(channel: &Channel, notice: &Notice, id: &str) -> Letter {
    match channel.kind {
        ChannelKind::Webhook => {
            Letter { content_type: "application/cloudevents+json", body: event(notice, id) }
        }
        ChannelKind::Chat => Letter { content_type: "application/json", body: chat(notice).to_string() },
    }
}

fn event(notice: &Notice, id: &str) -> String {
    let (source, subject, data) = match notice.audience {
        Audience::Admin => (source(notice), Some(notice.entity_id.as_str()), whole(notice)),
        Audience::User => ("/".into(), None, for_user(notice)),
    };
    let data = data.to_string();
    cloud_event(&Happened {
        id,
        source: &source,
        kind: &notice.kind,
        subject,
        at: notice.at,
        data: Some(&data),
    })
}

/// Where more can be read about it.
fn source(notice: &Notice) -> String {
    format!("/v1/{}s/{}", notice.entity_type.replace('_', "-"), notice.entity_id)
}

fn whole(notice: &Notice) -> Value {
    json!({
        "severity": notice.severity,
        "entity": {"type": notice.entity_type, "id": notice.entity_id},
        "user": notice.user,
        "labels": notice.labels,
        "title": notice.title,
        "text": notice.text,
        "key": notice.key,
        "details": notice.data,
    })
}

fn for_user(notice: &Notice) -> Value {
    json!({
        "type": notice.kind,
        "user": notice.user,
        "entity": {"type": notice.entity_type, "id": notice.entity_id},
        "sentence": notice.text,
        "at": instant(notice.at),
    })
}

fn instant(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.0) {
        Ok(at) => format!("{at:.6}"),
        Err(_) => format!("{} microseconds from 1970", at.0),
    }
}

fn chat(notice: &Notice) -> Value {
    let text = plain(&notice.text);
    if notice.audience == Audience::User {
        return json!({"text": text, "blocks": [section(&text)]});
    }
    let title = hide_sealed(&notice.title).unwrap_or_else(|| notice.title.clone());
    let about = format!("{} · {} {}", notice.severity, notice.entity_type, plain(&notice.entity_id));
    let when = format!("{} · {}", plain(&notice.kind), instant(notice.at));
    json!({
        "text": format!("[{}] {}\n{text}", notice.severity, plain(&notice.title)),
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": title}},
            section(&text),
            {"type": "context", "elements": [
                {"type": "mrkdwn", "text": about},
                {"type": "mrkdwn", "text": when},
            ]},
        ],
    })
}

/// A chat refuses a section that is longer.
const SECTION_CHARS_MAX: usize = 3_000;

fn section(text: &str) -> Value {
    json!({"type": "section", "text": {"type": "mrkdwn", "text": cut(text)}})
}

/// Not longer than a section, and not within a sign that was written as several.
fn cut(text: &str) -> String {
    if text.chars().count() <= SECTION_CHARS_MAX {
        return text.into();
    }
    let mut short: String = text.chars().take(SECTION_CHARS_MAX - 1).collect();
    if let Some(at) = short.rfind('&').filter(|at| !short[*at..].contains(';')) {
        short.truncate(at);
    }
    short + "…"
}

/// What a chat does not take for a sign of its own.
fn plain(text: &str) -> String {
    let text = hide_sealed(text).unwrap_or_else(|| text.into());
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{SECTION_CHARS_MAX, cut, plain};

    /// A page of markup as an error grew beyond what a chat takes, and was never told.
    #[test]
    fn markup_is_cut_behind_whole_signs() {
        assert_eq!(cut("a &lt; b"), "a &lt; b");
        let short = cut(&plain(&"<".repeat(2_800)));
        assert!(short.chars().count() <= SECTION_CHARS_MAX && short.ends_with("&lt;…"), "{short}");
    }
}
