//! Carries out each turn of the board: calls targets, gives messages back, and comes to an end when it is told to.

use crate::answer::is_fleeting;
use crate::board::{Batch, Call};
use crate::delays::between_calls;
use crate::limits::CLOSE_TIMEOUT;
use crate::mediator::Outcome;
use crate::running::Stopped;
use crate::settle::settle_all;
use crate::shared::Shared;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use transport::MessagePointer;

/// Without anything to wait for, the board is looked at so often.
const IDLE: Duration = Duration::from_secs(10);

pub async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<Option<Duration>>) -> Stopped {
    // Whatever runs ends with this task, however it ends.
    let mut tasks = JoinSet::new();
    loop {
        let now = shared.now();
        let turn = shared.board().turn(now);
        for call in turn.calls {
            tasks.spawn(carry_out(shared.clone(), call));
        }
        give_back(&shared, turn.given_back, &mut tasks);
        let wake_at = shared.instant(turn.wake_at.unwrap_or(now + IDLE));
        tokio::select! {
            _ = stop.changed() => break,
            () = shared.work.notified() => {}
            () = sleep_until(wake_at) => {}
            Some(_) = tasks.join_next() => {}
        }
    }
    let grace = stop.borrow().unwrap_or_default();
    end(&shared, tasks, Instant::now() + grace).await
}

async fn carry_out(shared: Arc<Shared>, call: Call) {
    let outcome = mediate(&shared, &call.pointer).await;
    let concluded = shared.board().conclude(&call.key, &outcome, shared.now());
    if let Some(settlement) = concluded {
        settle_all(&shared, vec![settlement]).await;
    }
}

/// One delivery: a target that stumbles is called again, a few times and soon.
async fn mediate(shared: &Shared, pointer: &MessagePointer) -> Outcome {
    let mut calls_made = 0;
    loop {
        calls_made += 1;
        let call = AssertUnwindSafe(shared.mediator.call(pointer)).catch_unwind();
        let outcome = match timeout(shared.config.mediation_timeout, call).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Outcome::Unreachable("the call panicked".into()),
            Err(_) => Outcome::TimedOut,
        };
        match between_calls(calls_made) {
            Some(pause) if is_fleeting(&outcome) => sleep(pause).await,
            _ => return outcome,
        }
    }
}

/// What is called may end until the deadline; everything else goes back.
async fn end(shared: &Arc<Shared>, mut tasks: JoinSet<()>, deadline: Instant) -> Stopped {
    let waiting = shared.board().close(shared.now());
    let mut given_back = waiting.iter().map(Vec::len).sum();
    give_back(shared, waiting, &mut tasks);
    // Whoever is not through by then is given back below.
    let _ = timeout_at(deadline, async { while tasks.join_next().await.is_some() {} }).await;
    tasks.shutdown().await;
    let abandoned = shared.board().abandon();
    given_back += abandoned.len();
    give_back(shared, abandoned.into_iter().map(|settlement| vec![settlement]).collect(), &mut tasks);
    // A broker that cannot be told finds out when the messages' time runs out.
    let _ = timeout(CLOSE_TIMEOUT, async { while tasks.join_next().await.is_some() {} }).await;
    let _ = timeout(CLOSE_TIMEOUT, shared.transport.close()).await;
    Stopped { given_back }
}

fn give_back(shared: &Arc<Shared>, batches: Vec<Batch>, tasks: &mut JoinSet<()>) {
    for batch in batches {
        let shared = shared.clone();
        tasks.spawn(async move { settle_all(&shared, batch).await });
    }
}
