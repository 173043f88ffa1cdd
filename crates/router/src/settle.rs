//! Tells the broker how deliveries ended.
//!
//! Why    a deferral that does not get through happens anyway when the message's time runs out, so it is told once. An
//!        acknowledgement that does not get through costs another call, so it is tried again, and remembered.

use crate::board::{Batch, Ending, Settlement};
use crate::delays::clamp;
use crate::limits::{SETTLE_PAUSE, SETTLE_TIMEOUT, SETTLE_TRIES};
use crate::shared::Shared;
use crate::warnings::{Category, Severity};
use std::collections::VecDeque;
use tokio::time::{sleep, timeout};
use transport::{Receipt, TransportError};

/// One after another, with whatever follows from it.
pub async fn settle_all(shared: &Shared, batch: Batch) {
    let mut waiting = VecDeque::from(batch);
    while let Some(settlement) = waiting.pop_front() {
        settle(shared, &settlement).await;
        let following = shared.board().left(&settlement.key, shared.now());
        waiting.extend(following);
        shared.work.notify_one();
        shared.room.notify_one();
    }
}

/// Every delivery of one message.
async fn settle(shared: &Shared, settlement: &Settlement) {
    let Settlement { key, receipts, ending } = settlement;
    let mut is_confirmed = false;
    for receipt in receipts {
        is_confirmed |= tell(shared, receipt, *ending).await.is_ok();
    }
    if !is_confirmed && *ending == Ending::Ack {
        shared.board().note_unconfirmed(key);
    }
}

/// One delivery. Gone is no fault: it is somebody else's, or will come again.
pub async fn tell(shared: &Shared, receipt: &Receipt, ending: Ending) -> Result<(), TransportError> {
    let mut tries = 1;
    loop {
        let told = timeout(SETTLE_TIMEOUT, tell_once(shared, receipt, ending)).await;
        let told = told.unwrap_or_else(|_| Err(TransportError::Unavailable("no answer in time".into())));
        match &told {
            Err(TransportError::Unavailable(_)) if ending == Ending::Ack && tries < SETTLE_TRIES => {
                tries += 1;
                sleep(SETTLE_PAUSE).await;
            }
            Ok(()) | Err(TransportError::Gone) => return told,
            Err(problem) => {
                let text = format!("the end of a delivery could not be told: {problem}");
                let (name, now) = (shared.transport.capabilities().name, shared.now());
                shared.board().warnings.add(Category::QueueHealth, Severity::Warning, name, &text, now);
                return told;
            }
        }
    }
}

async fn tell_once(shared: &Shared, receipt: &Receipt, ending: Ending) -> Result<(), TransportError> {
    match ending {
        Ending::Ack => shared.transport.ack(receipt).await,
        Ending::Defer(delay) => shared.transport.defer(receipt, clamp(delay)).await,
    }
}
