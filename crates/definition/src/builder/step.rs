//! Steps in Rust: what every step may say, and what only some kinds may.

use super::{Branch, Each, Pause, Poll, Retry};
use model::definition::{
    self as written, ActionDef, Compensation, Ending, FailurePolicy, PollDef, Shape, StepDef, SubWorkflow,
    Termination, UndoneWhen, Wait, Work,
};
use model::{DispatchMode, Priority};
use serde_json::Value;
use std::time::Duration;

/// What a step does; a step of one kind cannot be given the options of another.
pub trait Does {
    fn work(self) -> Work;
}

impl Does for ActionDef {
    fn work(self) -> Work {
        Work::Action(Box::new(self))
    }
}
impl Does for PollDef {
    fn work(self) -> Work {
        Work::Poll(Box::new(self))
    }
}
impl Does for Wait {
    fn work(self) -> Work {
        Work::Wait(self)
    }
}
impl Does for written::Branch {
    fn work(self) -> Work {
        Work::Branch(self)
    }
}
impl Does for SubWorkflow {
    fn work(self) -> Work {
        Work::Workflow(self)
    }
}

/// A step in the making.
#[derive(Clone, Debug)]
pub struct Step<D> {
    def: StepDef,
    does: D,
}

impl<D: Does> From<Step<D>> for StepDef {
    fn from(step: Step<D>) -> StepDef {
        StepDef { work: step.does.work(), ..step.def }
    }
}

fn step<D>(key: &str, does: D) -> Step<D> {
    Step { def: StepDef { key: key.into(), ..StepDef::default() }, does }
}

impl Step<ActionDef> {
    /// An action that undoes a step; it has no key of its own.
    pub fn undo(action: &str) -> Step<ActionDef> {
        Step::action("", action)
    }
    /// A worker runs an action.
    pub fn action(key: &str, action: &str) -> Step<ActionDef> {
        step(key, ActionDef { action: action.into(), ..ActionDef::default() })
    }
    /// A JSON value in which `${ … }` stands for what an expression says.
    pub fn arguments(mut self, template: Value) -> Self {
        self.does.arguments = Some(template);
        self
    }
    /// Once for each item of a list.
    pub fn each(mut self, each: impl Into<Each>) -> Self {
        self.does.each = Some(each.into().made);
        self
    }
    pub fn queue(mut self, queue: &str) -> Self {
        self.does.queue = Some(queue.into());
        self
    }
    pub fn priority(mut self, priority: Priority) -> Self {
        self.does.priority = Some(priority);
        self
    }
    pub fn pool(mut self, pool: &str) -> Self {
        self.does.pool = Some(pool.into());
        self
    }
    pub fn message_group(mut self, expression: &str) -> Self {
        self.does.message_group = Some(expression.into());
        self
    }
    pub fn mode(mut self, mode: DispatchMode) -> Self {
        self.does.mode = Some(mode);
        self
    }
    pub fn retry(mut self, retry: Retry) -> Self {
        self.does.retry = Some(retry.made);
        self
    }
    /// How long one attempt may take.
    pub fn attempt_timeout(mut self, length: Duration) -> Self {
        self.does.timeout.attempt = Some(length);
        self
    }
    /// How long the step may take, with all its attempts and waits.
    pub fn step_timeout(mut self, length: Duration) -> Self {
        self.does.timeout.step = Some(length);
        self
    }
}

impl Step<PollDef> {
    /// A worker runs an action again and again, until it answers that what is waited for is there.
    pub fn poll(key: &str, poll: Poll) -> Step<PollDef> {
        step(key, poll.made)
    }
    pub fn queue(mut self, queue: &str) -> Self {
        self.does.run.queue = Some(queue.into());
        self
    }
    pub fn priority(mut self, priority: Priority) -> Self {
        self.does.run.priority = Some(priority);
        self
    }
    pub fn pool(mut self, pool: &str) -> Self {
        self.does.run.pool = Some(pool.into());
        self
    }
    pub fn message_group(mut self, expression: &str) -> Self {
        self.does.run.message_group = Some(expression.into());
        self
    }
    pub fn mode(mut self, mode: DispatchMode) -> Self {
        self.does.run.mode = Some(mode);
        self
    }
    /// How often a poll that fails is made again; each poll has all these attempts.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.does.run.retry = Some(retry.made);
        self
    }
    /// How long one poll may take.
    pub fn attempt_timeout(mut self, length: Duration) -> Self {
        self.does.run.timeout.attempt = Some(length);
        self
    }
}

impl Step<Wait> {
    pub fn wait(key: &str, length: Duration) -> Step<Wait> {
        step(key, Wait::For(length))
    }
    pub fn wait_until(key: &str, expression: &str) -> Step<Wait> {
        step(key, Wait::Until(expression.into()))
    }
}

impl Step<written::Branch> {
    pub fn branch(key: &str, branch: Branch) -> Step<written::Branch> {
        step(key, branch.made)
    }
}

impl Step<SubWorkflow> {
    /// Another workflow is started, and its end waited for.
    pub fn workflow(key: &str, workflow: &str) -> Step<SubWorkflow> {
        step(key, SubWorkflow { workflow: workflow.into(), ..SubWorkflow::default() })
    }
    pub fn version(mut self, version: &str) -> Self {
        self.does.version = Some(version.into());
        self
    }
    pub fn input(mut self, template: Value) -> Self {
        self.does.input = Some(template);
        self
    }
}

impl<D> Step<D> {
    /// The steps it follows; none makes it one that begins at once.
    pub fn after<'k>(mut self, steps: impl IntoIterator<Item = &'k str>) -> Self {
        self.def.after = Some(steps.into_iter().map(Into::into).collect());
        self
    }
    pub fn when(mut self, expression: &str) -> Self {
        self.def.when = Some(expression.into());
        self
    }
    pub fn terminate_when(mut self, expression: &str, state: Ending, reason: &str) -> Self {
        let (condition, reason) = (expression.into(), reason.into());
        self.def.terminate_when = Some(Termination { condition, state, reason });
        self
    }
    /// Those behind it wait for somebody, or for a time.
    pub fn pause_after(mut self, pause: Pause) -> Self {
        self.def.pause_after = Some(Box::new(pause.made));
        self
    }
    /// What it must answer, as a JSON Schema.
    pub fn produces(mut self, schema: Value) -> Self {
        self.def.produces = Some(Shape { schema: Some(schema) });
        self
    }
    /// Steps whose answers it cannot do without.
    pub fn requires<'k>(mut self, steps: impl IntoIterator<Item = &'k str>) -> Self {
        self.def.requires = steps.into_iter().map(Into::into).collect();
        self
    }
    pub fn on_failure(mut self, policy: FailurePolicy) -> Self {
        self.def.on_failure = policy;
        self
    }
    /// What undoes it: an action, with the options of an action.
    pub fn compensation(mut self, undo: Step<ActionDef>) -> Self {
        self.def.compensation = Some(Compensation { run: Box::new(undo.does), when: UndoneWhen::Completed });
        self
    }
    /// As `compensation`, also when it was only begun.
    pub fn compensation_once_started(mut self, undo: Step<ActionDef>) -> Self {
        self.def.compensation = Some(Compensation { run: Box::new(undo.does), when: UndoneWhen::Started });
        self
    }
    pub fn status_message(mut self, text: &str) -> Self {
        self.def.status_message = Some(text.into());
        self
    }
}
