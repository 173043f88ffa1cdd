//! Runs the jobs of some queues: one desk for the queues that share their places, and one for each that has a limit of its own.
//!
//! Why    a desk is a session, and the engine gives a session no more than it has places for: a queue that is full, or whose
//!        jobs are slow, takes nothing from the others, and nobody counts twice.

use crate::desk::{Desk, Joined};
use crate::link::Link;
use crate::{Grace, Registry};
use engine::{Clock, EngineError, SystemClock};
use model::{Name, SessionOffer, limits};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const CONCURRENCY: usize = 64;
/// Where urgent steps go that name no queue.
const PRIORITY: &str = "priority";

/// Which queues a runner serves, and how much of them at once.
///
/// ```
/// use stepfast_worker::RunnerConfig;
/// // `default` and `priority`, 64 jobs at once in all.
/// let plain = RunnerConfig::default();
/// // Beside them four of `email` at once, whatever the others do.
/// let beside = plain.queue("email", 4);
/// assert_eq!((beside.queues.len(), beside.limited["email"]), (2, 4));
/// // Nothing but these two, and `priority`.
/// let only = RunnerConfig::for_queues([("email", 4), ("reports", 1)]);
/// assert_eq!((&*only.queues[0], only.concurrency), ("priority", 4));
/// ```
#[derive(Clone)]
pub struct RunnerConfig {
    pub host: Name,
    /// The queues that share `concurrency`. Without any, and without one in `limited`, all that the engine knows.
    pub queues: Vec<Name>,
    /// Jobs of `queues` that run at once; at least 1.
    pub concurrency: usize,
    /// Queues with a limit of their own: so many of its jobs run at once, at least 1.
    pub limited: BTreeMap<Name, usize>,
    /// Steps that are held beyond those that run, for each limit: the next job starts without asking for it, and waits here
    /// for its place while another worker may have one. For many short jobs.
    pub prefetch: usize,
    /// The clock that jobs see.
    pub clock: Arc<dyn Clock>,
}

impl Default for RunnerConfig {
    fn default() -> Self {
        RunnerConfig {
            host: "worker".into(),
            queues: vec!["default".into(), PRIORITY.into()],
            concurrency: CONCURRENCY,
            limited: BTreeMap::new(),
            prefetch: 0,
            clock: Arc::new(SystemClock::default()),
        }
    }
}

impl RunnerConfig {
    /// These queues, each with a limit of its own, and `priority`, which has as many places as the largest of them. That is the only one in
    /// `queues`: `concurrency` changes its places, an empty `queues` leaves it out.
    pub fn for_queues(queues: impl IntoIterator<Item = (impl Into<Name>, usize)>) -> RunnerConfig {
        let only = RunnerConfig { queues: vec![PRIORITY.into()], ..RunnerConfig::default() };
        let all = queues.into_iter().fold(only, |config, (name, places)| config.queue(name, places));
        let largest = all.limited.values().copied().max();
        RunnerConfig { concurrency: largest.unwrap_or(CONCURRENCY), ..all }
    }
    /// This queue too, with a limit of its own.
    pub fn queue(mut self, name: impl Into<Name>, concurrency: usize) -> RunnerConfig {
        let name = name.into();
        self.queues.retain(|queue| *queue != name);
        self.limited.insert(name, concurrency);
        self
    }
    /// Hold so many steps beyond those that run.
    pub fn prefetch(self, prefetch: usize) -> RunnerConfig {
        RunnerConfig { prefetch, ..self }
    }

    /// What each desk offers, and the jobs it runs at once.
    fn offers(&self, actions: &[Name]) -> Vec<(SessionOffer, usize)> {
        let offer = |queues: Vec<Name>, concurrency: usize| {
            let places = concurrency.clamp(1, limits::SESSION_CAPACITY_MAX);
            let capacity = places.saturating_add(self.prefetch).min(limits::SESSION_CAPACITY_MAX);
            let (host, actions) = (self.host.clone(), actions.to_vec());
            (SessionOffer { host, queues, actions, capacity, remote: false }, places)
        };
        let shared = self.queues.iter().filter(|queue| !self.limited.contains_key(*queue));
        let shared: Vec<Name> = shared.cloned().collect();
        let is_any = !shared.is_empty() || self.limited.is_empty();
        let shared = is_any.then(|| offer(shared, self.concurrency));
        let own = self.limited.iter().map(|(name, places)| offer(vec![name.clone()], *places));
        shared.into_iter().chain(own).collect()
    }
}

