//! The one thread that writes. It takes batches in order and answers each when it is durable.
//!
//! Why    SQLite has one writer; giving it a thread of its own lets the next turn be decided while this one syncs. After a
//!        failed batch it refuses all that were decided on top of it, until the engine has looked again. A panic is such a
//!        failure too, and the thread outlives it.

use super::commit::commit;
use crate::answer::{Answer, panicked};
use crate::{Batch, Done, Result, StoreError};
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread::JoinHandle;

type Commit = fn(&mut Connection, &Batch) -> Result<()>;
type Work = Box<dyn FnOnce(&mut Connection) + Send>;

enum Order {
    Commit {
        batch: Box<Batch>,
        generation: u64,
        answer: Answer,
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
        Writer::start_with(connection, commit)
    }

    fn start_with(connection: Connection, commit: Commit) -> Writer {
        let (orders, inbox) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("stepfast-writer".into())
            .spawn(move || run(connection, commit, inbox))
            .expect("a thread can be started");
        Writer { orders: Some(orders), generation: 0, thread: Some(thread) }
    }

    fn send(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // What a thread that is gone does not take is answered by being dropped.
            let _ = orders.send(order);
        }
    }

    pub fn commit(&self, batch: Batch, done: Done) {
        let answer = Answer::new(done);
        self.send(Order::Commit { batch: Box::new(batch), generation: self.generation, answer });
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

fn run(mut connection: Connection, commit: Commit, inbox: mpsc::Receiver<Order>) {
    let mut generation = 0;
    let mut failed = false;
    while let Ok(order) = inbox.recv() {
        match order {
            Order::Commit { generation: of, answer, .. } if failed || of != generation => {
                answer.give(Err(StoreError::Lost { what: "the turn before this one".into() }));
            }
            Order::Commit { batch, answer, .. } => {
                let outcome = guarded(&mut connection, |connection| commit(connection, &batch));
                failed = outcome.is_err();
                answer.give(outcome);
            }
            Order::Run(work) => {
                let ran = guarded(&mut connection, |connection| {
                    work(connection);
                    Ok(())
                });
                if let Err(problem) = ran {
                    tracing::error!(%problem, "maintenance was given up");
                }
            }
            Order::Reset(next) => {
                generation = next;
                failed = false;
            }
        }
    }
}

/// A panic leaves no transaction open behind it.
fn guarded(connection: &mut Connection, work: impl FnOnce(&mut Connection) -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(|| work(connection))).unwrap_or_else(|panic| {
        if !connection.is_autocommit() {
            connection.execute_batch("rollback")?;
        }
        Err(panicked(&*panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::a_panic_is_answered;
    use crate::sql::{Access, Sql};

    fn panics_once(connection: &mut Connection, _: &Batch) -> Result<()> {
        if connection.execute_batch("create table been_here (n)").is_ok() {
            panic!("as asked");
        }
        Ok(())
    }

    #[test]
    fn a_panic_in_a_commit_is_answered_and_the_writer_goes_on() {
        let connection = Connection::open_in_memory().unwrap();
        let mut writer = Writer::start_with(connection, panics_once);
        a_panic_is_answered(&mut writer, Writer::commit, Writer::reset);
    }

    #[test]
    fn a_panic_in_between_leaves_no_transaction_open() {
        let writer = Writer::start(Connection::open_in_memory().unwrap());
        let told = writer.run(|connection| -> Result<()> {
            let sql: &dyn Sql = connection;
            sql.transaction(Access::Write, |_| panic!("as asked"))
        });
        assert_eq!(told, Err(StoreError::Down("the writer has stopped".into())));
        writer.run(|connection| Ok(connection.execute_batch("begin; commit")?)).unwrap();
    }
}
