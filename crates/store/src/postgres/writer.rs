//! The one task that writes. It takes batches in order and answers each when it is durable.
//!
//! Why    while one turn syncs, the next is decided. After a failed batch it refuses all that were decided on top of it, until the
//!        engine has looked again. A panic is such a failure too, and the task outlives it.

use super::link::spawn;
use super::listen::Bell;
use crate::answer::{Answer, panicked};
use crate::{Batch, Done, Result, StoreError, Wake};
use futures_util::FutureExt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use tokio::sync::mpsc;

enum Order {
    Commit {
        batch: Box<Batch>,
        generation: u64,
        answer: Answer,
    },
    Reset(u64),
    /// Answer once everything before it is done.
    Flush(std::sync::mpsc::Sender<()>),
}

/// Whoever carries out a batch.
pub trait Commit: Send + 'static {
    fn commit(&mut self, batch: &Batch) -> impl Future<Output = Result<()>> + Send;
    /// Leave what was begun; the next commit begins anew.
    fn abandon(&mut self);
    /// What is better done between two commits, once the first is answered.
    fn tidy(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

pub struct Writer {
    orders: mpsc::UnboundedSender<Order>,
    generation: u64,
    bell: Arc<OnceLock<Bell>>,
}

impl Writer {
    pub fn start(committer: impl Commit) -> Writer {
        let (orders, inbox) = mpsc::unbounded_channel();
        let bell: Arc<OnceLock<Bell>> = Arc::default();
        spawn(run(committer, inbox, bell.clone()));
        Writer { orders, generation: 0, bell }
    }
    /// From now on other nodes are woken when something for them is durable.
    pub fn wake_through(&self, bell: Bell) {
        // Only the first one counts.
        let _ = self.bell.set(bell);
    }
    pub fn hears(&self) -> bool {
        self.bell.get().is_some_and(Bell::hears)
    }
    pub fn wake(&self, wake: Vec<Wake>) {
        self.bell.get().inspect(|bell| bell.ring(wake));
    }
    pub fn commit(&self, batch: Batch, done: Done) {
        let answer = Answer::new(done);
        // What a task that is gone does not take is answered by being dropped.
        let _ =
            self.orders.send(Order::Commit { batch: Box::new(batch), generation: self.generation, answer });
    }
    /// Wait until no commit is on its way.
    pub fn flush(&self) {
        let (done, wait) = std::sync::mpsc::channel();
        if self.orders.send(Order::Flush(done)).is_ok() {
            // It ends also when the writer is gone.
            let _ = wait.recv();
        }
    }
    pub fn reset(&mut self) {
        self.generation += 1;
        // A writer that is gone answers the next commit so.
        let _ = self.orders.send(Order::Reset(self.generation));
    }
}

async fn run(
    mut committer: impl Commit,
    mut inbox: mpsc::UnboundedReceiver<Order>,
    bell: Arc<OnceLock<Bell>>,
) {
    let mut generation = 0;
    let mut failed = false;
    while let Some(order) = inbox.recv().await {
        match order {
            Order::Commit { generation: of, answer, .. } if failed || of != generation => {
                answer.give(Err(StoreError::Lost { what: "the turn before this one".into() }));
            }
            Order::Commit { mut batch, answer, .. } => {
                let outcome = AssertUnwindSafe(committer.commit(&batch)).catch_unwind().await;
                let outcome = outcome.unwrap_or_else(|panic| {
                    committer.abandon();
                    Err(panicked(&*panic))
                });
                failed = outcome.is_err();
                if let (Ok(()), Some(bell)) = (&outcome, bell.get()) {
                    bell.ring(std::mem::take(&mut batch.wake));
                }
                answer.give(outcome);
                if !failed {
                    committer.tidy().await;
                }
            }
            Order::Flush(done) => {
                let _ = done.send(());
            }
            Order::Reset(next) => {
                generation = next;
                failed = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::a_panic_is_answered;

    #[derive(Default)]
    struct PanicsOnce {
        was_abandoned: bool,
    }

    impl Commit for PanicsOnce {
        async fn commit(&mut self, _: &Batch) -> Result<()> {
            assert!(self.was_abandoned, "as asked");
            Ok(())
        }
        fn abandon(&mut self) {
            self.was_abandoned = true;
        }
    }

    #[test]
    fn a_panic_in_a_commit_is_answered_and_the_writer_goes_on() {
        let mut writer = Writer::start(PanicsOnce::default());
        a_panic_is_answered(&mut writer, Writer::commit, Writer::reset);
    }
}
