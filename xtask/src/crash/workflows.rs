//! What must hold of the workflows at the end of a round.

use super::database::{Row, WorkflowRow};
use super::diary::Diaries;
use super::flows::Flow;
use super::verdict::{Evidence, refuse};
use anyhow::{Result, ensure};
use std::collections::{BTreeMap, BTreeSet};

const SUCCEEDED: &str = "succeeded";
const CANCELLED: &str = "cancelled";

/// The workflows of a round with their steps and the starts of their jobs.
pub struct Course<'a> {
    workflows: BTreeMap<&'a str, &'a WorkflowRow>,
    steps: BTreeMap<&'a str, &'a Row>,
    /// The steps of each workflow.
    within: BTreeMap<&'a str, Vec<&'a Row>>,
    /// The steps that wait for others below them.
    parents: BTreeSet<&'a str>,
    starts: BTreeSet<(&'a str, u64)>,
}

impl<'a> Course<'a> {
    pub fn new(evidence: &'a Evidence, workflows: &'a [WorkflowRow]) -> Course<'a> {
        let mut within: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for row in &evidence.rows {
            if let Some(workflow) = &row.workflow_id {
                within.entry(workflow).or_default().push(row);
            }
        }
        Course {
            workflows: workflows.iter().map(|row| (row.id.as_str(), row)).collect(),
            steps: evidence.rows.iter().map(|row| (row.id.as_str(), row)).collect(),
            within,
            parents: evidence.rows.iter().filter_map(|row| row.parent_step_id.as_deref()).collect(),
            starts: evidence.effects.iter().map(|start| (start.step.as_str(), start.attempt)).collect(),
        }
    }

    pub fn require(&self, diaries: &Diaries) -> Result<()> {
        ensure!(!diaries.started.is_empty(), "no start of a workflow was acknowledged");
        refuse("workflows", "acknowledged and lost", self.lost(diaries))?;
        refuse("workflows", "not at the end they should have", self.ended_otherwise(diaries))?;
        refuse("workflows", "not what their definition says", self.strange(diaries))?;
        refuse("steps", "completed without a start of their job", self.unstarted())?;
        refuse("steps", "started, and there is no job for them", self.without_job())
    }

    fn lost(&self, diaries: &Diaries) -> Vec<String> {
        let lost = diaries.started.iter().filter(|start| !self.workflows.contains_key(start.id.as_str()));
        lost.map(|start| start.id.clone()).collect()
    }

    /// Also of those whose start nobody acknowledged.
    fn ended_otherwise(&self, diaries: &Diaries) -> Vec<String> {
        let may = |row: &WorkflowRow| {
            let asked = self.top(row);
            match row.state.as_str() {
                SUCCEEDED => !diaries.cancelled.contains(&row.id),
                CANCELLED => diaries.asked_to_cancel.contains(asked),
                _ => false,
            }
        };
        let strange = self.workflows.values().filter(|row| !may(row));
        strange.map(|row| format!("{} ({})", row.id, row.state)).collect()
    }

    /// The workflow that it is a part of, or itself. What a round starts is nested once.
    fn top(&self, row: &'a WorkflowRow) -> &'a str {
        let parent = row.parent_step_id.as_deref().and_then(|step| self.steps.get(step));
        parent.and_then(|step| step.workflow_id.as_deref()).unwrap_or(&row.id)
    }

    fn strange(&self, diaries: &Diaries) -> Vec<String> {
        let succeeded = |id: &str| self.workflows.get(id).is_some_and(|row| row.state == SUCCEEDED);
        let starts = diaries.started.iter().filter(|start| succeeded(&start.id));
        starts.filter_map(|start| self.problem(&start.id, &start.flow)).collect()
    }

    /// Every step once, the answer that the input leads to, and below it the same.
    fn problem(&self, id: &str, flow: &Flow) -> Option<String> {
        let steps = self.within.get(id).map(Vec::as_slice).unwrap_or_default();
        let completed: Vec<&&Row> = steps.iter().filter(|row| row.state == "completed").collect();
        let mut keys: Vec<&str> = completed.iter().filter_map(|row| row.step_key.as_deref()).collect();
        keys.sort_unstable();
        if keys != flow.completed() {
            return Some(format!("{id} completed {keys:?}"));
        }
        let last = completed.iter().find(|row| row.step_key.as_deref() == Some(flow.last()))?;
        if last.response != Some(flow.answer()) {
            return Some(format!("{id} answered {:?}", last.response));
        }
        let inner = flow.inner()?;
        let below = |row: &&&WorkflowRow| row.parent_step_id.as_deref() == Some(&last.id);
        match self.workflows.values().filter(below).collect::<Vec<_>>()[..] {
            [only] if only.state == SUCCEEDED => self.problem(&only.id, &inner),
            ref all => Some(format!("{id} started {} workflows", all.len())),
        }
    }

    /// A job that is completed was started under the attempt that completed it.
    fn unstarted(&self) -> Vec<String> {
        let completed =
            self.within.values().flatten().filter(|row| row.state == "completed" && self.is_job(row));
        let unstarted = completed.filter(|row| !self.starts.contains(&(row.id.as_str(), row.attempt)));
        unstarted.map(|row| format!("{} attempt {}", row.id, row.attempt)).collect()
    }

    /// Waits, choices and whatever waits for its items are the engine's.
    fn without_job(&self) -> Vec<String> {
        let started = self.starts.iter().filter_map(|(step, _)| self.steps.get(step));
        let started = started.filter(|row| row.workflow_id.is_some() && !self.is_job(row));
        started.map(|row| format!("{} ({})", row.id, row.action)).collect()
    }

    fn is_job(&self, row: &Row) -> bool {
        !row.action.starts_with("stepfast.") && !self.parents.contains(row.id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::effects::Effect;
    use crate::crash::flows::{Shape, Started, Way};
    use serde_json::json;

    struct Round {
        evidence: Evidence,
        workflows: Vec<WorkflowRow>,
        diaries: Diaries,
    }

    fn workflow(id: &str, parent: Option<&str>) -> WorkflowRow {
        WorkflowRow { id: id.into(), state: SUCCEEDED.into(), parent_step_id: parent.map(String::from) }
    }

    fn step(workflow: &str, n: usize, key: &str) -> Row {
        let engine = ["rest", "route", "inner"].contains(&key);
        Row {
            id: format!("{workflow}-{n}"),
            state: "completed".into(),
            attempt: 1,
            lost_attempts: 0,
            late_reports: 0,
            action: if engine { "stepfast.wait" } else { "noop" }.into(),
            step_key: Some(key.into()),
            parent_step_id: None,
            workflow_id: Some(workflow.into()),
            response: Some(json!({ "said": 7 })),
        }
    }

    /// One of each shape: `a` is a chain, `b` spreads and has the chain `c` below it.
    fn round() -> Round {
        let flow = |shape| Flow { shape, way: Way::Left, said: 7 };
        let (chain, spread) = (flow(Shape::Chain), flow(Shape::Spread));
        let mut rows = Vec::new();
        for (workflow, flow) in [("a", chain), ("b", spread), ("c", chain)] {
            rows.extend(flow.completed().iter().enumerate().map(|(n, key)| step(workflow, n, key)));
        }
        // Of each key in `b` the first waits for the others.
        for (n, parent) in [(2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (8, 7)] {
            let row: &mut Row = rows.iter_mut().find(|row| row.id == format!("b-{n}")).unwrap();
            row.parent_step_id = Some(format!("b-{parent}"));
        }
        let engine = |row: &&Row| row.action == "noop" && row.id != "b-1" && row.id != "b-7";
        let effects = rows.iter().filter(engine).map(|row| Effect { step: row.id.clone(), attempt: 1 });
        let started = [("a", chain), ("b", spread)].map(|(id, flow)| Started { id: id.into(), flow });
        Round {
            evidence: Evidence { acknowledged: BTreeSet::new(), effects: effects.collect(), rows },
            workflows: vec![workflow("a", None), workflow("b", None), workflow("c", Some("b-0"))],
            diaries: Diaries { started: started.into(), ..Diaries::default() },
        }
    }

    fn told(plant: impl FnOnce(&mut Round)) -> String {
        let mut round = round();
        plant(&mut round);
        let course = Course::new(&round.evidence, &round.workflows);
        course.require(&round.diaries).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn honest_workflows_pass() {
        assert_eq!(told(|_| {}), "");
    }

    #[test]
    fn a_lost_workflow_is_told() {
        assert_eq!(told(|round| _ = round.workflows.remove(0)), "1 workflows are acknowledged and lost: a");
        assert_eq!(told(|round| round.diaries.started.clear()), "no start of a workflow was acknowledged");
    }

    #[test]
    fn an_end_that_nobody_asked_for_is_told() {
        let end = |state: &str, at: usize, asked: &str| {
            told(|round| {
                round.workflows[at].state = state.into();
                round.diaries.asked_to_cancel.insert(asked.into());
            })
        };
        let strange = "workflows are not at the end they should have";
        assert_eq!(end("failed", 0, "a"), format!("1 {strange}: a (failed)"));
        assert_eq!(end("cancelled", 0, "b"), format!("1 {strange}: a (cancelled)"));
        assert_eq!(end("cancelled", 0, "a"), "");
        // What is below one that was cancelled may have been cancelled with it, but not below one that succeeded.
        assert_eq!(
            end("cancelled", 2, "b"),
            "1 workflows are not what their definition says: b started 1 workflows"
        );
    }

    #[test]
    fn a_cancel_that_was_acknowledged_and_lost_is_told() {
        let told = told(|round| round.diaries.cancelled.extend(["a".into()]));
        assert_eq!(told, "1 workflows are not at the end they should have: a (succeeded)");
    }

    #[test]
    fn a_step_too_many_or_too_few_is_told() {
        let doubled = told(|round| round.evidence.rows.push(step("a", 9, "take")));
        assert!(
            doubled.ends_with(r#"a completed ["left", "rest", "route", "take", "take", "tell", "work"]"#),
            "{doubled}"
        );
        let missing = told(|round| round.evidence.rows.retain(|row| row.id != "c-3"));
        assert!(missing.ends_with(r#"c completed ["left", "rest", "route", "tell", "work"]"#), "{missing}");
    }

    #[test]
    fn another_answer_is_told() {
        let told = told(|round| round.evidence.rows[4].response = None);
        assert_eq!(told, "1 workflows are not what their definition says: a answered None");
    }

    #[test]
    fn a_workflow_started_twice_by_its_step_is_told() {
        let told = told(|round| round.workflows.push(workflow("d", Some("b-0"))));
        assert_eq!(told, "1 workflows are not what their definition says: b started 2 workflows");
    }

    #[test]
    fn steps_and_starts_match() {
        let unstarted = told(|round| round.evidence.rows[0].attempt = 2);
        assert_eq!(unstarted, "1 steps are completed without a start of their job: a-0 attempt 2");
        let planted = Effect { step: "a-1".into(), attempt: 1 };
        let without_job = told(|round| round.evidence.effects.push(planted));
        assert_eq!(without_job, "1 steps are started, and there is no job for them: a-1 (stepfast.wait)");
    }
}
