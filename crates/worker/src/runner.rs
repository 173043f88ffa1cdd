//! Runs jobs: takes what the engine hands out, keeps the lease alive, and reports what came of it.
//!
//! Why    the heartbeat is the runner's, not the job's: a job that is slow is not a worker that is gone. A report that
//!        could not be stored is kept and sent again; the attempt number makes that safe.

use crate::Registry;
use crate::context::Context;
use crate::held::{Held, Running};
use crate::lifecycle::panicked;
use crate::link::Link;
use engine::{Clock, EngineError, ReportAnswer, SessionHandle, SystemClock};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use model::{Claim, Failure, Name, Outcome, Report, SessionOffer, limits};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
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

#[derive(Clone)]
pub struct RunnerConfig {
    pub host: Name,
    pub queues: Vec<Name>,
    /// Jobs that run at once.
    pub concurrency: usize,
    /// The clock that jobs see.
    pub clock: Arc<dyn Clock>,
}

impl Default for RunnerConfig {
    fn default() -> Self {
        RunnerConfig {
            host: "worker".into(),
            queues: vec!["default".into(), "priority".into()],
            concurrency: 64,
            clock: Arc::new(SystemClock::default()),
        }
    }
}

pub struct Runner {
    stop: Option<oneshot::Sender<Duration>>,
    task: JoinHandle<()>,
}

impl Runner {
    /// On an engine in this process, or on a server.
    pub async fn start(
        link: impl Into<Link>,
        registry: Registry,
        config: RunnerConfig,
    ) -> Result<Runner, EngineError> {
        let link = Arc::new(link.into());
        let offer = SessionOffer {
            host: config.host,
            queues: config.queues,
            actions: registry.actions(),
            capacity: config.concurrency.clamp(1, limits::SESSION_CAPACITY_MAX),
            remote: false,
        };
        let session = link.join(offer.clone()).await?;
        let (stop, stopped) = oneshot::channel();
        let desk = Desk::new(link, registry, config.clock, offer, session);
        let task = tokio::spawn(desk.run(stopped));
        Ok(Runner { stop: Some(stop), task })
    }

    /// Take no more work, let jobs finish for a while, and give back the rest at no cost.
    pub async fn stop(mut self, grace: Duration) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(grace);
        }
        let _ = self.task.await;
    }
}

type Sent = (Vec<Report>, Result<Vec<ReportAnswer>, EngineError>);

struct Desk {
    link: Arc<Link>,
    registry: Registry,
    clock: Arc<dyn Clock>,
    offer: SessionOffer,
    session: SessionHandle,
    received: u64,
    held: Held,
    done: mpsc::UnboundedSender<Report>,
    finished: mpsc::UnboundedReceiver<Report>,
    unsent: Vec<Report>,
    on_the_way: FuturesUnordered<BoxFuture<'static, Sent>>,
}

impl Desk {
    fn new(
        link: Arc<Link>,
        registry: Registry,
        clock: Arc<dyn Clock>,
        offer: SessionOffer,
        session: SessionHandle,
    ) -> Desk {
        let (done, finished) = mpsc::unbounded_channel();
        Desk {
            link,
            registry,
            clock,
            offer,
            session,
            received: 0,
            held: Held::default(),
            done,
            finished,
            unsent: Vec::new(),
            on_the_way: FuturesUnordered::new(),
        }
    }

    async fn run(mut self, mut stopped: oneshot::Receiver<Duration>) {
        let mut beat = tokio::time::interval(BEAT_EVERY);
        let mut ask = tokio::time::interval(ASK_EVERY);
        ask.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut finished = Vec::with_capacity(REPORTS_AT_ONCE);
        loop {
            tokio::select! {
                biased;
                grace = &mut stopped => return self.wind_up(grace.unwrap_or_default()).await,
                handed = self.session.work.recv() => match handed {
                    Some(handed) => {
                        self.received = handed.number;
                        handed.claims.into_iter().for_each(|claim| self.begin(claim));
                    }
                    None => self.join_again().await,
                },
                Some(sent) = self.on_the_way.next(), if !self.on_the_way.is_empty() => self.sent(sent).await,
                n = self.finished.recv_many(&mut finished, REPORTS_AT_ONCE), if self.on_the_way.len() < REPORTS_AHEAD => {
                    if n > 0 {
                        self.note(finished.drain(..));
                        self.send();
                    }
                }
                _ = beat.tick() => self.beat().await,
                _ = ask.tick() => if self.held.has_news() {
                    self.beat().await;
                },
            }
        }
    }

