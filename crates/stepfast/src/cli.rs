//! What can be typed: the commands, their options and their help.

mod again;
mod bulk;
mod examples;
mod flows;
mod help;
mod notify;
#[cfg(test)]
mod reference;
mod steps;
mod stuck;
mod subscriptions;
#[cfg(test)]
mod tried;
#[cfg(test)]
mod typed;
mod upkeep;
mod usual;
mod workflows;

pub use again::every;
pub use bulk::{Bulk, BulkRun};
pub use flows::{AskFlow, Flows, ListFlows, MarkFlow, Progress, StartFlow};
pub use help::command;
#[cfg(test)]
pub use help::paths;
pub use notify::{ChannelSet, Notify, NotifyTest};
pub use steps::{Create, Executions, ForgetExecutions, List, ListExecutions, Operate, Steps};
pub use stuck::{Alerts, Detect, ListAlerts, OnOff, SetRule, Stuck};
pub use subscriptions::{SubscriptionAdd, SubscriptionChange, Subscriptions};
pub use upkeep::{Archive, Audit, Backup, Bench, Check, Completions, Events, Migrate, Purge, Ticks};
pub use workflows::{
    Apply, Cancel, Compensate, Definitions, Diff, Graph, GraphFormat, ListWorkflows, Pause, Pauses, Polls,
    PollsVerb, Resolve, Resume, RetryCompensation, RetryFrom, Run, ShowWorkflow, SkipCompensation, Start,
    Steer, Trigger, Validate, WatchWorkflow,
};

use crate::config::{QueueLimit, queue_limit};
use clap::{Arg, Args, Parser, Subcommand};
use std::path::PathBuf;

/// Whoever looks later is to know why.
fn reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("say why; it goes on record with what is done".into()),
        said => Ok(said.into()),
    }
}

/// The reason for what throws work away, or cannot be taken back.
fn needed(why: Arg) -> Arg {
    let help = "Why, for the record; needed, unless it is only tried";
    why.required_unless_present("dry_run").value_parser(reason).help(help)
}

