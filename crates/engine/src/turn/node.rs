//! A node: the board and everything around it, and the order of acts in a turn.

use super::act::Acts;
use super::attempts::Deliveries;
use super::claims::ClaimBook;
use super::deadlines::Deadlines;
use super::expire::Expiry;
use super::minutes::Minutes;
use super::notices::Notices;
use super::outbox::Outbox;
use super::owed::Owed;
use super::peers::Peers;
use super::pools::Pools;
use super::readiness::Readiness;
use super::refill::Sources;
use super::sessions::Sessions;
use super::signs::{CommitOutcome, Signs};
use super::stuck::Stuck;
use super::ticks::Ticks;
use super::timers::Timers;
use super::workflows::Workflows;
use crate::request::{Dispatch, Reply, Request, StoreWork, TickReport};
use crate::signal::Pulled;
use crate::{Config, EngineError, Ids, Meters, Stopwatch};
use model::{BlockId, Breaker, DispatchGroup, Name, NodeId, SessionId, SignalId, StepId, Timestamp, limits};
use rules::board::{Board, Changes};
use rules::dispatcher::PIPELINE;
use rules::settle::{Mode, Settled, leave};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;
use store::{
    AlertWrite, Attempt, AuditEntry, GroupWrite, Lease, NodeRow, Result, SessionRow, SignalRow, Store,
    StoreError, TallyKey, Wake,
};
use tokio::sync::watch;
use tracing::{error, warn};

/// How a turn is taken.
pub struct How {
    pub mode: Mode,
    pub dispatch: Dispatch,
    /// Hand out work of this group only.
    pub only: Option<DispatchGroup>,
    pub reply: Option<Reply<TickReport>>,
}

impl Default for How {
    fn default() -> Self {
        How { mode: Mode::FixedPoint, dispatch: Dispatch::Yes, only: None, reply: None }
    }
}

/// What one turn gathers beside the board's changes.
#[derive(Default)]
pub struct Turn {
    pub acts: Acts,
    pub audit: Vec<AuditEntry>,
    pub alerts: Vec<AlertWrite>,
    pub alert_events: Vec<model::AlertEvent>,
    pub stuck_asks: Vec<store::AskWrite>,
    pub looks: Vec<store::LookWrite>,
    pub attempts: Vec<Attempt>,
    pub deliveries: Deliveries,
    /// Polls that were answered, each with how many of its step are kept.
    pub polls: Vec<(model::PollAttempt, u32)>,
    pub logs: Vec<(StepId, u32, Vec<model::LogLine>)>,
    pub sessions: Vec<SessionRow>,
    pub groups: Vec<GroupWrite>,
    pub breaker: Option<Breaker>,
    pub breakers_over: Vec<(Option<DispatchGroup>, Breaker)>,
    /// Places in the round of groups were taken.
    pub took_roots: bool,
    pub renew: bool,
    /// Rows that are of no use any more go.
    pub forget: bool,
    /// The breaker moved in this turn: nothing is handed out until that is durable.
    pub hold: bool,
    pub dispatched: usize,
    /// For owners of other groups, and for other nodes.
    pub signals: Vec<SignalRow>,
    /// Answers that were read.
    pub heard: Vec<SignalId>,
    /// Sessions of other nodes that ask for work: the signal, the session and its places.
    pub pulls: Vec<(SignalId, SessionId, usize)>,
    /// New rows in groups of other nodes.
    pub abroad: Vec<Changes>,
    /// Steps that somebody else stored and left to be counted here.
    pub counted: Vec<(TallyKey, i64)>,
    pub wake: BTreeSet<Wake>,
    /// Messages that the queue outside has now.
    pub posted: Vec<(StepId, u32)>,
}

