//! Where notices go, and which of them.

use crate::state::words;
use crate::{Audience, Severity, UnknownWord, limits};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

words! {
    /// What a receiver understands.
    ChannelKind, "kind of channel" {
        /// Standard Webhooks with a CloudEvents body, signed.
        Webhook = "webhook",
        /// The JSON of Slack and those that speak as it does. Whoever knows its address can write there, so that is a secret.
        Chat = "chat",
    }
}

/// A receiver of notices; what its deliveries are signed with is not part of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Channel {
    pub name: String,
    pub kind: ChannelKind,
    pub url: String,
    /// Only what is meant for these.
    pub audience: Audience,
    /// Nothing that is less grave.
    pub min_severity: Severity,
    /// Kinds of notices: `step.failed`, all that begin with `workflow.*`; none named is all.
    pub kinds: Vec<String>,
    /// Only what has all of these.
    pub labels: BTreeMap<String, String>,
    /// What is more than this within a minute is gathered into one; what is for users is sent later, each by itself.
    pub per_minute: u32,
    /// The same key is not told again for so long.
    pub quiet: Duration,
    /// Nothing is sent while it is not.
    pub active: bool,
}

impl Channel {
    pub fn new(name: &str, kind: ChannelKind, url: &str) -> Channel {
        Channel {
            name: name.into(),
            kind,
            url: url.into(),
            audience: Audience::Admin,
            min_severity: Severity::Low,
            kinds: Vec::new(),
            labels: BTreeMap::new(),
            per_minute: limits::NOTICES_PER_MINUTE_DEFAULT,
            quiet: limits::NOTICE_KEEP,
            active: true,
        }
    }

    /// Its address as people may see it.
    pub fn shown_url(&self) -> String {
        match self.kind {
            ChannelKind::Webhook => self.url.clone(),
            ChannelKind::Chat => shown_host(&self.url),
        }
    }
}

/// An address with nothing of it but the host.
fn shown_host(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return crate::HIDDEN.into() };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    format!("{scheme}://{host}/{}", crate::HIDDEN)
}

/// The address may be a secret.
impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// How much a channel was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelSends {
    /// Notices of their own, and notices that went into a summary, since the channel is there.
    pub told: u64,
    pub gathered: u64,
    /// What the next summary tells.
    pub waiting: Option<Waiting>,
    /// How often the row was written; every write names the one it saw.
    pub version: u64,
}

/// Notices that were more than a channel takes, until they are told as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub n: u64,
    /// How many of each kind; those behind the first few are counted as `other`.
    pub kinds: BTreeMap<String, u64>,
    /// The gravest of them.
    pub severity: Severity,
    pub since: crate::Timestamp,
}

/// What became of a notice on its way to a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "became")]
pub enum Telling {
    /// A step delivers it.
    Sent { step: crate::StepId },
    /// A step delivers it as soon as the channel takes more.
    Delayed { step: crate::StepId, until: crate::Timestamp },
    /// It is one of those that are told as one.
    Gathered,
    /// The same was told a short while ago.
    Quiet,
    /// The channel does not take it, and why.
    Refused { why: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_chat_is_shown_to_nobody() {
        let chat = Channel::new("ops", ChannelKind::Chat, "https://hooks.example.com/services/T1/hunter2");
        assert_eq!(chat.shown_url(), "https://hooks.example.com/[secret]");
        assert!(!format!("{chat:?}").contains("hunter2"));
        let hook = Channel::new("ops", ChannelKind::Webhook, "https://example.com/hook");
        assert_eq!(hook.shown_url(), "https://example.com/hook");
    }
}
