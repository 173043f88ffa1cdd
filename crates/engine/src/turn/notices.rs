//! Notices: what channels are told becomes steps that deliver it, in the commit of what happened.
//!
//! Why    a channel is decided about in the dispatch group that follows from its name, as a message group is: so nothing is told twice and a
//!        limit is kept, however many nodes there are and whichever of them crashes. Without a channel there is nothing to do.

mod away;
mod book;
mod failures;

use super::node::{Node, Turn};
use crate::channels::open;
use crate::delivery::{Address, Parcel, patient};
use crate::request::Reply;
use crate::signal::Signal;
use crate::{EngineError, Keyring, SealError};
use away::Away;
use book::Book;
use model::{
    Audience, Channel, ChannelKind, DispatchGroup, NewStep, Notice, Severity, SignalId, StepId, Telling,
    Timestamp, Waiting, limits,
};
use rules::fifo;
use rules::notice::{Verdict, bounded, gather, letter, may_take, refusal, summary, takes};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::channels::{self as record, NoticeRow};
use store::{Batch, Result, SendsWrite};
use tracing::{error, warn};
use uuid::Uuid;

/// How long a node goes by the channels it has read; those it changes itself it knows at once.
const KNOWN_FOR: Duration = Duration::from_secs(1);
/// A receiver that does not answer is not waited for as long as other deliveries: somebody is to be told now.
const TIMEOUT_MS: u64 = 10_000;
/// What the ids of deliveries to channels begin with.
const NOTICE: &str = "notice/";

/// A channel as this node knows it.
pub(super) struct Known {
    channel: Channel,
    stored: record::Stored,
    /// What signs, or why neither that nor a secret address is known.
    secrets: std::result::Result<Vec<String>, SealError>,
    /// Where it is decided what it is told.
    home: DispatchGroup,
}

#[derive(Default)]
pub struct Notices {
    read_at: Option<Timestamp>,
    all: Vec<Arc<Known>>,
    /// What each channel that is decided about here was sent.
    books: BTreeMap<String, Book>,
    /// What was told to channels that are decided about elsewhere.
    away: BTreeMap<String, Away>,
    /// It was looked for channels to which something is owed since a node before this one.
    looked: bool,
    owed: Vec<(Arc<Known>, Arc<Notice>)>,
    /// How much that is, by channel.
    owing: BTreeMap<String, Owing>,
    rows: Vec<NoticeRow>,
}

/// What a turn has for one channel.
#[derive(Default)]
struct Owing {
    n: usize,
    /// What is surely more than it takes.
    beyond: Option<Waiting>,
}

impl Notices {
    /// They may have changed.
    pub fn look_again(&mut self) {
        self.read_at = None;
    }
    /// Everything is read anew.
    pub fn forget(&mut self) {
        *self = Notices::default();
    }
    /// When something is to be told although nothing happens.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.books.values().filter_map(|book| book.due_at).min()
    }
    /// Whether anybody might want to be told of this.
    pub fn wants(&self, audience: Audience, kind: &str, severity: Severity) -> bool {
        self.all.iter().any(|known| may_take(&known.channel, audience, kind, severity))
    }
    /// It is told before the turn is stored. What is more than any channel takes in a minute is only counted, but for users: each of them
    /// is told, and there are no more of those than things that the turn has moved.
    pub fn owe(&mut self, notice: Notice) {
        let notice = Arc::new(bounded(notice));
        for to in self.all.iter().filter(|known| takes(&known.channel, &notice)) {
            let owing = self.owing.entry(to.channel.name.clone()).or_default();
            if notice.audience == Audience::Admin && owing.n >= limits::NOTICES_PER_MINUTE_MAX as usize {
                owing.beyond = Some(gather(owing.beyond.take(), &notice, notice.at));
                continue;
            }
            owing.n += 1;
            self.owed.push((to.clone(), notice.clone()));
        }
    }
    pub fn write(&mut self, batch: &mut Batch) {
        batch.notices = std::mem::take(&mut self.rows);
        for (channel, book) in self.books.iter_mut().filter(|(_, book)| book.changed) {
            let (sends, expected) = book.written();
            batch.channel_sends.push(SendsWrite { channel: channel.clone(), sends, expected });
        }
    }
    fn named(&self, name: &str) -> Option<Arc<Known>> {
        self.all.iter().find(|known| known.channel.name == name).cloned()
    }
}

fn known(stored: record::Stored, keys: &Keyring, groups: &[DispatchGroup]) -> Arc<Known> {
    let home = fifo::home(&format!("{NOTICE}{}", stored.channel.name), groups);
    let (channel, secrets) = match open(&stored, keys) {
        Ok((channel, secrets)) => (channel, Ok(secrets)),
        Err(problem) => (stored.channel.clone(), Err(problem)),
    };
    Arc::new(Known { channel, stored, secrets, home })
}

impl Node {
    /// Tell whoever wants to know, once for each key.
    pub(super) fn tell(&mut self, turn: &mut Turn, notice: Notice, now: Timestamp) -> Result<()> {
        self.tell_all(turn, notice, now).map(drop)
    }

