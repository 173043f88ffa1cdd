//! The one thread that writes. It takes batches in order and answers each when it is durable.
//!
//! Why    SQLite has one writer; giving it a thread of its own lets the next turn be decided while this one syncs. After a
//!        failed batch it refuses all that were decided on top of it, until the engine has looked again. A panic is such a
//!        failure too, and the thread outlives it. Orders about executions that wait together share one commit; no turn rests
//!        on them.

use super::commit::commit;
use crate::answer::{Answer, panicked};
use crate::executions::{Call, answer_each};
use crate::{Batch, Done, Result, StoreError};
use model::limits;
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
    Execute(Call),
    Reset(u64),
    /// Others may still have a way in, so the thread is told.
    Stop,
}

/// A way to the writer for calls that are not turns, which may outlive it.
#[derive(Clone)]
pub struct Side(mpsc::Sender<Order>);

impl Side {
    pub fn call(&self, call: Call) {
        // What a thread that is gone does not take is answered by being dropped.
        let _ = self.0.send(Order::Execute(call));
    }
}

pub struct Writer {
    orders: mpsc::Sender<Order>,
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
        Writer { orders, generation: 0, thread: Some(thread) }
    }

    pub fn side(&self) -> Side {
        Side(self.orders.clone())
    }

    fn send(&self, order: Order) {
        // What a thread that is gone does not take is answered by being dropped.
        let _ = self.orders.send(order);
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
        self.send(Order::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(mut connection: Connection, commit: Commit, inbox: mpsc::Receiver<Order>) {
    let mut generation = 0;
    let mut failed = false;
    let mut left = None;
    while let Some(order) = left.take().or_else(|| inbox.recv().ok()) {
        match order {
            Order::Stop => return,
            Order::Execute(first) => {
                let (calls, next) = those_that_wait(first, &inbox);
                left = next;
                let done = guarded(&mut connection, |connection| {
                    answer_each(connection, calls);
                    Ok(())
                });
                if let Err(problem) = done {
                    tracing::error!(%problem, "orders about executions were given up");
                }
            }
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

/// The calls that have come meanwhile, up to the first order that is none.
fn those_that_wait(first: Call, inbox: &mpsc::Receiver<Order>) -> (Vec<Call>, Option<Order>) {
    let mut calls = vec![first];
    while calls.len() < limits::EXECUTIONS_PER_COMMIT {
        match inbox.try_recv() {
            Ok(Order::Execute(call)) => calls.push(call),
            Ok(other) => return (calls, Some(other)),
            Err(_) => break,
        }
    }
    (calls, None)
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
    fn calls_that_wait_together_share_a_commit_and_a_turn_ends_the_row() {
        use crate::executions::Order as Asked;
        let call = || Call {
            order: Asked::Forget { made_before: None, asked: None },
            at: model::Timestamp(0),
            done: Box::new(|_| {}),
        };
        let (orders, inbox) = mpsc::channel();
        for _ in 0..2 {
            orders.send(Order::Execute(call())).unwrap();
        }
        orders.send(Order::Reset(1)).unwrap();
        for _ in 0..limits::EXECUTIONS_PER_COMMIT {
            orders.send(Order::Execute(call())).unwrap();
        }
        let (calls, next) = those_that_wait(call(), &inbox);
        assert_eq!((calls.len(), matches!(next, Some(Order::Reset(1)))), (3, true));
        let (calls, next) = those_that_wait(call(), &inbox);
        assert_eq!((calls.len(), next.is_none()), (limits::EXECUTIONS_PER_COMMIT, true));
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
