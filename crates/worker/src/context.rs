//! What a job knows of its run, and what it says on the way.

use crate::flow::{Flow, FlowStart};
use crate::instead::throttle_for;
use crate::job::{JobError, JobResult};
use crate::link::Link;
use crate::once::Asker;
use engine::Clock;
use model::{
    Claim, Delivery, Failure, ForWorkflow, LogLine, LookAt, NewStep, Outcome, Poll, Progress, SessionId,
    StepId, Success, Timestamp, Trace, limits,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
#[cfg(feature = "remote")]
use std::sync::atomic::AtomicU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// One run of one step. Clones are the same run.
#[derive(Clone)]
pub struct Context {
    run: Arc<Run>,
}

struct Run {
    claim: Claim,
    /// The way to the engine, and the session that has the step; a trial has neither.
    link: Option<(Arc<Link>, SessionId)>,
    /// What came before it, in a trial.
    previous: Vec<String>,
    cancelled: AtomicBool,
    /// Rings when it is cancelled.
    bell: Notify,
    clock: Arc<dyn Clock>,
    said: Mutex<Said>,
    /// How often something was to be done once.
    #[cfg(feature = "remote")]
    asked: AtomicU32,
}

/// What travels with the report.
#[derive(Default)]
struct Said {
    children: Vec<NewStep>,
    success: Success,
    /// The index of the children that were added last.
    index: u32,
    log: Log,
    delivery: Option<Delivery>,
    progress: Option<Progress>,
    /// It has not been told yet.
    is_news: bool,
}

#[derive(Default)]
struct Log {
    lines: VecDeque<LogLine>,
    bytes: usize,
    left_out: usize,
}

impl Context {
    pub fn new(claim: Claim, link: Arc<Link>, session: SessionId, clock: Arc<dyn Clock>) -> Context {
        Context::of(claim, Some((link, session)), Vec::new(), clock)
    }
    /// Of a trial, which has no engine to ask.
    pub(crate) fn alone(claim: Claim, previous: Vec<String>, clock: Arc<dyn Clock>) -> Context {
        Context::of(claim, None, previous, clock)
    }
    fn of(
        claim: Claim,
        link: Option<(Arc<Link>, SessionId)>,
        previous: Vec<String>,
        clock: Arc<dyn Clock>,
    ) -> Context {
        Context {
            run: Arc::new(Run {
                claim,
                link,
                previous,
                cancelled: AtomicBool::default(),
                bell: Notify::default(),
                clock,
                said: Mutex::default(),
                #[cfg(feature = "remote")]
                asked: AtomicU32::default(),
            }),
        }
    }
    fn said(&self) -> MutexGuard<'_, Said> {
        self.run.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn claim(&self) -> &Claim {
        &self.run.claim
    }
    pub fn step(&self) -> StepId {
        self.run.claim.step
    }
    /// One more with every run of the step: what is written elsewhere can be fenced with it.
    pub fn attempt(&self) -> u32 {
        self.run.claim.attempt
    }
    /// The workflow that this is done for, if it is.
    ///
    /// ```
    /// use stepfast_worker::{Context, Registry};
    ///
    /// let mut jobs = Registry::new();
    /// jobs.job("pack", |context: Context, _: serde_json::Value| async move {
    ///     let of = context.workflow().map(|of| format!("{} {}", of.definition, of.step_key));
    ///     Ok(of.unwrap_or_else(|| "a step of its own".into()))
    /// });
    /// ```
    pub fn workflow(&self) -> Option<&ForWorkflow> {
        self.run.claim.workflow.as_deref()
    }
    /// Where this attempt is in its trace: what is done for it has this for its parent. [`Trace::parent`] is the header `traceparent`.
    pub fn trace(&self) -> Trace {
        self.run.claim.place_in_trace()
    }
    /// Which poll this is, if its step is polled.
    pub fn poll(&self) -> Option<&Poll> {
        self.run.claim.poll.as_ref()
    }
    /// What the poll before this one said, if there was one and it said something.
    pub fn previous_poll<T: DeserializeOwned>(&self) -> JobResult<Option<T>> {
        let said = self.poll().and_then(|poll| poll.previous.as_deref());
        Ok(said.map(serde_json::from_str).transpose()?)
    }
    /// The time of the engine's clock.
    pub fn now(&self) -> Timestamp {
        self.run.clock.now()
    }
    /// Again at this instant of the engine's clock, at no cost: for a rate limit that says when it ends. One that is over is no wait.
    pub fn throttle_until(&self, at: Timestamp) -> JobError {
        throttle_for(at.since(self.now()))
    }

    /// The step was given to someone else, or is not wanted any more: whatever this run answers is not applied.
    pub fn is_cancelled(&self) -> bool {
        self.run.cancelled.load(Ordering::Acquire)
    }
    /// Ready once it is cancelled. A job that goes on regardless is dropped a few seconds later.
    pub async fn cancelled(&self) {
        let rung = self.run.bell.notified();
        // It rings for those who listen; whoever comes later sees the flag.
        if !self.is_cancelled() {
            rung.await;
        }
    }
    /// Tell the job; it rings for a future that was made before the flag was set.
    pub(crate) fn cancel(&self) {
        self.run.cancelled.store(true, Ordering::Release);
        self.run.bell.notify_waiters();
    }

    /// Steps of which this one is the parent. Those of one call run in parallel, and after those of the calls before; they begin
    /// when the job has returned, and the step completes when they have.
    pub fn children(&self, steps: impl IntoIterator<Item = NewStep>) -> &Context {
        let mut said = self.said();
        said.index += 1;
        let index = said.index;
        said.children.extend(steps.into_iter().map(|step| NewStep { index: Some(index), ..step }));
        drop(said);
        self
    }
    /// When its children count as a success.
    pub fn success(&self, success: Success) -> &Context {
        self.said().success = success;
        self
    }

    /// Do something once under this key, however often this job, or any other of its action, asks for it: whoever asks later gets the
    /// answer of the one who did it, and whoever asks meanwhile waits for it. An error is recorded and costs one of three attempts.
    /// Pass the key on where the effect is somebody else's: between an effect and its record there is always a moment.
    pub async fn once<T, F>(&self, key: &str, operation: impl FnOnce() -> F) -> JobResult<T>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = JobResult<T>>,
    {
        let claim = &self.run.claim;
        let asker = Asker {
            link: self.run.link.as_ref().map(|(link, _)| &**link),
            #[cfg(feature = "remote")]
            run: (claim.step, claim.attempt, self.run.asked.fetch_add(1, Ordering::Relaxed)),
            namespace: &claim.action,
        };
        asker.once(key, operation).await
    }

    /// A flow that this job does or is part of, to put on record how far it is; see [`FlowStart`].
    pub fn flow(&self, kind: impl Into<String>) -> FlowStart {
        let link = self.run.link.as_ref().map(|(link, _)| &**link);
        Flow::within(kind, link).by(self.run.claim.action.to_string())
    }

    /// What the steps of the same block at the index before this one answered, oldest first: what a step of a pipeline builds on. One
    /// that completed without an answer is `null`, one that did not complete is left out. Every call asks anew.
    pub async fn previous<T: DeserializeOwned>(&self) -> JobResult<Vec<T>> {
        let claim = &self.run.claim;
        let answers = match &self.run.link {
            None => self.run.previous.clone(),
            Some(_) if claim.place.is_none() => Vec::new(),
            Some((link, session)) => link.previous(*session, claim.step, claim.attempt).await?,
        };
        Ok(answers.iter().map(|answer| serde_json::from_str(answer)).collect::<Result<_, _>>()?)
    }

    /// Keep a line with the step. Of one run the last 64 KiB are kept.
    pub fn log(&self, text: impl Into<String>) {
        let line = LogLine { at: self.now(), text: text.into() };
        self.said().log.push(line);
    }
    pub fn take_log(&self) -> Vec<LogLine> {
        std::mem::take(&mut self.said().log).whole()
    }

    /// Put on record what came of handing the step to its target, also if it went well. The last word of a run counts.
    pub fn delivered(&self, delivery: Delivery) {
        self.said().delivery = Some(delivery);
    }
    pub(crate) fn take_delivery(&self) -> Option<Delivery> {
        self.said().delivery.take()
    }

    /// Say how far the job is: so much of so much, or of 0 where nobody knows. People see the last word while the step runs; it is told
    /// at most once a second, kept in memory by the node that the worker speaks to, and gone with the run or with that node.
    pub fn progress(&self, done: u64, of: u64) {
        self.is_at(Progress::new(done, of, None));
    }
    /// The same, with a word about what is counted or done just now.
    pub fn progress_in(&self, done: u64, of: u64, word: impl Into<String>) {
        self.is_at(Progress::new(done, of, Some(word.into())));
    }
    fn is_at(&self, progress: Progress) {
        let mut said = self.said();
        said.is_news = said.progress.as_ref() != Some(&progress) || said.is_news;
        said.progress = Some(progress);
    }
    pub(crate) fn has_news(&self) -> bool {
        self.said().is_news
    }
    /// The last word, which is told now.
    pub(crate) fn tell_progress(&self) -> Option<Progress> {
        let mut said = self.said();
        said.is_news = false;
        said.progress.clone()
    }

    /// The outcome of a run whose work is done and must be looked at again. Children begin when a step has done its work, so they
    /// cannot wait for that.
    pub fn look_again(&self, at: LookAt, response: Option<String>, failure: Option<Failure>) -> Outcome {
        if self.said().children.is_empty() {
            return Outcome::LookAgain { at, response, after: None, failure };
        }
        let message =
            "a job that has asked for children cannot be verified or confirmed later; let a child do that";
        Outcome::Fail { failure: Failure { message: message.into(), trace: None }, notify: true }
    }

    /// The outcome of a run that succeeded, with the children it asked for.
    pub fn completed(&self, response: Option<String>) -> Outcome {
        let mut said = self.said();
        match std::mem::take(&mut said.children) {
            children if children.is_empty() => Outcome::Complete { response },
            children => Outcome::Children { response, children, success: said.success },
        }
    }
}

impl Log {
    fn push(&mut self, mut line: LogLine) {
        let end = line.text.floor_char_boundary(limits::LOG_BYTES_MAX / 4);
        line.text.truncate(end);
        self.bytes += line.text.len() + limits::LOG_LINE_BYTES;
        self.lines.push_back(line);
        while self.bytes > limits::LOG_BYTES_MAX
            && let Some(first) = self.lines.pop_front()
        {
            self.bytes -= first.text.len() + limits::LOG_LINE_BYTES;
            self.left_out += 1;
        }
    }
    fn whole(mut self) -> Vec<LogLine> {
        if let (1.., Some(first)) = (self.left_out, self.lines.front()) {
            let text = format!("… {} lines before this are left out", self.left_out);
            self.lines.push_front(LogLine { at: first.at, text });
        }
        self.lines.into()
    }
}
