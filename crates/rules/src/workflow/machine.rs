//! Where a workflow may go from where it is.
//!
//! Why    a move without a name cannot be reviewed. The full matrix is a golden file, `docs/machines/workflow.md`.

use model::WorkflowState as W;
use thiserror::Error;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("a workflow that {} cannot become {to}", .from.said())]
pub struct IllegalState {
    pub from: W,
    pub to: W,
}

pub fn next(from: W, to: W) -> Result<(), IllegalState> {
    match (from, to) {
        (W::Pending, W::Running | W::Cancelled) => Ok(()),
        (W::Running, W::Paused | W::Succeeded | W::Failed | W::Cancelled | W::Compensating) => Ok(()),
        (W::Paused, W::Running | W::Succeeded | W::Failed | W::Cancelled | W::Compensating) => Ok(()),
        (W::Failed, W::Running | W::Cancelled | W::Compensating) => Ok(()),
        // A person asked for it in so many words.
        (W::Succeeded, W::Running) => Ok(()),
        // Back only to what was asked for together with the undoing.
        (W::Compensating, W::Compensated | W::CompensationFailed | W::Running) => Ok(()),
        (W::CompensationFailed, W::Compensating | W::Compensated) => Ok(()),
        _ => Err(IllegalState { from, to }),
    }
}

/// What is told of a move.
pub fn event(from: W, to: W) -> &'static str {
    match to {
        W::Pending => "workflow.created",
        W::Running if from == W::Pending => "workflow.started",
        W::Running => "workflow.resumed",
        W::Paused => "workflow.paused",
        W::Succeeded => "workflow.succeeded",
        W::Failed => "workflow.failed",
        W::Cancelled => "workflow.cancelled",
        W::Compensating if from == W::CompensationFailed => "compensation.resumed",
        W::Compensating => "compensation.started",
        W::Compensated => "compensation.completed",
        W::CompensationFailed => "compensation.failed",
    }
}

/// The whole machine as a table, one row per state and one column for where it leads.
pub fn matrix() -> String {
    let mut out = String::from("| from \\ to |");
    W::ALL.iter().for_each(|to| out += &format!(" {to} |"));
    out += &format!("\n|---|{}\n", "---|".repeat(W::ALL.len()));
    for from in W::ALL {
        out += &format!("| {from} |");
        for to in W::ALL {
            out += &match next(*from, *to) {
                Ok(()) => format!(" `{}` |", event(*from, *to)),
                Err(_) => " · |".into(),
            };
        }
        out.push('\n');
    }
    out
}

/// Which states lead to which, as a table.
pub(super) fn table<S: Copy + std::fmt::Display>(all: &[S], leads: impl Fn(S, S) -> bool) -> String {
    let mut out = String::from("| from \\ to |");
    all.iter().for_each(|to| out += &format!(" {to} |"));
    out += &format!("\n|---|{}\n", "---|".repeat(all.len()));
    for from in all {
        out += &format!("| {from} |");
        all.iter().for_each(|to| out += if leads(*from, *to) { " yes |" } else { " · |" });
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_is_the_golden_file() {
        let golden = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/machines/workflow.md"));
        let table = golden.split("\n\n").last().unwrap_or_default();
        assert_eq!(table.trim(), matrix().trim(), "docs/machines/workflow.md differs:\n{}", matrix());
    }

    #[test]
    fn what_is_told_says_where_it_came_from() {
        assert_eq!(event(W::Pending, W::Pending), "workflow.created");
        assert_eq!(
            (event(W::Pending, W::Running), event(W::Paused, W::Running)),
            ("workflow.started", "workflow.resumed")
        );
        let again = event(W::CompensationFailed, W::Compensating);
        assert_eq!(
            (event(W::Failed, W::Compensating), again),
            ("compensation.started", "compensation.resumed")
        );
    }

    #[test]
    fn what_is_over_for_good_stays_so() {
        for from in [W::Compensated, W::Cancelled] {
            assert!(W::ALL.iter().all(|to| next(from, *to).is_err()), "{from} is left");
        }
        for to in W::ALL {
            assert_eq!(next(W::Succeeded, *to).is_ok(), *to == W::Running, "only by force is it done again");
        }
        for from in [W::Pending, W::Running, W::Paused, W::Failed] {
            assert!(next(from, W::Cancelled).is_ok(), "{from} cannot be cancelled");
        }
    }
}
