//! Pages of flows, newest first, that cost what they show and not what is on record.
//!
//! Why    of a million flows three may be wanted. Of what is asked for, one condition has an index that goes on by id; the others are
//!        asked of what that finds, and only of so many: a page that found little says where to go on.

use super::read::flow;
use crate::sql::Sql;
use crate::statements::FLOW_COLUMNS;
use crate::{Result, params};
use model::{Flow, FlowId, FlowState, limits};

/// Which flows to list, newest first. What is left out does not filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowFilter {
    pub kind: Option<String>,
    pub key: Option<String>,
    pub entity_type: Option<String>,
    pub entity_id: Option<String>,
    pub user: Option<String>,
    pub state: Option<FlowState>,
    /// Only those that are not over.
    pub live: bool,
    /// Older than this one.
    pub after: Option<FlowId>,
    pub limit: usize,
}

/// In the words of its index.
const STATE: &str = "lower(state)";
/// Behind all ids.
const END: [u8; 16] = [0xff; 16];
const LIVE: [FlowState; 3] = [FlowState::Pending, FlowState::Running, FlowState::Failed];

impl FlowFilter {
    fn takes(&self, flow: &Flow) -> bool {
        let is = |wanted: &Option<String>, has: &str| wanted.as_deref().is_none_or(|wanted| wanted == has);
        is(&self.kind, &flow.name.kind)
            && is(&self.key, &flow.name.key)
            && is(&self.entity_type, &flow.name.entity_type)
            && is(&self.entity_id, &flow.name.entity_id)
            && self.user.as_ref().is_none_or(|user| flow.user.as_ref() == Some(user))
            && self.state.is_none_or(|state| state == flow.state)
            && !(self.live && flow.state.is_over())
    }

    /// The ways that lead to all of them, by the condition that leaves the fewest: whose it is or what it is about, that it is not over,
    /// of what sort it is.
    fn ways(&self) -> Vec<Way> {
        let of = |column, value: &Option<String>| value.clone().map(|value| Way::Of(column, value));
        let in_state = |state: FlowState| Way::Of(STATE, state.to_string());
        let named = of("user_id", &self.user).or_else(|| of("entity_id", &self.entity_id));
        if let Some(way) = named.or_else(|| of("key", &self.key)) {
            return vec![way];
        }
        match self.state {
            Some(state) if state.is_over() && self.live => return Vec::new(),
            Some(state) if !state.is_over() => return vec![in_state(state)],
            None if self.live => return LIVE.map(in_state).into(),
            _ => {}
        }
        let sort = of("type", &self.kind).or_else(|| of("entity_type", &self.entity_type));
        vec![sort.or_else(|| self.state.map(in_state)).unwrap_or(Way::All)]
    }
}

/// Flows from the newest on, all of them or those that have a value in a column.
enum Way {
    Of(&'static str, String),
    All,
}

impl Way {
    /// Said by rows, so that no planner takes the way along all ids, and with both ends, for SQLite takes no rows of what is made of a column.
    fn text(&self) -> String {
        let (conditions, order, limit) = match self {
            Way::All => ("id < $1".into(), "id desc".into(), "$2"),
            Way::Of(column, _) => {
                let order = format!("{column} desc, id desc");
                let one = format!("{column} >= $1 and {column} <= $1 and {column} is not null");
                (format!("({column}, id) < ($1, $2) and {one}"), order, "$3")
            }
        };
        format!("select {FLOW_COLUMNS} from flows where {conditions} order by {order} limit {limit}")
    }

