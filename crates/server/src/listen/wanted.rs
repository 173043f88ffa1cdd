//! Which events a listener wants: kinds such as `workflow.*,step.skipped`, and one workflow or all.

use model::WorkflowId;
use store::EventLine;

const KINDS_MAX: usize = 64;

#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// None wants every kind.
    kinds: Vec<Kind>,
    workflow: Option<WorkflowId>,
}

#[derive(Clone, Debug)]
enum Kind {
    Exactly(String),
    From(String),
}

impl Wanted {
    pub fn read(kinds: Option<&str>, workflow: Option<WorkflowId>) -> Result<Wanted, String> {
        let words = kinds.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty());
        let kinds: Vec<Kind> = words.map(kind).collect::<Result<_, _>>()?;
        if kinds.len() > KINDS_MAX {
            return Err(format!("type: {} kinds are named; name at most {KINDS_MAX}", kinds.len()));
        }
        Ok(Wanted { kinds, workflow })
    }

    pub fn takes(&self, line: &EventLine) -> bool {
        let is_kind = |kind: &Kind| match kind {
            Kind::Exactly(word) => line.kind == *word,
            Kind::From(start) => line.kind.starts_with(start),
        };
        self.workflow.is_none_or(|id| id == line.workflow)
            && (self.kinds.is_empty() || self.kinds.iter().any(is_kind))
    }
}

/// With or without what all of them begin with in a CloudEvent.
fn kind(word: &str) -> Result<Kind, String> {
    let plain = word.strip_prefix("stepfast.").unwrap_or(word);
    let start = plain.strip_suffix('*');
    if start.unwrap_or(plain).contains('*') {
        return Err(format!(
            "type: `{word}` has a `*` that is not its end; write `workflow.*`, or the whole kind"
        ));
    }
    Ok(start.map_or_else(|| Kind::Exactly(plain.into()), |start| Kind::From(start.into())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{DispatchGroup, Timestamp};

    fn takes(kinds: &str, kind: &str) -> bool {
        let line = EventLine {
            dispatch_group: DispatchGroup::new("alpha"),
            number: 1,
            workflow: WorkflowId::from_bytes([1; 16]),
            at: Timestamp(0),
            kind: kind.into(),
            step_key: None,
            data: None,
        };
        let wanted = Wanted::read(Some(kinds), None).unwrap();
        let other = Wanted::read(Some(kinds), Some(WorkflowId::from_bytes([2; 16]))).unwrap();
        assert!(!other.takes(&line), "it is of another workflow");
        wanted.takes(&line)
    }

    #[test]
    fn kinds_are_named_whole_or_by_their_beginning() {
        assert!(takes("", "workflow.failed") && takes("*", "workflow.failed"));
        assert!(takes("workflow.*,step.skipped", "workflow.failed"));
        assert!(takes("step.skipped, stepfast.workflow.failed", "workflow.failed"));
        assert!(!takes("workflow.*,step.skipped", "step.retried"));
        assert!(!takes("workflow", "workflow.failed"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let refused = Wanted::read(Some("work*flow.failed"), None).unwrap_err();
        assert!(refused.starts_with("type: `work*flow.failed` has a `*` that is not its end"), "{refused}");
        assert!(Wanted::read(Some(&"a,".repeat(65)), None).is_err());
    }
}
