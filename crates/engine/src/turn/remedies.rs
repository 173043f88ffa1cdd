//! What is done about things that are stuck: the same fenced moves as an operator's, in the name of the rule.

use super::node::{Node, Turn};
use crate::EngineError;
use crate::request::{GroupOperation, Operation, Reply, WorkflowOperation, WorkflowVerb};
use crate::stuck::Seen;
use model::{
    Decision, NewStep, Remedy, StepId, StuckCall, StuckRule, Timestamp, Watched, WorkflowId, WorkflowState,
};
use rules::fifo::GroupVerb;
use rules::operator::Verb;
use serde_json::{Value, json};
use store::Result;
use tokio::sync::oneshot;

/// What became of a remedy, as far as it is known in the turn, with the step that carries it out, where it is one: what another node decides
/// about is seen with the next look.
type Applied = std::result::Result<Option<StepId>, String>;

impl Node {
    pub(super) fn remedy(
        &mut self,
        turn: &mut Turn,
        seen: &Seen,
        remedy: Remedy,
        now: Timestamp,
    ) -> Result<Applied> {
        let id = seen.finding.acts_on.as_deref().unwrap_or(&seen.finding.entity_id).to_string();
        match seen.rule.entity {
            Some(Watched::Step) => self.remedy_step(turn, seen, (remedy, &id), now),
            Some(Watched::Workflow | Watched::Pause | Watched::Compensation) => {
                self.remedy_workflow(turn, seen, (remedy, &id), now)
            }
            Some(Watched::MessageGroup) => self.remedy_group(turn, seen, (remedy, &id), now),
            Some(Watched::Flow) | None => self.remedy_by_action(turn, seen, remedy, now),
            Some(other @ (Watched::DispatchGroup | Watched::Breaker)) => {
                Ok(Err(format!("nothing can be done to a {other} by itself")))
            }
        }
    }

    fn remedy_step(
        &mut self,
        turn: &mut Turn,
        seen: &Seen,
        (remedy, id): (Remedy, &str),
        now: Timestamp,
    ) -> Result<Applied> {
        let Ok(step) = id.parse::<StepId>() else { return Ok(Err(format!("`{id}` is no step"))) };
        let verb = match remedy {
            Remedy::Cancel => Some(Verb::Cancel),
            _ => None,
        };
        let (by, why) = (seen.rule.operator(), seen.finding.message.clone());
        let (reply, answer) = reply();
        self.operate(turn, Operation { step, by, why, verb, dry_run: false, expected: None }, reply, now)?;
        Ok(outcome(answer))
    }

    fn remedy_workflow(
        &mut self,
        turn: &mut Turn,
        seen: &Seen,
        (remedy, id): (Remedy, &str),
        now: Timestamp,
    ) -> Result<Applied> {
        let Ok(workflow) = id.parse::<WorkflowId>() else { return Ok(Err(format!("`{id}` is no workflow"))) };
        let is = |state: WorkflowState| seen.finding.state.as_deref() == Some(state.word());
        let verb = match remedy {
            Remedy::Cancel => WorkflowVerb::Cancel,
            _ if seen.rule.entity == Some(Watched::Compensation) => {
                WorkflowVerb::Resolve(Decision::RetryCompensation)
            }
            _ if is(WorkflowState::Paused) => WorkflowVerb::Resume,
            _ => WorkflowVerb::Resolve(Decision::RETRY),
        };
        let (by, why) = (seen.rule.operator(), seen.finding.message.clone());
        let operation =
            WorkflowOperation { workflow, verb, by, why, dry_run: false, expected: None, force: None };
        let (reply, answer) = reply();
        self.operate_workflow(turn, operation, reply, now)?;
        Ok(outcome(answer))
    }

