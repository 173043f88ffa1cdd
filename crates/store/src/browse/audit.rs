//! Pages of the audit, newest first, that cost what they show and not what is on record.
//!
//! Why    at night somebody asks who touched this, of a million rows that nothing takes away. Of what is asked for, one condition has
//!        an index that goes on by time; the others are asked of what that finds, and only of so many: a page that found little says
//!        where to go on. Rows are ordered by their time, and by their number within an instant: a commit of another node may be
//!        linked later and be of earlier, so numbers alone would not tell what was between two times.

use super::Browse;
use crate::sql::{Row, Sql};
use crate::{AuditEntry, Result, params};
use model::{Timestamp, limits};
use std::cmp::Reverse;

/// Which rows of the audit; everything that is said must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// As a row says it; without ` from ADDRESS` from wherever it was.
    pub who: Option<String>,
    pub verb: Option<String>,
    /// As a row says it, without the trigger of a workflow or the name behind an id; or an id alone.
    pub target: Option<String>,
    /// At this instant or later.
    pub from: Option<Timestamp>,
    /// Before this instant.
    pub to: Option<Timestamp>,
    /// Behind the row with this number.
    pub after: Option<i64>,
    pub limit: usize,
}

/// A row of the audit with its number.
pub type AuditRow = (i64, Timestamp, AuditEntry);

/// Where a list goes on: behind this time and number.
type Place = (Timestamp, i64);

/// Characters of who and what that have an index.
const INDEXED: usize = 200;
/// Things whose id is told as a UUID.
const BY_ID: [&str; 4] = ["workflow", "step", "flow", "subscription"];

impl AuditFilter {
    fn takes(&self, at: Timestamp, entry: &AuditEntry) -> bool {
        self.who.as_deref().is_none_or(|who| is_by(&entry.who, who))
            && self.verb.as_deref().is_none_or(|verb| entry.verb == verb)
            && self.targets().is_none_or(|names| names.iter().any(|name| is_about(&entry.target, name)))
            && self.to.is_none_or(|to| at < to)
    }

    /// What a row may say that is meant: an id alone is that of any thing.
    fn targets(&self) -> Option<Vec<String>> {
        let said = self.target.as_deref()?;
        let mut names = vec![said.to_string()];
        if let Ok(id) = said.parse::<model::WorkflowId>() {
            names.extend(BY_ID.map(|kind| format!("{kind} {id}")));
        }
        Some(names)
    }

    /// The ways that lead to all of them, by the condition that leaves the fewest.
    fn ways(&self) -> Vec<Way> {
        if let Some(names) = self.targets() {
            return names.iter().map(|name| Way::Of("thing", thing(name))).collect();
        }
        let who = self.who.as_deref().map(|who| Way::Of("actor", actor(who)));
        let verb = || self.verb.clone().map(|verb| Way::Of("verb", verb));
        vec![who.or_else(verb).unwrap_or(Way::All)]
    }

    fn has_one_condition(&self) -> bool {
        [&self.who, &self.verb, &self.target].into_iter().flatten().count() <= 1
    }
}

fn is_by(has: &str, wanted: &str) -> bool {
    has.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(" from "))
}

/// Behind a workflow may stand its trigger, behind the id of a key or a subscription its name.
fn is_about(has: &str, wanted: &str) -> bool {
    let more = match wanted.split_once(' ') {
        Some(("workflow", _)) => " `",
        Some(("key" | "subscription", _)) => " (",
        _ => return has == wanted,
    };
    has.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(more))
}

/// As the column is made: without from where.
fn actor(who: &str) -> String {
    up_to(format!("{who} from "), " from ")
}

/// As the column is made: without what of it.
fn thing(target: &str) -> String {
    up_to(format!("{target} (").replace(" `", " ("), " (")
}

fn up_to(text: String, end: &str) -> String {
    let before = text.split(end).next().unwrap_or_default();
    before.chars().take(INDEXED).collect()
}

/// Rows from the newest on, all of them or those that have a value.
enum Way {
    Of(&'static str, String),
    All,
}

impl Way {
    /// Said by rows, so that no planner takes the way along all times.
    fn text(&self) -> String {
        let columns = crate::audit::COLUMNS;
        match self {
            Way::All => format!(
                "select {columns} from audit where (at, id) < ($1, $2) order by at desc, id desc limit $3"
            ),
            Way::Of(column, _) => format!(
                "select {columns} from audit where ({column}, at, id) < ($1, $2, $3) and {column} >= $1
                  order by {column} desc, at desc, id desc limit $4"
            ),
        }
    }

    fn behind(&self, sql: &dyn Sql, (at, id): Place, limit: usize) -> Result<Vec<AuditRow>> {
        match self {
            Way::Of(_, value) => sql.rows(&self.text(), params![value.as_str(), at, id, limit], read),
            Way::All => sql.rows(&self.text(), params![at, id, limit], read),
        }
    }
}

impl Browse {
    /// The last that people did, newest first.
    pub fn audit(&self, limit: usize) -> Result<Vec<(Timestamp, AuditEntry)>> {
        let (rows, _) = self.audit_page(&AuditFilter { limit, ..AuditFilter::default() })?;
        Ok(rows.into_iter().map(|(_, at, entry)| (at, entry)).collect())
    }

