//! What must hold at the end of a round.

use super::database::Row;
use super::effects::Effect;
use anyhow::{Result, ensure};
use std::collections::{BTreeMap, BTreeSet};

/// Names shown of a long list.
const SHOWN: usize = 5;

pub struct Evidence {
    pub acknowledged: BTreeSet<String>,
    pub effects: Vec<Effect>,
    pub rows: Vec<Row>,
}

impl Evidence {
    pub fn require(&self) -> Result<()> {
        let rows: BTreeMap<&str, &Row> = self.rows.iter().map(|row| (row.id.as_str(), row)).collect();
        ensure!(!self.acknowledged.is_empty(), "nothing was acknowledged");
        ensure!(!self.effects.is_empty(), "the server's log tells of no effect");
        refuse("steps", "acknowledged and lost", self.lost(&rows))?;
        refuse("steps", "started twice under one attempt", self.doubled())?;
        refuse("steps", "started under an attempt that the database does not know", self.unrecorded(&rows))?;
        refuse("steps", "not at an end", self.unfinished())
    }

    fn lost(&self, rows: &BTreeMap<&str, &Row>) -> Vec<String> {
        self.acknowledged.iter().filter(|id| !rows.contains_key(id.as_str())).cloned().collect()
    }

    fn doubled(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        self.effects.iter().filter(|effect| !seen.insert(*effect)).map(told).collect()
    }

    /// The claim is durable before the job starts, so no job may be ahead of its row.
    fn unrecorded(&self, rows: &BTreeMap<&str, &Row>) -> Vec<String> {
        let known = |effect: &&Effect| {
            rows.get(effect.step.as_str()).is_some_and(|row| effect.attempt <= row.attempt)
        };
        self.effects.iter().filter(|effect| !known(effect)).map(told).collect()
    }

    fn unfinished(&self) -> Vec<String> {
        let live = self.rows.iter().filter(|row| !row.is_terminal());
        live.map(|row| format!("{} ({})", row.id, row.state)).collect()
    }
}

fn told(effect: &Effect) -> String {
    format!("{} attempt {}", effect.step, effect.attempt)
}

/// None may be so.
pub fn refuse(whose: &str, what: &str, names: Vec<String>) -> Result<()> {
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    let more = if names.len() > SHOWN { ", …" } else { "" };
    ensure!(names.is_empty(), "{} {whose} are {what}: {shown}{more}", names.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Evidence;
    use crate::crash::database::Row;
    use crate::crash::effects::Effect;

    fn evidence() -> Evidence {
        let row = |id: &str, attempt| Row {
            id: id.into(),
            state: "completed".into(),
            attempt,
            lost_attempts: 0,
            late_reports: 0,
            action: "noop".into(),
            step_key: None,
            parent_step_id: None,
            workflow_id: None,
            response: None,
        };
        let effect = |step: &str, attempt| Effect { step: step.into(), attempt };
        Evidence {
            acknowledged: ["a".into(), "b".into()].into(),
            effects: vec![effect("a", 1), effect("b", 1), effect("b", 2)],
            rows: vec![row("a", 1), row("b", 2)],
        }
    }

    fn refusal(plant: impl FnOnce(&mut Evidence)) -> String {
        let mut evidence = evidence();
        plant(&mut evidence);
        evidence.require().unwrap_err().to_string()
    }

    #[test]
    fn honest_evidence_passes() {
        evidence().require().unwrap();
    }

    #[test]
    fn a_lost_step_is_told() {
        let told = refusal(|evidence| evidence.acknowledged.extend(["c".into()]));
        assert_eq!(told, "1 steps are acknowledged and lost: c");
    }

    #[test]
    fn a_doubled_effect_is_told() {
        let told = refusal(|evidence| evidence.effects.push(Effect { step: "a".into(), attempt: 1 }));
        assert_eq!(told, "1 steps are started twice under one attempt: a attempt 1");
    }

    #[test]
    fn an_effect_ahead_of_its_row_is_told() {
        let told = refusal(|evidence| evidence.effects.push(Effect { step: "a".into(), attempt: 2 }));
        assert!(told.ends_with("does not know: a attempt 2"), "{told}");
        let told = refusal(|evidence| evidence.effects.push(Effect { step: "z".into(), attempt: 1 }));
        assert!(told.ends_with("does not know: z attempt 1"), "{told}");
    }

    #[test]
    fn a_live_step_is_told() {
        let told = refusal(|evidence| evidence.rows[0].state = "running".into());
        assert_eq!(told, "1 steps are not at an end: a (running)");
    }

    #[test]
    fn silence_is_no_evidence() {
        assert_eq!(refusal(|evidence| evidence.effects.clear()), "the server's log tells of no effect");
        assert_eq!(refusal(|evidence| evidence.acknowledged.clear()), "nothing was acknowledged");
    }
}
