//! While a breaker was off, by the audit, nothing was dispatched in its scope.

use super::{Report, Scene};
use crate::sql::Sql;
use crate::{Result, params};
use model::{Breaker, StepId, Timestamp};
use std::collections::HashMap;

const TARGET: &str = "breaker";

/// When each breaker was off.
#[derive(Default)]
pub struct Breakers {
    /// By what the audit calls it: `breaker`, or `breaker of alpha`. Both ends are outside.
    off: HashMap<String, Vec<(i64, i64)>>,
    pub changed_at: Option<Timestamp>,
}

impl Breakers {
    pub fn load(sql: &dyn Sql, report: &mut Report) -> Result<Breakers> {
        let mut breakers = Breakers::default();
        let text =
            "select id, at, target, after from audit where verb in ('breaker off', 'breaker on') order by id";
        sql.each(text, params![], &mut |row| {
            let (id, at, target): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let text: Option<String> = row.get(3)?;
            let spans = breakers.off.entry(target).or_default();
            if let Some(last) = spans.last_mut() {
                last.1 = last.1.min(at);
            }
            match text.as_deref().and_then(|text| serde_json::from_str::<Breaker>(text).ok()) {
                Some(breaker) if breaker.off => {
                    spans.push((at, breaker.until.map_or(i64::MAX, |until| until.0)))
                }
                Some(_) => {}
                None => report.add("S5", format!("audit {id}"), "it does not say what became of the breaker"),
            }
            breakers.changed_at = Some(Timestamp(at));
            Ok(())
        })?;
        Ok(breakers)
    }

    fn ever_off(&self) -> bool {
        self.off.values().any(|spans| !spans.is_empty())
    }

    /// The breaker that was off then, for this dispatch group.
    pub fn off_at(&self, dispatch_group: &str, at: Timestamp) -> Option<&str> {
        let own = format!("{TARGET} of {dispatch_group}");
        [TARGET, own.as_str()].into_iter().find_map(|target| {
            let (name, spans) = self.off.get_key_value(target)?;
            let next = spans.partition_point(|(from, _)| *from < at.0);
            let (_, until) = spans.get(next.checked_sub(1)?)?;
            (at.0 < *until).then_some(name.as_str())
        })
    }
}

/// The last dispatch of each step; with a full history, `history` looks at all of them.
pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    if !scene.breakers.ever_off() {
        return Ok(());
    }
    let sql = "select id, dispatch_group, dispatched_at from steps where dispatched_at is not null or state = 'pending'";
    scene.each(sql, |row| {
        let step = StepId::from_bytes(row.get(0)?);
        let own = row.get::<Option<i64>>(2)?.map(Timestamp);
        let Some(at) = scene.claims.of(step).map(|claim| claim.at).or(own) else { return Ok(()) };
        let dispatch_group = row.text(1)?;
        if let Some(breaker) = scene.breakers.off_at(dispatch_group, at) {
            report.add(
                "I28",
                format!("step {step}"),
                format!("it was dispatched while the {breaker} was off"),
            );
        }
        Ok(())
    })
}
