//! What a step of a workflow answers must be what its definition says it produces.
//!
//! Why    whoever comes after it relies on that. The work is done when the answer is looked at, so it fails and is not done again.

use super::super::node::Node;
use crate::seal::{Values, Veil};
use model::{Failure, Outcome, Report};
use rules::workflow::Shape;
use store::Result;

impl Node {
    /// An answer of another shape becomes a failure that says what is wrong with it.
    pub(in super::super) fn look_at_answer(&mut self, report: &mut Report) -> Result<()> {
        let step = self.board.step(report.step);
        let Some(part) = step.and_then(|step| step.in_workflow) else { return Ok(()) };
        let (Outcome::Complete { response } | Outcome::Children { response, .. }) = &report.outcome else {
            return Ok(());
        };
        let Some((plan, _)) = self.plan_of(part.workflow)? else { return Ok(()) };
        let Some(shape) = plan.steps[part.def as usize].produces.as_ref() else { return Ok(()) };
        let text = response.as_deref().unwrap_or("null");
        let complaint = match self.in_clear(report.step, text)? {
            Ok(None) => complaint(shape, text),
            Ok(Some((clear, values))) => complaint(shape, &clear).map(|told| hidden(told, values)),
            Err(problem) => Some(problem.to_string()),
        };
        if let Some(complaint) = complaint {
            let message = format!("the answer is not what the step produces: {complaint}");
            report.outcome = Outcome::Fail { failure: Failure { message, trace: None }, notify: true };
        }
        Ok(())
    }
}

fn complaint(shape: &Shape, text: &str) -> Option<String> {
    match serde_json::from_str(text) {
        Ok(value) => shape.complaint(&value),
        Err(problem) => Some(format!("it is not JSON: {problem}")),
    }
}

/// A complaint may quote the value.
fn hidden(told: String, values: Values) -> String {
    let veil = Veil::of_clear(values.into_iter().map(|(value, _)| value).collect());
    veil.text(&told).ok().flatten().unwrap_or(told)
}
