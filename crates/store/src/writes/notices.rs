//! The rows of what channels are told.

use super::{Plan, Values, values};
use crate::batch::{Batch, SendsWrite};
use crate::channels::NoticeRow;
use crate::sql::Param;
use crate::statements as sql;

impl<'a> Plan<'a> {
    pub(super) fn put_notices(&mut self, batch: &'a Batch) {
        self.put(sql::PUT_NOTICE, true, batch.notices.iter().map(notice).collect());
        let new = batch.channel_sends.iter().filter(|write| write.expected.is_none());
        self.put(sql::INSERT_CHANNEL_SENDS, true, new.map(new_sends).collect());
        let written = |write: &'a SendsWrite| write.expected.map(|expected| whole_sends(write, expected));
        self.put(sql::WRITE_CHANNEL_SENDS, true, batch.channel_sends.iter().filter_map(written).collect());
    }
}

/// For `put_notice.sql`.
fn notice(n: &NoticeRow) -> Values<'_> {
    values![
        &n.channel,
        &n.key,
        n.told_at,
        n.step.as_ref().map(|step| step.bytes()),
        &n.kind,
        n.severity.word(),
        &n.entity_type,
        &n.entity_id,
        &n.title,
    ]
}

fn waiting(write: &SendsWrite) -> Param<'static> {
    let text = |waiting| serde_json::to_string(waiting).expect("counts and names are plain data");
    write.sends.waiting.as_ref().map(text).into()
}

/// For `insert_channel_sends.sql`.
fn new_sends(write: &SendsWrite) -> Values<'_> {
    values![&write.channel, write.sends.told, write.sends.gathered, waiting(write)]
}

/// For `write_channel_sends.sql`.
fn whole_sends(write: &SendsWrite, expected: u64) -> Values<'_> {
    values![write.sends.told, write.sends.gathered, waiting(write), &write.channel, expected]
}
