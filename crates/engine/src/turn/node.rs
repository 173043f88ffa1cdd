//! A node: the board and everything around it, and the order of acts in a turn.

use super::act::Acts;
use super::claims::ClaimBook;
use super::refill::{Commits, Sources};
use super::sessions::Sessions;
use super::ticks::{Ticks, TurnFigures};
use super::timers::Timers;
use crate::request::{Dispatch, Handed, Reply, Request, StoreWork, TickReport};
use crate::{Config, EngineError, Ids, Stopwatch};
use model::{Block, BlockId, Breaker, Claim, DispatchGroup, SessionId, Step, StepId, Timestamp, limits};
use rules::board::Board;
use rules::dispatcher::PIPELINE;
use rules::pick::{Gate, pick};
use rules::settle::{Mode, Settled, Snapshot, leave, load_summary, settle};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;
use store::{Alert, Attempt, AuditEntry, GroupWrite, Lease, NodeRow, Result, SessionRow, Store, StoreError};
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
    pub alerts: Vec<Alert>,
    pub attempts: Vec<Attempt>,
    pub sessions: Vec<SessionRow>,
    pub groups: Vec<GroupWrite>,
    pub breaker: Option<Breaker>,
    pub next_root: bool,
    pub renew: bool,
    /// The breaker moved in this turn: nothing is handed out until that is durable.
    pub hold: bool,
    pub dispatched: usize,
}

pub struct Node {
    pub(super) store: Box<dyn Store>,
    pub(super) config: Config,
    pub(super) ids: Ids,
    pub(super) row: NodeRow,
    pub(super) lease: Lease,
    pub(super) board: Board,
    pub(super) sessions: Sessions,
    pub(super) timers: Timers,
    pub(super) sources: Sources,
    pub(super) book: ClaimBook,
    pub(super) ticks: Ticks,
    pub(super) breaker: Breaker,
    pub(super) group_breakers: BTreeMap<DispatchGroup, Breaker>,
    pub(super) next_root: u64,
    pub(super) turn_number: u64,
    pub(super) durable: u64,
    pub(super) renewed_at: Timestamp,
    pub(super) watched_at: Timestamp,
    pub(super) last_end: BTreeMap<DispatchGroup, Timestamp>,
    pub(super) alerted: BTreeSet<DispatchGroup>,
    outstanding: VecDeque<(u64, Vec<StepId>, Vec<BlockId>)>,
    /// Answers of turns that wrote nothing, and the turn they rest on.
    hanging: Vec<(u64, Acts)>,
    inbox: Sender<Request>,
    healthy: Arc<AtomicBool>,
    down: bool,
    /// The last turn was refused for what it would write.
    unfit: bool,
    /// This turn is the last.
    pub(super) closing: bool,
    /// Something is left for the next turn although nothing new arrives.
    again: bool,
    /// The rows of the sessions are to be written: somebody may have ended them.
    pub(super) enter_sessions: bool,
    /// A cascade goes on in the next turn; all it needs is in hand, so it does not wait for the disk.
    unfinished: bool,
}

/// The store with a watch on the phases.
struct Eyes<'a> {
    store: &'a mut dyn Store,
    watch: Stopwatch,
    laps: [Duration; PIPELINE.len()],
}

impl Snapshot for Eyes<'_> {
    type Error = StoreError;
    fn step(&mut self, id: StepId) -> Result<Option<Step>> {
        self.store.step(id)
    }
    fn block(&mut self, id: BlockId) -> Result<Option<Block>> {
        self.store.block(id)
    }
    fn unsettled(&mut self, block: BlockId, after: Option<(u32, StepId)>, limit: usize) -> Result<Vec<Step>> {
        self.store.unsettled(block, after, limit)
    }
    fn lap(&mut self, phase: usize) {
        self.laps[phase] += self.watch.lap();
    }
}

