//! What is asked for, read and understood: which ones, and what is done to each.

use super::Item;
use crate::api::explained;
use crate::convert;
use engine::{Verb, WorkflowVerb};
use jiff::Timestamp as Instant;
use model::{Decision, Fault, StepId, Timestamp, WorkflowId, WorkflowState, limits};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::str::FromStr;
use store::{Browse, Filter, StoreError, WorkflowFilter};
use wire::{BulkBody, BulkFilter, ResolveBody};

/// An order as it is on record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BulkOrder {
    pub what: What,
    pub filter: BulkFilter,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ResolveBody>,
    pub why: String,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// How many were meant when it was asked for.
    pub matched: u64,
    pub more: bool,
    /// The queues of the key that asked, if it has a scope: no step of another queue is meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    Steps,
    Workflows,
}

/// What is done to each; of a step, none is a retry.
#[derive(Clone, Debug)]
pub enum Act {
    Step(Option<Verb>),
    Workflow(WorkflowVerb),
}

fn fault(field: &str, problem: impl Into<String>, fix: impl Into<String>) -> Fault {
    Fault { field: field.into(), problem: problem.into(), fix: fix.into() }
}

fn read<T: FromStr<Err: Display>>(field: &str, text: &str) -> Result<T, Fault> {
    text.parse()
        .map_err(|problem| fault(field, format!("`{text}` is not understood: {problem}"), "correct it"))
}

impl BulkOrder {
    /// Understood as far as it can be without looking at what it is about.
    pub fn of(body: BulkBody, by: String, scope: Vec<String>) -> Result<BulkOrder, Fault> {
        let what = match body.what.as_str() {
            "steps" => What::Steps,
            "workflows" => What::Workflows,
            other => {
                return Err(fault("what", format!("`{other}` is not known"), "write steps or workflows"));
            }
        };
        if body.filter == BulkFilter::default() {
            return Err(fault(
                "filter",
                "nothing is said",
                "say which ones are meant, at least their `state`",
            ));
        }
        let rates = limits::BULK_PER_SECOND_MIN..=limits::BULK_PER_SECOND_MAX;
        if let Some(rate) = body.per_second.filter(|rate| !rates.contains(rate)) {
            let fix = format!("write 0.0167, which is one in a minute, to {}", limits::BULK_PER_SECOND_MAX);
            return Err(fault("per_second", format!("{rate} is out of range"), fix));
        }
        let why =
            explained(body.why).map_err(|refused| fault("why", refused.to_string(), "say it shorter"))?;
        if why.is_none() && !body.dry_run {
            return Err(fault("why", "it is not said", "say why; it goes into the audit of each"));
        }
        let order = BulkOrder {
            what,
            filter: body.filter,
            verb: body.verb,
            decision: body.decision,
            why: why.unwrap_or_default(),
            by,
            per_second: body.per_second,
            matched: 0,
            more: false,
            scope,
        };
        order.act()?;
        match what {
            What::Steps => order.steps().map(drop)?,
            What::Workflows => order.workflows().map(drop)?,
        }
        Ok(order)
    }

    pub fn act(&self) -> Result<Act, Fault> {
        match (self.what, &self.verb, &self.decision) {
            (What::Steps, Some(verb), None) if verb == "retry" => Ok(Act::Step(None)),
            (What::Steps, Some(verb), None) => {
                let known = Verb::ALL.into_iter().find(|known| known.word() == verb);
                known.map(|verb| Act::Step(Some(verb))).ok_or_else(|| {
                    let words: Vec<&str> = Verb::ALL.iter().map(|verb| verb.word()).collect();
                    fault(
                        "verb",
                        format!("`{verb}` is not known"),
                        format!("write {} or retry", words.join(", ")),
                    )
                })
            }
            (What::Workflows, Some(verb), None) => {
                let known = WorkflowVerb::plain().into_iter().find(|known| known.word() == verb);
                known.map(Act::Workflow).ok_or_else(|| {
                    let words: Vec<&str> = WorkflowVerb::plain().iter().map(WorkflowVerb::word).collect();
                    fault(
                        "verb",
                        format!("`{verb}` is not known"),
                        format!("write one of {}", words.join(", ")),
                    )
                })
            }
            (What::Workflows, None, Some(body)) => {
                let decision = convert::decision(body)?;
                Ok(Act::Workflow(WorkflowVerb::Resolve(decision)))
            }
            (What::Steps, None, Some(_)) => {
                Err(fault("decision", "nothing is decided about a step", "write `verb`"))
            }
            _ => {
                Err(fault("verb", "it is not said what is done", "write `verb`, or for workflows `decision`"))
            }
        }
    }

