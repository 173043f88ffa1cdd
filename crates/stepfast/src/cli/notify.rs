//! Notifications: what can be typed about them.

use clap::{Args, Subcommand};

#[derive(Subcommand)]
pub enum Notify {
    /// The channels: what each takes, and how much it was sent
    List,
    /// One channel
    Show { channel: String },
    /// Make a channel, or give one other values: what is not named is as it is by default. Prints the secret of a new webhook, once
    Set(Box<ChannelSet>),
    /// Tell a channel, or all of them, something of no meaning, and say what the receiver answered
    Test(NotifyTest),
    /// Tell a channel nothing more; one that the configuration names is there again with the next start
    Remove {
        channel: String,
        /// Who, for the audit
        #[arg(long, env = "STEPFAST_BY")]
        by: Option<String>,
    },
}

#[derive(Args)]
pub struct ChannelSet {
    pub channel: String,
    /// webhook (signed) or chat (Slack-compatible)
    #[arg(long)]
    pub kind: String,
    /// Where notices go; left out, a channel that exists keeps its own
    #[arg(long, default_value = "", hide_default_value = true)]
    pub url: String,
    /// admin or user
    #[arg(long)]
    pub audience: Option<String>,
    /// Nothing less grave: low, medium, high or critical
    #[arg(long, value_name = "SEVERITY")]
    pub min_severity: Option<String>,
    /// Only these kinds, as step.failed or workflow.*; separated by commas
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub kinds: Vec<String>,
    /// Only what has this label, as team=a; for more, write it again
    #[arg(long = "label", value_name = "NAME=VALUE")]
    pub labels: Vec<String>,
    /// What is more within a minute is gathered into one
    #[arg(long, value_name = "N")]
    pub per_minute: Option<u32>,
    /// The same is not told again for so long, as 1h
    #[arg(long, value_name = "SPAN")]
    pub quiet: Option<String>,
    /// Send nothing
    #[arg(long)]
    pub inactive: bool,
    /// Who, for the audit
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Args)]
pub struct NotifyTest {
    /// All of them when left out
    pub channel: Option<String>,
    /// low, medium, high or critical; as grave as each channel asks for when left out
    #[arg(long)]
    pub severity: Option<String>,
    /// Who, for the audit
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}