    /// How many channels take it.
    fn tell_all(&mut self, turn: &mut Turn, notice: Notice, now: Timestamp) -> Result<usize> {
        let wants = |known: &&Arc<Known>| takes(&known.channel, &notice);
        let takers: Vec<Arc<Known>> = self.notices.all.iter().filter(wants).cloned().collect();
        if takers.is_empty() {
            return Ok(0);
        }
        let notice = bounded(notice);
        takers.iter().try_for_each(|to| self.tell_one(turn, to, &notice, now))?;
        Ok(takers.len())
    }

    fn is_home(&self, home: &DispatchGroup) -> bool {
        self.owns_all() || self.owns(home)
    }

    fn tell_one(&mut self, turn: &mut Turn, to: &Known, notice: &Notice, now: Timestamp) -> Result<()> {
        if self.is_home(&to.home) {
            return self.tell_here(turn, to, notice, now).map(drop);
        }
        self.tell_home(turn, to, notice, now);
        Ok(())
    }

    /// What somebody asks to be told to one channel.
    pub(super) fn tell_channel(
        &mut self,
        turn: &mut Turn,
        (channel, notice): (String, Notice),
        reply: Reply<Telling>,
        now: Timestamp,
    ) -> Result<()> {
        let Some(to) = self.channel_named(&channel, now)? else {
            turn.acts.refuse(reply, EngineError::NoChannel(channel));
            return Ok(());
        };
        if let Some(why) = refusal(&to.channel, &notice) {
            turn.acts.reply(reply, Telling::Refused { why });
            return Ok(());
        }
        let notice = bounded(notice);
        if !self.is_home(&to.home) {
            self.forward(turn, &to.home, &Signal::Tell { channel, notice: Box::new(notice) }, reply);
            return Ok(());
        }
        let telling = self.tell_here(turn, &to, &notice, now)?;
        turn.acts.reply(reply, telling);
        Ok(())
    }

    /// Another node has something for a channel that is decided about here.
    pub(super) fn hear_notice(
        &mut self,
        turn: &mut Turn,
        (channel, notice): (String, Notice),
        (signal, reply): (SignalId, Option<Reply<Telling>>),
        now: Timestamp,
    ) -> Result<()> {
        if let Some(reply) = reply {
            return self.tell_channel(turn, (channel, notice), reply, now);
        }
        match self.channel_named(&channel, now)? {
            Some(to) if takes(&to.channel, &notice) => self.tell_one(turn, &to, &notice, now)?,
            _ => warn!(
                channel,
                kind = notice.kind,
                "a notice came for a channel that does not take it any more"
            ),
        }
        turn.acts.heard(signal);
        Ok(())
    }

    /// One that is not known here may have been made on another node just now.
    fn channel_named(&mut self, name: &str, now: Timestamp) -> Result<Option<Arc<Known>>> {
        if self.notices.named(name).is_none() {
            self.notices.look_again();
            self.know_channels(now)?;
        }
        Ok(self.notices.named(name))
    }

    /// The channels as they are, or were a moment ago.
    pub(super) fn know_channels(&mut self, now: Timestamp) -> Result<()> {
        if self.notices.read_at.is_some_and(|at| now.since(at) < KNOWN_FOR) {
            return Ok(());
        }
        let all = record::all(self.store.reader())?;
        let known = |stored| known(stored, &self.config.secrets, &self.config.groups);
        self.notices.all = all.into_iter().map(known).collect();
        self.notices.read_at = Some(now);
        if !self.notices.all.is_empty() && !self.notices.looked {
            self.notices.looked = true;
            for (name, _) in
                record::sends(self.store.reader())?.iter().filter(|(_, sends)| sends.waiting.is_some())
            {
                if let Some(known) = self.notices.named(name).filter(|known| self.is_home(&known.home)) {
                    self.open_book(&known.channel, now)?;
                }
            }
        }
        Ok(())
    }

    fn open_book(&mut self, channel: &Channel, now: Timestamp) -> Result<&mut Book> {
        if !self.notices.books.contains_key(&channel.name) {
            let book = Book::read(self.store.reader(), channel, now)?;
            self.notices.books.insert(channel.name.clone(), book);
        }
        Ok(self.notices.books.get_mut(&channel.name).expect("it was just put there"))
    }

    /// Send it now or later, count it with others, or know that it was told.
    fn tell_here(&mut self, turn: &mut Turn, to: &Known, notice: &Notice, now: Timestamp) -> Result<Telling> {
        let mut verdict = self.open_book(&to.channel, now)?.judge(&to.channel, &notice.key, None, now);
        if matches!(verdict, Verdict::Send | Verdict::Delay(_)) {
            let told_at = record::told_at(self.store.reader(), &to.channel.name, &notice.key)?;
            verdict = self.open_book(&to.channel, now)?.judge(&to.channel, &notice.key, told_at, now);
        }
        match verdict {
            Verdict::Quiet => Ok(Telling::Quiet),
            Verdict::Gather => {
                self.open_book(&to.channel, now)?.gather(&to.channel, notice, now);
                Ok(Telling::Gathered)
            }
            Verdict::Send => self.send(turn, to, (notice, now), now),
            // No step waits longer.
            Verdict::Delay(until) => self.send(turn, to, (notice, until.min(now + limits::WAIT_MAX)), now),
        }
    }

