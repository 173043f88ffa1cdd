//! What is put on record of archive and purge: who took what away, and why.

use crate::{Asked, AuditEntry, Retained, Retention};
use model::Timestamp;

const DAY_SECONDS: u64 = 86_400;

/// One page of it; none where nothing was taken.
pub fn entry(what: Retention, taken: &Retained, asked: &Asked, now: Timestamp) -> Option<AuditEntry> {
    if taken.is_nothing() {
        return None;
    }
    let (verb, since, before, after) = match what {
        Retention::Archive { before } => ("archive", before, "live", "archived"),
        Retention::Purge { before, only_archive: true, .. } => ("purge", before, "archived", "gone"),
        Retention::Purge { before, .. } => ("purge", before, "live or archived", "gone"),
    };
    let Retained { trees, steps, ticks, flows, .. } = taken;
    let days = now.since(since).as_secs() / DAY_SECONDS;
    Some(AuditEntry {
        who: asked.who.clone(),
        verb: verb.into(),
        target: format!(
            "{trees} trees with {steps} steps, {ticks} ticks, {flows} flows, untouched for {days} days"
        ),
        why: asked.why.clone(),
        before: Some(before.into()),
        after: Some(after.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_nothing_is_not_told() {
        let (asked, now) = (Asked::by("anna"), Timestamp(90 * 86_400 * 1_000_000));
        let archive = Retention::Archive { before: Timestamp(85 * 86_400 * 1_000_000) };
        assert!(entry(archive, &Retained::default(), &asked, now).is_none());
        let told = entry(archive, &Retained { flows: 1, ..Retained::default() }, &asked, now).unwrap();
        assert_eq!(told.target, "0 trees with 0 steps, 0 ticks, 1 flows, untouched for 5 days");
        assert_eq!((told.before.as_deref(), told.after.as_deref()), (Some("live"), Some("archived")));
    }
}
