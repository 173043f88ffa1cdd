//! A check of the whole database as the API shows it.

use store::{Checked, Finding};

pub fn check_view(checked: &Checked) -> wire::CheckView {
    let finding = |finding: &Finding| wire::FindingView {
        invariant: finding.invariant.into(),
        title: finding.title.into(),
        entity: finding.entity.clone(),
        problem: finding.problem.clone(),
    };
    let invariant = |(id, title, note): &(&str, &str, Option<&str>)| wire::InvariantView {
        invariant: id.to_string(),
        title: title.to_string(),
        note: note.map(Into::into),
    };
    wire::CheckView {
        clean: checked.findings.is_empty(),
        invariants: checked.looked_at.len(),
        findings: checked.findings.iter().map(finding).collect(),
        looked_at: checked.looked_at.iter().map(invariant).collect(),
    }
}
