//! Runs the bulk operations that a server was asked for: one batch at each poll.

use server::{BULK_ACTION, Bulk, BulkOrder, BulkTurn};
use stepfast::{Context, JobError, JobResult, Registry};
use wire::BulkProgress;
use worker::{fail, poll_again_after};

pub fn register(registry: &mut Registry, bulk: Bulk) {
    registry.job(BULK_ACTION, move |context: Context, order: BulkOrder| {
        let bulk = bulk.clone();
        async move { run(&bulk, &context, &order).await }
    });
}

async fn run(bulk: &Bulk, context: &Context, order: &BulkOrder) -> JobResult<BulkProgress> {
    let Some(of) = context.workflow() else {
        return Err(fail("this is done for bulk operations alone; ask for one at /v1/bulk"));
    };
    let before = context.previous_poll()?;
    match bulk.batch(order, before, of.id).await.map_err(JobError::msg)? {
        BulkTurn::Over(progress) => Ok(progress),
        BulkTurn::Rest { progress, wait } => Err(poll_again_after(&progress, wait)),
    }
}
