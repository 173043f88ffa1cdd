//! Subscriptions as they are on record, by pages.

use crate::convert;
use model::SubscriptionId;
use store::{Browse, Result};

/// Oldest first, behind one.
pub fn subscriptions(
    browse: &Browse,
    after: Option<SubscriptionId>,
    limit: usize,
) -> Result<wire::SubscriptionPage> {
    // One row more than wanted tells whether there is a next page.
    let mut rows = browse.subscriptions(after, limit + 1)?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|row| row.id.to_string());
    Ok(wire::SubscriptionPage { subscriptions: rows.iter().map(convert::subscription_view).collect(), next })
}