pub struct Node {
    pub(super) store: Box<dyn Store>,
    pub(super) config: Config,
    pub(super) ids: Ids,
    pub(super) row: NodeRow,
    pub(super) lease: Lease,
    pub(super) board: Board,
    pub(super) sessions: Sessions,
    pub(super) timers: Timers<StepId>,
    pub(super) deadlines: Deadlines,
    pub(super) workflows: Workflows,
    pub(super) notices: Notices,
    pub(super) readiness: Readiness,
    pub(super) sources: Sources,
    pub(super) book: ClaimBook,
    pub(super) ticks: Ticks,
    pub(super) minutes: Minutes,
    pub(super) peers: Peers,
    pub(super) pools: Pools,
    pub(super) owed: Owed,
    pub(super) outbox: Outbox,
    pub(super) breaker: Breaker,
    pub(super) group_breakers: BTreeMap<DispatchGroup, Breaker>,
    /// Places in the round of groups that were taken and not used yet.
    pub(super) roots: VecDeque<u64>,
    pub(super) turn_number: u64,
    pub(super) durable: u64,
    /// The last turn that switched a breaker.
    pub(super) switched_in: u64,
    /// What the rows of the groups say of work that this node cannot place, as far as it is known.
    pub(super) told_ready: BTreeMap<DispatchGroup, Vec<(Name, Name)>>,
    pub(super) renewed_at: Timestamp,
    pub(super) watched_at: Timestamp,
    pub(super) forgot_at: Timestamp,
    pub(super) expiry: Expiry,
    pub(super) last_end: BTreeMap<DispatchGroup, Timestamp>,
    pub(super) alerted: BTreeSet<DispatchGroup>,
    pub(super) stuck: Stuck,
    pub(super) outstanding: VecDeque<(u64, Vec<StepId>, Vec<BlockId>)>,
    /// Answers of turns that wrote nothing, and the turn they rest on.
    hanging: Vec<(u64, Acts)>,
    inbox: Sender<Request>,
    healthy: Arc<AtomicBool>,
    pub(super) stalled: Arc<AtomicBool>,
    /// Counts turns that told something of workflows, for whoever listens.
    told: watch::Sender<u64>,
    pub(super) meters: Meters,
    down: bool,
    /// The last turn was refused for what it would write.
    pub(super) unfit: bool,
    /// This turn is the last.
    pub(super) closing: bool,
    /// Something is left for the next turn although nothing new arrives.
    pub(super) again: bool,
    /// The rows of the sessions are to be written: somebody may have ended them.
    pub(super) enter_sessions: bool,
    /// A cascade goes on in the next turn; all it needs is in hand, so it does not wait for the disk.
    unfinished: bool,
}

impl Node {
    pub fn new(
        mut store: Box<dyn Store>,
        config: Config,
        inbox: Sender<Request>,
        Signs { healthy, stalled, told, meters }: Signs,
    ) -> std::result::Result<Node, EngineError> {
        let ids = Ids::default();
        let now = store.now();
        let row = entry_of(&config, ids.node(now), now);
        let wake = inbox.clone();
        // An engine that is gone need not be woken.
        store.listen(&config.listen, Arc::new(move |one| drop(wake.send(Request::Wake(one)))));
        let lease = store.lease(&row, &config.groups)?;
        store.announce(&config.announced())?;
        crate::pools::put_all(&mut *store, &config.pools)?;
        crate::channels::put_all(&mut *store, &config.channels, &config.secrets)?;
        crate::stuck::put_all(&mut *store, &config.stuck)?;
        let mut node = Node {
            peers: Peers::new(store.is_shared()),
            store,
            ids,
            row,
            lease,
            board: Board::default(),
            sessions: Sessions::default(),
            timers: Timers::default(),
            deadlines: Deadlines::default(),
            workflows: Workflows::default(),
            notices: Notices::default(),
            readiness: Readiness::default(),
            sources: Sources::default(),
            book: ClaimBook::default(),
            ticks: Ticks::default(),
            minutes: Minutes::default(),
            pools: Pools::default(),
            owed: Owed::default(),
            outbox: Outbox::default(),
            breaker: Breaker::default(),
            group_breakers: BTreeMap::new(),
            roots: VecDeque::new(),
            turn_number: 0,
            durable: 0,
            switched_in: 0,
            told_ready: BTreeMap::new(),
            renewed_at: now,
            watched_at: now,
            forgot_at: now,
            expiry: Expiry::from(now),
            last_end: config.owned.iter().map(|g| (g.clone(), now)).collect(),
            alerted: Default::default(),
            stuck: Stuck::starting(config.stuck.every, now),
            outstanding: VecDeque::new(),
            hanging: Vec::new(),
            inbox,
            healthy,
            stalled,
            told,
            meters,
            down: false,
            unfit: false,
            closing: false,
            again: true,
            enter_sessions: false,
            unfinished: false,
            config,
        };
        node.recover()?;
        Ok(node)
    }

