//! The figures of pages: as many as there are steps of each sort, and open workflows.

use super::{Report, Scene};
use crate::sql::Row;
use crate::{Result, TallyKey, params, reads, rows};
use model::{DispatchGroup, State};
use std::collections::HashMap;
use std::fmt;

const KEY: &str =
    "dispatch_group, queue, action, coalesce(host, ''), state, child_block_id is null, throttled";

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    let mut counted: HashMap<TallyKey, i64> = HashMap::new();
    scene.each(&format!("select {KEY}, count(*) from steps group by 1, 2, 3, 4, 5, 6, 7"), |row| {
        *counted.entry(key(row)?).or_default() += row.get::<i64>(7)?;
        Ok(())
    })?;
    // A claim by log counts as running on its session's host; the row behind it is not counted.
    for (step, claim) in scene.claims.iter() {
        let text = format!("select {KEY} from steps where id = $1");
        let Some(row) = scene.sql().first(&text, params![step], key)? else { continue };
        *counted.entry(row.clone()).or_default() -= 1;
        let host = claim.host.clone().filter(|host| !host.is_empty());
        *counted.entry(TallyKey { state: State::Running, throttled: false, host, ..row }).or_default() += 1;
    }
    for (key, told) in reads::tallies(scene.sql())? {
        *counted.entry(key).or_default() -= told;
    }
    let mut wrong: Vec<(TallyKey, i64)> = counted.into_iter().filter(|(_, missing)| *missing != 0).collect();
    wrong.sort_unstable();
    for (key, missing) in wrong {
        let (n, more) = (missing.abs(), if missing > 0 { "fewer" } else { "more" });
        report.add("S2", Named(&key), format!("the tally says {n} {more} than there are"));
    }
    workflows(scene, report)
}

const WORKFLOWS: &str = "select dispatch_group, definition_key, state, cast(sum(n) as bigint) from
      (select dispatch_group, definition_key, state, 1 as n from workflows
        where state = 'pending' or state = 'running' or state = 'paused' or state = 'failed' and resolved_at is null
           or state = 'compensating' or state = 'compensation_failed'
       union all select dispatch_group, action, state, -n from tallies where queue = ''
       union all select dispatch_group, action, state, -n from tally_parts where queue = '') as counted
    group by 1, 2, 3 having sum(n) <> 0 order by 1, 2, 3";

fn workflows(scene: &Scene, report: &mut Report) -> Result<()> {
    scene.each(WORKFLOWS, |row| {
        let (group, key, state, missing) = (row.text(0)?, row.text(1)?, row.text(2)?, row.get::<i64>(3)?);
        let (n, more) = (missing.abs(), if missing > 0 { "fewer" } else { "more" });
        let problem = format!("the tally says {n} {more} than there are");
        report.add("S2", format!("tally of workflows {group}/{key}/{state}"), problem);
        Ok(())
    })
}

fn key(row: &Row) -> Result<TallyKey> {
    let text = |i: usize| rows::shared(row, i);
    let host = text(3)?;
    Ok(TallyKey {
        dispatch_group: DispatchGroup(text(0)?),
        queue: text(1)?,
        action: text(2)?,
        host: (!host.is_empty()).then_some(host),
        // The schema knows no other words.
        state: row.text(4)?.parse().unwrap_or(State::NotRunnable),
        leaf: row.get(5)?,
        throttled: row.get(6)?,
    })
}

struct Named<'a>(&'a TallyKey);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TallyKey { dispatch_group, queue, action, host, state, leaf, throttled } = self.0;
        write!(f, "tally {dispatch_group}/{queue}/{action}/{}/{state}", host.as_deref().unwrap_or("-"))?;
        f.write_str(if *leaf { "" } else { "/parent" })?;
        f.write_str(if *throttled { "/throttled" } else { "" })
    }
}
