//! What is asked of an engine, and what becomes of its answer.

use super::flows;
use super::op::{Held, Op, Sketch, Told};
use super::side::Side;
use engine::{EngineError, GroupOperation, Operation, StartWorkflow, TriggerOrder, WorkflowOperation};
use model::{
    Breaker, Delivery, DeliveryError, DeliveryStatus, DispatchGroup, LogLine, NewStep, Outcome, Report,
    Timestamp,
};
use std::pin::Pin;
use store::{Clock, Retaining};

/// To be done with the answer, on the side that asked.
pub type After = Box<dyn FnOnce(&mut Side) + Send>;
pub type Asked = Pin<Box<dyn Future<Output = After> + Send>>;

fn after(act: impl FnOnce(&mut Side) + Send + 'static) -> After {
    Box::new(act)
}

pub fn ask(side: &Side, op: &Op) -> Asked {
    match op {
        Op::Create(_) | Op::Report(_) | Op::Heartbeat { .. } => work(side, op),
        Op::Join(_) | Op::Pause(_) | Op::Leave(_) => attend(side, op),
        Op::Define | Op::StartWorkflow { .. } | Op::OperateWorkflow { .. } | Op::Trigger { .. } => {
            flow(side, op)
        }
        _ => direct(side, op),
    }
}

fn work(side: &Side, op: &Op) -> Asked {
    let engine = side.engine();
    match op {
        Op::Create(sketches) => {
            let steps: Vec<NewStep> = sketches.iter().map(|s| new_step(side, s)).collect();
            Box::pin(async move {
                let created = engine.create(steps).await;
                after(move |side| {
                    created.iter().flatten().for_each(|c| side.see_step(c.id));
                    side.tell(&created);
                })
            })
        }
        Op::Report(told) => {
            let reports = told.iter().map(|t| report(side, t)).collect();
            Box::pin(async move {
                let answers = engine.report(reports).await;
                after(move |side| side.tell(&answers))
            })
        }
        Op::Heartbeat { session, received, held } => {
            let (number, received, id) = (*session, *received, side.session(*session));
            let held = held.iter().map(|h| (side.step(h.step), h.attempt)).collect();
            Box::pin(async move {
                let revoked = engine.heartbeat(id, received, held).await;
                after(move |side| {
                    if revoked == Err(EngineError::NoSession) {
                        side.answer.gone.push(number);
                    }
                    side.tell(&revoked);
                })
            })
        }
        _ => unreachable!("no work"),
    }
}

fn attend(side: &Side, op: &Op) -> Asked {
    let engine = side.engine();
    match op {
        Op::Join(offer) => {
            let offer = offer.clone();
            Box::pin(async move {
                let joined = engine.join(offer).await;
                after(move |side| {
                    side.tell(&joined.as_ref().map(|handle| handle.id).map_err(Clone::clone));
                    joined.into_iter().for_each(|handle| side.joined(handle));
                })
            })
        }
        Op::Pause(n) | Op::Leave(n) => {
            let (id, give_back) = (side.session(*n), matches!(op, Op::Leave(_)));
            Box::pin(async move {
                let left =
                    if give_back { engine.end_session(id).await } else { engine.pause_session(id).await };
                after(move |side| side.tell(&left))
            })
        }
        _ => unreachable!("nobody comes or goes"),
    }
}

fn flow(side: &Side, op: &Op) -> Asked {
    let engine = side.engine();
    match op {
        Op::Define => Box::pin(async move {
            let mut applied = Vec::new();
            for definition in flows::definitions() {
                applied.push(engine.apply_definition(definition, "somebody".into()).await);
            }
            after(move |side| applied.iter().for_each(|one| side.tell(one)))
        }),
        Op::StartWorkflow { workflow, input } => {
            let input = serde_json::value::RawValue::from_string(input.clone()).ok();
            let start = StartWorkflow { input, ..StartWorkflow::of(workflow) };
            Box::pin(async move {
                let started = engine.start_workflow(start).await;
                after(move |side| {
                    side.workflows.extend(started.iter().map(|started| started.id));
                    side.tell(&started);
                })
            })
        }
        Op::OperateWorkflow { workflow, verb, dry_run, why } => {
            let (workflow, verb, dry_run, why) =
                (side.workflow(*workflow), verb.clone(), *dry_run, why.clone());
            let by = "somebody".into();
            let operation =
                WorkflowOperation { workflow, verb, by, why, dry_run, expected: None, force: None };
            Box::pin(async move {
                let done = engine.operate_workflow(operation).await;
                after(move |side| {
                    side.tell(&done);
                    side.answered_early |= dry_run;
                })
            })
        }
        Op::Trigger { workflow, trigger, payload, message } => {
            let workflow = side.workflow(*workflow);
            let order = TriggerOrder::of(workflow, trigger, (*payload).into(), "somebody");
            let order = TriggerOrder { webhook_id: message.clone(), ..order };
            Box::pin(async move {
                let triggered = engine.trigger(order).await;
                after(move |side| side.tell(&triggered))
            })
        }
        _ => unreachable!("nothing about workflows"),
    }
}

