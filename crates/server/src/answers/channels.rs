//! Channels and what they were told, as they are on record.

use crate::convert;
use crate::pages::cut;
use store::{Browse, NoticePlace, Result};

pub fn channels(browse: &Browse) -> Result<wire::ChannelPage> {
    let channels = browse.channels()?;
    Ok(wire::ChannelPage {
        channels: channels.iter().map(|(stored, sends)| convert::channel_view(stored, sends)).collect(),
        next: None,
    })
}

pub fn channel(browse: &Browse, name: &str) -> Result<Option<wire::ChannelView>> {
    Ok(channels(browse)?.channels.into_iter().find(|channel| channel.name == name))
}

/// The last that any of them was told, newest first.
pub fn notices(browse: &Browse, limit: usize) -> Result<wire::NoticePage> {
    notices_behind(browse, None, limit)
}

/// What they were told, newest first, behind a place.
pub fn notices_behind(
    browse: &Browse,
    after: Option<&NoticePlace>,
    limit: usize,
) -> Result<wire::NoticePage> {
    let mut rows = browse.notices_behind(after, limit + 1)?;
    let next = cut(&mut rows, limit, |row| format!("{} {} {}", row.told_at.0, row.channel, row.key));
    Ok(wire::NoticePage { notices: rows.into_iter().map(convert::notice_view).collect(), next })
}
