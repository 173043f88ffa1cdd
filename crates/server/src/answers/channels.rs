//! Channels and what they were told, as they are on record.

use crate::convert;
use store::{Browse, Result};

pub fn channels(browse: &Browse) -> Result<wire::ChannelPage> {
    let channels = browse.channels()?;
    Ok(wire::ChannelPage {
        channels: channels.iter().map(|(stored, sends)| convert::channel_view(stored, sends)).collect(),
    })
}

pub fn channel(browse: &Browse, name: &str) -> Result<Option<wire::ChannelView>> {
    Ok(channels(browse)?.channels.into_iter().find(|channel| channel.name == name))
}

/// The last that any of them was told, newest first.
pub fn notices(browse: &Browse, limit: usize) -> Result<wire::NoticePage> {
    let notices = browse.notices(limit)?;
    Ok(wire::NoticePage { notices: notices.into_iter().map(convert::notice_view).collect() })
}