#[derive(Parser)]
#[command(
    name = "stepfast",
    version,
    about = "Runs multi-step work that must not be lost, doubled or forgotten",
    propagate_version = true
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Args, Clone)]
pub struct Common {
    /// The database, as sqlite:PATH or postgres://USER@HOST/NAME
    #[arg(long, global = true, env = "STEPFAST_DB", value_name = "URL")]
    pub db: Option<String>,
    /// The address of a running server; found by itself beside a SQLite file
    #[arg(long, global = true, env = "STEPFAST_SERVER", value_name = "URL")]
    pub server: Option<String>,
    /// The API key for the server; better given by the environment, which other users cannot list
    #[arg(long, global = true, env = "STEPFAST_KEY", hide_env_values = true, value_name = "KEY")]
    pub key: Option<String>,
    /// The configuration file; stepfast.toml is read when it is there
    #[arg(long, global = true, env = "STEPFAST_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON, one object a line
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run the engine, its workers and the HTTP server
    Serve(Serve),
    /// Run the built-in actions for a server, in a process of their own
    Worker(Worker),
    /// Receive messages from a broker and call the processing endpoint for each; or ask a router that runs
    Router(Router),
    /// A live engine with one of everything, to look around
    Demo(Demo),
    /// Run a workflow from its file and show how it goes; exit 1 unless it succeeds
    Run(Run),
    /// Look at definition files and tell everything that is wrong; exit 1 when something is
    Validate(Validate),
    /// The JSON Schema of definition files, for editors
    Schema,
    /// Draw a definition
    Graph(Graph),
    /// What one definition says differently from another; exit 1 when something differs
    Diff(Diff),
    /// Store the definitions of files; nothing is stored if one of them is faulty
    Apply(Apply),
    /// The definitions on record
    Definitions(Definitions),
    /// Start a workflow
    Start(Start),
    /// List workflows, newest first
    List(ListWorkflows),
    /// Show a workflow: its steps, how far they are and why
    Show(ShowWorkflow),
    /// Follow a workflow until it is over; exit 1 unless it succeeds
    Watch(WatchWorkflow),
    /// Start no more steps of workflows until they are resumed
    Pause(Pause),
    /// Let paused workflows go on
    Resume(Resume),
    /// Call workflows off
    Cancel(Cancel),
    /// Let a workflow go on that waits for somebody, with what it waits for; exit 1 if it waits on
    Trigger(Trigger),
    /// What workflows wait for: triggers, and dates
    Pauses(Pauses),
    /// What happens to workflows, as it happens, until Ctrl-C
    Events(Events),
    /// Decide about workflows that failed; asks where nothing is said
    Resolve(Resolve),
    /// Do a step of a workflow again, and everything behind it
    RetryFrom(RetryFrom),
    /// Undo what a workflow did, the last first
    Compensate(Compensate),
    /// Leave what could not be undone as it is, and undo the rest
    SkipCompensation(SkipCompensation),
    /// Try again to undo what could not be undone
    RetryCompensation(RetryCompensation),
    /// One thing done to many steps or workflows: preview, run, follow, cancel
    #[command(subcommand)]
    Bulk(Bulk),
    /// Create, list, show and move steps
    #[command(subcommand)]
    Steps(Steps),
    /// What is done once under a key: list, show, forget
    #[command(subcommand)]
    Executions(Executions),
    /// Decide and run work here, without a server
    Dispatch(Dispatch),
    /// The dispatch groups: who decides for them, what waits
    Groups,
    /// Switch dispatching off and on
    #[command(subcommand)]
    Breaker(Breaker),
    /// Switch dispatching off and say when it is safe to restart (exit 1 while it is not)
    Drain(Drain),
    /// What the dispatch groups did, second by second
    Ticks(Ticks),
    /// The nodes and their worker sessions
    Nodes,
    /// Steps that are done in order: their lines, what holds them back, and what is done about it
    #[command(subcommand)]
    MessageGroups(MessageGroups),
    /// Steps that wait for their next poll, and those that somebody should have polled
    Polls(Polls),
    /// Named limits that steps share: how many run at once, how many start in a span of time
    #[command(subcommand)]
    Pools(Pools),
    /// Who is told of what happens to workflows: webhooks, signed, by the kind of event
    #[command(subcommand)]
    Subscriptions(Subscriptions),
    /// How far a workflow, a step or a flow is; without an id, what is half done
    Progress(Progress),
    /// Work that runs elsewhere, put on record as it goes
    #[command(subcommand)]
    Flows(Flows),
    /// Who is told when something fails or waits: channels, and a test of them
    #[command(subcommand)]
    Notify(Notify),
    /// What stands still: look for it, the rules, and the switch for remedies
    #[command(subcommand)]
    Stuck(Stuck),
    /// Alerts and the review queue: list, show, acknowledge, assign, resolve, reopen
    #[command(subcommand)]
    Alerts(Alerts),
    /// Make, list and revoke API keys
    #[command(subcommand)]
    Keys(Keys),
    /// Who changed what by hand, newest first
    Audit(Audit),
    /// Look for anything that must not be; exit 1 when something is found
    Check(Check),
    /// Bring the database to this version
    Migrate(Migrate),
    /// Move whole settled trees into the archive
    Archive(Archive),
    /// Delete whole settled trees for good
    Purge(Purge),
    /// Copy the database while it is in use
    Backup(Backup),
    /// Measure this machine and this engine
    Bench(Bench),
    /// The whole at a glance: what waits, runs and failed, and whether a restart is safe
    Status,
    /// What your shell needs to complete commands and options
    Completions(Completions),
}

#[derive(Args, Clone)]
pub struct Serve {
    /// Address and port to listen on, as 0.0.0.0:7837; beyond loopback a live admin key must exist
    #[arg(long, env = "STEPFAST_BIND", value_name = "ADDR:PORT", conflicts_with = "port")]
    pub bind: Option<String>,
    /// Port on the loopback address; 0 takes a free one
    #[arg(long, env = "STEPFAST_PORT")]
    pub port: Option<u16>,
    /// Jobs that run at once in this process; 0 runs none
    #[arg(long)]
    pub workers: Option<usize>,
    /// Decide only for these dispatch groups
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub groups: Vec<String>,
    /// Decide for no group while another node does (PostgreSQL)
    #[arg(long)]
    pub standby: bool,
}

