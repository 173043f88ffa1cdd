//! Runs the steps that the queue outside sends somebody for, and tells whoever was sent when each has ended.
//!
//! Why    a step that was begun is held as any other: by a session with a lease, reported until it is on record, taken back when the
//!        process dies. So this is a desk that is offered nothing and given what it asks for.

use crate::desk::{Desk, Joined};
use crate::link::Link;
use crate::{Grace, Registry};
use engine::{Clock, Engine, EngineError, Sent};
use model::{Name, NotBegun, SessionId, SessionOffer, StepId, limits};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

pub struct Processor {
    engine: Engine,
    watched: Arc<Watched>,
    desk: Mutex<Option<(oneshot::Sender<Grace>, JoinHandle<()>)>>,
}

impl Processor {
    pub async fn start(
        engine: Engine,
        registry: Registry,
        host: Name,
        clock: Arc<dyn Clock>,
    ) -> Result<Processor, EngineError> {
        let offer = SessionOffer { host, queues: vec![], actions: vec![], capacity: 0, remote: false };
        let session = engine.join(offer.clone()).await?;
        let watched = Arc::new(Watched { session: watch::Sender::new(session.id), ends: Mutex::default() });
        let joined = Joined { offer, places: limits::SESSION_CAPACITY_MAX, session };
        let link = Arc::new(Link::from(engine.clone()));
        let desk = Desk::new(link, registry, clock, joined).watched(watched.clone());
        let (stop, stopped) = oneshot::channel();
        let desk = Mutex::new(Some((stop, tokio::spawn(desk.run(stopped)))));
        Ok(Processor { engine, watched, desk })
    }

    /// Run this attempt if it is the one that is queued, until its job has ended; what came of it is then on its way to the record.
    pub async fn process(&self, step: StepId, attempt: u32) -> Result<Result<(), NotBegun>, EngineError> {
        let ended = self.watched.wait(step, attempt);
        let session = *self.watched.session.borrow();
        let begun = self.engine.begin(Sent { session, step, attempt }).await?;
        if begun.is_ok() {
            // A job that is dropped has ended too.
            let _ = ended.await;
        }
        Ok(begun)
    }

    /// Let jobs finish, and give back the rest.
    pub async fn stop(&self, grace: impl Into<Grace>) {
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((stop, task)) = desk {
            let _ = stop.send(grace.into());
            let _ = task.await;
        }
        self.watched.forget_all();
    }
}

type Ends = HashMap<(StepId, u32), Vec<oneshot::Sender<()>>>;

/// What is to be known of a desk by others.
pub struct Watched {
    pub session: watch::Sender<SessionId>,
    ends: Mutex<Ends>,
}

impl Watched {
    /// Nothing of what was given runs any more.
    pub fn forget_all(&self) {
        self.ends().clear();
    }
    fn ends(&self) -> MutexGuard<'_, Ends> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn wait(&self, step: StepId, attempt: u32) -> oneshot::Receiver<()> {
        let (end, ended) = oneshot::channel();
        let mut ends = self.ends();
        // Whoever was told that somebody else has it waits no more.
        ends.retain(|_, waiting| {
            waiting.retain(|end| !end.is_closed());
            !waiting.is_empty()
        });
        ends.entry((step, attempt)).or_default().push(end);
        ended
    }
    /// Tells that a job has ended when it is dropped.
    pub fn running(self: &Arc<Self>, step: StepId, attempt: u32) -> RunningJob {
        RunningJob { watched: self.clone(), job: (step, attempt) }
    }
}

pub struct RunningJob {
    watched: Arc<Watched>,
    job: (StepId, u32),
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        self.watched.ends().remove(&self.job);
    }
}
