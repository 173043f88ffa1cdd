//! A tracked flow as the code that does it sees it: start it, say what was done, finish it; in this process or over HTTP.

#[cfg(feature = "remote")]
use crate::far;
use crate::job::{JobError, JobResult};
use crate::link::Link;
use engine::{FlowNow, Saying, StartFlow};
use model::{FlowAction, FlowAgain, FlowId, FlowName, FlowState, FlowStepState, NewFlowStep};
use serde::Serialize;
use serde_json::value::to_raw_value;
use std::time::Duration;

/// Who it is that says so, where nothing else is known.
const BY: &str = "flow";

/// A flow that is about to be started.
///
/// ```
/// use stepfast_worker::{Context, Registry};
///
/// let mut jobs = Registry::new();
/// jobs.job("settle", |context: Context, payment: u64| async move {
///     let flow = context.flow("payment").entity("payment", payment).steps(["debited", "credited"]).start().await?;
///     flow.complete("debited").await?;
///     flow.complete("credited").await?;
///     Ok(flow.id().to_string())
/// });
/// ```
#[derive(Clone)]
#[must_use = "nothing is on record until it is started"]
pub struct FlowStart {
    start: StartFlow,
    link: Option<Link>,
    /// What an action was to be given could not be written as JSON.
    unwritable: Option<String>,
}

impl FlowStart {
    fn new(kind: impl Into<String>, link: Option<Link>) -> FlowStart {
        let name = FlowName {
            kind: kind.into(),
            key: String::new(),
            entity_type: String::new(),
            entity_id: String::new(),
        };
        FlowStart { start: StartFlow::new(name, BY), link, unwritable: None }
    }

    /// Which of its kind, where the entity does not say enough.
    pub fn key(mut self, key: impl Into<String>) -> FlowStart {
        self.start.name.key = key.into();
        self
    }
    /// What it is about.
    pub fn entity(mut self, kind: impl Into<String>, id: impl ToString) -> FlowStart {
        (self.start.name.entity_type, self.start.name.entity_id) = (kind.into(), id.to_string());
        self
    }
    /// Whom it is done for.
    pub fn user(mut self, user: impl ToString) -> FlowStart {
        self.start.user = Some(user.to_string());
        self
    }
    pub fn steps<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> FlowStart {
        let step = |name: S| NewFlowStep { name: name.into(), optional: false };
        self.start.steps.extend(names.into_iter().map(step));
        self
    }
    /// A step without which it is whole all the same.
    pub fn optional(mut self, name: impl Into<String>) -> FlowStart {
        self.start.steps.push(NewFlowStep { name: name.into(), optional: true });
        self
    }
    /// Steps may be named that are not declared; then it is completed by `finish` alone.
    pub fn open(mut self) -> FlowStart {
        self.start.open = true;
        self
    }
    /// Somebody should look when it is not over by then; 30 minutes when it is not said.
    pub fn timeout(mut self, timeout: Duration) -> FlowStart {
        self.start.timeout = timeout;
        self
    }
    /// What the one whom it is done for may read.
    pub fn message(mut self, message: impl Into<String>) -> FlowStart {
        self.start.message = Some(message.into());
        self
    }
    /// The action that is enqueued when somebody asks for it to be retried.
    pub fn retry_with(mut self, action: &str, arguments: &impl Serialize) -> FlowStart {
        self.start.retry = self.action(action, arguments);
        self
    }
    /// The action that is enqueued when somebody asks for it to be cancelled.
    pub fn cancel_with(mut self, action: &str, arguments: &impl Serialize) -> FlowStart {
        self.start.cancel = self.action(action, arguments);
        self
    }
    fn action(&mut self, action: &str, arguments: &impl Serialize) -> Option<FlowAction> {
        match to_raw_value(arguments) {
            Ok(raw) => Some(FlowAction { action: action.into(), queue: None, arguments: Some(raw) }),
            Err(problem) => {
                self.unwritable = Some(format!("the arguments of `{action}` cannot be written: {problem}"));
                None
            }
        }
    }
    /// Another run in place of the one that is not over; without it that one is gone on with.
    pub fn anew(mut self) -> FlowStart {
        self.start.again = FlowAgain::New;
        self
    }
    /// Who says so, where no key does.
    pub fn by(mut self, by: impl Into<String>) -> FlowStart {
        self.start.by = by.into();
        self
    }

