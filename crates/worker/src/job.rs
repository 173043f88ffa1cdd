//! A job is code with a name; a registry knows them all.

use crate::context::Context;
use crate::lifecycle;
use model::{Claim, Name, Outcome};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Whatever went wrong, with its causes; `?` makes one of any error.
pub type JobError = anyhow::Error;
pub type JobResult<T> = Result<T, JobError>;

/// The work behind one action. Only `compute` is required; every other method is a question with the usual answer.
///
/// A run goes through them in this order: the four guards, `throttle`, `compute`, `double_check`, `confirm_or_retry`, `complete`.
/// A run that was only not verified or confirmed yet does not compute again.
pub trait Job: Send + Sync + 'static {
    /// Read from the step's JSON arguments.
    type Arguments: DeserializeOwned + Send + Sync;
    /// Stored as the step's response.
    type Output: Serialize + DeserializeOwned + Send + Sync;

    /// Whether to start; `false` stops the step on purpose.
    fn start_or_stop(
        &self,
        _: &Context,
        _: &Self::Arguments,
    ) -> impl Future<Output = JobResult<bool>> + Send {
        async { Ok(true) }
    }
    /// Whether to start; `false` fails the step.
    fn start_or_fail(
        &self,
        _: &Context,
        _: &Self::Arguments,
    ) -> impl Future<Output = JobResult<bool>> + Send {
        async { Ok(true) }
    }
    /// Whether to start; `false` skips the step as unnecessary.
    fn start_or_skip(
        &self,
        _: &Context,
        _: &Self::Arguments,
    ) -> impl Future<Output = JobResult<bool>> + Send {
        async { Ok(true) }
    }
    /// Whether to start; `false` tries again later, at the cost of an attempt.
    fn start_or_retry(
        &self,
        _: &Context,
        _: &Self::Arguments,
    ) -> impl Future<Output = JobResult<bool>> + Send {
        async { Ok(true) }
    }
    /// How long to wait for a rate limit, at no cost.
    fn throttle(
        &self,
        _: &Context,
        _: &Self::Arguments,
    ) -> impl Future<Output = JobResult<Option<Duration>>> + Send {
        async { Ok(None) }
    }

    /// The work itself.
    fn compute(
        &self,
        context: &Context,
        arguments: &Self::Arguments,
    ) -> impl Future<Output = JobResult<Self::Output>> + Send;

    /// Whether what was done holds. The second `false` fails the step.
    fn double_check(
        &self,
        _: &Context,
        _: &Self::Arguments,
        _: &Self::Output,
    ) -> impl Future<Output = JobResult<bool>> + Send {
        async { Ok(true) }
    }
    /// Whether the other side has confirmed it; `false` asks again later, while attempts last.
    fn confirm_or_retry(
        &self,
        _: &Context,
        _: &Self::Arguments,
        _: &Self::Output,
    ) -> impl Future<Output = JobResult<bool>> + Send {
        async { Ok(true) }
    }
    /// Called on every way to success, before it is stored.
    fn complete(
        &self,
        _: &Context,
        _: &Self::Arguments,
        _: &Self::Output,
    ) -> impl Future<Output = JobResult<()>> + Send {
        async { Ok(()) }
    }

    /// Whether to try again after this error, while attempts last.
    fn should_retry(&self, _: &JobError) -> bool {
        true
    }
    /// Whether to complete in spite of this error.
    fn should_ignore(&self, _: &JobError) -> bool {
        false
    }
    /// What to do about an error that is neither retried nor ignored, or has used up all attempts; `None` fails the step.
    fn resolve(&self, _: &Context, _: &JobError) -> impl Future<Output = JobResult<Option<Outcome>>> + Send {
        async { Ok(None) }
    }
    /// Whether a failure with this error is told to people.
    fn should_notify(&self, _: &JobError) -> bool {
        true
    }
}

/// An async closure as a job.
struct Closure<F, A, O> {
    run: F,
    types: PhantomData<fn(A) -> O>,
}

impl<F, R, A, O> Job for Closure<F, A, O>
where
    F: Fn(Context, A) -> R + Send + Sync + 'static,
    R: Future<Output = JobResult<O>> + Send,
    A: DeserializeOwned + Clone + Send + Sync + 'static,
    O: Serialize + DeserializeOwned + Send + Sync + 'static,
{
    type Arguments = A;
    type Output = O;
    async fn compute(&self, context: &Context, arguments: &A) -> JobResult<O> {
        (self.run)(context.clone(), arguments.clone()).await
    }
}

pub type JobFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A job whose types are forgotten.
pub trait Run: Send + Sync {
    fn run(&self, context: Context) -> JobFuture;
}

struct Typed<J>(Arc<J>);

impl<J: Job> Run for Typed<J> {
    fn run(&self, context: Context) -> JobFuture {
        let job = self.0.clone();
        Box::pin(async move { lifecycle::run(&*job, &context).await })
    }
}

struct Raw<F>(F);

impl<F, R> Run for Raw<F>
where
    F: Fn(Context) -> R + Send + Sync,
    R: Future<Output = Outcome> + Send + 'static,
{
    fn run(&self, context: Context) -> JobFuture {
        Box::pin((self.0)(context))
    }
}

#[derive(Clone, Default)]
pub struct Registry {
    jobs: Arc<BTreeMap<Name, Arc<dyn Run>>>,
}

impl Registry {
    pub fn new() -> Registry {
        Registry::default()
    }
    /// The code behind an action, as an async closure of a context and typed arguments.
    pub fn job<F, R, A, O>(&mut self, action: &str, run: F) -> &mut Registry
    where
        F: Fn(Context, A) -> R + Send + Sync + 'static,
        R: Future<Output = JobResult<O>> + Send + 'static,
        A: DeserializeOwned + Clone + Send + Sync + 'static,
        O: Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        self.add(action, Closure { run, types: PhantomData })
    }
    /// The code behind an action, with guards, verification or an error policy of its own.
    pub fn add(&mut self, action: &str, job: impl Job) -> &mut Registry {
        self.put(action, Typed(Arc::new(job)))
    }
    /// The code behind an action, without the lifecycle: a claim in, an outcome out.
    pub fn raw<F, R>(&mut self, action: &str, run: F) -> &mut Registry
    where
        F: Fn(Claim) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send + 'static,
    {
        self.raw_in(action, move |context: Context| run(context.claim().clone()))
    }
    /// The same with all that a job knows of its run.
    pub fn raw_in<F, R>(&mut self, action: &str, run: F) -> &mut Registry
    where
        F: Fn(Context) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send + 'static,
    {
        self.put(action, Raw(run))
    }
    fn put(&mut self, action: &str, job: impl Run + 'static) -> &mut Registry {
        Arc::make_mut(&mut self.jobs).insert(action.into(), Arc::new(job));
        self
    }
    pub fn actions(&self) -> Vec<Name> {
        self.jobs.keys().cloned().collect()
    }
    pub fn find(&self, action: &str) -> Option<Arc<dyn Run>> {
        self.jobs.get(action).cloned()
    }
}
