//! The answer to a commit, given exactly once whatever happens to whoever owes it.

use crate::{Done, Result, StoreError};
use std::any::Any;

/// Unanswered when it is dropped, it says that the store is down.
pub struct Answer(Option<Done>);

impl Answer {
    pub fn new(done: Done) -> Answer {
        Answer(Some(done))
    }
    pub fn give(mut self, outcome: Result<()>) {
        if let Some(done) = self.0.take() {
            done(outcome);
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            done(Err(StoreError::Down("the writer has stopped".into())));
        }
    }
}

/// What a panic is to those who wait for the writer.
pub fn panicked(panic: &(dyn Any + Send)) -> StoreError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    StoreError::Down(format!("the writer panicked: {}", text.unwrap_or("without a message")))
}

/// What both writers are asked in their tests.
#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::{Batch, Lease};
    use model::{NodeId, Timestamp};
    use std::sync::mpsc;

    pub fn batch() -> Batch {
        Batch::new(Lease { node: NodeId::of(1), groups: Vec::new() }, Timestamp(0))
    }

    /// A panic, then what was decided on top of it, then a new beginning. Each is answered once.
    pub fn a_panic_is_answered<W>(writer: &mut W, commit: fn(&W, Batch, Done), reset: fn(&mut W)) {
        let (answers, got) = mpsc::channel();
        let ask = |writer: &W, name: &'static str| {
            let answers = answers.clone();
            let told = move |outcome: Result<()>| {
                let _ = answers.send((name, outcome.map_err(|e| e.to_string()).err().unwrap_or_default()));
            };
            commit(writer, batch(), Box::new(told));
        };
        ask(writer, "first");
        ask(writer, "second");
        reset(writer);
        ask(writer, "third");
        drop(answers);
        let told: Vec<_> = got.iter().collect();
        assert_eq!(
            told,
            [
                ("first", "the database does not answer: the writer panicked: as asked".to_string()),
                ("second", "the turn before this one was changed by someone else".to_string()),
                ("third", String::new()),
            ]
        );
    }

    #[test]
    fn an_answer_that_is_dropped_says_so_once() {
        let (answers, got) = mpsc::channel();
        drop(Answer::new(Box::new(move |outcome| answers.send(outcome).unwrap())));
        let told: Vec<_> = got.iter().collect();
        assert_eq!(told, [Err(StoreError::Down("the writer has stopped".into()))]);
    }
}
