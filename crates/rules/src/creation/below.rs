//! What a step gives to its children, and which trace it is in.

use super::{Above, Planner};
use model::{NewStep, Step, Trace, attempt_span};
use std::sync::Arc;

impl Planner<'_, '_> {
    /// The trace that is named, or that of the step above.
    pub(super) fn trace_for(&mut self, new: &NewStep, path: &str, above: &Above) -> Option<Arc<Trace>> {
        let Some(text) = &new.trace else {
            let parent = new.parent_step_id.and_then(|parent| self.ground.parents.get(&parent));
            let below = |parent: &Step| {
                let trace = parent.trace.as_ref()?;
                Some(Arc::new(trace.at(attempt_span(parent.id, parent.attempt))))
            };
            return above.trace.clone().or_else(|| parent.and_then(below));
        };
        match text.parse::<Trace>() {
            Ok(trace) => Some(Arc::new(trace)),
            Err(problem) => {
                let (problem, fix) = problem.told();
                self.fault(format!("{path}.trace"), problem, fix);
                None
            }
        }
    }

    pub(super) fn children(&mut self, new: &NewStep, path: &str, above: &Above) {
        for (i, child) in new.children.iter().enumerate() {
            self.step(child, &format!("{path}.children[{i}]"), above.clone());
        }
    }
}
