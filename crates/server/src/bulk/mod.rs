//! The same done to many steps or workflows: a workflow of our own, whose one step is polled until all of them were asked.
//!
//! Why    a poll keeps what it said, waits without a worker, survives a restart and can be cancelled between two of its times. So a bulk
//!        operation needs no machinery of its own (decision 0025): each time it asks one batch, through the same fenced and audited verbs
//!        that a person uses, and says how far it is. A batch that a lost worker had begun is judged again: what has moved is not found again.

mod order;
mod preview;

pub use order::{BulkOrder, What};
pub use preview::preview;

use crate::error::ApiError;
use crate::readers::Readers;
use engine::{Engine, EngineError, Operation, Stopwatch, WorkflowOperation};
use futures_util::future::join_all;
use model::{StepId, WorkflowId, limits};
use order::Act;
use std::sync::Arc;
use std::time::Duration;
use store::{Browse, Database, StoreError};
use wire::{BulkProgress, BulkRefusal};

/// The action that a worker beside the server runs.
pub const BULK_ACTION: &str = "stepfast.bulk";
/// The workflow that it is a step of.
pub const WORKFLOW: &str = "stepfast-bulk";
pub const DEFINITION: &str = include_str!("definition.yaml");

/// How many refusals are told.
const REFUSALS_TOLD: usize = 5;
/// Bytes of one; they stay small enough to be on record whole.
const REFUSAL_BYTES: usize = 400;
/// A quarter of the time is taken where nobody says how fast.
const RESTS: u32 = 3;

/// One of those that are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    Step(StepId),
    Workflow(WorkflowId),
}

impl std::fmt::Display for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Item::Step(id) => write!(f, "{id}"),
            Item::Workflow(id) => write!(f, "{id}"),
        }
    }
}

/// What came of one batch.
pub enum BulkTurn {
    /// There are more; the next batch after this rest.
    Rest {
        progress: BulkProgress,
        wait: Duration,
    },
    Over(BulkProgress),
}

/// Whoever does it; clones share their connections.
#[derive(Clone)]
pub struct Bulk {
    engine: Engine,
    readers: Arc<Readers>,
}

impl Bulk {
    pub fn new(engine: Engine, database: Database) -> Bulk {
        Bulk { engine, readers: Arc::new(Readers::new(database)) }
    }

    /// Ask for the next batch behind what was asked for before. What was made after the operation itself is not meant.
    pub async fn batch(
        &self,
        order: &BulkOrder,
        before: Option<BulkProgress>,
        own: WorkflowId,
    ) -> Result<BulkTurn, String> {
        let (mut progress, watch) = (before.unwrap_or_default(), Stopwatch::start());
        let act = order.act().map_err(|fault| fault.to_string())?;
        let after = progress.after.clone().unwrap_or_else(|| own.to_string());
        let (filter, at, most) = (order.clone(), after.clone(), batch_of(order.per_second));
        let read = move |browse: &Browse| Ok((is_ours(browse, own)?, filter.items(browse, &at, most)?));
        let (is_ours, items) = self.readers.read(read).await.map_err(|problem| problem.to_string())?;
        if !is_ours {
            return Err("nobody asked for this at /v1/bulk".into());
        }
        let asked = items.iter().map(|item| self.ask(&act, order, *item, DryRun::No));
        for (item, answer) in items.iter().zip(join_all(asked).await) {
            note(&mut progress, *item, answer?);
        }
        progress.after = items.last().map_or(Some(after), |item| Some(item.to_string()));
        if items.len() < most {
            return Ok(BulkTurn::Over(progress));
        }
        let wait = rest(items.len(), watch.elapsed(), order.per_second);
        Ok(BulkTurn::Rest { progress, wait })
    }

    /// Where it went, or why it was refused. What is no fault of the item ends the batch.
    async fn ask(
        &self,
        act: &Act,
        order: &BulkOrder,
        item: Item,
        dry_run: DryRun,
    ) -> Result<Result<String, String>, String> {
        let (by, why, dry_run) = (order.by.clone(), order.why.clone(), dry_run == DryRun::Yes);
        let moved = |from: String, to: String| format!("{from} -> {to}");
        let answer = match (act, item) {
            (Act::Step(verb), Item::Step(step)) => {
                let operation = Operation { step, by, why, verb: *verb, dry_run, expected: None };
                let done = self.engine.operate(operation).await;
                done.map(|done| moved(done.from.to_string(), done.to.to_string()))
            }
            (Act::Workflow(verb), Item::Workflow(workflow)) => {
                let verb = verb.clone();
                let operation =
                    WorkflowOperation { workflow, verb, by, why, dry_run, expected: None, force: None };
                let done = self.engine.operate_workflow(operation).await;
                done.map(|done| moved(done.from.to_string(), done.to.to_string()))
            }
            _ => return Err("what is asked for does not fit what is found".into()),
        };
        match answer {
            Ok(moved) => Ok(Ok(moved)),
            Err(problem @ (EngineError::Unavailable(_) | EngineError::Stopping)) => Err(problem.to_string()),
            Err(refused) => Ok(Err(refused.to_string())),
        }
    }

