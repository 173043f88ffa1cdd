//! Work that is done once, however often the job around it runs.

#[cfg(feature = "remote")]
use crate::far;
use crate::job::{JobError, JobResult};
use crate::link::Link;
use engine::{Ask, OnceError};
#[cfg(feature = "remote")]
use model::{OwnerToken, StepId};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Who asks: one run of one step, for the n-th time.
pub struct Asker<'a> {
    pub link: Option<&'a Link>,
    #[cfg(feature = "remote")]
    pub run: (StepId, u32, u32),
    pub namespace: &'a str,
}

impl Asker<'_> {
    /// The answer of the operation: of this run, or of the one that did it.
    pub async fn once<T, F>(&self, key: &str, operation: impl FnOnce() -> F) -> JobResult<T>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = JobResult<T>>,
    {
        match self.link {
            // A trial remembers nothing.
            None => operation().await,
            Some(Link::Engine(engine)) => {
                let ask = Ask::new(self.namespace, key);
                match engine.executions().once(ask, |_| operation()).await {
                    Ok(once) => Ok(once.answer),
                    Err(OnceError::Operation(error)) => Err(error),
                    Err(OnceError::Execution(problem)) => Err(JobError::new(problem)),
                }
            }
            #[cfg(feature = "remote")]
            Some(Link::Remote(remote)) => {
                let (step, attempt, nth) = self.run;
                // A call that is made again after a lost answer finds its own beginning; nobody else does.
                let owner = OwnerToken::of_run(step, attempt, nth);
                far::once(remote, self.namespace, key, owner, operation).await
            }
        }
    }
}
