//! Looking after a database: what can be typed about it.

use super::needed;
use crate::bench::Workload;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub struct Ticks {
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    #[arg(long, default_value_t = 20)]
    pub limit: usize,
}

#[derive(Args)]
pub struct Audit {
    /// Only what they did, as a row says who; without `from ADDRESS`, from wherever it was
    #[arg(long, value_name = "NAME")]
    pub who: Option<String>,
    /// Only this, as cancel or "breaker off"
    #[arg(long, value_name = "VERB")]
    pub verb: Option<String>,
    /// Only what was done to this: the id of a workflow, step, flow or subscription, or as "pool api"
    #[arg(long, value_name = "THING")]
    pub target: Option<String>,
    /// Only what was done at this instant or later, as 2027-01-15T08:00:00Z
    #[arg(long, value_name = "INSTANT")]
    pub from: Option<String>,
    /// Only what was done before this instant
    #[arg(long, value_name = "INSTANT")]
    pub to: Option<String>,
    #[arg(long, default_value_t = 50)]
    pub limit: usize,
    #[arg(long, value_name = "N")]
    pub after: Option<i64>,
}

#[derive(Args)]
pub struct Events {
    /// Only these kinds, as workflow.failed or workflow.*; separated by commas
    #[arg(long = "type", value_name = "TYPES", value_delimiter = ',')]
    pub types: Vec<String>,
    /// Only those of this workflow
    #[arg(long, value_name = "ID")]
    pub workflow: Option<String>,
    /// From behind this event on, as the last one was told; else from now on
    #[arg(long, value_name = "ID")]
    pub after: Option<String>,
    /// End after so many
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

#[derive(Args)]
pub struct Check {
    /// Also list what was looked at
    #[arg(long)]
    pub verbose: bool,
}

#[derive(Args)]
pub struct Migrate {
    /// Only say whether it is needed (exit 1 when it is)
    #[arg(long)]
    pub check: bool,
}

#[derive(Args)]
#[command(mut_arg("why", needed))]
pub struct Archive {
    /// Trees whose last activity is older than this many days
    #[arg(long, default_value_t = 5.0)]
    pub days: f64,
    #[arg(long)]
    pub why: Option<String>,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args)]
#[command(mut_arg("why", needed))]
pub struct Purge {
    /// Trees whose last activity is older than this many days
    #[arg(long, default_value_t = 30.0)]
    pub days: f64,
    /// Only from the archive
    #[arg(long)]
    pub only_archive: bool,
    /// Tick records too
    #[arg(long)]
    pub ticks: bool,
    #[arg(long)]
    pub why: Option<String>,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args)]
pub struct Backup {
    /// The new file
    pub to: PathBuf,
}

#[derive(Args)]
pub struct Bench {
    /// What is measured
    #[arg(value_enum)]
    pub workload: Workload,
    /// Steps to run
    #[arg(long)]
    pub n: Option<usize>,
    /// Jobs that run at once
    #[arg(long, default_value_t = 1_000)]
    pub workers: usize,
    /// Closed steps for `growth` and `stuck`
    #[arg(long, default_value_t = 1_000_000)]
    pub closed: usize,
    /// Engines on one PostgreSQL database, for `drain` and `latency`
    #[arg(long, default_value_t = 1)]
    pub nodes: usize,
    /// Nodes do not wake each other, and look from time to time
    #[arg(long)]
    pub no_wake: bool,
    /// The queue of `publish`: embedded, activemq, sqs, or an address
    #[arg(long, default_value = "embedded", value_name = "QUEUE")]
    pub transport: String,
    /// How long `snapshot` goes on
    #[arg(long, default_value_t = 10)]
    pub minutes: u64,
    /// Polls and pauses that wait beside the live work of `waiting`
    #[arg(long, default_value_t = 1_000_000)]
    pub waiting: usize,
    /// Paused workflows beside the live work of `waiting`, in place of polls and pauses
    #[arg(long, conflicts_with = "waiting")]
    pub paused_workflows: Option<usize>,
}

#[derive(Args)]
pub struct Completions {
    /// The shell they are for
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
