//! The attempts of one step as the API shows them, and the cursor of their list.

use crate::convert;
use crate::secrets::Known;
use model::{StepId, Timestamp};
use store::{ATTEMPTS_PAGE_MAX, AttemptKey, Browse, Result};

/// Up to `limit` of them, oldest first, and the cursor of the next page when there is one; none if there is no such step.
pub fn page(
    browse: &Browse,
    step: StepId,
    after: Option<&AttemptKey>,
    limit: usize,
) -> Result<Option<wire::AttemptPage>> {
    let limit = limit.min(ATTEMPTS_PAGE_MAX);
    // One row more than wanted tells whether there is a next page.
    let mut attempts = browse.attempts_after(step, after, limit + 1)?;
    // What is archived keeps its attempts.
    if attempts.is_empty() && browse.step(step)?.is_none() {
        return Ok(None);
    }
    let more = attempts.len() > limit;
    attempts.truncate(limit);
    let next = attempts.last().filter(|_| more).map(|attempt| cursor(&AttemptKey::of(attempt)));
    let mut attempts: Vec<wire::AttemptView> = attempts.iter().map(convert::attempt_view).collect();
    let secrets = Known::default().secrets_of_step(browse, step)?.unwrap_or_default();
    secrets.hide_attempts(&mut attempts);
    Ok(Some(wire::AttemptPage { attempts, next }))
}

fn cursor(key: &AttemptKey) -> String {
    format!("{}.{}.{}", key.attempt, key.at.0, key.outcome)
}

/// What `cursor` wrote.
pub fn read_cursor(text: &str) -> Option<AttemptKey> {
    let mut parts = text.splitn(3, '.');
    Some(AttemptKey {
        attempt: parts.next()?.parse().ok()?,
        at: Timestamp(parts.next()?.parse().ok()?),
        outcome: parts.next().filter(|outcome| !outcome.contains('\0'))?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let key = AttemptKey { attempt: 7, at: Timestamp(8), outcome: "lease_lost".into() };
        assert_eq!(read_cursor(&cursor(&key)), Some(key));
        for bad in ["", "7", "7.8", "x.8.late", "7..late", "7.8.\0"] {
            assert_eq!(read_cursor(bad), None, "{bad}");
        }
    }
}
