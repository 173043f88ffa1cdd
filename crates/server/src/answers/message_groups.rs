//! Message groups whose names begin like something, or that are held back like something.
//!
//! Why    names stand in an index, so those that begin alike stand together and no other is read.

use crate::convert;
use store::{Browse, Held, MessageGroup, Result};

/// Which message groups.
#[derive(Clone, Debug, Default)]
pub struct GroupFilter {
    /// How the name begins.
    pub begins: String,
    /// What holds it back; none if that does not matter.
    pub held: Option<Held>,
    /// Behind this name.
    pub after: Option<String>,
    pub limit: usize,
}

/// Those with something to do, or held back, by name.
pub fn message_groups(browse: &Browse, filter: &GroupFilter) -> Result<wire::MessageGroupPage> {
    let GroupFilter { begins, held, after, limit } = filter;
    let (limit, behind) = (*limit, after.as_deref().unwrap_or_default().max(begins));
    // The one that has just this name stands before those that begin with it.
    let mut groups: Vec<MessageGroup> = match after {
        None if !begins.is_empty() => browse.message_group(begins)?.into_iter().collect(),
        _ => Vec::new(),
    };
    groups.retain(|group| held.is_none_or(|held| held.holds(group)));
    groups.extend(match held {
        None => browse.message_groups(behind, limit + 1)?,
        Some(held) => browse.message_groups_held(*held, behind, limit + 1)?,
    });
    groups.retain(|group| group.name.starts_with(begins.as_str()));
    let more = groups.len() > limit;
    groups.truncate(limit);
    let next = groups.last().filter(|_| more).map(|group| group.name.to_string());
    let message_groups = groups.iter().map(convert::message_group_view).collect();
    Ok(wire::MessageGroupPage { message_groups, next })
}
