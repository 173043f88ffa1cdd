//! The one state machine of steps: every move the engine can make is a row here.
//!
//! Why    a move without a name cannot be reviewed. Every non-terminal state has an exit for every cascade: where
//!        one is missing, a group of work waits for ever. The full matrix is a golden file, `docs/machines/step.md`.

use model::{Event as E, IllegalMove, Reason, State as S};

pub fn next(state: S, event: E) -> Result<S, IllegalMove> {
    if let Some(to) = forced(state, event).or_else(|| cascaded(state, event)) {
        return Ok(to);
    }
    let to = match (state, event) {
        (S::NotRunnable, E::Promoted) => S::Pending,

        (S::Pending, E::Dispatched) => S::Dispatched,
        (S::Pending | S::Polling, E::Entered) => S::Running,
        (S::Pending, E::Exhausted) => S::Failed,
        (S::Pending, E::LostTooOften) => S::Stopped,
        (S::Pending | S::Dispatched, E::TimedOut) => S::TimedOut,

        (S::Dispatched, E::Started) => S::Running,
        (S::Dispatched, E::GivenBack | E::LeaseLost) => S::Pending,
        (S::Dispatched, E::LostTooOften) => S::Stopped,

        (S::Running, E::Completed | E::Resolved | E::ChildrenCompleted) => S::Completed,
        (S::Running, E::Failed | E::Exhausted | E::ChildrenFailed) => S::Failed,
        (S::Running, E::ChildrenCancelled) => S::Cancelled,
        (S::Running, E::Stopped | E::LostTooOften) => S::Stopped,
        (S::Running, E::Skipped) => S::Skipped,
        (S::Running, E::TimedOut) => S::TimedOut,
        (S::Running, E::Retried | E::Throttled | E::LeaseLost | E::GivenBack) => S::Pending,
        (S::Running, E::PollStarted) => S::Polling,

        (S::Polling, E::Dispatched) => S::Dispatched,
        (S::Polling, E::TimedOut) => S::TimedOut,

        (from, E::Superseded) if from.is_terminal() && from != S::Superseded => S::Superseded,
        (from, event) => return Err(IllegalMove { from, event }),
    };
    Ok(to)
}

/// What a cascade does to anything that has not ended.
fn cascaded(state: S, event: E) -> Option<S> {
    if state.is_terminal() {
        return None;
    }
    match event {
        E::ParentSkipped => Some(S::Skipped),
        E::ParentCancelled | E::PredecessorFailed | E::Expired => Some(S::Cancelled),
        E::ParentFailed => Some(S::Failed),
        _ => None,
    }
}

/// What a person may decide about anything that has not ended.
fn forced(state: S, event: E) -> Option<S> {
    if state.is_terminal() {
        return None;
    }
    match event {
        E::ForcedComplete => Some(S::Completed),
        E::ForcedFail => Some(S::Failed),
        E::ForcedStop => Some(S::Stopped),
        E::ForcedSkip => Some(S::Skipped),
        E::ForcedCancel => Some(S::Cancelled),
        _ => None,
    }
}

/// The reason a row carries after an event, unless the rule knows better.
pub fn reason(event: E) -> Option<Reason> {
    Some(match event {
        E::Dispatched | E::Started | E::Entered | E::Completed | E::ChildrenCompleted | E::PollStarted => {
            return None;
        }
        E::Resolved => Reason::Resolved,
        E::Failed => Reason::JobFailed,
        E::Stopped => Reason::JobStopped,
        E::Skipped => Reason::JobSkipped,
        E::TimedOut => Reason::TimedOut,
        E::Retried => Reason::Retrying,
        E::Throttled => Reason::Throttled,
        E::LeaseLost => Reason::LeaseLost,
        E::LostTooOften => Reason::LostTooOften,
        E::GivenBack => Reason::GivenBack,
        E::Exhausted => Reason::MaxAttempts,
        E::Promoted => Reason::Promoted,
        E::ParentSkipped => Reason::ParentSkipped,
        E::ParentCancelled => Reason::ParentCancelled,
        E::ParentFailed => Reason::ParentFailed,
        E::PredecessorFailed => Reason::PredecessorFailed,
        E::ChildrenCancelled => Reason::ChildrenCancelled,
        E::ChildrenFailed => Reason::ChildrenFailed,
        E::Expired => Reason::Expired,
        E::ForcedComplete | E::ForcedFail | E::ForcedStop | E::ForcedSkip | E::ForcedCancel => {
            Reason::Operator
        }
        E::Superseded => Reason::Retried,
    })
}

/// The whole machine as a table, one row per state and one column per event.
pub fn matrix() -> String {
    let mut out = String::from("| event |");
    for state in S::ALL {
        out += &format!(" {state} |");
    }
    out += &format!("\n|---|{}\n", "---|".repeat(S::ALL.len()));
    for event in E::ALL {
        out += &format!("| `{event}` |");
        for state in S::ALL {
            out += &match next(*state, *event) {
                Ok(to) => format!(" {to} |"),
                Err(_) => " · |".into(),
            };
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words that a row carries when no rule knows better.
    #[test]
    fn an_event_says_why_unless_it_speaks_for_itself() {
        let silent: Vec<E> = E::ALL.iter().copied().filter(|event| reason(*event).is_none()).collect();
        let expected =
            [E::Dispatched, E::Started, E::Entered, E::Completed, E::PollStarted, E::ChildrenCompleted];
        assert!(
            silent.len() == expected.len() && expected.iter().all(|event| silent.contains(event)),
            "{silent:?}"
        );
        let told = |event| reason(event).map(|reason| reason.to_string()).unwrap_or_default();
        assert_eq!(told(E::TimedOut), "timed_out");
        assert_eq!(told(E::GivenBack), "given_back");
        assert_eq!(told(E::Expired), "expired");
        assert_eq!(told(E::ForcedSkip), "operator");
    }

    #[test]
    fn the_matrix_is_the_golden_file() {
        let golden = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/machines/step.md"));
        let table = golden.split("\n\n").last().unwrap_or_default();
        assert_eq!(
            table.trim(),
            matrix().trim(),
            "docs/machines/step.md differs from the machine:\n{}",
            matrix()
        );
    }

    #[test]
    fn terminal_absorbs_except_to_superseded() {
        for state in S::ALL.iter().filter(|s| s.is_terminal()) {
            for event in E::ALL {
                let moved = next(*state, *event);
                assert!(moved.is_err() || moved == Ok(S::Superseded), "{state} moved by {event}");
            }
        }
    }

    #[test]
    fn every_live_state_has_an_exit_for_every_cascade() {
        let cascades =
            [E::ParentSkipped, E::ParentCancelled, E::ParentFailed, E::PredecessorFailed, E::ForcedCancel];
        for state in S::ALL.iter().filter(|s| !s.is_terminal()) {
            for event in cascades {
                assert!(next(*state, event).is_ok_and(S::is_terminal), "{state} has no exit for {event}");
            }
        }
    }
}
