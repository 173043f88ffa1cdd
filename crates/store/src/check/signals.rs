//! What nodes tell each other: nothing lies for long where somebody decides, and a claim stands in the group of its steps.

use super::{GRACE, Report, Scene};
use crate::{Result, params};
use model::SignalId;

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    if scene.offline {
        return Ok(());
    }
    let text = "select s.id, s.dispatch_group from signals s join dispatch_groups g on g.dispatch_group = s.dispatch_group
                 where s.answered_at is null and s.at < $1 and g.owner_id is not null and g.owned_since < $1
                   and g.lease_ends_at > $2 order by s.id";
    scene.sql().each(text, params![scene.now - GRACE, scene.now], &mut |row| {
        let (id, group) = (SignalId::from_bytes(row.get(0)?), row.text(1)?);
        report.add(
            "S6",
            format!("signal {id}"),
            format!("the owner of dispatch group `{group}` did not deal with it"),
        );
        Ok(())
    })
}
