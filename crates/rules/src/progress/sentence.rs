//! One sentence for whom the work is done for: what is said of the step that is being done, else how much is done and what comes next.

use super::{Account, Part, PartStanding, ProgressState};

pub fn of(account: &Account, current: Option<&Part>, said: Option<&str>) -> String {
    let so_far = so_far(account);
    let said = said.or_else(|| current.and_then(|part| part.status_message.as_deref()));
    let at = current.map(|part| words(&part.name));
    match (account.state, at) {
        (ProgressState::Completed, _) => "Everything is done.".into(),
        (ProgressState::Cancelled, _) => format!("It was called off; {so_far}."),
        (ProgressState::Failed, Some(at)) => format!("It could not go on at {at}; {so_far}."),
        (ProgressState::Failed, None) => format!("It could not go on; {so_far}."),
        (ProgressState::Pending | ProgressState::Running, at) => {
            said.map_or_else(|| plain(account, at, current, &so_far), Into::into)
        }
    }
}

fn plain(account: &Account, at: Option<String>, current: Option<&Part>, so_far: &str) -> String {
    match (at, current.map(|part| part.standing)) {
        (Some(at), Some(PartStanding::Running)) if account.done == 0 => format!("Now: {at}."),
        (Some(at), Some(PartStanding::Running)) => format!("{}; now: {at}.", capital(so_far)),
        (Some(at), _) => format!("{}; next: {at}.", capital(so_far)),
        (None, _) if account.of == 0 => "It has begun.".into(),
        (None, _) => format!("{}.", capital(so_far)),
    }
}

fn so_far(account: &Account) -> String {
    match (account.done, account.of) {
        (0, _) => "nothing is done yet".into(),
        (done, of) if done == of && of == 1 => "its one step is done".into(),
        (done, of) if done == of => format!("all {of} steps are done"),
        (1, of) => format!("1 of {of} steps is done"),
        (done, of) => format!("{done} of {of} steps are done"),
    }
}

/// What polls behind a step is that step to whom it is done for.
const POLLS_BEHIND: &str = ":poll";

/// A name as people read it.
fn words(name: &str) -> String {
    let name = name.strip_suffix(POLLS_BEHIND).unwrap_or(name);
    let name: String = name.chars().map(|c| if matches!(c, '_' | '-' | '.') { ' ' } else { c }).collect();
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
