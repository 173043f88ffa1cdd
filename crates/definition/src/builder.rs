//! Definitions in Rust: the same model, checked by the same rules as a file.
//!
//! ```
//! use stepfast_definition::builder::{Branch, Definition, Each, Retry, Step};
//! use std::time::Duration;
//!
//! let order = Definition::of("order", "1.0.0")
//!     .timeout(Duration::from_secs(3600))
//!     .step(Step::action("check", "orders.check").produces(serde_json::json!({ "type": "object" })))
//!     .step(
//!         Step::action("reserve", "inventory.reserve")
//!             .each(Each::of("input.items").max_parallel(20))
//!             .arguments(serde_json::json!({ "sku": "${item.sku}" }))
//!             .retry(Retry::attempts(3).delay(Duration::from_secs(1))),
//!     )
//!     .step(Step::branch(
//!         "route",
//!         Branch::new("outputs.check.priority").branch("high", ["express"]).branch("low", []).otherwise("low").converge("confirm"),
//!     ))
//!     .step(Step::action("express", "shipping.express"))
//!     .step(Step::action("confirm", "mail.send"))
//!     .build()
//!     .expect("it is sound");
//! assert_eq!(order.steps.len(), 5);
//!
//! let faults = Definition::of("order", "1.0").step(Step::action("a", "x").after(["b"])).build().unwrap_err();
//! assert_eq!(faults[0].to_string(), "version: `1.0` is not a version; write major.minor.patch, such as 2.1.0");
//! assert_eq!(faults[1].field, "steps[0].after[0]");
//! ```

mod pause;
mod poll;
mod step;

pub use pause::Pause;
pub use poll::Poll;
pub use step::{Does, Step};

use model::definition::{
    self as written, BranchKind, Concurrency, Expression, Gather, OnCancel, OnTimeout, Resolution,
    RetryScope, Shape, StepDef,
};
use model::{Fault, Success};
use serde_json::Value;
use std::time::Duration;

/// A definition in the making.
#[derive(Clone, Debug, Default)]
pub struct Definition {
    made: written::Definition,
}

impl Definition {
    pub fn of(workflow: &str, version: &str) -> Definition {
        let (workflow, version) = (workflow.into(), version.into());
        Definition { made: written::Definition { workflow, version, ..written::Definition::default() } }
    }
    pub fn description(mut self, text: &str) -> Self {
        self.made.description = Some(text.into());
        self
    }
    /// What a run must be started with, as a JSON Schema.
    pub fn input(mut self, schema: Value) -> Self {
        self.made.input = Some(Shape { schema: Some(schema) });
        self
    }
    pub fn timeout(mut self, length: Duration) -> Self {
        self.made.timeout = Some(length);
        self
    }
    pub fn expected_within(mut self, length: Duration) -> Self {
        self.made.expected_within = Some(length);
        self
    }
    /// At most so many live runs for which the expression says the same.
    pub fn concurrency(mut self, key: &str, limit: u32) -> Self {
        self.made.concurrency = Some(Concurrency { key: key.into(), limit });
        self
    }
    pub fn label(mut self, name: &str, value: &str) -> Self {
        self.made.labels.insert(name.into(), value.into());
        self
    }
    /// A value of the input that is never shown, such as `input.card.number`.
    pub fn secret(mut self, path: &str) -> Self {
        self.made.secrets.push(path.into());
        self
    }
    /// What happens when it fails.
    pub fn on_failure(mut self, resolution: Resolution) -> Self {
        self.made.on_failure = resolution;
        self
    }
    pub fn on_cancel(mut self, policy: OnCancel) -> Self {
        self.made.on_cancel = Some(policy);
        self
    }
    pub fn on_timeout(mut self, policy: OnTimeout) -> Self {
        self.made.on_timeout = Some(policy);
        self
    }
    pub fn step(mut self, step: impl Into<StepDef>) -> Self {
        self.made.steps.push(step.into());
        self
    }
    pub fn steps<S: Into<StepDef>>(mut self, steps: impl IntoIterator<Item = S>) -> Self {
        self.made.steps.extend(steps.into_iter().map(Into::into));
        self
    }
    /// The definition, or everything that is wrong with it.
    pub fn build(self) -> Result<written::Definition, Vec<Fault>> {
        crate::reread(&self.made)
    }
}

/// Fan-out: which items, and what is made of them.
#[derive(Clone, Debug)]
pub struct Each {
    made: written::Each,
}

impl Each {
    pub fn of(items: &str) -> Each {
        let (success, gather) = (Success::All, Gather::List);
        Each { made: written::Each { items: items.into(), max_parallel: None, success, gather } }
    }
    pub fn max_parallel(mut self, items: u32) -> Self {
        self.made.max_parallel = Some(items);
        self
    }
    pub fn success(mut self, success: Success) -> Self {
        self.made.success = success;
        self
    }
    pub fn gather(mut self, gather: Gather) -> Self {
        self.made.gather = gather;
        self
    }
}

impl From<&str> for Each {
    fn from(items: &str) -> Each {
        Each::of(items)
    }
}

/// When and how often a step is tried again.
#[derive(Clone, Debug)]
pub struct Retry {
    made: written::Retry,
}

impl Retry {
    /// Executions, the first included.
    pub fn attempts(attempts: u32) -> Retry {
        Retry { made: written::Retry { attempts: Some(attempts), ..written::Retry::default() } }
    }
    pub fn delay(mut self, first: Duration) -> Self {
        self.made.delay = Some(first);
        self
    }
    /// By what the wait grows each time, and how long it gets at most.
    pub fn backoff(mut self, factor: f64, max_delay: Duration) -> Self {
        (self.made.backoff, self.made.max_delay) = (Some(factor), Some(max_delay));
        self
    }
    pub fn scope(mut self, scope: RetryScope) -> Self {
        self.made.scope = scope;
        self
    }
}

/// Which steps come next: exactly one branch, unless it is inclusive.
#[derive(Clone, Debug)]
pub struct Branch {
    made: written::Branch,
}

impl Branch {
    pub fn new(choose: &str) -> Branch {
        let (kind, choose) = (BranchKind::Exclusive, Expression(choose.into()));
        let made =
            written::Branch { kind, choose, branches: Default::default(), otherwise: None, converge: None };
        Branch { made }
    }
    pub fn inclusive(mut self) -> Self {
        self.made.kind = BranchKind::Inclusive;
        self
    }
    pub fn branch<'k>(mut self, key: &str, steps: impl IntoIterator<Item = &'k str>) -> Self {
        self.made.branches.insert(key.into(), steps.into_iter().map(Into::into).collect());
        self
    }
    pub fn otherwise(mut self, key: &str) -> Self {
        self.made.otherwise = Some(key.into());
        self
    }
    pub fn converge(mut self, step: &str) -> Self {
        self.made.converge = Some(step.into());
        self
    }
}
