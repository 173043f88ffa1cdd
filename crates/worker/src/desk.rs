//! One session at work: takes what the engine hands out, keeps the lease alive, and reports what came of it.
//!
//! Why    the heartbeat is the desk's, not the job's: a job that is slow is not a worker that is gone. A report that could not be
//!        stored is kept and sent again; the attempt number makes that safe. Nothing that goes to the engine is waited for in
//!        the loop, so that a job whose place comes free begins also while the engine is away. A place is free when its job is
//!        gone, not when it was told to go: no more jobs run than there are places.

use crate::context::Context;
use crate::held::{Held, Running};
use crate::lifecycle::panicked;
use crate::link::Link;
use crate::processor::Watched;
use crate::{Grace, Registry};
use engine::{Clock, EngineError, Handed, ReportAnswer, SessionHandle};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use model::{Claim, Failure, Outcome, Report, SessionOffer, StepId};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::MissedTickBehavior;
use tracing::{debug, error, warn};

/// How often a session says that it lives.
const BEAT_EVERY: Duration = Duration::from_secs(4);
/// How often jobs are asked whether they have said how far they are.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Wait before a report that was not stored is sent again.
const SEND_AGAIN: Duration = Duration::from_millis(200);
/// Reports on their way at once; while they sync, others gather into the next.
const REPORTS_AHEAD: usize = 8;
const REPORTS_AT_ONCE: usize = 250;
/// How the failure begins that takes the place of an outcome the database refuses.
const NOT_STORABLE: &str = "what came of it could not be stored";

type Sent = (Vec<Report>, Result<Vec<ReportAnswer>, EngineError>);
/// What a session has lost, as a heartbeat is told.
type Beaten = Result<Vec<(StepId, u32)>, EngineError>;

/// A session, what was offered for it, and the jobs it runs at once: as many as it takes, less what it holds beyond them.
pub struct Joined {
    pub offer: SessionOffer,
    pub places: usize,
    pub session: SessionHandle,
}

pub struct Desk {
    link: Arc<Link>,
    registry: Registry,
    clock: Arc<dyn Clock>,
    offer: SessionOffer,
    session: SessionHandle,
    received: u64,
    n_places: usize,
    /// One for each job that may run.
    places: Arc<Semaphore>,
    held: Held,
    done: mpsc::UnboundedSender<Report>,
    finished: mpsc::UnboundedReceiver<Report>,
    on_the_way: FuturesUnordered<BoxFuture<'static, Sent>>,
    /// Who is told which session it is, and when a job has ended.
    watched: Option<Arc<Watched>>,
    /// The heartbeat that is not answered yet; there is at most one.
    beating: FuturesUnordered<BoxFuture<'static, Beaten>>,
}

impl Desk {
    pub fn new(link: Arc<Link>, registry: Registry, clock: Arc<dyn Clock>, joined: Joined) -> Desk {
        let (done, finished) = mpsc::unbounded_channel();
        let Joined { offer, places, session } = joined;
        Desk {
            link,
            registry,
            clock,
            offer,
            session,
            received: 0,
            n_places: places,
            places: Arc::new(Semaphore::new(places)),
            held: Held::default(),
            done,
            finished,
            on_the_way: FuturesUnordered::new(),
            watched: None,
            beating: FuturesUnordered::new(),
        }
    }

    pub fn watched(self, watched: Arc<Watched>) -> Desk {
        Desk { watched: Some(watched), ..self }
    }

