//! What a turn does once it is durable: answer callers and hand work to sessions. Nothing here may block.

use crate::EngineError;
use crate::meters::Counted;
use crate::request::{Errand, Handed, Reply};
use crate::signal::written;
use crate::spans::{Span, Spans};
use model::SignalId;
use serde::Serialize;
use store::StoreError;
use tokio::sync::mpsc;

type Answer = Box<dyn FnOnce(Result<(), EngineError>) + Send>;

#[derive(Default)]
pub struct Acts {
    answers: Vec<Answer>,
    handed: Vec<(mpsc::UnboundedSender<Handed>, Handed)>,
    errands: Vec<(mpsc::UnboundedSender<Errand>, Errand)>,
    spans: Option<(Spans, Vec<Span>)>,
    /// Signals that this turn has dealt with, and the answer where somebody waits for one.
    pub signals: Vec<(SignalId, Option<String>)>,
    /// What it did to steps, in figures.
    pub counted: Counted,
}

impl Acts {
    /// Answer a caller with this value if the turn becomes durable, else with why it did not.
    pub fn reply<T: Serialize + Send + 'static>(&mut self, reply: Reply<T>, value: T) {
        match reply {
            Reply::Signal(id) => self.signals.push((id, Some(written(&Ok(value))))),
            caller => self.once_durable(move |outcome| caller.send(outcome.map(|()| value))),
        }
    }
    /// Answer that nothing is done.
    pub fn refuse<T: Serialize>(&mut self, reply: Reply<T>, why: EngineError) {
        match reply {
            Reply::Signal(id) => self.signals.push((id, Some(written(&Err::<T, _>(why))))),
            caller => caller.send(Err(why)),
        }
    }
    /// A signal that asks for no answer is done with.
    pub fn heard(&mut self, signal: SignalId) {
        self.signals.push((signal, None));
    }
    pub fn once_durable(&mut self, then: impl FnOnce(Result<(), EngineError>) + Send + 'static) {
        self.answers.push(Box::new(then));
    }
    pub fn hand(&mut self, to: mpsc::UnboundedSender<Handed>, work: Handed) {
        self.handed.push((to, work));
    }
    pub fn send(&mut self, whom: mpsc::UnboundedSender<Errand>, errand: Errand) {
        self.errands.push((whom, errand));
    }
    /// Tell a tracer of what is over.
    pub fn trace(&mut self, tracer: &Spans, ended: Vec<Span>) {
        self.spans = (!ended.is_empty()).then(|| (tracer.clone(), ended));
    }
    /// A job starts only after the commit that gave it away, and so does a message. Those of one turn come before those of the next.
    pub fn hand_over(&mut self, outcome: &Result<(), StoreError>) {
        let handed = std::mem::take(&mut self.handed);
        let errands = std::mem::take(&mut self.errands);
        let spans = self.spans.take();
        if outcome.is_err() {
            return;
        }
        for (session, work) in handed {
            // A session that is gone loses its lease; its steps come back that way.
            let _ = session.send(work);
        }
        for (publisher, errand) in errands {
            // It is on record: whoever publishes next is told of it.
            let _ = publisher.send(errand);
        }
        spans.into_iter().for_each(|(tracer, ended)| tracer.tell(ended));
    }
    /// Callers come last: they ask again as soon as they are answered.
    pub fn act(mut self, outcome: &Result<(), StoreError>) {
        self.hand_over(outcome);
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
