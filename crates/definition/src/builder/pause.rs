//! Pauses in Rust: those behind a step wait for a trigger, for a date, or for what an action answers.

use super::Poll;
use model::definition::{Notify, PauseDef, PauseTimeout, Shape, Signed, TriggerAuth};
use serde_json::Value;
use std::time::Duration;

/// A pause in the making.
#[derive(Clone, Debug)]
pub struct Pause {
    pub(super) made: PauseDef,
}

impl Pause {
    /// Until somebody triggers it. What they send is an output of this name.
    pub fn until_triggered(trigger: &str) -> Pause {
        Pause { made: PauseDef { trigger: Some(trigger.into()), ..PauseDef::default() } }
    }
    /// For so long.
    pub fn resume_after(length: Duration) -> Pause {
        Pause { made: PauseDef { resume_after: Some(length), ..PauseDef::default() } }
    }
    /// Until `resume_when` holds for what an action answers that is asked again and again.
    ///
    /// ```
    /// use stepfast_definition::builder::{Definition, Pause, Poll, Step};
    ///
    /// let paid = Pause::until_polled(Poll::of("payments.status")).resume_when("payload.paid");
    /// let order = Definition::of("order", "1.0.0").step(Step::action("bill", "bills.send").pause_after(paid));
    /// assert!(order.build().is_ok());
    /// ```
    pub fn until_polled(poll: Poll) -> Pause {
        Pause { made: PauseDef { poll: Some(Box::new(poll.made)), ..PauseDef::default() } }
    }
    pub fn timeout(mut self, length: Duration, then: PauseTimeout) -> Self {
        (self.made.timeout, self.made.on_timeout) = (Some(length), then);
        self
    }
    /// It is reminded of so often before it fails.
    pub fn reminders(mut self, most: u32) -> Self {
        self.made.reminders = Some(most);
        self
    }
    /// What `PauseTimeout::AutoApprove` goes on with.
    pub fn default(mut self, payload: Value) -> Self {
        self.made.default = Some(payload);
        self
    }
    pub fn resume_when(mut self, expression: &str) -> Self {
        self.made.resume_when = Some(expression.into());
        self
    }
    /// What must be sent, as a JSON Schema.
    pub fn payload(mut self, schema: Value) -> Self {
        self.made.payload = Some(Shape { schema: Some(schema) });
        self
    }
    pub fn auth(mut self, auth: TriggerAuth) -> Self {
        self.made.auth = auth;
        self
    }
    /// Where it is told that it waits.
    pub fn notify(mut self, url: &str) -> Self {
        self.made.notify = Some(Notify::Url(url.into()));
        self
    }
    /// The same, signed with this key.
    pub fn notify_signed(mut self, url: &str, signing: &str) -> Self {
        let (url, signing) = (url.into(), signing.into());
        self.made.notify = Some(Notify::Signed(Signed { url, signing }));
        self
    }
}
