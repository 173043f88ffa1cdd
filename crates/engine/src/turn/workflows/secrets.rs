//! What a workflow is started with, as it may be stored: secret values sealed, those from above left as they are.

use super::super::node::Node;
use super::Entry;
use crate::seal::{Veil, opened, sealed_at, values_at};
use model::{Fault, Timestamp, WorkflowId, limits};
use rules::workflow::Plan;
use serde_json::value::RawValue;
use std::sync::Arc;
use store::Result;

impl Node {
    pub(super) fn new_workflow_id(&self, now: Timestamp) -> WorkflowId {
        WorkflowId::from_bytes(self.ids.row(now))
    }

    /// The input with what its definition calls secret sealed for this workflow.
    pub(super) fn sealed_input(
        &self,
        plan: &Plan,
        input: &str,
        id: WorkflowId,
    ) -> std::result::Result<Arc<str>, Fault> {
        let secrets = &plan.definition.secrets;
        if secrets.is_empty() {
            return Ok(input.into());
        }
        let unsealed = |problem: &dyn std::fmt::Display| Fault {
            field: "secrets".into(),
            problem: format!("`{}` has secret values, and they cannot be sealed", plan.pinned.key),
            fix: problem.to_string(),
        };
        let sealed = sealed_at(input, secrets, &self.config.secrets, id).map_err(|e| unsealed(&e))??;
        if sealed.len() > limits::PAYLOAD_BYTES_MAX {
            let problem = format!("is {} bytes long with its secret values sealed", sealed.len());
            let fix = format!("send less: at most {} bytes are stored", limits::PAYLOAD_BYTES_MAX);
            return Err(Fault { field: "input".into(), problem, fix });
        }
        Ok(sealed.into())
    }

    /// What a workflow inside another is started with: looked at in clear, and stored sealed.
    pub(super) fn input_below(
        &mut self,
        above: &Entry,
        plan: &Plan,
        input: &RawValue,
        id: WorkflowId,
    ) -> Result<std::result::Result<Box<RawValue>, String>> {
        let mut owners = vec![above.workflow.id.0];
        if let Some(step) = above.workflow.parent {
            owners.extend(self.lineage(step)?);
        }
        let clear = match opened(input.get(), &owners, &self.config.secrets) {
            Ok(clear) => clear,
            Err(problem) => return Ok(Err(problem.to_string())),
        };
        let (text, values) = match &clear {
            Some((text, values)) => (text.as_str(), values.as_slice()),
            None => (input.get(), [].as_slice()),
        };
        let shape = plan.input.as_ref();
        let value = || serde_json::from_str(text).unwrap_or_default();
        if let Some(complaint) = shape.and_then(|shape| shape.complaint(&value())) {
            let veil = Veil::of_clear(values.iter().map(|(value, _)| value.clone()).collect());
            let complaint = veil.text(&complaint).ok().flatten().unwrap_or(complaint);
            return Ok(Err(hidden(complaint, plan, text)));
        }
        let sealed = self.sealed_input(plan, input.get(), id).map_err(|fault| fault.to_string());
        Ok(sealed.and_then(|text| RawValue::from_string(text.to_string()).map_err(|e| e.to_string())))
    }
}

/// A complaint about an input may quote it: what is secret there is not told.
pub(super) fn hidden(complaint: String, plan: &Plan, input: &str) -> String {
    let secrets = &plan.definition.secrets;
    if secrets.is_empty() {
        return complaint;
    }
    let veil = Veil::of_clear(values_at(input, secrets));
    veil.text(&complaint).ok().flatten().unwrap_or(complaint)
}
