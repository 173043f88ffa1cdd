//! The outbox: what is to be published is queued, and what is queued runs in nobody's hands.

use super::{Report, Scene};
use crate::{Result, params};
use model::{SessionId, StepId};

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    let posts = "select o.step_id, o.attempt, s.attempt, s.state = 'dispatched' and s.session_id = $1
                   from outbox o left join steps s on s.id = o.step_id order by o.step_id";
    scene.sql().each(posts, params![SessionId::OUTBOX], &mut |row| {
        let (id, of) = (StepId::from_bytes(row.get(0)?), row.get::<u32>(1)?);
        let wrong = match (row.get::<Option<u32>>(2)?, row.get::<Option<bool>>(3)?) {
            (None, _) => "a message is to be published for a step that is not there".into(),
            (Some(now), _) if now != of => {
                format!("a message is to be published for attempt {of}, and it is at {now}")
            }
            (_, Some(true)) => return Ok(()),
            _ => "a message is to be published, and it is not queued".into(),
        };
        report.add("I11", format!("step {id}"), wrong);
        Ok(())
    })?;
    let begun = "select id, state from steps where session_id = $1 and state <> 'dispatched' order by id";
    scene.sql().each(begun, params![SessionId::OUTBOX], &mut |row| {
        let id = StepId::from_bytes(row.get(0)?);
        report.add("I11", format!("step {id}"), format!("it is {} in the queue", row.text(1)?));
        Ok(())
    })
}