    /// No further turn is taken: enough are on their way, or all must be through before groups change hands.
    pub fn is_full(&self, ahead: usize) -> bool {
        self.outstanding.len() >= if self.peers.shift { 1 } else { ahead }
    }
    /// Turns that are decided and not yet durable.
    pub fn on_the_way(&self) -> usize {
        self.outstanding.len()
    }
    pub(super) fn again(&mut self) {
        self.again = true;
    }
    /// Another node has something for this one, perhaps.
    pub fn woken(&mut self, wake: &Wake) {
        let for_me = match wake {
            Wake::Group(group) => self.owns(group),
            Wake::Node(node) => *node == self.row.id,
            Wake::Everybody => true,
        };
        if for_me {
            self.meters.woken();
            self.peers.wake();
        }
    }
    pub fn is_down(&self) -> bool {
        self.down
    }
    pub fn is_by_hand(&self) -> bool {
        self.config.by_hand
    }
    pub fn with_store(&mut self, work: StoreWork) {
        work(&mut *self.store);
        // It may have been retention, or a pool may have changed.
        self.board.forget_settled();
        self.pools.look_again();
        self.workflows.look_again();
        self.notices.look_again();
        self.again |= !self.board.windows.pools().is_empty();
    }
    pub fn heard(&mut self, session: SessionId) {
        let now = self.store.now();
        self.sessions.heard(session, now);
    }
    /// It is looked at in a turn after this one.
    pub(super) fn hear_later(&self, request: Request) {
        // An engine that is gone has nothing to hear.
        let _ = self.inbox.send(request);
    }
    /// Where requests of this node's own threads go.
    pub(super) fn inbox(&self) -> Sender<Request> {
        self.inbox.clone()
    }
    pub fn close(&mut self) {
        self.closing = true;
    }
    pub fn release(&mut self) -> Result<()> {
        self.stop_waiting();
        self.store.release(&self.lease)
    }

    /// How long nothing needs to be done, if nothing arrives.
    pub fn until_next(&self) -> Duration {
        let now = self.store.now();
        if self.unfinished || (self.again || self.peers.shift || self.owed.is_waiting()) && !self.is_full(1) {
            return Duration::ZERO;
        }
        // A due step waits for a free place; the report that frees one brings the turn that looks at it.
        let can_run = self.has_room()
            && self.board.windows.len() < limits::WINDOW_STEPS_MAX
            && self.sources.takes_late();
        let at = [
            Some(self.renewed_at + limits::RENEW_EVERY),
            self.timers.next_at().filter(|_| can_run),
            self.book.next_at(),
            self.ticks.next_at(),
            self.sessions.next_lapse(),
            self.peers.next_look(now),
            self.breaker.until.filter(|_| self.breaker.off),
            self.next_pool(now),
            Some(self.expiry.next),
            self.outbox.next_look(),
            self.deadlines.next_at(),
            self.workflows.next_at(),
            self.notices.next_at(),
            self.stuck.next_at(),
        ];
        let next = at
            .into_iter()
            .flatten()
            .chain(self.group_breakers.values().filter(|b| b.off).filter_map(|b| b.until))
            .min();
        next.map_or(Duration::from_secs(1), |at| at.since(now))
            .clamp(Duration::from_micros(200), Duration::from_secs(6))
    }
    pub fn is_due(&self) -> bool {
        self.until_next() <= Duration::from_micros(200)
    }

    /// One turn. Requests that could not be looked at come back for the next one.
    pub fn turn(&mut self, mut requests: VecDeque<Request>, mut how: How) -> VecDeque<Request> {
        let now = self.store.now().max(self.board.now);
        self.board.now = now;
        self.turn_number += 1;
        let mut turn = Turn::default();
        let reply = how.reply.take();
        if self.peers.shift
            && let Err(problem) = self.shift()
        {
            warn!(%problem, "groups could not change hands; looking again");
            self.fail(&problem);
            return requests;
        }
        match self.decide(&mut turn, &mut requests, &how, now) {
            Ok(settled) => {
                if let Some(reply) = reply {
                    let report = self.report_of(&settled, &turn);
                    turn.acts.reply(reply, report);
                }
                // A row from another node may have moved the time on a little.
                self.commit(turn, self.board.now);
            }
            Err(problem) => {
                warn!(%problem, "a turn could not be decided; looking again");
                turn.acts.act(&Err(problem.clone()));
                self.fail(&problem);
                if let Some(reply) = reply {
                    reply.send(Err(problem.into()));
                }
            }
        }
        requests
    }

