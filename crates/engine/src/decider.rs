//! The thread that decides: it waits for something to happen, and takes all of it into one turn.

use crate::pace::Pace;
use crate::request::{Dispatch, Request};
use crate::turn::{How, Node, Signs};
use crate::{Config, EngineError, Stopwatch};
use model::limits;
use rules::settle::Mode;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;
use store::{Store, StoreError};

/// Wait after a failed commit before looking again, doubled for each further failure.
const AFTER_FAILURE: Duration = Duration::from_millis(250);
const AFTER_FAILURE_MAX: Duration = Duration::from_secs(5);
/// After a turn that the database refused for what it would write, requests go one to a turn for so long: whoever asks for
/// it again is told, and nobody else fails with it.
const APART: Duration = Duration::from_secs(5);

pub struct Decider {
    node: Node,
    waiting: VecDeque<Request>,
    pace: Pace,
    /// When the store failed, how long to leave it alone.
    failed: Option<(Stopwatch, Duration)>,
    /// When the database last refused what a turn would write.
    unfit: Option<Stopwatch>,
}

impl Decider {
    pub fn new(
        store: Box<dyn Store>,
        config: Config,
        inbox: Sender<Request>,
        signs: Signs,
    ) -> Result<Decider, EngineError> {
        let pace = Pace::new(store.company());
        Ok(Decider {
            node: Node::new(store, config, inbox, signs)?,
            waiting: VecDeque::new(),
            pace,
            failed: None,
            unfit: None,
        })
    }

