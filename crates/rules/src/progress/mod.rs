//! How far something is: one percentage, one word, since when, and where it is now; the same for workflows, trees of steps and flows.
//!
//! Takes   its parts, each with where it stands, and what became of the whole.
//! Gives   the account of them.
//! Why     a part counts once, whatever happened to it how often; nothing to do is all done; what is not over for good never reads as
//!         whole; and where something failed the word is failed, even if nothing pends.

mod sentence;

use model::Timestamp;
use std::fmt;

/// Where a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartStanding {
    /// Not begun, also where nothing of it is on record yet.
    Pending,
    /// Begun, or waiting for something.
    Running,
    Completed,
    Skipped,
    Failed,
    Cancelled,
}

/// What a part itself consists of, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Items {
    pub done: u32,
    pub failed: u32,
    pub of: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub name: String,
    pub standing: PartStanding,
    /// The whole is whole without it.
    pub optional: bool,
    pub began_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub items: Option<Items>,
    /// What people may read while it is the one that is done.
    pub status_message: Option<String>,
}

impl Part {
    pub fn new(name: impl Into<String>, standing: PartStanding) -> Part {
        Part {
            name: name.into(),
            standing,
            optional: false,
            began_at: None,
            ended_at: None,
            items: None,
            status_message: None,
        }
    }

    fn is_concluded(&self) -> bool {
        match self.standing {
            PartStanding::Completed | PartStanding::Skipped => true,
            PartStanding::Failed => self.optional,
            PartStanding::Pending | PartStanding::Running | PartStanding::Cancelled => false,
        }
    }

    /// What is optional counts once it is over.
    fn counts(&self) -> bool {
        !self.optional || self.is_concluded()
    }

    fn share(&self) -> f64 {
        match (self.is_concluded(), self.items) {
            (true, _) => 1.0,
            (false, Some(items)) if self.standing == PartStanding::Running && items.of > 0 => {
                f64::from(items.done.min(items.of)) / f64::from(items.of)
            }
            _ => 0.0,
        }
    }
}

/// What became of the whole, as far as is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    GoingOn,
    Failed,
    Completed,
    Cancelled,
}

/// The one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressState {
    Pending,
    Running,
    Failed,
    Completed,
    Cancelled,
}

impl ProgressState {
    pub fn word(self) -> &'static str {
        match self {
            ProgressState::Pending => "pending",
            ProgressState::Running => "running",
            ProgressState::Failed => "failed",
            ProgressState::Completed => "completed",
            ProgressState::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for ProgressState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    pub state: ProgressState,
    /// From 0 to 100, to the hundredth.
    pub percent: f64,
    /// Parts that are concluded, and those that count.
    pub done: usize,
    pub of: usize,
    /// The part that it is at: what failed if it failed, else what runs, else what is next.
    pub current: Option<usize>,
    /// When something happened last.
    pub since: Option<Timestamp>,
    /// Fit for whom it is done for: no error, no name of a machine.
    pub sentence: String,
}

impl Account {
    /// Something is done and something is not; what failed counts from its first step on.
    pub fn is_half_done(&self) -> bool {
        let is_open = !matches!(self.state, ProgressState::Completed | ProgressState::Cancelled);
        is_open && (self.percent > 0.0 && self.percent < 100.0 || self.state == ProgressState::Failed)
    }
}

/// `said` is what whoever does the work wants people to read.
pub fn account(parts: &[Part], course: Course, said: Option<&str>) -> Account {
    let state = state(parts, course);
    let counting = parts.iter().filter(|part| part.counts());
    let (done, of) = (counting.clone().filter(|part| part.is_concluded()).count(), counting.count());
    let current = current(parts, state).filter(|_| course != Course::Completed);
    let mut account = Account {
        state,
        percent: percent(parts, course),
        done,
        of,
        current,
        since: parts.iter().flat_map(|part| [part.began_at, part.ended_at]).flatten().max(),
        sentence: String::new(),
    };
    account.sentence = sentence::of(&account, current.map(|i| &parts[i]), said);
    account
}

fn state(parts: &[Part], course: Course) -> ProgressState {
    let broke = || parts.iter().any(|part| !part.optional && part.standing == PartStanding::Failed);
    let begun = || parts.iter().any(|part| !matches!(part.standing, PartStanding::Pending));
    match course {
        Course::Completed => ProgressState::Completed,
        Course::Cancelled => ProgressState::Cancelled,
        Course::Failed => ProgressState::Failed,
        Course::GoingOn if broke() => ProgressState::Failed,
        Course::GoingOn if begun() => ProgressState::Running,
        Course::GoingOn => ProgressState::Pending,
    }
}

fn percent(parts: &[Part], course: Course) -> f64 {
    let counting: Vec<f64> = parts.iter().filter(|part| part.counts()).map(Part::share).collect();
    if course == Course::Completed || parts.is_empty() {
        return 100.0;
    }
    let done: f64 = counting.iter().sum();
    let share = if counting.is_empty() { 0.0 } else { done / counting.len() as f64 };
    // Whatever is not over for good never reads as whole.
    ((share * 10_000.0).round() / 100.0).clamp(0.0, 99.0)
}

fn current(parts: &[Part], state: ProgressState) -> Option<usize> {
    let first = |standing| {
        let is_it = |part: &Part| part.standing == standing && !part.optional;
        parts.iter().position(is_it)
    };
    let broke = first(PartStanding::Failed).filter(|_| state == ProgressState::Failed);
    broke.or_else(|| first(PartStanding::Running)).or_else(|| first(PartStanding::Pending))
}

#[cfg(test)]
mod tests;
