//! What a bulk operation would come to: how many, and what would become of a few.

use super::{Bulk, BulkOrder};
use crate::error::ApiError;
use store::Browse;
use wire::{BulkPreview, BulkSample};

/// How many are tried.
const SAMPLE: usize = 5;
/// An id behind all others.
const LAST: &str = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/// Nothing is done.
pub async fn preview(bulk: &Bulk, order: &BulkOrder) -> Result<BulkPreview, ApiError> {
    let (act, looked) = (order.act().map_err(|fault| ApiError::Invalid(vec![fault]))?, order.clone());
    let read = move |browse: &Browse| Ok((looked.count(browse)?, looked.items(browse, LAST, SAMPLE)?));
    let ((matched, more), items) = bulk.readers.read(read).await?;
    let mut sample = Vec::with_capacity(items.len());
    for item in items {
        let (would, refused) = match bulk.would(&act, order, item).await? {
            Ok(moved) => (moved, false),
            Err(why) => (why, true),
        };
        sample.push(BulkSample { id: item.to_string(), would, refused });
    }
    Ok(BulkPreview { matched, more, sample })
}
