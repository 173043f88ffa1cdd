//! Where the undoing of one step may go from where it is.
//!
//! Why    a line of the plan that is left when it has ended would undo something twice. The full matrix is a golden file,
//!        `docs/machines/compensation.md`.

use model::CompensationState as C;
use thiserror::Error;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("what is undone and {} cannot become {to}", .from.said())]
pub struct IllegalUndoing {
    pub from: C,
    pub to: C,
}

pub fn next(from: C, to: C) -> Result<(), IllegalUndoing> {
    match (from, to) {
        (C::Pending, C::Running) => Ok(()),
        // One item of a fan-out after the other, until none is left; it may be that all of them were left as they are.
        (C::Running, C::Running | C::Succeeded | C::Failed | C::Skipped) => Ok(()),
        // A person decided: once more, or not at all.
        (C::Failed, C::Pending | C::Skipped) => Ok(()),
        // With another that could not be undone, all the rest was left as it is.
        (C::Pending, C::Skipped) => Ok(()),
        _ => Err(IllegalUndoing { from, to }),
    }
}

/// The whole machine as a table, one row per state and one column for where it leads.
pub fn matrix() -> String {
    super::machine::table(C::ALL, |from, to| next(from, to).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_is_the_golden_file() {
        let golden =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/machines/compensation.md"));
        let table = golden.split("\n\n").last().unwrap_or_default();
        assert_eq!(table.trim(), matrix().trim(), "docs/machines/compensation.md differs:\n{}", matrix());
    }

    #[test]
    fn what_is_undone_or_left_stays_so() {
        for from in [C::Succeeded, C::Skipped] {
            assert!(C::ALL.iter().all(|to| next(from, *to).is_err()), "{from} is left");
        }
        let told = next(C::Succeeded, C::Running).map_err(|refused| refused.to_string());
        assert_eq!(told, Err("what is undone and succeeded cannot become running".into()));
    }
}
