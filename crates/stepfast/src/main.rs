//! The `stepfast` command.

mod bench;
mod bulk;
mod bulk_job;
mod cli;
mod cmd;
mod config;
mod door;
mod files;
mod log;
mod named;
mod scheduler;
mod screen;
mod tracer;
mod window;

pub(crate) use stepfast::{Local, LocalConfig, host_name};

use clap::FromArgMatches;
use std::fmt;
use std::process::ExitCode;

/// Turns make and drop many small rows on one thread and write them on another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Asked for something that is not done, with the reason.
#[derive(Debug)]
pub struct Refused(pub String);

/// The database or the server is not there.
#[derive(Debug)]
pub struct Unavailable(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for Refused {}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for Unavailable {}

/// The exit code of whoever found nobody there.
const AWAY: u8 = 4;

fn main() -> ExitCode {
    let typed = cli::command().get_matches();
    log_to_stderr();
    // The HTTP client looks for it before it speaks to anyone. Nobody has set another one yet.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build() {
        Ok(runtime) => runtime,
        Err(problem) => {
            eprintln!("stepfast: cannot start: {problem}");
            return ExitCode::from(AWAY);
        }
    };
    match runtime.block_on(done(&typed)) {
        Ok(code) => code,
        Err(problem) => {
            cmd::note(format_args!("stepfast: {problem:#}"));
            ExitCode::from(code_of(&problem))
        }
    }
}

/// Once, or again and again for whoever watches.
async fn done(typed: &clap::ArgMatches) -> anyhow::Result<ExitCode> {
    match cli::every(typed) {
        Some(every) => cmd::again(typed, every).await,
        None => cmd::run(cli::Cli::from_arg_matches(typed).unwrap_or_else(|wrong| wrong.exit())).await,
    }
}

/// One line a log entry, never through a buffer: what is logged survives the process.
fn log_to_stderr() {
    use std::io::IsTerminal;
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into());
    let ansi = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = if ansi { log::Lines::Coloured } else { log::Lines::Plain };
    tracing_subscriber::fmt().with_writer(move || lines).with_env_filter(filter).with_ansi(ansi).init();
}

/// What went wrong, for programs. None is 1: that is an answer.
fn code_of(problem: &anyhow::Error) -> u8 {
    use engine::EngineError as E;
    use store::StoreError as S;
    let engine = problem.downcast_ref::<E>();
    let execution = problem.downcast_ref::<engine::ExecutionError>();
    let store = problem.downcast_ref::<S>().or(match (engine, execution) {
        (Some(E::Unavailable(store)), _) => Some(store),
        (_, Some(engine::ExecutionError::Unavailable(store))) => Some(store),
        _ => None,
    });
    let unavailable = matches!(store, Some(S::Down(_) | S::Busy(_) | S::Lost { .. }))
        || problem.is::<Unavailable>()
        || matches!(engine, Some(E::Stopping));
    match unavailable || is_unreadable_answer(problem) {
        true => AWAY,
        // Refused, or what was given cannot be read.
        false => 3,
    }
}

/// A server that answers something else is none of ours. What people give as JSON is refused where it is read.
fn is_unreadable_answer(problem: &anyhow::Error) -> bool {
    problem.chain().any(|cause| cause.is::<reqwest::Error>() || cause.is::<serde_json::Error>())
}
