//! The door to a running engine: every call waits until its turn is durable.

use crate::decider::Decider;
use crate::progress::Board;
use crate::request::{
    Attending, Created, Dispatch, GroupOperated, GroupOperation, Handed, Operated, Operation, Publication,
    Reply, ReportAnswer, Request, Sent, TickReport,
};
use crate::turn::Signs;
use crate::{Config, EngineError, Executions, Flows, Keyring, Meters};
use model::{
    Breaker, DispatchGroup, Fault, Name, NewStep, NotBegun, Report, SessionId, SessionOffer, StepId,
    StuckPolicy,
};
use rules::settle::Mode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use store::{Store, StoreError};
use tokio::sync::{mpsc, oneshot, watch};

/// Decisions recurse with the depth of what they decide on.
const STACK: usize = 16 << 20;

type Result<T> = std::result::Result<T, EngineError>;

#[derive(Clone)]
pub struct Engine {
    /// Every sender waits for its answer, so the callers bound it; a bound of its own could make the writer wait for the decider.
    inbox: std::sync::mpsc::Sender<Request>,
    healthy: Arc<AtomicBool>,
    stalled: Arc<AtomicBool>,
    stopping: Arc<AtomicBool>,
    queues: Arc<[Name]>,
    executions: Executions,
    flows: Flows,
    keys: Keyring,
    stuck: StuckPolicy,
    /// Counts turns that told something of workflows.
    told: watch::Receiver<u64>,
    meters: Arc<Meters>,
    pub(crate) progress: Board,
}

/// The thread that decides; stop it before the process ends.
pub struct EngineThread {
    thread: Option<JoinHandle<()>>,
}

impl EngineThread {
    pub fn join(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A decider that falls says so.
struct Guard(Arc<AtomicBool>);

impl Drop for Guard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(false, Ordering::Relaxed);
        }
    }
}

/// A session's side of the engine.
pub struct SessionHandle {
    pub id: SessionId,
    pub work: mpsc::UnboundedReceiver<Handed>,
}

impl Engine {
    /// Take the leases, bring back what a dead process left, and start deciding.
    pub fn start(store: Box<dyn Store>, config: Config) -> Result<(Engine, EngineThread)> {
        let (inbox, requests) = std::sync::mpsc::channel();
        let healthy = Arc::new(AtomicBool::new(true));
        let queues = config.known_queues().into();
        let executions = Executions::new(store.ledger());
        let flows = Flows::new(store.ledger());
        let keys = config.secrets.clone();
        let stuck = config.stuck.policy;
        let (tell, told) = watch::channel(0);
        let meters = Meters::of(config.spans.as_ref());
        let fallen = healthy.clone();
        let (stalled, stopping) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (meters_told, stalled_told) = (meters.clone(), stalled.clone());
        let signs =
            Signs { healthy: healthy.clone(), stalled: stalled_told, told: tell, meters: meters_told };
        let mut decider = Decider::new(store, config, inbox.clone(), signs)?;
        let thread = std::thread::Builder::new()
            .name("stepfast-decider".into())
            .stack_size(STACK)
            .spawn(move || {
                let _guard = Guard(fallen);
                decider.run(requests);
            })
            .map_err(|e| StoreError::Down(e.to_string()))?;
        let progress = Board::default();
        let engine = Engine {
            inbox,
            healthy,
            stalled,
            stopping,
            queues,
            executions,
            flows,
            keys,
            stuck,
            told,
            meters: Arc::new(meters),
            progress,
        };
        Ok((engine, EngineThread { thread: Some(thread) }))
    }

