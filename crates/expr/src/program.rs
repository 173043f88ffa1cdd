//! An expression that can be evaluated as often as is wanted.

use crate::answer::Answer;
use crate::evaluation::evaluate;
use crate::fault::{Failure, Fault, shortened};
use crate::meter::{Meter, Stop, problem};
use crate::node::Node;
use crate::parse::parse;
use crate::references::References;
use crate::scope::Scope;
use crate::summary::summary;
use crate::value::Val;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// A compiled expression. A copy is another owner of the same.
#[derive(Clone)]
pub struct Program(Arc<Compiled>);

struct Compiled {
    source: String,
    node: Node,
    references: References,
}

impl Program {
    pub fn compile(source: &str) -> Result<Program, Fault> {
        let node = parse(source)?;
        let references = References::of(&node);
        Ok(Program(Arc::new(Compiled { source: source.to_string(), node, references })))
    }

    pub fn source(&self) -> &str {
        &self.0.source
    }

    pub fn references(&self) -> &References {
        &self.0.references
    }

    pub fn evaluate(&self, scope: &Scope) -> Result<Value, Failure> {
        self.answer(scope, &mut Meter::new(), &mut Answer::new())
    }

    /// Only a boolean is an answer.
    pub fn holds(&self, scope: &Scope) -> Result<bool, Failure> {
        let truth = match evaluate(&self.0.node, scope, &mut Meter::new()) {
            Ok(Val::Bool(truth)) => Ok(truth),
            Ok(other) => problem(format!("a condition is true or false, and this is {}", other.told())),
            Err(stop) => Err(stop),
        };
        truth.map_err(|stop| self.failure(stop, scope))
    }

    /// The values it looks at, as a JSON object, shortened.
    pub fn inputs(&self, scope: &Scope) -> String {
        summary(&self.0.references, scope)
    }

    pub(crate) fn answer(
        &self,
        scope: &Scope,
        meter: &mut Meter,
        answer: &mut Answer,
    ) -> Result<Value, Failure> {
        let value = evaluate(&self.0.node, scope, meter).and_then(|value| answer.write(&value));
        value.map_err(|stop| self.failure(stop, scope))
    }

    pub(crate) fn failure(&self, stop: Stop, scope: &Scope) -> Failure {
        let (source, problem) = (shortened(self.source(), 200), stop.message());
        let message = match self.inputs(scope).as_str() {
            "{}" => format!("`{source}`: {problem}"),
            inputs => format!("`{source}`: {problem} (it looked at {inputs})"),
        };
        Failure { message }
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Program").field(&self.source()).finish()
    }
}
