//! A job is code with a name; a registry knows them all.

use model::{Claim, Name, Outcome};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub type JobFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

pub trait Job: Send + Sync {
    fn run(&self, claim: Claim) -> JobFuture;
}

impl<F, R> Job for F
where
    F: Fn(Claim) -> R + Send + Sync,
    R: Future<Output = Outcome> + Send + 'static,
{
    fn run(&self, claim: Claim) -> JobFuture {
        Box::pin(self(claim))
    }
}

#[derive(Clone, Default)]
pub struct Registry {
    jobs: BTreeMap<Name, Arc<dyn Job>>,
}

impl Registry {
    /// Register the code behind an action.
    pub fn job(&mut self, action: &str, job: impl Job + 'static) -> &mut Registry {
        self.jobs.insert(action.into(), Arc::new(job));
        self
    }
    pub fn actions(&self) -> Vec<Name> {
        self.jobs.keys().cloned().collect()
    }
    pub fn find(&self, action: &str) -> Option<Arc<dyn Job>> {
        self.jobs.get(action).cloned()
    }
}
