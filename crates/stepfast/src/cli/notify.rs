//! Notifications: what can be typed about them.

use clap::{Args, Subcommand};

#[derive(Subcommand)]
pub enum Notify {
    /// The channels: what each takes, and how much it was sent
    List,
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
