//! Workflows and their definitions: what can be typed about them.

use super::needed;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Args)]
pub struct Run {
    /// The definition to run
    pub file: PathBuf,
    /// What it is started with: JSON, @FILE (JSON or YAML), or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub input: Option<String>,
    /// A file or directory of other definitions that it starts; for more, write it again
    #[arg(long, value_name = "FILE|DIR")]
    pub with: Vec<PathBuf>,
    /// A label to find it by, as tenant=acme; for more, write it again
    #[arg(long = "label", value_name = "NAME=VALUE")]
    pub labels: Vec<String>,
    /// Keep the temporary database, and say where it is; with --db it is always kept
    #[arg(long)]
    pub keep: bool,
    /// Jobs that run at once in this process, if no server runs them
    #[arg(long, default_value_t = 64, value_name = "N")]
    pub workers: usize,
}

#[derive(Args)]
pub struct Validate {
    /// Definition files, and directories of them
    #[arg(required = true, value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
}

#[derive(Args)]
pub struct Graph {
    /// A definition file, or the key of one on record
    #[arg(value_name = "FILE|KEY[@VERSION]")]
    pub of: String,
    /// How it is drawn
    #[arg(long, value_enum, default_value_t = GraphFormat::Text)]
    pub format: GraphFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum GraphFormat {
    Text,
    Mermaid,
    Svg,
}

#[derive(Args)]
pub struct Diff {
    /// A definition file, or the key of one on record
    #[arg(value_name = "FILE|KEY[@VERSION]")]
    pub from: String,
    /// The one it is compared with
    #[arg(value_name = "FILE|KEY[@VERSION]")]
    pub to: String,
}

#[derive(Args)]
pub struct Apply {
    /// Definition files, and directories of them
    #[arg(required = true, value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
    /// Say what would change, and store nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Who, for the record; the user's own name by default
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Args)]
pub struct Definitions {
    /// Only the versions of this workflow; with a version, what that one says
    #[arg(id = "workflow_key", value_name = "KEY[@VERSION]")]
    pub key: Option<String>,
}

#[derive(Args)]
pub struct Start {
    /// The key of its definition; the newest version unless one is named
    #[arg(value_name = "KEY[@VERSION]")]
    pub workflow: String,
    /// What it is started with: JSON, @FILE (JSON or YAML), or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub input: Option<String>,
    /// A label to find it by, as tenant=acme; for more, write it again
    #[arg(long = "label", value_name = "NAME=VALUE")]
    pub labels: Vec<String>,
    /// Start it once under this key: the same again prints the same id
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Only look whether it could be started with this
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args)]
pub struct ListWorkflows {
    /// Only these states, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub state: Vec<String>,
    /// Only runs of this definition
    #[arg(long, value_name = "KEY[@VERSION]")]
    pub workflow: Option<String>,
    /// Only with this label, as tenant=acme; for more, write it again
    #[arg(long = "label", value_name = "NAME=VALUE")]
    pub labels: Vec<String>,
    /// Only those made in the last span of time, as 30m, 2h or 7d
    #[arg(long, value_name = "SPAN")]
    pub since: Option<String>,
    /// Only those that are being done and in which nothing has happened for this span of time
    #[arg(long, value_name = "SPAN")]
    pub quiet: Option<String>,
    /// Also those that a step of another workflow started
    #[arg(long)]
    pub nested: bool,
    /// Rows to list
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub limit: usize,
    /// Only those older than this one: the next page
    #[arg(long, value_name = "ID")]
    pub after: Option<String>,
}

#[derive(Args)]
pub struct ShowWorkflow {
    pub id: String,
    /// Also what happened to it, in order
    #[arg(long)]
    pub timeline: bool,
}

#[derive(Args)]
pub struct WatchWorkflow {
    pub id: String,
}

/// What verbs share.
#[derive(Args)]
pub struct Steer {
    /// Why, for the record
    #[arg(long)]
    pub why: Option<String>,
    /// Who, for the record; the user's own name by default
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Only if the workflow is still at this revision, as `show` told it
    #[arg(long, value_name = "N")]
    pub if_revision: Option<u64>,
}

#[derive(Args)]
pub struct Pause {
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub steer: Steer,
}

#[derive(Args)]
pub struct Resume {
    #[arg(required_unless_present = "all", value_name = "ID")]
    pub ids: Vec<String>,
    /// Every workflow that is paused
    #[arg(long, conflicts_with_all = ["ids", "if_revision"])]
    pub all: bool,
    /// Do not ask
    #[arg(long, requires = "all")]
    pub yes: bool,
    /// Also without the triggers that it waits for
    #[arg(long, conflicts_with = "all")]
    pub force: bool,
    /// With --force, what stands for what would have been sent: JSON, @FILE (JSON or YAML), or - for standard input
    #[arg(long, requires = "force", value_name = "JSON|@FILE|-")]
    pub payload: Option<String>,
    #[command(flatten)]
    pub steer: Steer,
}