impl Node {
    pub fn new(
        mut store: Box<dyn Store>,
        config: Config,
        inbox: Sender<Request>,
        healthy: Arc<AtomicBool>,
    ) -> std::result::Result<Node, EngineError> {
        let ids = Ids::default();
        let now = store.now();
        let row = NodeRow {
            id: ids.node(now),
            host: config.host.to_string(),
            pid: std::process::id(),
            url: config.url.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            machine: machine(),
            started_at: now,
            seen_at: now,
            ended_at: None,
        };
        let lease = store.lease(&row, &config.owned, &config.groups)?;
        let mut node = Node {
            store,
            ids,
            row,
            lease,
            board: Board::default(),
            sessions: Sessions::default(),
            timers: Timers::default(),
            sources: Sources::default(),
            book: ClaimBook::default(),
            ticks: Ticks::default(),
            breaker: Breaker::default(),
            group_breakers: BTreeMap::new(),
            next_root: 0,
            turn_number: 0,
            durable: 0,
            renewed_at: now,
            watched_at: now,
            last_end: config.owned.iter().map(|g| (g.clone(), now)).collect(),
            alerted: Default::default(),
            outstanding: VecDeque::new(),
            hanging: Vec::new(),
            inbox,
            healthy,
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

    pub fn is_full(&self, ahead: usize) -> bool {
        self.outstanding.len() >= ahead
    }
    pub fn is_down(&self) -> bool {
        self.down
    }
    pub fn is_by_hand(&self) -> bool {
        self.config.by_hand
    }
    pub fn with_store(&mut self, work: StoreWork) {
        work(&mut *self.store);
    }
    pub fn heard(&mut self, session: SessionId) {
        let now = self.store.now();
        self.sessions.heard(session, now);
    }
    pub fn close(&mut self) {
        self.closing = true;
    }
    pub fn release(&mut self) -> Result<()> {
        self.store.release(&self.lease)
    }

    /// How long nothing needs to be done, if nothing arrives.
    pub fn until_next(&self) -> Duration {
        let now = self.store.now();
        if self.unfinished || self.again && !self.is_full(1) {
            return Duration::ZERO;
        }
        // A due step waits for a free place; the report that frees one brings the turn that looks at it.
        let can_run = self.sessions.free() > 0 && self.board.windows.len() < limits::WINDOW_STEPS_MAX;
        let at = [
            Some(self.renewed_at + limits::RENEW_EVERY),
            self.timers.next_at().filter(|_| can_run),
            self.book.next_at(),
            self.ticks.next_at(),
            self.sessions.next_lapse(),
            self.breaker.until.filter(|_| self.breaker.off),
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
        match self.decide(&mut turn, &mut requests, &how, now) {
            Ok(settled) => {
                if let Some(reply) = reply {
                    let report = self.report_of(&settled, &turn);
                    turn.acts.reply(reply, report);
                }
                self.commit(turn, now);
            }
            Err(problem) => {
                warn!(%problem, "a turn could not be decided; looking again");
                turn.acts.act(&Err(problem.clone()));
                self.fail(&problem);
                if let Some(reply) = reply {
                    let _ = reply.send(Err(problem.into()));
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
        while let Some(request) = requests.pop_front() {
            self.intake(turn, request, now)?;
        }
        self.take_back_lapsed(turn, now)?;
        let mut settled = Settled::default();
        let mut laps = [Duration::ZERO; PIPELINE.len()];
        if how.dispatch == Dispatch::Yes || how.mode == Mode::FixedPoint {
            let mut eyes = Eyes { store: &mut *self.store, watch: Stopwatch::start(), laps };
            settled = settle(&mut self.board, &mut eyes, how.mode)?;
            laps = eyes.laps;
        } else {
            leave(&mut self.board, &mut *self.store, BTreeSet::new())?;
        }
        self.tell_refused(turn, &settled);
        let mut picking = Stopwatch::start();
        let mut capped = Vec::new();
        // Until a cascade is through, what it is about to end must not start.
        let settled_all = settled.stopped_at.is_none() && !settled.unfinished;
        if how.dispatch == Dispatch::Yes && settled_all && !turn.hold {
            self.bring_in(now)?;
            capped = self.hand_out(turn, how, now);
        }
        let pick = picking.lap();
        self.keep_house(turn, now)?;
        self.unfinished = settled.unfinished;
        self.again |= self.board.is_touched() || turn.hold;
        self.record_tick(&laps, pick, watch.elapsed(), &capped, now);
        Ok(settled)
    }

    fn record_tick(
        &mut self,
        laps: &[Duration; 8],
        pick: Duration,
        total: Duration,
        capped: &[DispatchGroup],
        now: Timestamp,
    ) {
        let (breaker, groups) = (&self.breaker, &self.group_breakers);
        let off = |g: &DispatchGroup| breaker.is_off(now) || groups.get(g).is_some_and(|b| b.is_off(now));
        let max_per_tick = self.config.max_per_tick;
        let figures = TurnFigures { now, laps, pick, total, capped, max_per_tick, off: &off };
        self.ticks.record(self.board.moves(), &figures);
        for moved in self.board.moves().iter().filter(|m| m.to.is_terminal()) {
            if let Some(at) = self.last_end.get_mut(&moved.dispatch_group) {
                *at = now;
            }
        }
    }

    /// Due steps and ready rows come in, as far as someone wants them.
    fn bring_in(&mut self, now: Timestamp) -> Result<()> {
        for opened in self.board.take_opened() {
            self.sources.open(opened, 0);
        }
        if self.sessions.free() == 0 {
            return Ok(());
        }
        self.timers.read_ahead(&mut *self.store, now)?;
        while self.board.windows.len() < limits::WINDOW_STEPS_MAX {
            let Some((at, id)) = self.timers.pop_due(now) else { break };
            if self.board.step(id).is_none()
                && let Some(step) = self.store.step(id)?
                && step.wake_at == Some(at)
            {
                if let Some(place) = step.place {
                    load_summary(&mut self.board, &mut *self.store, place.block)?;
                }
                if self.board.windows.is_wanted(&step.queue, &step.action) {
                    self.board.load_step(step);
                }
            }
            self.board.refresh_window(id);
        }
        let groups: Vec<DispatchGroup> = self.lease.groups.iter().map(|(g, _)| g.clone()).collect();
        let at = Commits { durable: self.durable };
        self.again |= self.sources.refill(&mut self.board, &mut *self.store, &groups, at)?;
        Ok(())
    }

    fn hand_out(&mut self, turn: &mut Turn, how: &How, now: Timestamp) -> Vec<DispatchGroup> {
        if self.board.windows.is_empty() || self.breaker.is_off(now) {
            return Vec::new();
        }
        let gates: Vec<Gate> = self
            .lease
            .groups
            .iter()
            .filter(|(g, _)| how.only.as_ref().is_none_or(|only| only == g))
            .map(|(g, _)| Gate {
                dispatch_group: g.clone(),
                off: self.group_breakers.get(g).is_some_and(|b| b.is_off(now)),
                max_per_tick: self.config.max_per_tick,
            })
            .collect();
        let picked = pick(&self.board.windows, &gates, &self.sessions.open(), self.turn_number, usize::MAX);
        let mut work: BTreeMap<SessionId, Vec<Claim>> = BTreeMap::new();
        for one in &picked.picks {
            let Some(step) = self.board.step(one.step) else { continue };
            let tick = self.ticks.current(&step.dispatch_group.clone(), now);
            let host =
                self.sessions.get(one.session).map(|l| l.session.offer.host.clone()).unwrap_or_default();
            if let Err(refused) = self.board.claim(one.step, one.session, host, tick) {
                error!(step = %one.step, %refused, "a ready step refused its claim");
                continue;
            }
            let step = self.board.step(one.step).expect("it was just claimed");
            work.entry(one.session).or_default().push(claim_of(step));
        }
        turn.dispatched = picked.picks.len();
        self.again |= picked.picks.len() == limits::PICKS_PER_TURN_MAX || !picked.capped.is_empty();
        for (session, claims) in work {
            let Some(live) = self.sessions.get_mut(session) else { continue };
            live.handed += 1;
            let (number, hand) = (live.handed, live.hand.clone());
            for claim in &claims {
                self.sessions.gave(session, claim.step, claim.attempt, number);
            }
            turn.acts.hand(hand, Handed { number, claims });
        }
        picked.capped
    }

    fn commit(&mut self, turn: Turn, now: Timestamp) {
        let (batch, acts, steps) = self.compose(turn, now);
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
        let inbox = self.inbox.clone();
        self.store.commit(
            batch,
            Box::new(move |outcome| {
                acts.act(&outcome);
                let _ = inbox.send(Request::Committed { turn: number, outcome });
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
            self.board.committed(&steps, &blocks);
        }
        self.board.trim(limits::CACHED_STEPS_MAX, limits::CACHED_BLOCKS_MAX);
        // What this commit left on disk can be seen now.
        self.again |= self.sessions.free() > 0 && self.sources.is_waiting(&self.board);
    }

    /// What was decided cannot be trusted any more: drop it all and look again.
    fn fail(&mut self, problem: &StoreError) {
        self.down = true;
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
        self.enter_sessions = true;
        Ok(())
    }

    /// Answer without acting: the store is not there.
    pub fn refuse(&self, request: Request) {
        let problem = StoreError::Down("the last write failed; trying again".into());
        super::intake::refuse(request, &problem);
    }

    fn tell_refused(&mut self, turn: &mut Turn, settled: &Settled) {
        for (step, refused) in &settled.refused {
            error!(%step, %refused, "a rule asked for a move that does not exist");
            turn.alerts.push(Alert {
                entity: "step",
                entity_id: step.to_string(),
                reason: "illegal_move".into(),
                severity: "critical",
                message: refused.to_string(),
                open: true,
            });
        }
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

pub fn claim_of(step: &Step) -> Claim {
    Claim {
        step: step.id,
        attempt: step.attempt,
        action: step.action.clone(),
        queue: step.queue.clone(),
        arguments: step.arguments.clone(),
        failed_attempts: step.failed_attempts,
        max_attempts: step.max_attempts,
    }
}
