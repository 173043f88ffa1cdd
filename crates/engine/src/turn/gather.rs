//! Collects the answers to one caller's reports from the nodes that apply them.

use crate::EngineError;
use crate::request::{Reply, ReportAnswer};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Clone)]
pub struct Gather(Arc<Mutex<State>>);

struct State {
    answers: Vec<Option<ReportAnswer>>,
    reply: Option<Reply<Vec<ReportAnswer>>>,
}

impl Gather {
    pub fn new(n: usize, reply: Reply<Vec<ReportAnswer>>) -> Gather {
        Gather(Arc::new(Mutex::new(State { answers: vec![None; n], reply: Some(reply) })))
    }
    /// The answers for some places. The caller hears when all are there, or at the first that cannot be had.
    pub fn put(&self, at: &[usize], answers: Result<Vec<ReportAnswer>, EngineError>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match answers {
            Ok(answers) => at.iter().zip(answers).for_each(|(i, answer)| state.answers[*i] = Some(answer)),
            Err(problem) => state.reply.take().into_iter().for_each(|r| r.send(Err(problem.clone()))),
        }
        let all: Option<Vec<ReportAnswer>> = state.answers.iter().copied().collect();
        if let Some(all) = all
            && let Some(reply) = state.reply.take()
        {
            reply.send(Ok(all));
        }
    }
}