    fn behind(&self, sql: &dyn Sql, after: [u8; 16], limit: usize) -> Result<Vec<Flow>> {
        match self {
            Way::Of(_, value) => sql.rows(&self.text(), params![value.as_str(), after, limit], flow),
            Way::All => sql.rows(&self.text(), params![after, limit], flow),
        }
    }
}

/// Up to `limit` flows, and behind which to go on when there may be more. Only so many are looked at for one page.
pub fn page(sql: &dyn Sql, filter: &FlowFilter) -> Result<(Vec<Flow>, Option<FlowId>)> {
    let limit = filter.limit.clamp(1, limits::PAGE_ROWS_MAX);
    let ways = filter.ways();
    let (mut found, mut left) = (Vec::new(), limits::FLOWS_LOOKED_AT);
    let mut last = filter.after;
    while left > 0 {
        let n = (limit + 1).max(limits::FLOWS_LOOKED_AT / 10).min(left);
        let candidates = candidates(sql, &ways, last.map_or(END, |id| *id.bytes()), n)?;
        let is_all = candidates.len() < n;
        left -= n;
        for flow in candidates {
            last = Some(flow.id);
            if !filter.takes(&flow) {
                continue;
            }
            if found.len() == limit {
                let next = found.last().map(|flow: &Flow| flow.id);
                return Ok((found, next));
            }
            found.push(flow);
        }
        if is_all {
            return Ok((found, None));
        }
    }
    Ok((found, last))
}

fn candidates(sql: &dyn Sql, ways: &[Way], after: [u8; 16], limit: usize) -> Result<Vec<Flow>> {
    let mut all = Vec::new();
    for way in ways {
        all.extend(way.behind(sql, after, limit)?);
    }
    all.sort_by_key(|flow| std::cmp::Reverse(flow.id));
    all.truncate(limit);
    Ok(all)
}

/// What is read, by the column that leads.
#[cfg(test)]
pub(crate) fn texts() -> Vec<(&'static str, String)> {
    let columns = ["user_id", "entity_id", "key", "state", "type", "entity_type"];
    let said = |column| if column == "state" { STATE } else { column };
    columns.into_iter().map(|column| (column, Way::Of(said(column), String::new()).text())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(words: &str) -> FlowFilter {
        let mut filter = FlowFilter::default();
        for word in words.split_whitespace() {
            let some = Some("x".to_string());
            match word {
                "type" => filter.kind = some,
                "key" => filter.key = some,
                "entity_type" => filter.entity_type = some,
                "entity_id" => filter.entity_id = some,
                "user" => filter.user = some,
                "live" => filter.live = true,
                state => filter.state = Some(state.parse().unwrap()),
            }
        }
        filter
    }

    fn way(words: &str) -> String {
        let shown = |way: &Way| match way {
            Way::Of(STATE, value) => format!("state={value}"),
            Way::Of(column, value) => format!("{column}={value}"),
            Way::All => "all".into(),
        };
        filter(words).ways().iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_condition_that_leaves_the_fewest_leads() {
        for (words, expected) in [
            ("", "all"),
            ("type", "type=x"),
            ("entity_type", "entity_type=x"),
            ("entity_id", "entity_id=x"),
            ("entity_type entity_id", "entity_id=x"),
            ("key type", "key=x"),
            ("type user live", "user_id=x"),
            ("failed type", "state=failed"),
            ("completed type", "type=x"),
            ("completed", "state=completed"),
            ("live type", "state=pending state=running state=failed"),
            ("live completed", ""),
        ] {
            assert_eq!(way(words), expected, "{words}");
        }
    }

    /// As many as two pages look at, all over, of one type; every hundredth is Ann's.
    const MANY: &str = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
        insert into flows (id, type, key, entity_type, entity_id, run, user_id, state, is_open, started_at, started_by,
                           updated_at, timeout_at, finished_at, version)
        select cast(printf('%016d', i) as blob), 'a', i, 'e', i, 1, case when i % 100 = 0 then 'ann' end, 'completed', 0, 0, 'x',
               0, 0, 0, 1 from n";

    fn many(dir: &std::path::Path) -> rusqlite::Connection {
        let path = dir.join("flows.db");
        crate::sqlite::migrate_file(&path, model::Timestamp(0), true).unwrap();
        let file = rusqlite::Connection::open(path).unwrap();
        file.execute_batch(MANY).unwrap();
        file
    }

    /// A condition that no index leads to read all there was.
    #[test]
    fn a_page_looks_at_so_many_and_says_where_to_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let file = many(dir.path());
        let none = FlowFilter { entity_type: Some("other".into()), limit: 10, ..filter("type") };
        let none = FlowFilter { kind: Some("a".into()), ..none };
        let (found, next) = page(&file, &none).unwrap();
        let looked_at = (5_000 - limits::FLOWS_LOOKED_AT + 1).to_string();
        assert_eq!(
            (found.len(), next.map(|id| id.bytes().to_vec())),
            (0, Some(format!("{looked_at:0>16}").into()))
        );
        let (found, next) = page(&file, &FlowFilter { after: next, ..none }).unwrap();
        assert_eq!((found.len(), next), (0, None), "and then that is all");
    }

    #[test]
    fn pages_go_on_behind_the_last_that_was_shown() {
        let dir = tempfile::tempdir().unwrap();
        let file = many(dir.path());
        let ann = FlowFilter { user: Some("ann".into()), limit: 20, ..FlowFilter::default() };
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let (found, next) = page(&file, &FlowFilter { after, ..ann.clone() }).unwrap();
            assert!(found.len() <= 20 && found.iter().all(|flow| flow.user.as_deref() == Some("ann")));
            seen.extend(found.into_iter().map(|flow| flow.id));
            match next {
                Some(_) => after = next,
                None => break,
            }
        }
        assert_eq!(seen.len(), 50, "each once");
        assert!(seen.is_sorted_by(|one, next| one > next), "newest first");
    }
}
