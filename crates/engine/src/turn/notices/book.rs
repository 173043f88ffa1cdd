//! What a channel was sent, as far as it decides about the next notice.
//!
//! Why    turns are decided before the last ones are on disk, so whoever decides remembers what it has told.

use model::{Channel, ChannelSends, Notice, Timestamp, Waiting, limits};
use rules::notice::{Verdict, View, gather, is_past, judge, opens_at, together};
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use store::Result;
use store::channels as record;
use store::sql::Sql;

const MINUTE: Duration = Duration::from_secs(60);

/// When a key was told or will be, and when that was decided.
struct Told {
    at: Timestamp,
    decided_at: Timestamp,
}

#[derive(Default)]
pub struct Book {
    pub row: ChannelSends,
    /// Its row is to be written.
    pub changed: bool,
    /// When what was gathered is told.
    pub due_at: Option<Timestamp>,
    is_on_disk: bool,
    /// When something was sent in the last minute or will be, oldest first; the last ones decide when the next is.
    sends: Vec<Timestamp>,
    keys: HashMap<String, Told>,
    /// Keys of what is told as one.
    gathered: HashSet<String>,
}

impl Book {
    pub fn read(sql: &dyn Sql, channel: &Channel, now: Timestamp) -> Result<Book> {
        let row = record::sends_of(sql, &channel.name)?;
        let sends = record::recent(sql, &channel.name, now - MINUTE, limits::NOTICES_PER_MINUTE_MAX)?;
        let is_on_disk = row.is_some();
        let mut book = Book { row: row.unwrap_or_default(), is_on_disk, sends, ..Book::default() };
        book.reckon(channel, now);
        Ok(book)
    }

    pub fn judge(&self, channel: &Channel, key: &str, told_at: Option<Timestamp>, now: Timestamp) -> Verdict {
        if self.gathered.contains(key) {
            return Verdict::Quiet;
        }
        let told_at = self.keys.get(key).map(|told| told.at).max(told_at);
        judge(&View { channel, sends: &self.sends, told_at }, now)
    }

    pub fn sent(&mut self, channel: &Channel, (key, at): (&str, Timestamp), now: Timestamp) {
        self.sends.retain(|at| !is_past(*at, now));
        self.sends.insert(self.sends.partition_point(|sent| *sent <= at), at);
        let more = self.sends.len().saturating_sub(limits::NOTICES_PER_MINUTE_MAX as usize);
        self.sends.drain(..more);
        if self.keys.len() >= limits::NOTICE_KEYS_KNOWN_MAX {
            // What was decided a minute ago is on disk.
            self.keys.retain(|_, told| !is_past(told.decided_at, now));
        }
        self.keys.insert(key.into(), Told { at, decided_at: now });
        self.row.told += 1;
        self.changed = true;
        self.reckon(channel, now);
    }

    pub fn gather(&mut self, channel: &Channel, notice: &Notice, now: Timestamp) {
        if self.gathered.len() < limits::NOTICE_KEYS_KNOWN_MAX {
            self.gathered.insert(notice.key.clone());
        }
        self.row.waiting = Some(gather(self.row.waiting.take(), notice, now));
        self.row.gathered += 1;
        self.changed = true;
        self.reckon(channel, now);
    }

    /// What was counted elsewhere.
    pub fn add(&mut self, channel: &Channel, counted: Waiting, now: Timestamp) {
        self.row.gathered += counted.n;
        self.row.waiting = Some(together(self.row.waiting.take(), counted));
        self.changed = true;
        self.reckon(channel, now);
    }

    /// What was gathered is told.
    pub fn told_all(&mut self, now: Timestamp) {
        // Told as one they are not told again, for as long as they are remembered.
        let room = limits::NOTICE_KEYS_KNOWN_MAX.saturating_sub(self.keys.len());
        let told = |key| (key, Told { at: now, decided_at: now });
        self.keys.extend(self.gathered.drain().take(room).map(told));
        self.row.waiting = None;
        self.due_at = None;
        self.changed = true;
    }

    fn reckon(&mut self, channel: &Channel, now: Timestamp) {
        let due = || opens_at(&self.sends, channel.per_minute, now).unwrap_or(now);
        self.due_at = self.row.waiting.is_some().then(due);
    }

    /// Its row as it is stored, and the version that it had.
    pub fn written(&mut self) -> (ChannelSends, Option<u64>) {
        let expected = self.is_on_disk.then_some(self.row.version);
        self.changed = false;
        self.row.version = expected.map_or(0, |version| version + 1);
        self.is_on_disk = true;
        (self.row.clone(), expected)
    }
}