    pub fn run(&mut self, requests: Receiver<Request>) {
        loop {
            match requests.recv_timeout(self.until_turn()) {
                Ok(Request::Halt) => return,
                Ok(request) => self.take(request),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while self.waiting.len() < limits::REQUESTS_PER_TURN_MAX {
                match requests.try_recv() {
                    Ok(Request::Halt) => return,
                    Ok(request) => self.take(request),
                    Err(_) => break,
                }
            }
            if self.node.is_down() {
                self.pace.forget();
                if self.wait_for_store(&requests) {
                    return;
                }
                continue;
            }
            if self.is_early() || self.by_hand() {
                continue;
            }
            if let Some(stop) = self.waiting.iter().position(|r| matches!(r, Request::Stop { .. })) {
                let Some(Request::Stop { reply }) = self.waiting.remove(stop) else {
                    unreachable!("it was just found")
                };
                self.stop(&requests, reply);
                return;
            }
            let requests = self.next_turn();
            if !requests.is_empty() || self.node.is_due() {
                let (number, before) = (requests.len(), self.node.on_the_way());
                let left = self.node.turn(requests, How::default());
                if self.node.on_the_way() > before {
                    self.pace.sent(number - left.len());
                }
                left.into_iter().rev().for_each(|request| self.waiting.push_front(request));
            }
        }
    }

    /// How long to wait for something to happen.
    fn until_turn(&self) -> Duration {
        match self.waiting.is_empty() {
            _ if self.node.is_down() => Duration::ZERO,
            // Nothing can be done before a commit, and that wakes it.
            _ if self.is_full() => Duration::from_secs(1),
            false => self.pace.patience(self.weight()),
            true if self.node.is_by_hand() => Duration::from_secs(1),
            true => self.node.until_next(),
        }
    }

    fn is_full(&self) -> bool {
        self.node.is_full(Pace::ahead(self.weight(), self.node.is_due()))
    }

    /// Whether a turn is better decided a little later.
    fn is_early(&self) -> bool {
        self.is_full() || !self.waiting.is_empty() && !self.pace.patience(self.weight()).is_zero()
    }

    /// How many steps those who wait bring.
    fn weight(&self) -> usize {
        self.waiting.iter().take(limits::STEPS_PER_TURN).map(Request::weight).sum()
    }

    /// As many requests as one turn should take. The rest is decided while this turn syncs, so that neither waits for
    /// the other.
    fn next_turn(&mut self) -> VecDeque<Request> {
        let mut weight = 0;
        let mut n = 0;
        let apart = self.unfit.is_some_and(|since| since.elapsed() < APART);
        let most = if apart { 1 } else { limits::STEPS_PER_TURN };
        while let Some(request) = self.waiting.get(n)
            && weight < most
        {
            weight += request.weight();
            n += 1;
        }
        let rest = self.waiting.split_off(n);
        std::mem::replace(&mut self.waiting, rest)
    }

    /// Commits are noted at once; everything else waits for the next turn.
    fn take(&mut self, request: Request) {
        match request {
            Request::Committed { turn, outcome } => {
                match &outcome {
                    Ok(()) => self.failed = None,
                    Err(StoreError::Unfit(_)) => self.unfit = Some(Stopwatch::start()),
                    Err(_) => {}
                }
                self.pace.committed(self.waiting.len());
                self.node.committed(turn, outcome);
            }
            Request::Wake(wake) => self.node.woken(&wake),
            Request::Store(work) => self.node.with_store(work),
            Request::Heartbeat { session, .. } => {
                self.node.heard(session);
                self.waiting.push_back(request);
            }
            other => {
                self.pace.came();
                self.waiting.push_back(other);
            }
        }
    }

    /// Turns by hand: one for each request that asks for a turn, with all that came before it.
    fn by_hand(&mut self) -> bool {
        if !self.node.is_by_hand() {
            return false;
        }
        if let Some(at) = self.waiting.iter().position(|r| matches!(r, Request::Tick { .. })) {
            let rest = self.waiting.split_off(at + 1);
            let Some(Request::Tick { mode, dispatch, only, reply }) = self.waiting.pop_back() else {
                unreachable!("it was just found")
            };
            let before = std::mem::take(&mut self.waiting);
            let how = How { mode, dispatch, only, reply: Some(reply) };
            self.waiting = self.node.turn(before, how);
            self.waiting.extend(rest);
            return true;
        }
        let stopping = self.waiting.iter().any(|r| matches!(r, Request::Stop { .. }));
        if !stopping && !self.waiting.is_empty() {
            // Requests are stored as they come; only moves and dispatch wait for a turn that is asked for.
            let how = How { mode: Mode::EarlyReturn, dispatch: Dispatch::RecordOnly, ..How::default() };
            let requests = std::mem::take(&mut self.waiting);
            self.waiting = self.node.turn(requests, how);
        }
        !stopping
    }

    /// Refuse what comes until the store answers again; true when the engine is to end instead.
    fn wait_for_store(&mut self, requests: &Receiver<Request>) -> bool {
        if self.failed.is_none() && self.unfit.is_some_and(|since| since.elapsed() < AFTER_FAILURE) {
            // The store is well. Only what was decided is gone; whoever waits need not wait for more than that.
            if !self.node.is_full(1) {
                self.failed = Some((Stopwatch::start(), AFTER_FAILURE));
                self.node.look_again();
            } else if let Ok(request) = requests.recv_timeout(AFTER_FAILURE) {
                self.take(request);
            }
            return false;
        }
        for request in std::mem::take(&mut self.waiting) {
            match request {
                Request::Stop { reply } => {
                    // Nothing can be given back; the next engine takes it back.
                    reply.send(Ok(()));
                    return true;
                }
                other => self.node.refuse(other),
            }
        }
        let (since, pause) = *self.failed.get_or_insert_with(|| (Stopwatch::start(), AFTER_FAILURE));
        let left = pause.saturating_sub(since.elapsed());
        if !left.is_zero() {
            match requests.recv_timeout(left) {
                Ok(Request::Halt) => return true,
                Ok(request) => self.take(request),
                Err(_) => {}
            }
            return false;
        }
        self.failed = Some((Stopwatch::start(), (pause * 2).min(AFTER_FAILURE_MAX)));
        self.node.look_again();
        false
    }

    fn stop(&mut self, requests: &Receiver<Request>, reply: crate::request::Reply<()>) {
        let last = std::mem::take(&mut self.waiting);
        self.node.close();
        let mode = if self.node.is_by_hand() { Mode::EarlyReturn } else { Mode::FixedPoint };
        self.node.turn(last, How { mode, dispatch: Dispatch::RecordOnly, ..How::default() });
        while self.node.is_full(1) {
            match requests.recv_timeout(Duration::from_secs(10)) {
                Ok(Request::Committed { turn, outcome }) => self.node.committed(turn, outcome),
                Ok(other) => self.node.refuse(other),
                Err(_) => break,
            }
        }
        reply.send(self.node.release().map_err(EngineError::from));
    }
}