fn direct(side: &Side, op: &Op) -> Asked {
    let engine = side.engine();
    match op {
        Op::Operate { step, verb, dry_run, why } => {
            let (step, verb, dry_run, why) = (side.step(*step), *verb, *dry_run, why.clone());
            let operation = Operation { step, by: "somebody".into(), why, verb, dry_run, expected: None };
            Box::pin(async move {
                let done = engine.operate(operation).await;
                after(move |side| {
                    done.iter().flat_map(|d| &d.moves).for_each(|(id, _, _)| side.see_step(*id));
                    side.tell(&done);
                    side.answered_early |= dry_run;
                })
            })
        }
        Op::OperateGroup { group, verb, dry_run, why } => {
            let (message_group, verb, dry_run, why) = ((*group).into(), *verb, *dry_run, why.clone());
            let operation =
                GroupOperation { message_group, verb, head: None, by: "somebody".into(), why, dry_run };
            Box::pin(async move {
                let done = engine.operate_group(operation).await;
                after(move |side| {
                    let new = done.iter().flat_map(|done| &done.replaced).filter_map(|(_, new)| *new);
                    new.for_each(|id| side.see_step(id));
                    side.tell(&done);
                    side.answered_early |= dry_run;
                })
            })
        }
        Op::Breaker { scope, off, until, why } => {
            let scope = scope.as_deref().map(DispatchGroup::new);
            let (by, why, since) = (Some("somebody".into()), Some(why.clone()), Some(side.clock.now()));
            let breaker = Breaker { off: *off, why, by, since, until: *until };
            Box::pin(async move {
                let set = engine.set_breaker(scope, breaker, "somebody").await;
                after(move |side| side.tell(&set))
            })
        }
        Op::Tick { mode, dispatch, only } => {
            let (mode, dispatch, only) = (*mode, *dispatch, only.as_deref().map(DispatchGroup::new));
            Box::pin(async move {
                let ticked = engine.tick(mode, dispatch, only).await;
                after(move |side| side.tell(&ticked))
            })
        }
        Op::Retain { what, dry_run } => {
            let what = *what;
            let how = if *dry_run { Retaining::Tried } else { Retaining::Done(store::Asked::by("anna")) };
            Box::pin(async move {
                let retained = engine.with_store(move |store| store.retain(what, how)).await;
                after(move |side| side.tell(&retained))
            })
        }
        other => unreachable!("an engine is not asked for {other:?}"),
    }
}

fn new_step(side: &Side, sketch: &Sketch) -> NewStep {
    let new = sketch.new.clone();
    NewStep {
        parent_step_id: sketch.parent.map(|n| side.step(n)),
        block_id: sketch.block.map(|n| side.block(n)).or(new.block_id),
        children: sketch.children.iter().map(|child| new_step(side, child)).collect(),
        ..new
    }
}

/// Every other run has handed its step to a target.
fn delivered(attempt: u32) -> Option<Delivery> {
    (attempt % 2 == 1).then(|| Delivery {
        status: DeliveryStatus::ALL[attempt as usize % 3],
        http_code: Some(200),
        error_type: DeliveryError::ALL.get(attempt as usize % 6).copied(),
        response_body: Some(format!("answer {attempt}\0")),
        started_at: Timestamp(attempt.into()),
        duration_ms: attempt.into(),
    })
}

fn report(side: &Side, told: &Told) -> Report {
    let outcome = match told.outcome.clone() {
        Outcome::Children { response, success, .. } => {
            let children = told.children.iter().map(|child| new_step(side, child)).collect();
            Outcome::Children { response, children, success }
        }
        other => other,
    };
    let Held { session, step, attempt } = told.held;
    let line = |n: u32| LogLine { at: Timestamp(n.into()), text: format!("line {n} of run {attempt}\0") };
    let log = (0..attempt % 3).map(line).collect();
    Report {
        session: side.session(session),
        step: side.step(step),
        attempt,
        outcome,
        log,
        delivery: delivered(attempt),
    }
}