    pub async fn start(self) -> JobResult<Flow> {
        if let Some(problem) = self.unwritable {
            return Err(JobError::msg(problem));
        }
        let by = self.start.by.clone();
        let id = match &self.link {
            // A trial remembers nothing.
            None => FlowId::of(0),
            Some(Link::Engine(engine)) => {
                engine.flows().start(self.start).await.map_err(JobError::new)?.flow.id
            }
            #[cfg(feature = "remote")]
            Some(Link::Remote(remote)) => far::start_flow(remote, self.start).await?,
        };
        Ok(Flow { link: self.link, id, by })
    }
}

/// A flow that is on record. Everything that is said about it may be said again.
#[derive(Clone)]
pub struct Flow {
    link: Option<Link>,
    id: FlowId,
    by: String,
}

impl Flow {
    /// Start one through an engine in this process, or a server elsewhere.
    pub fn of(kind: impl Into<String>, link: impl Into<Link>) -> FlowStart {
        FlowStart::new(kind, Some(link.into()))
    }
    pub(crate) fn within(kind: impl Into<String>, link: Option<&Link>) -> FlowStart {
        FlowStart::new(kind, link.cloned())
    }
    /// One that was started before, by its id.
    pub fn at(id: FlowId, link: impl Into<Link>) -> Flow {
        Flow { link: Some(link.into()), id, by: BY.into() }
    }
    pub fn id(&self) -> FlowId {
        self.id
    }

    pub async fn complete(&self, step: &str) -> JobResult<()> {
        self.mark(step, FlowStepState::Completed, None).await
    }
    pub async fn fail(&self, step: &str, why: impl Into<String>) -> JobResult<()> {
        self.mark(step, FlowStepState::Failed, Some(why.into())).await
    }
    pub async fn skip(&self, step: &str) -> JobResult<()> {
        self.mark(step, FlowStepState::Skipped, None).await
    }
    /// Do the work of a step and say what became of it.
    pub async fn step<T>(&self, name: &str, work: impl Future<Output = JobResult<T>>) -> JobResult<T> {
        match work.await {
            Ok(answer) => {
                self.complete(name).await?;
                Ok(answer)
            }
            Err(error) => {
                self.fail(name, format!("{error:#}")).await?;
                Err(error)
            }
        }
    }
    /// What the one whom it is done for may read from now on.
    pub async fn message(&self, message: impl Into<String>) -> JobResult<()> {
        self.update(None, Some(message.into())).await
    }
    /// It is being done; what failed is before it again.
    pub async fn running(&self) -> JobResult<()> {
        self.update(Some(FlowState::Running), None).await
    }
    /// It is whole; what is optional and was not done is skipped.
    pub async fn finish(&self) -> JobResult<()> {
        self.end(FlowState::Completed, None).await
    }
    pub async fn finish_failed(&self, why: impl Into<String>) -> JobResult<()> {
        self.end(FlowState::Failed, Some(why.into())).await
    }
    pub async fn finish_cancelled(&self, why: impl Into<String>) -> JobResult<()> {
        self.end(FlowState::Cancelled, Some(why.into())).await
    }

    fn saying(&self, message: Option<String>) -> Saying {
        Saying { flow: self.id, message, by: self.by.clone() }
    }

    async fn mark(&self, step: &str, to: FlowStepState, message: Option<String>) -> JobResult<()> {
        let saying = self.saying(message);
        match &self.link {
            None => Ok(()),
            Some(Link::Engine(engine)) => heard(engine.flows().mark(saying, step, to).await),
            #[cfg(feature = "remote")]
            Some(Link::Remote(remote)) => far::mark_flow(remote, saying, step, to).await,
        }
    }

    async fn update(&self, to: Option<FlowState>, message: Option<String>) -> JobResult<()> {
        let saying = self.saying(message);
        match &self.link {
            None => Ok(()),
            Some(Link::Engine(engine)) => heard(engine.flows().update(saying, to).await),
            #[cfg(feature = "remote")]
            Some(Link::Remote(remote)) => far::tell_flow(remote, saying, "state", to).await,
        }
    }

    async fn end(&self, to: FlowState, message: Option<String>) -> JobResult<()> {
        let saying = self.saying(message);
        match &self.link {
            None => Ok(()),
            Some(Link::Engine(engine)) => heard(engine.flows().finish(saying, to).await),
            #[cfg(feature = "remote")]
            Some(Link::Remote(remote)) => far::tell_flow(remote, saying, "finish", Some(to)).await,
        }
    }
}

fn heard(told: Result<FlowNow, engine::FlowError>) -> JobResult<()> {
    told.map(drop).map_err(JobError::new)
}
