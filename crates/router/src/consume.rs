//! Polls the queue for as many messages as there is room for.
//!
//! Why    the pulse that operators see beats only when a poll succeeded: a consumer that fails in circles must not look alive. A
//!        poll that does not end is begun anew, and no way through the loop is free of a wait.

use crate::board::Admission;
use crate::delays::{Polled, after_poll};
use crate::limits::{FULL_REST, POLL_RESTARTS_MAX, POLL_STALL};
use crate::settle::tell;
use crate::shared::Shared;
use crate::warnings::{Category, Severity};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use transport::{Received, TransportError};

pub async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<Option<Duration>>) {
    let mut trouble = Trouble::default();
    loop {
        let max = shared.board().room().min(shared.transport.capabilities().receive_batch_max);
        if max == 0 {
            tokio::select! {
                _ = stop.changed() => return,
                () = shared.room.notified() => {}
                () = sleep(FULL_REST) => {}
            }
            continue;
        }
        let asked_at = Instant::now();
        let polled = tokio::select! {
            // First: a transport that was closed because all this ends has nothing to tell.
            biased;
            _ = stop.changed() => return,
            polled = timeout(POLL_STALL, shared.transport.receive(max, shared.config.poll_wait)) => polled,
        };
        let polled = match polled {
            Ok(Ok(received)) => {
                trouble = Trouble::default();
                take_in(&shared, received, max, asked_at.elapsed()).await
            }
            Ok(Err(problem)) => trouble.failed(&shared, &problem),
            Err(_) => trouble.stalled(&shared),
        };
        tokio::select! {
            _ = stop.changed() => return,
            () = sleep(after_poll(polled, &shared.config.name)) => {}
        }
    }
}

async fn take_in(shared: &Shared, received: Vec<Received>, max: usize, after: Duration) -> Polled {
    let (n, now) = (received.len(), shared.now());
    let admissions: Vec<Admission> = {
        let mut board = shared.board();
        board.consumer.polled_at = Some(now);
        board.consumer.status.polls += 1;
        board.consumer.status.failures_in_a_row = 0;
        received.into_iter().map(|one| board.admit(one, now)).collect()
    };
    let kept = admissions.contains(&Admission::Kept);
    if kept {
        shared.work.notify_one();
    }
    for admission in admissions {
        if let Admission::Ended(receipt, ending) = admission {
            // Whatever came of it was noted; the message is not held here.
            let _ = tell(shared, &receipt, ending).await;
        }
    }
    match n {
        0 => Polled::Empty { after },
        _ if !kept => Polled::TurnedAway,
        n if n >= max => Polled::Full,
        _ => Polled::Partial,
    }
}

/// What went wrong since the last poll that succeeded.
#[derive(Default)]
struct Trouble {
    failures: u32,
    stalls: u32,
}

impl Trouble {
    fn failed(&mut self, shared: &Shared, problem: &TransportError) -> Polled {
        self.note(shared, Severity::Warning, &format!("the queue cannot be polled: {problem}"))
    }

    fn stalled(&mut self, shared: &Shared) -> Polled {
        self.stalls += 1;
        let lasting = self.stalls >= POLL_RESTARTS_MAX;
        let severity = if lasting { Severity::Critical } else { Severity::Error };
        shared.board().consumer.status.restarts += 1;
        self.note(shared, severity, "a poll did not end and was begun anew")
    }

    fn note(&mut self, shared: &Shared, severity: Severity, text: &str) -> Polled {
        self.failures = self.failures.saturating_add(1);
        let (name, now) = (shared.transport.capabilities().name, shared.now());
        let mut board = shared.board();
        board.warnings.add(Category::ConsumerHealth, severity, name, text, now);
        board.consumer.status.failures_in_a_row = self.failures;
        board.consumer.status.last_error = Some(text.into());
        Polled::Failed(self.failures)
    }
}