    /// More than a few are done something to only by somebody who knows how many they are.
    pub fn confirmed(&self, confirm: Option<u64>) -> Result<(), Fault> {
        let (n, max) = (self.matched, limits::BULK_UNCONFIRMED_MAX as u64);
        if n <= max || confirm.is_some_and(|confirmed| confirmed >= n) {
            return Ok(());
        }
        let found = if self.more { format!("more than {n} are meant") } else { format!("{n} are meant") };
        let problem = match confirm {
            Some(confirmed) => format!("{found}, and {confirmed} were confirmed"),
            None => format!("{found}, and more than {max} need to be confirmed"),
        };
        Err(fault("confirm", problem, format!("send `confirm: {n}` if that is what you want")))
    }

    /// What is done, in one word.
    pub fn word(&self) -> String {
        match self.act() {
            Ok(Act::Step(verb)) => verb.map_or("retry", |verb| verb.word()).into(),
            Ok(Act::Workflow(verb)) => verb.word().into(),
            Err(_) => self.verb.clone().unwrap_or_default(),
        }
    }

    pub fn steps(&self) -> Result<Filter, Fault> {
        let said = &self.filter;
        let strange = [
            ("workflow", said.workflow.is_some()),
            ("version", said.version.is_some()),
            ("labels", !said.labels.is_empty()),
            ("from", said.from.is_some()),
            ("to", said.to.is_some()),
            ("quiet_since", said.quiet_since.is_some()),
        ];
        no_others(&strange, "workflows")?;
        Ok(Filter {
            states: said.state.iter().map(|word| read("filter.state", word)).collect::<Result<_, _>>()?,
            action: said.action.clone(),
            queue: said.queue.clone(),
            queues: self.scope.clone(),
            dispatch_group: said.dispatch_group.clone(),
            step_key: said.step_key.clone(),
            relatable_type: said.relatable_type.clone(),
            relatable_id: said.relatable_id.clone(),
            block: said.block_id.as_deref().map(|text| read("filter.block_id", text)).transpose()?,
            workflow: said.workflow_id.as_deref().map(|text| read("filter.workflow_id", text)).transpose()?,
            message_group: said.message_group.clone(),
            pool: said.pool.clone(),
            ..Filter::default()
        })
    }

    /// A decision is about those that failed, unless another state is said.
    pub fn workflows(&self) -> Result<WorkflowFilter, Fault> {
        let said = &self.filter;
        let strange = [
            ("action", said.action.is_some()),
            ("queue", said.queue.is_some()),
            ("dispatch_group", said.dispatch_group.is_some()),
            ("step_key", said.step_key.is_some()),
            ("relatable_type", said.relatable_type.is_some()),
            ("relatable_id", said.relatable_id.is_some()),
            ("block_id", said.block_id.is_some()),
            ("workflow_id", said.workflow_id.is_some()),
            ("message_group", said.message_group.is_some()),
            ("pool", said.pool.is_some()),
        ];
        no_others(&strange, "steps")?;
        let mut states: Vec<WorkflowState> =
            said.state.iter().map(|word| read("filter.state", word)).collect::<Result<_, _>>()?;
        let decision = match self.act()? {
            Act::Workflow(WorkflowVerb::Resolve(decision)) => Some(decision),
            _ => None,
        };
        if let Some(decision) = decision.as_ref().filter(|_| states.is_empty()) {
            states.push(match decision {
                Decision::RetryCompensation | Decision::SkipCompensation { .. } => {
                    WorkflowState::CompensationFailed
                }
                _ => WorkflowState::Failed,
            });
        }
        Ok(WorkflowFilter {
            states,
            definition: said.workflow.clone(),
            version: said.version.clone(),
            labels: said.labels.clone().into_iter().collect(),
            created_from: said.from.as_deref().map(|text| instant("filter.from", text)).transpose()?,
            created_to: said.to.as_deref().map(|text| instant("filter.to", text)).transpose()?,
            quiet_since: said
                .quiet_since
                .as_deref()
                .map(|text| instant("filter.quiet_since", text))
                .transpose()?,
            unresolved: decision.is_some(),
            ..WorkflowFilter::default()
        })
    }

    /// The next ones that are meant, newest first, behind an id.
    pub fn items(&self, browse: &Browse, after: &str, limit: usize) -> Result<Vec<Item>, StoreError> {
        let corrupt = |fault: Fault| StoreError::Refused(fault.to_string());
        match self.what {
            What::Steps => {
                let after: Option<StepId> = after.parse().ok();
                let ids = browse.step_ids(&Filter { after, limit, ..self.steps().map_err(corrupt)? })?;
                Ok(ids.into_iter().map(Item::Step).collect())
            }
            What::Workflows => {
                let after: Option<WorkflowId> = after.parse().ok();
                let filter = WorkflowFilter { after, limit, ..self.workflows().map_err(corrupt)? };
                Ok(browse.workflow_ids(&filter)?.into_iter().map(Item::Workflow).collect())
            }
        }
    }

