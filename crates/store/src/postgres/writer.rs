//! The one task that writes. It takes batches in order and answers each when it is durable.
//!
//! Why    while one turn syncs, the next is decided. After a failed batch it refuses all that were decided on top of it, until the
//!        engine has looked again.

use super::commit::Committer;
use super::link::spawn;
use super::listen::Bell;
use crate::{Batch, Done, StoreError, Wake};
use std::sync::{Arc, OnceLock};
use tokio::sync::mpsc;

enum Order {
    Commit {
        batch: Box<Batch>,
        generation: u64,
        done: Done,
    },
    Reset(u64),
    /// Answer once everything before it is done.
    Flush(std::sync::mpsc::Sender<()>),
}

pub struct Writer {
    orders: mpsc::UnboundedSender<Order>,
    generation: u64,
    bell: Arc<OnceLock<Bell>>,
}

impl Writer {
    pub fn start(committer: Committer) -> Writer {
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
        let order = Order::Commit { batch: Box::new(batch), generation: self.generation, done };
        if let Err(mpsc::error::SendError(Order::Commit { done, .. })) = self.orders.send(order) {
            done(Err(StoreError::Down("the writer has stopped".into())));
        }
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

async fn run(mut committer: Committer, mut inbox: mpsc::UnboundedReceiver<Order>, bell: Arc<OnceLock<Bell>>) {
    let mut generation = 0;
    let mut failed = false;
    while let Some(order) = inbox.recv().await {
        match order {
            Order::Commit { generation: of, done, .. } if failed || of != generation => {
                done(Err(StoreError::Lost { what: "the turn before this one".into() }));
            }
            Order::Commit { mut batch, done, .. } => {
                let outcome = committer.commit(&batch).await;
                failed = outcome.is_err();
                if let (Ok(()), Some(bell)) = (&outcome, bell.get()) {
                    bell.ring(std::mem::take(&mut batch.wake));
                }
                done(outcome);
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