    /// Up to `limit` rows, and behind which to go on when there may be more. Only so many are looked at for one page.
    pub fn audit_page(&self, filter: &AuditFilter) -> Result<(Vec<AuditRow>, Option<i64>)> {
        let limit = filter.limit.clamp(1, limits::PAGE_ROWS_MAX);
        let ways = filter.ways();
        let (mut found, mut left) = (Vec::new(), limits::AUDIT_LOOKED_AT);
        let (mut place, mut last) = (self.first_place(filter)?, None);
        // Where one condition leads there, whatever is read is shown.
        let mut n = if filter.has_one_condition() { limit + 1 } else { limits::AUDIT_LOOKED_AT / 10 };
        while left > 0 {
            n = n.max(limit + 1).min(left);
            let candidates = candidates(self.sql(), &ways, place, n)?;
            let is_all = candidates.len() < n;
            left -= n;
            for (id, at, entry) in candidates {
                if filter.from.is_some_and(|from| at < from) {
                    return Ok((found, None));
                }
                (place, last) = ((at, id), Some(id));
                if !filter.takes(at, &entry) {
                    continue;
                }
                if found.len() == limit {
                    let next = found.last().map(|(id, _, _): &AuditRow| *id);
                    return Ok((found, next));
                }
                found.push((id, at, entry));
            }
            if is_all {
                return Ok((found, None));
            }
            n = limits::AUDIT_LOOKED_AT / 10;
        }
        Ok((found, last))
    }

    /// Behind the last row that was seen, and before the time that is asked for.
    fn first_place(&self, filter: &AuditFilter) -> Result<Place> {
        let end = filter.to.map_or((Timestamp(i64::MAX), i64::MAX), |to| (to, i64::MIN));
        let Some(after) = filter.after else { return Ok(end) };
        let text = "select at from audit where id <= $1 order by id desc limit 1";
        let at = self.sql().first(text, params![after], |row| Ok(Timestamp(row.get(0)?)))?;
        // Before the first of all there is nothing.
        Ok(end.min((at.unwrap_or(Timestamp(i64::MIN)), after)))
    }
}

fn candidates(sql: &dyn Sql, ways: &[Way], place: Place, limit: usize) -> Result<Vec<AuditRow>> {
    let mut all = Vec::new();
    for way in ways {
        all.extend(way.behind(sql, place, limit)?);
    }
    all.sort_by_key(|(id, at, _)| Reverse((*at, *id)));
    all.truncate(limit);
    Ok(all)
}

fn read(row: &Row) -> Result<AuditRow> {
    let entry = AuditEntry {
        who: row.get(2)?,
        verb: row.get(3)?,
        target: row.get(4)?,
        why: row.get(5)?,
        before: row.get(6)?,
        after: row.get(7)?,
    };
    Ok((row.get(0)?, Timestamp(row.get(1)?), entry))
}

/// What is read, by the index that leads.
#[cfg(test)]
pub(crate) fn texts() -> [(&'static str, String); 3] {
    ["actor", "verb", "thing"].map(|column| (column, Way::Of(column, String::new()).text()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_meant_with_or_without_from_where() {
        let has = "ada (key k7) from 10.0.0.5";
        for (wanted, is) in [(has, true), ("ada (key k7)", true), ("ada", false), ("ada (key k", false)] {
            assert_eq!(is_by(has, wanted), is, "{wanted}");
        }
        assert!(is_by("ada", "ada") && !is_by("ada", "ada from 10.0.0.5"));
    }

    #[test]
    fn a_thing_is_meant_with_or_without_what_of_it() {
        for (has, wanted, is) in [
            ("workflow 7 `ok`", "workflow 7", true),
            ("workflow 7 `ok`", "workflow 7 `ok`", true),
            ("workflow 7", "workflow 7 `ok`", false),
            ("workflow 70", "workflow 7", false),
            ("key k7 (ada)", "key k7", true),
            ("subscription 7 (crm)", "subscription 7", true),
            ("pool api (old)", "pool api", false),
            ("pool api (old)", "pool api (old)", true),
            ("message group a `b`", "message group a", false),
        ] {
            assert_eq!(is_about(has, wanted), is, "{wanted} of {has}");
        }
    }

    #[test]
    fn what_is_asked_for_is_cut_as_what_has_an_index() {
        assert_eq!(["ada (key k7) from ::1", "x from", ""].map(actor), ["ada (key k7)", "x", ""]);
        assert_eq!(["workflow 7 `ok`", "a (b `c", "a ("].map(thing), ["workflow 7", "a", "a"]);
        assert_eq!(thing(&"ü".repeat(300)).chars().count(), INDEXED);
    }

    #[test]
    fn the_condition_that_leaves_the_fewest_leads() {
        let id = "01900000-0000-7000-8000-000000000001";
        let filter = |who: &str, verb: &str, target: &str| {
            let some = |text: &str| Some(text.to_string()).filter(|text| !text.is_empty());
            AuditFilter { who: some(who), verb: some(verb), target: some(target), ..AuditFilter::default() }
        };
        let shown = |way: &Way| match way {
            Way::Of(column, value) => format!("{column}={value}"),
            Way::All => "all".into(),
        };
        let way = |who, verb, target| -> Vec<String> {
            filter(who, verb, target).ways().iter().map(shown).collect()
        };
        assert_eq!(way("", "", ""), ["all"]);
        assert_eq!(way("", "cancel", ""), ["verb=cancel"]);
        assert_eq!(way("ada from 1", "cancel", ""), ["actor=ada"]);
        assert_eq!(way("ada", "cancel", "key k7 (ada)"), ["thing=key k7"]);
        let ids: Vec<String> = BY_ID.iter().map(|kind| format!("thing={kind} {id}")).collect();
        assert_eq!(way("", "", id)[1..], ids);
    }
}
