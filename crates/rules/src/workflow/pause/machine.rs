//! Where a pause may go from where it is.
//!
//! Why    a trigger, a time-out, a date and the end of the whole may meet. The first of them ends the pause, and what is over stays
//!        over. The full matrix is a golden file, `docs/machines/pause.md`.

use model::PauseState as P;
use thiserror::Error;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("a pause that {} cannot become {to}", .from.said())]
pub struct IllegalPause {
    pub from: P,
    pub to: P,
}

pub fn next(from: P, to: P) -> Result<(), IllegalPause> {
    match (from, to) {
        // Reminded or given more time, it waits on.
        (P::Waiting, _) => Ok(()),
        (P::Resumed | P::TimedOut | P::Cancelled, _) => Err(IllegalPause { from, to }),
    }
}

/// The whole machine as a table, one row per state and one column for where it leads.
pub fn matrix() -> String {
    super::super::machine::table(P::ALL, |from, to| next(from, to).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_is_the_golden_file() {
        let golden = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/machines/pause.md"));
        let table = golden.split("\n\n").last().unwrap_or_default();
        assert_eq!(table.trim(), matrix().trim(), "docs/machines/pause.md differs:\n{}", matrix());
    }

    #[test]
    fn what_is_over_stays_over() {
        let told = next(P::TimedOut, P::Resumed).map_err(|refused| refused.to_string());
        assert_eq!(told, Err("a pause that timed out cannot become resumed".into()));
        let left = P::ALL.iter().filter(|from| P::ALL.iter().any(|to| next(**from, *to).is_ok()));
        assert_eq!(left.copied().collect::<Vec<_>>(), [P::Waiting]);
    }
}
