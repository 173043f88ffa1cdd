//! Steps and executions: what can be typed about them.

use super::needed;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Subcommand)]
pub enum Steps {
    /// Create one step, or all of a file
    Create(Box<Create>),
    /// List steps, newest first
    List(List),
    /// Show one step and say why it is not running
    Show { id: String },
    /// What the attempts of one step came to: those that did not simply succeed, and every delivery
    Attempts { id: String },
    /// Mark as completed
    #[command(mut_arg("why", needed))]
    Complete(Operate),
    /// Mark as failed; its live children fail with it
    #[command(mut_arg("why", needed))]
    Fail(Operate),
    /// Stop on purpose; its live children are cancelled
    #[command(mut_arg("why", needed))]
    Stop(Operate),
    /// Mark as unnecessary; everything below it is skipped
    #[command(mut_arg("why", needed))]
    Skip(Operate),
    /// Call off; its live children are cancelled
    #[command(mut_arg("why", needed))]
    Cancel(Operate),
    /// Run again: a new step takes the place of one that failed
    Retry(Operate),
}

#[derive(Subcommand)]
pub enum Executions {
    /// List executions, newest first
    List(ListExecutions),
    /// Show one with its answer and its history
    Show {
        namespace: String,
        /// Which one, as order-7
        // `key` alone is the API key.
        #[arg(id = "execution_key", value_name = "KEY")]
        key: String,
    },
    /// Forget what has been kept as long as it was to be
    Forget(ForgetExecutions),
}

#[derive(Args)]
pub struct ListExecutions {
    #[arg(long)]
    pub namespace: Option<String>,
    /// in_progress, done or failed
    #[arg(long)]
    pub state: Option<String>,
    /// Rows to list
    #[arg(long, default_value_t = 50)]
    pub limit: usize,
    /// List everything
    #[arg(long)]
    pub all: bool,
}

#[derive(Args)]
#[command(mut_arg("why", needed))]
pub struct ForgetExecutions {
    /// All that began more than this many days ago, however long it was to be kept
    #[arg(long)]
    pub days: Option<f64>,
    #[arg(long)]
    pub why: Option<String>,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
    /// Only count
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args)]
pub struct Create {
    /// The action a worker runs
    #[arg(long, required_unless_present = "file")]
    pub action: Option<String>,
    /// JSON given to the action
    #[arg(long, value_name = "JSON")]
    pub arguments: Option<String>,
    #[arg(long)]
    pub step_key: Option<String>,
    #[arg(long)]
    pub label: Option<String>,
    #[arg(long)]
    pub queue: Option<String>,
    /// high or normal
    #[arg(long)]
    pub priority: Option<String>,
    #[arg(long, value_name = "NAME")]
    pub dispatch_group: Option<String>,
    /// The pool whose limits it shares with others
    #[arg(long, value_name = "NAME")]
    pub pool: Option<String>,
    /// Steps of one message group are done one after another, if their mode says so
    #[arg(long, value_name = "NAME")]
    pub message_group: Option<String>,
    /// immediate, next_on_error or block_on_error
    #[arg(long)]
    pub mode: Option<String>,
    /// Lower goes first in its message group; usually 99
    #[arg(long, allow_negative_numbers = true, value_name = "N")]
    pub sequence: Option<i32>,
    /// Not wanted any more if it has not started after this many milliseconds
    #[arg(long, value_name = "MS")]
    pub expires_ms: Option<u64>,
    /// Not before this many milliseconds from now
    #[arg(long, value_name = "MS")]
    pub delay_ms: Option<u64>,
    /// Executions including the first
    #[arg(long)]
    pub max_attempts: Option<u32>,
    /// Put it into the child block of this step
    #[arg(long, value_name = "ID")]
    pub parent: Option<String>,
    /// The block it stands in
    #[arg(long, value_name = "ID")]
    pub block: Option<String>,
    /// Its position in the block; equal positions run in parallel
    #[arg(long)]
    pub index: Option<u32>,
    /// Make them once under this key: the same again prints the same ids. The server keeps its keys, and commands without one theirs
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Only look whether they could be made
    #[arg(long)]
    pub dry_run: bool,
    /// A JSON file with `{"steps": [...]}`; `-` reads standard input
    #[arg(long, conflicts_with = "action", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

#[derive(Args)]
pub struct List {
    /// Only these states, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub state: Vec<String>,
    /// Only these statuses, as PENDING, QUEUED, PROCESSING, COMPLETED, ERROR, CANCELLED, EXPIRED
    #[arg(long, value_delimiter = ',')]
    pub status: Vec<String>,
    #[arg(long)]
    pub action: Option<String>,
    #[arg(long)]
    pub queue: Option<String>,
    #[arg(long)]
    pub dispatch_group: Option<String>,
    #[arg(long)]
    pub step_key: Option<String>,
    #[arg(long)]
    pub relatable_type: Option<String>,
    #[arg(long)]
    pub relatable_id: Option<String>,
    #[arg(long, value_name = "ID")]
    pub block: Option<String>,
    /// Only steps of this workflow
    #[arg(long, value_name = "ID")]
    pub workflow: Option<String>,
    /// Only steps of this message group, also those that have ended
    #[arg(long, value_name = "NAME")]
    pub message_group: Option<String>,
    #[arg(long, value_name = "NAME")]
    pub pool: Option<String>,
    /// Rows to list
    #[arg(long, default_value_t = 50)]
    pub limit: usize,
    /// List everything
    #[arg(long)]
    pub all: bool,
}

#[derive(Args)]
pub struct Operate {
    pub id: String,
    /// Why, for the record
    #[arg(long)]
    pub why: Option<String>,
    /// Who, for the record; the user's own name by default
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
    /// Say what would move, and move nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Only if the step is still as it was seen: its `version` and its `attempt`, as 3-1
    #[arg(long, value_name = "VERSION-ATTEMPT")]
    pub if_revision: Option<String>,
}
