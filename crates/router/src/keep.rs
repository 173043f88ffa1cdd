//! Keeps what is held hidden from others, for as long as it waits or is called.

use crate::limits::{KEEP_AT_ONCE, KEEP_INTERVAL_MAX, KEEP_SPAN, SETTLE_TIMEOUT};
use crate::shared::Shared;
use futures_util::{StreamExt, stream};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval, timeout};
use transport::TransportError;

pub async fn run(shared: Arc<Shared>) {
    let visibility = shared.transport.capabilities().visibility;
    let span = visibility.unwrap_or(KEEP_SPAN);
    let mut ticks = interval(every(visibility));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        extend_all(&shared, span).await;
    }
}

/// Half the time that is left to a message, so that one failure is survived.
fn every(visibility: Option<Duration>) -> Duration {
    let half = visibility.map_or(KEEP_INTERVAL_MAX, |visibility| visibility / 2);
    half.clamp(Duration::from_millis(100), KEEP_INTERVAL_MAX)
}

async fn extend_all(shared: &Shared, span: Duration) {
    let holding = shared.board().holding();
    let extended = stream::iter(holding).for_each_concurrent(KEEP_AT_ONCE, |(key, receipt)| async move {
        // A message that was deferred meanwhile would be hidden for longer than it should be.
        if !shared.board().keeps(&key) {
            return;
        }
        let told = timeout(SETTLE_TIMEOUT, shared.transport.extend(&receipt, span)).await;
        if told == Ok(Err(TransportError::Gone)) {
            shared.board().receipt_gone(&key, &receipt);
        }
    });
    extended.await;
}

#[cfg(test)]
mod tests {
    use super::every;
    use std::time::Duration;

    #[test]
    fn half_of_the_visibility_but_no_later_than_the_longest() {
        let seconds = |visibility: Option<u64>| every(visibility.map(Duration::from_secs)).as_secs_f64();
        assert_eq!([Some(60), Some(4), Some(600), Some(0), None].map(seconds), [30.0, 2.0, 55.0, 0.1, 55.0]);
    }
}
