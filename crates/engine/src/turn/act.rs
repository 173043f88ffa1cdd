//! What a turn does once it is durable: answer callers and hand work to sessions. Nothing here may block.

use crate::EngineError;
use crate::request::{Handed, Reply};
use store::StoreError;
use tokio::sync::mpsc;

type Answer = Box<dyn FnOnce(Result<(), EngineError>) + Send>;

#[derive(Default)]
pub struct Acts {
    answers: Vec<Answer>,
    handed: Vec<(mpsc::UnboundedSender<Handed>, Handed)>,
}

impl Acts {
    /// Answer a caller with this value if the turn becomes durable, else with why it did not.
    pub fn reply<T: Send + 'static>(&mut self, reply: Reply<T>, value: T) {
        self.answers.push(Box::new(move |outcome| {
            // A caller that went away has nobody to tell.
            let _ = reply.send(outcome.map(|()| value));
        }));
    }
    pub fn hand(&mut self, to: mpsc::UnboundedSender<Handed>, work: Handed) {
        self.handed.push((to, work));
    }
    /// A job starts only after the commit that gave it away.
    pub fn act(self, outcome: &Result<(), StoreError>) {
        if outcome.is_ok() {
            for (session, work) in self.handed {
                // A session that is gone loses its lease; its steps come back that way.
                let _ = session.send(work);
            }
        }
        // Of many it is not known who asked for what the database refuses: each may ask again, and is then alone.
        let alone = self.answers.len() == 1;
        for answer in self.answers {
            answer(outcome.clone().map_err(|problem| match problem {
                StoreError::Unfit(_) if alone => EngineError::Unstorable(problem),
                _ => EngineError::Unavailable(problem),
            }));
        }
    }
}