    fn report_of(&mut self, settled: &Settled, turn: &Turn) -> TickReport {
        TickReport { dispatched: turn.dispatched, stopped_at: settled.stopped_at.map(|n| PIPELINE[n].name) }
    }

    fn decide(
        &mut self,
        turn: &mut Turn,
        requests: &mut VecDeque<Request>,
        how: &How,
        now: Timestamp,
    ) -> Result<Settled> {
        let watch = Stopwatch::start();
        self.again = false;
        self.say_again(turn);
        self.know_subscribers(now)?;
        self.know_channels(now)?;
        if self.peers.is_due(now) || self.peers.others && requests.iter().any(Request::makes_lines) {
            self.look(turn, now)?;
        }
        while let Some(request) = requests.pop_front() {
            self.intake(turn, request, now)?;
        }
        self.take_back_lapsed(turn, now)?;
        self.expire(now)?;
        self.look_after_outbox(turn, now)?;
        self.end_overdue(now)?;
        self.workflows.begin_turn();
        self.look_after_workflows(turn, now)?;
        let mut settled = Settled::default();
        let mut laps = [Duration::ZERO; PIPELINE.len()];
        if how.dispatch == Dispatch::Yes || how.mode == Mode::FixedPoint {
            settled = self.settle_all(turn, how.mode, &mut laps)?;
        } else {
            self.follow_ends(turn)?;
            leave(&mut self.board, &mut *self.store, BTreeSet::new())?;
        }
        self.tell_refused(turn, &settled, now)?;
        self.tell_notices(turn, now)?;
        let mut picking = Stopwatch::start();
        let mut capped = Vec::new();
        // Until a cascade is through, what it is about to end must not start.
        let settled_all = settled.stopped_at.is_none() && !settled.unfinished;
        if how.dispatch == Dispatch::Yes && settled_all && !turn.hold {
            self.bring_in(now)?;
            capped = self.hand_out(turn, how, now)?;
            self.tell_ready(turn, now);
            self.pull(turn);
        }
        for (signal, _, _) in std::mem::take(&mut turn.pulls) {
            turn.acts.reply(Reply::Signal(signal), Pulled::new());
        }
        let pick = picking.lap();
        self.keep_house(turn, now)?;
        self.tell_counted(turn);
        self.tell_away(turn)?;
        self.unfinished = settled.unfinished;
        self.again |= self.board.is_touched() || turn.hold;
        let took = watch.elapsed();
        self.meters.decided(took);
        self.record_tick(&laps, pick, took, &capped, now);
        Ok(settled)
    }

    fn commit(&mut self, turn: Turn, now: Timestamp) {
        let (batch, mut acts, steps) = self.compose(turn, now);
        let left = self.board.lines.take_left();
        if !left.is_empty() {
            // A turn that writes nothing left what others wrote.
            let last = self.outstanding.back().map(|(turn, _, _)| *turn);
            let turn = if batch.is_empty() { last } else { Some(self.turn_number) };
            if let Some(turn) = turn {
                self.sources.lines.left(turn, left);
            }
        }
        if batch.is_empty() {
            // It was decided on top of what is still syncing, so it is true only when that is.
            match self.outstanding.back() {
                Some((turn, _, _)) => self.hanging.push((*turn, acts)),
                None => acts.act(&Ok(())),
            }
            return;
        }
        let number = self.turn_number;
        let blocks = batch.blocks.iter().map(|w| w.block.id).collect();
        self.outstanding.push_back((number, steps, blocks));
        let (inbox, healthy) = (self.inbox.clone(), self.healthy.clone());
        let told = (!batch.workflow_events.is_empty()).then(|| self.told.clone());
        let (meters, watch) = (self.meters.clone(), Stopwatch::start());
        let counted = std::mem::take(&mut acts.counted);
        self.store.commit(
            batch,
            Box::new(move |outcome| {
                meters.stored(CommitOutcome::of(&outcome), watch.elapsed());
                // Whoever is told that the store is away finds the engine saying so too.
                if let Err(StoreError::Down(_) | StoreError::Unknown(_)) = outcome {
                    healthy.store(false, Ordering::Relaxed);
                }
                if outcome.is_ok() {
                    // What was refused did not happen, and is decided and counted anew.
                    meters.count(&counted);
                }
                acts.hand_over(&outcome);
                // The decider hears of it before callers do: it would wait for those who are back before it knows.
                let _ = inbox.send(Request::Committed { turn: number, outcome: outcome.clone() });
                acts.act(&outcome);
                if outcome.is_ok() {
                    told.into_iter().for_each(|told| told.send_modify(|n| *n += 1));
                }
            }),
        );
    }

