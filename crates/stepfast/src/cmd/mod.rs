//! One file per verb.

mod breaker;
mod check;
mod demo;
mod dispatch;
mod executions;
mod groups;
mod keys;
mod message_groups;
mod nodes;
mod output;
mod pools;
mod retention;
mod router;
mod serve;
mod steps;
mod storage;
mod ticks;
mod worker;

use crate::bench::{self, BenchArgs};
use crate::cli::{Cli, Command};
use crate::config::Settings;
use anyhow::Result;
use std::process::ExitCode;

pub async fn run(cli: Cli) -> Result<ExitCode> {
    let Cli { common, command } = cli;
    if let Command::Bench(args) = command {
        let args = BenchArgs {
            workload: args.workload,
            n: args.n,
            concurrency: args.workers,
            place: common.db.as_deref().map(str::parse).transpose().map_err(crate::Refused)?,
            closed: args.closed,
            nodes: args.nodes,
            minutes: args.minutes,
            transport: args.transport,
            listen: if args.no_wake { store::Listen::Off } else { store::Listen::On },
        };
        output::figures(&bench::run(args).await?, common.json);
        return Ok(ExitCode::SUCCESS);
    }
    let settings = Settings::load(&common)?;
    let browse = || settings.database.browse();
    match command {
        Command::Serve(args) => serve::run(settings, args).await,
        Command::Worker(args) => worker::run(&settings, common.server.as_deref(), args).await,
        Command::Router(args) => router::run(&settings, &common, args).await,
        Command::Demo(args) => demo::run(settings, args).await,
        Command::Steps(verb) => steps::run(&settings, &common, verb).await,
        Command::Executions(verb) => executions::run(&settings, &common, verb).await,
        Command::Dispatch(args) => dispatch::run(settings, &common, args).await,
        Command::Groups => groups::run(&browse()?, common.json),
        Command::Breaker(verb) => breaker::run(&settings, &common, verb).await,
        Command::Drain(args) => breaker::drain(&settings, &common, args).await,
        Command::Ticks(args) => ticks::run(&browse()?, &args, common.json),
        Command::Nodes => nodes::run(&browse()?, common.json),
        Command::MessageGroups(verb) => message_groups::run(&settings, &common, verb).await,
        Command::Pools(verb) => pools::run(&settings, &common, verb).await,
        Command::Keys(verb) => keys::run(&settings, &common, verb).await,
        Command::Check(args) => check::run(&settings, &args, common.json),
        Command::Migrate(args) => storage::migrate(&settings, &args, common.json),
        Command::Archive(args) => retention::archive(&settings, &common, args).await,
        Command::Purge(args) => retention::purge(&settings, &common, args).await,
        Command::Backup(args) => storage::backup(&settings, &args, common.json),
        Command::Bench(_) => unreachable!("it was run above"),
    }
}

/// Who does this, when nobody says: the user of the machine.
pub fn whoever(by: Option<String>) -> String {
    by.or_else(|| std::env::var("USER").ok()).filter(|b| !b.is_empty()).unwrap_or_else(|| "someone".into())
}
