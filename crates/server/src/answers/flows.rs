//! Tracked flows for people: lists, and one with its steps and its history.

use crate::convert;
use model::FlowId;
use store::flows::FlowFilter;
use store::{Browse, Result};

/// Up to `filter.limit` flows, newest first, and the cursor of the next page when there is one.
pub fn flows(browse: &Browse, filter: &FlowFilter) -> Result<wire::FlowPage> {
    page(filter, &|filter| browse.flows(filter))
}

pub(super) fn page(
    filter: &FlowFilter,
    read: &dyn Fn(&FlowFilter) -> Result<Vec<model::Flow>>,
) -> Result<wire::FlowPage> {
    let limit = filter.limit.max(1);
    // One row more than wanted tells whether there is a next page.
    let mut flows = read(&FlowFilter { limit: limit + 1, ..filter.clone() })?;
    let more = flows.len() > limit;
    flows.truncate(limit);
    let next = flows.last().filter(|_| more).map(|flow| flow.id.to_string());
    Ok(wire::FlowPage { flows: flows.iter().map(convert::flow_view).collect(), next })
}

pub fn flow(browse: &Browse, id: FlowId) -> Result<Option<wire::FlowShow>> {
    Ok(browse.flow(id)?.map(|shown| convert::flow_show(&shown)))
}
