//! Starts a router, and what can be asked of one that runs.

use crate::board::breaker_name;
use crate::config::{PoolConfig, PoolStatus, RouterConfig};
use crate::http::{HttpMediator, NoClient};
use crate::mediator::Mediator;
use crate::shared::Shared;
use crate::status::RouterStatus;
use crate::{consume, dispatch, keep};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use transport::Transport;

/// Starts to receive and to call.
pub struct Router;

/// A router at work. If it is dropped without `stop` everything ends at once, and the queue delivers again what was held.
pub struct Running {
    shared: Arc<Shared>,
    stop: watch::Sender<Option<Duration>>,
    tasks: Mutex<JoinSet<Option<Stopped>>>,
}

/// How a router ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stopped {
    /// Messages that were held and not finished.
    pub given_back: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no pool `{0}`")]
pub struct UnknownPool(pub String);

impl Router {
    /// The transport is the router's own: `stop` closes it.
    pub fn start(config: RouterConfig, transport: Arc<dyn Transport>) -> Result<Running, NoClient> {
        let mediator = Arc::new(HttpMediator::new(&config)?);
        Ok(Router::start_with(config, transport, mediator))
    }

    /// With another way to call targets than HTTP.
    pub fn start_with(
        config: RouterConfig,
        transport: Arc<dyn Transport>,
        mediator: Arc<dyn Mediator>,
    ) -> Running {
        let shared = Arc::new(Shared::new(config, transport, mediator));
        let (stop, stopped) = watch::channel(None);
        let mut tasks = JoinSet::new();
        let consuming = consume::run(shared.clone(), stopped.clone());
        tasks.spawn(async move {
            consuming.await;
            None
        });
        let keeping = keep::run(shared.clone());
        tasks.spawn(async move {
            keeping.await;
            None
        });
        let dispatching = dispatch::run(shared.clone(), stopped);
        tasks.spawn(async move { Some(dispatching.await) });
        Running { shared, stop, tasks: Mutex::new(tasks) }
    }
}

impl Running {
    pub fn status(&self) -> RouterStatus {
        let name = self.shared.transport.capabilities().name;
        self.shared.board().view(name, self.shared.now())
    }

    /// All pools there are from now on; what is called goes on.
    pub fn set_pools(&self, pools: &[PoolConfig]) {
        let now = self.shared.now();
        self.shared.board().set_pools(pools, now);
        self.look_again();
    }

    /// Its messages are deferred without a call.
    pub fn suspend(&self, pool: &str) -> Result<(), UnknownPool> {
        self.set_pool_status(pool, PoolStatus::Suspended)
    }

    pub fn activate(&self, pool: &str) -> Result<(), UnknownPool> {
        self.set_pool_status(pool, PoolStatus::Active)
    }

    /// Whether the target, as `status` names it or as pointers do, had a breaker.
    pub fn reset_breaker(&self, target: &str) -> bool {
        let found = self.shared.board().breakers.reset(&breaker_name(target));
        self.look_again();
        found
    }

    pub fn reset_breakers(&self) {
        self.shared.board().breakers.reset_all();
        self.look_again();
    }

    /// Receive nothing more, let calls end within the grace, give everything else back and close the transport. Asked a second
    /// time, it has nothing to give back.
    pub async fn stop(&self, grace: Duration) -> Stopped {
        let mut tasks = self.tasks.lock().await;
        self.stop.send_replace(Some(grace));
        let mut ended = Stopped::default();
        while let Some(task) = tasks.join_next().await {
            if let Ok(Some(stopped)) = task {
                ended = stopped;
                break;
            }
        }
        tasks.shutdown().await;
        ended
    }

    fn set_pool_status(&self, pool: &str, status: PoolStatus) -> Result<(), UnknownPool> {
        let found = self.shared.board().set_pool_status(pool, status);
        self.look_again();
        if found { Ok(()) } else { Err(UnknownPool(pool.into())) }
    }

    fn look_again(&self) {
        self.shared.work.notify_one();
        self.shared.room.notify_one();
    }
}
