//! Which rows have one of these statuses, as a condition that both databases read.
//!
//! Why    a status is not stored. The text is made from the same rule that names the status of a row, so that a list has exactly
//!        the rows that say they are so; and it asks for columns of the row alone, as a condition on the state does.

use model::{Reason, State, Status};

pub fn condition(statuses: &[Status]) -> String {
    let (mut whatever_the_reason, mut by_reason) = (Vec::new(), Vec::new());
    for state in State::ALL {
        let is_wanted = |reason: Option<Reason>| statuses.contains(&Status::of(*state, reason));
        let mostly = is_wanted(None);
        let others: Vec<Reason> =
            Reason::ALL.iter().copied().filter(|reason| is_wanted(Some(*reason)) != mostly).collect();
        match (mostly, others.is_empty()) {
            (true, true) => whatever_the_reason.push(*state),
            (false, true) => {}
            (true, false) => by_reason.push((state, "coalesce(reason, '') not in", others)),
            (false, false) => by_reason.push((state, "reason in", others)),
        }
    }
    let for_some = |(state, is, reasons): (&State, &str, Vec<Reason>)| {
        format!("(state = '{state}' and {is} ({}))", listed(&reasons))
    };
    let mut either: Vec<String> = by_reason.into_iter().map(for_some).collect();
    if !whatever_the_reason.is_empty() {
        either.push(format!("state in ({})", listed(&whatever_the_reason)));
    }
    format!("({})", either.join(" or "))
}

/// Words of a closed list, as SQL has them.
pub fn listed(words: &[impl ToString]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.to_string())).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::migrate_file;
    use crate::{Browse, Filter};
    use model::{StepId, Timestamp};
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Every state with every reason, and without one.
    fn sorts() -> Vec<(State, Option<Reason>)> {
        let reasons = || std::iter::once(None).chain(Reason::ALL.iter().copied().map(Some));
        State::ALL.iter().flat_map(|state| reasons().map(|reason| (*state, reason))).collect()
    }

    fn plant(path: &Path) {
        let connection = rusqlite::Connection::open(path).unwrap();
        for (n, (state, reason)) in sorts().into_iter().enumerate() {
            let row = "insert into steps (id, dispatch_group, queue, action, priority, kind, block_index, state, reason,
                         session_id, max_attempts, created_at, arguments)
                       values ($1, 'alpha', 'default', 'noop', 'normal', 'default', 1, $2, $3, $1, 1, 0, 'null')";
            let id = StepId::of(n as u64 + 1);
            let values = rusqlite::params![id.bytes(), state.word(), reason.map(Reason::word)];
            connection.execute(row, values).unwrap();
        }
    }

    fn found(browse: &Browse, states: &[State], statuses: &[Status]) -> BTreeSet<(State, Option<Reason>)> {
        let filter =
            Filter { states: states.into(), statuses: statuses.into(), limit: 1_000, ..Filter::default() };
        browse.steps(&filter).unwrap().iter().map(|row| (row.step.state, row.step.reason)).collect()
    }

    #[test]
    fn a_list_has_exactly_the_rows_of_its_statuses() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("steps.db");
        migrate_file(&path, Timestamp(0), true).unwrap();
        plant(&path);
        let browse = Browse::open(&path).unwrap();
        let wanted = |states: &[State], statuses: &[Status]| -> BTreeSet<_> {
            let is_wanted = |(state, reason): &(State, Option<Reason>)| {
                (states.is_empty() || states.contains(state))
                    && statuses.contains(&Status::of(*state, *reason))
            };
            sorts().into_iter().filter(is_wanted).collect()
        };
        let mut seen = 0;
        for one in Status::ALL {
            let rows = found(&browse, &[], &[*one]);
            assert_eq!(rows, wanted(&[], &[*one]), "{one}");
            seen += rows.len();
            for other in Status::ALL {
                assert_eq!(
                    found(&browse, &[], &[*one, *other]),
                    wanted(&[], &[*one, *other]),
                    "{one} {other}"
                );
            }
            for state in State::ALL {
                assert_eq!(found(&browse, &[*state], &[*one]), wanted(&[*state], &[*one]), "{state} {one}");
            }
        }
        assert_eq!(seen, sorts().len(), "every row has one status");
    }

    #[test]
    fn only_what_depends_on_its_reason_is_asked_for_it() {
        assert_eq!(condition(&[Status::Error]), "(state in ('failed', 'stopped', 'timed_out'))");
        assert_eq!(condition(&[Status::Expired]), "((state = 'cancelled' and reason in ('expired')))");
        assert_eq!(
            condition(&[Status::Cancelled]),
            "((state = 'cancelled' and coalesce(reason, '') not in ('expired')) or state in ('superseded'))"
        );
        assert_eq!(
            condition(&[Status::Cancelled, Status::Expired]),
            "(state in ('cancelled', 'superseded'))"
        );
    }
}
