//! `watch`: follow a workflow until it is over, drawn in place on a terminal and change by change elsewhere.
//!
//! Why    it looks again and again instead of listening: a look tells everything, whichever node does the work and whatever was
//!        missed. The more a look takes, the rarer it is.

use super::output;
use crate::cli::{Common, WatchWorkflow};
use crate::config::Settings;
use crate::named::workflow_id;
use crate::screen::{Changes, Detail, Live, Paint, Shown, lines};
use crate::window::Window;
use anyhow::Result;
use engine::Stopwatch;
use model::WorkflowId;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;
use store::{Clock, SystemClock};

const LOOK_AGAIN: Duration = Duration::from_millis(100);
const LOOK_AGAIN_MAX: Duration = Duration::from_secs(2);
/// A look takes at most about one part in so many of the time.
const SHARE: u32 = 10;
/// `run` waits so long for somebody to come.
const SOON: Duration = Duration::from_secs(60);

pub async fn run(settings: &Settings, common: &Common, args: &WatchWorkflow) -> Result<ExitCode> {
    let (window, id) = (Window::open(settings, common)?, workflow_id(&args.id)?);
    let mut view = match (common.json, std::io::stdout().is_terminal() && std::io::stderr().is_terminal()) {
        (true, _) => View::Json(Changes::default()),
        (false, true) => View::Live(Live::new()),
        (false, false) => View::Lines(Changes::default()),
    };
    let shown = follow(&window, id, &mut view, Until::Over).await?;
    if let View::Live(live) = view {
        live.end();
        lines(&shown, Detail::Whole, SystemClock::default().now(), Paint::stdout())
            .iter()
            .for_each(output::text);
    }
    Ok(ended(&shown))
}

/// How it is shown while it goes on.
pub enum View {
    Live(Live),
    Lines(Changes),
    Json(Changes),
    /// The same lines, as talk.
    Talk(Changes),
}

impl View {
    fn put(&mut self, shown: &Shown) {
        let now = SystemClock::default().now();
        match self {
            View::Live(live) => live.draw(&lines(shown, Detail::Live, now, Paint::stderr())),
            View::Lines(changes) => {
                changes.since(shown, now).iter().for_each(|c| output::text(c.line(Paint::stdout())))
            }
            View::Json(changes) => changes.since(shown, now).iter().for_each(output::line),
            View::Talk(changes) => {
                changes.since(shown, now).iter().for_each(|c| output::note(c.line(Paint::stderr())))
            }
        }
    }
}

/// How long it is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Until {
    Over,
    /// Also when it is paused, and nobody is there to let it go on.
    NothingMoves,
}

/// Look until it is over.
pub async fn follow(window: &Window, id: WorkflowId, view: &mut View, until: Until) -> Result<Shown> {
    loop {
        let watch = Stopwatch::start();
        let shown = window.tree(id).await?;
        view.put(&shown);
        let row = &shown.workflow.workflow;
        // Failed, it may be tried again by itself; what cannot be undone waits for a person.
        let is_over = row.completed_at.is_some() || row.state == "compensation_failed";
        if is_over || (until == Until::NothingMoves && is_held(&shown)) {
            return Ok(shown);
        }
        let rest = (watch.elapsed() * SHARE).clamp(LOOK_AGAIN, LOOK_AGAIN_MAX);
        tokio::time::sleep(rest).await;
    }
}

/// It is paused, or all it waits for are workflows that are.
fn is_held(shown: &Shown) -> bool {
    let live = |state: &str| matches!(state, "pending" | "dispatched" | "running" | "polling");
    let mut waits = shown.workflow.steps.iter().filter(|step| live(&step.state)).peekable();
    let held_below =
        waits.peek().is_some() && waits.all(|step| shown.below.get(&step.key).is_some_and(is_held));
    shown.workflow.workflow.state == "paused" && !runs(shown) && !goes_on_soon(shown) || held_below
}

/// A date that it waits for comes by itself, as does the end of a short wait for somebody.
fn goes_on_soon(shown: &Shown) -> bool {
    let soon = SystemClock::default().now() + SOON;
    let is_soon = |at: &String| at.parse::<jiff::Timestamp>().is_ok_and(|at| at.as_microsecond() <= soon.0);
    let mut waiting = shown.workflow.pauses.iter().filter(|pause| pause.state == "waiting");
    shown.workflow.workflow.paused_by.as_deref() == Some("trigger")
        && waiting.any(|pause| pause.resume_at.is_some() || pause.timeout_at.as_ref().is_some_and(is_soon))
}

/// A worker has a step of it.
fn runs(shown: &Shown) -> bool {
    shown.workflow.steps.iter().any(|step| matches!(&*step.state, "dispatched" | "running"))
}

pub fn ended(shown: &Shown) -> ExitCode {
    if shown.workflow.workflow.state == "succeeded" { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