    /// The last commit went through, and the decider is at work.
    pub fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }

    /// Until nobody decides any more: it was stopped, or it fell.
    pub async fn gone(&self) {
        let mut told = self.told.clone();
        while told.changed().await.is_ok() {}
    }

    /// Work waits in a dispatch group of this node, and no step of it has ended for long.
    pub fn is_stalled(&self) -> bool {
        self.stalled.load(Ordering::Relaxed)
    }

    /// It is about to stop: what runs may end, and whoever asks is told to go elsewhere.
    pub fn announce_stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// What is to be done once, however often it is asked for.
    pub fn executions(&self) -> &Executions {
        &self.executions
    }

    /// What runs elsewhere and is tracked here.
    pub fn flows(&self) -> &Flows {
        &self.flows
    }

    pub(crate) fn keys(&self) -> &Keyring {
        &self.keys
    }

    /// How careful remedies are on this node.
    pub fn stuck_policy(&self) -> StuckPolicy {
        self.stuck
    }

    /// Changes when something of workflows was told on this node and is durable. Only a hint: other nodes tell things too.
    pub fn told(&self) -> watch::Receiver<u64> {
        self.told.clone()
    }

    /// What it has counted since it started.
    pub fn meters(&self) -> &Meters {
        &self.meters
    }

    fn send(&self, request: Request) -> Result<()> {
        self.inbox.send(request).map_err(|_| EngineError::Stopping)
    }

    pub(crate) async fn ask<T>(&self, request: impl FnOnce(Reply<T>) -> Request) -> Result<T> {
        let (caller, answer) = oneshot::channel();
        self.send(request(Reply::Caller(caller)))?;
        // No answer means that the turn was dropped before it came to this request.
        let dropped = || StoreError::Lost { what: "the turn".into() };
        answer.await.unwrap_or_else(|_| Err(EngineError::Unavailable(dropped())))
    }

    pub async fn create(&self, steps: Vec<NewStep>) -> Result<Vec<Created>> {
        self.ask(|reply| Request::Create { steps, by: None, reply }).await
    }
    /// Create, and put on record who did.
    pub async fn create_by(&self, steps: Vec<NewStep>, by: String) -> Result<Vec<Created>> {
        self.ask(|reply| Request::Create { steps, by: Some(by), reply }).await
    }
    /// The queues a step may name here; another name falls back to one of them.
    pub fn queues(&self) -> &[Name] {
        &self.queues
    }
    pub async fn operate(&self, operation: Operation) -> Result<Operated> {
        storable([("by", &*operation.by), ("why", &*operation.why)])?;
        self.ask(|reply| Request::Operate { operation, reply }).await
    }
    /// What a person does to a message group.
    pub async fn operate_group(&self, operation: GroupOperation) -> Result<GroupOperated> {
        let group = &*operation.message_group;
        storable([("message_group", group), ("by", &*operation.by), ("why", &*operation.why)])?;
        self.ask(|reply| Request::OperateGroup { operation, reply }).await
    }
    /// Switch the breaker of one group, or of all.
    pub async fn set_breaker(
        &self,
        scope: Option<DispatchGroup>,
        breaker: Breaker,
        by: &str,
    ) -> Result<Breaker> {
        storable([("by", by), ("why", breaker.why.as_deref().unwrap_or_default())])?;
        let by = by.to_string();
        self.ask(|reply| Request::Breaker { scope, breaker, by, reply }).await
    }
    pub async fn join(&self, offer: SessionOffer) -> Result<SessionHandle> {
        let queues = offer.queues.iter().map(|name| ("queues", &**name));
        let actions = offer.actions.iter().map(|name| ("actions", &**name));
        storable(queues.chain(actions).chain([("host", &*offer.host)]))?;
        let (hand, work) = mpsc::unbounded_channel();
        let id = self.ask(|reply| Request::Join { offer, hand, reply }).await?;
        Ok(SessionHandle { id, work })
    }
    /// Go on with a session that this node, or one that has ended, knew; what it holds it keeps.
    pub async fn join_again(&self, session: SessionId, received: u64) -> Result<SessionHandle> {
        let (hand, work) = mpsc::unbounded_channel();
        let id = self.ask(|reply| Request::JoinAgain { session, received, hand, reply }).await?;
        Ok(SessionHandle { id, work })
    }
    pub async fn report(&self, reports: Vec<Report>) -> Result<Vec<ReportAnswer>> {
        self.ask(|reply| Request::Reports { reports, reply }).await
    }
    /// Say what a session still holds; the answer names what it has lost.
    pub async fn heartbeat(
        &self,
        session: SessionId,
        received: u64,
        held: Vec<(StepId, u32)>,
    ) -> Result<Vec<(StepId, u32)>> {
        self.ask(|reply| Request::Heartbeat { session, received, held, reply }).await
    }
    /// Publish what goes into the queue outside, from now on.
    pub async fn attend(&self, publisher: Attending) -> Result<()> {
        self.ask(|reply| Request::Attend { publisher, reply }).await
    }
    /// Say what came of publishing.
    pub async fn published(&self, publications: Vec<Publication>) -> Result<()> {
        self.ask(|reply| Request::Published { publications, reply }).await
    }
    /// The queue outside sent somebody for a step: the session is given it as any other work, if this attempt is queued.
    pub async fn begin(&self, sent: Sent) -> Result<std::result::Result<(), NotBegun>> {
        let begun = self.ask(|reply| Request::Begin { sent, reply }).await?;
        Ok(begun.map(|_| ()))
    }
    pub async fn pause_session(&self, session: SessionId) -> Result<()> {
        self.ask(|reply| Request::Leave { session, give_back: false, reply }).await
    }
    pub async fn end_session(&self, session: SessionId) -> Result<()> {
        self.progress.forget(session);
        self.ask(|reply| Request::Leave { session, give_back: true, reply }).await
    }
    /// One turn, when the engine runs by hand.
    pub async fn tick(
        &self,
        mode: Mode,
        dispatch: Dispatch,
        only: Option<DispatchGroup>,
    ) -> Result<TickReport> {
        self.ask(|reply| Request::Tick { mode, dispatch, only, reply }).await
    }
    /// What the steps of the same block at the index before a step's own answered, as JSON, oldest first.
    pub async fn previous(&self, step: StepId) -> Result<Vec<String>> {
        let answers = self.with_store(move |store| store::previous(store.reader(), step)).await??;
        answers.ok_or_else(|| EngineError::too_much_before(step))
    }
    /// Run something against the store between turns.
    pub async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Store) -> T + Send + 'static,
    ) -> Result<T> {
        self.ask(|reply| {
            Request::Store(Box::new(move |store| {
                reply.send(Ok(work(store)));
            }))
        })
        .await
    }
    /// End at once, as a crash would: nothing is given back, and the next engine takes over.
    pub fn halt(&self) {
        let _ = self.inbox.send(Request::Halt);
    }
    /// Decide what is in hand, give the leases back, and end.
    pub async fn stop(&self) -> Result<()> {
        self.ask(|reply| Request::Stop { reply }).await
    }
}

/// Nothing that a database would not keep.
pub(crate) fn storable<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<()> {
    let with_nul = texts.into_iter().filter(|(_, text)| text.contains('\0'));
    let faults: Vec<Fault> = with_nul.map(|(field, _)| Fault::nul(field)).collect();
    if faults.is_empty() { Ok(()) } else { Err(EngineError::Invalid(faults)) }
}