    /// How many are meant, and whether there are more than are counted.
    pub fn count(&self, browse: &Browse) -> Result<(u64, bool), StoreError> {
        let corrupt = |fault: Fault| StoreError::Refused(fault.to_string());
        let most = limits::BULK_COUNT_MAX + 1;
        let found = match self.what {
            What::Steps => browse.count_steps(&self.steps().map_err(corrupt)?, most)?,
            What::Workflows => browse.count_workflows(&self.workflows().map_err(corrupt)?, most)?,
        };
        let max = limits::BULK_COUNT_MAX as u64;
        Ok((found.min(max), found > max))
    }
}

fn no_others(said: &[(&str, bool)], whose: &str) -> Result<(), Fault> {
    match said.iter().find(|(_, is_said)| *is_said) {
        Some((name, _)) => Err(fault(&format!("filter.{name}"), format!("it is of {whose}"), "leave it out")),
        None => Ok(()),
    }
}

fn instant(field: &str, text: &str) -> Result<Timestamp, Fault> {
    let read: Result<Instant, _> = text.parse();
    let fix = "write one such as 2027-01-15T08:00:00Z";
    read.map(|at| Timestamp(at.as_microsecond()))
        .map_err(|_| fault(field, format!("`{text}` is not an instant"), fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(json: &str) -> Result<BulkOrder, String> {
        let body: BulkBody = serde_json::from_str(json).unwrap();
        BulkOrder::of(BulkBody { why: Some("late".into()), ..body }, "anna".into(), Vec::new())
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn what_is_not_understood_is_told_with_its_field() {
        for (json, told) in [
            (r#"{"what": "pools"}"#, "what: `pools` is not known; write steps or workflows"),
            (r#"{"what": "steps", "verb": "retry"}"#, "filter: nothing is said; say which ones"),
            (r#"{"what": "steps", "filter": {"state": ["failed"]}}"#, "verb: it is not said what is done"),
            (r#"{"what": "steps", "filter": {"state": ["x"]}, "verb": "retry"}"#, "filter.state: `x` is not"),
            (
                r#"{"what": "steps", "filter": {"state": ["failed"]}, "verb": "eat"}"#,
                "verb: `eat` is not known",
            ),
            (
                r#"{"what": "steps", "filter": {"labels": {"a": "b"}}, "verb": "retry"}"#,
                "filter.labels: it is of workflows; leave it out",
            ),
            (
                r#"{"what": "workflows", "filter": {"queue": "a"}, "verb": "cancel"}"#,
                "filter.queue: it is of steps; leave it out",
            ),
            (
                r#"{"what": "steps", "filter": {"quiet_since": "2027-01-15T08:00:00Z"}, "verb": "retry"}"#,
                "filter.quiet_since: it is of workflows; leave it out",
            ),
            (
                r#"{"what": "workflows", "filter": {"quiet_since": "1d"}, "verb": "cancel"}"#,
                "filter.quiet_since: `1d` is not an instant",
            ),
            (
                r#"{"what": "workflows", "filter": {"from": "now"}, "verb": "cancel"}"#,
                "filter.from: `now` is not an instant",
            ),
            (
                r#"{"what": "steps", "filter": {"queue": "a"}, "verb": "skip", "per_second": 0}"#,
                "per_second: 0 is out of range; write 0.0167, which is one in a minute, to 10000",
            ),
            (
                r#"{"what": "steps", "filter": {"queue": "a"}, "verb": "skip", "per_second": 0.0166}"#,
                "per_second: 0.0166 is out of range",
            ),
        ] {
            let refused = order(json).unwrap_err();
            assert!(refused.starts_with(told), "{refused}");
        }
    }

    #[test]
    fn a_decision_is_about_what_failed_and_is_undecided() {
        let json =
            r#"{"what": "workflows", "filter": {"workflow": "order"}, "decision": {"decision": "retry"}}"#;
        let read = order(json).unwrap();
        let filter = read.workflows().unwrap();
        assert_eq!((filter.states, filter.unresolved), (vec![WorkflowState::Failed], true));
        assert_eq!((read.word().as_str(), read.why.as_str()), ("retry", "late"));
        let stored: BulkOrder = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
        assert_eq!(stored.word(), "retry");
    }
}
