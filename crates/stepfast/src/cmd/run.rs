//! `run`: a workflow from its file to its end, in front of whoever asked.
//!
//! Why    it needs nothing: no server, no database, no worker. Where a server has the database, that one does the work.

use super::apply::{apply_all, tell_apart};
use super::serve::Signals;
use super::watch::{Until, View, ended, follow};
use super::{output, whoever};
use crate::cli::{Common, Run};
use crate::config::Settings;
use crate::door::{Door, DryRun};
use crate::files::{self, File};
use crate::named::{input, labels, workflow_id};
use crate::screen::{Changes, Detail, Live, Paint, Shown, lines, quoted};
use crate::window::Window;
use crate::{Refused, Unavailable};
use anyhow::{Context, Result, bail};
use engine::StartWorkflow;
use model::definition::Definition;
use model::limits;
use std::io::IsTerminal;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::ExitCode;
use stepfast::Registry;
use store::{Clock, Database, SystemClock};

pub async fn run(mut settings: Settings, common: &Common, args: Run) -> Result<ExitCode> {
    let files = given(&args)?;
    let start = StartWorkflow {
        workflow: files.main.definition.workflow.clone(),
        version: Some(files.main.definition.version.clone()),
        input: input(args.input.as_deref())?,
        labels: labels(&args.labels)?,
        trace: None,
        by: None,
    };
    let own = (common.db.is_none() && common.server.is_none()).then(|| Own::make(args.keep)).transpose()?;
    if let Some(own) = &own {
        settings.database = own.database();
        // Nobody takes deliveries out of a queue here.
        settings.engine.published.clear();
    }
    let is_gone = own.as_ref().is_some_and(|own| !own.keep);
    let mut signals = Signals::listen();
    let mut door = Door::open(&settings, common.server.as_deref(), "run")?;
    let all = all_of(&mut door, &settings, common, (&files, start, args.workers));
    let shown = tokio::select! {
        shown = all => Some(shown),
        () = signals.next() => None,
    };
    door.close().await?;
    match shown {
        Some(shown) => Ok(told(&shown?, common.json)?),
        None => {
            output::note(format_args!(
                "interrupted{}",
                if is_gone { "" } else { "; it goes on when an engine has this database again" }
            ));
            Ok(ExitCode::FAILURE)
        }
    }
}

struct Given {
    main: File,
    with: Vec<File>,
}

/// All of it is read before anything is stored.
fn given(args: &Run) -> Result<Given> {
    if args.file.is_dir() {
        bail!(Refused(format!(
            "{} is a directory; name the file to run, and write --with for the others",
            args.file.display()
        )));
    }
    let mut paths = args.with.clone();
    paths.push(args.file.clone());
    let mut files = files::read_sound(&paths)?;
    tell_apart(&files)?;
    let main = files.pop().context("the file to run was read")?;
    Ok(Given { main, with: files })
}

async fn all_of(
    door: &mut Door,
    settings: &Settings,
    common: &Common,
    (given, start, workers): (&Given, StartWorkflow, usize),
) -> Result<Shown> {
    if let Door::Local { local, .. } = door {
        let mut registry = Registry::default();
        settings.actions.register(&mut registry)?;
        known(given, &registry)?;
        local.run(registry, workers.clamp(1, limits::SESSION_CAPACITY_MAX)).await?;
    }
    let by = whoever(None);
    apply_all(door, &given.with, &by, DryRun::No).await?;
    apply_all(door, std::slice::from_ref(&given.main), &by, DryRun::No).await?;
    let started = door.start(start, None).await?;
    let mut view = match std::io::stderr().is_terminal() {
        true => View::Live(Live::new()),
        false => View::Talk(Changes::default()),
    };
    let window = Window::open(settings, common)?;
    let shown = follow(&window, workflow_id(&started.id)?, &mut view, Until::NothingMoves).await;
    if let View::Live(live) = view {
        live.end();
    }
    let shown = shown?;
    if std::io::stderr().is_terminal() {
        let now = SystemClock::default().now();
        lines(&shown, Detail::Whole, now, Paint::stderr()).iter().for_each(output::note);
    }
    Ok(shown)
}

/// Nobody waits for a worker that never comes.
fn known(given: &Given, registry: &Registry) -> Result<()> {
    let files = given.with.iter().chain([&given.main]);
    let strange =
        files.flat_map(|file| actions(&file.definition).map(move |(step, action)| (file, step, action)));
    let strange: Vec<String> = strange
        .filter(|(_, _, action)| registry.find(action).is_none())
        .map(|(file, step, action)| format!("{}: step `{step}` needs a worker for `{action}`", file.name))
        .collect();
    if strange.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = registry.actions().iter().map(ToString::to_string).collect();
    bail!(Refused(format!(
        "{}\nonly {} run here; start a server and your worker, and name the server with --server",
        strange.join("\n"),
        names.join(", ")
    )))
}

fn actions(definition: &Definition) -> impl Iterator<Item = (&str, &str)> {
    definition.steps.iter().filter_map(|step| Some((step.key.as_str(), step.work.action()?.action.as_str())))
}

fn told(shown: &Shown, json: bool) -> Result<ExitCode> {
    if json {
        output::line(&shown.workflow);
    } else if let Some(answer) = &shown.workflow.output {
        let value: serde_json::Value = serde_json::from_str(answer.get())?;
        output::pretty(&value);
    }
    Ok(ended(shown))
}

/// A database of its own, gone with the command.
struct Own {
    dir: PathBuf,
    keep: bool,
}

impl Own {
    fn make(keep: bool) -> Result<Own> {
        let dir = std::env::temp_dir().join(format!("stepfast-run-{}", std::process::id()));
        let taken = |e: std::io::Error| {
            Unavailable(format!("cannot make {}: {e}; write --db sqlite:PATH", dir.display()))
        };
        // What a workflow is started with is nobody else's to read.
        std::fs::DirBuilder::new().mode(0o700).create(&dir).map_err(taken)?;
        Ok(Own { dir, keep })
    }
    fn database(&self) -> Database {
        Database::Sqlite(self.dir.join("run.db"))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if self.keep {
            output::note(format_args!(
                "kept; look at it with: export STEPFAST_DB={}",
                quoted(&self.database().to_string())
            ));
        } else {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}