    fn begin(&mut self, claim: Claim) {
        if self.held.has(claim.step, claim.attempt) {
            return;
        }
        debug!(target: "worker", "effect step={} attempt={}", claim.step, claim.attempt);
        let (session, step, attempt, done) = (self.session.id, claim.step, claim.attempt, self.done.clone());
        let context = Context::new(claim, self.link.clone(), session, self.clock.clone());
        let (registry, mine) = (self.registry.clone(), context.clone());
        let task = tokio::spawn(async move {
            let outcome = run(&registry, mine.clone()).await;
            let _ = done.send(Report { session, step, attempt, outcome, log: mine.take_log() });
        });
        self.held.begin(step, attempt, Some(Running { task: task.abort_handle(), context }));
    }

    fn note(&mut self, finished: impl Iterator<Item = Report>) {
        for report in finished {
            self.held.ended(report.step, report.attempt);
            self.unsent.push(report);
        }
    }

    fn send(&mut self) {
        if self.unsent.is_empty() {
            return;
        }
        let reports = std::mem::take(&mut self.unsent);
        self.send_these(reports);
    }

    fn send_these(&mut self, reports: Vec<Report>) {
        let link = self.link.clone();
        self.on_the_way.push(Box::pin(async move {
            let answer = link.report(reports.clone()).await;
            (reports, answer)
        }));
    }

    async fn sent(&mut self, (reports, answer): Sent) {
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
                self.unsent.extend(reports);
                tokio::time::sleep(SEND_AGAIN).await;
                self.send();
            }
        }
    }

    /// Each goes by itself; one that is refused alone becomes a failure that says why. If not even that is taken, the engine
    /// hears no more of it and counts it as lost.
    fn unstorable(&mut self, reports: Vec<Report>, problem: &str) {
        let alone = reports.len() == 1;
        for mut report in reports {
            if alone {
                if matches!(&report.outcome, Outcome::Fail { failure, .. } if failure.message.starts_with(NOT_STORABLE))
                {
                    error!(target: "worker", step = %report.step, problem, "an outcome is given up");
                    self.held.confirmed(&[report]);
                    continue;
                }
                let failure = Failure { message: format!("{NOT_STORABLE}: {problem}"), trace: None };
                report.outcome = Outcome::Fail { failure, notify: true };
            }
            self.send_these(vec![report]);
        }
    }

    async fn beat(&mut self) {
        let (held, progress) = (self.held.named(), self.held.progress());
        match self.link.heartbeat(self.session.id, self.received, held, progress).await {
            Ok(revoked) => revoked.into_iter().for_each(|(step, attempt)| self.held.revoke(step, attempt)),
            Err(EngineError::NoSession) => self.join_again().await,
            Err(problem) => warn!(target: "worker", %problem, "a heartbeat was not taken"),
        }
    }

    /// The engine believes this session dead: what it held is lost, and work goes on under a new one.
    async fn join_again(&mut self) {
        warn!(target: "worker", session = %self.session.id, "the session was given up; joining anew");
        self.held.cancel_all();
        match self.link.join(self.offer.clone()).await {
            Ok(session) => {
                self.session = session;
                self.received = 0;
            }
            Err(problem) => {
                warn!(target: "worker", %problem, "could not join; trying again");
                tokio::time::sleep(SEND_AGAIN).await;
            }
        }
    }

    async fn wind_up(mut self, grace: Duration) {
        let _ = self.link.pause_session(self.session.id).await;
        // What was handed out before the pause is run, not given back.
        while let Ok(handed) = self.session.work.try_recv() {
            self.received = handed.number;
            handed.claims.into_iter().for_each(|claim| self.begin(claim));
        }
        let end = tokio::time::sleep(grace);
        tokio::pin!(end);
        let mut beat = tokio::time::interval(BEAT_EVERY);
        let mut finished = Vec::new();
        while !self.held.is_empty() || !self.on_the_way.is_empty() {
            tokio::select! {
                _ = &mut end => break,
                _ = beat.tick() => self.beat().await,
                Some(sent) = self.on_the_way.next(), if !self.on_the_way.is_empty() => self.sent(sent).await,
                n = self.finished.recv_many(&mut finished, REPORTS_AT_ONCE) => {
                    if n > 0 {
                        self.note(finished.drain(..));
                        self.send();
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
