//! A connection that is made again when it was lost, and not too often when it cannot be made.

use super::address::Address;
use super::link::Link;
use crate::TransportError;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Between two tries, doubled each time.
const TRY_AGAIN: Duration = Duration::from_millis(100);
const TRY_AGAIN_MAX: Duration = Duration::from_secs(5);
/// A connection that ends sooner counts as one that could not be made.
const STEADY: Duration = Duration::from_secs(5);

pub struct Line {
    address: Arc<Address>,
    /// What it is for, in the log.
    purpose: &'static str,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    link: Option<(Arc<Link>, Instant)>,
    closed: bool,
    failures: u32,
    /// No try before this, and what the last one came to.
    resting: Option<(Instant, TransportError)>,
    /// Given by the broker to the last connection, and to no other.
    session: String,
}

impl Line {
    pub fn new(address: Arc<Address>, purpose: &'static str) -> Line {
        Line { address, purpose, state: Mutex::default() }
    }

    /// The connection, made if there is none. While it rests after a failure, that failure.
    pub async fn link(&self) -> Result<Arc<Link>, TransportError> {
        let mut state = self.state.lock().await;
        if state.closed {
            return Err(closed());
        }
        self.notice_death(&mut state);
        if let Some((link, _)) = &state.link {
            return Ok(link.clone());
        }
        match &state.resting {
            Some((until, why)) if Instant::now() < *until => return Err(why.clone()),
            _ => {}
        }
        match Link::open(&self.address).await {
            Ok(link) => {
                let link = Arc::new(link);
                state.session.clone_from(&link.session);
                state.resting = None;
                state.link = Some((link.clone(), Instant::now()));
                tracing::debug!(target: "transport", broker = %self.address, "connected to {} for {}", self.address, self.purpose);
                Ok(link)
            }
            Err(why) => {
                if state.failures == 0 {
                    tracing::warn!(target: "transport", broker = %self.address, %why, "no connection for {}: {why}", self.purpose);
                }
                state.rest(why.clone());
                Err(why)
            }
        }
    }

    /// The same, but a line that rests is waited for until then.
    pub async fn link_by(&self, deadline: Instant) -> Result<Arc<Link>, TransportError> {
        let rests_until = self.state.lock().await.resting.as_ref().map(|(until, _)| *until);
        if let Some(until) = rests_until {
            tokio::time::sleep_until(until.min(deadline)).await;
        }
        self.link().await
    }

    /// The connection that is there, dead or alive; none is made.
    pub async fn present(&self) -> Option<Arc<Link>> {
        self.state.lock().await.link.as_ref().map(|(link, _)| link.clone())
    }

    /// For good. Gives the connection to whoever wants to end it politely.
    pub async fn close(&self) -> Option<Arc<Link>> {
        let mut state = self.state.lock().await;
        state.closed = true;
        state.link.take().map(|(link, _)| link)
    }

    fn notice_death(&self, state: &mut State) {
        let Some((link, opened_at)) = &state.link else { return };
        let Some(why) = link.end() else { return };
        tracing::warn!(target: "transport", broker = %self.address, why, "the connection for {} was lost: {why}", self.purpose);
        let lived = opened_at.elapsed();
        state.link = None;
        if lived < STEADY {
            state.rest(TransportError::Unavailable(why));
        } else {
            state.failures = 0;
        }
    }
}

impl State {
    fn rest(&mut self, why: TransportError) {
        self.failures = self.failures.saturating_add(1);
        let rest = pause(self.failures, &self.session);
        self.resting = Some((Instant::now() + rest, why));
    }
}

pub fn closed() -> TransportError {
    TransportError::Unavailable("the transport is closed".into())
}

/// Longer each time; the last half of it differs from process to process, so that they do not all come back at once.
fn pause(failures: u32, session: &str) -> Duration {
    let whole = TRY_AGAIN.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(TRY_AGAIN_MAX);
    let mut dice = DefaultHasher::new();
    (session, std::process::id(), failures).hash(&mut dice);
    whole.mul_f64(0.5 + (dice.finish() % 1000) as f64 / 2000.0)
}

#[cfg(test)]
mod tests {
    use super::{TRY_AGAIN, TRY_AGAIN_MAX, pause};

    #[test]
    fn pauses_grow_to_a_limit_and_differ_by_process() {
        let pauses: Vec<_> = (1..40).map(|failures| pause(failures, "a")).collect();
        assert!(pauses[0] <= TRY_AGAIN && pauses[0] >= TRY_AGAIN / 2);
        assert!(pauses.iter().all(|pause| *pause <= TRY_AGAIN_MAX));
        assert!(pauses[10..].iter().all(|pause| *pause >= TRY_AGAIN_MAX / 2));
        assert_ne!(pause(9, "a"), pause(9, "b"));
    }
}
