//! One file per verb.

mod again;
mod alerts;
mod apply;
mod audit;
mod breaker;
mod bulk;
mod check;
mod completions;
mod definitions;
mod demo;
mod diff;
mod dispatch;
mod events;
mod executions;
mod flows;
mod graph;
mod groups;
mod keys;
mod list;
mod message_groups;
mod nodes;
mod notify;
mod output;
mod pauses;
mod polls;
mod pools;
mod progress;
mod resolve;
mod resolve_many;
mod retention;
mod router;
mod run;
mod schema;
mod serve;
mod show;
mod start;
mod status;
mod steer;
mod steps;
mod storage;
mod stuck;
mod subscriptions;
mod ticks;
mod trigger;
mod validate;
mod watch;
mod worker;
mod would_create;

pub use again::again;
pub use output::note;

use crate::bench::{self, BenchArgs};
use crate::cli::{self, Cli, Command};
use crate::config::Settings;
use anyhow::Result;
use std::process::ExitCode;

pub async fn run(cli: Cli) -> Result<ExitCode> {
    let Cli { common, command } = cli;
    if let Command::Bench(args) = command {
        let args = bench_args(args, common.db.as_deref())?;
        output::figures(&bench::run(args).await?, common.json);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(done) = of_files(&command, common.json) {
        return done;
    }
    let settings = Settings::load(&common)?;
    match command {
        Command::Serve(args) => serve::run(settings, args).await,
        Command::Worker(args) => worker::run(&settings, common.server.as_deref(), args).await,
        Command::Router(args) => router::run(&settings, &common, args).await,
        Command::Demo(args) => demo::run(settings, args).await,
        Command::Run(args) => run::run(settings, &common, args).await,
        Command::Graph(args) => graph::run(&settings, &common, &args).await,
        Command::Diff(args) => diff::run(&settings, &common, &args).await,
        Command::Apply(args) => apply::run(&settings, &common, args).await,
        Command::Definitions(args) => definitions::run(&settings, &common, &args).await,
        Command::Start(args) => start::run(&settings, &common, args).await,
        Command::List(args) => list::run(&settings, &common, &args).await,
        Command::Show(args) => show::run(&settings, &common, &args).await,
        Command::Watch(args) => watch::run(&settings, &common, &args).await,
        Command::Pause(args) => steer::pause(&settings, &common, args).await,
        Command::Resume(args) => steer::resume(&settings, &common, args).await,
        Command::Cancel(args) => steer::cancel(&settings, &common, args).await,
        Command::Trigger(args) => trigger::run(&settings, &common, args).await,
        Command::Events(args) => events::run(&settings, &common, &args).await,
        Command::Audit(args) => audit::run(&settings, &common, &args).await,
        Command::Pauses(args) => pauses::run(&settings, &common, &args).await,
        Command::Resolve(args) => resolve::run(&settings, &common, args).await,
        Command::RetryFrom(args) => resolve::retry_from(&settings, &common, args).await,
        Command::Compensate(args) => resolve::compensate(&settings, &common, args).await,
        Command::SkipCompensation(args) => resolve::skip(&settings, &common, args).await,
        Command::RetryCompensation(args) => resolve::again(&settings, &common, args).await,
        Command::Bulk(verb) => bulk::run(&settings, &common, verb).await,
        Command::Steps(verb) => steps::run(&settings, &common, verb).await,
        Command::Executions(verb) => executions::run(&settings, &common, verb).await,
        Command::Dispatch(args) => dispatch::run(settings, &common, args).await,
        Command::Groups => groups::run(&settings, &common).await,
        Command::Breaker(verb) => breaker::run(&settings, &common, verb).await,
        Command::Drain(args) => breaker::drain(&settings, &common, args).await,
        Command::Ticks(args) => ticks::run(&settings, &common, &args).await,
        Command::Nodes => nodes::run(&settings, &common).await,
        Command::MessageGroups(verb) => message_groups::run(&settings, &common, verb).await,
        Command::Subscriptions(verb) => subscriptions::run(&settings, &common, verb).await,
        Command::Notify(verb) => notify::run(&settings, &common, verb).await,
        Command::Polls(args) => polls::run(&settings, &common, args).await,
        Command::Pools(verb) => pools::run(&settings, &common, verb).await,
        Command::Progress(args) => progress::run(&settings, &common, &args).await,
        Command::Flows(verb) => flows::run(&settings, &common, verb).await,
        Command::Stuck(verb) => stuck::run(&settings, &common, verb).await,
        Command::Alerts(verb) => alerts::run(&settings, &common, verb).await,
        Command::Keys(verb) => keys::run(&settings, &common, verb).await,
        Command::Check(args) => check::run(&settings, &common, &args).await,
        Command::Migrate(args) => storage::migrate(&settings, &args, common.json),
        Command::Archive(args) => retention::archive(&settings, &common, args).await,
        Command::Purge(args) => retention::purge(&settings, &common, args).await,
        Command::Backup(args) => storage::backup(&settings, &args, common.json),
        Command::Status => status::run(&settings, &common).await,
        Command::Bench(_) | Command::Validate(_) | Command::Schema | Command::Completions(_) => {
            unreachable!("it was run above")
        }
    }
}

/// Files need no database.
fn of_files(command: &Command, json: bool) -> Option<Result<ExitCode>> {
    match command {
        Command::Validate(args) => Some(validate::run(args, json)),
        Command::Schema => Some(schema::run(json)),
        Command::Completions(args) => Some(completions::run(args)),
        _ => None,
    }
}

fn bench_args(args: cli::Bench, db: Option<&str>) -> Result<BenchArgs> {
    Ok(BenchArgs {
        workload: args.workload,
        n: args.n,
        concurrency: args.workers,
        place: db.map(str::parse).transpose().map_err(crate::Refused)?,
        closed: args.closed,
        nodes: args.nodes,
        minutes: args.minutes,
        waiting: args.waiting,
        paused_workflows: args.paused_workflows,
        transport: args.transport,
        listen: if args.no_wake { store::Listen::Off } else { store::Listen::On },
    })
}

/// Beneath a list that ends before what is there does.
const CUT: &str = "there are more; see --limit or --all";

/// Why, when nobody says so and nobody has to.
pub const BY_HAND: &str = "by hand";

/// Who does this, when nobody says: the user of the machine.
pub fn whoever(by: Option<String>) -> String {
    by.or_else(|| std::env::var("USER").ok()).filter(|b| !b.is_empty()).unwrap_or_else(|| "someone".into())
}
