//! What can be typed: the commands, their options and their help.

use crate::bench::Workload;
use crate::config::{QueueLimit, queue_limit};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

#[derive(Parser)]
#[command(
    name = "stepfast",
    version,
    about = "Runs multi-step work that must not be lost, doubled or forgotten",
    after_help = "Exit codes: 0 done · 1 the answer is no (not safe yet, findings, nothing found) · 2 wrong usage · \
                  3 refused, with the reason · 4 the database or server does not answer",
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
    /// The database, as sqlite:PATH
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
    /// A live engine with sample work, to look around
    Demo(Demo),
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
    /// Named limits that steps share: how many run at once, how many start in a span of time
    #[command(subcommand)]
    Pools(Pools),
    /// Make, list and revoke API keys
    #[command(subcommand)]
    Keys(Keys),
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
    },
    /// Put off the messages of a pool
    Suspend { pool: String },
    /// Let the messages of a pool through again
    Activate { pool: String },
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
    Complete(Operate),
    /// Mark as failed; its live children fail with it
    Fail(Operate),
    /// Stop on purpose; its live children are cancelled
    Stop(Operate),
    /// Mark as unnecessary; everything below it is skipped
    Skip(Operate),
    /// Call off; its live children are cancelled
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
        /// Not to be taken for the API key
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
pub struct ForgetExecutions {
    /// All that began more than this many days ago, however long it was to be kept
    #[arg(long)]
    pub days: Option<f64>,
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
    #[arg(long, default_value = "by hand")]
    pub why: String,
    /// Who, for the record; the user's own name by default
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
    /// Say what would move, and move nothing
    #[arg(long)]
    pub dry_run: bool,
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
    Off(Switch),
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
    #[arg(long)]
    pub why: Option<String>,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
    /// Off only for so long
    #[arg(long, value_name = "SECONDS")]
    pub ttl: Option<u64>,
}

#[derive(Subcommand)]
pub enum MessageGroups {
    /// Groups that have something to do or are held back, and why
    List {
        /// Only names behind this one
        #[arg(long, default_value = "", hide_default_value = true, value_name = "NAME")]
        after: String,
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
    SkipHead(GroupOperate),
    /// Make what failed anew, in the place it had
    Requeue(GroupOperate),
    /// Let what failed hold nobody back any more; its state stays
    Ignore(GroupOperate),
    /// Cancel everything of it that stands in line or runs, and forgive what failed
    Cancel(GroupOperate),
    /// Let nothing hold it back, neither a pause nor what failed
    Unblock(GroupOperate),
}

#[derive(Args)]
pub struct GroupOperate {
    pub name: String,
    #[arg(long, default_value = "by hand")]
    pub why: String,
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
    Remove {
        name: String,
        #[arg(long, env = "STEPFAST_BY")]
        by: Option<String>,
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
}

#[derive(Args)]
pub struct Ticks {
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    #[arg(long, default_value_t = 20)]
    pub limit: usize,
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
pub struct Archive {
    /// Trees whose last activity is older than this many days
    #[arg(long, default_value_t = 5.0)]
    pub days: f64,
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args)]
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
    pub dry_run: bool,
}

#[derive(Args)]
pub struct Backup {
    /// The new file
    pub to: PathBuf,
}

#[derive(Args)]
pub struct Bench {
    #[arg(value_enum)]
    pub workload: Workload,
    /// Steps to run
    #[arg(long)]
    pub n: Option<usize>,
    /// Jobs that run at once
    #[arg(long, default_value_t = 1_000)]
    pub workers: usize,
    /// Closed steps for `growth`
    #[arg(long, default_value_t = 1_000_000)]
    pub closed: usize,
    /// Engines on one PostgreSQL database, for `drain` and `latency`
    #[arg(long, default_value_t = 1)]
    pub nodes: usize,
    /// Nodes do not wake each other, and look from time to time
    #[arg(long)]
    pub no_wake: bool,
    /// The queue of `publish`: embedded, or its address
    #[arg(long, default_value = "embedded", value_name = "URL")]
    pub transport: String,
    /// How long `snapshot` goes on
    #[arg(long, default_value_t = 10)]
    pub minutes: u64,
}
