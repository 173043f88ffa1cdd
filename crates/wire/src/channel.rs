//! Channels: where notices go, which of them, and what became of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A channel to make, or what one that exists is to be. What is left out is as it is by default.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelBody {
    pub name: String,
    /// `webhook` (Standard Webhooks, signed) or `chat` (Slack-compatible).
    #[schemars(extend("enum" = ["webhook", "chat"]))]
    pub kind: String,
    /// Where it goes; left out, a channel that exists keeps its own.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// `admin` or `user`; `admin` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["admin", "user", null]))]
    pub audience: Option<String>,
    /// `low`, `medium`, `high` or `critical`; `low` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["low", "medium", "high", "critical", null]))]
    pub min_severity: Option<String>,
    /// `step.failed`, all that begin with `workflow.*`; none is all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// Only what has all of these.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// What is more within a minute is gathered into one; 30 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<u32>,
    /// The same key is not told again for so long: `90s`, `1h`, `7d`; 30 days when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet: Option<String>,
    /// Whether anything is sent; yes when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// What signs a webhook, as `whsec_…`, the newest first; left out, a channel keeps its own, and a new one is made for a new channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<Vec<String>>,
    /// Who asks, where the caller has no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl fmt::Debug for ChannelBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelBody").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A channel as it is on record, and what it was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelView {
    pub name: String,
    #[schemars(extend("enum" = ["webhook", "chat"]))]
    pub kind: String,
    /// The address of a chat is a secret, and not shown.
    pub url: String,
    #[schemars(extend("enum" = ["admin", "user"]))]
    pub audience: String,
    #[schemars(extend("enum" = ["low", "medium", "high", "critical"]))]
    pub min_severity: String,
    pub kinds: Vec<String>,
    pub labels: BTreeMap<String, String>,
    pub per_minute: u32,
    pub quiet: String,
    pub active: bool,
    /// How many secrets sign.
    pub secrets: usize,
    pub created_at: String,
    pub created_by: String,
    pub revision: u64,
    /// Notices that were sent on their own or as a summary, and those that went into summaries.
    pub told: u64,
    pub gathered: u64,
    /// Those that the next summary tells.
    pub waiting: u64,
}

/// A channel and, where one was made just now, its secret. That is shown here and never again.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelMadeView {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    #[serde(flatten)]
    pub about: ChannelView,
}

impl fmt::Debug for ChannelMadeView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelMadeView").field("about", &self.about).finish_non_exhaustive()
    }
}

/// Every channel, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelPage {
    pub channels: Vec<ChannelView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Try a channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelTestBody {
    /// How grave the test is; as grave as the channel asks for when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["low", "medium", "high", "critical", null]))]
    pub severity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What became of a notice to a channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TellingView {
    pub channel: String,
    /// `sent`, `delayed`, `gathered`, `quiet` or `refused`.
    #[schemars(extend("enum" = ["sent", "delayed", "gathered", "quiet", "refused"]))]
    pub became: String,
    /// The step that delivers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Something that a channel was told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoticeView {
    pub channel: String,
    pub key: String,
    pub told_at: String,
    /// The step that delivers it, while it is there.
    pub step_id: Option<String>,
    pub kind: String,
    pub severity: String,
    pub entity_type: String,
    pub entity_id: String,
    pub title: String,
}

/// Newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoticePage {
    pub notices: Vec<NoticeView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
