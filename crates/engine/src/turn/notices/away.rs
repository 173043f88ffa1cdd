//! Channels that another node decides about: it is told each notice, and of what is surely too much only how much it is.
//!
//! Why    a channel takes so much in a minute, whoever sends it. What one node alone has beyond that is counted here and told in one
//!        signal a turn, so that a flood of failures is no flood of signals. What is for a user is told whole: it is sent later.

use super::super::node::{Node, Turn};
use super::Known;
use crate::signal::Signal;
use model::{Audience, DispatchGroup, Notice, SignalId, Timestamp, Waiting};
use rules::notice::{gather, is_past, together};
use store::Result;
use tracing::warn;

pub struct Away {
    home: DispatchGroup,
    /// When its home was told something in the last minute, oldest first.
    sends: Vec<Timestamp>,
    /// What this turn has beyond that.
    waiting: Option<Waiting>,
}

impl Node {
    /// Whoever decides for the channel hears it with this turn.
    pub(super) fn tell_home(&mut self, turn: &mut Turn, to: &Known, notice: &Notice, now: Timestamp) {
        if to.channel.audience == Audience::Admin {
            let away = self.away(to);
            away.sends.retain(|at| !is_past(*at, now));
            if away.sends.len() >= to.channel.per_minute as usize {
                away.waiting = Some(gather(away.waiting.take(), notice, now));
                return;
            }
            away.sends.push(now);
        }
        let (channel, notice) = (to.channel.name.clone(), Box::new(notice.clone()));
        self.tell_owner(turn, &to.home, &Signal::Tell { channel, notice });
    }

    fn away(&mut self, to: &Known) -> &mut Away {
        let first = || Away { home: to.home.clone(), sends: Vec::new(), waiting: None };
        self.notices.away.entry(to.channel.name.clone()).or_insert_with(first)
    }

    /// What a turn has beyond all that a channel takes is told as one, here or by whoever decides for it.
    pub(super) fn count_beyond(&mut self, to: &Known, waiting: Waiting, now: Timestamp) -> Result<()> {
        if self.is_home(&to.home) {
            self.open_book(&to.channel, now)?.add(&to.channel, waiting, now);
        } else {
            let away = self.away(to);
            away.waiting = Some(together(away.waiting.take(), waiting));
        }
        Ok(())
    }

    /// What was counted goes with the turn that counted it.
    pub(in super::super) fn tell_counted(&mut self, turn: &mut Turn) {
        let counted = |(channel, away): (&String, &mut Away)| {
            Some((away.home.clone(), channel.clone(), away.waiting.take()?))
        };
        let counted: Vec<_> = self.notices.away.iter_mut().filter_map(counted).collect();
        for (home, channel, waiting) in counted {
            self.tell_owner(turn, &home, &Signal::Gathered { channel, waiting });
        }
    }

    /// Another node has counted what a channel is told as one.
    pub(in super::super) fn hear_gathered(
        &mut self,
        turn: &mut Turn,
        (channel, waiting): (String, Waiting),
        signal: SignalId,
        now: Timestamp,
    ) -> Result<()> {
        match self.channel_named(&channel, now)? {
            Some(to) if self.is_home(&to.home) => {
                self.open_book(&to.channel, now)?.add(&to.channel, waiting, now)
            }
            Some(to) => {
                self.tell_owner(turn, &to.home, &Signal::Gathered { channel, waiting });
            }
            None => warn!(channel, n = waiting.n, "notices came for a channel that is not there any more"),
        }
        turn.acts.heard(signal);
        Ok(())
    }
}
