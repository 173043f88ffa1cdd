//! Notices: what a channel was told has the step that delivers it.

use super::{Report, Scene};
use crate::Result;
use model::StepId;

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    let lost = "select n.channel, n.notice_key, n.step_id from notices n
                 where n.step_id is not null and not exists (select 1 from steps s where s.id = n.step_id)
                   and not exists (select 1 from steps_archive s where s.id = n.step_id)
                 order by n.channel, n.notice_key";
    scene.each(lost, |row| {
        let step = StepId::from_bytes(row.get(2)?);
        let problem = format!("it was told by step {step}, which is not there");
        report.add("S7", format!("notice `{}` of channel {}", row.text(1)?, row.text(0)?), problem);
        Ok(())
    })?;
    let strange = "select n.channel, n.notice_key, s.action from notices n join steps s on s.id = n.step_id
                    where s.action <> 'deliver' order by n.channel, n.notice_key";
    scene.each(strange, |row| {
        let problem = format!("it was told by a step of the action `{}`", row.text(2)?);
        report.add("S7", format!("notice `{}` of channel {}", row.text(1)?, row.text(0)?), problem);
        Ok(())
    })
}
