//! The one thread that writes. It takes batches in order and answers each when it is durable.
//!
//! Why    SQLite has one writer; giving it a thread of its own lets the next turn be decided while this one syncs. After a
//!        failed batch it refuses all that were decided on top of it, until the engine has looked again.

use super::commit::commit;
use crate::{Batch, Done, Result, StoreError};
use rusqlite::Connection;
use std::sync::mpsc;
use std::thread::JoinHandle;

type Work = Box<dyn FnOnce(&mut Connection) + Send>;

enum Order {
    Commit {
        batch: Box<Batch>,
        generation: u64,
        done: Done,
    },
    /// Something that is not a turn: maintenance, a lease.
    Run(Work),
    Reset(u64),
}

pub struct Writer {
    orders: Option<mpsc::Sender<Order>>,
    generation: u64,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub fn start(connection: Connection) -> Writer {
        let (orders, inbox) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("stepfast-writer".into())
            .spawn(move || run(connection, inbox))
            .expect("a thread can be started");
        Writer { orders: Some(orders), generation: 0, thread: Some(thread) }
    }

    fn send(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // The thread ends only when this sender is dropped.
            let _ = orders.send(order);
        }
    }

    pub fn commit(&self, batch: Batch, done: Done) {
        self.send(Order::Commit { batch: Box::new(batch), generation: self.generation, done });
    }

    pub fn reset(&mut self) {
        self.generation += 1;
        self.send(Order::Reset(self.generation));
    }

    /// Run something between two turns and wait for its answer.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, got) = mpsc::channel();
        self.send(Order::Run(Box::new(move |connection| {
            let _ = answer.send(work(connection));
        })));
        got.recv().unwrap_or_else(|_| Err(StoreError::Down("the writer has stopped".into())))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.orders.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(mut connection: Connection, inbox: mpsc::Receiver<Order>) {
    let mut generation = 0;
    let mut failed = false;
    while let Ok(order) = inbox.recv() {
        match order {
            Order::Commit { generation: of, done, .. } if failed || of != generation => {
                done(Err(StoreError::Lost { what: "the turn before this one".into() }));
            }
            Order::Commit { batch, done, .. } => {
                let outcome = commit(&mut connection, &batch);
                failed = outcome.is_err();
                done(outcome);
            }
            Order::Run(work) => work(&mut connection),
            Order::Reset(next) => {
                generation = next;
                failed = false;
            }
        }
    }
}
