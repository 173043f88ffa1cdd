//! How far jobs say they are, kept in memory for whoever looks while they run.
//!
//! Why    it is worth nothing once the step has ended, so nothing is written for it. After a restart, and where a worker goes to
//!        another node, it is known again when the worker says it again.

use crate::{Engine, Stopwatch};
use model::{Progress, SessionId, StepId, limits};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One attempt of one step, and how far it is.
pub type Told = (StepId, u32, Progress);

#[derive(Clone, Default)]
pub struct Board {
    sessions: Arc<Mutex<HashMap<SessionId, Said>>>,
}

struct Said {
    heard: Stopwatch,
    attempts: HashMap<(StepId, u32), Progress>,
}

impl Board {
    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Said>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn note(&self, session: SessionId, held: &[(StepId, u32)], news: Vec<Told>) {
        let mut sessions = self.sessions();
        if news.is_empty() && !sessions.contains_key(&session) {
            return;
        }
        sessions.retain(|_, said| said.heard.elapsed() < limits::SESSION_LEASE);
        let heard = Stopwatch::start();
        let said = sessions.entry(session).or_insert_with(|| Said { heard, attempts: HashMap::new() });
        said.heard = heard;
        said.attempts.extend(news.into_iter().map(|(step, attempt, progress)| ((step, attempt), progress)));
        let held: HashSet<(StepId, u32)> = held.iter().take(limits::SESSION_CAPACITY_MAX).copied().collect();
        said.attempts.retain(|attempt, _| held.contains(attempt));
    }
    pub fn forget(&self, session: SessionId) {
        self.sessions().remove(&session);
    }
}

impl Engine {
    /// With a heartbeat: how far the jobs of a session say they are. The last word counts, while the session names the step as held.
    pub fn note_progress(&self, session: SessionId, held: &[(StepId, u32)], news: Vec<Told>) {
        self.progress.note(session, held, news);
    }
    /// How far an attempt is, if its worker speaks to this node and has said so.
    pub fn progress(&self, session: SessionId, step: StepId, attempt: u32) -> Option<Progress> {
        self.progress.sessions().get(&session)?.attempts.get(&(step, attempt)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(done: u64) -> Progress {
        Progress::new(done, 10, None)
    }

    #[test]
    fn the_last_word_counts_and_goes_with_its_step() {
        let (board, session, step) = (Board::default(), SessionId::of(1), StepId::of);
        let held = [(step(1), 1), (step(2), 1)];
        let of = |n: u64| board.sessions().get(&session)?.attempts.get(&(step(n), 1)).map(|p| p.done);
        board.note(session, &held, vec![]);
        assert!(board.sessions().is_empty(), "a session that says nothing costs nothing");
        board.note(session, &held, vec![(step(1), 1, at(3)), (step(2), 1, at(1)), (step(3), 1, at(9))]);
        board.note(session, &held, vec![(step(1), 1, at(4))]);
        assert_eq!((of(1), of(2), of(3)), (Some(4), Some(1), None), "what is not held is not listened to");
        board.note(session, &held[1..], vec![]);
        assert_eq!((of(1), of(2)), (None, Some(1)));
        board.forget(session);
        assert!(board.sessions().is_empty());
    }
}