    /// A step delivers it, not before its time.
    fn send(
        &mut self,
        turn: &mut Turn,
        to: &Known,
        (notice, at): (&Notice, Timestamp),
        now: Timestamp,
    ) -> Result<Telling> {
        let mut step = self.delivery_of_notice(to, notice, now);
        step.dispatch_after = (at > now).then_some(at.0);
        let rows = match self.plan(turn, &[step], now)? {
            Ok(rows) => rows,
            Err(faults) => {
                error!(channel = to.channel.name, fault = %faults[0], "a notice could not be delivered");
                return Ok(Telling::Refused { why: faults[0].to_string() });
            }
        };
        let step = rows.roots.first().copied().expect("one step was asked for");
        self.carry_out(turn, rows)?;
        self.open_book(&to.channel, now)?.sent(&to.channel, (&notice.key, at), now);
        self.notices.rows.push(row(&to.channel, notice, step, at));
        Ok(if at > now { Telling::Delayed { step, until: at } } else { Telling::Sent { step } })
    }

    fn delivery_of_notice(&self, to: &Known, notice: &Notice, now: Timestamp) -> NewStep {
        let id = format!("{NOTICE}{}", Uuid::from_bytes(self.ids.row(now)));
        let letter = letter(&to.channel, notice, &id);
        let address = match to.channel.kind {
            ChannelKind::Webhook => Address::Open,
            ChannelKind::Chat => Address::Secret,
        };
        let made = to.secrets.clone().and_then(|secrets| {
            let parcel = Parcel {
                url: &to.channel.url,
                address,
                id: &id,
                content_type: Some(letter.content_type),
                body: &letter.body,
                token: None,
                secrets: (address == Address::Open).then_some(&secrets),
                signing: None,
            };
            parcel.step(&self.config.secrets, Some(TIMEOUT_MS))
        });
        let step = made.unwrap_or_else(|problem| unsealed(&to.stored, &id, &problem));
        patient(NewStep {
            label: Some(notice.kind.clone()),
            dispatch_group: Some(to.home.to_string()),
            relatable_type: Some("channel".into()),
            relatable_id: Some(to.channel.name.clone()),
            ..step
        })
    }

    /// What this turn owes to channels, and what was gathered and is due.
    pub(super) fn tell_notices(&mut self, turn: &mut Turn, now: Timestamp) -> Result<()> {
        if self.notices.all.is_empty() {
            return Ok(());
        }
        self.tell_failures(turn, now)?;
        for (to, notice) in std::mem::take(&mut self.notices.owed) {
            self.tell_one(turn, &to, &notice, now)?;
        }
        for (channel, owing) in std::mem::take(&mut self.notices.owing) {
            if let (Some(waiting), Some(to)) = (owing.beyond, self.notices.named(&channel)) {
                self.count_beyond(&to, waiting, now)?;
            }
        }
        self.tell_gathered(turn, now)
    }

    fn tell_gathered(&mut self, turn: &mut Turn, now: Timestamp) -> Result<()> {
        let is_due = |book: &&Book| book.due_at.is_some_and(|at| at <= now);
        let due = self.notices.books.iter().filter(|(_, book)| is_due(book)).map(|(name, _)| name.clone());
        for name in due.collect::<Vec<String>>() {
            let known = self.notices.named(&name).filter(|known| known.channel.active);
            let book = self.notices.books.get_mut(&name).expect("it was just seen");
            // Nobody is told while the channel is off; what waits is on record.
            book.due_at = Some(now + KNOWN_FOR);
            let (Some(to), Some(waiting)) = (known, book.row.waiting.clone()) else { continue };
            let told = summary(&to.channel, &waiting, now);
            if let Telling::Sent { .. } = self.send(turn, &to, (&told, now), now)? {
                self.open_book(&to.channel, now)?.told_all(now);
            }
        }
        Ok(())
    }
}

/// What cannot be sealed or signed is not sent: the step fails and says so.
fn unsealed(to: &record::Stored, id: &str, problem: &SealError) -> NewStep {
    error!(channel = to.channel.name, %problem, "a notice cannot be sealed or signed");
    let arguments = serde_json::json!({"url": to.channel.url, "id": id, "secrets": to.secrets});
    NewStep::of(crate::delivery::DELIVER).with(&arguments).expect("plain data")
}

fn row(channel: &Channel, notice: &Notice, step: StepId, told_at: Timestamp) -> NoticeRow {
    NoticeRow {
        channel: channel.name.clone(),
        key: notice.key.clone(),
        told_at,
        step: Some(step),
        kind: notice.kind.clone(),
        severity: notice.severity,
        entity_type: notice.entity_type.clone(),
        entity_id: notice.entity_id.clone(),
        title: model::hide_sealed(&notice.title).unwrap_or_else(|| notice.title.clone()),
    }
}

#[cfg(test)]
mod tests;