    fn remedy_group(
        &mut self,
        turn: &mut Turn,
        seen: &Seen,
        (remedy, id): (Remedy, &str),
        now: Timestamp,
    ) -> Result<Applied> {
        let verb = match remedy {
            Remedy::Cancel => GroupVerb::Cancel,
            _ => GroupVerb::Requeue,
        };
        let (by, why) = (seen.rule.operator(), seen.finding.message.clone());
        let operation =
            GroupOperation { message_group: id.into(), verb, head: None, by, why, dry_run: false };
        let (reply, answer) = reply();
        self.operate_group(turn, operation, reply, now)?;
        Ok(outcome(answer))
    }

    /// What is not ours is set right by an action of its owner: the rule's, which is told what and why, or the flow's own, which is given what
    /// was declared for it, as when a person asks for it.
    fn remedy_by_action(
        &mut self,
        turn: &mut Turn,
        seen: &Seen,
        remedy: Remedy,
        now: Timestamp,
    ) -> Result<Applied> {
        let finding = &seen.finding;
        let (call, arguments) = match &seen.rule.remedy_by {
            Some(call) => (call.clone(), told(call, seen, remedy)),
            None => match declared(seen, remedy) {
                Some(own) => (own.clone(), own.arguments),
                None => return Ok(Err(format!("no action is named that can {remedy} it"))),
            },
        };
        let step = NewStep {
            relatable_type: Some(finding.entity.clone()),
            relatable_id: Some(finding.entity_id.clone()),
            ..asking(&seen.rule, &call, &arguments)
        };
        self.make_one(turn, step, now).map(|made| made.map(Some))
    }

    /// Ask an action for things that are stuck.
    pub(super) fn ask_for_stuck(
        &mut self,
        turn: &mut Turn,
        rule: &StuckRule,
        now: Timestamp,
    ) -> Result<std::result::Result<StepId, String>> {
        let Some(call) = &rule.detect else { return Ok(Err("it names no action".into())) };
        let step = NewStep {
            relatable_type: Some("stuck_rule".into()),
            relatable_id: Some(rule.name.clone()),
            ..asking(rule, call, &call.arguments)
        };
        self.make_one(turn, step, now)
    }

    fn make_one(
        &mut self,
        turn: &mut Turn,
        step: NewStep,
        now: Timestamp,
    ) -> Result<std::result::Result<StepId, String>> {
        match self.plan(turn, &[step], now)? {
            Ok(plan) => {
                let made = plan.roots.first().copied();
                self.carry_out(turn, plan)?;
                Ok(made.ok_or_else(|| "nothing was made".into()))
            }
            Err(faults) => Ok(Err(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))),
        }
    }
}

/// The action that a flow declared for this when it was started. Things of others' tables declare none: what they report is data.
fn declared(seen: &Seen, remedy: Remedy) -> Option<StuckCall> {
    (seen.rule.entity == Some(Watched::Flow)).then_some(())?;
    let action = seen.finding.data.get(format!("{remedy}_action"))?;
    serde_json::from_value(action.clone()).ok()
}

/// What the rule's action is told.
fn told(call: &StuckCall, seen: &Seen, remedy: Remedy) -> Value {
    let finding = &seen.finding;
    json!({
        "remedy": remedy,
        "entity_type": finding.entity,
        "entity_id": finding.entity_id,
        "user": finding.user,
        "reason": finding.reason,
        "message": finding.message,
        "labels": finding.labels,
        "data": finding.data,
        "arguments": call.arguments,
    })
}

fn asking(rule: &StuckRule, call: &StuckCall, arguments: &Value) -> NewStep {
    let step =
        NewStep { queue: call.queue.clone(), label: Some(rule.operator()), ..NewStep::of(&call.action) };
    if arguments.is_null() { step } else { step.with(arguments).expect("JSON is plain data") }
}

type Answer<T> = oneshot::Receiver<std::result::Result<T, EngineError>>;

fn reply<T>() -> (Reply<T>, Answer<T>) {
    let (caller, answer) = oneshot::channel();
    (Reply::Caller(caller), answer)
}

/// A refusal is known at once; anything else when the turn is durable, and then it is seen.
fn outcome<T>(mut answer: Answer<T>) -> Applied {
    match answer.try_recv() {
        Ok(Err(refused)) => Err(refused.to_string()),
        _ => Ok(None),
    }
}
