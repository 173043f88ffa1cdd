//! Words that must reach others even if the turn that said them is not stored.
//!
//! Why    what a session of this node lost or gave back in another node's group, and that a session ended, is known here alone:
//!        it is not read again after a failure, so it is said again.

use super::abroad::Abroad;
use super::node::{Node, Turn};
use crate::signal::Signal;
use model::SessionId;
use store::SessionRow;

#[derive(Clone)]
pub enum Word {
    Lost(SessionId, Vec<Abroad>),
    GivenBack(SessionId, Vec<Abroad>),
    Ended(SessionRow),
}

#[derive(Default)]
pub struct Owed {
    /// Said in this turn, and not durable yet.
    said: Vec<(u64, Word)>,
    /// To be said again.
    again: Vec<Word>,
}

impl Owed {
    pub fn durable(&mut self, turn: u64) {
        self.said.retain(|(said_in, _)| *said_in > turn);
    }
    /// No turn is on its way: whatever was not stored is said again.
    pub fn unsaid(&mut self) {
        self.again.extend(self.said.drain(..).map(|(_, word)| word));
    }
    pub fn is_waiting(&self) -> bool {
        !self.again.is_empty()
    }
}

impl Node {
    pub(super) fn say(&mut self, turn: &mut Turn, word: Word) {
        match word.clone() {
            Word::Lost(_, steps) | Word::GivenBack(_, steps) if steps.is_empty() => return,
            Word::Lost(session, steps) => {
                self.tell_owners(turn, steps, |steps| Signal::Lost { session, steps });
            }
            Word::GivenBack(session, steps) => {
                self.tell_owners(turn, steps, |steps| Signal::GivenBack { session, steps });
            }
            Word::Ended(row) => turn.sessions.push(row),
        }
        self.owed.said.push((self.turn_number, word));
    }
    pub(super) fn say_again(&mut self, turn: &mut Turn) {
        for word in std::mem::take(&mut self.owed.again) {
            self.say(turn, word);
        }
    }
    /// After everything was read anew.
    pub(super) fn owe(&mut self, session: SessionId, steps: Vec<Abroad>) {
        self.owed.again.push(Word::GivenBack(session, steps));
    }
}
