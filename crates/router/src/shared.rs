//! What the tasks of a router share: the board, the two ends it stands between, and the time since the start.

use crate::board::Board;
use crate::config::RouterConfig;
use crate::mediator::Mediator;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use transport::Transport;

pub struct Shared {
    pub config: RouterConfig,
    pub transport: Arc<dyn Transport>,
    pub mediator: Arc<dyn Mediator>,
    board: Mutex<Board>,
    started_at: Instant,
    /// There may be something to call.
    pub work: Notify,
    /// There may be room for more messages.
    pub room: Notify,
}

impl Shared {
    pub fn new(config: RouterConfig, transport: Arc<dyn Transport>, mediator: Arc<dyn Mediator>) -> Shared {
        let board = Mutex::new(Board::new(&config.default_pool, &config.pools));
        Shared {
            config,
            transport,
            mediator,
            board,
            started_at: Instant::now(),
            work: Notify::new(),
            room: Notify::new(),
        }
    }

    /// Never held across a wait.
    pub fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn now(&self) -> Duration {
        self.started_at.elapsed()
    }

    pub fn instant(&self, moment: Duration) -> Instant {
        self.started_at + moment
    }
}