#[derive(Args)]
pub struct Trigger {
    #[arg(value_name = "WORKFLOW")]
    pub workflow: String,
    /// The trigger, as the definition names it
    #[arg(value_name = "KEY")]
    pub trigger: String,
    /// What is sent: JSON, @FILE (JSON or YAML), or - for standard input; null when left out
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub payload: Option<String>,
    /// The id of this message: the same again changes nothing
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Send nothing: make a new token with which somebody else may, and print it once
    #[arg(long, conflicts_with_all = ["payload", "id"])]
    pub token: bool,
    /// Who, for the record; the user's own name by default
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Args)]
pub struct Pauses {
    /// Only those of this workflow, also those that are over
    #[arg(value_name = "WORKFLOW", conflicts_with = "due")]
    pub workflow: Option<String>,
    /// Only those whose time comes within this span, the next first; a day when nothing is said
    #[arg(long, value_name = "SPAN", num_args = 0..=1, default_missing_value = "1d")]
    pub due: Option<String>,
    /// Rows to list
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub limit: usize,
}

#[derive(Args)]
#[command(mut_arg("why", needed))]
pub struct Cancel {
    #[arg(required_unless_present = "stuck", value_name = "ID")]
    pub ids: Vec<String>,
    /// Every workflow of which nothing has happened for so long
    #[arg(long, conflicts_with_all = ["ids", "if_revision"])]
    pub stuck: bool,
    /// How long that is
    #[arg(long, default_value_t = 24, requires = "stuck", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=8_784))]
    pub stuck_hours: u64,
    /// Do not ask
    #[arg(long, requires = "stuck")]
    pub yes: bool,
    #[command(flatten)]
    pub steer: Steer,
}

#[derive(Args)]
pub struct Resolve {
    #[arg(required_unless_present = "filter", value_name = "ID")]
    pub ids: Vec<String>,
    /// What is decided: retry, retry_from_step, compensate, cancel, mark_resolved, retry_compensation or skip_compensation
    #[arg(long, value_name = "WORD")]
    pub decision: Option<String>,
    /// The step to retry from, or from which on is undone
    #[arg(long, value_name = "KEY")]
    pub step: Option<String>,
    /// Of retry_from_step: retry_only or compensate_then_retry
    #[arg(long, value_name = "WORD")]
    pub mode: Option<String>,
    /// With compensate_then_retry: undo the step itself too
    #[arg(long)]
    pub include_step: bool,
    /// Retry from a step although the workflow succeeded
    #[arg(long)]
    pub force: bool,
    /// Of retry and retry_from_step: which items of a fan-out are done again, failed or all
    #[arg(long, value_name = "WORD")]
    pub items: Option<String>,
    /// Of compensate: only these steps
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    pub steps: Vec<String>,
    /// Of cancel: compensate or no_compensate, against what the definition says
    #[arg(long, value_name = "WORD")]
    pub on_cancel: Option<String>,
    /// Of skip_compensation: all that is not undone yet
    #[arg(long)]
    pub all: bool,
    /// Every failed workflow for which this holds: definition=KEY, version=V or label.NAME=VALUE; several must all hold
    #[arg(long, value_name = "NAME=VALUE", conflicts_with_all = ["ids", "if_revision"], requires = "decision")]
    pub filter: Vec<String>,
    /// Do not ask
    #[arg(long, requires = "filter")]
    pub yes: bool,
    #[command(flatten)]
    pub steer: Steer,
}

#[derive(Args)]
pub struct RetryFrom {
    #[arg(value_name = "ID")]
    pub id: String,
    #[arg(value_name = "STEP")]
    pub step: String,
    /// Undo what was done after the step first
    #[arg(long)]
    pub compensate: bool,
    /// Undo the step itself too
    #[arg(long, requires = "compensate")]
    pub include_step: bool,
    /// Although the workflow succeeded
    #[arg(long)]
    pub force: bool,
    /// Of a fan-out: which items are done again, failed or all
    #[arg(long, value_name = "WORD")]
    pub items: Option<model::RetryItems>,
    #[command(flatten)]
    pub steer: Steer,
}

#[derive(Args)]
#[command(mut_arg("why", needed))]
pub struct Compensate {
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
    /// Only these steps
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    pub steps: Vec<String>,
    /// This step and everything after it
    #[arg(long, value_name = "KEY", conflicts_with = "steps")]
    pub from: Option<String>,
    #[command(flatten)]
    pub steer: Steer,
}

#[derive(Args)]
#[command(mut_arg("why", needed))]
pub struct SkipCompensation {
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
    /// All that is not undone yet
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub steer: Steer,
}

#[derive(Args)]
pub struct RetryCompensation {
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub steer: Steer,
}

#[derive(Args)]
pub struct Polls {
    /// Only those whose time has come
    #[arg(long)]
    pub due: bool,
    #[arg(long, default_value_t = 20)]
    pub limit: usize,
    /// The next page: what the last one told
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
    #[command(subcommand)]
    pub verb: Option<PollsVerb>,
}

#[derive(Subcommand)]
pub enum PollsVerb {
    /// Put back polls that are due for long, or whose worker is gone; finds nothing while an engine runs
    Recover {
        /// Those that are due for longer than so many seconds
        #[arg(long, default_value_t = 3_600, value_name = "SECONDS")]
        older: u64,
        #[arg(long)]
        dry_run: bool,
        #[arg(long, env = "STEPFAST_BY")]
        by: Option<String>,
    },
}
