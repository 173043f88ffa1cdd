//! Progress and tracked flows: what can be typed about them.

use super::needed;
use clap::{Args, Subcommand};

#[derive(Args)]
pub struct Progress {
    /// A workflow, a step or a flow; without it, what is half done
    pub id: Option<String>,
    /// What is begun and not over, and what failed, oldest first
    #[arg(long, conflicts_with = "id")]
    pub half_done: bool,
    /// Look again until it is over; exit 1 unless it completes
    #[arg(long, requires = "id")]
    pub watch: bool,
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub limit: usize,
    /// What the page before said
    #[arg(long, value_name = "ID")]
    pub after: Option<String>,
}

#[derive(Subcommand)]
pub enum Flows {
    /// Newest first
    List(ListFlows),
    /// One with its steps and what was said about it
    Show { id: String },
    /// Start a flow, or go on with the run that is not over; prints its id
    Start(StartFlow),
    /// A step was done
    Complete(MarkFlow),
    /// A step failed
    Fail(MarkFlow),
    /// A step is not needed
    Skip(MarkFlow),
    /// Say where it is, or what people may read
    Update(UpdateFlow),
    /// It is over
    Finish(FinishFlow),
    /// Enqueue what was declared to do it again
    Retry(AskFlow),
    /// Enqueue what was declared to call it off; without such a thing it is over
    #[command(mut_arg("why", needed))]
    Cancel(AskFlow),
}

#[derive(Args)]
pub struct ListFlows {
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    #[arg(long, value_name = "KEY")]
    pub flow_key: Option<String>,
    /// What it is about, as payment:123
    #[arg(long, value_name = "TYPE:ID")]
    pub entity: Option<String>,
    #[arg(long)]
    pub user: Option<String>,
    /// pending, running, failed, completed, cancelled or superseded
    #[arg(long)]
    pub state: Option<String>,
    /// Only those that are not over
    #[arg(long)]
    pub live: bool,
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub limit: usize,
    #[arg(long, value_name = "ID")]
    pub after: Option<String>,
}

#[derive(Args)]
pub struct StartFlow {
    /// The kind of flow, as payment_processing
    #[arg(value_name = "TYPE")]
    pub kind: String,
    /// Which of its kind, where the entity does not say enough
    #[arg(long, default_value = "", hide_default_value = true, value_name = "KEY")]
    pub flow_key: String,
    /// What it is about, as payment:123
    #[arg(long, value_name = "TYPE:ID")]
    pub entity: Option<String>,
    /// Whom it is done for
    #[arg(long)]
    pub user: Option<String>,
    /// Its steps; one with a ? behind it is optional
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub steps: Vec<String>,
    /// Steps may be named that are not declared
    #[arg(long)]
    pub open: bool,
    /// Somebody should look when it is not over by then
    #[arg(long, default_value_t = 1_800, value_name = "SECONDS")]
    pub timeout: u64,
    /// What the one whom it is done for may read
    #[arg(long)]
    pub message: Option<String>,
    /// What is enqueued to do it again, as JSON: {"action": "pay", "arguments": {"id": 7}}
    #[arg(long, value_name = "JSON")]
    pub retry: Option<String>,
    /// What is enqueued to call it off, as JSON
    #[arg(long, value_name = "JSON")]
    pub cancel: Option<String>,
    /// Another run in place of the one that is not over
    #[arg(long)]
    pub new: bool,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Args)]
pub struct MarkFlow {
    pub id: String,
    pub step: String,
    #[arg(long)]
    pub message: Option<String>,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Args)]
pub struct UpdateFlow {
    pub id: String,
    /// running; what failed is before it again then
    #[arg(long)]
    pub state: Option<String>,
    #[arg(long, required_unless_present = "state")]
    pub message: Option<String>,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Args)]
pub struct FinishFlow {
    pub id: String,
    /// completed, failed or cancelled
    #[arg(long, default_value = "completed")]
    pub state: String,
    #[arg(long)]
    pub message: Option<String>,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Args)]
pub struct AskFlow {
    pub id: String,
    #[arg(long)]
    pub why: Option<String>,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
    /// Say whether it can be asked, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}
