//! Tracked flows for people: lists, and one with its steps and its history.

use crate::convert;
use model::FlowId;
use store::flows::FlowFilter;
use store::{Browse, Result};

/// Up to `filter.limit` flows, newest first, and the cursor of the next page when there is one.
pub fn flows(browse: &Browse, filter: &FlowFilter) -> Result<wire::FlowPage> {
    let (flows, next) = browse.flows(filter)?;
    let next = next.map(|id| id.to_string());
    Ok(wire::FlowPage { flows: flows.iter().map(convert::flow_view).collect(), next })
}

pub fn flow(browse: &Browse, id: FlowId) -> Result<Option<wire::FlowShow>> {
    Ok(browse.flow(id)?.map(|shown| convert::flow_show(&shown)))
}