    /// The same for one, without doing it.
    async fn would(
        &self,
        act: &Act,
        order: &BulkOrder,
        item: Item,
    ) -> Result<Result<String, String>, ApiError> {
        let asked = self.ask(act, order, item, DryRun::Yes).await;
        asked.map_err(|problem| ApiError::Store(StoreError::Down(problem)))
    }
}

/// Whoever may start a workflow or write a definition cannot have things done in the name of others.
fn is_ours(browse: &Browse, own: WorkflowId) -> store::Result<bool> {
    let found = browse.workflow(own)?;
    Ok(found.is_some_and(|workflow| &*workflow.definition.key == WORKFLOW && workflow.parent.is_none()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DryRun {
    Yes,
    No,
}

fn note(progress: &mut BulkProgress, item: Item, answer: Result<String, String>) {
    progress.looked += 1;
    let Err(mut why) = answer else {
        progress.done += 1;
        return;
    };
    progress.refused += 1;
    if progress.refusals.len() < REFUSALS_TOLD {
        why.truncate(why.floor_char_boundary(REFUSAL_BYTES));
        progress.refusals.push(BulkRefusal { id: item.to_string(), why });
    }
}

/// How many are asked for at once: no more than the longest rest makes up for.
fn batch_of(per_second: Option<f64>) -> usize {
    let in_a_rest = per_second.map(|rate| rate * limits::BULK_REST_MAX.as_secs_f64());
    in_a_rest.map_or(limits::BULK_BATCH, |n| (n as usize).clamp(1, limits::BULK_BATCH))
}

/// How long a batch that took so long is rested from.
fn rest(asked: usize, took: Duration, per_second: Option<f64>) -> Duration {
    let wait = match per_second {
        Some(rate) => {
            Duration::from_secs_f64(asked as f64 / rate.max(limits::BULK_PER_SECOND_MIN)).saturating_sub(took)
        }
        None => took * RESTS,
    };
    wait.clamp(limits::POLL_INTERVAL_MIN, limits::BULK_REST_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_part_of_the_time_is_taken_or_as_much_as_is_said() {
        let took = Duration::from_millis(20);
        assert_eq!(rest(64, took, None), Duration::from_millis(60));
        assert_eq!(rest(64, took, Some(64.0)), Duration::from_millis(980));
        assert_eq!(rest(64, took, Some(1e6)), limits::POLL_INTERVAL_MIN);
        assert_eq!(rest(64, took, Some(0.01)), limits::BULK_REST_MAX);
    }

    #[test]
    fn a_slow_order_asks_for_few_at_once_and_is_never_faster_than_it_says() {
        let slow = [limits::BULK_PER_SECOND_MIN, 0.1, 0.5, 1.0, 1.1, 64.0];
        assert_eq!(slow.map(|rate| batch_of(Some(rate))), [1, 6, 30, 60, 64, 64]);
        assert_eq!(batch_of(None), limits::BULK_BATCH);
        for rate in slow {
            let n = batch_of(Some(rate));
            let rested = rest(n, Duration::ZERO, Some(rate)).as_secs_f64();
            assert!(n as f64 / rested <= rate * 1.000_001, "{n} in {rested} s at {rate} in a second");
        }
    }

    #[test]
    fn what_is_told_stays_small_enough_to_be_on_record() {
        let mut progress = BulkProgress::default();
        let item = Item::Step(StepId::from_bytes([7; 16]));
        for _ in 0..10 {
            note(&mut progress, item, Err("é".repeat(1_000)));
        }
        note(&mut progress, item, Ok("failed -> running".into()));
        assert_eq!((progress.looked, progress.done, progress.refused), (11, 1, 10));
        assert!(serde_json::to_string(&progress).unwrap().len() < limits::POLL_RECORD_BYTES_MAX);
    }

    #[test]
    fn the_definition_can_be_read() {
        let read = definition::read(DEFINITION.as_bytes(), "definition.yaml").unwrap().definition;
        assert_eq!((read.workflow.as_str(), read.steps.len()), (WORKFLOW, 1));
    }
}