    pub async fn run(mut self, mut stopped: oneshot::Receiver<Grace>) {
        let mut beat = tokio::time::interval(BEAT_EVERY);
        let mut ask = tokio::time::interval(ASK_EVERY);
        ask.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut finished = Vec::new();
        loop {
            tokio::select! {
                biased;
                grace = &mut stopped => return self.wind_up(grace.unwrap_or_default()).await,
                handed = self.session.work.recv() => match handed {
                    Some(handed) => {
                        self.take(handed);
                        self.begin_waiting(usize::MAX);
                    }
                    None => self.join_again().await,
                },
                Ok(place) = self.places.clone().acquire_owned(), if self.held.is_anyone_waiting() => {
                    self.begin_next(place);
                }
                Some(sent) = self.on_the_way.next(), if !self.on_the_way.is_empty() => self.sent(sent),
                n = self.finished.recv_many(&mut finished, REPORTS_AT_ONCE), if self.on_the_way.len() < REPORTS_AHEAD => {
                    if n > 0 {
                        self.finish(std::mem::take(&mut finished));
                    }
                }
                Some(beaten) = self.beating.next(), if !self.beating.is_empty() => self.beaten(beaten).await,
                _ = beat.tick() => self.beat(),
                _ = ask.tick() => if self.held.has_news() {
                    self.beat();
                },
            }
        }
    }

    fn take(&mut self, handed: Handed) {
        self.received = handed.number;
        handed.claims.into_iter().for_each(|claim| self.held.wait(claim));
    }

    /// As many as there are places for, but no more than this, in the order they were given.
    fn begin_waiting(&mut self, most: usize) {
        for _ in 0..most {
            if !self.held.is_anyone_waiting() {
                return;
            }
            let Ok(place) = self.places.clone().try_acquire_owned() else { return };
            self.begin_next(place);
        }
    }

    fn begin_next(&mut self, place: OwnedSemaphorePermit) {
        if let Some(claim) = self.held.next() {
            self.begin(claim, place);
        }
    }

    fn begin(&mut self, claim: Claim, place: OwnedSemaphorePermit) {
        debug!(target: "worker", "effect step={} attempt={}", claim.step, claim.attempt);
        let (session, step, attempt, done) = (self.session.id, claim.step, claim.attempt, self.done.clone());
        let context = Context::new(claim, self.link.clone(), session, self.clock.clone());
        let (registry, mine) = (self.registry.clone(), context.clone());
        let running = self.watched.as_ref().map(|watched| watched.running(step, attempt));
        let task = tokio::spawn(async move {
            let outcome = run(&registry, mine.clone()).await;
            let (log, delivery) = (mine.take_log(), mine.take_delivery());
            let _ = done.send(Report { session, step, attempt, outcome, log, delivery });
            drop((place, running));
        });
        self.held.begun(step, attempt, Running { task: task.abort_handle(), context });
    }

    fn finish(&mut self, reports: Vec<Report>) {
        reports.iter().for_each(|report| self.held.ended(report.step, report.attempt));
        self.send(reports, Duration::ZERO);
    }

    fn send(&mut self, reports: Vec<Report>, wait: Duration) {
        let link = self.link.clone();
        self.on_the_way.push(Box::pin(async move {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            let answer = link.report(reports.clone()).await;
            (reports, answer)
        }));
    }

    fn sent(&mut self, (reports, answer): Sent) {
        match answer {
            Ok(answers) => {
                let late = answers.iter().filter(|a| **a == ReportAnswer::Late).count();
                if late > 0 {
                    warn!(target: "worker", late, "reports came too late and were not applied");
                }
                self.held.confirmed(&reports);
            }
            Err(EngineError::Unstorable(problem)) => self.unstorable(reports, &problem.to_string()),
            Err(EngineError::Stopping) => self.held.confirmed(&reports),
            Err(problem) => {
                warn!(target: "worker", %problem, reports = reports.len(), "reports were not stored; sending again");
                self.send(reports, SEND_AGAIN);
            }
        }
    }

