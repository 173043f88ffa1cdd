//! Notifications: the channels, how much each was sent, and what they were told last.

use super::layout::{Frame, lost, page as framed};
use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::words::{clock, number};
use axum::extract::State;
use maud::{Markup, html};
use std::sync::Arc;
use wire::{ChannelView, NoticeView};

/// So many of the last notices are shown.
const LAST: usize = 50;

pub async fn page(State(app): State<Arc<App>>) -> Result<Markup, ApiError> {
    let read = |browse: &store::Browse| Ok((answers::channels(browse)?, answers::notices(browse, LAST)?));
    let (channels, notices) = app.read(read).await?;
    let frame = Frame {
        title: "Notifications",
        version: app.site.version,
        host: &app.site.host,
        script: None,
        controls: html! {},
    };
    Ok(framed(frame, render(&channels.channels, &notices.notices)))
}

fn render(channels: &[ChannelView], notices: &[NoticeView]) -> Markup {
    html! {
        h1 { "Notifications" }
        (lost())
        div data-live="channels" {
            @if channels.is_empty() {
                p.empty { "Nobody is told when something fails: there is no channel. Write [[notify.channel]] into the configuration." }
            } @else {
                (channels_table(channels))
            }
        }
        section aria-label="Told last" data-live="told" {
            h2 { "Told last" }
            @if notices.is_empty() { p.empty { "Nothing was told yet." } } @else { (notices_table(notices)) }
        }
    }
}

fn channels_table(channels: &[ChannelView]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Channels" { table {
            thead { tr {
                th { "Channel" } th { "Kind" } th { "For" } th { "Takes" } th { "To" }
                th.n { "Sent" } th.n { "Gathered" } th.n { "Waiting" }
            } }
            tbody {
                @for channel in channels {
                    tr {
                        td { b { (channel.name) } @if !channel.active { " (off)" } }
                        td { (channel.kind) } td { (channel.audience) } td { (takes(channel)) } td.mono { (channel.url) }
                        td.n { (number(channel.told as i64)) } td.n { (number(channel.gathered as i64)) }
                        td.n { (number(channel.waiting as i64)) }
                    }
                }
            }
        } }
    }
}

fn takes(channel: &ChannelView) -> String {
    let kinds = if channel.kinds.is_empty() { "everything".into() } else { channel.kinds.join(", ") };
    let labels: String = channel.labels.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    format!("{kinds} from {}{labels}, {} a minute", channel.min_severity, channel.per_minute)
}

fn notices_table(notices: &[NoticeView]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Told last" { table {
            thead { tr { th { "At" } th { "Channel" } th { "Severity" } th { "Kind" } th { "What" } th { "About" } } }
            tbody {
                @for notice in notices {
                    tr {
                        td.when {
                            @match &notice.step_id {
                                Some(step) => a href={ "/step-dispatcher/steps/" (step) } { (clock(&notice.told_at)) },
                                None => (clock(&notice.told_at)),
                            }
                        }
                        td { (notice.channel) } td { (notice.severity) } td { (notice.kind) } td { (notice.title) }
                        td.mono { (notice.entity_type) " " (notice.entity_id) }
                    }
                }
            }
        } }
    }
}
