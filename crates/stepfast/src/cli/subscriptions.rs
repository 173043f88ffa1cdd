//! Subscriptions: what can be typed about them.

use clap::{Args, Subcommand};

#[derive(Subcommand)]
pub enum Subscriptions {
    /// Deliver events to an address from now on; prints the secret that signs them, once
    Add(SubscriptionAdd),
    /// All of them, oldest first
    List,
    /// One of them
    Show { id: String },
    /// What is not named stays as it is
    Change(SubscriptionChange),
    /// Deliver nothing more; what was to be delivered already still is
    Remove {
        id: String,
        /// Who, for the audit
        #[arg(long, env = "STEPFAST_BY")]
        by: Option<String>,
    },
    /// Deliver something of no meaning, to see whether it arrives; prints the id of the step
    Test {
        id: String,
        /// Who, for the audit
        #[arg(long, env = "STEPFAST_BY")]
        by: Option<String>,
    },
}

#[derive(Args)]
pub struct SubscriptionAdd {
    #[arg(long)]
    pub name: String,
    /// Where each event is delivered
    #[arg(long)]
    pub url: String,
    /// Kinds of events: workflow.failed, workflow.* and so on
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', required = true)]
    pub types: Vec<String>,
    /// Only of workflows of this definition
    #[arg(long, value_name = "KEY")]
    pub workflow: Option<String>,
    /// Only of workflows with this label; again for more
    #[arg(long, value_name = "NAME=VALUE")]
    pub label: Vec<String>,
    /// Deliver events of one workflow one after another
    #[arg(long)]
    pub ordered: bool,
    /// Who, for the audit
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Args)]
pub struct SubscriptionChange {
    pub id: String,
    #[arg(long)]
    pub name: Option<String>,
    #[arg(long)]
    pub url: Option<String>,
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub types: Vec<String>,
    /// Deliver nothing until it is resumed
    #[arg(long, conflicts_with = "resume")]
    pub pause: bool,
    #[arg(long)]
    pub resume: bool,
    /// A new secret signs, beside the one before it; it is printed, once
    #[arg(long, conflicts_with = "drop_old_secrets")]
    pub renew_secret: bool,
    /// Only the newest secret signs
    #[arg(long)]
    pub drop_old_secrets: bool,
    /// Who, for the audit
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}