    /// Each goes by itself; one that is refused alone goes without the record of its delivery, which an older server does not
    /// know, and then becomes a failure that says why. If not even that is taken, the engine
    /// hears no more of it and counts it as lost.
    fn unstorable(&mut self, reports: Vec<Report>, problem: &str) {
        let alone = reports.len() == 1;
        for mut report in reports {
            if alone && report.delivery.take().is_none() {
                if matches!(&report.outcome, Outcome::Fail { failure, .. } if failure.message.starts_with(NOT_STORABLE))
                {
                    error!(target: "worker", step = %report.step, problem, "an outcome is given up");
                    self.held.confirmed(&[report]);
                    continue;
                }
                let failure = Failure { message: format!("{NOT_STORABLE}: {problem}"), trace: None };
                report.outcome = Outcome::Fail { failure, notify: true };
            }
            self.send(vec![report], Duration::ZERO);
        }
    }

    /// Say what is held, unless that is being said.
    fn beat(&mut self) {
        if !self.beating.is_empty() {
            return;
        }
        let (link, session, received) = (self.link.clone(), self.session.id, self.received);
        let (held, progress) = (self.held.named(), self.held.progress());
        self.beating.push(Box::pin(async move { link.heartbeat(session, received, held, progress).await }));
    }

    async fn beaten(&mut self, beaten: Beaten) {
        match beaten {
            Ok(revoked) => revoked.into_iter().for_each(|(step, attempt)| self.held.revoke(step, attempt)),
            Err(EngineError::NoSession) => self.join_again().await,
            Err(problem) => warn!(target: "worker", %problem, "a heartbeat was not taken"),
        }
    }

    /// The engine believes this session dead: what it held is lost, and work goes on under a new one.
    async fn join_again(&mut self) {
        warn!(target: "worker", session = %self.session.id, "the session was given up; joining anew");
        self.held.cancel_all();
        self.watched.iter().for_each(|watched| watched.forget_all());
        // What the session before is told says nothing about the next.
        self.beating.clear();
        match self.link.join(self.offer.clone()).await {
            Ok(session) => {
                self.session = session;
                self.received = 0;
                if let Some(watched) = &self.watched {
                    watched.session.send_replace(self.session.id);
                }
            }
            Err(problem) => {
                warn!(target: "worker", %problem, "could not join; trying again");
                tokio::time::sleep(SEND_AGAIN).await;
            }
        }
    }

    async fn wind_up(mut self, grace: Grace) {
        let free = self.n_places.saturating_sub(self.held.n_running());
        let _ = self.link.pause_session(self.session.id).await;
        // What was handed out before the pause is run if it has a place already. What must wait for one is named until it is given
        // back with the session.
        while let Ok(handed) = self.session.work.try_recv() {
            self.take(handed);
        }
        self.begin_waiting(free);
        let end = grace.over();
        tokio::pin!(end);
        let mut beat = tokio::time::interval(BEAT_EVERY);
        let mut finished = Vec::new();
        while self.held.is_busy() || !self.on_the_way.is_empty() {
            tokio::select! {
                _ = &mut end => break,
                _ = beat.tick() => self.beat(),
                Some(beaten) = self.beating.next(), if !self.beating.is_empty() => self.beaten(beaten).await,
                Some(sent) = self.on_the_way.next(), if !self.on_the_way.is_empty() => self.sent(sent),
                n = self.finished.recv_many(&mut finished, REPORTS_AT_ONCE) => {
                    if n > 0 {
                        self.finish(std::mem::take(&mut finished));
                    }
                }
            }
        }
        self.held.abort_all();
        let _ = self.link.end_session(self.session.id).await;
    }
}

/// One run; whatever happens in it, there is an outcome.
pub async fn run(registry: &Registry, context: Context) -> Outcome {
    let Some(job) = registry.find(&context.claim().action) else {
        let message = format!("this worker has no action `{}`", context.claim().action);
        return Outcome::Fail { failure: Failure { message, trace: None }, notify: true };
    };
    let run = AssertUnwindSafe(async { job.run(context).await }).catch_unwind().await;
    run.unwrap_or_else(|panic| Outcome::Retry { after: None, failure: Some(panicked(&*panic)) })
}
