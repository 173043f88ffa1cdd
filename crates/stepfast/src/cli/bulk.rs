//! What can be typed of `bulk`: the same done to many.

use super::needed;
use clap::{Args, Subcommand};

#[derive(Subcommand)]
pub enum Bulk {
    /// Do one thing to all steps or workflows for which something holds; counts them and asks first
    Run(BulkRun),
    /// List them, newest first
    List {
        #[arg(long, default_value_t = 20)]
        limit: usize,
        #[arg(long, value_name = "ID")]
        after: Option<String>,
    },
    /// How far one is, and what was refused
    Show { id: String },
    /// End one; what was done stays done
    Cancel {
        id: String,
        #[arg(long, default_value = "by hand")]
        why: String,
        #[arg(long, env = "STEPFAST_BY")]
        by: Option<String>,
    },
}

#[derive(Args)]
#[command(mut_arg("why", needed))]
pub struct BulkRun {
    /// What is meant
    #[arg(value_parser = ["steps", "workflows"])]
    pub what: String,
    /// What is done to each, as cancel, retry or skip
    #[arg(required_unless_present = "decision")]
    pub verb: Option<String>,
    /// What is decided about each workflow that failed, in place of a verb: retry, compensate, mark_resolved and so on
    #[arg(long, value_name = "DECISION", conflicts_with = "verb")]
    pub decision: Option<String>,
    /// Which ones, as state=failed, action=charge, queue=slow, workflow=order or label.team=a; for more, write it again: all must hold
    #[arg(long, required = true, value_name = "NAME=VALUE")]
    pub filter: Vec<String>,
    #[arg(long)]
    pub why: Option<String>,
    /// Count them, try a few of them, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do it without asking
    #[arg(long)]
    pub yes: bool,
    /// So many in a second at most; without it a quarter of the time is taken
    #[arg(long, value_name = "N")]
    pub per_second: Option<f64>,
    /// Do not wait until it is over
    #[arg(long)]
    pub detach: bool,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}