#[derive(Args, Clone)]
pub struct Router {
    /// The queue, as stomp://…, stomp+ssl://…, sqs://… or sqs+http://…
    #[arg(long, env = "STEPFAST_QUEUE_URL", hide_env_values = true, value_name = "URL")]
    pub queue_url: Option<String>,
    /// Where it may call, as http://127.0.0.1:7837; for more, write it again
    #[arg(long, value_name = "ORIGIN")]
    pub target: Vec<String>,
    /// Show itself on this address of this machine, as 127.0.0.1:7838
    #[arg(long, value_name = "ADDR:PORT")]
    pub bind: Option<String>,
    #[command(subcommand)]
    pub verb: Option<RouterVerb>,
}

#[derive(Subcommand, Clone)]
pub enum RouterVerb {
    /// Its pools, breakers and counts
    Status,
    /// Call a target again that is spared; without one, all
    ResetBreakers {
        #[arg(long, value_name = "URL")]
        target: Option<String>,
        #[arg(long, env = "STEPFAST_BY")]
        by: Option<String>,
    },
    /// Put off the messages of a pool
    Suspend {
        pool: String,
        #[arg(long, env = "STEPFAST_BY")]
        by: Option<String>,
    },
    /// Let the messages of a pool through again
    Activate {
        pool: String,
        #[arg(long, env = "STEPFAST_BY")]
        by: Option<String>,
    },
}

#[derive(Args, Clone)]
pub struct Worker {
    /// Jobs that run at once, of all queues without a limit of their own together [default: 64]
    #[arg(long)]
    pub concurrency: Option<usize>,
    /// Only these queues; without any and without --queue, all that the server knows
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub queues: Vec<String>,
    /// A queue with a limit of its own, as email=4; for more, write it again. Without --queues also `priority`, with as many places as the
    /// largest of them or as --concurrency says; priority=0 leaves it out
    #[arg(long = "queue", value_delimiter = ',', value_name = "NAME=N", value_parser = queue_limit)]
    pub limited: Vec<QueueLimit>,
    /// Steps to hold beyond those that run, for each limit, so that the next starts without asking; for many short jobs [default: 0]
    #[arg(long, value_name = "N")]
    pub prefetch: Option<usize>,
}

#[derive(Args, Clone)]
pub struct Demo {
    /// Port on the loopback address; 0 takes a free one
    #[arg(long, env = "STEPFAST_PORT")]
    pub port: Option<u16>,
    /// Keep the database in this directory instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<u64>,
}

#[derive(Args)]
pub struct Dispatch {
    /// Only this dispatch group
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    /// One tick, then end
    #[arg(long)]
    pub once: bool,
    /// The first phase that does something ends the tick
    #[arg(long, requires = "once")]
    pub early_return: bool,
    /// Jobs that run at once
    #[arg(long, default_value_t = 64)]
    pub workers: usize,
}

#[derive(Subcommand)]
pub enum Breaker {
    /// Dispatch again
    On(Switch),
    /// Dispatch nothing new; everything else goes on
    #[command(mut_arg("why", |why| why.required(true).value_parser(reason)))]
    Off(SwitchOff),
    /// Whether work is dispatched, and why not
    Status,
}

#[derive(Args)]
pub struct Switch {
    /// Only this dispatch group
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    #[arg(long)]
    pub why: Option<String>,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Args)]
pub struct SwitchOff {
    #[command(flatten)]
    pub switch: Switch,
    /// Off only for so long
    #[arg(long, value_name = "SECONDS")]
    pub ttl: Option<u64>,
}