pub struct Runner {
    desks: Vec<(oneshot::Sender<Grace>, JoinHandle<()>)>,
}

impl Runner {
    /// On an engine in this process, or on a server. It serves all its queues, or none.
    pub async fn start(
        link: impl Into<Link>,
        registry: Registry,
        config: RunnerConfig,
    ) -> Result<Runner, EngineError> {
        let link = Arc::new(link.into());
        let desks = join(&link, config.offers(&registry.actions())).await?;
        let open = |joined| {
            let (stop, stopped) = oneshot::channel();
            let desk = Desk::new(link.clone(), registry.clone(), config.clock.clone(), joined);
            (stop, tokio::spawn(desk.run(stopped)))
        };
        Ok(Runner { desks: desks.into_iter().map(open).collect() })
    }

    /// Take no more work, let jobs finish for a while, and give back the rest at no cost.
    pub async fn stop(self, grace: impl Into<Grace>) {
        let grace = grace.into();
        let told = self.desks.into_iter().map(|(stop, task)| {
            let _ = stop.send(grace.clone());
            task
        });
        // Everyone is told before anyone is waited for: the grace is one for all.
        for task in told.collect::<Vec<_>>() {
            let _ = task.await;
        }
    }
}

/// A session for each offer; where one is refused, the others are given back before anything of theirs has run.
async fn join(link: &Link, offers: Vec<(SessionOffer, usize)>) -> Result<Vec<Joined>, EngineError> {
    let mut joined: Vec<Joined> = Vec::with_capacity(offers.len());
    for (offer, places) in offers {
        match link.join(offer.clone()).await {
            Ok(session) => joined.push(Joined { offer, places, session }),
            Err(problem) => {
                for desk in &joined {
                    let _ = link.end_session(desk.session.id).await;
                }
                return Err(problem);
            }
        }
    }
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each desk: its queues, its places, and what it takes in all.
    fn desks(config: RunnerConfig) -> String {
        let offers = config.offers(&[]);
        let told = offers.iter().map(|(offer, places)| {
            let queues: Vec<&str> = offer.queues.iter().map(|queue| &**queue).collect();
            format!("{} {places}/{}", queues.join("+"), offer.capacity)
        });
        told.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_queue_with_a_limit_has_a_desk_of_its_own() {
        let plain = RunnerConfig::default;
        assert_eq!(desks(plain()), "default+priority 64/64");
        assert_eq!(desks(plain().queue("email", 4).prefetch(2)), "default+priority 64/66, email 4/6");
        assert_eq!(desks(plain().queue("priority", 2).queue("default", 9)), "default 9/9, priority 2/2");
        let twice = RunnerConfig { queues: vec!["a".into(), "b".into()], ..plain().queue("a", 1) };
        assert_eq!(desks(twice), "b 64/64, a 1/1", "its own limit is the limit");
    }

    #[test]
    fn queues_alone_come_with_priority_unless_it_is_left_out() {
        let only = || RunnerConfig::for_queues([("email", 4), ("reports", 1)]);
        assert_eq!(desks(only()), "priority 4/4, email 4/4, reports 1/1");
        assert_eq!(desks(only().queue("priority", 2)), "email 4/4, priority 2/2, reports 1/1");
        assert_eq!(desks(RunnerConfig { queues: vec![], ..only() }), "email 4/4, reports 1/1");
    }

    #[test]
    fn limits_stay_within_those_of_a_session() {
        let most = limits::SESSION_CAPACITY_MAX;
        let config = RunnerConfig { queues: vec![], ..RunnerConfig::default() };
        assert_eq!(desks(config.clone().queue("a", 0)), "a 1/1");
        assert_eq!(desks(config.queue("a", usize::MAX).prefetch(usize::MAX)), format!("a {most}/{most}"));
    }
}