    pub fn committed(&mut self, turn: u64, outcome: Result<()>) {
        for (_, acts) in self.hanging.extract_if(.., |(on, _)| *on <= turn) {
            acts.act(&outcome);
        }
        if let Err(problem) = outcome {
            if !self.down {
                error!(%problem, "a turn was not stored, or not for certain; nothing of it was acknowledged");
            }
            self.outstanding.retain(|(n, _, _)| *n != turn);
            self.fail(&problem);
            return;
        }
        self.unfit = false;
        self.healthy.store(true, Ordering::Relaxed);
        while let Some((n, _, _)) = self.outstanding.front() {
            if *n > turn {
                break;
            }
            let (n, steps, blocks) = self.outstanding.pop_front().expect("it was just seen");
            self.durable = n;
            self.peers.durable(n);
            self.owed.durable(n);
            self.again |= self.pools.durable(n);
            self.sources.lines.durable(n);
            self.board.committed(&steps, &blocks);
        }
        self.board.trim(limits::CACHED_STEPS_MAX, limits::CACHED_BLOCKS_MAX);
        self.workflows.trim(self.durable);
        self.again |= self.workflows.waits_for(self.durable);
        // What this commit left on disk can be seen now.
        self.again |=
            (self.sessions.free() > 0 || self.outbox.free() > 0) && self.sources.is_waiting(&self.board);
    }

    /// What was decided cannot be trusted any more: drop it all and look again.
    fn fail(&mut self, problem: &StoreError) {
        self.down = true;
        // What it would have renewed is not.
        self.renewed_at = Timestamp(0);
        match problem {
            // One turn that the database refuses, and those decided on top of it, say nothing about the next; two do.
            StoreError::Unfit(_) if !self.unfit => self.unfit = true,
            StoreError::Lost { .. } if self.unfit => {}
            _ => self.healthy.store(false, Ordering::Relaxed),
        }
    }

    /// Read everything anew once no commit is on its way.
    pub fn look_again(&mut self) {
        if !self.outstanding.is_empty() {
            return;
        }
        self.store.reset();
        match self.lease_again().and_then(|()| self.recover()) {
            Ok(()) => {
                self.sessions.hear_all(self.store.now());
                self.down = false;
                self.again = true;
            }
            Err(problem) => {
                self.healthy.store(false, Ordering::Relaxed);
                warn!(%problem, "the store cannot be read; trying again");
            }
        }
    }

    /// Another node may have taken over while this one was away; its sessions are on record again when it is back.
    fn lease_again(&mut self) -> Result<()> {
        self.lease = self.store.lease_again(&self.row, &self.lease, &self.config.groups)?;
        self.peers.shift = false;
        self.enter_sessions = true;
        Ok(())
    }

    /// Answer without acting: the store is not there.
    pub fn refuse(&self, request: Request) {
        let problem = StoreError::Down("the last write failed; trying again".into());
        super::intake::refuse(request, &problem);
    }

    fn tell_refused(&mut self, turn: &mut Turn, settled: &Settled, now: Timestamp) -> Result<()> {
        for (step, refused) in &settled.refused {
            error!(%step, %refused, "a rule asked for a move that does not exist");
            self.tell_illegal(turn, (*step, refused.to_string()), now)?;
        }
        Ok(())
    }
}

/// How a node is on record.
fn entry_of(config: &Config, id: NodeId, now: Timestamp) -> NodeRow {
    NodeRow {
        id,
        host: config.host.to_string(),
        pid: std::process::id(),
        url: config.url.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        machine: machine(),
        limited_to: if config.owned == config.groups { Vec::new() } else { config.owned.clone() },
        standby: config.standby,
        started_at: now,
        seen_at: now,
        ended_at: None,
    }
}

/// Which boot of which machine, and which view of its processes: where a process id means something. Empty where that cannot be told.
fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let view = std::fs::read_link("/proc/self/ns/pid");
    boot.ok()
        .zip(view.ok())
        .map(|(boot, view)| format!("{} {}", boot.trim(), view.display()))
        .unwrap_or_default()
}