#[derive(Args)]
pub struct Drain {
    /// Only this dispatch group
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    /// Wait until it is safe
    #[arg(long)]
    pub wait: bool,
    /// Give up waiting after so long
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    pub timeout: u64,
    /// Why, for the record; needed, unless it is switched off already
    #[arg(long)]
    pub why: Option<String>,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
    /// Off only for so long
    #[arg(long, value_name = "SECONDS")]
    pub ttl: Option<u64>,
    /// Only say whether a restart would be safe now, and switch nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Subcommand)]
pub enum MessageGroups {
    /// Groups that have something to do or are held back, and why
    List {
        /// Only names that begin like this
        #[arg(long, default_value = "", hide_default_value = true, value_name = "START")]
        name: String,
        /// Only those that are held back like this
        #[arg(long, value_parser = ["blocked", "paused"])]
        held: Option<String>,
        /// Only names behind this one
        #[arg(long, value_name = "NAME")]
        after: Option<String>,
        #[arg(long, default_value_t = 100, value_name = "N")]
        limit: usize,
    },
    /// One group with the front of its line
    Show {
        name: String,
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: usize,
    },
    /// Start nothing of it until it is resumed
    Pause(GroupOperate),
    /// Go on after a pause
    Resume(GroupOperate),
    /// Pass over the first of it: one that failed is forgiven, any other is skipped
    #[command(mut_arg("why", needed))]
    SkipHead(SkipHead),
    /// Make what failed anew, in the place it had
    Requeue(GroupOperate),
    /// Let what failed hold nobody back any more; its state stays
    #[command(mut_arg("why", needed))]
    Ignore(GroupOperate),
    /// Cancel everything of it that stands in line or runs, and forgive what failed
    #[command(mut_arg("why", needed))]
    Cancel(GroupOperate),
    /// Let nothing hold it back, neither a pause nor what failed
    Unblock(GroupOperate),
}

#[derive(Args)]
pub struct SkipHead {
    /// Only if the head is still this step
    #[arg(long, value_name = "ID")]
    pub head: Option<String>,
    #[command(flatten)]
    pub operate: GroupOperate,
}

#[derive(Args)]
pub struct GroupOperate {
    pub name: String,
    #[arg(long)]
    pub why: Option<String>,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Subcommand)]
pub enum Pools {
    /// Every pool, and how it is used now
    List,
    /// Make a pool, or give one other limits; they hold from the next start on
    Set(PoolSet),
    /// Remove a pool that nothing uses
    #[command(mut_arg("why", needed))]
    Remove {
        name: String,
        #[arg(long)]
        why: Option<String>,
        #[arg(long, env = "STEPFAST_BY")]
        by: Option<String>,
        /// Only say whether it could be removed now
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Args)]
pub struct PoolSet {
    pub name: String,
    /// How many of its steps may run at once; 0 lets nothing start
    #[arg(long, value_name = "N", required_unless_present = "rate")]
    pub concurrency: Option<u32>,
    /// How many may start in a span of time, evenly spread: 5/s, 100/m, 10/15m
    #[arg(long, value_name = "N/SPAN")]
    pub rate: Option<String>,
    /// How many may start at once after a pause; 1 when left out
    #[arg(long, value_name = "N", requires = "rate")]
    pub burst: Option<u32>,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Subcommand)]
pub enum Keys {
    /// Make a key; it is printed once and never again
    Create(KeyCreate),
    /// Every key, newest first, without the keys themselves
    List,
    /// Revoke a key for good; it is refused everywhere within a second
    Revoke(KeyRevoke),
}

#[derive(Args)]
pub struct KeyCreate {
    /// Whose key it is
    #[arg(long)]
    pub name: String,
    /// viewer, operator, worker or admin
    #[arg(long)]
    pub role: String,
    /// Only these queues, for creating and claiming
    #[arg(long, value_delimiter = ',', value_name = "QUEUES")]
    pub scope: Vec<String>,
    /// It ends by itself after so many days
    #[arg(long, value_name = "DAYS")]
    pub expires: Option<u32>,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Args)]
pub struct KeyRevoke {
    pub id: String,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
    #[arg(long)]
    pub dry_run: bool,
}
