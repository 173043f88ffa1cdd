//! Polls in Rust: what is asked, how often, and what it means that nothing came.

use model::definition::{ActionDef, PollDef, PollTimeout};
use serde_json::Value;
use std::time::Duration;

/// A poll in the making.
///
/// ```
/// use stepfast_definition::builder::{Definition, Poll, Step};
/// use std::time::Duration;
///
/// let paid = Poll::of("http")
///     .arguments(serde_json::json!({ "url": "https://pay.example/${input.order}" }))
///     .interval(Duration::from_secs(300))
///     .backoff(2.0, Duration::from_secs(3600))
///     .max_duration(Duration::from_secs(48 * 3600))
///     .until("answer.body.status == 'paid'")
///     .or_default(serde_json::json!({ "body": { "status": "unknown" } }));
/// let order = Definition::of("order", "1.0.0").step(Step::poll("paid", paid)).build().expect("it is sound");
/// assert!(order.steps[0].work.poll().is_some());
/// ```
#[derive(Clone, Debug)]
pub struct Poll {
    pub(super) made: PollDef,
}

impl Poll {
    /// What is run for each poll.
    pub fn of(action: &str) -> Poll {
        let run = ActionDef { action: action.into(), ..ActionDef::default() };
        Poll { made: PollDef { run, ..PollDef::default() } }
    }
    /// A JSON value in which `${ … }` stands for what an expression says.
    pub fn arguments(mut self, template: Value) -> Self {
        self.made.run.arguments = Some(template);
        self
    }
    /// The wait between two polls; five minutes unless it is said.
    pub fn interval(mut self, length: Duration) -> Self {
        self.made.interval = Some(length);
        self
    }
    /// By what the wait grows each time, up to the longest.
    pub fn backoff(mut self, factor: f64, most: Duration) -> Self {
        self.made.backoff = Some(factor);
        self.made.max_interval = Some(most);
        self
    }
    /// How long it may go on; a day unless it is said.
    pub fn max_duration(mut self, length: Duration) -> Self {
        self.made.max_duration = Some(length);
        self
    }
    pub fn max_attempts(mut self, polls: u32) -> Self {
        self.made.max_attempts = Some(polls);
        self
    }
    /// The answer of an action that knows nothing of polls is the last if this holds.
    pub fn until(mut self, expression: &str) -> Self {
        self.made.until = Some(expression.into());
        self
    }
    /// What is waited for will never come if this holds.
    pub fn abort_when(mut self, expression: &str) -> Self {
        self.made.abort_when = Some(expression.into());
        self
    }
    /// When nothing came in time, somebody looks first.
    pub fn or_pause(mut self) -> Self {
        self.made.on_timeout = PollTimeout::Pause;
        self
    }
    /// When nothing came in time, the step answers this.
    pub fn or_default(mut self, answer: Value) -> Self {
        self.made.on_timeout = PollTimeout::ContinueWithDefault;
        self.made.default = Some(answer);
        self
    }
    /// How many polls are kept on record.
    pub fn keep_last(mut self, polls: u32) -> Self {
        self.made.keep_last = Some(polls);
        self
    }
}
